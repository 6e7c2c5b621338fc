"""The monitor as a process, on a bag of noisy measurements played by `dyn-nodes bag play`, compared with the truth."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.analysis.measured_run import MeasuredRun, measure, reference_task, work_cycle, write_bag
from dyn_nodes.analysis.monitor_check import CHECKED, deviations
from dyn_nodes.common.share import find_resource
from dyn_nodes.middleware import message
from dyn_nodes.model import load_machine

Float64, PointStamped = message('std_msgs/msg/Float64'), message('geometry_msgs/msg/PointStamped')
SETTLED = 0.5


@pytest.fixture(scope='module')
def machine():
    return load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))


def until(run: MeasuredRun, end: float) -> MeasuredRun:
    """Return the start of a run."""
    n = int(np.searchsorted(run.time, end))
    names = ('time', 'positions', 'velocities', 'angular_velocity', 'specific_force', 'orientation', 'phase')
    truth = {name: values[:n] for name, values in run.truth.items()}
    return replace(run, truth=truth, **{name: getattr(run, name)[:n] for name in names})


@pytest.fixture
def margins_of_bag(processes, probe, domain, tmp_path):
    """Play a run to a monitor process; return the stamps of its reports and their margins."""

    def play(run: MeasuredRun) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        write_bag(tmp_path / 'noisy', run)
        margins = {name: [] for name in CHECKED}
        stamps: list[float] = []
        listen = probe.node.create_subscription
        for name, values in margins.items():
            listen(Float64, f'stability/{name}', lambda msg, values=values: values.append(msg.data), 100)
        # margins have no stamp; the points of a report do, and each report has both
        listen(PointStamped, 'stability/center_of_mass', lambda msg: stamps.append(seconds(msg.header.stamp)), 100)
        processes.start('stability_monitor_node', machine='log_loader', imu='required', payload=run.payload)
        probe.until(lambda: probe.node.count_subscribers('joint_states') == 1, 'a monitor', 90.0)
        words = [sys.executable, '-m', 'dyn_nodes.cli', 'bag', 'play', str(tmp_path / 'noisy')]
        player = subprocess.Popen(
            [*words, '--wait-for-subscribers', '--rate', '0.5', '--exclude', '/truth/*'],
            env={**os.environ, 'ROS_DOMAIN_ID': str(domain)},
        )
        try:
            assert player.wait(60.0 + 2.5 * run.time[-1]) == 0
        finally:
            player.kill()
        probe.until(lambda: stamps and stamps[-1] > run.time[-1] - 0.03, 'the last report', 10.0)
        time.sleep(0.2)
        for values in margins.values():
            if np.isnan(values[-1]):  # the bag has ended more than `state_timeout` ago
                del values[-1]
        assert len(stamps) == len(margins['force_angle']) == len(margins['load_share'])
        return np.array(stamps), {name: np.array(values) for name, values in margins.items()}

    return play


def seconds(stamp):
    return stamp.sec + 1e-9 * stamp.nanosec


def held_to_the_truth(run, times, margins):
    assert times[0] <= SETTLED + 0.1
    assert len(times) > 0.9 * (run.time[-1] - SETTLED) / 0.02  # the node's period
    for item in deviations(run, times, margins):
        assert item.passed, item


def test_the_margins_of_the_process_are_within_the_bounds_of_the_truth_in_the_bag(machine, margins_of_bag):
    """The first five seconds of the work cycle: steady, and reaching out."""
    run = until(measure(machine, work_cycle(machine), 3000.0), 5.0)
    held_to_the_truth(run, *margins_of_bag(run))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_they_are_while_wheels_lift_and_come_down(machine, margins_of_bag):
    run = measure(machine, reference_task(), 5100.0)
    assert run.phase.max() == 2
    held_to_the_truth(run, *margins_of_bag(run))
