"""Robots that carry an object: their equations, references, forces, and hands that slip off.

Independent checks: Kane's equations for the robots, printed states of two robots that drop a bar, energy, momentum.
"""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.constraints.errors import MethodError
from dyn_nodes.control.carry import Formation, Gains, HoldingRobot, TeamLaw, figure_of_eight, planned
from dyn_nodes.control.carry.formation import RobotState
from dyn_nodes.control.carry.law import efforts_for, taken_over
from dyn_nodes.control.carry.plan import settled
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.tanner_1998.carrying import ACTUATED, FRICTION, GRIP, MOST, holding_rm_1, starts, team_around
from dyn_nodes.studies.tanner_1998.kanes_equations import kanes_equations
from dyn_nodes.studies.tanner_1998.team import BAR, facing
from dyn_nodes.studies.tanner_1998.team_run import Hold, TeamRun
from dyn_nodes.studies.tanner_1998.vehicle import S0, S0_RATES, S0_SPEED, S0_TURN, SPEEDS, axle_speeds, rm_1
from dyn_nodes.teams.carry_limits import reactions

WHEEL_RATES = ((S0_SPEED - 0.3 * S0_TURN) / 0.1, (S0_SPEED + 0.3 * S0_TURN) / 0.1)
T0 = np.array([3.0, 2.0, 2.0, 30.0, 8.0])


@pytest.fixture(scope='module')
def robot():
    return holding_rm_1()


@pytest.fixture(scope='module')
def at_s0(robot):
    return robot.at(rm_1().position(S0), (*WHEEL_RATES, *S0_RATES))


@pytest.fixture(scope='module')
def plan():
    formation = team_around(BAR, squeeze=5.0)
    path = figure_of_eight(2.0, 1.6)
    return planned(formation, path, np.linspace(0.0, 1.2, 25), starts(formation, path, 0.0))


def test_a_robot_in_its_actuated_rates_accelerates_as_by_kanes_equations(robot, at_s0):
    kane = kanes_equations(rm_1().blocks, SPEEDS).at(
        rm_1().position(S0), rm_1().velocity(axle_speeds(S0[2], S0_SPEED, S0_TURN, S0_RATES))
    )
    wanted = kane.accelerations(rm_1().efforts(T0[2:], T0[:2]))
    result = np.linalg.solve(at_s0.inertia, T0 - at_s0.bias)
    assert result == pytest.approx(wanted[list(robot.indices)], rel=1e-9)
    _, position, velocity = tabulated('tanner-1998/6.2/energy')
    assert at_s0.placement[:3] == pytest.approx(position + np.array([0.0, 0.0, 0.3]), abs=1e-9)
    assert at_s0.rate[:3] == pytest.approx(velocity, abs=1e-9)


def test_its_load_on_the_ground_gives_the_printed_reactions(robot, at_s0):
    change = np.linalg.solve(at_s0.inertia, T0 - at_s0.bias)
    ground = robot.ground(at_s0.q, at_s0.u, change, np.zeros(3))
    result = reactions([ground], np.array([robot.tractions(T0)]), FRICTION * GRIP).split[0]
    expected = tabulated('tanner-1998/6.4/S0')[:3]
    assert result == pytest.approx(np.array(expected), abs=1e-6)


def test_joints_that_do_not_determine_the_motion_are_rejected():
    tree = rm_1().blocks.tree
    with pytest.raises(MethodError, match='expected drives that determine the motion, found none for left'):
        HoldingRobot(rm_1().blocks, ACTUATED[1:], rm_1().hand, tree.frame('axle'), rm_1().position(S0))


def test_references_of_the_joints_move_hands_and_vehicles_along_the_path(plan):
    hands, carriers = plan.formation.spread(plan.path(plan.parameters))
    for k, (robot, way) in enumerate(zip(plan.formation.robots, plan.ways)):
        result = np.array([robot.motions(q)[0] for q in way.q])
        assert result[:, :3] == pytest.approx(hands.position[:, k], abs=1e-8)
        assert result[:, 3:] == pytest.approx(carriers.position[:, k], abs=1e-8)
        across = np.array([robot.blocks.at(q, robot.motions(q)[2] @ rate).J @ (robot.motions(q)[2] @ rate)
                           for q, rate in zip(way.q, way.speed)])  # fmt: skip
        assert np.abs(across).max() < 1e-9, 'its wheels roll'


def test_rates_along_the_path_bend_as_their_differences(plan):
    def speeds(robot, k, q, s):
        hands, carriers = plan.formation.spread(plan.path([s]))
        return np.linalg.solve(robot.motions(q)[1], np.concatenate([hands.rate[0, k], carriers.rate[0, k]]))

    index, h = 7, 1e-5
    for k, (robot, way) in enumerate(zip(plan.formation.robots, plan.ways)):
        q, s = way.q[index], plan.parameters[index]
        along = robot.motions(q)[2] @ way.speed[index]
        ahead, behind = (speeds(robot, k, q + d * along, s + d) for d in (h, -h))
        assert (ahead - behind) / (2.0 * h) == pytest.approx(way.bend[index], abs=1e-5)


def test_a_hand_that_does_not_reach_is_rejected_with_its_distance(robot):
    q = rm_1().position(S0)
    far = robot.motions(q)[0] + (5.0, 0.0, 0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match=r'expected a hand that reaches its position on the path, found .* m off'):
        settled(robot, q, far)


def test_a_team_without_errors_accelerates_as_its_reference(plan):
    reference = plan.at(0.4, 0.6, 0.3)
    law = TeamLaw(plan.formation, Gains(), MOST)
    robots = plan.formation.robots
    states = []
    for k, (robot, state) in enumerate(zip(robots, reference.states)):
        position, rate = (
            np.concatenate([hand[k], carrier[k]]) for hand, carrier in zip(reference.hands[:2], reference.carriers[:2])
        )
        q = settled(robot, state.q, position)
        states.append(RobotState(q, np.linalg.solve(robot.motions(q)[1], rate)))
    team = TeamRun(robots, plan.formation.load, [Hold('a'), Hold('b')])
    here = team.start(states)
    _, _, accelerations, forces = team.rates(here, law.efforts(reference, here.robots))
    assert accelerations == pytest.approx(reference.hands.change, abs=1e-8)
    assert forces == pytest.approx(reference.forces, abs=1e-6)
    along = here.nodes[0] - here.nodes[1]
    inward = -(forces[0] - forces[1]) @ along / np.linalg.norm(along) / 2.0
    assert 4.0 < inward < 8.0, 'the squeeze is in the forces'


def test_posture_does_not_move_the_hand(at_s0):
    wanted = np.array([0.3, -0.2, 0.5, 1.0, -1.0])
    other = wanted + np.array([0.0, 0.0, 0.0, 4.0, 3.0])
    for accelerations in (wanted, other):
        efforts = efforts_for(at_s0, accelerations, np.array([1.0, 2.0, 3.0]))
        rates = np.linalg.solve(at_s0.inertia, efforts - at_s0.bias - at_s0.jacobian[:3].T @ (1.0, 2.0, 3.0))
        assert at_s0.jacobian @ rates + at_s0.drift == pytest.approx(accelerations, abs=1e-9)
    pushed = efforts_for(at_s0, other, np.zeros(3)) - efforts_for(at_s0, wanted, np.zeros(3))
    moved = at_s0.jacobian @ np.linalg.solve(at_s0.inertia, pushed)
    assert moved[:3] == pytest.approx(np.zeros(3), abs=1e-9)
    assert np.abs(moved[3:]).max() > 1.0


def test_efforts_stay_within_their_bounds(plan):
    reference = plan.at(0.4, 0.6, 0.3)
    far = [state._replace(q=state.q + 0.3) for state in reference.states]
    for efforts in TeamLaw(plan.formation, Gains(hand=60.0), MOST).efforts(reference, far):
        assert np.all(np.abs(efforts) <= MOST)
        assert np.any(np.abs(efforts) == MOST)


@pytest.mark.parametrize('stiffness', [0.8, 1.0, 1.2])
def test_the_squeeze_is_kept_on_objects_of_other_stiffness(plan, stiffness):
    """The hands are soft compared with the rods: their forces follow the set point, not a displacement."""
    reference = plan.at(0.0, 0.0, 0.0)
    law = TeamLaw(plan.formation, Gains(), MOST)
    load = BAR._replace(stiffness=stiffness * BAR.stiffness, damping=10.0 * BAR.damping)
    team = TeamRun(plan.formation.robots, load, [Hold('a'), Hold('b')])
    trace = team.run(team.start(reference.states), lambda time, state: law.efforts(reference, state.robots), 0.01, 40)
    end = trace.instants[-1]
    along = (end.state.nodes[1] - end.state.nodes[0]) / np.linalg.norm(end.state.nodes[1] - end.state.nodes[0])
    assert (end.forces[0] - end.forces[1]) @ along / 2.0 == pytest.approx(5.0, rel=0.1)


def test_hands_that_hold_take_over_the_load_of_hands_that_slipped_off():
    shares = np.array([(1.0, 0.0, 4.0), (0.0, 2.0, 4.0), (-1.0, 0.0, 4.0)])
    assert taken_over(shares, [False] * 3) == pytest.approx(shares)
    left = taken_over(shares, [False, True, False])
    assert left == pytest.approx(np.array([(1.0, 1.0, 6.0), (0.0, 0.0, 0.0), (-1.0, 1.0, 6.0)]))
    assert left.sum(axis=0) == pytest.approx(shares.sum(axis=0))
    assert not taken_over(shares, [True] * 3).any()


def dropped(holding=np.inf, load=BAR):
    motions = [(0.3, 0.2, (0.1, 0.2, -0.1)), (-0.3, 0.1, (-0.2, 0.1, 0.15))]
    robots = []
    for state, (speed, turn, rates) in zip(facing(load, motions), motions):
        wheels = ((speed - 0.3 * turn) / 0.1, (speed + 0.3 * turn) / 0.1)
        robots.append(RobotState(rm_1().position(state[:6]), np.array([*wheels, *rates])))
    team = TeamRun([holding_rm_1()] * 2, load, [Hold('left'), Hold('right', holding)])
    return team, team.start(robots)


def idle(time, state):
    return [np.zeros(5), np.zeros(5)]


def test_two_robots_drop_their_arms_with_the_bar_as_printed():
    team, start = dropped()
    trace = team.run(start, idle, 0.005, 40, substeps=1)
    first, second = (rm_1().state(state.q) for state in trace.instants[-1].state.robots)
    one, other, _, loss = tabulated('tanner-1998/6.8/damped')
    assert first == pytest.approx(one[:6], abs=2e-6)
    assert second == pytest.approx(other[:6], abs=2e-6)
    assert trace.instants[-1].state.robots[0].u[2:] == pytest.approx(one[8:], abs=2e-4)
    lost = team.energy(start) - team.energy(trace.instants[-1].state)
    assert lost == pytest.approx(loss, abs=1e-5)


def test_a_hand_slips_off_at_its_holding_force_and_the_object_keeps_its_momentum():
    team, start = dropped(holding=4.0)
    trace = team.run(start, idle, 0.005, 30, substeps=1)
    (slip,) = trace.slips
    assert slip.name == 'right'
    assert slip.force == pytest.approx(4.0, abs=1e-4)
    state, since = start, slip.time
    for span in [0.005] * int(since / 0.005) + [since % 0.005]:
        state = team.step(state, idle(0.0, state), span)
    free = state._replace(held=(True, False))
    assert team.momentum(free) == pytest.approx(team.momentum(state))
    assert team.energy(free) == pytest.approx(team.energy(state))
    after = next(instant for instant in trace.instants if instant.time > slip.time)
    step = after.time - slip.time
    pull = team.rates(free, idle(0.0, free))[3]
    weight = np.array([0.0, 0.0, -9.81 * BAR.lumped_mass.sum()])
    assert team.momentum(after.state) - team.momentum(free) == pytest.approx(step * (pull[0] + weight), abs=2e-3)
    assert np.all(after.forces[1] == 0.0)
    position = team.robots[1].at(*trace.instants[-1].state.robots[1]).placement[:3]
    assert np.linalg.norm(trace.instants[-1].state.nodes[1] - position) > 0.01, 'hand and bar part'


def test_a_bar_that_both_hands_lose_falls_freely():
    team, start = dropped()
    free = start._replace(held=(False, False))
    fallen = free
    for _ in range(10):
        fallen = team.step(fallen, idle(0.0, fallen), 0.005)
    mass = BAR.lumped_mass.sum()
    expected = team.momentum(free) + 0.05 * mass * np.array([0.0, 0.0, -9.81])
    assert team.momentum(fallen) == pytest.approx(expected, abs=1e-12)
    assert (BAR.mass @ fallen.nodes).sum(axis=0)[2] / mass == pytest.approx(
        (BAR.mass @ free.nodes).sum(axis=0)[2] / mass + 0.05 * team.momentum(free)[2] / mass - 0.5 * 9.81 * 0.05**2
    )


def test_a_hand_that_is_overloaded_at_the_start_slips_off_at_once():
    team, start = dropped(holding=0.1)
    trace = team.run(start, idle, 0.005, 1, substeps=1)
    assert trace.slips[0].time == 0.0


def test_a_formation_needs_a_robot_for_every_node():
    with pytest.raises(ValueError, match='expected a robot for each of 2 nodes, found 1'):
        Formation.around([holding_rm_1()], BAR, 0.6, 0.8)
