"""Tests of the scripts of `dyn-nodes completion` in the shells."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from dyn_nodes import cli
from dyn_nodes.commands.completion import bash_script, words_of


@pytest.fixture(scope='module')
def words():
    return {entry.path: entry for entry in words_of(cli.build_parser(), ())}


def completed(script: str, line: list[str]) -> list[str]:
    """Return the completions of bash for the last word of a line."""
    quoted = ' '.join(f'"{word}"' for word in line)
    code = (
        f'{script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(line) - 1}; _dyn_nodes; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    run = subprocess.run(['bash', '-c', code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stderr == ''
    return run.stdout.split()


@pytest.fixture(scope='module')
def bash():
    if shutil.which('bash') is None:
        pytest.skip('no bash')
    return bash_script(list(words_of(cli.build_parser(), ())))


@pytest.mark.parametrize(
    ('line', 'expected'),
    [
        (['dyn-nodes', 'stu'], {'study'}),
        (['dyn-nodes', 'study', ''], {'list', 'run', 'view'}),
        (['dyn-nodes', 'study', 'run', 'abo-shanab-2003/e15'], {'abo-shanab-2003/e15'}),
        (['dyn-nodes', 'study', 'run', 'saha-1991/disk', '--pl'], {'--plot'}),
        (['dyn-nodes', 'check', 'log_loader_l'], {'log_loader_linkage'}),
        (['dyn-nodes', 'loadchart', 'log_loader', '--downhill', 'r'], {'rear', 'right'}),
        (['dyn-nodes', 'fit', 'hydraulics', 'bag', '--machine', 'excav'], {'excavator'}),
        (['dyn-nodes', 'launch', 'team_pl'], {'team_plank', 'team_plate'}),
        (['dyn-nodes', 'run', 'viewer'], {'viewer_node'}),
        (['dyn-nodes', 'completion', ''], {'bash', 'zsh', 'fish'}),
        (['dyn-nodes', 'nonsense', ''], None),
    ],
    ids=lambda value: ' '.join(value) if isinstance(value, list) else '',
)
def test_bash_completes(bash, line, expected):
    offered = completed(bash, line)
    if expected is None:
        assert 'check' in offered
    else:
        assert set(offered) == expected


def test_every_command_verb_and_option_is_offered(words):
    assert set(words[()].verbs) == set(cli.COMMANDS)
    assert {'--slope', '--json', '--help'} <= set(words[('loadchart',)].options)
    assert {'info', 'record', 'play', 'import', 'compare'} <= set(words[('bag',)].verbs)


@pytest.mark.parametrize('shell', ['zsh', 'fish'])
def test_the_other_shells_can_read_their_scripts(shell, capsys):
    if shutil.which(shell) is None:
        pytest.skip(f'no {shell}')
    assert cli.main(['completion', shell]) == 0
    script = capsys.readouterr().out
    ask = {'zsh': 'print ${_comps[dyn-nodes]}', 'fish': "complete -C 'dyn-nodes study ru'"}[shell]
    run = subprocess.run([shell, '-c', f'{script}\n{ask}'], capture_output=True, text=True, timeout=60, check=False)
    assert run.stderr == ''
    assert {'zsh': '_bash_complete', 'fish': 'run\tRun studies'}[shell] in run.stdout
