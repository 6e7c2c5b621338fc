"""Messages of the dynamics node: reactions of constraints and poses of loads."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyn_nodes.middleware import message
from dyn_nodes.model.constraint import WORLD, Load
from dyn_nodes.model.rotations import quaternion_of_matrix
from dyn_nodes.nodes.balance_reports import contact_frame, wrench_publisher
from dyn_nodes.nodes.prepared import PreparedPublisher
from dyn_nodes.nodes.stamps import packed_stamp, stamp_at
from dyn_nodes.nodes.transforms import Frame, set_quaternion, set_vector
from dyn_nodes.simulation.plant import Plant
from dyn_nodes.simulation.plant_constraints import PlantConstraints

Marker = message('visualization_msgs/msg/Marker')
MarkerArray = message('visualization_msgs/msg/MarkerArray')
WrenchStamped = message('geometry_msgs/msg/WrenchStamped')
ORANGE = (0.84, 0.37, 0.0, 0.8)


class ConstraintReports:
    """Publishers of the reactions of a machine's constraints.

    `constraint_reactions/<name>` is the wrench of the second link on the first one, in the frame `<name>_constraint` at
    the first end. A machine on fewer than three wheels by constraint has no balance: this class publishes its
    `ground_reactions/<name>` and contact frames.

    Args:
        node: the node.
        plant: the machine.  constraints: of the machine.
        qos: of the topics.
        world_frame: frame of the ground plane.
    """

    def __init__(self, node: Any, plant: Plant, constraints: PlantConstraints, qos: Any, world_frame: str) -> None:
        self.machine, self.constraints, self.world = plant.machine, constraints, world_frame

        def create(topic: str, frame: str) -> PreparedPublisher:
            return wrench_publisher(node.create_publisher(WrenchStamped, topic, qos), frame)

        self.loops = {
            entry.name: create(f'constraint_reactions/{entry.name}', constraint_frame(entry.name))
            for entry in constraints.loops
        }
        wheels = () if plant.observer is not None else constraints.wheels
        self.markers = node.create_publisher(MarkerArray, 'markers', qos) if plant.machine.loads else None
        self.wheels = {name: create(f'ground_reactions/{name}', contact_frame(name)) for name in wheels}

    def publish(self, now: int, with_markers: bool) -> None:
        """Publish the reactions at this instant, ns, and the markers of loads."""
        if self.markers is not None and with_markers:
            drawn = stamp_at(now)
            self.markers.publish(
                MarkerArray(markers=[_box(load, k, drawn) for k, load in enumerate(self.machine.loads)])
            )
        stamp = packed_stamp(now)
        for name, publisher in self.loops.items():
            publisher.publish(stamp, self.constraints.reaction(name).tolist())
        for name, publisher in self.wheels.items():
            _, _, force = self.constraints.ground_reaction(name)
            publisher.publish(stamp, [*force.tolist(), 0.0, 0.0, 0.0])

    def moving(self) -> list[Frame]:
        """Return the frames of loads, and the contact frames of a machine without a balance."""
        result: list[Frame] = [
            (self.world, name, np.asarray(position).tolist(), np.asarray(quaternion).tolist())
            for name, (position, quaternion) in self.constraints.load_poses().items()
        ]
        for name in self.wheels:
            point, axes, _ = self.constraints.ground_reaction(name)
            result.append((self.world, contact_frame(name), point.tolist(), quaternion_of_matrix(axes).tolist()))
        return result

    def fixed(self) -> list[Frame]:
        """Return the frames of the reactions in their links, for /tf_static."""
        result: list[Frame] = []
        for entry in self.constraints.loops:
            end = entry.first
            parent = self.world if end.link == WORLD else end.link
            turn = quaternion_of_matrix(end.rotation)
            result.append((parent, constraint_frame(entry.name), np.asarray(end.position).tolist(), turn.tolist()))
        return result


def _box(load: Load, number: int, stamp: Any) -> Any:
    """Return a marker of a box with the mass and the moments of inertia of a load."""
    moments, axes = np.linalg.eigh(load.inertia)
    axes[:, 2] *= np.linalg.det(axes)
    edges = np.sqrt(np.maximum(6.0 * (moments.sum() - 2.0 * moments) / load.mass, 1e-6))
    result = Marker(ns='loads', id=number, type=Marker.CUBE, action=Marker.ADD)
    result.header.stamp, result.header.frame_id = stamp, load.name
    set_vector(result.pose.position, load.com)
    set_quaternion(result.pose.orientation, quaternion_of_matrix(axes))
    set_vector(result.scale, edges)
    result.color.r, result.color.g, result.color.b, result.color.a = ORANGE
    return result


def constraint_frame(name: str) -> str:
    """Return the name of the frame of a constraint's reaction."""
    return f'{name}_constraint'
