"""Errors that a user can correct have one base class and one line of text."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import dyn_nodes
import roslite
from dyn_nodes import cli
from dyn_nodes.analysis.load_statics import LoadChartError
from dyn_nodes.commands import CommandError, check
from dyn_nodes.common.errors import UserError
from dyn_nodes.middleware.bags import BagError

OTHERS = {
    'RunOver': 'leaves the loop of a node',
    'RunFailed': 'leaves the loop of a node',
    'NotNeeded': 'leaves the loop of a node',
    'GuardError': 'machine code of the program touched what it must not touch',
    'LengthError': 'the program called compiled code with wrong arrays',
    'NotInPythonError': 'Python code cannot do what machine code does, which is compiled then',
    'DecodeError': 'the bytes of a message, which the runtime drops and counts',
}
"""Public exceptions that no user causes, with their purpose."""
OF_RCLPY = ('roslite.runtime.exceptions', 'dyn_nodes.middleware')
"""Modules with the exceptions of rclpy's interface, whose base classes rclpy defines."""


def exceptions():
    for package in (dyn_nodes, roslite):
        for info in pkgutil.walk_packages(package.__path__, f'{package.__name__}.'):
            if info.name.startswith(OF_RCLPY) or info.name.endswith(('__main__', 'launching.guard')):
                continue
            for name, thing in vars(importlib.import_module(info.name)).items():
                if name.startswith('_') or not isinstance(thing, type) or thing.__module__ != info.name:
                    continue
                if issubclass(thing, Exception) and not issubclass(thing, Warning):
                    yield thing


def test_every_error_that_a_user_can_correct_has_one_base_class():
    kinds = list(exceptions())
    assert len(kinds) > 60
    assert {kind.__name__ for kind in kinds if not issubclass(kind, UserError)} == set(OTHERS)


@pytest.mark.parametrize('kind', [BagError, CommandError, LoadChartError])
def test_a_command_prints_an_error_of_the_user_on_one_line(kind, monkeypatch, capsys):
    def fail(args):
        raise kind('machine.yaml:3: wheels: expected a list\x1b[2J')

    monkeypatch.setattr(check, 'run', fail)
    assert cli.main(['check', 'log_loader']) == 1
    text = capsys.readouterr().err
    assert text.startswith('dyn-nodes: machine.yaml:3: wheels: expected a list')
    assert text.count('\n') == 1
    assert '\x1b' not in text
