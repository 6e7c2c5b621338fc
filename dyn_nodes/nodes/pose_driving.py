"""Pose control of a platform in the cockpit: offsets of sliders to `platform_pose`, display of its pose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dyn_nodes.control.hand.kinematics import HandPose
from dyn_nodes.control.platform_follower import platform_of
from dyn_nodes.middleware import DurabilityPolicy, Node, QoSProfile, ReliabilityPolicy, message
from dyn_nodes.model import Machine
from dyn_nodes.model.posture import initial_positions, link_poses
from dyn_nodes.model.rotations import matrix_of_rpy, rpy_of_matrix
from dyn_nodes.nodes.commands import RejectedError
from dyn_nodes.nodes.hand_messages import fill_pose, pose_of
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.viewer.levers import Levers
from dyn_nodes.viewer.panel import Controls
from dyn_nodes.viewer.pose_sliders import LENGTHS, NAMES, PoseSliders
from dyn_nodes.viewer.snapshot import Snapshot

DiagnosticArray = message('diagnostic_msgs/msg/DiagnosticArray')
PoseStamped, String = message('geometry_msgs/msg/PoseStamped'), message('std_msgs/msg/String')
DISTANCE, ANGLE = 150.0, 15.0
"""Greatest offsets of the sliders, mm and degrees."""
CONTROLLER = 'platform_controller_node: platform'
REJECTED = 'rejected: '


class PoseDriving:
    """Sliders of the pose of a machine's platform.

    Args:
        node: the node.
        machine: with a platform.
        on_rejected: called with the reason of a pose that the controller has rejected.

    Raises:
        ParameterError: a machine without a platform.

    Attributes:
        sliders: offsets from the initial pose of the machine.
        state: of the platform, as published by its controller.
    """

    def __init__(self, node: Node, machine: Machine, on_rejected: Callable[[str], None]) -> None:
        try:
            link, _ = platform_of(machine)
        except ValueError as error:
            raise ParameterError(f"parameter 'platform': {error}") from None
        home = link_poses(machine.links, machine.joints, initial_positions(machine))[link]
        self._home = HandPose(home[:3, :3], home[:3, 3])
        self.sliders = PoseSliders({name: DISTANCE if name in LENGTHS else ANGLE for name in NAMES})
        self.state, self._rejection, self._on_rejected = '', '', on_rejected
        self._node = node
        self._out: Any = None
        self._frame = machine.base.link
        newest = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        node.create_subscription(PoseStamped, 'platform_measured', self._on_measured, newest)
        node.create_subscription(String, 'platform_state', self._on_state, latched)
        node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, QoSProfile(depth=50))

    topic = 'platform_pose'
    unknown = 'The pose of the platform is unknown: its controller has published no platform_measured.'

    @property
    def levers(self) -> Levers:
        """Return the sliders."""
        return self.sliders

    def set_up(self, controls: Controls) -> None:
        """Show six sliders."""
        controls.set_pose(self.sliders.limits)

    def show(self, controls: Controls, snapshot: Snapshot, note: str) -> None:
        """Show the switch, the sliders and the state of the platform."""
        controls.show_pose(self.sliders.armed, note or self.state, self.sliders.present)

    def publish(self, offsets: Sequence[float]) -> None:
        """Publish offsets (6,) of the sliders as a pose."""
        if self._out is None:  # created with the first command only
            self._out = self._node.create_publisher(PoseStamped, 'platform_pose', QoSProfile(depth=10))
        pose = PoseStamped()
        pose.header.frame_id = self._frame
        fill_pose(pose, self.pose_of(offsets))
        self._out.publish(pose)

    def pose_of(self, offsets: Sequence[float]) -> HandPose:
        """Return the pose of offsets (6,), mm and degrees."""
        turn = matrix_of_rpy(np.radians(offsets[3:]))
        return HandPose(turn @ self._home.rotation, self._home.position + 1e-3 * np.array(offsets[:3]))

    def offsets_of(self, pose: HandPose) -> dict[str, float]:
        """Return the offsets of a pose by name, mm and degrees."""
        along = 1e3 * (pose.position - self._home.position)
        turn = np.degrees(rpy_of_matrix(pose.rotation @ self._home.rotation.T))
        return {name: round(float(value), 3) for name, value in zip(NAMES, (*along, *turn))}

    def _on_measured(self, msg: Any) -> None:
        try:
            self.sliders.present = self.offsets_of(pose_of(msg.pose, 'platform_measured'))
        except RejectedError:
            return

    def _on_state(self, msg: Any) -> None:
        self.state = str(msg.data)

    def _on_diagnostics(self, msg: Any) -> None:
        for status in msg.status:
            if not status.name.endswith(CONTROLLER):
                continue
            rejection = status.message.partition(REJECTED)[2]
            if rejection and rejection != self._rejection:
                self._on_rejected(rejection)
            self._rejection = rejection
