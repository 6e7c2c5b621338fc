"""Contact frames: z normal to the ground, x in the rolling direction; for springs, constraints and the monitor."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from joint_machines import Part, machine_of

from dyn_nodes.elements.wheel import axis_names
from dyn_nodes.model import load_machine
from dyn_nodes.monitor.stability_monitor import contact_frames
from dyn_nodes.simulation.assembly import Assembly
from dyn_nodes.simulation.constrained_machine import constrained_machine
from dyn_nodes.simulation.outputs import traced_outputs
from dyn_nodes.stability.balance import contact_axes

CORNERS = {'front_left': (0.5, 0.4), 'front_right': (0.5, -0.4), 'rear_left': (-0.5, 0.4), 'rear_right': (-0.5, -0.4)}
RADIUS, STEER, YAW = 0.2, 0.6, 0.5
SPRINGS = """
defaults:
  wheel:
    stiffness: 2.0e4
    damping: 400.0
    free_length: 0.2
    friction: {}
    rolling: {relaxation_length: 0.1}
wheels:
"""


def steered_cart(directory, body, terrain=''):
    """Return a cart with four wheels, the front ones on vertical steering joints; `body` is the rest of its YAML."""
    parts = ''
    for name, (x, y) in CORNERS.items():
        carrier, origin = 'base', f'{x} {y} 0'
        if name.startswith('front'):
            parts += (
                f'<link name="{name}_fork"><inertial><mass value="1"/>'
                '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
                f'<joint name="{name}_steer" type="revolute"><parent link="base"/><child link="{name}_fork"/>'
                f'<origin xyz="{origin}"/><axis xyz="0 0 1"/>'
                '<limit lower="-2" upper="2" effort="9" velocity="9"/></joint>'
            )
            carrier, origin = f'{name}_fork', '0 0 0'
        parts += (
            f'<link name="{name}_wheel"><inertial><mass value="2"/>'
            '<inertia ixx="0.02" iyy="0.04" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="{name}_axle" type="continuous"><parent link="{carrier}"/><child link="{name}_wheel"/>'
            f'<origin xyz="{origin}"/><axis xyz="0 1 0"/></joint>'
        )
    urdf, config = directory / 'cart.urdf', directory / 'cart.yaml'
    urdf.write_text(
        '<robot name="cart"><link name="base"><inertial><mass value="20"/>'
        f'<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>{parts}</robot>'
    )
    start = f'base_position: [0, 0, {RADIUS}], base_yaw: {YAW}, joint_positions: {{front_left_steer: {STEER}}}'
    config.write_text(f'name: cart\nbase: {{attachment: free}}\ninitial: {{{start}}}\n{terrain}{body}')
    return load_machine(urdf, config)


def on_springs(directory, terrain=''):
    wheels = ''.join(f'  {name}: {{link: {name}_wheel, position: [0, 0, 0]}}\n' for name in CORNERS)
    return steered_cart(directory, SPRINGS + wheels, terrain)


def by_constraint(directory):
    keys = ''.join(
        f'  {name}: {{kind: wheel, first: {{link: {name}_wheel}}, axis: [0, 1, 0], radius: {RADIUS}}}\n'
        for name in ('front_left', 'rear_left', 'rear_right')
    )
    return steered_cart(directory, f'constraints:\n{keys}')


def outputs_on_springs(machine, height=0.19, deflection=1e-3):
    """Return outputs by name of the machine at rest on the plane with deflected bristles."""
    plant = Assembly(machine, 'effort')
    names, values = traced_outputs(plant)
    x = dict.fromkeys(plant.states.names, 0.0)
    x |= {'base_z': height, 'base_qz': np.sin(0.5 * YAW), 'base_qw': np.cos(0.5 * YAW), 'front_left_steer': STEER}
    x |= {'front_left/bristle_longitudinal': deflection}
    evaluate = ca.Function('outputs', [plant.x, plant.u, plant.p], [values])
    return dict(zip(names, np.array(evaluate(list(x.values()), 0, plant.default_parameters())).ravel()))


def axes_of(values, wheel):
    numbers = np.array([values[name] for name in axis_names(wheel)])
    return contact_axes(numbers[:3], numbers[3:])


def turned(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def test_a_steered_wheel_on_a_spring_has_the_axes_of_its_rolling_direction(tmp_path):
    values = outputs_on_springs(on_springs(tmp_path))
    assert axes_of(values, 'front_left') == pytest.approx(turned(YAW + STEER), abs=1e-12)
    assert axes_of(values, 'rear_left') == pytest.approx(turned(YAW), abs=1e-12)
    # a deflection in the rolling direction causes a force in this direction only
    assert values['front_left/friction_longitudinal'] < -0.5
    assert values['front_left/friction_lateral'] == pytest.approx(0.0, abs=1e-12)


def test_a_steered_wheel_by_constraint_has_the_same_axes(tmp_path):
    """The multipliers of a wheel's rows, and the reaction, are along its rolling direction."""
    from dyn_nodes.simulation.constrained_outputs import ConstrainedOutputs

    machine = by_constraint(tmp_path)
    at = constrained_machine(machine)
    observed = ConstrainedOutputs(machine, at.system.blocks)
    blocks, rng = at.system.blocks, np.random.default_rng(3)
    force = rng.normal(size=blocks.m)
    values = observed.evaluate(
        at.q, at.v, np.zeros(blocks.tree.nv), force, np.zeros(blocks.tree.nv), blocks.numbers(None)
    )
    outputs = dict(zip(observed.names, values))
    assert axes_of(outputs, 'front_left') == pytest.approx(turned(YAW + STEER), abs=1e-9)
    assert axes_of(outputs, 'rear_left') == pytest.approx(turned(YAW), abs=1e-9)
    for wheel in ('front_left', 'rear_left'):
        parts = [outputs[f'{wheel}/{part}'] for part in ('friction_longitudinal', 'friction_lateral', 'normal_force')]
        assert parts == pytest.approx(force[blocks.slices[wheel]], abs=1e-9)


def test_the_normal_of_terrain_is_the_z_axis(tmp_path):
    ramp = 'terrain:\n  ramp: {shape: ramp, x: -5, y: 0, heading: 0, length: 10, height: 1}\n'
    axes = axes_of(outputs_on_springs(on_springs(tmp_path, ramp), height=0.7), 'rear_left')
    assert axes.T @ axes == pytest.approx(np.eye(3), abs=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    assert axes[2, 2] < 0.999
    assert axes[2, 0] > 0.05  # uphill


def test_the_monitor_gives_the_same_axes():
    left = np.array([[-np.sin(STEER), np.cos(STEER), 0.0], [0.0, 1.0, 0.0], [0.1, 0.9, 0.4]])
    frames = contact_frames(left, np.array([True, True, False]))
    assert frames[0] == pytest.approx(turned(STEER), abs=1e-12)
    assert frames[1] == pytest.approx(np.eye(3), abs=1e-12)
    assert frames[2] == pytest.approx(np.eye(3), abs=1e-12)


def test_machines_on_feet_keep_the_heading_of_the_base():
    root = Path(__file__).resolve().parents[2]
    machine = load_machine(root / 'urdf' / 'log_loader.urdf', root / 'config' / 'log_loader.yaml')
    plant = Assembly(machine, 'effort')
    axes = plant.contacts[machine.wheels[0].name].axes
    evaluate = ca.Function('axes', [plant.x, plant.p], [ca.vertcat(*axes.longitudinal), ca.vertcat(*axes.normal)])
    x = dict.fromkeys(plant.states.names, 0.0) | {'base_qz': np.sin(0.5 * YAW), 'base_qw': np.cos(0.5 * YAW)}
    longitudinal, normal = (np.array(v).ravel() for v in evaluate(list(x.values()), plant.default_parameters()))
    assert contact_axes(longitudinal, normal) == pytest.approx(turned(YAW), abs=1e-12)


def test_a_wheel_on_a_fixed_base_stays_where_it_is_while_joints_move(tmp_path):
    """The last body of the tree is the arm; the wheel is on the base, which is fixed to the world."""
    wheel = (
        'wheels:\n  foot: {position: [0.3, 0.2, 0.05], stiffness: 1000, damping: 10, free_length: 0.1, friction: {}}\n'
    )
    plant = Assembly(machine_of(tmp_path, [Part('arm')], wheel), 'effort')
    names, values = traced_outputs(plant)
    evaluate = ca.Function('outputs', [plant.x, plant.u, plant.p], [values])
    x = np.zeros((2, len(plant.states.names)))
    x[1, plant.states.names.index('arm')], x[1, plant.states.names.index('arm_rate')] = 0.7, 2.0
    still, moving = (np.array(evaluate(state, 0, plant.default_parameters())).ravel() for state in x)
    feet = [k for k, name in enumerate(names) if name.startswith('foot/')]
    assert feet
    assert moving[feet] == pytest.approx(still[feet], abs=1e-12)
    assert still[names.index('foot/normal_force')] == pytest.approx(1000 * 0.05)
