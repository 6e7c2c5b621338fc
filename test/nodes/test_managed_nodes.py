"""The life cycle of managed nodes: on rclpy by the services of `ros2 lifecycle`; otherwise they are always active."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from can_testing import Wires, bridge_on, run
from node_testing import EFFORTS, JOINTS, POSTURE, Tester, joint_state

from dyn_nodes.middleware import message, service
from dyn_nodes.middleware.lifecycle import LifecycleMixin, Unmanaged
from dyn_nodes.nodes.hydraulic_actuator_node import HydraulicActuatorNode
from dyn_nodes.nodes.stability_monitor_node import StabilityMonitorNode
from dyn_nodes.nodes.tip_over_governor_node import TipOverGovernorNode

SetBool = service('std_srvs/srv/SetBool')
Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
has_lifecycle = pytest.mark.skipif(LifecycleMixin is Unmanaged, reason='no rclpy with lifecycle_msgs')
TRANSITIONS = {'configure': 1, 'cleanup': 2, 'activate': 3, 'deactivate': 4}


def test_nodes_are_active_by_themselves(make_node: Callable[..., Any]) -> None:
    """`autostart` is true by default; without rclpy there is no life cycle."""
    node = make_node(HydraulicActuatorNode, mode='realtime', partner='external')
    assert node.is_active
    assert node.lifecycle_state == ('' if LifecycleMixin is Unmanaged else 'active')
    node.receive('joint_states', joint_state(0.1, POSTURE, (0.0, 0.0, 0.0), EFFORTS, JOINTS))
    assert node.received == 1


class Cycle:
    """`ros2 lifecycle` for a node."""

    def __init__(self, tester: Tester, node: Any) -> None:
        from lifecycle_msgs.srv import ChangeState, GetState

        self.tester, self.kinds, self.name = tester, (ChangeState, GetState), node.get_name()
        tester.executor.add_node(node)

    def set(self, transition: str) -> bool:
        request = self.kinds[0].Request()
        request.transition.id = TRANSITIONS[transition]
        return bool(self.tester.ask(self.kinds[0], f'/{self.name}/change_state', request).success)

    def get(self) -> str:
        return str(self.tester.ask(self.kinds[1], f'/{self.name}/get_state').current_state.label)


@has_lifecycle
@pytest.mark.parametrize('kind', [HydraulicActuatorNode, StabilityMonitorNode])
def test_an_inactive_node_receives_and_publishes_nothing(
    make_node: Callable[..., Any], tester: Tester, kind: Any
) -> None:
    options = {'mode': 'realtime', 'partner': 'external'} if kind is HydraulicActuatorNode else {'imu': 'off'}
    node = make_node(kind, autostart=False, **options)
    cycle, seen = Cycle(tester, node), []

    def count() -> int:
        return int(getattr(node, 'sensing', node).received)

    for transition, state, is_served in (
        ('', 'unconfigured', False), ('configure', 'inactive', False), ('activate', 'active', True),
        ('deactivate', 'inactive', False), ('activate', 'active', True), ('deactivate', 'inactive', False),
        ('cleanup', 'unconfigured', False),
    ):  # fmt: skip
        assert not transition or cycle.set(transition)
        assert cycle.get() == state
        before, sent = count(), len(node.diagnostics.publisher.messages)
        for _ in range(5):
            seen.append(0)
            node.receive('joint_states', joint_state(0.01 * len(seen), POSTURE, (0.0, 0.0, 0.0), EFFORTS, JOINTS))
        assert (count() > before) == is_served
        if not is_served:
            tester.for_seconds(0.1)
            assert len(node.diagnostics.publisher.messages) == sent, 'no timer is served'
    assert not cycle.set('deactivate'), 'not from this state'
    tester.executor.remove_node(node)


@has_lifecycle
def test_a_governor_is_deactivated_at_neutral_only(make_node: Callable[..., Any], tester: Tester) -> None:
    node = make_node(TipOverGovernorNode, mode='realtime', partner='external')
    cycle = Cycle(tester, node)
    assert cycle.get() == 'active'
    node.verdict = replace(node.verdict, volts=np.array([2.0, 0.0, 0.0]))
    assert not cycle.set('deactivate')
    assert cycle.get() == 'active'
    node.verdict = replace(node.verdict, volts=np.zeros(3))
    assert cycle.set('deactivate')
    sent = node.sent
    node.receive('valve_commands_in', Float64MultiArray(data=[0.0, 0.0, 0.0]))
    assert (cycle.get(), node.sent) == ('inactive', sent)


@has_lifecycle
def test_a_bridge_is_armed_by_its_activation_and_inactive_in_shadow(
    context: Any, held: Any, tester: Tester, request: pytest.FixtureRequest
) -> None:
    wires = Wires(request.node.name, held)
    node = bridge_on(context, request.node.name)
    cycle = Cycle(tester, node)
    try:
        assert (cycle.get(), node.arming.state) == ('inactive', 'shadow')
        assert not cycle.set('activate'), 'nothing is measured yet'
        run(node, wires)
        assert cycle.set('activate')
        assert (cycle.get(), node.arming.state) == ('active', 'limit')
        assert cycle.set('deactivate')
        assert (cycle.get(), node.arming.state) == ('inactive', 'shadow')
        run(node, wires)
        # the services are aliases, and a fault deactivates the node
        assert node.answer('~/arm', SetBool.Request(data=True)).success
        assert (cycle.get(), node.arming.state) == ('active', 'limit')
        assert node.answer('~/arm', SetBool.Request(data=False)).success
        assert cycle.get() == 'inactive'
        run(node, wires)
        assert node.answer('~/arm', SetBool.Request(data=True)).success
        run(node, wires, 1.0, skip='LinePressures')
        assert (cycle.get(), node.arming.state) == ('inactive', 'shadow')
        assert cycle.set('cleanup')
        answer = node.answer('~/arm', SetBool.Request(data=True))
        assert (answer.success, answer.message) == (False, 'expected a configured node, found unconfigured')
    finally:
        tester.executor.remove_node(node)
        node.destroy_node()
        wires.bus.shutdown()
