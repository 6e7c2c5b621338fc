"""Massless rod between two points."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from dyn_nodes.constraints.ends import end_frames
from dyn_nodes.constraints.loops import Distance
from dyn_nodes.model.constraint import LoopRecord
from dyn_nodes.model.schema import number
from dyn_nodes.multibody import Tree


@dataclass(frozen=True, eq=False, kw_only=True)
class DistanceConstraint(LoopRecord):
    """The distance between the ends is the length of the rod."""

    kind: ClassVar[str] = 'distance'

    length: Annotated[float, number('of a rod', 'm', 'positive')]

    @property
    def rod(self) -> float:
        """Return the length, m."""
        return self.length

    def on(self, tree: Tree) -> Distance:
        """Return the row on a tree."""
        return Distance(self.name, *end_frames(tree, self), self.length)
