"""Tape to LLVM instructions, inside a Numba function.

Numba could compile a tape from Python text, but most of the time is then spent in its type inference (measured: 0.78 s
for 910 instructions, against 0.05 s here, besides Numba's fixed 0.4 s). A tape has one type only, so its instructions
are built directly, in an intrinsic that Numba compiles, links and caches like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from dyn_nodes.compile.lane_functions import (
    each_lane,
    exponential,
    logarithm,
    scalar_function,
    sine_and_cosine,
    sines_and_cosines,
)
from dyn_nodes.compile.precision import DOUBLE_PRECISION, SINGLE_PRECISION, Precision
from dyn_nodes.compile.tape import LIBM, SELECT, Tape

DOUBLE, WORD = ir.DoubleType(), ir.IntType(64)
FLAGS = ('contract', 'nsz')
MOST_EARLY = 8
"""Greatest number of operations of an angle whose sine is computed before all other values."""
LITERAL = (0.0, 1.0, -1.0)
"""Numbers that are not stored in a table: comparisons, selections and signs use them."""

_COMPARE = {ca.OP_LT: '<', ca.OP_LE: '<=', ca.OP_EQ: '==', ca.OP_NE: '!='}
_INTRINSIC = {
    ca.OP_EXP: 'llvm.exp',
    ca.OP_LOG: 'llvm.log',
    ca.OP_POW: 'llvm.pow',
    ca.OP_CONSTPOW: 'llvm.pow',
    ca.OP_SQRT: 'llvm.sqrt',
    ca.OP_SIN: 'llvm.sin',
    ca.OP_COS: 'llvm.cos',
    ca.OP_FLOOR: 'llvm.floor',
    ca.OP_CEIL: 'llvm.ceil',
    ca.OP_FABS: 'llvm.fabs',
    ca.OP_COPYSIGN: 'llvm.copysign',
}


def tape_intrinsic(path: Path, lanes: int = 1, single: bool = False) -> Any:
    """Return a Numba intrinsic of pointer arguments (inputs, then outputs) that runs the tape stored at `path`.

    For lanes and single see `tape_function`. The tape is read only when Numba compiles; a function from Numba's cache
    does not open the file.
    """

    def tape_body(typingctx: Any, *pointers: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            # a variadic intrinsic receives its arguments as one tuple
            members = [builder.extract_value(args[0], k) for k in range(len(sig.args[0].types))]
            emit(Tape.load(path), builder, members, lanes, precision=_precision(single))
            return context.get_dummy_value()

        return types.void(types.StarArgTuple(pointers)), codegen

    return intrinsic(tape_body)


def tape_function(path: Path, symbol: str, lanes: int = 1, single: bool = False) -> Any:
    """Return a Numba intrinsic without arguments that adds the tape at `path` as a C function to the machine code.

    For the C function see `compile.code`. It checks the lengths itself and has no wrapper by Numba: a wrapper copies
    the arguments on the stack by loads wider than their stores, which stalls (15 ns a call).

    Args:
        path: of the tape, which is read only when Numba compiles.
        symbol: of the C function.
        lanes: number of states per call; element i of state k of an argument is at i * lanes + k.
        single: in single precision, with several lanes only.
    """

    def tape_body(typingctx: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            add_function(Tape.load(path), builder.module, symbol, lanes, _precision(single))
            return context.get_dummy_value()

        return types.void(), codegen

    return intrinsic(tape_body)


def _precision(single: bool) -> Precision:
    return SINGLE_PRECISION if single else DOUBLE_PRECISION


def add_function(
    tape: Tape, module: ir.Module, symbol: str, lanes: int = 1, precision: Precision = DOUBLE_PRECISION
) -> None:
    """Add the C function of a tape to a module: parameters pointer and length of each argument, result a status."""
    sizes = [lanes * size for size in (*tape.inputs, *tape.outputs)]
    pointer = precision.number.as_pointer()
    function = ir.Function(module, ir.FunctionType(WORD, [pointer, WORD] * len(sizes)), name=symbol)
    builder = ir.IRBuilder(function.append_basic_block())
    for k, size in enumerate(sizes):
        wrong = builder.icmp_signed('!=', function.args[2 * k + 1], ir.Constant(WORD, size))
        with builder.if_then(wrong, likely=False):
            builder.ret(ir.Constant(WORD, (size << 8) + k + 1))
    numbers = _Numbers(tape, module, f'{symbol}_numbers', lanes, precision) if lanes > 1 else None
    emit(tape, builder, list(function.args[::2]), lanes, numbers, precision)
    builder.ret(ir.Constant(WORD, 0))


class _Numbers:
    """Constants of a tape as a table of vectors beside its machine code.

    LLVM uses two instructions for a vector of equal numbers, an address and a copy to all lanes; from a table it loads
    the vector in the instruction that needs it. The table is writeable and external, because LLVM would convert a
    constant table back.
    """

    def __init__(self, tape: Tape, module: ir.Module, symbol: str, lanes: int, precision: Precision) -> None:
        numbers = tape.constants[tape.code[:, 0] == ca.OP_CONST].tolist()
        self._indices = {number: k for k, number in enumerate(numbers) if number not in LITERAL}
        vector = ir.VectorType(precision.number, lanes)
        kind = ir.ArrayType(vector, len(numbers))
        self._table = ir.GlobalVariable(module, kind, symbol)
        self._table.initializer = ir.Constant(kind, [ir.Constant(vector, [number] * lanes) for number in numbers])
        self._table.align = precision.bytes * lanes

    def load(self, builder: Any, number: float) -> Any | None:
        """Return a number as a vector; None for a number that is not in the table."""
        if number not in self._indices:
            return None
        index = [ir.Constant(WORD, 0), ir.Constant(WORD, self._indices[number])]
        return builder.load(builder.gep(self._table, index, inbounds=True), align=self._table.align)


def emit(
    tape: Tape,
    builder: Any,
    pointers: list[Any],
    lanes: int = 1,
    numbers: _Numbers | None = None,
    precision: Precision = DOUBLE_PRECISION,
) -> None:
    """Append the tape's instructions to an LLVM builder. `pointers`: to the numbers of each input and output.

    With several lanes every value is a vector and branches are selections lane by lane.
    """
    align = precision.bytes
    code, constants = tape.code.tolist(), tape.constants.tolist()
    values: list[Any] = [None] * len(code)
    n_in = len(tape.inputs)

    def write(indices: Iterable[int]) -> None:
        for index in indices:
            if values[index] is not None:
                continue
            (op, a, b, c), number = code[index], constants[index]
            if op == ca.OP_CONST:
                held = numbers.load(builder, number) if numbers else None
                values[index] = emitter.constant(number) if held is None else held
            elif op == ca.OP_INPUT:
                values[index] = builder.load(emitter.element(pointers[a], b), align=align)
            else:
                values[index] = emitter.operation(op, a, b, c)

    if lanes == 1:
        emitter = _Emitter(builder, values)
    else:
        emitter = wide = _LaneEmitter(builder, values, lanes, precision)
        needed, angles = _early_angles(tape)
        write(needed)
        wide.turn([values[index] for index in angles])
    write(range(len(code)))
    for output, element, value in tape.results.tolist():
        builder.store(emitter.number(value), emitter.element(pointers[n_in + output], element), align=align)
    for output, element in _structural_zeros(tape):
        builder.store(emitter.constant(0.0), emitter.element(pointers[n_in + output], element), align=align)


def check_single(tape: Tape) -> None:
    """Raise ValueError for a tape with a number that overflows or underflows in single precision."""
    sizes = np.abs(tape.constants[tape.code[:, 0] == ca.OP_CONST])
    finite, bounds = sizes[np.isfinite(sizes) & (sizes > 0.0)], np.finfo(np.float32)
    if finite.size and not bounds.tiny <= finite.min() <= finite.max() <= bounds.max:
        raise ValueError(f'single precision: expected numbers of its range, found {finite.min():g} to {finite.max():g}')


def _early_angles(tape: Tape) -> tuple[list[int], list[int]]:
    """Return the indices required by angles that follow from inputs by few operations, and these angles.

    Their sines and cosines contain a branch, at which all live values are stored; at the start there are none.
    """
    wanted: list[set[int] | None] = []
    angles: dict[int, None] = {}
    for index, (op, *operands) in enumerate(tape.code.tolist()):
        if op in (ca.OP_SIN, ca.OP_COS):
            if wanted[operands[0]] is not None:
                angles[operands[0]] = None
            wanted.append(None)
            continue
        needed: set[int] | None = {index}
        for operand in operands if op not in (ca.OP_INPUT, ca.OP_CONST) else ():
            more = wanted[operand] if operand >= 0 else set()
            needed = None if needed is None or more is None else needed | more
        wanted.append(None if needed is not None and len(needed) > MOST_EARLY else needed)
    return sorted(set().union(*(wanted[angle] or () for angle in angles))), list(angles)


def _structural_zeros(tape: Tape) -> Iterator[tuple[int, int]]:
    """Yield (output, element) of the elements that CasADi does not write: they are zero."""
    for output, size in enumerate(tape.outputs):
        written = np.zeros(size, dtype=bool)
        written[tape.results[tape.results[:, 0] == output, 1]] = True
        for element in np.flatnonzero(~written):
            yield output, int(element)


class _Emitter:
    """Emits one LLVM value per tape value; a comparison stays a bit until a number is required."""

    kind: ir.Type = DOUBLE
    truth: ir.Type = ir.IntType(1)

    def __init__(self, builder: Any, values: list[Any]) -> None:
        self.builder = builder
        self.values = values
        self.unary: dict[int, Callable[[Any], Any]] = {
            ca.OP_NEG: lambda x: builder.fneg(x, flags=FLAGS),
            ca.OP_SQ: lambda x: builder.fmul(x, x, flags=FLAGS),
            ca.OP_TWICE: lambda x: builder.fadd(x, x, flags=FLAGS),
            ca.OP_INV: lambda x: builder.fdiv(self.constant(1.0), x, flags=FLAGS),
            ca.OP_SIGN: self._sign,
        }
        self.binary: dict[int, Callable[[Any, Any], Any]] = {
            ca.OP_ADD: lambda x, y: builder.fadd(x, y, flags=FLAGS),
            ca.OP_SUB: lambda x, y: builder.fsub(x, y, flags=FLAGS),
            ca.OP_MUL: lambda x, y: builder.fmul(x, y, flags=FLAGS),
            ca.OP_DIV: lambda x, y: builder.fdiv(x, y, flags=FLAGS),
            ca.OP_FMIN: lambda x, y: builder.select(builder.fcmp_ordered('<', x, y), x, y),
            ca.OP_FMAX: lambda x, y: builder.select(builder.fcmp_ordered('>', x, y), x, y),
        }

    def constant(self, number: float) -> Any:
        """Return a number."""
        return ir.Constant(DOUBLE, number)

    def element(self, pointer: Any, index: int) -> Any:
        """Return the pointer to an element of a vector."""
        return self.builder.gep(pointer, [ir.Constant(WORD, index)], inbounds=True)

    def number(self, index: int) -> Any:
        """Return the value as a double."""
        value = self.values[index]
        return self.builder.uitofp(value, self.kind) if value.type == self.truth else value

    def bit(self, index: int) -> Any:
        """Return the value as a truth value."""
        value = self.values[index]
        if value.type == self.truth:
            return value
        return self.builder.fcmp_unordered('!=', value, self.constant(0.0))

    def operation(self, op: int, a: int, b: int, c: int) -> Any:
        builder = self.builder
        if op == SELECT:
            return builder.select(self.bit(a), self.number(b), self.number(c))
        if op == ca.OP_IF_ELSE_ZERO:
            return builder.select(self.bit(a), self.number(b), self.constant(0.0))
        if op in _COMPARE:
            compare = builder.fcmp_unordered if op == ca.OP_NE else builder.fcmp_ordered
            return compare(_COMPARE[op], self.number(a), self.number(b))
        if op == ca.OP_NOT:
            return builder.not_(self.bit(a))
        if op == ca.OP_AND:
            return builder.and_(self.bit(a), self.bit(b))
        if op == ca.OP_OR:
            return builder.or_(self.bit(a), self.bit(b))
        if op in self.unary:
            return self.unary[op](self.number(a))
        if op in self.binary:
            return self.binary[op](self.number(a), self.number(b))
        operands = [self.number(k) for k in (a, b) if k >= 0]
        if op in _INTRINSIC:
            return self._intrinsic(_INTRINSIC[op], operands)
        if op in LIBM:
            return self._libm(LIBM[op], operands)
        raise NotImplementedError(f'CasADi operation {op} has no machine code here')

    def _intrinsic(self, name: str, operands: list[Any]) -> Any:
        kind = ir.FunctionType(DOUBLE, [DOUBLE] * len(operands))
        return self.builder.call(self.builder.module.declare_intrinsic(name, [DOUBLE], kind), operands)

    def _libm(self, name: str, operands: list[Any]) -> Any:
        return self.builder.call(scalar_function(self.builder.module, name, len(operands)), operands)

    def _sign(self, x: Any) -> Any:
        """Return 1 or -1, and x itself if it is zero or NaN: a NaN must not become a 1."""
        builder, zero = self.builder, self.constant(0.0)
        negative = builder.select(builder.fcmp_ordered('<', x, zero), self.constant(-1.0), x)
        return builder.select(builder.fcmp_ordered('>', x, zero), self.constant(1.0), negative)


class _LaneEmitter(_Emitter):
    """Emits one LLVM vector per tape value."""

    def __init__(self, builder: Any, values: list[Any], lanes: int, precision: Precision) -> None:
        super().__init__(builder, values)
        self.lanes, self.precision = lanes, precision
        self.kind, self.truth = ir.VectorType(precision.number, lanes), ir.VectorType(ir.IntType(1), lanes)
        self._doubles = ir.VectorType(DOUBLE, lanes)
        self._turned: dict[Any, tuple[Any, Any]] = {}

    def constant(self, number: float) -> Any:
        return ir.Constant(self.kind, [number] * self.lanes)

    def element(self, pointer: Any, index: int) -> Any:
        return self.builder.bitcast(super().element(pointer, index * self.lanes), self.kind.as_pointer())

    def number(self, index: int) -> Any:
        value = self.values[index]
        if value.type != self.truth:
            return value
        # a mask: a conversion would use integers of half the width
        return self.builder.select(value, self.constant(1.0), self.constant(0.0))

    def _intrinsic(self, name: str, operands: list[Any]) -> Any:
        module = self.builder.module
        if name in ('llvm.sin', 'llvm.cos'):
            return self._sine_and_cosine(operands[0])[name == 'llvm.cos']
        if name in ('llvm.exp', 'llvm.log'):
            function = (exponential if name == 'llvm.exp' else logarithm)(module, self.lanes)
            return self._stored(self.builder.call(function, self._in_doubles(operands)))
        if name == 'llvm.pow':
            return self._each_lane(f'{name}.f64', operands)
        symbol = f'{name}.v{self.lanes}{self.precision.suffix}'
        kind = ir.FunctionType(self.kind, [self.kind] * len(operands))
        return self.builder.call(module.globals.get(symbol) or ir.Function(module, kind, name=symbol), operands)

    def turn(self, angles: Sequence[Any]) -> None:
        """Compute sines and cosines of angles in advance."""
        if angles:
            self._turned.update(zip(angles, sines_and_cosines(self.builder, self.lanes, self.precision, angles)))

    def _sine_and_cosine(self, x: Any) -> tuple[Any, Any]:
        """Return both: a tape with one of them usually has the other one, too."""
        if x not in self._turned:
            with self.builder.goto_entry_block():
                room = self.builder.alloca(self.kind, 2)
            self.builder.call(sine_and_cosine(self.builder.module, self.lanes, self.precision), [room, x])
            sine, cosine = (self.builder.load(self._pointer(room, k), align=self.precision.bytes) for k in range(2))
            self._turned[x] = sine, cosine
        return self._turned[x]

    def _pointer(self, pointer: Any, index: int) -> Any:
        return self.builder.gep(pointer, [ir.Constant(WORD, index)], inbounds=True)

    def _libm(self, name: str, operands: list[Any]) -> Any:
        return self._each_lane(name, operands)

    def _each_lane(self, name: str, operands: list[Any]) -> Any:
        function = scalar_function(self.builder.module, name, len(operands))
        return self._stored(each_lane(self.builder, self.lanes, function, self._in_doubles(operands)))

    def _in_doubles(self, operands: Sequence[Any]) -> Sequence[Any]:
        """Return operands for a function that exists in double precision only."""
        if self.kind == self._doubles:
            return operands
        return [self.builder.fpext(operand, self._doubles) for operand in operands]

    def _stored(self, value: Any) -> Any:
        """Return a value of double precision in the precision of this emitter."""
        return value if self.kind == self._doubles else self.builder.fptrunc(value, self.kind)
