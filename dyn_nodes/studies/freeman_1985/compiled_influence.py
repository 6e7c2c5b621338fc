"""Influence coefficients of one frame of a small tree as straight-line machine code, for batches and inner loops."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile import CompiledModule, compile_functions
from dyn_nodes.multibody.kinematics import TreeState
from dyn_nodes.multibody.tree import Frame, Tree
from dyn_nodes.studies.freeman_1985.traced_influence import traced_coefficients

MOST_JOINTS = 10
"""Greatest number of joints of a tree; the code size grows with its third power."""


class FrameBatch(NamedTuple):
    """Coefficients of a frame in N states: rows x, y, z, rx, ry, rz in world axes, n joints.

    Attributes:
        G: (N, 6, n).
        H: (N, 6, n, n).
        D: (N, 6, n, n, n); None below order 3.
    """

    G: Array
    H: Array
    D: Array | None


class CompiledCoefficients:
    """G, H and D of a frame, equal to `TreeCoefficients`.

    Args:
        tree: of revolute and prismatic joints, at most `MOST_JOINTS`.
        frame: of the tree.
        order: 2: G and H, 3: G, H and D.

    Raises:
        ValueError: a free body, too many joints, another order.
    """

    def __init__(self, tree: Tree, frame: Frame, order: int = 3) -> None:
        if order not in (2, 3):
            raise ValueError(f'order: expected 2 or 3, found {order}')
        if tree.nv > MOST_JOINTS:
            raise ValueError(f'expected at most {MOST_JOINTS} joints, found {tree.nv}; see TreeCoefficients')
        self.tree, self.order = tree, order
        q = ca.SX.sym('q', tree.nq)
        self._traced = traced_coefficients(TreeState(tree, q, ca.SX(tree.nv, 1)), frame)

    @cached_property
    def module(self) -> CompiledModule:
        """Machine code `coefficients(q, G, H)` or `(q, G, H, D)` with rows in C order, and its batch."""
        traced = self._traced
        outputs = [_flat([traced.G]), _flat(traced.H)]
        if self.order == 3:
            outputs.append(_flat([plane for row in traced.D for plane in row]))
        function = ca.Function('coefficients', [traced.state.q], outputs)
        return compile_functions('influence coefficients', {'coefficients': function}, batch=('coefficients',))

    def batch(self, q: ArrayLike, out: FrameBatch | None = None) -> FrameBatch:
        """Return the coefficients at joint positions q (N, n), rad or m.

        Args:
            q: positions.
            out: result of an earlier call with N states, which is overwritten and returned.

        Raises:
            ValueError: arrays of another shape.
        """
        positions = np.ascontiguousarray(q, dtype=np.float64)
        n = self.tree.nv
        if positions.ndim != 2 or positions.shape[1] != n:
            raise ValueError(f'expected q of shape (N, {n}), found {positions.shape}')
        N = len(positions)
        frames = out or self._empty(N)
        if not all(part is None or part.flags.c_contiguous for part in frames):
            raise ValueError('out: expected contiguous arrays')
        parts = [part.reshape(N, -1) for part in frames if part is not None]
        self.module.coefficients_batch(positions, *parts)
        return frames

    def _empty(self, N: int) -> FrameBatch:
        n = self.tree.nv
        D = np.empty((N, 6, n, n, n)) if self.order == 3 else None
        return FrameBatch(np.empty((N, 6, n)), np.empty((N, 6, n, n)), D)


def _flat(planes: list[ca.SX]) -> ca.SX:
    """Return concatenated matrices as a dense vector in row order."""
    return ca.densify(ca.vertcat(*(ca.vec(plane.T) for plane in planes)))
