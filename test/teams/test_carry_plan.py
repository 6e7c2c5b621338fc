"""Carrying teams: robots from their files, courses from the object's pose, speeds, rejections by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.control.carry.plan import settled
from dyn_nodes.model.rotations import matrix_of_quaternion
from dyn_nodes.teams import load_team
from dyn_nodes.teams.carry_limits import Reserve, inverse, reactions
from dyn_nodes.teams.carry_plan import Course, carriage_of
from dyn_nodes.teams.holding import CarryError, holders_of

ACROSS = 0.5 * np.pi


@pytest.fixture(scope='module')
def carriage():
    team = load_team('team_bar')
    return carriage_of(team, 'bar', holders_of(team, 'bar', 0.7), 5.0, Reserve(), 1.0)


@pytest.fixture(scope='module')
def line(carriage):
    return carriage.along(Course('line', 1.5, bearing=ACROSS))


def test_the_pose_of_a_robot_follows_from_its_hand_and_its_joints(carriage):
    holder = carriage.holders[1]
    motion = holder.robot.motions(holder.start)[0] + (0.1, -0.2, 0.05, 0.12, -0.1)
    q = settled(holder.robot, holder.start, motion)
    point, turn = holder.robot.hand_pose(q)
    result = holder.state(point, turn, q[holder.indices], np.arange(5.0))
    assert result.q[:3] == pytest.approx(q[:3], abs=1e-12)
    assert matrix_of_quaternion(result.q[3:7]) == pytest.approx(matrix_of_quaternion(q[3:7]), abs=1e-12)
    assert holder.robot.at(*result).placement[:3] == pytest.approx(point, abs=1e-12)
    assert result.u == pytest.approx(np.arange(5.0))


def test_the_plan_starts_at_the_rest_state_of_the_team(carriage, line):
    first = line.at(0.0)
    for k, holder in enumerate(carriage.holders):
        motion = holder.robot.motions(holder.start)[0]
        assert first.hands.position[k] == pytest.approx(motion[:3], abs=2e-3), 'but for the squeeze'
        assert first.carriers.position[k] == pytest.approx(motion[3:], abs=1e-12)
        assert line.plan.ways[k].q[0] == pytest.approx(holder.start, abs=5e-3)
    assert not first.hands.rate.any()


def test_a_line_leads_across_the_bar_and_keeps_its_heading(line):
    first, last = line.at(0.0).center, line.at(line.ends + 1.0).center
    assert last - first == pytest.approx((0.0, 0.0, 1.5), abs=1e-9)


def test_a_figure_of_eight_starts_along_its_bearing_and_returns(carriage):
    path, end = Course(length=3.0, width=3.0, bearing=ACROSS).path(np.array([0.4, 1.0, 2.0]))
    result = path(np.linspace(0.0, end, 400))
    assert result.pose[0] == pytest.approx((0.4, 1.0, 2.0), abs=1e-9)
    assert result.pose[-1] == pytest.approx((0.4, 1.0, 2.0), abs=1e-9)
    assert np.arctan2(*result.velocity[0, [2, 1]]) == pytest.approx(0.4 + ACROSS)
    assert np.abs(np.diff(result.pose[:, 0])).max() < 0.1
    steady, _ = Course(length=3.0, width=3.0, bearing=ACROSS, turning=False).path(np.array([0.4, 1.0, 2.0]))
    assert steady(result.times).pose[:, 0] == pytest.approx(np.full(400, 0.4))
    assert steady(result.times).pose[:, 1:] == pytest.approx(result.pose[:, 1:])


def uses(carriage, plan, times):
    """Return the greatest share of friction, the least normal force and the greatest share of efforts of all robots."""
    result = [inverse(plan.plan, plan.at(float(t))) for t in times]
    worst = [0.0, np.inf, 0.0]
    for k, holder in enumerate(carriage.holders):
        efforts = np.array([instant[k][0] for instant in result])
        tractions = np.array([holder.robot.tractions(each) for each in efforts])
        ground = reactions([instant[k][1] for instant in result], tractions, holder.ability.friction)
        assert ground.robust.all()
        worst[0] = max(worst[0], float(ground.friction_use[:, :2].max()))
        worst[1] = min(worst[1], float(ground.split[..., 2].min()))
        worst[2] = max(worst[2], float(np.max(np.abs(efforts) / holder.ability.efforts)))
    return worst


def test_every_wheel_keeps_its_reserve_all_along(carriage, line):
    middle = 0.5 * (line.profile.times[1:] + line.profile.times[:-1])
    friction, lift, efforts = uses(carriage, line, middle)
    assert friction < 1.1 * carriage.reserve.friction, 'between the points of the grid, too'
    assert lift > 0.9 * carriage.reserve.lift
    assert efforts < carriage.reserve.efforts
    speeds = [np.hypot(*(line.at(t + 1e-4).center - line.at(t).center)[1:]) / 1e-4 for t in middle]
    assert 0.5 < max(speeds) < 1.001, 'the greatest speed bounds it'


@pytest.mark.parametrize('part', [0.05, 0.12, 0.2, 0.45, 0.7, 0.95])
def test_the_team_stops_along_its_path_within_its_reserve(carriage, line, part):
    start = part * line.ends
    braked = line.stopping(start)
    assert braked.at(start).center == pytest.approx(line.at(start).center, abs=1e-9)
    assert braked.profile.at(1e-6)[1] == pytest.approx(line.profile.at(start)[1], rel=1e-3)
    assert braked.ends < line.ends + 1e-9
    friction, lift, _ = uses(carriage, braked, np.linspace(start + 1e-6, braked.ends - 1e-6, 40))
    assert friction < 1.1 * carriage.reserve.friction
    assert lift > 0.9 * carriage.reserve.lift
    assert braked.at(braked.ends + 1.0).center == pytest.approx(braked.at(braked.ends).center)


def test_a_joint_that_would_leave_its_limits_is_named_with_its_position(carriage):
    text = (
        r"robot 'left': joint 'arm_joint_1': expected -3.14 to 3.14 on the whole path, "
        r'found 4.712 after 100 % of the path'
    )
    with pytest.raises(CarryError, match=text):
        carriage.along(Course(length=2.5, width=2.0, bearing=ACROSS))


@pytest.mark.parametrize(
    ('course', 'text'),
    [
        (Course('line', -1.0), 'path: length: expected a number > 0, found -1.0'),
        (Course(width=0.0), 'path: width: expected a number > 0, found 0.0'),
        (Course('spiral'), "path: expected figure_of_eight or line, found 'spiral'"),
    ],
)
def test_an_impossible_course_is_rejected(carriage, course, text):
    with pytest.raises(CarryError, match=text):
        carriage.along(course)


def test_the_object_moves_from_rest_to_a_pose(carriage, line):
    end = line.at(line.ends)
    onward = carriage.onward(end, np.array([0.3, 0.2, 1.9]))
    assert onward.at(0.0).center == pytest.approx(end.center)
    assert onward.at(onward.ends).center == pytest.approx((0.3, 0.2, 1.9))
    assert onward.plan.ways[0].q[0] == pytest.approx(end.states[0].q, abs=1e-6)
    with pytest.raises(CarryError, match='expected another pose than the one at the start'):
        carriage.onward(end, end.center)


def test_the_squeeze_is_part_of_the_forces_of_the_hands(carriage):
    for force in (0.0, 12.0):
        other = carriage.squeezed(force)
        here = other.at_rest(other.pose, [holder.start for holder in other.holders]).at(0.0)
        along = here.hands.position[1] - here.hands.position[0]
        inward = (here.forces[0] - here.forces[1]) @ along / np.linalg.norm(along) / 2.0
        assert inward == pytest.approx(force, abs=1e-3)
        assert here.forces.sum(axis=0) == pytest.approx((0.0, 0.0, 1.2 * 9.81), abs=1e-6)


def test_robots_on_tyres_are_rejected_by_name():
    team = load_team('team_plank')
    with pytest.raises(CarryError, match=r"robot 'left': expected a vehicle whose wheels roll by constraint"):
        holders_of(team, 'plank', 0.7)


def test_a_fixed_grasp_is_rejected_by_name(carriage):
    team = carriage.team
    grasps = {name: replace(grasp, kind='fixed') for name, grasp in team.grasps.items()}
    with pytest.raises(CarryError, match="grasp 'left_end': expected kind ball, found 'fixed'"):
        holders_of(replace(team, grasps=grasps), 'bar', 0.7)


def test_a_slope_is_rejected(carriage):
    robots = {
        name: replace(robot, machine=replace(robot.machine, slope=(0.0, 0.1)))
        for name, robot in carriage.team.robots.items()
    }
    with pytest.raises(CarryError, match='expected level ground under a team that carries'):
        carriage_of(replace(carriage.team, robots=robots), 'bar', carriage.holders, 5.0, Reserve(), 1.0)


def test_a_squeeze_of_an_object_without_stiffness_is_rejected(carriage):
    formation = carriage.formation
    slack = formation.load._replace(stiffness=np.zeros(1))
    with pytest.raises(CarryError, match='squeeze: expected internal forces that the rods of the object balance'):
        replace(carriage, formation=replace(formation, load=slack)).squeezed(5.0)
