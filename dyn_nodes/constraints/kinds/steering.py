"""Steering joint that follows the heading of its vehicle."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from dyn_nodes.constraints.steering import HeadingSteering
from dyn_nodes.model.constraint import JointRecord
from dyn_nodes.model.schema import number
from dyn_nodes.multibody import Tree


@dataclass(frozen=True, eq=False, kw_only=True)
class SteeringConstraint(JointRecord):
    """The position of the joint is offset + ratio times heading."""

    kind: ClassVar[str] = 'steering'

    ratio: Annotated[float, number('joint position per heading of the vehicle that carries the joint')]
    offset: Annotated[float, number('joint position at heading 0, rad')] = 0.0

    @property
    def fault(self) -> tuple[str, str, str] | None:
        """Return the problem of a zero ratio."""
        return ('ratio', 'a number other than zero', '0; lock the joint') if self.ratio == 0.0 else None

    def on(self, tree: Tree) -> HeadingSteering:
        """Return the row on a tree."""
        return HeadingSteering.on(tree, self.name, self.joint, self.ratio, self.offset)
