"""Servos of a plant keep the speed limits of joints as forces change within a period."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.control.plant_servo import PlantServo
from dyn_nodes.model import load_machine
from dyn_nodes.model.named import machine_files
from dyn_nodes.nodes.joint_targets import JointTargets
from dyn_nodes.simulation.plant import Plant

PERIOD = 5e-3
SLIPPING = {
    'rear_right_drive': -17.74,
    'front_left_steer': -1.67,
    'front_left_drive': -12.61,
    'front_right_steer': -4.3,
    'front_right_drive': -94.45,
    'luff_joint': 4.47,
    'extend_joint': 1.89,
    'fork_joint': -1.78,
}
"""Velocities of a telehandler, rad/s and m/s: a steered tyre starts to slip after 0.1 s."""
LANDING = {
    'steer_joint': -0.66,
    'front_left_drive': -61.96,
    'front_right_drive': -26.35,
    'left_fore_drive': -13.59,
    'left_aft_drive': -3.96,
    'right_aft_drive': -9.01,
    'left_leg_joint': 1.67,
    'slew_joint': -1.26,
    'boom_joint': -1.42,
    'stick_joint': 1.85,
}
"""Velocities of a forwarder, rad/s and m/s: a leg touches the ground after 0.375 s."""


def plant_of(name, contact_model='compliant'):
    return Plant(load_machine(*machine_files(name)), 'effort', PERIOD, 1e-3, (), contact_model=contact_model)


@pytest.mark.parametrize(('name', 'velocities', 'periods'), [('telehandler', SLIPPING, 30), ('forwarder', LANDING, 80)])
def test_a_slipping_tyre_or_a_landing_leg_drives_no_joint_beyond_its_speed(name, velocities, periods):
    plant = plant_of(name)
    targets, driven = JointTargets(plant), [plant.joints.index(joint) for joint in plant.actuated]
    targets.command(
        np.full(len(plant.joints), np.nan), np.array([velocities.get(joint, np.nan) for joint in plant.joints])
    )
    greatest = 0.0
    for _ in range(periods):
        targets.lead()
        plant.advance()
        assert (np.abs(plant.u) <= targets.limits.effort).all()
        greatest = max(greatest, (np.abs(plant.velocities[driven]) / targets.limits.speed).max())
    assert 0.97 < greatest <= 1.0


def test_commanded_efforts_are_not_corrected():
    plant = plant_of('log_loader')
    efforts = plant.efforts + np.array([0.0, 0.0, 2e5])
    plant.lead(plant.positions, np.zeros(3))
    plant.set_efforts(efforts)
    for _ in range(50):
        plant.advance()
        np.testing.assert_array_equal(plant.u, efforts)
    assert abs(plant.velocities[2]) > 2.5


@pytest.mark.parametrize(
    ('name', 'contact_model'), [('log_loader', 'compliant'), ('log_loader', 'rigid'), ('four_bar', 'compliant')]
)
def test_a_repeated_period_has_the_same_end(monkeypatch, name, contact_model):
    """The machine falls: wheels lift off, modes change."""
    plant, ends = plant_of(name, contact_model), []

    def through(self, advance, go_back):
        first = advance()
        go_back()
        second = advance()
        np.testing.assert_array_equal(first.x, second.x)
        assert first.events == second.events
        ends.append(second)
        return second

    once = plant_of(name, contact_model)
    for instance in (plant, once):
        instance.set_efforts(np.zeros(len(instance.joints)))
    for _ in range(60 if name == 'four_bar' else 160):  # its rank changes at 0.38 s
        with monkeypatch.context() as patch:
            patch.setattr(PlantServo, 'through', through)
            plant.advance()
        once.advance()
        np.testing.assert_array_equal(plant.x, once.x)
        if plant.overturned:
            break
    assert [event.kind for event in plant.take_events()] == [event.kind for event in once.take_events()]
    assert name == 'four_bar' or any(end.events for end in ends)
