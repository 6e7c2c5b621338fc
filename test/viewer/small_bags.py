"""Short bags of a log-loader that leans forward, written without a simulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from dyn_nodes.common.share import find_resource
from dyn_nodes.middleware import message
from dyn_nodes.nodes.bag_topics import BagTopics

SECONDS, STEP = 4.0, 0.02
LIFT_OFF = 2.0
"""Time of the event and of the change from a good to a bad margin, s."""


def write_bag(directory: Path, swing: float = 0.0, start: float = 0.0, prefix: str = '') -> Path:
    """Write a bag; the boom descends with time, and from `LIFT_OFF` on the machine leans by 0.1 rad."""
    kinds = {
        f'{prefix}robot_description': 'std_msgs/msg/String',
        f'{prefix}joint_states': 'sensor_msgs/msg/JointState',
        f'{prefix}odom': 'nav_msgs/msg/Odometry',
        f'{prefix}payload': 'std_msgs/msg/Float64',
        f'{prefix}events': 'diagnostic_msgs/msg/DiagnosticStatus',
        f'{prefix}stability/zmp_degree': 'std_msgs/msg/Float64',
    }
    topics = BagTopics(directory)
    types = {topic: message(kind) for topic, kind in kinds.items()}
    made = {topic.removeprefix(prefix): topics.create_publisher(types[topic], topic, 10) for topic in kinds}
    new = {topic.removeprefix(prefix): kind for topic, kind in types.items()}
    urdf = find_resource('urdf/log_loader.urdf').read_text()
    for k, time in enumerate(np.arange(0.0, SECONDS + 1e-9, STEP).tolist()):
        at = round((start + time) * 1e9)
        topics.time = at
        if k == 0:
            made['robot_description'].publish(new['robot_description'](data=urdf))
            made['payload'].publish(new['payload'](data=5100.0))
        leans = time >= LIFT_OFF
        if abs(time - LIFT_OFF) < 1e-9:
            made['events'].publish(new['events'](name='dynamics_node: lift_off', message='rear_left'))
        odom = new['odom']()
        odom.header.stamp.sec, odom.header.stamp.nanosec = divmod(at, 10**9)
        odom.pose.pose.position.z = 1.5
        turn = Rotation.from_euler('ZYX', (0.0, 0.1 if leans else 0.0, 0.0)).as_quat().tolist()
        for axis, value in zip('xyzw', turn):
            setattr(odom.pose.pose.orientation, axis, value)
        made['odom'].publish(odom)
        made['stability/zmp_degree'].publish(new['stability/zmp_degree'](data=1e-17 if leans else 0.8))
        joints = new['joint_states'](
            name=['swing_joint', 'boom_joint', 'stick_joint'], position=[swing, 0.8 - 0.1 * time, -1.2]
        )
        joints.header.stamp = odom.header.stamp
        made['joint_states'].publish(joints)
    topics.close()
    return directory
