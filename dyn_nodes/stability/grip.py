"""Friction coefficients and force-free directions of the wheels of a machine."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.measures import Measure
from dyn_nodes.model.machine import Machine

LEFT = (0.0, 1.0, 0.0)


class Grip(NamedTuple):
    """Static friction of the contacts of a machine.

    Attributes:
        friction: (w,) static coefficients; 0 for a wheel without friction.
        free: (w, 2) force-free direction in the contact frame, longitudinal and lateral: across the axis of a roller.
            Zero for tyres, feet and tracks: a tyre may be driven or braked and takes forces in all directions.
        traction: (w,) 0 N for wheels with a force-free direction, NaN for the others.
    """

    friction: Array
    free: Array
    traction: Array

    def rolling(self, axes: Array) -> Array:
        """Return the force-free directions (w, 3) from contact frames (w, 3, 3)."""
        return np.asarray(axes[:, :, 0] * self.free[:, :1] + axes[:, :, 1] * self.free[:, 1:])


def grip_of(machine: Machine) -> Grip:
    """Return the grip of a machine's wheels, then of its other contacts, in the order of its ground reactions."""
    friction, free = [], []
    for contact in machine.ground_contacts:
        friction.append(static_friction(getattr(contact, 'friction', None)))
        rolling = getattr(contact, 'rolling', None)
        angle = None if rolling is None else rolling.roller_angle
        free.append((0.0, 0.0) if angle is None else (-np.sin(angle), np.cos(angle)))
    directions = np.array(free).reshape(-1, 2)
    return Grip(np.array(friction), directions, np.where(directions.any(axis=1), 0.0, np.nan))


def static_friction(law: Any) -> float:
    """Return the static coefficient of a friction law, or of a wheel by constraint (a number); 0 for None."""
    return float(getattr(law, 'static', law) or 0.0)


def axles_of(machine: Machine) -> dict[str, Array]:
    """Return the axle (3,) of every wheel in the frame of its link; left for a wheel that does not roll."""
    return {wheel.name: np.array(LEFT if wheel.rolling is None else wheel.rolling.axis) for wheel in machine.wheels}


def free_directions(grip: Grip, axles: Array, rolls: NDArray[np.bool_]) -> Array:
    """Return the force-free directions (..., w, 3) of wheels on ground with normal z.

    Args:
        grip: of the wheels.
        axles: (..., w, 3) unit axles to the left.
        rolls: (w,) True for wheels that roll; the others have no force-free direction.
    """
    left = axles[..., :2] / np.maximum(np.linalg.norm(axles[..., :2], axis=-1, keepdims=True), 1e-9)
    ahead = np.stack([left[..., 1], -left[..., 0]], axis=-1)
    free = np.where(rolls[:, None], grip.free, 0.0)
    result = np.zeros(axles.shape)
    result[..., :2] = ahead * free[:, :1] + left * free[:, 1:]
    return result


def friction_use(forces: Array, friction: Array) -> Array:
    """Return sqrt(F_x^2 + F_y^2) / (mu F_z) (w,) of forces (w, 3) in contact frames; inf without friction."""
    sliding, limit = np.hypot(forces[:, 0], forces[:, 1]), friction * forces[:, 2]
    with np.errstate(divide='ignore', invalid='ignore'):
        return np.where(sliding > 0.0, np.where(limit > 0.0, sliding / limit, np.inf), 0.0)


def check_points(machine: Machine, wanted: Measure) -> None:
    """Raise KeyError for a measure that needs point contacts, on a machine with other contacts such as tracks."""
    if wanted.of_friction and machine.contacts:
        raise KeyError(
            f'stability measure {wanted.name!r} needs contacts in one point, found {machine.contacts[0].name!r}, a '
            f'{machine.contacts[0].kind}'
        )
