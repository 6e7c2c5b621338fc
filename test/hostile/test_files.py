"""Files that are too large, too deep, endless or no text: one line that says so, at once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dyn_nodes.cli import main
from dyn_nodes.common.textfile import LARGEST_YAML, TextFileError, load_yaml, read_text
from dyn_nodes.middleware.parameter_files import RCLInvalidROSArgsError
from dyn_nodes.model import load_machine_report
from roslite.runtime.arguments import parse_arguments

ROOT = Path(__file__).resolve().parents[2]
BOMB = 'a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n' + ''.join(
    f'a{k}: &a{k} [{", ".join([f"*a{k - 1}"] * 10)}]\n' for k in range(1, 12)
)
BAD_YAML = {
    'self-reference': ('node: &a\n  ros__parameters: *a\n', 'at most 50000 values'),
    'self-reference in a list': ('node:\n  ros__parameters:\n    a: &a [*a]\n', 'at most 50000 values'),
    'alias bomb': (BOMB, 'at most 50000 values'),
    'deep list': ('a: ' + '[' * 50_000, 'nested at most 20 deep|well-formed YAML'),
    'deep mapping': (''.join(' ' * k + 'a:\n' for k in range(60)), 'nested at most 20 deep'),
    'python': ('node: !!python/object/apply:os.system [touch MARK]', 'well-formed YAML'),
    'other encoding': (b'\xff\xfea\x00:\x00', 'UTF-8 text'),
    'not text': (b'a: "\x80"\n', 'line 1: expected UTF-8 text'),
    'control': ('a: \x07', 'well-formed YAML'),
    'huge integer': ('n:\n  ros__parameters:\n    a: ' + '9' * 4000, '64 bits'),
    'endless integer': ('n:\n  ros__parameters:\n    a: ' + '9' * 90_000, 'well-formed YAML'),
    'giant': ('a: b\n' * 300_000, 'at most 1000000 bytes'),
}


@pytest.mark.parametrize(('content', 'reason'), BAD_YAML.values(), ids=BAD_YAML)
def test_a_parameter_file_is_refused_in_one_line_at_once(tmp_path, content, reason):
    path = tmp_path / 'bad.yaml'
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    began = time.process_time()
    with pytest.raises(RCLInvalidROSArgsError, match=reason) as caught:
        parse_arguments(['x', '--ros-args', '--params-file', str(path)])
    assert time.process_time() - began < 10.0
    assert '\n' not in str(caught.value)
    assert len(str(caught.value)) < 400 + len(str(path))


@pytest.mark.parametrize('content', ['[' * 5000, '&a [*a]', '9' * 5000, '!!python/name:os.system'])
def test_a_parameter_on_the_command_line_is_refused_in_one_line(content):
    with pytest.raises(RCLInvalidROSArgsError) as caught:
        parse_arguments(['x', '--ros-args', '-p', f'a:={content}'])
    assert len(str(caught.value)) < 400


def test_a_node_refuses_a_bad_parameter_file_in_one_line(tmp_path):
    (tmp_path / 'bad.yaml').write_text(BOMB)
    environment = {**os.environ, 'DYN_NODES_MIDDLEWARE': 'embedded'}
    command = [sys.executable, '-m', 'dyn_nodes.nodes.teleop_node', '--ros-args', '--params-file', 'bad.yaml']
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stderr.strip().count('\n') == 0
    assert 'bad.yaml: expected at most 50000 values' in done.stderr


@pytest.mark.parametrize('kind', ['device', 'pipe', 'directory', 'nothing', 'giant'])
@pytest.mark.parametrize('command', ['check', 'config', 'launch', 'parameters', 'task'])
def test_what_is_no_file_of_sensible_size_is_not_read(tmp_path, capsys, kind, command):
    path = tmp_path / ('bad.urdf' if command == 'check' else 'bad.launch.xml' if command == 'launch' else 'bad.yaml')
    if kind == 'device':
        path.symlink_to('/dev/zero')
    elif kind == 'pipe':
        os.mkfifo(path)
    elif kind == 'directory':
        path.mkdir()
    elif kind == 'giant':
        with path.open('wb') as file:
            file.truncate(20 * 2**30)  # a hole: it takes no room
    if command == 'parameters':
        with pytest.raises(RCLInvalidROSArgsError):
            parse_arguments(['x', '--ros-args', '--params-file', str(path)])
        return
    if command == 'task':
        from dyn_nodes.control.voltage_profile import TaskError, load_voltage_profile

        with pytest.raises(TaskError):
            load_voltage_profile(path, ['boom'], True)
        return
    words = {
        'check': ['check', str(path)],
        'config': ['check', str(ROOT / 'urdf' / 'log_loader.urdf'), '--config', str(path)],
        'launch': ['launch', str(path)],
    }[command]
    assert main(words) != 0
    error = capsys.readouterr().err
    assert 'bad.' in error
    assert 'Traceback' not in error


def test_text_and_its_limits(tmp_path):
    path = tmp_path / 'a.txt'
    path.write_bytes(b'\xef\xbb\xbfabc')
    assert read_text(path, 6) == 'abc'
    with pytest.raises(TextFileError, match='at most 5 bytes, found 6 bytes'):
        read_text(path, 5)
    with pytest.raises(TextFileError, match='at most 10 bytes, found more'):
        read_text('/proc/self/status', 10)
    with pytest.raises(TextFileError, match='a file that can be read'):
        read_text('a\x00b', 10)


def test_yaml_within_the_limits_is_that_of_pyyaml():
    assert load_yaml('a: &x [1, 2.5, true, null]\nb: *x\nc: {<<: {d: 1}}') == {
        'a': [1, 2.5, True, None],
        'b': [1, 2.5, True, None],
        'c': {'d': 1},
    }
    assert load_yaml('') is None
    with pytest.raises(TextFileError, match=f'at most {LARGEST_YAML} characters'):
        load_yaml('a' * (LARGEST_YAML + 1))


LINK = (
    "<link name='l{k}'><inertial><mass value='1'/>"
    "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link>"
)
JOINT = (
    "<joint name='j{k}' type='revolute'><parent link='l{k}'/><child link='l{n}'/><origin xyz='0.1 0 0'/>"
    "<axis xyz='0 1 0'/><limit lower='-1' upper='1' effort='1' velocity='1'/></joint>"
)


def test_a_chain_of_a_thousand_joints_is_checked_in_seconds(tmp_path):
    links = ''.join(LINK.format(k=k) for k in range(1001))
    joints = ''.join(JOINT.format(k=k, n=k + 1) for k in range(1000))
    (tmp_path / 'chain.urdf').write_text(f"<robot name='chain'>{links}{joints}</robot>")
    began = time.process_time()
    machine, problems, _ = load_machine_report(tmp_path / 'chain.urdf')
    assert time.process_time() - began < 12.0  # 83 s before, under a profiler
    assert machine is not None, problems


def test_thousands_of_unknown_keys_are_reported_in_seconds(tmp_path):
    (tmp_path / 'keys.yaml').write_text(''.join(f'key_{k}: 1\n' for k in range(45_000)))
    began = time.process_time()
    report = load_machine_report(ROOT / 'urdf' / 'log_loader.urdf', tmp_path / 'keys.yaml')
    assert time.process_time() - began < 25.0  # 81 s before, under a profiler
    assert report.machine is None
    listed = [problem for problem in report.problems if problem.expected == 'a key of this mapping']
    assert len(listed) == 50
    assert any('45000 unknown keys, 50 of them listed' in problem.found for problem in report.problems)
