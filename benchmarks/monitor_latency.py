"""Time from a joint state to the margins that the stability monitor makes of it, over DDS and back, all in one.

python benchmarks/monitor_latency.py [messages]

One process publishes joint states and IMU of a noisy work cycle at 100 Hz, another runs stability_monitor_node with a
report for every message; the time is that from publishing to hearing `stability/force_angle`. Before and after it, in
the same minute, what the middleware takes alone: an echo, a process that hears the same and answers without computing
anything. And the computing alone: in this process, from the call with the message's numbers to the margins, and what
taking both messages is without asking for margins, as a governor does. Exit status 1 where the median of computing or
over DDS is above 2 ms.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

os.environ['DYN_NODES_MIDDLEWARE'] = 'embedded'
os.environ.setdefault('ROS_DOMAIN_ID', str(1 + os.getpid() % 100))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.counts import count_of
from dyn_nodes.middleware import ExternalShutdownException, Node, SingleThreadedExecutor, init, message
from dyn_nodes.model import load_machine
from dyn_nodes.monitor.stability_monitor import StabilityMonitor
from dyn_nodes.nodes.stamps import stamp_of
from dyn_nodes.share import find_resource
from dyn_nodes.studies.measured_run import MeasuredRun, measure, work_cycle
from dyn_nodes.studies.measured_samples import SensorModel

JointState, Imu = message('sensor_msgs/msg/JointState'), message('sensor_msgs/msg/Imu')
Float64 = message('std_msgs/msg/Float64')
BOUND = 2.0  # ms, of the median
PERIOD, WARM_UP, PATIENCE, LOST = 0.01, 100, 120.0, 0.5
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
        began = time.perf_counter()
        monitor.joints(at, run.positions[k], run.velocities[k])
        if monitor.settled:
            monitor.balance()
            spent.append(1e3 * (time.perf_counter() - began))
    return np.array(spent[WARM_UP:])


def taking(run: MeasuredRun) -> np.ndarray:
    """Return the times in which an IMU message and joint states are taken in this process, without margins, ms."""
    monitor = StabilityMonitor(run.machine, MEASURES)
    spent = []
    for k, at in enumerate(run.time.tolist()):
        began = time.perf_counter()
        monitor.imu(at, run.angular_velocity[k], run.specific_force[k], run.orientation[k])
        monitor.joints(at, run.positions[k], run.velocities[k])
        spent.append(1e3 * (time.perf_counter() - began))
    return np.array(spent[WARM_UP:])


def monitor_words() -> list[str]:
    """Return the command of the monitor, with a report for every message."""
    options = {'machine': 'log_loader', 'period': '0.01', 'settling': '0.1'}
    words = [word for name, value in options.items() for word in ('-p', f'{name}:={value}')]
    return [sys.executable, '-m', 'dyn_nodes.nodes.stability_monitor_node', '--ros-args', *words]


def echo() -> None:
    """Answer every joint state at once, until stopped."""
    with init(args=[]):
        node = Node('echo')
        answer = node.create_publisher(Float64, 'stability/force_angle', 10)
        node.create_subscription(Imu, 'imu', lambda _: None, 10)
        node.create_subscription(JointState, 'joint_states', lambda _: answer.publish(Float64(data=1.0)), 10)
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        with suppress(KeyboardInterrupt, ExternalShutdownException):
            executor.spin()


def over_dds(run: MeasuredRun, count: int, words: list[str]) -> np.ndarray:
    """Return the times from publishing to hearing what a process makes of it, ms."""
    child = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    heard: list[float] = []
    try:
        with init(args=[]):
            node = Node('asking')
            states, imu = node.create_publisher(JointState, 'joint_states', 10), node.create_publisher(Imu, 'imu', 10)
            sent = [0.0]
            node.create_subscription(
                Float64, 'stability/force_angle', lambda _: heard.append(1e3 * (time.perf_counter() - sent[0])), 10
            )
            executor = SingleThreadedExecutor()
            executor.add_node(node)
            deadline = time.monotonic() + PATIENCE
            while not (states.get_subscription_count() and imu.get_subscription_count()):
                executor.spin_once(timeout_sec=0.05)
                if time.monotonic() > deadline:
                    raise SystemExit(f'did not start: {" ".join(words)}')
            names = [joint.name for joint in run.machine.movable_joints]
            for k in range(count + WARM_UP):
                stamp = stamp_of(PERIOD * k)
                imu.publish(imu_message(run, k % len(run.time), stamp))
                j = k % len(run.time)
                state = JointState(name=names, position=run.positions[j].tolist(), velocity=run.velocities[j].tolist())
                state.header.stamp = stamp
                began, before = time.monotonic(), len(heard)
                sent[0] = time.perf_counter()
                states.publish(state)
                # an answer belongs to the message before it: no other one is sent as long as it is awaited
                while len(heard) == before and time.monotonic() < began + LOST:
                    executor.spin_once(timeout_sec=LOST)
                while (left := began + PERIOD - time.monotonic()) > 0.0:
                    executor.spin_once(timeout_sec=left)
            node.destroy_node()
    finally:
        child.terminate()
        child.wait(10)
    return np.array(heard[WARM_UP:])


def imu_message(run: MeasuredRun, k: int, stamp: object) -> object:
    """Return what the IMU tells."""
    msg = Imu()
    msg.header.stamp = stamp
    w, f, o = msg.angular_velocity, msg.linear_acceleration, msg.orientation
    w.x, w.y, w.z = run.angular_velocity[k].tolist()
    f.x, f.y, f.z = run.specific_force[k].tolist()
    o.x, o.y, o.z, o.w = run.orientation[k].tolist()
    return msg


def main() -> int:
    """Measure and print."""
    if sys.argv[1:] == ['--echo']:
        echo()
        return 0
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    run = measure(machine, work_cycle(machine), 3000.0, SensorModel(rate=100.0))
    count = count_of(__doc__, 'messages', 1000)
    echo_words = [sys.executable, str(Path(__file__).resolve()), '--echo']
    worst = 0.0
    for name, bounded, measured in (
        ('taking both messages', False, lambda: taking(run)),
        ('computing', True, lambda: computing(run)),
        ('echo over DDS', False, lambda: over_dds(run, count // 2, echo_words)),
        ('monitor over DDS', True, lambda: over_dds(run, count, monitor_words())),
        ('echo over DDS', False, lambda: over_dds(run, count // 2, echo_words)),
    ):
        times = measured()
        low, median, high = np.percentile(times, [5, 50, 95])
        if bounded:
            worst = max(worst, median)
        print(
            f'{name}: median {median:.3f} ms, 5 % {low:.3f} ms, 95 % {high:.3f} ms ({len(times)} messages'
            f'{f", bound {BOUND:g} ms" if bounded else ""})',
            flush=True,
        )
    return int(worst > BOUND)


if __name__ == '__main__':
    sys.exit(main())
