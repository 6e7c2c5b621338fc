"""Decorators of this package's kernels, which call some of `control` and `stability`."""

from __future__ import annotations

from dyn_nodes.common.loops import kernels_of, parts_of
from dyn_nodes.control import _kernels as control
from dyn_nodes.stability import _kernels as stability

OTHERS = control.__file__, stability.__file__
kernel = kernels_of(__file__, others=OTHERS)
part = parts_of(__file__, others=OTHERS)
fused = kernels_of(__file__, others=OTHERS, fastmath={'contract'})
"""Decorator for sums of products that are rounded as in NumPy's matrix products."""
