"""A ROS node between levers and valves: lets through what does not tip the machine.

    dyn-nodes run tip_over_governor_node --ros-args -p machine:=log_loader

What moves the levers publishes on `valve_commands_in`; `valve_commands` go to the valves. Gamepad, keyboard and cockpit
find the topic by its name. With `output:=joint_command` it is efforts of joints, from `joint_command_in`.
"""

from __future__ import annotations

import sys
import time
from dataclasses import fields
from typing import Any

import numpy as np

from dyn_nodes.governor.settings import GovernorSettings
from dyn_nodes.governor.tip_over_governor import TipOverGovernor, Verdict
from dyn_nodes.middleware import Clock, ClockType, message
from dyn_nodes.monitor.in_space import in_space
from dyn_nodes.nodes import commands
from dyn_nodes.nodes.diagnostics import ERROR, WARN, DiagnosticsPublisher, Health
from dyn_nodes.nodes.exchange import (
    WATCH_PERIOD,
    Every,
    awaits_commands,
    command_qos,
    data_qos,
    states_qos,
)
from dyn_nodes.nodes.governed_commands import CHANNELS, EffortCommands, reject_closed_loops
from dyn_nodes.nodes.instants import InstantQueue, Step
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.nodes.neighbours import MEASUREMENTS
from dyn_nodes.nodes.overridable import OverridableNode
from dyn_nodes.nodes.parameters import declare, node_parameters
from dyn_nodes.nodes.running import run_node
from dyn_nodes.nodes.sensing import Sensing
from dyn_nodes.nodes.stamps import NANO
from dyn_nodes.nodes.weighed_payload import WeighedPayload

Float64 = message('std_msgs/msg/Float64')

PARAMETERS = node_parameters('tip_over_governor_node')
AGAIN = 0.015
"""Joint states that come so long after the last outputs, s, decide anew on the levers as they were."""
CHECK_PERIOD = 0.01
"""Between two looks at whether commands and joint states still come, s: what is late is noticed so much earlier."""
BEHIND = 0.2
"""Joint states that were late may be so much behind the wall clock, s; where they are more, they have another clock."""


class TipOverGovernorNode(OverridableNode):
    """Answers every `valve_commands_in` with one `valve_commands`, or every `joint_command_in` with a `joint_command`.

    In lockstep a command waits for the joint states of its instant. The commands of a person (`command_source`
    asynchronous) are answered at once, and again by the joint states where they come seldom, so that no output lasts
    longer than its stop is certified for. From joint states that are `lateness` late on the outputs are led to neutral,
    and go on where they come again. When they, commands or the IMU stop for longer, the outputs go to neutral, and stay
    there until all are back and, with `neutral_first`, the levers have been neutral since: a machine does not begin to
    move by itself.

    Attributes:
        sensing: what is measured.
        channel: of the commands.
        weighed: the payload that a monitor estimates; None where it is given.
        governor: the law.
        verdict: the last one.
        waits: for levers at neutral.
        received, sent: commands taken, outputs given.
        rejections: of commands.
        limits: (l,) of the outputs, V; N m or N of efforts.
        decided_at: time of the last decision, s; None before the first.
        instants: lockstep: which commands belong to which joint states.
    """

    is_sole = watches_ages = True
    measurements = MEASUREMENTS

    def __init__(self, **options: Any) -> None:
        super().__init__('tip_over_governor_node', **options)
        self.values = values = declare(self, PARAMETERS)
        self.machine = in_space(machine_of(values['machine'], values['config']))
        reject_closed_loops(self.machine)
        self.paced, self.lockstep = values['mode'] == 'realtime', awaits_commands(values)
        states = states_qos(values)
        self.channel = CHANNELS[values['output']](self.machine, values['joints'])
        # the dynamics waits for efforts at every exchange
        every = self.lockstep and isinstance(self.channel, EffortCommands)
        self._period = values['exchange_period'] if every else values['command_period']
        self._command_due = Every('command_period', self._period, values['exchange_period'], not self.paced)
        payload_specified = values['payload_source'] == 'given'
        self.sensing = Sensing(
            self, self.machine, values, ('zmp',), self._on_state, states, self.lockstep, payload_specified
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
        self.rejections = commands.Rejections()
        self.verdict = Verdict(np.zeros(len(self.limits)))
        self.received = self.sent = 0
        self.waits = not self.lockstep and values['neutral_first']
        self.received_at = -np.inf
        self.decided_at: float | None = None
        self._led = 0.0
        self._sent_at: float | None = None
        self._wanted: np.ndarray | None = None
        self.instants: InstantQueue[np.ndarray] = InstantQueue(in_order=True)
        self.sensing.warm_up(self._warm_up)
        self._create_topics()
        sources = {
            'joint_states': self.sensing.joint_health,
            'imu': self.sensing.imu_health,
            'governor': self._governor_health,
        }
        if self.weighed is not None:
            sources['payload'] = self.weighed.health
        elif self.machine.payload is not None:
            sources['payload'] = lambda: self.sensing.payload_health(self.stops.payload_bounds)
        self.diagnostics = DiagnosticsPublisher(self, sources)
        self.create_timer(CHECK_PERIOD, self.check_timeouts, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.get_logger().info(f'{self.machine.name}: {", ".join(self.governor.names)}; {values["mode"]}')

    def _create_topics(self) -> None:
        qos = command_qos(self.lockstep)
        topic, kind = self.channel.topic, self.channel.kind
        self.commands_out = self.create_publisher(kind, topic, qos)
        self.scale_out = self.create_publisher(Float64, 'governor/scale', data_qos(not self.paced))
        incoming = command_qos(self.lockstep)
        incoming.depth = data_qos(False).depth
        self.create_subscription(kind, f'{topic}_in', self._on_command, incoming)

    def _warm_up(self, _: np.ndarray) -> None:
        """Do once all that is done with a command."""
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
        """Decide on the levers as they were, until they are silent.

        Where no command has come for a while, and at once after outputs were led to neutral: they are not certified.
        Then what goes to neutral by measurements does so at each of them.
        """
        timed_out = self.timed_out
        if self._wanted is None or (timed_out and not self.channel.follows_measurements):
            return
        now = self._time()
        if timed_out or self._led or self.decided_at is None or not 0.0 <= now - self.decided_at < AGAIN:
            self._answer(self._wanted, now)

    def _answer_commands(self) -> None:
        """Lockstep: answer all commands whose instants are here."""
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
            self.get_logger().warn(f'refused: {error}', throttle_duration_sec=1.0)
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

    def _answer(self, volts: np.ndarray, now: float, stamp: int | None = None) -> None:
        stays = self._stays(volts)
        if self.is_overdue():
            self._lead_to_neutral()
            return
        step = self._step_to(now)
        if stays:
            self.stops.see()
            self._publish(self.governor.neutral(step), stamp)
            return
        try:
            self._bound_payload()
            self.verdict = self.governor.govern(np.clip(volts, -self.limits, self.limits), step)
        except Exception:  # whatever it is: no output stays where it was
            self._publish(self.governor.neutral(step), stamp)
            raise
        self._publish(self.verdict.volts, stamp)
        self.scale_out.publish(Float64(data=self.verdict.scale))
        if self.lockstep:
            self.update_diagnostics()

    def _step_to(self, now: float) -> float:
        """Return the time since outputs were given last, s, at a decision at `now` by `_time`.

        What the wall clock has led outputs on since the last decision is not counted again, also where joint states
        that were late come one after another.
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
        """Return whether nothing new of the machine has come for so long that no stop is certified any more."""
        return not self.lockstep and self.sensing.overdue(self.values['lateness'] - CHECK_PERIOD, self._oldest)

    @property
    def _oldest(self) -> float:
        """Return the greatest age of joint states for which stops are certified, s: with a delay of 0, `lateness`."""
        return float(max(self.values['delay'], self.values['lateness']))

    def _lead_to_neutral(self) -> None:
        """Realtime: lead the outputs on, by the time of the wall, which that of a simulation has nothing to do with.

        First from when what was certified with them ends, however late this is noticed: they go on as certified.
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
        """Return whether the outputs stay at neutral, whatever the levers (m,), V, want."""
        unknown = not self._may_move()
        if self.lockstep:
            return unknown
        if self.channel.are_neutral(volts):
            self.waits = False
        elif unknown:
            self._wait()
        return self.waits or unknown or self.timed_out

    def _wait(self) -> None:
        """Move nothing until the levers have been neutral."""
        self.waits = self.values['neutral_first']

    def _bound_payload(self) -> None:
        """Set the bounds of the payload: as weighed; its error about one that is given; from 0 on where none was given.

        A simulation carries that of the machine file.
        """
        if self.weighed is None:
            is_open = self.sensing.assumes_payload and not self.sensing.is_simulated
            most = (1.0 + self.values['payload_error']) * self.sensing.monitor.payload
            self.stops.payload_bounds = (0.0, most) if is_open else None
        elif self.sensing.stamp is not None:
            self.weighed.update(self.sensing.stamp / NANO)
            self.stops.payload_bounds = self.weighed.bounds

    def _time(self) -> float:
        """Time of the newest joint states, s, which a slow simulation slows down; the wall clock's before the first."""
        return time.monotonic() if self.sensing.stamp is None else self.sensing.stamp / NANO

    def _may_move(self) -> bool:
        """Return whether enough is known. A lockstep run begins at rest, before the filters could settle."""
        sensing = self.sensing
        measured = sensing.monitor.footing is not None if self.lockstep else sensing.trustworthy
        return measured and sensing.checks.are_sound and not sensing.lost_imu

    def _publish(self, volts: np.ndarray, stamp: int | None = None) -> None:
        out = self.channel.message(volts, self.stops, stamp)
        if out is None:
            return
        self.commands_out.publish(out)
        self._sent_at = time.monotonic()
        self.sent += 1

    @property
    def timed_out(self) -> bool:
        """Return whether commands have been coming, and have stopped."""
        return (
            bool(np.isfinite(self.received_at)) and time.monotonic() - self.received_at > self.values['command_timeout']
        )

    def check_timeouts(self) -> None:
        """Realtime: neutral while commands or joint states are silent or late."""
        if not self.lockstep and self.received:
            blind = self.sensing.stale or self.is_overdue()
            if self.timed_out or self.sensing.stale:
                self._wait()
            if blind or (self.timed_out and not self.channel.follows_measurements):
                moving = self.channel.follows_measurements or bool(self.governor.output.any())
                if moving or self._sent_at is None or time.monotonic() - self._sent_at >= WATCH_PERIOD:
                    self._lead_to_neutral()
        self.update_diagnostics()

    # -- health ------------------------------------------------------------------------------------------------------

    def update_diagnostics(self) -> None:
        """Publish /diagnostics where they are due or have changed."""
        now = (self.sensing.stamp or 0) / NANO if self.lockstep else time.monotonic()
        stamp = now if self.lockstep else self.get_clock().now().nanoseconds / NANO
        self.diagnostics.update(now, stamp)

    def _governor_health(self) -> Health:
        """The status of the governor: commands that are held back, and why."""
        verdict, neutral = self.verdict, self._neutral
        values = {
            'received': str(self.received),
            'sent': str(self.sent),
            'scale': f'{verdict.scale:.3f}',
            'stability degree at rest': f'{verdict.degree:.3f}',
            'certified': str(verdict.certified).lower(),
            'margin kept': f'{verdict.margin:.3f}',
            'least loaded wheel': verdict.contact,
            'seconds ahead': f'{verdict.ahead:.2f}',
            'payload it moves with': f'{self.stops.payload:.1f} kg',
            'links it moves with': f'{100.0 * self.stops.heft:.1f} % of what is known',
            'held back': ', '.join(verdict.held),
            'moved by itself': ', '.join(verdict.brought),
            **self.rejections.values(),
        }
        health = Health(text='letting through', values=values)
        if not self.received:
            health.text = f'no {self.channel.topic}_in yet'
        if self.lockstep:
            self._tell_held(health)
            return health
        if self.received and (old := self.sensing.fault_of_age(self._oldest)):
            health.worse(ERROR, f'{old}: {neutral}')
        elif self.received and not self._may_move():
            why = 'the IMU has gone' if self.sensing.lost_imu else 'nothing certain is known of the machine'
            why = '; '.join(f'{name}: {text}' for name, text in self.sensing.checks.faults().items()) or why
            health.worse(ERROR, f'{why}: {neutral}')
        elif self.timed_out:
            timeout = f'{self.values["command_timeout"]:g} s'
            health.worse(WARN, f'no {self.channel.topic}_in for {timeout}: {neutral}')
        elif self.waits:
            health.worse(WARN, 'waiting for levers at neutral: they were out when commands or measurements came back')
        else:
            self._tell_held(health)
        if self.rejections.recent(time.monotonic()):
            health.worse(WARN, f'refused: {self.rejections.last}')
        return health

    @property
    def _neutral(self) -> str:
        """What is done at neutral now, in words."""
        return self.channel.neutral_of(self.stops)

    def _tell_held(self, health: Health) -> None:
        if self.verdict.held and not np.isfinite(self.verdict.degree):
            fault = self.stops.ground.fault(self.sensing.monitor.q) or 'the machine does not press on the ground'
            health.worse(ERROR, f'no stability degree, {self._neutral}: {fault}')
        elif self.verdict.brought:
            names = ', '.join(self.verdict.brought)
            health.worse(ERROR, f'a wheel has lifted: moving {names} by itself to bring it down')
        elif self.verdict.held:
            share = f'{100.0 * self.verdict.scale:.0f} %'
            why = f'{self.verdict.contact} would come near to lifting'
            health.worse(WARN, f'holding back {", ".join(self.verdict.held)} ({share}): {why}')


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node('tip_over_governor_node', TipOverGovernorNode, args)


if __name__ == '__main__':
    sys.exit(main())
