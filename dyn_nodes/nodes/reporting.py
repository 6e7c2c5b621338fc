"""Reports of the dynamics node on one instant: odometry, transforms, reactions, margins."""

from __future__ import annotations

from typing import Any

from dyn_nodes.middleware import message
from dyn_nodes.model.rotations import product, quaternion_about, quaternion_of_matrix
from dyn_nodes.nodes.arrays import floats
from dyn_nodes.nodes.balance_reports import BalanceReports, contact_transforms
from dyn_nodes.nodes.demand import Demand
from dyn_nodes.nodes.stamps import stamp_of
from dyn_nodes.nodes.transforms import TransformPublisher, set_quaternion, set_vector, transform
from dyn_nodes.simulation.plant import Plant
from dyn_nodes.stability.balance import Balance

JointState = message('sensor_msgs/msg/JointState')
Odometry = message('nav_msgs/msg/Odometry')
WrenchStamped = message('geometry_msgs/msg/WrenchStamped')


def joint_state(plant: Plant) -> Any:
    """Return the JointState of all movable joints now."""
    result = JointState()
    result.header.stamp = stamp_of(plant.time)
    result.name = list(plant.joints)
    result.position = floats(plant.positions)
    result.velocity = floats(plant.velocities)
    result.effort = floats(plant.efforts)
    return result


class Reporter:
    """Publishers of everything but joint states, clock and diagnostics.

    Args:
        node: the node.
        plant: the machine.
        qos: of the topics.
        world_frame: frame of the ground plane.
        publish_tf: also the transforms of the links (where no robot_state_publisher runs). Those of the base and of
            the contact frames are known to this node alone: they are always published.
    """

    def __init__(self, node: Any, plant: Plant, qos: Any, world_frame: str, publish_tf: bool) -> None:
        self.plant, self.world = plant, world_frame
        self.base = plant.machine.base.link
        self.frames = LinkFrames(plant)
        self.publish_links = publish_tf
        create = node.create_publisher
        self.odom = create(Odometry, 'odom', qos)
        self.tf = TransformPublisher(node, '/tf', qos)
        self._odom_demand, self._tf_demand = Demand(lambda: (self.odom,)), Demand(lambda: (self.tf.publisher,))
        joints = plant.machine.reactions
        self.joint_reaction = plant.reaction
        self.child_links = {name: plant.machine.joint(name).child for name in joints}
        self.joint_reactions = {name: create(WrenchStamped, f'joint_reactions/{name}', qos) for name in joints}
        measures = plant.observer.measures if plant.observer else ()
        wheels = plant.observer.wheels if plant.observer else [own.name for own in plant.machine.ground_contacts]
        self.balance = BalanceReports(node, wheels, measures, qos, world_frame)
        self.constraints: Any = None
        if plant.is_constrained:
            from dyn_nodes.nodes.constraint_reports import ConstraintReports
            from dyn_nodes.simulation.constrained_plant import ConstrainedPlant

            assert isinstance(plant, ConstrainedPlant)
            self.constraints = ConstraintReports(node, plant, qos, world_frame)

    def publish(self, balance: Balance | None, with_markers: bool) -> None:
        """Publish the state of the plant now. Reports that no subscription gets are not made."""
        stamp = stamp_of(self.plant.time)
        if self._odom_demand.exists():
            self._publish_odometry(stamp)
        if self._tf_demand.exists():
            self._publish_transforms(stamp, balance)
        self._publish_joint_reactions(stamp)
        if self.constraints is not None:
            self.constraints.publish(stamp, with_markers)
        if balance is not None:
            self.balance.publish(balance, stamp, with_markers)

    def fixed_transforms(self) -> list[Any]:
        """Return the transforms for /tf_static: links on fixed joints, and frames of constraints."""
        links = self.frames.fixed(stamp_of(self.plant.time)) if self.publish_links else []
        return links + (self.constraints.fixed() if self.constraints is not None else [])

    def _publish_odometry(self, stamp: Any) -> None:
        position, quaternion = self.plant.base_pose()
        linear, angular = self.plant.base_twist()
        odom = Odometry()
        odom.header.stamp, odom.header.frame_id, odom.child_frame_id = stamp, self.world, self.base
        set_vector(odom.pose.pose.position, position)
        set_quaternion(odom.pose.pose.orientation, quaternion)
        set_vector(odom.twist.twist.linear, linear)
        set_vector(odom.twist.twist.angular, angular)
        self.odom.publish(odom)

    def _publish_transforms(self, stamp: Any, balance: Balance | None) -> None:
        position, quaternion = self.plant.base_pose()
        transforms = [transform(self.world, self.base, stamp, position, quaternion)]
        if self.publish_links:
            transforms += self.frames.moving(stamp)
        if balance is not None:
            transforms += contact_transforms(self.world, balance, stamp)
        if self.constraints is not None:
            transforms += self.constraints.moving(stamp)
        self.tf.publish(transforms)

    def _publish_joint_reactions(self, stamp: Any) -> None:
        """Publish force and torque of the parent on the child at the chosen joints, in the child link's frame."""
        if self.joint_reaction is None:
            return
        plant = self.plant
        for name, reaction in zip(self.joint_reaction.joints, plant.joint_reactions()):
            wrench = WrenchStamped()
            wrench.header.stamp, wrench.header.frame_id = stamp, self.child_links[name]
            set_vector(wrench.wrench.force, reaction[:3])
            set_vector(wrench.wrench.torque, reaction[3:])
            self.joint_reactions[name].publish(wrench)


class LinkFrames:
    """Transforms of the links, and of the contact frames below the wheels."""

    def __init__(self, plant: Plant) -> None:
        self.plant = plant
        self.origins = {
            joint.name: (joint.origin[:3, 3], quaternion_of_matrix(joint.origin[:3, :3]))
            for joint in plant.machine.joints
        }

    def fixed(self, stamp: Any) -> list[Any]:
        """Return the transforms of the fixed joints, for /tf_static."""
        result = []
        for joint in self.plant.machine.joints:
            if not joint.movable:
                result.append(transform(joint.parent, joint.child, stamp, *self.origins[joint.name]))
        return result

    def moving(self, stamp: Any) -> list[Any]:
        """Return the transforms of the movable joints now."""
        result = []
        for joint, value in zip(self.plant.machine.movable_joints, self.plant.positions):
            position, turn = self.origins[joint.name]
            if joint.type == 'prismatic':
                position = position + joint.origin[:3, :3] @ (joint.axis * value)
            else:
                turn = product(turn, quaternion_about(joint.axis, value))
            result.append(transform(joint.parent, joint.child, stamp, position, turn))
        return result
