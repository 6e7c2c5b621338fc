"""Joint moved as a function of time."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from dyn_nodes.constraints.joints import Lock, Prescribed
from dyn_nodes.constraints.profiles import motion_of
from dyn_nodes.model.constraint import JointRecord, Profile
from dyn_nodes.model.schema import table
from dyn_nodes.multibody import Tree


@dataclass(frozen=True, eq=False, kw_only=True)
class PrescribedConstraint(JointRecord):
    """The position of the joint follows the profile; the multiplier is the effort of its drive."""

    kind: ClassVar[str] = 'prescribed'

    profile: Annotated[Profile, table('position over the time, rad or m', Profile)]

    @property
    def moved_joint(self) -> str:
        """Return the joint."""
        return self.joint

    @property
    def motion(self) -> tuple[str, Profile] | None:
        """Return the motion of the joint."""
        return 'profile', self.profile

    def on(self, tree: Tree) -> Prescribed:
        """Return the row on a tree."""
        return Prescribed(Lock(self.name, self.joint), motion_of(self.profile))
