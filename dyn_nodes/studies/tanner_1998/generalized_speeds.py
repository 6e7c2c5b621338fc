"""Generalized speeds u = Y v + Z, specified or chosen at every state, and the velocities as functions of them.

    link_speeds(tree, {'V': ('axle', 'vx'), 'omega': ('axle', 'wz')}, ('shoulder', 'elbow'))

The number of u equals the mobility. With the rows J v = sigma they determine all velocities, v = W u + X, and with
J dv/dt = gamma all accelerations, dv/dt = W du/dt + b (tanner-1998, C3 and appendix).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from scipy.linalg import qr

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.errors import ContradictoryConstraintsError, MethodError
from dyn_nodes.constraints.independent import WORST_CONDITION, scaled_rows
from dyn_nodes.constraints.linear import rank_of
from dyn_nodes.constraints.solve import CONTRADICTION
from dyn_nodes.multibody import Parameters, Tree, TreeState
from dyn_nodes.multibody.spatial import Expression

COMPONENTS = ('wx', 'wy', 'wz', 'vx', 'vy', 'vz')


@dataclass(frozen=True, eq=False)
class GeneralizedSpeeds:
    """Specified speeds u = Y(q, t) v + Z(q, t).

    Attributes:
        names: (n) of the speeds.
        trace: from the traced state and parameters to Y (n, nv) and Z (n,), as expressions.
    """

    names: tuple[str, ...]
    trace: Callable[[TreeState, Parameters], tuple[Expression, Expression]]


def link_speeds(tree: Tree, along: Mapping[str, tuple[str, str]], velocities: Sequence[str] = ()) -> GeneralizedSpeeds:
    """Return speeds of links in link axes, followed by some velocities of the tree.

    Args:
        tree: with these links.
        along: by name of the speed, a link and a component of its velocity: `vx` to `vz` of its origin along its
            axes, m/s; `wx` to `wz` about them, rad/s.
        velocities: names of velocities of the tree.

    Raises:
        KeyError: an unknown link, component or velocity.
    """
    frames = {name: tree.frame(link) for name, (link, _) in along.items()}
    for name, (_, component) in along.items():
        if component not in COMPONENTS:
            raise KeyError(f'{name}: expected a component of {", ".join(COMPONENTS)}, found {component!r}')
    indices = [tree.velocity_index(name) for name in velocities]

    def trace(state: TreeState, parameters: Parameters) -> tuple[Expression, Expression]:
        rows = [_component(state, frames[name], component) for name, (_, component) in along.items()]
        unit = ca.SX.eye(tree.nv)
        Y = ca.vertcat(*rows, *(unit[index, :] for index in indices))
        return ca.densify(Y), ca.SX(Y.shape[0], 1)

    return GeneralizedSpeeds((*along, *velocities), trace)


def _component(state: TreeState, frame: object, component: str) -> Expression:
    row = COMPONENTS.index(component)
    first = 3 * (row // 3)
    J = state.jacobian(frame)[first : first + 3, :]  # type: ignore[arg-type]
    return ca.mtimes(state.frame_pose(frame).R[:, row % 3].T, J)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class VelocityMap:
    """Velocities and accelerations by the independent speeds: v = W u + X, dv/dt = W du/dt + b.

    Attributes:
        inverse: (nv, nv) of [Y; rows of J].
        rows: independent rows of J, as many as its rank.
        count: number of speeds, n.
    """

    inverse: Array
    rows: tuple[int, ...]
    count: int

    @property
    def W(self) -> Array:
        """(nv, n) partial derivatives of the velocities by the speeds."""
        return self.inverse[:, : self.count]

    def velocities(self, u: Array, Z: Array, sigma: Array) -> Array:
        """Return v (nv,) at speeds u (n,)."""
        return np.asarray(self.inverse @ np.concatenate([u - Z, sigma[list(self.rows)]]))

    def bias(self, drift: Array, gamma: Array) -> Array:
        """Return b (nv,), the accelerations at zero du/dt; `drift` (n,) is dY/dt v + dZ/dt."""
        return np.asarray(self.inverse @ np.concatenate([-drift, gamma[list(self.rows)]]))


def velocity_map(Y: Array, J: Array, names: Sequence[str], scale: Array) -> VelocityMap:
    """Return the map of speeds with rows Y (n, nv) and constraint rows J (m, nv).

    Args:
        Y: of the speeds.
        J: of the constraints; dependent rows are ignored.
        names: of the speeds.
        scale: (nv,) velocities of equal kinetic energy.

    Raises:
        MethodError: the number of speeds differs from the mobility, or they do not determine the velocities here.
    """
    nv = J.shape[1]
    scaled = scaled_rows(J, scale)
    rank = rank_of(scaled)
    listed = ', '.join(names) or 'none'
    if len(Y) != nv - rank:
        raise MethodError(f'expected {nv - rank} independent speeds, as many as the mobility, found {len(Y)}: {listed}')
    rows = tuple(sorted(int(k) for k in qr(scaled.T, mode='r', pivoting=True)[1][:rank])) if rank else ()
    stacked = np.vstack([Y, J[list(rows)]])
    lengths = np.linalg.norm(stacked * scale, axis=1, keepdims=True)
    whole = stacked * scale / np.where(lengths > 0.0, lengths, 1.0)
    values = np.linalg.svd(whole, compute_uv=False)
    if values[-1] * WORST_CONDITION < values[0]:
        raise MethodError(f'speeds {listed} do not determine the velocities here')
    return VelocityMap(np.linalg.inv(stacked), rows, len(Y))


def reject_contradiction(J: Array, start: Array, gamma: Array, names: Sequence[str]) -> None:
    """Raise ContradictoryConstraintsError if dependent rows require an acceleration that differs from the others."""
    difference = J @ start - gamma
    if np.abs(difference).max(initial=0.0) > CONTRADICTION * max(1.0, float(np.abs(gamma).max(initial=0.0))):
        worst = int(np.argmax(np.abs(difference)))
        raise ContradictoryConstraintsError(
            f'row {names[worst]} depends on others and asks for an acceleration that differs from theirs by '
            f'{np.abs(difference).max():.3g}'
        )
