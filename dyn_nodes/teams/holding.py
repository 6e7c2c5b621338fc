"""Robots of a team for `control.carry`: equations in the rates of their drives, and limits of the drives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.constraints.errors import MethodError
from dyn_nodes.constraints.rolling import RollingWheel
from dyn_nodes.control.carry import HoldingRobot
from dyn_nodes.control.carry.formation import RobotState
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.rotations import quaternion_of_matrix
from dyn_nodes.multibody import Frame, Tree
from dyn_nodes.simulation.constrained_machine import constrained_machine
from dyn_nodes.teams.carry_limits import Ability
from dyn_nodes.teams.team import Team

BASE = slice(0, 7)
"""Slice of position and quaternion x, y, z, w of a free base in the positions of its tree."""


class CarryError(UserError, ValueError):
    """A team cannot carry its object, or not along a path; the message names the robot and the reason."""


@dataclass(frozen=True, eq=False)
class Holder:
    """A robot of a team with the hand that holds the object.

    Attributes:
        name: of the robot. hand: of the grasp on its machine.
        robot: its equations.
        start: (nq,) positions at the start of the team.
        joints: actuated joints, in the order of efforts.
        lower, upper: (n,) limits of the actuated joints, rad or m; infinite: no limit.
        ability: its limits of effort, rate and friction.
    """

    name: str
    hand: str
    robot: HoldingRobot
    start: Array
    joints: tuple[str, ...]
    lower: Array
    upper: Array
    ability: Ability

    @property
    def indices(self) -> list[int]:
        """Indices of the actuated joints in the positions."""
        names = self.robot.blocks.tree.position_names
        return [names.index(joint) for joint in self.joints]

    def state(self, hand: Array, rotation: Array, positions: Array, rates: Array) -> RobotState:
        """Return the state of the robot from the pose of its hand and the states of its joints.

        Args:
            hand: (3,) in the world, m.
            rotation: (3, 3) of the hand's link.
            positions: (n,) of the actuated joints.
            rates: (n,) of the actuated joints.
        """
        q = self.start.copy()
        q[BASE] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
        q[self.indices] = positions
        point, turn = self.robot.hand_pose(q)
        base = rotation @ turn.T
        q[:3], q[3:7] = hand - base @ point, quaternion_of_matrix(base)
        return RobotState(q, rates)


def holders_of(team: Team, item: str, friction: float) -> list[Holder]:
    """Return the robots that hold an object, in the order of its patches.

    Args:
        team: the team.
        item: name of the object.
        friction: of wheels that roll by constraint and have no coefficient in their file.

    Raises:
        CarryError: a robot that holds with two hands or by a fixed grasp, or whose motion is not determined by two
            wheel speeds and three arm speeds.
    """
    holders = []
    for grasp in team.grasps_on(item):
        if len(team.grasps_of(grasp.robot)) > 1:
            raise CarryError(f'robot {grasp.robot!r}: expected one hand that holds, found two')
        if grasp.kind != 'ball':
            raise CarryError(f'grasp {grasp.name!r}: expected kind ball, found {grasp.kind!r}')
        holders.append(holder_of(grasp.robot, team.robots[grasp.robot].machine, grasp.hand, friction))
    return holders


def holder_of(name: str, machine: Machine, hand: str, friction: float) -> Holder:
    """Return a robot with one of its hands. Raises CarryError; see `holders_of`."""
    where = f'robot {name!r}: '
    if machine.base.attachment != 'free' or not machine.needs_constraints or machine.actuators:
        raise CarryError(f'{where}expected a vehicle whose wheels roll by constraint, with efforts as its drives')
    whole = constrained_machine(machine)
    blocks, tree = whole.system.blocks, whole.system.blocks.tree
    joints = [joint for joint in machine.actuated_joints if joint.name in tree.velocity_names]
    grasp = machine.grasp(hand)
    link = tree.frame(grasp.link)
    frame = Frame(link.body, link.R, link.p + link.R @ grasp.point)
    names = [joint.name for joint in joints]
    try:
        robot = HoldingRobot(blocks, names, frame, carrier_of(tree, frame), whole.q)
    except (MethodError, ValueError) as error:
        raise CarryError(f'{where}{error}') from None
    ability = Ability(
        np.array([joint.effort_limit for joint in joints]),
        np.array([joint.velocity_limit for joint in joints]),
        gripping(machine, robot, friction),
    )
    lower, upper = (np.array([getattr(joint, limit) for joint in joints]) for limit in ('lower', 'upper'))
    return Holder(name, hand, robot, whole.q.copy(), tuple(names), lower, upper, ability)


def carrier_of(tree: Tree, hand: Frame) -> Frame:
    """Return the point of the vehicle that is positioned relative to the object: the base of the arm of a hand."""
    index = hand.body
    while tree.bodies[index].parent > 0:
        index = tree.bodies[index].parent
    body = tree.bodies[index]
    if body.parent < 0:
        raise CarryError('expected a hand behind a joint of an arm, found one on the vehicle')
    return Frame(body.parent, np.asarray(body.R0), np.asarray(body.p0))


def gripping(machine: Machine, robot: HoldingRobot, friction: float) -> Array:
    """Return the friction (w,) of the wheels by constraint: of the file, else `friction`; 0 for frictionless wheels."""
    coefficients = {wheel.name: wheel.friction for wheel in machine.rigid_wheels}
    wheels = [row for row in robot.blocks.constraints if isinstance(row, RollingWheel)]
    return np.array([0.0 if wheel.frictionless else coefficients.get(wheel.name) or friction for wheel in wheels])
