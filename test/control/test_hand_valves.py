"""Valve voltages that move a hand: feedforward, errors, damping of the oil, unmodelled loads."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dyn_nodes.common.share import find_resource
from dyn_nodes.control.hand.valves import HandValves, ValveLoopGains
from dyn_nodes.control.valve_inverse import spool_for_speed
from dyn_nodes.control.valve_loads import speed_gain
from dyn_nodes.elements.actuators import actuator_element
from dyn_nodes.model import load_machine

JOINTS = ('swing_joint', 'boom_joint', 'stick_joint')
POSTURE, AT_REST = np.array([0.1, 0.6, -1.2]), np.zeros(3)
LOAD, INERTIA = np.array([0.0, 4e4, -8e3]), np.array([3e4, 2.5e4, 4e3])
SIDES = np.array([1.0, -1.0, 0.0])
DT = 0.01


@pytest.fixture(scope='module')
def actuators():
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    return {actuator.joint: actuator for actuator in machine.actuators}


@pytest.fixture
def made(actuators):
    """Return a function that makes valves with references POSTURE and a velocity, (3,)."""

    def make(velocity=AT_REST, **gains):
        hand = SimpleNamespace(joints=JOINTS, indices=np.arange(3))
        target = SimpleNamespace(position=POSTURE.copy(), velocity=np.array(velocity), acceleration=np.zeros(3))
        follower = SimpleNamespace(reference=SimpleNamespace(hand=hand), sample=lambda time: target)
        arm = SimpleNamespace(
            model=lambda q: SimpleNamespace(effort=lambda v, a: LOAD.copy(), inertia=np.diag(INERTIA))
        )
        return HandValves(follower, arm, list(actuators.values()), ValveLoopGains(**gains))

    return make


def volts_for(actuators, speed, load, position=POSTURE, rates=None):
    """Return the volts for joint speeds against loads, and the loads that accelerate the joints from other rates."""
    result = []
    if rates is not None:
        gains = np.array([speed_gain(actuators[joint].valve, DT) for joint in JOINTS])
        load = load + INERTIA * gains * (speed - rates)
    for k, joint in enumerate(JOINTS):
        arm = float(actuator_element(actuators[joint]).lever(position[k]))
        result.append(spool_for_speed(actuators[joint], arm * speed[k], load[k] / arm) / actuators[joint].valve.gain)
    return np.array(result)


def test_a_reference_that_moves_is_led_by_the_spool_for_its_speed_against_the_load(made, actuators):
    speed = np.array([0.1, -0.05, 0.08])
    np.testing.assert_allclose(made(speed).voltages(DT, POSTURE, speed), volts_for(actuators, speed, LOAD), rtol=1e-12)


def test_an_error_within_the_dead_band_leaves_a_joint_at_rest_locked(made):
    assert made().voltages(DT, POSTURE + 1.9e-3 * SIDES, AT_REST).tolist() == [0.0, 0.0, 0.0]
    assert np.sign(made().voltages(DT, POSTURE + 2.1e-3 * SIDES, AT_REST)).tolist() == [-1.0, 1.0, 0.0]


def test_position_errors_and_their_integral_add_to_the_speed(made, actuators):
    speed, error = np.array([0.1, 0.05, 0.08]), np.array([0.02, -0.01, 0.03])
    valves, total = made(speed), np.zeros(3)
    for k in range(1, 4):
        result = valves.voltages(k * DT, POSTURE - error, speed)
        expected = volts_for(actuators, speed + error + total, LOAD, POSTURE - error, speed)
        np.testing.assert_allclose(result, expected, rtol=1e-12)
        total = total + 0.2 * error * DT


def test_at_the_voltage_limit_the_integral_is_held_and_returns_from_there(made, actuators):
    sides = np.sign([float(actuator_element(actuators[joint]).lever(q)) for joint, q in zip(JOINTS, POSTURE)])
    limits = sides * [actuators[joint].valve.voltage_limit for joint in JOINTS]
    speed = np.array([0.1, 0.05, 0.08])
    valves = made(speed, position=1e3)
    for k in range(1, 50):
        far = valves.voltages(k * DT, POSTURE - 0.05, AT_REST)
    np.testing.assert_allclose(far, limits)
    fresh = made(speed, position=1e3).voltages(DT, POSTURE, AT_REST)
    np.testing.assert_allclose(valves.voltages(0.5, POSTURE, AT_REST), fresh, rtol=1e-12)


def test_efforts_that_differ_from_the_model_are_a_load_when_they_last_and_damped_while_they_change(made, actuators):
    """The first efforts act at once; a change passes a low pass of half a second, its fast part brakes the joint."""
    speed, lasting, change = np.array([0.1, 0.05, 0.08]), np.array([500.0, -800.0, 300.0]), 2e3
    valves = made(speed)
    first = valves.voltages(DT, POSTURE, speed, LOAD + lasting)
    np.testing.assert_allclose(first, volts_for(actuators, speed, LOAD + lasting), rtol=1e-12)
    result = valves.voltages(2 * DT, POSTURE, speed, LOAD + lasting + change)
    slow = change * DT / (DT + 0.5)
    stiffness = np.array([actuator_element(actuators[joint]).locked_stiffness(q) for joint, q in zip(JOINTS, POSTURE)])
    damped = 2.0 * 0.8 / np.sqrt(stiffness.astype(float) * INERTIA) * (change - slow)
    expected = volts_for(actuators, speed - damped, LOAD + lasting + slow, rates=speed)
    np.testing.assert_allclose(result, expected, rtol=1e-9)
    valves.restart(0.5)
    np.testing.assert_allclose(valves.voltages(0.5 + DT, POSTURE, speed, LOAD + lasting), first, rtol=1e-12)


def test_the_force_that_accelerates_a_joint_is_no_load(made, actuators):
    """Efforts of a motion that accelerates evenly: the low pass of efforts and of rates cancel."""
    rise, still = np.array([0.05, -0.04, 0.2]), np.full(3, 0.1)
    valves = made(still, damping_ratio=0.0, position=0.0)
    for k in range(1, 40):
        rates = still + rise * (k - 40) * DT
        result = valves.voltages(k * DT, POSTURE, rates, LOAD + INERTIA * rise * (k > 1))
    expected = volts_for(actuators, still, LOAD, rates=rates)
    np.testing.assert_allclose(result, expected, rtol=1e-9)


def test_below_the_least_speed_the_spool_is_proportional_to_the_speed(made, actuators):
    least = np.full(3, 5e-3)
    result = made(0.4 * least).voltages(DT, POSTURE, 0.4 * least)
    np.testing.assert_allclose(result, 0.4 * volts_for(actuators, least, LOAD), rtol=1e-9)


def test_a_joint_without_an_actuator_and_invalid_gains_are_rejected(made, actuators):
    follower = made().follower
    with pytest.raises(ValueError, match='expected an actuator on every joint of the hand, found none on stick_joint'):
        HandValves(follower, made().arm, [actuators['swing_joint'], actuators['boom_joint']])
    with pytest.raises(ValueError, match='load_filter'):
        ValveLoopGains(load_filter=0.0)
    with pytest.raises(ValueError, match='position'):
        ValveLoopGains(position=-1.0)
