"""Torques of the wheels: distributed, limited, and against loads, on the rigid vehicle of saha-1991."""

from __future__ import annotations

import math

import numpy as np
import pytest
from vehicle_layouts import car, four_steered, mecanum

from dyn_nodes.control.wheel_base import WheelBase
from dyn_nodes.control.wheel_drive import DriveLimits, WheelDrive
from dyn_nodes.control.wheel_motion import JointValues, WheelMotion
from dyn_nodes.control.wheel_servo import ServoGains, WheelServo
from dyn_nodes.multibody.omni_vehicle import OmniVehicle, OmniWheel

PERIOD = 0.002
ZERO = np.zeros(4)


class RigidVehicle:
    """A Mecanum vehicle without slip, integrated step by step: the model of saha-1991, not of WheelBase."""

    def __init__(self, base: WheelBase, force: tuple[float, float] = (0.0, 0.0)) -> None:
        wheels = [
            OmniWheel(
                w.roller_angle + math.pi / 2, math.pi / 2, math.atan2(w.pivot[1], w.pivot[0]), math.hypot(*w.pivot),
                w.radius, 0.01, axial_inertia=w.axial_inertia,
            )
            for w in base.wheels
        ]  # fmt: skip
        self.vehicle = OmniVehicle(wheels, base.inertia[0, 0], base.inertia[2, 2])
        self.twist, self.turns, self.force = np.zeros(3), np.zeros(4), np.array([0.0, *force])
        self.way = np.zeros(3)

    def state(self) -> JointValues:
        return JointValues(self.turns, self.vehicle.L @ self.twist, ZERO)

    def push(self, torques: np.ndarray) -> None:
        load = self.vehicle.L_driven.T @ torques + self.force - self.vehicle.bias(self.twist)
        self.twist = self.twist + np.linalg.solve(self.vehicle.inertia, load) * PERIOD
        self.turns = self.turns + self.vehicle.L @ self.twist * PERIOD
        self.way = self.way + self.twist * PERIOD


def run(plant: RigidVehicle, motion: WheelMotion, twist, seconds: float) -> np.ndarray:
    """Drive; return the errors of the twist (steps, 3) against the reference."""
    errors = []
    for _ in range(round(seconds / PERIOD)):
        command = motion.step(np.array(twist, dtype=float), PERIOD, plant.state())
        plant.push(command.effort)
        errors.append(plant.twist[[1, 2, 0]] - motion.reference.twist)
    return np.array(errors)


def make(force=(0.0, 0.0), **changes) -> tuple[RigidVehicle, WheelMotion]:
    base = mecanum(**{'drive_limits': (20.0, 8.0), **changes})
    plant, motion = RigidVehicle(base, force), WheelMotion(base, PERIOD)
    motion.restart(plant.state())
    return plant, motion


def test_the_feedforward_alone_moves_a_rigid_vehicle_as_wanted():
    plant, motion = make()
    motion.servo.gains = ServoGains(speed=0.0, integral=0.0)
    motion.servo.tune()
    errors = run(plant, motion, (0.4, 0.2, 0.8), 2.0)
    assert np.abs(errors).max() < 5e-3  # of the step: a turning frame, integrated to first order
    assert plant.twist[[1, 2, 0]] == pytest.approx([0.4, 0.2, 0.8], abs=5e-3)


def test_with_its_loops_it_stays_closer():
    plant, motion = make()
    errors = run(plant, motion, (0.4, 0.2, 0.8), 2.0)
    assert np.abs(errors).max() < 2e-3


def test_a_constant_load_is_held_at_rest():
    plant, motion = make(force=(-75.0, 20.0))  # a slope of 10 degrees, for 45 kg
    run(plant, motion, (0.0, 0.0, 0.0), 4.0)
    there = plant.way.copy()
    assert np.abs(plant.twist).max() < 1e-4
    run(plant, motion, (0.0, 0.0, 0.0), 4.0)
    assert np.abs(plant.way - there).max() < 1e-4
    assert plant.vehicle.L.T @ motion.servo.integral == pytest.approx([0.0, 75.0, -20.0], abs=0.05)


def test_efforts_that_hold_the_vehicle_at_the_start_are_taken_over():
    plant, motion = make(force=(-75.0, 0.0))
    hold = np.full(4, 75.0 * 0.1 / 4)
    motion.restart(JointValues(ZERO, ZERO, hold))
    run(plant, motion, (0.0, 0.0, 0.0), 1.0)
    assert np.abs(plant.way).max() < 1e-9


def ground(plant, twist, rates):
    """Return the ground wrench on the vehicle under its force: Newton's law in axes of the base."""
    mass, yaw_inertia = plant.vehicle.total_mass, plant.vehicle.yaw_inertia
    vx, vy, turn = twist
    newton = [mass * (rates[0] - turn * vy), mass * (rates[1] + turn * vx), yaw_inertia * rates[2]]
    return np.array(newton) - plant.force[[1, 2, 0]]


def test_a_measured_load_is_compensated_at_once():
    """For example the reaction of a swinging arm, which the loops alone follow late."""
    greatest = []
    for measured in (False, True):
        plant, motion = make()
        motion.load = (lambda twist, rates, vehicle=plant: ground(vehicle, twist, rates)) if measured else None
        errors = []
        for k in range(1000):
            plant.force = np.array([4.0, 60.0, -30.0]) * math.sin(4.0 * math.pi * k * PERIOD)
            errors.append(run(plant, motion, (0.4, 0.2, 0.8), PERIOD)[0])
        greatest.append(np.abs(errors).max())
    assert greatest[0] > 0.05
    assert greatest[1] < 0.01


def test_a_measured_load_is_not_compensated_twice_if_the_efforts_held_it():
    plant, motion = make(force=(-75.0, 0.0))
    motion.load = lambda twist, rates: ground(plant, twist, rates)
    motion.restart(JointValues(ZERO, ZERO, np.full(4, 75.0 * 0.1 / 4)))
    run(plant, motion, (0.0, 0.0, 0.0), 1.0)
    assert np.abs(plant.way).max() < 1e-9
    assert motion.servo.integral == pytest.approx(ZERO, abs=1e-9)


def test_a_measured_load_is_compensated_from_the_first_command_on_without_measured_efforts():
    plant, motion = make(force=(-75.0, 0.0))
    motion.load = lambda twist, rates: ground(plant, twist, rates)
    for take_up in (lambda state: motion.restart(state), lambda state: motion.resume(state, 0.25)):
        take_up(JointValues(plant.turns, plant.vehicle.L @ plant.twist, None))
        run(plant, motion, (0.0, 0.0, 0.0), 1.0)
        assert np.abs(plant.way).max() < 1e-9
        assert motion.servo.integral == pytest.approx(ZERO, abs=1e-9)


def test_the_last_load_is_kept_while_it_is_unknown():
    plant, motion = make(force=(-75.0, 0.0))
    motion.load = lambda twist, rates: ground(plant, twist, rates)
    motion.restart(JointValues(ZERO, ZERO, np.full(4, 75.0 * 0.1 / 4)))
    run(plant, motion, (0.0, 0.0, 0.0), 0.1)
    motion.load = lambda twist, rates: np.full(3, np.nan)
    run(plant, motion, (0.0, 0.0, 0.0), 1.0)
    assert np.abs(plant.way).max() < 1e-9


def test_wheels_that_disagree_do_not_wind_up():
    base = mecanum()
    motion = WheelMotion(base, PERIOD)
    motion.restart(JointValues(ZERO, ZERO, ZERO))
    wrong = np.array([1.0, 1.0, -1.0, -1.0])  # no motion of the vehicle turns the wheels like this
    for _ in range(2000):
        command = motion.step(np.zeros(3), PERIOD, JointValues(ZERO, 0.2 * wrong, ZERO))
    assert np.abs(motion.servo.integral).max() < 1e-12
    assert command.effort == pytest.approx(-0.2 * motion.servo.speed_gain * wrong)


def test_wheels_that_are_held_do_not_wind_up_beyond_their_torque():
    plant, motion = make(drive_limits=(20.0, 2.0))
    for _ in range(2000):
        command = motion.step(np.array([0.5, 0.0, 0.0]), PERIOD, plant.state())
    assert np.abs(command.effort).max() <= 2.0
    assert np.abs(motion.servo.integral).max() <= 2.0
    assert motion.servo.saturated == motion.base.names
    # released: it reaches the wanted speed within a second, with little overshoot
    speeds = []
    for _ in range(round(2.0 / PERIOD)):
        plant.push(motion.step(np.array([0.5, 0.0, 0.0]), PERIOD, plant.state()).effort)
        speeds.append(plant.twist[1])
    assert max(speeds) < 0.75
    assert speeds[-1] == pytest.approx(0.5, abs=0.02)


def test_an_acceleration_beyond_the_torques_is_named_and_the_reference_waits():
    plant, motion = make(drive_limits=(20.0, 0.5))
    errors = run(plant, motion, (0.8, 0.0, 0.0), 0.5)
    most = 4 * 0.5 / 0.1 / 49.0  # four wheels; the mass and the spin of the wheels
    assert motion.reference.acceleration[0] == pytest.approx(most, rel=0.05)
    assert any('of the acceleration' in text for text in motion.infeasible)
    assert np.abs(errors).max() < 0.01
    run(plant, motion, (0.8, 0.0, 0.0), 2.5)
    assert plant.twist[1] == pytest.approx(0.8, abs=1e-3)
    assert motion.infeasible == ()


def test_torques_are_shared_with_least_effort():
    base = mecanum()
    servo, drive = WheelServo(base, PERIOD), WheelDrive(base, DriveLimits())
    reference = drive.step(np.array([0.0, 0.5, 0.0]), PERIOD, ZERO)
    torques, part = servo.feedforward(reference, ZERO)
    assert part == 1.0
    assert torques == pytest.approx(0.25 * 49.0 * 0.1 * np.array([-1.0, 1.0, 1.0, -1.0]), rel=1e-9)


def test_only_driven_wheels_and_steered_joints_get_torques():
    base = car()
    motion = WheelMotion(base, PERIOD)
    assert motion.commanded == ('rear_left_drive', 'rear_right_drive', 'front_left_steer', 'front_right_steer')
    zeros = np.zeros(len(motion.joints))
    motion.restart(JointValues(zeros, zeros, zeros))
    command = motion.step(np.array([0.5, 0.0, 0.1]), PERIOD, JointValues(zeros, zeros, zeros))
    assert command.effort.shape == (4,)
    assert np.abs(command.effort[2:]).min() > 0.0  # the front wheels turn first
    assert command.effort[:2] == pytest.approx([0.0, 0.0])


def test_signs_of_the_joints_are_those_of_the_files():
    plain, mirrored = mecanum(), mecanum(turn=-1.0)
    commands = []
    for base in (plain, mirrored):
        motion = WheelMotion(base, PERIOD)
        motion.restart(JointValues(ZERO, ZERO, ZERO))
        commands.append(motion.step(np.array([0.5, 0.1, 0.2]), PERIOD, JointValues(ZERO, ZERO, ZERO)))
    for kind in ('position', 'velocity', 'effort'):
        assert getattr(commands[0], kind) == pytest.approx(-getattr(commands[1], kind))
    down, up = (four_steered(up=sign) for sign in (-1.0, 1.0))
    angles = []
    for base in (down, up):
        motion = WheelMotion(base, PERIOD)
        state = JointValues(np.zeros(8), np.zeros(8), np.zeros(8))
        motion.restart(state)
        angles.append(motion.step(np.array([0.5, 0.2, 0.0]), PERIOD, state).velocity[4:])
    assert np.abs(angles[0]).min() > 0.0
    assert angles[0] == pytest.approx(-angles[1])


def test_traction_beside_the_steering_axis_is_compensated():
    base = four_steered()
    servo = WheelServo(base, PERIOD)
    drive = WheelDrive(base, DriveLimits())
    reference = drive.step(np.zeros(3), PERIOD, ZERO)
    torques = servo.steering_torques(reference, np.full(4, 2.0), PERIOD, ZERO, ZERO)
    # 2 N m at 0.1 m pull with 20 N, 0.08 m outside of the axis: left wheels are turned to the right
    assert torques == pytest.approx([1.6, -1.6, 1.6, -1.6])


@pytest.mark.parametrize('base', [mecanum(), four_steered()])
def test_a_wheel_in_the_air_stays_stable_at_any_period(base):
    servo = WheelServo(base, 0.01, ServoGains(speed=100.0))
    inertia = np.array([wheel.axial_inertia for wheel in base.wheels])
    assert (servo.speed_gain * 0.01 / inertia <= 0.25 + 1e-12).all()
