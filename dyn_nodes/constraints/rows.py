"""Rows of a constraint: J v = sigma, J a = gamma, and the residual of its position form.

A constraint's multipliers lambda are generalized forces on the system: M a + h = tau + J^T lambda. Gravity never enters
gamma, and dJ/dt v comes from bias accelerations, not from differentiating J (yesiloglu-2007, eq. 2.43 and fault F7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import casadi as ca

from dyn_nodes.multibody import Parameters, TreeState
from dyn_nodes.multibody.spatial import Expression


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one or several constraints.

    Attributes:
        names: (m) names of the rows, such as `grasp/x`.
        jacobian: J (m, width), width = nv but for `ExplodedState`.
        gamma: (m,) J a = gamma.
        sigma: (m,) J v = sigma; zero for a constraint without prescribed motion.
        residual: (m,) error at position level, m or rad, whose rate is J v - sigma; zero for a nonholonomic row.
        holonomic: (m) True for a row with a residual.
    """

    names: tuple[str, ...]
    jacobian: Expression
    gamma: Expression
    sigma: Expression
    residual: Expression
    holonomic: tuple[bool, ...]

    def __post_init__(self) -> None:
        m = len(self.names)
        shapes = [self.jacobian.shape[0], *(part.numel() for part in (self.gamma, self.sigma, self.residual))]
        if shapes != [m] * 4 or len(self.holonomic) != m:
            raise ValueError(
                f'rows {", ".join(self.names)}: expected {m} rows of J, gamma, sigma, residual, found {shapes}'
            )

    @classmethod
    def still(cls, names: Sequence[str], jacobian: Expression, gamma: Expression, residual: Expression) -> Rows:
        """Return holonomic rows that do not depend on time."""
        return cls(tuple(names), jacobian, gamma, ca.SX(len(names), 1), residual, (True,) * len(names))

    @classmethod
    def stacked(cls, parts: Sequence[Rows], width: int) -> Rows:
        """Return all rows below each other, dense."""
        return cls(
            tuple(name for part in parts for name in part.names),
            ca.densify(ca.vertcat(ca.SX(0, width), *(part.jacobian for part in parts))),
            ca.densify(ca.vertcat(ca.SX(0, 1), *(part.gamma for part in parts))),
            ca.densify(ca.vertcat(ca.SX(0, 1), *(part.sigma for part in parts))),
            ca.densify(ca.vertcat(ca.SX(0, 1), *(part.residual for part in parts))),
            tuple(flag for part in parts for flag in part.holonomic),
        )


class Constraint(Protocol):
    """Constraint on a tree. An implementation is a frozen dataclass.

    It builds its Jacobian from `state.jacobian(frame)` and from columns of joints, `state.width` wide, so that the same
    code also returns the forces on bodies (`multibody.kinematics.ExplodedState`). The attribute `joint_effort` of a
    constraint on joints states whether its efforts come from a `drive` or are `transmitted` from other joints.
    """

    @property
    def name(self) -> str:
        """Return the name, unique in its system; its rows are `<name>/<row>`."""

    def rows(self, state: TreeState, parameters: Parameters) -> Rows:
        """Return the traced rows."""
