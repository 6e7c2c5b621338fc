"""Decorators of the kernels of this package."""

from __future__ import annotations

from dyn_nodes.common.loops import kernels_of, parts_of

kernel = kernels_of(__file__)
part = parts_of(__file__)
