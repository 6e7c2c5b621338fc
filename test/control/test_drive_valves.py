"""Valves of hydraulic motors of tracks: inverse of the valve's flow, load of a turn, loop, limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.common.share import find_resource
from dyn_nodes.control.drive_valves import DriveValves
from dyn_nodes.control.valve_inverse import spool_for_speed
from dyn_nodes.control.wheel_base import WheelBase
from dyn_nodes.control.wheel_drive import DriveReference
from dyn_nodes.control.wheel_unit import NoVehicleError
from dyn_nodes.model import load_machine

STEP = 0.01


@pytest.fixture(scope='module')
def machine():
    return load_machine(find_resource('urdf/excavator.urdf'), find_resource('config/excavator.yaml'))


@pytest.fixture(scope='module')
def base(machine):
    return WheelBase.of(machine)


@pytest.fixture
def valves(machine, base):
    return DriveValves(machine, base)


def reference(base, left, right, rise=0.0):
    """Return the reference for rates of the sprockets, rad/s, and a common acceleration, rad/s2."""
    speeds = np.array([left, right])
    rolling = np.linalg.solve(base.rolling_rows(np.zeros(2))[0][:, [0, 2]], 0.36 * speeds)
    nothing = np.zeros(2)
    twist = np.array([rolling[0], 0.0, rolling[1]])
    return DriveReference(twist, np.zeros(3), speeds, np.full(2, rise), nothing, nothing, nothing, ())


def test_the_valves_are_those_of_the_travel_motors(machine, valves):
    assert [machine.actuators[index].name for index in valves.indices] == ['left_travel', 'right_travel']


def test_a_motor_at_zero_speed_gets_a_neutral_valve_under_any_load(base, valves):
    volts = valves.volts(reference(base, 0.0, 0.0), STEP, np.array([0.1, -0.1]), np.array([1e4, 2e4]))
    assert volts.tolist() == [0.0, 0.0]


def test_straight_ahead_without_speed_error_the_voltage_is_the_inverse_of_the_valve(machine, base, valves):
    speeds = np.array([1.5, 1.5])
    actuator = machine.actuators[valves.indices[0]]
    for load in (0.0, 8e3):
        valves.reset()
        volts = valves.volts(reference(base, *speeds), STEP, speeds, np.full(2, load))
        expected = spool_for_speed(actuator, 1.5, load) / actuator.valve.gain
        assert volts == pytest.approx([expected, expected], rel=1e-6)


def test_in_a_turn_the_load_of_the_ground_is_added_before_it_is_measured(machine, base, valves):
    actuator = machine.actuators[valves.indices[1]]
    turn = reference(base, -0.5, 0.5)
    load = base.turning_torques(turn.twist)[1]
    volts = valves.volts(turn, STEP, np.array([-0.5, 0.5]), None)
    assert load > 1e4
    assert volts[1] == pytest.approx(spool_for_speed(actuator, 0.5, load) / actuator.valve.gain, rel=1e-6)
    assert volts[1] > spool_for_speed(actuator, 0.5, 0.0) / actuator.valve.gain + 0.1


def test_a_lasting_speed_error_opens_the_valve_further(base, valves):
    wanted, measured = reference(base, 1.0, 1.0), np.array([0.8, 1.0])
    first, *_, last = (valves.volts(wanted, STEP, measured, np.zeros(2)) for _ in range(100))
    assert first[0] > first[1]
    assert last[0] > first[0] + 0.2
    assert last[1] == pytest.approx(first[1])


def test_at_its_limit_a_valve_is_named_and_its_integral_waits(machine, base, valves):
    limit = machine.actuators[valves.indices[0]].valve.voltage_limit
    for _ in range(200):
        volts = valves.volts(reference(base, 4.9, 1.0), STEP, np.array([3.0, 1.0]), None)
    assert volts[0] == limit
    assert valves.saturated == ('left_track',)
    after = valves.volts(reference(base, 1.0, 1.0), STEP, np.array([1.0, 1.0]), np.zeros(2))
    assert after[0] == pytest.approx(after[1], rel=0.05)
    assert valves.saturated == ()


def test_the_valve_leads_by_its_time_constant_while_the_speed_rises(base, valves):
    level, rising = (
        DriveValves.volts(valves, reference(base, 1.0, 1.0, rise), STEP, np.full(2, 1.0 - rise * STEP), None)
        for rise in (0.0, 1.0)
    )
    assert rising[0] > level[0] + 0.05


def test_a_track_without_a_motor_is_rejected(machine, base):
    bare = replace(
        machine, actuators=tuple(actuator for actuator in machine.actuators if actuator.name != 'right_travel')
    )
    with pytest.raises(
        NoVehicleError, match="right_track: expected a hydraulic actuator on joint 'right_sprocket_joint'"
    ):
        DriveValves(bare, base)
