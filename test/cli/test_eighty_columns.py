"""The output of `check` fits a terminal of 80 columns with all names."""

from __future__ import annotations

import pytest
from rich.console import Console

from dyn_nodes.cli import main
from dyn_nodes.commands import tables
from dyn_nodes.model import load_machine_report
from dyn_nodes.model.named import machine_files, packaged_machines

WIDTH = 80


def plain(width, **options):
    return Console(highlight=False, emoji=False, markup=False, color_system=None, width=width, **options)


@pytest.fixture
def terminal(monkeypatch):
    """Replace every console by a terminal of 80 columns."""
    monkeypatch.setattr(tables, 'console', lambda *_, **options: plain(WIDTH, force_terminal=True, **options))


@pytest.mark.parametrize('name', packaged_machines())
def test_check_fits_the_terminal_and_prints_all_names(terminal, capsys, name):
    assert main(['check', name]) == 0
    text = capsys.readouterr().out
    wide = [line for line in text.splitlines() if len(line.rstrip()) > WIDTH]
    assert not wide, '\n'.join(wide)
    assert '…' not in text, 'the output is truncated'
    machine = load_machine_report(*machine_files(name)).machine
    words = set(text.split())
    assert {joint.name for joint in machine.joints} <= words


def test_a_sentence_is_broken_between_words_on_a_terminal_only(capsys):
    path = '/'.join(['folder'] * 14)
    text = f'expected a well-known word, found {path}, ' + 'and more words than one line holds ' * 3
    tables.print_sentence(plain(WIDTH, force_terminal=True), text)
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= WIDTH or line.strip() == f'{path},' for line in lines)
    assert all(line.startswith('  ') for line in lines[1:])
    assert ' '.join(lines).split() == text.split()
    tables.print_sentence(plain(WIDTH, force_terminal=False), text)
    assert capsys.readouterr().out == f'{text}\n'
