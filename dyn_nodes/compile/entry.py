"""Built-in functions of Python that call machine code by its address with vectors, with little overhead.

A call of a function that Numba makes for Python takes 30 ns an argument: it looks up types and unpacks arrays through
the C API. A kernel takes contiguous float64 vectors only. The functions here, one for each number of arguments, made
with llvmlite, therefore compare types and flags in the array objects themselves and call the kernel. Unexpected
arguments (another type, another length) and a nonzero status are passed to a Python callable, which raises the error.

The offsets in an array object follow NumPy's C interface (`PyArrayObject`), on which compiled extensions rely.
`layout_holds` checks them with arrays of this process; if they differ, all calls use that callable.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import binding, ir

HEAD = object.__basicsize__
TYPE, DATA, NDIM, SHAPE, DTYPE, FLAGS = HEAD - 8, HEAD, HEAD + 8, HEAD + 16, HEAD + 40, HEAD + 48
"""Offsets in an array object, bytes."""
CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
SOUND = CONTIGUOUS | ALIGNED | WRITEABLE
FLOAT64 = np.dtype(np.float64)
FASTCALL = 0x80
_WORD, _INT, _POINTER = ir.IntType(64), ir.IntType(32), ir.IntType(8).as_pointer()


class _Method(ctypes.Structure):
    """`PyMethodDef`."""

    _fields_ = (
        ('name', ctypes.c_char_p),
        ('function', ctypes.c_void_p),
        ('flags', ctypes.c_int),
        ('text', ctypes.c_char_p),
    )


class Entry(int):
    """Address of the record of a built-in function; keeps the targets of the record alive.

    Args:
        name: of the function.
        count: of its arguments.
        code: address of a kernel's machine code (`dyn_nodes.compile.code`).
        careful: called with the same arguments if they are not as expected or the status is not 0.

    Attributes:
        careful: the argument.
    """

    careful: Callable[..., None]
    _record: Any

    def __new__(cls, name: str, count: int, code: int, careful: Callable[..., None]) -> Entry:
        """Make the record."""
        record = (ctypes.c_size_t * 2)(code, id(careful))
        entry = super().__new__(cls, ctypes.addressof(record))
        entry.careful, entry._record = careful, record
        return entry


@cache
def layout_holds() -> bool:
    """Return whether array objects of this process have the layout that the machine code expects."""
    if platform.python_implementation() != 'CPython' or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    probes: list[Any] = [np.empty(3), np.empty((2, 5)), np.zeros(6)[::2], np.zeros(4, dtype=np.float32), np.empty(0)]
    probes[0].flags.writeable = False
    return all(_read(probe) == _described(probe) for probe in probes)


def _read(array: Any) -> tuple[int, ...]:
    """Return type, data, dimensions, first length, type of elements and flags, read from the object."""
    word, start = ctypes.c_size_t.from_address, id(array)
    shape = word(start + SHAPE).value
    return (
        word(start + TYPE).value,
        word(start + DATA).value,
        ctypes.c_int.from_address(start + NDIM).value,
        word(shape).value if shape else -1,
        word(start + DTYPE).value,
        ctypes.c_int.from_address(start + FLAGS).value & SOUND,
    )


def _described(array: Any) -> tuple[int, ...]:
    """Return the same values by Python."""
    flags = array.flags
    bits = CONTIGUOUS * flags.c_contiguous | ALIGNED * flags.aligned | WRITEABLE * flags.writeable
    return id(type(array)), array.ctypes.data, array.ndim, array.shape[0], id(array.dtype), bits


def builtin(name: str, count: int, code: int, careful: Callable[..., None]) -> Callable[..., None]:
    """Return a built-in function of `count` vectors that calls machine code, or `careful` if it cannot.

    The machine code must live as long as `careful`, which the function keeps alive. Requires `layout_holds`.
    """
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    entry = Entry(name, count, code, careful)
    made: Callable[..., None] = make(ctypes.addressof(_method(name, count)), entry, None)
    return made


@cache
def _method(name: str, count: int) -> _Method:
    """Return the method definition of a function. It lives for ever: Python reads it when it deletes the function."""
    return _Method(name.encode(), _machine_code(count)[0], FASTCALL, None)


@cache
def _machine_code(count: int) -> tuple[int, Any]:
    """Return the address of the machine code for a number of arguments, and the engine that owns it."""
    machine = binding.Target.from_default_triple().create_target_machine(
        opt=0
    )  # as fast, made in a quarter of the time
    engine = binding.create_mcjit_compiler(binding.parse_assembly(_text(count)), machine)
    engine.finalize_object()
    return engine.get_function_address('entry'), engine


def _call(builder: ir.IRBuilder, name: str, result: Any, values: list[Any], variadic: bool = False) -> Any:
    """Call a function of the C API of Python; `variadic`: all arguments but the first."""
    kind = ir.FunctionType(result, [value.type for value in (values[:1] if variadic else values)], var_arg=variadic)
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    return builder.call(builder.inttoptr(ir.Constant(_WORD, address), kind.as_pointer()), values)


def _text(count: int) -> str:
    """Return the LLVM text of `PyObject *entry(PyObject *self, PyObject *const *args, Py_ssize_t nargs)`."""
    module = ir.Module()
    kind = ir.FunctionType(_POINTER, [_POINTER, _POINTER.as_pointer(), _WORD])
    function = ir.Function(module, kind, name='entry')
    self_object, arguments, number = function.args
    start, counted, wrong, careful, done = (
        function.append_basic_block(name) for name in ('start', 'counted', 'wrong', 'careful', 'done')
    )
    builder = ir.IRBuilder(start)
    record = _call(builder, 'PyLong_AsVoidPtr', _POINTER, [self_object])
    builder.cbranch(builder.icmp_signed('==', number, ir.Constant(_WORD, count)), counted, wrong)
    builder.position_at_end(counted)
    objects = [builder.load(builder.gep(arguments, [ir.Constant(_INT, k)])) for k in range(count)]
    vectors = [value for argument in objects for value in _vector(builder, argument, careful)]
    target = ir.FunctionType(_WORD, [value.type for value in vectors]).as_pointer()
    status = builder.call(builder.inttoptr(_field(builder, record, 0, _WORD), target), vectors)
    builder.cbranch(builder.icmp_signed('==', status, ir.Constant(_WORD, 0)), done, careful)
    builder.position_at_end(done)
    none = builder.inttoptr(ir.Constant(_WORD, id(None)), _POINTER)
    _call(builder, 'Py_IncRef', ir.VoidType(), [none])
    builder.ret(none)
    for block, handed in ((wrong, []), (careful, objects)):
        builder.position_at_end(block)
        values = [_field(builder, record, 8, _POINTER), *handed, ir.Constant(_POINTER, None)]
        builder.ret(_call(builder, 'PyObject_CallFunctionObjArgs', _POINTER, values, variadic=True))
    return str(module)


def _vector(builder: ir.IRBuilder, argument: ir.Value, careful: ir.Block) -> tuple[ir.Value, ir.Value]:
    """Return data and length of an array object; branch to `careful` if it is not a contiguous float64 vector."""
    kind = builder.append_basic_block('kind')
    is_array = builder.icmp_unsigned('==', _field(builder, argument, TYPE, _WORD), ir.Constant(_WORD, id(np.ndarray)))
    builder.cbranch(is_array, kind, careful)
    builder.position_at_end(kind)
    flags = builder.and_(_field(builder, argument, FLAGS, _INT), ir.Constant(_INT, SOUND))
    conditions = (
        builder.icmp_unsigned('==', flags, ir.Constant(_INT, SOUND)),
        builder.icmp_signed('==', _field(builder, argument, NDIM, _INT), ir.Constant(_INT, 1)),
        builder.icmp_unsigned('==', _field(builder, argument, DTYPE, _WORD), ir.Constant(_WORD, id(FLOAT64))),
    )
    sound = builder.append_basic_block('sound')
    builder.cbranch(builder.and_(builder.and_(*conditions[:2]), conditions[2]), sound, careful)
    builder.position_at_end(sound)
    shape = _field(builder, argument, SHAPE, _POINTER)
    return _field(builder, argument, DATA, _POINTER), _field(builder, shape, 0, _WORD)


def _field(builder: ir.IRBuilder, start: ir.Value, offset: int, kind: ir.Type) -> ir.Value:
    """Return the value at a pointer plus `offset` bytes."""
    address = builder.gep(start, [ir.Constant(_INT, offset)])
    return builder.load(builder.bitcast(address, kind.as_pointer()))
