"""Linear models against finite differences of the machine; kernels in Python, in Numba and as C."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numba
import numpy as np
import pytest

import dyn_nodes as dn
from dyn_nodes.library.kernel import ARGUMENTS


@pytest.fixture(scope='module')
def loader():
    return dn.load('log_loader')


def slopes(function, at, scale):
    """Return central differences of a function, column by column."""
    columns = []
    for k, size in enumerate(scale):
        step = np.zeros(len(at))
        step[k] = 1e-6 * size
        columns.append((function(at + step) - function(at - step)) / (2e-6 * size))
    return np.array(columns).T


def test_the_linear_model_of_an_arm_equals_finite_differences():
    arm = dn.load('arm_a6')
    x = arm.rest_state(torque=True)
    x[:6] += 0.3
    x[6:12] = 0.2
    A, B, C, D = model = arm.linearize(x, torque=True)
    system = arm.system(torque=True)
    n = len(model.state_names)
    assert (*model.state_names, 'work', 'heat') == system.state_names
    u, p = model.point.u, system.parameters()
    x = model.point.x
    by_x = slopes(lambda state: system.rhs(state, u, p), x, np.ones(len(x)))[:n, :n]
    by_u = slopes(lambda inputs: system.rhs(x, inputs, p), u, np.ones(len(u)))[:n]
    np.testing.assert_allclose(A, by_x, rtol=1e-6, atol=1e-4)
    np.testing.assert_allclose(B, by_u, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(C @ x[:n], x[:6])
    assert not D.any()


def test_efforts_that_hold_are_found_for_any_state(loader):
    q = loader.posture(boom_joint=0.4)
    model = loader.linearize(q, torque=True)
    joints = [model.point.rate[loader.system(torque=True).index('state', f'{name}_rate')] for name in loader.driven]
    np.testing.assert_allclose(joints, 0.0, atol=1e-6)
    gravity = loader.dynamics().gravity(q)[-3:]
    np.testing.assert_allclose(model.point.u, gravity, rtol=1e-2, atol=1e3)


def test_states_postures_and_nothing_are_points_of_a_model(loader):
    state = loader.linearize(loader.rest_state())
    for other in (loader.linearize(), loader.linearize(loader.posture())):
        np.testing.assert_allclose(other.A, state.A, rtol=1e-6, atol=1e-6 * np.abs(state.A).max())
    joints = loader.linearize(loader.posture()[-3:])
    np.testing.assert_allclose(joints.A, state.A, rtol=1e-6, atol=1e-6 * np.abs(state.A).max())
    assert state.input_names == loader.input_names
    named = loader.linearize(u={'boom': 1.0})
    assert named.point.u[loader.input_names.index('boom/voltage')] == 1.0


def test_its_columns_are_slopes_of_the_machine(loader):
    """Of the whole machine with its oil, along deviations of joint rates, which are states of the model."""
    model = loader.linearize(u={'boom': 2.0})
    system, p = loader.system(), loader.system().parameters()
    x, u = model.point.x, model.point.u
    rows = [model.state_names.index(name) for name in model.state_names if name.endswith('_joint_rate')]
    assert len(rows) == 3
    for column in rows:
        index = system.index('state', model.state_names[column])
        step = np.zeros(len(x))
        step[index] = 1e-5
        difference = (system.rhs(x + step, u, p) - system.rhs(x - step, u, p)) / 2e-5
        for row in rows:
            expected = difference[system.index('state', model.state_names[row])]
            assert model.A[row, column] == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    ('call', 'message'),
    [
        (
            lambda m: m.linearize(np.zeros(4)),
            r'x: expected shape \(38,\), or \(10,\) of positions, or \(3,\) of joints',
        ),
        (lambda m: m.linearize(np.full(38, np.nan)), "x: expected finite numbers, found nan at 'base_x'"),
        (lambda m: m.linearize(u=[1.0]), 'u: expected shape'),
        (lambda m: m.linearize(u={'bom': 1.0}), "unknown input 'bom'"),
        (lambda m: m.linearize(outputs=['nothing']), "unknown output 'nothing'"),
        (lambda m: m.kernel('forward_dynamic'), "unknown kernel 'forward_dynamic' \\(did you mean 'forward_dynamics'"),
    ],
)
def test_a_wrong_request_is_named(loader, call, message):
    with pytest.raises((KeyError, ValueError), match=message):
        call(loader)


# -- kernels -----------------------------------------------------------------------------------------------------------


def arguments_of(f, seed=0):
    rng = np.random.default_rng(seed)
    vectors = {name: rng.normal(size=size) for name, size in f.sizes.items()}
    if 'p' in vectors:
        vectors['p'] = f.parameters
    vectors['q'][3:7] /= np.linalg.norm(vectors['q'][3:7])
    return [vectors[name] for name in f.inputs]


def test_a_kernel_fills_its_output_in_python_and_in_numba(loader):
    f = loader.kernel('forward_dynamics')

    @numba.njit
    def steps(q, v, tau, p, count):
        a = np.empty(len(v))
        for _ in range(count):
            f(q, v, tau, p, a)
            v += 1e-3 * a
        return v

    q, v, tau, p = arguments_of(f)
    expected, a = v.copy(), f.result()
    for _ in range(3):
        f(q, expected, tau, p, a)
        expected += 1e-3 * a
    np.testing.assert_array_equal(steps(q, v.copy(), tau, p, 3), expected)
    np.testing.assert_allclose(a, loader.dynamics().forward(q, expected - 1e-3 * a, tau), rtol=1e-9)
    with pytest.raises(ValueError, match='expected vectors of other lengths'):
        steps(q[:-1], v, tau, p, 1)
    with pytest.raises(ValueError, match='expected a vector of 10 numbers, found 9'):
        f(q[:-1], v, tau, p, a)
    assert repr(f) == '<kernel forward_dynamics(q[10], v[9], tau[9], p[4], a[9])>'


@pytest.mark.skipif(shutil.which('cc') is None, reason='no C compiler')
def test_the_c_source_of_every_kernel_computes_the_same(loader, tmp_path):
    kernels = [loader.kernel(name) for name in ARGUMENTS]
    file, library = tmp_path / 'kernels.c', tmp_path / 'kernels.so'
    file.write_text('\n'.join(f.c_source() for f in kernels))
    command = ['cc', '-std=c99', '-Wall', '-Werror', '-O1', '-shared', '-fPIC', str(file), '-o', str(library), '-lm']
    subprocess.run(command, check=True, timeout=120)
    loaded = ctypes.CDLL(str(library))
    for f in kernels:
        inputs = arguments_of(f)
        ours, theirs = f.result(), f.result()
        f(*inputs, ours)
        getattr(loaded, f.name)(*(ctypes.c_void_p(vector.ctypes.data) for vector in (*inputs, theirs)))
        np.testing.assert_allclose(theirs, ours, rtol=1e-11, atol=1e-9 * np.abs(ours).max(), err_msg=f.name)


def test_the_address_is_a_c_function(loader):
    f = loader.kernel('center_of_mass')
    q, p = arguments_of(f)
    com = f.result()
    pairs = [pair for vector in (q, p, com) for pair in (vector.ctypes.data, len(vector))]
    call = ctypes.CFUNCTYPE(ctypes.c_ssize_t, *[ctypes.c_void_p, ctypes.c_ssize_t] * 3)(f.address)
    assert call(*pairs) == 0
    np.testing.assert_allclose(com, loader.dynamics().center_of_mass(q), rtol=1e-12)
