"""Publishes joint states with the QoS of lockstep as fast as possible, once a recorder subscribes."""

from __future__ import annotations

import sys
import time

import numpy as np

from dyn_nodes.middleware import Duration, Node, init, message
from dyn_nodes.nodes.exchange import data_qos

JointState = message('sensor_msgs/msg/JointState')

with init(args=['flood']):
    node = Node('flood')
    publisher = node.create_publisher(JointState, '/flood', data_qos(lockstep=True))
    while not publisher.get_subscription_count():
        time.sleep(0.01)
    print('started', flush=True)
    velocity = np.zeros(100)
    for number in range(int(sys.argv[1])):
        publisher.publish(JointState(position=[float(number)], velocity=velocity))
    publisher.wait_for_all_acked(Duration(seconds=30))
    print('done', flush=True)
    time.sleep(1.0)
