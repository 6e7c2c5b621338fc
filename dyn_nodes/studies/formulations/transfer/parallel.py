"""Parallel machines: legs that hold one platform (freeman-1985, pp. 127 to 139; 2.23 to 2.25 of its spec).

Every leg is transferred to the motion of the platform and, for a redundant leg, its kept joints; there the models of
all legs are added. Then any joints of any legs can become the inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from numpy.typing import ArrayLike

from dyn_nodes.multibody import Frame
from dyn_nodes.multibody.influence import Coefficients, TransferredModel, TreePosition, serial_model

SPACE = ('x', 'y', 'z', 'rx', 'ry', 'rz')
PLANE = ('x', 'y', 'rz')


@dataclass(frozen=True, eq=False)
class Leg:
    """A leg: a chain of the tree that ends in the platform.

    Attributes:
        joints: from the base to the platform; the joints of a serial part behind the platform are in every leg.
        end: frame of its last body at the platform or the hand.
        kept: joints of a redundant leg that are coordinates beside the platform's motion.
    """

    joints: tuple[str, ...]
    end: Frame
    kept: tuple[str, ...] = ()


class ParallelMachine:
    """A machine with several legs at a position; platform and bodies behind it belong to one of the legs.

    Args:
        position: of a tree that holds every leg as a branch; at the same pose of all ends.
        legs: of the machine.
        directions: of the platform's motion: `SPACE` or `PLANE`.
        gravity: (3,) world axes.

    Attributes:
        coordinates: w: kept joints, then the directions of the platform.
        joints: all joints by w.
        model: in w (4-48).
        conditions: condition number of every leg's transfer.

    Raises:
        SingularTransferError: a leg whose joints are not determined by the platform; the message names the direction.
    """

    def __init__(
        self,
        position: TreePosition,
        legs: Sequence[Leg],
        directions: Sequence[str] = SPACE,
        gravity: ArrayLike = (0.0, 0.0, 0.0),
    ) -> None:
        self.legs, self.directions = tuple(legs), tuple(directions)
        self.coordinates = (*(name for leg in legs for name in leg.kept), *directions)
        self.model = TransferredModel.empty(self.coordinates)
        parts, conditions = [], []
        order = position.order
        for leg in legs:
            end = position.frame(leg.end).rows(directions)
            kept = position.joints(leg.kept)
            both = Coefficients.stacked([kept, end] if leg.kept else [end]).columns(leg.joints)
            conditions.append(both.condition)
            leg_joints = both.inverse().by(Coefficients.picked(both.parameters, self.coordinates, order))
            parts.append(leg_joints)
            self.model = self.model + _leg_model(position, leg, gravity).by(leg_joints)
        self.joints, self.conditions = Coefficients.stacked(parts), tuple(conditions)

    def platform(self, names: Sequence[str]) -> Coefficients:
        """Return w by the joints that become the inputs (4-58 to 4-61).

        Raises:
            SingularTransferError: the joints do not determine the motion; the message names one.
        """
        return self.inputs(names).inverse()

    def inputs(self, names: Sequence[str]) -> Coefficients:
        """Return the coefficients of joints, or of parts of w, by w."""
        parts = [self.joints if name in self.joints.parameters else self._identity for name in names]
        return Coefficients.stacked([part.rows([name]) for part, name in zip(parts, names)])

    def actuated(self, names: Sequence[str]) -> TransferredModel:
        """Return the model in the joints that become the inputs (4-62 to 4-64)."""
        return self.model.by(self.platform(names))

    @cached_property
    def _identity(self) -> Coefficients:
        return Coefficients.identity(self.coordinates, 3 if self.joints.D is not None else 2)


def _leg_model(position: TreePosition, leg: Leg, gravity: ArrayLike) -> TransferredModel:
    tree = position.model.tree
    bodies = [k for k, body in enumerate(tree.bodies) if body.name in leg.joints]
    return serial_model(position, gravity, bodies=bodies).columns(leg.joints)
