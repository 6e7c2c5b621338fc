"""Hostile bags: every command that reads one ends at once, with a result or one line."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from dyn_nodes.analysis.bag_reading import BagReadingError, read_bag
from dyn_nodes.cli import main
from dyn_nodes.middleware import message, register_message
from dyn_nodes.middleware.bag_reader import BagReader
from dyn_nodes.middleware.bags import BagError
from faults import bags, bombs, files
from roslite.bags.screening import LARGEST_CHUNK, ChunkSize, _most_at_once, expand

REJECTED = {
    'zstd that lies': 'a chunk claims 4096 bytes, found more',
    'zstd that is honest': 'would expand to 2147483648',
    'lz4 that lies': 'a chunk claims 4096 bytes, found more',
    'message of zstd': 'a chunk claims 268435456 bytes, found more',
    'zstd of two frames': 'bytes after its compressed data',
    'index that lies': 'a chunk claims 4096 bytes, found more',
    'index that repeats': 'the chunk index names a chunk twice',
    'chunks that overlap': 'cover one instant, expected at most',
    'length of 2^63': 'the footer points to',
    'length of 2^39': 'the footer points to',
    'terabyte with a hole': 'a record of 1099511627776 bytes',
    'log time of 2^64 - 1': 'log time: expected at most 9223372036854775807 ns',
    'sqlite view without an end': "expected a table 'messages', found view",
    'sqlite column of a gigabyte': "table 'messages': expected stored columns",
    'sqlite times that are text': 'messages.timestamp: expected integers, found text',
    'sqlite data of 20 gigabytes': 'messages.data: expected bytes, found integer',
    'sqlite data that are text': 'messages.data: expected bytes, found text',
    'sqlite data that are a number': 'messages.data: expected bytes, found real',
    'sqlite data that are null': 'messages.data: expected bytes, found null',
    'sqlite messages of no topic': 'messages.topic_id: expected the topics of the bag, found',
    'sqlite topics twice': 'topics.id: expected each number once',
    'sqlite names that are none': 'topics.name: expected texts, found blob',
    'no metadata': 'found no metadata.yaml',
    'metadata with an alias bomb': 'at most 50000 values',
    'metadata within itself': 'at most 50000 values',
    'path outside': "expected names of .mcap files, found '../../../etc/passwd'",
    'absolute path': "expected names of .mcap files, found '/dev/zero'",
    'file named twice': 'expected each file once',
    'pipe': 'expected a regular file, found something else',
    'endless device': 'expected a regular file, found something else',
    'dead link': 'expected a regular file, found nothing',
}


@pytest.fixture(scope='module')
def good(tmp_path_factory) -> Path:
    return bags.write_bag(tmp_path_factory.mktemp('good') / 'bag', bags.good_messages())


@pytest.mark.parametrize('name', bombs.BOMBS)
def test_a_bag_that_would_exhaust_the_computer_is_rejected_in_a_line(name, tmp_path, good):
    bag = bags.write_bag(tmp_path / 'bag', bags.good_messages(), bombs.storage_of(name))
    bombs.BOMBS[name](bag)
    before = files.peak_memory()
    for words in (['bag', 'info', str(bag)], ['bag', 'compare', str(bag), str(good)]):
        assert bags.run_command(words) == ''
    if name in REJECTED:
        with pytest.raises(BagReadingError) as caught:
            read_bag(bag)
        assert REJECTED[name] in str(caught.value)
        assert str(caught.value).isprintable()
    assert files.peak_memory() - before < 1e6  # KiB


@pytest.mark.parametrize('number', range(len(bombs.BOMBS), len(bombs.BOMBS) + 12))
def test_a_damaged_bag_ends_no_command_with_a_traceback(number, tmp_path, good):
    _, bag = bags.make(number, 3, tmp_path)
    assert list(bags.examine(bag, good, tmp_path, False)) == []


@pytest.mark.parametrize('words', [['report', '{}', '--out', 'report'], ['bag', 'play', '{}'], ['bag', 'view', '{}']])
@pytest.mark.parametrize('name', [name for name in bombs.BOMBS if name.startswith('sqlite data')])
def test_data_of_another_storage_class_end_every_command_in_a_line(name, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bag = bags.write_bag(tmp_path / 'bag', bags.good_messages(), 'sqlite3')
    bombs.BOMBS[name](bag)
    assert bags.run_command([word.format(bag) for word in words], 1) == ''
    assert main([word.format(bag) for word in words]) == 1
    assert not (tmp_path / 'report').exists()


@pytest.mark.parametrize('number', range(8))
def test_values_of_other_classes_in_tables_are_read_or_rejected(number, tmp_path, good):
    _, bag = bags.make(4 * (len(bombs.BOMBS) + number) + 3, 3, tmp_path)
    assert list(bags.examine(bag, good, tmp_path, False)) == []


def test_equal_cases_are_damaged_equally(tmp_path):
    number = len(bombs.BOMBS) + 2
    kinds = []
    for directory in (tmp_path / 'a', tmp_path / 'b'):
        directory.mkdir()
        kind, bag = bags.make(number, 3, directory)
        files = [bag] if bag.is_file() else sorted(bag.iterdir())
        kinds.append((kind, [path.read_bytes() for path in files]))
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize('compression', ['lz4', 'zstd'])
def test_no_more_than_the_expected_size_is_expanded(compression, tmp_path):
    data = bombs._zeros(compression, 2**24)
    assert expand(data, compression, 2**24, tmp_path) == bytes(2**24)
    with pytest.raises(BagError, match='claims 1000 bytes, found more'):
        expand(data, compression, 1000, tmp_path)
    with pytest.raises(BagError, match='the bag cannot be read'):
        expand(data[:1] + b'x' + data[2:], compression, 1000, tmp_path)


def test_memory_counts_the_chunks_of_one_instant_only():
    apart = [ChunkSize(10 * k, 10 * k + 9, 100, 100, '') for k in range(50)]
    assert _most_at_once(apart) == 100
    assert _most_at_once([ChunkSize(0, 1000, 100, 100, ''), *apart]) == 200
    assert LARGEST_CHUNK >= 64 * 2**20


def test_a_bag_of_another_tool_is_read(tmp_path):
    from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store, kind = get_typestore(Stores.ROS2_JAZZY), 'std_msgs/msg/Float64'
    made = store.types[kind](1.5)
    for mode, plugin in (
        (CompressionMode.STORAGE, StoragePlugin.MCAP),
        (CompressionMode.MESSAGE, StoragePlugin.SQLITE3),
        (CompressionMode.MESSAGE, StoragePlugin.MCAP),
    ):
        path = tmp_path / f'{mode.name}_{plugin.name}'
        writer = Writer(path, version=9, storage_plugin=plugin)
        writer.set_compression(mode, CompressionFormat.ZSTD)
        with writer:
            connection = writer.add_connection('/load', kind, typestore=store)
            for k in range(2000):
                writer.write(connection, k, store.serialize_cdr(made, kind))
        with BagReader(path) as reader:
            contents = [data for _, _, data in reader.messages()]
        assert contents == [bytes(store.serialize_cdr(made, kind))] * 2000
        assert read_bag(path).table('load')['data'].tolist() == [1.5] * 2000


def test_type_definitions_of_a_bag_are_not_trusted(tmp_path):
    """A definition in the bag that differs from ROS's would decode another message from the same bytes."""
    from rosbags.typesys import get_types_from_msg
    from rosbags.typesys.store import Typestore

    bag = bags.write_bag(tmp_path / 'bag', bags.good_messages(), 'sqlite3')
    with sqlite3.connect(next(bag.glob('*.db3'))) as database:
        for (name,) in database.execute('SELECT topic_type FROM message_definitions').fetchall():
            store = Typestore()
            store.register(get_types_from_msg('int8 data', name))
            lie = (
                'int8 data',
                store.hash_rihs01(name),
                name,
            )  # with the hash of this definition: rosbags 0.11.0 compares the two
            database.execute(
                'UPDATE message_definitions SET encoded_message_definition = ?, type_description_hash = ? '
                'WHERE topic_type = ?',
                lie,
            )
    database.close()
    assert read_bag(bag).table('stability/force_angle')['data'][0] == 0.5


def test_topics_are_printed_without_control_characters(tmp_path, capsys):
    entries = [(f'{topic}\x1b[2J\n', *rest) for topic, *rest in bags.good_messages()]
    bag = bags.write_bag(tmp_path / 'bag', iter(entries))
    assert main(['bag', 'info', str(bag)]) == 0
    assert '\x1b' not in capsys.readouterr().out


RULE = '=' * 80
DEFINITIONS = {
    'code as a name': ('x/msg/X"+__import__("os").system("touch MARK")+"', 'int32 a', 'expected the name'),
    'lines as a name': ('x/msg/X\nint32 b', 'int32 a', 'expected the name'),
    'no name': ('', 'int32 a', 'expected the name'),
    'large array': ('x/msg/A', 'float64[4000000000] a', 'at most 1000000 values'),
    'multiplied arrays': (
        'x/msg/B', f'x/C[1000] a\n{RULE}\nMSG: x/C\nx/D[1000] a\n{RULE}\nMSG: x/D\nint8[1000] a',
        'at most 1000000 values'),
    'itself': ('x/msg/E', 'x/E a', 'no recursion'),
    'itself in a sequence': ('x/msg/F', 'x/F[] a', 'no recursion'),
    'two within each other': ('x/msg/G', f'x/H a\n{RULE}\nMSG: x/H\nx/G b', 'no recursion'),
    'no definition': ('x/msg/I', '\x00\xff{}', 'expected a message definition'),
    'long': ('x/msg/J', '\n'.join(f'int32 a{k}' for k in range(20_000)), 'at most 200000 characters'),
}  # fmt: skip


@pytest.mark.parametrize(('name', 'text', 'reason'), DEFINITIONS.values(), ids=DEFINITIONS)
def test_a_type_of_a_bag_is_checked_before_code_generation(name, text, reason):
    with pytest.raises(ValueError, match=reason) as caught:
        register_message(name, text)
    assert str(caught.value).isprintable()


def test_fields_may_have_any_name(tmp_path):
    kind = register_message('x/msg/Names', 'int32 self\nint32 new\nint32 unset\nint32 cls\nfloat64[2] zeros\nx/Odd T4\n'
        f'{RULE}\nMSG: x/Odd\nint8 C0\nint8 class')  # fmt: skip
    made = kind(self=3)
    assert (made.self, made.cls, made.zeros.tolist(), made.T4.C0) == (3, 0, [0.0, 0.0], 0)


def test_a_definition_in_a_bag_changes_no_known_type():
    with pytest.raises(ValueError, match='unknown message type'):
        message('x/msg/Wraps')
    register_message('x/msg/Wraps', f'std_msgs/Float64 a\n{RULE}\nMSG: std_msgs/Float64\nint8 data')
    assert message('std_msgs/msg/Float64').get_fields_and_field_types() == {'data': 'double'}
