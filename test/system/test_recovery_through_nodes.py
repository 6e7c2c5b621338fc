"""The machine of the demo, recovered by published events and margins, composed and as processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from domains import next_domain

from dyn_nodes.analysis.run_record import read_run
from dyn_nodes.analysis.summary import summarize

DOMAIN = next_domain()
ROOT = Path(__file__).resolve().parents[2]


def run(tmp_path: Path, *words: str) -> tuple[dict[str, object], str]:
    """Run the log-loader's launch file in lockstep; return the summary of its bag, and its output."""
    bag = tmp_path / 'bag'
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(DOMAIN), 'HOME': str(tmp_path)}
    environment.setdefault('DYN_NODES_CACHE', str(Path.home() / '.cache' / 'dyn_nodes'))
    command = [sys.executable, '-m', 'dyn_nodes.cli', 'launch', 'log_loader', 'mode:=lockstep', 'record:=true']
    command += [f'bag:={bag}', *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return summarize(read_run(bag)), done.stdout


@pytest.mark.slow
@pytest.mark.parametrize('compose', ['true', 'false'])
def test_the_supervised_task_recovers_after_the_published_lift_off(tmp_path, compose):
    """0.3 s after the lift-off, as in the study: the delay counts from the instant of the event."""
    summary, printed = run(tmp_path, 'task:=pick_and_place_supervised', 'duration:=11.0', f'compose:={compose}')
    assert 'recovery from t = 8.643 s: lift_off at t = 8.343 s' in printed
    assert summary['max_base_rotation_deg'] == pytest.approx(8.075, rel=0.01)
    assert summary['max_base_rotation_time_s'] == pytest.approx(10.57, abs=0.03)


@pytest.mark.slow
def test_a_margin_recovers_it_before_any_wheel_lifts_far(tmp_path):
    words = ('recover_on:=zmp<0.15', 'recovery_delay:=0.3', 'duration:=9.0', 'compose:=true')
    summary, printed = run(tmp_path, *words)
    assert 'recovery from t = 6.5' in printed
    assert summary['max_base_rotation_deg'] < 3.0
    assert summary['overturned'] is False
