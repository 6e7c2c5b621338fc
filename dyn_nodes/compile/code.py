"""Machine code of a tape as a C function: `intp code(double *x0, intp n0, ..., double *y0, intp m0, ...)`.

Each argument comes with its length. The result is 0; (expected << 8) + argument + 1 where a length is wrong, nothing is
read or written then; or -1 - 4 * argument - fault where guard zones found a fault.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

POINTER = types.CPointer(types.float64)


def code_signature(count: int) -> Any:
    """Return the signature of code with `count` arguments, inputs and outputs together."""
    return types.intp(*[POINTER, types.intp] * count)


def code_at(function: Any, symbol: str) -> Any:
    """Return a C function as compiled functions call it: by a symbol, which may be kept with their machine code."""
    binding.add_symbol(symbol, function.address)
    return types.ExternalFunction(symbol, function._sig)


@intrinsic
def data_pointer(typingctx: Any, array: Any) -> Any:
    """Pointer to the first element of a contiguous float64 array, inside a Numba function."""
    signature = POINTER(array)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return make_array(sig.args[0])(context, builder, args[0]).data

    return signature, codegen


@intrinsic
def call_code(typingctx: Any, address: Any, *arrays: Any) -> Any:
    """Call the code at an address with contiguous float64 vectors, inside a Numba function; return its status."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        size = context.get_value_type(types.intp)
        given = []
        for k, kind in enumerate(sig.args[1].types):
            array = make_array(kind)(context, builder, builder.extract_value(args[1], k))
            given += [array.data, builder.extract_value(array.shape, 0)]
        function = ir.FunctionType(size, [value.type for value in given])
        return builder.call(builder.inttoptr(args[0], function.as_pointer()), given)

    return types.intp(address, types.StarArgTuple(arrays)), codegen
