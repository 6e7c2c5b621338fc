"""Ground reactions, margins and what goes with them, as messages: of the simulated machine and of a real one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dyn_nodes.measures import MEASURES
from dyn_nodes.middleware import message
from dyn_nodes.model.rotations import quaternion_of_matrix
from dyn_nodes.nodes.arrays import labelled_array
from dyn_nodes.nodes.demand import Demand
from dyn_nodes.nodes.markers import marker_array
from dyn_nodes.nodes.transforms import transform
from dyn_nodes.stability.balance import Balance

WrenchStamped = message('geometry_msgs/msg/WrenchStamped')
PolygonStamped = message('geometry_msgs/msg/PolygonStamped')
PointStamped = message('geometry_msgs/msg/PointStamped')
Point32 = message('geometry_msgs/msg/Point32')
Float64 = message('std_msgs/msg/Float64')
Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
MarkerArray = message('visualization_msgs/msg/MarkerArray')


class BalanceReports:
    """Publishers of a balance.

    Args:
        node: the node.
        wheels: their names.
        measures: names of the margins.
        qos: of the topics.
        frame: in which the balance is given.
        prefix: of the topics' and the contact frames' names, '' or `monitor`.
    """

    def __init__(
        self, node: Any, wheels: Sequence[str], measures: Sequence[str], qos: Any, frame: str, prefix: str = ''
    ) -> None:
        self.frame, self.prefix = frame, prefix
        start = f'{prefix}/' if prefix else ''

        def create(kind: Any, topic: str) -> Any:
            return node.create_publisher(kind, start + topic, qos)

        self.reactions = {name: create(WrenchStamped, f'ground_reactions/{name}') for name in wheels}
        self.margins = {name: create(Float64, margin_topic(name)) for name in measures}
        self.edges = {name: create(Float64MultiArray, f'{margin_topic(name)}/edges') for name in measures}
        self.polygon = create(PolygonStamped, 'stability/support_polygon')
        self.com = create(PointStamped, 'stability/center_of_mass')
        self.zmp = create(PointStamped, 'stability/zmp')
        self.markers = create(MarkerArray, 'markers')
        self._demands = {
            'edges': Demand(lambda: self.edges.values()),
            'reactions': Demand(lambda: self.reactions.values()),
            'shape': Demand(lambda: (self.polygon, self.com, self.zmp)),
            'markers': Demand(lambda: (self.markers,)),
        }

    def publish(self, balance: Balance, stamp: Any, with_markers: bool) -> None:
        """Publish one instant: the margins first. Reports that no subscription gets are not made."""
        for name, margin in balance.margins.items():
            self.margins[name].publish(Float64(data=float(margin.value)))
        demands = self._demands
        if demands['edges'].exists():
            for name, margin in balance.margins.items():
                self.edges[name].publish(labelled_array(balance.names(name), margin.edges))
        if demands['reactions'].exists():
            self._publish_reactions(balance, stamp)
        if demands['shape'].exists():
            self._publish_shape(balance, stamp)
        if with_markers and demands['markers'].exists():
            self.markers.publish(marker_array(balance, self.frame, stamp))

    def _publish_reactions(self, balance: Balance, stamp: Any) -> None:
        moments = np.zeros_like(balance.forces) if balance.moments is None else balance.moments
        for name, force, moment in zip(balance.wheels, balance.forces, moments):
            wrench = WrenchStamped()
            wrench.header.stamp, wrench.header.frame_id = stamp, contact_frame(name, self.prefix)
            target = wrench.wrench.force
            target.x, target.y, target.z = (float(v) for v in force)
            torque = wrench.wrench.torque
            torque.x, torque.y, torque.z = (float(v) for v in moment)
            self.reactions[name].publish(wrench)

    def _publish_shape(self, balance: Balance, stamp: Any) -> None:
        polygon = PolygonStamped()
        polygon.header.stamp, polygon.header.frame_id = stamp, self.frame
        polygon.polygon.points = [Point32(x=float(x), y=float(y), z=float(z)) for x, y, z in balance.corners]
        self.polygon.publish(polygon)
        self.com.publish(point_stamped(self.frame, stamp, balance.center_of_mass))
        if np.isfinite(balance.zmp).all():
            self.zmp.publish(point_stamped(self.frame, stamp, (*balance.zmp, 0.0)))


def margin_topic(measure: str) -> str:
    """Return the topic of a measure's margin. `stability/zmp` is the point itself, so its degree has another name."""
    return f'stability/{MEASURES[measure].topic}'


def point_stamped(frame: str, stamp: Any, values: Any) -> Any:
    """Return a PointStamped."""
    point = PointStamped()
    point.header.stamp, point.header.frame_id = stamp, frame
    point.point.x, point.point.y, point.point.z = (float(v) for v in values)
    return point


def contact_frame(wheel: str, prefix: str = '') -> str:
    """Return the name of a wheel's contact frame: x where it rolls to, z the ground's normal (`Balance.axes`)."""
    return f'{prefix}_{wheel}_contact' if prefix else f'{wheel}_contact'


def contact_transforms(parent: str, balance: Balance, stamp: Any, prefix: str = '') -> list[Any]:
    """Return the transforms of the contact frames in the frame of a balance."""
    return [
        transform(parent, contact_frame(name, prefix), stamp, point, quaternion_of_matrix(axes))
        for name, point, axes in zip(balance.wheels, balance.points, balance.axes)
    ]
