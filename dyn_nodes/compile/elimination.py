"""Jacobians by vertex elimination: fewer operations than a sweep of derivatives for every variable.

The graph of an expression has a vertex for every operation, and each edge has the derivative of the operation by its
operand. A vertex is eliminated by connecting its predecessors to its successors, each pair by the product of both
edges; when only variables and values remain, the edges between them are the Jacobian. Common factors of derivatives,
such as the share of a pump that depends on one of two pressures, are thus computed once. The order is by Markowitz: the
vertex with the fewest pairs first (Griewank and Walther 2008, ch. 9).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from functools import cache

import casadi as ca

Expression = ca.SX
Edges = dict[int, Expression]
"""Derivatives by source vertex of the edges."""


def eliminated_jacobian(values: Expression, variables: Expression) -> Expression:
    """Return d values / d variables (n, m), with the sparsity of CasADi and equal to it up to rounding.

    Args:
        values: (n,) expressions.
        variables: (m,) distinct symbols.
    """
    graph = _Graph(values, variables)
    graph.eliminate()
    return graph.jacobian(values.shape[0], variables.shape[0])


class _Graph:
    """The operations between variables and values.

    Attributes:
        incoming: of every vertex, derivatives by its operands; empty if it does not depend on variables.
        columns: index of a variable by its vertex.
        rows: vertices of the values by index.
    """

    def __init__(self, values: Expression, variables: Expression) -> None:
        symbols = ca.symvar(ca.veccat(values, variables))
        columns = {symbol.element_hash(): column for column, symbol in enumerate(ca.vertsplit(variables))}
        self.columns: dict[int, int] = {}
        self.rows: dict[int, int] = {}
        self.incoming: list[Edges] = []
        self._expressions: list[Expression] = []
        self._vertices: dict[tuple[float, ...], int] = {}
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
                if symbol.element_hash() in columns:
                    self.columns[vertex] = columns[symbol.element_hash()]
            elif op == ca.OP_CONST:
                number = function.instruction_constant(k)
                slots[targets[0]] = self._vertex((op, number), ca.SX(number), {})
            else:
                slots[targets[0]] = self._operation(op, [slots[operand] for operand in operands])

    def _vertex(self, key: tuple[float, ...], expression: Expression, edges: Edges) -> int:
        """Return the vertex of an operation, new or existing."""
        if key not in self._vertices:
            self._vertices[key] = len(self.incoming)
            self.incoming.append(edges)
            self._expressions.append(expression)
        return self._vertices[key]

    def _operation(self, op: int, operands: list[int]) -> int:
        key = (op, *operands)
        if key in self._vertices:
            return self._vertices[key]
        value, *slopes = _local(op, len(operands))(*(self._expressions[operand] for operand in operands))
        edges: Edges = {}
        for operand, slope in zip(operands, slopes):
            if operand in self.columns or self.incoming[operand]:
                _add(edges, operand, slope)
        return self._vertex(key, value, edges)

    def eliminate(self) -> None:
        """Eliminate all vertices except variables and values."""
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
                for source, derivative in self.incoming[vertex].items():
                    _add(self.incoming[user], source, slope * derivative)
                    if source in self.incoming[user]:  # a product may be zero
                        outgoing[source].add(user)
            for source in self.incoming[vertex]:
                outgoing[source].discard(vertex)

    def _order(self, vertices: set[int], outgoing: list[set[int]]) -> Iterator[int]:
        """Yield vertices by least number of pairs; the pairs of the neighbours change with each elimination."""

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
        """Return the remaining edges as a matrix (n, m); values that depend on other values are resolved in order."""
        whole: dict[int, Edges] = {}
        for vertex in sorted(set(self.rows.values())):
            whole[vertex] = {}
            for source, slope in self.incoming[vertex].items():
                if source in self.columns:
                    _add(whole[vertex], source, slope)
                else:
                    for variable, derivative in whole[source].items():
                        _add(whole[vertex], variable, slope * derivative)
        result = ca.SX(n, m)
        for row, vertex in self.rows.items():
            slopes = {vertex: ca.SX(1)} if vertex in self.columns else whole[vertex]
            for variable, slope in slopes.items():
                result[row, self.columns[variable]] = slope
        return result


def _add(edges: Edges, source: int, slope: Expression) -> None:
    """Add a slope to an edge; a structural zero creates no edge."""
    if source in edges:
        edges[source] = edges[source] + slope
    elif not slope.is_zero():
        edges[source] = slope


@cache
def _local(op: int, count: int) -> ca.Function:
    """Return an operation and its derivatives by its one or two operands.

    Some are cheaper than by CasADi, which uses the mean of both sides at ties of maximum and minimum: a comparison
    replaces a quotient of sums, and one inverse serves all derivatives of a quotient.
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
        slopes = [ca.densify(ca.jacobian(value, operand)) for operand in operands]
    return ca.Function('local', operands, [value, *slopes])
