"""Motion of a plant on rigid ground through its periods (`rigid_ground`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import carrying_links
from dyn_nodes.model.problems import ContactModelError
from dyn_nodes.simulation.assembly import Actuation
from dyn_nodes.simulation.guards.fastest_motion import Linearization
from dyn_nodes.simulation.hybrid import END, NEVER, HybridError, Stepper
from dyn_nodes.simulation.period import MOST_EVENTS_OF_A_PERIOD, Period, PlantDivergedError, Reached
from dyn_nodes.simulation.reaction import JointReaction
from dyn_nodes.simulation.rigid_ground import RigidGroundModel
from dyn_nodes.simulation.start import Start


class RigidGround:
    """Rigid ground of a plant.

    Args:
        machine: the machine.
        actuation: of the joints.

    Attributes:
        system: that is integrated.
        mode: closed contacts: `standing`, `flight`, or their names joined by `+`.

    Raises:
        ContactModelError: rigid ground does not support the machine, or a reaction at a joint of its legs is requested.
    """

    def __init__(self, machine: Machine, actuation: Actuation) -> None:
        _reject_reactions_of_legs(machine)
        self.machine, self.system = machine, RigidGroundModel(machine, actuation)
        self.mode = self.system.first_mode

    def at_rest(self, p: Array, joints: Mapping[str, float]) -> Start:
        """Return the start at rest, with the weight between the feet. Raises NoEquilibriumError."""
        x = np.asarray(self.system.initial_state(p, joints))
        return Start(x, np.asarray(self.system.holding_efforts(x, p)))

    def start(self, x: Array, u: Array, p: Array, guarded: bool, step: float) -> None:
        """Start from a state at rest; the motion ends when the base overturns, guarded or not."""
        self.mode = self.system.resting_mode(x, p)
        self._stepper = Stepper(self.system, x, self.mode, p, MOST_EVENTS_OF_A_PERIOD)
        self._stepper.watch_from(u)

    def outputs(self, x: Array, u: Array, p: Array) -> Array:
        """Return all outputs at a state."""
        return np.asarray(self.system.output_vector(self.mode, x, u, p))

    def joint_reactions(self, x: Array, u: Array, p: Array, y: Array) -> Array:
        """Return the wrenches (joints, 6) at the joints `reactions` of the machine; y are the outputs."""
        return np.asarray(self._reaction.of_outputs(x, y, p))

    @property
    def carries_the_base_alone(self) -> bool:
        """Whether no joint is part of a leg, so that servos treat the base as carried by the ground alone."""
        return all(wheel.link == self.machine.base.link for wheel in self.machine.wheels)

    @cached_property
    def _reaction(self) -> JointReaction:
        return JointReaction(self.system, self.machine.reactions)

    def linearization(self, x: Array, u: Array, p: Array) -> Linearization:
        """Return an empty linearization: rigid ground has no springs that need shorter steps."""
        return Linearization(None, self.system.state_names)

    def advance(self, x: Array, p: Array, period: Period) -> Reached:
        """Advance by a period; the model releases the payload.

        Raises:
            PlantDivergedError: the integration diverged, or the model does not cover an event.
        """
        stepper, p = self._stepper, self._with_drop_rule(p, period)
        if stepper.mode != self.mode or not np.array_equal(p, stepper.sets[-1]):
            stepper.ground = None
        stepper.x, stepper.mode, stepper.sets = x.copy(), self.mode, [p]
        self._departed = self.mode, stepper.watcher.positive.copy(), stepper.ground
        stepper.events.clear()
        stepper.observed.clear()
        try:
            stepper.advance(period.start, period.step, period.substeps, period.knots, period.table)
        except HybridError as error:
            self.go_back()
            raise PlantDivergedError(str(error)) from None
        if stepper.status == 'diverged':
            self.go_back()
            stepper.status = 'done'
            raise PlantDivergedError(f'{self.machine.name}: the simulation diverged at t = {period.start:.4f} s')
        overturned = stepper.mode == END
        self.mode = self.mode if overturned else stepper.mode
        # a copy: the plant changes its parameters in place, and `advance` compares them with `stepper.sets`
        return Reached(stepper.x, stepper.sets[-1].copy(), [*stepper.events, *stepper.observed], overturned)

    def go_back(self) -> None:
        """Restore mode and signs of the watched values to the start of the last period."""
        stepper = self._stepper
        self.mode, stepper.watcher.positive[:], stepper.ground = self._departed
        stepper.mode = self.mode

    def _with_drop_rule(self, p: Array, period: Period) -> Array:
        p = p.copy()
        for name, value in (('drop_time', period.drop_time), ('drop_tilt', period.drop_tilt)):
            p[self.system.index('parameter', name)] = NEVER if value is None else value
        return p


def _reject_reactions_of_legs(machine: Machine) -> None:
    """Raise ContactModelError for reactions with supports beyond their joint: they need the ground forces, too."""
    carrying = carrying_links(machine)
    legs = [name for name in machine.reactions if machine.joint(name).child in carrying]
    if legs:
        raise ContactModelError(
            f'{machine.name}: expected joints that carry no wheels under `reactions` for rigid ground, '
            f'found {", ".join(legs)}'
        )
