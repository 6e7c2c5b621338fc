"""Jacobians by vertex elimination: fewer operations than a sweep of derivatives for every variable.

The graph of an expression has a vertex for every operation and on each edge the derivative of the operation by its
operand. A vertex is eliminated by joining what comes into it to what goes out of it, each pair by the product of both
edges; when variables and values alone are left, the edges between them are the Jacobian. What all derivatives have in
common, as the share of a pump that depends on one of two pressures, is so computed once. The order is that of
Markowitz, the vertex with the fewest pairs first (Griewank and Walther 2008, ch. 9).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from functools import cache

import casadi as ca

Expression = ca.SX
Edges = dict[int, Expression]
"""Derivatives by the vertices from which edges come."""


def eliminated_jacobian(values: Expression, variables: Expression) -> Expression:
    """Return d values / d variables (n, m), sparse as that of CasADi and equal to it but for rounding.

    Args:
        values: (n,) expressions.
        variables: (m,) symbols, each another one.
    """
    graph = _Graph(values, variables)
    graph.eliminate()
    return graph.jacobian(values.shape[0], variables.shape[0])


class _Graph:
    """The operations that lie between variables and values.

    Attributes:
        incoming: of every vertex, derivatives by those it is computed from; empty where no variable counts.
        columns: place of a variable by its vertex.
        rows: vertices of the values by their place.
    """

    def __init__(self, values: Expression, variables: Expression) -> None:
        symbols = ca.symvar(ca.veccat(values, variables))
        places = {symbol.element_hash(): place for place, symbol in enumerate(ca.vertsplit(variables))}
        self.columns: dict[int, int] = {}
        self.rows: dict[int, int] = {}
        self.incoming: list[Edges] = []
        self._expressions: list[Expression] = []
        self._known: dict[tuple[float, ...], int] = {}
        function = ca.Function('values', [ca.vertcat(*symbols)], [ca.densify(values)])
        slots: dict[int, int] = {}
        for k in range(function.n_instructions()):
            op, operands, targets = (
                function.instruction_id(k),
                function.instruction_input(k),
                function.instruction_output(k),
            )
            if op == ca.OP_OUTPUT:
                self.rows[targets[1]] = slots[operands[0]]
            elif op == ca.OP_INPUT:
                symbol = symbols[operands[1]]
                vertex = slots[targets[0]] = self._vertex((op, operands[1]), symbol, {})
                if symbol.element_hash() in places:
                    self.columns[vertex] = places[symbol.element_hash()]
            elif op == ca.OP_CONST:
                number = function.instruction_constant(k)
                slots[targets[0]] = self._vertex((op, number), ca.SX(number), {})
            else:
                slots[targets[0]] = self._operation(op, [slots[own] for own in operands])

    def _vertex(self, key: tuple[float, ...], expression: Expression, edges: Edges) -> int:
        """Return the vertex of an operation, a new one where it is not known yet."""
        if key not in self._known:
            self._known[key] = len(self.incoming)
            self.incoming.append(edges)
            self._expressions.append(expression)
        return self._known[key]

    def _operation(self, op: int, operands: list[int]) -> int:
        key = (op, *operands)
        if key in self._known:
            return self._known[key]
        value, *slopes = _local(op, len(operands))(*(self._expressions[own] for own in operands))
        edges: Edges = {}
        for own, slope in zip(operands, slopes):
            if own in self.columns or self.incoming[own]:
                _add(edges, own, slope)
        return self._vertex(key, value, edges)

    def eliminate(self) -> None:
        """Leave edges between variables and values, and between values, alone."""
        outgoing: list[set[int]] = [set() for _ in self.incoming]
        leading = set(self.rows.values())
        for vertex in range(len(self.incoming) - 1, -1, -1):
            if vertex in leading:
                leading.update(self.incoming[vertex])
                for source in self.incoming[vertex]:
                    outgoing[source].add(vertex)
        kept = {*self.rows.values(), *self.columns}
        for vertex in self._order(leading - kept, outgoing):
            for user in outgoing[vertex]:
                slope = self.incoming[user].pop(vertex)
                for source, own in self.incoming[vertex].items():
                    _add(self.incoming[user], source, slope * own)
                    outgoing[source].add(user)
            for source in self.incoming[vertex]:
                outgoing[source].discard(vertex)

    def _order(self, vertices: set[int], outgoing: list[set[int]]) -> Iterator[int]:
        """Yield the vertex with the fewest pairs; those around it have others as soon as it is eliminated."""

        def pairs(vertex: int) -> int:
            return len(self.incoming[vertex]) * len(outgoing[vertex])

        waiting = [(pairs(vertex), vertex) for vertex in vertices]
        heapq.heapify(waiting)
        left = set(vertices)
        while waiting:
            count, vertex = heapq.heappop(waiting)
            if vertex not in left or count != pairs(vertex):
                continue
            left.discard(vertex)
            near = {*self.incoming[vertex], *outgoing[vertex]} & left
            yield vertex
            for other in near:
                heapq.heappush(waiting, (pairs(other), other))

    def jacobian(self, n: int, m: int) -> Expression:
        """Return the edges that are left as a matrix (n, m); values that lead to others are gone through in order."""
        whole: dict[int, Edges] = {}
        for vertex in sorted(set(self.rows.values())):
            whole[vertex] = {}
            for source, slope in self.incoming[vertex].items():
                if source in self.columns:
                    _add(whole[vertex], source, slope)
                else:
                    for variable, own in whole[source].items():
                        _add(whole[vertex], variable, slope * own)
        result = ca.SX(n, m)
        for row, vertex in self.rows.items():
            slopes = {vertex: ca.SX(1)} if vertex in self.columns else whole[vertex]
            for variable, slope in slopes.items():
                result[row, self.columns[variable]] = slope
        return result


def _add(edges: Edges, source: int, slope: Expression) -> None:
    """Add a slope to an edge; none where it is zero everywhere."""
    if source in edges:
        edges[source] = edges[source] + slope
    elif not slope.is_zero():
        edges[source] = slope


@cache
def _local(op: int, count: int) -> ca.Function:
    """Return an operation and its derivatives by its one or two operands.

    Some are cheaper than those of CasADi, which takes the mean of both sides where the greater one of two numbers
    changes: a comparison instead of a quotient of sums, and one inverse for all.
    """
    operands = [ca.SX.sym(f'operand_{k}') for k in range(count)]
    value = ca.SX.unary(op, *operands) if count == 1 else ca.SX.binary(op, *operands)
    first, last = operands[0], operands[-1]
    if op == ca.OP_FMAX:
        slopes = [first >= last, first < last]
    elif op == ca.OP_FMIN:
        slopes = [first <= last, first > last]
    elif op == ca.OP_DIV:
        slopes = [1.0 / last, -value * (1.0 / last)]
    elif op == ca.OP_SQRT:
        slopes = [0.5 * (1.0 / value)]
    else:
        slopes = [ca.densify(ca.jacobian(value, own)) for own in operands]
    return ca.Function('local', operands, [value, *slopes])
