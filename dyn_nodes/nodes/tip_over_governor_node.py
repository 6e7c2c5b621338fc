"""Tip-over governor between levers and valves: passes commands that do not tip the machine.

    dyn-nodes run tip_over_governor_node --ros-args -p machine:=log_loader

Inputs are on `valve_commands_in`, outputs on `valve_commands`. Gamepad, keyboard and cockpit find the topic by name.
With `output:=joint_command` it governs efforts of joints, from `joint_command_in`.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import fields
from typing import Any

import numpy as np

from dyn_nodes.governor.settings import GovernorSettings
from dyn_nodes.governor.tip_over_governor import TipOverGovernor, Verdict
from dyn_nodes.middleware import Clock, ClockType, DurabilityPolicy, QoSProfile, message
from dyn_nodes.model.locking import parked
from dyn_nodes.monitor.in_space import in_space
from dyn_nodes.nodes import commands
from dyn_nodes.nodes.diagnostics import ERROR, WARN, DiagnosticsPublisher, Health, status_message
from dyn_nodes.nodes.exchange import (
    WATCH_PERIOD,
    Every,
    awaits_commands,
    command_qos,
    data_qos,
    states_qos,
)
from dyn_nodes.nodes.governed_commands import CHANNELS, EffortCommands
from dyn_nodes.nodes.group_values import command_publisher
from dyn_nodes.nodes.held_override import HeldOverride
from dyn_nodes.nodes.instants import InstantQueue, Step
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.nodes.managed import Managed
from dyn_nodes.nodes.neighbours import MEASUREMENTS
from dyn_nodes.nodes.overridable import OverridableNode
from dyn_nodes.nodes.parameters import ParameterError, declare, node_parameters
from dyn_nodes.nodes.running import run_node
from dyn_nodes.nodes.sensing import Sensing
from dyn_nodes.nodes.stamps import NANO, stamp_at
from dyn_nodes.nodes.weighed_payload import WeighedPayload
from dyn_nodes.stability.equilibrium.standing import gives_way, on_standing_wheels

DiagnosticStatus = message('diagnostic_msgs/msg/DiagnosticStatus')
Bool = message('std_msgs/msg/Bool')
Float64 = message('std_msgs/msg/Float64')
JointState = message('sensor_msgs/msg/JointState')

PARAMETERS = node_parameters('tip_over_governor_node')
AGAIN = 0.015
"""Time after the last outputs, s, from which joint states cause a new decision on the last levers."""
STOP_PERIOD = 0.1
"""Least time between two postures on `governor/stop`, s."""
CHECK_PERIOD = 0.01
"""Period of the check of timeouts, s; lateness is detected earlier by this time."""
BEHIND = 0.2
"""Greatest lag of late joint states behind the wall clock, s; beyond it they have another clock."""


class TipOverGovernorNode(OverridableNode, Managed):
    """Answers every `valve_commands_in` with one `valve_commands`, or every `joint_command_in` with a `joint_command`.

    In lockstep a command waits for the joint states of its instant. Asynchronous commands (`command_source`) are
    answered at once, and again with joint states if they are rare, so that no output lasts longer than its stop is
    certified for. If joint states are late by `lateness`, the outputs are led to neutral, and continue when they are
    received again. After a timeout of joint states, commands or the IMU the outputs go to neutral, and stay there until
    all are received again and, with `neutral_first`, the levers have returned to neutral: the machine does not start by
    itself.

    Attributes:
        sensing: measurements.
        channel: of the commands.
        weighed: payload estimated by a monitor; None for a specified payload.
        governor: the law.
        verdict: the last one.
        waits: whether outputs wait for levers at neutral.
        received, sent: numbers of accepted commands and of outputs.
        rejections: of commands.
        limits: (l,) of the outputs, V; N m or N of efforts.
        decided_at: time of the last decision, s; None before the first.
        instants: lockstep: assigns commands to joint states.
    """

    is_sole = watches_ages = is_managed = True
    measurements = MEASUREMENTS

    def __init__(self, **options: Any) -> None:
        super().__init__('tip_over_governor_node', **options)
        self.values = values = declare(self, PARAMETERS)
        machine = in_space(machine_of(values['machine'], values['config']))
        self.machine = on_standing_wheels(parked(machine))
        standing = {support.name for support in self.machine.supports}
        raised = [support.name for support in machine.supports if support.name not in standing]
        measures = () if gives_way(self.machine) else ('zmp',)
        held = [joint.name for joint in machine.movable_joints if not self.machine.joint(joint.name).movable]
        self.paced, self.lockstep = values['mode'] == 'realtime', awaits_commands(values)
        states = states_qos(values)
        self.channel = CHANNELS[values['output']](self.machine, values['joints'], machine)
        # the dynamics waits for efforts at every exchange
        every = self.lockstep and isinstance(self.channel, EffortCommands)
        self._period = values['exchange_period'] if every else values['command_period']
        self._command_due = Every('command_period', self._period, values['exchange_period'], not self.paced)
        payload_specified = values['payload_source'] == 'given'
        self.sensing = Sensing(
            self, self.machine, values, measures, self._on_state, states, self.lockstep, payload_specified, held
        )
        monitor = self.sensing.monitor
        error, timeout = values['payload_error'], values['payload_timeout']
        self.weighed = None if payload_specified else WeighedPayload(self, monitor, error, timeout)
        names = {field.name for field in fields(GovernorSettings)} & values.keys()
        arguments = {name: values[name] for name in names} | {'rate': values[self.channel.rate]}
        settings = GovernorSettings(**arguments)
        self.stops = self.channel.stops(self.machine, monitor, settings)
        if values['motion_check']:
            self.sensing.checks.add(self.stops.motion)
        self.governor = TipOverGovernor(self.channel.names, self.stops, settings)
        self.limits = self.channel.limits
        self.override = self._new_override()
        self.rejections = commands.Rejections()
        self.verdict = Verdict(np.zeros(len(self.limits)))
        self.received = self.sent = 0
        self.waits = not self.lockstep and values['neutral_first']
        self._driving_waits, self._driving = self.waits, np.zeros(len(self.channel.driving))
        self.received_at = -np.inf
        self.decided_at: float | None = None
        self._stop_at = -np.inf
        self._led = 0.0
        self._sent_at: float | None = None
        self._wanted: np.ndarray | None = None
        self.instants: InstantQueue[np.ndarray] = InstantQueue(in_order=True)
        self.sensing.warm_up(self._warm_up)
        self._create_topics()
        sources = {
            'joint_states': self.sensing.joint_health,
            'imu': self.sensing.imu_health,
            'governor': self._published_health,
        }
        if self.weighed is not None:
            sources['payload'] = self.weighed.health
        elif self.machine.payload is not None:
            sources['payload'] = lambda: self.sensing.payload_health(self.stops.payload_bounds)
        self.diagnostics = DiagnosticsPublisher(self, sources)
        self.create_timer(CHECK_PERIOD, self.check_timeouts, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.get_logger().info(f'{self.machine.name}: {", ".join(self.governor.names)}; {values["mode"]}')
        if raised:
            self.get_logger().info(f'raised, assumed not to support: {", ".join(raised)}')
        self.manage()

    def obstacle(self, is_active: bool) -> str:
        """Return why the node cannot be deactivated: its outputs are not neutral; or ''."""
        neutral = self.channel.are_neutral(self.verdict.volts) and not self._driving.any()
        moving = not is_active and not neutral
        return 'expected levers at neutral, found outputs that move the machine' if moving else ''

    def _create_topics(self) -> None:
        qos = command_qos(self.lockstep)
        topic, kind = self.channel.topic, self.channel.kind
        self.commands_out = command_publisher(self, kind, topic, qos)
        self.scale_out = self.create_publisher(Float64, 'governor/scale', data_qos(not self.paced))
        self.stop_out = self.create_publisher(JointState, 'governor/stop', data_qos(not self.paced))
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.state_out = self.create_publisher(DiagnosticStatus, 'governor/state', latched)
        self._published_state: tuple[int, str] | None = None
        incoming = command_qos(self.lockstep)
        incoming.depth = data_qos(False).depth
        self.create_subscription(kind, f'{topic}_in', self._on_command, incoming)
        if self.override.longest:
            self.create_subscription(Bool, 'governor/override', self._on_override, QoSProfile(depth=1))

    def _new_override(self) -> HeldOverride:
        """Return the override of the parameters. Raises ParameterError."""
        longest = self.values['override_time']
        if longest and (self.lockstep or self.channel.follows_measurements):
            found = 'lockstep' if self.lockstep else f'output {self.values["output"]!r}'
            raise ParameterError(f"parameter 'override_time': expected asynchronous valve_commands, found {found}")
        return HeldOverride(longest)

    def _on_override(self, msg: Any) -> None:
        now, count = time.monotonic(), self.override.count
        self.override.update(bool(msg.data), now)
        if self.override.count > count:
            part = f'{100.0 * self.values["override_speed"]:.0f} % of the levers'
            self.get_logger().warn(f'override {self.override.count}: {part} for {self.override.longest:g} s at most')

    def _warm_up(self, _: np.ndarray) -> None:
        """Run the processing of a command once to load its machine code."""
        self.governor.govern(np.ones(len(self.limits)), 0.01)
        self.governor.reset()

    # -- time --------------------------------------------------------------------------------------------------------

    def _on_state(self, stamp: int) -> None:
        if not self.lockstep:
            self._decide_again()
            return
        if not self._command_due.at(stamp):
            return
        if self.instants.start(stamp) is Step.BACK:
            self.governor.reset()
            self.decided_at = None
        self._answer_commands()

    def _decide_again(self) -> None:
        """Decide again on the last levers, until their timeout.

        This happens without a recent command, and at once after outputs were led to neutral, which are not certified.
        Outputs that go to neutral by measurements are updated with each of them.
        """
        timed_out = self.timed_out
        if self._wanted is None or (timed_out and not self.channel.follows_measurements):
            return
        now = self._time()
        if timed_out or self._led or self.decided_at is None or not 0.0 <= now - self.decided_at < AGAIN:
            self._answer(self._wanted, now)

    def _answer_commands(self) -> None:
        """Answer all commands of present instants in lockstep."""
        while taken := self.instants.take():
            stamp, volts = taken
            self._answer(volts, (self.sensing.stamp or 0) / NANO, stamp)

    def _on_command(self, msg: Any) -> None:
        try:
            volts = self.channel.read(msg)
            stamp = self.channel.stamp_of(msg) if self.lockstep else None
            self._command_due.check_answered(f'{self.channel.topic}_in', stamp)
        except commands.RejectedError as error:
            self.rejections.add(error, time.monotonic())
            self.get_logger().warn(f'rejected: {error}', throttle_duration_sec=1.0)
            self.update_diagnostics()
            return
        self.received += 1
        self.received_at = time.monotonic()
        if self.lockstep:
            self.instants.offer(stamp, volts)
            self._answer_commands()
        else:
            self._wanted = volts
            self._answer(volts, self._time())

    def _answer(self, wanted: np.ndarray, now: float, stamp: int | None = None) -> None:
        volts, driving = self.channel.split(wanted)
        stays, driving = self._stays(volts), self._let_drive(driving)
        if self.is_overdue():
            self._lead_to_neutral()
            return
        step = self._step_to(now)
        if stays:
            self.stops.see()
            self._publish(self.governor.neutral(step), stamp, driving)
            return
        try:
            self._bound_payload()
            self.verdict = self._decided(volts, step)
        except Exception:  # after any error the outputs go to neutral
            self._publish(self.governor.neutral(step), stamp)
            raise
        self._publish(self.verdict.volts, stamp, driving)
        self.scale_out.publish(Float64(data=self.verdict.scale))
        self._publish_stop(now)
        if self.lockstep:
            self.update_diagnostics()

    def _publish_stop(self, now: float) -> None:
        """Publish the posture after the certified stop, if it is due; without joints if no stop is certified."""
        if 0.0 <= now - self._stop_at < STOP_PERIOD - 1e-9:
            return
        self._stop_at, out = now, JointState()
        out.header.stamp = stamp_at(self.sensing.stamp or 0)
        positions = self.stops.rest_after() if self.verdict.certified else np.zeros(0)
        if len(positions) and np.isfinite(positions).all():
            out.name = [joint.name for joint in self.machine.movable_joints]
            out.position = positions.tolist()
        self.stop_out.publish(out)

    def _decided(self, volts: np.ndarray, step: float) -> Verdict:
        """Return the decision on levers (m,), V."""
        if not self.override.left(time.monotonic()):
            return self.governor.govern(volts, step)
        most = self.values['override_speed'] * self.limits
        return self.governor.override(np.clip(volts, -most, most), step)

    def _step_to(self, now: float) -> float:
        """Return the time since the last outputs, s, at a decision at `now` by `_time`.

        Time for which the wall clock has advanced outputs since the last decision is not counted again, also if several
        late joint states follow.
        """
        last, self.decided_at = self.decided_at, now
        led, self._led = self._led, 0.0
        if last is not None and not led:
            return max(now - last, 0.0)
        if self._sent_at is None or self.lockstep:
            return float(self._period)
        step = -np.inf if last is None or now < last else now - last - led
        if step < -BEHIND:
            return time.monotonic() - self._sent_at
        self._led = max(-step, 0.0)
        return max(step, 0.0)

    def is_overdue(self) -> bool:
        """Return whether joint states are so late that no stop is certified any more."""
        return not self.lockstep and self.sensing.overdue(self.values['lateness'] - CHECK_PERIOD, self._oldest)

    @property
    def _oldest(self) -> float:
        """Return the greatest age of joint states with certified stops, s: the delay, at least `lateness`."""
        return float(max(self.values['delay'], self.values['lateness']))

    def _lead_to_neutral(self) -> None:
        """Lead the outputs to neutral in real time by the wall clock.

        They follow the certified stop, which starts at the end of the last certificate even if this is detected late.
        """
        step, lasted = CHECK_PERIOD, 0.0
        if self._sent_at is not None:
            step = time.monotonic() - self._sent_at
            lasted = 0.0 if self._led else min(step, max(self.values['lateness'] - CHECK_PERIOD, 0.0))
        is_comparable = self.sensing.stamp is not None and not self.sensing.is_simulated
        self._led = self._led + step if is_comparable else np.inf
        self.stops.pass_by(lasted)
        self._publish(self.governor.neutral(step - lasted))

    def _stays(self, volts: np.ndarray) -> bool:
        """Return whether the outputs stay at neutral for any levers (m,), V."""
        unknown = not self._may_move()
        if self.lockstep:
            return unknown
        if self.channel.are_neutral(volts):
            self.waits = False
        elif unknown:
            self._wait()
        return self.waits or unknown or self.timed_out

    def _let_drive(self, driving: np.ndarray) -> np.ndarray:
        """Return the volts (k,) of the valves that drive the machine, as the levers command, or neutral.

        They are not governed: stops are certified for a parked machine, and while it drives its arm is held.
        """
        passes = self.lockstep or (self._is_measured and not self.timed_out)
        if passes and self.channel.are_neutral(driving):
            self._driving_waits = False
        elif not passes:
            self._driving_waits = self.values['neutral_first']
        return np.zeros(len(driving)) if self._driving_waits or not passes else driving

    def _wait(self) -> None:
        """Keep the outputs at neutral until the levers have been neutral."""
        self.waits = self.values['neutral_first']

    def _bound_payload(self) -> None:
        """Set the bounds of the payload: estimated; its error about a specified payload; or from 0 on without one.

        A simulation carries the payload of the machine file.
        """
        if self.weighed is None:
            is_open = self.sensing.assumes_payload and not self.sensing.is_simulated
            most = (1.0 + self.values['payload_error']) * self.sensing.monitor.payload
            self.stops.payload_bounds = (0.0, most) if is_open else None
        elif self.sensing.stamp is not None:
            self.weighed.update(self.sensing.stamp / NANO)
            self.stops.payload_bounds = self.weighed.bounds

    def _time(self) -> float:
        """Return the time of the newest joint states, s; the time of the wall clock before the first."""
        return time.monotonic() if self.sensing.stamp is None else self.sensing.stamp / NANO

    def _may_move(self) -> bool:
        """Return whether the measurements suffice. A lockstep run starts at rest, before the filters have settled."""
        return self._is_measured and not self.sensing.parked.moving

    @property
    def _is_measured(self) -> bool:
        """Whether the state of the machine is known."""
        sensing = self.sensing
        measured = sensing.monitor.footing is not None if self.lockstep else sensing.trustworthy
        return bool(measured and sensing.checks.are_sound and not sensing.lost_imu)

    def _publish(self, volts: np.ndarray, stamp: int | None = None, driving: np.ndarray | None = None) -> None:
        self._driving = np.zeros(len(self.channel.driving)) if driving is None else driving
        out = self.channel.message(volts, self._driving, self.stops, stamp)
        if out is None:
            return
        self.commands_out.publish(out)
        self._sent_at = time.monotonic()
        self.sent += 1

    @property
    def timed_out(self) -> bool:
        """Return whether commands were received and have timed out."""
        return (
            bool(np.isfinite(self.received_at)) and time.monotonic() - self.received_at > self.values['command_timeout']
        )

    def check_timeouts(self) -> None:
        """Lead to neutral in real time while commands or joint states are late or have timed out."""
        if not self.lockstep and self.received:
            blind = self.sensing.stale or self.is_overdue()
            if self.timed_out or self.sensing.stale:
                self._wait()
                self._driving_waits = self.values['neutral_first']
            if blind or (self.timed_out and not self.channel.follows_measurements):
                moving = self.channel.follows_measurements or self.governor.output.any() or self._driving.any()
                if moving or self._sent_at is None or time.monotonic() - self._sent_at >= WATCH_PERIOD:
                    self._lead_to_neutral()
        self.update_diagnostics()

    # -- health ------------------------------------------------------------------------------------------------------

    def update_diagnostics(self) -> None:
        """Publish /diagnostics if due or changed."""
        now = (self.sensing.stamp or 0) / NANO if self.lockstep else time.monotonic()
        stamp = now if self.lockstep else self.get_clock().now().nanoseconds / NANO
        self.diagnostics.update(now, stamp)

    def _published_health(self) -> Health:
        """Return the status `governor`; publish it on `governor/state` if its level or text has changed."""
        health = self._governor_health()
        state = health.level, health.text
        if state != self._published_state:
            self._published_state = state
            self.state_out.publish(status_message(self, 'governor', health))
        return health

    def _governor_health(self) -> Health:
        """Return the status `governor`: limited commands, and the reason."""
        verdict, neutral = self.verdict, self._neutral
        values = {
            'received': str(self.received),
            'sent': str(self.sent),
            'scale': f'{verdict.scale:.3f}',
            'stability degree at rest': f'{verdict.degree:.3f}',
            'certified': str(verdict.certified).lower(),
            'margin kept': f'{verdict.margin:.3f}',
            'edge nearest to tipping' if self._has_edges else 'least loaded wheel': verdict.contact,
            'seconds ahead': f'{verdict.ahead:.2f}',
            'payload it moves with': f'{self.stops.payload:.1f} kg',
            'links it moves with': f'{100.0 * self.stops.heft:.1f} % of the nominal mass',
            'held back': ', '.join(verdict.held),
            'moved by itself': ', '.join(verdict.brought),
            'overrides': str(self.override.count),
            'assumed parked': ', '.join(self.sensing.parked.unseen),
            **self.rejections.values(),
        }
        health = Health(text='passing commands', values=values)
        if not self.received:
            health.text = f'no {self.channel.topic}_in yet'
        if self.lockstep:
            self._report_held(health)
            return health
        if self.received and (old := self.sensing.fault_of_age(self._oldest)):
            health.worse(ERROR, f'{old}: {neutral}')
        elif self.received and not self._may_move():
            why = 'the IMU is lost' if self.sensing.lost_imu else 'the state of the machine is unknown'
            if moving := self.sensing.parked.moving:
                why = f'the machine drives ({", ".join(moving)}), and stops are certified for a parked machine'
            why = '; '.join(f'{name}: {text}' for name, text in self.sensing.checks.faults().items()) or why
            health.worse(ERROR, f'{why}: {neutral}')
        elif self.timed_out:
            timeout = f'{self.values["command_timeout"]:g} s'
            health.worse(WARN, f'no {self.channel.topic}_in for {timeout}: {neutral}')
        elif self.waits:
            text = 'waiting for all levers to return to neutral after an interruption of commands or measurements'
            health.worse(WARN, text)
        else:
            self._report_held(health)
        if self.rejections.recent(time.monotonic()):
            health.worse(WARN, f'rejected: {self.rejections.last}')
        return health

    @property
    def _has_edges(self) -> bool:
        """Whether the criterion concerns the edges of the support polygon."""
        return bool(self.values['criterion'] == 'tipping')

    @property
    def _neutral(self) -> str:
        """Return a text for the present neutral output."""
        return self.channel.neutral_of(self.stops)

    def _report_held(self, health: Health) -> None:
        if self.verdict.held and not np.isfinite(self.verdict.degree):
            fault = self.stops.ground.fault(self.sensing.monitor.q) or 'no contact force on the ground'
            if gives_way(self.machine) and not self.sensing.monitor.has_imu:
                fault = 'expected an IMU on a base on pivots, found none'
            health.worse(ERROR, f'no stability degree, {self._neutral}: {fault}')
        elif self.verdict.is_override:
            left = math.ceil(self.override.left(time.monotonic()))
            speed = f'{100.0 * self.values["override_speed"]:.0f} % of the levers'
            health.worse(WARN, f'override: {speed} without a limit of the load, {left} s left')
        elif self.verdict.brought:
            names = ', '.join(self.verdict.brought)
            what = f'it tips over the {self.verdict.contact} edge' if self._has_edges else 'a wheel has lifted'
            health.worse(ERROR, f'{what}: moving {names} by itself to bring it down')
        elif self.verdict.held:
            share = f'{100.0 * self.verdict.scale:.0f} %'
            why = f'{self.verdict.contact} would come near to lifting'
            if self._has_edges:
                why = f'above the rated load, or near tipping over the {self.verdict.contact} edge'
            health.worse(WARN, f'holding back {", ".join(self.verdict.held)} ({share}): {why}')


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node('tip_over_governor_node', TipOverGovernorNode, args)


if __name__ == '__main__':
    sys.exit(main())
