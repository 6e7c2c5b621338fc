"""The payload from the pressures of the running nodes: the monitor weighs it, the governor receives its interval."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from dyn_nodes.analysis.bag_reading import read_bag
from dyn_nodes.middleware import QoSProfile, message

Float64 = message('std_msgs/msg/Float64')

LOAD, DROP = 3000.0, 6.0
TAKEN = 2500.0
DELAY = 0.5
"""Delay after which the governor no longer assumes the old payload, s."""
WEIGHED = 1.0
"""Delay of weighing a load that is picked up while the arm hardly moves, s: 0.74 measured."""


def words_of(bag, payload, duration, *more):
    """Return the command of a lockstep run of all nodes with a weighing monitor."""
    words = ['mode:=lockstep', 'compose:=true', 'monitor:=true', 'governor:=true', 'estimated_payload:=true']
    words += [f'duration:={duration}', 'record:=true', f'bag:={bag}', 'recovery:=false', *more]
    return [sys.executable, '-m', 'dyn_nodes.cli', 'launch', 'log_loader', f'payload:={payload}', *words]


def bounds_of_the_governor(data):
    """Return rows (time, least, most, weighed) of the governor's status `payload`, kg."""
    rows = []
    for when, status in data.statuses['diagnostics']:
        if status.name.endswith('governor_node: payload'):
            least, most = (float(end) for end in status.values['bounds'].removesuffix(' kg').split(' to '))
            rows.append((when, least, most, status.values['weighed'] == 'true'))
    return rows


def delays_after(data, instant, payload):
    """Return the delays, s, until the governor's bounds contain the payload and until they are weighed."""
    later = [row for row in bounds_of_the_governor(data) if row[0] > instant and row[1] <= payload <= row[2]]
    return later[0][0] - instant, next(row[0] for row in later if row[3]) - instant


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_monitor_and_governor_estimate_the_load_and_its_drop(domain, tmp_path):
    """3,000 kg are released without a message to the nodes."""
    bag = tmp_path / 'bag'
    command = words_of(bag, LOAD, 7.0, f'drop_time:={DROP}')
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain)}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500, check=False)
    assert 'finished' in run.stdout + run.stderr, run.stdout
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
    _, least, most, weighed = bounds_of_the_governor(data)[-1]
    assert weighed
    assert (least, most < 240.0) == (0.0, True)
    assert max(delays_after(data, DROP, 0.0)) <= DELAY


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_governor_estimates_a_load_that_is_picked_up_at_work(domain, probe, tmp_path):
    """The machine releases its load and picks up another one; only the dynamics receives its mass."""
    bag = tmp_path / 'bag'
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain)}
    world = probe.node.create_publisher(Float64, 'payload', QoSProfile(depth=10))
    probe.listen('sensor_msgs/msg/JointState', 'joint_states')
    command = words_of(bag, LOAD, 9.0, 'drop_time:=4.0')
    started = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        probe.until(lambda: probe.last['joint_states'].header.stamp.sec >= 6, 'work after the drop', 300)
        world.publish(Float64(data=TAKEN))
        printed = started.communicate(timeout=400)[0]
    finally:
        if started.poll() is None:
            started.terminate()
    assert 'finished' in printed, printed
    data = read_bag(bag)
    taken = [float(status.values['time']) for _, status in data.statuses['events'] if status.name.endswith(': payload')]
    assert len(taken) == 1
    delay, weighed = delays_after(data, taken[0], TAKEN)
    assert delay <= DELAY
    assert weighed <= WEIGHED
    mass = data.table('monitor/payload/estimate')
    assert mass['data'][-1] == pytest.approx(TAKEN, abs=60.0)
