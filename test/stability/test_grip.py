"""Friction of the wheels of machines, and the measure `admissible` on a machine at rest on a slope."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.common.share import find_resource
from dyn_nodes.measures import measure
from dyn_nodes.model import load_machine
from dyn_nodes.simulation.plant import Plant
from dyn_nodes.stability.grip import check_points, friction_use, grip_of
from dyn_nodes.stability.stance import stance_of
from dyn_nodes.studies.reference import tabulated


def machine_of(name):
    return load_machine(find_resource(f'urdf/{name}.urdf'), find_resource(f'config/{name}.yaml'))


def test_tyres_hold_in_all_directions_and_rollers_along_their_axis():
    grip = grip_of(machine_of('log_loader'))
    assert np.isnan(grip.traction).all()
    assert not grip.free.any()
    mecanum = machine_of('agv_mecanum')
    rollers = grip_of(mecanum)
    assert (rollers.traction == 0.0).all()
    for wheel, free in zip(mecanum.wheels, rollers.free):
        axis = (np.cos(wheel.rolling.roller_angle), np.sin(wheel.rolling.roller_angle))
        assert np.dot(free, axis) == pytest.approx(0.0, abs=1e-15)
        assert np.hypot(*free) == pytest.approx(1.0)
        assert grip.friction == pytest.approx([wheel.friction.static for wheel in machine_of('log_loader').wheels])
    turned = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    directions = rollers.rolling(np.broadcast_to(turned, (4, 3, 3)))
    assert directions[:, :2] == pytest.approx(rollers.free @ turned[:2, :2].T)


def test_a_wheel_without_friction_holds_nothing():
    machine = machine_of('log_loader')
    smooth = replace(machine, wheels=(replace(machine.wheels[0], friction=None), *machine.wheels[1:]))
    assert grip_of(smooth).friction[0] == 0.0


def test_friction_use_is_relative_to_the_friction_limit():
    forces = np.array([(3.0, 4.0, 10.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 5.0), (1.0, 0.0, 2.0)])
    result = friction_use(forces, np.array((1.0, 0.7, 0.7, 0.0, 0.0)))
    assert result == pytest.approx([0.5, 0.0, np.inf, 0.0, np.inf])


def test_tracks_are_rejected_by_name():
    with pytest.raises(KeyError, match=r"'admissible' needs contacts in one point, found '\w+', a track"):
        check_points(machine_of('excavator'), measure('admissible'))


def test_wheels_by_constraint_have_the_friction_of_their_file_and_casters_none():
    machine = machine_of('rm_1')
    assert grip_of(stance_of(machine)).friction.tolist() == [0.7, 0.7, 0.0]
    unknown = replace(
        machine, constraints=tuple(replace(constraint, friction=None) for constraint in machine.constraints)
    )
    assert not grip_of(stance_of(unknown)).friction.any()


def test_reactions_of_a_machine_on_wheels_by_constraint_are_judged_by_their_friction():
    """RM-1 at rest in the posture of tanner-1998, 6.4: its right wheel carries least; then with drive torque."""
    plant = Plant(machine_of('rm_1'), 'effort', 0.001, 5e-4, ('static', 'admissible'))
    balance = plant.balance()
    assert balance.margins['admissible'].value == pytest.approx(tabulated('tanner-1998/6.4/static')[0][1], abs=1e-4)
    assert np.abs(balance.friction_use).max() < 1e-9
    efforts = plant.efforts.copy()
    efforts[plant.joints.index('left_drive')] += 3.0
    plant.set_efforts(efforts)
    balance = plant.balance()
    left = balance.wheels.index('left')
    expected = np.hypot(*balance.forces[left, :2]) / (0.7 * balance.forces[left, 2])
    assert balance.forces[left, 0] == pytest.approx(30.0, abs=1e-6)
    assert balance.friction_use[left] == pytest.approx(expected)
    assert balance.friction_use[balance.wheels.index('caster')] == 0.0
