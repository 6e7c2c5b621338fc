"""Every measure compared with the specification's numbers, and common properties of the measures."""

from __future__ import annotations

import numpy as np
import pytest
from draws import reached, reaches
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.spatial.transform import Rotation

from dyn_nodes.measures import MEASURES
from dyn_nodes.stability import (
    Support,
    energy_level,
    energy_level_of_loads,
    extended_energy_level,
    force_angle,
    load_share,
    longitudinal_margin,
    margins,
    net_moment,
    planar_edge_moments,
    planar_energy_level,
    static_margin,
    support_order,
    zmp_degree,
)
from dyn_nodes.stability.energy import BALANCED, RESTRAINED, TIPPING

SEEDS = st.integers(0, 2**32 - 1)
BASE_WEIGHT = 12_000 * 9.81
BASE_COM = (-0.5, 0.0, 0.9)
# the planar base of the source, made wide: right, front, left, rear
WIDE = np.array([(-2.5, -9, 0), (2.5, -9, 0), (2.5, 9, 0), (-2.5, 9, 0)], dtype=float)
FRONT, REAR = 1, 3


def random_case(seed, up=(0.0, 0.0, 1.0), spread=1.0):
    """Return a random support polygon, a centre of mass above it and a load that mostly acts downwards."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(int(rng.integers(3, 8)), 3)) * (2, 2, 0.2)
    feet = points[support_order(points, up)]
    com = rng.normal(size=3) * spread + (0, 0, 1.5)
    force = rng.normal(size=3) * 30 + (0, 0, -150)
    moment = rng.normal(size=3) * 40
    return feet, com, force, moment


# ---------------------------------------------------------------------------------------------- static margins


def test_static_margin_of_a_rectangle():
    feet = [(0, 0, 0), (1, 0, 0), (1, 2, 0), (0, 2, 0)]
    result = static_margin(feet, (0.2, 0.7, 1.0))
    np.testing.assert_allclose(result.edges, (0.7, 0.8, 1.3, 0.2), rtol=1e-14)
    assert result.value == pytest.approx(0.2, rel=1e-14)
    assert result.valid


@pytest.mark.pins('abo-shanab-2003/6.4/pentagon_static')
def test_static_margin_of_the_pentagon():
    pentagon = [(-np.sin(a), np.cos(a), 0.0) for a in 2 * np.pi / 5 * np.arange(5)]
    assert static_margin(pentagon, (0, 0, 1)).value == pytest.approx(0.809017, abs=5e-7)
    assert static_margin(pentagon, (0.2, 0.1, 1)).value == pytest.approx(0.610558, abs=5e-7)


@reaches(inside=4, outside=4)
@given(SEEDS)
def test_static_margin_is_negative_exactly_outside_the_polygon(seed):
    feet, com, _, _ = random_case(seed, spread=2.0)
    value = static_margin(feet, com).value
    assume(abs(value) > 1e-9)
    joined = np.vstack([feet, com])
    joined[:, 2] = 0.0
    outside = len(feet) in support_order(joined)  # a point outside becomes a corner of the hull
    reached('inside', value > 0.0)
    reached('outside', value < 0.0)
    assert (value < 0) == outside


def test_longitudinal_margin_is_measured_along_the_travel():
    feet = np.array([(0, 0, 0), (4, 0, 0), (4, 2, 0), (0, 2, 0)], dtype=float)
    ahead = longitudinal_margin(feet, (1.0, 0.5, 3.0))
    assert (ahead.value, ahead.front, ahead.rear) == (1.0, 3.0, 1.0)
    left = longitudinal_margin(feet, (1.0, 0.5, 3.0), travel=(0, 2, 7))
    assert (left.front, left.rear) == (1.5, 0.5)
    diagonal = longitudinal_margin(feet, (1.0, 0.5, 3.0), travel=(1, 1, 0))
    assert diagonal.front == pytest.approx(1.5 * np.sqrt(2), rel=1e-14)


def test_longitudinal_margin_outside_the_polygon():
    feet = np.array([(0, 0, 0), (4, 0, 0), (4, 2, 0), (0, 2, 0)], dtype=float)
    passed = longitudinal_margin(feet, (5.0, 0.5, 3.0))
    assert passed.valid
    assert (passed.value, passed.front, passed.rear) == (-1.0, -1.0, 5.0)
    beside = longitudinal_margin(feet, (1.0, 2.5, 3.0))
    assert not beside.valid
    assert beside.value == -np.inf


# ---------------------------------------------------------------------------------------------- energy, planar

FRONT_DISTANCE, FRONT_ANGLE = np.hypot(3.0, 0.9), np.arctan2(3.0, 0.9)
REAR_DISTANCE, REAR_ANGLE = np.hypot(2.0, 0.9), np.arctan2(2.0, 0.9)


@pytest.mark.pins('abo-shanab-2003/6.4/base_geometry', 'abo-shanab-2003/6.4/rear_level')
def test_geometry_of_the_base_is_the_specified_one():
    distances = (FRONT_DISTANCE, REAR_DISTANCE)
    np.testing.assert_allclose(distances, (3.132092, 2.193171), rtol=0, atol=5e-7)
    np.testing.assert_allclose(np.degrees((FRONT_ANGLE, REAR_ANGLE)), (73.300756, 65.772255), rtol=0, atol=5e-7)
    np.testing.assert_allclose(BASE_WEIGHT * FRONT_DISTANCE, 368_709.8647, rtol=0, atol=5e-5)


@pytest.mark.parametrize(
    ('moment', 'phi', 'level'),
    [
        (-200_000, -0.57333, 574_338.819),
        (-100_000, -0.27466, 404_341.639),
        (0, 0.0, 262_761.865),
        (100_000, 0.27466, 148_473.732),
        (200_000, 0.57333, 62_603.006),
        (300_000, 0.95040, 9_722.451),
        (350_000, 1.25086, 45.672),
    ],
)
@pytest.mark.pins('abo-shanab-2003/6.4/extended_level')
def test_extended_level_of_the_front_edge(moment, phi, level):
    planar = planar_energy_level(moment, weight=BASE_WEIGHT, distance=FRONT_DISTANCE, angle=FRONT_ANGLE)
    assert planar.level == pytest.approx(level, abs=5e-4)
    assert planar.equilibrium == pytest.approx(phi, abs=5e-6)
    assert planar.regime == BALANCED
    in_space = extended_energy_level(WIDE, BASE_COM, (0, 0, -BASE_WEIGHT), (0, moment, 0))
    assert in_space.edges[FRONT] == pytest.approx(level, abs=5e-4)
    angle = np.linspace(phi if moment else 0.0, FRONT_ANGLE, 20_001)
    angle[0] = planar.equilibrium
    net = BASE_WEIGHT * FRONT_DISTANCE * np.sin(angle) - moment
    widths = np.diff(angle)
    assert np.sum(widths * (net[1:] + net[:-1]) / 2) == pytest.approx(planar.level, rel=1e-6)


@pytest.mark.pins('abo-shanab-2003/6.4/extended_level_zero')
def test_extended_level_vanishes_where_the_machine_starts_to_tip():
    at_the_verge = extended_energy_level(WIDE, BASE_COM, (0, 0, -BASE_WEIGHT), (0, 353_160, 0))
    assert at_the_verge.edges[FRONT] == 0.0
    assert at_the_verge.regime[FRONT] == TIPPING
    assert not at_the_verge.valid
    planar = planar_energy_level(353_160, weight=BASE_WEIGHT, distance=FRONT_DISTANCE, angle=FRONT_ANGLE)
    assert planar.level == pytest.approx(0.0, abs=1e-6)


@pytest.mark.pins('abo-shanab-2003/6.4/rear_level', 'abo-shanab-2003/6.4/slope_levels')
def test_levels_of_the_rear_edge_and_on_the_slope():
    def level(distance, angle):
        return planar_energy_level(0.0, weight=BASE_WEIGHT, distance=distance, angle=angle).level

    assert level(REAR_DISTANCE, REAR_ANGLE) == pytest.approx(152_232.116, abs=5e-4)
    slope = np.radians(20)
    assert np.degrees(FRONT_ANGLE - slope) == pytest.approx(53.300756, abs=5e-7)
    assert level(FRONT_DISTANCE, FRONT_ANGLE - slope) == pytest.approx(148_363.477, abs=5e-4)
    assert level(REAR_DISTANCE, REAR_ANGLE + slope) == pytest.approx(239_146.785, abs=5e-4)
    up = (-np.sin(slope), 0, np.cos(slope))  # front downhill
    levels = energy_level(WIDE, BASE_COM, 12_000, up).edges
    assert levels[FRONT] == pytest.approx(148_363.477, abs=5e-4)
    assert levels[REAR] == pytest.approx(239_146.785, abs=5e-4)


def test_rules_of_validity():
    size = BASE_WEIGHT * FRONT_DISTANCE
    values = np.array([-1.2, -1.0, 0.9, 0.97, 1.2]) * size
    result = planar_energy_level(values, weight=BASE_WEIGHT, distance=FRONT_DISTANCE, angle=FRONT_ANGLE)
    assert result.regime.tolist() == [RESTRAINED, BALANCED, BALANCED, TIPPING, TIPPING]
    assert result.level[3] == result.level[4] == 0.0
    assert result.equilibrium[0] == -np.pi / 2
    expected = size * (0 - np.cos(FRONT_ANGLE)) + 1.2 * size * (FRONT_ANGLE + np.pi / 2)
    assert result.level[0] == pytest.approx(expected, rel=1e-12)
    assert (np.diff(result.level[:4]) < 0).all()


def test_level_falls_continuously_where_rule_four_takes_over():
    size = BASE_WEIGHT * FRONT_DISTANCE
    near = planar_energy_level(
        [-size * (1 + 1e-12), -size * (1 - 1e-12)], weight=BASE_WEIGHT, distance=FRONT_DISTANCE, angle=FRONT_ANGLE
    )
    assert near.regime.tolist() == [RESTRAINED, BALANCED]
    assert near.level[0] == pytest.approx(near.level[1], rel=1e-8)


# ---------------------------------------------------------------------------------------------- energy, in space


@pytest.mark.pins('abo-shanab-2003/6.4/levels_in_space')
def test_levels_in_space():
    feet = [(-2, -1, 0), (2, -1, 0), (2, 1, 0), (-2, 1, 0)]  # right, front, left, rear
    result = energy_level(feet, (0.3, 0.1, 1.2), 1000)
    np.testing.assert_allclose(result.edges, (4197.523, 8641.288, 2943.000, 13677.341), atol=5e-4)
    assert result.value == pytest.approx(2943.000, abs=5e-4)
    assert static_margin(feet, (0.3, 0.1, 1.2)).value == pytest.approx(0.9, rel=1e-14)


@pytest.mark.pins('abo-shanab-2003/6.4/levelled_body')
def test_levelled_body_on_a_slope_has_equal_static_margins_but_a_smaller_level_downhill():
    feet = [(-2, -1, 0), (2, -1, -0.5), (2, 1, -0.5), (-2, 1, 0)]
    result = energy_level(feet, (0, 0, 1.2), 1000)
    np.testing.assert_allclose(result.edges, (3050.543, 9073.082, 3050.543, 11108.655), atol=5e-4)
    along = longitudinal_margin(feet, (0, 0, 1.2))
    assert along.front == along.rear == 2.0
    assert result.edges[1] < result.edges[3]


@reaches(inside=8, outside=4, valid=4, sloping=8)
@given(SEEDS)
def test_gravity_level_is_the_height_formula(seed):
    feet, com, _, _ = random_case(seed)
    inside = static_margin(feet, com).edges
    levels = energy_level(feet, com, 20.0)
    reached('inside', (inside > 1e-6).any())
    reached('outside', (inside < 0.0).any())
    reached('valid', levels.valid)
    reached('sloping', np.ptp(feet[:, 2]) > 0.01)
    for i, point in enumerate(feet):
        edge = feet[(i + 1) % len(feet)] - point
        edge /= np.linalg.norm(edge)
        arm = com - point - (com - point) @ edge * edge
        height = np.linalg.norm(arm) * np.sqrt(1 - edge[2] ** 2) - arm[2]
        if inside[i] > 1e-6:
            assert levels.edges[i] == pytest.approx(20.0 * 9.81 * height, rel=1e-9, abs=1e-9)
        elif inside[i] < 0:
            assert levels.edges[i] == 0.0
    assert levels.valid == (inside > 0).all()


@given(SEEDS)
@settings(max_examples=40)
def test_level_is_the_work_to_the_first_stationary_maximum(seed):
    """The definition, by Rodrigues' rotation of the body, for loads at several points."""
    feet, _, _, moment = random_case(seed)
    rng = np.random.default_rng(seed + 1)
    points = np.array((0, 0, 1.5)) + rng.normal(size=(3, 3))
    forces = np.array((0, 0, -60)) + rng.normal(size=(3, 3)) * 20
    result = energy_level_of_loads(feet, points, forces, moment)
    for i, foot in enumerate(feet):
        axis = feet[(i + 1) % len(feet)] - foot
        axis /= np.linalg.norm(axis)

        def work(theta, axis=axis, foot=foot):
            turned = Rotation.from_rotvec(theta * axis).apply(points - foot) + foot
            return -np.sum(forces * (turned - points)) - moment @ axis * theta

        angles = np.linspace(0, 2 * np.pi, 721)
        values = np.array([work(angle) for angle in angles])
        if values[1] <= values[0]:
            assert result.edges[i] <= max(0.0, *values[:3]) + 1.0
            continue
        falls = np.flatnonzero(np.diff(values) < 0)
        if result.regime[i] == BALANCED:
            top = angles[falls[0]]
            best = minimize_scalar(lambda x: -work(x), bounds=(top - 0.02, top + 0.02), options={'xatol': 1e-12})
            assert result.edges[i] == pytest.approx(-best.fun, rel=1e-8, abs=1e-8)
        elif result.regime[i] == RESTRAINED:
            assert falls.size == 0


# ---------------------------------------------------------------------------------------------- force-angle


@pytest.mark.pins('abo-shanab-2003/6.4/force_angle')
def test_force_angle_of_the_base():
    still = force_angle(WIDE, BASE_COM, (0, 0, -117_720))
    assert still.angles[FRONT] == pytest.approx(1.2793395, abs=5e-8)
    assert still.angles[REAR] == pytest.approx(1.1479424, abs=5e-8)
    assert still.distances[[FRONT, REAR]] == pytest.approx((3.0, 2.0), rel=1e-12)
    assert still.edges[[FRONT, REAR]] == pytest.approx((451_811.549, 270_271.559), abs=5e-4)
    assert still.value == pytest.approx(270_271.559, abs=5e-4)


@pytest.mark.pins('abo-shanab-2003/6.4/force_angle_pushed')
def test_force_angle_with_a_forward_force():
    pushed = force_angle(WIDE, BASE_COM, (50_000, 0, -117_720))
    assert pushed.angles[FRONT] == pytest.approx(0.8776920, abs=5e-8)
    assert pushed.distances[FRONT] == pytest.approx(2.4094126, abs=5e-8)
    assert np.hypot(50_000, 117_720) == pytest.approx(127_898.391, abs=5e-4)
    assert pushed.edges[[FRONT, REAR]] == pytest.approx((270_469.553, 434_567.014), abs=5e-4)
    assert pushed.value == pytest.approx(270_469.553, abs=5e-4)


@reaches(tips=4, stands=4)
@given(SEEDS)
def test_force_angle_equals_the_definition_of_the_source(seed):
    feet, com, force, moment = random_case(seed)
    result = force_angle(feet, com, force, moment)
    reached('tips', result.value < 0.0)
    reached('stands', result.value > 0.0)
    for i, foot in enumerate(feet):
        axis = foot - feet[(i + 1) % len(feet)]  # the source's order is clockwise
        axis /= np.linalg.norm(axis)
        across = np.eye(3) - np.outer(axis, axis)
        arm = across @ (foot - com)
        unit = arm / np.linalg.norm(arm)
        star = across @ force + np.cross(unit, np.outer(axis, axis) @ moment) / np.linalg.norm(arm)
        direction = star / np.linalg.norm(star)
        sign = 1.0 if np.cross(unit, direction) @ axis < 0 else -1.0
        angle = sign * np.arccos(np.clip(direction @ unit, -1, 1))
        line = -arm + arm @ direction * direction
        assert result.angles[i] == pytest.approx(angle, abs=1e-7)
        assert result.distances[i] == pytest.approx(np.linalg.norm(line), rel=1e-9)
        assert result.edges[i] == pytest.approx(
            angle * np.linalg.norm(line) * np.linalg.norm(force), rel=1e-6, abs=1e-5
        )


# ---------------------------------------------------------------------------------------------- ZMP, net moments


def test_zmp_of_accelerated_particles_on_a_floor():
    rng = np.random.default_rng(3)
    mass, acceleration = rng.uniform(1, 5, 6), rng.normal(size=(6, 3))
    position = np.array((0, 0, 1.5)) + rng.normal(size=(6, 3))
    lift = mass * (acceleration[:, 2] + 9.81)
    expected = [(lift @ position[:, k] - mass * acceleration[:, k] @ position[:, 2]) / lift.sum() for k in (0, 1)]
    com = mass @ position / mass.sum()
    forces = mass[:, None] * ((0, 0, -9.81) - acceleration)
    moment = np.cross(position - com, forces).sum(axis=0)
    result = zmp_degree(WIDE, com, forces.sum(axis=0), moment)
    np.testing.assert_allclose(result.point, (*expected, 0.0), atol=1e-12)
    assert result.inradius == pytest.approx(2.5, rel=1e-12)


@reaches(inside=4, outside=4)
@given(SEEDS)
def test_net_load_has_no_moment_along_the_plane_about_the_zmp(seed):
    feet, com, force, moment = random_case(seed)
    result = zmp_degree(feet, com, force, moment)
    assume(result.valid)
    reached('inside', result.value > 0.0)
    reached('outside', result.value < 0.0)
    about = moment + np.cross(com - result.point, force)
    normal = sum(np.cross(feet[i - 1], feet[i]) for i in range(len(feet)))
    normal = normal / np.linalg.norm(normal)
    assert np.linalg.norm(np.cross(normal, about)) < 1e-9 * (np.linalg.norm(about) + np.linalg.norm(force))
    assert (result.point - feet.mean(axis=0)) @ normal == pytest.approx(0.0, abs=1e-9)


@given(SEEDS)
def test_loads_in_balance_with_the_ground_give_moment_and_zmp_of_the_wheel_loads(seed):
    rng = np.random.default_rng(seed)
    feet = WIDE * (1, 0.2, 1)
    loads = rng.uniform(0, 1000, 4)
    ground = np.column_stack([rng.normal(size=(4, 2)) * 100, loads])  # friction has no moment about the edges
    com = np.array((0, 0, 1)) + rng.normal(size=3)
    force, moment = -ground.sum(axis=0), -np.cross(feet - com, ground).sum(axis=0)
    moments = net_moment(feet, com, force, moment)
    assert moments.edges[FRONT] == pytest.approx(5.0 * (loads[0] + loads[3]), rel=1e-9)
    assert moments.edges[REAR] == pytest.approx(5.0 * (loads[1] + loads[2]), rel=1e-9)
    centre = zmp_degree(feet, com, force, moment)
    np.testing.assert_allclose(centre.point, loads @ feet / loads.sum(), atol=1e-9)
    assert centre.value > 0


def test_margins_are_zero_when_both_rear_wheels_lose_their_load():
    feet = WIDE * (1, 0.2, 1)
    com = np.array((1.0, 0.3, 1.1))
    for rear, sign in ((0.0, 0), (1e-3, 1), (-1e-3, -1)):
        loads = np.array((rear, 600.0, 500.0, rear))
        ground = np.column_stack([(30.0, -20.0, 10.0, 5.0), (7.0, 9.0, -4.0, 2.0), loads])
        force, moment = -ground.sum(axis=0), -np.cross(feet - com, ground).sum(axis=0)
        front = net_moment(feet, com, force, moment).edges[FRONT]
        degree = zmp_degree(feet, com, force, moment).edges[FRONT]
        level = extended_energy_level(feet, com, force, moment).edges[FRONT]
        angle = force_angle(feet, com, force, moment).angles[FRONT]
        if sign == 0:
            assert max(abs(front), abs(degree), abs(angle)) < 1e-12
            assert level < 1e-12
        else:
            assert np.sign(front) == np.sign(degree) == np.sign(angle) == sign
            assert (level > 0) == (sign > 0)


@given(st.floats(-6e4, 6e4), st.floats(-1.1e5, 6e4), st.floats(-8e5, 8e5), st.floats(-0.4, 0.4))
def test_planar_moments_are_the_net_moments_and_share_their_zeros_with_zmp_and_energy(forward, normal, torque, slope):
    moments = planar_edge_moments(
        forward,
        normal,
        torque,
        base_weight=BASE_WEIGHT,
        base_com=(-2.0, -0.6),
        front_arm=1.0,
        rear_arm=4.0,
        pivot_height=1.5,
        slope=slope,
    )
    assert moments.front - moments.rear == pytest.approx(5.0 * (BASE_WEIGHT * np.cos(slope) - normal), rel=1e-9)
    # the same loads in space: x along the ground line forward, z along its normal; nose-up is about -y
    weight = BASE_WEIGHT * np.array((np.sin(slope), 0, -np.cos(slope)))
    arm = np.array((2.0, 0, 0.6))  # from the base's centre of mass to P
    action = np.array((forward, 0, normal))
    force = weight + action
    moment = np.cross(arm, action) - np.array((0, torque, 0))
    up = (-np.sin(slope), 0, np.cos(slope))
    edges = net_moment(WIDE, BASE_COM, force, moment, up).edges
    scale = 1e-9 * (BASE_WEIGHT * 5)
    assert edges[FRONT] == pytest.approx(moments.front, abs=scale)
    assert edges[REAR] == pytest.approx(-moments.rear, abs=scale)
    assume(min(abs(moments.front), abs(moments.rear)) > 1e-3)
    degree = zmp_degree(WIDE, BASE_COM, force, moment, up)
    if degree.valid:
        reaction_rear, reaction_front = moments.front / 5.0, -moments.rear / 5.0
        ahead = 5.0 * reaction_front / (reaction_rear + reaction_front)
        assert degree.point[0] + 2.5 == pytest.approx(ahead, rel=1e-9, abs=1e-9)
        assert (degree.edges[FRONT] > 0) == (moments.front > 0)
        assert (degree.edges[REAR] > 0) == (moments.rear < 0)
    # the base as vehicle body, the manipulator as moment: level 0 exactly where M_f is 0
    manipulator = BASE_WEIGHT * (3.0 * np.cos(slope) - 0.9 * np.sin(slope)) - moments.front
    level = planar_energy_level(
        manipulator, weight=BASE_WEIGHT, distance=FRONT_DISTANCE, angle=FRONT_ANGLE - slope
    ).level
    assert (level > 0) == (moments.front > 0)


def test_a_load_that_lifts_the_machine_is_not_valid_and_never_safe():
    lifted = zmp_degree(WIDE, BASE_COM, (0, 0, 10.0))
    assert not lifted.valid
    assert lifted.value == -np.inf
    assert net_moment(WIDE, BASE_COM, (0, 0, 10.0)).value < 0
    assert force_angle(WIDE, BASE_COM, (0, 0, 10.0)).value < 0
    assert extended_energy_level(WIDE, BASE_COM, (0, 0, 10.0)).value == 0.0


# ---------------------------------------------------------------------------------------------- wheel loads


def test_load_share_of_the_sides():
    feet = WIDE[[1, 2, 0, 3]]  # fr, fl, rr, rl
    result = load_share(feet, (88_610, 85_816, 24_944, 22_150))
    total = 221_520
    assert result.valid
    assert result.value == pytest.approx(22_150 / total, rel=1e-14)
    assert result.shares.sum() == pytest.approx(1.0, rel=1e-14)
    assert result.front == pytest.approx((88_610 + 85_816) / total, rel=1e-14)
    assert result.rear == pytest.approx(1 - result.front, rel=1e-12)
    assert result.left == pytest.approx((85_816 + 22_150) / total, rel=1e-14)
    assert result.right == pytest.approx(1 - result.left, rel=1e-12)


def test_middle_wheels_count_half_on_both_sides():
    wheels = [(x, y, 0) for x in (-1, 0, 1) for y in (-1, 1)]
    result = load_share(wheels, (1, 1, 2, 2, 1, 1))
    assert result.front == result.left == 0.5


@pytest.mark.parametrize(
    ('loads', 'value'),
    [((0, 0, 0, 0), 0.0), ((-1, 0, 0, 0), 0.0), ((5, 5, 5, -1), -1 / 14), ((1, np.nan, 1, 1), np.nan)],
)
def test_load_share_without_a_proper_load_is_not_valid(loads, value):
    result = load_share(WIDE, loads)
    assert not result.valid
    np.testing.assert_allclose(result.value, value)


def test_a_lifted_wheel_has_share_zero():
    result = load_share(WIDE, (0, 3, 2, 1))
    assert result.valid
    assert result.value == 0.0


# ---------------------------------------------------------------------------------------------- all measures


def evaluate(feet, com, force, moment, mass, up, travel):
    support = Support(feet, com, force, moment, mass, up, travel=travel, normal_loads=np.arange(1, len(feet) + 1))
    return margins(support)


POWER_OF_LENGTH = {
    'conservative': 1,
    'normalized_energy': 1,
    'moment_height': 2,
    'static': 1,
    'longitudinal': 1,
    'zmp': 0,
    'force_angle': 1,
    'energy': 1,
    'extended_energy': 1,
    'load_share': 0,
    'net_moment': 1,
    'admissible': 0,
}


@given(SEEDS)
@settings(max_examples=50)
def test_measures_do_not_depend_on_the_frame(seed):
    feet, com, force, moment = random_case(seed)
    rng = np.random.default_rng(seed)
    turn, shift = Rotation.random(random_state=seed % 2**31), rng.normal(size=3)
    up, travel = np.array((0, 0, 1.0)), np.array((1.0, 0.2, 0))
    here = evaluate(feet, com, force, moment, 15.0, up, travel)
    there = evaluate(
        turn.apply(feet) + shift,
        turn.apply(com) + shift,
        turn.apply(force),
        turn.apply(moment),
        15.0,
        turn.apply(up),
        turn.apply(travel),
    )
    for name, margin in here.items():
        np.testing.assert_allclose(there[name].edges, margin.edges, rtol=1e-7, atol=1e-7, err_msg=name)
        assert there[name].valid == margin.valid, name


@given(SEEDS, st.floats(0.1, 10))
@settings(max_examples=50)
def test_measures_scale_with_length(seed, scale):
    feet, com, force, moment = random_case(seed)
    up, travel = (0, 0, 1.0), (1.0, 0, 0)
    small = evaluate(feet, com, force, moment, 15.0, up, travel)
    large = evaluate(feet * scale, com * scale, force, moment * scale, 15.0, up, travel)
    for name, margin in small.items():
        power = POWER_OF_LENGTH[name]
        if name == 'moment_height':  # moment times, or over, inertia by height
            power = np.where(margin.edges > 0, 2, 0)
        expected = margin.edges * scale**power
        np.testing.assert_allclose(large[name].edges, expected, rtol=1e-7, atol=1e-7, err_msg=name)


@given(SEEDS, st.integers(1, 6))
@settings(max_examples=50)
def test_measures_do_not_depend_on_the_first_corner(seed, roll):
    feet, com, force, moment = random_case(seed)
    up, travel = (0, 0, 1.0), (1.0, 0, 0)
    first = evaluate(feet, com, force, moment, 15.0, up, travel)
    other = evaluate(np.roll(feet, -roll, axis=0), com, force, moment, 15.0, up, travel)
    for name, margin in first.items():
        if name not in ('longitudinal', 'load_share'):
            np.testing.assert_allclose(
                other[name].edges, np.roll(margin.edges, -roll), rtol=1e-9, atol=1e-9, err_msg=name
            )
            assert other[name].value == pytest.approx(margin.value, rel=1e-9, abs=1e-9, nan_ok=True), name


@reaches(inside=3, outside=4)
@given(SEEDS)
@settings(max_examples=50)
def test_measures_change_sign_together_under_gravity_only(seed):
    feet, com, _, _ = random_case(seed, spread=2.0)
    feet[:, 2] = 0.0
    com[2] = abs(com[2]) + 0.1
    result = evaluate(feet, com, (0, 0, -15.0 * 9.81), (0, 0, 0), 15.0, (0, 0, 1.0), (1.0, 0, 0))
    inside = result['static'].edges
    assume(np.abs(inside).min() > 1e-6)
    reached('inside', (inside > 0.0).all())
    reached('outside', (inside < 0.0).any())
    for name in ('zmp', 'force_angle', 'net_moment', 'moment_height', 'normalized_energy'):
        assert ((result[name].edges > 0) == (inside > 0)).all(), name
    for name in ('energy', 'extended_energy'):
        assert ((result[name].edges > 0) == (inside > 0)).all(), name
        assert result[name].valid == (inside > 0).all(), name
    assert result['energy'].edges == pytest.approx(result['extended_energy'].edges, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize('field', ['feet', 'com', 'force', 'moment'])
@pytest.mark.parametrize('name', sorted(MEASURES))
def test_a_nan_never_gives_a_valid_margin(name, field):
    values = {'feet': WIDE.copy(), 'com': np.array(BASE_COM), 'force': np.array((0, 0, -9.0)), 'moment': np.zeros(3)}
    values[field].flat[2 if field != 'moment' else 1] = np.nan
    if field == 'feet':
        values[field][0, 0] = np.nan
    support = Support(**values, mass=1.0, normal_loads=np.ones(4), edge_names=tuple('abcd'), friction=np.ones(4))
    margin = margins(support, [name])[name]
    concerned = {
        'static': ('feet', 'com'),
        'longitudinal': ('feet', 'com'),
        'conservative': ('feet', 'com'),
        'energy': ('feet', 'com'),
        'normalized_energy': ('feet', 'com'),
        'load_share': (),
    }.get(name, ('feet', 'com', 'force', 'moment'))
    if name == 'static' and field == 'com':
        concerned = ()  # the height plays no part
        margin = margins(Support(WIDE, (np.nan, 0, 0), (0, 0, -9.0), (0, 0, 0), 1.0), [name])[name]
        assert not margin.valid
        return
    if field in concerned:
        assert not margin.valid
        assert not margin.value > 0


def test_single_state_and_batch_agree():
    cases = [random_case(seed) for seed in range(40)]
    cases = [case for case in cases if len(case[0]) == 4]
    assert len(cases) > 3
    feet, com, force, moment = (np.stack(parts) for parts in zip(*cases))
    for measure in (net_moment, zmp_degree, force_angle, extended_energy_level):
        batch = measure(feet, com, force, moment)
        for k, case in enumerate(cases):
            single = measure(*case)
            for whole, one in zip(batch, single):
                np.testing.assert_array_equal(whole[k], one)
    for measure in (static_margin, longitudinal_margin):
        batch = measure(feet, com)
        for k, case in enumerate(cases):
            np.testing.assert_array_equal(batch.value[k], measure(case[0], case[1]).value)
    levels = energy_level(feet, com, np.arange(1, len(cases) + 1))
    assert levels.edges[2] == pytest.approx(energy_level(feet[2], com[2], 3).edges)


def test_inputs_are_neither_changed_nor_kept():
    feet = WIDE.copy()
    feet.setflags(write=False)
    com = np.array(BASE_COM)
    support = Support(feet, com, np.array((0, 0, -9.0)), np.zeros(3), 1.0)
    com[0] = 99.0
    assert support.com[0] == -0.5
    assert margins(support, ['static'])['static'].value == pytest.approx(2.0)


def test_support_names_wrong_inputs():
    inputs = {'feet': WIDE, 'com': BASE_COM, 'force': (0, 0, -9.0), 'moment': (0, 0, 0), 'mass': 1.0}
    with pytest.raises(ValueError, match=r'com: expected shape \(3,\), found \(2,\)'):
        Support(**{**inputs, 'com': (1, 2)})
    with pytest.raises(ValueError, match=r'normal_loads: expected shape \(4,\), found \(3,\)'):
        Support(**inputs, normal_loads=(1, 2, 3))
    with pytest.raises(ValueError, match='edge_names: expected 4 names, found 1'):
        Support(**inputs, edge_names=('front',))
    with pytest.raises(ValueError, match='up: expected a finite vector'):
        Support(**inputs, up=(0, 0, 0))
    with pytest.raises(KeyError, match=r'unknown stability measure .energie.; known: static'):
        margins(Support(**inputs), ['energie'])


def test_load_share_without_wheel_loads_is_not_valid():
    support = Support(WIDE, BASE_COM, (0, 0, -9.0), (0, 0, 0), 1.0)
    margin = margins(support, ['load_share'])['load_share']
    assert not margin.valid
    assert np.isnan(margin.value)
