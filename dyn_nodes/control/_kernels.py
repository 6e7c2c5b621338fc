"""The decorator of this room's kernels."""

from __future__ import annotations

from dyn_nodes.common.loops import kernels_of, parts_of

kernel = kernels_of(__file__)
part = parts_of(__file__)
