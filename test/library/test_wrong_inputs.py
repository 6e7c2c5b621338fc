"""Inputs of the wrong kind give one kind of error; non-finite results raise; machines can be pickled."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import dyn_nodes.library as dn

WRONG = {
    'complex': np.array([1.0 + 0.0j] * 3),
    'complex list': [1j, 0.0, 0.0],
    'texts': ['1', '2', '3'],
    'bytes': [b'1', b'2', b'3'],
    'truth': [True, False, True],
    'none': [None, 0.0, 0.0],
    'mapping': {'a': 1.0},
    'set': {1.0, 2.0, 3.0},
    'ragged': [[1.0], [1.0, 2.0]],
    'text': 'abc',
    'nothing': None,
    'object': object(),
    'dates': np.array(['2026-01-01'] * 3, dtype='datetime64[D]'),
    'masked': np.ma.array([1.0, 2.0, 3.0], mask=[True, False, False]),
    'integer without end': [10**400, 0, 0],
    'not finite': [np.nan, 0.0, 0.0],
    'scalar': 1.0,
}
CALLS = ('mass_matrix', 'gravity', 'bias', 'inverse', 'forward', 'energy', 'momentum', 'center_of_mass')


@pytest.fixture(scope='module')
def machine():
    return dn.load('log_loader')


@pytest.fixture(scope='module')
def dynamics(machine):
    return machine.dynamics()


def arguments(dynamics, call):
    n = len(dynamics._machine.movable_joints)
    count = {'bias': 2, 'energy': 2, 'momentum': 2, 'inverse': 3, 'forward': 3}.get(call, 1)
    return [np.zeros(n) for _ in range(count)]


@pytest.mark.parametrize('wrong', WRONG.values(), ids=WRONG)
@pytest.mark.parametrize('call', CALLS)
def test_every_argument_of_the_wrong_kind_is_named_in_a_value_error(machine, dynamics, call, wrong):
    vectors = arguments(dynamics, call)
    for index, name in enumerate(('q', 'v', 'tau' if call == 'forward' else 'a')[: len(vectors)]):
        changed = [wrong if k == index else vector for k, vector in enumerate(vectors)]
        with pytest.raises(ValueError, match=rf'^{machine.name}: {name}: expected .*found '):
            getattr(dynamics, call)(*changed)


@pytest.mark.parametrize('wrong', [1j, '1', b'1', True, [1.0], None, np.array([1.0]), 10**400, np.nan, object()])
def test_numbers_of_the_wrong_kind_are_named_in_a_value_error(machine, wrong):
    if wrong is not None:
        with pytest.raises(ValueError, match=f'^{machine.name}: payload: expected a '):
            machine.dynamics(payload=wrong)
    with pytest.raises(ValueError, match=f'^{machine.name}: .*expected a '):
        machine.posture({machine.joints[0]: wrong})


@pytest.mark.parametrize('call', ['bias', 'inverse', 'forward', 'energy', 'momentum'])
@pytest.mark.parametrize('name', ['log_loader', 'excavator', 'arm_4r'])
def test_a_result_that_is_not_finite_is_an_error(name, call):
    dynamics = dn.load(name).dynamics()
    vectors = arguments(dynamics, call)
    vectors[0] = vectors[0] + 0.3
    vectors[1] = np.full_like(vectors[1], 1e200)
    rows = [np.array([vector, vector]) for vector in vectors]
    for changed in (vectors, rows):
        if call == 'momentum':
            assert np.isfinite(getattr(dynamics, call)(*changed)).all()
            continue
        message = r'expected inputs with a finite result, found q up to [\d.]+, v up to 1e\+200'
        with np.errstate(all='ignore'), pytest.raises(ValueError, match=message):
            getattr(dynamics, call)(*changed)


def test_a_machine_can_be_pickled(machine):
    machine.dynamics()
    copy = pickle.loads(pickle.dumps(machine))
    assert repr(copy) == repr(machine)
    q = np.full(len(machine.joints), 0.2)
    np.testing.assert_array_equal(copy.dynamics().mass_matrix(q), machine.dynamics().mass_matrix(q))


def _mass(machine):
    return machine.data.total_mass


def test_a_machine_can_be_passed_to_a_process_pool(machine):
    with ProcessPoolExecutor(1, get_context('fork')) as pool:
        assert pool.submit(_mass, machine).result() == machine.data.total_mass
