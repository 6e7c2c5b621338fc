"""Guard of a running machine whose parameters and loads change between periods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile.integrators import books
from dyn_nodes.simulation.guards.checks import (
    BOOKS,
    GREATEST_GAP,
    NO_BOOKS,
    Check,
    allowed_error,
    checks_of,
    not_judged,
)

FINER = (1, 2, 4, 8, 16, 32, 64)
"""Factors of the number of steps that are tried in a period that fails the guard."""


class End(Protocol):
    """End of a period: state (n,) and parameters (k,)."""

    @property
    def x(self) -> Array:
        """State (n,)."""

    @property
    def p(self) -> Array:
        """Parameters (k,)."""


EndType = TypeVar('EndType', bound=End)


class RunningGuard:
    """Energy account of a running machine, and gaps of its constraints, like `checks.Books` of a run.

    A change of energy between two periods, such as a new payload or slope, is no error: the account continues from
    there.

    Args:
        system: that is integrated.
    """

    def __init__(self, system: Any) -> None:
        names = list(system.state_names)
        self._kept = set(BOOKS) <= set(names)
        self._account = np.zeros(books.SIZE)
        self._x, self._p = np.zeros(len(names)), np.zeros(len(system.parameter_names))
        if self._kept:
            self._code, self._first = system.module.code('inspect'), names.index(BOOKS[0])
            self._row = np.zeros(books.FLOWS)

    def _enter(self, call: int, x: Array, p: Array) -> None:
        if self._kept:
            kept = self._x, self._p, self._row, self._account
            books.keep_account(self._code, call, x, p, self._first, *kept)

    def open(self, x: Array, p: Array) -> None:
        """Open the account at a state (n,) with parameters (k,)."""
        self._account[:] = 0.0
        self._enter(books.OPEN, x, p)

    def depart(self, x: Array, p: Array) -> None:
        """Enter the state at the start of a period; changes since the end of the last period are no error."""
        self._enter(books.DEPART, x, p)

    def arrive(self, x: Array, p: Array) -> None:
        """Enter the state at the end of a period; a period with changed parameters is not judged."""
        self._enter(books.ARRIVE, x, p)

    def through(
        self,
        attempt: Callable[[int], EndType],
        go_back: Callable[[], None] | None,
        diverged: type[Exception],
        stopped: type[Exception],
    ) -> EndType:
        """Return the end of a period with the fewest steps that satisfy the guard, and enter it into the account.

        If no number of steps does, because the error has another cause or started earlier, the fewest steps within
        twice the least error are used.

        Args:
            attempt: advances by the period with a multiple of the number of steps.
            go_back: undoes an attempt; None: a single attempt.
            diverged: raised by an attempt that diverges; shorter steps may help.
            stopped: subclass of it that shorter steps do not avoid.
        """
        before, errors = (self._account.copy(), self._x.copy(), self._p.copy()), []
        for parts in FINER if go_back is not None and self._meets else ():
            try:
                reached = attempt(parts)
            except stopped:
                raise
            except diverged:
                errors.append(np.inf)
                continue
            self.arrive(reached.x, reached.p)
            if self._meets:
                return reached
            errors.append(self.checks[0].measured)
            self._account[:], self._x[:], self._p[:] = before
            assert go_back is not None
            go_back()
        nearest = [parts for parts, error in zip(FINER, errors) if error <= 2.0 * min(errors)]
        reached = attempt(nearest[0] if nearest else 1)
        self.arrive(reached.x, reached.p)
        return reached

    @property
    def gap(self) -> float:
        """Current greatest error of the constraints, m or rad."""
        return float(self._account[books.GAP])

    @property
    def checks(self) -> tuple[Check, ...]:
        """Checks of energy and gaps since the start."""
        if not self._kept:
            return not_judged(NO_BOOKS)
        account = self._account
        exchanged = float((account[books.HIGH : books.START] - account[books.LOW : books.HIGH]).max())
        error, weight, level, gap = (
            float(account[k]) for k in (books.ERROR, books.WEIGHT, books.LEVEL, books.GREATEST_GAP)
        )
        return checks_of(error, exchanged, weight, level, gap)

    @property
    def _meets(self) -> bool:
        """Whether no check has failed: fast version of `checks` for every period."""
        if not self._kept:
            return True
        account = self._account.tolist()
        exchanged = max(high - low for low, high in zip(account[books.LOW : books.HIGH], account[books.HIGH :]))
        numbers = (account[k] for k in (books.WEIGHT, books.LEVEL))
        allowed = allowed_error(exchanged, *numbers)
        return account[books.ERROR] <= allowed and account[books.GREATEST_GAP] <= GREATEST_GAP

    @property
    def failed(self) -> str:
        """Failed checks with numbers, or ''."""
        return '; '.join(str(check) for check in self.checks if check.failed)
