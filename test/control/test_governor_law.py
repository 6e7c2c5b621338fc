"""The governor's law piece by piece: speeds, harmful levers, what is predicted and what is let through."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import yaml

from dyn_nodes.control.tip_over_governor import LEAST_LEVER, GovernorSettings, SpeedMap, TipOverGovernor, Verdict
from dyn_nodes.hydraulics import linkage
from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import CylinderActuator
from dyn_nodes.nodes.parameters import FOLDER
from dyn_nodes.share import find_resource

RESERVE, PERIOD = 0.15, 0.01
BOOM, STICK, SWING = (-6.0, 0.0, 0.0), (0.0, -6.0, 0.0), (0.0, 0.0, 6.0)


@pytest.fixture(scope='module')
def machine():
    return load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))


def once(governor, command, q, v=(0.0, 0.0, 0.0)):
    return governor.govern(np.array(command, float), np.array(q, float), np.array(v, float), PERIOD)


def by_the_boom(q, v, a):
    return 0.5 * (q[:, 1] + 0.6)


def test_the_defaults_are_those_of_the_node():
    text = (FOLDER / 'tip_over_governor_node.yaml').read_text()
    declared = yaml.safe_load(text)['tip_over_governor_node']
    for field in dataclasses.fields(GovernorSettings):
        if field.name in declared:
            assert getattr(GovernorSettings(), field.name) == declared[field.name]['default_value'], field.name


def test_more_volts_than_shut_the_bypass_are_no_more_speed_and_the_spool_ends_at_its_stop(machine):
    for actuator in machine.actuators:
        law, valve = SpeedMap(machine, actuator), actuator.valve
        q = machine.initial.joint_positions.get(actuator.joint, 0.0)
        shut = valve.bypass_stroke / valve.gain
        assert law.speed(np.array([shut, 1.2 * shut, 50.0]), q) == pytest.approx(
            [float(law.speed(np.array(shut), q))] * 3
        )
        middle = 0.5 * (valve.dead_zone + valve.bypass_stroke) / valve.gain
        assert law.speed(np.array(middle), q) == pytest.approx(0.5 * float(law.speed(np.array(shut), q)))
        short = dataclasses.replace(valve, spool_limit=valve.dead_zone + 0.25 * (valve.bypass_stroke - valve.dead_zone))
        law.valve = short
        for side in (-1.0, 1.0):
            full = float(SpeedMap(machine, actuator).speed(np.array(side * shut), q))
            assert law.speed(np.array(side * 50.0), q) == pytest.approx(0.25 * full)
        law.valve = dataclasses.replace(valve, voltage_limit=middle)
        for side in (-1.0, 1.0):
            full = float(SpeedMap(machine, actuator).speed(np.array(side * shut), q))
            assert law.speed(np.array(side * 50.0), q) == pytest.approx(0.5 * full)


def test_a_valve_whose_bypass_shuts_where_it_opens_gives_all_or_nothing(machine):
    actuator = machine.actuators[0]
    law, valve = SpeedMap(machine, actuator), actuator.valve
    full = float(law.speed(np.array(valve.voltage_limit), 0.5))
    law.valve = dataclasses.replace(valve, dead_zone=valve.bypass_stroke)
    opens = valve.bypass_stroke / valve.gain
    assert law.speed(np.array([0.99 * opens, 1.01 * opens]), 0.5) == pytest.approx([0.0, full])


def test_the_speed_of_a_cylinder_is_flow_over_area_and_lever(machine):
    for actuator in machine.actuators:
        if not isinstance(actuator, CylinderActuator):
            continue
        pump = machine.pump_of(actuator.name)
        flow = actuator.supply.flow if pump is None else pump.flow
        for q in (-0.5, 0.5):
            lever = float(linkage(actuator.linkage, q).lever)
            for volts, area in ((8.0, actuator.head_area), (-8.0, actuator.rod_area)):
                speed = float(SpeedMap(machine, actuator).speed(np.array(volts), q))
                assert speed == pytest.approx(np.sign(volts) * flow / area / lever)


@pytest.mark.parametrize('side', [-1.0, 1.0])
@pytest.mark.parametrize(('arm', 'counts'), [(1e-4, LEAST_LEVER), (0.06, 0.06)])
def test_a_lever_arm_that_vanishes_counts_as_the_least_one(machine, side, arm, counts):
    assert LEAST_LEVER == 0.05
    actuator = machine.actuators[0]
    law = SpeedMap(machine, actuator)
    law._lever = lambda q: side * arm
    assert float(law.speed(np.array(8.0), 0.0)) == pytest.approx(side * law._flow / actuator.head_area / counts)


def test_each_lever_is_tried_alone_by_the_probe_and_against_the_present_posture(machine):
    seen = []

    def degrees(q, v, a):
        seen.append(q)
        assert not v.any()
        assert not a.any()
        return q[:, 1] - 0.1 * q[:, 2]

    governor = TipOverGovernor(machine, range(3), degrees)
    q = np.array([0.1, 0.5, -1.0])
    command = np.array([-6.0, 0.0, 6.0])
    moves = np.sign(np.diag(governor._speeds(np.diag(command), q)[:, governor.places]))
    governor._harmful(command, q, 0.6)
    expected = np.tile(q, (3, 1))
    for row, (place, move) in enumerate(zip(governor.places, moves)):
        expected[row, place] += 0.02 * move
    assert seen[0] == pytest.approx(expected)


@pytest.mark.parametrize('volts', [-6.0, -1.0, 1.0, 6.0])
def test_a_lever_is_harmful_where_it_makes_the_machine_stand_worse(machine, volts):
    for sign in (-1.0, 1.0):
        governor = TipOverGovernor(machine, range(3), lambda q, v, a, sign=sign: sign * q[:, 1])
        q = np.array([0.0, 0.5, -1.0])
        speed = governor._speeds(np.array([[volts, 0.0, 0.0]]), q)[0, 1]
        found = governor._harmful(np.array([volts, 0.0, 0.0]), q, sign * 0.5)
        assert found.tolist() == [sign * speed < 0.0, False, False]


def test_a_lever_that_changes_nothing_passes_below_the_reserve(machine):
    governor = TipOverGovernor(machine, range(3), lambda q, v, a: 0.05 + 0.1 * q[:, 1])
    verdict = once(governor, STICK, (0.0, 0.0, -1.0))
    assert verdict.scale == 1.0
    assert verdict.held == ()
    assert verdict.volts == pytest.approx([0.0, -15.0 * PERIOD, 0.0])


def test_below_the_reserve_what_harms_is_held_whole_and_the_present_stand_is_what_is_predicted(machine):
    governor = TipOverGovernor(machine, range(3), by_the_boom)
    verdict = once(governor, BOOM, (0.0, -0.32, -1.0))
    assert verdict.scale == 0.0
    assert verdict.held == ('boom',)
    assert verdict.volts == pytest.approx(np.zeros(3))
    assert verdict.degree == pytest.approx(0.14)
    assert verdict.predicted == pytest.approx(0.14)


def test_what_is_predicted_is_the_least_of_what_is_let_through(machine):
    q, v = np.array([0.0, 1.0, -1.0]), np.zeros(3)
    governor = TipOverGovernor(machine, range(3), by_the_boom)
    verdict = once(governor, BOOM, q)
    assert verdict.scale == 1.0
    assert verdict.predicted == pytest.approx(governor._least(np.array([BOOM]), q, v)[0])
    assert verdict.predicted < verdict.degree
    governor = TipOverGovernor(machine, range(3), lambda q, v, a: by_the_boom(q, v, a) + 0.1 * q[:, 2])
    rising = float(governor._speeds(np.array([STICK]), q)[0, 2])
    command = np.array([-6.0, -6.0 if rising > 0.0 else 6.0, 0.0])
    verdict = once(governor, command, q)
    assert verdict.scale == 1.0
    assert verdict.predicted == pytest.approx(governor._least(command[None], q, v)[0])
    nothing = once(governor, (0.0, 0.0, 0.0), q)
    assert (nothing.scale, nothing.held) == (1.0, ())
    assert nothing.predicted == pytest.approx(by_the_boom(q[None], v, v)[0] - 0.1)


def test_between_two_parts_that_are_tried_the_reserve_is_met_by_interpolation(machine):
    q, v = np.array([0.0, -0.19, -1.0]), np.zeros(3)
    governor = TipOverGovernor(machine, range(3), by_the_boom)
    verdict = once(governor, BOOM, q)
    assert 0.0 < verdict.scale < 1.0
    assert verdict.predicted == RESERVE
    parts = np.linspace(0.0, 1.0, governor.settings.scales)
    degrees = governor._least(parts[:, None] * np.array(BOOM), q, v)
    assert verdict.scale == pytest.approx(np.interp(-RESERVE, -degrees, parts))


def test_a_cliff_lets_no_part_through_beyond_the_last_good_one(machine):
    """Where the next part has no number there is nothing to interpolate with."""
    edge = 0.2
    governor = TipOverGovernor(
        machine, range(3), lambda q, v, a: np.where(q[:, 1] > edge, 0.5 + 1e-4 * q[:, 1], -np.inf)
    )
    q, v = np.array([0.0, 0.3, -1.0]), np.zeros(3)
    verdict = once(governor, BOOM, q)
    parts = np.linspace(0.0, 1.0, governor.settings.scales)
    good = governor._least(parts[:, None] * np.array(BOOM), q, v) >= RESERVE
    assert 1 < good.sum() < len(parts)
    assert verdict.scale == parts[good][-1]


@pytest.mark.parametrize('degree', [np.nan, -np.inf, np.inf])
def test_a_posture_without_a_degree_lets_nothing_through(machine, degree):
    governor = TipOverGovernor(machine, range(3), lambda q, v, a: np.full(len(q), degree))
    for command in (BOOM, (6.0, 0.0, 0.0), (6.0, 6.0, 6.0)):
        verdict = once(governor, command, (0.0, 0.5, -1.0))
        assert verdict.volts == pytest.approx(np.zeros(3))
        assert verdict.scale == 0.0
        assert verdict.held == tuple(name for name, volts in zip(governor.names, command) if volts)


@pytest.mark.parametrize(('degree', 'passes'), [(0.5, False), (0.1, False), (-0.1, False)])
def test_a_helpful_lever_whose_first_part_leads_over_the_edge_is_held_whole(machine, degree, passes):
    """Half a degree further it stands better, everywhere beyond much worse."""
    q = 0.5

    def degrees(postures, v, a):
        off = np.abs(postures[:, 1] - q)
        return np.where(off < 1e-9, degree, np.where(off <= 0.0201, degree + 0.01, -1.0))

    governor = TipOverGovernor(machine, range(3), degrees, GovernorSettings(scales=3))
    verdict = once(governor, (6.0, 0.0, 0.0), (0.0, q, -1.0))
    assert verdict.volts == pytest.approx(np.zeros(3))
    assert verdict.held == ('boom',)


def test_a_helpful_lever_goes_as_far_as_the_last_part_that_ends_no_worse(machine):
    governor = TipOverGovernor(machine, range(3), lambda q, v, a: 0.1 - np.abs(q[:, 1] - 0.5))
    q = np.array([0.0, 0.48, -1.0])
    parts = np.linspace(0.0, 1.0, governor.settings.scales)
    helpful = np.array([6.0, 0.0, 0.0])
    stops = governor._ends(parts[:, None] * helpful, q, np.zeros(3))[2]
    last = np.flatnonzero(0.1 - np.abs(stops[:, 1] - 0.5) >= 0.08 - 1e-9)[-1]
    assert 1 < last < len(parts) - 1
    assert governor._allowed_to_safety(helpful, q, np.zeros(3), 0.08) == pytest.approx(helpful * parts[last])


def test_a_lever_to_safety_may_end_as_the_machine_stands_to_round_off(machine):
    """On a plateau every posture is as good as this one."""
    wave = iter(np.tile([0.0, -1e-12], 1000))
    governor = TipOverGovernor(machine, range(3), lambda q, v, a: 0.05 + np.array([next(wave) for _ in q]))
    verdict = governor._allowed_to_safety(np.array([6.0, 0.0, 0.0]), np.array([0.0, 0.5, -1.0]), np.zeros(3), 0.05)
    assert verdict == pytest.approx([6.0, 0.0, 0.0])


@pytest.mark.parametrize(('scale', 'held'), [(0.9995, ()), (0.998, ('boom',))])
def test_a_lever_is_reported_as_held_where_more_than_a_thousandth_is_missing(machine, monkeypatch, scale, held):
    governor = TipOverGovernor(machine, range(3), by_the_boom)
    monkeypatch.setattr(governor, '_scale', lambda *_: (scale, 0.2))
    assert once(governor, BOOM, (0.0, 0.0, -1.0)).held == held


def test_before_the_first_command_nothing_is_held_back_and_nothing_is_known():
    verdict = Verdict(np.zeros(3))
    assert (verdict.scale, verdict.held) == (1.0, ())
    assert np.isnan([verdict.degree, verdict.predicted]).all()


def test_time_that_goes_back_changes_no_output(machine):
    governor = TipOverGovernor(machine, range(3), by_the_boom)
    governor.output = np.array([1.0, -2.0, 3.0])
    assert governor.neutral(-0.5) == pytest.approx([1.0, -2.0, 3.0])
    assert governor.neutral(0.0) == pytest.approx([1.0, -2.0, 3.0])


def test_the_way_of_a_joint_is_lag_horizon_and_braking_and_ends_at_its_limits(machine):
    governor = TipOverGovernor(machine, range(3), by_the_boom)
    settings, q, v = governor.settings, np.array([0.0, 0.5, -1.0]), np.array([0.0, 0.2, -0.1])
    speeds, after, stop = governor._ends(np.array([BOOM]), q, v)
    boom = float(SpeedMap(machine, machine.actuators[0]).speed(np.array(-6.0), 0.5))
    assert speeds[0] == pytest.approx([0.0, boom, 0.0])
    assert after[0] == pytest.approx(q + v * settings.lag + speeds[0] * settings.horizon)
    assert stop[0] == pytest.approx(after[0] + 0.5 * settings.stop_time * speeds[0])
    joint = machine.joint('boom_joint')
    for end, volts in ((joint.lower, -6.0), (joint.upper, 6.0)):
        _, after, stop = governor._ends(np.array([[volts, 0.0, 0.0]]), np.array([0.0, end, -1.0]), np.zeros(3))
        assert after[0, 1] == stop[0, 1] == end


def test_speeding_braking_and_standing_are_predicted(machine):
    seen = []

    def degrees(q, v, a):
        seen.append((q, v, a))
        return np.arange(len(q), dtype=float)

    governor = TipOverGovernor(machine, range(3), degrees)
    q, v = np.array([0.0, 0.5, -1.0]), np.zeros(3)
    volts = np.array([BOOM, STICK])
    least = governor._least(volts, q, v)
    assert least == pytest.approx([0.0, 1.0])
    speeds, after, stop = governor._ends(volts, q, v)
    (postures, velocities, accelerations) = seen[0]
    zeros = np.zeros_like(speeds)
    assert postures == pytest.approx(np.concatenate([after, after, stop]))
    assert velocities == pytest.approx(np.concatenate([speeds, speeds, zeros]))
    assert accelerations == pytest.approx(np.concatenate([zeros, -1.5 / 0.5 * speeds, zeros]))


def test_levers_are_told_by_their_actuators_and_move_their_own_joints(machine):
    governor = TipOverGovernor(machine, (2, 0), by_the_boom)
    assert governor.names == (machine.actuators[2].name, machine.actuators[0].name)
    names = [joint.name for joint in machine.movable_joints]
    assert [names[place] for place in governor.places] == [machine.actuators[2].joint, machine.actuators[0].joint]
    assert governor.output.shape == (2,)


def test_a_lever_to_safety_is_judged_by_where_it_leads_itself_not_by_the_motion_under_way(machine):
    """A boom that still falls is caught by raising it: its speed must not hold that back."""
    governor = TipOverGovernor(machine, range(3), lambda q, v, a: q[:, 1] - 0.45)
    q, helpful = np.array([0.0, 0.5, -1.0]), np.array([6.0, 0.0, 0.0])
    for speed in (-3.0, 3.0):
        allowed = governor._allowed_to_safety(helpful, q, np.array([0.0, speed, 0.0]), 0.05)
        assert allowed == pytest.approx(helpful)
    falling = TipOverGovernor(machine, range(3), lambda q, v, a: 0.5 - q[:, 1])
    for speed in (-3.0, 3.0):
        held = falling._allowed_to_safety(helpful, q, np.array([0.0, speed, 0.0]), 0.0)
        assert held == pytest.approx(np.zeros(3))
