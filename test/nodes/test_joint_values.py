"""Commands of joints, checked and sorted: efforts, positions and velocities, also mixed in one message."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.middleware import message
from dyn_nodes.nodes.commands import RejectedError
from dyn_nodes.nodes.joint_commands import command_interfaces, joint_values

JointState = message('sensor_msgs/msg/JointState')
JOINTS = ('swing', 'boom', 'stick')
LIMITS = np.array([10.0, np.inf, 10.0])
NAN = np.nan

ROBOT = ('left_wheel', 'right_wheel', 'turn', 'lift', 'free')
PASSIVE = {'free': 'a passive joint'}
BLOCK = """<robot name="r"><ros2_control name="r" type="system">
  <joint name="turn"><command_interface name="position"/><command_interface name="velocity"/></joint>
  <joint name="lift"><command_interface name="position"/><state_interface name="effort"/></joint>
</ros2_control><ros2_control name="wheels" type="system">
  <joint name="left_wheel"><command_interface name="velocity"/></joint>
  <joint name="right_wheel"><command_interface name="velocity"/></joint>
  <joint name="free"><state_interface name="position"/></joint>
</ros2_control></robot>"""


def values(msg, joints=JOINTS, limits=LIMITS, **options):
    return joint_values(msg, joints, limits, **options)


def mixed(msg, **options):
    limits, interfaces = np.full(5, 10.0), command_interfaces(BLOCK)
    return values(msg, ROBOT, limits, interfaces=interfaces, passive=PASSIVE, **options)


def same(actual, *expected):
    np.testing.assert_array_equal(np.array(actual), np.array(expected))


@pytest.mark.parametrize('names', [JOINTS, JOINTS[::-1]])
def test_efforts_come_in_the_machines_order(names):
    efforts = {'swing': 1.0, 'boom': 200.0, 'stick': -3.0}
    command = values(JointState(name=list(names), effort=[efforts[name] for name in names]))
    assert command.is_effort
    assert command.effort.tolist() == [1.0, 200.0, -3.0]


@pytest.mark.parametrize('names', [JOINTS, JOINTS[::-1]])
@pytest.mark.parametrize(
    ('efforts', 'kind'),
    [
        ([1.0, np.inf, 1.0], 'not finite'),
        ([1.0, NAN, 1.0], 'not finite'),
        ([11.0, 0.0, 0.0], 'out of range'),
        ([0.0, 0.0, -11.0], 'out of range'),
        ([0.0, 0.0], 'wrong size'),
        ([], 'wrong size'),
    ],
)
def test_bad_efforts_are_rejected_in_the_usual_order_of_joints_and_in_any_other(names, efforts, kind):
    ordered = efforts if names == JOINTS else efforts[::-1]
    with pytest.raises(RejectedError) as error:
        values(JointState(name=list(names), effort=ordered))
    assert error.value.kind == kind


def test_a_joint_has_one_command_and_passive_joints_have_none():
    both = JointState(name=list(JOINTS), effort=[1.0, 1.0, 1.0], position=[0.0, NAN, 0.0])
    with pytest.raises(RejectedError, match="'swing': expected an effort, or a position and velocity, found both"):
        values(both)
    with pytest.raises(RejectedError, match="joint 'boom' is free") as error:
        values(JointState(name=list(JOINTS), effort=[1.0] * 3), passive={'boom': 'free'})
    assert error.value.kind == 'passive joint'


def test_each_joint_is_commanded_by_its_interface():
    command = values(
        JointState(name=list(JOINTS), position=[0.5, NAN, NAN], velocity=[0.1, -0.2, NAN], effort=[NAN, NAN, 3.0])
    )
    assert not command.is_effort
    same(command[:3], [0.5, NAN, NAN], [0.1, -0.2, NAN], [NAN, NAN, 3.0])
    same(command.commanded, True, True, True)


def test_the_plug_in_sends_as_many_values_of_an_interface_as_joints_have_it():
    names = ['turn', 'lift', 'left_wheel', 'right_wheel', 'free']
    command = mixed(JointState(name=names, position=[0.5, 0.7], velocity=[0.1, 3.0, -3.0]))
    same(command[:3], [NAN, NAN, 0.5, 0.7, NAN], [3.0, -3.0, 0.1, NAN, NAN], [NAN] * 5)
    # one component of the two, and joints in another order
    command = mixed(JointState(name=['right_wheel', 'lift'], position=[0.7], velocity=[-3.0]), partial=True)
    same(command[:3], [NAN, NAN, NAN, 0.7, NAN], [NAN, -3.0, NAN, NAN, NAN], [NAN] * 5)


@pytest.mark.parametrize(
    ('message_values', 'kind', 'text'),
    [
        (
            {'position': [0.5]},
            'wrong size',
            r'expected 4 values of position, or 2 of the joints with that command interface \(turn, lift\), found 1',
        ),
        ({'effort': [1.0]}, 'wrong size', 'expected 4 values of effort, found 1'),
        ({'position': [0.5, np.inf]}, 'not finite', "position of 'lift': expected a finite number, found inf"),
        ({'velocity': [0.5, NAN, NAN]}, 'not finite', "'lift': expected a finite position, velocity or effort"),
    ],
)
def test_wrong_mixed_commands_name_the_joint_or_the_sizes(message_values, kind, text):
    names = ['turn', 'lift', 'left_wheel', 'right_wheel']
    with pytest.raises(RejectedError, match=text) as error:
        mixed(JointState(name=names, **message_values))
    assert error.value.kind == kind


def test_fewer_values_than_joints_need_a_block_that_assigns_them():
    with pytest.raises(
        RejectedError,
        match='expected 3 values of velocity, found 1; fewer need a <ros2_control> block with the interfaces',
    ):
        values(JointState(name=list(JOINTS), position=[0.0, NAN, 1.0], velocity=[2.0]), partial=True)


def test_without_a_controller_all_values_are_nan_and_no_joint_is_commanded():
    nothing = JointState(name=list(JOINTS), position=[NAN] * 3, velocity=[NAN] * 3)
    command = values(nothing, partial=True)
    assert not command.commanded.any()
    assert not command.is_effort
    with pytest.raises(RejectedError) as error:  # an answer in lockstep is complete
        values(nothing)
    assert error.value.kind == 'not finite'


def test_a_partial_command_by_efforts_leaves_the_other_joints_without_one():
    command = values(JointState(name=list(JOINTS), effort=[1.0, NAN, 2.0]), partial=True)
    assert not command.is_effort
    same(command.commanded, True, False, True)
    # an effort that is absent, and not NaN, may be an error of the sender
    with pytest.raises(RejectedError) as error:
        values(JointState(name=['swing', 'stick'], effort=[1.0, 2.0]), partial=True)
    assert error.value.kind == 'missing joint'


def test_the_interfaces_of_all_blocks_are_read():
    assert command_interfaces(BLOCK) == {
        'turn': {'position', 'velocity'},
        'lift': {'position'},
        'left_wheel': {'velocity'},
        'right_wheel': {'velocity'},
        'free': set(),
    }
    assert command_interfaces('<robot name="r"/>') == {}
