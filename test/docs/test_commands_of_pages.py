"""Commands of the README and of the pages: each exists with its options; cheap ones are run."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(900)  # the first user compiles the kernels of a machine
ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / 'README.md', ROOT / 'examples' / 'README.md', *sorted((ROOT / 'docs').rglob('*.md'))]
BLOCK = re.compile(r'^ *```(\w*)[^\n]*\n(.*?)^ *```', re.DOTALL | re.MULTILINE)
PLACEHOLDERS = ('<', '...', '$')
"""Marks of words that the reader replaces."""


@cache
def parser() -> argparse.ArgumentParser:
    from dyn_nodes.cli import build_parser

    return build_parser()


def command_lines(page: Path) -> list[str]:
    """Return the shell lines of a page without comments, with joined continuation lines."""
    lines = []
    blocks = BLOCK.findall(page.read_text(encoding='utf-8'))
    for block in (text for kind, text in blocks if kind in ('', 'sh', 'bash')):
        text = re.sub(r"'\{.*?\}'", 'MESSAGE', block.replace('\\\n', ' '), flags=re.DOTALL)
        lines += [re.sub(r'\s#.*$|\s&$', '', line).strip() for line in text.splitlines()]
    return [line for line in lines if line]


def of_command(name: str) -> list[tuple[str, str]]:
    return [(page.name, line) for page in PAGES for line in command_lines(page) if line.split(' ')[0] == name]


@pytest.mark.parametrize(('page', 'line'), sorted(set(of_command('dyn-nodes'))))
def test_every_command_of_a_page_exists_with_its_options(page, line, capsys):
    words = shlex.split(re.split(r'\s[|>]\s?', line)[0])[1:]
    if any(mark in word for word in words for mark in PLACEHOLDERS):
        words = [re.sub(r'<\w+>|\.\.\.', 'x', word) for word in words]
    try:
        parser().parse_args(words)
    except SystemExit as end:
        if end.code:
            pytest.fail(f'{page}: {line}\n{capsys.readouterr().err}')


def test_launch_files_and_nodes_of_the_pages_exist():
    for page, line in of_command('dyn-nodes'):
        words = shlex.split(re.split(r'\s[|>]\s?', line)[0])
        if words[1:2] == ['launch'] and not any(mark in words[2] for mark in PLACEHOLDERS):
            assert (ROOT / 'launch' / f'{words[2]}.launch.xml').exists() or words[2].endswith('.xml'), (page, line)
        if words[1:2] == ['run']:
            assert (ROOT / 'dyn_nodes' / 'nodes' / f'{words[2]}.py').exists(), (page, line)


def test_targets_of_make_exist():
    makefile = (ROOT / 'Makefile').read_text()
    targets = set(re.findall(r'^([a-z-]+):', makefile, re.MULTILINE))
    for page, line in of_command('make'):
        assert {word for word in shlex.split(line)[1:] if re.fullmatch('[a-z-]+', word)} <= targets, (page, line)
    inline = re.findall(r'`make ([a-z-]+)', ''.join(page.read_text(encoding='utf-8') for page in PAGES))
    assert set(inline) <= targets


def test_the_readme_names_the_commands_that_matter():
    first = {line.split()[1] for line in command_lines(ROOT / 'README.md') if line.startswith('dyn-nodes ')}
    assert {'check', 'fit', 'governor', 'graph', 'init', 'launch', 'loadchart', 'monitor', 'report', 'sweep'} <= first


RUN = ('check log_loader', 'sweep run log_loader_tip_over --plan', 'linearize log_loader', 'loadchart log_loader')


@pytest.mark.parametrize('start', RUN)
def test_cheap_commands_of_the_readme_run(start, tmp_path):
    """Unchanged, in an empty directory; with a coarser chart."""
    (line,) = [command for command in command_lines(ROOT / 'README.md') if command.startswith(f'dyn-nodes {start}')]
    words = [sys.executable, '-m', 'dyn_nodes.cli', *shlex.split(line)[1:]]
    if start.startswith('sweep'):
        pytest.importorskip('pyarrow')
    if start.startswith('loadchart'):
        words += ['--reach-step', '2', '--swing-step', '60']
    environment = {**os.environ, 'PYTHONPATH': str(ROOT)}
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=800, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 3


def test_python_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r'^```python\n(.*?)^```', (ROOT / 'README.md').read_text(encoding='utf-8'), re.M | re.S)
    exec(block, {})
    tilt, margin = (float(word) for word in capsys.readouterr().out.split())
    assert tilt == pytest.approx(0.149, abs=2e-3)
    assert margin == pytest.approx(0.66, abs=0.01)
    assert (tmp_path / 'tip_over.png').stat().st_size > 10_000


def test_links_of_the_readme_exist():
    for page in (ROOT / 'README.md', ROOT / 'examples' / 'README.md'):
        for link in re.findall(r'\]\(([^)#:]+)[)#]', page.read_text(encoding='utf-8')):
            assert (page.parent / link).exists(), f'{page.name}: {link}'
