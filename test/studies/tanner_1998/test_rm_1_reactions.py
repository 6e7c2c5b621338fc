"""Ground reactions of RM-1 at rest and in circles: numbers of tanner-1998, sections 6.4 and 6.6."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from dyn_nodes.stability import admissible_reactions
from dyn_nodes.stability.friction_cone import lateral_chord, necessary_lateral_check
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.tanner_1998.kane import reference
from dyn_nodes.studies.tanner_1998.robot import (
    AXLE,
    FRICTION,
    GRAVITY,
    MOUNT,
    S0_LOAD,
    S0_TRACTION,
    WHEELS,
    bodies,
    load_in_a_circle,
    reactions,
)
from dyn_nodes.studies.tanner_1998.team import BAR, Member, Team
from dyn_nodes.studies.tanner_1998.vehicle import rm_1

S0, LEFT, FRONT, BACK = (0.4, 0.6, -0.9), (np.pi / 2.0, 0.0, 0.0), (0.0, 0.0, 0.0), (np.pi, 0.0, 0.0)


def normal_forces(joints, **motion):
    return reactions(load_in_a_circle(joints, **motion)).split[:, 2]


@pytest.mark.pins('tanner-1998/3.1/S12', 'tanner-1998/3.1/S15')
def test_normal_forces_at_rest_are_unique_and_carry_the_weight():
    reaction = reactions(load_in_a_circle(S0), ranges=True)
    assert reaction.split[:, 2] == pytest.approx(tabulated('tanner-1998/6.4/static')[0], abs=1e-6)
    assert reaction.split[:, :2] == pytest.approx(0.0, abs=1e-9)
    assert reaction.split[:, 2].sum() == pytest.approx(tabulated('tanner-1998/6.4/static')[1])
    assert reaction.least[:, 2] == pytest.approx(reaction.greatest[:, 2], abs=1e-6)
    zmp = reaction.split[:, 2] @ WHEELS[:, :2] / tabulated('tanner-1998/6.4/static')[1]
    assert zmp == pytest.approx(tabulated('tanner-1998/6.4/static')[2], abs=1e-8)
    assert reaction.freedom == 1


def edge_distances(point):
    """Return the distances of a point from the right, the left and the rear side of the support triangle, m."""
    left, right, front = WHEELS[:, :2]
    return [
        float((b - a)[0] * (point - a)[1] - (b - a)[1] * (point - a)[0]) / float(np.linalg.norm(b - a))
        for a, b in ((right, front), (front, left), (left, right))
    ]


def test_distances_of_the_zero_moment_point_from_the_sides():
    static = reactions(load_in_a_circle(S0)).split[:, 2]
    moving = admissible_reactions(
        WHEELS, np.zeros(3), S0_LOAD[:3], S0_LOAD[3:], friction=(FRICTION, FRICTION, 0.0), traction=S0_TRACTION
    ).split[:, 2]
    points = [normal @ WHEELS[:, :2] / normal.sum() for normal in (static, moving)]
    assert points[1] == pytest.approx([0.038838856, 0.008299557], abs=1e-8)
    assert edge_distances(points[0]) == pytest.approx(tabulated('tanner-1998/6.4/edges')[0], abs=1e-8)
    assert edge_distances(points[1]) == pytest.approx(tabulated('tanner-1998/6.4/edges')[1], abs=1e-8)


def test_normal_forces_are_wrong_without_the_torque_of_the_arm_on_the_vehicle():
    """The printed moment balance omits it, as if the arm hung at the mount."""
    weight = bodies(S0).mass[1:].sum() * GRAVITY
    load = np.concatenate([60.0 * GRAVITY + weight, np.cross(MOUNT, weight)])
    assert reactions(load).split[:, 2] == pytest.approx(tabulated('tanner-1998/6.5/mount'), abs=1e-6)


def test_the_centripetal_balance_is_that_of_newton():
    """With the centre of mass ahead of the axle m a.e differs from m |e|^2 by m d w (V dw - w dV)."""
    robot = rm_1()
    here, tau = reference(robot)
    turn = robot.blocks.tree.velocity_index('yaw')
    rates = here.W @ here.speed_rates(tau) + here.bias
    yaw, omega = 0.5, 0.8
    velocity, acceleration = here.u[:2], here.speed_rates(tau)[:2]
    e = omega * np.array([-velocity[1], velocity[0]])
    speed = velocity @ (np.cos(yaw), np.sin(yaw))
    gained = acceleration @ (np.cos(yaw), np.sin(yaw)) + omega * velocity @ (-np.sin(yaw), np.cos(yaw))
    assert speed == pytest.approx(0.5)
    assert 60.0 * acceleration @ e == pytest.approx(tabulated('tanner-1998/6.4/centripetal')[0], abs=1e-7)
    assert 60.0 * e @ e == pytest.approx(tabulated('tanner-1998/6.4/centripetal')[1], abs=1e-8)
    difference = 60.0 * AXLE * omega * (speed * rates[turn] - omega * gained)
    assert difference == pytest.approx(tabulated('tanner-1998/6.4/centripetal')[2], abs=1e-7)
    assert 60.0 * (acceleration @ e - e @ e) == pytest.approx(difference, abs=1e-9)
    # the forces of ground (6.4, in vehicle axes) and arm cause this acceleration
    turned = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
    pushed = turned @ -S0_LOAD[:2] + here.mount_wrench(robot.mount, tau).force[:2]
    assert pushed @ e == pytest.approx(tabulated('tanner-1998/6.4/centripetal')[0], abs=1e-6)


@pytest.fixture(scope='module')
def in_motion():
    """RM-1 at S0 under T0: its equations, efforts and load on the ground."""
    here, tau = reference(rm_1())
    robot = Member(here, tau, None, np.zeros(3), np.zeros(3))
    return here, tau, Team(BAR).ground_load(robot, here.speed_rates(tau), np.zeros(3))


def test_the_load_on_the_ground_at_the_reference_state(in_motion):
    load = in_motion[2]
    expected = tabulated('tanner-1998/6.4/wrench')[0]
    assert -load == pytest.approx(expected, abs=1e-7)
    wheels = {'friction': (FRICTION, FRICTION, 0.0), 'traction': S0_TRACTION}
    reaction = admissible_reactions(WHEELS, np.zeros(3), load[:3], load[3:], **wheels)
    assert reaction.mismatch < 1e-10 * 763.7
    assert reaction.split[:, 2].sum() == pytest.approx(tabulated('tanner-1998/6.4/wrench')[1][0], abs=1e-6)
    assert reaction.split[:2, 1].sum() == pytest.approx(tabulated('tanner-1998/6.4/wrench')[1][1], abs=1e-6)
    assert reaction.freedom == 1
    open_ = (reaction.greatest - reaction.least) / np.linalg.norm(reaction.greatest - reaction.least)
    assert open_.ravel() == pytest.approx(np.array([0, 1, 0, 0, 1, 0, 0, 0, 0]) / np.sqrt(2.0), abs=1e-8)
    opposite = reaction.least[1] + reaction.greatest[0] - reaction.split[0] - reaction.split[1]
    assert opposite[1] == pytest.approx(0.0, abs=1e-6), 'the sum of both lateral forces is constant'


@pytest.mark.pins('tanner-1998/6.4/momentum')
def test_momenta_of_the_whole_vehicle_change_by_ground_reactions_and_weight(in_motion):
    """The reactions are the engine's multipliers, which are independent of momenta."""
    here, tau, load = in_motion
    tree = rm_1().blocks.tree
    ground = here.numbers.J.T @ here.multipliers(tau)
    along, about = (
        ground[[tree.velocity_index(name) for name in names]] for names in ('xyz', ('roll', 'pitch', 'yaw'))
    )
    turned = here.placements[tree.body('roll')].R
    assert turned.T @ along + load[:3] == pytest.approx(0.0, abs=1e-10)
    assert about + load[3:] == pytest.approx(0.0, abs=1e-10)
    heavier = rm_1(arm_scale=1.01)
    other, tau = reference(heavier)
    moved = Member(other, tau, None, np.zeros(3), np.zeros(3))
    changed = Team(BAR).ground_load(moved, other.speed_rates(tau), np.zeros(3))
    assert np.abs(changed - load).max() > 0.1, 'another arm changes the load'


def test_the_left_side_of_the_centripetal_balance(in_motion):
    """The corrected side is m a.e; the printed side, with the inertia force in R, is zero in every motion."""
    here, tau, load = in_motion
    turned = here.placements[rm_1().blocks.tree.body('roll')].R
    e = 0.8 * np.array([-here.u[1], here.u[0], 0.0])
    acceleration = np.append(here.speed_rates(tau)[:2], 0.0)
    ground, arm = turned @ -load[:3], here.mount_wrench(rm_1().mount, tau).force
    weight = 60.0 * GRAVITY
    assert (weight + arm + ground) @ e == pytest.approx(tabulated('tanner-1998/6.4/left-side')[0], abs=1e-7)
    rest = weight - 60.0 * acceleration + arm
    assert (rest + ground) @ e == pytest.approx(0.0, abs=1e-11)
    assert -rest[2] == pytest.approx(tabulated('tanner-1998/6.4/wrench')[0][2], abs=1e-6), (
        'vertical balance, eq. 5.1 with its sign'
    )


def test_normal_forces_with_the_arm_straight():
    assert normal_forces(LEFT) == pytest.approx(tabulated('tanner-1998/6.6/straight')[0], abs=1e-6)
    assert normal_forces(FRONT) == pytest.approx(tabulated('tanner-1998/6.6/straight')[1], abs=1e-6)
    assert normal_forces(BACK) == pytest.approx(tabulated('tanner-1998/6.6/straight')[2], abs=1e-6)


@pytest.mark.parametrize(
    ('joints', 'limit'), [(LEFT, tabulated('tanner-1998/6.6/payload')[0]), (FRONT, 45.3), (BACK, 21.3)]
)
def test_the_payload_that_lifts_a_wheel_is_the_payload_limit(joints, limit):
    lifting_load = brentq(lambda load: float(reactions(load_in_a_circle(joints, payload=load)).margin), 0.0, 100.0)
    assert lifting_load == pytest.approx(limit, rel=1e-4)


def test_reactions_in_a_circle_with_the_arm_to_the_left():
    load = load_in_a_circle(LEFT, 1.0, 0.8)
    reaction = reactions(load)
    assert reaction.split[:, 2] == pytest.approx(tabulated('tanner-1998/6.6/circle')[0], abs=1e-6)
    assert -load[[0, 1, 5]] == pytest.approx(tabulated('tanner-1998/6.6/circle')[1], abs=1e-6)
    assert reaction.split[:2, 0] == pytest.approx(tabulated('tanner-1998/6.6/circle')[2], abs=1e-6)
    chords = lateral_chord(reaction.split[:2, 2], reaction.split[:2, 0], FRICTION)
    assert chords == pytest.approx(tabulated('tanner-1998/6.6/circle')[3], abs=1e-5)


REACTIONS = [
    ((114.699, 370.767, 255.189), 267.928, (19.373, 248.555)),
    ((117.367, 360.355, 262.933), 258.789, (15.808, 242.981)),
    ((402.263, 83.203, 255.189), -199.815, None),
    ((392.680, 85.042, 262.933), -189.027, None),
]


@pytest.mark.pins('tanner-1998/3.1/S16')
@pytest.mark.parametrize(
    ('rate', 'speed', 'lift', 'reactions_there'),
    [*zip((0.5, 1.0, -0.5, -1.0), *tabulated('tanner-1998/6.6/E12'), REACTIONS)],
)
def test_in_a_circle_wheels_slide_before_one_lifts(rate, speed, lift, reactions_there):
    """Chords are exhausted, or the right wheel slips by its traction; reactions at the limit are as printed."""
    normal, lateral, chords = reactions_there

    def margin(v, friction=FRICTION):
        return float(reactions(load_in_a_circle(LEFT, v, rate), friction).margin)

    assert brentq(margin, 0.5 * speed, 1.5 * speed, rtol=1e-10) == pytest.approx(speed, rel=1e-5)
    lifted = brentq(lambda v: normal_forces(LEFT, speed=v, rate=rate)[:2].min(), 0.5 * lift, 1.5 * lift)
    assert lifted == pytest.approx(lift, rel=1e-5)
    assert margin(speed * (1.0 - 1e-6)) > 0.0 > margin(speed * (1.0 + 1e-6))
    reaction = reactions(load_in_a_circle(LEFT, speed, rate))
    assert reaction.split[:, 2] == pytest.approx(normal, abs=1e-3)
    assert reaction.split[:, 1].sum() == pytest.approx(lateral, abs=1e-3)
    pull = np.abs(reaction.split[1, 0]) / (FRICTION * reaction.split[1, 2])
    if chords is not None:
        reach = lateral_chord(reaction.split[:2, 2], reaction.split[:2, 0], FRICTION)
        assert reach == pytest.approx(chords, abs=1e-3)
        assert reach.sum() == pytest.approx(abs(lateral), rel=1e-5)
        assert pull < 1.0
    else:
        assert pull == pytest.approx(1.0, rel=1e-6)


@pytest.mark.pins('tanner-1998/3.1/S14')
def test_beyond_that_speed_the_balance_holds_and_no_reactions_are_admissible():
    reaction = reactions(load_in_a_circle(LEFT, 7.3, 0.5))
    assert reaction.mismatch < 1e-9
    assert not reaction.possible
    chords = lateral_chord(reaction.split[:2, 2], reaction.split[:2, 0], FRICTION)
    assert not necessary_lateral_check(chords, float(reaction.split[:2, 1].sum()))
