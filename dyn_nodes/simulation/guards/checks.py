"""Guard of a run: checks of its energy balance and of the gaps of its constraints.

The energy error is the greatest value over the samples of the change of kinetic and potential energy, plus heat, less
the work supplied. It is compared with the energy exchanged: the greatest of the ranges of kinetic energy, potential
energy, work and heat.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile.integrators.codes import evaluate_rows

BOOKS = ('work', 'heat')
"""States that integrate the energy supplied to a system and the energy dissipated in it, J."""
WORK_SCALE = 1e5
"""Typical magnitude of work and heat, J."""
OVERTURNED, INACCURATE = 'overturned', 'inaccurate'
"""Status of a run that ended when the machine overturned, and of a run that failed a check."""
ENERGY_SHARE = 1e-2
"""Permitted energy error, relative to the energy exchanged."""
FALL = 1e-6
"""Height, m, whose potential energy is always permitted as an error."""
LEAST_GRAVITY = 1e-6
"""Least gravity for the weight, m/s2: without gravity, the energy at 1 um/s is a permitted error."""
ROUND_OFF = 1e-9
"""Permitted energy error, relative to the greatest kinetic and potential energy."""
GREATEST_GAP = 1e-6
"""Permitted gap: norm of the errors of a constraint at position level, m or rad."""
INSPECTED = ('kinetic', 'potential', 'weight', 'gap')
"""Columns of the kernel `inspect` of a system: energies, J, weight of the machine, N, greatest gap, m or rad."""
NO_BOOKS = 'the model keeps no account of the energy that is supplied and dissipated'


class Check(NamedTuple):
    """Check of a run.

    Attributes:
        name: `energy` or `gap`.
        measured, allowed: J; m or rad.
        unit: of both.
        reason: why the check does not apply; '': it applies.
    """

    name: str
    measured: float
    allowed: float
    unit: str
    reason: str = ''

    @property
    def judged(self) -> bool:
        """Whether the check applies to this run."""
        return not self.reason

    @property
    def failed(self) -> bool:
        """Whether the run failed the check."""
        return self.judged and not self.measured <= self.allowed

    def __str__(self) -> str:
        if not self.judged:
            return f'{self.name}: not judged, {self.reason}'
        return f'{self.name} error {self.measured:.3g} {self.unit}, allowed {self.allowed:.3g} {self.unit}'


class Books(NamedTuple):
    """Energy account of a run at its samples.

    Attributes:
        kinetic, potential, work, heat: (t,) J; work and heat since the start.
        weight: N.
        gaps: (t,) greatest error of the constraints, m or rad.
    """

    kinetic: Array
    potential: Array
    work: Array
    heat: Array
    weight: float
    gaps: Array

    @classmethod
    def of(cls, inspected: Array, work: Array, heat: Array) -> Books:
        """Return the account from the output of the kernel `inspect` (t, 4), work (t,) and heat (t,)."""
        kinetic, potential, weight, gaps = inspected.T
        return cls(kinetic, potential, work, heat, float(weight[0]), gaps)

    @property
    def balance(self) -> Array:
        """(t,) energy plus heat less work, relative to the start, J: the error of the integrator."""
        total = self.kinetic + self.potential + self.heat - self.work
        return np.asarray(total - total[0])

    def checks(self) -> tuple[Check, ...]:
        """Return the checks of energy and gaps."""
        flows = np.array([self.kinetic, self.potential, self.work, self.heat])
        error, exchanged = float(np.abs(self.balance).max()), float(np.ptp(flows, axis=1).max())
        return checks_of(error, exchanged, self.weight, float(np.abs(flows[:2]).max()), float(self.gaps.max()))


def allowed_error(exchanged: float, weight: float, level: float) -> float:
    """Return the permitted energy error, J; see `checks_of`."""
    return ENERGY_SHARE * exchanged + FALL * weight + ROUND_OFF * level


def checks_of(error: float, exchanged: float, weight: float, level: float, gap: float) -> tuple[Check, ...]:
    """Return the checks of a run.

    Args:
        error: greatest energy error, J.
        exchanged: energy exchanged, J: the greatest of the ranges of kinetic and potential energy, work and heat.
        weight: of the machine, N.
        level: greatest kinetic or potential energy, J.
        gap: greatest error of the constraints, m or rad.
    """
    return Check('energy', error, allowed_error(exchanged, weight, level), 'J'), Check(
        'gap', gap, GREATEST_GAP, 'm or rad'
    )


def books_of(module: Any, states: Array, p: Array, names: Sequence[str]) -> Books | None:
    """Return the account of a compiled system at states (t, n) with parameters (k,), or None if it has none.

    Args:
        module: has the kernel `inspect` if the system has an account.
        states: (t, n).
        p: (k,) parameters.
        names: of the states.
    """
    if 'inspect' not in module.kernels:
        return None
    work, heat = (states[:, names.index(name)] for name in BOOKS)
    result = np.empty((len(states), len(INSPECTED)))
    evaluate_rows(module.code('inspect'), np.ascontiguousarray(states), p, result)
    return Books.of(result, work, heat)


def not_judged(reason: str) -> tuple[Check, ...]:
    """Return the checks of a run to which no check applies."""
    return tuple(Check(name, np.nan, allowed, unit, reason) for name, allowed, unit in _KINDS)


_KINDS = (('energy', np.nan, 'J'), ('gap', GREATEST_GAP, 'm or rad'))


def judge(run: Any) -> None:
    """Set the checks of a `simulation.SystemRun`; `done` or `overturned` becomes `inaccurate` if a check fails."""
    run.checks = not_judged(NO_BOOKS) if run.books is None else run.books.checks()
    failed = [str(check) for check in run.checks if check.failed]
    if not failed:
        return
    run.detail = '; '.join([*failed, run.detail] if run.detail else failed)
    if run.status in ('done', OVERTURNED):
        run.status = INACCURATE
