"""Decorators of this package's kernels. Divisions by zero yield values that the measures report as not valid."""

from __future__ import annotations

from dyn_nodes.common.loops import kernels_of, parts_of

kernel = kernels_of(__file__, label='stability measures')
inlined = parts_of(__file__, forceinline=True)
"""For small functions in inner loops: their code is inlined at the call."""
