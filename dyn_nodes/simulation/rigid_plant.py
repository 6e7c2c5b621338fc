"""The planar machine on rigid ground, advanced step by step as a `Plant` is."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.simulation.assembly import Actuation
from dyn_nodes.simulation.hybrid import END, NEVER, HybridError, Stepper
from dyn_nodes.simulation.pinned import ContactModelError
from dyn_nodes.simulation.plant import MOST_EVENTS_OF_A_PERIOD, Plant, PlantDivergedError
from dyn_nodes.simulation.reaction import PhaseReaction
from dyn_nodes.simulation.rigid_planar import STANDING, RigidPlanarModel

Array = NDArray[np.float64]


class RigidPlant(Plant):
    """A running planar machine that stands, tips about an edge and hits the ground (`rigid_planar`).

    Attributes:
        mode: `standing`, `rear` or `front`: the edge about which the base turns.
        x: state of the hybrid model, referred to that edge.

    Raises:
        ValueError: the machine is not planar with two wheels on its base.
    """

    def _make_system(self, actuation: Actuation) -> Any:
        return RigidPlanarModel(self.machine, actuation)

    def _efforts_at_rest(self) -> Array:
        return self.holding_efforts()

    def servo_efforts(self, target: Array, target_velocity: Array) -> Array:
        """Return the efforts that drive the joints to a target, above a base that the ground alone carries."""
        return self._servo.efforts(self._servo_task(target, target_velocity))

    def _initial_state(self) -> Array:
        x = np.asarray(self.system.initial_state(self.p, self.start))
        self.mode = STANDING
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
        stepper.x, stepper.mode, stepper.sets = self.x.copy(), self.mode, [self._with_drop_rule()]
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

    def _tree_state(self) -> tuple[Array, Array]:
        """Return positions and velocities of the machine's tree, referred to the base link instead of the edge."""
        nv = self.system.nv
        q, v = self.x[:nv].copy(), self.x[nv : 2 * nv].copy()
        position, _ = self._pose(self.x)
        q[:2] = position[0], position[2]
        # the base link lies at `position` less that of the edge from the edge, turned with the base about +y
        rise, ahead = position[2] - self.x[1], position[0] - self.x[0]
        v[0] += rise * v[2]
        v[1] -= ahead * v[2]
        return q, v

    def _tree_acceleration(self) -> Array:
        """Return the rates of the tree's velocities, referred to the base link instead of the edge."""
        names = ('base_x', 'base_z', 'base_pitch', *self.joints)
        a = np.array([self.output(f'{name}_acceleration') for name in names])
        position, _ = self._pose(self.x)
        rise, ahead, rate = position[2] - self.x[1], position[0] - self.x[0], self.x[self.system.nv + 2]
        a[0] += rise * a[2] - ahead * rate**2
        a[1] -= ahead * a[2] + rise * rate**2
        return a

    def _pose(self, x: Array) -> tuple[Array, Array]:
        point = self.system.edge_position(self.mode)
        c, s, half = np.cos(x[2]), np.sin(x[2]), 0.5 * x[2]
        position = np.array([x[0] - c * point[0] - s * point[2], 0.0, x[1] + s * point[0] - c * point[2]])
        return position, np.array([0.0, np.sin(half), 0.0, np.cos(half)])


def plant_type(contact_model: str) -> type[Plant]:
    """Return the plant of a contact model: `compliant` wheels or `rigid` ground under a planar machine.

    Raises:
        ContactModelError: no such contact model.
    """
    kinds = {'compliant': Plant, 'rigid': RigidPlant}
    if contact_model not in kinds:
        raise ContactModelError(f'expected {" or ".join(kinds)}, found {contact_model!r}')
    return kinds[contact_model]
