"""Adams against Runge-Kutta on the falling arm A3 (experiment X21 of the spec, numbers 7.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
from scipy.integrate import ode, solve_ivp

from dyn_nodes.analysis import drawing
from dyn_nodes.common.arrays import Array
from dyn_nodes.compile import CompiledModule, build_module, integrators
from dyn_nodes.compile.integrators import ADAPTIVE, codes_of, run_rk4
from dyn_nodes.multibody import TreeState, forward_dynamics
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.freeman_1985.arms import A3_GRAVITY, A3_Q, arm_a3

START = np.r_[A3_Q, 1.0, -2.0, 3.0]
KNOTS, TABLE, NOTHING = np.zeros(1), np.zeros((1, 0)), np.zeros(0)
NO_GUARD, FIRST_STEP, LEAST_STEP = -2.0, 1e-3, 1e-12
TOLERANCES = (1e-5, 1e-7, 1e-9)
STEPS = (200, 400, 800)
EQUAL_ERROR = 3e-7


@dataclass(frozen=True)
class Fall:
    """One integration of the fall.

    Attributes:
        evaluations: of the rates.
        error: greatest of angles, rad, and rates, rad/s, after 1 s.
    """

    evaluations: int
    error: float


@cache
def falling_arm() -> CompiledModule:
    """Return the kernel of the rates of the arm without efforts; the state is q, v (6,)."""

    def make() -> tuple[dict[str, ca.Function], dict[str, Any]]:
        x, u, p = ca.SX.sym('x', 6), ca.SX.sym('u', 0), ca.SX.sym('p', 0)
        tree = TreeState(arm_a3(), x[:3], x[3:])
        rate = forward_dynamics(tree, ca.SX(3, 1), gravity=ca.SX(ca.DM(A3_GRAVITY)))
        return {'rhs': ca.Function('rhs', [x, u, p], [ca.densify(ca.vertcat(x[3:], rate))])}, {}

    return build_module('arm A3 falling', ['freeman-1985', 'arm A3 falling'], make)


def rates(_: float, x: Array) -> Array:
    """Return dx/dt."""
    derivative = np.empty(6)
    falling_arm().rhs(np.ascontiguousarray(x), NOTHING, NOTHING, derivative)
    return derivative


@cache
def fallen() -> Array:
    """Return the state after 1 s by SciPy's method of order 8."""
    return np.asarray(solve_ivp(rates, (0, 1), START, 'DOP853', rtol=1e-13, atol=1e-13).y[:, -1])


def _error(x: Array) -> float:
    return float(np.abs(x - fallen()).max())


def fixed(steps: int) -> Fall:
    """Return the fall by the classical Runge-Kutta method."""
    x = START.copy()
    run_rk4(codes_of(falling_arm()), x, 0.0, 1 / steps, steps, KNOTS, TABLE, NOTHING, NO_GUARD, 0, np.empty((0, 6)))
    return Fall(4 * steps, _error(x))


def adaptive(method: str, tolerance: float) -> Fall:
    """Return the fall by `adams` or `dopri5` with equal relative and absolute tolerance."""
    x, trace, times = START.copy(), np.empty((2, 6)), np.array([0.0, 1.0])
    status, _, accepted, rejected = ADAPTIVE[method](
        codes_of(falling_arm()), x, times, KNOTS, TABLE, NOTHING, NO_GUARD, tolerance, np.full(6, tolerance),
        FIRST_STEP, LEAST_STEP, trace,
    )  # fmt: skip
    if status != integrators.DONE:
        raise RuntimeError(f'{method}: {integrators.STATUS[status]}')
    return Fall(integrators.evaluations(method, accepted, rejected), _error(x))


def peer(method: str, tolerance: float) -> Fall:
    """Return the fall by a reference code: the Adams method of `VODE`, or `RK45` of SciPy."""
    if method == 'RK45':
        run = solve_ivp(rates, (0, 1), START, 'RK45', rtol=tolerance, atol=tolerance)
        return Fall(int(run.nfev), _error(run.y[:, -1]))
    calls: list[float] = []

    def counted(t: float, x: Array) -> Array:
        calls.append(t)
        return rates(t, x)

    solver = ode(counted).set_integrator('vode', method='adams', rtol=tolerance, atol=tolerance, nsteps=5000)
    error = _error(np.asarray(solver.set_initial_value(START).integrate(1.0)))
    return Fall(len(calls), error)


def evaluations_at(falls: Sequence[Fall], error: float = EQUAL_ERROR) -> float:
    """Return the evaluations at an error, extrapolated from the two most accurate runs on logarithmic scales."""
    (one, two), (first, second) = np.log([[fall.error, fall.evaluations] for fall in falls[-2:]]).T
    return float(np.exp(first + (second - first) * (np.log(error) - one) / (two - one)))


@study('freeman-1985/adams', 'Adams and Runge-Kutta on a falling arm: evaluations for equal accuracy (X21)')
def adams(s: StudyRun) -> None:
    """Check that the Adams method needs fewer evaluations than both Runge-Kutta methods for equal accuracy."""
    runs = {
        'Adams': [adaptive('adams', tolerance) for tolerance in TOLERANCES],
        'Dormand-Prince': [adaptive('dopri5', tolerance) for tolerance in TOLERANCES],
        'RK4': [fixed(steps) for steps in STEPS],
        'VODE (Adams)': [peer('VODE', tolerance) for tolerance in TOLERANCES],
    }
    for expected, fall in zip((1.3e-4, 8.2e-6, 5.0e-7), runs['RK4']):
        s.near(f'RK4, {fall.evaluations} evaluations: error', 'spec 7.5', expected, fall.error,
               absolute=0.05 * 10 ** np.floor(np.log10(expected)))  # fmt: skip
    for tolerance, adams_run, other in zip(TOLERANCES, runs['Adams'], runs['VODE (Adams)']):
        s.holds(f'tolerance {tolerance:g}: Adams is as accurate as VODE', 'X21', adams_run.error <= other.error,
                expected=f'at most {other.error:.2g}', value=adams_run.error)  # fmt: skip
        s.holds(f'tolerance {tolerance:g}: with 5 % more evaluations at most', 'X21',
                adams_run.evaluations <= 1.05 * other.evaluations, expected=f'at most {1.05 * other.evaluations:.0f}',
                value=adams_run.evaluations)  # fmt: skip
    at = {name: evaluations_at(falls) for name, falls in runs.items()}
    for name in ('Dormand-Prince', 'RK4'):
        s.holds(f'fewer evaluations than {name} at an error of {EQUAL_ERROR:g}', 'p. 63', at['Adams'] < at[name],
                expected=f'below {at[name]:.0f}', value=round(at['Adams']))  # fmt: skip
    s.figure('evaluations', 'Error after 1 s by evaluations of the rates', lambda: _chart(runs))


def _chart(runs: dict[str, list[Fall]]) -> drawing.Figure:
    figure, (axes,) = drawing.panels(1, 3.2, 1, share=False)
    for name, falls in runs.items():
        axes.loglog([fall.evaluations for fall in falls], [fall.error for fall in falls], marker='o', label=name)
    axes.set(xlabel='evaluations', ylabel='error')
    axes.legend(fontsize=8)
    return figure
