"""Preserialized messages equal those of the runtime's serialization."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from dyn_nodes.middleware import RUNTIME, deserialize_message, message, serialize_message
from dyn_nodes.middleware.prepared import PreparedMessage
from dyn_nodes.nodes.arrays import labelled_array
from dyn_nodes.nodes.stamps import LATEST_STAMP, NANO, packed_stamp, stamp_at
from dyn_nodes.nodes.transforms import TransformPublisher

Header = message('std_msgs/msg/Header')
NOW = 12 * NANO + 345_000_000
TYPES = {
    name.rpartition('/')[2]: message(name)
    for name in (
        'geometry_msgs/msg/WrenchStamped', 'geometry_msgs/msg/PolygonStamped', 'geometry_msgs/msg/Point32',
        'nav_msgs/msg/Odometry', 'sensor_msgs/msg/Imu', 'sensor_msgs/msg/FluidPressure', 'sensor_msgs/msg/JointState',
        'rosgraph_msgs/msg/Clock', 'std_msgs/msg/Float64', 'std_msgs/msg/Int16', 'std_msgs/msg/Bool',
    )
}  # fmt: skip


def header(frame: str, stamp: int = 0) -> Any:
    return Header(frame_id=frame, stamp=stamp_at(stamp))


def vector(target: Any, *values: float) -> None:
    for name, value in zip('xyzw', values):
        setattr(target, name, value)


def wrench(frame: str, stamp: int = 0, *numbers: float) -> Any:
    made = TYPES['WrenchStamped'](header=header(frame, stamp))
    vector(made.wrench.force, *numbers[:3])
    vector(made.wrench.torque, *numbers[3:])
    return made


def odometry(stamp: int = 0, *numbers: float) -> Any:
    made = TYPES['Odometry'](header=header('world', stamp), child_frame_id='base_link')
    made.pose.covariance[7] = 0.25
    vector(made.pose.pose.position, *numbers[:3])
    vector(made.pose.pose.orientation, *numbers[3:7])
    vector(made.twist.twist.linear, *numbers[7:10])
    vector(made.twist.twist.angular, *numbers[10:])
    return made


def polygon(stamp: int = 0, *numbers: float) -> Any:
    made = TYPES['PolygonStamped'](header=header('w', stamp))
    made.polygon.points = [TYPES['Point32']() for _ in range(3)]
    for k, point in enumerate(made.polygon.points):
        vector(point, *numbers[3 * k : 3 * k + 3])
    return made


def imu(stamp: int = 0, *numbers: float) -> Any:
    made = TYPES['Imu'](header=header('base', stamp))
    vector(made.orientation, *numbers[:4])
    vector(made.angular_velocity, *numbers[4:7])
    vector(made.linear_acceleration, *numbers[7:])
    return made


def states(stamp: int = 0, *numbers: float) -> Any:
    names, positions = ['boom', 'stick'], list(numbers) or [0.0, 0.0]
    return TYPES['JointState'](header=header('', stamp), name=names, position=positions)


def numbers_of(count: int) -> list[float]:
    return [0.5 * k - 3.0 for k in range(count)]


CASES = {
    'wrench': (wrench('front_left_contact'), ('wrench',), wrench('front_left_contact', NOW, *numbers_of(6))),
    'odometry': (odometry(), ('pose.pose', 'twist.twist'), odometry(NOW, *numbers_of(13))),
    'polygon': (polygon(), ('polygon.points',), polygon(NOW, *numbers_of(9))),
    'imu': (imu(), ('orientation', 'angular_velocity', 'linear_acceleration'), imu(NOW, *numbers_of(10))),
    'names': (states(), ('position',), states(NOW, *numbers_of(2))),
    'labels': (labelled_array(['a', 'bc'], [0.0] * 2), ('data',), labelled_array(['a', 'bc'], numbers_of(2))),
    'clock': (TYPES['Clock'](), (), TYPES['Clock'](clock=stamp_at(NOW))),
    'number': (TYPES['Float64'](), ('data',), TYPES['Float64'](data=-3.0)),
    'integer': (TYPES['Int16'](), (), TYPES['Int16']()),
    'truth': (TYPES['Bool'](data=True), (), TYPES['Bool'](data=True)),
}


@pytest.mark.parametrize('case', CASES)
def test_a_prepared_message_is_the_one_that_the_runtime_serializes(case: str) -> None:
    prototype, fields, expected = CASES[case]
    prepared = PreparedMessage(prototype, fields)
    data = prepared.filled(packed_stamp(NOW), numbers_of(prepared.count))
    assert deserialize_message(data, type(expected)) == expected
    if RUNTIME == 'embedded':  # rclpy leaves old memory between the fields
        plain = serialize_message(expected)
        assert data == plain + bytes(-len(plain) & 3)


def test_a_prepared_message_can_be_filled_again() -> None:
    prepared = PreparedMessage(wrench('a'), ('wrench.force',))
    first = prepared.filled(packed_stamp(1), (1.0, 2.0, 3.0))
    second = prepared.filled(packed_stamp(NOW), (4.0, 5.0, 6.0))
    assert deserialize_message(first, TYPES['WrenchStamped']) == wrench('a', 1, 1.0, 2.0, 3.0)
    assert deserialize_message(second, TYPES['WrenchStamped']) == wrench('a', NOW, 4.0, 5.0, 6.0)


def test_a_wrong_count_of_numbers_is_rejected() -> None:
    prepared = PreparedMessage(wrench('a'), ('wrench',))
    with pytest.raises(ValueError, match='expected 6 numbers, found 5'):
        prepared.filled(packed_stamp(0), numbers_of(5))
    with pytest.raises(struct.error):
        prepared.filled(packed_stamp(0), ['no', 'numbers', 'but', 'words', 'in', 'it'])


def test_a_field_without_numbers_is_rejected() -> None:
    with pytest.raises(ValueError, match=r'WrenchStamped: no numbers in wrench\.moment'):
        PreparedMessage(wrench('a'), ('wrench.moment',))


def test_a_stamp_beyond_the_clock_stays_at_the_latest() -> None:
    prepared = PreparedMessage(TYPES['Clock'](), ())
    data = prepared.filled(packed_stamp(LATEST_STAMP + 1), ())
    assert deserialize_message(data, TYPES['Clock']).clock == stamp_at(LATEST_STAMP)


def test_frames_are_prepared_again_where_their_names_change() -> None:
    class Node:
        def __init__(self) -> None:
            self.published: list[Any] = []

        def create_publisher(self, kind: Any, *_: Any) -> Any:
            self.msg_type = kind
            return self

        def publish(self, data: bytes) -> None:
            self.published.append(deserialize_message(data, self.msg_type))

        def get_logger(self) -> Any:
            return self

        def warn(self, text: str) -> None:
            pytest.skip(text)

    node = Node()
    transforms = TransformPublisher(node, '/tf', 10)
    turn = (0.0, 0.0, 0.6, 0.8)
    transforms.publish([('world', 'base', (1.0, 2.0, 3.0), turn)], NOW)
    transforms.publish([('world', 'base', (1.5, 2.0, 3.0), turn), ('base', 'arm', (0.0, 0.0, 1.0), turn)], NOW + 1)
    transforms.publish([], NOW + 2)
    first, second, third = (msg.transforms for msg in node.published)
    assert [(t.header.frame_id, t.child_frame_id) for t in first] == [('world', 'base')]
    assert [(t.header.frame_id, t.child_frame_id) for t in second] == [('world', 'base'), ('base', 'arm')]
    assert [t.header.stamp for t in second] == [stamp_at(NOW + 1)] * 2
    assert [t.transform.translation.x for t in second] == [1.5, 0.0]
    assert (second[1].transform.rotation.z, second[1].transform.rotation.w) == (0.6, 0.8)
    assert list(third) == []
