"""Waits for one latched message and prints it."""

from __future__ import annotations

from roslite.runtime.api import DurabilityPolicy, Node, QoSProfile, init, message, ok, spin_once


def main() -> None:
    got = []
    with init():
        node = Node('late')
        qos = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        node.create_subscription(message('std_msgs/msg/String'), 'robot_description', got.append, qos)
        while ok() and not got:
            spin_once(node, timeout_sec=0.1)
    print('got', got[0].data, flush=True)


if __name__ == '__main__':
    main()
