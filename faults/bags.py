"""Hostile bags: damaged bytes, lengths, metadata and messages, and bags that exhaust their readers.

Every case is given to the commands that read bags. Each ends in a result or in an error of one line, within
time and memory limits.
"""

from __future__ import annotations

import contextlib
import io
import random
import shutil
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from dyn_nodes.middleware import message, serialize_message
from dyn_nodes.middleware.bags import BagWriter, Topic
from faults import bombs, files
from faults.values import damaged
from roslite.bags import records
from roslite.runtime.types import message_definition

ROOT = files.ROOT
INSTANTS = 40
PERIOD = 50_000_000
"""Time between messages, ns."""
MOST_MEMORY = 1.5e6
"""Greatest growth of resident memory by a case, KiB."""
MOST_LINES = 12
"""Greatest number of lines of an error on the terminal."""
NUMBERS = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
NAMES = (
    '',
    '/',
    'no_slash',
    '/a b',
    '/\x1b[2J',
    '/' + 'x' * 5000,
    '/../../etc',
    '/é\u202e',
    '//a',
    '/odom/',
    '/$(touch MARK)',
)
MACHINE = ('--machine', 'urdf/log_loader.urdf', '--config', 'config/log_loader.yaml')
WHEELS = ('front_left', 'front_right', 'rear_left', 'rear_right')

Entry = tuple[str, str, int, Any]
"""Topic, type, log time, message."""


def good_messages() -> Iterator[Entry]:
    """Yield a short run of a log-loader, as its nodes publish it."""

    def stamped(kind: str, at: int, **fields: Any) -> Any:
        made = message(kind)(**fields)
        made.header.stamp.sec, made.header.stamp.nanosec = divmod(at, 10**9)
        return made

    urdf = (ROOT / 'urdf' / 'log_loader.urdf').read_text()
    yield '/robot_description', 'std_msgs/msg/String', 0, message('std_msgs/msg/String')(data=urdf)
    for k in range(INSTANTS):
        at, share = k * PERIOD, k / INSTANTS
        odom = stamped('nav_msgs/msg/Odometry', at)
        odom.pose.pose.orientation.w, odom.pose.pose.position.z = 1.0, 0.01 * share
        yield '/odom', 'nav_msgs/msg/Odometry', at, odom
        joints = ['swing_joint', 'boom_joint', 'stick_joint']
        state = stamped('sensor_msgs/msg/JointState', at, name=joints, position=[share, 0.2, -0.9])
        state.velocity, state.effort = [1.0, 0.0, 0.0], [1e3, 2e4, 3e3]
        yield '/joint_states', 'sensor_msgs/msg/JointState', at, state
        for n, wheel in enumerate(WHEELS):
            wrench = stamped('geometry_msgs/msg/WrenchStamped', at)
            wrench.wrench.force.z = 3e4 * (1.0 - share * (n % 2))
            yield f'/ground_reactions/{wheel}', 'geometry_msgs/msg/WrenchStamped', at, wrench
        for part, pressure in (('supply', 2e6), ('head', 8e6 + 1e6 * share), ('rod', 3e6)):
            oil = stamped('sensor_msgs/msg/FluidPressure', at, fluid_pressure=pressure)
            yield f'/hydraulics/boom/{part}_pressure', 'sensor_msgs/msg/FluidPressure', at, oil
        number = message('std_msgs/msg/Float64')
        yield '/hydraulics/boom/spool', 'std_msgs/msg/Float64', at, number(data=1e-3 * share)
        yield '/stability/force_angle', 'std_msgs/msg/Float64', at, number(data=0.5 - 0.6 * share)
        edges = message('std_msgs/msg/Float64MultiArray')(data=[0.5, 0.4, 0.5 - 0.6 * share, 0.3])
        yield '/stability/force_angle/edges', 'std_msgs/msg/Float64MultiArray', at, edges
        yield '/task_phase', 'std_msgs/msg/String', at, message('std_msgs/msg/String')(data=f'phase {k // 10}')
        status = message('diagnostic_msgs/msg/DiagnosticStatus')(level=1, name='dynamics_node: simulation', message='x')
        status.values = [message('diagnostic_msgs/msg/KeyValue')(key='payload', value='100')]
        diagnostics = stamped('diagnostic_msgs/msg/DiagnosticArray', at, status=[status])
        yield '/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray', at, diagnostics
        event = message('diagnostic_msgs/msg/DiagnosticStatus')(name='lift_off', message='front_left')
        event.values = [message('diagnostic_msgs/msg/KeyValue')(key='time', value=f'{at * 1e-9}')]
        yield '/events', 'diagnostic_msgs/msg/DiagnosticStatus', at, event


def write_bag(directory: Path, messages: Iterator[Entry], storage: str = 'mcap') -> Path:
    """Write a bag; messages that no writer can encode are omitted."""
    bag, topics = BagWriter(directory, storage), {}
    entries = []
    for topic, kind, at, content in messages:
        if (topic, kind) not in topics:
            topics[topic, kind] = bag.add_topic(Topic(topic, kind, message_definition(kind)))
        with contextlib.suppress(ValueError, TypeError, OverflowError, AttributeError, struct.error):
            entries.append((topics[topic, kind], at, at, bytes(serialize_message(content))))
    for k in range(0, len(entries), 100):
        bag.checkpoint(entries[k : k + 100])
    bag.close()
    return directory


def damaged_messages(rng: random.Random) -> Iterator[Entry]:
    """Yield the good messages, some of them made absurd, at other times or under other names."""
    renamed: dict[str, str] = {}
    for topic, kind, at, content in good_messages():
        if rng.random() < 0.02:
            renamed[topic] = rng.choice(NAMES) or topic
        changed = damaged(content, rng) if rng.random() < 0.1 else content
        time = rng.choice((at, at, at, 0, 2**63 - 1, 2**62, rng.randrange(2**40))) if rng.random() < 0.05 else at
        yield renamed.get(topic, topic), kind, time, changed


# -- damage ---


def _lengths(data: bytes, rng: random.Random) -> bytes:
    """Write an absurd number over a length or another number of an MCAP record."""
    spans, position = [], len(records.MAGIC)
    while position + records.PREFIX_SIZE <= len(data):
        _, length = struct.unpack_from('<BQ', data, position)
        spans.append((position, min(length, 80)))
        position += records.PREFIX_SIZE + length
    if not spans:
        return data
    start, length = rng.choice(spans)
    offset = start + rng.choice((1, rng.randrange(records.PREFIX_SIZE, records.PREFIX_SIZE + max(length, 1))))
    form = rng.choice(('<Q', '<Q', '<I', '<H'))
    return write_number(data, offset, rng.choice(NUMBERS), form)


def write_number(data: bytes, offset: int, number: int, form: str = '<Q') -> bytes:
    """Return data with a number written over them, cut to the size of its format."""
    text = struct.pack(form, number % 2 ** (8 * struct.calcsize(form)))
    return data[:offset] + text + data[offset + len(text) :]


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _many_bytes(data: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.choice((1, 4, 30))):
        data = files._bytes(data, rng)
    return data


def make(number: int, seed: int, directory: Path) -> tuple[str, Path]:
    """Make a case; equal numbers give equal cases. Return its kind and the bag.

    The first are the bombs; then come values of other classes in tables of SQLite, damaged storage files, metadata and
    messages in turn.
    """
    rng = random.Random(f'bag {seed} {number}')
    if number < len(bombs.BOMBS):
        name = list(bombs.BOMBS)[number]
        bag = write_bag(directory / 'bag', good_messages(), bombs.storage_of(name))
        return f'bomb ({name})', bombs.BOMBS[name](bag) or bag
    storage = rng.choice(('mcap', 'mcap', 'sqlite3'))
    if number % 5 in (1, 3):
        bag = write_bag(directory / 'bag', good_messages(), 'sqlite3')
        bombs.damage_values(bag, rng)
        return 'sqlite3-values', bag
    if number % 3 == 0:
        return 'messages', write_bag(directory / 'bag', damaged_messages(rng), storage)
    bag = write_bag(directory / 'bag', good_messages(), storage)
    if number % 3 == 1 and rng.random() < 0.6:
        path = bag / 'metadata.yaml'
        path.write_bytes(files.damage(path.read_text(), rng)) if rng.random() < 0.95 else path.unlink()
        return 'metadata', bag
    (path,) = (path for path in bag.iterdir() if path.suffix in ('.mcap', '.db3'))
    damage = rng.choice((_lengths, _lengths, _many_bytes, _cut) if storage == 'mcap' else (_many_bytes, _cut))
    path.write_bytes(damage(path.read_bytes(), rng))
    return f'{storage} file', bag if rng.random() < 0.8 else path


# -- readers, in a worker ---


def commands(bag: Path, good: Path, directory: Path, whole: bool) -> list[list[str]]:
    """Return the command lines that read a bag; the report with its plots only if `whole`."""
    lines = [
        ['bag', 'info', str(bag)],
        ['bag', 'compare', str(bag), str(good)],
        ['fit', 'hydraulics', str(bag), *MACHINE],
    ]
    if whole:
        lines.append(['report', str(bag), '--out', str(directory / 'report')])
    return lines


def run_command(words: list[str], most_lines: int = MOST_LINES) -> str:
    """Run a command in this process; return the fault of its end, or ''.

    Args:
        words: of the command line.
        most_lines: greatest number of lines of an error.
    """
    from dyn_nodes.cli import main

    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()) as output:
        try:
            status = main(words)
        except SystemExit as error:
            status = int(error.code or 0)
    text = errors.getvalue()
    lines = text.splitlines()
    if 'Traceback' in text:
        return f'a traceback: {text[-300:]!r}'
    if status not in (0, 1, 2) or (status and not lines and not output.getvalue()):
        return f'exit status {status} and {len(lines)} lines'
    if len(lines) > most_lines or not all(line.isprintable() for line in [*lines, *output.getvalue().split('\n')]):
        return f'an error of {len(lines)} lines, or of characters that are none: {text[:200]!r}'
    return ''


def read_whole(bag: Path) -> None:
    """Read a bag as the report does, without plots; only the documented error may be raised."""
    from dyn_nodes.analysis.bag_reading import BagReadingError
    from dyn_nodes.analysis.run_record import read_run
    from dyn_nodes.analysis.summary import summarize

    with contextlib.suppress(BagReadingError):
        record = read_run(bag)
        summarize(record)


def work(seed: int, start: int, end: int, out: IO[str]) -> None:
    """Read the cases from `start` to `end`; print a line at each start and one for each fault."""
    with tempfile.TemporaryDirectory() as name:
        good = write_bag(Path(name) / 'good', good_messages())
        run_command(['report', str(good), '--out', str(Path(name) / 'warm')])
        run_command(['fit', 'hydraulics', str(good), *MACHINE])
        journal = files.Journal(out, MOST_MEMORY)
        for number in range(start, end):
            directory = Path(name) / 'case'
            directory.mkdir()
            kind, bag = make(number, seed, directory)
            journal.enter(number, kind.split()[0], examine(bag, good, directory, number % 10 == 0))
            shutil.rmtree(directory)
    print('done', file=out, flush=True)


def examine(bag: Path, good: Path, directory: Path, whole: bool) -> Iterator[str]:
    """Run all commands on a bag; yield the faults."""
    for words in commands(bag, good, directory, whole):
        try:
            if fault := run_command(words):
                yield f'{words[0]} {words[1]}: {fault}'
        except Exception as error:
            yield f'{words[0]} {words[1]}: {type(error).__name__}: {" ".join(str(error).split())}'
    try:
        read_whole(bag)
    except Exception as error:
        yield f'read_run: {type(error).__name__}: {" ".join(str(error).split())}'


Worker = Callable[[int, int, int, IO[str]], None]


def run(count: int, seed: int = 1, start: int = 0) -> files.Outcome:
    """Read the hostile bags from number `start` to `count` in worker processes, one at a time."""
    return files.run(count, seed, start, 'faults.bags')


if __name__ == '__main__':
    work(*(int(word) for word in sys.argv[1:4]), sys.stdout)
