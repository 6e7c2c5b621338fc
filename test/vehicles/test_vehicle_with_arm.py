"""A vehicle on slipping tyres drives while its arm follows a trajectory."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.control.arm_servo import ArmServo
from dyn_nodes.control.trajectory import JointTrajectory, TrajectoryPoint
from dyn_nodes.control.wheel_base import WheelBase
from dyn_nodes.control.wheel_motion import JointValues, WheelMotion
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.simulation.plant import Plant

PERIOD = 0.002
ARM = ('arm_turn', 'arm_shoulder', 'arm_elbow', 'arm_wrist')


@pytest.mark.slow
def test_it_follows_a_twist_and_a_trajectory_at_the_same_time():
    machine = machine_of('agv_mecanum_arm', '')
    plant = Plant(machine, 'effort', PERIOD, 5e-4, ('static',))
    motion = WheelMotion(WheelBase.of(machine), PERIOD)
    servo = ArmServo(machine, ARM, bandwidth=15.0)
    wheels, driven, arm = (
        [plant.joints.index(name) for name in names] for names in (motion.joints, motion.commanded, ARM)
    )
    start = plant.positions[arm].copy()
    goal = start + np.array([0.4, -0.3, 0.4, 0.2])
    points = [
        TrajectoryPoint(0.0, start, np.zeros(4), np.zeros(4)),
        TrajectoryPoint(1.5, goal, np.zeros(4), np.zeros(4)),
    ]
    trajectory = JointTrajectory.from_points(ARM, points)

    def state() -> JointValues:
        return JointValues(plant.positions[wheels], plant.velocities[wheels], plant.efforts[wheels])

    motion.restart(state())
    errors, twists = [], []
    while plant.time < 2.5 - 1e-9:
        wanted = np.array([0.4, 0.2, 0.5]) if plant.time < 1.5 else np.zeros(3)
        command = motion.step(wanted, PERIOD, state())
        reference = trajectory.sample(plant.time)
        moves = motion.odometry.twist, motion.reference.acceleration
        efforts = np.zeros(len(plant.joints))
        efforts[driven] = command.effort
        efforts[arm] = servo.efforts(plant.positions, plant.velocities, *moves, reference)
        plant.set_efforts(efforts)
        plant.advance()
        linear, angular = plant.base_twist()
        twists.append(np.array([linear[0], linear[1], angular[2]]) - motion.reference.twist)
        errors.append(plant.positions[arm] - trajectory.sample(plant.time).position)
    # the base rocks on its springs below the arm: millirad, not microrad
    assert np.abs(errors).max() < 0.02
    assert np.abs(errors[-1]).max() < 2e-3
    assert np.abs(twists).max() < 0.08
    assert np.abs(twists[-1]).max() < 5e-3
