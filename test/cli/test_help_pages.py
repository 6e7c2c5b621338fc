"""Help of every command: complete sentences, 80 columns, examples that can be copied."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys

import pytest

from dyn_nodes import cli
from dyn_nodes.commands import broken_command


def parsers(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()):
    """Yield the words, the parser and the help line of every sub-command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            lines = {choice.dest: choice.help for choice in action._choices_actions}
            for name, child in action.choices.items():
                yield (*path, name), child, lines.get(name)
                yield from parsers(child, (*path, name))


@pytest.fixture(scope='module')
def commands():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('COLUMNS', '80')
        return [(path, child.format_help(), line) for path, child, line in parsers(cli.build_parser())]


def test_every_command_has_a_sentence(commands):
    assert len(commands) > 60
    for path, _, line in commands:
        assert line, path
        assert (line[0].isupper(), line[-1]) == (True, '.'), path


def test_every_page_fits_on_eighty_columns(commands):
    too_wide = [(path, line) for path, page, _ in commands for line in page.splitlines() if len(line) > 80]
    assert too_wide == []


def test_the_parsers_accept_the_examples(commands):
    parser, taken = cli.build_parser(), 0
    for path, page, _ in commands:
        text = page.partition('\nexample:\n')[2].replace('\\\n', ' ')
        for line in filter(None, (line.strip() for line in text.splitlines())):
            words = shlex.split(line.partition(' > ')[0].partition(' | ')[0])
            if words[0] != 'dyn-nodes':
                continue
            taken += 1
            try:
                parser.parse_args(words[1:])
            except SystemExit:
                pytest.fail(f'{path}: {line}')
    assert taken > 60


def test_a_long_command_is_broken_where_a_shell_joins_it():
    command = "dyn-nodes x --one 1 --two 'a b c' --three " + 'w' * 40 + ' --four 4 last'
    lines = broken_command(command, 60)
    assert max(map(len, lines)) <= 60
    assert shlex.split(' '.join(line.removesuffix('\\') for line in lines)) == shlex.split(command)
    assert all(line.endswith(' \\') for line in lines[:-1])


@pytest.mark.parametrize(
    ('words', 'meant'), [(['lanuch'], 'launch'), (['study', 'lst'], 'list'), (['bag', 'pley', 'x'], 'play')]
)
def test_a_misspelt_word_gets_a_suggestion(words, meant, capsys):
    assert cli.main(words) == 2
    assert f"(did you mean '{meant}'?)" in capsys.readouterr().err


def test_studies_are_listed_without_importing_them():
    code = (
        'import sys\nfrom dyn_nodes import cli\nassert cli.main(["study", "list"]) == 0\n'
        'print([name for name in ("numpy", "casadi", "numba", "scipy") if name in sys.modules])'
    )
    run = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.splitlines()[-1] == '[]'


def test_the_list_of_studies_equals_the_registry():
    from dyn_nodes.studies.framework import load_studies
    from dyn_nodes.studies.listing import listed_studies

    assert list(listed_studies().items()) == [(name, entry.title) for name, entry in load_studies().items()]


def test_the_list_of_studies_keeps_within_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, 'isatty', lambda: True)
    monkeypatch.setenv('COLUMNS', '80')
    assert cli.main(['study', 'list']) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) > len([line for line in lines if line[0] != ' ']) > 40


class TestCache:
    @pytest.fixture(autouse=True)
    def directories(self, tmp_path, monkeypatch):
        monkeypatch.setenv('DYN_NODES_CACHE', str(tmp_path / 'code'))
        monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'log'))
        return tmp_path

    def test_it_shows_missing_directories_and_creates_none(self, directories, capsys):
        assert cli.main(['cache']) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].endswith(str(directories / 'code'))
        assert '0.0 MB in 0 files' in lines[0]
        assert lines[1].endswith(str(directories / 'log'))
        assert list(directories.iterdir()) == []

    def test_it_removes_only_files_of_these_programs(self, directories, capsys):
        code, log = directories / 'code', directories / 'log'
        mine = [code / 'module-0a1b' / 'x.o', code / 'array_loops' / ('a' * 32) / 'f.nbi', code / 'trace-77']
        other = [code / 'key', code / 'notes' / 'mine.txt', log / 'holiday' / 'a.jpg']
        launch = log / '2026-01-02-03-04-05-678-9abc' / 'node.log'
        for path in (*mine, *other, launch):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b'1234')
        assert cli.main(['cache', '--clear']) == 0
        assert not any(path.exists() for path in mine)
        assert launch.is_file()
        assert all(path.is_file() for path in other)
        assert cli.main(['cache', '--clear', 'logs', 'code']) == 0
        assert not launch.parent.exists()
        assert all(path.is_file() for path in other)
        assert '0.0 MB in 2 files' in capsys.readouterr().out

    def test_a_wrong_kind_is_rejected(self, capsys):
        assert cli.main(['cache', '--clear', 'bags']) == 2
        assert 'invalid choice' in capsys.readouterr().err
