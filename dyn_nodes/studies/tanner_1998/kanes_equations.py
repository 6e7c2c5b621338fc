"""Kane's equations of any traced system, in independent speeds, specified or chosen at every state (tanner-1998, 2).

    kane = kanes_equations(blocks, independent=('x', 'y', 'shoulder'))   # or speeds=link_speeds(...), or neither
    here = kane.at(q, v)
    here.accelerations(tau), here.mount_wrench(mount, tau)

The partial velocities of the bodies are computed by a numerical recursion that shares nothing with the traced
kinematics, mass matrix and bias of the other formulations. Constraint rows and element efforts are the system's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.independent import choose_independent, named_independent, scales
from dyn_nodes.constraints.kane.equations import KaneEquations, TracedNumbers
from dyn_nodes.constraints.kane.parts import Part, Placement, parts_of, placements, poses
from dyn_nodes.constraints.rows import Rows
from dyn_nodes.constraints.solve import reject_massless
from dyn_nodes.multibody.elements import total_force
from dyn_nodes.multibody.kinematics import ExplodedState
from dyn_nodes.studies.tanner_1998.generalized_speeds import (
    GeneralizedSpeeds,
    VelocityMap,
    reject_contradiction,
    velocity_map,
)


class KanesEquations:
    """The formulation for one traced system.

    Args:
        system: a tree with its constraints and force elements.
        independent: names of velocities used as independent speeds; empty: chosen at every state by pivoting.
        prefer: names of velocities chosen first where they can be independent, such as the actuated ones.
        speeds: u = Y v + Z; None: velocities.

    Raises:
        KeyError: a velocity that the tree does not have.
        ValueError: both names and speeds.
    """

    def __init__(
        self,
        system: ConstraintBlocks,
        independent: Sequence[str] = (),
        prefer: Sequence[str] = (),
        speeds: GeneralizedSpeeds | None = None,
    ) -> None:
        if speeds is not None and (independent or prefer):
            raise ValueError('expected names of velocities or generalized speeds, found both')
        self.system, self.speeds = system, speeds
        self._named = tuple(system.tree.velocity_index(name) for name in independent)
        self._preferred = tuple(system.tree.velocity_index(name) for name in prefer)

    @cached_property
    def _traced(self) -> ca.Function:
        system, rows = self.system, self.system.rows
        state, parameters = system.state, system.parameters
        Y, Z = ca.SX(0, system.tree.nv), ca.SX(0, 1)
        if self.speeds is not None:
            Y, Z = self.speeds.trace(state, parameters)
        u = ca.mtimes(Y, system.v) + Z
        drift = ca.jtimes(u, system.q, state.position_rate) + ca.jacobian(u, parameters.time)
        payload = ca.SX(state.payload_mass)
        outputs = [rows.jacobian, rows.gamma, rows.sigma, system.applied, parameters.gravity, Y, Z, drift, payload]
        # one vector: reading numbers from CasADi has a high cost per matrix and a low cost per entry
        whole = ca.vertcat(*(ca.vec(ca.densify(part)) for part in outputs))
        return ca.Function('traced', [system.q, system.v, parameters.vector], [whole])

    @cached_property
    def _pulled(self) -> ca.Function:
        system, nv = self.system, self.system.tree.nv
        exploded = ExplodedState(system.tree, system.q, system.v, system.state.payload_mass)
        parts = [constraint.rows(exploded, system.parameters) for constraint in system.constraints]
        pushed = sum(
            (total_force(element, exploded, system.parameters) for element in system.forces), ca.SX(exploded.width, 1)
        )
        rows = Rows.stacked(parts, exploded.width).jacobian[:, nv:]
        inputs = [system.q, system.v, system.parameters.vector]
        return ca.Function('pulled', inputs, [ca.densify(pushed[nv:]), ca.densify(rows)])

    def pulls(self, q: Array, v: Array, p: Array) -> tuple[Array, Array]:
        """Return wrenches [moment; force] at the bodies' origins, world: of elements (6 r,), of unit rows (m, 6 r)."""
        pushed, rows = (np.array(part) for part in self._pulled(q, v, p))
        return pushed.ravel(), rows.reshape(self.system.m, 6 * len(self.system.tree.bodies))

    def _numbers(self, q: Array, v: Array, p: Array) -> TracedNumbers:
        nv, m, n = self.system.tree.nv, self.system.m, len(self.speeds.names) if self.speeds else 0
        whole = np.array(self._traced(q, v, p)).ravel()
        ends = np.cumsum([m * nv, m, m, nv, 3, n * nv, n, n])
        J, gamma, sigma, applied, gravity, Y, Z, drift, payload = np.split(whole, ends)
        return TracedNumbers(
            J.reshape((m, nv), order='F'), gamma, sigma, applied, gravity,
            Y.reshape((n, nv), order='F'), Z, drift, float(payload[0]),
        )  # fmt: skip

    def at(self, q: ArrayLike, v: ArrayLike, p: ArrayLike | Mapping[str, float] | None = None) -> KaneEquations:
        """Return the equations at a state.

        Args:
            q: (nq,) positions that meet the constraints.
            v: (nv,) velocities; the dependent ones are recomputed from the independent speeds.
            p: parameters, see `ConstraintBlocks.numbers`.

        Raises:
            MethodError: the named speeds are not independent here.
            ContradictoryConstraintsError: dependent rows ask for different accelerations.
            SingularMotionError: a motion that moves no mass.
        """
        tree, numbers = self.system.tree, self.system.numbers(p)
        position, specified = _vector('q', q, tree.nq), _vector('v', v, tree.nv)
        first = self._numbers(position, specified, numbers)
        # velocities that meet the constraints first: gamma and drift go with them
        still = poses(tree, position)
        Y, Z, names, mapping = self._mapped(first, placements(tree, still, specified))
        u = Y @ specified + Z
        velocity = mapping.velocities(u, Z, first.sigma)
        here = self._numbers(position, velocity, numbers)
        bias = mapping.bias(here.drift if self.speeds else np.zeros(len(u)), here.gamma)
        reject_contradiction(here.J, bias, here.gamma, self.system.row_names)
        body_placements = placements(tree, still, velocity)
        parts = parts_of(tree, body_placements, here.payload)
        M, C, G = _assembled(parts, mapping.W, bias, here.gravity, tree.armatures)
        reject_massless(M, mapping.W, self.system.tree.velocity_names)
        return KaneEquations(
            self, position, velocity, numbers, names, u, mapping.W, bias, tuple(body_placements), tuple(parts),
            M, C, G, mapping.W.T @ here.applied, here,
        )  # fmt: skip

    def _mapped(self, here: TracedNumbers, still: list[Placement]) -> tuple[Array, Array, tuple[str, ...], VelocityMap]:
        """Return Y (n, nv), Z (n,) and names of the speeds, and the velocities as functions of them."""
        tree = self.system.tree
        M = np.diag(tree.armatures + sum(map(_along_each, parts_of(tree, still, here.payload)), np.zeros(tree.nv)))
        if self.speeds is not None:
            Y, Z, names = here.Y, here.Z, self.speeds.names
        else:
            if self._named:
                chosen = named_independent(here.J, M, self._named, tree.velocity_names)
                indices = self._named  # in the order of the user
            else:
                chosen = choose_independent(here.J, M, self._preferred)
                indices = chosen.independent
            Y, Z = np.eye(tree.nv)[list(indices)], np.zeros(len(indices))
            names = tuple(tree.velocity_names[k] for k in indices)
        return Y, Z, names, velocity_map(Y, here.J, names, scales(M))


def kanes_equations(
    system: ConstraintBlocks,
    independent: Sequence[str] = (),
    prefer: Sequence[str] = (),
    speeds: GeneralizedSpeeds | None = None,
) -> KanesEquations:
    """Return Kane's equations of a system, see `KanesEquations`."""
    return KanesEquations(system, independent, prefer, speeds)


def _along_each(part: Part) -> Array:
    """Return the inertia (nv,) of a part along each single velocity."""
    translation = part.mass * (part.moving**2).sum(axis=0)
    return np.asarray(translation + np.einsum('ij,ik,kj->j', part.turning, part.inertia, part.turning))


def _assembled(
    parts: Sequence[Part], W: Array, bias: Array, gravity: Array, armatures: Array
) -> tuple[Array, Array, Array]:
    """Return M (n, n), C (n,), G (n,): inertia forces and weights along the partial velocities (2.49)."""
    M = W.T * armatures @ W
    C = W.T @ (armatures * bias)
    G = np.zeros(W.shape[1])
    for part in parts:
        moving, turning = part.moving @ W, part.turning @ W
        M = M + part.mass * moving.T @ moving + turning.T @ part.inertia @ turning
        alpha = part.turning @ bias + part.alpha
        C = C + part.mass * moving.T @ (part.moving @ bias + part.acceleration) - turning.T @ part.inertia_torque(alpha)
        G = G - part.mass * moving.T @ gravity
    return M, C, G


def _vector(name: str, values: ArrayLike, size: int) -> Array:
    vector = np.asarray(values, dtype=np.float64)
    if vector.shape != (size,):
        raise ValueError(f'expected {name} of {size} numbers, found shape {vector.shape}')
    return vector
