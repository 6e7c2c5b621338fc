"""The script of the gate runs every part, and one part that fails closes it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MAKE = """#!/bin/sh
echo "$@" >> "$CALLS"
echo "== 3 passed in 1.00s =="
case " $*" in *"$FAILING"*) echo "the fault of $FAILING" >&2; exit 2 ;; esac
"""


def run_gate(tmp_path: Path, failing: str) -> tuple[subprocess.CompletedProcess, list[str]]:
    """Run it with a `make` that notes what it is asked for, and fails for one target; no browser is installed."""
    for name, text in (('make', MAKE), ('chromium', '#!/bin/sh\n')):
        program = tmp_path / name
        program.write_text(text)
        program.chmod(0o755)
    calls = tmp_path / 'calls'
    environment = {**os.environ, 'PATH': f'{tmp_path}:{os.environ["PATH"]}', 'CALLS': str(calls), 'FAILING': failing}
    done = subprocess.run(
        ['bash', ROOT / '.ci' / 'run'], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    return done, calls.read_text().splitlines()


def test_every_room_is_tested_once_and_the_closing_lines_come_last(tmp_path):
    done, calls = run_gate(tmp_path, 'nothing')
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-4:] == ['== 3 passed in 1.00s =='] * 4
    assert sorted(call.split()[0] for call in calls if call[0] != '.') == [
        'lint',
        'test',
        'test',
        'test-oldest',
        'test-ros',
    ]
    rooms = next(call for call in calls if call.startswith('test TESTS=')).removeprefix('test TESTS=').split()
    others = next(call for call in calls if call.startswith('test ARGS='))
    assert rooms
    assert all((ROOT / room).is_dir() for room in rooms)
    assert re.findall(r'--ignore=(\S+)', others) == rooms
    assert 'TESTS=' not in others  # all the rest


@pytest.mark.parametrize('part', ['lint', 'TESTS=', '--ignore=', 'test-ros', 'test-oldest', '.venv-ros/.installed'])
def test_a_part_that_fails_closes_the_gate_and_shows_why(tmp_path, part):
    done, calls = run_gate(tmp_path, part)
    assert done.returncode == 1
    assert f'the fault of {part}' in done.stdout
    assert 'failed: ' in done.stdout
    assert any(call.startswith('test-oldest') for call in calls)  # the others run, too
