"""Bags as files: valid at every moment of their growth, and summarized in any state."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.reader import NonSeekingReader, make_reader
from rosbags.rosbag2 import CompressionFormat, CompressionMode, Reader, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from roslite.bags import BagError, BagWriter, QosRecord, Topic, bag_summary, mcap_file
from roslite.bags.bag import CHUNK_TIME, STORAGES

STORE = get_typestore(Stores.ROS2_JAZZY)
CDR = b'\0\1\0\0'


def topic(name: str, kind: str = 'std_msgs/msg/String') -> Topic:
    definition = STORE.generate_msgdef(kind, ros_version=2)[0]
    return Topic(
        name, kind, definition, STORE.hash_rihs01(kind), (QosRecord(), QosRecord(durability='transient_local'))
    )


def by_rosbags(path: Path) -> list[tuple[str, int, bytes]]:
    with Reader(path) as reader:
        return [(connection.topic, time, data) for connection, time, data in reader.messages()]


def by_mcap(file: Path, *, seek: bool = True) -> list[tuple[str, int, bytes]]:
    with file.open('rb') as stream:
        reader = make_reader(stream, validate_crcs=True) if seek else NonSeekingReader(stream, validate_crcs=True)
        return [(c.topic, m.log_time, m.data) for _, c, m in reader.iter_messages(log_time_order=seek)]


def test_every_state_that_a_kill_can_leave_is_a_valid_file(tmp_path, monkeypatch):
    """Replay all writes to the file, cut at every page of every write, and read each state in three ways."""
    monkeypatch.setattr(mcap_file, 'FIRST_SIZE', 4 * mcap_file.PAGE)
    writes: list[tuple[int, bytes]] = []
    real = os.pwrite

    def pwrite(descriptor: int, data: bytes, offset: int) -> int:
        writes.append((offset, bytes(data)))
        return real(descriptor, data, offset)

    monkeypatch.setattr(os, 'pwrite', pwrite)
    bag = BagWriter(tmp_path / 'bag')
    laid_out = len(writes)
    dice = random.Random(7)
    sizes = [0]
    numbers = [bag.add_topic(topic('/a')), bag.add_topic(topic('/b', 'sensor_msgs/msg/JointState'))]
    time = 0
    for step in range(25):
        if step == 12:
            numbers.append(bag.add_topic(topic('/c')))
        count = dice.randrange(0, 12)
        entries = [(dice.choice(numbers), time + k, 0, CDR + dice.randbytes(dice.randrange(900))) for k in range(count)]
        time += count
        bag.checkpoint(entries)
        sizes.append(sizes[-1] + count)
    bag.close()
    monkeypatch.undo()

    state = bytearray()
    path = tmp_path / 'state.mcap'
    checked = 0
    for number, (offset, data) in enumerate(writes):
        first_page = -(offset % mcap_file.PAGE) % mcap_file.PAGE
        cuts = [*range(first_page, len(data), mcap_file.PAGE), len(data)]
        for cut in cuts:
            torn = bytearray(state)
            torn[len(torn) : offset + cut] = bytes(max(0, offset + cut - len(torn)))
            torn[offset : offset + cut] = data[:cut]
            if number < laid_out:
                continue
            path.write_bytes(torn)
            indexed = by_mcap(path)
            assert by_rosbags(path) == indexed
            assert len(indexed) in sizes, 'never a part of a checkpoint'
            assert 0 <= len(by_mcap(path, seek=False)) - len(indexed) <= 12, 'from its start: at most one chunk more'
            # Without any chunk in the summary both readers scan, and may read the first one already.
            assert bag_summary(path).message_count == len(indexed) or bag_summary(path).message_count == 0
            checked += 1
        state = torn
    assert checked > 100
    assert len(by_mcap(tmp_path / 'bag' / 'bag_0.mcap')) == sizes[-1]


ENTRIES = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 10**12), st.binary(max_size=40)), max_size=8), max_size=5
)


@settings(max_examples=25, deadline=None)
@given(ENTRIES, st.sampled_from(sorted(STORAGES)))
def test_written_messages_are_read_after_every_checkpoint_and_at_the_end(tmp_path_factory, checkpoints, storage):
    directory = tmp_path_factory.mktemp('bags') / 'bag'
    bag = BagWriter(directory, storage)
    numbers = [bag.add_topic(topic(name)) for name in ('/z', '/y', '/x')]
    names = dict(zip(numbers, ('/z', '/y', '/x')))
    written: list[tuple[str, int, bytes]] = []
    for entries in checkpoints:
        bag.checkpoint([(numbers[which], time, time, CDR + data) for which, time, data in entries])
        written += [(names[numbers[which]], time, CDR + data) for which, time, data in entries]
        assert sorted(by_rosbags(directory)) == sorted(written)
        assert bag_summary(directory).message_count == len(written)
    bag.close()
    assert sorted(by_rosbags(directory)) == sorted(written)
    if storage == 'mcap':
        file = directory / 'bag_0.mcap'
        assert sorted(by_mcap(file)) == sorted(by_mcap(file, seek=False)) == sorted(written)
    summary = bag_summary(directory)
    assert summary.finished
    assert {t.name: t.count for t in summary.topics if t.count} == Counter(name for name, _, _ in written)
    times = [time for _, time, _ in written]
    assert (summary.start, summary.end) == ((min(times), max(times)) if times else (None, None))
    with Reader(directory) as reader:
        assert reader.message_count == len(written)
        assert {c.topic: c.digest for c in reader.connections} == dict.fromkeys(names.values(), topic('/x').type_hash)


def test_a_reproducible_bag_does_not_depend_on_checkpoints_or_discovery(tmp_path):
    """Nothing is rewritten at the end: closing a bag of 40 MB once took longer than the timeout of a launcher."""
    dice = random.Random(3)
    entries = [(dice.choice('abc'), 400_000 * k, CDR + dice.randbytes(dice.randrange(3000))) for k in range(3000)]
    files = []
    for run, step in (('one', 1), ('two', 700), ('three', 97)):
        bag = BagWriter(tmp_path / run / 'bag', reproducible=True)
        numbers = {name: bag.add_topic(topic(f'/{name}')) for name in ('dabc' if run == 'one' else 'cabd')}
        for start in range(0, len(entries), step * 10):
            bag.checkpoint([(numbers[n], t, t, data) for n, t, data in entries[start : start + step * 10]])
        before = bag.size
        bag.close()
        assert bag.size - before < 1.2 * mcap_chunk(entries)
        files.append(tmp_path / run / 'bag' / 'bag_0.mcap')
    assert files[0].read_bytes() == files[1].read_bytes() == files[2].read_bytes()
    metadata = [file.with_name('metadata.yaml').read_bytes() for file in files]
    assert metadata[0] == metadata[1] == metadata[2]
    assert [(f'/{n}', t, data) for n, t, data in entries] == by_mcap(files[0]) == by_rosbags(files[0])
    assert not list(tmp_path.rglob('*.next'))
    assert [t.name for t in bag_summary(files[0].parent).topics] == ['/a', '/b', '/c', '/d'], 'an empty topic too'


def mcap_chunk(entries: list[tuple[str, int, bytes]]) -> int:
    """Return the number of bytes of the data of the largest chunk."""
    sizes = Counter()
    for _, time, data in entries:
        sizes[time // CHUNK_TIME] += len(data) + 100
    return max(sizes.values())


def test_an_existing_directory_is_never_touched(tmp_path):
    (tmp_path / 'bag').mkdir()
    with pytest.raises(BagError, match='nothing is ever overwritten'):
        BagWriter(tmp_path / 'bag')
    assert list((tmp_path / 'bag').iterdir()) == []
    with pytest.raises(BagError, match='expected one of mcap, sqlite3'):
        BagWriter(tmp_path / 'other', 'rosbag1')


def foreign_bag(path: Path, storage: StoragePlugin, compress: bool = False) -> list[tuple[str, int, bytes]]:
    writer = Writer(path, version=9, storage_plugin=storage)
    if compress:
        writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
    written = []
    with writer:
        connection = writer.add_connection('/a', 'std_msgs/msg/String', typestore=STORE)
        for k in range(2000):
            writer.write(connection, 1000 + k, CDR + bytes(600))
            written.append(('/a', 1000 + k, CDR + bytes(600)))
    return written


@pytest.mark.parametrize('compress', [False, True])
def test_a_foreign_bag_is_summarized_complete_and_truncated(tmp_path, compress):
    foreign_bag(tmp_path / 'bag', StoragePlugin.MCAP, compress)
    summary = bag_summary(tmp_path / 'bag')
    assert (summary.message_count, summary.start, summary.end, summary.finished) == (2000, 1000, 2999, True)
    file = tmp_path / 'bag' / 'bag.mcap'
    cut = tmp_path / 'cut.mcap'
    cut.write_bytes(file.read_bytes()[:-100])
    summary = bag_summary(cut)
    assert not summary.finished
    assert summary.message_count == 2000
    assert [(t.name, t.type) for t in summary.topics] == [('/a', 'std_msgs/msg/String')]
    cut.write_bytes(file.read_bytes()[:40])
    assert bag_summary(cut).message_count == 0


def test_a_foreign_database_is_summarized(tmp_path):
    foreign_bag(tmp_path / 'bag', StoragePlugin.SQLITE3)
    (tmp_path / 'bag' / 'metadata.yaml').unlink()
    summary = bag_summary(tmp_path / 'bag')
    assert (summary.storage, summary.message_count, summary.finished) == ('sqlite3', 2000, False)


@pytest.mark.parametrize(
    'content', [b'', b'nothing of the kind', b'\x89MCAP0\r\n' + b'\6\xff\0\0\0\0\0\0\0' + bytes(255)]
)
@pytest.mark.parametrize('suffix', ['.mcap', '.db3'])
def test_a_broken_file_is_an_error_or_an_empty_bag_and_no_crash(tmp_path, content, suffix):
    path = tmp_path / f'broken{suffix}'
    path.write_bytes(content)
    try:
        count = bag_summary(path).message_count
    except BagError as error:
        count = 0 if str(path) in str(error) else -1
    assert count == 0
