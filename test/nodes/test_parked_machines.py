"""The governor of a machine with driven wheels: it works while they are parked, and holds the arm while they turn."""

from __future__ import annotations

import numpy as np
import pytest
from node_testing import joint_state

from dyn_nodes.common.share import find_resource
from dyn_nodes.governor.campaign.campaign import random_cases
from dyn_nodes.governor.campaign.cases import box_of
from dyn_nodes.governor.campaign.governed_run import Rig
from dyn_nodes.governor.settings import GovernorSettings
from dyn_nodes.middleware import Parameter, message
from dyn_nodes.model import load_machine
from dyn_nodes.model.locking import parked, parked_joints
from dyn_nodes.nodes.parked_joints import MOVES, ParkedJoints
from dyn_nodes.nodes.stamps import NANO
from dyn_nodes.nodes.tip_over_governor_node import TipOverGovernorNode
from dyn_nodes.stability.load_moment import LoadMomentIndicator

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
