"""A plant that is advanced step by step: what a node, a test or a notebook drives."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.model.machine import Machine
from dyn_nodes.simulation import drivers
from dyn_nodes.simulation.assembly import Actuation, gravity_vector
from dyn_nodes.simulation.balance import DEFAULT_MEASURES, Balance, BalanceObserver
from dyn_nodes.simulation.command_delay import CommandDelay
from dyn_nodes.simulation.initial import initial_state
from dyn_nodes.simulation.servo import JointServo
from dyn_nodes.simulation.system import System

Array = NDArray[np.float64]


class PlantDivergedError(RuntimeError):
    """The integration left the numbers that make sense; the plant keeps its last good state."""


class Plant:
    """A running machine.

    Attributes:
        time: simulated time, s: `ticks` times the exchange period, free of summed round-off.
        x: state.  p: parameters.
        joints: names of the movable joints, in the order of every joint vector here.
        overturned: True once the base has tilted beyond the machine's limit.
    """

    def __init__(
        self,
        machine: Machine,
        actuation: Actuation,
        exchange_period: float,
        integration_step: float,
        measures: tuple[str, ...] = DEFAULT_MEASURES,
    ) -> None:
        self.machine, self.period = machine, exchange_period
        self.system = System(machine, actuation)
        self.observer = BalanceObserver(self.system, measures) if len(machine.wheels) >= 3 else None
        self.joints = tuple(joint.name for joint in machine.movable_joints)
        self.substeps = max(1, int(np.ceil(exchange_period / integration_step - 1e-9)))
        self.p = self.system.parameters()
        self._joint_q = [self.system.index('state', name) for name in self.joints]
        self._joint_v = [self.system.index('state', f'{name}_rate') for name in self.joints]
        self._limit = float(np.cos(machine.overturn_angle)) if machine.wheels else -2.0
        self._knots, self._trace = np.zeros(1), np.zeros((1, len(self.system.state_names)))
        self._servo: JointServo | None = None
        self._delay = None if self.system.delays is None else CommandDelay(self.system.delays)
        self.u = np.zeros(len(self.system.input_names))
        self.reset()

    def reset(self) -> None:
        """Start again from the machine's initial posture, at rest, with the present parameters."""
        self.x = initial_state(self.system, self.p)
        self.ticks = 0
        self.overturned = False
        if self._delay is not None:
            self._delay.clear()
        self.u[:] = 0.0
        self._outputs: Array | None = None
        if self.system.actuation == 'effort':
            self.u[:] = self.holding_efforts()

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return self.ticks * self.period

    @property
    def positions(self) -> Array:
        """Joint positions, rad or m."""
        return self.x[self._joint_q]

    @property
    def velocities(self) -> Array:
        """Joint velocities, rad/s or m/s."""
        return self.x[self._joint_v]

    @property
    def efforts(self) -> Array:
        """Drive efforts of the joints now, N m or N."""
        y = self.outputs()
        return np.array([y[self.system.index('output', f'{name}/drive_effort')] for name in self.joints])

    def outputs(self) -> Array:
        """All outputs at the present state; computed once a state."""
        if self._outputs is None:
            self._outputs = self.system.outputs(self.x, self.u, self.p)
        return self._outputs

    def output(self, name: str) -> float:
        """Return one output now."""
        return float(self.outputs()[self.system.index('output', name)])

    def balance(self) -> Balance | None:
        """Return ground reactions and margins now; None for a machine with fewer than three wheels."""
        return self.observer.observe(self.outputs(), self.p[:3]) if self.observer else None

    def set_inputs(self, values: Mapping[str, float]) -> None:
        """Set inputs by name. Raises UnknownNameError."""
        for name, value in values.items():
            self.u[self.system.index('input', name)] = value
        self._outputs = None

    def set_parameter(self, name: str, value: float) -> None:
        """Set a parameter by name. Raises UnknownNameError."""
        self.p[self.system.index('parameter', name)] = value
        self._outputs = None

    def set_slope(self, roll: float, pitch: float) -> None:
        """Turn the ground under the machine, rad; positive pitch: front downhill."""
        self.p[:3] = gravity_vector(self.machine.gravity, (roll, pitch))
        self._outputs = None

    def advance(self) -> None:
        """Advance by one exchange period with the present inputs.

        Raises PlantDivergedError and stays at the state before, if the numbers run away.
        """
        x = self.x.copy()
        knots, table, history = self._knots, self.u.reshape(1, -1), None
        if self._delay is not None:
            history = self._delay.history
            knots, table = self._delay.table(self.time, self.time + self.period, self.u)
        status, _ = self.system.module.run_rk4(
            x,
            self.time,
            self.period / self.substeps,
            self.substeps,
            knots,
            table,
            self.p,
            self._limit,
            0,
            self._trace,
        )
        if status == drivers.DIVERGED:
            if self._delay is not None and history is not None:
                self._delay.history = history
            raise PlantDivergedError(f'{self.machine.name}: the simulation diverged at t = {self.time:.4f} s')
        self.overturned = self.overturned or status == drivers.GUARDED
        self.x = x
        self.ticks += 1
        self._outputs = None

    def servo_efforts(self, target: Array, target_velocity: Array) -> Array:
        """Return the efforts that drive the joints to a target, as stiff position servos would."""
        if self._servo is None:
            self._servo = JointServo(self.machine)
        nq = self.system.nq
        payload = float(self.p[self.system.index('parameter', 'payload_mass')])
        q, v = self.x[:nq], self.x[nq : nq + self.system.nv]
        return self._servo.efforts(q, v, target, target_velocity, self.p[:3], payload)

    def holding_efforts(self) -> Array:
        """Return the efforts that hold the joints where they are."""
        return self.servo_efforts(self.positions, np.zeros(len(self.joints)))

    def base_pose(self) -> tuple[Array, Array]:
        """Return position (3,) and quaternion x, y, z, w (4,) of the base link in the ground's frame."""
        if self.system.free:
            quaternion = self.x[3:7]
            return self.x[:3], quaternion / np.linalg.norm(quaternion)
        if self.machine.base.attachment == 'planar':
            half = 0.5 * self.x[2]
            return np.array([self.x[0], 0.0, self.x[1]]), np.array([0.0, np.sin(half), 0.0, np.cos(half)])
        return np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])

    def base_twist(self) -> tuple[Array, Array]:
        """Return linear and angular velocity (3,) of the base link in its own axes, m/s and rad/s."""
        nq = self.system.nq
        if self.system.free:
            return self.x[nq + 3 : nq + 6], self.x[nq : nq + 3]
        if self.machine.base.attachment == 'planar':
            c, s = np.cos(self.x[2]), np.sin(self.x[2])
            vx, vz, rate = self.x[nq : nq + 3]
            return np.array([c * vx - s * vz, 0.0, s * vx + c * vz]), np.array([0.0, rate, 0.0])
        return np.zeros(3), np.zeros(3)
