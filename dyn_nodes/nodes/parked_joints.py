"""Joints that brakes hold while a machine works: wheels, steering, sprockets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MOVES = 0.1
"""Speed above which a joint is not parked, rad/s or m/s."""


class ParkedJoints:
    """Check of joints that a calculation assumes to be held.

    Args:
        names: of the joints.

    Attributes:
        moving: names of joints that move in the last joint states.
        unseen: names of joints whose speeds these do not have.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names, self.moving, self.unseen = tuple(names), (), tuple(names)

    moving: tuple[str, ...]
    unseen: tuple[str, ...]

    def update(self, message: Any) -> None:
        """Process joint states that were accepted; a speed that is not a number counts as motion."""
        if not self.names:
            return
        speeds = dict(zip(message.name, message.velocity))
        self.unseen = tuple(name for name in self.names if name not in speeds)
        self.moving = tuple(name for name in self.names if name in speeds and not abs(speeds[name]) <= MOVES)
