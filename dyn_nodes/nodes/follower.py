"""Base classes for nodes driven by `joint_states`: time, timeout, rejected messages, health."""

from __future__ import annotations

import time
from typing import Any

from dyn_nodes.middleware import Clock, ClockType, drive_clock
from dyn_nodes.nodes import commands
from dyn_nodes.nodes.diagnostics import ERROR, WARN, DiagnosticsPublisher, Health
from dyn_nodes.nodes.exchange import LOCKSTEP_TIMEOUT, WATCH_PERIOD, is_simulated
from dyn_nodes.nodes.joint_state_reader import JointStateReader
from dyn_nodes.nodes.overridable import OverridableNode
from dyn_nodes.nodes.stamps import NANO, nanoseconds_of_stamp


class FollowerHealth:
    """Health of the reception of joint states.

    Args:
        node: the node.
        actions: effects of a timeout of joint states of a simulation and of a real machine, for messages, or ''.
    """

    def __init__(self, node: Any, actions: tuple[str, str] = ('', '')) -> None:
        self.node, self.actions = node, actions

    @property
    def timeout(self) -> float:
        """Return the wall-clock timeout of joint states, s."""
        timeout = float(self.node.values['command_timeout'])
        return timeout if self.node.live else max(timeout, LOCKSTEP_TIMEOUT)

    def states_timed_out(self) -> bool:
        """Return whether joint states were received and have timed out."""
        return self.node.received > 0 and time.monotonic() - self.node.received_at > self.timeout

    def joint_states(self) -> Health:
        """Return the status `joint_states`."""
        node = self.node
        health = Health(
            text='receiving joint_states',
            more=lambda: {'received': str(node.received), **node.state_rejections.values()},
        )
        if not node.received:
            health.worse(WARN, 'no joint_states yet')
        if node.state_rejections.recent(node.now()):
            health.worse(WARN, f'rejected: {node.state_rejections.last}')
        if self.states_timed_out():
            does = self.actions[1 if node.live else 0]
            health.worse(ERROR, f'no joint_states for {self.timeout:g} s' + (f': {does}' if does else ''))
        return health


class FollowerNode(OverridableNode):
    """Base class of nodes with the time of the newest joint states.

    Attributes:
        values: parameters.
        stamp: of the newest joint states, ns; None before the first.
        health, diagnostics: set by the node before the first joint states.
    """

    is_sole = watches_ages = True
    values: dict[str, Any]
    health: FollowerHealth
    stamp: int | None = None
    diagnostics: DiagnosticsPublisher

    @property
    def time(self) -> float:
        """Return the time of the newest joint states, s."""
        return (self.stamp or 0) / NANO

    def now(self) -> float:
        """Return the time that paces health: simulated in lockstep, steady otherwise, s."""
        return self.time if self.lockstep else time.monotonic()

    def update_diagnostics(self) -> None:
        """Publish health if due."""
        stamp = self.time if self.lockstep else self.get_clock().now().nanoseconds / NANO
        self.diagnostics.update(self.now(), stamp)

    def _start_watch(self) -> None:
        """Start a wall-clock timer that calls `check_timeouts` at least twice per timeout."""
        period = min(WATCH_PERIOD, 0.5 * self.values['command_timeout'])
        self.create_timer(period, self.check_timeouts, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def check_timeouts(self) -> None:
        """Report timeouts; called by the wall clock."""
        raise NotImplementedError

    def _check_order(self, stamp: int) -> None:
        """Raise RejectedError for joint states of a real machine that arrive out of order."""
        if self.live and self.stamp is not None:
            commands.check_order(self.stamp, stamp, self.health.timeout)

    def _reject(self, rejections: commands.Rejections, error: commands.RejectedError) -> None:
        rejections.add(error, self.now())
        self.get_logger().warn(f'rejected: {error}', throttle_duration_sec=1.0)
        self.update_diagnostics()


class CommandingNode(FollowerNode):
    """Base class of nodes that answer joint states with commands.

    Attributes:
        received, sent: numbers of joint states and of published commands.
        timed_out: whether joint states have timed out.
        received_at: time of receipt of the newest stamp, steady clock, s.
        rejections, state_rejections: of commands and of joint states.
        reader: set by the node before the first joint states.
    """

    reader: JointStateReader
    timeout_action = ''
    """Effect of a timeout of joint states of a real machine, for messages."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self.received = self.sent = 0
        self.timed_out = False
        self.received_at = time.monotonic()
        self.rejections, self.state_rejections = commands.Rejections(), commands.Rejections()
        self._state: tuple[Any, Any] | None = None

    @property
    def live(self) -> bool:
        """Return whether joint states count as measured on a real machine: no simulation is declared."""
        return self.paced and (self.values['partner'] == 'external' or not is_simulated(self, self.values))

    def check_timeouts(self) -> None:
        """Report a timeout of joint states."""
        timed_out = self.health.states_timed_out()
        if timed_out and not self.timed_out and self.live:
            self.get_logger().error(f'no joint_states for {self.health.timeout:g} s: {self.timeout_action}')
        changed, self.timed_out = timed_out != self.timed_out, timed_out
        if timed_out and self.live:
            self._on_timeout_tick()
        if changed or not self.lockstep:
            self.update_diagnostics()

    def _on_joint_states(self, msg: Any) -> None:
        stamp = nanoseconds_of_stamp(msg.header.stamp)
        try:
            self._check_order(stamp)
            if self.lockstep:
                drive_clock(self, stamp)
            state = self.reader.read(msg)
            further = self._read_further(msg, stamp)
        except commands.RejectedError as error:
            self._reject(self.state_rejections, error)
            return
        before, self.stamp, self._state = self.stamp, stamp, state
        self.received += 1
        since = self._take_up(before, stamp, further)
        if stamp != before or not self.live:  # a repeated message of a real machine does not count
            self.received_at = time.monotonic()
            self.timed_out = self.timed_out and not self.live  # for a simulation `check_timeouts` resets it
        if stamp == before:
            self._repeat()
        else:
            self._answer(since, further)

    def _take_up(self, before: int | None, stamp: int, further: Any) -> float:
        """Start, continue or hold the machine at joint states; return the time since the previous ones, s, or 0."""
        since = 0.0 if before is None else (stamp - before) / NANO
        if before is None or (since < 0.0 and not self.live):
            self._restart(before, further)
        elif since < 0.0:
            self._set_back(further, -since)
        elif since > self.health.timeout and (self.timed_out or self.live):
            # of a real machine also after its clock was set: a trajectory must not jump with it
            self._resume(further, since)
        else:
            return since
        return 0.0

    def _set_back(self, further: Any, back: float) -> None:
        """Hold a real machine after the clock of its stamps was set back by `back` s."""
        self.get_logger().warn(f'joint_states: their clock was set back by {back:.3f} s, no motion is resumed')
        self._resume(further, 0.0)

    # -- implemented by each node ------------------------------------------------------------------------------------

    def _on_timeout_tick(self) -> None:
        """Publish the safe state; called periodically during a timeout of joint states of a real machine."""

    def _read_further(self, msg: Any, stamp: int) -> Any:
        """Return further data of a message for `_answer`. Raises RejectedError."""

    def _restart(self, before: int | None, further: Any) -> None:
        """Start at the present joint states: the first ones, or a simulation was reset from `before`, ns."""
        raise NotImplementedError

    def _resume(self, further: Any, gap: float) -> None:
        """Continue after a gap of `gap` s in the time of the joint states."""
        raise NotImplementedError

    def _repeat(self) -> None:
        """Handle a repetition of the last instant."""
        raise NotImplementedError

    def _answer(self, since: float, further: Any) -> None:
        """Answer joint states of a new instant, `since` s after the previous ones; 0 after a start or a gap."""
        raise NotImplementedError
