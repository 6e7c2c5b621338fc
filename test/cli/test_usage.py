"""Tests of the command line without nodes: help, mistakes, launch and bag."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dyn_nodes import cli
from dyn_nodes.middleware.bags import BagWriter, Topic

ROOT = Path(__file__).resolve().parents[2]
VERBS = [
    ['launch'], ['run'], ['topic'], ['topic', 'list'], ['topic', 'echo'], ['topic', 'hz'], ['topic', 'info'], ['node'],
    ['node', 'list'], ['node', 'info'], ['param'], ['param', 'list'], ['param', 'get'], ['param', 'set'],
    ['param', 'describe'], ['param', 'dump'], ['service'], ['service', 'list'], ['service', 'call'], ['bag'],
    ['bag', 'info'],
]  # fmt: skip


@pytest.mark.parametrize('verb', VERBS, ids=' '.join)
def test_every_command_has_help_with_an_example(verb, capsys):
    assert cli.main([*verb, '--help']) == 0
    output = capsys.readouterr().out
    assert 'example:' in output
    assert f'dyn-nodes {verb[0]}' in output.split('example:')[1]


def test_overall_help_lists_the_commands(capsys):
    assert cli.main(['--help']) == 0
    output = capsys.readouterr().out
    for command in ('launch', 'run', 'topic', 'node', 'param', 'service', 'bag'):
        assert f'\n    {command} ' in output


def test_a_command_whose_module_is_missing_is_left_out(monkeypatch, capsys):
    monkeypatch.setattr(cli, 'COMMANDS', (*cli.COMMANDS, 'not_written_yet'))
    assert cli.main(['--help']) == 0
    assert cli.main(['not_written_yet']) == 2
    assert 'invalid choice' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('arguments', 'status', 'part'),
    [
        ([], 2, None),
        (['lanuch'], 2, 'invalid choice'),
        (['topic'], 2, 'VERB'),
        (['topic', 'echo'], 2, 'TOPIC'),
        (['topic', 'hz', '/x', '--window', 'many'], 2, '--window: expected a whole number, found many'),
        (['run', 'recoder_node'], 1, 'did you mean recorder_node?'),
        (['launch', 'no_such'], 1, "no launch file 'no_such'"),
        (['launch', 'no/such.launch.xml'], 1, 'found no such file'),
        (['bag', 'info', '/no/such/bag'], 1, 'found nothing'),
        (['bag', 'info', '/etc/passwd'], 1, 'expected a bag directory'),
    ],
)
def test_a_mistake_is_reported_in_one_line_with_a_status(arguments, status, part, capsys):
    assert cli.main(arguments) == status
    error = capsys.readouterr().err
    assert 'Traceback' not in error
    if part is not None:
        assert part in error
    if status == 1:
        assert error.count('\n') == 1


def test_launch_runs_a_file_shows_its_arguments_and_names_mistakes(tmp_path, capfd, monkeypatch):
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'log'))
    path = tmp_path / 'a.launch.xml'
    path.write_text(
        '<launch><arg name="word" default="hello" description="What to say."/>'
        '<executable cmd="echo $(var word)" output="screen"/>'
        '<executable cmd="false" if="$(equals $(var word) fail)"/></launch>'
    )
    assert cli.main(['launch', str(path), 'word:=hi']) == 0
    assert '[echo-1] hi\n' in capfd.readouterr().out
    assert cli.main(['launch', str(path), 'word:=fail']) == 1
    assert '[ERROR] [false-2]: process has died' in capfd.readouterr().out
    assert cli.main(['launch', str(path), '--show-args']) == 0
    assert "'word':\n        What to say.\n        (default: 'hello')" in capfd.readouterr().out
    assert cli.main(['launch', str(path), 'wrod:=hi']) == 1
    assert 'did you mean word:=?' in capfd.readouterr().err
    assert cli.main(['launch', str(path), 'word']) == 1


def test_bag_info_prints_the_contents_of_a_bag(tmp_path, capsys):
    bag = BagWriter(tmp_path / 'bag')
    number = bag.add_topic(Topic('/a', 'std_msgs/msg/String', 'string data\n'))
    bag.checkpoint([(number, 1_500_000_000, 0, b'\0\1\0\0'), (number, 3_000_000_000, 0, b'\0\1\0\0')])
    assert cli.main(['bag', 'info', str(tmp_path / 'bag')]) == 0
    output = capsys.readouterr().out
    assert 'State:             unfinished' in output
    bag.close()
    assert cli.main(['bag', 'info', str(tmp_path / 'bag')]) == 0
    output = capsys.readouterr().out
    assert 'Files:             bag_0.mcap\n' in output
    assert 'Duration:          1.500000000s\n' in output
    assert 'Messages:          2\n' in output
    assert 'Topic information: Topic: /a | Type: std_msgs/msg/String | Count: 2 | Serialization Format: cdr\n' in output
    assert 'State' not in output


def test_help_imports_no_slow_packages():
    code = (
        'import sys; from dyn_nodes import cli; cli.main(["launch", "--help"]); '
        'print([m for m in ("numpy", "cyclonedds", "rosbags", "casadi", "numba", "yaml") if m in sys.modules])'
    )
    result = subprocess.run(
        [sys.executable, '-c', code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, 'PYTHONPATH': str(ROOT)},
    )
    assert result.stdout.endswith('[]\n')
