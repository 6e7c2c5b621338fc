"""The decorator of this room's kernels. A division by zero gives what the measures report as "not valid"."""

from __future__ import annotations

from dyn_nodes.common.loops import kernels_of, parts_of

kernel = kernels_of(__file__, label='stability measures')
inlined = parts_of(__file__, forceinline=True)
"""For small ones in inner loops: their code stands where they are called."""
