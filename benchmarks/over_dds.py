"""Time until a process answers measurements of a machine, over DDS and back, and the time of an echo."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

os.environ['DYN_NODES_MIDDLEWARE'] = 'embedded'
os.environ.setdefault('ROS_DOMAIN_ID', str(1 + os.getpid() % 100))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from dyn_nodes.analysis.measured_run import MeasuredRun, measure, work_cycle
from dyn_nodes.common.share import find_resource
from dyn_nodes.middleware import ExternalShutdownException, Node, SingleThreadedExecutor, init, message
from dyn_nodes.model import load_machine
from dyn_nodes.monitor.measured_samples import SensorModel
from dyn_nodes.nodes.stamps import stamp_of

JointState, Imu = message('sensor_msgs/msg/JointState'), message('sensor_msgs/msg/Imu')
PERIOD, WARM_UP, TIMEOUT, LOST = 0.01, 100, 120.0, 0.5
Further = Callable[[int], None]
"""Function called with the number of a sample after its joint states are published."""


@dataclass(frozen=True)
class Exchange:
    """Topics of a request and of its answer.

    Attributes:
        asked: topic whose message an echo answers.  asked_kind: of it.
        answer: topic on which a process answers.  answer_kind: of it.
    """

    asked: str
    asked_kind: Any
    answer: str
    answer_kind: Any


def echo(exchange: Exchange) -> None:
    """Answer every request at once until stopped; also subscribe to joint states and IMU."""
    with init(args=[]):
        node = Node('echo')
        out = node.create_publisher(exchange.answer_kind, exchange.answer, 10)
        empty = exchange.answer_kind()
        others: dict[str, Any] = {'imu': Imu, 'joint_states': JointState}
        for topic, kind in {**others, exchange.asked: exchange.asked_kind}.items():
            is_asked = topic == exchange.asked
            node.create_subscription(
                kind, topic, lambda _, replies=is_asked: out.publish(empty) if replies else None, 10
            )
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        with suppress(KeyboardInterrupt, ExternalShutdownException):
            executor.spin()


def over_dds(
    run: MeasuredRun,
    count: int,
    words: list[str],
    exchange: Exchange,
    further: Callable[[Node], Further] = lambda _: lambda _: None,
) -> np.ndarray:
    """Return the times from publishing joint states to receiving the answer of a process, ms.

    Args:
        run: measured samples, repeated from the start.
        count: answers.
        words: command of the process.
        exchange: its topics.
        further: returns the function that publishes more with each sample, from the publishing node.
    """
    child = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    spent: list[float] = []
    try:
        with init(args=[]):
            node = Node('asking')
            states, imu = node.create_publisher(JointState, 'joint_states', 10), node.create_publisher(Imu, 'imu', 10)
            sent_at = [0.0]
            awaits = [False]

            def hear(_: Any) -> None:
                if awaits[0]:
                    spent.append(1e3 * (time.perf_counter() - sent_at[0]))
                    awaits[0] = False

            node.create_subscription(exchange.answer_kind, exchange.answer, hear, 10)
            publish_further = further(node)
            executor = SingleThreadedExecutor()
            executor.add_node(node)
            deadline = time.monotonic() + TIMEOUT
            while not (states.get_subscription_count() and imu.get_subscription_count()):
                executor.spin_once(timeout_sec=0.05)
                if time.monotonic() > deadline:
                    raise SystemExit(f'did not start: {" ".join(words)}')
            names = [joint.name for joint in run.machine.movable_joints]
            for k in range(count + WARM_UP):
                stamp, j = stamp_of(PERIOD * k), k % len(run.time)
                imu.publish(imu_message(run, j, stamp))
                state = JointState(name=names, position=run.positions[j].tolist(), velocity=run.velocities[j].tolist())
                state.header.stamp = stamp
                start = time.monotonic()
                sent_at[0], awaits[0] = time.perf_counter(), True
                states.publish(state)
                publish_further(j)
                # an answer belongs to the message before it: no other one is sent until it arrives
                while awaits[0] and time.monotonic() < start + LOST:
                    executor.spin_once(timeout_sec=LOST)
                while (left := start + PERIOD - time.monotonic()) > 0.0:
                    executor.spin_once(timeout_sec=left)
            node.destroy_node()
    finally:
        child.terminate()
        child.wait(10)
    return np.array(spent[WARM_UP:])


def imu_message(run: MeasuredRun, k: int, stamp: object) -> object:
    """Return the measurement of the IMU."""
    msg = Imu()
    msg.header.stamp = stamp
    w, f, o = msg.angular_velocity, msg.linear_acceleration, msg.orientation
    w.x, w.y, w.z = run.angular_velocity[k].tolist()
    f.x, f.y, f.z = run.specific_force[k].tolist()
    o.x, o.y, o.z, o.w = run.orientation[k].tolist()
    return msg


def node_words(name: str, **options: Any) -> list[str]:
    """Return the command of a node of this package for the log-loader, with parameters."""
    words = [word for key, value in {'machine': 'log_loader', **options}.items() for word in ('-p', f'{key}:={value}')]
    return [sys.executable, '-m', f'dyn_nodes.nodes.{name}', '--ros-args', *words]


def echo_words(script: str) -> list[str]:
    """Return the command of a benchmark's echo."""
    return [sys.executable, str(Path(script).resolve()), '--echo']


def work_run(payload: float) -> MeasuredRun:
    """Return the noisy work cycle of the log-loader with a payload, kg, at 100 Hz."""
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    return measure(machine, work_cycle(machine), payload, SensorModel(rate=1.0 / PERIOD))


def show(name: str, times: np.ndarray, bound: float | None = None) -> float:
    """Print median and spread of times, ms; return the median."""
    low, median, high = np.percentile(times, [5, 50, 95])
    bounded = '' if bound is None else f', bound {bound:g} ms'
    print(
        f'{name}: median {median:.3f} ms, 5 % {low:.3f} ms, 95 % {high:.3f} ms ({len(times)} messages{bounded})',
        flush=True,
    )
    return float(median)
