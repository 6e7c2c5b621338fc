"""Topics of the dynamics node for the reactions at the joints of the machine YAML."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from node_testing import NodeProcess, Outbox, Tester

from dyn_nodes.nodes.dynamics_node import DynamicsNode
from dyn_nodes.nodes.stamps import stamp_of
from dyn_nodes.simulation.reaction import joint_reaction
from dyn_nodes.studies.reference import tabulated

WRENCH = 'geometry_msgs/msg/WrenchStamped'
BEYOND_BOOM_FOOT = 1830.0 + 688.0 + 5100.0  # kg: boom, stick, payload


def test_the_node_publishes_the_wrench_of_the_parent_on_the_child(make_node: Callable[..., Any]) -> None:
    node = make_node(DynamicsNode, actuation='monolithic')
    boxes = {name: Outbox.behind(publisher) for name, publisher in node.reporter.joint_reactions.items()}
    assert set(boxes) == {'swing_joint', 'boom_joint'}
    plant = node.plant
    for _ in range(10):
        plant.advance()
    node.reporter.publish(False)
    for name, child in (('swing_joint', 'cabin_link'), ('boom_joint', 'boom_link')):
        message = boxes[name].last
        assert message.header.frame_id == child
        assert message.header.stamp == stamp_of(plant.time)
        expected = joint_reaction(plant.system, plant.x, name, plant.u, plant.p)
        force, torque = message.wrench.force, message.wrench.torque
        np.testing.assert_allclose((force.x, force.y, force.z), expected.force, rtol=1e-12)
        np.testing.assert_allclose((torque.x, torque.y, torque.z), expected.torque, rtol=1e-12, atol=1e-6)
    # at rest the boom foot carries what hangs on it
    size = np.linalg.norm(joint_reaction(plant.system, plant.x, 'boom_joint', plant.u, plant.p).force)
    assert size == pytest.approx(9.81 * BEYOND_BOOM_FOOT, rel=1e-3)


@pytest.mark.slow
def test_the_node_publishes_what_an_arm_and_its_vehicle_exert_on_each_other(make_node: Callable[..., Any]) -> None:
    """A fixed joint, beside wheels that roll by constraint; test_kane_on_machines.py has the numbers in motion."""
    node = make_node(DynamicsNode, machine='rm_1')
    box = Outbox.behind(node.reporter.joint_reactions['arm_mount'])
    node.reporter.publish(False)
    assert box.last.header.frame_id == 'arm_base'
    expected = -tabulated('tanner-1998/6.2/static')
    assert box.last.wrench.force.z == pytest.approx(expected[2], rel=1e-6)
    assert box.last.wrench.torque.x == pytest.approx(expected[3], rel=1e-5)
    assert box.last.wrench.torque.y == pytest.approx(expected[4], rel=1e-5)


def test_a_machine_that_names_no_joint_has_no_such_topic(make_node: Callable[..., Any], tmp_path: Path) -> None:
    config = Path(__file__).resolve().parents[2] / 'config' / 'log_loader.yaml'
    quiet = tmp_path / 'quiet.yaml'
    lines = config.read_text().splitlines(keepends=True)
    quiet.write_text(''.join(line for line in lines if not line.startswith('reactions:')))
    node = make_node(DynamicsNode, actuation='monolithic', config=str(quiet))
    assert node.reporter.joint_reactions == {}
    node.reporter.publish(False)


def test_other_nodes_receive_the_topics(start_node: Callable[..., NodeProcess], tester: Tester) -> None:
    swing, boom = (tester.listen(WRENCH, f'joint_reactions/{name}') for name in ('swing_joint', 'boom_joint'))
    start_node('dynamics_node', machine='log_loader', mode='realtime', actuation='monolithic')
    tester.until(lambda: len(swing) > 2 and len(boom) > 2, timeout=60.0)
    assert {message.header.frame_id for message in swing} == {'cabin_link'}
    # the bearing carries cabin, boom, stick and payload
    assert swing[-1].wrench.force.z == pytest.approx(9.81 * (17481.0 - 6932.0 + 5100.0), rel=0.02)
