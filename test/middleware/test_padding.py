"""Padding of serialized messages, which CDR leaves undefined."""

from __future__ import annotations

import pytest

from dyn_nodes.middleware.padding import zero_padding
from roslite.runtime.types import codec, message

NAME = 'sensor_msgs/msg/Imu'


def imu() -> bytes:
    made = message(NAME)()
    made.header.frame_id = 'base'  # body: 17 bytes with its zero, 7 of padding follow
    made.angular_velocity.x = 0.25
    return codec(NAME).encode(made)


def test_padding_becomes_zero_and_nothing_else_changes():
    data = imu()
    noisy = bytearray(data)
    padding = [index for index in range(4, len(data)) if codec_ignores(data, index)]
    assert len(padding) == 7
    for index in padding:
        noisy[index] = 0xAB
    assert zero_padding(NAME, bytes(noisy)) == data


def test_the_length_is_a_multiple_of_4_as_on_the_wire():
    name = 'std_msgs/msg/String'
    data = codec(name).encode(message(name)(data='wait'))
    assert len(data) % 4 == 1
    assert zero_padding(name, data) == zero_padding(name, data + b'\x01\x02\x03') == data + bytes(3)


def codec_ignores(data: bytes, index: int) -> bool:
    changed = bytearray(data)
    changed[index] ^= 0x01
    try:
        return bool(codec(NAME).encode(codec(NAME).decode(bytes(changed))) == data)
    except ValueError:
        return False


@pytest.mark.parametrize('data', [b'', b'\x00\x01', b'\x00\x00\x00\x00' + bytes(200), b'\x00\x01\x00\x00\xff\xff'])
def test_other_encodings_than_little_endian_are_unchanged(data):
    assert zero_padding(NAME, data) == data


def test_messages_of_unknown_types_are_unchanged():
    assert zero_padding('no_such_msgs/msg/Thing', imu()) == imu()
