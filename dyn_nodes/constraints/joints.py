"""Constraints on joints: locks, gears and linkages, motions prescribed as functions of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import casadi as ca

from dyn_nodes.constraints.rows import Constraint, Rows
from dyn_nodes.multibody import Parameters, TreeState
from dyn_nodes.multibody.spatial import Expression


@dataclass(frozen=True, eq=False)
class Lock:
    """A joint held at a position (parameter `<name>/position`, rad or m); the multiplier is the holding effort."""

    joint_effort: ClassVar[str] = 'drive'

    name: str
    joint: str
    position: float = 0.0

    def rows(self, state: TreeState, parameters: Parameters) -> Rows:
        """Return one row. Raises KeyError for an unknown joint, ValueError for a free body."""
        held = parameters.add(f'{self.name}/position', self.position)
        coupling = Coupling(self.name, {self.joint: 1.0}).rows(state, parameters)
        return Rows.still(
            [f'{self.name}/position'],
            coupling.jacobian,
            coupling.gamma,
            state.q[_joint_indices(state, self.joint)[0]] - held,
        )


@dataclass(frozen=True, eq=False)
class Coupling:
    """A gear or linkage: the sum of coefficient times joint position is constant (parameter `<name>/offset`).

    A gear of ratio n between `motor` and `arm` is {'motor': 1, 'arm': -n}. The multiplier times a coefficient is the
    effort on that joint.
    """

    joint_effort: ClassVar[str] = 'transmitted'

    name: str
    coefficients: Mapping[str, float]
    offset: float = 0.0

    def __post_init__(self) -> None:
        if not any(self.coefficients.values()):
            raise ValueError(f'{self.name}: expected a coefficient other than zero')

    def rows(self, state: TreeState, parameters: Parameters) -> Rows:
        """Return one row. Raises KeyError for an unknown joint, ValueError for a free body."""
        jacobian = ca.SX(1, state.width)
        residual: Expression = -parameters.add(f'{self.name}/offset', self.offset)
        for joint, factor in self.coefficients.items():
            q, v = _joint_indices(state, joint)
            jacobian[0, v] = factor
            residual = residual + factor * state.q[q]
        return Rows.still([f'{self.name}/coupling'], jacobian, ca.SX(1, 1), residual)


@dataclass(frozen=True, eq=False)
class Prescribed:
    """Constraint whose residual follows a motion instead of staying zero.

    `Prescribed(Lock('drive', 'hip'), motion)` drives a joint, `Prescribed(Loop.on_plane(...), motion)` moves the
    ground under a point.

    Attributes:
        of: the constraint; all its rows follow the same motion.
        motion: displacement as an expression of the time, m or rad, differentiated exactly; None: parameters
            `<name>/displacement`, `<name>/rate`, `<name>/acceleration`.
        numbers: defaults of the motion's parameters `<name>/<key>`, which can change between runs; the motion gets them
            as keyword arguments.
    """

    joint_effort: ClassVar[str] = 'drive'

    of: Constraint
    motion: Callable[..., Expression] | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the name of the moved constraint."""
        return self.of.name

    def rows(self, state: TreeState, parameters: Parameters) -> Rows:
        """Return the rows of the constraint with the motion's terms."""
        still = self.of.rows(state, parameters)
        if self.motion is None:
            displacement, rate, acceleration = (
                parameters.add(f'{self.name}/{quantity}', 0.0) for quantity in ('displacement', 'rate', 'acceleration')
            )
        else:
            numbers = {key: parameters.add(f'{self.name}/{key}', value) for key, value in self.numbers.items()}
            displacement = ca.SX(self.motion(parameters.time, **numbers))
            rate = ca.jacobian(displacement, parameters.time)
            acceleration = ca.jacobian(rate, parameters.time)
        ones = ca.SX.ones(len(still.names), 1)
        return Rows(
            still.names,
            still.jacobian,
            still.gamma + acceleration * ones,
            still.sigma + rate * ones,
            still.residual - displacement * ones,
            still.holonomic,
        )


def _joint_indices(state: TreeState, joint: str) -> tuple[int, int]:
    body = state.tree.bodies[state.tree.body(joint)]
    if body.kind == 'free':
        raise ValueError(f'{joint}: expected a joint of one degree of freedom, found a free body')
    return body.q, body.v
