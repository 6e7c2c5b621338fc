"""Momentum rows of a machine's joints: inertial parameters, friction, sensor errors, joint offsets.

For every joint with a hydraulic actuator and every window, the change of its momentum is the integral of all efforts on
it (`multibody.regressor`). The sign of dry friction is determined while the joint moves; windows in which it rests or
reverses, and windows at the end of a cylinder, are omitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dyn_nodes.analysis.machine_log import MachineLog
from dyn_nodes.analysis.weak_form import Windows, covered, interpolated, windows
from dyn_nodes.common.arrays import Array
from dyn_nodes.elements import actuator_elements
from dyn_nodes.elements.hydraulic import OIL_SCALE
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import build_tree
from dyn_nodes.multibody.elements import symbolic
from dyn_nodes.multibody.regressor import MomentumRegressor
from dyn_nodes.multibody.spatial import Expression

STEP = 1e-2
"""Step of the grid, s."""
WIDTH, EVERY = 0.4, 0.1
"""Width of the windows, and distance between them, s."""
SLOWEST = 0.015
"""Speed above which a joint counts as moving, rad/s or m/s."""
END_ROOM = 0.02
"""Distance of a piston to its end within which samples are not used, m."""
GAP = 0.15
"""Longest gap between samples, s."""
BLOCK = 3.0
"""Duration of the blocks of the jackknife, s."""


@dataclass(frozen=True, eq=False)
class MomentumRows:
    """Linear problem `columns` x = `right`.

    Attributes:
        names: names of the columns.
        columns: (m, k).  right: (m,) N m or N.
        joint: (m,) index of the joint of each row.  time: (m,) centre of its window, s.
        offsets: (m, n) change of `columns` x - `right` per offset of each joint, N m/rad, at the start values.
    """

    names: tuple[str, ...]
    columns: Array
    right: Array
    joint: NDArray[np.intp]
    time: Array
    offsets: Array

    @property
    def blocks(self) -> NDArray[np.intp]:
        """Number (m,) of the block of time of each row."""
        return np.floor(self.time / BLOCK).astype(np.intp)


class JointMechanics:
    """Momentum rows of a machine as a compiled expression.

    Args:
        machine: machine with hydraulic actuators, without constraints and planar base.
        actuators: names of the actuators with measured pressures.
        payload: specified mass in the implement, kg.

    Attributes:
        joints: names of all movable joints.  rows: names of the joints with a measured effort.
        inertial: names of the inertial parameters.  start: their values (10 n,) in the machine files.
        friction: names of the friction columns: viscous of the actuators, dry of their joints.
        sensors: names of the columns of constant sensor errors, measured less true: pressure of the first line of each
            actuator, Pa, and accelerometer, m/s2.

    Raises:
        ValueError: a machine with constraints or a planar base.
    """

    def __init__(self, machine: Machine, actuators: tuple[str, ...], payload: float = 0.0) -> None:
        if machine.needs_constraints or machine.base.attachment == 'planar':
            actual = (
                ', '.join(constraint.name for constraint in machine.constraints) or f'a {machine.base.attachment} base'
            )
            raise ValueError(f'{machine.name}: expected joints moved by their actuators alone, found {actual}')
        self.machine, self.payload = machine, payload
        self.regressor = MomentumRegressor(build_tree(machine))
        self.joints = tuple(self.regressor.tree.bodies[k].name for k in self.regressor.bodies)
        self.elements = [element for element in actuator_elements(machine) if element.name in actuators]
        self.rows = tuple(element.joint for element in self.elements)
        self.row_indices = np.array([self.joints.index(name) for name in self.rows], dtype=np.intp)
        self.inertial, self.start = self.regressor.names, self.regressor.start
        self.friction = (
            *(f'{element.name}.viscous' for element in self.elements),
            *(f'{name}.friction' for name in self.rows),
        )
        self.sensors = (
            *(f'{element.name}.pressure_offset' for element in self.elements),
            *(f'imu.linear_acceleration_{axis}' for axis in 'xyz'),
        )
        self.names = (*self.inertial, *self.friction, *self.sensors)
        self._function = self._traced()

    @property
    def friction_start(self) -> Array:
        """Viscous and dry friction (2 r,) of the machine files."""
        viscous = [element.record.viscous for element in self.elements]
        return np.array([*viscous, *(self.machine.joint(name).friction for name in self.rows)])

    def _traced(self) -> ca.Function:
        q, v, omega, specific_force = self.regressor.symbols
        pressures = ca.SX.sym('pressures', 2 * len(self.elements))
        x = ca.SX.sym('x', len(self.start))
        momentum, push = self.regressor.traced
        rows = [int(index) for index in self.row_indices]
        effort, viscous, offset, room = self._efforts(q, v, pressures)
        carried = self._payload_terms()
        fixed_momentum = carried[0] + self.regressor.rotors
        fixed_force = carried[1][rows] + effort
        specific_force_columns = ca.jacobian(ca.mtimes(push, x) + carried[1], specific_force)[rows, :]
        # effect of an offset of a joint, at inertial parameters x
        p_all, f_all = ca.mtimes(momentum, x) + fixed_momentum, (ca.mtimes(push, x))[rows] + fixed_force
        values = (
            momentum[rows, :],
            push[rows, :],
            fixed_momentum[rows],
            fixed_force,
            viscous,
            offset,
            specific_force_columns,
            ca.jacobian(p_all[rows], q),
            ca.jacobian(f_all, q),
            room,
        )
        flat = [ca.vec(ca.densify(value).T) for value in values]
        return ca.Function('rows', [q, v, omega, specific_force, pressures, x], flat)

    def _payload_terms(self) -> tuple[Expression, Expression]:
        """Return momentum and push (n,) of the payload with its specified mass."""
        tree, n = self.regressor.tree, len(self.joints)
        frame = tree.payload
        if frame is None or self.payload == 0.0 or frame.body not in self.regressor.bodies:
            return ca.SX(n, 1), ca.SX(n, 1)
        p, m = np.asarray(frame.p), self.payload
        second = m * (p @ p * np.eye(3) - np.outer(p, p))
        point = np.array([m, *(m * p), *second[np.triu_indices(3)]])
        index = self.regressor.bodies.index(frame.body)
        momentum, push = self.regressor.traced
        columns = slice(10 * index, 10 * index + 10)
        return ca.mtimes(momentum[:, columns], ca.DM(point)), ca.mtimes(push[:, columns], ca.DM(point))

    def _efforts(self, q: Expression, v: Expression, pressures: Expression) -> tuple[Expression, ...]:
        """Return efforts (r,) without friction, per viscous friction and per pressure offset; room of pistons."""
        efforts, viscous, offsets, rooms = [], [], [], []
        for k, (element, index) in enumerate(zip(self.elements, self.row_indices)):
            factor = ca.SX.sym('viscous')
            record: Any = symbolic(element.record, viscous=factor)
            lines = [pressures[2 * k], pressures[2 * k + 1]]
            values = dict(zip((state.name for state in element.states), (ca.SX(0), *lines)))
            values |= {command.name: ca.SX(0) for command in element.inputs} | {OIL_SCALE: ca.SX(1)}
            terms = type(element)(record).terms(q[index], v[index], values)  # type: ignore[call-arg]
            damping = self.machine.joint(element.joint).damping
            efforts.append(ca.substitute(terms.effort, factor, ca.SX(0)) - damping * v[index])
            viscous.append(ca.jacobian(terms.effort, factor))
            offsets.append(ca.substitute(ca.jacobian(terms.effort, lines[0]), factor, ca.SX(0)))
            piston = terms.outputs.get(f'{element.name}/piston')
            rooms.append(ca.SX(1e3) if piston is None else ca.fmin(piston, record.linkage.stroke - piston))
        return ca.vertcat(*efforts), ca.vertcat(*viscous), ca.vertcat(*offsets), ca.vertcat(*rooms)

    def rows_of(self, log: MachineLog, x: Array, offsets: Array) -> MomentumRows:
        """Return the rows of a log.

        Args:
            log: log of this machine.
            x: (10 n,) inertial parameters at which `MomentumRows.offsets` are evaluated.
            offsets: (n,) added to the measured joint positions, rad or m.
        """
        start, end = log.span
        grid = windows(start, end, STEP, WIDTH, EVERY)
        signals = Signals.of(log, self, grid.times, offsets)
        parts = self._evaluate(signals, x)
        good = grid.all(self._usable(signals, parts[-1]) & signals.covered[:, np.newaxis])
        return self._assemble(grid, parts, signals, good)

    def _usable(self, signals: Signals, room: Array) -> NDArray[np.bool_]:
        speed = signals.v[:, self.row_indices]
        return np.asarray((np.abs(speed) > SLOWEST) & (room > END_ROOM))

    def _evaluate(self, signals: Signals, x: Array) -> list[Array]:
        count, r, n, k = len(signals.q), len(self.rows), len(self.joints), len(self.start)
        columns = (signals.q, signals.v, signals.omega, signals.specific_force, signals.pressures)
        values = self._function(*(ca.DM(column.T) for column in columns), ca.DM(x))
        shapes = ((r, k), (r, k), (r,), (r,), (r,), (r,), (r, 3), (r, n), (r, n), (r,))
        return [np.array(value).T.reshape(count, *shape) for value, shape in zip(values, shapes)]

    def _assemble(self, grid: Windows, parts: list[Array], signals: Signals, good: NDArray[np.bool_]) -> MomentumRows:
        momentum, push, fixed_momentum, fixed_force, viscous, offset, specific_force, by_q, force_by_q, _ = parts
        r = len(self.rows)
        body = grid.rate(momentum) - grid.mean(push)
        right = grid.mean(fixed_force) - grid.rate(fixed_momentum)
        sign = np.sign(signals.v[:, self.row_indices])
        diagonal = [grid.mean(-viscous), grid.mean(sign), grid.mean(offset)]
        diagonals = [np.stack([np.diag(row) for row in part]) for part in diagonal]
        columns = np.concatenate([body, diagonals[0], diagonals[1], diagonals[2], grid.mean(specific_force)], axis=2)
        shift = grid.rate(by_q) - grid.mean(force_by_q)
        window, joint = np.nonzero(good)
        assert columns.shape[1] == r
        return MomentumRows(
            self.names,
            columns[window, joint],
            right[window, joint],
            self.row_indices[joint],
            grid.centers[window],
            shift[window, joint],
        )


@dataclass(frozen=True, eq=False)
class Signals:
    """A log on an even grid: joints (t, n), base (t, 3), pressures (t, 2 r) and whether all are available (t,)."""

    q: Array
    v: Array
    omega: Array
    specific_force: Array
    pressures: Array
    covered: NDArray[np.bool_]

    @classmethod
    def of(cls, log: MachineLog, mechanics: JointMechanics, times: Array, offsets: Array) -> Signals:
        """Return the interpolated log; without an IMU the base is assumed at rest on level ground."""
        order = [log.joints.index(name) for name in mechanics.joints]
        good = covered(log.positions, times, GAP)
        q = interpolated(log.positions, times)[:, order] + offsets
        v = interpolated(log.velocities, times)[:, order]
        omega, specific_force = (
            np.zeros((len(times), 3)),
            np.tile([0.0, 0.0, mechanics.machine.gravity], (len(times), 1)),
        )
        if log.imu is not None:
            imu = interpolated(log.imu, times)
            omega, specific_force = imu[:, :3], imu[:, 3:]
            good &= covered(log.imu, times, GAP)
        lines = []
        for element in mechanics.elements:
            lines.append(interpolated(log.pressures[element.name], times))
            good &= covered(log.pressures[element.name], times, GAP)
        return cls(q, v, omega, specific_force, np.column_stack(lines), good)
