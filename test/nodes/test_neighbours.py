"""Two machines in one domain: a node detects a second source of its joint states or another machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from timeouts import scaled_timeout

from dyn_nodes.middleware import Context, Node, Parameter, QoSProfile, SingleThreadedExecutor, init, message
from dyn_nodes.nodes import neighbours
from dyn_nodes.nodes.controller_node import ControllerNode
from dyn_nodes.nodes.dynamics_node import DynamicsNode
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.running import RunFailed
from dyn_nodes.nodes.stability_monitor_node import StabilityMonitorNode
from dyn_nodes.nodes.tip_over_governor_node import TipOverGovernorNode
from dyn_nodes.nodes.viewer_node import ViewerNode
from dyn_nodes.viewer.cockpit import Cockpit

JointState, DiagnosticArray = message('sensor_msgs/msg/JointState'), message('diagnostic_msgs/msg/DiagnosticArray')
Clock = message('rosgraph_msgs/msg/Clock')
Status, KeyValue = message('diagnostic_msgs/msg/DiagnosticStatus'), message('diagnostic_msgs/msg/KeyValue')

REAL_DISCOVERY = neighbours.DISCOVERY


@pytest.fixture
def other() -> Iterator[Context]:
    """Another participant in the domain of the test, which counts as another process."""
    made = Context()
    init(args=['other'], context=made)
    yield made
    made.try_shutdown()


@pytest.fixture(autouse=True, scope='module')
def _quiet_domain() -> None:
    """Wait until publishers of earlier tests have left the domain: processes that were killed stay for their lease."""
    context = Context()
    init(args=['watcher'], context=context)
    watcher = Node('watcher', context=context)
    end = time.monotonic() + scaled_timeout(30.0)
    quiet = time.monotonic() + max(REAL_DISCOVERY, 0.5)
    while time.monotonic() < min(end, quiet):
        if neighbours.sources_of(watcher, '/joint_states'):
            quiet = time.monotonic() + max(REAL_DISCOVERY, 0.5)
        time.sleep(0.02)
    watcher.destroy_node()
    context.try_shutdown()


@pytest.fixture(autouse=True)
def _short_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, 'LEASE', 0.4)
    monkeypatch.setattr(neighbours, 'DISCOVERY', scaled_timeout(REAL_DISCOVERY))
    monkeypatch.setattr(neighbours, 'CHECK_PERIOD', 0.05)


def of_others() -> None:
    """Treat the nodes created so far as nodes of another process."""
    neighbours._made.clear()
    neighbours._first = None


def until(condition: Callable[[], Any], *nodes: Any) -> None:
    """Spin nodes until a condition is true, which discovery delays."""
    end = time.monotonic() + scaled_timeout(10)
    executors = []
    for node in nodes:
        executors.append(SingleThreadedExecutor(context=node.context))
        executors[-1].add_node(node)
    while not condition():
        assert time.monotonic() < end
        for executor in executors:
            executor.spin_once(timeout_sec=0.01)
        time.sleep(0.01)
    for executor, node in zip(executors, nodes):
        executor.remove_node(node)


def made(kind: Any, context: Context, **parameters: Any) -> Any:
    values = {'machine': 'four_bar', 'mode': 'lockstep', **parameters}
    overrides = [Parameter(name, value=value) for name, value in values.items()]
    return kind(context=context, parameter_overrides=overrides)


def controller(context: Context, **parameters: Any) -> ControllerNode:
    return made(ControllerNode, context, output='joint_command', **parameters)


def dynamics(context: Context) -> DynamicsNode:
    return made(DynamicsNode, context, partner='external')


def speak(node: Any, name: str, machine: str) -> None:
    """Publish the diagnostics of a node of a machine."""
    out = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
    pairs = [KeyValue(key='machine', value=machine)]
    array = DiagnosticArray(status=[Status(name=f'{name}: simulation', hardware_id=name, values=pairs)])
    node.create_timer(0.02, lambda: out.publish(array))


def test_a_second_simulation_of_one_domain_does_not_start_and_names_the_first(context, other):
    first = dynamics(other)
    of_others()
    with pytest.raises(ParameterError, match=r'^/dynamics_node publishes joint_states in this domain already: '):
        dynamics(context)
    first.destroy_node()


def test_a_second_controller_of_one_domain_does_not_start_until_the_first_is_gone(context, other):
    first = controller(other)
    of_others()
    with pytest.raises(ParameterError, match=r'^a node /controller_node is in this domain already: '):
        controller(context)
    first.destroy_node()
    controller(context).destroy_node()


def test_another_source_of_joint_states_keeps_a_simulation_from_starting_until_it_is_gone(context, other):
    driver = Node('driver', namespace='/real', context=other)
    source = driver.create_publisher(JointState, '/joint_states', 10)
    watcher = Node('watcher', context=context)
    until(lambda: neighbours.sources_of(watcher, '/joint_states'))
    with pytest.raises(ParameterError, match=r'/real/driver publishes joint_states in this domain already'):
        dynamics(context)
    driver.destroy_publisher(source)
    dynamics(context).destroy_node()
    driver.destroy_node()


def test_nodes_of_one_process_and_other_namespaces_are_no_neighbours(context, other):
    first, second = controller(context), controller(context)
    third = Node('controller_node', namespace='/yard', context=other)
    for node in (first, second, third):
        node.destroy_node()


@pytest.mark.parametrize(('name', 'stays'), [('sim', False), ('yard/sim', True)])
def test_a_follower_of_another_machine_ends_before_it_answers_and_names_it(context, other, name, stays):
    talker = Node('sim', context=other)
    speak(talker, name, 'log_loader')
    node = controller(context)
    if stays:
        until(lambda: talker.count_subscribers('/diagnostics'), node, talker)
        assert node.neighbours.problem == ''
    else:
        with pytest.raises(RunFailed, match=r"^/sim is of machine 'log_loader', this node of 'four_bar': give each"):
            until(lambda: False, node, talker)
    node.destroy_node()
    talker.destroy_node()


def two_sources(context: Context) -> list[Any]:
    nodes = [Node(name, context=context) for name in ('sim', 'driver')]
    for node in nodes:
        node.create_publisher(JointState, 'joint_states', QoSProfile(depth=10))
    return nodes


def test_a_live_follower_takes_no_joint_states_of_two_sources_and_reports_them(context, other):
    node = controller(context, mode='realtime', partner='external')
    sources = two_sources(other)
    until(lambda: node.neighbours.is_mixed and '/driver, /sim' in node.neighbours.problem, node)
    taken = []
    node._unless_mixed('joint_states', taken.append)('a message')
    assert taken == []
    health = node.neighbours.health()
    assert health.text.startswith('/joint_states has 2 publishers (/driver, /sim): ')
    sources[0].destroy_node()
    until(lambda: not node.neighbours.problem, node)
    node._unless_mixed('joint_states', taken.append)('a message')
    assert taken == ['a message']
    for one in (node, sources[1]):
        one.destroy_node()


@pytest.fixture
def viewer(context: Context, monkeypatch: pytest.MonkeyPatch) -> Iterator[ViewerNode]:
    """The page of a log-loader with one driver, client 3, whose levers are on."""
    values = {'machine': 'log_loader', 'port': 0}
    overrides = [Parameter(name, value=value) for name, value in values.items()]
    node = ViewerNode(context=context, parameter_overrides=overrides)
    monkeypatch.setattr(Cockpit, 'drivers', [3])
    assert node.levers.arm(3, time.monotonic())
    yield node
    node.destroy_node()


def assert_page_is_dead(viewer: ViewerNode, problem: str) -> None:
    viewer.frame()
    assert not viewer.levers.armed
    assert viewer.levers.reason.startswith(problem)
    viewer._switch_levers(True, 3, time.monotonic())
    assert not viewer.levers.armed
    state = viewer.connection.state(time.monotonic(), 2)
    assert (state.kind, state.text) == ('lost', 'More than one machine')
    assert state.details.startswith(problem)


def test_a_page_drives_no_machine_while_two_publish_its_joint_states(viewer, other):
    sources = two_sources(other)
    until(lambda: viewer.neighbours.is_mixed and '/driver, /sim' in viewer.neighbours.problem, viewer)
    assert_page_is_dead(viewer, '/joint_states has 2 publishers (/driver, /sim): ')
    sources[0].destroy_node()
    until(lambda: not viewer.neighbours.problem, viewer)
    viewer.frame()
    assert viewer.connection.state(time.monotonic(), 1).text == 'Waiting for a machine'
    sources[1].destroy_node()


def test_a_page_drives_no_other_machine_than_the_one_that_it_shows(viewer, other):
    talker = Node('sim', context=other)
    speak(talker, 'sim', 'four_bar')
    until(lambda: viewer.neighbours.is_mixed, viewer, talker)
    assert_page_is_dead(viewer, "/sim is of machine 'four_bar', this node of 'log_loader': ")
    talker.destroy_node()


@pytest.mark.parametrize(
    ('kind', 'topic', 'source'),
    [
        (StabilityMonitorNode, 'imu', 'given'),
        (StabilityMonitorNode, 'payload', 'given'),
        (StabilityMonitorNode, 'hydraulics/boom/head_pressure', 'estimated'),
        (TipOverGovernorNode, 'payload/interval', 'estimated'),
    ],
)
def test_a_measurement_of_two_sources_is_reported_and_not_taken_until_one_is_gone(context, other, kind, topic, source):
    parameters = {'machine': 'log_loader', 'payload_source': source}
    overrides = [Parameter(name, value=value) for name, value in parameters.items()]
    node = kind(context=context, parameter_overrides=overrides)
    (taker,) = [subscription for subscription in node.subscriptions if subscription.topic_name == f'/{topic}']
    taken, sources = [], [Node(name, context=other) for name in ('sim', 'driver')]
    for one in sources:
        one.create_publisher(taker.msg_type, topic, QoSProfile(depth=10))
    until(lambda: node.neighbours.is_mixed_on(topic), node)
    for other_topic in (topic, 'joint_states'):
        node._unless_mixed(other_topic, taken.append)(other_topic)
    assert taken == ['joint_states']
    two = f'/{topic} has 2 publishers (/driver, /sim): '  # publishers of an earlier test may remain for a while
    until(lambda: (status := node.neighbours.health()) and status.text.startswith(two), node)
    sources[0].destroy_node()
    until(lambda: not node.neighbours.problem, node)
    node._unless_mixed(topic, taken.append)(topic)
    assert taken == ['joint_states', topic]
    for one in (node, sources[1]):
        one.destroy_node()


def test_a_follower_of_a_simulation_ends_where_a_second_source_stays(context, other):
    node = controller(context)
    node.received = 3
    sources = two_sources(other)
    with pytest.raises(RunFailed, match=r'/joint_states has 2 publishers \(/driver, /sim\)'):
        until(lambda: False, node)
    for one in (node, *sources):
        one.destroy_node()


def test_a_running_simulation_reports_a_second_source_by_its_name(context, other):
    node = dynamics(context)
    node.pacer.started = True
    node.pacer.check_timeouts = lambda: None
    driver = Node('driver', context=other)
    driver.create_publisher(JointState, 'joint_states', QoSProfile(depth=10))
    until(lambda: node.neighbours.is_mixed and '/driver' in node.neighbours.problem, node)
    assert node.neighbours.health().text.startswith('/driver also publishes /joint_states: ')
    for one in (node, driver):
        one.destroy_node()


@pytest.mark.parametrize('make', [dynamics, controller])
def test_a_second_publisher_of_the_clock_is_reported_by_its_name_until_it_is_gone(context, other, make):
    node, logged = make(context), []
    node.get_logger = lambda: SimpleNamespace(warn=logged.append)
    if make is controller:
        simulation = Node('simulation', context=other)
        simulation.create_publisher(Clock, '/clock', QoSProfile(depth=10))
        until(lambda: node.count_publishers('/clock') == 1, node)
    node.neighbours.check()
    assert node.neighbours.health() is None
    player = Node('player', context=other)
    player.create_publisher(Clock, '/clock', QoSProfile(depth=10))
    until(lambda: '/player' in node.neighbours.clock and 'unknown' not in node.neighbours.clock, node)
    assert node.neighbours.health().text.startswith(
        '/player also publishes /clock: ' if make is dynamics else '/clock has 2 publishers (/player, /simulation): '
    )
    assert logged == [node.neighbours.clock]
    player.destroy_node()
    until(lambda: node.neighbours.health() is None, node)
    node.destroy_node()


def test_diagnostics_name_the_machine_and_its_fingerprint(context):
    node = dynamics(context)
    sent = []
    node.diagnostics.publisher.publish = sent.append
    node.diagnostics.update(1e9)
    values = {pair.key: pair.value for pair in sent[0].status[0].values}
    assert values['machine'] == 'four_bar'
    assert len(values['fingerprint']) == 16
    node.destroy_node()


def test_a_publisher_of_another_type_is_named_because_its_messages_do_not_arrive(context, other, monkeypatch):
    """A gamepad or a keyboard node with Twist where TwistStamped is expected."""
    monkeypatch.setattr('dyn_nodes.nodes.guarded.TYPES_PERIOD', 0.0)
    node = controller(context)
    assert node.message_health() is None
    teleop = Node('teleop_twist_keyboard', context=other)
    teleop.create_publisher(message('geometry_msgs/msg/Twist'), 'cmd_vel', QoSProfile(depth=1))
    until(lambda: 'teleop' in getattr(node.message_health(), 'text', ''), node)
    expected = (
        'cmd_vel: expected geometry_msgs/msg/TwistStamped, found geometry_msgs/msg/Twist of /teleop_twist_keyboard'
    )
    assert node.message_health().text.startswith(expected)
    teleop.destroy_node()
    until(lambda: node.message_health() is None, node)
    node.destroy_node()
