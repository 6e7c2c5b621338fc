"""Closed loops: two frames that share a point, an axis, a plane or everything.

The common rigid load of several arms (yesiloglu-2007, C6) is a free body, held to every arm by `Loop.frame`;
pinned and sliding contact are loops with the world.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.constraints.rows import Rows
from dyn_nodes.multibody import Frame, Parameters, TreeState
from dyn_nodes.multibody.spatial import Expression, Motion, Pose, cross, dot

ROW_NAMES = ('rx', 'ry', 'rz', 'x', 'y', 'z')
Axes = Literal['world', 'second']


def world_frame(p: ArrayLike = (0.0, 0.0, 0.0), R: ArrayLike | None = None) -> Frame:
    """Return a frame fixed in the world at (R, p)."""
    return Frame(-1, np.eye(3) if R is None else np.asarray(R, dtype=float), np.asarray(p, dtype=float))


def axes_along(normal: ArrayLike) -> np.ndarray:
    """Return a (3, 3) rotation with its z axis along a direction. Raises ValueError for a vector of length zero."""
    z = np.asarray(normal, dtype=float)
    length = float(np.linalg.norm(z))
    if length == 0.0:
        raise ValueError('expected a direction, found a vector of length zero')
    z = z / length
    x = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = x - (x @ z) * z
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def turned(frame: Frame, R: np.ndarray) -> Frame:
    """Return the frame with its axes turned by R about its origin."""
    return Frame(frame.body, frame.R @ R, frame.p)


@dataclass(frozen=True, eq=False)
class Loop:
    """Two frames without relative motion along some of six directions.

    The multipliers are the wrench [moment; force] that the second body applies on the first, along the kept
    directions; if all three linear rows are kept, at the common point.

    Attributes:
        name: name of the constraint.
        first, second: frames; a body of -1 is the world.
        keep: rows among `rx ry rz x y z`, in this order.
        axes: directions of the world, or of the second frame, which turn with it.
    """

    name: str
    first: Frame
    second: Frame
    keep: tuple[str, ...] = ROW_NAMES
    axes: Axes = 'world'

    def __post_init__(self) -> None:
        unknown = [row for row in self.keep if row not in ROW_NAMES]
        if unknown or len(set(self.keep)) != len(self.keep) or not self.keep:
            raise ValueError(f'{self.name}: expected rows out of {", ".join(ROW_NAMES)}, found {", ".join(self.keep)}')

    @classmethod
    def point(cls, name: str, first: Frame, second: Frame, axes: Axes = 'world') -> Loop:
        """Return a spherical joint: 3 rows."""
        return cls(name, first, second, ('x', 'y', 'z'), axes)

    @classmethod
    def frame(cls, name: str, first: Frame, second: Frame, axes: Axes = 'world') -> Loop:
        """Return a rigid connection: 6 rows."""
        return cls(name, first, second, ROW_NAMES, axes)

    @classmethod
    def hinge(cls, name: str, first: Frame, second: Frame, axis: ArrayLike = (0.0, 0.0, 1.0)) -> Loop:
        """Return a revolute joint about `axis` (3,), with the same components in both frames: 5 rows."""
        R = axes_along(axis)
        return cls(name, turned(first, R), turned(second, R), ('rx', 'ry', 'x', 'y', 'z'), 'second')

    @classmethod
    def slider(cls, name: str, first: Frame, second: Frame, axis: ArrayLike = (0.0, 0.0, 1.0)) -> Loop:
        """Return a prismatic joint along `axis` (3,) of both frames: 5 rows."""
        R = axes_along(axis)
        return cls(name, turned(first, R), turned(second, R), ('rx', 'ry', 'rz', 'x', 'y'), 'second')

    @classmethod
    def planar(cls, name: str, first: Frame, second: Frame, rotation: bool = True) -> Loop:
        """Return a connection of two bodies that move in the world's x-y plane: (rz,) x, y."""
        return cls(name, first, second, ('rz', 'x', 'y') if rotation else ('x', 'y'), 'world')

    @classmethod
    def on_line(cls, name: str, first: Frame, second: Frame, direction: ArrayLike = (0.0, 0.0, 1.0)) -> Loop:
        """Return a connection that keeps a point of the first body on a line of the second: 2 rows."""
        return cls(name, first, turned(second, axes_along(direction)), ('x', 'y'), 'second')

    @classmethod
    def on_plane(cls, name: str, first: Frame, second: Frame, normal: ArrayLike = (0.0, 0.0, 1.0)) -> Loop:
        """Return a sliding contact, which keeps a point of the first body in a plane of the second: 1 row."""
        return cls(name, first, turned(second, axes_along(normal)), ('z',), 'second')

    def rows(self, state: TreeState, parameters: Parameters) -> Rows:
        """Return the rows; the linear ones are the exact rate of the gap in the chosen axes."""
        first, second = state.frame_pose(self.first), state.frame_pose(self.second)
        turning = self.axes == 'second'
        E = second.R if turning else ca.SX.eye(3)
        gap = first.p - second.p
        difference = state.jacobian(self.first) - state.jacobian(self.second)
        linear = difference[3:6, :]
        if turning:
            spin = state.jacobian(self.second)[0:3, :]
            linear = linear + ca.horzcat(*(cross(gap, spin[:, k]) for k in range(state.width)))
        jacobian = ca.vertcat(ca.mtimes(E.T, difference[0:3, :]), ca.mtimes(E.T, linear))
        gamma = -ca.vertcat(*(ca.mtimes(E.T, part) for part in self._bias(state, gap)))
        residual = ca.vertcat(self._turn_residual(first, second), ca.mtimes(E.T, gap))
        kept = [ROW_NAMES.index(row) for row in self.keep]
        names = [f'{self.name}/{row}' for row in self.keep]
        return Rows.still(names, jacobian[kept, :], gamma[kept], residual[kept])

    def _bias(self, state: TreeState, gap: Expression) -> tuple[Expression, Expression]:
        """Return the relative acceleration, angular and linear, at zero generalized acceleration, in the axes."""
        bias = state.jacobian_rate_times_velocity(self.first) - state.jacobian_rate_times_velocity(self.second)
        if self.axes == 'world':
            return bias[0:3], bias[3:6]
        one, two = state.frame_velocity(self.first), state.frame_velocity(self.second)
        relative = Motion(one.w - two.w, one.v - two.v - cross(two.w, gap))
        spin_up = state.jacobian_rate_times_velocity(self.second)[0:3]
        centripetal = cross(two.w, cross(two.w, gap))
        linear = bias[3:6] - cross(spin_up, gap) - centripetal - 2 * cross(two.w, relative.v)
        return bias[0:3] - cross(two.w, relative.w), linear

    def _turn_residual(self, first: Pose, second: Pose) -> Expression:
        """Return (3,) relative rotation: exact to first order along the kept directions, zero only if they agree."""
        R = ca.mtimes(first.R, second.R.T) if self.axes == 'world' else ca.mtimes(second.R.T, first.R)
        kept = [k for k in range(3) if ROW_NAMES[k] in self.keep]
        sine = ca.vertcat(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])
        if len(kept) == 3:
            return 2 * sine / (1 + R[0, 0] + R[1, 1] + R[2, 2])
        residual = ca.SX(3, 1)
        if len(kept) == 2:
            free = ({0, 1, 2} - set(kept)).pop()
            i, j = (free + 1) % 3, (free + 2) % 3
            residual[i], residual[j] = -R[j, free], R[i, free]
        elif len(kept) == 1:
            k = kept[0]
            i, j = (k + 1) % 3, (k + 2) % 3
            residual[k] = ca.atan2(sine[k], R[i, i] + R[j, j])
        return residual


@dataclass(frozen=True, eq=False)
class Distance:
    """A massless rod between two points at distance `length` (parameter `<name>/length`, m).

    The multiplier is the force that pushes the points apart, N.
    """

    name: str
    first: Frame
    second: Frame
    length: float

    def __post_init__(self) -> None:
        if not self.length > 0:
            raise ValueError(f'{self.name}: expected a length above zero, found {self.length:g} m')

    def rows(self, state: TreeState, parameters: Parameters) -> Rows:
        """Return one row, the rate of (d . d - length^2) / (2 length)."""
        length = parameters.add(f'{self.name}/length', self.length)
        gap = state.frame_pose(self.first).p - state.frame_pose(self.second).p
        rate = state.frame_velocity(self.first).v - state.frame_velocity(self.second).v
        jacobian = (state.jacobian(self.first) - state.jacobian(self.second))[3:6, :]
        bias = state.jacobian_rate_times_velocity(self.first) - state.jacobian_rate_times_velocity(self.second)
        gamma = -(dot(gap, bias[3:6]) + dot(rate, rate)) / length
        residual = (dot(gap, gap) - length * length) / (2 * length)
        return Rows.still([f'{self.name}/length'], ca.mtimes(gap.T, jacobian) / length, gamma, residual)
