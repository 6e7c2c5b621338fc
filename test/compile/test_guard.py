"""Machine code accesses only its arguments: lengths are checked at every call, guard zones on demand."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numba import njit

from dyn_nodes.common.loops import kernels_of
from dyn_nodes.compile import build_module, emit
from dyn_nodes.compile.guard import GuardError, LengthError
from dyn_nodes.compile.tape import Tape


@pytest.fixture
def cache_root(tmp_path, monkeypatch):
    monkeypatch.setenv('DYN_NODES_CACHE', str(tmp_path / 'cache'))
    monkeypatch.delenv('DYN_NODES_GUARD', raising=False)


def functions():
    x, p = ca.SX.sym('x', 3), ca.SX.sym('p', 1)
    return {'law': ca.Function('law', [x, p], [ca.vertcat(p * x, ca.sumsqr(x)), x[:2]])}, {}


def law_twice(x, p, y):
    z = np.empty(2)
    law_at(x, p, y, z)  # noqa: F821
    law_at(x, p, y, z)  # noqa: F821


def build(name='guard_test', drivers=(law_twice,), batch=()):
    return build_module(name, ['a'], functions, drivers=drivers, batch=batch)


SIZES = (3, 1, 4, 2)


def arguments(sizes=SIZES):
    return [np.full(size, 7.0) for size in sizes]


@pytest.mark.parametrize('guarded', ['0', '1'])
def test_kernel_rejects_arrays_of_another_length_and_names_the_argument(cache_root, monkeypatch, guarded):
    monkeypatch.setenv('DYN_NODES_GUARD', guarded)
    module = build()
    for argument in range(4):
        for change in (-1, 1):
            sizes = [size + change * (k == argument) for k, size in enumerate(SIZES)]
            arrays = arguments(sizes)
            with pytest.raises(LengthError) as error:
                module.law(*arrays)
            assert str(error.value) == (
                f"compiled kernel 'law', argument {argument}: expected a vector of {SIZES[argument]} numbers, "
                f'found {sizes[argument]}'
            )
            assert all((array == 7.0).all() for array in arrays)
    arrays = arguments()
    module.law(*arrays)
    np.testing.assert_array_equal(arrays[2], [49, 49, 49, 147])


def test_drivers_reject_a_wrong_length_too(cache_root):
    module = build()
    with pytest.raises(LengthError, match="'law', argument 2: expected a vector of 4 numbers, found 3"):
        module.law_twice(np.ones(3), np.ones(1), np.empty(3))

    law = module.law

    @njit
    def elsewhere(x, p, y, z):
        law(x, p, y, z)

    with pytest.raises(LengthError, match='argument 0: expected a vector of 3 numbers, found 2'):
        elsewhere(np.ones(2), np.ones(1), np.empty(4), np.empty(2))


def test_batch_rejects_other_columns_and_fewer_rows(cache_root):
    module = build(batch=('law',))
    for argument in range(4):
        sizes = [(5, size + (k == argument)) for k, size in enumerate(SIZES)]
        with pytest.raises(LengthError, match=f'argument {argument}: expected an array of {SIZES[argument]} columns'):
            module.law_batch(*arguments(sizes))
    for argument in range(1, 4):
        sizes = [(5 - (k == argument), size) for k, size in enumerate(SIZES)]
        with pytest.raises(LengthError, match=f'argument {argument}: expected as many rows as argument 0, 5, found 4'):
            module.law_batch(*arguments(sizes))
    arrays = arguments([(5, size) for size in SIZES])
    module.law_batch(*arrays)
    np.testing.assert_array_equal(arrays[2], np.tile([49.0, 49, 49, 147], (5, 1)))


def test_tape_with_an_index_outside_of_its_vectors_is_rejected():
    tape = Tape.from_function(functions()[0]['law'])
    changes = {'inputs': (2, 1), 'outputs': (3, 2), 'constants': np.zeros(0)}
    results = tape.results.copy()
    results[0, 2] = len(tape.code)
    changes['results'] = results
    for name, value in changes.items():
        with pytest.raises(ValueError, match='an index outside of its vectors'):
            Tape(**{**{n: getattr(tape, n) for n in tape.__dataclass_fields__}, name: value})


@pytest.mark.parametrize(
    ('table', 'row', 'column', 'value', 'argument', 'fault'),
    [
        ('results', 0, 1, 4, 2, 'wrote outside of it'),  # one behind the end of an output
        ('results', 0, 1, -1, 2, 'wrote outside of it'),  # one before its start
        ('code', 0, 2, 3, 2, 'computed from memory outside of an input'),  # reads one behind the end
    ],
)
def test_guard_zones_detect_access_outside_the_arguments(
    cache_root, monkeypatch, table, row, column, value, argument, fault
):
    monkeypatch.setenv('DYN_NODES_GUARD', '1')
    sound = Tape.from_function

    def damaged(function):
        tape = sound(function)
        getattr(tape, table)[row, column] = value
        return tape

    monkeypatch.setattr(Tape, '__post_init__', lambda self: None)  # it would reject the tape
    monkeypatch.setattr(Tape, 'from_function', damaged)
    monkeypatch.setattr(emit, '_structural_zeros', lambda _: ())
    module = build(f'{table} {column} {value}')
    with pytest.raises(GuardError) as error:
        module.law(*arguments())
    assert error.value.args[:2] == ('law', argument)
    assert fault in str(error.value)
    with pytest.raises(GuardError):
        module.law_twice(*arguments()[:3])


def beyond(values):
    values[values.shape[0]] = 1.0


def test_guard_checks_every_index_of_drivers_and_array_loops(cache_root, monkeypatch):
    monkeypatch.setenv('DYN_NODES_GUARD', '1')
    with pytest.raises(IndexError):
        build(drivers=[beyond]).beyond(np.zeros(3))
    with pytest.raises(IndexError):
        kernels_of(__file__)(beyond)(np.zeros(3))
