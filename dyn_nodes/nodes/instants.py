"""Which command belongs to which instant: the rules of lockstep, without ROS. Times are whole nanoseconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable
from enum import Enum
from typing import Generic, TypeVar

MOST_WAITING = 1000
"""Commands kept that came before the instants that they belong to: a partner in step does not send so many."""

Command = TypeVar('Command')
Name = TypeVar('Name', bound=Hashable)


class Step(Enum):
    """How an instant follows the one before it."""

    FIRST = 'first'
    NEXT = 'next'
    AGAIN = 'again'
    BACK = 'back'


class Match(Enum):
    """When the instant of a command is."""

    NOW = 'now'
    """It is the present one."""
    AHEAD = 'ahead'
    """It has not come."""
    RUNNING = 'running'
    """It went on without a command, and its period is not over."""
    LATE = 'late'
    """It is over."""
    STALE = 'stale'
    """The command names none, and one of before time went back still owes it."""


class InstantQueue(Generic[Command]):
    """Pairs the instants of a machine with commands, each of which comes when it likes.

    A command names its instant, or names none (stamp None) and is for the instant that waits, else for the next one
    that asks for a command. Its source sends commands in the order of their instants. So one of an earlier instant than
    those that are kept shows that time went back, and these are dropped; so are they when the instants go back.

    The present instant *waits* from `start` on, where it asks for a command, until `take` has returned its command, or
    `answer` or `pass_by` has been called. A source that was given up (`give_up`) is not waited for until a command of
    it is here (`offer`, `answer`, `regain`). docs/nodes.md has the picture of these states.

    Args:
        period: time from an instant on in which its command holds, ns, less a margin for rounded stamps. 0: for the
            instant alone.
        in_order: each command is to be taken, late ones too, and of those without a stamp the k-th for the k-th
            instant: for a node that passes commands on. Else each instant takes one command, without a stamp the
            newest: for a node that moves the machine.
        most: commands kept; the oldest are dropped.

    Attributes:
        present: the newest instant, ns; None before the first.
        lost: the source of commands has been given up.
    """

    def __init__(self, period: int = 0, in_order: bool = False, most: int = MOST_WAITING) -> None:
        self.period, self.in_order, self.most = period, in_order, most
        self.lost = False
        self.restart()

    def restart(self) -> None:
        """Forget all instants and commands; a source that was given up stays so."""
        self.present: int | None = None
        self._owed = 0  # instants that wait; at most one unless in order, where dropped commands count against it
        self._stale = 0  # commands without a stamp still to come that instants of before time went back owe
        self._taken: int | None = None  # the last instant that has its command
        self._stamped: dict[int, Command] = {}  # by their instants, which rise
        self._unstamped: deque[Command] = deque()

    @property
    def waits(self) -> bool:
        """Return whether the present instant waits for its command."""
        return self._owed > 0 and not self.lost

    # -- instants ----------------------------------------------------------------------------------------------------

    def start(self, instant: int, asks: bool = True) -> Step:
        """Make an instant the present one; return how it follows the one before. The same once more changes nothing.

        Args:
            instant: ns.
            asks: a command belongs to it.
        """
        before, self.present = self.present, instant
        if instant == before:
            return Step.AGAIN
        step = Step.FIRST if before is None else Step.NEXT if instant > before else Step.BACK
        if step is Step.BACK:
            self._stamped = {stamp: command for stamp, command in self._stamped.items() if stamp <= instant}
            self._stale = 0 if self.in_order else int(self.waits)
            self._taken = None
        self._owed = asks + (self._owed if self.in_order else 0)
        return step

    def answer(self) -> None:
        """Note that the command of the present instant is here."""
        self._owed, self._taken, self.lost = 0, self.present, False

    def pass_by(self) -> None:
        """Let the present instant go on without a command."""
        self._owed = 0

    # -- commands ----------------------------------------------------------------------------------------------------

    def match(self, stamp: int | None) -> Match:
        """Return when the instant of a command is; nothing changes.

        Args:
            stamp: the instant, ns; None: the command names none.
        """
        if stamp is None:
            if self._stale:
                return Match.STALE
            return Match.RUNNING if self.lost else Match.NOW if self.waits else Match.AHEAD
        if self.present is None or stamp > self.present:
            return Match.AHEAD
        if self.present - stamp < self.period and not self._owed and stamp != self._taken:
            return Match.RUNNING
        return Match.NOW if stamp == self.present else Match.LATE

    def offer(self, stamp: int | None, command: Command) -> Match:
        """Keep a command for its instant and return its match.

        A late one is kept, too: the instants may be about to go back to its own. STALE commands are dropped, and those
        without a stamp that are RUNNING: the caller uses them at once.
        """
        match = self.match(stamp)
        if match is Match.STALE:
            self._stale -= 1
            return match
        self.lost = False
        if stamp is not None:
            self._keep(stamp, command)
        elif match is not Match.RUNNING:
            self._append(command)
        return match

    def _keep(self, stamp: int, command: Command) -> None:
        self._stale = 0
        first = -1 if self.present is None or self.in_order else self.present
        self._stamped = {key: kept for key, kept in self._stamped.items() if first <= key < stamp}
        self._stamped[stamp] = command
        if len(self._stamped) > self.most:
            del self._stamped[min(self._stamped)]

    def _append(self, command: Command) -> None:
        self._unstamped.append(command)
        if len(self._unstamped) > (self.most if self.in_order else 1):
            self._unstamped.popleft()
            self._owed -= self.in_order  # its instant gets none

    def take(self) -> tuple[int | None, Command] | None:
        """Return a command whose instant is here, with its stamp, and drop it; None where there is none."""
        stamp = self._next_stamp()
        if stamp is not None:
            self._owed, self._taken = 0, stamp
            return stamp, self._stamped.pop(stamp)
        if not (self.waits and self._unstamped):
            return None
        self._owed, self._taken = self._owed - 1, self.present
        return None, self._unstamped.popleft()

    def _next_stamp(self) -> int | None:
        if self.present is None:
            return None
        if self.in_order:
            return next((stamp for stamp in self._stamped if stamp <= self.present), None)
        return self.present if self.waits and self.present in self._stamped else None

    # -- the source --------------------------------------------------------------------------------------------------

    def give_up(self) -> None:
        """Wait no longer for a source that does not send; what it left without a stamp is not used any more."""
        self.lost = True
        self._unstamped.clear()

    def regain(self) -> None:
        """Wait for the source again."""
        self.lost = False


class Meeting(Generic[Name]):
    """Finds the instant of which all is here that several sources give, each in one or more messages.

    Args:
        names: of the sources, one at least.
        parts: of what each of them gives.
    """

    def __init__(self, names: Iterable[Name], parts: Iterable[str] = ('',)) -> None:
        parts = tuple(parts)
        self._newest = {name: dict.fromkeys(parts, -1) for name in names}

    def arrive(self, name: Name, instant: int, part: str = '') -> None:
        """Note that a part of what a source gives of an instant, ns, is here."""
        self._newest[name][part] = instant

    def of(self, name: Name) -> int:
        """Return the newest instant of a source, ns, where all of its parts are of that one; else -1."""
        return _common(self._newest[name].values())

    @property
    def instant(self) -> int:
        """Return the instant, ns, that is the newest of every part of every source; -1: there is none."""
        return _common(self.of(name) for name in self._newest)

    def late(self, least: int = 0) -> list[Name]:
        """Return the sources that have not given all of the newest instant, or of `least`, ns, where that is newer."""
        newest = max(least, *(max(parts.values()) for parts in self._newest.values()))
        return [name for name in self._newest if self.of(name) < newest]


def _common(instants: Iterable[int]) -> int:
    different = set(instants)
    return different.pop() if len(different) == 1 else -1
