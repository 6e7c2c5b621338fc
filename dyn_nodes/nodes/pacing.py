"""Pacing of simulated time: lockstep with the nodes of the efforts, and in real time not faster than the wall clock."""

from __future__ import annotations

import time
from typing import Any, Protocol

import numpy as np

from dyn_nodes.middleware import Clock, ClockType
from dyn_nodes.nodes.exchange import LOCKSTEP_TIMEOUT, WATCH_PERIOD
from dyn_nodes.nodes.instants import InstantQueue
from dyn_nodes.nodes.joint_targets import JointTargets
from dyn_nodes.nodes.readiness import Readiness
from dyn_nodes.nodes.running import RunOver
from dyn_nodes.nodes.schedule import RealTimeFactor, WallSchedule
from dyn_nodes.nodes.stamps import nanoseconds_of
from dyn_nodes.simulation.plant import Plant

FLUSH_TIME = 0.5
COMPOSED_FLUSH_TIME = 0.1
"""The same beside a recorder in this process, which has received everything: only displays may lag."""
REPEAT_PERIOD = 1.0
PACE = 0.004
"""Period in which the wall clock is read, s: the exchanges within it need no timer."""
MOST_AT_ONCE = 0.02
"""Wall time after which a run without a partner returns to the executor, s."""


class PacedNode(Protocol):
    """The parts of the dynamics node that the pacer uses.

    Attributes:
        values: parameters.
        plant: the machine, with its time.
        targets: of its joints.
        waits: whether the partner answers every instant.
        monolithic: whether the node simulates the hydraulics.
        finished: whether the run is over.
        commands: number of accepted commands.
        without_command: driven joints without a value in the last command.
        awaited_topics: of the messages that every instant waits for, fully qualified.
        object_topics: awaited topics of the objects that hands hold; time does not start without them.
    """

    values: dict[str, Any]
    plant: Plant
    targets: JointTargets
    waits: bool
    monolithic: bool
    finished: bool
    commands: int
    without_command: tuple[str, ...]

    @property
    def awaited_topics(self) -> tuple[str, ...]:
        """Return the topics of the messages that every instant waits for."""
        raise NotImplementedError

    @property
    def object_topics(self) -> tuple[str, ...]:
        """Return the awaited topics of the objects that hands hold."""
        raise NotImplementedError

    def announce(self) -> None:
        """Publish the present instant."""

    def repeat(self) -> None:
        """Publish the present joint states again."""

    def advance(self) -> bool:
        """Advance by one exchange period; return False after the end of the run."""
        raise NotImplementedError

    def due(self, period: str) -> bool:
        """Return whether the present instant is a multiple of a period parameter."""
        raise NotImplementedError

    def hold(self) -> None:
        """Enter the safe state."""

    def update_diagnostics(self) -> None:
        """Publish health if due."""

    def report_timeout(self) -> None:
        """Publish health if a timeout of the partner has started or ended."""

    def count_publishers(self, topic_name: str) -> int:
        """Return the number of publishers of a topic."""
        raise NotImplementedError

    def get_logger(self) -> Any:
        """Return the logger."""

    def create_timer(self, timer_period_sec: float, callback: Any, *args: Any, **options: Any) -> Any:
        """Create a timer."""


class Pacer:
    """Advances simulated time.

    Time advances by one exchange when the command of the present instant was received and, in real time, the wall clock
    has reached the next instant. A lost or `external` partner is not waited for.

    Attributes:
        paced: real time: simulated time is not faster than the wall clock.
        waits: whether the partner answers every instant.
        paused: whether simulated time is paused on request.
        started: whether simulated time has started.
        timed_out: whether the partner has not answered within `timeout`.
        uncommanded: whether commands beside the answers of an object have timed out.
        timeout: of the partner, wall time, s.
        schedule: of the wall clock (real time).
        factor: simulated seconds per second of wall time.
    """

    def __init__(self, node: PacedNode) -> None:
        self.node = node
        self.paced, self.waits = node.values['mode'] == 'realtime', node.waits
        self.paused = self.timed_out = self.started = self.uncommanded = False
        self.timeout = float(node.values['command_timeout'])
        self.schedule = WallSchedule(node.values['speed'], self._tolerance())
        self.factor = RealTimeFactor()
        waits = node.values['wait_for'], node.values['wait_timeout']
        required = self.waits and not self.paced
        self.readiness = Readiness(node, *waits, node.object_topics, required, node.values['bring_up'])
        self._since = time.monotonic()
        self._command_at: float | None = None
        self._asked_again = -np.inf
        self._finished_at: float | None = None
        is_composed = getattr(getattr(node, 'context', None), 'local', None) is not None
        self._flush_time = COMPOSED_FLUSH_TIME if is_composed else FLUSH_TIME
        self._is_going = False
        self._instants: InstantQueue[None] = InstantQueue()
        self._partners: frozenset[bytes] = frozenset()
        self._partners_at, self._commands_then = -np.inf, -1
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)

    # -- for the node ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Wait for the other nodes, then publish the first instant; called once, after the set-up of the node."""
        self.node.create_timer(WATCH_PERIOD, self.check_timeouts, clock=self._steady)
        if self.paced or not self.waits:
            period = self.node.values['exchange_period']
            self.node.create_timer(max(period, PACE) if self.waits else period, self.advance_due, clock=self._steady)
        if self.paced and not self.readiness.awaits:
            self.start_clock()

    @property
    def instants(self) -> InstantQueue[None]:
        """Return the queue of instants at the present one. A monolithic machine needs few commands."""
        asks = self.waits and not (self.node.monolithic and not self.node.due('command_period'))
        self._instants.start(nanoseconds_of(self.now()), asks)
        return self._instants

    def commanded(self) -> None:
        """Continue after the command of the present instant was received."""
        self._since = time.monotonic()
        self.timed_out = False
        self.instants.answer()
        self.advance_due()

    def note_command(self) -> None:
        """Store the time of a command that answers no instant: time waits only for the objects that hands hold."""
        self._command_at, self.uncommanded = time.monotonic(), False

    def earlier_command(self) -> None:
        """Wait again for a partner that has timed out, after its command of an earlier instant."""
        self._since = time.monotonic()
        self.timed_out = False
        self.instants.regain()

    def now(self) -> float:
        """Return simulated time, s."""
        return self.node.plant.time

    @property
    def late(self) -> bool:
        """Return whether simulated time is slower than the wall clock."""
        return self.paced and self.schedule.late

    def pause(self, paused: bool) -> None:
        """Pause or continue; a command that was received during a pause is used afterwards."""
        self.paused = paused
        self._since = time.monotonic()
        if self._command_at is not None:
            self._command_at = self._since
        self.rebase()
        self.advance_due()

    def single_step(self) -> None:
        """Advance by one exchange while paused, if no command is missing."""
        if self.has_command():
            self._advance()
            self.rebase()

    def rebase(self) -> None:
        """Set the origin of the schedule to the present time and speed."""
        self.schedule.speed = self.node.values['speed']
        self.schedule.tolerance = self._tolerance()
        self.schedule.rebase(self.now())
        self.factor.clear()

    def _tolerance(self) -> float:
        """Return the delay after which an instant counts as missed, s: two exchanges."""
        return float(2.0 * self.node.values['exchange_period'] / self.node.values['speed'])

    def restart(self) -> None:
        """Restart time at 0."""
        self._finished_at = self._command_at = None
        self.uncommanded = False
        self._instants.restart()
        if self.started:
            self.start_clock()

    # -- time --------------------------------------------------------------------------------------------------------

    def start_clock(self) -> None:
        """Start time: announce the first instant."""
        self.started = True
        self._since = time.monotonic()
        self.rebase()
        if not (self.paced or self.waits):
            self.node.hold()  # unpaced without a partner: nothing may depend on the wall clock
        self.node.announce()
        self.advance_due()

    def advance_due(self) -> None:
        """Advance as far as commands and the wall clock allow. Commands may arrive while an instant is published."""
        if self._is_going:
            return
        self._is_going = True
        try:
            until = time.monotonic() + MOST_AT_ONCE if self.paced or not self.waits else np.inf
            while self._may_advance() and self._advance() and time.monotonic() < until:
                pass
        finally:
            self._is_going = False

    def _may_advance(self) -> bool:
        if not self.started or self.paused or self.node.finished or not self.has_command():
            return False
        return not self.paced or self.schedule.is_due(self.now() + self.node.values['exchange_period'])

    def has_command(self) -> bool:
        """Return whether the present instant needs no (further) command."""
        return not self.instants.waits

    def _advance(self) -> bool:
        if self.paced:
            self.schedule.start(self.now() + self.node.values['exchange_period'])
        if not self.node.advance():
            return False
        if self.waits:
            self._since = time.monotonic()
        self.node.announce()
        return True

    # -- the wall clock --------------------------------------------------------------------------------------

    def check_timeouts(self) -> None:
        """Start time when all partners are ready, and report timeouts."""
        self._leave_when_finished()
        if not self.started:
            self.node.update_diagnostics()
            if self.readiness.check():
                self.start_clock()
            return
        if self.paused or self.node.finished:
            self.rebase()
        else:
            self.factor.note(self.now())
            self._note_partners()
            self._check_answer_timeout()
            self._check_command_timeout()
        self.node.update_diagnostics() if self.paced else self.node.report_timeout()

    def _check_answer_timeout(self) -> None:
        if self.waits and self.has_command():
            return
        waited = time.monotonic() - self._since
        self.timeout = self._timeout_now(waited)
        if waited > self.timeout and not self.timed_out:
            self.timed_out = True
            self._log_timeout(waited)
            if self.paced:
                self.instants.give_up()
            if self.paced or not self.waits:
                self.node.hold()
        if self.timed_out and self.waits and not self.paced:
            self.readiness.check_finished()  # simulated time would wait for ever
        if self.waits and waited > min(REPEAT_PERIOD, self.timeout):
            self._ask_again()

    def _check_command_timeout(self) -> None:
        """Hold the joints after a timeout of commands beside the answers of an object."""
        waited = 0.0 if self._command_at is None else time.monotonic() - self._command_at
        if waited > self.node.values['command_timeout'] and not self.uncommanded:
            self.uncommanded = True
            self.node.get_logger().error(f'no command since {waited:.2f} s: holding the joints where they are')
            self.node.hold()

    def _timeout_now(self, waited: float) -> float:
        """Return the wall-clock timeout of the partner, s: longer while it is in the graph."""
        timeout = float(self.node.values['command_timeout'])
        if not self.waits or waited <= timeout:
            return timeout
        is_gone = self.paced and not all(map(self.node.count_publishers, self.node.awaited_topics))
        return timeout if is_gone else max(timeout, LOCKSTEP_TIMEOUT)

    def _log_timeout(self, waited: float) -> None:
        if not self.node.commands and not self.waits:
            return
        does = 'holding the joints where they are' if self.paced else 'simulated time stands still'
        due = f' (command_period: {self.node.values["command_period"]:g} s)' if self.node.monolithic else ''
        self.node.get_logger().error(f'no command for t = {self.now():.4f} s{due} since {waited:.2f} s: {does}')

    def _note_partners(self) -> None:
        """Store the subscriptions to the joint states while commands are received, at most once per REPEAT_PERIOD."""
        now, are_fresh = time.monotonic(), self.node.commands != self._commands_then
        self._commands_then = self.node.commands
        if self.paced or not are_fresh or now - self._partners_at < REPEAT_PERIOD:
            return
        self._partners_at = now
        self._partners = self.readiness.subscriptions()

    def _ask_again(self) -> None:
        """Repeat the instant to a partner that may not have received it.

        In lockstep only if there is a new subscription since the last commands, of a restarted partner: a repetition to
        a slow one would appear in the bag of this run only.
        """
        if time.monotonic() - self._asked_again < REPEAT_PERIOD:
            return
        self._asked_again = time.monotonic()
        if not self.timed_out:
            if self.paced:
                self.node.repeat()
        elif not self.readiness.subscriptions() <= self._partners:
            self.node.repeat()

    def _leave_when_finished(self) -> None:
        """End the process after a delay, so that the last messages are sent."""
        if not self.node.finished:
            return
        if self._finished_at is None:
            self._finished_at = time.monotonic()
        elif time.monotonic() - self._finished_at > self._flush_time:
            raise RunOver
