"""cartesian_controller_node on electric motors through closed loops: voltages that hold, loops that are open."""

from __future__ import annotations

import numpy as np
import pytest
from node_testing import Outbox, joint_state, statuses

from dyn_nodes.constraints import assemble
from dyn_nodes.middleware import message
from dyn_nodes.nodes.cartesian_controller_node import CartesianControllerNode

PoseStamped = message('geometry_msgs/msg/PoseStamped')
HOLDING = 1.16 * 0.9289
"""Volts of the holding current that `dyn-nodes check` prints for each of the six motors."""


@pytest.fixture(scope='module')
def home():
    """Positions of all joints at the start, loops closed, by name."""
    from dyn_nodes.nodes.machines import machine_of
    from dyn_nodes.simulation.constrained_machine import constrained_machine

    start = constrained_machine(machine_of('stewart_platform', ''))
    blocks = start.system.blocks
    q = assemble(blocks, start.q, held=[name for name in blocks.tree.position_names if 'length' in name])
    return dict(zip(blocks.tree.position_names, q.tolist()))


@pytest.fixture
def node(make_node):
    made = make_node(
        CartesianControllerNode, machine='stewart_platform', link='platform', output='valve_commands',
        exchange_period=0.01,
    )  # fmt: skip
    made.state_out, made.reference_out, made.error_out = Outbox(), Outbox(), Outbox()
    return made


def states(time, home, **changed):
    values = {**home, **changed}
    names = list(values)
    return joint_state(time, list(values.values()), np.zeros(len(names)), np.zeros(len(names)), names)


def test_a_platform_is_held_by_its_nominal_voltages_and_led_to_a_pose(node, home):
    node.receive('joint_states', states(0.0, home))
    volts = node.commands_out.last
    assert volts.layout.dim[0].label == ','.join(f'motor_{k}' for k in range(1, 7))
    assert np.abs(volts.data) == pytest.approx(np.full(6, HOLDING), rel=1e-3)
    assert set(node.hand.joints) == {f'leg_{k}_length_joint' for k in range(1, 7)}
    target = PoseStamped()
    position, now = target.pose.position, node.hand.pose(node.hand.home).position
    position.x, position.y, position.z = float(now[0]) + 0.05, float(now[1]), float(now[2])
    target.pose.orientation.w = 1.0
    node.receive('hand_pose', target)
    assert node.targets == 1
    for k in range(1, 4):
        node.receive('joint_states', states(0.01 * k, home))
    assert np.abs(np.subtract(node.commands_out.last.data, volts.data)).max() > 1e-3
    node._on_timeout_tick()
    assert list(node.commands_out.last.data) == [0.0] * 6


def test_measured_legs_at_which_the_loops_do_not_close_give_0_volts_and_are_reported(node, home):
    node.receive('joint_states', states(0.0, home))
    sent = node.sent
    node.receive('joint_states', states(0.01, home, leg_3_length_joint=3.9))
    assert list(node.commands_out.last.data) == [0.0] * 6
    assert node.sent == sent + 1
    assert node.state_rejections.counts == {'open loop': 1}
    node.diagnostics.update(100.0, 0.0)
    assert 'the loops do not close at' in statuses(node.diagnostics.publisher.last)['joint_states'].message
    node.receive('joint_states', states(0.02, home))
    assert np.abs(node.commands_out.last.data) == pytest.approx(np.full(6, HOLDING), rel=0.05)
