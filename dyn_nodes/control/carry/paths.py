"""Paths of an object in the plane: pose over a parameter, with exact first and second derivatives.

Any path of a platform can be used (`control.platform_path`, `control.waypoint_path`); its time is the parameter here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.number_checks import require_positive
from dyn_nodes.control.platform_path import Path, PlanarMotion


def figure_of_eight(length: float, width: float, heading: float | None = None) -> Path:
    """Return a figure of eight through the origin over the parameter 0 to 2 pi.

    x = length sin(s), y = width / 2 sin(2 s); it starts towards (length, width).

    Args:
        length: from the middle to the end of a loop, m.
        width: of a loop, m.
        heading: of the object, rad; None: along the path.

    Raises:
        ValueError: a size that is not above 0.
    """
    require_positive({'length': length, 'width': width})
    table = np.linspace(0.0, 2.0 * np.pi, 721)
    steady = np.unwrap(np.arctan2(width * np.cos(2 * table), length * np.cos(table)))

    def path(parameters: ArrayLike) -> PlanarMotion:
        s = np.atleast_1d(np.asarray(parameters, dtype=float))
        x = [length * np.sin(s), length * np.cos(s), -length * np.sin(s), -length * np.cos(s)]
        y = [
            0.5 * width * np.sin(2 * s),
            width * np.cos(2 * s),
            -2 * width * np.sin(2 * s),
            -4 * width * np.cos(2 * s),
        ]
        turn = [np.full_like(s, heading or 0.0), 0.0 * s, 0.0 * s]
        if heading is None:
            angle, *changes = _along(x, y)
            near = np.interp(np.mod(s, 2.0 * np.pi), table, steady)  # the direction without jumps
            turn = [angle + 2.0 * np.pi * np.round((near - angle) / (2.0 * np.pi)), *changes]
        return PlanarMotion(s, *(np.column_stack(values) for values in zip(turn, x, y)))

    return path


def straight(length: float, direction: float = 0.0, heading: float | None = None) -> Path:
    """Return a straight line from the origin; the parameter is the arc length, m.

    Args:
        length: m; the path continues beyond it.
        direction: rad.
        heading: of the object, rad; None: along the path.
    """
    require_positive({'length': length})

    def path(parameters: ArrayLike) -> PlanarMotion:
        s = np.atleast_1d(np.asarray(parameters, dtype=float))
        along = np.array([0.0, np.cos(direction), np.sin(direction)])
        pose = np.outer(s, along)
        pose[:, 0] = direction if heading is None else heading
        return PlanarMotion(s, pose, np.tile(along, (len(s), 1)), np.zeros((len(s), 3)))

    return path


def moved(path: Path, position: ArrayLike, turn: float, heading: float = 0.0) -> Path:
    """Return a path that is turned about the origin and then moved.

    Args:
        path: with the same parameter.
        position: (2,) of its origin, m.
        turn: of its axes, rad; headings turn with them.
        heading: added to the headings, rad.
    """
    shift = np.array([turn + heading, *np.asarray(position, dtype=float)])
    c, s = np.cos(turn), np.sin(turn)
    matrix = np.array([(1.0, 0.0, 0.0), (0.0, c, -s), (0.0, s, c)])

    def moved_path(parameters: ArrayLike) -> PlanarMotion:
        motion = path(parameters)
        pose, rate, change = (part @ matrix.T for part in (motion.pose, motion.velocity, motion.acceleration))
        return PlanarMotion(motion.times, pose + shift, rate, change)

    return moved_path


def between(start: ArrayLike, end: ArrayLike) -> Path:
    """Return the straight path from one pose to another over the parameter 0 to 1.

    Args:
        start: (3,) heading, x, y, rad and m.
        end: (3,) the same; the heading turns by the lesser angle.

    Raises:
        ValueError: the poses are equal.
    """
    first = np.asarray(start, dtype=float)
    change = np.asarray(end, dtype=float) - first
    change[0] = np.angle(np.exp(1j * change[0]))
    if not np.abs(change).max() > 1e-6:
        raise ValueError('expected another pose than the one at the start, found the same')

    def path(parameters: ArrayLike) -> PlanarMotion:
        s = np.atleast_1d(np.asarray(parameters, dtype=float))
        still = np.zeros((len(s), 3))
        return PlanarMotion(s, first + np.outer(s, change), still + change, still)

    return path


def _along(x: list[Array], y: list[Array]) -> list[Array]:
    """Return the direction of a path and its two derivatives, from coordinates with three derivatives each."""
    square = x[1] ** 2 + y[1] ** 2
    bend = x[1] * y[2] - y[1] * x[2]
    change = (x[1] * y[3] - y[1] * x[3]) / square - 2.0 * bend * (x[1] * x[2] + y[1] * y[2]) / square**2
    return [np.arctan2(y[1], x[1]), bend / square, change]
