"""`<joint>/drive_effort` with every kind of constraint on a joint, against virtual work and statics by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from joint_machines import LENGTH, MASS, Part, machine_of

from dyn_nodes.model import load_machine
from dyn_nodes.simulation.plant import Plant

pin = pytest.importorskip('pinocchio')

LIFT = Path(__file__).resolve().parents[1] / 'init_cases' / 'mimic_lift.urdf'
WEIGHT = MASS * 9.81
RATES_OF_LIFT = {'lift': 1.0, 'fold': -2.0, 'level': 1.0}
"""Rates of the joints for a unit rate of `lift`."""
OUTWARD = 'initial: {joint_positions: {arm: -1.5707963267948966}}\n'
"""The arm points along +x: its weight has the lever LENGTH about the joint and turns it to positive angles."""

ARM, SIDE = Part('arm'), Part('side', origin='0 1 0')


def plant_of(machine):
    """Return the plant with its driven joints held."""
    plant = Plant(machine, 'effort', 2e-3, 5e-4, ())
    plant.set_efforts(plant.holding_efforts())
    return plant


def lift_effort(angle):
    """Return the effort at `lift` that holds the scissor lift at an angle, by virtual work, N m."""
    model = pin.buildModelFromUrdf(str(LIFT))
    data, q = model.createData(), np.zeros(model.nq)
    ratios = np.zeros(model.nv)
    for name, ratio in RATES_OF_LIFT.items():
        joint = model.joints[model.getJointId(name)]
        q[joint.idx_q], ratios[joint.idx_v] = ratio * angle, ratio
    return float(ratios @ pin.computeGeneralizedGravity(model, data, q))


def lift(tmp_path, keys=''):
    config = tmp_path / 'lift.yaml'
    config.write_text(
        'name: lift\nbase: {attachment: fixed}\n'
        'initial: {joint_positions: {lift: 0.3, fold: -0.6, level: 0.3}}\n'
        'constraints:\n  a: {kind: coupling, coefficients: {fold: 1, lift: 2}}\n'
        '  b: {kind: coupling, coefficients: {level: 1, lift: -1}}\n'
        f'{keys}'
    )
    return load_machine(LIFT, config)


def test_a_driven_joint_that_others_follow_reports_the_effort_of_its_drive(tmp_path):
    plant = plant_of(lift(tmp_path, 'joints: {fold: {class: free}, level: {class: free}}\n'))
    expected = lift_effort(0.3)
    assert plant.u == pytest.approx([expected], rel=1e-9)
    assert plant.output('lift/drive_effort') == pytest.approx(expected, rel=1e-9)
    assert plant.efforts[plant.joints.index('lift')] == plant.output('lift/drive_effort')


def test_efforts_of_followers_balance_their_weight_as_in_a_tree(tmp_path):
    """A coupling transmits to an undriven joint the effort that would hold this joint alone."""
    plant = plant_of(lift(tmp_path, 'joints: {fold: {class: free}, level: {class: free}}\n'))
    model = pin.buildModelFromUrdf(str(LIFT))
    data, q = model.createData(), np.zeros(model.nq)
    for name, ratio in RATES_OF_LIFT.items():
        q[model.joints[model.getJointId(name)].idx_q] = 0.3 * ratio
    gravity = pin.computeGeneralizedGravity(model, data, q)
    for name in ('fold', 'level'):
        holding = gravity[model.joints[model.getJointId(name)].idx_v]
        assert plant.output(f'{name}/drive_effort') == pytest.approx(holding, rel=1e-9)


def test_every_driven_joint_of_a_coupling_reports_its_drive_effort(tmp_path):
    """Three drives share the load of the lift: the efforts of least norm, along the rates of the motion."""
    plant = plant_of(lift(tmp_path))
    rates = np.array([RATES_OF_LIFT[name] for name in plant.joints])
    expected = lift_effort(0.3) * rates / (rates @ rates)
    assert plant.u == pytest.approx(expected, rel=1e-9)
    assert plant.efforts == pytest.approx(expected, rel=1e-9)


def test_a_spring_beside_a_coupling_reports_its_effort(tmp_path):
    keys = OUTWARD + (
        'joints: {side: {class: flexible, stiffness: 20, rest: -1.4}}\n'
        'constraints:\n  gear: {kind: coupling, coefficients: {arm: 1, side: -1}}\n'
    )
    plant = plant_of(machine_of(tmp_path, [ARM, SIDE], keys))
    spring = -20.0 * (-np.pi / 2 + 1.4)
    assert plant.output('side/drive_effort') == pytest.approx(spring, rel=1e-9)
    assert plant.output('arm/drive_effort') == pytest.approx(-2 * WEIGHT * LENGTH - spring, rel=1e-9)


def test_a_prescribed_joint_with_a_follower_reports_the_effort_of_its_motion(tmp_path):
    keys = OUTWARD + (
        'joints: {side: {class: free}}\n'
        'constraints:\n'
        '  gear: {kind: coupling, coefficients: {arm: 1, side: -1}}\n'
        '  motion: {kind: prescribed, joint: arm, profile: {kind: polynomial, coefficients: [-1.5707963267948966]}}\n'
    )
    plant = plant_of(machine_of(tmp_path, [ARM, SIDE], keys))
    assert plant.output('arm/drive_effort') == pytest.approx(-2 * WEIGHT * LENGTH, rel=1e-9)
    assert plant.output('side/drive_effort') == pytest.approx(-WEIGHT * LENGTH, rel=1e-9)


def test_a_driven_joint_that_is_steered_by_the_heading_reports_its_drive(tmp_path):
    """A turret on a turntable keeps its heading; both are driven. The turntable accelerates both inertias."""
    parts = [
        Part('table', axis='0 0 1', com='0 0 0'),
        Part('turret', parent='table_link', axis='0 0 1', com='0 0 0'),
    ]
    keys = 'constraints:\n  kept: {kind: steering, joint: turret, ratio: -1}\n'
    plant = plant_of(machine_of(tmp_path, parts, keys))
    plant.set_efforts(np.array([3.0, 0.5]))
    assert plant.efforts == pytest.approx([3.0, 0.5], rel=1e-12)
