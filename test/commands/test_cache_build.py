"""Tests of `dyn-nodes cache build`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dyn_nodes.cli import build_parser, main
from dyn_nodes.commands import cache_build
from dyn_nodes.commands.cache_build import _steps, build
from dyn_nodes.nodes.machines import machine_of

ROOT = Path(__file__).resolve().parents[2]
ARM = ROOT / 'test' / 'init_cases' / 'weak_arm.urdf'
LIBRARY = f"""
import dyn_nodes
dyn_nodes.load({str(ARM)!r}).simulate(0.02)
"""


def test_after_it_a_machine_starts_without_compiling(tmp_path, monkeypatch, capsys):
    cache = tmp_path / 'code'
    monkeypatch.setenv('DYN_NODES_CACHE', str(cache))
    assert build([str(ARM)], '') == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split(':')[0] for line in lines} == {f'{ARM}, nodes', f'{ARM}, runs and margins'}
    assert all(': done, ' in line for line in lines)
    compiled = set(cache.rglob('*.nbc'))
    assert compiled
    run = subprocess.run([sys.executable, '-c', LIBRARY], capture_output=True, text=True, timeout=250, check=True)
    assert run.stderr == ''
    assert set(cache.rglob('*.nbc')) == compiled


@pytest.mark.parametrize(
    ('name', 'options'),
    [
        ('log_loader', ('--criterion', 'tipping')),
        ('log_loader_planar', ()),
        ('excavator', ('--criterion', 'tipping')),
        ('agv_mecanum_arm', ('--efforts', '--criterion', 'tipping')),
        ('rover', None),
        ('four_bar', None),
    ],
)
def test_the_governor_is_compiled_for_machines_that_it_supports(name, options):
    commands = [step.command for step in _steps(name, '', machine_of(name, ''))]
    for command in commands:
        if command[0] == '-m':
            build_parser().parse_args(command[2:])  # an invalid option ends in SystemExit
    governor = [command for command in commands if 'governor' in command]
    assert governor == ([] if options is None else [governor[0]])
    assert options is None or governor[0][governor[0].index('--only-governed') + 1 :] == options
    assert [command[-3:] for command in commands if 'launch' in command] == [(name, 'mode:=lockstep', 'duration:=0.02')]


def test_a_command_without_an_end_is_named_and_gives_status_1(monkeypatch, capsys):
    monkeypatch.setattr(cache_build, 'LONGEST', 0.05)
    assert build([str(ARM)], '') == 1
    assert [line.split(': ')[1] for line in capsys.readouterr().out.splitlines()] == ['no end within 0.05 s, 0 s'] * 2


def test_a_cache_that_cannot_be_written_is_named(monkeypatch, capsys):
    monkeypatch.setenv('DYN_NODES_CACHE', os.devnull)
    assert main(['cache', 'build', str(ARM)]) == 1
    assert f'expected a cache that this user can write, found {os.devnull}' in capsys.readouterr().err


def test_machines_that_do_not_exist_and_missing_names_are_named(capsys):
    assert main(['cache', 'build']) == 2
    assert 'expected `cache build MACHINE ...`, found no machine' in capsys.readouterr().err
    assert main(['cache', 'build', 'no_machine.urdf']) == 2
    assert 'no_machine.urdf' in capsys.readouterr().err
