"""Assignment of commands to instants in lockstep, independent of ROS. Times are whole nanoseconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable
from enum import Enum
from typing import Generic, TypeVar

MOST_WAITING = 1000
"""Greatest number of stored commands that precede their instants; a partner in step sends fewer."""

Command = TypeVar('Command')
Name = TypeVar('Name', bound=Hashable)


class Step(Enum):
    """Relation of an instant to the previous one."""

    FIRST = 'first'
    NEXT = 'next'
    AGAIN = 'again'
    BACK = 'back'


class Match(Enum):
    """Relation of the instant of a command to the present one."""

    NOW = 'now'
    """The present instant."""
    AHEAD = 'ahead'
    """A later instant."""
    RUNNING = 'running'
    """An instant that continued without a command and whose period is not over."""
    LATE = 'late'
    """An earlier instant."""
    STALE = 'stale'
    """An instant before a reset: the command has no stamp and was still due then."""


class InstantQueue(Generic[Command]):
    """Pairs the instants of a machine with commands that arrive at any time.

    A command has the stamp of its instant; without one (stamp None) it belongs to the waiting instant, or else to the
    next one that needs a command. The source sends commands in the order of their instants: a command of an earlier
    instant than the stored ones means that time went back, and these are dropped, as when the instants go back.

    The present instant *waits* after `start`, if it needs a command, until `take` returns its command, or `answer` or
    `pass_by` is called. A source that was given up (`give_up`) is not waited for until its next command (`offer`,
    `answer`, `regain`). docs/reference/nodes.md has a diagram of these states.

    Args:
        period: time for which a command holds after its instant, ns, less a margin for rounded stamps. 0: for the
            instant alone.
        in_order: every command is taken, also late ones; without stamps the k-th command belongs to the k-th instant.
            For a node that passes commands on. Otherwise each instant takes one command, without stamps the newest: for
            a node that moves the machine.
        most: greatest number of stored commands; the oldest are dropped.

    Attributes:
        present: the newest instant, ns; None before the first.
        lost: whether the source of commands was given up.
    """

    def __init__(self, period: int = 0, in_order: bool = False, most: int = MOST_WAITING) -> None:
        self.period, self.in_order, self.most = period, in_order, most
        self.lost = False
        self.restart()

    def restart(self) -> None:
        """Drop all instants and commands; `lost` is kept."""
        self.present: int | None = None
        self._owed = 0  # waiting instants: at most one unless in order, where dropped commands reduce it
        self._stale = 0  # commands without a stamp that are still due for instants before a reset
        self._taken: int | None = None  # the last answered instant
        self._stamped: dict[int, Command] = {}  # by their instants, which rise
        self._unstamped: deque[Command] = deque()

    @property
    def waits(self) -> bool:
        """Return whether the present instant waits for its command."""
        return self._owed > 0 and not self.lost

    # -- instants ----------------------------------------------------------------------------------------------------

    def start(self, instant: int, asks: bool = True) -> Step:
        """Make an instant the present one and return its relation to the previous one. A repetition changes nothing.

        Args:
            instant: ns.
            asks: whether it needs a command.
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
        """Mark the present instant as answered."""
        self._owed, self._taken, self.lost = 0, self.present, False

    def pass_by(self) -> None:
        """Continue the present instant without a command."""
        self._owed = 0

    # -- commands ----------------------------------------------------------------------------------------------------

    def match(self, stamp: int | None) -> Match:
        """Return the relation of a command's instant to the present one.

        Args:
            stamp: the instant, ns; None: unknown.
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
        """Store a command for its instant and return its match.

        A late command is stored, as the instants may go back to its instant. STALE commands are dropped, and commands
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
        """Remove and return a command whose instant is present, with its stamp; None without one."""
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
        """Stop waiting for the source and drop its commands without a stamp."""
        self.lost = True
        self._unstamped.clear()

    def regain(self) -> None:
        """Wait for the source again."""
        self.lost = False


class Meeting(Generic[Name]):
    """Finds the instant for which all messages of several sources were received.

    Args:
        names: of the sources, at least one.
        parts: kinds of messages of each source.
    """

    def __init__(self, names: Iterable[Name], parts: Iterable[str] = ('',)) -> None:
        parts = tuple(parts)
        self._newest = {name: dict.fromkeys(parts, -1) for name in names}

    def arrive(self, name: Name, instant: int, part: str = '') -> None:
        """Store that a part of a source was received for an instant, ns."""
        self._newest[name][part] = instant

    def of(self, name: Name) -> int:
        """Return the newest instant of a source, ns, if all its parts have it; else -1."""
        return _common(self._newest[name].values())

    @property
    def instant(self) -> int:
        """Return the newest instant, ns, if all parts of all sources have it; else -1."""
        return _common(self.of(name) for name in self._newest)

    def late(self, least: int = 0) -> list[Name]:
        """Return the sources that lack parts of the newest instant, or of `least`, ns, if that is newer."""
        newest = max(least, *(max(parts.values()) for parts in self._newest.values()))
        return [name for name in self._newest if self.of(name) < newest]


def _common(instants: Iterable[int]) -> int:
    different = set(instants)
    return different.pop() if len(different) == 1 else -1
