"""Messages of held objects: pose and twist, strain, and a marker in the colours of the strain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.middleware import message
from dyn_nodes.model.rotations import quaternion_of_matrix
from dyn_nodes.nodes.arrays import labelled_array
from dyn_nodes.nodes.exchange import set_stamp
from dyn_nodes.nodes.object_shapes import ObjectShape
from dyn_nodes.nodes.stamps import stamp_at
from dyn_nodes.nodes.transforms import set_quaternion, set_vector

ColorRGBA = message('std_msgs/msg/ColorRGBA')
Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
Marker = message('visualization_msgs/msg/Marker')
MarkerArray = message('visualization_msgs/msg/MarkerArray')
Odometry = message('nav_msgs/msg/Odometry')
Point = message('geometry_msgs/msg/Point')

THICK = 0.05
"""Thickness of a drawn rod, over the size of the object."""


class ObjectReports:
    """Publishers of objects.

    `object_state/<object>` is the pose that fits the undeformed object best, and the twist of this pose;
    `object_strain/<object>` the strain of its rods, or the greatest one of finite elements; `object_markers` the
    deformed rods or surface, with the greatest strain or stress as the text of the marker.

    Args:
        node: the node.
        shapes: of the objects, by name.
        qos: of the topics.
        world: frame of the ground plane.
    """

    def __init__(self, node: Any, shapes: Mapping[str, ObjectShape], qos: Any, world: str) -> None:
        self.shapes, self.world = shapes, world
        self._states = {name: node.create_publisher(Odometry, f'object_state/{name}', qos) for name in shapes}
        self._strains = {
            name: node.create_publisher(Float64MultiArray, f'object_strain/{name}', qos) for name in shapes
        }
        self.markers_out = node.create_publisher(MarkerArray, 'object_markers', qos)

    def publish(self, name: str, now: int, with_markers: bool) -> None:
        """Publish an object at this instant, ns."""
        shape = self.shapes[name]
        self._states[name].publish(self._state(name, now))
        self._strains[name].publish(labelled_array(*shape.strain()))
        if with_markers:
            number = list(self.shapes).index(name)
            self.markers_out.publish(MarkerArray(markers=[self._body(shape, name, number, now)]))

    def _state(self, name: str, now: int) -> Any:
        item, result = self.shapes[name].item, Odometry(child_frame_id=name)
        result.header.frame_id = self.world
        set_stamp(result, now)
        position, rotation = best_pose(item.body.nodes, item.position)
        linear, angular = best_twist(item.position - position, item.velocity)
        set_vector(result.pose.pose.position, position)
        set_quaternion(result.pose.pose.orientation, quaternion_of_matrix(rotation))
        set_vector(result.twist.twist.linear, rotation.T @ linear)
        set_vector(result.twist.twist.angular, rotation.T @ angular)
        return result

    def _body(self, shape: ObjectShape, name: str, number: int, now: int) -> Any:
        kind = Marker.TRIANGLE_LIST if shape.triangles else Marker.LINE_LIST
        drawn = shape.drawn()
        marker = Marker(ns='objects', id=number, type=kind, action=Marker.ADD, text=f'{name}: {drawn.text}')
        marker.header.frame_id, marker.header.stamp = self.world, stamp_at(now)
        marker.pose.orientation.w = 1.0
        if shape.triangles:
            marker.scale.x = marker.scale.y = marker.scale.z = 1.0
        else:
            marker.scale.x = THICK * float(np.ptp(shape.item.body.nodes, axis=0).max())
        marker.points = [Point(x=x, y=y, z=z) for x, y, z in drawn.points.tolist()]
        marker.colors = [ColorRGBA(r=r, g=g, b=b, a=1.0) for r, g, b in drawn.colours.tolist()]
        marker.color.a = 1.0
        return marker


def best_pose(undeformed: Array, position: Array) -> tuple[Array, Array]:
    """Return the centroid of the nodes (3,) and the rotation (3, 3) that fits them best (Kabsch)."""
    middle = position.mean(axis=0)
    left, _, right = np.linalg.svd((position - middle).T @ (undeformed - undeformed.mean(axis=0)))
    turn = left @ np.diag([1.0, 1.0, float(np.sign(np.linalg.det(left @ right)))]) @ right
    return middle, turn


def best_twist(arms: Array, velocity: Array) -> tuple[Array, Array]:
    """Return the centroid's velocity and the angular velocity (3,) that fit the nodes' velocities (n, 3) best."""
    linear = velocity.mean(axis=0)
    inertia = sum((arm @ arm) * np.eye(3) - np.outer(arm, arm) for arm in arms)
    momentum = np.cross(arms, velocity - linear).sum(axis=0)
    return linear, np.linalg.lstsq(np.asarray(inertia), momentum, rcond=1e-9)[0]
