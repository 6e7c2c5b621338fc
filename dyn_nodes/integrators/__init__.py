"""Integrators: a whole step, a whole run, is machine code, compiled once for all systems.

A system is the addresses of its kernels (`codes_of`). Inputs are a piecewise-linear table: `knots` (k,) times, rising,
and `table` (k, nu); before the first and after the last knot the end values hold. A run ends with a status: 0 done,
1 diverged (a state is not finite or beyond 1e15), 2 the guard fell below its limit, 3 the step became too small; or,
at most STOPPED, why the system has no rate there.
"""

from dyn_nodes.integrators.adaptive import run_dopri5, run_rodas3
from dyn_nodes.integrators.codes import codes_of
from dyn_nodes.integrators.fixed_step import run_rk4, run_rk4_watched

DONE, DIVERGED, GUARDED, STEP_TOO_SMALL = 0, 1, 2, 3
STATUS = ('done', 'diverged', 'guarded', 'step too small')

__all__ = [
    'DIVERGED',
    'DONE',
    'GUARDED',
    'STATUS',
    'STEP_TOO_SMALL',
    'codes_of',
    'run_dopri5',
    'run_rk4',
    'run_rk4_watched',
    'run_rodas3',
]
