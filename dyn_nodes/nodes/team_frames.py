"""Frames of the robots of a team on one /tf, with the name of the robot as prefix."""

from __future__ import annotations

from functools import partial
from typing import Any

from dyn_nodes.middleware import DurabilityPolicy, QoSProfile
from dyn_nodes.nodes.transforms import TFMessage

DEPTH = 100


class TeamFrames:
    """Republishes `<robot>/tf` and `<robot>/tf_static` of all robots on /tf and /tf_static.

    Robots of one kind have equal link names: `base_link` of robot `left` becomes `left/base_link`. The frame of the
    ground plane is common to all.

    Args:
        node: the node.
        robots: names.
        world: frame of the ground plane.
    """

    def __init__(self, node: Any, robots: tuple[str, ...], world: str) -> None:
        self.world = world
        if TFMessage is None:
            return
        latched = QoSProfile(depth=DEPTH, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        for topic, qos in (('tf', QoSProfile(depth=DEPTH)), ('tf_static', latched)):
            publisher = node.create_publisher(TFMessage, f'/{topic}', qos)
            for robot in robots:
                node.create_subscription(TFMessage, f'{robot}/{topic}', partial(self._pass_on, robot, publisher), qos)

    def _pass_on(self, robot: str, publisher: Any, msg: Any) -> None:
        for transform in msg.transforms:
            transform.header.frame_id = self._named(robot, transform.header.frame_id)
            transform.child_frame_id = self._named(robot, transform.child_frame_id)
        publisher.publish(msg)

    def _named(self, robot: str, frame: str) -> str:
        return frame if frame == self.world else f'{robot}/{frame}'
