"""How a run is integrated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Method = Literal['rk4', 'rk3', 'dopri5', 'adams', 'rodas3']
FIXED = ('rk4', 'rk3')
"""Methods with a fixed step."""
StepMethod = Literal['auto', 'operator', 'reduced']
StiffStates = Literal['implicit', 'explicit']


GREATEST_SHARE = 0.05
"""Frequency of a stabilization times the step, at most."""
NEARNESS = 1e-2
"""Relative length of what is left of a row of constraints at which it counts as dependent on the others."""


@dataclass(frozen=True)
class Stabilization:
    """Baumgarte's return to the constraints: damping ratio and frequency, 1/s (yesiloglu-2007, G3).

    The gap that remains is least where the frequency is near that of the motion: a lower one returns more slowly, and a
    higher one amplifies the errors of the stages within a step, in proportion to `omega` squared.
    """

    zeta: float = 1.0
    omega: float = 20.0

    def bounded(self, step: float) -> Stabilization:
        """Return the stabilization for fixed steps, s, which must be short against 1 / `omega`."""
        return replace(self, omega=min(self.omega, GREATEST_SHARE / step))


@dataclass(frozen=True)
class Settings:
    """How a run is integrated.

    Attributes:
        method: `rk4` (fixed step), `rk3` (the same with a last stage that keeps 1.8 times as long a step stable where
            dampers or friction bound it; of order 3), `dopri5` (adaptive, explicit), `adams` (explicit, variable
            order: fewest evaluations of a smooth system), `rodas3` (adaptive, implicit, exact Jacobian).
        step: of rk4 and rk3, s; first step of the adaptive methods.
        rtol, atol: of the adaptive methods; atol counts in units of a state's usual size (1 MPa, 1 mm of spool, ...).
        stop_at_overturn: end the run when the base tilts beyond the machine's `overturn_angle`.
        watch: locate lift-off and touch-down of the wheels, overturning, opening and closing of the reliefs;
            with a fixed step only.
        solve: of constraints, `operator` (independent rows, regular mass matrix), `reduced`, or the first that applies.
        stabilization: of constraints; None: off. Fixed steps bound its frequency (`Stabilization.bounded`).
        rank_tolerance: relative, of the rank of constraints; a run ends at that distance from a position in which rows
            depend on each other. None: NEARNESS, and less for rows that differ much in length at the start; for traced
            blocks that are no machine's, round-off.
        stiff: states that rk4 and rk3 solve for where there are some, such as the pressures of the oil
            (`integrators.stiff`); `explicit`: they go on as all others do.
    """

    method: Method = 'rk4'
    step: float = 1e-3
    rtol: float = 1e-6
    atol: float = 1e-6
    stop_at_overturn: bool = True
    watch: bool = False
    solve: StepMethod = 'auto'
    stabilization: Stabilization | None = Stabilization()
    rank_tolerance: float | None = None
    stiff: StiffStates = 'implicit'
