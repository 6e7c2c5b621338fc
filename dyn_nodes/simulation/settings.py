"""Settings of the integration of runs and of the stabilization of constraints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Method = Literal['rk4', 'rk3', 'rk32', 'dopri5', 'adams', 'rodas3']
FIXED = ('rk4', 'rk3')
"""Integration methods with a fixed step."""
WATCHING = (*FIXED, 'rk32')
"""Integration methods with events, discrete states and implicit formulas of stiff states."""
StepMethod = Literal['auto', 'operator', 'reduced']
StiffStates = Literal['implicit', 'explicit']


GREATEST_SHARE = 0.05
"""Greatest product of the frequency of a stabilization and the step."""
NEARNESS = 1e-2
"""Relative length of the independent part of a constraint row below which the row counts as dependent."""


@dataclass(frozen=True)
class Stabilization:
    """Baumgarte stabilization of constraints: damping ratio and frequency, 1/s (yesiloglu-2007, G3).

    The remaining gap is least if `omega` is near the frequency of the motion: a lower frequency returns more slowly,
    and a higher one amplifies the errors of the stages within a step, in proportion to `omega` squared.
    """

    zeta: float = 1.0
    omega: float = 20.0

    def bounded(self, step: float) -> Stabilization:
        """Return the stabilization with a frequency that suits fixed steps, s: `omega` times step is bounded."""
        return replace(self, omega=min(self.omega, GREATEST_SHARE / step))


@dataclass(frozen=True)
class Settings:
    """Settings of the integrator of a run.

    Attributes:
        method: `rk4` (fixed step), `rk3` (fixed step, order 3; stable with steps 1.8 times as long if dampers or
            friction bound them), `rk32` (rk3, its steps controlled by the midpoint rule: most accurate for its time if
            wheels lift off, joints meet stops or valves open), `dopri5` (adaptive, explicit), `adams` (explicit,
            variable order: fewest evaluations of a smooth system), `rodas3` (adaptive, implicit, exact Jacobian).
        step: of rk4 and rk3, s; longest step of rk32; first step of the other adaptive methods.
        rtol, atol: of the adaptive methods; atol in units of a state's typical magnitude (1 MPa, 1 mm of spool, ...).
        stop_at_overturn: end the run when the base tilts beyond the machine's `overturn_angle`.
        watch: locate lift-off and touch-down of the wheels, overturning, opening and closing of relief valves; only
            with rk4, rk3 and rk32.
        solve: method for constraints: `operator` (independent rows, regular mass matrix), `reduced`, or `auto`: the
            first that applies.
        stabilization: of constraints; None: off. Fixed steps bound its frequency (`Stabilization.bounded`).
        rank_tolerance: relative tolerance of the rank of constraints; a run ends at this distance from a position with
            dependent rows. None: NEARNESS, and less if the rows differ much in length at the start; round-off for
            traced blocks without a machine.
        stiff: `implicit`: rk4, rk3 and rk32 solve implicitly for the stiff states, such as oil pressures
            (`integrators.stiff`); `explicit`: they integrate them like all other states.
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
