"""The Mecanum vehicle with 8 kg ahead: its margins fall during braking and warn before a wheel lifts."""

from __future__ import annotations

import numpy as np
import pytest
from vehicles import STEP, vehicle

from dyn_nodes.control.arm_servo import ArmServo
from dyn_nodes.control.trajectory import JointReference
from dyn_nodes.control.wheel_base import WheelBase
from dyn_nodes.control.wheel_drive import DriveLimits
from dyn_nodes.control.wheel_motion import JointValues, WheelMotion
from dyn_nodes.measures import MEASURES
from dyn_nodes.model.rotations import matrix_of_quaternion
from dyn_nodes.simulation.plant import Plant

PERIOD = 0.002
ARM = ('arm_turn', 'arm_shoulder', 'arm_elbow', 'arm_wrist')
OUT = {'arm_shoulder': 1.0, 'arm_elbow': 0.0, 'arm_wrist': 0.0}
SPEED, BRAKES = 0.6, 0.9
CAUTION = MEASURES['load_share'].levels(4).caution


class Vehicle:
    """Plant, wheel controller and arm servo in one process, like their nodes in lockstep."""

    def __init__(self, payload, posture):
        machine = vehicle('agv_mecanum_arm')
        self.plant = Plant(machine, 'effort', PERIOD, STEP, joints=posture, values={'payload_mass': payload})
        self.motion = WheelMotion(WheelBase.of(machine), PERIOD)
        joints = self.plant.joints
        self.wheels = [joints.index(name) for name in self.motion.joints]
        self.driven = [joints.index(name) for name in self.motion.commanded]
        self.arm = [joints.index(name) for name in ARM]
        self.servo = ArmServo(machine, ARM, 15.0)
        self.servo.payload = payload
        self.held = self.plant.positions[self.arm].copy()
        self.motion.restart(self.state())

    def state(self):
        plant = self.plant
        return JointValues(*(values[self.wheels] for values in (plant.positions, plant.velocities, plant.efforts)))

    def step(self, speed, acceleration):
        plant = self.plant
        self.motion.drive.limits = DriveLimits(linear_speed=2.0, linear_acceleration=acceleration)
        command = self.motion.step(np.array([speed, 0.0, 0.0]), PERIOD, self.state())
        still = JointReference(self.held, np.zeros(4), np.zeros(4))
        driven = self.motion.odometry.twist, self.motion.reference.acceleration
        efforts = np.zeros(len(plant.joints))
        efforts[self.driven] = command.effort
        efforts[self.arm] = self.servo.efforts(plant.positions, plant.velocities, *driven, still)
        plant.set_efforts(efforts)
        plant.advance()


def braked(payload, posture, braking, duration=1.4):
    """Accelerate and brake; return times, least load shares, and the time of the first lift-off or None."""
    machine = Vehicle(payload, posture)
    times, shares, lifted = [], [], None
    while machine.plant.time < duration:
        ahead = machine.plant.time < BRAKES
        machine.step(SPEED if ahead else 0.0, 1.0 if ahead else braking)
        times.append(machine.plant.time)
        shares.append(machine.plant.balance().margins['load_share'].value)
        lifts = [event.time for event in machine.plant.take_events() if event.kind == 'lift_off']
        lifted = lifted if lifted is not None or not lifts else min(lifts)
    return np.array(times), np.array(shares), lifted


def test_braking_hard_with_the_arm_out_lifts_the_rear_and_the_margin_warns_before():
    times, shares, lifted = braked(8.0, OUT, 6.0)
    assert lifted is not None
    assert BRAKES < lifted < BRAKES + 0.05
    before = times <= BRAKES
    assert shares[before].min() > CAUTION, 'no warning while it drives'
    warned = times[~before][shares[~before] < CAUTION][0]
    assert lifted - warned == pytest.approx(0.010, abs=0.004)


def test_braking_gently_warns_and_no_wheel_lifts():
    times, shares, lifted = braked(8.0, OUT, 2.0)
    assert lifted is None
    assert 0.0 < shares[times > BRAKES].min() < CAUTION


def test_braking_hard_with_the_arm_folded_and_one_kilogram_is_safe():
    _, shares, lifted = braked(1.0, None, 6.0)
    assert lifted is None
    assert shares.min() > CAUTION


def sag_of(machine, seconds=1.0):
    """Keep a vehicle at rest; return the greatest error of the joints of its arm."""
    greatest = 0.0
    for _ in range(round(seconds / PERIOD)):
        machine.step(0.0, BRAKES)
        greatest = max(greatest, float(np.abs(machine.plant.positions[machine.arm] - machine.held).max()))
    return greatest


def test_an_arm_stays_at_rest_on_a_compliant_vehicle():
    assert sag_of(Vehicle(8.0, OUT)) > 1e-3
    machine = Vehicle(8.0, OUT)
    plant = machine.plant
    machine.servo.restart(plant.positions, plant.efforts)
    up = matrix_of_quaternion(plant.base_pose()[1])[2]
    assert machine.servo.tilt == pytest.approx([up[1], -up[0]], abs=1e-7)
    assert sag_of(machine) < 1e-7


def test_efforts_that_hold_an_arm_leave_its_base_level():
    machine = Vehicle(0.0, OUT)
    servo, positions = machine.servo, machine.plant.positions
    efforts = machine.plant.efforts.copy()
    for tilt in ([0.1, -0.05], [0.0, 0.3]):
        efforts[machine.arm] = servo._holding(positions, np.array(tilt))
        servo.restart(positions, efforts)
        assert servo.tilt[1] == pytest.approx(tilt[1], abs=2e-3)
        assert servo._holding(positions, servo.tilt) == pytest.approx(efforts[machine.arm], abs=0.1)
    good = efforts.copy()
    for wrong in (None, 0.0 * good, -good, 1.2 * good):
        servo.restart(positions, wrong)
        assert servo.tilt.tolist() == [0.0, 0.0]
