"""The payload from the pressures of the running nodes: the monitor weighs it, the governor gets its interval."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from dyn_nodes.analysis.bag_reading import read_bag

LOAD, DROP = 3000.0, 6.0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_monitor_and_governor_know_the_load_and_its_drop(domain, tmp_path):
    """3,000 kg that the machine lets go: nobody tells them of the drop."""
    bag = tmp_path / 'bag'
    words = ['mode:=lockstep', 'compose:=true', 'monitor:=true', 'governor:=true', 'estimated_payload:=true']
    words += [f'drop_time:={DROP}', 'duration:=7.0', 'record:=true', f'bag:={bag}', 'recovery:=false']
    command = [sys.executable, '-m', 'dyn_nodes.cli', 'launch', 'log_loader', f'payload:={LOAD}', *words]
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500, check=False)
    assert 'finished' in ended.stdout + ended.stderr, ended.stdout
    data = read_bag(bag)
    mass, interval = data.table('monitor/payload/estimate'), data.table('monitor/payload/interval')
    before = (mass.time > 3.0) & (mass.time < DROP)
    assert np.ptp(data.table('joint_states')['boom_joint/position']) > 0.1  # it has worked
    assert np.abs(mass['data'][before] - LOAD).max() < 60.0
    assert (interval['lower'][before] < LOAD).all()
    assert (interval['upper'][before] > LOAD).all()
    assert (interval['upper'] - interval['lower'])[before].max() < 300.0
    after = mass.time > DROP + 0.5
    assert np.abs(mass['data'][after]).max() < 120.0
    governor = [status for _, status in data.statuses['diagnostics'] if status.name == 'tip_over_governor_node: imu']
    assert abs(float(governor[-1].values['payload'])) < 120.0
    governor = [status for _, status in data.statuses['diagnostics'] if status.name.endswith('governor_node: payload')]
    last = governor[-1].values
    least, most = (float(end) for end in last['bounds'].removesuffix(' kg').split(' to '))
    assert last['weighed'] == 'true'
    assert (least, most < 240.0) == (0.0, True)
