"""The governor's law with stability degrees that are written down here."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.control.tip_over_governor import GovernorSettings, SpeedMap, TipOverGovernor
from dyn_nodes.control.valve_inverse import spool_for_speed
from dyn_nodes.hydraulics import linkage
from dyn_nodes.model import load_machine
from dyn_nodes.share import find_resource

RESERVE = 0.15
PERIOD = 0.01


@pytest.fixture(scope='module')
def machine():
    return load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))


def falling_with_the_boom(q, v, a):
    """The lower the boom the worse; braking a lowering boom costs something too."""
    return 0.5 * (q[:, 1] + 0.6) - 0.05 * np.abs(a[:, 1])


def govern(governor, command, q, v=(0.0, 0.0, 0.0), times=200):
    for _ in range(times):
        verdict = governor.govern(np.array(command), np.array(q), np.array(v), PERIOD)
    return verdict


def test_far_from_the_limit_the_output_follows_the_command_at_its_rate(machine):
    governor = TipOverGovernor(machine, range(3), falling_with_the_boom)
    verdict = governor.govern(np.array([-5.0, 2.0, 8.0]), np.array([0.0, 1.0, -1.0]), np.zeros(3), PERIOD)
    assert verdict.volts == pytest.approx([-0.15, 0.15, 0.15])
    verdict = govern(governor, [-5.0, 2.0, 8.0], [0.0, 1.0, -1.0])
    assert verdict.volts == pytest.approx([-5.0, 2.0, 8.0])
    assert verdict.held == ()


def test_the_part_let_through_falls_continuously_to_nothing(machine):
    """Slower and slower towards the limit. At 6 V the bypass is shut: more volts are no more speed."""
    parts = []
    for q in np.linspace(1.0, -0.3, 261):
        governor = TipOverGovernor(machine, range(3), falling_with_the_boom)
        parts.append(govern(governor, [-6.0, 0.0, 0.0], [0.0, q, -1.0], times=1).scale)
    assert parts[0] == 1.0
    assert parts[-1] == 0.0
    assert (np.diff(parts) <= 1e-9).all()
    assert np.abs(np.diff(parts)).max() < 0.13


def test_what_is_let_through_keeps_the_reserve(machine):
    governor = TipOverGovernor(machine, range(3), falling_with_the_boom)
    for q in (-0.13, -0.19, -0.25):
        verdict = govern(governor, [-6.0, 0.0, 0.0], [0.0, q, -1.0])
        assert 0.0 < verdict.scale < 1.0
        least = governor._least(verdict.volts[None], np.array([0.0, q, -1.0]), np.zeros(3))[0]
        assert least >= RESERVE - 0.01


@pytest.mark.parametrize('q', [0.0, -0.2, -0.3, -0.34])
def test_what_leads_to_safety_passes_whatever_the_margin(machine, q):
    """Below the reserve, and below zero; beside a harmful lever that is held."""
    governor = TipOverGovernor(machine, range(3), lambda q, v, a: falling_with_the_boom(q, v, a) + 0.3 * q[:, 2])
    verdict = govern(governor, [6.0, -5.0, 0.0], [0.0, q, 0.0])
    assert verdict.volts[0] == pytest.approx(6.0)
    assert 'boom' not in verdict.held


def test_a_lever_to_safety_does_not_lead_over_the_other_side(machine):
    """Two edges: raising helps until the machine is about to fall backwards."""
    governor = TipOverGovernor(machine, range(3), lambda q, v, a: 0.2 - np.abs(q[:, 1] - 0.5))
    verdict = govern(governor, [8.0, 0.0, 0.0], [0.0, 0.49, -1.0])
    stop = governor._ends(verdict.volts[None], np.array([0.0, 0.49, -1.0]), np.zeros(3))[2]
    assert 0.2 - abs(stop[0, 1] - 0.5) >= RESERVE - 1e-9
    assert 0.0 < verdict.volts[0] < 8.0


@pytest.mark.parametrize('degree', [np.nan, -np.inf])
def test_a_prediction_that_is_no_number_lets_nothing_harmful_through(machine, degree):
    def degrees(q, v, a):
        return np.where(q[:, 1] < 0.5 - 1e-9, degree, 0.5)

    governor = TipOverGovernor(machine, range(3), degrees)
    harmful = governor._least(np.array([[-8.0, 0.0, 0.0]]), np.array([0.0, 0.5, -1.0]), np.zeros(3))
    assert not harmful[0] >= RESERVE
    governor._harmful = lambda *_: np.array([True, False, False])
    assert abs(govern(governor, [-8.0, 0.0, 0.0], [0.0, 0.5, -1.0]).volts[0]) < 0.6


def test_neutral_is_approached_at_the_rate_and_reset_at_once(machine):
    governor = TipOverGovernor(machine, range(3), falling_with_the_boom, GovernorSettings(rate=10.0))
    govern(governor, [-5.0, 0.0, 0.0], [0.0, 1.0, -1.0])
    assert governor.neutral(0.1) == pytest.approx([-4.0, 0.0, 0.0])
    governor.reset()
    assert governor.output == pytest.approx(np.zeros(3))


def test_speeds_are_those_of_the_steady_valve(machine):
    """Never slower than the inverse of the steady valve flow says of an actuator without load."""
    for actuator in machine.actuators:
        law = SpeedMap(machine, actuator)
        q = machine.initial.joint_positions.get(actuator.joint, 0.0)
        lever = float(linkage(actuator.linkage, q).lever) if hasattr(actuator, 'linkage') else 1.0
        for volts in (-6.0, -3.0, 3.0, 5.0):
            speed = float(law.speed(np.array(volts), q))
            assert np.sign(speed) == np.sign(volts * lever)
            spool = spool_for_speed(actuator, speed * lever)
            assert abs(spool) >= 0.999 * min(abs(volts) * actuator.valve.gain, actuator.valve.bypass_stroke)
        assert float(law.speed(np.array(0.3), q)) == 0.0  # inside the dead zone


def speed_let_through(governor, machine, q, command=-6.0):
    """Speed of the boom that a command is let through with, and the verdict."""
    verdict = govern(governor, [command, 0.0, 0.0], [0.0, q, -1.0])
    actuator = machine.actuators[governor.order[0]]
    return float(SpeedMap(machine, actuator).speed(verdict.volts[0], q)), verdict


@pytest.mark.parametrize('cost', [0.5, 2.0])
def test_a_lever_is_held_back_for_what_braking_it_costs(machine, cost):
    """Nothing else is dangerous here: at rest, and at speed, the machine stands well everywhere."""
    governor = TipOverGovernor(
        machine, range(3), lambda q, v, a: 0.4 + 1e-4 * q[:, 1] - cost * np.maximum(a[:, 1], 0.0)
    )
    speed, verdict = speed_let_through(governor, machine, 0.5)
    settings = governor.settings
    braking = settings.overshoot * abs(speed) / settings.stop_time
    full = abs(float(SpeedMap(machine, machine.actuators[0]).speed(-6.0, 0.5)))
    assert cost * settings.overshoot * full / settings.stop_time > 0.4 - RESERVE, 'the full command is too much'
    assert 0.0 < verdict.scale < 1.0
    # the law looks at a number of parts of the command and interpolates between them
    assert 0.4 - cost * braking == pytest.approx(RESERVE, abs=0.02)


def test_a_lever_is_held_back_where_its_way_to_rest_leads_over_the_edge(machine):
    """The ground ends at -0.2 rad: the joint, with its lag and its way of braking, stops before it."""
    edge = -0.2
    governor = TipOverGovernor(machine, range(3), lambda q, v, a: np.where(q[:, 1] >= edge, 0.5 + 1e-4 * q[:, 1], -1.0))
    settings = governor.settings
    full = abs(float(SpeedMap(machine, machine.actuators[0]).speed(-6.0, edge)))
    way = full * (settings.horizon + 0.5 * settings.stop_time)
    _, near = speed_let_through(governor, machine, edge + 0.9 * way)
    _, far = speed_let_through(TipOverGovernor(machine, range(3), governor.moving), machine, edge + 1.1 * way)
    assert near.scale < 1.0
    assert far.scale == 1.0
    # the speed that the joint has already carries it on for the lag
    verdict = govern(
        TipOverGovernor(machine, range(3), governor.moving),
        [-6.0, 0.0, 0.0],
        [0.0, edge + 1.1 * way, -1.0],
        v=(0.0, -0.4 * way / settings.lag, 0.0),
    )
    assert verdict.scale < 1.0
