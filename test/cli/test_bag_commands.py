"""Tests of `dyn-nodes bag` in separate processes."""

from __future__ import annotations

import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from domains import next_domain
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_typestore
from timeouts import scaled_timeout

from dyn_nodes.cli import main
from dyn_nodes.commands import bag_play
from dyn_nodes.middleware import message_definition, type_hash
from dyn_nodes.middleware.bags import BagWriter, QosRecord, Topic

ROOT = Path(__file__).resolve().parents[2]
DOMAIN = str(next_domain())
STORE = get_typestore(Stores.ROS2_JAZZY)
START = 1_700_000_000_000_000_000
LATCHED = QosRecord('keep_last', 1, 'reliable', 'transient_local')
BEST_EFFORT = QosRecord('keep_last', 5, 'best_effort', 'volatile')
RELIABLE = QosRecord('keep_last', 10, 'reliable', 'volatile')
TOPICS = {
    '/robot_description': ('std_msgs/msg/String', LATCHED),
    '/joint_states': ('sensor_msgs/msg/JointState', RELIABLE),
    '/load': ('std_msgs/msg/Float64', BEST_EFFORT),
    '/clock': ('rosgraph_msgs/msg/Clock', RELIABLE),
}


@pytest.fixture
def dyn_nodes() -> Iterator[Callable[..., subprocess.Popen]]:
    """Yield a function that starts the command; kill running processes at the end."""
    started: list[subprocess.Popen] = []
    environment = {**os.environ, 'ROS_DOMAIN_ID': DOMAIN, 'PYTHONPATH': str(ROOT), 'PYTHONUNBUFFERED': '1'}

    def start(*args: str) -> subprocess.Popen:
        started.append(
            subprocess.Popen(
                [sys.executable, '-m', 'dyn_nodes.cli', *args],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
            )
        )  # fmt: skip
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def finish(process: subprocess.Popen, number: int | None = None, status: int = 0) -> str:
    """Return standard output, or standard error after a failure."""
    if number is not None:
        process.send_signal(number)
    output, errors = process.communicate(timeout=scaled_timeout(120))
    assert 'Traceback' not in errors, errors
    assert process.returncode == status, (output, errors)
    return output if status == 0 else errors


def encoded(topic: str, number: int) -> bytes:
    """Return the number-th message of a topic as CDR."""
    types = STORE.types
    if topic == '/robot_description':
        return STORE.serialize_cdr(types['std_msgs/msg/String']('<robot/>'), 'std_msgs/msg/String')
    if topic == '/load':
        return STORE.serialize_cdr(types['std_msgs/msg/Float64'](float(number)), 'std_msgs/msg/Float64')
    stamp = types['builtin_interfaces/msg/Time'](*divmod(number * 5_000_000, 10**9))
    if topic == '/clock':
        return STORE.serialize_cdr(types['rosgraph_msgs/msg/Clock'](stamp), 'rosgraph_msgs/msg/Clock')
    import numpy as np

    kind = 'sensor_msgs/msg/JointState'
    header = types['std_msgs/msg/Header'](stamp, '')
    values = np.array([0.1 * number])
    return STORE.serialize_cdr(types[kind](header, ['boom'], values, values, values), kind)


def write_bag(directory: Path, without: str = '', start: int = START, storage: str = 'mcap') -> Path:
    """Write a bag of 2 s: 400 joint states, 40 loads, 200 clocks, one description; one topic may be left out."""
    writer = BagWriter(directory, storage)
    numbers = {
        name: writer.add_topic(Topic(name, kind, message_definition(kind), type_hash(kind), (qos,)))
        for name, (kind, qos) in TOPICS.items()
        if name != without
    }
    entries = [(numbers['/robot_description'], start, start, encoded('/robot_description', 0))]
    for k in range(400):
        at = start + k * 5_000_000
        topics = ['/joint_states', *(['/load'] if k % 10 == 0 else []), *(['/clock'] if k % 2 == 0 else [])]
        entries += [(numbers[topic], at, at, encoded(topic, k)) for topic in topics if topic in numbers]
    writer.checkpoint(entries)
    writer.close()
    return writer.directory


@pytest.fixture
def bag(tmp_path: Path) -> Path:
    return write_bag(tmp_path / 'bag')


def content(path: Path) -> dict[str, list[bytes]]:
    result: dict[str, list[bytes]] = {}
    with Reader(path) as reader:
        for connection, _, data in reader.messages():
            padding = bytes(-len(data) % 4)  # DDS pads messages to words of four bytes
            result.setdefault(connection.topic, []).append(bytes(data) + padding)
    return result


def test_a_played_bag_is_recorded_with_the_same_messages(dyn_nodes: Callable, bag: Path, tmp_path: Path) -> None:
    again = tmp_path / 'again'
    record = dyn_nodes('bag', 'record', '-o', str(again), '--exclude', '/rosout', '/parameter_events', '/diagnostics')
    assert 'recording to' in record.stderr.readline()
    started = time.monotonic()
    output = finish(dyn_nodes('bag', 'play', str(bag), '--rate', '2', '--wait-for-subscribers'))
    assert time.monotonic() - started > 1.0
    assert output == '641 messages on 4 topics\n'
    finish(record, signal.SIGINT)
    assert content(again) == content(bag)
    with Reader(again) as reader:
        qos = {item.topic: item.ext.offered_qos_profiles[0] for item in reader.connections}
    assert qos['/robot_description'].durability.name == 'TRANSIENT_LOCAL'
    assert qos['/load'].reliability.name == 'BEST_EFFORT'
    assert qos['/joint_states'].reliability.name == 'RELIABLE'
    assert '/joint_states | Type: sensor_msgs/msg/JointState | Count: 400' in finish(
        dyn_nodes('bag', 'info', str(again))
    )


def test_a_part_of_a_bag_is_played_with_its_clock(dyn_nodes: Callable, bag: Path, tmp_path: Path) -> None:
    again = tmp_path / 'again'
    topics = ['/joint_states', '/renamed', '/clock']
    record = dyn_nodes('bag', 'record', '-o', str(again), '--use-sim-time', '-s', 'sqlite3', *topics)
    assert 'recording to' in record.stderr.readline()
    play = dyn_nodes(
        'bag', 'play', str(bag), '--clock', '100', '--topics', '/joint*', '/load', '--remap', '/load:=/renamed',
        '--start-offset', '0.5', '--playback-duration', '1.0', '--wait-for-subscribers',
    )  # fmt: skip
    assert finish(play) == '220 messages on 2 topics\n'
    finish(record, signal.SIGINT)
    whole, part = content(bag), content(again)
    assert part['/joint_states'] == whole['/joint_states'][100:300]
    assert part['/renamed'] == whole['/load'][10:30]
    assert 90 <= len(part['/clock']) <= 101
    with Reader(again) as reader:
        times = [at for item, at, _ in reader.messages() if item.topic == '/joint_states']
    assert times == [START + k * 5_000_000 for k in range(100, 300)]


def test_ctrl_c_ends_a_loop_without_output(dyn_nodes: Callable, bag: Path) -> None:
    play = dyn_nodes('bag', 'play', str(bag), '--loop', '--rate', '20', '--topics', '/load')
    echo = dyn_nodes('topic', 'echo', '/load', 'std_msgs/msg/Float64', '--csv')
    values = [float(echo.stdout.readline()) for _ in range(100)]
    assert any(later < earlier for earlier, later in itertools.pairwise(values))
    play.send_signal(signal.SIGINT)
    output, errors = play.communicate(timeout=scaled_timeout(20))
    assert (play.returncode, output, errors) == (130, '', '')


@pytest.mark.parametrize(
    ('arguments', 'part', 'status'),
    [
        (['play', 'no_bag'], 'no_bag: expected a bag directory or file, found nothing', 1),
        (['play', 'BAG', '--rate', '0'], '--rate: expected more than 0', 2),
        (['play', 'BAG', '--clock', 'inf'], '--clock: expected more than 0 and at most 1e+06, found inf', 2),
        (['play', 'BAG', '--start-offset', 'nan'], '--start-offset: expected 0 to 4e+09', 2),
        (['play', 'BAG', '--delay', 'inf'], '--delay: expected 0 to 4e+09, found inf', 2),
        (['play', 'BAG', '--topics', '/nothing'], 'expected a topic to play, found /clock, /joint_states', 1),
        (['play', 'BAG', '--remap', 'a=b'], "--remap: expected OLD:=NEW, found 'a=b'", 2),
        (['play', 'BAG', '--wait-for-subscribers', '0.2'], 'no node subscribed within 0.2 s to /clock', 1),
        (['record', '-a', '/load'], '--all: expected no names', 2),
    ],
)
def test_a_mistake_is_reported_in_one_line(
    bag: Path, arguments: list[str], part: str, status: int, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv('ROS_DOMAIN_ID', DOMAIN)
    words = [str(bag) if word == 'BAG' else word for word in arguments]
    assert main(['bag', *words]) == status
    errors = capsys.readouterr().err
    assert part in errors
    assert len(errors.splitlines()) == 1


@pytest.mark.parametrize('lacking', ['first', 'second'])
def test_compare_reports_a_topic_that_one_bag_lacks(bag: Path, tmp_path: Path, lacking: str, capsys: Any) -> None:
    other = write_bag(tmp_path / 'other', without='/load')
    bags = [bag, other] if lacking == 'second' else [other, bag]
    assert main(['bag', 'compare', *map(str, bags)]) == 1
    output, errors = capsys.readouterr()
    at = f'{START * 1e-9:.9f} s'
    counts, times = ('40 and 0', f'{at} and nothing') if lacking == 'second' else ('0 and 40', f'nothing and {at}')
    assert output == f'/load: {counts} messages; the first difference is message 0, at {times}\n'
    assert errors == ''


def test_compare_reports_the_same_messages_in_different_files(bag: Path, tmp_path: Path, capsys: Any) -> None:
    other = write_bag(tmp_path / 'other', storage='sqlite3')
    assert main(['bag', 'compare', str(bag), str(other)]) == 1
    assert capsys.readouterr().out == 'the same 641 messages on 4 topics, but the files differ\n'


BEYOND = 2_210_000_000 * 10**9
"""Start time in the year 2040, beyond the stamps of ROS 2, ns."""


def test_a_bag_recorded_after_2038_is_played_without_its_clock_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv('ROS_DOMAIN_ID', DOMAIN)
    bag = str(write_bag(tmp_path / 'later', start=BEYOND))
    assert main(['bag', 'play', bag, '--rate', '100']) == 0
    assert capsys.readouterr().out == '641 messages on 4 topics\n'
    assert main(['bag', 'info', bag]) == 0
    assert 'Start:             ' in capsys.readouterr().out
    assert main(['bag', 'play', bag, '--rate', '100', '--clock']) == 1
    limit = 'expected log times up to 2147483647 s, the latest that /clock can hold, found 2210000000 s'
    assert capsys.readouterr().err == f'dyn-nodes: {bag}: --clock: {limit}\n'


@pytest.mark.parametrize('verb', ['info', 'play'])
def test_negative_log_times_are_rejected_in_one_line(bag: Path, tmp_path: Path, verb: str, capsys: Any) -> None:
    other = write_bag(tmp_path / 'other', storage='sqlite3')
    database = sqlite3.connect(next(other.glob('*.db3')))
    database.execute('UPDATE messages SET timestamp = -5 WHERE id = 1')
    database.commit()
    database.close()
    assert main(['bag', verb, str(other)]) == 1
    assert capsys.readouterr().err.endswith('log time: expected 0 to 9223372036854775807 ns, found -5\n')


def test_a_pause_of_centuries_is_divided_into_short_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The longest sleep of the system is 292 years; a slow rate makes a bag of seconds longer."""
    now, slept, published = [0.0], [], []

    def sleep(seconds: float) -> None:
        assert seconds <= 86400.0
        slept.append(seconds)
        now[0] += 1e11  # so that the test ends

    monkeypatch.setattr(bag_play.time, 'sleep', sleep)
    monkeypatch.setattr(bag_play.time, 'monotonic', lambda: now[0])
    publisher = SimpleNamespace(publish=published.append)
    assert bag_play._run([(0, publisher, b'a'), (10**9, publisher, b'b')], 0, 1e-12, None) == 2
    assert published == [b'a', b'b']
    assert len(slept) == 10
