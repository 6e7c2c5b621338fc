"""Disc that rolls on the ground without slip."""

from dataclasses import dataclass
from typing import ClassVar

from dyn_nodes.constraints.ends import frame_of
from dyn_nodes.constraints.profiles import motion_of
from dyn_nodes.constraints.rolling import RollingWheel
from dyn_nodes.model.constraint import RollingRecord
from dyn_nodes.multibody import Tree


@dataclass(frozen=True, eq=False, kw_only=True)
class WheelConstraint(RollingRecord):
    """The lowest point of the disc is at rest on the ground, which may move up and down."""

    kind: ClassVar[str] = 'wheel'

    def on(self, tree: Tree) -> RollingWheel:
        """Return the three rows on a tree; one for a frictionless wheel."""
        ground = None if self.ground is None else motion_of(self.ground)
        centre = frame_of(tree, self.first)
        return RollingWheel(self.name, centre, self.axis, self.radius, ground, self.frictionless)
