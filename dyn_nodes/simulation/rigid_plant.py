"""A machine on rigid ground, advanced step by step as a `Plant` is."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.model.machine import Machine
from dyn_nodes.model.problems import ContactModelError
from dyn_nodes.simulation.assembly import Actuation
from dyn_nodes.simulation.hybrid import END, NEVER, HybridError, Stepper
from dyn_nodes.simulation.plant import MOST_EVENTS_OF_A_PERIOD, Plant, PlantDivergedError
from dyn_nodes.simulation.reaction import PhaseReaction
from dyn_nodes.simulation.rigid_ground import RigidGroundModel

Array = NDArray[np.float64]


class RigidPlant(Plant):
    """A running machine that stands on rigid ground, tips about edges and corners, and comes down (`rigid_ground`).

    Attributes:
        mode: contacts that are closed: `standing`, `flight`, or their names joined by `+`.

    Raises:
        ContactModelError: rigid ground does not carry the machine, or a reaction is asked for at a joint of its legs.
    """

    def _make_system(self, actuation: Actuation) -> Any:
        _refuse_reactions_of_legs(self.machine)
        return RigidGroundModel(self.machine, actuation)

    def _efforts_at_rest(self) -> Array:
        return np.asarray(self.system.holding_efforts(self.x, self.p))

    def servo_efforts(self, target: Array, target_velocity: Array) -> Array:
        """Return the efforts that drive the joints to a target; see `Plant`.

        Where no joint is part of a leg, they are those above a base that the ground alone carries.
        """
        if any(wheel.link != self.machine.base.link for wheel in self.machine.wheels):
            return super().servo_efforts(target, target_velocity)
        return self._servo.efforts(self._servo_task(target, target_velocity))

    def _initial_state(self) -> Array:
        x = np.asarray(self.system.initial_state(self.p, self.start))
        self.mode = self.system.resting_mode(x, self.p)
        return x

    def _begin(self) -> None:
        self._stepper = self._make_stepper()
        self._stepper.watch_from(self.u)

    def _make_stepper(self) -> Stepper:
        return Stepper(self.system, self.x, self.mode, self.p, MOST_EVENTS_OF_A_PERIOD)

    def _evaluate(self) -> Array:
        return np.asarray(self.system.output_vector(self.mode, self.x, self.u, self.p))

    @cached_property
    def reaction(self) -> Any:
        """Compiled reactions at the joints that the machine names; None where it names none."""
        return PhaseReaction(self.system, self.machine.reactions) if self.machine.reactions else None

    def joint_reactions(self) -> Array:
        """Return the wrenches (joints, 6) of parent on child at these joints now: force, N, and torque, N m."""
        return np.asarray(self.reaction.of_outputs(self.x, self.outputs(), self.p, self.mode))

    def _go_on(self, knots: Array, table: Array) -> None:
        """Integrate over the period; the model itself lets the payload go."""
        stepper = self._stepper
        p = self._with_drop_rule()
        if stepper.mode != self.mode or not np.array_equal(p, stepper.sets[-1]):
            stepper.ground = None
        stepper.x, stepper.mode, stepper.sets = self.x.copy(), self.mode, [p]
        positive = stepper.watcher.positive.copy()
        stepper.events.clear()
        stepper.observed.clear()
        try:
            stepper.advance(self.time, self.period / self.substeps, self.substeps, knots, table)
        except HybridError as error:
            stepper.watcher.positive[:] = positive
            raise PlantDivergedError(str(error)) from None
        if stepper.status == 'diverged':
            stepper.watcher.positive[:] = positive
            stepper.status = 'done'
            raise PlantDivergedError(f'{self.machine.name}: the simulation diverged at t = {self.time:.4f} s')
        held = self.payload
        self.x, self.p = stepper.x, stepper.sets[-1]
        self.overturned = stepper.mode == END
        self.mode = self.mode if self.overturned else stepper.mode
        if any(event.kind == 'payload_drop' for event in stepper.events):
            self._dropped, self._held_payload = True, held
        self._events += [*stepper.events, *stepper.observed]

    def _with_drop_rule(self) -> Array:
        p = self.p.copy()
        kept = self._dropped or self.payload == 0.0
        for name, value in (('drop_time', self.drop_time), ('drop_tilt', self.drop_tilt)):
            p[self.system.index('parameter', name)] = NEVER if kept or value is None else value
        return p


def _refuse_reactions_of_legs(machine: Machine) -> None:
    """Reactions follow from accelerations alone, so the ground must not push beyond their joint."""
    carrying = {wheel.link for wheel in machine.wheels}
    for joint in reversed(machine.joints):
        if joint.child in carrying:
            carrying.add(joint.parent)
    legs = [name for name in machine.reactions if machine.joint(name).child in carrying]
    if legs:
        raise ContactModelError(
            f'{machine.name}: expected joints that carry no wheels under `reactions` for rigid ground, '
            f'found {", ".join(legs)}'
        )


def plant_type(contact_model: str) -> type[Plant]:
    """Return the plant of a contact model: `compliant` wheels or `rigid` ground.

    Raises:
        ContactModelError: no such contact model.
    """
    kinds = {'compliant': Plant, 'rigid': RigidPlant}
    if contact_model not in kinds:
        raise ContactModelError(f'expected {" or ".join(kinds)}, found {contact_model!r}')
    return kinds[contact_model]
