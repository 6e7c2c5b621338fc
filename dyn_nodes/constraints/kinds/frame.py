"""Rigid connection of two ends."""

from dataclasses import dataclass
from typing import ClassVar

from dyn_nodes.constraints.ends import end_frames
from dyn_nodes.constraints.loops import ROW_NAMES, Loop
from dyn_nodes.model.constraint import LoopRecord
from dyn_nodes.multibody import Tree


@dataclass(frozen=True, eq=False, kw_only=True)
class FrameConstraint(LoopRecord):
    """The ends have the same position and orientation."""

    kind: ClassVar[str] = 'frame'
    directions: ClassVar[tuple[str, ...]] = ROW_NAMES

    def on(self, tree: Tree) -> Loop:
        """Return the six rows on a tree."""
        return Loop.frame(self.name, *end_frames(tree, self))
