"""Permission of a bridge to command a real machine: shadow, limit, active. Start and any fault lead to shadow."""

from __future__ import annotations

import math
from typing import Literal

from dyn_nodes.common.errors import UserError

State = Literal['shadow', 'limit', 'active']


class ArmingError(UserError, ValueError):
    """A change of state that is not allowed now; the message has the reason."""


class Arming:
    """State of a bridge. Every change needs a request, except the return to shadow.

    Args:
        share: share of the voltage limits for commands in `limit`, 0 to 1.
        neutral_time: time for which neutral commands are sent after `limit` or `active`, s; at least one is sent.

    Attributes:
        state: `shadow`: nothing is sent; `limit`: commands up to a share of the limits; `active`: all commands.
        reason: reason of the last return to shadow, '' after a request.
    """

    def __init__(self, share: float, neutral_time: float) -> None:
        self.share, self.neutral_time = share, neutral_time
        self.state: State = 'shadow'
        self.reason = ''
        self._left = -math.inf
        self._owed: set[str] = set()

    def arm(self, is_wanted: bool, fault: str, is_neutral: bool, now: float) -> None:
        """Change from shadow to limit, or from any state to shadow.

        Args:
            is_wanted: True: arm; False: disarm.
            fault: reason why the state of the machine is unknown, or ''.
            is_neutral: the requested commands are neutral or absent.
            now: time, s.

        Raises:
            ArmingError: there is a fault, or the machine would start to move.
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
        """Change from limit to active, or back.

        Raises:
            ArmingError: the state is shadow, or the commands would increase immediately.
        """
        if self.state == 'shadow':
            raise ArmingError('expected an armed bridge (~/arm), found shadow')
        if is_wanted and not is_neutral:
            raise ArmingError('expected neutral or no valve_commands, found commands that would increase immediately')
        self.state = 'active' if is_wanted else 'limit'

    def disarm(self, reason: str, now: float) -> bool:
        """Change to shadow; return whether it was armed."""
        if self.state == 'shadow':
            return False
        self.reason, self._left, self.state = reason, now, 'shadow'
        return True

    @property
    def was_armed(self) -> bool:
        """True after the first return to shadow."""
        return self._left > -math.inf

    def prolong(self, now: float) -> None:
        """Restart the time of neutral commands at `now`, s, because earlier ones did not reach the bus."""
        self._left = now

    def take_turn(self, message: str, now: float) -> bool:
        """Return whether the due frame of a message is sent at a time, s.

        A message that was sent while armed is sent at least once more, even after `neutral_time`.
        """
        if self.state != 'shadow':
            self._owed.add(message)
            return True
        is_owed = message in self._owed
        self._owed.discard(message)
        return is_owed or now - self._left <= self.neutral_time

    def greatest_share(self) -> float:
        """Return the current maximum of commands as a share of the voltage limits; 0: neutral."""
        return {'shadow': 0.0, 'limit': self.share, 'active': 1.0}[self.state]
