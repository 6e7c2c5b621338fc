"""Spherical connection of two ends."""

from dataclasses import dataclass
from typing import ClassVar

from dyn_nodes.constraints.ends import end_frames
from dyn_nodes.constraints.loops import Loop
from dyn_nodes.model.constraint import LoopRecord
from dyn_nodes.multibody import Tree


@dataclass(frozen=True, eq=False, kw_only=True)
class PointConstraint(LoopRecord):
    """The ends have the same position."""

    kind: ClassVar[str] = 'point'
    directions: ClassVar[tuple[str, ...]] = ('x', 'y', 'z')

    def on(self, tree: Tree) -> Loop:
        """Return the three rows on a tree."""
        return Loop.point(self.name, *end_frames(tree, self))
