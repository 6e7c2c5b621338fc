"""Influence coefficients as CasADi expressions, for small machines with compiled kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.multibody.influence.coefficients import Coefficients
from dyn_nodes.multibody.influence.tree import POINT, ROTATION, reject_free_bodies
from dyn_nodes.multibody.kinematics import TreeState
from dyn_nodes.multibody.spatial import Expression, cross
from dyn_nodes.multibody.tree import Frame


@dataclass(frozen=True, eq=False)
class TracedCoefficients:
    """Coefficients of a frame as expressions of q, rows x, y, z, rx, ry, rz in world axes; n joints.

    Attributes:
        state: of the tree.
        G: (6, n).
        H: six of (n, n), element (m, n) as in `Coefficients`.
        D: six times n of (n, n): D[p][l] holds the elements (m, n).
    """

    state: TreeState
    G: Expression
    H: list[Expression]
    D: list[list[Expression]]

    def function(self) -> Callable[[ArrayLike], Coefficients]:
        """Return the coefficients as a function of joint positions q (n,)."""
        names, n = self.state.tree.velocity_names, self.state.tree.nv
        flat = ca.vertcat(*(ca.vec(plane) for row in self.D for plane in row))
        outputs = [self.G, ca.vertcat(*(ca.vec(plane) for plane in self.H)), flat]
        traced = ca.Function('coefficients', [self.state.q], [ca.densify(part) for part in outputs])

        def at(q: ArrayLike) -> Coefficients:
            G, H, D = (np.array(part) for part in traced(np.asarray(q, float)))
            second = H.reshape(6, n, n).transpose(0, 2, 1)
            third = D.reshape(6, n, n, n).transpose(0, 1, 3, 2)
            return Coefficients(POINT + ROTATION, names, G.reshape(6, n), second, third)

        return at


def traced_coefficients(state: TreeState, frame: Frame) -> TracedCoefficients:
    """Return G, H, D of a frame as expressions (freeman-1985, tables 2-3 to 2-5).

    Raises:
        ValueError: a free body in the tree.
    """
    n = state.tree.nv
    reject_free_bodies(state.tree)
    joints = state.supports(frame.body)
    turning = [k for k in joints if state.tree.bodies[k].kind == 'revolute']
    axes = {k: ca.mtimes(state.poses[k].R, ca.SX(state.tree.bodies[k].axis)) for k in joints}
    point = state.frame_pose(frame).p
    G, H = ca.SX(6, n), [ca.SX(n, n) for _ in range(6)]
    D = [[ca.SX(n, n) for _ in range(n)] for _ in range(6)]
    for at, k in enumerate(joints):
        g = cross(axes[k], point - state.poses[k].p) if k in turning else axes[k]
        G[0:3, k] = g
        for j in [j for j in joints[: at + 1] if j in turning]:
            h = cross(axes[j], g)
            for p, (a, b) in product(range(3), {(j, k), (k, j)}):
                H[p][a, b] = h[p]
            for i in [i for i in turning if i <= j]:
                d = cross(axes[i], h)
                for p, order in product(range(3), {(i, j, k), (i, k, j), (j, i, k), (j, k, i), (k, i, j), (k, j, i)}):
                    D[p][order[0]][order[1], order[2]] = d[p]
    for k in turning:
        G[3:6, k] = axes[k]
        for j in [j for j in turning if j < k]:
            h = cross(axes[j], axes[k])
            for p in range(3):
                H[3 + p][j, k] = h[p]
            for i in [i for i in turning if i <= j]:
                d = cross(axes[i], h)
                for p, (a, b) in product(range(3), {(i, j), (j, i)}):
                    D[3 + p][a][b, k] = d[p]
    return TracedCoefficients(state, G, H, D)
