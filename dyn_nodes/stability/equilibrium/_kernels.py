"""Decorators of the kernels of this package."""

from __future__ import annotations

from dyn_nodes.common.loops import kernels_of, parts_of

kernel = kernels_of(__file__, label='tipping')
part = parts_of(__file__)
inlined = parts_of(__file__, inline='always')
"""For parts with one or two callers, whose callees are then not optimized again."""
