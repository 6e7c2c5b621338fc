"""Point on a line."""

from dataclasses import dataclass
from typing import ClassVar

from dyn_nodes.constraints.ends import end_frames
from dyn_nodes.constraints.loops import Loop
from dyn_nodes.model.constraint import AxisLoopRecord
from dyn_nodes.multibody import Tree


@dataclass(frozen=True, eq=False, kw_only=True)
class LineConstraint(AxisLoopRecord):
    """The first end lies on the line through the second along its axis."""

    kind: ClassVar[str] = 'line'
    directions: ClassVar[tuple[str, ...]] = ('x', 'y')

    def on(self, tree: Tree) -> Loop:
        """Return the two rows on a tree."""
        return Loop.on_line(self.name, *end_frames(tree, self), self.axis)
