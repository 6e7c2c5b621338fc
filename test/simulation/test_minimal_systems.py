"""Unrolled elimination against solvers that determine the rank in every step, on systems of several kinds."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.constraints import (
    ConstraintBlocks,
    Lock,
    MethodError,
    assemble,
    constrained_dynamics,
    projected_velocity,
)
from dyn_nodes.constraints.elimination import choose
from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.simulation import Inputs, Settings, System
from dyn_nodes.studies.formulations.minimal_run import run_minimal
from dyn_nodes.studies.formulations.minimal_system import MinimalSystem
from dyn_nodes.studies.freeman_1985 import machines
from dyn_nodes.studies.yesiloglu_2007 import models, wheeled

CASES = {
    'cart': lambda: wheeled.cart('contact'),
    'platform_circle': lambda: wheeled.platform('contact', True, wheeled.turning_angles(1.5)),
    'disc': lambda: wheeled.disc(0.2, 0.1, 0.7, 8.0, form='contact'),
    'planar_arms': models.planar_arms,
}


@pytest.mark.parametrize('name', CASES)
def test_accelerations_equal_those_of_the_reference_solver(name):
    model = CASES[name]()
    blocks = model.blocks()
    system = MinimalSystem(f'test_{name}', blocks, [model.q], model.actuated)
    rng = np.random.default_rng(2)
    for _ in range(5):
        v = projected_velocity(blocks, model.q, rng.normal(size=model.tree.nv))
        efforts = rng.normal(size=len(model.actuated))
        tau = np.zeros(model.tree.nv)
        for joint, effort in zip(model.actuated, efforts):
            tau[model.tree.velocity_index(joint)] = effort
        expected = constrained_dynamics(blocks, model.q, v, tau, method='saddle').acceleration
        accelerations = system.accelerations(model.q, v, efforts)
        assert accelerations == pytest.approx(expected, rel=1e-9, abs=1e-9 * (1 + np.abs(expected).max()))
        assert system.soundness(model.q, v) > 0


def test_a_run_equals_the_run_with_rank_detection():
    model = wheeled.cart('contact')
    inputs = Inputs.constant({'left_drive': -0.25, 'right_drive': -0.5})
    minimal = MinimalSystem('test_cart', model.blocks(), [model.q], model.actuated)
    run = run_minimal(minimal, model.q, model.v, 1.0, inputs, step=0.01, stride=10)
    assert run.status == 'done'
    dense = System.of_blocks('test_cart_dense', model.blocks(), model.actuated)
    other = dense.run(
        dense.state(model.q, model.v), run.times, inputs, settings=Settings(step=0.01, stabilization=None)
    )
    assert run.q == pytest.approx(other.q, abs=1e-10)
    assert run.v == pytest.approx(other.v, abs=1e-10)


def test_a_run_ends_with_a_reason_when_the_chosen_coordinates_become_dependent():
    model = wheeled.platform('contact')
    minimal = MinimalSystem('test_platform', model.blocks(), [model.q], model.actuated)
    inputs = Inputs.constant({f'{corner}_drive': -1.5 for corner in wheeled.CORNERS})
    still = minimal.accelerations(model.q, model.v, [0.0, -1.5] * 4)
    assert still[4] == pytest.approx(0.15846736, abs=1e-8)
    run = run_minimal(minimal, model.q, model.v, 0.2, inputs)
    assert 'rank changes' in run.status
    assert run.end < 0.05


def test_positions_of_different_rank_have_no_common_choice():
    straight, toe = wheeled.platform('contact'), wheeled.platform('contact', steering=dict.fromkeys(wheeled.CORNERS))
    toe.q[7:15:2] = (0.2, -0.2, 0.2, -0.2)
    with pytest.raises(MethodError, match='rank of the rows differs'):
        choose(straight.blocks(), [straight.q, toe.q])


def test_vectors_of_another_length_are_rejected():
    model = wheeled.disc(form='contact')
    system = MinimalSystem('test_disc', ConstraintBlocks(model.tree, model.constraints), [model.q])
    with pytest.raises(ValueError, match='expected 7 positions and 6 velocities'):
        system.accelerations(model.q[:-1], model.v, [])
    with pytest.raises(ValueError, match='expected 0 efforts'):
        system.accelerations(model.q, model.v, [1.0])
    with pytest.raises(ValueError, match='whole multiples'):
        run_minimal(system, model.q, model.v, 0.0105, step=1e-3)


def test_a_system_held_completely_does_not_move():
    model = wheeled.cart('contact')
    locks = [Lock(f'hold_{name}', name) for name in model.actuated]
    blocks = ConstraintBlocks(model.tree, [*model.constraints, *locks], gravity=model.gravity)
    system = MinimalSystem('test_cart_held', blocks, [model.q])
    # the rod still pitches about its axle, with the wheels as one body
    assert len(system.elimination.independent) == 1
    assert system.accelerations(model.q, model.v, []) == pytest.approx(np.zeros(8), abs=1e-12)


@pytest.fixture(scope='module')
def device():
    """Return the planar three-leg device and its inverse dynamics by the base joints."""
    leg_machine = machines.three_leg()
    names = leg_machine.actuated[::-1]
    return leg_machine, MinimalSystem('test_three_leg', leg_machine.blocks(), [leg_machine.q], independent=names), names


def test_inverse_dynamics_in_chosen_joints_equals_the_transfer_of_coordinates(device):
    leg_machine, system, names = device
    assert system.independent == names
    rng = np.random.default_rng(5)
    for _ in range(5):
        q = assemble(system.blocks, leg_machine.q + rng.uniform(-0.1, 0.1, leg_machine.q.shape))
        rates, accelerations = rng.normal(size=(2, 3))
        expected = leg_machine.parallel(q).actuated(names).effort(rates, accelerations)
        efforts = system.inverse_dynamics(q, rates, accelerations)
        assert efforts == pytest.approx(expected, rel=1e-10, abs=1e-11)


def test_efforts_of_the_inverse_dynamics_reproduce_the_accelerations(device):
    leg_machine, system, names = device
    blocks = system.blocks
    rates, accelerations = np.array([0.5, -0.2, 0.3]), np.array([1.0, 0.4, -0.7])
    indices = [blocks.tree.velocity_index(name) for name in names]
    N = Subspaces(blocks.at(leg_machine.q).J).motions
    tau = np.zeros(blocks.tree.nv)
    tau[indices] = system.inverse_dynamics(leg_machine.q, rates, accelerations)
    v = N @ np.linalg.solve(N[indices], rates)
    solved = constrained_dynamics(blocks, leg_machine.q, v, tau, method='saddle').acceleration
    assert solved[indices] == pytest.approx(accelerations, rel=1e-8)


def test_dependent_joints_and_vectors_of_another_length_are_rejected(device):
    leg_machine, system, _ = device
    with pytest.raises(
        MethodError, match=r'two_legs: leg_2_1, leg_1_1 do not determine the motion: \S+ can still move'
    ):
        MinimalSystem('two_legs', leg_machine.blocks(), [leg_machine.q], independent=('leg_2_1', 'leg_1_1'))
    with pytest.raises(ValueError, match=r'expected 9 positions, 3 rates and 3 accelerations, found .*\(2,\)'):
        system.inverse_dynamics(leg_machine.q, [0.0, 0.0], [0.0] * 3)
