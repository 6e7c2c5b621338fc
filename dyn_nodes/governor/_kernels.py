"""Decorators of this package's kernels, which call a machine's compiled code by address."""

from __future__ import annotations

from dyn_nodes.common.loops import kernels_of, parts_of
from dyn_nodes.compile import code

OTHERS = (code.__file__,)
kernel = kernels_of(__file__, label='the tip-over governor, for all machines', others=OTHERS)
part = parts_of(__file__, others=OTHERS)
