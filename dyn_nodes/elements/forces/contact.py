"""Wheels and feet on a plane: unilateral suspension and friction in two directions."""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca

from dyn_nodes.elements.forces.vectors import cross, dot
from dyn_nodes.model.friction_law import Friction
from dyn_nodes.model.machine import Wheel

Scalar = Any  # a Python float, a casadi DM or an SX expression
Vector = Any  # anything that holds scalars and takes an index: list, array, DM or SX column

_LEAST_HEADING_SQUARED = 1e-12
"""Lower bound of the squared length of the heading on the plane: a vertical base has no heading."""


class GroundAxes(NamedTuple):
    """Unit vectors of a contact, (3,) each, world frame: normal of the ground, longitudinal and lateral in it.

    Longitudinal is axle x normal for a rolling wheel, the heading of the base for a braked wheel or a foot.
    """

    normal: tuple[Scalar, Scalar, Scalar]
    longitudinal: tuple[Scalar, Scalar, Scalar]
    lateral: tuple[Scalar, Scalar, Scalar]


class WheelContact(NamedTuple):
    """Geometry and forces of the contact of a wheel with the ground.

    Attributes:
        height: height of the attachment above the plane, m.  height_rate: m/s.
        normal_force: force along the plane's normal, N, >= 0.
        friction: (2,) along the longitudinal and lateral axis, on the body, N.
        force: (3,) on the body, world frame, N.
        application_point: (3,) where the force acts, world frame, m: the wheel's `friction_point`.
        slip: (2,) velocity of the body-fixed point there, longitudinal and lateral, m/s.
        bristle_rate: (2,) rates of the deflections of the friction law, m/s.
        ground_point: (3,) point of the ground below the wheel, world frame, m.
        stick: (2,) flags after this instant, 1 if the foot sticks.
        axes: axes of the contact.

    The vectors are casadi columns. `force` at `application_point` has the power
    normal_force * height_rate + friction . slip.
    """

    height: Scalar
    height_rate: Scalar
    normal_force: Scalar
    friction: Vector
    force: Vector
    application_point: Vector
    slip: Vector
    bristle_rate: Vector
    ground_point: Vector
    stick: Vector
    axes: GroundAxes


def kelvin_voigt(
    stiffness: Scalar, damping: Scalar, free_length: Scalar, height: Scalar, height_rate: Scalar
) -> Scalar:
    """Return the push of a unilateral spring and damper, N (abo-shanab-2003, eqs 5.2 to 5.7, 7.8 to 7.11; F10).

    N = max(0, -(k (h - l_o) + c dh/dt)), and 0 for h >= l_o: the ground never pulls, and a damper without contact does
    not push.

    Args:
        stiffness: k, N/m.
        damping: c, N s/m.
        free_length: l_o, m.
        height: of the attachment above the ground, m.
        height_rate: m/s.
    """
    compression = free_length - height
    push = ca.fmax(stiffness * compression - damping * height_rate, 0.0)
    return (compression > 0.0) * push


def ground_axes(normal_axis: Vector, heading_axis: Vector) -> GroundAxes:
    """Return the axes of the contact: lateral = normal x longitudinal.

    Args:
        normal_axis: (3,) unit normal of the plane, world frame.
        heading_axis: (3,) forward axis of the base, world frame; of any length, not necessarily in the plane.
    """
    n = (normal_axis[0], normal_axis[1], normal_axis[2])
    along = dot(n, heading_axis)
    flat = tuple(heading_axis[i] - along * n[i] for i in range(3))
    scale = 1.0 / ca.sqrt(ca.fmax(dot(flat, flat), _LEAST_HEADING_SQUARED))
    longitudinal = (scale * flat[0], scale * flat[1], scale * flat[2])
    return GroundAxes(n, longitudinal, cross(n, longitudinal))


def wheel_contact(
    wheel: Wheel,
    normal_axis: Vector,
    heading_axis: Vector,
    point: Vector,
    velocity: Vector,
    angular_velocity: Vector,
    bristle: Vector,
    plane_offset: Scalar = 0.0,
    stick: Vector = (1.0, 1.0),
) -> WheelContact:
    """Evaluate a braked wheel on a plane of any slope (abo-shanab-2003, eqs 7.8 to 7.17).

    The force acts at the wheel's `friction_point`, the ground point below it or its attachment, and friction depends on
    the velocity of the body-fixed point there, which makes it power-consistent (the source does not specify the point
    in chapter 7 and uses neither in its chapter 6; sections 2.23 and 2.24 of the spec).

    Args:
        wheel: parameters; `friction` None makes the contact frictionless.
        normal_axis: (3,) unit normal of the plane.
        heading_axis: (3,) forward axis of the base.
        point: (3,) position of the attachment, m.
        velocity: (3,) velocity of the attachment, m/s.
        angular_velocity: (3,) angular velocity of the body that carries the wheel, rad/s.
        bristle: (2,) deflections of the friction law, longitudinal and lateral, m; ignored without friction.
        plane_offset: distance of the plane from the world origin along its normal, m.
        stick: (2,) flags of the friction law, 1 or 0; ignored by a law without flags.

    All vectors are in the world frame.
    """
    axes = ground_axes(normal_axis, heading_axis)
    normal, longitudinal, lateral = axes
    height = dot(normal, point) - plane_offset
    height_rate = dot(normal, velocity)
    push = kelvin_voigt(wheel.stiffness, wheel.damping, wheel.free_length, height, height_rate)
    slip = (dot(longitudinal, velocity), dot(lateral, velocity))
    ground_point = ca.vertcat(*(point[i] - height * normal[i] for i in range(3)))
    application_point = ca.vertcat(*(point[i] for i in range(3)))
    if wheel.friction_point == 'ground':
        # v - h (w x n) on both axes; w . axis is the same for every wheel of a body and is computed once.
        slip = (
            slip[0] - height * dot(lateral, angular_velocity),
            slip[1] + height * dot(longitudinal, angular_velocity),
        )
        application_point = ground_point
    none, law = Friction(0.0, 0.0), wheel.friction
    along, across = (none if law is None else law.friction(slip[k], bristle[k], stick[k], push) for k in range(2))
    return WheelContact(
        height=height,
        height_rate=height_rate,
        normal_force=push,
        friction=ca.vertcat(along[0], across[0]),
        force=ca.vertcat(*(push * normal[i] + along[0] * longitudinal[i] + across[0] * lateral[i] for i in range(3))),
        application_point=application_point,
        slip=ca.vertcat(*slip),
        bristle_rate=ca.vertcat(along[1], across[1]),
        ground_point=ground_point,
        stick=ca.vertcat(along[2], across[2]),
        axes=axes,
    )
