"""How simulated time moves: with the wall clock, or in lockstep with those who give the efforts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from dyn_nodes.middleware import Clock, ClockType
from dyn_nodes.nodes.exchange import LOCKSTEP_PATIENCE
from dyn_nodes.nodes.readiness import Readiness
from dyn_nodes.nodes.running import RunOver

if TYPE_CHECKING:
    from dyn_nodes.nodes.dynamics_node import DynamicsNode

WATCH_PERIOD = 0.05
FLUSH_TIME = 0.5
LATE_WINDOW = 5.0
REPEAT_PERIOD = 1.0
MOST_CATCH_UP = 0.1
"""Wall time that a late tick makes good, s; what is beyond is lost and counted."""


class Pacer:
    """Common to both modes.

    Attributes:
        paused: simulated time stands still on request.
        silent: the other side has not answered in time.
        patience: how long that is, s of wall time.
        missed: deadlines missed (realtime).
        lost: wall time given up after long delays, s (realtime).
    """

    def __init__(self, node: DynamicsNode) -> None:
        self.node = node
        self.paused = False
        self.silent = False
        self.missed = 0
        self.lost = 0.0
        self.last_loss = -np.inf
        self._began = time.monotonic()
        self.started = False
        self.patience = float(node.values['command_timeout'])
        self._last_command = time.monotonic()
        self._finished_at: float | None = None
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)

    def start(self) -> None:
        """Begin; called once at the end of the node's construction."""
        raise NotImplementedError

    def commanded(self) -> None:
        """A good command has arrived."""
        self._last_command = time.monotonic()
        self.silent = False

    def now(self) -> float:
        """Return simulated time, s."""
        return self.node.plant.time

    @property
    def late(self) -> bool:
        """Tell whether wall time was given up in the last seconds."""
        return time.monotonic() - self.last_loss < LATE_WINDOW

    @property
    def factor(self) -> float:
        """Simulated seconds per second of wall time since the start."""
        return self.now() / max(time.monotonic() - self._began, 1e-9)

    def pause(self, paused: bool) -> None:
        """Stop or go on."""
        self.paused = paused
        self._last_command = time.monotonic()

    def single_step(self) -> None:
        """Advance by one exchange while paused."""
        self.node.advance()
        self.node.announce()

    def rebase(self) -> None:
        """Go on from here with the present speed."""

    def restart(self) -> None:
        """Time starts again at 0."""
        self._finished_at = None

    def leave_when_finished(self) -> None:
        """End the process a moment after the run is over, so that the last messages get out."""
        if not self.node.finished:
            return
        if self._finished_at is None:
            self._finished_at = time.monotonic()
        elif time.monotonic() - self._finished_at > FLUSH_TIME:
            raise RunOver


class Lockstep(Pacer):
    """The dynamics waits for the commands of the present instant."""

    def start(self) -> None:
        """Wait for the others, then publish the first instant."""
        self.readiness = Readiness(self.node, self.node.values['wait_for'], self.node.values['wait_timeout'])
        self.node.create_timer(WATCH_PERIOD, self._watch, clock=self._steady)
        self.patience = max(self.node.values['command_timeout'], LOCKSTEP_PATIENCE)
        self._answered = False
        self._asked_again = -np.inf
        self._partner_lost = False

    def _watch(self) -> None:
        self.leave_when_finished()
        if not self.started:
            if self.readiness.check():
                self.started = True
                self._last_command = time.monotonic()
                self._begin()
            return
        waited = time.monotonic() - self._last_command
        if waited > self.patience and not (self.paused or self.node.finished) and not self.silent:
            self.silent = True
            self.node.get_logger().error(
                f'no command for t = {self.now():.4f} s since {waited:.2f} s: simulated time stands still'
            )
        if self.silent and not self.paused:
            self._ask_a_restarted_partner()
        self.node.health.wall_update()

    def _ask_a_restarted_partner(self) -> None:
        """Repeat the instant to a partner that went away and came back: it has not heard it.

        A partner that is merely slow is not asked again: the repetition would stand in the bag of this run only.
        """
        if time.monotonic() - self._asked_again < REPEAT_PERIOD:
            return
        self._asked_again = time.monotonic()
        if not self.readiness.complete():
            self._partner_lost = True
        elif self._partner_lost:
            self.node.repeat()

    def _begin(self) -> None:
        self.node.announce()
        self._go_on()

    def _go_on(self) -> None:
        """In monolithic lockstep several exchanges pass between two commands."""
        node = self.node
        while node.monolithic and not (self.paused or node.finished) and not node.due('command_period'):
            if not node.advance():
                return
            node.announce()

    def commanded(self) -> None:
        """Advance to the next instant with this instant's command."""
        super().commanded()
        self._partner_lost = False
        if not self.started or self.node.finished:
            return
        if self.paused:
            self._answered = True
            return
        if self.node.advance():
            self.node.announce()
            self._go_on()

    def pause(self, paused: bool) -> None:
        """Stop or go on; a command that came meanwhile is used then."""
        super().pause(paused)
        if not paused and self._answered:
            self._answered = False
            self.commanded()

    def single_step(self) -> None:
        """Use the command that waits, if there is one."""
        if self._answered:
            self._answered = False
            super().single_step()

    def restart(self) -> None:
        """Publish the first instant again."""
        super().restart()
        self._answered = False
        if self.started:
            self._begin()


class RealTime(Pacer):
    """Simulated time follows the wall clock; what is late is made good up to a bound, then counted as lost."""

    def start(self) -> None:
        """Begin at once."""
        self._origin = self._began = time.monotonic()
        self.started = True
        self.node.announce()
        self.node.create_timer(self.node.values['exchange_period'], self._tick, clock=self._steady)

    def _tick(self) -> None:
        self.leave_when_finished()
        if self.paused or self.node.finished:
            self.rebase()
            return
        self._check_silence()
        speed, period = self.node.values['speed'], self.node.values['exchange_period']
        behind = (time.monotonic() - self._origin) - self.now() / speed
        if behind > 2.0 * period / speed:
            self.missed += 1
        if behind > MOST_CATCH_UP:
            self.lost += behind - MOST_CATCH_UP
            self.last_loss = time.monotonic()
            self._origin += behind - MOST_CATCH_UP
            behind = MOST_CATCH_UP
        for _ in range(int(behind * speed / period + 1e-9)):
            if not self.node.advance():
                return
            self.node.announce()

    def _check_silence(self) -> None:
        waited = time.monotonic() - self._last_command
        if waited > self.patience:
            if not self.silent and self.node.commands:
                self.node.get_logger().error(f'no command since {waited:.2f} s: holding the joints where they are')
            if not self.silent:
                self.node.hold()
            self.silent = True

    def rebase(self) -> None:
        """Go on from here with the present speed."""
        self._origin = time.monotonic() - self.now() / self.node.values['speed']

    def restart(self) -> None:
        """Start again from the wall clock's present time."""
        super().restart()
        self._origin = time.monotonic()
        if self.paused:
            self.node.announce()  # no tick will: others must see where the machine is
