"""simulation_interfaces' services of a running dynamics node, called from another process."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from node_testing import NodeProcess, Tester

from dyn_nodes.middleware import RUNTIME, Context, service
from dyn_nodes.nodes import simulation_services
from dyn_nodes.nodes.dynamics_node import DynamicsNode
from dyn_nodes.nodes.simulation_services import are_available

pytestmark = pytest.mark.skipif(not are_available(), reason='this ROS 2 has no simulation_interfaces')

PERIOD = 0.002
UNSUPPORTED, OK, NOT_FOUND, INCORRECT_STATE, FAILED, ALREADY = 0, 1, 2, 3, 4, 101
STOPPED, PLAYING, PAUSED, QUITTING, NO_WORLD = range(5)


class Caller(Tester):
    """Calls the node's services."""

    def call(self, name: str, **fields: Any) -> Any:
        kind = service(f'simulation_interfaces/srv/{name}')
        topic = ''.join(f'_{letter.lower()}' if letter.isupper() else letter for letter in name)[1:]
        client = self.node.create_client(kind, f'/dynamics_node/{topic}')
        request = kind.Request()
        for path, value in fields.items():
            field, *rest = path.split('__')
            target = request if not rest else getattr(request, field)
            setattr(target, rest[0] if rest else field, value)
        answers: list[Any] = []

        def answered() -> bool:
            # a node killed by the previous test remains in the graph for a while: its requests are lost
            if client.service_is_ready() and (
                not answers or (name.startswith('Get') and asked[0] < time.monotonic() - 6)
            ):
                answers.append(client.call_async(request))
                asked[0] = time.monotonic()
            return any(future.done() for future in answers)

        asked = [0.0]
        self.until(answered, 200.0)
        future = next(future for future in answers if future.done())
        self.node.destroy_client(client)
        return future.result()

    def state(self) -> int:
        answer = self.call('GetSimulationState')
        assert answer.result.result == OK
        return answer.state.state

    def set_state(self, state: int) -> int:
        return self.call('SetSimulationState', state__state=state).result.result


@pytest.fixture
def caller(context: Context) -> Caller:
    return Caller(context)


@pytest.fixture
def machine(start_node: Callable[..., NodeProcess]) -> Iterator[NodeProcess]:
    return start_node('dynamics_node', machine='log_loader', actuation='monolithic', exchange_period=PERIOD)


def time_of(state: Any) -> float:
    return state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec


def test_a_simulation_is_paused_stepped_stopped_and_ended(machine: NodeProcess, caller: Caller) -> None:
    features = list(caller.call('GetSimulatorFeatures').features.features)
    assert {10, 20, 24, 25, 26, 31, 32} == set(features)
    assert caller.state() == PLAYING
    assert caller.call('StepSimulation', steps=1).result.result == FAILED
    assert caller.set_state(PAUSED) == OK
    assert caller.set_state(PAUSED) == ALREADY
    assert caller.state() == PAUSED
    before = caller.call('GetEntityState', entity='log_loader').state
    assert caller.call('StepSimulation').result.result == OK  # one step is the default
    after = caller.call('GetEntityState', entity='log_loader').state
    assert time_of(after) == pytest.approx(time_of(before) + PERIOD, abs=1e-9)
    assert caller.call('StepSimulation', steps=450).result.result == OK
    last = caller.call('GetEntityState', entity='log_loader').state
    assert time_of(last) == pytest.approx(time_of(after) + 450 * PERIOD, abs=1e-9)
    orientation = last.pose.orientation
    assert np.linalg.norm([orientation.x, orientation.y, orientation.z, orientation.w]) == pytest.approx(1.0)
    assert last.header.frame_id == 'odom'
    assert abs(last.pose.position.z) < 3.0
    assert caller.set_state(STOPPED) == OK
    assert caller.state() == STOPPED
    assert time_of(caller.call('GetEntityState', entity='log_loader').state) == 0.0
    assert caller.set_state(PLAYING) == OK
    assert caller.state() == PLAYING
    assert caller.set_state(QUITTING) == OK
    status, _ = machine.finish(20.0)
    assert status == 0


def test_unsupported_requests_are_answered_as_such(machine: NodeProcess, caller: Caller) -> None:
    assert caller.set_state(NO_WORLD) == UNSUPPORTED
    assert caller.call('GetEntityState', entity='crane').result.result == NOT_FOUND
    assert caller.set_state(PAUSED) == OK
    caller.call('StepSimulation', steps=5)
    assert caller.call('ResetSimulation', scope=1).result.result == UNSUPPORTED
    assert time_of(caller.call('GetEntityState', entity='log_loader').state) > 0.0
    assert caller.call('ResetSimulation', scope=255).result.result == OK
    assert time_of(caller.call('GetEntityState', entity='log_loader').state) == 0.0
    assert caller.state() == PAUSED
    assert list(caller.call('GetEntities').entities) == ['log_loader']
    assert list(caller.call('GetEntities', filters__filter='^crane').entities) == []
    assert caller.call('GetEntities', filters__filter='(').result.result == FAILED


@pytest.mark.slow
def test_steps_of_a_split_machine_wait_for_its_hydraulics(
    start_node: Callable[..., NodeProcess], context: Context, caller: Caller
) -> None:
    start_node('dynamics_node', machine='log_loader', exchange_period=PERIOD)
    start_node('hydraulic_actuator_node', machine='log_loader', exchange_period=PERIOD)
    answers = caller.listen('sensor_msgs/msg/JointState', 'joint_command')
    caller.until(lambda: len(answers) > 20, 120.0)
    assert caller.set_state(PAUSED) == OK
    caller.for_seconds(0.3)
    answers.clear()
    assert caller.call('StepSimulation', steps=40).result.result == OK
    caller.until(lambda: len(answers) >= 40)
    stamps = [message.header.stamp.nanosec for message in answers]
    assert all((later - earlier) % 10**9 == round(PERIOD * 1e9) for earlier, later in itertools.pairwise(stamps))


@pytest.mark.slow
def test_lockstep_takes_one_step_at_a_time(start_node: Callable[..., NodeProcess], caller: Caller) -> None:
    start_node('dynamics_node', machine='log_loader', mode='lockstep', actuation='monolithic')
    features = list(caller.call('GetSimulatorFeatures').features.features)
    assert 31 in features
    assert 32 not in features
    assert caller.set_state(PAUSED) == OK
    assert caller.call('StepSimulation', steps=2).result.result == UNSUPPORTED
    answer = caller.call('StepSimulation', steps=1)
    assert answer.result.result == FAILED
    assert 'no command for this instant yet' in answer.result.error_message


def test_the_definitions_are_available_without_ros(context: Context) -> None:
    request = service('simulation_interfaces/srv/StepSimulation').Request()
    assert request.steps == 1
    assert service('simulation_interfaces/srv/ResetSimulation').Request.SCOPE_ALL == 255


# -- the action ------------------------------------------------------------------------------------------------------


class Handle:
    """A goal handle of rclpy's action server; a cancel is requested after a number of steps."""

    def __init__(self, steps: int, cancel_after: int | None = None) -> None:
        self.request, self.cancel_after = SimpleNamespace(steps=steps), cancel_after
        self.feedback: list[tuple[int, int]] = []
        self.ends: list[str] = []

    @property
    def is_cancel_requested(self) -> bool:
        return self.cancel_after is not None and len(self.feedback) >= self.cancel_after

    def publish_feedback(self, text: Any) -> None:
        self.feedback.append((text.completed_steps, text.remaining_steps))

    def __getattr__(self, name: str) -> Any:
        if name not in ('succeed', 'abort', 'canceled'):
            raise AttributeError(name)
        return lambda: self.ends.append(name)


def end_of(running: Any) -> Any:
    """Return the value of a coroutine that does not wait."""
    with pytest.raises(StopIteration) as end:
        running.send(None)
    return end.value.value.result


def test_the_action_takes_steps_with_feedback_and_can_be_canceled(
    make_node: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With stand-ins for rclpy.action and SimulateSteps, whose package has no wheel."""
    kind = SimpleNamespace(
        Result=lambda: SimpleNamespace(result=SimpleNamespace(result=0, error_message='')), Feedback=SimpleNamespace
    )
    module = SimpleNamespace(
        ActionServer=lambda node, kind, name, **callbacks: SimpleNamespace(name=name, **callbacks),
        CancelResponse=SimpleNamespace(ACCEPT='accept'),
    )
    monkeypatch.setattr(simulation_services, 'action', lambda name: (module, kind))
    node = make_node(DynamicsNode, mode='realtime', actuation='monolithic', partner='external', exchange_period=PERIOD)
    server = node.simulation.server
    assert server.name == '~/simulate_steps'
    features = service('simulation_interfaces/srv/GetSimulatorFeatures').Response()
    assert 33 in node.simulation._features(None, features).features.features
    node.pacer.start_clock()
    handle = Handle(3)
    result = end_of(server.execute_callback(handle))
    assert (result.result, result.error_message, handle.ends) == (
        FAILED, 'pause first: steps are taken only while paused', ['abort'],
    )  # fmt: skip
    node.pacer.pause(True)
    start = node.plant.time
    handle = Handle(5)
    result = end_of(server.execute_callback(handle))
    assert (result.result, result.error_message, handle.ends) == (OK, '', ['succeed'])
    assert handle.feedback == [(1, 4), (2, 3), (3, 2), (4, 1), (5, 0)]
    assert node.plant.time == pytest.approx(start + 5 * PERIOD, abs=1e-9)
    handle = Handle(100, cancel_after=2)
    assert server.cancel_callback(handle) == 'accept'
    result = end_of(server.execute_callback(handle))
    assert (result.result, result.error_message, handle.ends) == (FAILED, 'canceled after 2 steps', ['canceled'])
    assert node.plant.time == pytest.approx(start + 7 * PERIOD, abs=1e-9)
    assert node.simulation.state == PAUSED


@pytest.mark.skipif(RUNTIME != 'embedded', reason='actions exist on rclpy')
def test_the_embedded_runtime_has_no_action(make_node: Callable[..., Any], capfd: pytest.CaptureFixture) -> None:
    node = make_node(DynamicsNode, actuation='monolithic')
    assert node.simulation.server is None
    assert capfd.readouterr().err.count('no action ~/simulate_steps: the embedded runtime has no actions') == 1
