"""Integrators: orders on smooth plants, agreement on the whole machine, and reports of divergence."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from log_loader_tasks import P3D, STILL, run
from scipy.integrate import solve_ivp

from dyn_nodes.compile import build_module, integrators
from dyn_nodes.compile.integrators import ADAPTIVE, codes_of, run_dopri5, run_rk4, run_rodas3
from dyn_nodes.compile.integrators.codes import table_input
from dyn_nodes.simulation import Inputs, Settings, initial_state
from dyn_nodes.simulation.march import codes_for
from dyn_nodes.simulation.settings import FIXED

INFINITE = 1e300  # a tolerance that accepts every step
RAMP = (np.array([0.0, 4.0]), np.array([[0.3], [2.0]]))  # knots and table of the one input


def smooth_plant():
    """Return a driven pendulum with a state that decays towards the input: smooth, nonlinear, coupled."""
    x, u, p = ca.SX.sym('x', 3), ca.SX.sym('u', 1), ca.SX.sym('p', 1)
    rhs = ca.vertcat(x[1], -p * ca.sin(x[0]) - 0.1 * x[1] + x[2] * ca.cos(x[0]), u - x[2] * (1 + 0.2 * x[0] ** 2))
    jacobian = ca.densify(ca.vec(ca.densify(ca.jacobian(rhs, x))))
    return {
        'rhs': ca.Function('rhs', [x, u, p], [ca.densify(rhs)]),
        'guard': ca.Function('guard', [x], [ca.densify(ca.cos(x[0]))]),
        'jacobian': ca.Function('jacobian', [x, u, p], [jacobian]),
    }, {}


def stiff_plant():
    """Return a state that follows slow motions of the others with a rate of 1e5 /s."""
    x, u, p = ca.SX.sym('x', 3), ca.SX.sym('u', 1), ca.SX.sym('p', 1)
    rhs = ca.vertcat(x[1], -x[0], -p * (x[2] - x[0]))
    jacobian = ca.densify(ca.vec(ca.densify(ca.jacobian(rhs, x))))
    return {
        'rhs': ca.Function('rhs', [x, u, p], [ca.densify(rhs)]),
        'guard': ca.Function('guard', [x], [ca.SX(1.0)]),
        'jacobian': ca.Function('jacobian', [x, u, p], [jacobian]),
    }, {}


def build(name, make):
    return build_module(name, [name], make)


@pytest.fixture(scope='module')
def plant():
    return build('smooth_test_plant', smooth_plant)


@pytest.fixture(scope='module')
def stiff():
    return build('stiff_test_plant', stiff_plant)


START, PARAMETER = np.array([0.4, 0.0, 0.1]), np.array([3.0])


@pytest.fixture(scope='module')
def exact(plant):
    """Return the smooth plant at t = 4 by SciPy's DOP853 with the same compiled right-hand side."""

    def rhs(t, x):
        rate = np.empty(3)
        plant.rhs(x, np.array([np.interp(t, RAMP[0], RAMP[1][:, 0])]), PARAMETER, rate)
        return rate

    return solve_ivp(rhs, (0, 4), START, method='DOP853', rtol=1e-13, atol=1e-13).y[:, -1]


def fixed_steps(module, method, count, end=4.0, start=START, parameter=PARAMETER):
    """Return the final state after `count` equal steps of an integrator."""
    x, trace = start.copy(), np.empty((count + 1, 3))
    if method in FIXED:
        codes = codes_for(codes_of(module), Settings(method))
        status, taken = run_rk4(codes, x, 0.0, end / count, count, *RAMP, parameter, -2.0, 1, trace)
        assert (status, taken) == (integrators.DONE, count)
        return x
    times = np.linspace(0.0, end, count + 1)
    run_it = run_dopri5 if method == 'dopri5' else run_rodas3
    status, _, accepted, rejected = run_it(
        codes_of(module), x, times, *RAMP, parameter, -2.0, 0.0, np.full(3, INFINITE), end / count, 1e-12, trace
    )
    assert (status, accepted, rejected) == (integrators.DONE, count, 0)
    return x


@pytest.mark.parametrize(
    ('method', 'order', 'counts'),
    [('rk4', 4, (40, 80, 160)), ('rk3', 3, (80, 160, 320)), ('dopri5', 5, (20, 40, 80)), ('rodas3', 3, (80, 160, 320))],
)
def test_order_of_convergence(plant, exact, method, order, counts):
    errors = [np.abs(fixed_steps(plant, method, count) - exact).max() for count in counts]
    observed = np.log2(np.array(errors[:-1]) / errors[1:])
    assert observed == pytest.approx(order, abs=0.35)


@pytest.mark.parametrize('method', ADAPTIVE)
def test_error_follows_the_tolerance(plant, exact, method):
    run_it = ADAPTIVE[method]
    errors, steps = [], []
    for tolerance in (1e-3, 1e-5, 1e-7):
        x, trace = START.copy(), np.empty((2, 3))
        status, _, accepted, _ = run_it(
            codes_of(plant),
            x,
            np.array([0.0, 4.0]),
            *RAMP,
            PARAMETER,
            -2.0,
            tolerance,
            np.full(3, tolerance),
            1e-2,
            1e-12,
            trace,
        )
        assert status == integrators.DONE
        np.testing.assert_array_equal(trace[1], x)
        errors.append(np.abs(x - exact).max())
        steps.append(accepted)
        assert errors[-1] < 30 * tolerance
    assert errors[0] > 5 * errors[1] > 25 * errors[2]
    assert steps[0] < steps[1] < steps[2]


def test_implicit_method_takes_large_steps_where_the_explicit_ones_cannot(stiff):
    start, fast = np.array([1.0, 0.0, 1.0]), np.array([1e5])
    x = fixed_steps(stiff, 'rodas3', 400, 4.0, start, fast)
    exact = np.array([np.cos(4.0), -np.sin(4.0)])
    np.testing.assert_allclose(x[:2], exact, atol=1e-5)
    assert x[2] == pytest.approx(np.cos(4.0), abs=1e-4)
    explicit, trace = start.copy(), np.empty((401, 3))
    status, taken = run_rk4(codes_of(stiff), explicit, 0.0, 0.01, 400, *RAMP, fast, -2.0, 1, trace)
    assert status == integrators.DIVERGED
    assert taken < 10


@pytest.mark.parametrize(('method', 'limit'), [('rk4', 2.785), ('rk3', 5.15)])
def test_fixed_steps_follow_a_decay_up_to_their_limit(stiff, method, limit):
    """For x' = -a x with a times the step just below and just above the limit."""
    start, step = np.array([0.0, 0.0, 1.0]), 0.01
    for share, grows in ((0.995, False), (1.005, True)):
        x = fixed_steps(stiff, method, 400, 400 * step, start, np.array([share * limit / step]))
        assert (abs(x[2]) > 1.0) == grows
    z = 0.8 * limit
    x = fixed_steps(stiff, method, 1, step, start, np.array([z / step]))
    assert x[2] == pytest.approx(1 - z + z**2 / 2 - z**3 / 6 + {'rk4': 1, 'rk3': 0.5}[method] * z**4 / 24, rel=1e-12)


def test_table_of_inputs_is_piecewise_linear_with_held_ends(plant):
    knots, table, u = np.array([1.0, 2.0, 2.0, 4.0]), np.array([[1.0], [3.0], [-1.0], [1.0]]), np.empty(1)
    cursor = 0
    for t, expected in [(0, 1), (1, 1), (1.5, 2), (1.999, 2.998), (2, -1), (3, 0), (4, 1), (9, 1), (1.25, 1.5), (0, 1)]:
        cursor = table_input(float(t), knots, table, cursor, u)
        assert u[0] == pytest.approx(expected), t


def test_guard_stops_the_run_where_it_falls(plant):
    x, trace = np.array([0.0, 1.0, 0.0]), np.empty((401, 3))
    status, taken = run_rk4(codes_of(plant), x, 0.0, 0.01, 400, *RAMP, np.array([0.1]), np.cos(0.5), 1, trace)
    assert status == integrators.GUARDED
    assert 0.5 < x[0] < 0.52
    np.testing.assert_array_equal(trace[taken], x)


# ---------------------------------------------------------------------------- the whole machine


@pytest.fixture(scope='module')
def converged(system):
    return run(system, P3D, 16.0, settings=Settings(step=2e-5))


@pytest.mark.parametrize(
    ('settings', 'bound'),
    [
        (Settings('rk4', 2.5e-3), 1e-4),  # measured: 4.6e-5; the classical method alone 1.5e-4
        (Settings('rk4', 1e-3), 3e-5),
        (Settings('rk4', 5e-4), 3e-5),
        (Settings('rk4', 5e-4, stiff='explicit'), 3e-5),
        (Settings('rk3', 5e-3), 5e-5),  # measured: 3.1e-5; rk4 diverges from 3.5 ms on
        (Settings('rk32', 1e-2, 0.0, 1e-4), 5e-5),
        (Settings('dopri5', 1e-4, 1e-6, 1e-6), 2e-5),
        (Settings('adams', 1e-4, 1e-6, 1e-6), 2e-5),
        pytest.param(Settings('rodas3', 1e-4, 1e-6, 1e-6), 2e-5, marks=pytest.mark.slow),
    ],
)
def test_every_integrator_gives_the_same_task(system, converged, settings, bound):
    """Quaternion and joint angles over the whole run agree with a step of 20 microseconds, rad."""
    result = run(system, P3D, 16.0, settings=settings)
    assert result.status == 'done'
    error = np.abs(result.states[:, 3 : system.nq] - converged.states[:, 3 : system.nq]).max()
    assert error < bound


def test_looser_tolerance_takes_fewer_steps(system):
    loose, tight = (run(system, P3D, 16.0, settings=Settings('rodas3', 1e-4, tol, tol)).counts for tol in (1e-3, 1e-5))
    assert 0 < loose['accepted'] < tight['accepted']


def usual_sizes(system):
    """Return the typical magnitudes of the states."""
    sizes = np.ones(len(system.state_names))
    for k, name in enumerate(system.state_names):
        for part, size in (('pressure', 1e6), ('spool', 1e-3), ('bristle', 1e-2)):
            if part in name:
                sizes[k] = size
    return sizes


# not at rest: |v| of friction has a kink there
@pytest.mark.parametrize('time', [5.5, 6.5, 8.0, 9.0, 11.0])
def test_exact_jacobian_equals_differences(system, task, time):
    sample, p, sizes = round(time * 1000), task.parameters, usual_sizes(system)
    x, u = task.states[sample], task.inputs.at(task.times[[sample]], system.input_names)[0]
    by_x, by_u = system.jacobians(x, u, p)

    def columns(function, at, steps):
        return np.column_stack(
            [(function(at + h * e) - function(at - h * e)) / (2 * h) for e, h in zip(np.eye(len(at)), steps)]
        )

    differences = columns(lambda x: system.rhs(x, u, p), x, 1e-7 * sizes)
    scaled = by_x * sizes / sizes[:, np.newaxis]
    error = np.abs(differences - by_x) * sizes / sizes[:, np.newaxis]
    assert (error <= 1e-5 * np.abs(scaled).max(axis=1, keepdims=True)).all()
    differences = columns(lambda u: system.rhs(x, u, p), u, np.full(3, 1e-3))
    np.testing.assert_allclose(differences, by_u, rtol=1e-7, atol=1e-9)


# ---------------------------------------------------------------------------- divergence


ABSURD = {'wheel_stiffness_scale': 1e9, 'wheel_damping_scale': 1e9}


def disturbed(system, values):
    """Return a state at rest, then lifted a little, so that extreme wheels are in motion."""
    p = system.parameters(values)
    x = initial_state(system, system.parameters())
    x[system.index('state', 'base_z')] += 1e-3
    return x, p


def test_motion_too_fast_for_any_step_is_reported_without_invalid_states(system):
    x, p = disturbed(system, ABSURD)
    times = np.linspace(0.0, 1.0, 101)
    result = system.run(x, times, STILL, p, Settings(step=1e-3))
    assert result.status == 'step too small'
    assert 'base_' in result.detail
    assert not result.overturned
    assert len(result.times) == len(result.states) >= 1
    assert np.isfinite(result.states).all()
    assert result.end_time < 1.0
    np.testing.assert_array_equal(result.states[0], x)


def test_adaptive_methods_report_that_the_step_is_too_small(system):
    x, p = disturbed(system, ABSURD)
    x[system.index('state', 'boom/head_pressure')] = np.nan
    for method in ADAPTIVE:
        result = system.run(x, np.linspace(0.0, 1.0, 11), STILL, p, Settings(method))
        assert result.status in ('step too small', 'diverged')
        assert len(result.times) == 1


def test_a_start_with_nan_is_reported_as_divergence(system):
    p = system.parameters()
    x = initial_state(system, p)
    x[system.index('state', 'stick/spool')] = np.nan
    result = system.run(x, np.linspace(0.0, 1.0, 101), STILL, p)
    assert result.status == 'diverged'
    assert result.end_time == pytest.approx(1e-3)


@pytest.mark.parametrize('method', ['rk4', 'dopri5', 'adams', pytest.param('rodas3', marks=pytest.mark.slow)])
def test_overturning_ends_the_run_unless_disabled(effort_system, method):
    p = effort_system.parameters()
    x = initial_state(effort_system, p)
    x[effort_system.index('state', 'base_z')] += 3.0
    x[effort_system.index('state', 'base_wx_rate')] = 3.0  # thrown, it turns over in the air
    times, settings = np.linspace(0.0, 2.0, 201), Settings(method, step=5e-4)
    result = effort_system.run(x, times, STILL, p, settings)
    assert result.status == 'overturned'
    assert result.overturned
    assert result.end_time < 2.0
    assert np.isfinite(result.last).all()
    free = Settings(method, step=5e-4, stop_at_overturn=False)
    assert effort_system.run(x, times[:121], STILL, p, free).status == 'done'
    upright = effort_system.run(x, times[:3], Inputs.constant(), p, settings)
    assert upright.status == 'done'
