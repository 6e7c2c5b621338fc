"""Reach of a payload around the swing: at its limit the payload is the rated load of the load-moment indicator."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.model.posture import initial_positions
from dyn_nodes.monitor.reach_band import STRIP, ReachLimit
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.stability.equilibrium.gear import GearError

LEVEL = np.array([0.0, 0.0, -9.81])


@pytest.fixture(scope='module')
def limit():
    return ReachLimit(machine_of('log_loader', ''))


def solved(limit, positions, payload, gravity=LEVEL):
    return [band for band in limit.solve(positions, payload, gravity) if band is not None][-1]


def posture(limit, band, index, distance):
    """Return the positions with the payload at a distance in the direction of an index."""
    arm = {name: np.interp(distance, band.distances, column) for name, column in zip(limit.arm, band.way.T)}
    return {**limit.machine.initial.joint_positions, **arm, limit.swing: limit._directions()[0][index]}


@pytest.mark.parametrize('gravity', [LEVEL, np.array([0.85, -0.5, -9.76])], ids=['level', 'slope'])
def test_the_payload_is_the_rated_load_at_the_limit(limit, gravity):
    start = limit.machine.initial.joint_positions
    band = solved(limit, start, 5100.0, gravity)
    inside = ~band.is_end & (band.reach > 0.0)
    assert inside.sum() > 20
    for index in np.flatnonzero(inside)[::5]:
        at = posture(limit, band, index, band.reach[index])
        assert limit.indicator.evaluate(at, 5100.0, gravity).tipping * 0.75 == pytest.approx(5100.0, rel=0.01)
        assert limit.distance(at) == pytest.approx(band.reach[index], abs=0.02)
        assert limit.payload_point(at)[2] == pytest.approx(limit.payload_point(start)[2], abs=0.05)


def test_directions_are_those_of_the_payload(limit):
    band = solved(limit, limit.machine.initial.joint_positions, 5100.0)
    for index in (0, 9, 20):
        point = limit.payload_point(posture(limit, band, index, 5.0))[:2] - band.centre
        assert np.cos(np.arctan2(point[1], point[0]) - band.angles[index]) == pytest.approx(1.0, abs=1e-5)


def test_a_light_payload_is_limited_by_the_arm_and_one_above_the_limit_is_nowhere_permitted(limit):
    start = limit.machine.initial.joint_positions
    light = solved(limit, start, 500.0)
    assert light.is_end.all()
    assert light.reach == pytest.approx(np.full(len(light.reach), light.distances[-1]))
    assert not solved(limit, start, 6500.0).reach.any()


def test_a_band_belongs_to_one_payload_and_one_height(limit):
    start = dict(limit.machine.initial.joint_positions)
    band = solved(limit, start, 5100.0)
    assert limit.is_valid(band, start, 5100.0)
    assert limit.is_valid(band, posture(limit, band, 7, 5.5), 5100.0)
    assert not limit.is_valid(band, start, 4800.0)
    assert not limit.is_valid(band, start | {'boom_joint': start['boom_joint'] - 0.2}, 5100.0)


@pytest.mark.parametrize(('name', 'payload'), [('log_loader_linkage', 5000.0), ('excavator', 2400.0)])
def test_the_loops_of_an_arm_are_closed_within_their_limits_on_the_whole_way(name, payload):
    machine = machine_of(name, '')
    looped, rods = ReachLimit(machine), [joint.name for joint in machine.movable_joints if 'rod' in joint.name]
    start = looped._closed(initial_positions(machine))
    assert start is not None
    way = [there for sign in (1.0, -1.0) for there in looped._way(start, sign) if there is not None]
    assert len(way) > 8
    for there in way:
        closed = np.array([there[name] for name in looped._blocks.tree.position_names])
        assert np.abs(looped._blocks.at(closed).residual).max() < 1e-9
        assert looped.payload_point(there)[2] == pytest.approx(looped.payload_point(start)[2], abs=0.05)
    for rod in rods:
        assert np.ptp([there[rod] for there in way]) > 0.05
        assert all(machine.joint(rod).lower - 1e-3 <= there[rod] <= machine.joint(rod).upper + 1e-3 for there in way)
    band = solved(looped, start, payload)
    assert band.reach.max() > looped.distance(start)
    index = int(np.argmax(band.reach))
    at = looped._closed(
        start | dict(zip(looped.arm, band.way[int(np.searchsorted(band.distances, band.reach[index]) - 1)]))
    )
    assert looped._rated(at, looped._directions()[0][index], LEVEL) >= payload


def test_without_a_swing_the_band_is_a_strip_in_the_direction_of_the_arm():
    lifted = machine_of('telehandler', '')
    strip = ReachLimit(lifted)
    start = initial_positions(lifted)
    band = solved(strip, start, 2500.0)
    assert strip.swing == ''
    assert not band.is_closed
    assert band.angles == pytest.approx([-STRIP, STRIP])
    assert band.reach[0] == band.reach[1] > strip.distance(start)
    assert not band.is_end.any()
    joints = {name: np.interp(band.reach[0], band.distances, column) for name, column in zip(strip.arm, band.way.T)}
    assert strip._rated({**start, **joints}, 0.0, LEVEL) == pytest.approx(2500.0, rel=0.01)


@pytest.mark.parametrize('name', ['log_loader_grapple', 'agv_mecanum'])
def test_hanging_loads_and_machines_without_a_payload_have_no_reach(name):
    with pytest.raises(GearError):
        ReachLimit(machine_of(name, ''))
