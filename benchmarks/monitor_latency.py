"""Time from a joint state to the margins of the stability monitor, over DDS and back.

python benchmarks/monitor_latency.py [messages]

One process publishes joint states and IMU of a noisy work cycle at 100 Hz, another runs stability_monitor_node with a
report for every message; the time from publishing to receiving `stability/force_angle` is measured. Before and after
it, in the same minute, the time of the middleware alone: an echo receives the same messages and answers without
computing. And the computation alone: in this process, from the call with the numbers of the message to the margins, and
for both messages without margins, as in a governor. Exit status 1 if the median of the computation or over DDS is above
2 ms.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.counts import count_of
from benchmarks.over_dds import WARM_UP, Exchange, JointState, echo, echo_words, node_words, over_dds, show, work_run
from dyn_nodes.analysis.measured_run import MeasuredRun
from dyn_nodes.middleware import message
from dyn_nodes.monitor.stability_monitor import StabilityMonitor

MARGIN = Exchange('joint_states', JointState, 'stability/force_angle', message('std_msgs/msg/Float64'))
BOUND = 2.0  # ms, of the median
MEASURES = (
    'static', 'longitudinal', 'zmp', 'force_angle', 'energy', 'normalized_energy', 'extended_energy', 'load_share',
    'net_moment', 'moment_height',
)  # fmt: skip


def computing(run: MeasuredRun) -> np.ndarray:
    """Return the times from measurements to margins in this process, ms."""
    monitor = StabilityMonitor(run.machine, MEASURES)
    spent = []
    for k, at in enumerate(run.time.tolist()):
        monitor.imu(at, run.angular_velocity[k], run.specific_force[k], run.orientation[k])
        start = time.perf_counter()
        monitor.joints(at, run.positions[k], run.velocities[k])
        if monitor.settled:
            monitor.balance()
            spent.append(1e3 * (time.perf_counter() - start))
    return np.array(spent[WARM_UP:])


def taking(run: MeasuredRun) -> np.ndarray:
    """Return the times of processing an IMU message and joint states in this process, without margins, ms."""
    monitor = StabilityMonitor(run.machine, MEASURES)
    spent = []
    for k, at in enumerate(run.time.tolist()):
        start = time.perf_counter()
        monitor.imu(at, run.angular_velocity[k], run.specific_force[k], run.orientation[k])
        monitor.joints(at, run.positions[k], run.velocities[k])
        spent.append(1e3 * (time.perf_counter() - start))
    return np.array(spent[WARM_UP:])


def main() -> int:
    """Measure and print."""
    if sys.argv[1:] == ['--echo']:
        echo(MARGIN)
        return 0
    run, count = work_run(3000.0), count_of(__doc__, 'messages', 1000)
    monitor = node_words('stability_monitor_node', period=0.01, settling=0.1)  # a report for every message
    worst = 0.0
    for name, bounded, measured in (
        ('taking both messages', False, lambda: taking(run)),
        ('computing', True, lambda: computing(run)),
        ('echo over DDS', False, lambda: over_dds(run, count // 2, echo_words(__file__), MARGIN)),
        ('monitor over DDS', True, lambda: over_dds(run, count, monitor, MARGIN)),
        ('echo over DDS', False, lambda: over_dds(run, count // 2, echo_words(__file__), MARGIN)),
    ):
        median = show(name, measured(), BOUND if bounded else None)
        if bounded:
            worst = max(worst, median)
    return int(worst > BOUND)


if __name__ == '__main__':
    sys.exit(main())
