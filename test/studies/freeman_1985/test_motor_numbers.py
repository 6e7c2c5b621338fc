"""Motors of arm A6 of freeman-1985: nominal currents and voltages along the path of spec 7.4, from its machine file."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from printed_numbers import matches

from dyn_nodes.common.share import find_resource
from dyn_nodes.control.motor_law import MotorLaw, NominalVoltage
from dyn_nodes.model import load_machine
from dyn_nodes.multibody import build_tree
from dyn_nodes.studies.freeman_1985.actuators import TOOL_LOAD, nominal_path
from dyn_nodes.studies.freeman_1985.arms import A6_Q, arm_a6

STEP = 1e-3


@cache
def machine():
    return load_machine(find_resource('urdf/arm_a6.urdf'), find_resource('config/arm_a6.yaml'))


@cache
def nominal():
    return NominalVoltage(machine(), {'tool': TOOL_LOAD})


def test_the_machine_file_is_the_arm_of_the_specification():
    ours, theirs = build_tree(machine()), arm_a6()
    assert list(machine().initial.joint_positions.values()) == A6_Q.tolist()
    for one, other in zip(ours.bodies, theirs.bodies):
        assert (one.name, one.parent, one.mass) == (other.name, other.parent, other.mass)
        for field in ('axis', 'R0', 'p0', 'com', 'inertia'):
            assert getattr(one, field) == pytest.approx(getattr(other, field), abs=1e-15)
    assert ours.frame('tool').p == pytest.approx(theirs.frame('tool').p, abs=1e-15)


def test_nominal_drive_of_arm_a6():
    here, later = nominal().at(*nominal_path(0.0)), nominal().at(*nominal_path(0.5))
    matches('freeman-1985/7.4/effort', here.effort, 1e-6)
    matches('freeman-1985/7.4/current', here.current, 1e-6)
    matches('freeman-1985/7.4/current_rate', here.current_rate, 1e-6)
    matches('freeman-1985/7.4/voltage', here.voltage, 1e-6)
    matches('freeman-1985/7.4/voltage_later', later.voltage, 1e-6)


def test_rates_of_the_currents_are_differences_of_the_currents():
    forth, back = (nominal().at(*nominal_path(side * STEP)).current for side in (1, -1))
    assert (forth - back) / (2 * STEP) == pytest.approx(nominal().at(*nominal_path(0.0)).current_rate, abs=1e-5)


def test_voltages_of_wanted_efforts_are_those_of_the_steady_motion():
    law, q, v = nominal().law, *nominal_path(0.0)[:2]
    drive = nominal().at(q, v, np.zeros(6), np.zeros(6))
    assert law.voltages(drive.effort, v) == pytest.approx(drive.voltage - law.inductance * drive.current_rate)


def test_voltages_and_currents_of_wanted_efforts_keep_the_limits():
    law = MotorLaw(machine().actuators)
    assert law.currents([1e4, -1e4, 0, 0, 0, 0], np.zeros(6)).tolist() == [20.0, -20.0, 0, 0, 0, 0]
    assert law.voltages([1e4, -1e4, 0, 0, 0, 0], [3.0, -3.0, 0, 0, 0, 0]).tolist() == [48.0, -48.0, 0, 0, 0, 0]


def test_nominal_voltages_need_motors_and_a_tree_on_a_fixed_base():
    loader = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    with pytest.raises(ValueError, match='log_loader: expected a tree on a fixed base'):
        NominalVoltage(loader)
    with pytest.raises(ValueError, match="actuator 'swing': expected an electric motor, found a motor"):
        MotorLaw([loader.actuator('swing')])
    with pytest.raises(ValueError, match='expected electric motors, found none'):
        NominalVoltage(load_machine(find_resource('urdf/arm_4r.urdf'), find_resource('config/arm_4r.yaml')))
