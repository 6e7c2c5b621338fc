"""Reports of the controller of a team: state, reference of the object, deviation of the hands."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyn_nodes.middleware import DurabilityPolicy, QoSProfile, message
from dyn_nodes.nodes.exchange import set_stamp
from dyn_nodes.nodes.stamps import NANO
from dyn_nodes.nodes.team_carrying import Carrying
from dyn_nodes.nodes.transforms import set_quaternion, set_vector

Float64, String = message('std_msgs/msg/Float64'), message('std_msgs/msg/String')
PoseStamped = message('geometry_msgs/msg/PoseStamped')


class TeamReports:
    """Publishers of `carry_state`, `object_reference/<object>` and `carry_deviation`.

    Args:
        node: the node.
        item: name of the object.
        world: frame of the ground plane.
        period: between two reports, s.
        qos: of the topics.
    """

    def __init__(self, node: Any, item: str, world: str, period: float, qos: Any) -> None:
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.state = node.create_publisher(String, 'carry_state', latched)
        self.reference = node.create_publisher(PoseStamped, f'object_reference/{item}', qos)
        self.deviation = node.create_publisher(Float64, 'carry_deviation', qos)
        self._period, self._last, self._published_state = round(period * NANO), -1, ''
        self._pose = PoseStamped()
        self._pose.header.frame_id = world

    def restart(self) -> None:
        """Report at the next instant, at any time."""
        self._last = -1

    def publish_state(self, state: str) -> None:
        """Publish a state if it has changed."""
        if state != self._published_state:
            self._published_state = state
            self.state.publish(String(data=state))

    def publish(self, now: int, carrying: Carrying) -> bool:
        """Publish the reports that are due at a time, ns; return whether reference and deviation were published."""
        self.publish_state(f'{carrying.state}: {carrying.reason}' if carrying.reason else carrying.state)
        if now // self._period == self._last:
            return False
        self._last = now // self._period
        heading, x, y = carrying.reference.center
        set_stamp(self._pose, now)
        set_vector(self._pose.pose.position, np.array([x, y, carrying.carriage.formation.height]))
        half = 0.5 * heading
        set_quaternion(self._pose.pose.orientation, np.array([0.0, 0.0, np.sin(half), np.cos(half)]))
        self.reference.publish(self._pose)
        self.deviation.publish(Float64(data=carrying.deviation))
        return True
