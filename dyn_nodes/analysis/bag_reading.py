"""Bags as columns of numbers over simulated time, one table per topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.typesys import Stores, get_typestore

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.common.optional import pandas
from dyn_nodes.common.printing import printable
from dyn_nodes.middleware.bag_reader import WALL_CLOCK, BagReader
from dyn_nodes.middleware.bags import MIXED, BagError, unreadable

Progress = Callable[[int, int], None]
NANO = 1e-9
SCALAR = 'std_msgs/msg/Float64'
"""Preferred type of a topic with two types: its table has the plain name of the topic."""
SIMULATED_LOG_TIME = 1e-3
"""Greatest difference between log times and stamps, s, for which a bag counts as logged in simulated time."""

# counted but not read: frequent and unused
_SKIPPED = ('joint_command',)


class BagReadingError(UserError):
    """A bag cannot be read or lacks data; the message names the bag and the reason in one line."""

    def __init__(self, text: str) -> None:
        super().__init__(printable(text))


@dataclass(frozen=True, eq=False)
class Table:
    """The messages of one topic.

    Attributes:
        time: (n,) simulated time, s.
        columns: (n,) values by field name.
    """

    time: Array
    columns: dict[str, Array]

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def __len__(self) -> int:
        return len(self.time)

    def to_pandas(self) -> Any:
        """Return a DataFrame over time, s. Raises ImportError without pandas."""
        pd = pandas()
        return pd.DataFrame(self.columns, index=pd.Index(self.time, name='time'))


@dataclass(frozen=True)
class Status:
    """One diagnostic_msgs/DiagnosticStatus: its level (0 OK, 1 WARN, 2 ERROR, 3 STALE), texts and values by key."""

    name: str
    level: int
    message: str
    values: dict[str, str]


@dataclass(eq=False)
class BagData:
    """Content of a bag.

    Attributes:
        path: the bag.
        storage: `mcap` or `sqlite3`.
        namespace: namespace of the machine's topics, `` or `/loader`.
        counts: number of messages by topic, for all topics of the bag.
        types: message type by topic.
        tables: tables by topic relative to the namespace: `odom`, `stability/zmp`.
        texts: (time, text) of std_msgs/String topics.
        statuses: (time, status) of diagnostic topics; times in s, None if unknown.
        origin: start time of a bag with stamps of a wall clock, s, subtracted from all times; else 0.
        log_span: wall time from the first to the last message, s; None for a bag logged in simulated time.
    """

    path: Path
    storage: str = ''
    namespace: str = ''
    counts: dict[str, int] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    texts: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    statuses: dict[str, list[tuple[float, Status]]] = field(default_factory=dict)
    origin: float = 0.0
    log_span: float | None = None

    def table(self, topic: str) -> Table:
        """Return the table of a topic.

        Raises:
            BagReadingError: the bag has no such topic, or no message in it.
        """
        if topic not in self.tables:
            topics = ', '.join(sorted(self.counts)) or 'no topics'
            raise BagReadingError(f'{self.path}: expected messages of {self.namespace}/{topic}, found {topics}')
        return self.tables[topic]

    def below(self, prefix: str) -> dict[str, Table]:
        """Return the tables directly below a prefix: `below('ground_reactions')` by wheel."""
        start = f'{prefix}/'
        names = {topic: topic[len(start) :] for topic in self.tables if topic.startswith(start)}
        return {name: self.tables[topic] for topic, name in sorted(names.items()) if '/' not in name}


def read_bag(path: Path | str, progress: Progress | None = None, namespace: str | None = None) -> BagData:
    """Read a bag of these nodes.

    Times of messages without a stamp (std_msgs) come from the stamped messages logged with them.

    Args:
        path: rosbag2 directory, MCAP or sqlite3.
        progress: called periodically with the number of messages read and their total.
        namespace: namespace of the machine's topics; None: namespace of the only `odom` or `joint_states`.

    Raises:
        BagReadingError: no bag, an unreadable or empty bag, or several machines without `namespace`.
    """
    path = Path(path)
    if not path.exists():
        raise BagReadingError(f'{path}: expected a bag directory, found nothing')
    try:
        with BagReader(path) as reader:
            return _Collector(path, reader, namespace).collect(progress)
    except BagError as error:
        raise BagReadingError(str(error)) from None


MOST_SOURCES = 4
"""Greatest number of different joint sets that are stored per topic."""
LARGEST_NUMBER = 1e100
"""Values with a greater magnitude count as missing (NaN): they are no measurements and cannot be plotted."""


class _Statuses(tuple[Status, ...]):
    """The statuses of one diagnostic message."""


class _Column:
    """Data of one topic so far; for joint states also the sets of joints, one per source."""

    def __init__(self) -> None:
        self.log: list[int] = []
        self.stamp: list[int] = []
        self.names: tuple[str, ...] = ()
        self.rows: list[Any] = []
        self.joints: dict[tuple[str, ...], None] = {}


class _Collector:
    """Reader of all messages, which then assigns simulated times."""

    def __init__(self, path: Path, reader: BagReader, namespace: str | None) -> None:
        self.reader = reader
        self.store = get_typestore(Stores.ROS2_HUMBLE)
        self.data = BagData(path)
        for connection in reader.connections:
            topic = connection.topic
            self.data.counts[topic] = self.data.counts.get(topic, 0) + connection.msgcount
            if connection.msgtype == SCALAR or topic not in self.data.types:
                self.data.types[topic] = connection.msgtype
        files = [path] if path.is_file() else list(path.iterdir())
        self.data.storage = 'mcap' if any(file.suffix == '.mcap' for file in files) else 'sqlite3'
        self.data.namespace = self._namespace() if namespace is None else f'/{namespace.strip("/")}'.rstrip('/')
        self.columns: dict[str, _Column] = {}
        self.clock = _Clock()

    def _namespace(self) -> str:
        for name in ('/odom', '/joint_states'):
            namespaces = sorted(topic[: -len(name)] for topic in self.data.counts if topic.endswith(name))
            if len(namespaces) > 1:
                listed = ', '.join(space or '/' for space in namespaces)
                raise BagReadingError(
                    f'{self.data.path}: several machines are in this bag, choose a namespace: {listed}'
                )
            if namespaces:
                return namespaces[0]
        return ''

    def _relative(self, topic: str) -> str:
        prefix = f'{self.data.namespace}/'
        return topic[len(prefix) :] if topic.startswith(prefix) else topic.lstrip('/')

    def _key(self, topic: str, kind: str) -> str:
        """Return the name of a table: the topic, or `<topic> (<type>)` for a second type on the same topic."""
        name = self._relative(topic)
        return name if self.data.types[topic] == kind else f'{name} ({kind})'

    def collect(self, progress: Progress | None) -> BagData:
        readable = [c for c in self.reader.connections if c.msgtype in _READERS]
        wanted = [c for c in readable if self._relative(c.topic) not in _SKIPPED]
        total = sum(connection.msgcount for connection in wanted)
        if not total:
            topics = ', '.join(sorted(self.data.counts)) or 'no topics'
            raise BagReadingError(f'{self.data.path}: expected messages of these nodes, found {topics}')
        columns: dict[tuple[str, str], _Column] = {}
        for done, (connection, log_time, raw) in enumerate(self.reader.messages(wanted), 1):
            topic, kind = connection.topic, connection.msgtype
            message = self._message(raw, connection)
            column = columns.get((topic, kind))
            if column is None:
                column = columns[topic, kind] = self.columns.setdefault(self._key(topic, kind), _Column())
            column.log.append(log_time)
            header = getattr(message, 'header', None)
            if header is not None:
                column.stamp.append(header.stamp.sec * 1_000_000_000 + header.stamp.nanosec)
            elif kind == 'rosgraph_msgs/msg/Clock':
                column.stamp.append(message.clock.sec * 1_000_000_000 + message.clock.nanosec)
            _READERS[kind](column, message)
            if progress is not None and (done % 500 == 0 or done == total):
                progress(done, total)
        if not self.columns:
            raise BagReadingError(f'{self.data.path}: expected {total} messages of these nodes, found none')
        self._put_over_time()
        self._require_one_machine()
        return self.data

    def _require_one_machine(self) -> None:
        """Raise BagReadingError if messages of two machines are mixed on the topics of the namespace."""
        space, actual = self.data.namespace.lstrip('/'), ''
        machines = sorted(
            {
                f'{status.values["machine"]} ({status.name.partition(":")[0]})'
                for entries in self.data.statuses.values()
                for _, status in entries
                if 'machine' in status.values and status.name.partition(':')[0].rpartition('/')[0] == space
            }
        )
        names = {text.rpartition(' (')[0] for text in machines}
        joints = self.columns['joint_states'].joints if 'joint_states' in self.columns else {}
        descriptions = {text for _, text in self.data.texts.get('robot_description', [])}
        mark = self.reader.custom_data.get(MIXED, '')
        if len(names) > 1:
            actual = ', '.join(machines)
        elif len(joints) > 1 and 'odom' in self.columns:  # other software may publish joints in several parts
            actual = f'joint_states of {"; ".join(", ".join(source) for source in joints)}'
        elif len(descriptions) > 1:
            actual = f'{len(descriptions)} different robot_description'
        elif f'{self.data.namespace}/joint_states: ' in mark:
            actual = mark
        if actual:
            expected = f'one machine on the topics of {self.data.namespace or "/"}'
            advice = 'record each machine in a separate namespace or domain'
            raise BagReadingError(f'{self.data.path}: expected {expected}, found {actual}; {advice}')

    def _message(self, raw: bytes, connection: Any) -> Any:
        """Return a message decoded by the definitions of ROS; definitions in the bag are not trusted."""
        try:
            return self.store.deserialize_cdr(raw, connection.msgtype)
        except Exception as error:  # rosbags' decoders check nothing
            where = f'{printable(connection.topic)}: not a {connection.msgtype}'
            raise BagReadingError(f'{unreadable(self.data.path, error)} ({where})') from None

    def _put_over_time(self) -> None:
        self.clock.learn(self.columns.values())
        self.data.log_span = self.clock.log_span
        times = {topic: self._times(topic, column) for topic, column in self.columns.items()}
        start = min(float(time.min()) for time in times.values())
        self.data.origin = start if start > WALL_CLOCK else 0.0
        for topic, column in self.columns.items():
            time = times[topic] - self.data.origin
            first = column.rows[0]
            if isinstance(first, str):
                self.data.texts[topic] = list(zip(time.tolist(), column.rows))
            elif isinstance(first, _Statuses):
                entries = [(t, status) for t, row in zip(time.tolist(), column.rows) for status in row]
                self.data.statuses[topic] = entries
            else:
                self.data.tables[topic] = _table(time, column)

    def _times(self, topic: str, column: _Column) -> Array:
        if column.stamp:
            return np.array(column.stamp, dtype=np.float64) * NANO
        # published together with odom, or with the pressures of the same actuator
        companions = ['odom', f'{topic.rpartition("/")[0]}/supply_pressure']
        for name in companions:
            other = self.columns.get(name)
            if other is not None and other.stamp and len(other.stamp) == len(column.log) and len(column.log) > 1:
                return np.array(other.stamp, dtype=np.float64) * NANO
        return self.clock.simulated(column.log)


class _Clock:
    """Conversion of log times to simulated times, from the stamped messages."""

    def __init__(self) -> None:
        self.log: Array = np.zeros(0)
        self.stamp: Array = np.zeros(0)
        self.origin = 0
        self.log_span: float | None = None

    def learn(self, columns: Iterable[_Column]) -> None:
        columns = [column for column in columns if column.log]
        self.origin = min(column.log[0] for column in columns)
        stamped = [column for column in columns if len(column.stamp) == len(column.log)]
        if not stamped:
            return
        best = max(stamped, key=lambda column: len(column.log))
        self.log = NANO * (np.array(best.log, dtype=np.int64) - self.origin).astype(np.float64)
        self.stamp = np.maximum.accumulate(np.array(best.stamp, dtype=np.float64) * NANO)
        offset = self.log + self.origin * NANO - self.stamp
        span = max(column.log[-1] for column in columns) - self.origin
        self.log_span = None if np.abs(offset).max() < SIMULATED_LOG_TIME else span * NANO

    def simulated(self, log: list[int]) -> Array:
        times = NANO * (np.array(log, dtype=np.int64) - self.origin).astype(np.float64)
        return np.interp(times, self.log, self.stamp) if len(self.log) else times


def _table(time: Array, column: _Column) -> Table:
    width = len(column.names)
    keep = [k for k, row in enumerate(column.rows) if len(row) == width]
    values = np.array([column.rows[k] for k in keep], dtype=np.float64).reshape(len(keep), width)
    values[~(np.abs(values) < LARGEST_NUMBER)] = np.nan
    return Table(time[keep], {name: values[:, k] for k, name in enumerate(column.names)})


# --- message types ---------------------------------------------------------------------------------------------------


def _numbers(*paths: str) -> Callable[[_Column, Any], None]:
    """Return a reader of fixed fields; each path is `column:attribute`."""
    names = tuple(path.split(':')[0] for path in paths)
    values = attrgetter(*(path.split(':')[1] for path in paths))

    def read_one(column: _Column, message: Any) -> None:
        column.names = names
        column.rows.append((values(message),))

    def read(column: _Column, message: Any) -> None:
        column.names = names
        column.rows.append(values(message))

    return read_one if len(paths) == 1 else read


def _joint_state(column: _Column, message: Any) -> None:
    if not column.names:
        column.names = tuple(f'{j}/{f}' for j in message.name for f in ('position', 'velocity', 'effort'))
    if len(column.joints) < MOST_SOURCES:
        column.joints[tuple(sorted(message.name))] = None
    count = len(message.name)
    fields = [message.position, message.velocity, message.effort]
    filled = [values if len(values) == count else np.full(count, np.nan) for values in fields]
    column.rows.append(np.array(filled).T.ravel())


def _multi_array(column: _Column, message: Any) -> None:
    if not column.names:
        label = message.layout.dim[0].label if message.layout.dim else ''
        names = label.split(',') if label else []
        column.names = tuple(names if len(names) == len(message.data) else map(str, range(len(message.data))))
    column.rows.append(message.data)


def _polygon(column: _Column, message: Any) -> None:
    points = message.polygon.points
    if not column.names:
        column.names = tuple(f'{axis}{k}' for k in range(len(points)) for axis in 'xyz')
    column.rows.append([value for point in points for value in (point.x, point.y, point.z)])


def _text(column: _Column, message: Any) -> None:
    column.rows.append(str(message.data))


def _status(message: Any) -> Status:
    level = message.level if isinstance(message.level, int) else int.from_bytes(bytes(message.level), 'little')
    return Status(message.name, int(level), message.message, {pair.key: pair.value for pair in message.values})


def _one_status(column: _Column, message: Any) -> None:
    column.rows.append(_Statuses([_status(message)]))


def _statuses(column: _Column, message: Any) -> None:
    column.rows.append(_Statuses(_status(item) for item in message.status))


_XYZ = ('x', 'y', 'z')
_READERS: dict[str, Callable[[_Column, Any], None]] = {
    'nav_msgs/msg/Odometry': _numbers(
        *(f'{a}:pose.pose.position.{a}' for a in _XYZ),
        *(f'q{a}:pose.pose.orientation.{a}' for a in (*_XYZ, 'w')),
        *(f'v{a}:twist.twist.linear.{a}' for a in _XYZ),
        *(f'w{a}:twist.twist.angular.{a}' for a in _XYZ),
    ),
    'geometry_msgs/msg/WrenchStamped': _numbers(
        *(f'f{a}:wrench.force.{a}' for a in _XYZ), *(f't{a}:wrench.torque.{a}' for a in _XYZ)
    ),
    'geometry_msgs/msg/PointStamped': _numbers(*(f'{a}:point.{a}' for a in _XYZ)),
    'geometry_msgs/msg/PolygonStamped': _polygon,
    'sensor_msgs/msg/FluidPressure': _numbers('pressure:fluid_pressure'),
    'sensor_msgs/msg/Imu': _numbers(
        *(f'q{a}:orientation.{a}' for a in (*_XYZ, 'w')),
        *(f'w{a}:angular_velocity.{a}' for a in _XYZ),
        *(f'a{a}:linear_acceleration.{a}' for a in _XYZ),
    ),
    'sensor_msgs/msg/JointState': _joint_state,
    'std_msgs/msg/Float64': _numbers('data:data'),
    'std_msgs/msg/Float64MultiArray': _multi_array,
    'std_msgs/msg/String': _text,
    'rosgraph_msgs/msg/Clock': lambda column, message: column.rows.append([]),
    'diagnostic_msgs/msg/DiagnosticStatus': _one_status,
    'diagnostic_msgs/msg/DiagnosticArray': _statuses,
}
