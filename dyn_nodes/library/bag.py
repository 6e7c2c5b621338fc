"""Export of a run to a bag with the topics of the dynamics node."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import StoragePlugin, Writer, WriterError
from rosbags.typesys import Stores, get_typestore

from dyn_nodes.common.arrays import Array
from dyn_nodes.measures import MEASURES
from dyn_nodes.multibody.base_motion import base_pose, base_twist

if TYPE_CHECKING:
    from dyn_nodes.library.loaded import Sampled

Write = Callable[..., None]
STORE = get_typestore(Stores.ROS2_JAZZY)
TYPES = STORE.types
NEVER = QosTime(0, 0)
LATCHED = Qos(
    QosHistory.KEEP_LAST,
    1,
    QosReliability.RELIABLE,
    QosDurability.TRANSIENT_LOCAL,
    NEVER,
    NEVER,
    QosLiveliness.AUTOMATIC,
    NEVER,
    False,
)
"""QoS profile of a topic that delivers its last message to late subscribers."""
WORLD = 'odom'


def save_bag(run: Sampled, path: Path) -> Path:
    """Write a bag; errors as for `Run.save_bag`."""
    try:
        with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
            _Messages(writer, run).write()
    except WriterError:
        raise FileExistsError(f'{path}: the bag directory exists; nothing is ever overwritten') from None
    return path


class _Messages:
    """Writes the messages of a run in order of time; log times equal the stamps."""

    def __init__(self, writer: Writer, run: Sampled) -> None:
        self.writer, self.run, self.machine = writer, run, run.machine
        self.data = run.machine.data

    def topic(self, name: str, kind: str, qos: tuple[Qos, ...] = ()) -> Write:
        """Add a topic; return a function that writes a message with given fields at a log time, ns."""
        connection = self.writer.add_connection(f'/{name}', kind, typestore=STORE, offered_qos_profiles=qos)

        def write(log: int, **fields: Any) -> None:
            self.writer.write(connection, log, STORE.serialize_cdr(TYPES[kind](**fields), kind))

        return write

    def write(self) -> None:
        """Write all topics."""
        self.topic('robot_description', 'std_msgs/msg/String', (LATCHED,))(0, data=self.data.urdf)
        parts = [self._joints()]
        if self.data.base.attachment != 'fixed':
            parts.append(self._odometry())
        if self.run.stands:
            parts += [self._reactions(), self._margins()]
        for k, time in enumerate(self.run.times):
            log = round(float(time) * 1e9)
            for part in parts:
                part(k, log)

    def _header(self, log: int, frame: str) -> Any:
        stamp = TYPES['builtin_interfaces/msg/Time'](*(int(part) for part in divmod(log, 10**9)))
        return TYPES['std_msgs/msg/Header'](stamp=stamp, frame_id=frame)

    def _joints(self) -> Callable[[int, int], None]:
        write, names, run = self.topic('joint_states', 'sensor_msgs/msg/JointState'), self.machine.joints, self.run
        columns = [
            np.column_stack([np.empty((len(run), 0)), *(run[form.format(name)] for name in names)])
            for form in ('{}', '{}_rate', '{}/drive_effort')
        ]

        def joints(k: int, log: int) -> None:
            position, velocity, effort = (np.ascontiguousarray(column[k]) for column in columns)
            header = self._header(log, '')
            write(log, header=header, name=list(names), position=position, velocity=velocity, effort=effort)

        return joints

    def _odometry(self) -> Callable[[int, int], None]:
        write, attachment = self.topic('odom', 'nav_msgs/msg/Odometry'), self.data.base.attachment
        unknown = np.zeros(36)

        def odometry(k: int, log: int) -> None:
            q, v = self.run.q[k], self.run.v[k]
            (position, quaternion), (linear, angular) = base_pose(attachment, q), base_twist(attachment, q, v)
            pose = TYPES['geometry_msgs/msg/Pose'](_point(position), _quaternion(quaternion))
            twist = TYPES['geometry_msgs/msg/Twist'](_vector(linear), _vector(angular))
            write(
                log,
                header=self._header(log, WORLD),
                child_frame_id=self.data.base.link,
                pose=TYPES['geometry_msgs/msg/PoseWithCovariance'](pose, unknown),
                twist=TYPES['geometry_msgs/msg/TwistWithCovariance'](twist, unknown),
            )

        return odometry

    def _reactions(self) -> Callable[[int, int], None]:
        kind = 'geometry_msgs/msg/WrenchStamped'
        forces = self.run.margins().reactions
        writes = {wheel: self.topic(f'ground_reactions/{wheel}', kind) for wheel in forces}

        def reactions(k: int, log: int) -> None:
            for wheel, write in writes.items():
                wrench = TYPES['geometry_msgs/msg/Wrench'](_vector(forces[wheel][k]), _vector(np.zeros(3)))
                write(log, header=self._header(log, f'{wheel}_contact'), wrench=wrench)

        return reactions

    def _margins(self) -> Callable[[int, int], None]:
        margins_of_run = self.run.margins()
        layout = TYPES['std_msgs/msg/MultiArrayLayout']
        dimension = TYPES['std_msgs/msg/MultiArrayDimension']
        writes = []
        for name, margin in margins_of_run.items():
            topic = f'stability/{MEASURES[name].topic}'
            table = np.column_stack(list(margin.edges.values()))
            form = layout([dimension(','.join(margin.edges), len(margin.edges), len(margin.edges))], 0)
            least = self.topic(topic, 'std_msgs/msg/Float64')
            edges = self.topic(f'{topic}/edges', 'std_msgs/msg/Float64MultiArray')
            writes.append((margin.value, least, table, edges, form))

        def margins(k: int, log: int) -> None:
            for value, least, table, edges, form in writes:
                least(log, data=float(value[k]))
                edges(log, layout=form, data=np.ascontiguousarray(table[k]))

        return margins


def _vector(values: Array) -> Any:
    return TYPES['geometry_msgs/msg/Vector3'](*(float(value) for value in values))


def _point(values: Array) -> Any:
    return TYPES['geometry_msgs/msg/Point'](*(float(value) for value in values))


def _quaternion(values: Array) -> Any:
    return TYPES['geometry_msgs/msg/Quaternion'](*(float(value) for value in values))
