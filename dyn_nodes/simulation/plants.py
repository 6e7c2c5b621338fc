"""Which plant a machine needs."""

from __future__ import annotations

from dyn_nodes.model.machine import Machine
from dyn_nodes.model.problems import ContactModelError
from dyn_nodes.simulation.plant import Plant


def plant_for(machine: Machine, contact_model: str) -> type[Plant]:
    """Return the plant of a machine: one for its constraints, or that of the contact model.

    Raises:
        ContactModelError: no such contact model, or one that wheels beside constraints do not have.
    """
    if machine.initial.moves and contact_model != 'compliant':
        raise ContactModelError(f'{machine.name}: expected compliant for initial velocities, found {contact_model!r}')
    if machine.needs_constraints:
        if machine.supports and contact_model != 'compliant':
            raise ContactModelError(
                f'{machine.name}: expected compliant for wheels beside constraints, found {contact_model!r}'
            )
        from dyn_nodes.simulation.constrained_plant import ConstrainedPlant  # much to import for the few that need it

        return ConstrainedPlant
    if machine.contacts and contact_model != 'compliant':
        found = ', '.join(own.name for own in machine.contacts)
        raise ContactModelError(f'{machine.name}: expected compliant for {found}, found {contact_model!r}')
    if contact_model == 'compliant':
        return Plant
    from dyn_nodes.simulation.rigid_plant import plant_type

    return plant_type(contact_model)
