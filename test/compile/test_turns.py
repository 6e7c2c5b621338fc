"""Turns at compilation: a holder makes the others wait for a bounded time and at most until its end."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from dyn_nodes.common import turns

OTHER = """
import sys, time
from pathlib import Path
from dyn_nodes.common.turns import end_turn, take_turn

root = Path(sys.argv[1])
take_turn(root, 'a')
print('taken', flush=True)
sys.stdin.readline()
end_turn(root, 'a')
print('ended', flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def other(tmp_path):
    """Start a process that holds the turn of `a`."""
    process = subprocess.Popen(
        [sys.executable, '-c', OTHER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == 'taken\n'
    yield process
    process.kill()
    process.communicate()


def test_a_turn_ends_with_its_block_and_another_name_waits_for_nothing(other, tmp_path, monkeypatch):
    monkeypatch.setattr(turns, 'LONGEST', 60.0)
    assert not turns.take_turn(tmp_path, 'b')
    waits = []
    with turns.turn(tmp_path, 'a', lambda: (waits.append('a'), other.stdin.write('\n'), other.stdin.flush())) as waited:
        assert waited
        assert waits == ['a']
        with turns.turn(tmp_path, 'a') as again:  # held by this process: no wait
            assert not again
        assert turns._key(tmp_path, 'a') in turns._held
    assert turns._key(tmp_path, 'a') not in turns._held
    turns.end_turn(tmp_path, 'b')


def test_the_turn_of_a_killed_process_is_free(other, tmp_path):
    with turns.turn(tmp_path, 'a', lambda: other.send_signal(signal.SIGKILL)) as waited:
        assert waited
    assert other.wait(30) == -signal.SIGKILL


def test_a_stopped_process_blocks_others_for_a_bounded_time(other, tmp_path, monkeypatch):
    monkeypatch.setattr(turns, 'LONGEST', 0.2)
    start = time.monotonic()
    assert turns.take_turn(tmp_path, 'a')
    assert time.monotonic() - start >= 0.2
    assert turns._key(tmp_path, 'a') not in turns._held


def test_without_locks_no_process_waits(other, tmp_path, monkeypatch):
    def reject(*_):
        raise OSError(37, 'No locks available')

    monkeypatch.setattr(turns.fcntl, 'lockf', reject)
    assert not turns.take_turn(tmp_path, 'a')
    turns.end_turn(tmp_path, 'a')
    monkeypatch.setattr(turns, 'fcntl', None)
    assert not turns.take_turn(tmp_path, 'a')
