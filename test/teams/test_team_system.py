"""A team as one compiled system: runs, energy, names, rejections."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.simulation import Inputs
from dyn_nodes.simulation.settings import Settings
from dyn_nodes.teams import load_team
from dyn_nodes.teams.system import TeamSystem, energy_balance

HELD = {'arm_joint_2': 21.164318861, 'arm_joint_3': 5.295095791}
"""Efforts that hold 0.4 kg in the hand, N m (tanner-1998, 6.9)."""


@pytest.fixture(scope='module')
def bar():
    return TeamSystem(load_team('team_bar'))


def efforts(scale=1.0):
    return {f'{robot}/{joint}/effort': scale * HELD[joint] for robot in ('left', 'right') for joint in HELD}


def test_a_run_keeps_energy_work_and_heat_in_balance(bar):
    inputs = Inputs.constant({**efforts(0.9), 'left/left_drive/effort': 2.0, 'right/right_drive/effort': -1.0})
    run = bar.run(
        bar.start, np.linspace(0.0, 0.2, 11), inputs, settings=Settings(method='dopri5', rtol=1e-11, atol=1e-11)
    )
    assert run.status == 'done'
    assert np.abs(energy_balance(run)).max() < 1e-8
    assert abs(run.state('work')[-1]) > 0.1
    assert run.state('heat')[-1] > 1e-6


def test_a_step_of_runge_kutta_is_of_the_fourth_order(bar):
    ends = []
    for step in (2e-3, 1e-3, 1e-4):
        run = bar.run(bar.start, [0.0, 0.05], Inputs.constant(efforts()), settings=Settings(step=step))
        ends.append(run.last)
    first, second = (np.abs(end - ends[-1]).max() for end in ends[:2])
    assert first / second == pytest.approx(16.0, rel=0.4)


def test_momentum_changes_by_the_ground_and_the_weight(bar):
    """Over a run, by Simpson's rule: both are smooth between samples."""
    times = np.linspace(0.0, 0.1, 101)
    run = bar.run(bar.start, times, Inputs.constant(efforts(0.9)), settings=Settings(step=2.5e-4))
    total = 2 * 75.5 + 2e-6 * 2 + 1.2
    for axis in 'xyz':
        force = run.output(f'left/ground/force_{axis}') + run.output(f'right/ground/force_{axis}')
        force = force - (total * 9.81 if axis == 'z' else 0.0)
        impulse = (times[1] / 3.0) * (force[0] + force[-1] + 4.0 * force[1:-1:2].sum() + 2.0 * force[2:-1:2].sum())
        momentum = run.output(f'linear_momentum_{axis}')
        assert momentum[-1] - momentum[0] == pytest.approx(impulse, abs=1e-7)


def test_a_method_with_a_compiled_jacobian_is_rejected(bar):
    with pytest.raises(ValueError, match='explicit method for a team, found rodas3'):
        bar.run(bar.start, [0.0, 0.01], settings=Settings(method='rodas3'))


def test_signals_have_the_names_of_robots_and_objects(bar):
    assert 'left/arm_joint_1' in bar.state_names
    assert 'right/left_drive/effort' in bar.input_names
    assert bar.parameters({'bar/stiffness_scale': 2.0})[bar.index('parameter', 'bar/stiffness_scale')] == 2.0
    np.testing.assert_allclose(bar.nodes(bar.start, 'bar'), [(-0.3, 0.0, 0.822425), (0.3, 0.0, 0.822425)], atol=1e-6)
    assert bar.robot_positions(bar.start, 'right')[0] == pytest.approx(1.0645020172)


def test_jacobians_equal_derivatives_of_the_rates(bar):
    x, u, p = bar.start, np.zeros(len(bar.input_names)), bar.defaults
    by_x, by_u = bar.jacobians(x, u, p)
    step = 1e-6
    for k in (bar.index('state', 'left/arm_joint_2'), bar.index('state', 'right/arm_joint_3_rate')):
        more, less = x.copy(), x.copy()
        more[k], less[k] = x[k] + step, x[k] - step
        change = (bar.rhs(more, u, p) - bar.rhs(less, u, p)) / (2.0 * step)
        np.testing.assert_allclose(by_x[:, k], change, rtol=1e-6, atol=1e-5)
    u[3] = 1.0
    np.testing.assert_allclose(by_u[:, 3], bar.rhs(x, u, p) - bar.rhs(x, 0.0 * u, p), atol=1e-9)
