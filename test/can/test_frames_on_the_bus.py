"""Quantities to frames and back; counters, checksums, multiplexers, J1939; frames to be rejected."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

pytest.importorskip('cantools')

from can_fixtures import changed, log_loader, with_j1939_commands
from hypothesis import given, settings
from hypothesis import strategies as st

from dyn_nodes.can.checksums import crc8_8h2f, crc8_j1850, sum8, xor8
from dyn_nodes.can.cylinder_length import CylinderLength
from dyn_nodes.can.j1939 import destination, parameter_group
from dyn_nodes.can.mapping import raw_limits, resolution
from dyn_nodes.can.mapping_file import load_mapping
from dyn_nodes.can.receiver import Receiver
from dyn_nodes.can.sender import Sender

MAPPING = log_loader()
FRAMES = {frame.name: frame for frame in MAPPING.frames}
JOINTS = {joint.name: joint for joint in MAPPING.machine.movable_joints}
POSTURE = {('position', 'swing_joint'): 0.3, ('position', 'boom_joint'): 0.5, ('position', 'stick_joint'): -1.2}


def sent(sender, name, values):
    return sender.encode(FRAMES[name], values)


def deliver(receiver, frame, now=0.0):
    return receiver.take(frame.identifier, frame.extended, frame.data, now)


def test_checksums_give_the_published_check_values():
    text = b'123456789'
    assert crc8_j1850(text) == 0x4B
    assert crc8_8h2f(text) == 0xDF
    assert sum8(text) == sum(text) % 256
    assert xor8(text) == 0x31


@pytest.mark.parametrize('name', ['boom', 'stick'])
@given(share=st.floats(0.0, 1.0))
@settings(deadline=None, max_examples=200)
def test_the_length_of_a_cylinder_gives_the_angle_of_its_joint(name, share):
    actuator, joint = MAPPING.machine.actuator(name), JOINTS[f'{name}_joint']
    cylinder = CylinderLength(actuator.linkage, joint, from_retracted=False)
    q = joint.lower + share * (joint.upper - joint.lower)
    assert cylinder.position(cylinder.length(q)) == pytest.approx(q, abs=1e-9)
    step = 1e-6
    slope = (cylinder.length(q + step) - cylinder.length(q - step)) / (2 * step)
    assert cylinder.lever(q) == pytest.approx(slope, rel=1e-6)


@given(
    shares=st.tuples(*[st.floats(0.0, 1.0)] * 3),
    rates=st.tuples(*[st.floats(-1.0, 1.0)] * 3),
    volts=st.tuples(*[st.floats(-8.0, 8.0)] * 3),
)
@settings(deadline=None, max_examples=200)
def test_sent_values_arrive_within_the_resolution_of_their_signal(shares, rates, volts):
    values = dict(zip([('command', name) for name in ('boom', 'stick', 'swing')], volts))
    for share, rate, joint in zip(shares, rates, JOINTS.values()):
        low, high = max(joint.lower, -3.0), min(joint.upper, 3.0)
        values['position', joint.name] = low + share * (high - low)
        values['velocity', joint.name] = 0.5 * rate
    receiver, sender = Receiver(MAPPING.frames), Sender(MAPPING.frames)
    for name in ('JointPositions', 'JointVelocities', 'ValveCommands'):
        assert deliver(receiver, sent(sender, name, values)) is FRAMES[name]
        for channel in FRAMES[name].channels:
            step = resolution(FRAMES[name], channel)
            slack = (
                0.02 * abs(values[channel.key]) if channel.kind == 'velocity' else 0.0
            )  # the lever is quantized, too
            assert receiver.values[channel.key] == pytest.approx(values[channel.key], abs=0.51 * step + slack + 1e-12)


def test_a_multiplexed_parameter_group_carries_all_pressures_in_turn():
    pressures = {channel.key: 1e5 * (20 + k) for k, channel in enumerate(FRAMES['LinePressures'].channels)}
    receiver, sender = Receiver(MAPPING.measurements), Sender(MAPPING.measurements)
    for _ in range(3):
        deliver(receiver, sent(sender, 'LinePressures', pressures))
    assert {key: receiver.values[key] for key in pressures} == pytest.approx(pressures)


def test_j1939_matches_parameter_group_and_source_at_any_priority():
    frame = sent(Sender(MAPPING.frames), 'LinePressures', {})
    receiver = Receiver(MAPPING.frames)
    low_priority = frame.identifier & 0x3FFFFFF | 7 << 26
    assert receiver.frame_of(low_priority, True) is FRAMES['LinePressures']
    assert receiver.frame_of(low_priority ^ 1, True) is None, 'another control unit'
    assert receiver.frame_of(frame.identifier & 0x7FF, False) is None
    assert (parameter_group(0x18EF2113), destination(0x18EF2113)) == (0xEF00, 0x21)
    assert (parameter_group(0x18FF2113), destination(0x18FF2113)) == (0xFF21, None)


@pytest.mark.parametrize(
    ('bits', 'greatest'), [(1, 1), (2, 0b01), (3, 0b101), (4, 0b1101), (7, 125), (8, 0xFA), (10, 0x3EB), (16, 0xFAFF)]
)
def test_error_and_not_available_of_any_width_are_no_measurements_of_j1939(bits, greatest):
    signal = SimpleNamespace(length=bits, is_signed=False)
    assert raw_limits(signal, is_j1939=True) == (0, greatest)
    assert raw_limits(signal, is_j1939=False) == (0, 2**bits - 1)


def test_not_available_is_no_pressure():
    receiver = Receiver(MAPPING.frames)
    assert deliver(receiver, sent(Sender(MAPPING.frames), 'LinePressures', {})) is None
    assert 'expected a measurement, found raw 0xFFFF' in receiver.last['LinePressures']
    assert not receiver.values


def test_a_frozen_counter_makes_signals_stale_and_is_named():
    receiver, frame = Receiver([FRAMES['JointPositions']]), sent(Sender(MAPPING.frames), 'JointPositions', POSTURE)
    assert deliver(receiver, frame, 0.0)
    assert receiver.fault(0.1) == ''
    for k in range(1, 11):
        assert deliver(receiver, frame, 0.01 * k) is None
    assert 'stale: JointPositions.SwingAngle' in receiver.fault(0.101)
    assert 'PositionsAlive: expected a count' in receiver.fault(0.101)


def test_lost_frames_are_counted_and_the_next_one_is_used():
    receiver, sender = Receiver(MAPPING.frames), Sender(MAPPING.frames)
    frames = [sent(sender, 'JointPositions', POSTURE) for _ in range(5)]
    assert deliver(receiver, frames[0])
    assert deliver(receiver, frames[4])
    assert receiver.rejected['JointPositions: lost frames'] == 3


@given(byte=st.integers(0, 6), flip=st.integers(1, 255))
@settings(deadline=None)
def test_a_damaged_byte_fails_the_checksum(byte, flip):
    receiver, frame = Receiver(MAPPING.frames), sent(Sender(MAPPING.frames), 'ValveCommands', commands(2.0))
    data = bytearray(frame.data)
    data[byte] ^= flip
    assert receiver.take(frame.identifier, frame.extended, bytes(data), 0.0) is None
    assert receiver.rejected == {'ValveCommands: checksum': 1}


def commands(volts):
    return {('command', name): volts for name in ('boom', 'stick', 'swing')}


def test_swapped_bytes_without_checksum_that_exceed_the_bounds_are_rejected(tmp_path):
    old = '{counter: PositionsAlive, checksum: PositionsCheck}'
    mapping, _ = load_mapping(changed(tmp_path, 'log_loader.yaml', old, '{counter: PositionsAlive}'))
    frame = next(frame for frame in mapping.frames if frame.name == 'JointPositions')
    boom = next(channel for channel in frame.channels if channel.name == 'boom_joint')
    posture = {**POSTURE, boom.key: boom.value(2000.0)}  # raw 0x9C40
    raw = Sender(mapping.frames).encode(frame, posture)
    data = bytearray(raw.data)
    data[2], data[3] = data[3], data[2]
    receiver = Receiver(mapping.frames)
    assert receiver.take(raw.identifier, raw.extended, bytes(data), 0.0) is None
    assert 'JointPositions.BoomLength: expected' in receiver.last['JointPositions']


def test_an_offset_of_a_joint_is_added_behind_the_linkage_and_taken_off_before_it(tmp_path):
    old = 'JointPositions.BoomLength, measures: cylinder_length,'
    mapping, warnings = load_mapping(changed(tmp_path, 'log_loader.yaml', old, f'{old} joint_offset: 0.02,'))
    boom, receiver = ('position', 'boom_joint'), Receiver(mapping.frames)
    assert warnings == ()
    assert deliver(receiver, sent(Sender(MAPPING.frames), 'JointPositions', {**POSTURE, boom: 0.5}))
    assert receiver.values[boom] == pytest.approx(0.52, abs=1e-4)
    frame, again = (
        next(frame for frame in mapping.frames if frame.name == 'JointPositions'),
        Receiver(mapping.frames),
    )
    assert deliver(again, Sender(mapping.frames).encode(frame, {**POSTURE, boom: 0.5}))
    assert again.values[boom] == pytest.approx(0.5, abs=1e-4)


def test_values_beyond_the_range_of_a_signal_saturate_and_are_counted():
    sender = Sender(MAPPING.frames)
    receiver = Receiver(MAPPING.frames)
    deliver(receiver, sent(sender, 'WheelLoads', {c.key: 1e6 for c in FRAMES['WheelLoads'].channels}))
    assert receiver.values['wheel_load', 'rear_left'] == pytest.approx(655350.0)
    assert sender.saturated['wheel_load rear_left'] == 1


def test_nothing_is_sent_while_a_measurement_is_unknown():
    assert sent(Sender(MAPPING.frames), 'JointPositions', {('position', 'swing_joint'): 0.0}) is None
    assert sent(Sender(MAPPING.frames), 'JointVelocities', {('velocity', 'swing_joint'): math.nan}) is None


def test_a_filter_smooths_and_starts_anew_after_a_gap(tmp_path):
    old = 'JointPositions.SwingAngle, max_rate: 3.0}'
    mapping, _ = load_mapping(changed(tmp_path, 'log_loader.yaml', old, 'JointPositions.SwingAngle, filter: 0.02}'))
    frame = next(frame for frame in mapping.frames if frame.name == 'JointPositions')
    receiver, sender = Receiver(mapping.frames), Sender(mapping.frames)
    key = 'position', 'swing_joint'
    for now, swing, expected in ((0.0, 0.0, 0.0), (0.02, 1.0, 1 - math.exp(-1.0)), (0.5, 0.2, 0.2)):
        raw = sender.encode(frame, {**POSTURE, key: swing})
        assert receiver.take(raw.identifier, raw.extended, raw.data, now)
        assert receiver.values[key] == pytest.approx(expected, abs=1e-3)


def swings(receiver, sender, times, angles):
    """Deliver positions; return for each whether it was used."""
    frames = (sent(sender, 'JointPositions', {**POSTURE, ('position', 'swing_joint'): angle}) for angle in angles)
    return [deliver(receiver, frame, now) is not None for frame, now in zip(frames, times)]


def test_a_jump_makes_its_signal_stale_at_once_and_until_nothing_jumps_for_one_timeout():
    receiver, sender = Receiver([FRAMES['JointPositions']]), Sender(MAPPING.frames)
    assert swings(receiver, sender, (0.0, 0.01), (0.3, 0.32)) == [True, True], '2 rad/s'
    assert swings(receiver, sender, (0.02,), (0.36,)) == [False], '4 rad/s'
    assert 'stale: JointPositions.SwingAngle' in receiver.fault(0.02)
    assert 'found a jump of 0.04' in receiver.fault(0.02)
    times = [0.01 * k for k in range(3, 12)]
    assert not any(swings(receiver, sender, times, [0.36] * 9))
    assert swings(receiver, sender, (0.1201,), (0.36,)) == [True]
    assert receiver.fault(0.1201) == ''


def test_frames_delayed_by_an_adapter_are_no_jump_and_not_too_many():
    receiver, sender = Receiver([FRAMES['JointPositions']]), Sender(MAPPING.frames)
    angles = [0.025 * k for k in range(40)]
    assert all(swings(receiver, sender, [0.09 * (1 + k // 9) for k in range(40)], angles))


def test_a_gap_allows_the_motion_of_its_time():
    receiver, sender = Receiver([FRAMES['JointPositions']]), Sender(MAPPING.frames)
    assert swings(receiver, sender, (0.0, 0.08), (0.0, 0.23)) == [True, True]
    assert swings(receiver, sender, (0.16,), (0.48,)) == [False]


def test_a_message_far_above_its_rate_is_rejected_until_it_keeps_its_period():
    receiver, sender = Receiver([FRAMES['WheelLoads']]), Sender(MAPPING.frames)
    loads = {channel.key: 5e4 for channel in FRAMES['WheelLoads'].channels}
    for k in range(400):  # every ms instead of every 50 ms
        deliver(receiver, sent(sender, 'WheelLoads', loads), 1e-3 * k)
    assert 'WheelLoads: expected a frame every 0.05 s, found more than 1.5 times as many' in receiver.fault(0.4)
    for k in range(10):
        deliver(receiver, sent(sender, 'WheelLoads', loads), 0.45 + 0.05 * k)
    assert receiver.fault(0.9) == ''


def doubled(name, steps, between=1):
    """Return the receiver of a message of two senders at its period, `between` counts apart, and the detection time."""
    frame, first = FRAMES[name], Sender(MAPPING.frames)
    receiver, second = Receiver([frame]), Sender(MAPPING.frames)
    values = {**POSTURE, **{channel.key: POSTURE.get(channel.key, 0.0) for channel in frame.channels}}
    for _ in range(between):
        sent(second, name, values)
    for k in range(steps):
        for sender, later in ((first, 0.0), (second, 0.4)):
            now = (k + later) * frame.period
            deliver(receiver, sent(sender, name, values), now)
            if k and 'a second sender' in receiver.fault(now):
                return receiver, now
    return receiver, math.inf


@pytest.mark.parametrize('between', range(2, 16))
def test_two_alternating_counters_are_detected_within_five_cycles(between):
    receiver, noticed = doubled('JointPositions', 100, between)
    assert noticed <= 0.05
    assert 'JointPositions.PositionsAlive: expected one count, found two interleaved counts' in receiver.fault(noticed)


@pytest.mark.parametrize(('name', 'between'), [('JointPositions', 0), ('JointPositions', 1), ('ImuRates', 0)])
def test_a_second_sender_with_the_same_counter_or_none_is_detected_by_its_rate_within_half_a_second(name, between):
    receiver, noticed = doubled(name, 100, between)
    assert noticed <= 0.5
    assert f'{name}: expected a frame every 0.01 s, found more than 1.5 times as many' in receiver.fault(noticed)


@given(lost=st.lists(st.booleans(), min_size=50, max_size=200), held=st.lists(st.integers(0, 19), max_size=20))
@settings(deadline=None)
def test_frames_lost_or_delayed_by_0_2_s_have_one_sender(lost, held):
    """At least one of five successive frames arrives."""
    receiver, sender = Receiver([FRAMES['JointPositions']]), Sender(MAPPING.frames)
    begins = {sum(held[:k]) + 20 * k: length for k, length in enumerate(held)}
    until = 0.0
    for k, is_lost in enumerate(lost):
        now = 0.01 * k
        until = max(until, now + 0.01 * begins.get(k, 0))
        frame = sent(sender, 'JointPositions', POSTURE)
        if not is_lost or k % 5 == 0:
            deliver(receiver, frame, max(now, until))
        assert 'a second sender' not in receiver.fault(max(now, until))


def test_an_identifier_that_floods_the_bus_is_named_for_a_second():
    receiver = Receiver(MAPPING.frames)
    for k in range(1500):
        receiver.take(0x700 + k % 2, False, b'', 1e-3 * k)
    assert receiver.others.flood(1.5) == '', 'each every 2 ms'
    for k in range(200):
        receiver.take(3, False, b'', 2.0 + 5e-4 * k)
    assert 'identifier 0x3,' in receiver.others.flood(2.1)
    assert receiver.others.flood(3.2) == ''


def test_j1939_frames_for_another_control_unit_are_ignored(tmp_path):
    """A group with a destination: the same unit may also send it to the valves of the machine."""
    commands = load_mapping(with_j1939_commands(tmp_path, 0x18EF2027))[0].commands
    receiver = Receiver(commands)
    (frame,) = commands
    assert receiver.frame_of(0x0CEF2027, True) is frame
    assert receiver.frame_of(0x18EFFF27, True) is frame, 'for all control units'
    assert receiver.frame_of(0x18EF2127, True) is None
