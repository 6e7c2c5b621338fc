"""The end of a run: all nodes end with the dynamics node, and the bag is complete."""

from __future__ import annotations

import os
import subprocess
import sys

from dyn_nodes.middleware.bags import bag_summary


def test_the_launch_ends_with_the_run_and_the_bag_holds_its_last_instant(domain, tmp_path):
    words = ('duration:=0.4', 'monolithic:=true', 'drive:=true', 'record:=true', f'bag:={tmp_path / "bag"}')
    command = [sys.executable, '-m', 'dyn_nodes.cli', 'launch', 'log_loader', *words]
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain)}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert run.returncode == 0, run.stdout + run.stderr
    assert 'the run of 0.4 s is over' in run.stdout
    counts = {topic.name: topic.count for topic in bag_summary(tmp_path / 'bag').topics}
    # a recorder on a busy computer may discover a topic late; it loses nothing of the end
    assert counts['/joint_states'] > 70  # 81 exchanges of 5 ms
    assert counts['/imu'] > 0
    assert counts['/events'] >= 1
