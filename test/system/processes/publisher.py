"""Publishes numbered messages on several topics, in wall or simulated time.

publisher.py NAME --topics N --rate HZ --seconds S [--sim] [--latched] [--jitter SEED] [--best-effort]
"""

from __future__ import annotations

import argparse
import random
import time

from dyn_nodes.middleware import (
    DurabilityPolicy,
    ExternalShutdownException,
    Node,
    QoSProfile,
    ReliabilityPolicy,
    drive_clock,
    init,
    message,
    try_shutdown,
)

JointState = message('sensor_msgs/msg/JointState')
Clock = message('rosgraph_msgs/msg/Clock')
String = message('std_msgs/msg/String')


def wait_for_recorder(node: Node, topics: list[str], timeout: float = 60.0) -> None:
    """Wait until a node named recorder_node subscribes to all topics."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if all(any(s.node_name == 'recorder_node' for s in node.get_subscriptions_info_by_topic(t)) for t in topics):
            time.sleep(0.2)
            return
        time.sleep(0.05)
    raise SystemExit('no recorder came')


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument('name')
    parser.add_argument('--topics', type=int, default=2)
    parser.add_argument('--rate', type=float, default=200)
    parser.add_argument('--seconds', type=float, default=2)
    parser.add_argument('--sim', action='store_true')
    parser.add_argument('--latched', action='store_true')
    parser.add_argument('--jitter', type=int, default=0)
    parser.add_argument('--best-effort', action='store_true')
    options = parser.parse_args()
    init(args=['publisher'])
    node = Node(options.name, start_parameter_services=False, enable_rosout=False)
    if options.latched:
        profile = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        latched = node.create_publisher(String, f'/{options.name}/latched', profile)
        latched.publish(String(data='from before'))
    reliability = ReliabilityPolicy.BEST_EFFORT if options.best_effort else ReliabilityPolicy.RELIABLE
    profile = QoSProfile(depth=1000, reliability=reliability)
    publishers = [node.create_publisher(JointState, f'/{options.name}/t{k}', profile) for k in range(options.topics)]
    clock = node.create_publisher(Clock, '/clock', 10) if options.sim else None
    print('ready', flush=True)
    topics = [publisher.topic_name for publisher in publishers] + (['/clock'] if options.sim else [])
    wait_for_recorder(node, topics)
    dice = random.Random(options.jitter)
    print('started', flush=True)
    state = JointState(name=['boom'], position=[0.0])
    start, step = time.monotonic(), 0
    total = round(options.seconds * options.rate)
    try:
        while step < total:
            if options.sim:
                stamp = step * 1_000_000
                drive_clock(node, stamp)
                clock.publish(Clock(clock=node.get_clock().now().to_msg()))
                state.header.stamp = node.get_clock().now().to_msg()
            state.position = [float(step)]
            order = list(publishers)
            dice.shuffle(order)
            for publisher in order:
                publisher.publish(state)
            step += 1
            time.sleep(max(0.0, start + step / options.rate - time.monotonic()))
        print(f'done {step}', flush=True)
        time.sleep(1.0)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        try_shutdown()


if __name__ == '__main__':
    main()
