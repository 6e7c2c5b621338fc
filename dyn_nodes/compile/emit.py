"""Tape to LLVM instructions, inside a Numba function.

A tape could be written out as Python text for Numba to compile; that spends most of its time in Numba's type
inference (measured: 0.78 s for 910 instructions, where this takes 0.05 s over Numba's fixed 0.4 s). A tape has one
type only, so its instructions are built directly, in an intrinsic that Numba compiles, links and caches like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from dyn_nodes.compile.tape import LIBM, SELECT, Tape

DOUBLE, WORD = ir.DoubleType(), ir.IntType(64)
FLAGS = ('contract', 'nsz')

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


def tape_intrinsic(path: Path) -> Any:
    """Return a Numba intrinsic of pointer arguments (inputs, then outputs) that runs the tape stored at `path`.

    The tape is read only when Numba compiles; a function taken from Numba's cache never opens the file.
    """

    def tape_body(typingctx: Any, *pointers: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            # a variadic intrinsic receives its arguments as one tuple
            members = [builder.extract_value(args[0], k) for k in range(len(sig.args[0].types))]
            emit(Tape.load(path), builder, members)
            return context.get_dummy_value()

        return types.void(types.StarArgTuple(pointers)), codegen

    return intrinsic(tape_body)


def tape_function(path: Path, symbol: str) -> Any:
    """Return a Numba intrinsic without arguments that adds the tape at `path` as a C function to the machine code.

    The C function is that of `compile.code`. It looks at the lengths by itself and is not wrapped by Numba: a wrapper
    copies the arguments that are on the stack by loads wider than their stores, which waits for these (15 ns a call).

    Args:
        path: of the tape, which is read only when Numba compiles.
        symbol: of the C function.
    """

    def tape_body(typingctx: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            add_function(Tape.load(path), builder.module, symbol)
            return context.get_dummy_value()

        return types.void(), codegen

    return intrinsic(tape_body)


def add_function(tape: Tape, module: ir.Module, symbol: str) -> None:
    """Add the C function of a tape to a module: pointer and length of each argument; a status."""
    sizes = [*tape.inputs, *tape.outputs]
    function = ir.Function(module, ir.FunctionType(WORD, [DOUBLE.as_pointer(), WORD] * len(sizes)), name=symbol)
    builder = ir.IRBuilder(function.append_basic_block())
    for k, size in enumerate(sizes):
        wrong = builder.icmp_signed('!=', function.args[2 * k + 1], ir.Constant(WORD, size))
        with builder.if_then(wrong, likely=False):
            builder.ret(ir.Constant(WORD, (size << 8) + k + 1))
    emit(tape, builder, list(function.args[::2]))
    builder.ret(ir.Constant(WORD, 0))


def emit(tape: Tape, builder: Any, pointers: list[Any]) -> None:
    """Append the tape's instructions to an LLVM builder. `pointers`: one double* per input and output."""
    values: list[Any] = []
    emitter = _Emitter(builder, values)
    n_in = len(tape.inputs)
    for (op, a, b, c), number in zip(tape.code.tolist(), tape.constants.tolist()):
        if op == ca.OP_CONST:
            values.append(ir.Constant(DOUBLE, number))
        elif op == ca.OP_INPUT:
            values.append(builder.load(_element(builder, pointers[a], b)))
        else:
            values.append(emitter.operation(op, a, b, c))
    for output, element, value in tape.results.tolist():
        builder.store(emitter.number(value), _element(builder, pointers[n_in + output], element))
    _store_structural_zeros(tape, builder, pointers[n_in:])


def _store_structural_zeros(tape: Tape, builder: Any, pointers: list[Any]) -> None:
    """Elements that CasADi never writes are zero."""
    for output, size in enumerate(tape.outputs):
        written = np.zeros(size, dtype=bool)
        written[tape.results[tape.results[:, 0] == output, 1]] = True
        for element in np.flatnonzero(~written):
            builder.store(ir.Constant(DOUBLE, 0.0), _element(builder, pointers[output], int(element)))


def _element(builder: Any, pointer: Any, index: int) -> Any:
    return builder.gep(pointer, [ir.Constant(ir.IntType(64), index)], inbounds=True)


class _Emitter:
    """One LLVM value per tape value; a comparison stays a bit until a number is wanted."""

    def __init__(self, builder: Any, values: list[Any]) -> None:
        self.builder = builder
        self.values = values
        self.unary: dict[int, Callable[[Any], Any]] = {
            ca.OP_NEG: lambda x: builder.fneg(x, flags=FLAGS),
            ca.OP_SQ: lambda x: builder.fmul(x, x, flags=FLAGS),
            ca.OP_TWICE: lambda x: builder.fadd(x, x, flags=FLAGS),
            ca.OP_INV: lambda x: builder.fdiv(ir.Constant(DOUBLE, 1.0), x, flags=FLAGS),
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

    def number(self, index: int) -> Any:
        """Return the value as a double."""
        value = self.values[index]
        return self.builder.uitofp(value, DOUBLE) if value.type == ir.IntType(1) else value

    def bit(self, index: int) -> Any:
        """Return the value as a truth value."""
        value = self.values[index]
        if value.type == ir.IntType(1):
            return value
        return self.builder.fcmp_unordered('!=', value, ir.Constant(DOUBLE, 0.0))

    def operation(self, op: int, a: int, b: int, c: int) -> Any:
        builder = self.builder
        if op == SELECT:
            return builder.select(self.bit(a), self.number(b), self.number(c))
        if op == ca.OP_IF_ELSE_ZERO:
            return builder.select(self.bit(a), self.number(b), ir.Constant(DOUBLE, 0.0))
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
            return builder.call(self._libm(LIBM[op], len(operands)), operands)
        raise NotImplementedError(f'CasADi operation {op} has no machine code here')

    def _intrinsic(self, name: str, operands: list[Any]) -> Any:
        kind = ir.FunctionType(DOUBLE, [DOUBLE] * len(operands))
        return self.builder.call(self.builder.module.declare_intrinsic(name, [DOUBLE], kind), operands)

    def _libm(self, name: str, arity: int) -> Any:
        if name in self.builder.module.globals:
            return self.builder.module.globals[name]
        return ir.Function(self.builder.module, ir.FunctionType(DOUBLE, [DOUBLE] * arity), name=name)

    def _sign(self, x: Any) -> Any:
        """Return 1 or -1, and x itself where that is zero or not a number: a NaN must not become a 1."""
        builder, zero = self.builder, ir.Constant(DOUBLE, 0.0)
        negative = builder.select(builder.fcmp_ordered('<', x, zero), ir.Constant(DOUBLE, -1.0), x)
        return builder.select(builder.fcmp_ordered('>', x, zero), ir.Constant(DOUBLE, 1.0), negative)
