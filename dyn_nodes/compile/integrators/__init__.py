"""Integrators: steps and runs are machine code, compiled once for all systems.

A system is given by the addresses of its kernels (`codes_of`). Inputs are a piecewise-linear table: `knots` (k,) times,
ascending, and `table` (k, nu); before the first and after the last knot the end values hold. A run ends with a status:
0 done, 1 diverged (a state is not finite or beyond 1e15), 2 the guard fell below its limit, 3 the step became too
small; or, at most STOPPED, the reason why the system has no rate there.
"""

from dyn_nodes.compile.integrators.adams import run_adams
from dyn_nodes.compile.integrators.adaptive import run_dopri5, run_rodas3
from dyn_nodes.compile.integrators.addresses import codes_of
from dyn_nodes.compile.integrators.controlled import run_rk32
from dyn_nodes.compile.integrators.fixed_step import run_rk4, run_rk4_watched

DONE, DIVERGED, GUARDED, STEP_TOO_SMALL = 0, 1, 2, 3
STATUS = ('done', 'diverged', 'guarded', 'step too small')
ADAPTIVE = {'adams': run_adams, 'dopri5': run_dopri5, 'rodas3': run_rodas3}
"""Runs with step size control, by name; their arguments and results are equal."""
_EVALUATIONS = {'adams': (1, 2, 1), 'dopri5': (1, 6, 6), 'rodas3': (0, 4, 4)}


def evaluations(method: str, accepted: int, rejected: int) -> int:
    """Return the number of evaluations of dx/dt of an adaptive run (rodas3 also evaluates one Jacobian per step).

    Stages that a step without a rate (`STOPPED`) omits are counted.
    """
    start, of_accepted, of_rejected = _EVALUATIONS[method]
    return start + of_accepted * accepted + of_rejected * rejected


__all__ = [
    'ADAPTIVE',
    'DIVERGED',
    'DONE',
    'GUARDED',
    'STATUS',
    'STEP_TOO_SMALL',
    'codes_of',
    'evaluations',
    'run_adams',
    'run_dopri5',
    'run_rk32',
    'run_rk4',
    'run_rk4_watched',
    'run_rodas3',
]
