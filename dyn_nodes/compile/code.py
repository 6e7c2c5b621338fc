"""Machine code of a tape as a C function: `intp code(double *x0, intp n0, ..., double *y0, intp m0, ...)`.

In single precision pointers are `float *`. Each argument has a length. The result is 0; (expected << 8) + argument + 1
for a wrong length, before anything is read or written; -1 - 4 * argument - fault if guard zones detect a fault; or
`STOPPED` less a reason if the arguments are sound but the kernel has no value: integrators then end the run.

`BoundCode` makes such a function from one that needs data of a system besides its arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic

from dyn_nodes.common.numba_internals import address_of_symbol, array_structure, fill_array, signature_of

POINTER, POINTER_TO_SINGLE = types.CPointer(types.float64), types.CPointer(types.float32)
STOPPED = -(1 << 40)
"""Greatest status of a kernel that has no value at its arguments."""


def code_signature(count: int, single: bool = False) -> Any:
    """Return the signature of code with `count` arguments, inputs and outputs together."""
    return types.intp(*[POINTER_TO_SINGLE if single else POINTER, types.intp] * count)


def code_at(function: Any, symbol: str) -> Any:
    """Return a C function for calls from compiled functions, by a symbol that can be cached with machine code."""
    binding.add_symbol(symbol, function.address)
    return types.ExternalFunction(symbol, signature_of(function))


class TapeCode:
    """The C function that `emit.tape_function` added to the machine code of a Numba function.

    Args:
        holder: the Numba function, made by `cfunc`.
        symbol: of the C function.
        count: of its arguments, inputs and outputs together.

    Attributes:
        address: valid as long as this object lives.
    """

    def __init__(self, holder: Any, symbol: str, count: int) -> None:
        self._holder, self._sig = holder, code_signature(count)
        self.address = address_of_symbol(holder, symbol)
        if self.address == 0:
            raise ImportError(f'machine code without {symbol}')


@intrinsic
def data_pointer(typingctx: Any, array: Any) -> Any:
    """Return the pointer to the first element of a contiguous array, inside a Numba function."""
    signature = types.CPointer(array.dtype)(array)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return array_structure(sig.args[0], context, builder, args[0]).data

    return signature, codegen


@intrinsic
def vector_at(typingctx: Any, pointer: Any, length: Any) -> Any:
    """Return the array (length,) at a pointer, inside a Numba function, without reference counts (`numba.carray`)."""
    return _array_at(pointer, (length,))


@intrinsic
def matrix_at(typingctx: Any, pointer: Any, rows: Any, columns: Any) -> Any:
    """Return the array (rows, columns) at a pointer, inside a Numba function."""
    return _array_at(pointer, (rows, columns))


def _array_at(pointer: Any, lengths: tuple[Any, ...]) -> Any:
    kind = types.Array(pointer.dtype, len(lengths), 'C')

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        array, (data, *shape) = array_structure(kind, context, builder), args
        itemsize = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
        strides = [itemsize]
        for length in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], length))
        return fill_array(array, data=data, shape=shape, strides=strides, itemsize=itemsize, meminfo=None)

    return kind(pointer, *lengths), codegen


@intrinsic
def call_code(typingctx: Any, address: Any, *arrays: Any) -> Any:
    """Call the code at an address with contiguous vectors of its precision, inside a Numba function; return its status.

    The type of the vectors is not checked.
    """

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        size = context.get_value_type(types.intp)
        values = []
        for k, kind in enumerate(sig.args[1].types):
            array = array_structure(kind, context, builder, builder.extract_value(args[1], k))
            values += [array.data, builder.extract_value(array.shape, 0)]
        function = ir.FunctionType(size, [value.type for value in values])
        return builder.call(builder.inttoptr(args[0], function.as_pointer()), values)

    return types.intp(address, types.StarArgTuple(arrays)), codegen


class BoundCode:
    """A C function whose first arguments are fixed arrays.

    Args:
        code: C function of pointer and length of each array, then of the remaining arguments.
        arrays: contiguous, of 8-byte numbers; they are read at every call and kept alive.
        count: of the remaining arguments, a pointer to float64 and a length each.

    Attributes:
        address: of the function of the remaining arguments, valid as long as this object lives.
    """

    def __init__(self, code: Any, arrays: tuple[np.ndarray, ...], count: int) -> None:
        if not all(array.flags.c_contiguous and array.itemsize == 8 for array in arrays):
            raise ValueError('expected contiguous arrays of 8-byte numbers')
        self._kept = (code, arrays)
        module, size = ir.Module(), ir.IntType(64)
        word = ir.IntType(64)
        bound = ir.Function(module, ir.FunctionType(size, [word] * (2 * count)), name='bound')
        builder = ir.IRBuilder(bound.append_basic_block())
        fixed = [ir.Constant(word, number) for array in arrays for number in (array.ctypes.data, array.shape[0])]
        target = ir.FunctionType(size, [word] * (len(fixed) + 2 * count))
        callee = builder.inttoptr(ir.Constant(word, code.address), target.as_pointer())
        builder.ret(builder.call(callee, [*fixed, *bound.args]))
        machine = binding.Target.from_default_triple().create_target_machine()
        self._engine = binding.create_mcjit_compiler(binding.parse_assembly(str(module)), machine)
        self._engine.finalize_object()
        self.address: int = self._engine.get_function_address('bound')
