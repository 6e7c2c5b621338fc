"""The team around a machine in the cockpit: other robots and objects, detected by their topics.

A viewer in the namespace of a robot (`/left`) whose parent namespace has `object_markers` draws these and every other
robot there: sibling namespaces with a `robot_description`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from dyn_nodes.middleware import Node, message
from dyn_nodes.nodes.viewer_inputs import LATCHED, NEWEST, JointState, Odometry, String, ViewerInputs
from dyn_nodes.viewer.cockpit import Cockpit
from dyn_nodes.viewer.companions import Bodies, BodyPicture, Companion
from dyn_nodes.viewer.geometry import rotation_of, yaw_of
from dyn_nodes.viewer.robot import Robot
from dyn_nodes.viewer.snapshot import IDENTITY

MarkerArray = message('visualization_msgs/msg/MarkerArray')
Marker = message('visualization_msgs/msg/Marker')
SHAPES = (Marker.TRIANGLE_LIST, Marker.LINE_LIST)
AROUND = 1.2
"""Size of the view over the size of the team: panels cover the edges of the view."""
GREEN = (0.0, 1.0, 0.0)


class OtherRobot:
    """Newest data of another robot.

    Attributes:
        text: its robot description.
        position, quaternion: of its base; None: unknown.
        joints: positions by name.
        drawn: its shape on the page.
    """

    def __init__(self) -> None:
        self.text = self.shown = ''
        self.position: tuple[float, float, float] | None = None
        self.quaternion: tuple[float, float, float, float] = IDENTITY
        self.joints: dict[str, float] = {}
        self.drawn: Companion | None = None

    def take_description(self, msg: Any) -> None:
        """Store a robot description."""
        self.text = msg.data

    def take_joints(self, msg: Any) -> None:
        """Store joint states."""
        self.joints.update((name, float(value)) for name, value in zip(msg.name, msg.position) if np.isfinite(value))

    def take_odometry(self, msg: Any) -> None:
        """Store the pose of the base."""
        p, q = msg.pose.pose.position, msg.pose.pose.orientation
        position, turn = (p.x, p.y, p.z), (q.x, q.y, q.z, q.w)
        if np.isfinite(position).all() and np.isfinite(turn).all():
            self.position, self.quaternion = position, turn


class ViewerTeam:
    """Draws the team.

    Args:
        node: the viewer.
        inputs: of the viewer, for subscriptions.
        cockpit: the page.
        load: returns the shape of a robot description, or None after a reported error.
    """

    def __init__(self, node: Node, inputs: ViewerInputs, cockpit: Cockpit, load: Callable[[str], Robot | None]) -> None:
        self.node, self.inputs, self.cockpit, self.load = node, inputs, cockpit, load
        parent, _, self.name = node.get_namespace().rstrip('/').rpartition('/')
        self.parent = parent
        self.robots: dict[str, OtherRobot] = {}
        self.bodies = Bodies(cockpit.server)
        self._markers: Any = None
        self._has_team = False

    def discover(self) -> bool:
        """Subscribe to new objects and robots; return whether there are any."""
        if not self.name:
            return False
        topics = dict(self.node.get_topic_names_and_types())
        is_new = False
        if not self._has_team and 'visualization_msgs/msg/MarkerArray' in topics.get(
            f'{self.parent}/object_markers', ()
        ):
            self._has_team = is_new = True
            self.inputs.subscribe(MarkerArray, f'{self.parent}/object_markers', self._take_markers, NEWEST)
        if not self._has_team:
            return False
        pattern = re.compile(rf'{re.escape(self.parent)}/([^/]+)/robot_description')
        for topic, kinds in topics.items():
            match = pattern.fullmatch(topic)
            name = match.group(1) if match else self.name
            if name != self.name and name not in self.robots and 'std_msgs/msg/String' in kinds:
                self._add(name)
                is_new = True
        return is_new

    def _add(self, name: str) -> None:
        robot, at = self.robots.setdefault(name, OtherRobot()), f'{self.parent}/{name}'
        self.inputs.subscribe(String, f'{at}/robot_description', robot.take_description, LATCHED)
        self.inputs.subscribe(JointState, f'{at}/joint_states', robot.take_joints, NEWEST)
        self.inputs.subscribe(Odometry, f'{at}/odom', robot.take_odometry, NEWEST)

    def _take_markers(self, msg: Any) -> None:
        self._markers = msg

    def frame(self) -> None:
        """Show the newest data."""
        if not self._has_team:
            return
        for name, robot in self.robots.items():
            if robot.text and robot.text != robot.shown:
                self._show_robot(name, robot)
            if robot.drawn is not None and robot.position is not None:
                robot.drawn.update(robot.position, robot.quaternion, robot.joints)
        if self._markers is not None:
            msg, self._markers = self._markers, None
            self.bodies.unit = self.cockpit.scene.unit
            self.bodies.update(dict(picture for marker in msg.markers if (picture := picture_of(marker)) is not None))

    def _show_robot(self, name: str, other: OtherRobot) -> None:
        if other.position is None:
            return  # the view needs its position
        other.shown = other.text
        robot = self.load(other.text)
        if robot is None:
            return
        if other.drawn is not None:
            other.drawn.remove()
        other.drawn = Companion(self.cockpit.server, name, robot)
        self._fit_view()

    def _fit_view(self) -> None:
        """Fit the view to all robots, from the base of this one."""
        first, snapshot = self.inputs.robot, self.inputs.snapshot
        if first is None:
            return
        corners = [first.corners(snapshot.joints)]
        half = 0.5 * yaw_of(snapshot.base_quaternion)
        back = rotation_of((0.0, 0.0, np.sin(half), np.cos(half))).inv()
        for robot in self.robots.values():
            if robot.drawn is not None and robot.position is not None:
                corner_points = (
                    rotation_of(robot.quaternion).apply(robot.drawn.robot.corners(robot.joints)) + robot.position
                )
                corners.append(back.apply(corner_points - np.array(snapshot.base_position)))
        shape = np.vstack(corners)
        middle = 0.5 * (shape.min(axis=0) + shape.max(axis=0))
        self.cockpit.cameras.show(self.cockpit.scene.unit, middle + AROUND * (shape - middle))


def picture_of(marker: Any) -> tuple[str, BodyPicture] | None:
    """Return name and picture of an object's marker; None for another kind or numbers that are not finite."""
    if marker.type not in SHAPES or not marker.points:
        return None
    points = np.array([(p.x, p.y, p.z) for p in marker.points], dtype=np.float64)
    colours = np.array([(c.r, c.g, c.b) for c in marker.colors], dtype=np.float64)
    if len(colours) != len(points):
        colours = np.tile(GREEN, (len(points), 1))
    size = 3 if marker.type == Marker.TRIANGLE_LIST else 2
    if len(points) % size or not np.isfinite(points).all() or not np.isfinite(colours).all():
        return None
    name = f'{marker.ns}_{marker.id}'.replace('/', '_')
    triangles = marker.type == Marker.TRIANGLE_LIST
    return name, BodyPicture(triangles, points, np.clip(colours, 0.0, 1.0), marker.text, float(marker.scale.x))
