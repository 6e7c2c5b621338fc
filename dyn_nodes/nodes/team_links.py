"""Topics of the robots of a team for its controller: states in, efforts out, each in its namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dyn_nodes.control.carry.formation import RobotState
from dyn_nodes.middleware import message
from dyn_nodes.model import Machine
from dyn_nodes.nodes.commands import RejectedError
from dyn_nodes.nodes.exchange import command_qos, set_stamp, states_qos
from dyn_nodes.nodes.hand_messages import pose_of
from dyn_nodes.nodes.joint_state_reader import JointStateReader
from dyn_nodes.nodes.plausible import Bounds
from dyn_nodes.nodes.stamps import nanoseconds_of_stamp
from dyn_nodes.teams.holding import Holder

JointState = message('sensor_msgs/msg/JointState')
Odometry = message('nav_msgs/msg/Odometry')
JOINTS, HAND = 'joints', 'hand'
"""Parts of the state of a robot at an instant."""


class RobotLink:
    """Topics of a robot that holds an object.

    The pose of its base follows from `joint_states` and the pose of its hand on `grasp_states/<hand>`.

    Args:
        node: the node, with the `meeting` of the robots.
        holder: the robot.
        machine: of the robot.
        arrived: called with this link after a new state.

    Attributes:
        answered: time of the last efforts, ns; -1: none.
    """

    def __init__(self, node: Any, holder: Holder, machine: Machine, arrived: Callable[[RobotLink], None]) -> None:
        self.node, self.holder, self.arrived = node, holder, arrived
        self.name = holder.name
        self.answered = -1
        self._reader = JointStateReader(holder.joints, Bounds.of(machine, holder.joints))
        self._positions = self._rates = np.zeros(len(holder.joints))
        self.hand, self._rotation = np.zeros(3), np.eye(3)
        exchange = {'mode': node.values['mode'], 'partner': 'lockstep'}
        self._states, self._hands = f'{self.name}/joint_states', f'{self.name}/grasp_states/{holder.hand}'
        node.create_subscription(JointState, self._states, self._on_joint_states, states_qos(exchange))
        node.create_subscription(Odometry, self._hands, self._on_hand, command_qos(True))
        self.commands = node.create_publisher(JointState, f'{self.name}/joint_command', command_qos(True))
        self._message = JointState(name=list(holder.joints))
        wrenches = f'{self.name}/grasp_wrenches/{holder.hand}'
        self._sources = [node.resolve_topic_name(topic) for topic in (self._states, self._hands)]
        self._wrenches = node.resolve_topic_name(wrenches)

    @property
    def instant(self) -> int:
        """Return the time of the complete state, ns; -1: none."""
        return int(self.node.meeting.of(self.name))

    @property
    def is_there(self) -> bool:
        """Return whether the robot publishes its states."""
        return all(self.node.count_publishers(topic) for topic in self._sources)

    @property
    def is_held(self) -> bool:
        """Return whether the wrenches of the object on the hand are published."""
        return bool(self.node.count_publishers(self._wrenches))

    def state(self) -> RobotState:
        """Return the state at `instant`."""
        return self.holder.state(self.hand, self._rotation, self._positions, self._rates)

    def answer(self, now: int, efforts: np.ndarray) -> None:
        """Publish the efforts (n,) of an instant, ns."""
        self.answered = now
        self._message.effort = efforts.tolist()
        set_stamp(self._message, now)
        self.commands.publish(self._message)

    def repeat(self) -> None:
        """Publish the last efforts again."""
        self.commands.publish(self._message)

    def close(self) -> None:
        """Destroy the publisher of commands, which the robot detects."""
        self.node.destroy_publisher(self.commands)

    def _on_joint_states(self, msg: Any) -> None:
        try:
            self._positions, self._rates = self._reader.read(msg)
        except RejectedError as error:
            self.node.reject(RejectedError(error.kind, f'{self.name}: {error}'))
            return
        self.node.meeting.arrive(self.name, nanoseconds_of_stamp(msg.header.stamp), JOINTS)
        self.arrived(self)

    def _on_hand(self, msg: Any) -> None:
        try:
            pose = pose_of(msg.pose.pose, self._hands, 'pose.pose')
        except RejectedError as error:
            self.node.reject(error)
            return
        self.hand, self._rotation = pose.position, pose.rotation
        self.node.meeting.arrive(self.name, nanoseconds_of_stamp(msg.header.stamp), HAND)
        self.arrived(self)
