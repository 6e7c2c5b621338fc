"""Stiff states: the Newton step of an implicit formula of the integrators, traced with the rates.

Each stage of an implicit formula has the form P = b + s f(P), with the stiff states P, all other states fixed, b from
the previous stages and s a fraction of the step. Newton's correction of P is

    (I - s df/dP) dP = -r,    r = P - b - s f(P)

with the exact df/dP of the traced rates. If states do not depend on each other's rates, such as the pressures of two
cylinders with separate pumps, the matrix is block diagonal, and the straight-line code contains only the blocks.
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
    """Return the kernel `stiff` of a system by name, and the indices of its stiff states; both empty without any.

    Args:
        variables: symbols x (n,), u and p.
        rates: (k,) of the states of elements.
        states: of elements, in their order.
        first: index of the first of them in x.
    """
    stiff = [k for k, state in enumerate(states) if state.stiff]
    if not stiff:
        return {}, []
    indices = [first + k for k in stiff]
    scales = [states[k].scale for k in stiff]
    return {'stiff': newton_correction(variables, rates[stiff], indices, scales)}, indices


def newton_correction(
    variables: tuple[Expression, Expression, Expression],
    rate: Expression,
    indices: Sequence[int],
    scales: Sequence[float],
) -> ca.Function:
    """Return the kernel `stiff` of a system.

    Its inputs are x (n,); [u, b, s] with b (m,) and s > 0; and p. It writes (3 m + 1,) dP, r, the scales and a bound on
    the rates at which the states return to their equilibrium, 1/s: the greatest absolute column sum of df/dP.

    Args:
        variables: symbols x (n,), u and p.
        rate: (m,) of the stiff states.
        indices: (m,) of the stiff states in x.
        scales: (m,) their typical magnitudes.
    """
    x, u, p = variables
    m = len(indices)
    base, reach = ca.SX.sym('base', m), ca.SX.sym('reach')
    values = x[list(indices)]
    residual = values - base - reach * rate
    slopes = eliminated_jacobian(rate, values)
    correction = ca.SX(m, 1)
    for block in _blocks(slopes):
        matrix = ca.SX.eye(len(block)) - reach * slopes[block, block]
        correction[block] = _solved(matrix, -residual[block])
    bound = ca.SX(0)
    for k in range(m):
        bound = ca.fmax(bound, ca.sum1(ca.fabs(slopes[:, k])))
    outputs = ca.densify(ca.vertcat(correction, residual, ca.SX(list(scales)), bound))
    return ca.Function('stiff', [x, ca.vertcat(u, base, reach), p], [outputs])


def _blocks(slopes: Expression) -> list[list[int]]:
    """Return the sets of states whose rates depend on each other."""
    blocks = [{k} for k in range(slopes.shape[0])]
    for pair in zip(*slopes.sparsity().get_triplet()):
        joined = [block for block in blocks if not block.isdisjoint(pair)]
        blocks = [block for block in blocks if block not in joined] + [set().union(*joined)]
    return sorted(sorted(block) for block in blocks)


def _solved(matrix: Expression, right: Expression) -> Expression:
    """Return the solution by elimination without pivoting: I - s df/dP is diagonally dominant by columns.

    A rise of a state lowers its own rate by at least as much as it raises others: oil leaves one line for others.
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
