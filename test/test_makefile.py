"""Environment of the programs that the Makefile starts."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.skipif(shutil.which('make') is None, reason='there is no make')
def test_python_keeps_its_bytecode_where_the_environment_asks_for_none() -> None:
    rule = 'asked: ; @$(PYTHON) -c "import sys; print(sys.dont_write_bytecode)"'
    environment = {**os.environ, 'PYTHONDONTWRITEBYTECODE': '1', 'MAKEFLAGS': '', 'MAKELEVEL': '0'}
    command = ['make', '--silent', '--eval', rule, 'asked']
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stdout.split()) == (0, ['False'])
