"""Wheels that roll: tyres, and omnidirectional wheels that grip only along the axis of a roller.

Bristles as in LuGre friction, lumped over a contact patch that moves over the tyre (Canudas de Wit, Tsiotras, Velenis,
Basset and Gissinger, Vehicle System Dynamics 39, 2003, in a lumped form): bristles that leave the patch lose their
deflection. So a tyre needs slip to carry a steady force, sigma_0 N relaxation_length per unit of small slip; at rest it
holds like a spring, up to the static friction.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from dyn_nodes.elements.forces.contact import GroundAxes, WheelContact, ground_axes, kelvin_voigt
from dyn_nodes.elements.forces.vectors import cross, dot
from dyn_nodes.model.friction.lugre import LuGre, stribeck
from dyn_nodes.model.machine import Wheel

Scalar = Any  # a Python float, a casadi DM or an SX expression
Vector = Any  # anything that holds scalars and takes an index: list, array, DM or SX column

_FASTEST = 1000.0
"""Greatest rate at which bristles adapt, 1/s: allows fixed steps of a millisecond; steady forces are unchanged."""

_SPEED_FLOOR = 1e-9
"""Added in quadrature to the slip speed, m/s: keeps the speed differentiable at rest."""


def grip_directions(wheel: Wheel, rolling_axis: Vector, lateral_axis: Vector) -> list[Vector]:
    """Return the directions on the ground in which a wheel grips, (3,) each: two for a tyre, one for a roller wheel.

    Args:
        wheel: rolling wheel.
        rolling_axis: (3,) unit vector of its rolling direction.
        lateral_axis: (3,) unit vector to its left, on the ground.
    """
    assert wheel.rolling is not None
    angle = wheel.rolling.roller_angle
    if angle is None:
        return [rolling_axis, lateral_axis]
    c, s = ca.cos(angle), ca.sin(angle)
    return [tuple(c * rolling_axis[i] + s * lateral_axis[i] for i in range(3))]


def tyre_friction(
    params: LuGre, slip: list[Scalar], bristles: Vector, normal: Scalar, fading: Scalar
) -> tuple[list[Scalar], list[Scalar]]:
    """Return friction on the body, N, and bristle rates, m/s, of directions that share one friction limit.

    dz/dt = v - |v| sigma_0 z / eta(|v|) - fading z,  F = -N (sigma_0 z + sigma_1 dz/dt + sigma_2 v), where |v| is the
    length of the slip velocity: in sliding, the force opposes it with magnitude N eta in every direction.

    Args:
        params: coefficients per unit of normal load.
        slip: velocity v of the contact point in each direction, m/s.
        bristles: mean deflection z in each direction, m.
        normal: normal force N >= 0, N.
        fading: rate at which rolling removes deflection from the patch, 1/s.
    """
    speed = ca.sqrt(sum(v * v for v in slip) + _SPEED_FLOOR**2)
    loss = speed * params.bristle_stiffness / stribeck(params, speed) + fading
    pace = _FASTEST / ca.fmax(loss, _FASTEST)
    forces, rates = [], []
    for k, v in enumerate(slip):
        rate = pace * (v - loss * bristles[k])
        forces.append(
            -normal * (params.bristle_stiffness * bristles[k] + params.bristle_damping * rate + params.viscous * v)
        )
        rates.append(rate)
    return forces, rates


def rolling_contact(
    wheel: Wheel,
    normal_axis: Vector,
    axle: Vector,
    center: Vector,
    velocity: Vector,
    angular_velocity: Vector,
    bristles: Vector,
    plane_offset: Scalar = 0.0,
) -> WheelContact:
    """Evaluate a rolling wheel on a plane.

    The normal force acts through the wheel's centre; friction acts at the ground point below the centre and depends on
    the velocity of the wheel's point there, so that all power is accounted for.

    Args:
        wheel: parameters, with `rolling` and bristle friction.
        normal_axis: (3,) unit normal of the plane.
        axle: (3,) unit axle; a positive rotation about it rolls the wheel forward, along axle x normal.
        center: (3,) centre of the wheel, m.
        velocity: (3,) velocity of the centre, m/s.
        angular_velocity: (3,) angular velocity of the wheel, rad/s.
        bristles: (2,) along the rolling direction and to the left for a tyre, (1,) for a roller wheel, m.
        plane_offset: distance of the plane from the world origin along its normal, m.

    Returns:
        The contact; friction and slip along the rolling direction and to its left, `bristle_rate` along the bristles.

    All vectors are in the world frame.
    """
    # `ground_axes` projects an axis onto the plane: the axle points to the left
    n, left, back = ground_axes(normal_axis, axle)
    rolling_axis = (-back[0], -back[1], -back[2])
    height = dot(n, center) - plane_offset
    height_rate = dot(n, velocity)
    push = kelvin_voigt(wheel.stiffness, wheel.damping, wheel.free_length, height, height_rate)
    turning = cross(angular_velocity, n)
    slip = tuple(velocity[i] - height_rate * n[i] - height * turning[i] for i in range(3))
    directions = grip_directions(wheel, rolling_axis, left)
    assert wheel.rolling is not None
    assert isinstance(wheel.friction, LuGre)
    fading: Scalar = 0.0
    if wheel.rolling.roller_angle is None:
        fading = height * ca.fabs(dot(left, angular_velocity)) / wheel.rolling.relaxation_length
    along = [dot(direction, slip) for direction in directions]
    forces, rates = tyre_friction(wheel.friction, along, bristles, push, fading)
    friction = tuple(sum(force * direction[i] for force, direction in zip(forces, directions)) for i in range(3))
    ground_point = ca.vertcat(*(center[i] - height * n[i] for i in range(3)))
    return WheelContact(
        height=height,
        height_rate=height_rate,
        normal_force=push,
        friction=ca.vertcat(dot(rolling_axis, friction), dot(left, friction)),
        force=ca.vertcat(*(push * n[i] + friction[i] for i in range(3))),
        application_point=ground_point,
        slip=ca.vertcat(dot(rolling_axis, slip), dot(left, slip)),
        bristle_rate=ca.vertcat(*rates),
        ground_point=ground_point,
        stick=ca.vertcat(1.0, 1.0),
        axes=GroundAxes(n, rolling_axis, left),
    )
