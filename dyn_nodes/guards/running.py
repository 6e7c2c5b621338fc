"""The guard of a machine that goes on period by period, while parameters change and loads are put on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.guards.checks import BOOKS, NO_BOOKS, Check, checks_of, not_judged
from dyn_nodes.integrators import books

Array = NDArray[np.float64]


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
        if self._kept:
            self._code, self._first = system.module.code('inspect'), names.index(BOOKS[0])
            self._x, self._p = np.zeros(len(names)), np.zeros(len(system.parameter_names))
            self._row = np.zeros(books.FLOWS)

    def _enter(self, call: int, x: Array, p: Array) -> None:
        if self._kept:
            kept = self._x, self._p, self._row, self._account
            books.keep_account(self._code, call, x, p, self._first, *kept)

    def begin(self, x: Array, p: Array) -> None:
        """Open the account at a state (n,) with parameters (k,)."""
        self._account[:] = 0.0
        self._enter(books.OPEN, x, p)

    def depart(self, x: Array, p: Array) -> None:
        """Take the state from which a period starts; changes since the end of the last one are no error."""
        self._enter(books.DEPART, x, p)

    def arrive(self, x: Array, p: Array) -> None:
        """Take the state to which a period has led; parameters that changed on the way leave it without judgement."""
        self._enter(books.ARRIVE, x, p)

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
    def failed(self) -> str:
        """The checks that failed, with numbers; ''."""
        return '; '.join(str(check) for check in self.checks if check.failed)
