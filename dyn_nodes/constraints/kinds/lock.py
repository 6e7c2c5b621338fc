"""Joint held at a position."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from dyn_nodes.constraints.joints import Lock
from dyn_nodes.model.constraint import ConstraintRecord, JointRecord
from dyn_nodes.model.problems import Report
from dyn_nodes.model.schema import number
from dyn_nodes.multibody import Tree


@dataclass(frozen=True, eq=False, kw_only=True)
class LockConstraint(JointRecord):
    """The joint is held, like the joints in the list `locked` of a machine YAML."""

    kind: ClassVar[str] = 'lock'

    position: Annotated[float, number('where the joint is held, rad or m')] = 0.0

    @property
    def locked_position(self) -> float | None:
        """Return the position, rad or m."""
        return self.position

    def beside_locked(self, positions: Mapping[str, float], report: Report) -> ConstraintRecord | None:
        """Return None: the joint is locked."""
        return None

    def on(self, tree: Tree) -> Lock:
        """Return the row on a tree."""
        return Lock(self.name, self.joint, self.position)
