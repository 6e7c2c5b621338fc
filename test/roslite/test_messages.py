from __future__ import annotations

import array
import random
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_typestore

from roslite.runtime.api import (
    deserialize_message,
    message,
    message_definition,
    message_types,
    register_message,
    register_service,
    serialize_message,
    service,
    type_hash,
    type_name,
)
from roslite.runtime.codec import DTYPES, DecodeError
from roslite.runtime.types import UnknownTypeError, codec

JointState = message('sensor_msgs/msg/JointState')
STORE = get_typestore(Stores.ROS2_JAZZY)


def rosbags_joint_state(names, position, frame='', sec=0, nanosec=0):
    stamp = STORE.types['builtin_interfaces/msg/Time'](sec, nanosec)
    header = STORE.types['std_msgs/msg/Header'](stamp, frame)
    empty = np.empty(0)
    return STORE.types['sensor_msgs/msg/JointState'](header, names, np.array(position, float), empty, empty)


def test_encoding_is_little_endian_xcdr1_as_in_the_standard():
    msg = JointState(name=['a'], position=[1.5])
    msg.header.stamp.sec = 7
    expected = (
        b'\x00\x01\x00\x00'
        + struct.pack('<iI', 7, 0)
        + struct.pack('<I', 1) + b'\0' + b'\0' * 3  # frame_id: length 1 with its NUL, then alignment
        + struct.pack('<I', 1) + struct.pack('<I', 2) + b'a\0' + b'\0' * 2
        + struct.pack('<I', 1) + struct.pack('<d', 1.5)
        + struct.pack('<I', 0) + struct.pack('<I', 0)
    )  # fmt: skip
    # alignment counts from the byte after the encapsulation header: the doubles start at 8 * n + 4
    assert (expected.index(struct.pack('<d', 1.5)) - 4) % 8 == 0
    assert serialize_message(msg) == expected


def random_field(kind, detail, numbers):
    """Return a value of a field: a base type, a message, an array or a sequence."""
    if kind == Nodetype.NAME:
        return random_message(detail, numbers)
    if kind == Nodetype.BASE:
        base = detail[0]
        if base == 'string':
            return ''.join(numbers.choice('aé_b') for _ in range(numbers.randrange(6)))
        if base == 'bool':
            return numbers.random() < 0.5
        return float(np.float32(numbers.random())) if base.startswith('float') else numbers.randrange(100)
    inner, count = detail
    values = [random_field(*inner, numbers) for _ in range(count if kind == Nodetype.ARRAY else numbers.randrange(4))]
    is_numeric = inner[0] == Nodetype.BASE and inner[1][0] != 'string'
    return np.array(values, dtype=DTYPES[inner[1][0]]) if is_numeric else values


def random_message(name, numbers):
    made = message(name)()
    for field, (kind, detail) in codec(name).fields:
        setattr(made, field, random_field(kind, detail, numbers))
    return made


def test_every_known_type_is_written_as_rosbags_writes_it():
    numbers = random.Random(1)
    names = [name for name in message_types() if name in STORE.fielddefs]  # it lacks types registered by tests
    assert len(names) > 150
    for name in names * 2:
        made = random_message(name, numbers)
        assert serialize_message(made) == bytes(STORE.serialize_cdr(made, name)), name


@settings(max_examples=50, deadline=None)
@given(
    names=st.lists(st.text(st.characters(blacklist_categories=['Cs'], blacklist_characters='\0')), max_size=5),
    position=st.lists(st.floats(allow_nan=False), max_size=5),
    frame=st.text(st.characters(blacklist_categories=['Cs'], blacklist_characters='\0'), max_size=9),
    sec=st.integers(-(2**31), 2**31 - 1),
)
def test_bytes_equal_rosbags_and_survive_a_round_trip(names, position, frame, sec):
    msg = JointState(name=names, position=position)
    msg.header.frame_id, msg.header.stamp.sec = frame, sec
    data = serialize_message(msg)
    theirs = rosbags_joint_state(names, position, frame, sec)
    assert data == bytes(STORE.serialize_cdr(theirs, 'sensor_msgs/msg/JointState', little_endian=True))
    assert deserialize_message(data, JointState) == msg


def test_big_endian_data_is_decoded():
    theirs = rosbags_joint_state(['a', 'b'], [1.0, 2.0])
    data = bytes(STORE.serialize_cdr(theirs, 'sensor_msgs/msg/JointState', little_endian=False))
    assert deserialize_message(data, JointState) == JointState(name=['a', 'b'], position=[1.0, 2.0])


@pytest.mark.parametrize('name', message_types())
def test_every_message_type_is_default_constructible_and_survives_a_round_trip(name):
    msg = message(name)()
    data = serialize_message(msg)
    assert data[:4] == b'\x00\x01\x00\x00'
    assert deserialize_message(data, message(name)) == msg


@pytest.mark.parametrize(
    'value', [[1, 2], (1.0, 2.0), np.array([1, 2]), np.array([1, 2], np.float32), array.array('d', [1, 2])]
)
def test_numeric_sequences_take_lists_tuples_and_arrays_of_any_number_type(value):
    msg = JointState(position=value)
    assert list(deserialize_message(serialize_message(msg), JointState).position) == [1.0, 2.0]


def test_a_strided_array_is_sent_as_its_elements():
    msg = JointState(position=np.arange(6.0)[::2])
    assert list(deserialize_message(serialize_message(msg), JointState).position) == [0.0, 2.0, 4.0]


def test_received_arrays_can_be_written_to():
    msg = deserialize_message(serialize_message(JointState(position=[1.0])), JointState)
    msg.position[0] = 2.0
    assert msg.position[0] == 2.0


@pytest.mark.parametrize(
    ('field', 'value', 'expected'),
    [
        ('position', 'abc', r'sensor_msgs/msg/JointState\.position: expected float64\[\], found str'),
        ('position', ['x'], r'JointState\.position: expected float64\[\], found list'),
        ('position', np.zeros((2, 2)), r'JointState\.position: expected float64\[\], found array of float64, shape'),
        ('position', None, r'JointState\.position: expected float64\[\], found NoneType'),
        ('name', 'abc', r'JointState\.name: expected string\[\], found str'),
        ('name', ['a', 1], r'JointState\.name\[1\]: expected string, found int 1'),
        ('header', 3, r'JointState\.header: expected std_msgs/msg/Header, found int 3'),
    ],
)
def test_a_field_of_the_wrong_type_is_rejected_by_type_and_field(field, value, expected):
    with pytest.raises(TypeError, match=expected):
        serialize_message(JointState(**{field: value}))


@pytest.mark.parametrize(
    ('name', 'field', 'value', 'expected'),
    [
        ('std_msgs/msg/Bool', 'data', 'false', r'std_msgs/msg/Bool\.data: expected bool, found str'),
        ('std_msgs/msg/Int32', 'data', 1.5, r'Int32\.data: expected int32, found float 1\.5'),
        ('std_msgs/msg/Int32', 'data', 2**31, r'Int32\.data: expected int32'),
        ('std_msgs/msg/UInt8', 'data', -1, r'UInt8\.data: expected uint8'),
        ('std_msgs/msg/Float64', 'data', '1', r'Float64\.data: expected float64, found str'),
        ('std_msgs/msg/Float64', 'data', None, r'Float64\.data: expected float64, found NoneType'),
        ('std_msgs/msg/String', 'data', b'x', r'String\.data: expected string, found bytes'),
        ('std_msgs/msg/Int8MultiArray', 'data', [200], r'Int8MultiArray\.data: a value is outside of int8'),
        ('std_msgs/msg/Int8MultiArray', 'data', [0.5], r'Int8MultiArray\.data: expected int8\[\]'),
    ],
)
def test_a_scalar_or_an_element_out_of_its_type_is_rejected(name, field, value, expected):
    with pytest.raises(TypeError, match=expected):
        serialize_message(message(name)(**{field: value}))


def test_a_fixed_array_of_another_size_is_rejected():
    odometry = message('nav_msgs/msg/Odometry')()
    odometry.pose.covariance = [0.0] * 35
    with pytest.raises(ValueError, match=r'PoseWithCovariance\.covariance: expected 36 elements, found 35'):
        serialize_message(odometry)


def test_byte_fields_take_the_constants_of_this_runtime_and_of_rclpy():
    status = message('diagnostic_msgs/msg/DiagnosticStatus')
    assert serialize_message(status(level=status.WARN)) == serialize_message(status(level=b'\x01'))


def test_a_quaternion_is_the_identity_by_default():
    assert message('geometry_msgs/msg/Quaternion')().w == 1.0


@pytest.mark.parametrize('data', [b'', b'\x00\x01\x00', b'\x00\x06\x00\x00' + bytes(60), b'\x00\x01\x00\x00\xff\xff'])
def test_invalid_encodings_raise_a_decode_error(data):
    with pytest.raises(DecodeError, match='sensor_msgs/msg/JointState'):
        deserialize_message(data, JointState)


def test_truncating_a_message_anywhere_raises_a_decode_error():
    data = serialize_message(JointState(name=['abc'], position=[1.0, 2.0], effort=[3.0]))
    for length in range(len(data) - 3):
        with pytest.raises(DecodeError):
            deserialize_message(data[:length], JointState)


def test_field_types_are_spelt_as_rclpy_spells_them():
    assert JointState.get_fields_and_field_types() == {
        'header': 'std_msgs/Header',
        'name': 'sequence<string>',
        'position': 'sequence<double>',
        'velocity': 'sequence<double>',
        'effort': 'sequence<double>',
    }
    assert repr(message('std_msgs/msg/Float64')(data=2.0)) == 'std_msgs.msg.Float64(data=2.0)'
    assert type_name(JointState) == 'sensor_msgs/msg/JointState'


# Hashes of these types in ROS 2 Jazzy and in the documentation of rmw_zenoh.
@pytest.mark.parametrize(
    ('name', 'digest'),
    [
        ('std_msgs/msg/String', 'df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18'),
        ('std_srvs/srv/Trigger', 'eeff2cd6fa5ad9d27cdf4dec64818317839b62f212a91e6b5304b634b2062c5f'),
        ('example_interfaces/srv/AddTwoInts', 'e118de6bf5eeb66a2491b5bda11202e7b68f198d6f67922cf30364858239c81a'),
    ],
)
def test_type_hashes_equal_ros(name, digest):
    register_service('example_interfaces/srv/AddTwoInts', 'int64 a\nint64 b\n---\nint64 sum\n')
    assert type_hash(name) == f'RIHS01_{digest}'


def test_an_unknown_type_is_named_with_a_suggestion():
    with pytest.raises(UnknownTypeError, match=r"'sensor_msgs/msg/JointStates'; close: sensor_msgs/msg/JointState"):
        message('sensor_msgs/msg/JointStates')
    with pytest.raises(UnknownTypeError, match='std_srvs/srv/Triger'):
        service('std_srvs/srv/Triger')


def test_a_registered_message_works_like_the_others():
    made = register_message(
        'test_msgs/msg/Load', 'uint8 FULL=2\nstd_msgs/Header header\nfloat64[3] force\nstring[] ids'
    )
    msg = made(force=[1, 2, 3], ids=['x'])
    assert deserialize_message(serialize_message(msg), made) == msg
    assert made.FULL == 2
    assert message('test_msgs/msg/Load') is made
    assert 'float64[3] force' in message_definition('test_msgs/msg/Load')
    assert type_hash('test_msgs/msg/Load').startswith('RIHS01_')


def test_a_definition_with_an_unknown_type_or_without_its_rule_is_rejected():
    with pytest.raises(UnknownTypeError, match=r"test_msgs/msg/Bad\.x: unknown type 'nowhere_msgs/msg/Thing'"):
        register_message('test_msgs/msg/Bad', 'nowhere_msgs/Thing x')
    with pytest.raises(ValueError, match="has one line '---', found 0"):
        register_service('test_msgs/srv/Bad', 'int64 a')
    with pytest.raises(ValueError, match='a service type is named pkg/srv/Name'):
        register_service('test_msgs/Bad', '---')
