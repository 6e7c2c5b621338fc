"""Properties of a machine on rigid ground, without compiled code: rows, unique forces, ways of tipping."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from scipy.linalg import LinAlgError

from dyn_nodes.constraints.unilateral import ContactProblem
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import joint_vector
from dyn_nodes.multibody.base_motion import base_coordinates
from dyn_nodes.simulation.rigid_assembly import ROWS, ContactModelError, RigidAssembly, row_indices


def rigid_ground_summary(machine: Machine) -> dict[str, Any]:
    """Return the facts of a machine with `contact_model: rigid`, all contacts closed in its initial posture.

    Keys: `refused`, the reason or None; else also `contacts`, `rows`, `independent` (rows), `unique` (contacts whose
    normal force is unique) and `leave` (contacts that lift off together, for each way of tipping).
    """
    try:
        plant = RigidAssembly(machine, 'effort')
        problem = _problem(machine, plant)
        state = problem.closed(range(len(plant.ground)))
    except (ContactModelError, LinAlgError) as error:
        return {'refused': str(error).removeprefix(f'{machine.name}: ')}
    names = [contact.name for contact in plant.ground]
    alone = {feet[0] for feet in state.leaving if len(feet) == 1}
    return {
        'refused': None,
        'contacts': len(names),
        'rows': ROWS * len(names),
        'independent': len(state.rows),
        'unique': [names[k] for k in sorted(alone)] if len(alone) == len(names) else [],
        'leave': [[names[k] for k in feet] for feet in state.leaving],
    }


def _problem(machine: Machine, plant: RigidAssembly) -> ContactProblem:
    nv, m = plant.tree.nv, ROWS * len(plant.ground)
    x = np.zeros(len(plant.states.names))
    q = [*base_coordinates(machine.base.attachment, machine.initial.pose), *joint_vector(machine)]
    x[: len(q)] = q
    u = np.zeros(len(plant.inputs.names))
    function = ca.Function('blocks', [plant.x, plant.u, plant.p], [plant.blocks])
    blocks = np.array(function(x, u, plant.default_parameters())).ravel()
    _, M, load, J, gamma = np.split(blocks, np.cumsum([plant.tree.nq, nv * nv, nv, m * nv, m]))[:5]
    return ContactProblem(M.reshape(nv, nv), load, J.reshape(m, nv), gamma, row_indices(len(plant.ground)))
