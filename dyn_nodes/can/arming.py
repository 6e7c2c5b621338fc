"""Whether a bridge may command a real machine: shadow, limit, active. It begins in shadow; any fault leads there."""

from __future__ import annotations

import math
from typing import Literal

from dyn_nodes.common.errors import UserError

State = Literal['shadow', 'limit', 'active']


class ArmingError(UserError, ValueError):
    """A change of state that is not allowed now; the text says why."""


class Arming:
    """The state of a bridge. Every change but the way back to shadow is asked for.

    Args:
        share: of the voltage limits that commands in `limit` may have, 0 to 1.
        neutral_time: after leaving `limit` or `active`, neutral commands are sent for this time, s, and once at least.

    Attributes:
        state: `shadow`: nothing is sent; `limit`: a share of the commands; `active`: the commands.
        reason: why it was left for shadow the last time, '' after an order.
    """

    def __init__(self, share: float, neutral_time: float) -> None:
        self.share, self.neutral_time = share, neutral_time
        self.state: State = 'shadow'
        self.reason = ''
        self._left = -math.inf
        self._owed: set[str] = set()

    def arm(self, is_wanted: bool, fault: str, is_neutral: bool, now: float) -> None:
        """Go from shadow to limit, or from anywhere to shadow.

        Args:
            is_wanted: to be armed.
            fault: why the machine is not known, or ''.
            is_neutral: no command but neutral is asked for: arming moves nothing.
            now: time, s.

        Raises:
            ArmingError: there is a fault, or the machine would begin to move.
        """
        if not is_wanted:
            self.disarm('', now)
            return
        if fault:
            raise ArmingError(f'expected a machine without faults, found: {fault}')
        if not is_neutral:
            raise ArmingError('expected neutral or no valve_commands, found commands that would move the machine')
        if self.state == 'shadow':
            self.state, self.reason = 'limit', ''

    def activate(self, is_wanted: bool, is_neutral: bool) -> None:
        """Go from limit to active, or back.

        Raises:
            ArmingError: it is in shadow, or the commands would grow at once.
        """
        if self.state == 'shadow':
            raise ArmingError('expected an armed bridge (~/arm), found shadow')
        if is_wanted and not is_neutral:
            raise ArmingError('expected neutral or no valve_commands, found commands that would grow at once')
        self.state = 'active' if is_wanted else 'limit'

    def disarm(self, reason: str, now: float) -> bool:
        """Go to shadow; return whether it was armed."""
        if self.state == 'shadow':
            return False
        self.reason, self._left, self.state = reason, now, 'shadow'
        return True

    @property
    def was_armed(self) -> bool:
        """Return whether it has been left for shadow."""
        return self._left > -math.inf

    def prolong(self, now: float) -> None:
        """Send neutral commands for the whole time from now on, s: those before have reached nothing."""
        self._left = now

    def take_turn(self, message: str, now: float) -> bool:
        """Return whether the frame of a message that is due at a time, s, is sent.

        A message that was sent while the machine was commanded is sent once more, however late its turn comes.
        """
        if self.state != 'shadow':
            self._owed.add(message)
            return True
        is_owed = message in self._owed
        self._owed.discard(message)
        return is_owed or now - self._left <= self.neutral_time

    def greatest_share(self) -> float:
        """Return the share of the voltage limits that a command may have now; 0: neutral."""
        return {'shadow': 0.0, 'limit': self.share, 'active': 1.0}[self.state]
