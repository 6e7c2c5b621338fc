"""Height and slope of the ground below a wheel as smooth expressions of the position."""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca

from dyn_nodes.model.terrain import Rise

Scalar = Any  # a Python float, a casadi DM or an SX expression


class Ground(NamedTuple):
    """The ground at a point: height, m, and slopes along the world's x and y."""

    height: Scalar
    slope_x: Scalar
    slope_y: Scalar

    @property
    def normal(self) -> tuple[Scalar, Scalar, Scalar]:
        """Return the (3,) unit normal, world frame."""
        scale = 1.0 / ca.sqrt(1.0 + self.slope_x**2 + self.slope_y**2)
        return (-scale * self.slope_x, -scale * self.slope_y, scale)

    def plane_offset(self, x: Scalar, y: Scalar) -> Scalar:
        """Return the distance of the tangent plane at (x, y) from the world's origin, m."""
        n = self.normal
        return n[0] * x + n[1] * y + n[2] * self.height


def ground_at(rises: tuple[Rise, ...], x: Scalar, y: Scalar) -> Ground:
    """Return the ground at (x, y), m: the sum of all rises."""
    height, slope_x, slope_y = ca.SX(0), ca.SX(0), ca.SX(0)
    for rise in rises:
        c, s = ca.cos(rise.heading), ca.sin(rise.heading)
        along = (c * (x - rise.x) + s * (y - rise.y)) / rise.length
        across = c * (y - rise.y) - s * (x - rise.x)
        turns = 2.0 if rise.shape == 'bump' else 1.0
        inside = ca.fmin(ca.fmax(along, 0.0), 1.0)
        profile = 0.5 * (1.0 - ca.cos(turns * ca.pi * inside))
        climb = 0.5 * turns * ca.pi * ca.sin(turns * ca.pi * inside) / rise.length
        edge, fall = _edge(across, rise)
        up, side = rise.height * climb * edge, rise.height * profile * fall
        height += rise.height * profile * edge
        slope_x += c * up - s * side
        slope_y += s * up + c * side
    return Ground(height, slope_x, slope_y)


def _edge(across: Scalar, rise: Rise) -> tuple[Scalar, Scalar]:
    """Return the height of a rise beside its middle, as a share of the full height, and its slope, 1/m."""
    if rise.width is None:
        return 1.0, 0.0
    taper = 0.5 * rise.length
    beyond = ca.fmin(ca.fmax((ca.fabs(across) - 0.5 * rise.width) / taper, 0.0), 1.0)
    share = 0.5 * (1.0 + ca.cos(ca.pi * beyond))
    return share, -0.5 * ca.pi * ca.sin(ca.pi * beyond) / taper * ca.sign(across)
