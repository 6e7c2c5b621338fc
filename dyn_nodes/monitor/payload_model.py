"""Momentum of the joints that carry a payload, as a linear function of the payload and of uncertain quantities.

The machine is described in a frame that moves with the base link's origin and does not turn. In it gravity and the
acceleration of the base are one field, the specific force s that an accelerometer on the base measures, and Lagrange's
equations of the joints need neither attitude nor accelerations:

    T = kinetic energy relative to that origin,  U = sum m_i s . r_i,  L = T - U,
    d/dt dL/dq' = dL/dq + e,

with e the efforts of the actuators, from their line pressures, less viscous friction. Every term is linear in masses,
first moments of mass, friction coefficients and pressures. Linkages with v = N v_I have, for p = dL/dq',

    d/dt (N^T p) = N^T (dL/dq + e) + (dN/dt)^T p.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.compile import build_module
from dyn_nodes.constraints.linkages import Linkages
from dyn_nodes.elements import actuator_elements
from dyn_nodes.elements.hydraulic import OIL_SCALE, HydraulicActuator
from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import Tree, TreeState, build_tree
from dyn_nodes.multibody.elements import symbolic
from dyn_nodes.multibody.regressor import energy_of
from dyn_nodes.multibody.spatial import Expression, Inertia, skew

PAYLOAD_COLUMNS = 4


class MomentumTerms(NamedTuple):
    """The rows of one instant; r joints, b columns of bodies (payload first), e columns of efforts.

    Attributes:
        momentum: (r,) of the nominal machine without payload, kg m2/s or kg m/s.
        momentum_columns: (r, b) per kg and kg m of payload and per part of each body's mass.
        force: (r,) dL/dq + e of the nominal machine, N m or N.
        force_columns: (r, b) as above.
        effort_columns: (r, e) per part of viscous friction, per Pa of each line and per m/s2 of specific force.
        pressed: (r,) efforts of the pressures alone, N m or N.
        noise: (r, n + 3) of momentum per rad/s of all joints' speeds and of the base's.
        room: (r,) remaining travel of the piston to its nearer end, m; inf for a motor.
    """

    momentum: Array
    momentum_columns: Array
    force: Array
    force_columns: Array
    effort_columns: Array
    pressed: Array
    noise: Array
    room: Array


class UnobservableError(UserError, ValueError):
    """The payload of this machine cannot be estimated from pressures."""


class PayloadModel:
    """Compiled momentum of a machine's payload joints.

    Args:
        machine: with a payload mount and hydraulic actuators that move it, directly or by linkages.

    Attributes:
        joints: names of all movable joints, the order of positions and speeds.
        rows: names of the joints that carry the payload and have hydraulic actuators.
        indices: (r,) of these joints among `joints`.
        actuators: names, one for each row.
        lines: `<actuator>/<line>` of the pressures, in their order.
        bodies: names of the bodies (by their joint) whose masses are columns.
        columns: names of all columns, of bodies and of efforts.

    Raises:
        UnobservableError: no mount, linkages that actuators do not determine, or no hydraulic actuator that carries the
            payload; the message names the fault.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._tree = build_tree(machine)
        self.joints = tuple(joint.name for joint in machine.movable_joints)
        self._q, self._v = (ca.SX.sym(name, len(self.joints)) for name in ('q', 'v'))
        self._linkages = self._new_linkages()
        self._rows = self._carrying()
        self.rows = tuple(element.joint for element in self._rows)
        self.indices = np.array([self.joints.index(name) for name in self.rows], dtype=np.intp)
        self.actuators = tuple(element.name for element in self._rows)
        self.lines = tuple(f'{element.name}/{line}' for element in self._rows for line in element.record.lines)
        self._moved = self._moved_bodies()
        self.bodies = tuple(self._tree.bodies[k].name for k in self._moved)
        self.body_columns = ('payload', *(f'payload moment {axis}' for axis in 'xyz'), *self.bodies)
        self.effort_columns = (
            *(f'{name} viscous' for name in self.actuators),
            *self.lines,
            *(f'specific force {axis}' for axis in 'xyz'),
        )
        self.columns = (*self.body_columns, *self.effort_columns)
        r, n, b, e = len(self.rows), len(self.joints), len(self.body_columns), len(self.effort_columns)
        self._shapes = ((r,), (r, b), (r,), (r, b), (r, e), (r,), (r, n + 3), (r,))
        self._ends = np.cumsum([int(np.prod(shape)) for shape in self._shapes])
        self._kernel = build_module(f'{machine.name}: payload', [machine_fingerprint(machine)], self._functions)

    def _new_linkages(self) -> Linkages | None:
        if not self.machine.constraints:
            return None
        driven = [joint.name for joint in self.machine.actuated_joints]
        try:
            return Linkages(self.machine, driven, self._q, self._v)
        except ValueError as error:
            raise UnobservableError(str(error)) from None

    @property
    def independent(self) -> tuple[str, ...]:
        """Names of the joints that linkages do not move."""
        linkages = self._linkages
        return self.joints if linkages is None else tuple(self.joints[index] for index in linkages.independent)

    def moved_by(self, joints: Collection[str]) -> set[str]:
        """Return the names of the joints that move with independent joints, by linkages or themselves."""
        if self._linkages is None:
            return set(joints)
        columns = [k for k, index in enumerate(self._linkages.independent) if self.joints[index] in joints]
        moving, _ = self._linkages.complement[:, columns].sparsity().get_triplet()
        return {self.joints[index] for index in moving}

    def _carrying(self) -> tuple[HydraulicActuator[Any], ...]:
        """Return the hydraulic actuators of the joints between base and payload."""
        machine, frame = self.machine, self._tree.payload
        if machine.payload is None or frame is None or frame.body < 0:
            raise UnobservableError(f'{machine.name}: expected a payload on a link that moves, found none')
        if machine.loads:
            names = ', '.join(load.name for load in machine.loads)
            raise UnobservableError(f'{machine.name}: expected joints moved by their actuators alone, found {names}')
        if machine.base.attachment == 'planar':
            raise UnobservableError(f'{machine.name}: expected a free or a fixed base, found a planar one')
        chain, body = set(), frame.body
        while body >= 0:
            chain.add(self._tree.bodies[body].name)
            body = self._tree.bodies[body].parent
        carrying = tuple(
            element
            for element in actuator_elements(machine)
            if isinstance(element, HydraulicActuator) and self.moved_by({element.joint}) & chain
        )
        if not carrying:
            names = ', '.join(f'{element.name} ({element.kind})' for element in machine.actuators) or 'none'
            raise UnobservableError(
                f'{machine.name}: expected hydraulic actuators that carry the payload, found {names}'
            )
        return carrying

    def _moved_bodies(self) -> tuple[int, ...]:
        """Return the indices of bodies with mass that a row moves."""
        tree, rows = self._tree, self.moved_by(self.rows)
        moved: set[int] = set()
        for index, body in enumerate(tree.bodies):
            if body.name in rows or body.parent in moved:
                moved.add(index)
        return tuple(sorted(k for k in moved if not tree.bodies[k].massless))

    # -- traced ------------------------------------------------------------------------------------------------------

    def _functions(self) -> tuple[dict[str, ca.Function], dict[str, Any]]:
        tree = self._tree
        q, v, omega, specific_force = self._q, self._v, ca.SX.sym('omega', 3), ca.SX.sym('specific_force', 3)
        pressures, mass = ca.SX.sym('pressures', len(self.lines)), ca.SX.sym('mass', 1)
        parts = ca.SX.sym('parts', len(self.body_columns))
        free = tree.bodies[0].kind == 'free'
        still = ca.vertcat(ca.SX(3, 1), ca.SX([0, 0, 0, 1])) if free else ca.SX(0, 1)
        base = ca.vertcat(omega, ca.SX(3, 1)) if free else ca.SX(0, 1)
        state = TreeState(tree, ca.vertcat(still, q), ca.vertcat(base, v))
        lagrangian = self._lagrangian(state, specific_force, parts)
        rows = [int(index) for index in self.indices]
        momentum, push = self._reduced(*(ca.gradient(lagrangian, x) for x in (v, q)))
        linear = (ca.densify(ca.jacobian(value, parts)) for value in (momentum, push))
        zeros = ca.SX.zeros(len(self.body_columns))
        bare = [ca.substitute(value, parts, zeros) for value in (momentum, push)]
        held = ca.vertcat(mass, ca.SX.zeros(len(self.body_columns) - 1))
        speeds = ca.substitute(ca.jacobian(momentum, ca.vertcat(v, omega)), parts, held)
        by_specific_force = ca.substitute(ca.jacobian(push, specific_force), parts, held)
        effort, effort_columns, room = self._efforts(q[rows], v[rows], pressures)
        momentum_columns, force_columns = linear
        values = (
            bare[0],
            momentum_columns,
            bare[1] + effort,
            force_columns,
            ca.horzcat(effort_columns, by_specific_force),
            ca.mtimes(effort_columns[:, len(rows) :], pressures),
            speeds,
            room,
        )
        flat = ca.densify(ca.vertcat(*(ca.vec(ca.densify(value).T) for value in values)))
        return {'terms': ca.Function('terms', [q, v, omega, specific_force, pressures, mass], [flat])}, {}

    def _reduced(self, momentum: Expression, push: Expression) -> tuple[Expression, Expression]:
        """Return momentum and forces (r,) of the rows, from the ones of all joints (n,), with closed linkages."""
        rows = [int(index) for index in self.indices]
        if self._linkages is None:
            return momentum[rows], push[rows]
        join = self._linkages.complement[:, [self._linkages.independent.index(row) for row in rows]].T
        fixed = ca.SX.sym('momentum', momentum.shape[0])
        turned = ca.mtimes(ca.jacobian(ca.mtimes(join, fixed), self._q), self._v)
        turned = ca.substitute(turned, fixed, momentum)
        results = [ca.mtimes(join, momentum), ca.mtimes(join, push) + turned]
        closed = ca.substitute(results, [self._v], [self._linkages.closed(self._v)])
        return closed[0], closed[1]

    def _lagrangian(self, state: TreeState, specific_force: Expression, parts: Expression) -> Expression:
        tree: Tree = state.tree
        inertias = [body.rigid_inertia() for body in tree.bodies]
        scale = {k: 1 + parts[PAYLOAD_COLUMNS + index] for index, k in enumerate(self._moved)}
        frame = tree.payload
        assert frame is not None
        energy = ca.SX(0)
        for k, (body, velocity, pose) in enumerate(zip(tree.bodies, state.velocities, state.poses)):
            inertia = inertias[k]
            factor = scale.get(k, ca.SX(1))
            energy += factor * energy_of(inertia, velocity, pose, specific_force)
            energy += 0.5 * body.armature * state.v[body.v] ** 2 if body.armature else 0
            if k == frame.body:
                energy += energy_of(_point(frame, parts[:PAYLOAD_COLUMNS]), velocity, pose, specific_force)
        return energy

    def _efforts(
        self, q: Expression, v: Expression, pressures: Expression
    ) -> tuple[Expression, Expression, Expression]:
        """Return efforts (r,), their columns without the specific force, and remaining piston travels."""
        factors = ca.SX.sym('viscous', len(self._rows))
        efforts, rooms, first = [], [], 0
        for k, element in enumerate(self._rows):
            record = symbolic(element.record, viscous=element.record.viscous * (1 + factors[k]))
            lines = [pressures[first + line] for line in range(len(record.lines))]
            first += len(record.lines)
            symbols = dict(zip((state.name for state in element.states), (ca.SX(0), *lines)))
            symbols |= {command.name: ca.SX(0) for command in element.inputs} | {OIL_SCALE: ca.SX(1)}
            terms = type(element)(record).terms(q[k], v[k], symbols)
            joint = self.machine.joint(element.joint)
            efforts.append(terms.effort - joint.damping * (1 + factors[k]) * v[k])
            piston = terms.outputs.get(f'{element.name}/piston')
            rooms.append(ca.SX(np.inf) if piston is None else ca.fmin(piston, record.linkage.stroke - piston))
        effort = ca.vertcat(*efforts)
        columns = ca.jacobian(effort, ca.vertcat(factors, pressures))
        zeros = ca.SX.zeros(len(self._rows))
        return ca.substitute(effort, factors, zeros), ca.substitute(columns, factors, zeros), ca.vertcat(*rooms)

    # -- numbers -----------------------------------------------------------------------------------------------------

    def evaluate(
        self, q: Array, v: Array, omega: Array, specific_force: Array, pressures: Array, mass: float
    ) -> MomentumTerms:
        """Return the rows of one instant.

        Args:
            q: (n,) positions of the movable joints.
            v: (n,) speeds.
            omega: (3,) angular velocity of the base link in its axes, rad/s.
            specific_force: (3,) at the base link's origin, in its axes, m/s2.
            pressures: of `lines`, Pa.
            mass: of the payload, for the columns of the specific force and of noise, kg.
        """
        flat = np.empty(int(self._ends[-1]))
        self._kernel.terms(q, v, omega, specific_force, pressures, np.array([float(mass)]), flat)
        parts = np.split(flat, self._ends[:-1])
        return MomentumTerms(*(part.reshape(shape) for part, shape in zip(parts, self._shapes)))


def _point(frame: Any, parts: Expression) -> Inertia:
    """Return the inertia of a payload by its mass and its first moment about the mount, without its second moment."""
    point, moment = skew(ca.SX(frame.p)), skew(ca.mtimes(ca.SX(frame.R), parts[1:4]))
    crossed = ca.mtimes(point, moment)
    second = -(parts[0] * ca.mtimes(point, point) + crossed + crossed.T)
    return Inertia(second, parts[0] * point + moment, parts[0] * ca.SX.eye(3))
