"""Every topic, service and parameter of the contract, read by another process from launched nodes.

Two machines run at once: in the namespace `a` a node for everything, in `b` hydraulics inside the dynamics, driven by
teleop_node through tip_over_governor_node. The test is the gamepad. A cartesian_controller_node in `c` reads `a`, a
can_bridge_node in `d` an idle bus.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import contract
import numpy as np
import pytest
from contract import DIAGNOSTICS, INPUTS, MACHINE, NAMESPACES, OUTPUTS, SERVICES, WEIGHT, WHEELS
from domains import next_domain
from harness import HAS_FRAMES, Probe
from timeouts import scaled_timeout

from dyn_nodes.middleware import RUNTIME, Parameter, message, parameter_value_to_python, service
from dyn_nodes.nodes.parameters import MAP, Declared, all_parameters, node_parameters

DOMAIN = next_domain()
START_TIME = 200.0
pytestmark = pytest.mark.timeout(900)  # the first start compiles the governor beside running machines
SPEED = 0.2
COMMON = ('task:=', 'exchange_period:=0.002', 'payload:=1000.0')
LAUNCHED_WITH = {'machine': 'log_loader', 'exchange_period': 0.002, 'task': '', 'payload': 1000.0, 'prefix': 'monitor'}
NODES = (*OUTPUTS, 'recorder_node')
Asked = Callable[[str, str], list[tuple[str, list[str]]]]
"""Query of the graph: names and types of the entities of a node, by its name and namespace."""
NEUTRAL, BOOM_BACK = [0.0] * 8, [0.0, 0.0, 0.0, 0.0, -0.6, 0.0, 0.0, 0.0]
"""Axes of the gamepad: the right stick pulled back raises the boom, which moves the load inwards."""


def full(node: str, topic: str = '') -> str:
    """Return the full name of a node or of a topic in its namespace; absolute topics are unchanged."""
    return topic if topic.startswith('/') else f'/{NAMESPACES.get(node, "a")}/{topic or node}'


class Running:
    """Start a process in a separate process group."""

    def __init__(self, log: Path, *arguments: str) -> None:
        self.log = log
        command = [sys.executable, '-m', *arguments]
        environment = {**os.environ, 'ROS_DOMAIN_ID': str(DOMAIN), 'DYN_NODES_MIDDLEWARE': RUNTIME}
        self.process = subprocess.Popen(
            command, env=environment, stdout=log.open('w'), stderr=subprocess.STDOUT, start_new_session=True
        )

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(scaled_timeout(120))
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise


@pytest.fixture(scope='module')
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp('contract')


@pytest.fixture(scope='module')
def machines(directory: Path) -> Iterator[dict[str, Running]]:
    launch = ('dyn_nodes.cli', 'launch', 'log_loader', *COMMON)
    driven = ('namespace:=b', 'monolithic:=true', 'drive:=true', 'governor:=true')
    watched = ('namespace:=a', 'viewer:=true', 'port:=0', 'monitor:=true', 'record:=true', f'bag:={directory / "bag"}')
    teleop = ('-r', '__ns:=/b', '-r', 'valve_commands:=valve_commands_in', '-p', 'machine:=log_loader')
    hand = ('-r', '__ns:=/c', '-r', 'joint_states:=/a/joint_states', '-p', 'machine:=log_loader')
    bus = ('-r', '__ns:=/d', '-p', 'mapping:=log_loader', '-p', 'interface:=virtual')
    timing = ('-p', 'exchange_period:=0.002', '-p', 'payload:=1000.0')
    made = {
        'hand': Running(
            directory / 'hand.log', 'dyn_nodes.nodes.cartesian_controller_node', '--ros-args', *hand, *timing
        ),
        'bridge': Running(directory / 'bridge.log', 'dyn_nodes.nodes.can_bridge_node', '--ros-args', *bus),
        'teleop': Running(directory / 'teleop.log', 'dyn_nodes.nodes.teleop_node', '--ros-args', *teleop),
        'b': Running(directory / 'b.log', *launch, *driven),
        'a': Running(directory / 'a.log', *launch, *watched),
    }
    yield made
    for launch in made.values():
        assert launch.stop() in (0, 130), launch.log.read_text()
        assert 'Traceback' not in launch.log.read_text()


@pytest.fixture(scope='module')
def probe(machines: dict[str, Running]) -> Iterator[Probe]:
    listener = Probe(DOMAIN)
    for node, outputs in OUTPUTS.items():
        for output in outputs:
            if full(node, output.topic) not in listener.count:
                listener.listen(output.type, full(node, output.topic), output.latched)
    for topic, kind in (('joint_states', contract.STATES), ('clock', 'rosgraph_msgs/msg/Clock')):
        listener.listen(kind, f'/b/{topic}')
    if HAS_FRAMES:
        listener.listen('tf2_msgs/msg/TFMessage', '/b/tf')
    try:
        listener.until(
            lambda: (
                min(listener.count[f'/{name}/joint_states'] for name in 'ab') > 50
                and listener.count['/a/joint_command'] > 50
                and set(map(full, NODES)) <= set(listener.node.get_fully_qualified_node_names())
            ),
            'the start of both machines',
            START_TIME,
        )
        for name in 'ab':  # slowly: the exchange must keep its period on a busy computer
            set_parameter(listener, f'/{name}/dynamics_node', 'speed', SPEED)
            call(listener, 'std_srvs/srv/Trigger', f'/{name}/dynamics_node/reset')
        yield listener
    finally:
        listener.close()


@pytest.fixture(scope='module')
def gamepad(probe: Probe) -> dict[str, Any]:
    """Return a gamepad with a held dead-man button, released first if required; `axes` may be changed."""
    held: dict[str, Any] = {'axes': NEUTRAL}
    Joy = message('sensor_msgs/msg/Joy')
    publisher = probe.node.create_publisher(Joy, '/b/joy', 10)
    held['up'] = True

    def publish() -> None:
        report = ' '.join(text for name, (_, text, _) in probe.health.items() if name.endswith('teleop_node: gamepad'))
        held['up'] = 'release' in report or (held['up'] and 'not held' not in report)
        publisher.publish(Joy(axes=held['axes'], buttons=[0, 0, 0, 0, 0, int(not held['up']), 0, 0]))

    probe.node.create_timer(0.05, publish)
    return held


def call(probe: Probe, kind: str, name: str, **fields: Any) -> Any:
    made = service(kind)
    return probe.ask(made, name, made.Request(**fields), once=name.endswith('/step'))


def set_parameter(probe: Probe, node: str, name: str, value: Any) -> Any:
    parameter = Parameter(name, value=value).to_parameter_msg()
    return call(probe, 'rcl_interfaces/srv/SetParameters', f'{node}/set_parameters', parameters=[parameter]).results[0]


def until_discovered(ask: Asked, probe: Probe, node: str, wanted: dict[str, list[str]]) -> None:
    """Wait until the graph has names and types of a node; it may have the node before its entities."""
    discovered: dict[str, list[str]] = {}

    def is_discovered() -> bool:
        discovered.update(ask(node, full(node).rpartition('/')[0]))
        return wanted.keys() <= discovered.keys()

    probe.until(is_discovered, f'the discovery of {sorted(wanted)} of {node}', 60.0)
    assert wanted.items() <= discovered.items()


# -- topics ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('node', 'output'),
    [(node, output) for node, outputs in OUTPUTS.items() for output in outputs],
    ids=lambda value: value if isinstance(value, str) else value.topic,
)
def test_a_topic_has_its_type_and_sane_content(
    probe: Probe, gamepad: dict[str, Any], node: str, output: contract.Output
) -> None:
    topic = full(node, output.topic)
    until_discovered(probe.node.get_publisher_names_and_types_by_node, probe, node, {topic: [output.type]})
    if output.event_driven:
        return
    probe.until(lambda: probe.count[topic] > 0, f'a message on {topic}', 60.0)
    if output.settles:
        probe.until(lambda: output.check(probe.last[topic]), f'a good message on {topic}')
    assert output.settles or output.check(probe.last[topic]), probe.last[topic]


def test_every_subscribed_topic_exists(probe: Probe) -> None:
    for node, topics in INPUTS.items():
        wanted = {full(node, topic): [kind] for topic, kind in topics.items()}
        until_discovered(probe.node.get_subscriber_names_and_types_by_node, probe, node, wanted)


def test_a_lever_moves_the_valves_of_the_machine_through_the_governor(probe: Probe, gamepad: dict[str, Any]) -> None:
    boom = [actuator.name for actuator in MACHINE.actuators].index('boom')
    started = probe.count['/b/governor/scale']
    probe.until(lambda: probe.count['/b/governor/scale'] > started, 'an answer of the governor', 60.0)
    try:
        gamepad['axes'] = BOOM_BACK
        for topic in ('valve_commands_in', 'valve_commands'):
            probe.until(lambda topic=topic: probe.last[f'/b/{topic}'].data[boom] > 0.5, f'volts on {topic}', 60.0)
    finally:
        gamepad['axes'] = NEUTRAL
    probe.until(lambda: abs(probe.last['/b/valve_commands'].data[boom]) < 0.01, 'neutral', 60.0)


def test_the_wheels_carry_the_weight_and_each_margin_is_the_least_of_its_edges(probe: Probe) -> None:
    weight = WEIGHT + 9.81 * (1000.0 - MACHINE.payload.mass)

    def carried() -> float:
        return sum(probe.last[f'/a/ground_reactions/{wheel}'].wrench.force.z for wheel in WHEELS)

    # at rest, after the transients of the start
    probe.until(lambda: abs(carried() - weight) < 0.02 * weight, f'{weight:.0f} N on the wheels', 60.0)
    shares = probe.last['/a/stability/load_share/edges']
    assert sorted(shares.layout.dim[0].label.split(',')) == sorted(WHEELS)
    assert sum(shares.data) == pytest.approx(1.0, abs=1e-9)
    assert 0.0 < probe.last['/a/stability/load_share'].data < 0.5


def test_diagnostics_have_every_node(probe: Probe) -> None:
    for node, subjects in DIAGNOSTICS.items():
        probe.until(
            lambda node=node, subjects=subjects: (
                all(any(name.endswith(f'{node}: {subject}') for name in probe.health) for subject in subjects)
                and any(f'{node}: ' in name for name in probe.health)
            ),
            f'diagnostics of {node}',
            30.0,
        )


def test_a_payload_is_taken_from_its_topic(probe: Probe) -> None:
    kind = message(contract.FLOAT)
    publisher = probe.node.create_publisher(kind, '/a/payload', 10)
    probe.until(publisher.get_subscription_count, 'the subscription to payload')
    before = sum(probe.last[f'/a/ground_reactions/{wheel}'].wrench.force.z for wheel in WHEELS)
    publisher.publish(kind(data=500.0))

    def carried() -> float:
        return sum(probe.last[f'/a/ground_reactions/{wheel}'].wrench.force.z for wheel in WHEELS)

    probe.until(lambda: abs(before - carried() - 500.0 * 9.81) < 0.02 * before, 'less load on the wheels', 60.0)
    publisher.publish(kind(data=1000.0))


# -- services ----------------------------------------------------------------------------------------------------------


def test_every_service_is_offered_under_its_type(probe: Probe) -> None:
    for node in NODES:
        wanted = {f'{full(node)}/{name}': [kind] for name, kind in SERVICES.get(node, {}).items()}
        wanted[f'{full(node)}/set_parameters'] = ['rcl_interfaces/srv/SetParameters']
        until_discovered(probe.node.get_service_names_and_types_by_node, probe, node, wanted)


@pytest.mark.skipif(not contract.are_available(), reason='this ROS 2 has no simulation_interfaces')
def test_the_machine_is_an_entity_of_the_simulation(probe: Probe) -> None:
    features = call(
        probe, 'simulation_interfaces/srv/GetSimulatorFeatures', '/a/dynamics_node/get_simulator_features'
    ).features.features
    assert {10, 20, 24, 25, 26, 31} <= set(features)  # entity state, reset, get and set state, pause, single steps
    name = '/a/dynamics_node/get_entities'
    assert call(probe, 'simulation_interfaces/srv/GetEntities', name).entities == [MACHINE.name]
    name = '/a/dynamics_node/get_entity_state'
    answer = call(probe, 'simulation_interfaces/srv/GetEntityState', name, entity=MACHINE.name)
    assert answer.result.result == 1
    position, odom = answer.state.pose.position, probe.last['/a/odom'].pose.pose.position
    np.testing.assert_allclose([position.x, position.y, position.z], [odom.x, odom.y, odom.z], atol=0.05)
    assert answer.state.header.frame_id == 'odom'


def test_a_machine_is_paused_stepped_and_reset_and_the_other_one_continues(probe: Probe) -> None:
    def ticks(name: str) -> float:
        stamp = probe.last[f'/{name}/joint_states'].header.stamp
        return stamp.sec + 1e-9 * stamp.nanosec

    assert call(probe, 'std_srvs/srv/SetBool', '/a/dynamics_node/pause', data=True).success

    def is_stopped() -> bool:
        before = ticks('a')
        time.sleep(0.5)
        return ticks('a') == before

    probe.until(is_stopped, 'time of a standing still')
    paused, other = ticks('a'), ticks('b')
    probe.until(lambda: ticks('b') > other + 0.2, 'time of b')
    assert ticks('a') == paused
    assert call(probe, 'std_srvs/srv/Trigger', '/a/dynamics_node/step').success
    probe.until(lambda: ticks('a') == pytest.approx(paused + 0.002, abs=1e-9), 'one step of a')
    if contract.are_available():
        name = '/a/dynamics_node/get_simulation_state'
        assert call(probe, 'simulation_interfaces/srv/GetSimulationState', name).state.state == 2
    assert call(probe, 'std_srvs/srv/Trigger', '/a/dynamics_node/reset').success
    probe.until(lambda: ticks('a') < paused, 'time 0 of a')
    assert ticks('b') > other
    assert call(probe, 'std_srvs/srv/SetBool', '/a/dynamics_node/pause', data=False).success
    probe.until(lambda: ticks('a') > 0.05, 'time of a')
    assert call(probe, 'std_srvs/srv/Trigger', '/a/hydraulic_actuator_node/reset').success


# -- parameters --------------------------------------------------------------------------------------------------------


def named(declared: Declared, listed: Sequence[str]) -> list[str]:
    """Return the names of a parameter of a node: one, or one for each name of a map."""
    parts = [r'[^.]+' if part.startswith(MAP) else re.escape(part) for part in declared.name.split('.')]
    return [name for name in listed if re.fullmatch(r'\.'.join(parts), name)]


@pytest.mark.parametrize('node', NODES)
def test_every_parameter_is_listed_described_and_read(probe: Probe, node: str) -> None:
    target = full(node)
    listed = call(probe, 'rcl_interfaces/srv/ListParameters', f'{target}/list_parameters').result.names
    entries = [(item, name) for item in all_parameters(node) for name in named(item, listed)]
    declared, names = [item for item, _ in entries], [name for _, name in entries]
    assert {item.name for item in declared} == {item.name for item in all_parameters(node)}
    rest = {name for name in listed if name not in names and not name.startswith('qos_overrides./')}
    assert rest - {'start_type_description_service'} == {'use_sim_time'}  # the former are on every node with rclpy
    descriptors = call(probe, 'rcl_interfaces/srv/DescribeParameters', f'{target}/describe_parameters', names=names)
    values = call(probe, 'rcl_interfaces/srv/GetParameters', f'{target}/get_parameters', names=names).values
    for item, name, descriptor, value in zip(declared, names, descriptors.descriptors, values):
        expected = item.descriptor()
        assert descriptor.name == name
        assert descriptor.description == expected.description
        assert descriptor.read_only == item.read_only
        assert descriptor.additional_constraints == expected.additional_constraints
        assert list(descriptor.floating_point_range) == list(expected.floating_point_range)
        assert list(descriptor.integer_range) == list(expected.integer_range)
        plain = parameter_value_to_python(value)
        assert type(plain) is type(item.default) or isinstance(item.default, list), item.name
        if item.name in LAUNCHED_WITH:
            assert plain == LAUNCHED_WITH[item.name], item.name


def test_live_parameters_are_set_and_values_out_of_range_are_rejected_with_the_reason(probe: Probe) -> None:
    def set_to(name: str, value: Any) -> Any:
        return set_parameter(probe, '/a/dynamics_node', name, value)

    for item in node_parameters('dynamics_node'):
        if item.read_only:
            continue
        assert item.low is not None
        assert item.high is not None
        value = SPEED if item.name == 'speed' else item.default
        assert set_to(item.name, value).successful, item.name
        result = set_to(item.name, item.high + 1.0)
        assert not result.successful
        reason = rf'out of range (\[|Min: ){item.low}, (Max: )?{item.high}\b'  # embedded, rclpy
        assert re.search(reason, result.reason), result.reason
    answer = set_to('exchange_period', 0.004)
    assert not answer.successful
    assert 'read-only' in answer.reason


# -- two machines ------------------------------------------------------------------------------------------------------


def test_two_machines_share_nothing_but_diagnostics(probe: Probe) -> None:
    nodes = probe.node.get_fully_qualified_node_names()
    assert len(nodes) == len(set(nodes))
    assert '/b/dynamics_node' in nodes
    shared = {'/rosout', '/parameter_events', '/diagnostics'}
    topics = {name for name, _ in probe.node.get_topic_names_and_types()} - shared
    assert all(name.startswith(('/a/', '/b/', '/c/', '/d/')) for name in topics), topics
    for name in 'ab':
        for topic in ('clock', 'joint_states', *(['tf'] if HAS_FRAMES else [])):

            def published(name: str = name, topic: str = topic) -> list[Any]:
                return probe.node.get_publishers_info_by_topic(f'/{name}/{topic}')

            def namespaces() -> set[str]:
                return {item.node_namespace for item in published()}

            probe.until(lambda name=name: namespaces() == {f'/{name}'}, f'one publisher of /{name}/{topic}')
            publishers = published()
            # the monitor publishes its contact frames; there is one clock
            assert [item.node_name for item in publishers if topic != 'tf'] in (['dynamics_node'], [])
        listeners = probe.node.get_subscriptions_info_by_topic(f'/{name}/joint_states')
        # a recorder without topic names records all topics
        others = {item.node_namespace for item in listeners if item.node_name != 'recorder_node'}
        watching = {'/c'} if name == 'a' else set()  # the hand's controller reads the machine of `a`
        assert others <= {f'/{name}', '/'} | watching
    if HAS_FRAMES:
        probe.until(lambda: probe.count['/b/tf'] > 0, 'frames of b')
        assert any(item.child_frame_id == MACHINE.base.link for item in probe.last['/b/tf'].transforms)


def test_the_bag_of_a_machine_holds_the_topics_of_its_namespace(
    machines: dict[str, Running], probe: Probe, directory: Path
) -> None:
    from dyn_nodes.middleware.bags import bag_summary

    periodic = [(node, output) for node, outputs in OUTPUTS.items() for output in outputs if not output.event_driven]
    wanted = {full(node, output.topic) for node, output in periodic if node not in NAMESPACES}

    def missing() -> set[str]:
        return wanted - {topic.name for topic in bag_summary(directory / 'bag').topics if topic.count}

    probe.until(lambda: not missing(), 'every topic in the bag', 60.0)
