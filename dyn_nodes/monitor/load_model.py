"""Load of a moving machine on the ground, from its joints and an IMU on its base; compiled.

Everything is in the axes of the base link, so that position and attitude of the machine are not needed: an
accelerometer measures the acceleration of the base less gravity, which is the input of the recursive Newton-Euler
algorithm.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile import build_module
from dyn_nodes.model import rotations
from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import TreeState, build_tree, inverse_dynamics
from dyn_nodes.multibody.dynamics import body_accelerations
from dyn_nodes.multibody.spatial import Expression, Motion, cross

LEFT = (0.0, 1.0, 0.0)
COM, FORCE, MOMENT, POINT, PULL, ATTACHMENTS = 1, 4, 7, 10, 13, 16
"""Offsets of the vectors of a `GroundLoad` in the result, after the mass; attachments and axles (s, 3) follow."""


class GroundLoad(NamedTuple):
    """The load of one state, base axes; in a batch every array has a leading dimension (t,).

    Attributes:
        mass: kg, payload included.
        com: (3,) centre of mass, m.
        force, moment: (3,) gravity and inertia of the whole machine, N, and their moment about the base link's origin,
            N m: the ground has to balance them.
        attachments: (s, 3) of the springs that support the machine, `Machine.supports`: of wheels, of rollers, m.
        axles: (s, 3) their unit axles, to the left; for a braked wheel the left of the base.
        payload_point: (3,) m; NaN without a payload mount.
        payload_load: (3,) gravity less acceleration there, m/s2; NaN without a payload mount.
    """

    mass: Array
    com: Array
    force: Array
    moment: Array
    attachments: Array
    axles: Array
    payload_point: Array
    payload_load: Array

    @property
    def moment_at_com(self) -> Array:
        """Moment (3,) about the centre of mass, N m."""
        return self.moment - rotations.cross(self.com, self.force)


def axles_of(machine: Machine) -> dict[str, Array | None]:
    """Return the axle (3,) of every rolling wheel and of every other contact, in its link; None for other wheels."""
    wheels = {w.name: None if w.rolling is None else np.array(w.rolling.axis) for w in machine.wheels}
    return {**wheels, **{contact.name: np.array(LEFT) for contact in machine.contacts}}


class LoadModel:
    """Compiled load of a machine.

    Args:
        machine: with a base that is not fixed (`free` or `planar`: the base is a free body here).

    Attributes:
        joints: names of the movable joints, in their order.
        size: of the code's result.
        code: address of machine code of q, v, a (n,), base (9,) as in `evaluate_batch`, payload (1,), kg, and a result
            (size,).

    Raises:
        ValueError: the base is not free, or the machine has loads, whose poses are not in joint states.
    """

    def __init__(self, machine: Machine) -> None:
        if machine.base.attachment != 'free':
            raise ValueError(f'{machine.name}: expected a free base, found {machine.base.attachment}')
        if machine.loads:
            names = ', '.join(load.name for load in machine.loads)
            raise ValueError(f'{machine.name}: expected bodies on joints alone, found the loads {names}')
        self.machine = machine
        self.joints = tuple(joint.name for joint in machine.movable_joints)
        self._springs = len(machine.supports)
        self.size = ATTACHMENTS + 6 * self._springs
        self._base, self._payload_mass = np.empty(9), np.empty(1)
        self._kernel = build_module(
            f'{machine.name}: load', [machine_fingerprint(machine)], self._functions, batch=('load',)
        )
        self.code = self._kernel.code('load')

    def _functions(self) -> tuple[dict[str, ca.Function], dict[str, Any]]:
        tree = build_tree(self.machine)
        n = tree.nv - 6
        q, v, a = (ca.SX.sym(name, n) for name in ('q', 'v', 'a'))
        base, payload = ca.SX.sym('base', 9), ca.SX.sym('payload', 1)
        omega, alpha, specific_force = base[0:3], base[3:6], base[6:9]
        # at the origin of a frame that coincides with the base; its velocity has no effect on forces and is zero
        still = ca.vertcat(ca.SX(3, 1), ca.SX([0, 0, 0, 1]))
        state = TreeState(tree, ca.vertcat(still, q), ca.vertcat(omega, ca.SX(3, 1), v), payload)
        acceleration = ca.vertcat(alpha, specific_force, a)
        no_gravity = ca.SX(3, 1)
        wrench = inverse_dynamics(state, acceleration, no_gravity)[:6]
        wheels, axles = [], []
        axles_by_contact = axles_of(self.machine)
        for spring in self.machine.supports:
            frame, axle = tree.frame(spring.link), axles_by_contact[spring.contact]
            wheels.append(state.poses[frame.body].point(ca.SX(frame.p + frame.R @ spring.position)))
            axles.append(ca.SX(LEFT) if axle is None else ca.mtimes(state.poses[frame.body].R, ca.SX(frame.R @ axle)))
        point, load = self._payload(state, body_accelerations(state, acceleration, no_gravity))
        outputs = [state.mass, state.center_of_mass, -wrench[3:6], -wrench[0:3], point, load, *wheels, *axles]
        flat = ca.densify(ca.vertcat(*outputs))
        return {'load': ca.Function('load', [q, v, a, base, payload], [flat])}, {}

    @staticmethod
    def _payload(state: TreeState, accelerations: list[Motion]) -> tuple[Expression, Expression]:
        frame = state.tree.payload
        if frame is None or frame.body < 0:
            return ca.SX.nan(3, 1), ca.SX.nan(3, 1)
        point = ca.SX(frame.p)
        spatial, velocity, pose = accelerations[frame.body], state.velocities[frame.body], state.poses[frame.body]
        classical = spatial.v + cross(spatial.w, point) + cross(velocity.w, velocity.v + cross(velocity.w, point))
        return pose.point(point), -ca.mtimes(pose.R, classical)

    def evaluate(
        self, q: Array, v: Array, a: Array, omega: Array, alpha: Array, specific_force: Array, payload: float
    ) -> GroundLoad:
        """Return the load of one state.

        Args:
            q: (n,) positions of the movable joints, in the machine's order.
            v: (n,) velocities.
            a: (n,) accelerations.
            omega: (3,) angular velocity of the base link, in its axes, rad/s.
            alpha: (3,) its angular acceleration, rad/s2.
            specific_force: (3,) at the base link's origin, m/s2: acceleration less gravity, as read by an accelerometer
                there (+g upwards at rest).
            payload: kg.
        """
        flat, base = np.empty(self.size), self._base
        base[0:3], base[3:6], base[6:9], self._payload_mass[0] = omega, alpha, specific_force, payload
        self._kernel.load(q, v, a, base, self._payload_mass, flat)
        return self.load_of(flat)

    def load_of(self, flat: Array) -> GroundLoad:
        """Return the load of the code's result (size,), as views."""
        middle = ATTACHMENTS + 3 * self._springs
        wheels, axles = flat[ATTACHMENTS:middle].reshape(-1, 3), flat[middle:].reshape(-1, 3)
        com, force, moment = flat[COM:FORCE], flat[FORCE:MOMENT], flat[MOMENT:POINT]
        return GroundLoad(flat[0], com, force, moment, wheels, axles, flat[POINT:PULL], flat[PULL:ATTACHMENTS])

    def evaluate_batch(self, q: Array, v: Array, a: Array, base: Array, payload: Array) -> GroundLoad:
        """Return the loads of t states.

        Args:
            q: (t, n), contiguous.
            v: (t, n).
            a: (t, n).
            base: (t, 9) omega, alpha, specific force of each.
            payload: (t,) kg.
        """
        flat = np.empty((len(q), self.size))
        self._kernel.load_batch(q, v, a, base, payload.reshape(-1, 1), flat)
        shape, middle = (len(q), self._springs, 3), ATTACHMENTS + 3 * self._springs
        return GroundLoad(
            flat[:, 0],
            flat[:, COM:FORCE],
            flat[:, FORCE:MOMENT],
            flat[:, MOMENT:POINT],
            np.ascontiguousarray(flat[:, ATTACHMENTS:middle]).reshape(shape),
            np.ascontiguousarray(flat[:, middle:]).reshape(shape),
            flat[:, POINT:PULL],
            flat[:, PULL:ATTACHMENTS],
        )
