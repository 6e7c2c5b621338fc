"""The recorder as a process: its bag, also after it was killed."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import yaml
from domains import next_domain
from mcap.reader import make_reader
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_typestore
from timeouts import scaled_timeout

from dyn_nodes.middleware import RUNTIME
from dyn_nodes.middleware.bags import bag_summary
from dyn_nodes.nodes.recorder_node import LONGEST_LINGER

ROOT = Path(__file__).resolve().parents[2]
DOMAIN = str(next_domain())
STORE = get_typestore(Stores.ROS2_JAZZY)


def by_rosbags(bag: Path) -> Counter[str]:
    with Reader(bag) as reader:
        return Counter(connection.topic for connection, _, _ in reader.messages())


def by_mcap(bag: Path) -> Counter[str]:
    (file,) = bag.glob('*.mcap')
    with file.open('rb') as stream:
        return Counter(channel.topic for _, channel, _ in make_reader(stream, validate_crcs=True).iter_messages())


def messages(bag: Path, topic: str) -> list[tuple[int, bytes]]:
    with Reader(bag) as reader:
        connections = [c for c in reader.connections if c.topic == topic]
        return [(time, data) for _, time, data in reader.messages(connections)]


def positions(bag: Path, topic: str) -> list[float]:
    return [STORE.deserialize_cdr(data, 'sensor_msgs/msg/JointState').position[0] for _, data in messages(bag, topic)]


@pytest.fixture
def processes():
    """Start nodes in a separate domain, and end them."""
    started: list[subprocess.Popen] = []
    environment = {**os.environ, 'ROS_DOMAIN_ID': DOMAIN, 'PYTHONPATH': str(ROOT), 'PYTHONUNBUFFERED': '1'}

    def start(*command: str) -> subprocess.Popen:
        process = subprocess.Popen(
            [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def recorder(processes, tmp_path):
    numbers = itertools.count()

    def start(**parameters) -> tuple[subprocess.Popen, Path]:
        bag = tmp_path / f'run{next(numbers)}' / 'bag'
        words = ['-p', f'directory:={bag}']
        for name, value in parameters.items():
            words += ['-p', f'{name}:={value}']
        return processes('-m', 'dyn_nodes.nodes.recorder_node', '--ros-args', *words), bag

    return start


@pytest.fixture
def publisher(processes):
    def start(*arguments: str) -> subprocess.Popen:
        return processes(str(Path(__file__).parent / 'processes' / 'publisher.py'), *arguments)

    return start


def wait_for(process: subprocess.Popen, word: str) -> str:
    line = process.stdout.readline()
    assert line.startswith(word), (line, process.communicate())
    return line


def finish(process: subprocess.Popen, number: int = signal.SIGINT, status: int = 0) -> str:
    process.send_signal(number)
    _, errors = process.communicate(timeout=scaled_timeout(30))
    assert process.returncode == status, errors
    assert 'Traceback' not in errors
    return errors


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_everything_is_recorded_once_and_in_order(recorder, publisher, storage):
    source = publisher('source', '--topics', '3', '--rate', '400', '--seconds', '0.75', '--latched')
    wait_for(source, 'ready')
    process, bag = recorder(storage=storage)
    wait_for(source, 'started')
    wait_for(source, 'done 300')
    finish(process)
    counts = by_rosbags(bag)
    assert positions(bag, '/source/t1') == [float(k) for k in range(300)]
    assert counts['/source/t0'] == counts['/source/t2'] == 300
    assert counts['/source/latched'] == 1
    if storage == 'mcap':
        assert by_mcap(bag) == counts
    summary = bag_summary(bag)
    assert summary.finished
    assert {topic.name: topic.count for topic in summary.topics if topic.count} == counts
    assert [path.name for path in sorted(bag.iterdir())] == sorted([summary.files[0].name, 'metadata.yaml'])


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_a_recorder_that_gets_more_signals_while_it_closes_leaves_a_whole_bag_in_bounded_time(
    recorder, publisher, storage
):
    """SIGINT, then SIGTERM and SIGINT at random instants of the end, while messages arrive."""
    source = publisher('source', '--topics', '4', '--rate', '250', '--seconds', '60')
    wait_for(source, 'ready')
    running = [recorder(storage=storage, topics='["/source/*"]') for _ in range(3)]
    wait_for(source, 'started')
    deadline = time.monotonic() + scaled_timeout(30.0)
    while not all((bag / 'metadata.yaml').exists() and bag_summary(bag).message_count > 500 for _, bag in running):
        assert time.monotonic() < deadline, 'nothing is recorded'
        time.sleep(0.1)
    chance = random.Random(5)
    start = time.monotonic()
    signals = []
    for process, _ in running:
        process.send_signal(signal.SIGINT)
        numbers = [signal.SIGTERM, *chance.choices([signal.SIGINT, signal.SIGTERM], k=5)]
        signals += [(start + chance.uniform(0.0, LONGEST_LINGER + 0.2), process, number) for number in numbers]
    for at, process, number in sorted(signals, key=lambda each: each[0]):
        time.sleep(max(0.0, at - time.monotonic()))
        process.send_signal(number)
    for process, bag in running:
        _, errors = process.communicate(timeout=20)  # a launcher would kill it after 10 s
        assert process.returncode == 0, errors
        assert 'Traceback' not in errors
        assert 'messages recorded, 0 lost' in errors
        summary = bag_summary(bag)
        assert summary.finished
        assert sorted(path.name for path in bag.iterdir()) == sorted([summary.files[0].name, 'metadata.yaml'])
        counts = by_rosbags(bag)
        assert sum(counts.values()) == summary.message_count > 500
        for topic in counts:
            recorded = positions(bag, topic)
            assert recorded == [recorded[0] + k for k in range(len(recorded))], 'a gap'


def test_metadata_equals_that_of_rosbag2(recorder, publisher):
    source = publisher('source', '--topics', '1', '--rate', '100', '--seconds', '0.3', '--latched')
    process, bag = recorder()
    wait_for(source, 'ready')
    wait_for(source, 'started')
    wait_for(source, 'done')
    finish(process, signal.SIGTERM)
    information = yaml.safe_load((bag / 'metadata.yaml').read_text())['rosbag2_bagfile_information']
    assert information['version'] == 9
    assert information['storage_identifier'] == 'mcap'
    assert information['relative_file_paths'] == [f'{bag.name}_0.mcap']
    topics = {t['topic_metadata']['name']: t['topic_metadata'] for t in information['topics_with_message_count']}
    latched, state = topics['/source/latched'], topics['/source/t0']
    assert latched['offered_qos_profiles'][0]['durability'] == 'transient_local'
    assert state['offered_qos_profiles'][0]['durability'] == 'volatile'
    assert state['offered_qos_profiles'][0]['reliability'] == 'reliable'
    assert state['type'] == 'sensor_msgs/msg/JointState'
    assert state['type_description_hash'] == STORE.hash_rihs01('sensor_msgs/msg/JointState')
    (file,) = bag.glob('*.mcap')
    with file.open('rb') as stream:
        summary = make_reader(stream).get_summary()
        metadata = list(make_reader(stream).iter_metadata())
    schemas = {schema.name: schema for schema in summary.schemas.values()}
    definition = schemas['sensor_msgs/msg/JointState']
    assert definition.encoding == 'ros2msg'
    assert b'float64[] position' in definition.data
    assert b'\nMSG: std_msgs/Header\n' in definition.data
    assert [record.name for record in metadata] == ['rosbag2']
    with Reader(bag) as reader:
        assert reader.message_count == sum(by_mcap(bag).values()) == summary.statistics.message_count


def test_a_killed_recorder_leaves_all_but_the_last_second_to_both_readers(recorder, publisher):
    source = publisher('source', '--topics', '4', '--rate', '250', '--seconds', '20')
    wait_for(source, 'ready')
    process, bag = recorder()
    wait_for(source, 'started')
    time.sleep(2.5)
    process.kill()
    killed = time.time_ns()
    process.wait()
    counts = by_rosbags(bag)
    assert counts == by_mcap(bag)
    for k in range(4):
        recorded = positions(bag, f'/source/t{k}')
        assert recorded == [float(n) for n in range(len(recorded))], 'a gap'
        assert len(recorded) > 250
        last = messages(bag, f'/source/t{k}')[-1][0]
        assert killed - last < 1_000_000_000
    summary = bag_summary(bag)
    assert not summary.finished
    assert summary.message_count == sum(counts.values())
    information = yaml.safe_load((bag / 'metadata.yaml').read_text())['rosbag2_bagfile_information']
    assert information['message_count'] == summary.message_count


@pytest.mark.skipif(RUNTIME == 'rclpy', reason='source timestamps of rclpy are wall time: order varies')
def test_simulated_time_orders_two_publishers_and_gives_the_same_bag_twice(recorder, publisher):
    """The order of the messages of a step differs between runs; the bags do not."""
    runs = []
    for seed in ('1', '2'):
        process, bag = recorder(use_sim_time='true', topics='["/sim/*", "/clock"]')
        source = publisher('sim', '--sim', '--topics', '3', '--rate', '500', '--seconds', '0.6', '--jitter', seed)
        wait_for(source, 'ready')
        wait_for(source, 'started')
        wait_for(source, 'done 300')
        finish(process)
        source.kill()
        source.wait()
        runs.append(bag)
    first, second = runs
    assert by_rosbags(first) == {'/clock': 300, '/sim/t0': 300, '/sim/t1': 300, '/sim/t2': 300}

    def content(bag: Path) -> list[tuple]:
        (file,) = bag.glob('*.mcap')
        with file.open('rb') as stream:
            recorded = make_reader(stream).iter_messages(log_time_order=False)
            return [(c.topic, m.sequence, m.log_time, m.publish_time, m.data) for _, c, m in recorded]

    lines = content(first)
    assert lines == content(second)
    assert [line[2] for line in lines] == sorted(line[2] for line in lines)
    assert [line[0] for line in lines[4:8]] == ['/clock', '/sim/t0', '/sim/t1', '/sim/t2']
    assert lines[4][2] == 1_000_000, 'log time is the simulated time of publishing'
    for name in ('bag_0.mcap', 'metadata.yaml'):
        assert (first / name).read_bytes() == (second / name).read_bytes()
    assert by_mcap(first) == by_rosbags(first)


def test_a_later_publisher_with_weaker_qos_is_recorded_too(recorder, publisher):
    reliable = publisher('source', '--topics', '1', '--rate', '50', '--seconds', '30')
    wait_for(reliable, 'ready')
    process, bag = recorder(topics='["/source/t0"]')
    wait_for(reliable, 'started')
    weaker = publisher('source', '--topics', '1', '--rate', '100', '--seconds', '0.5', '--best-effort')
    wait_for(weaker, 'ready')
    wait_for(weaker, 'started')
    reliable.kill()
    time.sleep(1.2)
    wait_for(weaker, 'done 50')
    errors = finish(process)
    assert positions(bag, '/source/t0')[-1] == 49.0, errors


def test_topics_are_chosen_by_name_and_pattern(recorder, publisher):
    source = publisher('source', '--topics', '3', '--rate', '100', '--seconds', '0.5', '--latched')
    process, bag = recorder(topics='["/source/*"]', exclude='["/source/latched"]', max_duration='0.2')
    wait_for(source, 'ready')
    process.wait(scaled_timeout(30))
    assert process.returncode == 0, 'it ends by itself after max_duration'
    assert set(by_rosbags(bag)) == {'/source/t0', '/source/t1', '/source/t2'}
    assert bag_summary(bag).finished


@pytest.mark.parametrize(
    ('parameters', 'part'),
    [
        ({'storage': 'rosbag1'}, "parameter 'storage': expected one of mcap, sqlite3; found 'rosbag1'"),
        ({'directory': '/proc/bag'}, '/proc/bag: the bag directory cannot be created'),
        ({'directory': '/tmp'}, '/tmp: the bag directory exists; nothing is ever overwritten'),
        ({'max_duration': 'long'}, 'max_duration'),
    ],
)
def test_a_wrong_parameter_ends_it_with_one_line(recorder, parameters, part):
    process, _ = recorder(**parameters)
    _, errors = process.communicate(timeout=scaled_timeout(30))
    assert process.returncode == 1
    assert part in errors
    assert 'Traceback' not in errors


def test_diagnostics_report_the_recording(recorder, publisher):
    source = publisher('source', '--topics', '1', '--rate', '100', '--seconds', '1.6')
    wait_for(source, 'ready')
    process, bag = recorder()
    wait_for(source, 'started')
    wait_for(source, 'done')
    finish(process)
    arrays = [
        STORE.deserialize_cdr(data, 'diagnostic_msgs/msg/DiagnosticArray') for _, data in messages(bag, '/diagnostics')
    ]
    (status,) = arrays[-1].status
    values = {pair.key: pair.value for pair in status.values}
    assert status.name == 'recorder_node: recording'
    assert status.level == 0
    assert int(values['messages']) > 50
    assert values['dropped'] == '0'
    assert set(values) >= {'queue', 'rate', 'bytes', 'topics', 'late', 'directory'}


def test_five_thousand_messages_a_second_are_kept_at_well_under_one_core(recorder, publisher):
    source = publisher('source', '--topics', '10', '--rate', '500', '--seconds', '3')
    wait_for(source, 'ready')
    process, bag = recorder()

    def cpu_seconds() -> float:
        fields = Path(f'/proc/{process.pid}/stat').read_bytes().rpartition(b')')[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    wait_for(source, 'started')
    before, start = cpu_seconds(), time.monotonic()
    wait_for(source, 'done 1500')
    used = (cpu_seconds() - before) / (time.monotonic() - start)
    finish(process)
    counts = by_rosbags(bag)
    assert [counts[f'/source/t{k}'] for k in range(10)] == [1500] * 10
    assert used < 0.7
    print(f'recorder at 5000 messages/s: {100 * used:.0f} % of one core')


def test_a_launched_recorder_finishes_its_bag_when_the_launcher_is_killed(processes, publisher, tmp_path):
    file, bag = tmp_path / 'record.launch.xml', tmp_path / 'bag'
    file.write_text(
        '<launch><arg name="bag"/><node pkg="dyn_nodes" exec="recorder_node" name="recorder_node" output="screen">'
        '<param name="directory" value="$(var bag)"/></node></launch>'
    )
    source = publisher('source', '--topics', '1', '--rate', '100', '--seconds', '20')
    wait_for(source, 'ready')
    launcher = processes('-m', 'dyn_nodes.cli', 'launch', str(file), f'bag:={bag}')
    wait_for(source, 'started')
    time.sleep(0.5)
    launcher.kill()
    deadline = time.monotonic() + scaled_timeout(10)
    while time.monotonic() < deadline and not bag_summary(bag).finished:
        time.sleep(0.05)
    assert bag_summary(bag).finished
    recorded = positions(bag, '/source/t0')
    assert len(recorded) > 30
    assert recorded == [float(k) for k in range(len(recorded))]


def test_run_starts_a_node_and_passes_its_arguments(processes, tmp_path):
    process = processes('-m', 'dyn_nodes.cli', 'run', 'recorder_node', '--ros-args', '-p', f'directory:={tmp_path}/bag')
    deadline = time.monotonic() + scaled_timeout(10)
    while time.monotonic() < deadline and not (tmp_path / 'bag' / 'metadata.yaml').exists():
        time.sleep(0.05)
    time.sleep(0.3)
    finish(process)
    assert bag_summary(tmp_path / 'bag').finished


def test_a_repeatedly_stopped_recorder_loses_nothing_of_a_lockstep_stream(recorder, processes):
    """Publishers as in lockstep, at full speed, 200 KB a second and more: they wait for the recorder."""
    process, bag = recorder(use_sim_time='false', topics='["/flood"]')
    source = processes(str(Path(__file__).parent / 'processes' / 'flood.py'), '12000')
    wait_for(source, 'started')
    for _ in range(3):
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.7)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.1)
    wait_for(source, 'done')
    errors = finish(process)
    assert positions(bag, '/flood') == [float(k) for k in range(12000)]
    assert '12000 messages recorded, 0 lost' in errors
    assert 'messages_lost: "0"' in (bag / 'metadata.yaml').read_text()
