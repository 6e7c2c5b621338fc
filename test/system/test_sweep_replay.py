"""The worst run of a sweep, repeated by nodes from the launch file written for it."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from dyn_nodes.analysis.bag_reading import read_bag
from dyn_nodes.analysis.sweeps.driver import run_sweep
from dyn_nodes.analysis.sweeps.replay import worst_runs, write_replay
from dyn_nodes.analysis.sweeps.report import read_results
from dyn_nodes.analysis.sweeps.sweep_file import load_sweep
from dyn_nodes.analysis.sweeps.workers import LocalWorkers

SWEEP = """name: tip_over
machine: log_loader
task: pick_and_place_recovery
recovery: false
factors:
  payload: {parameter: payload_mass, values: [3000.0, 5600.0]}
  friction: {parameter: friction_scale, values: [0.8]}
  slope: {machine: slope.pitch, values: [0.02]}
  boom: {volts: reach/boom, values: [-5.2]}
  start: {joint: boom_joint, values: [0.87]}
outcomes: [overturned, greatest_tilt]
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_nodes_repeat_the_outcome_of_the_worst_run(domain, tmp_path):
    (tmp_path / 'sweep.yaml').write_text(SWEEP)
    run_sweep(load_sweep(tmp_path / 'sweep.yaml'), tmp_path / 'out', LocalWorkers(1))
    results = read_results(tmp_path / 'out')
    (index,) = worst_runs(results, 'overturned', 5)
    made = write_replay(results, index, tmp_path)
    words = ['launch', str(made / 'replay.launch.xml'), 'record:=true', f'bag:={tmp_path / "bag"}']
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain)}
    command = [sys.executable, '-m', 'dyn_nodes.cli', *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=800)
    assert 'overturned' in done.stdout + done.stderr
    odom = read_bag(tmp_path / 'bag').table('odom')
    up = 1.0 - 2.0 * (odom['qx'] ** 2 + odom['qy'] ** 2)  # component of the base's vertical along the ground's
    row = results.table.slice(index, 1).to_pylist()[0]
    assert row['payload'] == 5600.0
    assert np.arccos(np.clip(up, -1.0, 1.0)).max() == pytest.approx(row['greatest_tilt'], abs=0.05)
    assert odom.time.max() == pytest.approx(row['end_time'], abs=0.05)
