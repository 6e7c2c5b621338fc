"""The life cycle of managed nodes: on rclpy by the services of `ros2 lifecycle`; otherwise they are always active."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from can_testing import Wires, bridge_on, run
from node_testing import EFFORTS, JOINTS, POSTURE, Tester, joint_state

from dyn_nodes.middleware import Future, message, service
from dyn_nodes.middleware.lifecycle import LifecycleMixin, Unmanaged
from dyn_nodes.nodes import bring_up
from dyn_nodes.nodes.bring_up import BringUp
from dyn_nodes.nodes.dynamics_node import DynamicsNode
from dyn_nodes.nodes.hydraulic_actuator_node import HydraulicActuatorNode
from dyn_nodes.nodes.running import RunFailed
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


class Managing:
    """A node with clients of the life cycle of other nodes, in `states`; `lost` requests have no answer."""

    def __init__(self, *names: str) -> None:
        self.states = dict.fromkeys(names, 'unconfigured')
        self.calls: list[str] = []
        self.lost: list[str] = []
        self.stubborn = ''
        self.absent = set()

    def create_client(self, kind: Any, service_name: str) -> Any:
        name, verb = service_name.split('/')
        return SimpleNamespace(
            service_is_ready=lambda: name not in self.absent,
            call_async=lambda request: self.answer(name, verb, request),
            remove_pending_request=lambda future: None,
        )

    def destroy_client(self, client: Any) -> None:
        self.calls.append('destroyed')

    def answer(self, name: str, verb: str, request: Any) -> Any:
        result = Future()
        answer = SimpleNamespace(current_state=SimpleNamespace(label=self.states[name]), success=True)
        if verb == 'change_state':
            transition = {number: text for text, number in TRANSITIONS.items()}[request.transition.id]
            self.calls.append(f'{transition} {name}')
            before, after = {'configure': ('unconfigured', 'inactive'), 'activate': ('inactive', 'active')}[transition]
            answer.success = self.states[name] == before and name != self.stubborn
            if answer.success:
                self.states[name] = after
        if self.lost and self.lost[0] == f'{verb} {name}':
            self.lost.pop(0)
        else:
            result.set_result(answer)
        return result


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = SimpleNamespace(Request=lambda: SimpleNamespace(transition=SimpleNamespace(id=0)))
    monkeypatch.setattr(bring_up, 'lifecycle_services', lambda: (kind, kind))


@pytest.mark.usefixtures('stand_in')
def test_nodes_are_configured_and_then_activated_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Managing('oil', 'governor')
    node.absent.add('governor')
    bringing = BringUp(node, ['oil', '', 'governor'])
    assert bringing.missing() == 'governor does not offer its life cycle yet'
    assert node.calls == ['configure oil']
    node.absent.clear()
    node.lost = ['change_state governor']
    assert bringing.missing() == 'governor has not answered configure yet'
    now = time.monotonic() + 10.0
    monkeypatch.setattr(bring_up.time, 'monotonic', lambda: now)
    assert bringing.missing() == 'governor has not answered configure yet'
    node.states['oil'] = 'active'  # by a person meanwhile
    assert bringing.missing() == ''
    assert node.calls[:4] == ['configure oil', 'configure governor', 'activate oil', 'activate governor']

    assert set(node.calls[4:]) == {'destroyed'}
    assert set(node.states.values()) == {'active'}
    assert bringing.missing() == ''


@pytest.mark.usefixtures('stand_in')
def test_a_transition_that_fails_ends_the_run_by_its_name() -> None:
    node = Managing('oil')
    node.stubborn = 'oil'
    with pytest.raises(RunFailed, match=r'^oil: transition configure failed; the node is unconfigured$'):
        BringUp(node, ['oil']).missing()


@pytest.mark.skipif(LifecycleMixin is not Unmanaged, reason='rclpy with lifecycle_msgs')
def test_without_life_cycles_there_is_nothing_to_bring_up() -> None:
    assert BringUp(Managing('oil'), ['oil']).missing() == ''


@has_lifecycle
def test_dynamics_brings_the_actuator_node_up_before_time_starts(make_node: Callable[..., Any], tester: Tester) -> None:
    oil = make_node(HydraulicActuatorNode, mode='realtime', partner='external', autostart=False)
    names = [oil.get_name()]
    dynamics = make_node(DynamicsNode, mode='realtime', wait_for=names, bring_up=names)
    for node in (oil, dynamics):
        tester.executor.add_node(node)
    assert (oil.lifecycle_state, dynamics.pacer.started) == ('unconfigured', False)
    tester.until(lambda: dynamics.pacer.started)
    assert oil.lifecycle_state == 'active'
    for node in (oil, dynamics):
        tester.executor.remove_node(node)
