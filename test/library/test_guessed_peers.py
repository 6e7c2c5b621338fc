"""Tasks that the tutorials of Pinocchio, MuJoCo and Drake show, as their users would write them here."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np
import pytest

import dyn_nodes as dn
from dyn_nodes.library import kernel

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope='module')
def m():
    return dn.load('log_loader')


@pytest.fixture(scope='module')
def arm():
    return dn.load('arm_a6')


def random_positions(arm, seed=0):
    return np.random.default_rng(seed).uniform(np.maximum(arm.lower, -1.0), np.minimum(arm.upper, 1.0))


# -- Pinocchio ---------------------------------------------------------------------------------------------------------


def test_limits_and_mass(m):
    assert m.lower.shape == m.upper.shape == (len(m.joints),)
    assert m.lower[m.joints.index('boom_joint')] == m.data.joint('boom_joint').lower
    assert m.mass == pytest.approx(sum(link.mass for link in m.data.links) + m.conditions.payload)
    assert m.carrying(0.0).mass == pytest.approx(sum(link.mass for link in m.data.links))


def test_forward_inverse_round_trip(arm):
    d, q, v, tau = arm.dynamics(), random_positions(arm), np.full(arm.nv, 0.2), np.ones(arm.nv)
    a = d.forward(q, v, tau)
    np.testing.assert_allclose(d.inverse(q, v, a), tau, atol=1e-9)
    np.testing.assert_allclose(d.mass_matrix(q) @ a + d.bias(q, v), tau, atol=1e-9)


def test_kinetic_energy_of_the_mass_matrix(arm):
    d, q, v = arm.dynamics(), random_positions(arm), np.linspace(-0.5, 0.5, arm.nv)
    assert d.energy(q, v)[0] == pytest.approx(0.5 * v @ d.mass_matrix(q) @ v, rel=1e-12)


def test_gravity_is_the_gradient_of_the_potential_energy(arm):
    d, q, still = arm.dynamics(), random_positions(arm), np.zeros(arm.nv)
    steps = 1e-6 * np.eye(arm.nq)
    gradient = [(d.energy(q + s, still)[1] - d.energy(q - s, still)[1]) / 2e-6 for s in steps]
    np.testing.assert_allclose(d.gravity(q), gradient, atol=1e-5 * np.abs(gradient).max())


def test_velocity_of_a_frame(arm):
    d, q, v, h = arm.dynamics(), random_positions(arm), np.linspace(-0.5, 0.5, arm.nv), 1e-6
    there, here = (d.pose(arm.hand, q + side * h * v)[:3, 3] for side in (1.0, -1.0))
    np.testing.assert_allclose((d.jacobian(arm.hand, q) @ v)[3:], (there - here) / (2.0 * h), atol=1e-8)


def test_center_of_mass_and_momentum(arm):
    d, q, v, h = arm.dynamics(), random_positions(arm), np.linspace(-0.5, 0.5, arm.nv), 1e-6
    speed = (d.center_of_mass(q + h * v) - d.center_of_mass(q - h * v)) / (2.0 * h)
    np.testing.assert_allclose(d.momentum(q, v)[3:], arm.mass * speed, atol=1e-6 * arm.mass)


def test_differential_inverse_kinematics(arm):
    """The loop of the tutorial: damped least squares with the Jacobian."""
    d, q = arm.dynamics(), random_positions(arm, 1)
    target = d.pose(arm.hand, random_positions(arm, 2))[:3, 3]
    for _ in range(200):
        error = target - d.pose(arm.hand, q)[:3, 3]
        J = d.jacobian(arm.hand, q)[3:]
        q = q + J.T @ np.linalg.solve(J @ J.T + 1e-6 * np.eye(3), error)
    assert np.abs(error).max() < 1e-6


def test_batches_of_states(arm):
    d, q = arm.dynamics(), np.stack([random_positions(arm, k) for k in range(5)])
    np.testing.assert_allclose(d.mass_matrix(q)[3], d.mass_matrix(q[3]), rtol=1e-12)


# -- MuJoCo ------------------------------------------------------------------------------------------------------------


def test_step_with_control_and_reset(m):
    sim = m.simulator()
    start = sim.x
    while sim.time < 0.05 - 1e-9:
        sim.step({'boom': 2.0})
    assert sim['boom_joint'] != start[m.index('boom_joint')]
    np.testing.assert_array_equal(sim.reset(), start)


def test_contact_forces_carry_the_weight(m):
    sim = m.simulator()
    normal = sum(sim[f'{wheel.name}/normal_force'] for wheel in m.data.wheels)
    assert normal == pytest.approx(m.mass * m.data.gravity, rel=1e-6)


def test_a_smaller_time_step_changes_little(m):
    coarse, fine = (m.simulate(0.2, voltage={'boom': 3.0}, step=step)['boom_joint'][-1] for step in (1e-3, 2.5e-4))
    assert coarse == pytest.approx(fine, abs=1e-5)


def test_a_state_is_copied_and_restored(m):
    sim = m.simulator()
    sim.step({'boom': 3.0})
    kept = sim.x
    first = sim.step()  # the input is held
    sim.reset(kept)
    np.testing.assert_allclose(sim.step({'boom': 3.0}), first, rtol=0, atol=1e-7 * np.abs(first).max())
    assert first.shape == (m.nx,)


def test_energy_over_a_run(m):
    run = m.simulate(0.3, voltage={'boom': 3.0})
    assert next(check for check in run.checks if check.name == 'energy').measured >= 0.0
    assert run.status == 'done'


def test_a_closed_loop_stays_closed():
    run = dn.load('four_bar').simulate(0.2, torque={})
    gap = next(check for check in run.checks if check.name == 'gap')
    assert gap.measured <= gap.allowed


def test_many_payloads_at_once(m):
    with ThreadPoolExecutor(2) as pool:
        values = list(pool.map(lambda mass: float(m.margins(m.posture(payload=mass))['static'].value), (0.0, 2000.0)))
    assert values[0] > values[1]


# -- Drake -------------------------------------------------------------------------------------------------------------


def test_a_regulator_from_the_linear_model(arm):
    """LQR about a posture holds it against a disturbance of the state."""
    from scipy.linalg import solve_continuous_are

    x0 = arm.rest_state(torque=True)
    A, B, *_ = arm.linearize(x0, torque=True)
    n = len(A)
    K = B.T @ solve_continuous_are(A, B, np.eye(n), 1e-2 * np.eye(B.shape[1])) / 1e-2
    hold = arm.dynamics().gravity(x0[: arm.nq])
    x = x0.copy()
    x[0] += 0.05

    def law(t, x):
        return hold - K @ (x - x0)[:n]

    run = arm.simulate(5.0, torque=law, x0=x, period=2e-3)
    assert run.status == 'done'
    assert np.abs(run.q[-1] - x0[: arm.nq]).max() < 1e-3


def test_a_linear_model_is_discretized(arm):
    A, B = arm.linearize(torque=True).discretized(0.01)
    assert A.shape[0] == B.shape[0]


def test_an_optimal_posture(m):
    from scipy.optimize import minimize_scalar

    best = minimize_scalar(
        lambda boom: -float(m.margins([0.0, boom, -1.0], penalty=1.0)['static'].value), bounds=(0.0, 1.0)
    )
    assert -best.fun >= float(m.margins([0.0, 0.0, -1.0])['static'].value)


def test_values_of_a_log_by_name(m):
    run = m.simulate(0.1, voltage=...)
    assert run['boom_joint'].shape == run.times.shape
    assert set(run.machine.joints) < set(run.names)


def test_c_code_of_the_dynamics(arm):
    assert 'forward_dynamics' in arm.kernel('forward_dynamics').c_source()


def test_a_kernel_whose_files_were_removed_from_the_cache_is_made_again(arm, tmp_path, monkeypatch):
    monkeypatch.setenv('DYN_NODES_CACHE', str(tmp_path / 'cache'))
    monkeypatch.setattr(kernel, '_model', lru_cache(kernel._model.__wrapped__))
    before = arm.kernel('energy').c_source()
    shutil.rmtree(tmp_path / 'cache')
    assert arm.kernel('energy').c_source() == before
