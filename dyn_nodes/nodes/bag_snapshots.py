"""Snapshots of the cockpit at many instants of a bag, made by the callbacks for live messages."""

from __future__ import annotations

import bisect
import copy
import dataclasses
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dyn_nodes.middleware import deserialize_message, message, type_name
from dyn_nodes.middleware.bag_reader import WALL_CLOCK, BagReader
from dyn_nodes.middleware.bags import BagError
from dyn_nodes.model import Machine
from dyn_nodes.nodes.viewer_inputs import ViewerInputs
from dyn_nodes.viewer.connection import EVENT_SHOWN, Connection
from dyn_nodes.viewer.situation import with_situations
from dyn_nodes.viewer.snapshot import Snapshot

RATE = 30.0
"""Snapshots per second."""
MOST = 20_000
"""Greatest number of snapshots; a longer bag has fewer per second."""
JOINTS, DESCRIPTION = 'joint_states', 'robot_description'
EVERY = ('events', DESCRIPTION)
"""Topics whose messages are all used; of other topics, the newest message before an instant is used."""
Progress = Callable[[int, int], None]


@dataclass
class Replay:
    """A recorded run as the cockpit shows it.

    Attributes:
        path: of the bag.
        description: URDF, '' where the bag has none.
        times: s since the first joint states, rising.
        snapshots: one for each time.
        events: (time, text).
        start: stamp of the first joint states, s.
    """

    path: Path
    description: str = ''
    times: list[float] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    events: list[tuple[float, str]] = field(default_factory=list)
    start: float = 0.0

    @property
    def duration(self) -> float:
        """Return the time from the first joint states to the last, s."""
        return self.times[-1]

    def index(self, time: float) -> int:
        """Return the index of the last instant that is not after a time, s; 0 for an earlier time."""
        return max(bisect.bisect_right(self.times, time + 1e-9) - 1, 0)

    def at(self, time: float) -> Snapshot:
        """Return the last snapshot at a time, s."""
        return self.snapshots[self.index(time)]

    def event(self, time: float) -> str:
        """Return the last event of the seconds before a time, or ''."""
        past = [text for when, text in self.events if time - EVENT_SHOWN <= when <= time]
        return past[-1] if past else ''


class _Topics:
    """Stands in for the node of `ViewerInputs`: keeps its subscriptions by topic."""

    def __init__(self, namespace: str, kinds: dict[str, str]) -> None:
        self.namespace, self.kinds = namespace, kinds
        self.callbacks: dict[str, tuple[Any, Callable[[Any], None]]] = {}

    def resolve_topic_name(self, name: str) -> str:
        absolute = f'{self.namespace}/{name.lstrip("/")}'
        return absolute if not name.startswith('/') or absolute in self.kinds else name

    def get_topic_names_and_types(self) -> list[tuple[str, list[str]]]:
        return [(topic, [kind]) for topic, kind in self.kinds.items()]

    def create_subscription(self, kind: Any, topic: str, callback: Callable[[Any], None], qos: Any) -> None:
        name = self.resolve_topic_name(topic)
        if kind is not None and self.kinds.get(name) == type_name(kind):
            self.callbacks[name] = kind, callback


class _Recorded(Connection):
    """Stores the events of a bag with their time."""

    def __init__(self, replay: Replay) -> None:
        super().__init__('bag')
        self.replay = replay

    def happened(self, text: str, now: float, stamp: float | None = None) -> None:
        self.replay.events.append(((self.time if stamp is None else stamp) - self.replay.start, text))


def read_replay(
    path: Path | str,
    machine: Machine | None = None,
    namespace: str | None = None,
    rate: float = RATE,
    progress: Progress = lambda done, whole: None,
) -> Replay:
    """Read a bag.

    Args:
        path: bag directory or file.
        machine: for its wheels and payload; None: /tf has the contact points of the wheels.
        namespace: of the machine's topics; None: the one of the only joint_states.
        rate: snapshots per second.
        progress: called with the messages read and their number.

    Raises:
        BagError: the bag is missing, damaged, or has no joint states.
    """
    with BagReader(path) as reader:
        kinds = {item.topic: item.msgtype for item in reader.connections}
        topics = _Topics(_namespace(Path(path), kinds, namespace), kinds)
        replay = Replay(Path(path))

        def describe(text: str) -> None:
            replay.description = text

        recorded: Any = topics
        inputs = ViewerInputs(recorded, machine, describe, _Recorded(replay))
        inputs.discover()
        chosen = [item for item in reader.connections if item.topic in topics.callbacks]
        whole = sum(item.msgcount for item in chosen)
        joints, every = topics.resolve_topic_name(JOINTS), {topics.resolve_topic_name(name) for name in EVERY}
        waiting: dict[str, bytes] = {}

        def take(topic: str, data: bytes) -> None:
            kind, callback = topics.callbacks[topic]
            try:
                callback(deserialize_message(data, kind))
            except Exception as error:  # a damaged message may make the codec fail in any way
                raise BagError(f'{path}: a message of {topic} cannot be read: {type(error).__name__}') from None

        period, due = 1.0 / rate, float('-inf')
        for done, (connection, _, data) in enumerate(reader.messages(chosen)):
            if connection.topic in every:
                take(connection.topic, data)
                continue
            waiting[connection.topic] = data
            if connection.topic != joints:
                continue
            stamp = stamp_of(data)
            if not replay.times:
                replay.start = stamp
            if stamp - replay.start < due - 1e-6:
                continue
            for topic, newest in waiting.items():
                take(topic, newest)
            waiting.clear()
            due = _keep(replay, inputs.snapshot, stamp, period)
            if len(replay.times) > MOST:
                replay.times, replay.snapshots = replay.times[::2], replay.snapshots[::2]
                period *= 2.0
            progress(done, whole)
    if not replay.times:
        raise BagError(f'{path}: expected messages of {joints}, found none')
    _complete_beginning(replay, 2.0 * period)
    _complete_levels(replay)
    replay.snapshots[-1].overturned = inputs.snapshot.overturned  # the event follows the last joint states
    with_situations(replay.snapshots)
    return replay


def _complete_beginning(replay: Replay, longest: float) -> None:
    """Complete the first instant by the messages of the second, if that is at most `longest` later, s.

    The messages of one instant arrive one after another, the joint states first.
    """
    if len(replay.times) > 1 and replay.times[1] - replay.times[0] <= longest:
        first, second = replay.snapshots[:2]
        replay.snapshots[0] = dataclasses.replace(copy.deepcopy(second), time=first.time, joints=first.joints)


def _complete_levels(replay: Replay) -> None:
    """Set the alarm levels of the instants before the first diagnostics."""
    last = {name: margin.levels for name, margin in replay.snapshots[-1].margins.items()}
    for snapshot in replay.snapshots:
        for name, margin in snapshot.margins.items():
            margin.levels = margin.levels or last.get(name)


def _keep(replay: Replay, snapshot: Snapshot, stamp: float, period: float) -> float:
    """Add an instant; return the time at which the next one is due."""
    time = stamp - replay.start
    if replay.times and time <= replay.times[-1]:  # after a reset the time line continues
        time = replay.times[-1] + period
        replay.start = stamp - time
    replay.times.append(time)
    kept = copy.deepcopy(snapshot)
    if stamp >= WALL_CLOCK:
        kept.time = time
    replay.snapshots.append(kept)
    return time + period


def stamp_of(data: bytes) -> float:
    """Return the stamp, s, of a CDR message that starts with a header."""
    order = '<' if len(data) > 1 and data[1] & 1 else '>'
    try:
        seconds, nanoseconds = struct.unpack_from(f'{order}iI', data, 4)
    except struct.error:
        raise BagError(f'a message of {JOINTS}: expected a header, found {len(data)} bytes') from None
    return float(seconds) + 1e-9 * float(nanoseconds)


def _namespace(path: Path, kinds: dict[str, str], namespace: str | None) -> str:
    kind = type_name(message('sensor_msgs/msg/JointState'))
    topics = sorted(topic for topic, root in kinds.items() if topic.endswith(f'/{JOINTS}') and root == kind)
    if namespace is not None:
        root = f'/{namespace.strip("/")}'.rstrip('/')
        if f'{root}/{JOINTS}' not in topics:
            raise BagError(f'{path}: expected {root}/{JOINTS}, found {", ".join(topics) or "no joint states"}')
        return root
    if not topics:
        raise BagError(f'{path}: expected a topic {JOINTS} of {kind}, found none')
    if len(topics) > 1:
        names = ', '.join(topic.removesuffix(f'/{JOINTS}') or '/' for topic in topics)
        raise BagError(f'{path}: several machines in it: --namespace with one of {names}')
    return topics[0].removesuffix(f'/{JOINTS}')
