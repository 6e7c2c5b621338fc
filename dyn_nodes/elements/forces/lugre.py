"""LuGre friction of a tyre against the ground, per direction."""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca

from dyn_nodes.model.machine import LuGre

Scalar = Any  # a Python float, a casadi DM or an SX expression

_SPEED_OFFSET = 1e-12
"""Added to |v| under the Stribeck power, m/s.

It bounds the slope of |v|^0.5 at rest; eta changes by less than 2e-7 there and by less than 1e-9 above 1 um/s.
"""


class Friction(NamedTuple):
    """Friction force on the body, N, and rate of the mean bristle deflection, m/s."""

    force: Scalar
    bristle_rate: Scalar


def stribeck(params: LuGre, speed: Scalar) -> Scalar:
    """Return eta(v) = mu_c + (mu_s - mu_c) exp(-|v / v_s|^alpha) (abo-shanab-2003, eq. 6.16).

    Args:
        params: coefficients. An exponent that is the plain number 0.5, 1 or 2 needs no power function.
        speed: |v|, m/s, not negative.
    """
    ratio = (speed + _SPEED_OFFSET) * (1.0 / params.stribeck_speed)
    exponent = params.stribeck_exponent
    if isinstance(exponent, (int, float)) and exponent in (0.5, 1, 2):
        power = {0.5: ca.sqrt(ratio), 1: ratio, 2: ratio * ratio}[exponent]
    else:
        power = ratio**exponent
    return params.kinetic + (params.static - params.kinetic) * ca.exp(-power)


def lugre(params: LuGre, slip_speed: Scalar, bristle: Scalar, normal: Scalar) -> Friction:
    """Return friction and bristle rate in one direction (abo-shanab-2003, eqs 6.13 to 6.21).

    The force on the body is -(sigma_0 z + sigma_1 dz/dt + sigma_2 v) N: the source writes the force of the
    body on the ground. |v| itself needs no smoothing, as it is multiplied by z in the bristle rate.

    Args:
        params: coefficients per unit of normal load.
        slip_speed: v of the body's contact point along the direction, m/s.
        bristle: mean deflection z, m.
        normal: N >= 0, N.
    """
    speed = ca.fabs(slip_speed)
    elastic = params.bristle_stiffness * bristle
    rate = slip_speed - speed * elastic / stribeck(params, speed)
    coefficient = elastic + params.bristle_damping * rate + params.viscous * slip_speed
    return Friction(-normal * coefficient, rate)
