"""The governor of a machine with driven wheels: it works while they are parked, and holds the arm while they turn."""

from __future__ import annotations

import numpy as np
import pytest
from node_testing import Outbox, joint_state

from dyn_nodes.common.share import find_resource
from dyn_nodes.governor.campaign.campaign import random_cases
from dyn_nodes.governor.campaign.cases import box_of
from dyn_nodes.governor.campaign.governed_run import Rig
from dyn_nodes.governor.settings import GovernorSettings
from dyn_nodes.middleware import Parameter, message
from dyn_nodes.model import load_machine
from dyn_nodes.model.locking import parked, parked_joints
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.parked_joints import MOVES, ParkedJoints
from dyn_nodes.nodes.stamps import NANO
from dyn_nodes.nodes.tip_over_governor_node import TipOverGovernorNode
from dyn_nodes.stability.load_moment import LoadMomentIndicator

Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
JointState = message('sensor_msgs/msg/JointState')
WHEELS = ('front_left_drive', 'front_right_drive', 'rear_left_drive', 'rear_right_drive')
ARM = ('arm_turn', 'arm_shoulder', 'arm_elbow', 'arm_wrist')


def vehicle(name: str):
    return load_machine(find_resource(f'urdf/{name}.urdf'), find_resource(f'config/{name}.yaml'))


def test_a_parked_vehicle_has_the_joints_of_its_arm_and_the_same_margins_and_rated_load():
    machine = vehicle('agv_mecanum_arm')
    assert parked_joints(machine) == WHEELS
    still = parked(machine)
    assert tuple(joint.name for joint in still.movable_joints) == ARM
    assert parked_joints(still) == ()
    level = np.array([0.0, 0.0, -9.81])
    loads = [LoadMomentIndicator(each).evaluate({'arm_shoulder': 0.4}, 2.0, level) for each in (machine, still)]
    assert loads[0].tipping == pytest.approx(loads[1].tipping, rel=1e-9)


def test_a_machine_without_driven_wheels_stays_as_it_is():
    machine = vehicle('log_loader')
    assert parked(machine) is machine


@pytest.mark.simulated
@pytest.mark.parametrize('criterion', ['lift_off', 'tipping'])
def test_no_wheel_of_a_parked_vehicle_lifts_under_its_arm(criterion):
    machine = parked(vehicle('agv_mecanum_arm'))
    rig = Rig(machine, GovernorSettings(rate=5.0, criterion=criterion))
    cases = random_cases(box_of(machine, efforts=True, any_start=True), 3, seed=1)
    outcomes = [rig.run(case) for case in cases if not rig.rejects(rig.placed(case))]
    assert len(outcomes) == 3
    assert not any(outcome.lifted or outcome.diverged for outcome in outcomes)
    assert min(outcome.let_through for outcome in outcomes) > 0.2


def test_joints_that_move_or_are_not_measured_are_named():
    watch = ParkedJoints(('left', 'right'))
    assert (watch.moving, watch.unseen) == ((), ('left', 'right'))
    watch.update(JointState(name=['left', 'arm'], velocity=[0.9 * MOVES, 3.0]))
    assert (watch.moving, watch.unseen) == ((), ('right',))
    watch.update(JointState(name=['right', 'left'], velocity=[-1.1 * MOVES, float('nan')]))
    assert (set(watch.moving), watch.unseen) == ({'left', 'right'}, ())


@pytest.fixture
def node(context):
    values = {'machine': 'agv_mecanum_arm', 'output': 'joint_command', 'settling': 0.1, 'motion_check': False}
    values |= {'state_timeout': 9.0, 'command_timeout': 9.0, 'stamp_clock': 'other', 'neutral_first': False}
    overrides = [Parameter(name, value=value) for name, value in values.items()]
    node = TipOverGovernorNode(context=context, parameter_overrides=overrides)
    node.sensing.overdue = lambda *_: False  # joint states are sent at once
    return node


def test_while_the_machine_drives_the_arm_is_held_and_the_status_names_the_wheels(node):
    start = node.machine.initial.joint_positions
    names = [*WHEELS, *ARM]
    positions = [0.0] * len(WHEELS) + [start.get(name, 0.0) for name in ARM]

    def send(seconds, speed):
        for _ in range(round(seconds / 0.01)):
            send.time += 0.01
            speeds = [speed] * len(WHEELS) + [0.0] * len(ARM)
            node.receive('joint_states', joint_state(send.time, positions, speeds, [0.0] * len(names), names))
            node.decided_at = node.sensing.stamp / NANO - 0.02
            node.receive('joint_command_in', JointState(name=list(ARM), effort=[0.0] * len(ARM)))

    send.time = 0.0
    send(0.4, 0.0)
    assert node.governor.names == ARM
    assert node._may_move()
    assert node._published_health().values['assumed parked'] == ''
    send(0.05, 1.0)
    assert not node._may_move()
    assert node._published_health().text.startswith(
        f'the machine drives ({", ".join(WHEELS)}), and stops are certified'
    )
    send(0.2, 0.0)
    assert node._may_move()


@pytest.fixture
def excavator(context):
    values = {'machine': 'excavator', 'settling': 0.1, 'motion_check': False, 'criterion': 'tipping'}
    values |= {'state_timeout': 9.0, 'command_timeout': 9.0, 'stamp_clock': 'other'}
    overrides = [Parameter(name, value=value) for name, value in values.items()]
    node = TipOverGovernorNode(context=context, parameter_overrides=overrides)
    node.sensing.overdue = lambda *_: False  # joint states are sent at once
    node.commands_out = Outbox()
    return node


class Excavator:
    """Joint states and levers of an excavator that does not move, apart from its sprockets."""

    def __init__(self, node):
        self.node, self.time = node, 0.0
        whole = vehicle('excavator').initial.joint_positions
        self.names, self.positions = list(whole), list(whole.values())

    def send(self, volts, seconds=0.6, sprockets=0.0):
        """Return the last output, volts by name."""
        for _ in range(round(seconds / 0.01)):
            self.time += 0.01
            speeds = [sprockets if 'sprocket' in name else 0.0 for name in self.names]
            nothing = [0.0] * len(self.names)
            self.node.receive('joint_states', joint_state(self.time, self.positions, speeds, nothing, self.names))
            self.node.decided_at = (self.node.sensing.stamp or 0) / NANO - 0.02
            self.node.receive('valve_commands_in', Float64MultiArray(data=volts))
        last = self.node.commands_out.last
        return dict(zip(last.layout.dim[0].label.split(','), last.data, strict=True))


NEUTRAL = [0.0] * 6
"""Volts of boom, arm, bucket, swing, left and right travel."""


def test_an_excavator_is_governed_with_its_linkages_and_its_travel_motors_pass_through(excavator):
    machine = Excavator(excavator)
    machine.send(NEUTRAL)
    volts = machine.send([3.0, -3.0, 0.0, 2.0, 4.0, -4.0])
    assert list(volts) == ['boom', 'arm', 'bucket', 'swing', 'left_travel', 'right_travel']
    assert list(volts.values()) == pytest.approx([3.0, -3.0, 0.0, 2.0, 4.0, -4.0])
    assert excavator.governor.names == ('boom', 'arm', 'bucket', 'swing')


def test_an_excavator_that_drives_goes_on_with_its_arm_held(excavator):
    machine = Excavator(excavator)
    machine.send(NEUTRAL)
    machine.send([3.0, 0.0, 0.0, 0.0, 4.0, 4.0])
    volts = machine.send([3.0, 0.0, 0.0, 0.0, 4.0, 4.0], sprockets=1.0)
    assert list(volts.values()) == pytest.approx([0.0, 0.0, 0.0, 0.0, 4.0, 4.0])
    assert 'the machine drives (left_sprocket_joint, right_sprocket_joint)' in excavator._published_health().text


def test_travel_levers_that_are_held_deflected_do_not_start_the_machine(excavator):
    machine = Excavator(excavator)
    assert not any(machine.send([0.0, 0.0, 0.0, 0.0, 4.0, 4.0]).values())
    machine.send(NEUTRAL, 0.05)
    assert machine.send([0.0, 0.0, 0.0, 0.0, 4.0, 4.0], 0.05)['left_travel'] == 4.0
    # commands are lost while it drives: at neutral at once, and until the levers have been there
    excavator.received_at -= 100.0
    excavator.check_timeouts()
    assert not any(excavator.commands_out.last.data)
    assert not any(machine.send([0.0, 0.0, 0.0, 0.0, 4.0, 4.0], 0.1).values())
    machine.send(NEUTRAL, 0.05)
    assert machine.send([0.0, 0.0, 0.0, 0.0, 4.0, 4.0], 0.05)['left_travel'] == 4.0


def test_travel_motors_alone_are_no_levers_of_a_governor(context):
    values = {'machine': 'excavator', 'joints': ['left_travel', 'right_travel']}
    overrides = [Parameter(name, value=value) for name, value in values.items()]
    with pytest.raises(ParameterError, match="'joints': expected a valve of the arm, found only left_travel, right"):
        TipOverGovernorNode(context=context, parameter_overrides=overrides)


@pytest.mark.simulated
def test_a_machine_on_pivots_stays_at_neutral_without_an_imu(context):
    values = {'machine': 'telehandler', 'output': 'joint_command', 'settling': 0.1, 'motion_check': False}
    values |= {'state_timeout': 9.0, 'command_timeout': 9.0, 'stamp_clock': 'other', 'neutral_first': False}
    overrides = [Parameter(name, value=value) for name, value in (values | {'delay': 0.03}).items()]
    node = TipOverGovernorNode(context=context, parameter_overrides=overrides)
    node.sensing.overdue = lambda *_: False  # joint states are sent at once
    start, nothing = node.machine.initial.joint_positions, [0.0] * 4
    names = [joint.name for joint in node.machine.movable_joints]
    assert names == ['rear_axle_joint', 'luff_joint', 'extend_joint', 'fork_joint']
    for k in range(1, 40):
        positions = [start.get(name, 0.0) for name in names]
        node.receive('joint_states', joint_state(0.01 * k, positions, nothing, nothing, names))
        node.decided_at = node.sensing.stamp / NANO - 0.02
        node.receive('joint_command_in', JointState(name=names[1:], effort=[1e3] * 3))
    assert not node.verdict.certified
    assert node._published_health().text.endswith('expected an IMU on a base on pivots, found none')
