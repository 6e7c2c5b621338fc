"""One-way time of a joint state between two processes of the embedded runtime, encoding and decoding included.

python benchmarks/middleware_latency.py [round trips]
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

os.environ['DYN_NODES_MIDDLEWARE'] = 'embedded'
os.environ.setdefault('ROS_DOMAIN_ID', str(1 + os.getpid() % 100))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.counts import count_of
from dyn_nodes.middleware import (
    ExternalShutdownException,
    Node,
    SingleThreadedExecutor,
    deserialize_message,
    init,
    message,
    serialize_message,
    spin,
)

JointState = message('sensor_msgs/msg/JointState')
WARM_UP = 300


def joint_state() -> object:
    """Return the state of a machine with four joints."""
    four = [1.0, 2.0, 3.0, 4.0]
    return JointState(name=['swing', 'boom', 'stick', 'grapple'], position=four, velocity=four, effort=four)


def answer() -> None:
    """Send every joint state back."""
    with init(args=[]):
        node = Node('answering')
        publisher = node.create_publisher(JointState, 'back', 10)
        node.create_subscription(JointState, 'there', publisher.publish, 10)
        spin(node)


def ask(count: int) -> np.ndarray:
    """Return `count` one-way times in microseconds: halves of round trips."""
    trips: list[int] = []
    sent = [0]
    with init(args=[]):
        node = Node('asking')
        publisher = node.create_publisher(JointState, 'there', 10)

        def send() -> None:
            sent[0] = time.perf_counter_ns()
            publisher.publish(joint_state())

        def on_back(_: object) -> None:
            trips.append(time.perf_counter_ns() - sent[0])
            send()

        subscription = node.create_subscription(JointState, 'back', on_back, 10)
        child = subprocess.Popen([sys.executable, __file__, 'answer'])
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        while not (publisher.get_subscription_count() and subscription.get_publisher_count()):
            time.sleep(0.01)
        send()
        while len(trips) < count + WARM_UP:
            executor.spin_once(timeout_sec=1.0)
        child.terminate()
        child.wait()
    return np.array(trips[WARM_UP:]) / 2e3


def per_call(function: object, *args: object, count: int = 20_000) -> float:
    """Return microseconds per call."""
    start = time.perf_counter()
    for _ in range(count):
        function(*args)
    return (time.perf_counter() - start) / count * 1e6


def main() -> None:
    """Run the side named on the command line."""
    if sys.argv[1:] == ['answer']:
        try:
            answer()
        except (KeyboardInterrupt, ExternalShutdownException):
            return
        return
    msg = joint_state()
    data = serialize_message(msg)
    encode, decode = per_call(serialize_message, msg), per_call(deserialize_message, data, JointState)
    print(f'encode {encode:.1f} us, decode {decode:.1f} us')
    hops = ask(count_of(__doc__, 'messages', 4000))
    low, high = np.percentile(hops, [90, 99])
    print(f'one way: median {np.median(hops):.0f} us, 90 % {low:.0f} us, 99 % {high:.0f} us ({len(hops)} round trips)')


if __name__ == '__main__':
    main()
