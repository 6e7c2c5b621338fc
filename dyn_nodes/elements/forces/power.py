"""Energy and power of the wheels, for the energy balance of a run.

With E the mechanical energy (kinetic, potential and `suspension_energy`), every run satisfies

    dE/dt = work rate of the actuators - sum(suspension_dissipation) + sum(friction_power).
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from dyn_nodes.elements.forces.contact import WheelContact
from dyn_nodes.model.machine import Wheel

Scalar = Any  # a Python float, a casadi DM or an SX expression


def suspension_energy(wheel: Wheel, contact: WheelContact) -> Scalar:
    """Return the energy stored in the compressed suspension, J (abo-shanab-2003, eq. 7.8)."""
    compression = ca.fmax(wheel.free_length - contact.height, 0.0)
    return 0.5 * wheel.stiffness * (compression * compression)


def suspension_dissipation(wheel: Wheel, contact: WheelContact) -> Scalar:
    """Return the power lost in the suspension, W, never negative.

    It is the difference of spring force and normal force, times the closing speed; it includes the spring energy that
    is lost if a wheel is lifted faster than its spring expands.
    """
    elastic = wheel.stiffness * ca.fmax(wheel.free_length - contact.height, 0.0)
    return (elastic - contact.normal_force) * contact.height_rate


def friction_power(contact: WheelContact) -> Scalar:
    """Return the power of friction on the body, W: negative while sliding, of either sign while bristles deflect."""
    return contact.friction[0] * contact.slip[0] + contact.friction[1] * contact.slip[1]
