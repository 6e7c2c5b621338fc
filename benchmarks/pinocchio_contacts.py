"""Pinocchio's constrained dynamics of vehicles: one 3-D contact a wheel, with the ground."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def point_contact(model: Any, joint: int, foot: Sequence[float], position: Sequence[float]) -> Any:
    """Return the contact of a point (3,) of a joint's body with a position (3,) in the world, m, in world axes."""
    import pinocchio as pin

    return pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D,
        model,
        joint,
        pin.SE3(np.eye(3), np.array(foot)),
        0,
        pin.SE3(np.eye(3), np.array(position)),
        pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
    )


def constrained_call(
    model: Any, contacts: Any, height: float, drives: slice, torque: Any, proximal: tuple[float, float, int]
) -> Callable[[], Any]:
    """Return a call of `pinocchio.constraintDynamics` at rest, with everything set up.

    Args:
        model: with a free-flying base.
        contacts: `StdVec_RigidConstraintModel`.
        height: of the base, m.
        drives: indices of the driven velocities.
        torque: of each, N m.
        proximal: accuracy, regularization, most iterations.
    """
    import pinocchio as pin

    data = pin.StdVec_RigidConstraintData()
    for contact in contacts:
        data.append(contact.createData())
    solver_data = model.createData()
    pin.initConstraintDynamics(model, solver_data, contacts, data)
    q, v, tau = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
    q[2] = height
    tau[drives] = torque
    settings = pin.ProximalSettings(*proximal)
    return lambda: pin.constraintDynamics(model, solver_data, q, v, tau, contacts, data, settings)
