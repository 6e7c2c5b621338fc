"""Machine code of the machines of this package stays within its memory: a few steps of each between guard zones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ZOO = sorted(path.stem for path in (ROOT / 'urdf').glob('*.urdf') if (ROOT / 'config' / f'{path.stem}.yaml').exists())
FEW = ['cart', 'slider_crank']


def run_guarded(machines: list[str], seconds: float) -> None:
    environment = {**os.environ, 'DYN_NODES_GUARD': '1', 'PYTHONPATH': str(ROOT)}
    command = [sys.executable, str(Path(__file__).with_name('guarded_zoo.py')), *machines]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=seconds, check=False)
    assert process.returncode == 0, process.stderr[-3000:]
    assert process.stdout.split() == machines


@pytest.mark.timeout(600)
def test_a_free_machine_and_one_with_a_loop_run_between_guard_zones():
    run_guarded(FEW, 590.0)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_machine_of_this_package_runs_between_guard_zones():
    assert len(ZOO) >= 17
    run_guarded([name for name in ZOO if name not in FEW], 1790.0)
