"""The decorator of this package's kernels."""

from __future__ import annotations

from dyn_nodes.common.loops import kernels_of

kernel = kernels_of(__file__)
