"""Without the packages for plots and pages, commands that need them report them and all others work."""

from __future__ import annotations

import subprocess
import sys

import pytest

BLOCKED = ('matplotlib', 'cycler', 'viser', 'yourdfpy', 'PIL')
CODE = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in {BLOCKED}:
            raise ModuleNotFoundError(name, name=name.partition('.')[0])
sys.meta_path.insert(0, Missing())
from dyn_nodes.entry import command
sys.exit(command(sys.argv[1:]))
"""


def run(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, '-c', CODE, *words], capture_output=True, text=True, timeout=200, check=False
    )


@pytest.mark.parametrize(
    'words',
    [
        ('--help',),
        ('study', 'list'),
        ('study', 'run', 'yesiloglu-2007/cart', '--json'),
        ('design', 'isotropic', '--wheels', '3'),
        ('cache',),
        ('bag', 'play', '--help'),
    ],
)
def test_commands_without_drawings_run_without_the_packages(words):
    done = run(*words)
    assert (done.returncode, 'missing' in done.stderr) == (0, False), done.stderr


def test_missing_packages_are_reported_in_one_line():
    done = run('run', 'viewer_node')
    assert done.returncode == 1
    assert "viewer_node: the Python packages 'viser', 'yourdfpy' are missing" in done.stderr
    assert '-m pip install "viser" "yourdfpy"' in done.stderr
    assert done.stderr.count('\n') == 1


def test_a_demo_without_them_ends_before_its_nodes_start():
    done = run('demo', '--fast')
    assert done.returncode == 1
    assert "the Python package 'matplotlib' is missing" in done.stderr
    assert (done.stdout, done.stderr.count('\n')) == ('', 1)
