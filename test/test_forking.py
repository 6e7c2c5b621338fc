"""A forked process equals a started one."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from forking import ForkedProcess, can_fork, start_module
from timeouts import scaled_timeout

from dyn_nodes.middleware import RUNTIME

pytestmark = pytest.mark.skipif(
    RUNTIME != 'embedded' or sys.platform != 'linux', reason='nodes are forked on the embedded runtime on Linux only'
)
PIPES = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, 'text': True}


def both(module: str, *words: str, **options: object) -> tuple[ForkedProcess, subprocess.Popen]:
    """Return the same program forked and started."""
    environment = {**os.environ, 'ROS_DOMAIN_ID': '7', 'PYTHONUNBUFFERED': '1'}
    forked = start_module(module, words, environment, **PIPES, **options)
    assert isinstance(forked, ForkedProcess)
    return forked, subprocess.Popen([sys.executable, '-m', module, *words], env=environment, **PIPES, **options)


def program_frames(text: str) -> str:
    """Return a traceback without the lines that lead to the program."""
    return re.sub(r'  File "(?!.*forked_program).*\n(    .*\n)*', '', text)


@pytest.fixture
def in_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent)


@pytest.mark.usefixtures('in_tests')
@pytest.mark.parametrize(
    ('ending', 'status'), [('0', 0), ('3', 3), ('raise', 1), ('abort', -signal.SIGABRT)], ids=lambda value: str(value)
)
def test_surroundings_outputs_and_exit_status_are_the_same(ending, status):
    for options in ({}, {'start_new_session': True}):
        ends = []
        for process in both('forked_program', ending, 'a word', **options):
            output, errors = process.communicate(timeout=scaled_timeout(30))
            ends.append((process.returncode, json.loads(output) if output else None, program_frames(errors)))
        assert ends[0] == ends[1]
        assert ends[0][0] == status
        assert 'to standard error' in ends[0][2]


@pytest.mark.usefixtures('in_tests')
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signals_end_both_alike(number):
    ends = []
    for process in both('forked_program', 'wait'):
        assert json.loads(process.stdout.readline())['domain'] == '7'
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        process.send_signal(number)
        _, errors = process.communicate(timeout=scaled_timeout(30))
        ends.append((process.returncode, process.poll(), program_frames(errors)))
        process.send_signal(number)  # it has ended: no effect
    assert ends[0] == ends[1]
    assert ends[0][0] == -number


@pytest.mark.parametrize('numbers', [[signal.SIGTERM], [signal.SIGINT, signal.SIGINT]])
def test_nodes_end_alike(numbers):
    """A running node: its ready line, then signals."""
    ends = []
    for process in both(
        'dyn_nodes.nodes.can_bridge_node', '--ros-args', '-p', 'mapping:=log_loader', '-p', 'interface:=virtual'
    ):
        first = process.stderr.readline()
        for number in numbers:
            process.send_signal(number)
        output, _ = process.communicate(timeout=scaled_timeout(30))
        ends.append((process.returncode, output, re.sub(r'[\d.]+', '', first)))
    assert ends[0] == ends[1]
    assert ends[0][0] == 0
    assert 'can_bridge' in ends[0][2]


def test_an_environment_that_imports_may_read_is_started():
    assert can_fork({**os.environ, 'ROS_DOMAIN_ID': '3'})
    assert not can_fork({**os.environ, 'NUMBA_DISABLE_JIT': '1'})
    assert not can_fork({**os.environ, 'DYN_NODES_MIDDLEWARE': 'rclpy'})


CHANGES = re.compile(
    r'os\.environ\[[^]]*\]\s*[|+]?=[^=]|os\.environ\s*\|=|del os\.environ|os\.environ\.(update|setdefault|pop|clear)\('
    r'|os\.(putenv|unsetenv|chdir|umask|nice)\(|matplotlib\.use\(|set_start_method\(|sys\.path\.(insert|append)'
    r'|np\.seterr\(|setlocale\(|setdefaulttimeout\('
)
OF_THE_PROCESS = {'entry.py': 'os.environ.setdefault('}
"""The start of a process, before the first import that reads the variable."""


def test_no_program_changes_what_belongs_to_the_process_of_its_caller():
    """Environment, working directory and settings of libraries: a notebook or a test may call any of them."""
    root = Path(__file__).resolve().parents[1]
    changes = [
        f'{path.relative_to(root)}: {match.group()}'
        for package in ('dyn_nodes', 'roslite')
        for path in sorted((root / package).rglob('*.py'))
        for match in CHANGES.finditer(path.read_text())
        if OF_THE_PROCESS.get(path.name) != match.group()
    ]
    assert changes == []


def test_the_start_of_a_recorder_gives_back_the_handlers_of_signals(monkeypatch):
    from dyn_nodes.nodes import recorder_node

    monkeypatch.setenv('ROS_DOMAIN_ID', 'none')
    monkeypatch.setattr(recorder_node.faulthandler, 'enable', lambda: None)  # it needs a descriptor used by the test
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(ValueError, match='ROS_DOMAIN_ID'):
        recorder_node.main([])
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
