"""Machines without a command, in real time on this runtime: no event, and every state equals lockstep."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from domains import next_domain

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize('loops', [0, 2], ids=['free', 'busy'])
@pytest.mark.parametrize('machine', ['log_loader', 'agv_mecanum_arm', 'car', 'platform_4x4x4_arm'])
def test_a_machine_without_a_command_stands_for_a_minute_as_in_lockstep(machine: str, loops: int) -> None:
    """The speed on an idle computer is checked by `--factor` of the benchmark."""
    words = ['--machine', machine, '--minutes', '1', '--loops', str(loops), '--domain', str(next_domain())]
    run = subprocess.run(
        [sys.executable, '-m', 'benchmarks.standing', *words],
        cwd=ROOT,
        env={**os.environ, 'PYTHONPATH': str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert 'events: none' in run.stdout
