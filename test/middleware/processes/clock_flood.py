"""Publishes more clock messages than any queue holds, with KEEP_ALL, once a subscription exists."""

from __future__ import annotations

import sys
import time

from dyn_nodes.middleware import HistoryPolicy, Node, QoSProfile, init, message

Clock = message('rosgraph_msgs/msg/Clock')
with init(args=['flood']):
    node = Node('flood')
    publisher = node.create_publisher(Clock, '/flood', QoSProfile(history=HistoryPolicy.KEEP_ALL))
    while not publisher.get_subscription_count():
        time.sleep(0.01)
    clock = Clock()
    for number in range(int(sys.argv[1])):
        clock.clock.sec = number
        publisher.publish(clock)
    time.sleep(5.0)
