"""Faults of a bus: stale within the timeout of 0.1 s, neutral and shadow, named on /diagnostics; nothing dies."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('cantools')
pytest.importorskip('can')

import can
from can_testing import Volts, Wires, arm_and_command, ask, bridge_on, mapping_in, run
from node_testing import statuses
from serial import SerialTimeoutException

from dyn_nodes.can.sender import Sender
from dyn_nodes.nodes.can_bus import Received

SWING = 'position', 'swing_joint'
TIMEOUT, TURN = 0.1, 0.005
"""Of the mapping, and between two turns of a node, s."""


@pytest.fixture
def setup(context, request, tmp_path, held):
    """An armed bridge with a command; the messages of positions have neither counter nor checksum for swapped bytes."""
    path = mapping_in(tmp_path)
    callspec = getattr(request.node, 'callspec', None)
    if callspec is not None and callspec.params.get('fault') is swapped_bytes:
        old = '  JointPositions: {counter: PositionsAlive, checksum: PositionsCheck}\n'
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, ''))
    wires, node = Wires(request.node.name, held, path), bridge_on(context, request.node.name, path, 30.0)
    arm_and_command(node, wires)
    yield node, wires
    node.destroy_node()
    wires.bus.shutdown()


def resent(frame, identifier=None, extended=False):
    return can.Message(
        arbitration_id=frame[0] if identifier is None else identifier, is_extended_id=extended, data=frame[2]
    )


def positions(wires):
    """Return the next frame of joint positions as a good machine would send it."""
    frame = next(entry for entry in wires.mapping.measurements if entry.name == 'JointPositions')
    return wires.sender.encode(frame, wires.values)


class Frozen:
    """The same frame again and again."""

    def __init__(self, wires):
        self.wires, self.frame = wires, positions(wires)

    def __call__(self):
        self.wires.measure('JointPositions')
        self.wires.bus.send(resent(self.frame))


def cable_out(wires):
    return lambda: None


def wrong_checksum(wires):
    def send():
        wires.measure('JointPositions')
        frame = positions(wires)
        frame = frame._replace(data=frame.data[:7] + bytes([frame.data[7] ^ 0x55]))
        wires.bus.send(resent(frame))

    return send


def bus_off(wires):
    return lambda: wires.bus.send(can.Message(arbitration_id=0x40, is_error_frame=True))


def babbling_about_positions(wires):
    def send():
        wires.measure()
        for _ in range(60):
            wires.bus.send(resent(positions(wires)))

    return send


def babbling_above_all(wires):
    """Identifier 0 wins every arbitration: no other frame is received."""

    def send():
        for _ in range(150):
            wires.bus.send(can.Message(arbitration_id=0, is_extended_id=False, data=b'\0'))

    return send


def swapped_bytes(wires):
    """In some frames: bytes swapped in all of them are a constant value."""
    turns = itertools.count(40)

    def send():
        wires.measure('JointPositions')
        data = positions(wires).data
        head = data[1::-1] if next(turns) // 40 % 2 else data[:2]
        wires.bus.send(resent((0x100, False, head + data[2:])))

    return send


def jump(wires):
    """To and fro: a single jump is like a new position after a timeout."""
    start, turns = wires.values[SWING], itertools.count(40)

    def send():
        wires.values[SWING] = start + 0.2 * (next(turns) // 40 % 2)
        wires.measure()

    return send


def doubled(*skipped):
    """Return a fault: a second unit sends the same messages, with another counter and a correct checksum."""

    def fault(wires):
        second = Sender(wires.mapping.measurements)
        for _ in range(7):
            positions(wires)

        def send():
            due = dict(wires.due)
            wires.measure()
            for frame in wires.mapping.measurements:
                if frame.name in skipped and wires.due[frame.name] != due[frame.name]:
                    wires.bus.send(resent(second.encode(frame, wires.values), extended=frame.is_j1939))

        return send

    return fault


second_positions, second_imu = doubled('JointPositions'), doubled('ImuRates')


def second_controller(wires):
    """Another unit starts to send the commands of the bridge; its counter is constant."""
    (frame,) = wires.mapping.commands
    command = Sender((frame,)).encode(frame, {channel.key: 0.0 for channel in frame.channels})

    def send():
        wires.measure()
        wires.bus.send(resent(command))

    return send


FAULTS = [
    (cable_out, 'signals', 'stale: JointPositions.SwingAngle'),
    (Frozen, 'signals', 'JointPositions.PositionsAlive: expected a count'),
    (wrong_checksum, 'signals', 'JointPositions.PositionsCheck: expected 0x'),
    (bus_off, 'bus', 'bus off'),
    (babbling_about_positions, 'signals', 'JointPositions: expected a frame every 0.01 s'),
    (babbling_above_all, 'bus', 'identifier 0x0, not in the mapping'),
    (swapped_bytes, 'signals', 'JointPositions.SwingAngle: expected a change'),
    (jump, 'signals', 'JointPositions.SwingAngle: expected a change of at most'),
    (second_positions, 'signals', 'JointPositions.PositionsAlive: expected one count, found two interleaved counts'),
    (second_imu, 'signals', 'ImuRates: expected a frame every 0.01 s, found more than 1.5 times as many'),
    (second_controller, 'state', 'shadow: another control unit sends ValveCommands'),
]


OF_THE_PAGE = {
    'cable out': (cable_out,),
    'bus off': (bus_off,),
    'frozen alive counter': (Frozen,),
    'wrong checksum': (wrong_checksum,),
    'a control unit that babbles': (babbling_about_positions, babbling_above_all),
    'swapped bytes': (swapped_bytes,),
    'a value that jumps': (jump,),
    'a second sender of measurements': (second_positions, second_imu),
    'a second controller': (second_controller,),
}
"""Faults by their names in the table of docs/how_to/can.md."""


def test_every_fault_of_the_page_is_tried():
    page = Path(__file__).resolve().parents[2].joinpath('docs/how_to/can.md').read_text()
    table = page.partition('| fault |')[2].partition('\n\n')[0].splitlines()[2:]
    names = [name.strip() for row in table for name in row.split('|')[1].split(',')]
    assert names == list(OF_THE_PAGE)
    tried = [fault for fault, _, _ in FAULTS]
    assert {fault for faults in OF_THE_PAGE.values() for fault in faults} == set(tried)


@pytest.mark.parametrize(('fault', 'subject', 'text'), FAULTS)
def test_a_fault_on_the_bus_disarms_within_its_timeout_and_is_named(setup, fault, subject, text):
    node, wires = setup
    send, messages, start = fault(wires), node.diagnostics.publisher.messages, wires.time.now
    before, texts = len(messages), []
    while node.arming.state != 'shadow' or not any(text in message for message in texts):
        assert wires.time.now < start + 3.0, texts
        send()
        node.receive('valve_commands', Volts(data=[1.0, 0.0, 0.0]))
        wires.time.pass_by(TURN, node)
        node.run_cycle()
        texts = [statuses(array)[subject].message for array in messages[before:]]
    assert node.arming._left - node.receiver.received_at[SWING] <= TIMEOUT + 1.01 * TURN, 'within one run of the node'
    assert statuses(messages[-1])['state'].message.startswith('shadow: ')
    wires.volts()
    wires.time.pass_by(0.1, node)
    assert wires.volts() == 0.0


@pytest.mark.parametrize('asks', [False, True])
def test_a_bus_off_between_two_checks_disarms_too(setup, asks):
    node, wires = setup
    bus_off(wires)()
    wires.bus.send(resent(positions(wires)))
    wires.time.pass_by(TURN, node)
    assert node.bus.fault == '', 'a frame has come since'
    if asks:
        ask(node, 'arm')
    node.run_cycle()
    assert node.state_out.last.data == 'shadow: bus off'
    run(node, wires, 0.3, command=0.0)
    assert ask(node, 'arm').success, 'the fault of before counts once'


def test_a_frame_that_the_bus_did_not_take_disarms_although_it_took_the_next_one(setup, monkeypatch):
    node, wires = setup

    def fail(*_, **__):
        raise OSError('no buffer space available')

    with monkeypatch.context() as patch:
        patch.setattr(node.bus._bus, 'send', fail)
        wires.time.pass_by(0.02, node)
    wires.time.pass_by(0.02, node)
    assert node.bus.send_fault == '', 'a frame has gone out since'
    node.run_cycle()
    assert node.state_out.last.data == 'shadow: the bus cannot be written: no buffer space available'


@pytest.mark.parametrize('delay', [0.05, 0.09, 0.15])
def test_a_computer_that_does_something_else_for_a_while_misses_no_frame_and_disarms_nothing(setup, delay):
    """The frames have come, and wait to be read: threads of a node are delayed by 50 ms at a load of 40."""
    node, wires = setup
    dice = random.Random(5)
    for _ in range(60):
        for _ in range(round(delay / TURN)):
            wires.measure()
            wires.time.now += TURN
            if dice.random() < 0.3:  # one thread may be delayed, and the other not
                node.run_cycle()
        node.run_cycle()
        assert node.arming.state == 'limit', node.arming.reason
        wires.time.pass_by(0.0, node)
        node.run_cycle()
        run(node, wires, 0.03, command=1.0)
        assert node.arming.state == 'limit', node.arming.reason


def test_a_bus_that_is_not_read_at_all_disarms(setup):
    node, wires = setup
    for _ in range(50):
        wires.measure()
        wires.time.now += TURN
        node.run_cycle()
    assert node.state_out.last.data == 'shadow: the bus was not read for 0.2 s'


def test_one_write_that_was_not_done_in_time_is_of_a_busy_computer_and_two_in_a_row_are_a_fault(setup, monkeypatch):
    """pyserial raises after 50 ms by the clock, also where the computer did something else once all was written."""
    node, wires = setup

    def late(*_, **__):
        raise can.CanOperationError('Could not write to serial device') from SerialTimeoutException('Write timeout')

    def write(is_late):
        with monkeypatch.context() as patch:
            if is_late:
                patch.setattr(node.bus._bus, 'send', late)
            wires.measure()
            wires.time.pass_by(0.02, node)
        node.run_cycle()

    for _ in range(20):
        write(True)
        write(False)
    assert (node.arming.state, node.bus.send_fault) == ('limit', '')
    write(True)
    write(True)
    assert node.state_out.last.data == 'shadow: the bus cannot be written: Could not write to serial device'


def test_of_two_bridges_that_are_armed_at_once_neither_commands_and_one_alone_may_again(context, request, held):
    wires = Wires(request.node.name, held)
    first, second = bridges = [bridge_on(context, request.node.name) for _ in range(2)]

    def live(seconds):
        for _ in range(round(seconds / TURN)):
            wires.measure()
            held.pass_by(TURN, *bridges)
            for bridge in bridges:
                bridge.run_cycle()

    try:
        live(0.25)
        assert all(ask(bridge, 'arm').success for bridge in bridges)
        live(0.1)
        texts = {bridge.state_out.last.data for bridge in bridges}
        assert texts == {'shadow: another control unit sends ValveCommands'}
        assert 'another control unit sends ValveCommands' in ask(first, 'arm').message
        live(2.0)
        assert ask(first, 'arm').success
        assert first.state_out.last.data == 'limit'
        live(0.1)
        assert 'another control unit' in ask(second, 'arm').message
    finally:
        for bridge in bridges:
            bridge.destroy_node()
        wires.bus.shutdown()


def test_after_a_jump_the_new_value_counts_when_it_has_kept_still_for_one_timeout(setup):
    node, wires = setup
    wires.values[SWING] += 0.2
    run(node, wires, 0.05)
    assert node.receiver.values[SWING] == pytest.approx(0.4, abs=1e-3), 'the last good one'
    run(node, wires, 0.3)
    assert node.receiver.values[SWING] == pytest.approx(0.6, abs=1e-3)
    assert node.fault() == ''
    assert node.arming.state == 'shadow'
    assert ask(node, 'arm').success


def test_a_hundred_thousand_random_frames_end_nothing_and_give_no_value_out_of_bounds(setup):
    node, wires = setup
    dice, fast = random.Random(17), 1e-4
    frames = [(entry.message.frame_id, entry.message.is_extended_frame) for entry in wires.mapping.frames]
    bounds = {entry.key: entry for frame in wires.mapping.measurements for entry in frame.channels}
    start = wires.time.now
    for k in range(100_000):
        identifier, extended = dice.choice(frames) if dice.random() < 0.8 else (dice.getrandbits(29), True)
        data = dice.randbytes(dice.choice((8, 8, 8, 6, 0, 3, 64)))
        node.bus.received.append(Received(identifier, extended, data, start + fast * k))
        if k % 500 == 499:
            node.run_cycle()
            values = node.receiver.values
            assert all(entry.lower <= values[key] <= entry.upper for key, entry in bounds.items() if key in values)
    counts = node.receiver.rejected
    assert node.receiver.passed_over > 10_000
    kinds = ('checksum', 'wrong size', 'implausible', 'out of range')
    assert all(any(name.endswith(kind) for name in counts) for kind in kinds), counts
    assert node.arming.state == 'shadow'
    assert all(np.isfinite(list(node.receiver.values.values())))
    assert node.bus.fault == ''
