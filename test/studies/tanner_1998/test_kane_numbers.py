"""RM-1 by Kane's equations: numbers of tanner-1998, sections 6.2 and 6.3, and statements S3 to S6, S10."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dyn_nodes.constraints.kane.parts import Part
from dyn_nodes.constraints.operational_space import operational_space
from dyn_nodes.studies.framework import Study, run_study
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.tanner_1998 import kane
from dyn_nodes.studies.tanner_1998.kane import reference
from dyn_nodes.studies.tanner_1998.kanes_equations import kanes_equations
from dyn_nodes.studies.tanner_1998.operational import operational
from dyn_nodes.studies.tanner_1998.runs import by_kane, by_multipliers, swinging
from dyn_nodes.studies.tanner_1998.team_runs import moving
from dyn_nodes.studies.tanner_1998.vehicle import (
    ARM,
    S0,
    S0_RATES,
    S0_SPEED,
    S0_TURN,
    SPEEDS,
    T0_DRIVES,
    axle_speeds,
    rm_1,
    steered_robot,
)

PRINTED = 1e-7
START = axle_speeds(S0[2], S0_SPEED, S0_TURN, S0_RATES)


@pytest.fixture(scope='module')
def state():
    return reference()


@pytest.fixture(scope='module')
def agreement():
    """Over fewer states than the study."""
    return {name: kane.compare(name, 8) for name in kane.ROBOTS}


@pytest.mark.pins('tanner-1998/6.2/agreement', 'tanner-1998/3.1/S10')
def test_accelerations_are_those_of_the_other_formulations(agreement):
    for differences in agreement.values():
        assert max(differences.multipliers, differences.complement, differences.engine) < 1e-12
        assert differences.speeds < 1e-10


@pytest.mark.pins('tanner-1998/6.2/wrench-agreement', 'tanner-1998/3.1/S4')
def test_extra_speeds_give_the_wrench_of_newton_and_euler(agreement, state):
    assert max(differences.wrench for differences in agreement.values()) < 1e-12
    assert len(state[0].u) == 5


@pytest.mark.pins('tanner-1998/3.1/S3')
def test_forces_that_do_no_work_do_not_contribute(agreement):
    assert max(differences.idle for differences in agreement.values()) < 1e-12


def test_the_rate_of_turning_by_the_independent_speeds(state):
    yaw = rm_1().blocks.tree.velocity_index('yaw')
    assert state[0].W[yaw] == pytest.approx(tabulated('tanner-1998/6.2/W')[0], abs=PRINTED)
    assert state[0].bias[yaw] == pytest.approx(tabulated('tanner-1998/6.2/W')[1], abs=PRINTED)


def test_mass_matrix(state):
    upper = tabulated('tanner-1998/6.2/M')  # fmt: skip
    assert state[0].inertia[np.triu_indices(5)] == pytest.approx(upper, rel=PRINTED, abs=1e-10)


@pytest.mark.pins('tanner-1998/3.1/S5')
def test_velocity_terms_are_free_of_accelerations(state):
    here, _ = state
    assert np.abs(here.inertia - here.inertia.T).max() < 1e-12
    assert np.linalg.eigvalsh(here.inertia)[0] > 0
    for rates in np.random.default_rng(2).normal(size=(3, 5)):
        a, total = here.W @ rates + here.bias, np.zeros(5)
        for part in here.parts:
            total += (part.moving @ here.W).T @ (part.mass * (part.moving @ a + part.acceleration))
            total -= (part.turning @ here.W).T @ part.inertia_torque(part.turning @ a + part.alpha)
        assert total - here.inertia @ rates == pytest.approx(here.convective, abs=1e-11)


def test_velocity_terms(state):
    expected = tabulated('tanner-1998/6.2/C')
    assert state[0].convective == pytest.approx(expected, rel=PRINTED, abs=1e-9)


def test_weights_and_generalized_efforts(state):
    here, tau = state
    assert here.gravity == pytest.approx(tabulated('tanner-1998/6.2/G')[0], rel=PRINTED, abs=1e-12)
    assert here.efforts(tau) == pytest.approx(tabulated('tanner-1998/6.2/G')[1], rel=PRINTED)


def test_accelerations_at_the_reference_state(state):
    here, tau = state
    expected = tabulated('tanner-1998/6.2/rates')[0]
    assert here.speed_rates(tau) == pytest.approx(expected, rel=PRINTED)
    turning = here.accelerations(tau)[rm_1().blocks.tree.velocity_index('yaw')]
    assert turning == pytest.approx(tabulated('tanner-1998/6.2/rates')[1], rel=PRINTED)


def test_the_lateral_force_on_the_axle(state):
    here, tau = state
    names, forces = rm_1().blocks.row_names, here.multipliers(tau)
    lateral = sum(forces[names.index(f'{wheel}_ground/lateral')] for wheel in ('left', 'right'))
    assert lateral == pytest.approx(tabulated('tanner-1998/6.2/multiplier'), rel=PRINTED)


def test_the_wrench_between_arm_and_vehicle(state):
    here, tau = state
    wrench = here.mount_wrench(rm_1().mount, tau)
    assert wrench.force == pytest.approx(tabulated('tanner-1998/6.2/mount')[0][:3], rel=PRINTED)
    assert wrench.torque == pytest.approx(tabulated('tanner-1998/6.2/mount')[0][3:], rel=PRINTED)
    force, torque = wrench.local
    assert force == pytest.approx(tabulated('tanner-1998/6.2/mount')[1][:3], rel=PRINTED)
    assert torque == pytest.approx(tabulated('tanner-1998/6.2/mount')[1][3:], rel=PRINTED)


def test_the_wrench_between_arm_and_vehicle_at_rest():
    robot = rm_1()
    here = kanes_equations(robot.blocks, SPEEDS).at(robot.position(S0), robot.velocity(np.zeros(5)))
    held = np.zeros(robot.blocks.tree.nv)
    held[[robot.blocks.tree.velocity_index(name) for name in SPEEDS]] = here.gravity
    force, torque = here.mount_wrench(robot.mount, held).local
    assert force == pytest.approx(tabulated('tanner-1998/6.2/static')[:3], abs=1e-9)
    assert torque == pytest.approx(tabulated('tanner-1998/6.2/static')[3:], abs=1e-8)


def test_energies_and_hand_at_the_reference_state(state):
    here, _ = state
    robot = rm_1()
    placement = here.placements[robot.hand.body]
    potential = robot.blocks.energies(here.q, here.v)[1] - 75.5 * 9.81 * 0.3  # from the height of the mass centre
    assert [here.kinetic_energy, potential] == pytest.approx(tabulated('tanner-1998/6.2/energy')[0], rel=1e-9)
    hand = placement.p + placement.R @ robot.hand.p
    velocity = placement.moving_at(hand) @ here.v
    assert [*hand[:2], hand[2] - 0.3] == pytest.approx(tabulated('tanner-1998/6.2/energy')[1], abs=1e-9)
    assert velocity == pytest.approx(tabulated('tanner-1998/6.2/energy')[2], abs=1e-9)


def test_a_free_run_keeps_its_energy_and_rolls():
    robot = rm_1()
    still = np.zeros(robot.blocks.tree.nv)
    end = by_multipliers(robot, S0, START, lambda t: still, 0.5)
    q = tabulated('tanner-1998/6.2/free')[0]
    u = tabulated('tanner-1998/6.2/free')[1]
    assert end.q == pytest.approx(q, abs=1e-7)
    assert end.u == pytest.approx(u, abs=1e-6)
    assert end.gain == pytest.approx(0.0, abs=1e-8)


@pytest.mark.pins('tanner-1998/3.1/S1')
def test_a_driven_run_gains_the_work_of_its_torques():
    robot = rm_1()
    tau = robot.efforts((0.5, 18.0, 4.0), T0_DRIVES)
    end = by_kane(robot, S0, START, lambda t: tau, 0.5, 1e-8)
    q = tabulated('tanner-1998/6.2/driven')[0]
    u = tabulated('tanner-1998/6.2/driven')[1]
    assert end.q == pytest.approx(q, abs=1e-6)
    assert end.u == pytest.approx(u, abs=1e-6)
    assert end.work == pytest.approx(tabulated('tanner-1998/6.2/driven')[2], abs=1e-6)
    assert end.lateral < 1e-10
    other = by_multipliers(robot, S0, START, lambda t: tau, 0.5)
    assert [other.work, other.gain] == pytest.approx([tabulated('tanner-1998/6.2/driven')[2]] * 2, abs=1e-8)


def test_a_free_run_of_two_seconds():
    robot = rm_1()
    still = np.zeros(robot.blocks.tree.nv)
    end = by_multipliers(robot, S0, START, lambda t: still, 2.0)
    q = tabulated('tanner-1998/6.2/free-2')[0]
    u = tabulated('tanner-1998/6.2/free-2')[1]
    assert end.q == pytest.approx(q, abs=1e-6)
    assert end.u == pytest.approx(u, abs=1e-6)
    assert end.gain == pytest.approx(0.0, abs=1e-8)
    assert end.lateral < 1e-10


@pytest.mark.pins('tanner-1998/6.2/reduced')
def test_a_reduced_run_is_the_unreduced_one():
    robot = rm_1()
    reduced = by_kane(robot, S0, START, swinging(robot), 0.2, 1e-9)
    whole = by_multipliers(robot, S0, START, swinging(robot), 0.2)
    assert reduced.q == pytest.approx(whole.q, abs=1e-8)
    assert reduced.u == pytest.approx(whole.u, abs=1e-7)


@pytest.mark.pins('tanner-1998/6.2/reduced')
def test_a_reduced_run_of_two_seconds_is_the_unreduced_one():
    """Reduced by the engine's elimination, which equals Kane's to round-off."""
    robot = rm_1()
    torques = swinging(robot)
    indices = [robot.blocks.tree.velocity_index(name) for name in ('x', 'y', 'yaw', *ARM)]

    def rates(t, x):
        robot_motion = moving(x)
        hand = robot_motion.hand(torques(t))
        return np.append((robot_motion.partial @ robot_motion.u)[indices], np.linalg.solve(hand.inertia, hand.free))

    end = solve_ivp(rates, (0.0, 2.0), np.append(S0, START), 'DOP853', rtol=1e-11, atol=1e-13).y[:, -1]
    whole = by_multipliers(robot, S0, START, torques, 2.0, 1e-11)
    assert end[:6] == pytest.approx(whole.q, abs=1e-8)
    assert end[6:] == pytest.approx(whole.u, abs=5e-8)


def test_a_run_on_a_wheel_that_is_steered_by_the_heading():
    robot = steered_robot()
    tau = robot.efforts(kane.STEERED_JOINTS, kane.STEERED_TORQUES)
    end = by_multipliers(robot, S0, np.array(kane.STEERED_SPEEDS), lambda t: tau, 1.0)
    q = tabulated('tanner-1998/6.2/steered')[0]
    assert end.q == pytest.approx(q, abs=1e-6)
    assert [end.work, end.gain] == pytest.approx([tabulated('tanner-1998/6.2/steered')[1]] * 2, abs=1e-8)


def test_the_vehicle_alone_moves_in_closed_form():
    ahead, turning = kane.vehicle_alone()
    assert ahead == pytest.approx(tabulated('tanner-1998/6.2/vehicle')[0], abs=1e-9)
    assert turning == pytest.approx(tabulated('tanner-1998/6.2/vehicle')[1], abs=1e-9)


def test_inertia_torque_about_tilted_principal_axes():
    c, s = np.cos(np.radians(10.0)), np.sin(np.radians(10.0))
    R = np.array([(c, 0.0, s), (0.0, 1.0, 0.0), (-s, 0.0, c)])
    up, none = np.array([0.0, 0.0, 1.0]), np.zeros((3, 0))
    part = Part(0, 1.0, R @ np.diag((2, 3, 4)) @ R.T, up, none, none, 1.5 * up, up, up)
    torque = part.inertia_torque(0.7 * up)
    assert torque == pytest.approx(tabulated('tanner-1998/6.2/tilted'), abs=1e-8)
    wx, wy, wz = R.T @ part.omega
    ax, ay, az = R.T @ (0.7 * up)
    by_axes = [-(ax * 2 - wy * wz * (3 - 4)), -(ay * 3 - wz * wx * (4 - 2)), -(az * 4 - wx * wy * (2 - 3))]
    assert R.T @ torque == pytest.approx(by_axes, abs=1e-14)


@pytest.fixture(scope='module')
def space(state):
    return operational_space(state[0], rm_1().hand)


def test_constrained_jacobian_of_the_hand(space):
    rows = tabulated('tanner-1998/6.3/J')[0].reshape(3, 5)
    assert space.jacobian == pytest.approx(np.array(rows), abs=1e-9)
    assert space.bias == pytest.approx(tabulated('tanner-1998/6.3/J')[1], abs=1e-9)


def test_inertia_at_the_hand(space):
    upper = tabulated('tanner-1998/6.3/Lambda')
    assert space.inertia[np.triu_indices(3)] == pytest.approx(upper, rel=1e-9)


def test_velocity_terms_and_weight_at_the_hand(space):
    assert space.velocity_term == pytest.approx(tabulated('tanner-1998/6.3/mu')[0], rel=1e-8)
    assert space.gravity_term == pytest.approx(tabulated('tanner-1998/6.3/mu')[1], rel=1e-9)


def test_the_inverse_has_least_energy_and_not_least_speeds(space, state):
    task, M = np.array([0.1, 0.2, -0.1]), state[0].inertia
    solutions = [space.inverse @ task, np.linalg.pinv(space.jacobian) @ task]
    energies = [0.5 * u @ M @ u for u in solutions]
    assert energies == pytest.approx(
        [tabulated('tanner-1998/6.3/inverse')[0][0], tabulated('tanner-1998/6.3/inverse')[1][0]], abs=1e-9
    )
    assert [np.linalg.norm(u) for u in solutions] == pytest.approx(
        [tabulated('tanner-1998/6.3/inverse')[0][1], tabulated('tanner-1998/6.3/inverse')[1][1]], abs=1e-9
    )


@pytest.mark.pins('tanner-1998/3.1/S6')
def test_dynamics_at_the_hand_are_the_projected_ones(space, state):
    here, tau = state
    efforts, load = here.efforts(tau), np.array([3.0, -2.0, -12.0])
    assert space.jacobian @ space.inverse == pytest.approx(np.eye(3), abs=1e-12)
    rates = np.linalg.solve(here.inertia, efforts - here.convective - here.gravity + space.jacobian.T @ load)
    assert space.acceleration(efforts, load) == pytest.approx(space.jacobian @ rates + space.bias, rel=1e-10)


@pytest.mark.parametrize(('function', 'claims'), [(kane.e2, 12), (kane.e3, 10), (kane.e5, 4), (operational, 6)])
def test_claims_of_the_studies_hold(function, claims, monkeypatch):
    monkeypatch.setattr(kane, 'STATES', 2)
    result = run_study(Study('tanner-1998/test', '', function))
    assert [claim.claim for claim in result.claims if not claim.passed] == []
    assert len(result.claims) == claims


@pytest.mark.slow
@pytest.mark.parametrize('function', [kane.e2, kane.e4])
def test_claims_of_200_states_and_of_runs_hold(function):
    result = run_study(Study('tanner-1998/test', '', function))
    assert [claim.claim for claim in result.claims if not claim.passed] == []
    assert len(result.claims) == 12
