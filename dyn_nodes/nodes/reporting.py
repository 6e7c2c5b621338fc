"""Reports of the dynamics node on one instant: odometry, transforms, reactions, margins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dyn_nodes.measures import Levels
from dyn_nodes.middleware import message
from dyn_nodes.model.rotations import product, quaternion_about, quaternion_of_matrix
from dyn_nodes.nodes.arrays import floats
from dyn_nodes.nodes.balance_reports import BalanceReports, contact_frames, wrench_publisher
from dyn_nodes.nodes.demand import Demand
from dyn_nodes.nodes.exchange import set_stamp
from dyn_nodes.nodes.prepared import PreparedPublisher
from dyn_nodes.nodes.stamps import nanoseconds_of, packed_stamp
from dyn_nodes.nodes.transforms import Frame, TransformPublisher
from dyn_nodes.simulation.plant import Plant

JointState = message('sensor_msgs/msg/JointState')
Odometry = message('nav_msgs/msg/Odometry')
WrenchStamped = message('geometry_msgs/msg/WrenchStamped')


class JointStatePublisher:
    """Publisher of the states of all movable joints.

    Args:
        publisher: of the topic.
        plant: the machine.
    """

    def __init__(self, publisher: Any, plant: Plant) -> None:
        self.publisher, self.plant = publisher, plant
        self._message = JointState(name=list(plant.joints))

    def publish(self) -> None:
        """Publish the present states."""
        plant, message = self.plant, self._message
        set_stamp(message, nanoseconds_of(plant.time))
        message.position = floats(plant.positions)
        message.velocity = floats(plant.velocities)
        message.effort = floats(plant.efforts)
        self.publisher.publish(message)

    def get_subscription_count(self) -> int:
        """Return the number of subscriptions that get the states."""
        return int(self.publisher.get_subscription_count())


class Reporter:
    """Publishers of everything but joint states, clock and diagnostics.

    Args:
        node: the node.
        plant: the machine.
        levels: alarm levels of the margins that are published, by measure.
        qos: of the topics.
        world_frame: frame of the ground plane.
        publish_tf: whether the transforms of the links are published (without a robot_state_publisher). The base
            and the contact frames are always published.
    """

    def __init__(
        self, node: Any, plant: Plant, levels: Mapping[str, Levels], qos: Any, world_frame: str, publish_tf: bool
    ) -> None:
        self.plant, self.world = plant, world_frame
        self.base = plant.machine.base.link
        self.frames = LinkFrames(plant)
        self.publish_links = publish_tf
        create = node.create_publisher
        self.odom = self._odometry_publisher(create(Odometry, 'odom', qos))
        self.tf = TransformPublisher(node, '/tf', qos)
        self._odom_demand, self._tf_demand = Demand(lambda: (self.odom,)), Demand(lambda: (self.tf.publisher,))
        joints = plant.machine.reactions
        self.joint_reactions = {
            name: wrench_publisher(
                create(WrenchStamped, f'joint_reactions/{name}', qos), plant.machine.joint(name).child
            )
            for name in joints
        }
        wheels = (
            plant.observer.wheels if plant.observer else [contact.name for contact in plant.machine.ground_contacts]
        )
        weight = plant.machine.total_mass * plant.machine.gravity
        self.balance = BalanceReports(node, wheels, levels, qos, world_frame, weight)
        self.constraints: Any = None
        if plant.constraints is not None:
            from dyn_nodes.nodes.constraint_reports import ConstraintReports

            self.constraints = ConstraintReports(node, plant, plant.constraints, qos, world_frame)

    def publish(self, with_markers: bool) -> None:
        """Publish the present state of the plant. Reports without a subscription are not made."""
        now = nanoseconds_of(self.plant.time)
        stamp = packed_stamp(now)
        if self._odom_demand.exists():
            self._publish_odometry(stamp)
        if self._tf_demand.exists():
            self._publish_transforms(now)
        self._publish_joint_reactions(stamp)
        if self.constraints is not None:
            self.constraints.publish(now, with_markers)
        if self.plant.observer is not None:
            self.balance.publish(self.plant.balance, now, with_markers)

    def fixed_frames(self) -> list[Frame]:
        """Return the frames for /tf_static: links on fixed joints, and frames of constraints."""
        links = self.frames.fixed() if self.publish_links else []
        return links + (self.constraints.fixed() if self.constraints is not None else [])

    def _odometry_publisher(self, publisher: Any) -> PreparedPublisher:
        prototype = Odometry(child_frame_id=self.base)
        prototype.header.frame_id = self.world
        return PreparedPublisher(publisher, prototype, 'pose.pose', 'twist.twist')

    def _publish_odometry(self, stamp: bytes) -> None:
        position, quaternion = self.plant.base_pose()
        linear, angular = self.plant.base_twist()
        numbers = [*position.tolist(), *quaternion.tolist(), *linear.tolist(), *angular.tolist()]
        self.odom.publish(stamp, numbers)

    def _publish_transforms(self, now: int) -> None:
        position, quaternion = self.plant.base_pose()
        frames: list[Frame] = [(self.world, self.base, position.tolist(), quaternion.tolist())]
        if self.publish_links:
            frames += self.frames.moving()
        balance = self.plant.balance()
        if balance is not None:
            frames += contact_frames(self.world, balance)
        if self.constraints is not None:
            frames += self.constraints.moving()
        self.tf.publish(frames, now)

    def _publish_joint_reactions(self, stamp: bytes) -> None:
        """Publish force and torque of the parent on the child at the chosen joints, in the child link's frame."""
        if not self.joint_reactions:
            return
        for publisher, reaction in zip(self.joint_reactions.values(), self.plant.joint_reactions().tolist()):
            publisher.publish(stamp, reaction)


class LinkFrames:
    """Frames of the links relative to their parents."""

    def __init__(self, plant: Plant) -> None:
        self.plant = plant
        self.origins = {
            joint.name: (joint.origin[:3, 3], quaternion_of_matrix(joint.origin[:3, :3]))
            for joint in plant.machine.joints
        }

    def fixed(self) -> list[Frame]:
        """Return the frames behind fixed joints, for /tf_static."""
        result = []
        for joint in self.plant.machine.joints:
            if not joint.movable:
                position, turn = self.origins[joint.name]
                result.append((joint.parent, joint.child, position.tolist(), turn.tolist()))
        return result

    def moving(self) -> list[Frame]:
        """Return the present frames behind movable joints."""
        result = []
        for joint, value in zip(self.plant.machine.movable_joints, self.plant.positions):
            position, turn = self.origins[joint.name]
            if joint.type == 'prismatic':
                position = position + joint.origin[:3, :3] @ (joint.axis * value)
            else:
                turn = product(turn, quaternion_about(joint.axis, value))
            result.append((joint.parent, joint.child, position.tolist(), turn.tolist()))
        return result
