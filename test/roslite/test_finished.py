"""Nodes of a `ros2 launch`, which gives them no information on each other, detect ended nodes and the reasons."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from timeouts import scaled_timeout

from roslite.launching import finished

PARENT = """
import subprocess, sys
children = [subprocess.Popen(words.split('|')) for words in sys.argv[2:]]
sys.exit(children[-1].wait())
"""
NODE = """
import os, signal, sys, time
from roslite.launching import finished
finished.RESTART = 0.2
with finished.recorded_life('node', sys.argv) as note_end:
    if 'fails' in sys.argv:
        note_end('node: parameter x: expected y\\nfound z')
    elif 'dies' in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)
    else:
        until = time.monotonic() + float(sys.argv[1])
        while not (found := finished.finished_nodes()) and time.monotonic() < until:
            time.sleep(0.05)
        print(found)
"""


@pytest.fixture
def launched(tmp_path, monkeypatch):
    """Run nodes below a program of this name; return the ended nodes as detected by the last one."""
    monkeypatch.delenv(finished.VARIABLE, raising=False)
    monkeypatch.setenv('TMPDIR', str(tmp_path))
    (tmp_path / 'node.py').write_text(NODE)

    def run(program, verb, *nodes):
        (tmp_path / program).write_text(PARENT)
        words = [
            '|'.join((sys.executable, str(tmp_path / 'node.py'), *words_of_node.split())) for words_of_node in nodes
        ]
        command = [sys.executable, str(tmp_path / program), verb, *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=scaled_timeout(60.0))
        assert done.returncode == 0, done.stderr
        return ast.literal_eval(done.stdout.splitlines()[-1])

    return run


@pytest.mark.parametrize(
    ('words', 'how'),
    [
        ('fails -r __node:=controller_node', 'exit status 1: node: parameter x: expected y found z'),
        ('dies -r __node:=controller_node', 'its process'),
    ],
)
def test_a_node_of_a_ros2_launch_detects_an_ended_one(launched, words, how):
    seconds = scaled_timeout(30.0)
    (gone,) = launched('ros2', 'launch', f'{words} -r __ns:=/yard/', f'{seconds} x').items()
    assert gone[0] == '/yard/controller_node'
    assert gone[1].startswith(how)


@pytest.mark.parametrize(('program', 'verb'), [('ros2', 'run'), ('shell', 'launch')])
def test_nodes_without_a_launch_detect_no_ended_ones(launched, program, verb):
    assert launched(program, verb, 'fails', '0.5') == {}


def test_running_and_restarted_nodes_have_not_ended(launched, tmp_path):
    assert launched('ros2', 'launch', '2 -r __node:=other', '0.5 x') == {}
    path = tmp_path / 'file'
    finished.record_finished(path, '/a', 'exit status 1')
    finished.record_finished(path, '/a', os.getpid())
    assert finished._gone(finished._lines(path)) == {}


def test_files_of_finished_launches_are_removed(launched, tmp_path):
    launched('ros2', 'launch', '0.1 x')
    launched('ros2', 'launch', '0.1 x')
    assert len(list(Path(tmp_path).glob('dyn_nodes_launches_*/*.jsonl'))) == 1
