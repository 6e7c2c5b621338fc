"""Readers of foreign formats run in a separate process within limits of memory and processor time."""

from __future__ import annotations

import itertools
import os
import signal
from pathlib import Path

import pytest
from timeouts import scaled_timeout

from dyn_nodes.common import readers
from dyn_nodes.common.readers import CHUNK, ReaderError, read_apart


def counting(path, count):
    print('a library says something')
    os.write(1, b'and its machine code, too')
    yield from range(count)


def failing(path, text):
    yield 1
    raise ValueError(text)


def allocating(path):
    yield len(bytes(3 * 2**30))


def looping(path):
    yield from (k for k in itertools.count() if k < 0)


def dying(path):
    yield 1
    os.kill(os.getpid(), signal.SIGSEGV)


@pytest.fixture
def path(tmp_path):
    file = tmp_path / 'file'
    file.write_bytes(b'0')
    return file


def fault_of(*task):
    with pytest.raises(ReaderError) as caught:
        list(read_apart(*task))
    return str(caught.value)


@pytest.mark.parametrize('count', [0, 1, CHUNK, 2 * CHUNK + 1])
def test_entries_keep_their_order_despite_other_output(path, count):
    assert list(read_apart(counting, path, count)) == list(range(count))


def test_an_exception_is_a_line(path):
    assert fault_of(failing, path, 'a\nb\x1b[2J') == 'ValueError: a b\N{REPLACEMENT CHARACTER}[2J'


def test_memory_is_bounded(path, monkeypatch):
    monkeypatch.setattr(readers, 'MOST_MEMORY', 2**31)
    assert fault_of(allocating, path) == 'a file that takes more than 2 GiB of memory'


def test_processor_time_is_bounded_by_the_size_of_the_file(path, monkeypatch):
    monkeypatch.setattr(readers, 'LEAST_SECONDS', 0)
    monkeypatch.setattr(readers, 'SECONDS_PER_BYTE', 2)
    assert fault_of(looping, path) == 'a file that takes more than 2 s of processor time'


def test_the_death_of_a_reader_is_a_line_after_what_it_has_read(path):
    assert fault_of(dying, path) == 'a file on which its reader crashes (exit status -11)'


def test_a_cancelled_reader_ends(path, monkeypatch):
    made = []
    real = readers.subprocess.Popen
    monkeypatch.setattr(
        readers.subprocess, 'Popen', lambda *words, **more: made.append(real(*words, **more)) or made[0]
    )
    entries = read_apart(counting, path, 10**9)
    assert next(entries) == 0
    entries.close()
    assert made[0].wait(scaled_timeout(10.0)) == -signal.SIGKILL


def test_nothing_is_imported_from_the_working_directory(path, tmp_path, monkeypatch):
    for name in ('pickle', 'numpy', 'os'):
        (tmp_path / f'{name}.py').write_text('import pathlib; pathlib.Path("MARK").touch()')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('PYTHONPATH', str(tmp_path))
    assert list(read_apart(counting, path, 1)) == [0]
    assert not Path('MARK').exists()
