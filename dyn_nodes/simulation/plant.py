"""Plant: a machine that a node, a test or a notebook advances period by period.

All machines use the same class. Its ground integrates the state over a period: compliant (`compliant_ground`), with
constraints (`constrained_ground`) or rigid (`rigid_ground_plant`). `plant_constraints` computes health and reactions of
constraints. Events are located within the step and stored until `take_events`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.plant_servo import PlantServo
from dyn_nodes.control.wheel_run_out import WheelRunOut
from dyn_nodes.elements.command_delay import CommandDelay, input_delays
from dyn_nodes.elements.hand_motion import Hands
from dyn_nodes.measures import DEFAULT_MEASURES
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import joint_vector
from dyn_nodes.model.problems import ContactModelError
from dyn_nodes.multibody.base_motion import base_acceleration, base_pose, base_twist
from dyn_nodes.simulation.assembly import Actuation, gravity_vector
from dyn_nodes.simulation.compliant_ground import CompliantGround
from dyn_nodes.simulation.events import Event
from dyn_nodes.simulation.guards.fastest_motion import MOST_SUBSTEPS
from dyn_nodes.simulation.guards.running import RunningGuard
from dyn_nodes.simulation.names import Kind
from dyn_nodes.simulation.period import Period, PlantDivergedError, PlantStoppedError, Reached
from dyn_nodes.simulation.system import System
from dyn_nodes.stability.balance import Balance
from dyn_nodes.stability.observers import balance_observer

if TYPE_CHECKING:
    from dyn_nodes.simulation.plant_constraints import PlantConstraints


class Plant:
    """A running machine.

    Args:
        machine: the machine.
        actuation: of the joints.
        exchange_period: time step of `advance`, s.
        integration_step: greatest step of the integrator, s; shorter if it would diverge for a motion of the machine
            at rest (`refined_for`).
        measures: stability measures of `balance`.
        joints: positions at the start by name, instead of the machine's, rad or m.
        values: parameters by name, instead of the machine's.
        slope: (roll, pitch) of the ground, rad; positive pitch: front downhill; None: of the machine.
        contact_model: `compliant` wheels, or `rigid` ground, which is not available with constraints.

    Attributes:
        time: simulated time, s: `ticks` times the exchange period, without accumulated round-off.
        x: state.  p: parameters.
        ground: of the machine. constraints: health and reactions of the constraints; None: no constraints.
        system: that is integrated, with names and indices of states, inputs, parameters and outputs.
        joints: names of the movable joints, in the order of every joint vector here.
        hands: that hold objects.
        actuated: names of the driven joints.
        guard: its energy account and the gaps of its constraints since the start.
        overturned: True once the base has tilted beyond the machine's limit.
        drop_time, drop_tilt: the payload is released at this time, s, or when the base has tilted by this angle from
            the start, rad; None: never.
        servo: of the joints; its `result` contains the joints at a limit.
        refined_for: state whose fast motion requires shorter steps than specified; '': none.

    Raises:
        KeyError: unknown joint, measure or parameter.
        ContactModelError: unknown contact model, or one that does not suit the machine.
        MachineError: the constraints cannot be satisfied from the initial position.
        NoEquilibriumError: the machine cannot rest in its initial posture.
        ValueError: a motion too fast for any acceptable step; a cylinder at its dead centre.
    """

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
        contact_model: str = 'compliant',
    ) -> None:
        self.machine, self.period = machine, exchange_period
        self.joints = tuple(joint.name for joint in machine.movable_joints)
        self.actuated = tuple(joint.name for joint in machine.actuated_joints)
        self._put_on_ground(actuation, contact_model)
        self.system: Any = self.ground.system
        self.guard = RunningGuard(self.system)
        self.observer = balance_observer(self.system, measures)
        self._guarded = bool(machine.supports if self.constraints is None else self.observer)
        self._driven = np.array([self.joints.index(name) for name in self.actuated], dtype=np.intp)
        joint_vector(machine, joints)  # raises for unknown names
        self.start = dict(joints or {})
        self.substeps = self._substeps_at_rest = max(1, int(np.ceil(exchange_period / integration_step - 1e-9)))
        self.p = self.system.parameters(values)
        if slope is not None:
            self.p[:3] = gravity_vector(machine.gravity, slope)
        self._held_payload: float | None = None  # mass of a dropped payload
        self.drop_time: float | None = None
        self.drop_tilt: float | None = None
        self._joint_q = self._indices('state', '')
        self._joint_v = self._indices('state', '_rate')
        self._joint_a = self._indices('output', '_acceleration')
        self._knots = np.zeros(1)
        self.run_out = WheelRunOut(machine, exchange_period)
        self.servo = PlantServo(self)
        delays = input_delays(machine, self.system.input_names)
        self.hands = Hands(self)
        self.delay = None if delays is None else CommandDelay(delays)
        self._events: list[Event] = []
        self.u = np.zeros(len(self.system.input_names))
        self.reset()
        self._refine()

    def _put_on_ground(self, actuation: Actuation, contact_model: str) -> None:
        """Set the ground of the machine; rigid ground and constraints are slow imports."""
        check_contact_model(self.machine, contact_model)
        self.constraints: PlantConstraints | None = None
        if self.machine.needs_constraints:
            from dyn_nodes.simulation.constrained_ground import ConstrainedGround
            from dyn_nodes.simulation.plant_constraints import PlantConstraints

            self.ground: Any = ConstrainedGround(self.machine, actuation)
            self.constraints = PlantConstraints(self, self.ground)
        elif contact_model == 'rigid':
            from dyn_nodes.simulation.rigid_ground_plant import RigidGround

            self.ground = RigidGround(self.machine, actuation)
        else:
            self.ground = CompliantGround(self.machine, System(self.machine, actuation))

    def _refine(self) -> None:
        """Shorten the steps if a motion of the machine at rest requires it."""
        self.refined_for = ''
        about, step = self.ground.linearization(self.x, self.u, self.p), self.period / self.substeps
        division = about.division(self.machine.name, step, most=MOST_SUBSTEPS // self.substeps)
        self.substeps *= division.parts
        self._substeps_at_rest, self.refined_for = self.substeps, division.motion.state

    def reset(self) -> None:
        """Restart from the initial posture with the present parameters; a dropped payload is restored.

        Raises NoEquilibriumError if the machine cannot rest there.
        """
        held, payload = self._held_payload, self.system.index('parameter', 'payload_mass')
        self._held_payload = None
        if held is not None:
            self.p[payload] = held
        self.hands.empty()
        self.x, efforts = self.ground.at_rest(self.p, self.start)
        self.ticks, self.substeps = 0, self._substeps_at_rest
        self.overturned = self._dropped = False
        if self.delay is not None:
            self.delay.clear()
        self.u[:] = 0.0
        self._outputs: Array | None = None
        self._balance: Balance | None = None
        self._events.clear()
        if self.system.actuation == 'effort':
            self.set_efforts(efforts)
        self.guard.open(self.x, self.p)
        self.ground.start(self.x, self.u, self.p, self._guarded, self.period / self.substeps)
        if self.constraints is not None:
            self.constraints.reset()
            if self.system.actuation == 'effort' and not (self.machine.supports or self.machine.initial.moves):
                self.set_efforts(self.holding_efforts())  # a servo would brake a machine with initial velocities

    def open_at(self, x: Array) -> None:
        """Start from a state (n,) with the present inputs, after `reset`."""
        self.x = np.array(x, dtype=np.float64)
        self.forget_command()
        self.guard.open(self.x, self.p)
        self.ground.start(self.x, self.u, self.p, self._guarded, self.period / self.substeps)
        if self.constraints is not None:
            self.constraints.reset()

    def warm_up(self) -> None:
        """Compile or load all machine code that is needed later; then reset."""
        with suppress(PlantDivergedError):
            self.advance()
        self.outputs()
        self.balance()
        if self.machine.reactions:
            self.joint_reactions()
        self.reset()

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return self.ticks * self.period

    @property
    def positions(self) -> Array:
        """Joint positions, rad or m; a copy."""
        return self.x[self._joint_q]

    @property
    def velocities(self) -> Array:
        """Joint velocities, rad/s or m/s; a copy."""
        return self.x[self._joint_v]

    @property
    def efforts(self) -> Array:
        """Current drive efforts of the joints, N m or N."""
        return self.outputs()[self._joint_efforts]

    @property
    def accelerations(self) -> Array:
        """Current joint accelerations, rad/s2 or m/s2."""
        return self.outputs()[self._joint_a]

    @cached_property
    def _joint_efforts(self) -> NDArray[np.intp]:
        return self._indices('output', '/drive_effort')

    def _indices(self, kind: Kind, suffix: str) -> NDArray[np.intp]:
        """Return the indices (n,) of the joint names with a suffix."""
        return np.array([self.system.index(kind, f'{name}{suffix}') for name in self.joints], dtype=np.intp)

    def outputs(self) -> Array:
        """Return all outputs at the present state; computed once per state."""
        if self._outputs is None:
            self._outputs = np.asarray(self.ground.outputs(self.x, self.u, self.p))
        return self._outputs

    def output(self, name: str) -> float:
        """Return the current value of an output."""
        return float(self.outputs()[self.system.index('output', name)])

    def balance(self) -> Balance | None:
        """Return current ground reactions and margins, computed once per state; None with too few supports."""
        if self._balance is None and self.observer is not None:
            self._balance = self.observer.observe(self.outputs(), self.p[:3])
        return self._balance

    def forget_command(self) -> None:
        """Clear cached results after a change of state, inputs or parameters."""
        self._outputs = self._balance = None

    def joint_reactions(self) -> Array:
        """Return the current wrenches (joints, 6) of parent on child at the joints of `machine.reactions`.

        Force, N, and torque, N m, in the axes of the child link.
        """
        return np.asarray(self.ground.joint_reactions(self.x, self.u, self.p, self.outputs()))

    def note(self, event: Event) -> None:
        """Store an event for `take_events`."""
        self._events.append(event)

    def take_events(self) -> list[Event]:
        """Return and clear the stored events, in the order of time."""
        events = sorted(self._events, key=lambda event: event.time)
        self._events.clear()
        return events

    @property
    def payload(self) -> float:
        """Mass in the implement, kg."""
        return float(self.p[self.system.index('parameter', 'payload_mass')])

    def set_payload(self, mass: float) -> None:
        """Set the mass in the implement, kg; positions, rates and pressures do not change."""
        before = self.payload
        self._held_payload = None
        self.set_parameter('payload_mass', mass)
        kind = 'payload_drop' if mass < before else 'payload'
        self.note(Event(self.time, kind, details={'mass': before, 'mass_after': mass}))

    def set_inputs(self, values: Mapping[str, float]) -> None:
        """Set inputs by name. Raises UnknownNameError."""
        for name, value in values.items():
            self.u[self.system.index('input', name)] = value
        self.servo.led = None
        self.forget_command()

    def set_efforts(self, efforts: Array) -> None:
        """Set the efforts of a plant without actuators from the efforts of all joints (n,), N m or N."""
        self.u[:] = efforts[self._driven]
        self.servo.led = None
        self.forget_command()

    def set_parameter(self, name: str, value: float) -> None:
        """Set a parameter by name. Raises UnknownNameError."""
        self.p[self.system.index('parameter', name)] = value
        self.forget_command()

    def set_slope(self, roll: float, pitch: float) -> None:
        """Set the slope of the ground, rad; positive pitch: front downhill."""
        self.p[:3] = gravity_vector(self.machine.gravity, (roll, pitch))
        self.forget_command()

    def advance(self) -> None:
        """Advance by one exchange period with the present inputs.

        If the period would fail the guard, steps are shorter from here on, for example after a stiff pad has landed.
        Raises PlantDivergedError and keeps the state before if the integration diverges.
        """
        knots, table, history = self._knots, self.u.reshape(1, -1), None
        if self.delay is not None:
            history = self.delay.history
            knots, table = self.delay.table(self.time, self.time + self.period, self.u)
        try:
            self.guard.depart(self.x, self.p)
            if self.constraints is not None:
                self.constraints.check(self.guard.gap)
            reached = self._through(knots, table)
        except PlantDivergedError:
            if self.delay is not None and history is not None:
                self.delay.history = history
            raise
        if any(event.kind == 'payload_drop' for event in reached.events):
            self._dropped, self._held_payload = True, self.payload
        self.x, self.p, self.servo.led = reached.x, reached.p, None
        self._events += reached.events
        self.overturned = self.overturned or reached.overturned
        self.ticks += 1
        self.forget_command()

    def _through(self, knots: Array, table: Array) -> Reached:
        """Advance by a period with the fewest steps that satisfy the guard."""
        few = self.substeps

        def attempt(parts: int) -> Reached:
            self.substeps = few * parts
            period = self._period(knots, table)
            reached: Reached = self.servo.through(
                lambda: self.ground.advance(self.x, self.p, period), self.ground.go_back
            )
            return reached

        go_back = self.ground.go_back if isinstance(self.ground, CompliantGround) else None
        reached = self.guard.through(attempt, go_back, PlantDivergedError, PlantStoppedError)
        if self.substeps > few:
            self.refined_for = self.ground.linearization(reached.x, self.u, reached.p).fastest().state
        return reached

    def _period(self, knots: Array, table: Array) -> Period:
        kept = self._dropped or self.payload == 0.0
        drop = (None, None) if kept else (self.drop_time, self.drop_tilt)
        end = (self.ticks + 1) * self.period
        return Period(self.time, end, self.period / self.substeps, self.substeps, knots, table, *drop)

    def servo_efforts(
        self, target: Array, target_velocity: Array, brakes: bool = False, commanded: Array | None = None
    ) -> Array:
        """Return the efforts (n,) that drive the joints to a target like stiff position servos, N m or N.

        They follow from the current accelerations of the joints, so that they include all forces on the joints: the
        ground under legs, damping, a rocking base. They exclude stops at limits, because a servo does not work against
        them, and the ground under rolling wheels, because this would lock the wheels like a brake.

        Positions, speeds and efforts stay within the limits of the joints: `servo.result`.

        Args:
            target: (n,) positions, rad or m; NaN: velocity target only.
            target_velocity: (n,) rad/s or m/s.
            brakes: the joints are held: brakes carry efforts beyond the limits of the drives.
            commanded: (n,) efforts of joints without a servo, N m or N; NaN for all others; None: all have one.
        """
        return self.servo.efforts(target, target_velocity, brakes, commanded)

    def lead(self, target: Array, target_velocity: Array, brakes: bool = False, commanded: Array | None = None) -> None:
        """Set `servo_efforts` for the next period; they keep the speed limits while forces change.

        Args:
            target: (n,) positions, rad or m; NaN: velocity target only.
            target_velocity: (n,) rad/s or m/s.
            brakes: the joints are held.
            commanded: (n,) efforts of joints without a servo, N m or N; NaN for all others; None: all have one.
        """
        self.set_efforts(self.servo_efforts(target, target_velocity, brakes, commanded))
        self.servo.led = None if self.delay is not None else (target, target_velocity, brakes, commanded)

    def let_wheels_run_out(self, target: Array, rates: Array | None = None) -> None:
        """Set the target (n,) of every rolling wheel that still turns to its present angle, in place.

        A position servo then brakes the wheel and holds it where it stops, instead of pulling it back.

        Args:
            target: (n,) positions of the joints, rad or m.
            rates: (n,) velocities of the target; for wheels that cannot slip they are changed in place.
        """
        self.run_out.lead(self.ticks, self.positions, self.velocities, target, rates)

    def tree_state(self) -> tuple[Array, Array]:
        """Return positions (nq,) and velocities (nv,) of the machine's tree."""
        nq = self.system.nq
        return self.x[:nq], self.x[nq : nq + self.system.nv]

    def holding_efforts(self) -> Array:
        """Return the efforts that hold the joints at their present positions."""
        return self.servo_efforts(self.positions, np.zeros(len(self.joints)), brakes=True)

    def base_pose(self) -> tuple[Array, Array]:
        """Return position (3,) and quaternion x, y, z, w (4,) of the base link in the ground's frame."""
        return base_pose(self.machine.base.attachment, self.x)

    def base_twist(self) -> tuple[Array, Array]:
        """Return linear and angular velocity (3,) of the base link in its own axes, m/s and rad/s."""
        return base_twist(self.machine.base.attachment, *self.tree_state())

    def base_acceleration(self) -> Array:
        """Return the acceleration (3,) of the origin of the base link relative to the ground, in its axes, m/s2."""
        return base_acceleration(self.machine.base.attachment, *self.tree_state(), self._tree_acceleration())

    def _tree_acceleration(self) -> Array:
        """Return the rates of the tree's velocities."""
        return self.outputs()[self._tree_accelerations]

    @cached_property
    def _tree_accelerations(self) -> NDArray[np.intp]:
        nq = self.system.nq
        names = (name.removesuffix('_rate') for name in self.system.state_names[nq : nq + self.system.nv])
        return np.array([self.system.index('output', f'{name}_acceleration') for name in names], dtype=np.intp)


def check_contact_model(machine: Machine, contact_model: str) -> None:
    """Raise ContactModelError for a contact model that does not suit a machine."""
    if contact_model not in ('compliant', 'rigid'):
        raise ContactModelError(f'expected compliant or rigid, found {contact_model!r}')
    contacts, found = '', f'found {contact_model!r}'
    if machine.initial.moves:
        contacts = 'initial velocities'
    elif machine.needs_constraints and machine.supports:
        contacts = 'wheels beside constraints'
    elif machine.grasps and not machine.needs_constraints:
        contacts = 'hands that hold something'
    elif machine.contacts and not machine.needs_constraints:
        contacts = ', '.join(contact.name for contact in machine.contacts)
    if contact_model != 'compliant' and contacts:
        raise ContactModelError(f'{machine.name}: expected compliant for {contacts}, {found}')
