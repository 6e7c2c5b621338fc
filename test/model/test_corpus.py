"""Every broken file of test/corpus causes its expected error, exit status 1 and no traceback."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from dyn_nodes.commands import check

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / 'test' / 'corpus'
EXPECTED = yaml.safe_load((CORPUS / 'expected.yaml').read_text(encoding='utf-8'))
COMMAND = 'import argparse, sys; from dyn_nodes.commands import check; parser = argparse.ArgumentParser(); '
COMMAND += 'check.add_parser(parser.add_subparsers()); args = parser.parse_args(); sys.exit(args.run(args))'


def arguments(name: str) -> list[str]:
    if name.endswith('.yaml'):
        return ['check', str(CORPUS / 'crane.urdf'), '--config', str(CORPUS / name)]
    return ['check', str(CORPUS / name)]


def run_check(*words: str) -> int:
    parser = argparse.ArgumentParser()
    check.add_parser(parser.add_subparsers())
    args = parser.parse_args(words)
    return args.run(args)


def expected_line(name: str) -> str:
    line = EXPECTED[name]['line']
    return f'{CORPUS / name}:{line}: ' if line else f'{CORPUS / name}: '


def test_the_corpus_is_large_and_complete():
    files = {path.name for path in CORPUS.iterdir()} - {'expected.yaml', 'crane.urdf', 'crane.yaml'}
    assert files == set(EXPECTED)
    assert len(files) >= 45


def test_the_machine_without_faults_is_valid(capsys):
    assert run_check('check', str(CORPUS / 'crane.urdf')) == 0
    assert run_check('check', str(CORPUS / 'crane.urdf'), '--config', str(CORPUS / 'crane.yaml')) == 0
    assert 'warning' not in capsys.readouterr().out


BROKEN = sorted(name for name, entry in EXPECTED.items() if 'message' in entry)


@pytest.mark.parametrize('name', sorted(set(EXPECTED) - set(BROKEN)))
def test_a_suspicious_file_is_accepted_with_its_warning(name, capsys):
    assert run_check(*arguments(name)) == 0
    captured = capsys.readouterr()
    warnings = [line for line in captured.out.splitlines() if line.startswith('warning: ')]
    assert warnings == [f'warning: {expected_line(name)}{EXPECTED[name]["warning"]}']


@pytest.mark.parametrize('name', BROKEN)
def test_a_broken_file_gets_its_error_with_the_line(name, capsys):
    assert run_check(*arguments(name)) == 1
    captured = capsys.readouterr()
    assert captured.out == ''
    lines = [line for line in captured.err.splitlines() if not line.endswith('(warning)')]
    assert 'Traceback' not in captured.err
    matching = [line for line in lines[:-1] if EXPECTED[name]['message'] in line]
    assert matching, captured.err
    assert matching[0].startswith(expected_line(name)), captured.err
    assert all(': expected ' in line and ', found ' in line for line in lines[:-1])


@pytest.mark.parametrize('name', ['entity_bomb.urdf', 'alias_bomb.yaml', 'dead_centre.yaml'])
def test_a_broken_file_gets_its_error_in_a_separate_process(name):
    command = [sys.executable, '-c', COMMAND, *arguments(name)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stdout == ''
    assert 'Traceback' not in done.stderr
    assert EXPECTED[name]['message'] in done.stderr
    assert done.stderr.startswith(expected_line(name))


def test_json_problems_have_file_line_key_expected_and_found(capsys):
    assert run_check(*arguments('mass_negative.urdf'), '--json') == 1
    result = json.loads(capsys.readouterr().out)
    assert result['valid'] is False
    assert result['problems'] == [
        {
            'file': str(CORPUS / 'mass_negative.urdf'),
            'line': EXPECTED['mass_negative.urdf']['line'],
            'where': 'link boom_link, mass',
            'expected': 'a mass >= 0 kg',
            'found': '-80',
        }
    ]
