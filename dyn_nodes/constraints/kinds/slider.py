"""Prismatic connection of two ends."""

from dataclasses import dataclass
from typing import ClassVar

from dyn_nodes.constraints.ends import end_frames
from dyn_nodes.constraints.loops import Loop
from dyn_nodes.model.constraint import AxisLoopRecord
from dyn_nodes.multibody import Tree


@dataclass(frozen=True, eq=False, kw_only=True)
class SliderConstraint(AxisLoopRecord):
    """The first end can only travel along the axis of the second."""

    kind: ClassVar[str] = 'slider'
    directions: ClassVar[tuple[str, ...]] = ('rx', 'ry', 'rz', 'x', 'y')

    def on(self, tree: Tree) -> Loop:
        """Return the five rows on a tree."""
        return Loop.slider(self.name, *end_frames(tree, self), self.axis)
