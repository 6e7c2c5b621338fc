"""Margins of the source's planar machine: chain dynamics, Newton-Euler reactions and measures together."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dyn_nodes.stability import (
    Support,
    extended_energy_level,
    margins,
    net_moment,
    planar_edge_moments,
    planar_energy_level,
    static_margin,
    zmp_degree,
)
from dyn_nodes.studies.abo_shanab_2003.dh_machines import planar_rigid_machine
from dyn_nodes.studies.abo_shanab_2003.lagrange_euler import inverse_dynamics, newton_euler

WEIGHT = 12_000 * 9.81
BASE = {
    'base_weight': WEIGHT,
    'base_com': (-2.0, -0.6),
    'front_arm': 1.0,
    'rear_arm': 4.0,
    'pivot_height': 1.5,
}
# relative to the middle of the base, made wide: right, front, left, rear
FEET = np.array([(-2.5, -9, 0), (2.5, -9, 0), (2.5, 9, 0), (-2.5, 9, 0)], dtype=float)
FRONT, REAR = 1, 3
MOVING = ((0.6, -1.1), (-0.2, 0.3), (0.15, -0.25))


def base_at_rest(arm, speed=(0.0, 0.0), rate=(0.0, 0.0)):
    return (0.0, 0.0, 0.0, *arm), (0.0, 0.0, 0.0, *speed), (0.0, 0.0, 0.0, *rate)


def action_on_base(state, payload, slope=0.0):
    """Return F_x, F_y and tau of the manipulator on the base at P, from Newton-Euler."""
    loads = newton_euler(planar_rigid_machine('front', payload=payload, slope=slope), *base_at_rest(*state))
    return -loads.force[3, 2], -loads.force[3, 0], -loads.moment[3, 1], loads.torque


def edge_moments(state, payload, slope=0.0):
    forward, normal, torque, _ = action_on_base(state, payload, slope)
    return planar_edge_moments(forward, normal, torque, slope=slope, **BASE)


def whole_machine_com(arm, payload):
    up, _, forward = planar_rigid_machine('front', payload=payload).com((0, 0, 0, *arm))
    return np.array((forward + 2.5, 0.0, up))


def net_load(state, payload):
    """Return the manipulator's action, moved to the base's centre of mass, with the base's weight."""
    forward, normal, torque, _ = action_on_base(state, payload)
    action = np.array((forward, 0.0, normal))
    moment = np.cross((2.0, 0.0, 0.6), action) - np.array((0.0, torque, 0.0))
    return np.array((-0.5, 0.0, 0.9)), action - np.array((0.0, 0.0, WEIGHT)), moment


@pytest.mark.pins('abo-shanab-2003/6.5/reaction', 'abo-shanab-2003/6.5/moments')
def test_reaction_and_edge_moments_of_the_moving_arm():
    forward, normal, torque, joints = action_on_base(MOVING, 5000)
    np.testing.assert_allclose(
        (forward, normal, torque), (4553.935852, -76_326.247341, -379_602.506195), rtol=0, atol=5.1e-7
    )
    np.testing.assert_allclose(joints[3:], (379_602.506195, 83_073.187223), rtol=0, atol=5.1e-7)
    moments = edge_moments(MOVING, 5000)
    assert moments.front == pytest.approx(43_052.837368, abs=5.1e-7)
    assert moments.rear == pytest.approx(-927_178.399338, abs=5.1e-7)
    assert moments.front - moments.rear == pytest.approx(970_231.236706, abs=5.1e-7)
    assert moments.front - moments.rear == pytest.approx(5.0 * (WEIGHT - normal), rel=1e-14)


@pytest.mark.pins('abo-shanab-2003/6.5/moments')
def test_edge_moments_are_the_base_row_of_the_chain_with_virtual_links():
    moments = edge_moments(MOVING, 5000)
    for edge, expected in (('front', moments.front), ('rear', moments.rear)):
        chain = planar_rigid_machine(edge, payload=5000)
        assert -inverse_dynamics(chain, *base_at_rest(*MOVING))[2] == pytest.approx(expected, rel=1e-12)


@pytest.mark.pins('abo-shanab-2003/6.5/zmp')
def test_zmp_of_the_moving_arm():
    degree = zmp_degree(FEET, *net_load(MOVING, 5000))
    assert degree.point[0] + 2.5 == pytest.approx(4.77813, abs=5.1e-6)
    assert degree.value == pytest.approx(0.08875, abs=5.1e-6)
    moments = net_moment(FEET, *net_load(MOVING, 5000))
    assert moments.edges[FRONT] == pytest.approx(43_052.837368, abs=5.1e-7)
    assert moments.edges[REAR] == pytest.approx(927_178.399338, abs=5.1e-7)


@pytest.mark.parametrize(
    ('arm', 'com', 'margin', 'degree', 'front'),
    [
        ((55, -105), (1.567384, 2.184588), 0.9326, 0.3730, 178_569.5),
        ((0, -45), (2.352395, 0.803866), 0.1476, None, 28_262.1),
        ((0, 0), None, 0.0057, None, 1100.7),
    ],
)
@pytest.mark.pins('abo-shanab-2003/6.4/whole_machine')
def test_static_margins_of_the_whole_machine(arm, com, margin, degree, front):
    arm = np.radians(arm)
    centre = whole_machine_com(arm, 5000)
    if com is not None:
        np.testing.assert_allclose(centre[[0, 2]], com, rtol=0, atol=5.1e-7)
    static = static_margin(FEET, centre)
    assert static.edges[FRONT] == pytest.approx(margin, abs=5.1e-5)
    moments = edge_moments((arm,), 5000)
    assert moments.front == pytest.approx(front, abs=5.1e-2)
    assert moments.front == pytest.approx(19_518 * 9.81 * static.edges[FRONT], rel=1e-9)
    if degree is not None:
        alpha = zmp_degree(FEET, *net_load((arm,), 5000))
        assert alpha.value == pytest.approx(degree, abs=5.1e-5)
        assert alpha.value == pytest.approx(static.value / 2.5, rel=1e-9)


@pytest.mark.parametrize(
    ('arm', 'expected'),
    [
        ((10, -60), (227.6, 123.4, 19.2, -32.9)),
        ((2.5, -75), (231.8, 144.4, 57.0, 13.3)),
        ((0, 0), (227.2, 106.5, -14.2, -74.5)),
    ],
)
@pytest.mark.pins('abo-shanab-2003/6.4/slope_moments')
def test_front_moment_on_the_slope(arm, expected):
    slope = np.radians(20)
    for payload, value in zip((0, 2000, 4000, 5000), expected):
        moments = edge_moments((np.radians(arm),), payload, slope)
        assert moments.front / 1000 == pytest.approx(value, abs=5.1e-2)
        chain = planar_rigid_machine('front', payload=payload, slope=slope)
        row = -inverse_dynamics(chain, *base_at_rest(np.radians(arm)))[2]
        assert moments.front == pytest.approx(row, rel=1e-9)


def test_energy_zmp_and_net_moment_agree_on_the_onset():
    """The arm swings down faster and faster: all three margins of the front edge pass zero at the same load."""
    signs = []
    for rate in np.linspace(-0.6, 0.6, 25):
        state = (np.radians((20, -60)), (0.1, -0.2), (rate, 0.0))
        moments = edge_moments(state, 5000)
        load = net_load(state, 5000)
        external = WEIGHT * 3.0 - moments.front
        level = planar_energy_level(external, weight=WEIGHT, distance=np.hypot(3.0, 0.9), angle=np.arctan2(3.0, 0.9))
        stable = bool(moments.front > 0)
        assert (level.level > 0) == stable
        assert (zmp_degree(FEET, *load).edges[FRONT] > 0) == stable
        assert (extended_energy_level(FEET, *load).edges[FRONT] > 0) == stable
        assert (net_moment(FEET, *load).edges[FRONT] > 0) == stable
        signs.append(stable)
    assert len(set(signs)) == 2
    assert sum(a != b for a, b in itertools.pairwise(signs)) == 1


def test_measures_of_the_machine_at_rest_are_valid_and_positive():
    centre = whole_machine_com(np.radians((55, -105)), 5000)
    force = np.array((0.0, 0.0, -19_518 * 9.81))
    loads = np.array((35_000.0, 60_000.0, 60_000.0, 36_471.58))
    inputs = {'normal_loads': loads, 'friction': np.full(4, 0.7)}
    result = margins(Support(FEET, centre, force, np.zeros(3), 19_518, **inputs))
    for name, margin in result.items():
        defined = name != 'conservative'  # needs five feet
        assert margin.valid == defined, name
        assert (margin.value > 0) == defined, name
