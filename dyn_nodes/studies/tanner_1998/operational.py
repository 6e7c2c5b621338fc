"""S6: dynamics at the grasp point of RM-1, and their null space."""

from __future__ import annotations

import numpy as np

from dyn_nodes.constraints.operational_space import operational_space
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.tanner_1998.kane import reference
from dyn_nodes.studies.tanner_1998.vehicle import rm_1

LOAD = np.array([3.0, -2.0, -12.0])
TASK_VELOCITY = np.array([0.1, 0.2, -0.1])


@study('tanner-1998/operational-space', 'Dynamics at the grasp point: projection, least energy, null space (S6)')
def operational(s: StudyRun) -> None:
    """Check that projected and full dynamics agree, and the right inverse of the projection."""
    here, tau = reference()
    robot = rm_1()
    space = operational_space(here, robot.hand)
    unit = float(np.abs(space.jacobian @ space.inverse - np.eye(3)).max())
    s.near('J times its inverse less the unit matrix', 'S6', 0.0, unit, absolute=1e-12)
    rates = np.linalg.solve(here.inertia, here.efforts(tau) - here.convective - here.gravity + space.jacobian.T @ LOAD)
    full = space.jacobian @ rates + space.bias
    apart = float(np.abs(space.acceleration(here.efforts(tau), LOAD) - full).max() / np.abs(full).max())
    s.near('projected from full accelerations under a load, relative', 'S6', 0.0, apart, absolute=1e-10)
    idle = space.null_efforts(here.efforts(tau))
    moved = float(np.abs(space.jacobian @ np.linalg.solve(here.inertia, idle)).max())
    s.near('acceleration of the point by efforts of the null space, m/s2', 'S6', 0.0, moved, absolute=1e-10)
    least, other = space.inverse @ TASK_VELOCITY, np.linalg.pinv(space.jacobian) @ TASK_VELOCITY
    energy = [0.5 * float(u @ here.inertia @ u) for u in (least, other)]
    (weighted, _), (plain, _) = tabulated('tanner-1998/6.3/inverse')
    s.near('kinetic energy of the weighted inverse, J', '6.3', weighted, energy[0], absolute=1e-9)
    s.near('kinetic energy of the Moore-Penrose inverse, J', '6.3', plain, energy[1], absolute=1e-9)
    lengths = [float(np.linalg.norm(u)) for u in (least, other)]
    s.holds('the weighted inverse does not have the least speeds (F28)', '6.3', lengths[0] > lengths[1])
