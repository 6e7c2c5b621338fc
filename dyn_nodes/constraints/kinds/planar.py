"""Rigid connection of two ends of a mechanism in the vertical plane."""

from dataclasses import dataclass
from typing import ClassVar

from dyn_nodes.constraints.ends import end_frames
from dyn_nodes.constraints.loops import Loop
from dyn_nodes.model.constraint import LoopRecord
from dyn_nodes.multibody import Tree


@dataclass(frozen=True, eq=False, kw_only=True)
class PlanarConstraint(LoopRecord):
    """The ends have the same x, z and pitch."""

    kind: ClassVar[str] = 'planar'

    def on(self, tree: Tree) -> Loop:
        """Return the three rows on a tree."""
        return Loop(self.name, *end_frames(tree, self), ('ry', 'x', 'z'))
