"""recorder_node: records topics as raw CDR into a rosbag2 directory.

    dyn-nodes run recorder_node --ros-args -p directory:=runs/bag -p exclude:="['/rosout']"

Its parameters are in `parameter_files/recorder_node.yaml`; with `use_sim_time` log times are simulated time.

Several times a second all received messages are written and the bag on the disk is complete (see
`roslite/bags/mcap_file.py`): a killed recorder loses less than the last second, and the bag needs no repair. The file
only grows, so that closing it takes the same short time after any recording.

Log time is the time of receipt. With `use_sim_time` recording starts with the first message on `/clock`, as in rosbag2;
only latched topics are recorded before. Log time is then the simulated time of publication (publishers of the embedded
runtime write it into the DDS source timestamp), and messages are sorted by it, see `roslite/bags/ordering.py`; the file
depends on the messages alone, so that equal runs give equal bags. On rclpy, with source timestamps of the wall clock,
log time is the simulated time of receipt.

QoS follows rosbag2: reliable if every publisher is reliable, transient local if every publisher is, so that earlier
latched messages are recorded; weaker as soon as a publisher offers less. Queues keep all messages: a publisher that
also keeps all (in lockstep every one) waits for the recorder. `/diagnostics` reports messages, rate, queue and losses
every second; the losses are also in the bag's metadata (`messages_lost`) and in the log at the end.
"""

from __future__ import annotations

import faulthandler
import struct
import sys
import time
from collections import deque
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

from dyn_nodes.middleware import (
    RUNTIME,
    Clock,
    ClockType,
    DurabilityPolicy,
    HistoryPolicy,
    InvalidParameterTypeException,
    InvalidParameterValueException,
    QoSProfile,
    RCLInvalidROSArgsError,
    ReliabilityPolicy,
    SignalHandlerOptions,
    SingleThreadedExecutor,
    SubscriptionEventCallbacks,
    init,
    message,
    message_definition,
    take_raw,
    try_shutdown,
    type_hash,
)
from dyn_nodes.middleware.bags import INFINITE, MIXED, BagError, BagWriter, HoldBack, QosRecord, Topic, simulated_time
from dyn_nodes.middleware.padding import zero_padding
from dyn_nodes.nodes.ending import stop_signals
from dyn_nodes.nodes.guarded import GuardedNode
from dyn_nodes.nodes.neighbours import ADVICE, CHECK_PERIOD, LEASE, sources_of
from dyn_nodes.nodes.neighbours import TOPIC as JOINT_STATES
from dyn_nodes.nodes.parameters import ParameterError, declare, node_parameters
from dyn_nodes.nodes.stamps import NANO, nanoseconds_of_stamp, stamp_at

CHECKPOINT_PERIOD = 0.2
PULL_PERIOD = 0.05
SAME_INSTANT = 0.15
"""Wall time before the first tick of the clock in which received messages belong to the first instant, s. A simulation
waits longer between the start of the last node and its own."""
DISCOVERY_PERIOD = 0.1
QUIET_DISCOVERY_PERIOD = 0.5
QUIET_AFTER = 5.0
DIAGNOSTICS_PERIOD = 1.0
BATCH = 1000
MOST_BATCHES = 200
FLUSH_BYTES = 8 * 1024 * 1024
LINGER = 0.3
LONGEST_LINGER = 1.0
LONGEST_WAIT = 0.1
CLOCK_TYPE = 'rosgraph_msgs/msg/Clock'
PARAMETERS = node_parameters('recorder_node')
PARAMETER_ERRORS = (
    ParameterError,
    InvalidParameterTypeException,
    InvalidParameterValueException,
    RCLInvalidROSArgsError,
)


class Channel:
    """A recorded topic: its number in the bag and its subscription."""

    @property
    def is_latched(self) -> bool:
        """Return whether messages from before the start of the recorder are recorded; /rosout is not."""
        return bool(self.policies and self.policies[1]) and self.name.rpartition('/')[2] != 'rosout'

    def __init__(self, name: str, kind: str, number: int):
        self.name = name
        self.kind = kind
        self.number = number
        self.subscription: Any = None
        self.policies: tuple[Any, Any] | None = None
        self.gone_lost = 0
        self.reported_lost = 0

    def take_more(self) -> list[tuple[bytes, int]]:
        """Return all other received messages: (CDR, source timestamp).

        The executor delivers one message per turn. The others are taken here at once, fast enough for thousands of
        messages per second.
        """
        return take_raw(self.subscription, BATCH) if self.subscription is not None else []

    def lost(self) -> int:
        """Return the number of messages that the middleware dropped."""
        count = getattr(self.subscription, 'get_lost_count', None)
        return self.gone_lost + (count() if count is not None else self.reported_lost)


class RecorderNode(GuardedNode):
    """Records topics into a bag; see the module.

    Raises:
        BagError: the bag cannot be created.
    """

    def __init__(self, **options: Any) -> None:
        self._closed = True  # until the bag is open
        super().__init__('recorder_node', **options)
        self._read_parameters()
        self.bag = BagWriter(self.directory, self.storage, reproducible=self.in_sim_time)
        self._closed = False
        self.finished = False
        self.failure = ''
        self.received = 0
        self._channels: dict[tuple[str, str], Channel] = {}
        self._unknown: set[tuple[str, str]] = set()
        self._hold = HoldBack()
        self._has_clock = not self.in_sim_time
        self._early: deque[tuple[float, Channel, bytes, int]] = deque()
        self._pending: list[tuple[int, int, int, bytes]] = []
        self._pending_bytes = 0
        self._first_time: int | None = None
        self._last_change = time.monotonic()
        self._next_discovery = 0.0
        self._turn = 0
        self.mixed: dict[str, str] = {}
        self._two_since: dict[str, float] = {}
        self._looked = 0.0
        self._last_report = (time.monotonic(), 0)
        self._diagnostics = self.create_publisher(message('diagnostic_msgs/msg/DiagnosticArray'), '/diagnostics', 10)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(DISCOVERY_PERIOD / 2, self._discover, clock=steady)
        self.create_timer(CHECKPOINT_PERIOD, self.checkpoint, clock=steady)
        self._is_composed = getattr(self.context, 'local', None) is not None
        if self._is_composed:
            self.create_timer(PULL_PERIOD, self._drain_all, clock=steady)
        self.create_timer(DIAGNOSTICS_PERIOD, self._report, clock=steady)
        if self.in_sim_time and not self.is_wanted(self.resolve_topic_name('/clock')):
            self.create_subscription(message(CLOCK_TYPE), '/clock', self._on_clock, 10)
        self._discover()
        self.get_logger().info(f'recording to {self.bag.directory.name}')  # of one name in equal runs

    def _read_parameters(self) -> None:
        values = declare(self, PARAMETERS)
        self.directory: str = values['directory'] or f'rosbag2_{datetime.now():%Y_%m_%d-%H_%M_%S}'
        self.storage: str = values['storage']
        self.max_duration: float = values['max_duration']
        self.topics = [self._absolute(name) for name in values['topics'] if name]
        self.exclude = [self._absolute(name) for name in values['exclude'] if name]
        self.in_sim_time: bool = bool(self.get_parameter('use_sim_time').value)

    def _absolute(self, pattern: str) -> str:
        return pattern if pattern.startswith('/') else f'{self.get_namespace().rstrip("/")}/{pattern}'

    # --- recorded topics ---------------------------------------------------------------------------------------------

    def is_wanted(self, topic: str) -> bool:
        """Return whether a topic is recorded by the parameters `topics` and `exclude`."""
        if any(fnmatchcase(topic, pattern) for pattern in self.exclude):
            return False
        return not self.topics or any(fnmatchcase(topic, pattern) for pattern in self.topics)

    def _discover(self) -> None:
        """Subscribe to new topics; less often if there were none for a while.

        `/clock` is last: when its publisher detects this subscription, all other present topics are recorded, and a
        simulation that waits for it loses no message of its start.
        """
        now = time.monotonic()
        if now < self._next_discovery:
            return
        quiet = now - self._last_change > QUIET_AFTER
        self._next_discovery = now + (QUIET_DISCOVERY_PERIOD if quiet else DISCOVERY_PERIOD)
        wanted = [(topic, kind) for topic, kinds in self.get_topic_names_and_types() for kind in kinds]
        wanted = [key for key in wanted if self.is_wanted(key[0]) and key not in self._unknown]
        new = [key for key in wanted if key not in self._channels]
        # The query of a topic's publishers is slow: all new topics, and one of the others in turn.
        recorded = [key for key in wanted if key in self._channels]
        again = [recorded[self._turn % len(recorded)]] if recorded else []
        self._turn += 1
        for topic, kind in sorted([*new, *again], key=lambda key: (key[1] == CLOCK_TYPE, key)):
            publishers = [p for p in self.get_publishers_info_by_topic(topic) if p.topic_type == kind]
            if publishers:
                self._follow(topic, kind, publishers)
        self._check_mixed(now, wanted)

    def _check_mixed(self, now: float, topics: list[tuple[str, str]]) -> None:
        """Detect joint states of two publishers, once a second: two machines in one namespace."""
        if now - self._looked < CHECK_PERIOD:
            return
        self._looked = now
        for topic, _ in topics:
            sources = sources_of(self, topic) if topic.rpartition('/')[2] == JOINT_STATES else []
            since = self._two_since.setdefault(topic, now) if len(sources) > 1 else self._two_since.pop(topic, now)
            if now - since > LEASE and topic not in self.mixed:  # a killed publisher has left the graph by now
                self.mixed[topic] = ', '.join(sources)
                text = f'{topic} has {len(sources)} publishers ({self.mixed[topic]}): the bag holds two machines'
                self.get_logger().error(f'{text} on one topic; {ADVICE}')

    def _follow(self, topic: str, kind: str, publishers: list[Any]) -> None:
        """Subscribe to a topic, or again with weaker QoS if a publisher offers less than the earlier ones."""
        key = (topic, kind)
        if key not in self._channels:
            try:
                number = self._add_topic(topic, kind, publishers)
            except ValueError as error:
                self._unknown.add(key)
                self.get_logger().warning(f'{topic} is not recorded: {error}')
                return
            self._channels[key] = Channel(topic, kind, number)
            self._last_change = time.monotonic()
        channel = self._channels[key]
        profiles = [publisher.qos_profile for publisher in publishers]
        reliable = all(profile.reliability == ReliabilityPolicy.RELIABLE for profile in profiles)
        latched = all(profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for profile in profiles)
        if channel.policies is not None:
            reliable, latched = reliable and channel.policies[0], latched and channel.policies[1]
        if channel.policies == (reliable, latched):
            return
        if channel.subscription is not None:
            self._drain(channel)
            channel.gone_lost = channel.lost()
            self.destroy_subscription(channel.subscription)
        channel.policies = (reliable, latched)
        self._subscribe(channel, reliable, latched)

    def _add_topic(self, topic: str, kind: str, publishers: list[Any]) -> int:
        """Add a topic to the bag; return its number. Raises ValueError for a type whose package is not installed."""
        message(kind)
        local_hash = type_hash(kind)
        announced = str(getattr(publishers[0], 'topic_type_hash', ''))
        if announced.startswith('RIHS01_') and announced != local_hash:
            self.get_logger().warning(
                f'{topic}: its publisher has another definition of {kind} than the one put into the bag'
            )
        qos = tuple(sorted({_qos_record(publisher.qos_profile) for publisher in publishers}, key=repr))
        return self.bag.add_topic(Topic(topic, kind, message_definition(kind), local_hash, qos))

    def _subscribe(self, channel: Channel, reliable: bool, latched: bool) -> None:
        profile = QoSProfile(
            history=HistoryPolicy.KEEP_ALL,
            reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
        )

        def on_message(data: bytes, info: dict[str, int]) -> None:
            self._take(channel, data, info['source_timestamp'])
            self._drain(channel)

        def on_lost(status: Any) -> None:
            channel.reported_lost += status.total_count_change

        kind = message(channel.kind)
        channel.subscription = self.create_subscription(
            kind,
            channel.name,
            on_message,
            profile,
            raw=True,
            event_callbacks=SubscriptionEventCallbacks(message_lost=on_lost),
        )
        if self._is_composed:
            channel.subscription.is_pulled = True  # `_drain_all` takes hundreds at once instead

    # --- messages ----------------------------------------------------------------------------------------------------

    def _drain(self, channel: Channel) -> int:
        """Take all received messages of a topic; return their number."""
        count = 0
        for _ in range(MOST_BATCHES):
            taken = channel.take_more()
            if taken:
                self._take_all(channel, taken)
            count += len(taken)
            if len(taken) < BATCH:
                break
        return count

    def _take_all(self, channel: Channel, taken: list[tuple[bytes, int]]) -> None:
        """Store messages of a topic; most of them without a check of their content."""
        if not (self.in_sim_time and self._has_clock) or RUNTIME == 'rclpy' or channel.kind == CLOCK_TYPE:
            for data, stamp in taken:
                self._take(channel, data, stamp)
            return
        now, clock = time.time_ns(), self._hold.clock
        times = [simulated_time(stamp, clock, now) for _, stamp in taken]
        self._hold.add_all(channel.name, channel.number, times, [data for data, _ in taken])
        self._count_received(len(taken), times[0], max(times))

    def _drain_all(self) -> int:
        """Take all received messages; the clock first, so that messages of its first tick do not count as earlier."""
        channels = sorted(self._channels.values(), key=lambda channel: channel.kind != CLOCK_TYPE)
        return sum(self._drain(channel) for channel in channels)

    def _on_clock(self, clock: Any) -> None:
        """Process the time of the clock if its topic is not recorded."""
        self._see_clock(nanoseconds_of_stamp(clock.clock))

    def _see_clock(self, nanoseconds: int) -> None:
        self._hold.see_clock(nanoseconds)
        if not self._has_clock:
            self._has_clock = True
            early, self._early = self._early, deque()
            now = time.monotonic()
            for arrival, channel, data, stamp in early:
                if now - arrival <= SAME_INSTANT:
                    self._take(channel, data, stamp)

    def _keep_early(self, channel: Channel, data: bytes, stamp: int) -> None:
        """Keep a message from before the first tick for a short time: it may belong to the same instant."""
        now = time.monotonic()
        self._early.append((now, channel, data, stamp))
        while now - self._early[0][0] > SAME_INSTANT:
            self._early.popleft()

    def _see_recorded_clock(self, data: bytes) -> None:
        """Process a Clock message in CDR; an invalid time is recorded and otherwise ignored."""
        seconds, nanoseconds = struct.unpack_from('<iI' if data[1] else '>iI', data, 4)
        if seconds >= 0 and nanoseconds < NANO:
            self._see_clock(seconds * NANO + nanoseconds)

    def _take(self, channel: Channel, data: bytes, stamp: int) -> None:
        """Store a message."""
        if self.in_sim_time:
            if RUNTIME == 'rclpy':
                data = zero_padding(channel.kind, data)  # equal runs give equal bags
            if channel.kind == CLOCK_TYPE:
                self._see_recorded_clock(data)
            if not (self._has_clock or channel.is_latched):
                self._keep_early(channel, data, stamp)
                return
            log_time = simulated_time(stamp, self._hold.clock, time.time_ns())
            self._hold.add(log_time, channel.name, channel.number, log_time, data)
        else:
            log_time = time.time_ns()
            self._pending.append((channel.number, log_time, stamp, data))
            self._pending_bytes += len(data)
            if self._pending_bytes > FLUSH_BYTES:
                self._write(self._pending)
        self._count_received(1, log_time, log_time)

    def _count_received(self, messages: int, first: int, last: int) -> None:
        """Count messages with a first and a last log time, ns; they may end the recording."""
        self.received += messages
        if self._first_time is None:
            self._first_time = first
        if 0 < self.max_duration * 1e9 <= last - self._first_time:
            self.finished = True

    def checkpoint(self) -> None:
        """Write all received messages and complete the bag on the disk."""
        if self.failure or self._closed:
            return
        now = time.monotonic()
        self._hold.mark(now)
        self._drain_all()
        self._write(self._hold.due(now) if self.in_sim_time else self._pending)

    def _write(self, entries: list[tuple[int, int, int, bytes]]) -> None:
        self._pending, self._pending_bytes = [], 0
        try:
            self.bag.checkpoint(entries)
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.failure = f'the bag cannot be written: {error}'
        self.get_logger().error(self.failure)

    def finish(self) -> None:
        """Take the remaining messages, write them and close the bag."""
        if self._closed:
            return
        self._closed = True
        began = quiet_since = time.monotonic()
        while time.monotonic() - quiet_since < LINGER and time.monotonic() - began < LONGEST_LINGER:
            if self._drain_all():
                quiet_since = time.monotonic()
            time.sleep(0.02)
        if not self.failure:
            self._write(self._hold.all() if self.in_sim_time else self._pending)
        if not self.failure:
            self._close()

    def _close(self) -> None:
        lost = self.lost
        try:
            mixed = {MIXED: '; '.join(f'{topic}: {sources}' for topic, sources in self.mixed.items())}
            self.bag.close({'messages_lost': str(lost), **(mixed if self.mixed else {})})
        except OSError as error:
            self._fail(error)
            return
        text = f'{self.bag.message_count} messages recorded, {lost} lost'
        if lost:
            self.get_logger().error(text)
        else:
            self.get_logger().info(text)

    def destroy_node(self) -> None:
        """Close the bag."""
        self.finish()
        super().destroy_node()

    @property
    def finished_recording(self) -> bool:
        """Return whether `max_duration` is over."""
        return self.finished

    @property
    def lost(self) -> int:
        """Return the number of messages that the middleware dropped."""
        return sum(channel.lost() for channel in self._channels.values())

    # --- diagnostics -------------------------------------------------------------------------------------------------

    def _text_of_mixed(self) -> str:
        return '; '.join(f'two machines on {topic}: {sources}' for topic, sources in self.mixed.items())

    def _report(self) -> None:
        """Publish the state; in simulated time only faults, as the bag must not depend on the wall clock."""
        now = time.monotonic()
        before, count = self._last_report
        self._last_report = (now, self.received)
        lost = self.lost
        if self.in_sim_time and not lost and not self.failure and not self.mixed:
            return
        values = {
            'directory': str(self.bag.directory),
            'topics': len(self._channels),
            'messages': self.received,
            'rate': f'{(self.received - count) / (now - before):.0f}',
            'queue': len(self._hold) + len(self._pending),
            'dropped': lost,
            'late': self._hold.late,
            'bytes': self.bag.size if not self.bag.closed else 0,
        }
        kind = message('diagnostic_msgs/msg/DiagnosticStatus')
        status = kind(
            name=f'{self.get_fully_qualified_name().lstrip("/")}: recording',
            level=kind.ERROR if self.failure or self.mixed else kind.WARN if lost else kind.OK,
            message=self.failure or self._text_of_mixed() or (f'{lost} messages lost' if lost else 'recording'),
        )
        pair = message('diagnostic_msgs/msg/KeyValue')
        status.values = [pair(key=key, value=str(value)) for key, value in values.items()]
        array = message('diagnostic_msgs/msg/DiagnosticArray')(status=[status])
        array.header.stamp = stamp_at(self.get_clock().now().nanoseconds)
        self._diagnostics.publish(array)


def _qos_record(profile: Any) -> QosRecord:
    """Return the profile of a discovered publisher in rosbag2's terms."""

    def nanoseconds(duration: Any) -> int:
        value = duration.nanoseconds
        return INFINITE if value <= 0 else min(value, INFINITE)

    return QosRecord(
        history=profile.history.name.lower(),
        depth=profile.depth,
        reliability='reliable' if profile.reliability == ReliabilityPolicy.RELIABLE else 'best_effort',
        durability='transient_local' if profile.durability == DurabilityPolicy.TRANSIENT_LOCAL else 'volatile',
        deadline=nanoseconds(profile.deadline),
        lifespan=nanoseconds(profile.lifespan),
        lease_duration=nanoseconds(profile.liveliness_lease_duration),
    )


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT, SIGTERM or `max_duration`.

    The signals only request the end: an exception in a callback would lose its messages, and after a shutdown of the
    context the remaining messages could not be taken.

    Returns:
        Exit status: 0, or 1 if the bag could not be created or written, or has two machines on one topic.
    """
    faulthandler.enable()
    node: RecorderNode | None = None
    with stop_signals(args) as signals:
        try:
            init(args=args, signal_handler_options=SignalHandlerOptions.NO)
            node = RecorderNode()
            executor = SingleThreadedExecutor()
            executor.add_node(node)
            while not (node.finished or node.failure or signals):
                executor.spin_once(timeout_sec=LONGEST_WAIT)
        except (BagError, *PARAMETER_ERRORS) as error:
            print(f'recorder_node: {error}', file=sys.stderr)
        finally:
            if node is not None:
                node.destroy_node()
            try_shutdown()
    return 1 if node is None or node.failure or node.mixed else 0


if __name__ == '__main__':
    sys.exit(main())
