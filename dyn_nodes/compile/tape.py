"""Straight-line code in single-assignment form, read off a CasADi SX function.

CasADi provides its instruction list over a reused work vector. Here it becomes a list of values, each computed once:
equal sub-expressions are merged, values that no output needs are dropped, CasADi's two-armed form of a branch,
`(c ? x : 0) + (!c ? y : 0)`, becomes one selection, and quotients by the same number become products with its inverse.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np

SELECT = 1000
"""Opcode of a selection: value = condition ? first : second."""
NONE = -1

LIBM = {
    ca.OP_TAN: 'tan',
    ca.OP_ASIN: 'asin',
    ca.OP_ACOS: 'acos',
    ca.OP_ATAN: 'atan',
    ca.OP_SINH: 'sinh',
    ca.OP_COSH: 'cosh',
    ca.OP_TANH: 'tanh',
    ca.OP_ASINH: 'asinh',
    ca.OP_ACOSH: 'acosh',
    ca.OP_ATANH: 'atanh',
    ca.OP_ERF: 'erf',
    ca.OP_LOG1P: 'log1p',
    ca.OP_EXPM1: 'expm1',
    ca.OP_ATAN2: 'atan2',
    ca.OP_HYPOT: 'hypot',
    ca.OP_FMOD: 'fmod',
}
"""Functions of the C library by opcode."""

COMMUTATIVE = {ca.OP_ADD, ca.OP_MUL, ca.OP_FMIN, ca.OP_FMAX, ca.OP_EQ, ca.OP_NE, ca.OP_AND, ca.OP_OR}
BINARY = COMMUTATIVE | {
    ca.OP_SUB,
    ca.OP_DIV,
    ca.OP_POW,
    ca.OP_CONSTPOW,
    ca.OP_LT,
    ca.OP_LE,
    ca.OP_FMOD,
    ca.OP_COPYSIGN,
    ca.OP_IF_ELSE_ZERO,
    ca.OP_ATAN2,
    ca.OP_HYPOT,
}


@dataclass(frozen=True)
class Tape:
    """A function of flat vectors to flat vectors. Raises ValueError for an index outside of them.

    Attributes:
        inputs: number of elements of each input vector.
        outputs: number of elements of each output vector.
        code: (n, 4) int32 rows (opcode, a, b, c): a, b, c are indices of earlier values; for `OP_INPUT`
            a is the input's index and b the element.
        constants: (n,) float64, the values of `OP_CONST` rows.
        results: (m, 3) int32 rows (output, element, value).
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    code: np.ndarray
    constants: np.ndarray
    results: np.ndarray

    def __post_init__(self) -> None:
        """Check all indices, which machine code uses without checks. Raises ValueError."""
        count, rows = len(self.code), self.code
        read = rows[rows[:, 0] == ca.OP_INPUT]
        computed = rows[(rows[:, 0] != ca.OP_INPUT) & (rows[:, 0] != ca.OP_CONST)]
        order = np.flatnonzero((rows[:, 0] != ca.OP_INPUT) & (rows[:, 0] != ca.OP_CONST))
        sound = (
            len(self.constants) == count
            and _within(read[:, 1], read[:, 2], self.inputs)
            and bool(np.all((computed[:, 1:] >= NONE) & (computed[:, 1:] < order[:, None])))
            and _within(self.results[:, 0], self.results[:, 1], self.outputs)
            and bool(np.all((self.results[:, 2] >= 0) & (self.results[:, 2] < count)))
        )
        if not sound:
            raise ValueError('a tape with an index outside of its vectors')

    @classmethod
    def from_function(cls, function: ca.Function) -> Tape:
        """Return the tape of a CasADi SX function with dense vectors. Raises ValueError for another function."""
        if function.class_name() != 'SXFunction':
            raise ValueError(f'{function.name()}: expected an SX function, found {function.class_name()}')
        inputs = tuple(_dense_size(function, 'input', k) for k in range(function.n_in()))
        outputs = tuple(_dense_size(function, 'output', k) for k in range(function.n_out()))
        builder = _Builder()
        for k in range(function.n_instructions()):
            op = function.instruction_id(k)
            operands, targets = function.instruction_input(k), function.instruction_output(k)
            if op == ca.OP_INPUT:
                builder.slots[targets[0]] = builder.value(op, operands[0], operands[1])
            elif op == ca.OP_OUTPUT:
                builder.results.append((targets[0], targets[1], builder.slots[operands[0]]))
            elif op == ca.OP_CONST:
                builder.slots[targets[0]] = builder.constant(function.instruction_constant(k))
            else:
                values = [builder.slots[index] for index in operands]
                builder.slots[targets[0]] = builder.operation(op, values)
        return builder.finish(inputs, outputs)

    @property
    def digest(self) -> str:
        """Hash of the content."""
        state = hashlib.sha256(repr((self.inputs, self.outputs)).encode())
        for array in (self.code, self.constants, self.results):
            state.update(np.ascontiguousarray(array).tobytes())
        return state.hexdigest()

    @property
    def operations(self) -> int:
        """Number of arithmetic operations."""
        return int(np.count_nonzero((self.code[:, 0] != ca.OP_CONST) & (self.code[:, 0] != ca.OP_INPUT)))

    def save(self, path: Path) -> None:
        """Write to a `.npz` file."""
        np.savez(
            path,
            inputs=np.array(self.inputs, dtype=np.int64),
            outputs=np.array(self.outputs, dtype=np.int64),
            code=self.code,
            constants=self.constants,
            results=self.results,
        )

    @classmethod
    def load(cls, path: Path) -> Tape:
        """Return the tape of a file written by `save`."""
        with np.load(path) as data:
            return cls(
                tuple(int(n) for n in data['inputs']),
                tuple(int(n) for n in data['outputs']),
                data['code'],
                data['constants'],
                data['results'],
            )


class _Builder:
    """Value numbering: equal operations on equal values are computed once."""

    def __init__(self) -> None:
        self.slots: dict[int, int] = {}
        self.rows: list[tuple[int, int, int, int]] = []
        self.consts: list[float] = []
        self.numbers: dict[tuple, int] = {}
        self.results: list[tuple[int, int, int]] = []

    def value(self, op: int, a: int, b: int = NONE, c: int = NONE) -> int:
        return self._add((op, a, b, c), (op, a, b, c), 0.0)

    def constant(self, number: float) -> int:
        return self._add((ca.OP_CONST, NONE, NONE, NONE), (ca.OP_CONST, float(number).hex()), float(number))

    def _add(self, row: tuple[int, int, int, int], key: tuple, number: float) -> int:
        if key not in self.numbers:
            self.numbers[key] = len(self.rows)
            self.rows.append(row)
            self.consts.append(number)
        return self.numbers[key]

    def operation(self, op: int, values: list[int]) -> int:
        if op == ca.OP_ASSIGN:
            return values[0]
        if op == ca.OP_ADD:
            selection = self._selection(*values)
            if selection is not None:
                return selection
        if op in BINARY:
            a, b = sorted(values) if op in COMMUTATIVE else values
            return self.value(op, a, b)
        return self.value(op, values[0])

    def _selection(self, left: int, right: int) -> int | None:
        """Return the selection of (c ? x : 0) + (!c ? y : 0), or None for another sum."""
        rows = self.rows
        if rows[left][0] != ca.OP_IF_ELSE_ZERO or rows[right][0] != ca.OP_IF_ELSE_ZERO:
            return None
        for yes, no in ((left, right), (right, left)):
            condition, negation = rows[yes][1], rows[no][1]
            if rows[negation][0] == ca.OP_NOT and rows[negation][1] == condition:
                return self.value(SELECT, condition, rows[yes][2], rows[no][2])
        return None

    def invert(self) -> None:
        """Replace several divisions by one value by multiplications with its inverse."""
        divided = Counter(row[2] for row in self.rows if row[0] == ca.OP_DIV)
        divided.update(row[1] for row in self.rows if row[0] == ca.OP_INV)
        rows, constants, results = self.rows, self.consts, self.results
        self.rows, self.consts, self.numbers = [], [], {}
        moved: list[int] = []
        for (op, a, b, c), number in zip(rows, constants):
            if op == ca.OP_CONST:
                moved.append(self.constant(number))
            elif op == ca.OP_INPUT:
                moved.append(self.value(op, a, b))
            elif op == ca.OP_DIV and divided[b] > 1:
                inverse = self.value(ca.OP_INV, moved[b])
                moved.append(self.operation(ca.OP_MUL, [moved[a], inverse]))
            else:
                moved.append(self.value(op, *(NONE if operand == NONE else moved[operand] for operand in (a, b, c))))
        self.results = [(output, element, moved[value]) for output, element, value in results]

    def finish(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Tape:
        self.invert()
        rows = np.array(self.rows, dtype=np.int32).reshape(-1, 4)
        alive = np.zeros(len(rows), dtype=bool)
        for _, _, value in self.results:
            alive[value] = True
        for k in range(len(rows) - 1, -1, -1):
            if alive[k] and rows[k, 0] not in (ca.OP_INPUT, ca.OP_CONST):
                for operand in rows[k, 1:]:
                    if operand != NONE:
                        alive[operand] = True
        number = np.cumsum(alive) - 1
        computed = ~np.isin(rows[:, 0], (ca.OP_INPUT, ca.OP_CONST))
        operands = rows[:, 1:]
        renumber = computed[:, None] & (operands != NONE)
        operands[renumber] = number[operands[renumber]]
        results = np.array([(o, e, number[v]) for o, e, v in self.results], dtype=np.int32).reshape(-1, 3)
        return Tape(inputs, outputs, rows[alive], np.array(self.consts)[alive], results)


def _within(vector: np.ndarray, element: np.ndarray, sizes: tuple[int, ...]) -> bool:
    """Return whether every (vector, element) is within vectors of these sizes."""
    if not len(vector):
        return True
    if vector.min() < 0 or vector.max() >= len(sizes):
        return False
    return bool(np.all((element >= 0) & (element < np.array(sizes)[vector])))


def _dense_size(function: ca.Function, kind: str, index: int) -> int:
    sparsity = function.sparsity_in(index) if kind == 'input' else function.sparsity_out(index)
    if not sparsity.is_dense():
        raise ValueError(f'{function.name()}: {kind} {index} is sparse; densify it first')
    return sparsity.numel()
