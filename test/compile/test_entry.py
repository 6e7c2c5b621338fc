"""Kernels as built-in functions of Python: valid arguments go directly to the machine code, others are checked."""

from __future__ import annotations

import gc
import sys
from types import BuiltinFunctionType

import casadi as ca
import numpy as np
import pytest

from dyn_nodes.compile import compile_functions
from dyn_nodes.compile.calls import CarefulCall, kernel_call
from dyn_nodes.compile.entry import layout_holds
from dyn_nodes.compile.guard import LengthError


class Vector(np.ndarray):
    pass


@pytest.fixture(scope='module')
def module():
    x, p = ca.SX.sym('x', 2), ca.SX.sym('p')
    return compile_functions('entries', {'scaled': ca.Function('scaled', [x, p], [p * x])})


def test_kernels_are_built_in_functions_of_their_name(module):
    assert layout_holds()
    assert type(module.scaled) is BuiltinFunctionType
    assert module.scaled.__name__ == 'scaled'


def test_arrays_of_other_classes_and_types_with_notes_are_vectors_too(module):
    annotated = np.dtype(np.float64, metadata={'unit': 'm'})
    for x in (np.ones(2).view(Vector), np.ones(2, dtype=annotated), np.ones(4)[1:3], np.ones((3, 2))[1]):
        y = np.zeros(2)
        module.scaled(x, np.array([3.0]), y)
        assert y.tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ('wrong', 'actual'),
    [
        (np.zeros(2, dtype=np.float32), r'shape \(2,\) of float32'),
        (np.zeros(2, dtype='>f8'), r'shape \(2,\) of >f8'),
        (np.zeros(4)[::2], r'shape \(2,\) of float64, not contiguous'),
        (np.zeros((1, 2)), r'shape \(1, 2\) of float64'),
        (np.frombuffer(bytes(16)), r'shape \(2,\) of float64, read-only'),
        (np.frombuffer(bytearray(24), np.float64, 2, 4), r'shape \(2,\) of float64, not aligned'),
        ((0.0, 0.0), 'tuple'),
        (None, 'NoneType'),
    ],
)
def test_anything_else_is_rejected_by_argument_and_nothing_is_written(module, wrong, actual):
    y = np.full(2, 7.0)
    with pytest.raises(TypeError, match=f"'scaled', argument 0: expected a contiguous, writable .* found {actual}$"):
        module.scaled(wrong, np.ones(1), y)
    with pytest.raises(TypeError, match=f'argument 2: .* found {actual}$'):
        module.scaled(np.ones(2), np.ones(1), wrong)
    assert y.tolist() == [7.0, 7.0]


def test_another_number_of_arguments_is_rejected(module):
    for count in (0, 2, 4):
        with pytest.raises(TypeError, match="compiled kernel 'scaled': expected 3 vectors"):
            module.scaled(*[np.ones(2)] * count)
    with pytest.raises(TypeError, match='keyword'):
        module.scaled(np.ones(2), np.ones(1), y=np.ones(2))


def test_a_checked_call_gives_the_same_result_for_arrays_of_another_layout(module, monkeypatch):
    monkeypatch.setattr('dyn_nodes.compile.calls.layout_holds', lambda: False)
    careful = kernel_call('scaled', module.scaled.__self__.careful.code, (2, 1, 2))
    assert type(careful) is CarefulCall
    y = np.zeros(2)
    careful(np.array([1.0, 2.0]), np.array([3.0]), y)
    assert y.tolist() == [3.0, 6.0]
    with pytest.raises(LengthError, match='argument 1: expected a vector of 1 numbers, found 2'):
        careful(np.ones(2), np.ones(2), y)


def test_calls_keep_no_reference_to_their_arguments(module):
    x, p, y = np.ones(2), np.ones(1), np.ones(2)
    wrong = np.ones(3)
    held = [x, p, y, wrong]

    def counts():
        gc.collect()
        return [sys.getrefcount(array) for array in held]

    before = counts()
    for _ in range(50):
        assert module.scaled(x, p, y) is None
        with pytest.raises(LengthError):
            module.scaled(wrong, p, y)
        with pytest.raises(TypeError):
            module.scaled(x, p, 1)
    assert counts() == before


def test_a_function_outlives_its_module():
    x = ca.SX.sym('x', 2)
    twice = compile_functions('entry_alone', {'twice': ca.Function('twice', [x], [2 * x])}).twice
    for name in [name for name in sys.modules if name.startswith('dyn_nodes_generated')]:
        if getattr(sys.modules[name], 'twice', None) is twice:
            del sys.modules[name]
    gc.collect()
    y = np.zeros(2)
    twice(np.array([1.0, 2.0]), y)
    assert y.tolist() == [2.0, 4.0]
