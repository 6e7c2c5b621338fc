"""Stiff states: a step of the implicit formula that an integrator solves for them, traced beside their rates.

An implicit formula has at each of its stages the form P = b + s f(P), with the stiff states P, all other states
given, b of the stages before and s a share of the step. Newton's correction of a P is

    (I - s df/dP) dP = -r,    r = P - b - s f(P)

with the exact df/dP of the traced rates. Where states do not depend on each other's rates, as the pressures of two
cylinders with a pump each, the matrix falls into blocks, and the straight-line code has these alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from dyn_nodes.compile.elimination import eliminated_jacobian
from dyn_nodes.multibody.elements import ElementState
from dyn_nodes.multibody.spatial import Expression


def stiff_kernel(
    variables: tuple[Expression, Expression, Expression], rates: Expression, states: Sequence[ElementState], first: int
) -> tuple[dict[str, ca.Function], list[int]]:
    """Return the kernel `stiff` of a system by name, and the places of its stiff states; nothing where it has none.

    Args:
        variables: symbols x (n,), u and p.
        rates: (k,) of the states of elements.
        states: of elements, in their order.
        first: place of the first one of them in x.
    """
    own = [k for k, state in enumerate(states) if state.stiff]
    if not own:
        return {}, []
    places = [first + k for k in own]
    scales = [states[k].scale for k in own]
    return {'stiff': newton_correction(variables, rates[own], places, scales)}, places


def newton_correction(
    variables: tuple[Expression, Expression, Expression],
    rate: Expression,
    places: Sequence[int],
    scales: Sequence[float],
) -> ca.Function:
    """Return the kernel `stiff` of a system.

    Its inputs are x (n,); [u, b, s] with b (m,) and s > 0; and p. It writes dP, r, the scales and
    a bound on the rates at which the states return to their equilibrium, 1/s, (3 m + 1,): the greatest sum of sizes of
    a column of df/dP.

    Args:
        variables: symbols x (n,), u and p.
        rate: (m,) of the stiff states.
        places: (m,) of the stiff states in x.
        scales: (m,) their usual sizes.
    """
    x, u, p = variables
    m = len(places)
    base, reach = ca.SX.sym('base', m), ca.SX.sym('reach')
    own = x[list(places)]
    residual = own - base - reach * rate
    slopes = eliminated_jacobian(rate, own)
    correction = ca.SX(m, 1)
    for block in _blocks(slopes):
        matrix = ca.SX.eye(len(block)) - reach * slopes[block, block]
        correction[block] = _solved(matrix, -residual[block])
    bound = ca.SX(0)
    for k in range(m):
        bound = ca.fmax(bound, ca.sum1(ca.fabs(slopes[:, k])))
    found = ca.densify(ca.vertcat(correction, residual, ca.SX(list(scales)), bound))
    return ca.Function('stiff', [x, ca.vertcat(u, base, reach), p], [found])


def _blocks(slopes: Expression) -> list[list[int]]:
    """Return the sets of states whose rates depend on each other."""
    blocks = [{k} for k in range(slopes.shape[0])]
    for pair in zip(*slopes.sparsity().get_triplet()):
        joined = [block for block in blocks if not block.isdisjoint(pair)]
        blocks = [block for block in blocks if block not in joined] + [set().union(*joined)]
    return sorted(sorted(block) for block in blocks)


def _solved(matrix: Expression, right: Expression) -> Expression:
    """Solve by elimination without exchange of rows: the diagonal of I - s df/dP outweighs its columns.

    A rise of a state lowers its own rate by at least as much as it raises others: oil leaves a line for others.
    """
    matrix, right, count = ca.SX(ca.densify(matrix)), ca.SX(right), matrix.shape[0]
    for k in range(count):
        for i in range(k + 1, count):
            factor = matrix[i, k] / matrix[k, k]
            for j in range(k + 1, count):
                matrix[i, j] -= factor * matrix[k, j]
            right[i] -= factor * right[k]
    for k in range(count - 1, -1, -1):
        for j in range(k + 1, count):
            right[k] -= matrix[k, j] * right[j]
        right[k] /= matrix[k, k]
    return right
