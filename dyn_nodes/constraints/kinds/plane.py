"""Point in a plane, which may move along its normal."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from dyn_nodes.constraints.ends import end_frames
from dyn_nodes.constraints.joints import Prescribed
from dyn_nodes.constraints.loops import Loop
from dyn_nodes.constraints.profiles import motion_of
from dyn_nodes.model.constraint import AxisLoopRecord, Profile
from dyn_nodes.model.schema import table
from dyn_nodes.multibody import Tree


@dataclass(frozen=True, eq=False, kw_only=True)
class PlaneConstraint(AxisLoopRecord):
    """The first end lies in the plane through the second normal to its axis."""

    kind: ClassVar[str] = 'plane'
    directions: ClassVar[tuple[str, ...]] = ('z',)

    profile: Annotated[Profile | None, table('height of the plane along its normal', Profile)] = None

    @property
    def motion(self) -> tuple[str, Profile] | None:
        """Return the motion of the plane."""
        return None if self.profile is None else ('profile', self.profile)

    def on(self, tree: Tree) -> Loop | Prescribed:
        """Return the row on a tree."""
        loop = Loop.on_plane(self.name, *end_frames(tree, self), self.axis)
        return loop if self.profile is None else Prescribed(loop, motion_of(self.profile))
