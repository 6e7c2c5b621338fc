"""Dynamics at a point of a constrained machine: Lambda p'' + mu + nu = F + F_ee (tanner-1998, 2.50 and 2.51, C11).

    space = operational_space(kane.at(q, v), tree.frame('hand'))
    space.inertia, space.force(efforts), space.null_efforts(efforts)

The Jacobian is the constrained one, p' = J u with the independent speeds u: with the Jacobian of all coordinates, a
vehicle could slide sideways. There may be more speeds than directions; the remaining motions do not move the point and
follow from `KaneEquations.speed_rates`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.errors import MethodError
from dyn_nodes.constraints.kane.equations import KaneEquations
from dyn_nodes.multibody import Frame

Task = Literal['position', 'pose']
DIRECTIONS = ('x', 'y', 'z', 'rx', 'ry', 'rz')
WORST_CONDITION = 1e9
"""Condition number of J M^-1 J^T beyond which the point counts as singular."""


class SpeedEquations(Protocol):
    """Equations of motion in n independent speeds at a state: M du/dt + C + G = efforts + elements."""

    @property
    def inertia(self) -> Array:
        """Return M (n, n)."""

    @property
    def convective(self) -> Array:
        """Return C (n,)."""

    @property
    def gravity(self) -> Array:
        """Return G (n,)."""

    @property
    def elements(self) -> Array:
        """Return the efforts (n,) of springs and actuators."""


@dataclass(frozen=True, eq=False)
class OperationalSpace:
    """Dynamics at a point at one state; k directions in the world, n independent speeds.

    Attributes:
        equations: equations of the machine.
        jacobian: (k, n) J, p' = J u; for a pose, position rows above angular velocity rows.
        bias: (k,) h, p'' = J du/dt + h.
        inertia: (k, k) Lambda, kg and kg m2.
        inverse: (n, k) right inverse of J of least kinetic energy, M^-1 J^T Lambda.
        velocity_term: (k,) mu, centrifugal and Coriolis forces.
        gravity_term: (k,) nu, gravity.
    """

    equations: SpeedEquations
    jacobian: Array
    bias: Array
    inertia: Array
    inverse: Array
    velocity_term: Array
    gravity_term: Array

    def force(self, efforts: ArrayLike) -> Array:
        """Return F (k,), N and N m, of generalized efforts (n,) and the machine's springs and actuators."""
        return np.asarray(self.inverse.T @ (np.asarray(efforts, float) + self.equations.elements))

    def acceleration(self, efforts: ArrayLike, load: ArrayLike | None = None) -> Array:
        """Return p'' (k,) under generalized efforts (n,) and a load (k,) on the point, N and N m."""
        pushed = self.force(efforts) + (0.0 if load is None else np.asarray(load, float))
        return np.asarray(np.linalg.solve(self.inertia, pushed - self.velocity_term - self.gravity_term))

    def efforts_for(self, acceleration: ArrayLike, load: ArrayLike | None = None) -> Array:
        """Return generalized efforts (n,), J^T F, that give the point an acceleration (k,) under a load (k,)."""
        carried = 0.0 if load is None else np.asarray(load, float)
        wanted = self.inertia @ np.asarray(acceleration, float) + self.velocity_term + self.gravity_term - carried
        return np.asarray(self.jacobian.T @ (wanted - self.inverse.T @ self.equations.elements))

    def null_speeds(self, u: ArrayLike) -> Array:
        """Return the part (n,) of speeds u (n,) that does not move the point."""
        speeds = np.asarray(u, float)
        return np.asarray(speeds - self.inverse @ (self.jacobian @ speeds))

    def null_efforts(self, efforts: ArrayLike) -> Array:
        """Return the part (n,) of generalized efforts (n,) that does not accelerate the point."""
        generalized = np.asarray(efforts, float)
        return np.asarray(generalized - self.jacobian.T @ (self.inverse.T @ generalized))

    def efforts_along(self, acceleration: ArrayLike, spare: ArrayLike) -> Array:
        """Return generalized efforts (n,) for an acceleration (k,) of the point and speed rates in its null space.

        Args:
            acceleration: acceleration of the point, m/s2.
            spare: (n,) wanted rates of the speeds; their part in the null space is applied.
        """
        equations = self.equations
        wanted = np.asarray(spare, float)
        rates = wanted + self.inverse @ (np.asarray(acceleration, float) - self.bias - self.jacobian @ wanted)
        return np.asarray(equations.inertia @ rates + equations.convective + equations.gravity - equations.elements)


def operational_space(equations: KaneEquations, frame: Frame, task: Task = 'position') -> OperationalSpace:
    """Return the dynamics at a frame's origin, or at its pose.

    Args:
        equations: equations of a machine at a state.
        frame: frame fixed in a body.
        task: `position`, three directions; `pose`, six.

    Raises:
        MethodError: the speeds do not move the point in all directions here; names the lost direction.
    """
    placement = equations.placements[frame.body]
    point = placement.p + placement.R @ frame.p
    turning, moving = equations.partial_velocities(frame)
    bias = placement.moving_at(point) @ equations.bias + placement.acceleration_at(point)
    J, h = moving, bias
    if task == 'pose':
        J = np.vstack([moving, turning])
        h = np.concatenate([bias, placement.turning @ equations.bias + placement.alpha])
    return projected(equations, J, h)


def projected(equations: SpeedEquations, jacobian: Array, bias: Array) -> OperationalSpace:
    """Return the dynamics along the rows of a Jacobian.

    Args:
        equations: equations at a state.
        jacobian: (k, n) J.
        bias: (k,) h, p'' = J du/dt + h.

    Raises:
        MethodError: as in `operational_space`.
    """
    flow = np.linalg.solve(equations.inertia, jacobian.T)
    _reject_singular(jacobian @ flow)
    inertia = np.asarray(np.linalg.inv(jacobian @ flow))
    inverse = flow @ inertia
    velocity_term = inverse.T @ equations.convective - inertia @ bias
    return OperationalSpace(equations, jacobian, bias, inertia, inverse, velocity_term, inverse.T @ equations.gravity)


def _reject_singular(mobility: Array) -> None:
    values, vectors = np.linalg.eigh(mobility)
    if values[0] * WORST_CONDITION < values[-1]:
        lost = vectors[:, 0]
        directions = ', '.join(f'{lost[k]:.3g} {DIRECTIONS[k]}' for k in np.flatnonzero(np.abs(lost) > 0.1))
        raise MethodError(f'the point does not move along {directions} here: its inertia there has no bound')
