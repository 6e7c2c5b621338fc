"""A plant that is advanced step by step: what a node, a test or a notebook drives.

`Plant` is a machine on compliant wheels, `RigidPlant` (`rigid_plant`) a planar machine on rigid ground; both have the
same attributes and methods. What happens is located within the step and kept until `take_events` asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyn_nodes import integrators
from dyn_nodes.control.servo import JointServo, PresentMotion, ServoTask
from dyn_nodes.forces.joint_stop import JointStop, joint_stops
from dyn_nodes.integrators import run_rk4_watched
from dyn_nodes.measures import DEFAULT_MEASURES
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.rotations import cross, matrix_of_quaternion
from dyn_nodes.simulation.assembly import Actuation, gravity_vector
from dyn_nodes.simulation.command_delay import CommandDelay, input_delays
from dyn_nodes.simulation.events import Event
from dyn_nodes.simulation.fastest_motion import STABLE, FastestMotion, fastest_motion, substeps_for
from dyn_nodes.simulation.initial import joint_vector, settle, state_of_rest
from dyn_nodes.simulation.reaction import JointReaction
from dyn_nodes.simulation.system import System
from dyn_nodes.simulation.trace import stretches
from dyn_nodes.stability.balance import Balance, balance_observer

Array = NDArray[np.float64]
MOST_EVENTS_OF_A_PERIOD = 256
STOPPED = 0.02
"""Speed of a wheel below which brakes hold it, rad/s."""


class PlantDivergedError(RuntimeError):
    """The integration left the numbers that make sense; the plant keeps its last good state."""


class PlantStoppedError(PlantDivergedError):
    """The model does not say how the motion goes on; `kind` names the event."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Plant:
    """A running machine.

    Args:
        machine: the machine.
        actuation: of the joints.
        exchange_period: time that `advance` goes on by, s.
        integration_step: greatest step of the integrator, s; shorter ones are taken where a motion of the machine at
            rest would make it diverge (`refined_for`).
        measures: stability measures of `balance`.
        joints: positions at the start by name, over the machine's own, rad or m.
        values: parameters by name, over the machine's own.
        slope: (roll, pitch) of the ground, rad; positive pitch: front downhill; None: the machine's own.

    Attributes:
        time: simulated time, s: `ticks` times the exchange period, free of summed round-off.
        x: state.  p: parameters.
        system: what is integrated: names and places of states, inputs, parameters and outputs.
        joints: names of the movable joints, in the order of every joint vector here.
        actuated: names of those that something drives.
        overturned: True once the base has tilted beyond the machine's limit.
        drop_time, drop_tilt: the payload is let go at this time, s, or when the base has tilted by this more than at
            the start, rad; None: never.

    Raises:
        KeyError: a joint, a measure or a parameter that does not exist.
        NoEquilibriumError: the machine cannot rest in its initial posture.
        ValueError: a motion is too fast for any sensible step.
    """

    is_constrained = False
    """Constraints hold it together (`constrained_plant`)."""
    refined_for = ''
    """State with a motion so fast that the integrator takes shorter steps than asked for."""

    def __init__(
        self,
        machine: Machine,
        actuation: Actuation,
        exchange_period: float,
        integration_step: float,
        measures: tuple[str, ...] = DEFAULT_MEASURES,
        joints: Mapping[str, float] | None = None,
        values: Mapping[str, float] | None = None,
        slope: tuple[float, float] | None = None,
    ) -> None:
        self.machine, self.period = machine, exchange_period
        self.system: Any = self._make_system(actuation)
        self.observer = balance_observer(self.system, measures)
        self.joints = tuple(joint.name for joint in machine.movable_joints)
        self.actuated = tuple(joint.name for joint in machine.actuated_joints)
        self._driven = np.array([self.joints.index(name) for name in self.actuated], dtype=np.intp)
        joint_vector(machine, joints)  # unknown names
        self.start = dict(joints or {})
        self.substeps = max(1, int(np.ceil(exchange_period / integration_step - 1e-9)))
        self.p = self.system.parameters(values)
        if slope is not None:
            self.p[:3] = gravity_vector(machine.gravity, slope)
        self._held_payload: float | None = None  # what was dropped on the way
        self.drop_time: float | None = None
        self.drop_tilt: float | None = None
        self._joint_q = [self.system.index('state', name) for name in self.joints]
        self._joint_v = [self.system.index('state', f'{name}_rate') for name in self.joints]
        self._joint_a = [self.system.index('output', f'{name}_acceleration') for name in self.joints]
        rolling = {wheel.link for wheel in machine.wheels if wheel.rolling is not None}
        movable = machine.movable_joints
        self._wheel_joints = np.array([k for k, joint in enumerate(movable) if joint.child in rolling], dtype=np.intp)
        self._limit = float(np.cos(machine.overturn_angle)) if machine.supports else -2.0
        self._knots, self._trace = np.zeros(1), np.zeros((1, len(self.system.state_names)))
        delays = input_delays(machine, self.system.input_names)
        self._delay = None if delays is None else CommandDelay(delays)
        self._events: list[Event] = []
        self.u = np.zeros(len(self.system.input_names))
        self.reset()
        self._refine()

    def _make_system(self, actuation: Actuation) -> Any:
        return System(self.machine, actuation)

    def _refine(self) -> None:
        """Take more steps where the machine at rest has a motion for which those asked for are too long."""
        found = self._fastest_motion()
        if found.rate * self.period / self.substeps <= STABLE:
            return
        self.substeps = substeps_for(self.machine.name, found, self.period)
        self.refined_for = found.state

    def _fastest_motion(self) -> FastestMotion:
        if not isinstance(self.system, System):
            return FastestMotion(0.0, '')
        return fastest_motion(self.system, self.x, self.u, self.p)

    def reset(self) -> None:
        """Start again from the initial posture, at rest, with the present parameters; a dropped payload is back.

        Raises NoEquilibriumError where the machine cannot rest there.
        """
        held, payload = self._held_payload, self.system.index('parameter', 'payload_mass')
        self._held_payload = None
        if held is not None:
            self.p[payload] = held
        x = self._initial_state()
        self.x = x
        self.ticks = 0
        self.overturned = self._dropped = False
        if self._delay is not None:
            self._delay.clear()
        self.u[:] = 0.0
        self._outputs: Array | None = None
        self._events.clear()
        if self.system.actuation == 'effort':
            self.set_efforts(self._efforts_at_rest())
        self._begin()

    def warm_up(self) -> None:
        """Load the machine code of everything that is called later, which may have to be compiled; then reset."""
        with suppress(PlantDivergedError):
            self.advance()
        self.balance()
        if self.reaction is not None:
            self.joint_reactions()
        self.reset()

    def _initial_state(self) -> Array:
        rest = settle(self.system, self.p, self.start)
        self._held_at_rest = rest.holding[self.system.nv - len(self.joints) :]
        return state_of_rest(self.system, rest, moves=True)

    def _efforts_at_rest(self) -> Array:
        """Return the efforts (n,) that hold all joints in the initial state, wheels on a slope too."""
        return self._held_at_rest

    def _begin(self) -> None:
        """Take the present state as that from which changes count."""
        self._tilt_at_rest = self._tilt(self.x)
        self._watcher = self.system.watcher(self.x, self.u, self.p, MOST_EVENTS_OF_A_PERIOD)

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
        return self.outputs()[self._joint_efforts]

    @cached_property
    def _joint_efforts(self) -> NDArray[np.intp]:
        return np.array([self.system.index('output', f'{name}/drive_effort') for name in self.joints], dtype=np.intp)

    def outputs(self) -> Array:
        """All outputs at the present state; computed once a state."""
        if self._outputs is None:
            self._outputs = self._evaluate()
        return self._outputs

    def _evaluate(self) -> Array:
        return np.asarray(self.system.outputs(self.x, self.u, self.p))

    def output(self, name: str) -> float:
        """Return one output now."""
        return float(self.outputs()[self.system.index('output', name)])

    def balance(self) -> Balance | None:
        """Return ground reactions and margins now; None for a machine with too few wheels to stand on."""
        return self.observer.observe(self.outputs(), self.p[:3]) if self.observer else None

    @cached_property
    def reaction(self) -> Any:
        """Compiled reactions at the joints that the machine names; None where it names none."""
        return JointReaction(self.system, self.machine.reactions) if self.machine.reactions else None

    def joint_reactions(self) -> Array:
        """Return the wrenches (joints, 6) of parent on child at these joints now: force, N, and torque, N m."""
        return np.asarray(self.reaction.of_outputs(self.x, self.outputs(), self.p))

    def take_events(self) -> list[Event]:
        """Return what has happened since the last call, in the order of time."""
        events = sorted(self._events, key=lambda event: event.time)
        self._events.clear()
        return events

    @property
    def payload(self) -> float:
        """Mass in the implement, kg."""
        return float(self.p[self.system.index('parameter', 'payload_mass')])

    def set_payload(self, mass: float) -> None:
        """Change the mass in the implement, kg, at this instant; positions, rates and pressures stay."""
        before = self.payload
        self._held_payload = None
        self.set_parameter('payload_mass', mass)
        kind = 'payload_drop' if mass < before else 'payload'
        self._events.append(Event(self.time, kind, details={'mass': before, 'mass_after': mass}))

    def set_inputs(self, values: Mapping[str, float]) -> None:
        """Set inputs by name. Raises UnknownNameError."""
        for name, value in values.items():
            self.u[self.system.index('input', name)] = value
        self._outputs = None

    def set_efforts(self, efforts: Array) -> None:
        """Set the efforts of a plant without actuators of its own from those of all joints (n,), N m or N."""
        self.u[:] = efforts[self._driven]
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
        knots, table, history = self._knots, self.u.reshape(1, -1), None
        if self._delay is not None:
            history = self._delay.history
            knots, table = self._delay.table(self.time, self.time + self.period, self.u)
        try:
            self._go_on(knots, table)
        except PlantDivergedError:
            if self._delay is not None and history is not None:
                self._delay.history = history
            raise
        self.ticks += 1
        self._outputs = None

    def _go_on(self, knots: Array, table: Array) -> None:
        """Integrate over the period, in two parts where the payload is let go within it."""
        start, end = self.time, (self.ticks + 1) * self.period
        drop = None if self._dropped or self.payload == 0.0 else self._drop_within(start, end, knots, table)
        x, positive = self.x.copy(), self._watcher.positive.copy()
        events: list[Event] = []
        try:
            if drop is not None:
                if drop > start:
                    events += self._integrate(x, start, drop, knots, table)
                start = drop
                self._dropped, self._held_payload = True, self.payload
                details = {'mass': self.payload, 'mass_after': 0.0, 'tilt': self._tilt(x)}
                events.append(Event(drop, 'payload_drop', details=details))
                self.set_parameter('payload_mass', 0.0)
            if start < end:
                events += self._integrate(x, start, end, knots, table)
        except PlantDivergedError:
            self._watcher.positive[:] = positive
            raise
        self.x = x
        self._events += events

    def _integrate(self, x: Array, start: float, end: float, knots: Array, table: Array) -> list[Event]:
        """Advance x in place; return what happened.

        Raises:
            PlantStoppedError: the motion cannot go on.
            PlantDivergedError: the numbers run away.
        """
        status, events = self._run(x, start, end, knots, table, self._limit, self._watcher.positive)
        if status == integrators.DIVERGED:
            raise PlantDivergedError(f'{self.machine.name}: the simulation diverged at t = {self.time:.4f} s')
        if status < 0:
            raise self._stopped(status, x)
        self.overturned = self.overturned or status == integrators.GUARDED
        return events

    def _run(
        self, x: Array, start: float, end: float, knots: Array, table: Array, limit: float, positive: NDArray[np.bool_]
    ) -> tuple[int, list[Event]]:
        """Advance x in place, by steps that end at the knots of the inputs; return the status and what happened."""
        status, events, step = integrators.DONE, [], (end - start) / self.substeps
        for since, until, own_knots, own_table in stretches(knots, table, start, end):
            count = max(1, int(np.ceil((until - since) / step - 1e-9)))
            status, _, found = run_rk4_watched(
                self._codes,
                x,
                since,
                (until - since) / count,
                count,
                own_knots,
                own_table,
                self.p,
                limit,
                0,
                self._trace,
                positive,
                self._watcher.found,
            )
            events += self._watcher.events(found)
            if status != integrators.DONE:
                break
        return status, events

    @property
    def _codes(self) -> NDArray[np.int64]:
        """Addresses of the kernels of the system."""
        codes: NDArray[np.int64] = self.system.codes
        return codes

    def _stopped(self, status: int, x: Array) -> PlantStoppedError:
        """Return what a status without dx/dt means."""
        raise NotImplementedError

    def _drop_within(self, start: float, end: float, knots: Array, table: Array) -> float | None:
        """Time within the period at which the payload is to be let go, s."""
        times = []
        if self.drop_time is not None and self.drop_time < end:
            times.append(max(start, self.drop_time))
        if self.drop_tilt is not None:
            limit = self.drop_tilt + self._tilt_at_rest
            low, high = 0.0, 1.0
            if self._tilt(self._trial(start, end, knots, table)) >= limit:
                while high - low > 1e-9:
                    middle = 0.5 * (low + high)
                    tilted = self._tilt(self._trial(start, start + middle * (end - start), knots, table)) >= limit
                    low, high = (low, middle) if tilted else (middle, high)
                times.append(start + high * (end - start))
        return min(times) if times else None

    def _trial(self, start: float, end: float, knots: Array, table: Array) -> Array:
        """Return the state at another time; nothing else changes."""
        x = self.x.copy()
        self._run(x, start, end, knots, table, -2.0, self._watcher.positive.copy())
        return x

    def _tilt(self, x: Array) -> float:
        """Angle between the base's z axis and the normal of the ground, rad."""
        _, quaternion = self._pose(x)
        return float(np.arccos(np.clip(matrix_of_quaternion(quaternion)[2, 2], -1.0, 1.0)))

    @cached_property
    def _servo(self) -> JointServo:
        return JointServo(self.machine)

    def servo_efforts(self, target: Array, target_velocity: Array) -> Array:
        """Return the efforts (n,) that drive the joints to a target, as stiff position servos would, N m or N.

        They are found from the accelerations of the joints now, so that everything that acts on the joints is part of
        them: the ground under legs, damping, a base that rocks. Stops at limits are not: a servo does not work against
        them. Nor is the ground under rolling wheels: it would be a brake that locks them.

        Args:
            target: (n,) positions, rad or m.
            target_velocity: (n,) rad/s or m/s.
        """
        now = PresentMotion(self.efforts, self.outputs()[self._joint_a], self._stop_efforts())
        return self._servo.stiff_efforts(self._servo_task(target, target_velocity), now, self._stiff)

    def _servo_task(self, target: Array, target_velocity: Array) -> ServoTask:
        return ServoTask(*self._tree_state(), target, target_velocity, self.p[:3], self.payload)

    @cached_property
    def _stiff(self) -> NDArray[np.bool_]:
        """(d,) of the driven joints: True but for those of rolling wheels."""
        return ~np.isin(self._driven, self._wheel_joints)

    def _stop_efforts(self) -> Array:
        """Return the efforts (n,) of the stops at the limits of the joints: a servo does not work against them."""
        result = np.zeros(len(self.joints))
        scale = self.p[self.system.index('parameter', 'joint_stop_scale')]
        if scale > 0.0:
            for k, stop in self._stops:
                result[k] = scale * stop.effort(float(self.positions[k]), float(self.velocities[k]))
        return result

    @cached_property
    def _stops(self) -> list[tuple[int, JointStop]]:
        return [(self.joints.index(stop.joint), stop) for stop in joint_stops(self.machine)]

    def let_wheels_run_out(self, target: Array, rates: Array | None = None) -> None:
        """Take the present angle of every rolling wheel that still turns as its target (n,), in place.

        A position servo brakes such a wheel and holds it where it stops, instead of pulling it back.

        Args:
            target: (n,) positions of the joints, rad or m.
            rates: (n,) velocities of the target; those of wheels that cannot slip are changed in place.
        """
        wheels = self._wheel_joints
        turning = wheels[np.abs(self.velocities[wheels]) > STOPPED]
        target[turning] = self.positions[turning]

    def _tree_state(self) -> tuple[Array, Array]:
        """Return positions and velocities of the machine's tree."""
        nq = self.system.nq
        return self.x[:nq], self.x[nq : nq + self.system.nv]

    def holding_efforts(self) -> Array:
        """Return the efforts that hold the joints where they are."""
        return self.servo_efforts(self.positions, np.zeros(len(self.joints)))

    def base_pose(self) -> tuple[Array, Array]:
        """Return position (3,) and quaternion x, y, z, w (4,) of the base link in the ground's frame."""
        return self._pose(self.x)

    def _pose(self, x: Array) -> tuple[Array, Array]:
        if self.machine.base.attachment == 'free':
            quaternion = x[3:7]
            return x[:3], quaternion / np.linalg.norm(quaternion)
        if self.machine.base.attachment == 'planar':
            half = 0.5 * x[2]
            return np.array([x[0], 0.0, x[1]]), np.array([0.0, np.sin(half), 0.0, np.cos(half)])
        return np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])

    def base_twist(self) -> tuple[Array, Array]:
        """Return linear and angular velocity (3,) of the base link in its own axes, m/s and rad/s."""
        q, v = self._tree_state()
        if self.machine.base.attachment == 'free':
            return v[3:6], v[:3]
        if self.machine.base.attachment == 'planar':
            c, s = np.cos(q[2]), np.sin(q[2])
            vx, vz, rate = v[:3]
            return np.array([c * vx - s * vz, 0.0, s * vx + c * vz]), np.array([0.0, rate, 0.0])
        return np.zeros(3), np.zeros(3)

    def base_acceleration(self) -> Array:
        """Return the acceleration (3,) of the base link's origin over the ground, in its own axes, m/s2."""
        a = self._tree_acceleration()
        if self.machine.base.attachment == 'free':
            linear, angular = self.base_twist()
            return np.asarray(a[3:6] + cross(angular, linear))  # velocities in turning axes: their rates lack this
        if self.machine.base.attachment == 'planar':
            q, _ = self._tree_state()
            c, s = np.cos(q[2]), np.sin(q[2])
            return np.array([c * a[0] - s * a[1], 0.0, s * a[0] + c * a[1]])
        return np.zeros(3)

    def _tree_acceleration(self) -> Array:
        """Return the rates of the tree's velocities."""
        nq = self.system.nq
        names = (name.removesuffix('_rate') for name in self.system.state_names[nq : nq + self.system.nv])
        return np.array([self.output(f'{name}_acceleration') for name in names])
