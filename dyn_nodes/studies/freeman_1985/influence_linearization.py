"""Linearized equations of motion of a serial arm and its model with d-c motors (freeman-1985, 2.11 to 2.13, 2.18).

    slopes = effort_slopes(here, v, a, gravity, [(hand, tool_load)])   # dT/da, dT/dv, dT/dphi (2-225)
    F, G = arm_state_space(slopes, drives)                             # states: joints, rates, currents (2-241)
    F, G = in_hand_coordinates(F, G, hand, v, a)                       # states of the hand, currents (3-53)

The coefficients are evaluated at the nominal motion; H and D keep their order of differentiation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.multibody.influence.algebra import cross_columns, quadratic, transposed
from dyn_nodes.multibody.influence.coefficients import Coefficients
from dyn_nodes.multibody.influence.model import STILL, serial_model
from dyn_nodes.multibody.influence.tree import TreePosition

Load = tuple[Coefficients, ArrayLike]
"""A load (P,) at the parameters of some coefficients, constant in world axes."""


@dataclass(frozen=True, eq=False)
class EffortSlopes:
    """Partial derivatives of the efforts T (M,) at the inputs.

    Attributes:
        by_acceleration: I* (M, M).
        by_velocity: v^T (P* + P*^T) (M, M).
        by_position: (M, M).
    """

    by_acceleration: Array
    by_velocity: Array
    by_position: Array

    def with_inertia(self, inertia: ArrayLike) -> EffortSlopes:
        """Return the slopes with a constant inertia (M, M) added, such as rotor inertia."""
        return EffortSlopes(self.by_acceleration + np.asarray(inertia, float), self.by_velocity, self.by_position)


def effort_slopes(
    position: TreePosition, v: ArrayLike, a: ArrayLike, gravity: ArrayLike = STILL, loads: Sequence[Load] = ()
) -> EffortSlopes:
    """Return the derivatives of the efforts of a tree by its accelerations, velocities and positions (2-225).

    Args:
        position: of the tree, with coefficients of third order.
        v: (M,) nominal rates of the joints.
        a: (M,) nominal accelerations.
        gravity: (3,) world axes, m/s2.
        loads: applied loads, such as a tool load.

    Raises:
        ValueError: a position without coefficients of third order.
    """
    if position.order < 3:
        raise ValueError(f'expected coefficients of third order, found {position.order}; ask for order=3')
    rates, accelerations, g = np.asarray(v, float), np.asarray(a, float), np.asarray(gravity, float)
    model = serial_model(position)
    by_position = np.zeros_like(model.inertia)
    for k, body in enumerate(position.model.tree.bodies):
        if body.massless:
            continue
        R = position.poses[0][0, k]
        points = position.model.points_at(position.poses, [k], body.com, 3)
        turns = position.model.rotations_at(position.poses, [k], 3)
        centre = Coefficients(('x', 'y', 'z'), position.model.names, *_single(points))
        rotation = Coefficients(('rx', 'ry', 'rz'), position.model.names, *_single(turns))
        by_position += _translation(centre, body.mass, rates, accelerations, g)
        by_position += _rotation(rotation, R @ body.inertia @ R.T, rates, accelerations)
    for where, load in loads:
        by_position -= _held(load, where)
    by_velocity = np.einsum('m,kmn->kn', rates, model.power + transposed(model.power))
    return EffortSlopes(model.inertia, by_velocity, by_position)


def _single(batch: object) -> tuple[Array, Array, Array]:
    return batch.G[0, 0], batch.H[0, 0], batch.D[0, 0]  # type: ignore[attr-defined]


def _held(load: ArrayLike, where: Coefficients) -> Array:
    """Return the derivative (M, M) of G^T f by the coordinates at constant f: sum of f_p H[p, n, m] at [m, n]."""
    return np.einsum('p,pnm->mn', np.asarray(load, float), where.H)


def _third(where: Coefficients) -> Array:
    assert where.D is not None
    return where.D


def _translation(centre: Coefficients, mass: float, v: Array, a: Array, g: Array) -> Array:
    """Return the derivative of the rate of linear momentum less the weight (2-211 to 2-216)."""
    force = mass * (centre.acceleration(v, a) - g)
    change = np.einsum('pmn,n->pm', centre.H, a) + np.einsum('plmn,m,n->pl', _third(centre), v, v)
    return _held(force, centre) + mass * centre.G.T @ change


def _rotation(rotation: Coefficients, II: Array, v: Array, a: Array) -> Array:
    """Return the derivative of the rate of angular momentum (2-221, 2-223)."""
    G, H = rotation.G, rotation.H
    omega, alpha = rotation.velocity(v), rotation.acceleration(v, a)
    spin = II @ omega
    from_left, from_right = np.einsum('m,pmn->pn', v, H), np.einsum('n,pmn->pm', v, H)
    turned = np.einsum('m,pmn->pn', a, H) + np.einsum('plmn,m,n->pl', _third(rotation), v, v)
    first = cross_columns(G, II @ alpha) + II @ (turned - cross_columns(G, quadratic(v, H)))
    second = cross_columns(from_right, spin) - cross_columns(cross_columns(G, spin) + II @ from_left, omega)
    rate = II @ alpha + np.cross(omega, spin)
    return _held(rate, rotation) + np.asarray(G.T @ (first + second))


@dataclass(frozen=True, eq=False)
class Drives:
    """M d-c motors with constant field on a rigid gear train, in joint coordinates (2-237).

    Attributes:
        inductance, resistance: (M, M) of the armatures, H and ohm.
        back_emf: (M, M) volts by joint rates.
        torque: (M, M) joint efforts by currents.
        inertia, damping: (M, M) of the rotors, at the joints.
    """

    inductance: Array
    resistance: Array
    back_emf: Array
    torque: Array
    inertia: Array
    damping: Array

    @classmethod
    def geared(
        cls,
        gear: ArrayLike,
        inductance: ArrayLike,
        resistance: ArrayLike,
        back_emf: ArrayLike,
        torque: ArrayLike,
        inertia: ArrayLike,
        damping: ArrayLike,
    ) -> Drives:
        """Return the drives of motors with shaft data (M,) and a gear train.

        Args:
            gear: (M, M) joint rates by shaft rates, constant (2-230).
            inductance: H.
            resistance: ohm.
            back_emf: V s/rad.
            torque: N m/A.
            inertia: of the rotors, kg m2.
            damping: of the shafts, N m s/rad.

        Raises:
            ValueError: a gear train that leaves a joint without a motor.
        """
        train = np.asarray(gear, float)
        if np.linalg.matrix_rank(train) < len(train):
            raise ValueError('expected a gear train that turns every joint, found a singular one')
        up = np.linalg.inv(train)
        L, R, E, M, J, B = (
            np.diag(np.asarray(part, float)) for part in (inductance, resistance, back_emf, torque, inertia, damping)
        )
        return cls(L, R, E @ up, up.T @ M, up.T @ J @ up, up.T @ B @ up)

    def currents(self, effort: ArrayLike, v: ArrayLike) -> Array:
        """Return the nominal currents (M,), A (2-238); `effort` includes the inertia of the rotors."""
        return np.linalg.solve(self.torque, np.asarray(effort, float) + self.damping @ np.asarray(v, float))

    def current_rates(self, slopes: EffortSlopes, v: ArrayLike, a: ArrayLike, jerk: ArrayLike) -> Array:
        """Return the rates of the nominal currents (M,), A/s (2-239).

        Args:
            slopes: of the arm's efforts, rotors included.
            v: (M,) nominal rates of the joints.
            a: (M,) nominal accelerations.
            jerk: (M,) their nominal rates.
        """
        rates, accelerations = np.asarray(v, float), np.asarray(a, float)
        change = slopes.by_acceleration @ np.asarray(jerk, float) + slopes.by_position @ rates
        change = change + (slopes.by_velocity + self.damping) @ accelerations
        return np.linalg.solve(self.torque, change)

    def voltages(self, currents: ArrayLike, current_rates: ArrayLike, v: ArrayLike) -> Array:
        """Return the nominal voltages (M,), V (2-240)."""
        i, rate = np.asarray(currents, float), np.asarray(current_rates, float)
        return np.asarray(self.inductance @ rate + self.resistance @ i + self.back_emf @ np.asarray(v, float))


def arm_state_space(slopes: EffortSlopes, drives: Drives) -> tuple[Array, Array]:
    """Return F (3M, 3M) and G (3M, M) of the deviations of joints, rates and currents; inputs: voltages (2-241).

    Args:
        slopes: of the arm's efforts, rotors included.
        drives: of the joints.
    """
    M = len(slopes.by_acceleration)
    none, inverse = np.zeros((M, M)), np.linalg.inv(slopes.by_acceleration)
    armature = np.linalg.inv(drives.inductance)
    F = np.block([
        [none, np.eye(M), none],
        [-inverse @ slopes.by_position, -inverse @ (slopes.by_velocity + drives.damping), inverse @ drives.torque],
        [none, -armature @ drives.back_emf, -armature @ drives.resistance],
    ])  # fmt: skip
    return F, np.vstack([none, none, armature])


def in_hand_coordinates(
    F: Array, inputs: Array, hand: Coefficients, v: ArrayLike, a: ArrayLike, as_printed: bool = False
) -> tuple[Array, Array]:
    """Return the state space with deviations of a hand instead of the joints, and the same currents (3-53).

    The deviation of an orientation is the integrated deviation of the hand's angular velocity: G times the deviation of
    the joints.

    Args:
        F: (3M, 3M) of joints, rates, currents.
        inputs: (3M, M).
        hand: M parameters of the hand by the joints, to third order.
        v: (M,) nominal rates of the joints.
        a: (M,) nominal accelerations.
        as_printed: keep the zero first block of the source, which is valid for true coordinates only.

    Raises:
        SingularTransferError: the hand does not determine the joints here.
    """
    inverse, M = hand.inverse().G, len(hand.coordinates)
    rates, accelerations = np.asarray(v, float), np.asarray(a, float)
    G, H = hand.G, hand.H
    by_position = np.einsum('pmn,n->pm', H, rates)
    second_by_rate = np.einsum('m,pmn->pn', rates, H + transposed(H))
    second = np.einsum('pmn,n->pm', H, accelerations) + np.einsum('plmn,m,n->pl', _third(hand), rates, rates)
    blocks = [[F[i * M : (i + 1) * M, j * M : (j + 1) * M] for j in range(3)] for i in range(3)]
    back = inverse @ by_position
    turning = np.einsum('m,pmn->pn', rates, H - transposed(H)) @ inverse
    moved = np.block([
        [np.zeros((M, M)) if as_printed else turning, np.eye(M), np.zeros((M, M))],
        [(second - second_by_rate @ back + G @ (blocks[1][0] - blocks[1][1] @ back)) @ inverse,
         (second_by_rate + G @ blocks[1][1]) @ inverse, G @ blocks[1][2]],
        [-blocks[2][1] @ back @ inverse, blocks[2][1] @ inverse, blocks[2][2]],
    ])  # fmt: skip
    return moved, inputs
