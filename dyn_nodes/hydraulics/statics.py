"""Rest states of the actuators: pressures that hold a load, stiffness of trapped oil."""

from __future__ import annotations

from typing import Any

from dyn_nodes.hydraulics.linkage import linkage
from dyn_nodes.model.machine import Actuator, CylinderActuator, MotorActuator

Scalar = Any  # a Python float, a casadi DM or an SX expression

_LEAST_LEVER = 1e-6  # m/rad; a shorter lever is a dead centre


def initial_pressures(actuator: Actuator, q: float, effort: float) -> tuple[float, float]:
    """Return the line pressures (head, rod) or (first, second) that hold a joint at rest, Pa.

    The side with the lower pressure gets `idle_pressure`, the other one what balances the effort
    (spec G5). Pressures that the actuator names as initial ones are taken as they are.

    Args:
        actuator: plain numbers only.
        q: joint angle, rad.
        effort: wanted at the joint, N m.

    Raises:
        ValueError: the cylinder is at a dead centre and cannot hold the effort.
    """
    idle = actuator.idle_pressure
    if isinstance(actuator, MotorActuator):
        # The mean of both lines is idle unless that would take one of them below tank pressure.
        half = 0.5 * effort / actuator.displacement
        mean = max(idle, actuator.supply.tank_pressure + abs(half))
        return mean + half, mean - half
    head, rod = actuator.initial_head_pressure, actuator.initial_rod_pressure
    if head is not None and rod is not None:
        return head, rod
    arm = float(linkage(actuator.linkage, q).lever)
    if abs(arm) < _LEAST_LEVER:
        raise ValueError(f'actuator {actuator.name!r}: joint {actuator.joint!r} is at a dead centre at q = {q:.6g} rad')
    force = effort / arm
    if rod is not None:
        return (force + rod * actuator.rod_area) / actuator.head_area, rod
    if head is not None:
        return head, (head * actuator.head_area - force) / actuator.rod_area
    if force >= idle * (actuator.head_area - actuator.rod_area):
        return (force + idle * actuator.rod_area) / actuator.head_area, idle
    return idle, (idle * actuator.head_area - force) / actuator.rod_area


def locked_stiffness(
    actuator: Actuator, q: Scalar, head_pressure: Scalar = None, rod_pressure: Scalar = None
) -> Scalar:
    """Return the joint stiffness k_theta of a hydraulically locked actuator, N m/rad (section 2.15 of the spec).

    Args:
        actuator: cylinder or motor.
        q: joint angle, rad.
        head_pressure: Pa. Where both pressures are given, the geometric term -F d2X/dq2 of a cylinder is added,
            which makes the result the full -d(effort)/dq at constant trapped oil.
        rod_pressure: Pa.
    """
    beta = actuator.supply.bulk_modulus
    if not isinstance(actuator, CylinderActuator):
        return 2.0 * beta * actuator.displacement * actuator.displacement / actuator.line_volume
    geometry = linkage(actuator.linkage, q)
    head_volume = actuator.head_volume + actuator.head_area * geometry.piston
    rod_volume = actuator.rod_volume - actuator.rod_area * geometry.piston
    oil = beta * (actuator.head_area**2 / head_volume + actuator.rod_area**2 / rod_volume)
    stiffness = oil * geometry.lever**2
    if head_pressure is None or rod_pressure is None:
        return stiffness
    force = head_pressure * actuator.head_area - rod_pressure * actuator.rod_area
    return stiffness - force * geometry.lever_rate
