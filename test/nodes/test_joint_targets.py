"""Joints with position and velocity targets: clamped and limited values are reported."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.model import load_machine
from dyn_nodes.model.named import machine_files
from dyn_nodes.nodes.joint_targets import JointTargets
from dyn_nodes.simulation.plant import Plant

NOTHING = np.full(3, np.nan)


@pytest.fixture(scope='module')
def plant():
    return Plant(load_machine(*machine_files('log_loader')), 'effort', 5e-3, 1e-3, ())


@pytest.fixture
def targets(plant):
    plant.reset()
    plant.take_events()
    return JointTargets(plant)


def advance(plant, targets, seconds):
    for _ in range(round(seconds / plant.period)):
        targets.lead()
        plant.advance()


def event_texts(plant):
    return [event.details['text'] for event in plant.take_events() if event.kind == 'saturated']


def command(joint, position=np.nan, velocity=np.nan):
    positions, velocities = NOTHING.copy(), NOTHING.copy()
    positions[joint], velocities[joint] = position, velocity
    return positions, velocities


def test_a_large_step_of_the_stick_stays_within_its_drive_and_reports_it(plant, targets):
    targets.command(*command(2, position=plant.positions[2] + 0.5))
    greatest = np.zeros(2)
    for _ in range(100):
        targets.lead()
        plant.advance()
        greatest = np.maximum(greatest, [abs(plant.u[2]), abs(plant.velocities[2])])
    assert greatest[0] <= 0.5e6
    assert greatest[1] <= 2.5
    assert 'stick_joint: effort at its limit, 500000' in event_texts(plant)
    assert 'stick_joint (effort)' in targets.saturated
    advance(plant, targets, 2.0)
    assert targets.saturated == ''


def test_a_position_beyond_the_range_is_clamped_and_does_not_load_the_stop(plant, targets):
    upper = targets.limits.upper[1]
    targets.command(*command(1, position=upper + 0.4))
    assert f'boom_joint: position {upper + 0.4:.6g} is clamped to {upper:.6g}' in event_texts(plant)
    advance(plant, targets, 3.0)
    assert plant.positions[1] == pytest.approx(upper, abs=1e-4)
    assert abs(plant.efforts[1]) < 0.8e6


@pytest.mark.parametrize('speed', [0.3, -0.2])
def test_a_velocity_is_kept_without_a_lasting_error_and_zero_holds_the_joint(plant, targets, speed):
    for _ in range(20):  # a stream of commands, as a controller sends them
        targets.command(*command(0, velocity=speed))
        advance(plant, targets, 0.05)
    assert plant.velocities[0] == pytest.approx(speed, rel=1e-2)
    targets.command(*command(0, velocity=0.0))
    advance(plant, targets, 1.0)
    held = plant.positions[0]
    advance(plant, targets, 1.0)
    assert plant.positions[0] == pytest.approx(held, abs=5e-4)


def test_joints_without_a_command_stay_where_they_are_led_to(plant, targets):
    targets.command(*command(1, position=0.5))
    targets.command(*command(0, position=0.2))
    advance(plant, targets, 3.0)
    assert plant.positions[:2] == pytest.approx([0.2, 0.5], abs=1e-3)


def test_brakes_hold_a_load_that_is_beyond_the_drives(plant, targets):
    plant.set_payload(5100.0)
    start = plant.positions.copy()
    targets.hold()
    weak = targets.limits._replace(effort=np.full(3, 1.0))
    plant.servo._servo._joints._limits = weak
    try:
        advance(plant, targets, 0.5)
    finally:
        plant.servo._servo._joints._limits = targets.limits
    assert plant.positions == pytest.approx(start, abs=1e-3)


def test_a_speed_beyond_the_limit_under_efforts_is_an_event_and_in_the_status(plant, targets):
    plant.set_efforts(plant.efforts + np.array([0.0, 0.0, 2e5]))
    events = []
    while plant.time < 0.3:
        plant.advance()
        targets.lead()
        events += [event for event in plant.take_events() if event.kind == 'overspeed']
        assert bool(events) == (plant.velocities[2] > 1.001 * 2.5)
    assert [event.details['joint'] for event in events] == ['stick_joint']
    assert targets.saturated == 'stick_joint (overspeed)'


def test_each_joint_follows_its_interface_and_a_commanded_effort_does_not_move_the_others(plant, targets):
    held = plant.efforts[2]
    for _ in range(40):
        positions, velocities, efforts = NOTHING.copy(), NOTHING.copy(), NOTHING.copy()
        velocities[0], positions[1], efforts[2] = 0.2, plant.machine.initial.joint_positions['boom_joint'], held + 4e4
        targets.command(positions, velocities, efforts)
        advance(plant, targets, 0.01)
        assert plant.u[2] == held + 4e4
    assert plant.velocities[0] == pytest.approx(0.2, rel=2e-2)
    assert plant.positions[1] == pytest.approx(positions[1], abs=2e-3)
    assert plant.velocities[2] > 0.1
    targets.command(NOTHING, NOTHING, NOTHING)  # no command: the boom keeps its target, the others stop
    advance(plant, targets, 1.0)
    assert plant.positions[1] == pytest.approx(positions[1], abs=1e-3)
    assert np.abs(plant.velocities).max() < 5e-3
