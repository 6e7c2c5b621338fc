"""The hand of a machine: pose and influence coefficients of one of its links relative to its base link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.common.printing import near
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.rotations import matrix_of_rotation_vector, rotation_vector
from dyn_nodes.multibody.influence import Coefficients, TransferredModel, TreeCoefficients, TreePosition
from dyn_nodes.multibody.tree import Tree, build_tree

ROWS = ('x', 'y', 'z', 'rx', 'ry', 'rz')
"""Components of a motion of the hand in axes of the base link: velocity of its origin, angular velocity."""
POSITION, POSE = ROWS[:3], ROWS
LEAST_JOINTS_OF_A_POSE = 6


class HandError(UserError, ValueError):
    """A link, joint or task that does not fit the machine."""


@dataclass(frozen=True, eq=False)
class HandPose:
    """Pose of the hand in axes of the base link.

    Attributes:
        rotation: (3, 3) axes of the hand.
        position: (3,) its origin, m.
    """

    rotation: Array
    position: Array

    def error_to(self, other: HandPose) -> Array:
        """Return the motion (6,) from this pose to another: translation, m, and rotation vector, rad."""
        turn = rotation_vector(other.rotation @ self.rotation.T)
        return np.concatenate([other.position - self.position, turn])

    def moved(self, step: ArrayLike) -> HandPose:
        """Return the pose after a translation, m, and a rotation vector, rad: (6,)."""
        move = np.asarray(step, dtype=np.float64)
        return HandPose(matrix_of_rotation_vector(move[3:]) @ self.rotation, self.position + move[:3])

    def within(self, frame: HandPose) -> HandPose:
        """Return this pose of axes `frame` in the reference axes of `frame`."""
        return HandPose(frame.rotation @ self.rotation, frame.position + frame.rotation @ self.position)

    def seen_from(self, frame: HandPose) -> HandPose:
        """Return this pose in axes of `frame`: the inverse of `within`."""
        back = frame.rotation.T
        return HandPose(back @ self.rotation, back @ (self.position - frame.position))


@dataclass(frozen=True, eq=False)
class HandTask:
    """The controlled components of the hand's motion, and the weight of rotation against translation.

    Attributes:
        rows: some of `ROWS`.
        length: m that count as much as 1 rad, in residuals, condition numbers and damping.
    """

    rows: tuple[str, ...] = POSE
    length: float = 1.0

    def __post_init__(self) -> None:
        unknown = [row for row in self.rows if row not in ROWS]
        if unknown or not self.rows or len(set(self.rows)) != len(self.rows):
            raise HandError(
                f'rows: expected some of {", ".join(ROWS)}, each once, found {", ".join(self.rows) or "none"}'
            )
        if not (np.isfinite(self.length) and self.length > 0.0):
            raise HandError(f'length: expected a number above 0 m, found {self.length!r}')

    @property
    def indices(self) -> list[int]:
        """Indices of the rows among the six."""
        return [ROWS.index(row) for row in self.rows]

    @property
    def scales(self) -> Array:
        """(P,) factors that convert every row to metres."""
        return np.array([1.0 if row in POSITION else self.length for row in self.rows])

    def scaled(self, motion: ArrayLike) -> Array:
        """Return the rows of a motion (6,), or of coefficients (6, n), in metres."""
        chosen = np.asarray(motion, dtype=np.float64)[self.indices]
        return chosen * (self.scales if chosen.ndim == 1 else self.scales[:, None])


class HandKinematics:
    """A link and the joints of a tree that move it.

    Args:
        tree: of a fixed base.
        link: the hand.
        joints: n joints that may move, among those that carry the link; None: all of these.
        lower, upper: limits by joint name, rad or m; a joint without an entry has no limit.

    Attributes:
        model: influence coefficients of the tree.
        joints: names.  carrying: all joints that carry the link.
        places: (n,) indices of these joints in a posture, the positions of all joints of the tree.
        dependent: names of joints that follow from the others through closed loops; none in a tree.
        lower, upper: (n,).
        turning: (n,) True for a revolute joint.

    Raises:
        HandError: a link without a joint that moves it, a joint that does not move it.
    """

    def __init__(
        self,
        tree: Tree,
        link: str,
        joints: Sequence[str] | None = None,
        lower: Mapping[str, float] | None = None,
        upper: Mapping[str, float] | None = None,
    ) -> None:
        self.model, self.link = TreeCoefficients(tree), link
        try:
            self.frame = tree.frame(link)
        except KeyError as error:
            raise HandError(str(error.args[0])) from None
        carrying = self._carrying(tree)
        if not carrying:
            raise HandError(f'link {link!r}: no joint moves it')
        self.carrying = tuple(carrying)
        self.names = self.model.names
        self.dependent: tuple[str, ...] = ()
        wanted = self.carrying if joints is None else tuple(joints)
        foreign = [name for name in wanted if name not in carrying]
        if foreign or not wanted or len(set(wanted)) != len(wanted):
            raise HandError(
                f'joints of {link!r}: expected some of {", ".join(carrying)}, each once, '
                f'found {", ".join(wanted) or "none"}'
            )
        self._take_joints(wanted, lower or {}, upper or {})

    def _take_joints(self, joints: Sequence[str], lower: Mapping[str, float], upper: Mapping[str, float]) -> None:
        tree = self.model.tree
        self.joints = tuple(joints)
        self.indices = np.array([self.names.index(name) for name in joints], dtype=np.intp)
        self.lower = np.array([lower.get(name, -np.inf) for name in joints])
        self.upper = np.array([upper.get(name, np.inf) for name in joints])
        self.turning = np.array([tree.bodies[tree.body(name)].kind == 'revolute' for name in joints])

    @classmethod
    def of(cls, machine: Machine, link: str, joints: Sequence[str] | None = None) -> HandKinematics:
        """Return the hand of a machine relative to its base link, on any base.

        Args:
            machine: any; with closed loops, only the joints between base link and hand count.
            link: the hand.
            joints: that may move; None: the driven joints that carry the link.

        Raises:
            HandError: as the class.
        """
        if link not in {each.name for each in machine.links}:
            names = [each.name for each in machine.links]
            raise HandError(f'unknown link {link!r}; known: {", ".join(names)}{near(link, names)}')
        fixed = replace(machine, base=replace(machine.base, attachment='fixed'), loads=())
        tree = build_tree(fixed)
        movable = {joint.name: joint for joint in machine.movable_joints}
        if joints is None:
            carrying = cls(tree, link).joints
            driven = {joint.name for joint in machine.actuated_joints}
            joints = [name for name in carrying if name in driven] or carrying
        lower = {name: joint.lower for name, joint in movable.items()}
        upper = {name: joint.upper for name, joint in movable.items()}
        return cls(tree, link, joints, lower, upper)

    def _carrying(self, tree: Tree) -> list[str]:
        if self.frame.body < 0:
            return []
        count = int(self.model.count[self.frame.body])
        return [self.model.names[k] for k in self.model.path[self.frame.body, :count]]

    @property
    def home(self) -> Array:
        """A posture of the machine: all joints at zero."""
        return np.zeros(len(self.names))

    @property
    def default_task(self) -> HandTask:
        """The pose with six joints or more, else the position."""
        return HandTask(POSE if len(self.joints) >= LEAST_JOINTS_OF_A_POSE else POSITION)

    def posture(self, positions: Mapping[str, float]) -> Array:
        """Return the positions of all joints of the tree from positions by name; zero for other joints.

        Raises:
            HandError: an unknown joint, a number that is not finite.
        """
        q = np.zeros(len(self.names))
        for name, value in positions.items():
            if name not in self.names:
                raise HandError(f'unknown joint {name!r}; known: {", ".join(self.names)}{near(name, self.names)}')
            if not np.isfinite(value):
                raise HandError(f'joint {name!r}: expected a finite position, found {value}')
            q[self.names.index(name)] = value
        return q

    def with_joints(self, posture: ArrayLike, values: ArrayLike) -> Array:
        """Return a posture with the hand's joints (n,) at other positions."""
        q = np.array(posture, dtype=np.float64)
        q[self.indices] = values
        return q

    def exceeded(self, posture: ArrayLike) -> tuple[str, ...]:
        """Return the dependent joints beyond their limits: none in a tree."""
        return ()

    def in_joints(self, model: TransferredModel, here: TreePosition) -> TransferredModel:
        """Return a model of the tree in the hand's joints, all others held."""
        return model.columns(self.joints)

    def pose(self, posture: ArrayLike) -> HandPose:
        """Return the pose of the hand at the positions of all joints."""
        return HandPose(*self.model.at(posture, 1).pose(self.frame))

    def coefficients(self, posture: ArrayLike, order: int = 2) -> Coefficients:
        """Return G, H and, for order 3, D of the six rows with respect to the hand's joints (order 1: H is zero)."""
        return self.model.at(posture, order).frame(self.frame).columns(self.joints)

    def pose_and_jacobian(self, posture: ArrayLike) -> tuple[HandPose, Array]:
        """Return the pose and G (6, n) with respect to the hand's joints."""
        pose, whole = self._frame_jacobian(posture)
        return pose, whole[:, self.indices]

    def _frame_jacobian(self, posture: ArrayLike) -> tuple[HandPose, Array]:
        """Return the pose and G with respect to all joints of the tree."""
        position = self.model.at(posture, 1)
        pose = HandPose(*position.pose(self.frame))
        poses = position.poses
        point = self.model.points_at(poses, [self.frame.body], self.frame.p, 1).G[0, 0]
        turn = self.model.rotations_at(poses, [self.frame.body], 1).G[0, 0]
        return pose, np.concatenate([point, turn])
