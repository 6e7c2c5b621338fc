"""The log-loader's grapple on straight lines of 3 m, controlled by its valves, with hydraulics, tyres and payload."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from dyn_nodes.control.hand import (
    ArmDynamics,
    HandFollower,
    HandLimits,
    HandPath,
    HandPose,
    HandReference,
    HandValves,
    PumpSpeeds,
    hand_of,
    inverse_kinematics,
)
from dyn_nodes.model.rotations import matrix_of_quaternion
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.simulation.plant import Plant

PERIOD = 0.01
LIMITS = HandLimits(speed=0.5, acceleration=0.5, jerk=2.0)


class Run(NamedTuple):
    off: float  # greatest distance from the line, m
    end: float  # of the grapple from the end of the line, m
    speed: float  # mean of the middle half of the line, m/s
    volts: np.ndarray  # greatest of each valve, V
    pressure: float  # greatest, Pa
    margin: np.ndarray  # zmp margin, of its greatest
    state: str
    reason: str


def base_of(plant):
    at = {name: float(value) for name, value in zip(plant.system.state_names, plant.x)}
    quaternion = [at[f'base_q{axis}'] for axis in 'xyzw']
    return HandPose(matrix_of_quaternion(quaternion), np.array([at[f'base_{axis}'] for axis in 'xyz']))


def drive(machine, start, move, payload, after=1.0):
    """Control the grapple along a line in axes of the initial base; return its motion in the world."""
    hand = hand_of(machine, 'payload_link')
    guess = hand.home if hand.dependent else [0.1, 0.5, -1.2]
    first = inverse_kinematics(hand, HandPose(np.eye(3), np.array(start)), guess).best.posture
    plant = Plant(
        machine, 'hydraulic', PERIOD, 5e-4, joints=dict(zip(hand.names, first)), values={'payload_mass': payload}
    )
    order = [plant.joints.index(name) for name in hand.names]
    pressures = [k for k, name in enumerate(plant.system.state_names) if 'pressure' in name]
    speeds = PumpSpeeds(
        hand.joints, [machine.joint(name).velocity_limit for name in hand.joints], machine.actuators, hand.indices
    )
    follower = HandFollower(HandReference(hand, speeds=speeds), PERIOD, lead=0.1, tolerance=0.15)
    valves = HandValves(follower, ArmDynamics(hand, payload=payload), machine.actuators)
    follower.restart(0.0, plant.positions[order], base_of(plant))
    origin, along = follower.reference.pose.position, np.asarray(move) / np.linalg.norm(move)
    path = follower.follow(lambda pose: HandPath.line(pose, HandPose(pose.rotation, pose.position + move), LIMITS))
    rows, volts, peak, margin = [], [], 0.0, []
    while plant.time < path.duration + after:
        measured, base = plant.positions[order], base_of(plant)
        follower.advance(plant.time, measured, base)
        rates, efforts = plant.velocities[order][hand.indices], plant.efforts[order][hand.indices]
        volts.append(valves.voltages(plant.time, measured, rates, efforts))
        plant.set_inputs({f'{actuator.name}/voltage': value for actuator, value in zip(valves.actuators, volts[-1])})
        rows.append(hand.pose(measured).within(base).position - origin)
        peak = max(peak, float(plant.x[pressures].max()))
        margin.append(plant.balance().margins['zmp'].value)
        plant.advance()
    rows = np.array(rows)
    off = np.linalg.norm(rows - np.outer(rows @ along, along), axis=1)
    middle = [int(np.argmax(rows @ along > part * np.linalg.norm(move))) for part in (0.25, 0.75)]
    speed = float((rows[middle[1]] - rows[middle[0]]) @ along) / max((middle[1] - middle[0]) * PERIOD, PERIOD)
    reference = follower.reference
    return Run(
        float(off.max()), float(np.linalg.norm(rows[-1] - move)), speed,
        np.abs(volts).max(axis=0), peak, np.array(margin), reference.state, reference.reason,
    )  # fmt: skip


def assert_followed(run, machine):
    assert run.off < 0.05
    assert run.end < 0.05
    assert run.speed == pytest.approx(0.5, rel=0.02)
    assert (run.volts < 8.0).all()
    assert run.pressure < machine.actuator('boom').supply.relief_pressure
    assert run.state == 'holding'
    assert run.margin.min() > 0.1


def test_the_grapple_lowers_three_tonnes_outwards_on_a_straight_line_of_3_m_at_half_a_metre_a_second(machine):
    run = drive(machine, (4.493, -0.12, 2.88), (1.85, 0.0, -2.37), 3000.0)
    assert_followed(run, machine)
    assert run.off < 0.02


@pytest.mark.slow
@pytest.mark.parametrize(
    ('start', 'move', 'payload'),
    [
        ((6.35, -0.12, 0.51), (-1.85, 0.0, 2.37), 3000.0),
        ((4.2, -1.2, 0.5), (1.8, 2.4, 0.0), 1000.0),
        ((4.2, -1.2, 0.5), (1.8, 2.4, 0.0), 0.0),
    ],
    ids=['lifting', 'slewing', 'slewing-empty'],
)
def test_the_grapple_follows_straight_lines_of_3_m(machine, start, move, payload):
    assert_followed(drive(machine, start, move, payload), machine)


@pytest.mark.slow
def test_the_grapple_follows_a_line_with_its_cylinders_as_bodies_in_closed_loops():
    linkage = machine_of('log_loader_linkage', '')
    run = drive(linkage, (4.493, -0.12, 2.88), (1.85, 0.0, -2.37), 3000.0)
    assert_followed(run, linkage)
    print(f'off the line {1e3 * run.off:.1f} mm, end {1e3 * run.end:.1f} mm, {1e-6 * run.pressure:.1f} MPa')


def test_on_a_line_too_far_out_the_margin_warns_and_the_hand_stops_before_the_stretched_arm(machine):
    run = drive(machine, (5.0, -0.12, 0.5), (3.0, 0.0, 0.0), 4000.0, after=0.0)
    assert run.state in ('slowed', 'stopped')
    assert 'singular posture ahead' in run.reason or 'greatest speed' in run.reason
    assert run.margin[0] > 0.3
    assert run.margin.min() < 0.15
    assert np.isfinite(run.margin).all()
