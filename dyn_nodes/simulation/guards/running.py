"""The guard of a machine that goes on period by period, while parameters change and loads are put on."""

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
"""Times as many steps that are tried in a period that fails the guard."""


class End(Protocol):
    """The end of a period: state (n,) and parameters (k,)."""

    @property
    def x(self) -> Array:
        """State (n,)."""

    @property
    def p(self) -> Array:
        """Parameters (k,)."""


EndType = TypeVar('Ended', bound=End)


class RunningGuard:
    """The energy account of a running machine, and the gaps of its constraints, as `guard.Books` for a run.

    Energy that changes between two periods, as a payload is put on or gravity turns, belongs to no error: the account
    goes on from there.

    Args:
        system: what is integrated.
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
        """Take the state from which a period starts; changes since the end of the last one are no error."""
        self._enter(books.DEPART, x, p)

    def arrive(self, x: Array, p: Array) -> None:
        """Take the state to which a period has led; parameters that changed on the way leave it without judgement."""
        self._enter(books.ARRIVE, x, p)

    def through(
        self,
        attempt: Callable[[int], EndType],
        go_back: Callable[[], None] | None,
        diverged: type[Exception],
        stopped: type[Exception],
    ) -> EndType:
        """Go through a period by the fewest steps with which it meets the guard, and enter its end into the account.

        Where no number of steps does, as the error has another cause or began earlier, those count that come within
        twice the least error.

        Args:
            attempt: goes through the period by so many times the steps of the one before.
            go_back: undoes an attempt; None: there is one attempt only.
            diverged: raised by an attempt whose numbers run away; shorter steps may help.
            stopped: a kind of it that shorter steps do not help.
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
        """Greatest error of the constraints now, m or rad."""
        return float(self._account[books.GAP])

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks of energy and gaps since the start."""
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
        """Whether no check has failed: `checks` without its texts, for every period."""
        if not self._kept:
            return True
        account = self._account.tolist()
        exchanged = max(high - low for low, high in zip(account[books.LOW : books.HIGH], account[books.HIGH :]))
        numbers = (account[k] for k in (books.WEIGHT, books.LEVEL))
        allowed = allowed_error(exchanged, *numbers)
        return account[books.ERROR] <= allowed and account[books.GREATEST_GAP] <= GREATEST_GAP

    @property
    def failed(self) -> str:
        """The checks that failed, with numbers; ''."""
        return '; '.join(str(check) for check in self.checks if check.failed)
