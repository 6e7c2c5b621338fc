"""A machine whose fastest motion is too fast for the specified step is integrated with shorter steps."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dyn_nodes.model import load_machine
from dyn_nodes.simulation.guards.fastest_motion import Linearization, TooFastError, bound_on_rates
from dyn_nodes.simulation.plant import Plant

ARM = """<robot name="wrist">
  <link name="base"><inertial><mass value="10"/>{0}</inertial></link>
  <link name="tool"><inertial><mass value="0.2"/>{1}</inertial></link>
  <joint name="wrist" type="continuous">
    <parent link="base"/><child link="tool"/><axis xyz="0 0 1"/>
    <limit effort="20" velocity="3"/><dynamics damping="{2}"/>
  </joint>
</robot>
"""
INERTIA = '<inertia ixx="{0}" iyy="{0}" izz="{0}" ixy="0" ixz="0" iyz="0"/>'
LIGHT = 1e-4


def wrist(tmp_path, damping: float) -> Plant:
    urdf, config = tmp_path / 'wrist.urdf', tmp_path / 'wrist.yaml'
    urdf.write_text(ARM.format(INERTIA.format(0.1), INERTIA.format(LIGHT), damping))
    config.write_text('name: wrist\nbase: {link: base, attachment: fixed}\n')
    return Plant(load_machine(urdf, config), 'effort', 5e-3, 5e-4)


def test_the_rate_of_a_damped_joint_is_damping_over_inertia(tmp_path):
    plant = wrist(tmp_path, 0.3)
    motion = plant.ground.linearization(plant.x, plant.u, plant.p).fastest()
    assert motion.rate == pytest.approx(0.3 / LIGHT, rel=1e-6)
    assert motion.state == 'wrist_rate'
    assert (plant.substeps, plant.refined_for) == (10, '')


def test_a_stiff_joint_is_integrated_with_stable_steps(tmp_path):
    plant = wrist(tmp_path, 2.0)
    assert plant.refined_for == 'wrist_rate'
    assert 2.0 / LIGHT * plant.period / plant.substeps <= 2.5
    plant.set_efforts(np.array([0.5]))
    for _ in range(20):
        plant.advance()
    assert plant.velocities[0] == pytest.approx(0.5 / 2.0, rel=1e-9)


def test_a_motion_too_fast_for_any_acceptable_step_is_rejected_by_name(tmp_path):
    message = re.escape('wrist: wrist_rate moves with a rate of 5e+06 1/s, for which steps of 5e-07 s would be needed')
    with pytest.raises(ValueError, match=message):
        wrist(tmp_path, 500.0)


def test_a_state_without_rates_needs_no_division():
    about = Linearization.of(['x'], {}, lambda x: np.full(1, np.nan), np.zeros(1))
    assert about.division('machine', 1.0).parts == 1


@pytest.mark.parametrize(
    ('rate', 'damped', 'parts'), [(-1e4, False, 4), (-1e4, True, 3), (1e4j, False, 4), (1e4j, True, 6)]
)
def test_a_step_is_divided_by_the_stability_limit_of_the_formula(rate, damped, parts):
    matrix = np.array([[0.0, rate.imag], [-rate.imag, 0.0]]) if rate.imag else np.array([[rate]])
    about = Linearization(matrix.real, [f'state_{k}' for k in range(len(matrix))])
    assert about.division('machine', 1e-3, damped).parts == parts


def test_implicit_states_slow_down_with_the_step():
    about = Linearization(np.array([[-1e6]]), ['pressure'], [0])
    assert about.division('machine', 1e-3).parts == 1
    assert Linearization(np.array([[-1e6]]), ['current']).division('machine', 1e-3).parts > 300


@pytest.mark.parametrize('seed', range(20))
def test_the_bound_on_rates_is_valid_and_tight(seed):
    random = np.random.default_rng(seed)
    matrix = random.standard_normal((8, 8)) * 10.0 ** random.uniform(-3, 3, (8, 1))
    greatest = np.abs(np.linalg.eigvals(matrix)).max()
    assert greatest <= bound_on_rates(matrix) * (1.0 + 1e-9) <= 2.0 * greatest


def test_an_absurd_rate_is_rejected_at_once():
    with pytest.raises(TooFastError, match='machine: x moves with a rate of'):
        Linearization(np.array([[-1e18]]), ['x']).division('machine', 1e-3)
