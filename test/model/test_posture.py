"""Kinematics and rest of a machine against closed forms."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyn_nodes.model import load_machine
from dyn_nodes.model.equilibrium import gravity_in_ground
from dyn_nodes.model.posture import center_of_mass, link_poses, rotation_about
from dyn_nodes.stability.equilibrium.standing import at_rest

CORPUS = Path(__file__).resolve().parents[1] / 'corpus'
MACHINE = load_machine(CORPUS / 'crane.urdf', CORPUS / 'crane.yaml')


def with_payload(mass: float, position: tuple[float, float, float] = (0.0, 0.0, 0.0)):
    payload = dataclasses.replace(MACHINE.payload, mass=mass, position=np.array(position))
    return dataclasses.replace(MACHINE, payload=payload)


@given(st.floats(-3, 3), st.lists(st.floats(-1, 1), min_size=3, max_size=3).filter(lambda v: np.linalg.norm(v) > 0.1))
def test_a_rotation_is_proper_and_keeps_its_axis(angle, axis):
    unit = np.array(axis) / np.linalg.norm(axis)
    rotation = rotation_about(unit, angle)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(rotation @ unit, unit, atol=1e-14)
    assert np.trace(rotation) == pytest.approx(1 + 2 * np.cos(angle), abs=1e-12)


@given(st.floats(-3, 3), st.floats(-0.2, 1.2), st.floats(0, 1.5))
def test_the_hook_of_the_crane_is_where_trigonometry_puts_it(slew, luff, extend):
    poses = link_poses(MACHINE.links, MACHINE.joints, {'slew': slew, 'luff': luff, 'extend': extend})
    reach = 0.2 + (3 + extend) * np.cos(luff)
    expected = [reach * np.cos(slew), reach * np.sin(slew), 1.6 + (3 + extend) * np.sin(luff)]
    np.testing.assert_allclose(poses['hook_link'][:3, 3], expected, atol=1e-12)


def test_the_centre_of_mass_counts_the_payload():
    poses = link_poses(MACHINE.links, MACHINE.joints, {})
    mass, center = center_of_mass(MACHINE.links, poses, MACHINE.payload)
    assert mass == 1150
    np.testing.assert_allclose(center[0], (80 * 1.2 + 20 * 2.2 + 50 * 3.2) / 1150)
    np.testing.assert_allclose(center[2], (900 * 0.4 + 100 * 1.1 + 150 * 1.6) / 1150)


@settings(max_examples=60, deadline=None)
@given(st.floats(0, 100), st.floats(-0.5, 0.5), st.floats(-0.12, 0.12), st.floats(-0.12, 0.12), st.floats(-3, 3))
def test_at_rest_the_loads_balance_weight_and_moments(mass, sideways, roll, pitch, yaw):
    initial = dataclasses.replace(MACHINE.initial, base_yaw=yaw)
    machine = dataclasses.replace(with_payload(mass, (0, sideways, 0)), slope=(roll, pitch), initial=initial)
    stance = at_rest(machine)[1]
    assert stance is not None
    gravity = gravity_in_ground(machine)
    assert np.linalg.norm(gravity) == pytest.approx(9.81)
    total = machine.total_mass + mass
    assert stance.loads.sum() == pytest.approx(-total * gravity[2], rel=1e-9)
    # moments of all forces about the base origin's foot: friction acts in the ground plane and has no moment there
    weight = total * gravity
    about = np.cross(stance.center, weight)
    normal = sum(np.cross([*contact, 0.0], [0.0, 0.0, load]) for contact, load in zip(stance.contacts, stance.loads))
    np.testing.assert_allclose((about + normal)[:2], 0, atol=1e-6)
    assert np.all(stance.loads >= 0)


def test_a_symmetric_machine_rests_level_with_equal_loads():
    machine = dataclasses.replace(
        with_payload(0.0), initial=dataclasses.replace(MACHINE.initial, joint_positions={'slew': np.pi / 2})
    )
    stance = at_rest(machine)[1]
    assert stance.pitch == pytest.approx(0, abs=1e-12)
    front_right, front_left, rear_right, rear_left = stance.loads
    assert front_right == pytest.approx(rear_right, rel=1e-12)
    assert front_left == pytest.approx(rear_left, rel=1e-12)
    assert front_left > front_right
    assert stance.roll < 0  # the left side carries the boom and goes down


def test_a_lifted_wheel_has_no_load_and_does_not_pull():
    machine = dataclasses.replace(
        with_payload(430.0), initial=dataclasses.replace(MACHINE.initial, joint_positions={'slew': 0.7, 'luff': 0.3})
    )
    stance = at_rest(machine)[1]
    assert stance is not None
    assert stance.loads[2] == 0.0
    assert np.count_nonzero(stance.loads) == 3


def test_a_machine_that_tips_has_no_stance():
    machine = dataclasses.replace(
        with_payload(900.0), initial=dataclasses.replace(MACHINE.initial, joint_positions={'luff': 0.0})
    )
    assert at_rest(machine) is None


def test_a_machine_on_a_steep_slope_has_no_stance():
    assert at_rest(dataclasses.replace(MACHINE, slope=(0.0, 0.2))) is not None
    assert at_rest(dataclasses.replace(MACHINE, slope=(0.0, 1.2))) is None


def test_without_weight_or_wheels_there_is_no_stance():
    assert at_rest(dataclasses.replace(MACHINE, gravity=0.0)) is None
    assert at_rest(dataclasses.replace(MACHINE, wheels=())) is None
