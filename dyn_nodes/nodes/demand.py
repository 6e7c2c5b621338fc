"""Reports that no subscription gets are not made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


class Demand:
    """Asks whether the next report of some publishers has to be made.

    The first report is always made, so that all its machine code is loaded before time goes on: the first subscription
    of a running machine must not stop it.

    Args:
        publishers: gives those of the report; None stands for one that cannot publish.
    """

    def __init__(self, publishers: Callable[[], Iterable[Any]]) -> None:
        self._publishers = publishers
        self._is_first = True

    def exists(self) -> bool:
        """Return whether a subscription gets the report, or it is the first one."""
        if self._is_first:
            self._is_first = False
            return True
        return any(item.get_subscription_count() for item in self._publishers() if item is not None)
