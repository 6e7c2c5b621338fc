"""RM-1 by Kane's equations: numbers of tanner-1998, sections 6.2 and 6.3, and statements S3 to S6, S10."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dyn_nodes.constraints.kane.parts import Part
from dyn_nodes.constraints.operational_space import operational_space
from dyn_nodes.studies.framework import Study, run_study
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
    for found in agreement.values():
        assert max(found.multipliers, found.complement, found.engine) < 1e-12
        assert found.speeds < 1e-10


@pytest.mark.pins('tanner-1998/6.2/wrench-agreement', 'tanner-1998/3.1/S4')
def test_extra_speeds_give_the_wrench_of_newton_and_euler(agreement, state):
    assert max(found.wrench for found in agreement.values()) < 1e-12
    assert len(state[0].u) == 5


@pytest.mark.pins('tanner-1998/3.1/S3')
def test_forces_that_do_no_work_do_not_contribute(agreement):
    assert max(found.idle for found in agreement.values()) < 1e-12


@pytest.mark.pins('tanner-1998/6.2/W')
def test_the_rate_of_turning_by_the_independent_speeds(state):
    yaw = rm_1().blocks.tree.velocity_index('yaw')
    assert state[0].W[yaw] == pytest.approx([-3.196170257, 5.850550413, 0, 0, 0], abs=PRINTED)
    assert state[0].bias[yaw] == pytest.approx(-2.666666667, abs=PRINTED)


@pytest.mark.pins('tanner-1998/6.2/M')
def test_mass_matrix(state):
    upper = [
        144.0769417, -120.6183674, -4.603096482, -0.4428372715, 0.06243949672, 287.3011308, 6.889422005,
        -0.9006995343, 0.1269974983, 0.8023569571, 0, 0, 0.9335973892, 0.2079236946, 0.10225,
    ]  # fmt: skip
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


@pytest.mark.pins('tanner-1998/6.2/C')
def test_velocity_terms(state):
    expected = [46.731373872, -89.231024089, -2.180743441, 0.507223865, -0.125144995]
    assert state[0].convective == pytest.approx(expected, rel=PRINTED, abs=1e-9)


@pytest.mark.pins('tanner-1998/6.2/G')
def test_weights_and_generalized_efforts(state):
    here, tau = state
    assert here.gravity == pytest.approx([0, 0, 0, 18.556812945, 3.983036657], rel=PRINTED, abs=1e-12)
    assert here.efforts(tau) == pytest.approx([53.467638867, 6.419625692, 2, 30, 8], rel=PRINTED)


@pytest.mark.pins('tanner-1998/6.2/rates')
def test_accelerations_at_the_reference_state(state):
    here, tau = state
    expected = [0.611200938, 0.491273735, 4.498706233, 6.716447604, 25.868421742]
    assert here.speed_rates(tau) == pytest.approx(expected, rel=PRINTED)
    turning = here.accelerations(tau)[rm_1().blocks.tree.velocity_index('yaw')]
    assert turning == pytest.approx(-1.745947169, rel=PRINTED)


@pytest.mark.pins('tanner-1998/6.2/multiplier')
def test_the_lateral_force_on_the_axle(state):
    here, tau = state
    names, forces = rm_1().blocks.row_names, here.multipliers(tau)
    lateral = sum(forces[names.index(f'{wheel}_ground/lateral')] for wheel in ('left', 'right'))
    assert lateral == pytest.approx(11.354501727, rel=PRINTED)


@pytest.mark.pins('tanner-1998/6.2/mount')
def test_the_wrench_between_arm_and_vehicle(state):
    here, tau = state
    wrench = here.mount_wrench(rm_1().mount, tau)
    assert wrench.force == pytest.approx([-1.763433729, -4.459365517, -175.111712499], rel=PRINTED)
    assert wrench.torque == pytest.approx([-22.460408680, 19.507592451, -1.973810792], rel=PRINTED)
    force, torque = wrench.local
    assert force == pytest.approx([-3.685492404, -3.068026250, -175.111712499], rel=PRINTED)
    assert torque == pytest.approx([-10.358424972, 27.887616488, -1.973810792], rel=PRINTED)


@pytest.mark.pins('tanner-1998/6.2/static')
def test_the_wrench_between_arm_and_vehicle_at_rest():
    robot = rm_1()
    here = kanes_equations(robot.blocks, SPEEDS).at(robot.position(S0), robot.velocity(np.zeros(5)))
    held = np.zeros(robot.blocks.tree.nv)
    held[[robot.blocks.tree.velocity_index(name) for name in SPEEDS]] = here.gravity
    force, torque = here.mount_wrench(robot.mount, held).local
    assert force == pytest.approx([0, 0, -152.055], abs=1e-9)
    assert torque == pytest.approx([-7.226363336, 17.091956577, 0], abs=1e-8)


@pytest.mark.pins('tanner-1998/6.2/energy')
def test_energies_and_hand_at_the_reference_state(state):
    here, _ = state
    robot = rm_1()
    place = here.places[robot.hand.body]
    potential = robot.blocks.energies(here.q, here.v)[1] - 75.5 * 9.81 * 0.3  # from the height of the mass centre
    assert [here.kinetic_energy, potential] == pytest.approx([12.208579528, 59.750359174], rel=1e-9)
    hand = place.p + place.R @ robot.hand.p
    velocity = place.moving_at(hand) @ here.v
    assert [*hand[:2], hand[2] - 0.3] == pytest.approx([0.800819334, 0.368464865, 0.522424917], abs=1e-9)
    assert velocity == pytest.approx([-0.154222065, 0.964670748, -0.031743367], abs=1e-9)


@pytest.mark.pins('tanner-1998/6.2/free')
def test_a_free_run_keeps_its_energy_and_rolls():
    robot = rm_1()
    still = np.zeros(robot.blocks.tree.nv)
    end = by_multipliers(robot, S0, START, lambda t: still, 0.5)
    q = [0.4789905125, 0.0230629051, 0.8890434877, 1.8913111309, -1.8643461264, -0.4963853827]
    u = [0.1672321276, 0.4296295643, 2.9006626402, -5.2220750332, -8.5035430678]
    assert end.q == pytest.approx(q, abs=1e-7)
    assert end.u == pytest.approx(u, abs=1e-6)
    assert end.gain == pytest.approx(0.0, abs=1e-8)


@pytest.mark.pins('tanner-1998/6.2/driven', 'tanner-1998/3.1/S1')
def test_a_driven_run_gains_the_work_of_its_torques():
    robot = rm_1()
    tau = robot.efforts((0.5, 18.0, 4.0), T0_DRIVES)
    end = by_kane(robot, S0, START, lambda t: tau, 0.5, 1e-8)
    q = [0.5529691833, 0.0388893086, 0.7377809683, 0.7801425286, -0.0492466705, 0.5268665020]
    u = [0.6383533116, 0.6278083301, 1.2538443458, -2.9071854703, 6.6667022222]
    assert end.q == pytest.approx(q, abs=1e-6)
    assert end.u == pytest.approx(u, abs=1e-6)
    assert end.work == pytest.approx(10.778072904, abs=1e-6)
    assert end.lateral < 1e-10
    other = by_multipliers(robot, S0, START, lambda t: tau, 0.5)
    assert [other.work, other.gain] == pytest.approx([10.778072904] * 2, abs=1e-8)


@pytest.mark.pins('tanner-1998/6.2/free-2')
def test_a_free_run_of_two_seconds():
    robot = rm_1()
    still = np.zeros(robot.blocks.tree.nv)
    end = by_multipliers(robot, S0, START, lambda t: still, 2.0)
    q = [0.784601643, 0.786752353, 1.264038350, 4.075543746, 0.302832703, -1.404338432]
    u = [0.136337442, 0.514249412, 0.859756969, -4.805945358, 1.913102676]
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
    """Reduced by the engine's own elimination, which is Kane's to round-off."""
    robot = rm_1()
    torques = swinging(robot)
    places = [robot.blocks.tree.velocity_index(name) for name in ('x', 'y', 'yaw', *ARM)]

    def rates(t, x):
        own = moving(x)
        hand = own.hand(torques(t))
        return np.append((own.partial @ own.u)[places], np.linalg.solve(hand.inertia, hand.free))

    end = solve_ivp(rates, (0.0, 2.0), np.append(S0, START), 'DOP853', rtol=1e-11, atol=1e-13).y[:, -1]
    whole = by_multipliers(robot, S0, START, torques, 2.0, 1e-11)
    assert end[:6] == pytest.approx(whole.q, abs=1e-8)
    assert end[6:] == pytest.approx(whole.u, abs=5e-8)


@pytest.mark.pins('tanner-1998/6.2/steered')
def test_a_run_on_a_wheel_that_is_steered_by_the_heading():
    robot = steered_robot()
    tau = robot.efforts(kane.STEERED_JOINTS, kane.STEERED_TORQUES)
    end = by_multipliers(robot, S0, np.array(kane.STEERED_SPEEDS), lambda t: tau, 1.0)
    q = [0.738450215, 0.237473298, 0.226619687, 2.073858121, -0.818232425, 5.236803598]
    assert end.q == pytest.approx(q, abs=1e-6)
    assert [end.work, end.gain] == pytest.approx([11.993339370] * 2, abs=1e-8)


@pytest.mark.pins('tanner-1998/6.2/vehicle')
def test_the_vehicle_alone_moves_in_closed_form():
    ahead, turning = kane.vehicle_alone()
    assert ahead == pytest.approx(0.929333333, abs=1e-9)
    assert turning == pytest.approx(-1.233644860, abs=1e-9)


@pytest.mark.pins('tanner-1998/6.2/tilted')
def test_inertia_torque_about_tilted_principal_axes():
    c, s = np.cos(np.radians(10.0)), np.sin(np.radians(10.0))
    R = np.array([(c, 0.0, s), (0.0, 1.0, 0.0), (-s, 0.0, c)])
    up, none = np.array([0.0, 0.0, 1.0]), np.zeros((3, 0))
    part = Part(0, 1.0, R @ np.diag((2, 3, 4)) @ R.T, up, none, none, 1.5 * up, up, up)
    torque = part.inertia_torque(0.7 * up)
    assert torque == pytest.approx([-0.239414100, -0.769545322, -2.757784835], abs=1e-8)
    wx, wy, wz = R.T @ part.omega
    ax, ay, az = R.T @ (0.7 * up)
    by_axes = [-(ax * 2 - wy * wz * (3 - 4)), -(ay * 3 - wz * wx * (4 - 2)), -(az * 4 - wx * wy * (2 - 3))]
    assert R.T @ torque == pytest.approx(by_axes, abs=1e-14)


@pytest.fixture(scope='module')
def space(state):
    return operational_space(state[0], rm_1().hand)


@pytest.mark.pins('tanner-1998/6.3/J')
def test_constrained_jacobian_of_the_hand(space):
    rows = [
        (2.8169104952, -3.3258323528, -0.5205223115, -0.0761005488, 0.0642944072),
        (-1.6007038596, 3.9300687611, 0.4130610778, -0.0958987319, 0.0810211256),
        (0, 0, 0, 0.6645020172, 0.3343677712),
    ]
    assert space.jacobian == pytest.approx(np.array(rows), abs=1e-9)
    assert space.bias == pytest.approx([0.6992331735, -1.8950008061, -0.0268282318], abs=1e-9)


@pytest.mark.pins('tanner-1998/6.3/Lambda')
def test_inertia_at_the_hand(space):
    upper = [2.9369313483, 1.4239341733, -0.9326069653, 3.5978523073, -1.1734845577, 1.3870915595]
    assert space.inertia[np.triu_indices(3)] == pytest.approx(upper, rel=1e-9)


@pytest.mark.pins('tanner-1998/6.3/mu')
def test_velocity_terms_and_weight_at_the_hand(space):
    assert space.velocity_term == pytest.approx([1.2402223236, 2.0335892316, -1.0345613139], rel=1e-8)
    assert space.gravity_term == pytest.approx([-19.8652515835, -24.9635754658, 21.6028952861], rel=1e-9)


@pytest.mark.pins('tanner-1998/6.3/inverse')
def test_the_inverse_has_least_energy_and_not_least_speeds(space, state):
    task, M = np.array([0.1, 0.2, -0.1]), state[0].inertia
    found = [space.inverse @ task, np.linalg.pinv(space.jacobian) @ task]
    energies = [0.5 * u @ M @ u for u in found]
    assert energies == pytest.approx([0.154851605, 1.723539338], abs=1e-9)
    assert [np.linalg.norm(u) for u in found] == pytest.approx([1.402664601, 0.250499410], abs=1e-9)


@pytest.mark.pins('tanner-1998/3.1/S6')
def test_dynamics_at_the_hand_are_the_projected_ones(space, state):
    here, tau = state
    efforts, load = here.efforts(tau), np.array([3.0, -2.0, -12.0])
    assert space.jacobian @ space.inverse == pytest.approx(np.eye(3), abs=1e-12)
    rates = np.linalg.solve(here.inertia, efforts - here.convective - here.gravity + space.jacobian.T @ load)
    assert space.acceleration(efforts, load) == pytest.approx(space.jacobian @ rates + space.bias, rel=1e-10)


@pytest.mark.parametrize(('own', 'claims'), [(kane.e2, 12), (kane.e3, 10), (kane.e5, 4), (operational, 6)])
def test_claims_of_the_studies_hold(own, claims, monkeypatch):
    monkeypatch.setattr(kane, 'STATES', 2)
    result = run_study(Study('tanner-1998/test', '', own))
    assert [claim.claim for claim in result.claims if not claim.passed] == []
    assert len(result.claims) == claims


@pytest.mark.slow
@pytest.mark.parametrize('own', [kane.e2, kane.e4])
def test_claims_of_200_states_and_of_runs_hold(own):
    result = run_study(Study('tanner-1998/test', '', own))
    assert [claim.claim for claim in result.claims if not claim.passed] == []
    assert len(result.claims) == 12
