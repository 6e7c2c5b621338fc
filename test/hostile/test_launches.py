"""Unbounded launch files: one budget of processes, includes, text and time, with file and line."""

from __future__ import annotations

import resource

import pytest

from dyn_nodes.cli import main
from dyn_nodes.middleware.launching import LaunchError, declared_arguments, interpret
from faults import launches
from roslite.launching.budget import MOST_PROCESSES, Budget
from roslite.launching.context import LaunchContext
from roslite.launching.substitutions import split_command

NODE = launches.NODE
BOTH = pytest.mark.parametrize('read', [interpret, declared_arguments])


def written(directory, *lines, name='a.launch.xml'):
    return launches._file(directory / name, *lines)


def test_a_variable_that_doubles_in_each_line_is_rejected_at_its_line(tmp_path):
    lines = ['<let name="a" value="x"/>', *['<let name="a" value="$(var a)$(var a)"/>'] * 30, NODE]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(LaunchError, match=r"a\.launch\.xml:26: <let> attribute 'value': expected at most 16000000"):
        interpret(written(tmp_path, *lines))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # KiB


@pytest.mark.parametrize('element', launches.ELEMENTS.values(), ids=launches.ELEMENTS)
def test_the_text_of_all_values_is_bounded(element, tmp_path):
    big = f'<arg name="a" default="{"x" * 1_000_000}"/>'
    lines = [element.format('$(var a)' * 10).replace('other', f'other{k}') for k in range(50)]
    path = written(tmp_path, big, *lines, *[NODE] * 100)
    with pytest.raises(LaunchError, match=r':\d+: .*: expected '):
        interpret(path)


@BOTH
def test_includes_that_fan_out_end(read, tmp_path):
    written(tmp_path, '<arg name="b" default="1"/>', name='20.launch.xml')
    for k in range(20):
        written(tmp_path, *[f'<include file="$(dirname)/{k + 1}.launch.xml"/>'] * 4, name=f'{k}.launch.xml')
    with pytest.raises(LaunchError, match=r'\d+\.launch\.xml:\d: <include>: expected at most 500 includes, found more'):
        read(tmp_path / '0.launch.xml')


@BOTH
def test_an_include_of_itself_within_groups_ends(read, tmp_path):
    path = written(tmp_path, '<group>' * 90 + '<include file="$(filename)"/>' + '</group>' * 90)
    with pytest.raises(LaunchError, match='expected at most 100 nested groups and includes'):
        read(path)
    path = written(tmp_path, '<let name="_include_depth" value="0"/>', '<include file="$(filename)"/>')
    with pytest.raises(LaunchError, match='expected at most 20 nested includes; does the file include itself'):
        read(path)


@pytest.mark.parametrize('value', launches.ODD)
def test_no_variable_counts_the_includes(value, tmp_path):
    written(tmp_path, NODE, name='b.launch.xml')
    path = written(tmp_path, '<arg name="_include_depth" default="0"/>', '<include file="$(dirname)/b.launch.xml"/>')
    assert len(interpret(path, {'_include_depth': value}).children) == 1


def test_processes_are_bounded_and_a_launch_of_too_many_is_rejected(tmp_path, capsys):
    path = written(tmp_path, *[NODE] * 20_000)
    assert main(['launch', str(path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert f'a.launch.xml:{MOST_PROCESSES + 2}: <node>: expected at most 500 processes in a launch, found more' in line
    assert len(interpret(written(tmp_path, *[NODE] * 100)).children) == 100


def test_the_evaluation_ends_after_a_limit_of_processor_time(tmp_path, monkeypatch):
    monkeypatch.setattr('roslite.launching.budget.MOST_SECONDS', 0.0)
    with pytest.raises(LaunchError, match=r':\d+: .*expected at most 0 s of processor time'):
        interpret(written(tmp_path, *['<let name="a" value="b"/>'] * 1000))


def test_a_command_of_megabytes_is_split_at_once(tmp_path):
    context = LaunchContext(tmp_path / 'a.launch.xml', budget=Budget())
    assert len(split_command('x' * 2_000_000 + ' a "b c"', context)) == 3


def test_an_error_about_a_long_text_is_short(tmp_path):
    path = written(tmp_path, f'<group if="{"x" * 1_000_000}"/>')
    with pytest.raises(LaunchError) as caught:
        interpret(path)
    assert len(str(caught.value)) < 5000


@pytest.mark.parametrize('number', [k for k in range(32) if list(launches.KINDS)[k % 8] != 'used-often'])
def test_hostile_launch_files_end_within_the_budget(number, tmp_path):
    _, path = launches.make(number, 5, tmp_path)
    assert list(launches.examine(path)) == []
