"""Gear or linkage between joints."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from dyn_nodes.constraints.joints import Coupling
from dyn_nodes.model.constraint import ConstraintRecord, JointSum, Parts
from dyn_nodes.model.problems import Report
from dyn_nodes.model.problems import number as printed
from dyn_nodes.model.schema import collection, number
from dyn_nodes.multibody import Tree

MET = 1e-9
"""Greatest gap of a coupling between locked joints, rad or m."""


def _pairs(factors: Any) -> tuple[tuple[str, float], ...]:
    return tuple(dict(factors).items())


@dataclass(frozen=True, eq=False, kw_only=True)
class CouplingConstraint(ConstraintRecord):
    """The sum of coefficient times joint position is the offset."""

    kind: ClassVar[str] = 'coupling'

    coefficients: Annotated[tuple[tuple[str, float], ...], collection('positions', 'by joint name', read=_pairs)]
    offset: Annotated[float, number('sum of coefficient times joint position')] = 0.0

    @property
    def joint_sum(self) -> JointSum | None:
        """Return coefficients and offset."""
        return JointSum(self.coefficients, self.offset)

    def beside_locked(self, positions: Mapping[str, float], report: Report) -> ConstraintRecord | None:
        """Return the coupling of the movable joints; locked joints shift its offset."""
        if not positions.keys() & set(self.coupled_joints):
            return self
        moving = tuple((joint, factor) for joint, factor in self.coefficients if joint not in positions and factor)
        fixed = sum(factor * positions[joint] for joint, factor in self.coefficients if joint in positions)
        if moving:
            return replace(self, coefficients=moving, offset=self.offset - fixed)
        if abs(self.offset - fixed) > MET:
            expected = f'locked joints that meet it, with a sum of {printed(self.offset)}'
            report.add(self.line, f'constraints.{self.name}', expected, printed(fixed))
        return None

    def check(self, parts: Parts, report: Report) -> None:
        """Report unknown or immovable joints, and coefficients that are all zero."""
        where = f'constraints.{self.name}'
        for joint in self.coupled_joints:
            if joint not in parts.joints or joint not in parts.locked:  # locked joints shift the offset
                parts.check_joint(joint, self.line, where, report)
        if not any(factor for _, factor in self.coefficients):
            report.add(self.line, f'{where}.coefficients', 'a coefficient other than zero', 'none')

    def on(self, tree: Tree) -> Coupling:
        """Return the row on a tree."""
        return Coupling(self.name, dict(self.coefficients), self.offset)
