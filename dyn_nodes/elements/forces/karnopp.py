"""Karnopp friction of a wheel on a massless foot behind a horizontal spring and damper, per direction."""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca

from dyn_nodes.model.machine import Karnopp

Scalar = Any  # a Python float, a casadi DM or an SX expression


class StickSlip(NamedTuple):
    """What friction does in one direction.

    Attributes:
        force: on the body, N.
        deflection_rate: of the wheel against its foot, m/s.
        stick: 1 where the foot sticks after this instant, 0 where it slips.
    """

    force: Scalar
    deflection_rate: Scalar
    stick: Scalar


def karnopp(params: Karnopp, slip_speed: Scalar, deflection: Scalar, stick: Scalar, normal: Scalar) -> StickSlip:
    """Return friction in one direction (abo-shanab-2003, eqs 6.1, 6.5 to 6.8; spec 2.21).

    The state is the deflection s = x - x_f of the wheel against its foot. As the foot has no mass, spring and damper
    carry the friction force, and the foot's speed follows from it; the print leaves it undetermined while the foot
    sticks. With F_st = k s + c v, the force if the foot stood still:

    - stick: F = F_st, the foot stands; it breaks loose where |F_st| > mu_s N;
    - slip: F = mu_c N sgn(F_st), the foot moves with (F_st - F) / c, not backwards; it sticks again where that is less
      than the stick speed;
    - in the air: F = 0, the foot follows the wheel.

    Between integration steps the flag is to be replaced by `stick` of the result; within a step it stays.

    Args:
        params: coefficients, spring and damper.
        slip_speed: v of the wheel's contact point along the direction, m/s.
        deflection: s, m.
        stick: the flag, 1 or 0.
        normal: N >= 0, N.
    """
    standing = params.stiffness * deflection + params.damping * slip_speed
    size = ca.fabs(standing)
    loaded = normal > 0.0
    greatest = params.kinetic * normal
    # while the foot slips, no more than the kinetic friction; where spring and damper give less, the foot stands
    sliding = ca.fmin(ca.fmax(standing, -greatest), greatest)
    force = loaded * ca.if_else(stick > 0.5, standing, sliding)
    foot_speed = (standing - force) / params.damping
    holds = size <= params.static * normal
    catches = size - greatest < params.stick_speed * params.damping
    return StickSlip(-force, slip_speed - foot_speed, loaded * ca.if_else(stick > 0.5, holds, catches))
