"""Reception of measurements of a machine: joint states, IMU, payload; checked, counted, passed to a monitor."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from math import hypot, isfinite
from typing import Any

import numpy as np

from dyn_nodes.middleware import QoSProfile, drive_clock, message, service
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.rotations import matrix_of_rpy
from dyn_nodes.monitor.ground_observer import ObserverSettings
from dyn_nodes.monitor.sensors import ImuMount, SensorNoise
from dyn_nodes.monitor.stability_monitor import StabilityMonitor
from dyn_nodes.nodes.commands import RejectedError, Rejections, check_order
from dyn_nodes.nodes.diagnostics import ERROR, WARN, Health
from dyn_nodes.nodes.exchange import is_simulated
from dyn_nodes.nodes.joint_state_reader import JointStateReader
from dyn_nodes.nodes.machines import checked_payload
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.parked_joints import ParkedJoints
from dyn_nodes.nodes.plausible import Bounds
from dyn_nodes.nodes.stamps import NANO, nanoseconds_of_stamp

JointState = message('sensor_msgs/msg/JointState')
Imu = message('sensor_msgs/msg/Imu')
Float64 = message('std_msgs/msg/Float64')
Trigger = service('std_srvs/srv/Trigger')

NO_ORIENTATION = -1.0
"""First element of the covariance of a quantity that is absent from the message (REP-145)."""
DEFAULT_ORIENTATION = 0.0, 0.0, 0.0, 1.0
"""Quaternion of a message without an orientation."""
INTERVALS = 5
"""Number of last intervals; the shortest of them is the period of the joint states."""
DISAGREEMENTS, DISAGREEMENT_TIME = 3, 5.0
"""Number of resets of the ground, and time, s, within which they indicate an unknown bias of the gyroscope."""
LEAST_STEP = 1e-9
UNSEEN_BASE = (
    'the motion of the base is not measured but predicted on the specified slope; margins are 5 % of their full scale '
    'lower while the machine moves, and 0 at most for 2 s after a wheel may have lifted'
)
"""Text of the status without a measurement of the motion of the base."""
SAME = 2e-4
"""Greatest difference of stamps of one instant, s."""
LARGEST_MEASURED = 1e4
"""Greatest plausible reading of an IMU, rad/s or m/s2."""
SIMULATED_TIMEOUT = 5.0
"""Minimum wall-clock timeout of a machine in simulated time, s."""
COMPARABLE, AHEAD = 60.0, 0.02
"""Greatest difference of stamps from the clock of the node, s, and greatest lead; beyond them the clocks differ."""
MOST_WAITING = 10_000
"""Greatest number of stored IMU messages without joint states: ten seconds at 1 kHz."""


def fault_of_age(topic: str, age: float, limit: float) -> str:
    """Return why messages of an age, s, are out of date with a greatest age `limit`, s, or ''."""
    if -AHEAD <= age <= limit:
        return ''
    if 0.0 < age < COMPARABLE:
        return f'{topic}: {age:.2f} s old: expected {limit:g} s at most'
    side = 'behind' if age > 0.0 else 'ahead of'
    expected = 'expected stamps of its clock, stamp_clock:=other, or use_sim_time:=true for a simulation'
    return f'{topic}: stamps are {abs(age):.2f} s {side} the clock of this node: {expected}'


class Sensing:
    """Subscriptions of a node that monitors a machine.

    Args:
        node: the node.
        machine: the machine.
        values: the node's parameters, including the group `sensing`.
        measures: of its monitor.
        on_state: called with the stamp, ns, after joint states that were used.
        qos: of joint states.
        lockstep: whether the node has the time of the joint states.
        payload_specified: whether the topic `payload` has the payload.
        parked: names of joints that brakes hold; not joints of the machine.

    Attributes:
        monitor: receives all measurements.
        rejections: of all topics.
        stamp: of the newest joint states, ns; None before the first.
        received: number of joint states used.
        received_at: steady time of receipt of the newest stamp, s.
        taken: steady time of the last use of joint states, s.
        age: of these when they were used, s, negative for a stamp in the future; time since receipt with stamps of
            another clock; 0 in simulated time.
        intervals: between the last joint states by steady time, s.
        checks: of the measurements, see `signal_checks`; the governor adds one.
        had_imu: whether the IMU has been used.
        waiting: time, s, angular velocity, specific force and orientation of IMU messages that precede the joint
            states of their instant.
        imu_period, state_period: between the last two messages by their stamps, s; 0 before them.
        assumes_payload: whether the payload of the machine file is used for lack of another one.

    Raises:
        ParameterError: a parameter does not fit the machine.
    """

    def __init__(
        self,
        node: Any,
        machine: Machine,
        values: dict[str, Any],
        measures: tuple[str, ...],
        on_state: Callable[[int], None],
        qos: QoSProfile,
        lockstep: bool = False,
        payload_specified: bool = True,
        parked: Sequence[str] = (),
    ) -> None:
        self.node, self.machine, self.values, self.on_state, self.lockstep = node, machine, values, on_state, lockstep
        self.monitor = self._make_monitor(measures)
        self.checks = self.monitor.checks
        self.reader = JointStateReader(self.monitor.model.joints, Bounds.of(self.machine, self.monitor.model.joints))
        self.parked = ParkedJoints(parked)
        self.rejections = Rejections()
        self.stamp: int | None = None
        self.received = self.imu_received = self.restarts = 0
        self.received_at = self.imu_received_at = self.arrived = self.taken = -np.inf
        self.age = 0.0
        self.had_imu, self._newest, self._oriented = False, -1, False
        self.intervals: deque[float] = deque(maxlen=INTERVALS)
        self._disagreed: deque[float] = deque(maxlen=DISAGREEMENTS)
        self.waiting: list[tuple[float, Any, Any, Any]] = []
        self._held: deque[tuple[float, tuple[int, Any, Any]]] = deque(maxlen=MOST_WAITING)
        self._imu_newest, self.imu_period, self.state_period = -np.inf, 0.0, 0.0
        self._least_step = max(values['filter_period'] - 0.25e-3, LEAST_STEP)
        self.assumes_payload = payload_specified and machine.payload is not None and values['payload'] < 0.0
        if values['payload'] >= 0.0:
            self.monitor.payload = checked_payload(self.machine, values['payload'])
        # created first: the embedded executor serves the oldest subscription first
        if values['imu'] != 'off':
            node.create_subscription(Imu, 'imu', self._on_imu, QoSProfile(depth=max(100, qos.depth)))
        node.create_subscription(JointState, 'joint_states', self._on_joint_states, qos)
        if payload_specified:
            node.create_subscription(Float64, 'payload', self._on_payload, QoSProfile(depth=10))
        node.create_service(Trigger, '~/acknowledge', self._on_acknowledge)

    def _make_monitor(self, measures: tuple[str, ...]) -> StabilityMonitor:
        values = self.values
        for name in ('imu_position', 'imu_rotation'):
            if len(values[name]) != 3 or not np.isfinite(values[name]).all():
                raise ParameterError(f'parameter {name!r}: expected three finite numbers, found {list(values[name])}')
        mount = ImuMount(np.array(values['imu_position']), matrix_of_rpy(values['imu_rotation']))
        names = ('position', 'velocity', 'gyroscope', 'accelerometer')
        noise = SensorNoise(
            **{name: values[f'noise.{name}'] for name in names},
            jerk_density=values['density.jerk'],
            turn_density=values['density.turn'],
            specific_force_density=values['density.felt'],
        )
        observer = ObserverSettings(values['crossover_time'], values['bias_time'])
        slope = (values['slope_roll'], values['slope_pitch'])
        try:
            return StabilityMonitor(
                self.machine, measures, noise, mount, observer, slope, values['settling'], values['imu_timeout']
            )
        except KeyError as error:
            raise ParameterError(f"parameter 'measures': {error.args[0]}") from None

    def warm_up(self, use: Callable[[np.ndarray], None]) -> None:
        """Load the machine code before the first message; then reset the monitor.

        Args:
            use: uses the monitor as the node does; called with the initial joint positions, (n,), after three samples
                of a machine at rest.
        """
        monitor = self.monitor
        initial = self.machine.initial.joint_positions
        q = np.array([initial.get(joint, 0.0) for joint in monitor.model.joints])
        for k in range(3):
            monitor.imu(1e-3 * k, np.zeros(3), np.array([0.0, 0.0, self.machine.gravity]))
            monitor.joints(1e-3 * k, q, 0.0 * q)
        use(q)
        monitor.clear()

    # -- messages ----------------------------------------------------------------------------------------------------

    def _on_joint_states(self, msg: Any) -> None:
        stamp = nanoseconds_of_stamp(msg.header.stamp)
        if self.lockstep:
            drive_clock(self.node, stamp)
        try:
            self._check_order(stamp)
            positions, velocities = self.reader.read_measured(msg)
        except RejectedError as error:
            self.reject(error)
            return
        self.parked.update(msg)
        self.arrived = time.monotonic()
        if stamp < self._newest:  # time went back: earlier IMU messages are void
            self._imu_newest = -np.inf
        if stamp != self._newest:
            self.intervals.append(self.arrived - self.received_at)
            self.received_at, self._newest = self.arrived, stamp
        state = stamp, positions, velocities if self.values['use_velocities'] else None
        if self.lockstep:
            self._take(*state)
            self.on_state(stamp)
            return
        if not self._held or stamp != self._held[-1][1][0]:
            self._held.append((self.arrived, state))
        self._release()

    def _check_order(self, stamp: int) -> None:
        """Raise RejectedError for joint states out of order; simulated time may go back."""
        if self.lockstep or self._newest < 0 or self.is_simulated:
            return
        check_order(self._newest, stamp, self.values['state_timeout'])

    def _age_of(self, stamp: int, came: float) -> float:
        """Return the age of a stamp, ns, by the clock of the node, s; with another clock, the time since receipt, s."""
        if self.is_simulated:
            return 0.0
        if self.values['stamp_clock'] == 'other':
            return time.monotonic() - came
        return (self.node.get_clock().now().nanoseconds - stamp) / NANO

    def _imu_is_due(self, now: float) -> bool:
        """Return whether an IMU message at or before an instant is still expected.

        The order of two topics is undefined: joint states wait for earlier IMU messages until the IMU times out.
        Margins from present joint states and a base of 10 ms ago may be wrong by a fifth of their full scale.
        """
        newest, period = self._imu_newest, max(self.imu_period, 2.0 * SAME)
        return newest + period <= now + SAME and now - newest <= self.values['imu_timeout']

    def _release(self) -> None:
        """Use the joint states that no longer wait for the IMU; after its timeout only the newest."""
        if self._held and not self._held[-1][1][0] / NANO - self._imu_newest <= self.values['imu_timeout']:
            newest = self._held.pop()
            self._held.clear()
            self._held.append(newest)
        while self._held and not self._imu_is_due(self._held[0][1][0] / NANO):
            came, state = self._held.popleft()
            self.age = self._age_of(state[0], came)
            if self._take(*state):
                self.on_state(state[0])

    def _take(self, stamp: int, positions: Any, velocities: Any) -> bool:
        """Pass joint states to the monitor unless they follow the last ones too soon; return whether they were used."""
        monitor, now, self.taken = self.monitor, stamp / NANO, time.monotonic()
        step = now - monitor.time if monitor.time is not None else np.inf
        self.stamp = stamp
        self._take_waiting(now - LEAST_STEP if self.lockstep else now + SAME)
        if -LEAST_STEP < step < self._least_step:
            return False
        if step <= 0.0:
            self.restarts += 1
            self.waiting = [entry for entry in self.waiting if entry[0] <= now]
            self.had_imu = self.had_imu and not self.lockstep
            self.node.get_logger().info(f'time went back by {-step:.3f} s: the filters start again')
        resets = monitor.ground.resets
        try:
            monitor.joints(now, positions, velocities)
        except Exception:  # after any error the posture is unknown
            self.received_at = -np.inf
            raise
        self.had_imu = self.had_imu or monitor.has_imu
        if monitor.ground.resets > resets:
            self._disagreed.append(now)
        self.state_period = step if 0.0 < step < np.inf else 0.0
        self.received += 1
        return True

    def _on_imu(self, msg: Any) -> None:
        now = nanoseconds_of_stamp(msg.header.stamp) / NANO
        turn, acceleration, o = msg.angular_velocity, msg.linear_acceleration, msg.orientation
        omega, force, orientation = (turn.x, turn.y, turn.z), (acceleration.x, acceleration.y, acceleration.z), None
        quaternion = o.x, o.y, o.z, o.w
        # a driver without an orientation may leave the message's default, which means level
        self._oriented = self._oriented or quaternion != DEFAULT_ORIENTATION or any(msg.orientation_covariance)
        if msg.orientation_covariance[0] != NO_ORIENTATION and self._oriented:
            orientation = quaternion
        try:
            self._check_imu(msg, omega, force, orientation)
        except RejectedError as error:
            self.reject(error)
            return
        self.imu_received_at = time.monotonic()
        if not self.lockstep:
            age = self._age_of(nanoseconds_of_stamp(msg.header.stamp), self.imu_received_at)
            if fault := fault_of_age('imu', age, self.values['imu_timeout']):
                self.reject(RejectedError('age', fault))
                return
        # waiting messages with a later stamp precede a reset of time
        while self.waiting and self.waiting[-1][0] > now:
            self.waiting.pop()
        self.waiting.append((now, omega, force, orientation))
        del self.waiting[:-MOST_WAITING]
        if self.lockstep:
            return
        step = now - self._imu_newest
        if 0.0 < step < np.inf:
            self.imu_period = step
        self._imu_newest = now
        self._release()
        if not self._held:  # later messages do not precede the next joint states
            self._take_waiting(np.inf if self.stamp is None else self.stamp / NANO + self.state_period + SAME)

    def _take_imu(self, now: float, omega: Any, force: Any, orientation: Any) -> None:
        last = self.monitor.imu_time
        if last is not None and abs(now - last) < LEAST_STEP:
            return
        self.imu_received += 1
        up = None if orientation is None else np.array(orientation)
        self.monitor.imu(now, np.array(omega), np.array(force), up)

    def _take_waiting(self, until: float) -> None:
        """Use the IMU messages up to an instant.

        In lockstep messages of the instant itself may or may not have been received; they wait for the next joint
        states, so that runs are reproducible.
        """
        while self.waiting and self.waiting[0][0] <= until:
            self._take_imu(*self.waiting.pop(0))

    @staticmethod
    def _check_imu(msg: Any, omega: Any, force: Any, orientation: Any) -> None:
        for quantity, values in (
            ('angular_velocity', omega),
            ('linear_acceleration', force),
            ('orientation', orientation),
        ):
            if values is not None and not all(map(isfinite, values)):
                raise RejectedError('not finite', f'imu: {quantity}: expected finite numbers, found {list(values)}')
            if values is not None and max(map(abs, values)) > LARGEST_MEASURED:
                text = f'imu: {quantity}: expected at most {LARGEST_MEASURED:g}, found {list(values)}'
                raise RejectedError('out of range', text)
        for quantity in ('angular_velocity', 'linear_acceleration'):
            if getattr(msg, f'{quantity}_covariance')[0] == NO_ORIENTATION:
                raise RejectedError('missing quantity', f'imu: {quantity}: marked as not measured by its covariance')
        if orientation is not None and abs(hypot(*orientation) - 1.0) > 0.01:
            numbers = list(orientation)
            raise RejectedError('not a rotation', f'imu: orientation: expected a unit quaternion, found {numbers}')

    def _on_payload(self, msg: Any) -> None:
        try:
            self.monitor.payload = checked_payload(self.machine, float(msg.data))
            self.assumes_payload = False
        except ParameterError as error:
            self.reject(RejectedError('payload', str(error)))

    def _on_acknowledge(self, request: Any, response: Any) -> Any:
        """Clear the faults of the measurements; persistent faults are detected again."""
        faults = '; '.join(f'{name}: {text}' for name, text in self.checks.faults().items())
        self.checks.clear()
        response.success, response.message = True, f'acknowledged: {faults}' if faults else 'there was no fault'
        self.node.get_logger().info(response.message)
        return response

    def reject(self, error: RejectedError) -> None:
        """Count and report a rejected message."""
        self.rejections.add(error, time.monotonic())
        self.node.get_logger().warn(f'rejected: {error}', throttle_duration_sec=1.0)

    # -- health ------------------------------------------------------------------------------------------------------

    @property
    def stale(self) -> bool:
        """Return whether joint states are missing, have timed out or were too old."""
        timed_out = self._is_overdue(min(self.received_at, self.taken), self.values['state_timeout'])
        return timed_out or bool(self.fault_of_age())

    def overdue(self, lateness: float, delay: float) -> bool:
        """Return whether joint states are late by more than `lateness`, s, or the last were older than `delay`, s.

        Joint states of a simulation are late if they are stale: it may need any time for an instant.
        """
        if self.is_simulated:
            return self.stale
        late = time.monotonic() - self.taken > min(self.intervals, default=0.0) + lateness
        return late or bool(self.fault_of_age(delay))

    @property
    def is_simulated(self) -> bool:
        """Return whether time is declared to be simulated."""
        return is_simulated(self.node, self.values)

    def fault_of_age(self, limit: float | None = None) -> str:
        """Return why the received joint states are out of date, or ''.

        Args:
            limit: greatest age, s; None: `state_timeout`.
        """
        return fault_of_age('joint_states', self.age, self.values['state_timeout'] if limit is None else limit)

    @property
    def imu_stale(self) -> bool:
        """Return whether IMU messages are missing or have timed out."""
        return self._is_overdue(self.imu_received_at, max(self.values['imu_timeout'], 0.05))

    def _is_overdue(self, received_at: float, timeout: float) -> bool:
        """Return whether the wall time since a message exceeds a timeout.

        On a busy computer a simulation may be slower than real time: its margins must not depend on that.
        """
        return time.monotonic() - received_at > (max(timeout, SIMULATED_TIMEOUT) if self.is_simulated else timeout)

    @property
    def lacks_imu(self) -> bool:
        """Return whether a required IMU is missing."""
        return self.values['imu'] == 'required' and not self.monitor.has_imu

    @property
    def lost_imu(self) -> bool:
        """Return whether an IMU is required, was used or publishes, and is not used now: the slope is unknown.

        An IMU with stamps far from the stamps of the joint states publishes, but cannot be used.
        """
        sends = not self.lockstep and self.received > 0 and self.monitor.settled and not self.imu_stale
        return self.lacks_imu or ((self.had_imu or sends) and not self.monitor.has_imu)

    @property
    def trustworthy(self) -> bool:
        """Return whether the results of the monitor may be used."""
        return (
            self.checks.are_sound and self.monitor.settled and not self.lacks_imu and (self.lockstep or not self.stale)
        )

    def joint_health(self) -> Health:
        """Return the status `joint_states`."""
        values = {'received': str(self.received), 'restarts': str(self.restarts), **self.rejections.values()}
        health = Health(text='receiving joint_states', values=values)
        if not self.received:
            health.worse(WARN, 'no joint_states yet')
        elif self.stale and not self.lockstep:
            timeout = self.values['state_timeout']
            lacking = 'joint_states with a new stamp' if self.arrived > self.received_at + timeout else 'joint_states'
            fault = self.fault_of_age() or f'no {lacking} for {timeout:g} s'
            health.worse(ERROR, f'{fault}: the state of the machine is unknown')
        elif not self.monitor.settled:
            health.worse(WARN, f'settling: {self.values["settling"]:g} s of joint states are needed')
        for name, text in self.checks.faults().items():
            if name in self.monitor.model.joints:
                health.worse(ERROR, f'{name}: {text}: not trusted until it is acknowledged')
        if self.rejections.recent(time.monotonic()):
            health.worse(WARN, f'rejected: {self.rejections.last}')
        return health

    def imu_health(self) -> Health:
        """Return the status `imu`."""
        bias = self.monitor.ground.bias
        values = {
            'received': str(self.imu_received),
            'gyroscope bias': ' '.join(f'{value:.2e}' for value in bias),
            'base motion': 'measured' if self.monitor.has_imu else 'not measured',
            'sources disagreed': str(self.monitor.ground.resets),
            'payload': f'{self.monitor.payload:.6g}',
        }
        health = Health(text='receiving imu', values=values)
        kind, timeout, times = self.values['imu'], self.values['imu_timeout'], self._disagreed
        timed_out, unused = self.imu_stale and not self.lockstep, self.received > 0 and not self.monitor.has_imu
        if len(times) == DISAGREEMENTS and 0.0 <= (self.monitor.time or 0.0) - times[0] <= DISAGREEMENT_TIME:
            health.worse(ERROR, 'gyroscope and joints disagree again and again: is its bias beyond 0.02 rad/s?')
        if kind == 'off':
            health.text = f'off: {UNSEEN_BASE}'
        elif not self.imu_received:
            health.text = f'no imu: {UNSEEN_BASE}'
        elif timed_out:
            health.worse(WARN, f'no imu for {timeout:g} s: {UNSEEN_BASE}')
        elif unused:
            health.worse(WARN, f'no imu with stamps of the last {timeout:g} s of joint_states: {UNSEEN_BASE}')
        if kind == 'required' and (not self.imu_received or timed_out or unused):
            health.worse(ERROR, 'no imu, and it is required')
        for name, text in self.monitor.imu_checks.faults().items():
            health.worse(ERROR, f'{name}: {text}: not trusted until it is acknowledged')
        return health

    def payload_health(self, bounds: tuple[float, float] | None = None) -> Health:
        """Return the status `payload` of a specified payload; bounds of an assumed one, kg."""
        mass = self.monitor.payload
        values = {'used': f'{mass:.6g} kg', 'given': str(not self.assumes_payload).lower()}
        if not self.assumes_payload:
            return Health(text=f'{mass:.0f} kg', values=values)
        health = Health(text=f'{mass:.0f} kg of the machine file', values=values)
        if not self.is_simulated:
            assumed = health.text if bounds is None else f'{bounds[0]:.0f} to {bounds[1]:.0f} kg'
            health.worse(WARN, f'payload assumed, {assumed}: none on payload, and no parameter payload')
        return health
