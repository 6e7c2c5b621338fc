"""Detection of reports without a subscription, which are not made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


class Demand:
    """Determines whether the next report of some publishers is needed.

    The first report is always made to load its machine code: the first subscription must not stop a running machine.

    Args:
        publishers: returns the publishers of the report; None for one that cannot publish.
    """

    def __init__(self, publishers: Callable[[], Iterable[Any]]) -> None:
        self._publishers = publishers
        self._is_first = True

    def exists(self) -> bool:
        """Return whether the report has a subscription, or is the first one."""
        if self._is_first:
            self._is_first = False
            return True
        return any(item.get_subscription_count() for item in self._publishers() if item is not None)
