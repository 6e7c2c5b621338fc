"""The planar machine on rigid ground in the source's formulation (chapter 4): two edges, and moments about them.

    model = RigidPlanarModel(machine)
    p = model.parameters({'payload_mass': 4000.0}, slope=math.radians(20))
    run = model.run(model.initial_state(p), STANDING, times, inputs, p)

The equations are in `simulation.rigid_ground`. Mode `standing` is phase 1 of the source, `rear` (tipping about the rear
edge) phase 2A and `front` phase 2B. Additional outputs are `moment_front` and `moment_rear` (M_f and M_r, (4.6) and
(4.7)) and `traction`, the force of the ground along its line. `at_edge`, `mass_matrix` and `impact` use the source's
coordinates about an edge. Pitch is nose DOWN positive, the source's q3 = -pitch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.impact import Impact, plastic_impact
from dyn_nodes.model.machine import Machine
from dyn_nodes.simulation.assembly import Actuation
from dyn_nodes.simulation.hybrid import HybridError, Step
from dyn_nodes.simulation.rigid_assembly import ContactModelError
from dyn_nodes.simulation.rigid_ground import STANDING, RigidGroundModel
from dyn_nodes.studies.abo_shanab_2003.pinned import edges_of

DoubleImpact = Literal['stop', 'error']
REAR, FRONT = 'rear', 'front'
__all__ = ['FRONT', 'REAR', 'STANDING', 'RigidPlanarModel']


class RigidPlanarModel(RigidGroundModel):
    """A planar machine with the edges `rear` and `front` on rigid ground.

    Args:
        machine: planar, with two wheels of these names at one height of the base link.
        actuation: of the joints.
        double_impact: if an impact would turn the base back about the edge it has just left: `stop` it by an impulse on
            both edges, or raise HybridError (`error`).
        rest_rate: base rate below which the base comes to rest on both edges, rad/s (the source's epsilon_v).

    Raises:
        ContactModelError: not a planar machine with two edges at one height.
        ValueError: an unknown `double_impact`.
    """

    watches_friction = False
    """Friction is unlimited in the source and holds the edges (section 4.1)."""

    def __init__(
        self,
        machine: Machine,
        actuation: Actuation = 'hydraulic',
        double_impact: DoubleImpact = 'stop',
        rest_rate: float = 1e-3,
    ) -> None:
        if double_impact not in ('stop', 'error'):
            raise ValueError(f"double_impact: expected 'stop' or 'error', found {double_impact!r}")
        self.double_impact = double_impact
        self.rear, self.front = edges_of(machine)
        if abs(self.rear.position[2] - self.front.position[2]) > 1e-9:
            raise ContactModelError(
                f'{machine.name}: expected both edges at one height of the base, found a difference'
            )
        self.length = float(self.front.position[0] - self.rear.position[0])
        super().__init__(machine, actuation, rest_rate * self.length)
        self._ground_names = self.output_names
        self.output_names = (*self.output_names, 'moment_front', 'moment_rear', 'traction')

    def output_vector(self, mode: str, x: Array, u: Array, p: Array) -> Array:
        """Return all outputs at a state, in the order of `output_names`."""
        values = self.vector_of(mode, x, u, p, len(self._ground_names))
        loads, along = (
            [float(values[self._ground_names.index(f'{wheel.name}/{part}')]) for wheel in (self.rear, self.front)]
            for part in ('normal_force', 'friction_longitudinal')
        )
        return np.array([*values, self.length * loads[0], -self.length * loads[1], sum(along)])

    # --- positions about an edge -------------------------------------------------------------------------------------

    def at_edge(self, edge: str, pitch: float = 0.0, joints: ArrayLike = (), rates: ArrayLike = ()) -> Array:
        """Return a state with an edge on its ground point.

        Args:
            edge: `rear` or `front`.
            pitch: rad, nose down positive.
            joints: positions, rad; absent: zero.
            rates: (nv,) of the edge along x and z, m/s, of pitch and joints, rad/s; absent: zero.
        """
        x = np.zeros(len(self.state_names))
        point = self._point(edge)
        x[2] = pitch
        x[:2] = point[[0, 2]] * (1.0, 0.0) - self._turned(point, pitch)
        angles = np.asarray(joints, dtype=np.float64)
        x[3 : 3 + len(angles)] = angles
        moving = np.asarray(rates, dtype=np.float64)
        if len(moving):
            x[self.nq : self.nq + self.nv] = np.linalg.solve(self._edge_rates(edge, pitch), moving)
        return x

    def _point(self, edge: str) -> Array:
        """Return the position of an edge in the frame of the base link."""
        return np.asarray((self.rear if edge == REAR else self.front).position)

    @staticmethod
    def _turned(point: Array, pitch: float) -> Array:
        """Return the position (x, z) of a point of the base from the base link's origin."""
        c, s = np.cos(pitch), np.sin(pitch)
        return np.array([c * point[0] + s * point[2], -s * point[0] + c * point[2]])

    def _edge_rates(self, edge: str, pitch: float) -> Array:
        """Return the matrix (nv, nv) from machine velocities to velocities with the edge as base origin."""
        matrix = np.eye(self.nv)
        ahead, up = self._turned(self._point(edge), pitch)
        matrix[0, 2], matrix[1, 2] = up, -ahead
        return matrix

    def mass_matrix(self, edge: str, x: Array, p: Array) -> Array:
        """Return M (nv, nv) for (edge x, edge z, pitch, joints)."""
        problem, _ = self.problem(x, np.zeros(len(self.input_names)), p)
        back = np.linalg.inv(self._edge_rates(edge, float(x[2])))
        return np.asarray(back.T @ problem.M @ back)

    def impact(self, edge: str, x: Array, p: Array) -> Impact:
        """Return the plastic impact of the other edge alone ((4.2) to (4.5)), in velocities of the previous pivot.

        Args:
            edge: the previous pivot, which is released.
            x: state, the base level.
            p: parameters.
        """
        problem, _ = self.problem(x, np.zeros(len(self.input_names)), p)
        struck = problem.closed([self._edges.index(FRONT if edge == REAR else REAR)])
        hit = plastic_impact(problem.M, problem.J[struck.rows], x[self.nq : self.nq + self.nv])
        return hit._replace(velocity=self._edge_rates(edge, float(x[2])) @ hit.velocity)

    @property
    def _edges(self) -> tuple[str, ...]:
        """Names of the edges in the order of the contacts."""
        return tuple(REAR if name == self.rear.name else FRONT for name in self.contacts)

    # --- borders -----------------------------------------------------------------------------------------------------

    def _leave(self, mode: str, faces: Sequence[int], t: float, x: Array, u: Array, p: Array) -> Step:
        y = self.outputs(mode, x, u, p)
        moments = {name: y[name] for name in ('moment_front', 'moment_rear')}
        return _with_details(super()._leave(mode, faces, t, x, u, p), moments)

    def _strike(self, mode: str, t: float, x: Array, u: Array, p: Array) -> Step:
        if mode not in (self.rear.name, self.front.name):
            return super()._strike(mode, t, x, u, p)
        before = x[self.nq : self.nq + self.nv].copy()
        single = self.impact(REAR if mode == self.rear.name else FRONT, x, p)
        step = super()._strike(mode, t, x, u, p)
        (event,) = step.events
        if step.mode != STANDING:
            return step
        alone: dict[str, Any] = {'velocity_after': single.velocity.tolist(), 'impulse': single.impulse.tolist()}
        if not event.details.get('double'):
            # rule (d) of the specification: the base comes to rest, the joints move as after the impact of one edge
            slow = event.kind == 'touch_down'
            x[self.nq : self.nq + 3] = 0.0
            x[self.nq + 3 : self.nq + self.nv] = before[3:] if slow else single.velocity[3:]
            return step if slow else _with_details(step, alone)
        if self.double_impact == 'error':
            raise HybridError(
                f'{self.machine.name}: double impact at t = {t:.6f} s: {float(before[2]):.6g} rad/s would become '
                f'{float(single.velocity[2]):.6g} rad/s'
            )
        return _with_details(step, alone | {'impulse_both': event.details['impulse']})


def _with_details(step: Step, details: dict[str, Any]) -> Step:
    """Return a step with details added to its events."""
    return replace(step, events=tuple(replace(event, details={**event.details, **details}) for event in step.events))
