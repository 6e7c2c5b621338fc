"""Replay of a bag through stability_monitor_node without a network; its messages are written to a new bag."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from dyn_nodes.common.errors import UserError
from dyn_nodes.common.printing import printable
from dyn_nodes.middleware import Context, Parameter, QoSProfile, deserialize_message, init, message, type_name
from dyn_nodes.middleware.bag_reader import BagReader
from dyn_nodes.model.assumptions import Assumption, friction_of, payload_of, plain
from dyn_nodes.nodes.bag_topics import BagTopics
from dyn_nodes.nodes.stability_monitor_node import StabilityMonitorNode
from dyn_nodes.nodes.stamps import NANO, nanoseconds_of_stamp

String, Float64 = message('std_msgs/msg/String'), message('std_msgs/msg/Float64')
NAMESPACE = '/replay'
LEFT_OUT = ('/diagnostics', '/rosout', '/parameter_events', '/tf', 'markers')
"""Topics of the node that depend on the speed of the computer or that no report needs."""
COPIED = ('hydraulics/', 'wheel_loads/', 'valve_commands')
"""Measured topics that are copied into the new bag beside the inputs of the monitor."""
ALLOWANCE = 'stability/allowance/'


class ReplayError(UserError, ValueError):
    """A bag that a monitor cannot use; the message is one line."""


class Replayed(NamedTuple):
    """Result of a replay.

    Attributes:
        instants: number of joint states used.  refused: numbers of rejected messages, by kind.
        least: (least allowance, its time since the start of the bag, s) by name: payload kg, reach m, swing_speed
            rad/s.
        payload: lower and upper end of the payload's interval at the end, kg; None for a specified payload.
        assumed: conditions that neither the bag nor a parameter specifies.
        faults: of the signals, by name; they end the margins.
    """

    instants: int
    refused: dict[str, int]
    least: dict[str, tuple[float, float]]
    payload: tuple[float, float] | None
    assumed: tuple[Assumption, ...] = ()
    faults: dict[str, str] | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {**self._asdict(), 'assumed': plain(self.assumed)}


@contextmanager
def _node(parameters: dict[str, Any], domain: int | None) -> Iterator[StabilityMonitorNode]:
    context = Context()
    init(args=['monitor_replay', '--ros-args', '-r', f'__ns:={NAMESPACE}'], context=context, domain_id=domain)
    try:
        made = [Parameter(name, value=value) for name, value in parameters.items()]
        node = StabilityMonitorNode(context=context, parameter_overrides=made)
        node.get_logger().set_level(50)  # rejected messages are counted and shown once at the end
        try:
            yield node
        finally:
            node.destroy_node()
    finally:
        context.try_shutdown()


def replay_bag(
    path: Path, directory: Path, parameters: dict[str, Any], namespace: str = '', domain: int | None = None
) -> Replayed:
    """Replay the measurements of a bag to a stability monitor; write them and its messages to a new bag.

    Args:
        path: of the bag with `joint_states` and optionally `imu`, `payload` and pressures.
        directory: of the new bag; it must not exist.
        parameters: of stability_monitor_node, including `machine`.
        namespace: of the machine's topics, such as '' or `/loader`.
        domain: DDS domain of the monitor; None: ROS_DOMAIN_ID.

    Raises:
        ReplayError: the bag has no usable messages.
        BagError: the bag is missing or damaged, or the directory exists.
        ParameterError, ValueError: of the node.
        OSError: the new bag cannot be written.
    """
    with _node({**parameters, 'publish_tf': False, 'stamp_clock': 'other'}, domain) as node, BagReader(path) as reader:
        topics = BagTopics(directory)
        try:
            replayed = _Replay(node, reader, topics, namespace).run(path)
            topics.close({'replayed': path.name})
        except BaseException:
            topics.bag.close()
            shutil.rmtree(directory, ignore_errors=True)
            raise
    return replayed


class _Replay:
    """One replay; see `replay_bag`."""

    def __init__(self, node: StabilityMonitorNode, reader: BagReader, topics: BagTopics, namespace: str) -> None:
        self.node, self.reader, self.topics, self.namespace = node, reader, topics, namespace.rstrip('/')
        self.least: dict[str, tuple[float, float]] = {}
        self._state_stamp: int | None = None
        self._topics: set[str] = set()
        for publisher in list(node.publishers):
            self._capture(publisher)
        self._takers = {self._relative(subscription.topic_name): subscription for subscription in node.subscriptions}

    @staticmethod
    def _relative(topic: str) -> str:
        return topic.removeprefix(f'{NAMESPACE}/')

    def _capture(self, publisher: Any) -> None:
        """Redirect a publisher of the node to the bag, or disable it."""
        topic = self._relative(publisher.topic_name)
        if topic in LEFT_OUT:
            publisher.publish = lambda msg: None
            return
        out = self.topics.create_publisher(publisher.msg_type, topic, QoSProfile(depth=10))

        def publish(msg: Any) -> None:
            out.publish(msg)
            name = topic.removeprefix(ALLOWANCE)
            if name != topic and msg.data < self.least.get(name, (float('inf'), 0.0))[0]:
                self.least[name] = float(msg.data), (self.topics.time - self.reader.start_time) / NANO

        publisher.publish = publish
        publisher.get_subscription_count = out.get_subscription_count

    def run(self, path: Path) -> Replayed:
        node, takers = self.node, {}
        start = f'{self.namespace}/'
        for connection in self.reader.connections:
            topic = connection.topic.removeprefix(start)
            if not connection.topic.startswith(start) or not (topic in self._takers or topic.startswith(COPIED)):
                continue
            taker = self._takers.get(topic)
            kind = self._copied_type(path, connection) if taker is None else taker.msg_type
            if kind is not None and type_name(kind) == connection.msgtype:
                out = self.topics.create_publisher(kind, topic, QoSProfile(depth=10))
                takers[connection.id] = connection, kind, out, None if taker is None else taker.callback
        topics = {connection.topic.removeprefix(start) for connection, *_ in takers.values()}
        self._topics = topics
        if 'joint_states' not in topics:
            available = ', '.join(sorted(printable(connection.topic) for connection in self.reader.connections))
            raise ReplayError(f'{path}: expected joint_states below {start}, found {available or "nothing"}')
        self.topics.time = self.reader.start_time
        description = self.topics.create_publisher(String, 'robot_description', QoSProfile(depth=1))
        description.publish(String(data=node.machine.urdf))
        if node.payload is None and 'payload' not in topics:
            payload_out = self.topics.create_publisher(Float64, 'payload', QoSProfile(depth=10))
            payload_out.publish(Float64(data=float(node.sensing.monitor.payload)))
        for connection, log_time, raw in self.reader.messages([item[0] for item in takers.values()]):
            _, kind, out, callback = takers[connection.id]
            self.topics.time = log_time
            out.publish(bytes(raw))
            if callback is not None:
                self._give(path, connection, kind, bytes(raw), callback)
        return self._result(path)

    @staticmethod
    def _copied_type(path: Path, connection: Any) -> Any:
        """Return the class of a topic that is only copied; None, and the reason on stderr, without its package."""
        try:
            return message(connection.msgtype)
        except ValueError as error:
            print(f'{path}: {printable(connection.topic)} is not copied: {printable(str(error))}', file=sys.stderr)
            return None

    def _give(self, path: Path, connection: Any, kind: Any, raw: bytes, callback: Callable[[Any], None]) -> None:
        try:
            msg = deserialize_message(raw, kind)
        except Exception as error:  # the decoder may raise any error for invalid data
            text = (
                f'{path}: {printable(connection.topic)}: expected {connection.msgtype}, found {printable(str(error))}'
            )
            raise ReplayError(text) from None
        if self._relative(connection.topic).endswith('joint_states'):
            self._watch_time(nanoseconds_of_stamp(msg.header.stamp))
        callback(msg)

    def _watch_time(self, stamp: int) -> None:
        """Withdraw the margins in a gap of the bag, as the node does after a timeout."""
        before, self._state_stamp = self._state_stamp, stamp
        timeout = round(self.node.values['state_timeout'] * NANO)
        if before is not None and stamp - before > timeout:
            now, self.topics.time = self.topics.time, before + timeout
            self.node.withdraw()
            self.topics.time = now

    def _result(self, path: Path) -> Replayed:
        node = self.node
        if node.guard.failed:
            raise ReplayError(f'{path}: the monitor failed: {node.guard.last_failure}')
        rejected = dict(node.sensing.rejections.counts)
        if not node.sensing.received:
            raise ReplayError(f'{path}: expected joint states of {node.machine.name}: {node.sensing.rejections.last}')
        estimate = None if node.payload is None else node.payload.estimate
        payload = None if estimate is None else (float(estimate.lower), float(estimate.upper))
        return Replayed(
            node.sensing.received, rejected, dict(self.least), payload, self._assumed(), node.sensing.checks.faults()
        )

    def _assumed(self) -> tuple[Assumption, ...]:
        """Return the conditions that neither the bag nor a parameter specifies: payload, slope and friction."""
        node, values, machine = self.node, self.node.values, self.node.machine
        assumed: tuple[Assumption, ...] = ()
        estimated = node.payload is not None
        weighed = node.payload is not None and node.payload.estimate.state == 'observed'
        if 'payload' not in self._topics and values['payload'] < 0.0 and not weighed:
            assumed += payload_of(machine, 'observed pressures' if estimated else 'payload in the bag')
        if not node.sensing.had_imu:
            slope = [values['slope_roll'], values['slope_pitch']]
            assumed += (
                Assumption('slope', slope, 'rad', 'roll and pitch, parameters of the monitor; no imu in the bag'),
            )
        if 'admissible' in values['measures'] or 'friction_use' in values['measures']:
            assumed += friction_of(machine, 'friction in the bag')
        return assumed
