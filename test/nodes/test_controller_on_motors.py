"""controller_node on electric motors by state feedback: voltages, trajectories, rejections, live parameters."""

from __future__ import annotations

import numpy as np
import pytest
from node_testing import Outbox, joint_state

from dyn_nodes.middleware import Parameter, message
from dyn_nodes.nodes.controller_node import ControllerNode
from dyn_nodes.nodes.parameters import ParameterError

JointTrajectory = message('trajectory_msgs/msg/JointTrajectory')
Point = message('trajectory_msgs/msg/JointTrajectoryPoint')
URDF = """<robot name="gate">
  <link name="post"/>
  <link name="leaf"><inertial><origin xyz="0.4 0 0"/><mass value="10"/>
    <inertia ixx="0.1" iyy="0.6" izz="0.6" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="flap"><inertial><origin xyz="%s"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="revolute"><parent link="post"/><child link="leaf"/><axis xyz="0 1 0"/>
    <limit lower="-1.5" upper="1.5" effort="100" velocity="2"/></joint>
  <joint name="second" type="%s"><parent link="leaf"/><child link="flap"/><axis xyz="0 0 1"/>
    <limit lower="-1.5" upper="1.5" effort="0" velocity="2"/></joint>
</robot>
"""
YAML = """actuators:
  motor: {type: dc_motor, joint: hinge, torque_constant: 0.2, resistance: 0.8, inductance: 2.0e-3, gear_ratio: 50,
    rotor_inertia: 1.0e-4, rotor_damping: 1.0e-4, voltage_limit: 24, current_limit: 12}
"""
WEIGHT, GAIN = 10 * 9.81 * 0.4, 10.0
"""Of the leaf about the hinge, N m; effort per current, N m/A."""


@pytest.fixture
def make(make_node, tmp_path):
    def build(second='fixed', com='0 0 0', **parameters):
        (tmp_path / 'gate.urdf').write_text(URDF % (com, second))
        (tmp_path / 'gate.yaml').write_text(YAML)
        files = {'machine': str(tmp_path / 'gate.urdf'), 'config': str(tmp_path / 'gate.yaml')}
        dotted = {name.replace('__', '.'): value for name, value in parameters.items()}
        node = make_node(ControllerNode, **{'exchange_period': 0.01, **files, **dotted})
        node.phase_out = Outbox()
        return node

    return build


def state(time, position=0.0, velocity=0.0, effort=-WEIGHT):
    return joint_state(time, [position], [velocity], [effort], ['hinge'])


def test_the_weight_is_held_by_its_nominal_voltage_and_deviations_by_the_gain(make):
    node = make(motors__law='lqr')
    node.receive('joint_states', state(0.0))
    held = node.commands_out.last.data[0]
    assert held == pytest.approx(-0.8 * WEIGHT / GAIN, rel=1e-6)
    K = node.motion.gain[0]
    assert (K > 0.0).all()
    node.receive('joint_states', state(0.01, 0.01, -0.02, -WEIGHT + 1.0))
    current = (1.0 + node.motion.law.viscous[0] * -0.02) / GAIN
    expected = held - K @ [0.01, -0.02, current]
    assert node.commands_out.last.data[0] == pytest.approx(expected, rel=1e-9)
    node.receive('joint_states', state(0.02, 1.0))
    assert node.commands_out.last.data[0] == -24.0


def test_a_trajectory_moves_the_nominal_state(make):
    node = make(motors__law='poles', motors__poles=[-10.0, -12.0, -80.0])
    node.receive('joint_states', state(0.0))
    goal = Point(positions=[0.3], velocities=[0.0])
    goal.time_from_start.sec = 1
    node.receive('joint_trajectory', JointTrajectory(joint_names=['hinge'], points=[goal]))
    assert node.trajectories == 1
    node.receive('joint_states', state(0.01))
    moved = node.commands_out.last.data[0]
    assert moved > -0.8 * WEIGHT / GAIN
    assert node.phase_out.last.data == 'track'


@pytest.mark.parametrize(
    ('parameters', 'text'),
    [
        ({'motors__law': 'poles', 'motors__poles': [-1.0]}, 'poles: expected 3, one for each of hinge, hinge/rate'),
        (
            {'motors__law': 'poles', 'motors__poles': [-1.0, -2.0, -3.0], 'motors__poles_imaginary': [1.0]},
            'imaginary: expected 3 numbers or none, found 1',
        ),
        ({'motors__law': 'lqr', 'second': 'revolute'}, 'do not reach the mode of second'),
    ],
)
def test_laws_that_do_not_fit_the_machine_are_rejected_in_one_line(make, parameters, text):
    with pytest.raises(ParameterError, match=text) as error:
        make(**parameters)
    assert '\n' not in str(error.value)


def test_a_trajectory_with_joints_that_no_motor_moves_is_rejected(make):
    node = make('revolute', '0 0.1 0.2', motors__law='lqr')
    names = list(node.motion.joint_names)
    node.receive('joint_states', joint_state(0.0, [0.0, 0.0], [0.0, 0.0], [-WEIGHT, 0.0], names))
    assert len(node.commands_out.last.data) == 1
    goal = Point(positions=[0.1, 0.0], velocities=[0.0, 0.0])
    goal.time_from_start.sec = 1
    node.receive('joint_trajectory', JointTrajectory(joint_names=names, points=[goal]))
    assert node.rejections.counts == {'bad trajectory': 1}
    assert 'expected a motor on every joint, found none on second' in node.rejections.last


@pytest.mark.parametrize('law', ['computed_torque', 'lqr'])
def test_live_parameters_of_valves_change_nothing_on_motors(make, law):
    node = make(motors__law=law)
    results = node.set_parameters([Parameter('dead_band', value=0.01)])
    assert all(result.successful for result in results)
    node.receive('joint_states', state(0.0))
    assert np.isfinite(node.commands_out.last.data[0])
