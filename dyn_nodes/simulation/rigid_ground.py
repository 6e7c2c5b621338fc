"""Hybrid model of a machine on rigid ground: it stands, tips about edges and corners, lands, and may leave the ground.

    model = RigidGroundModel(machine)
    p = model.parameters({'payload_mass': 4000.0}, slope=math.radians(20))
    run = model.run(model.initial_state(p), model.modes[-1], times, inputs, p)

A mode is the set of closed contacts: `standing` for all, `flight` for none, else their names joined by `+`, such as
`front_left+front_right` while the machine tips about its front edge. The equations are traced once; a mode selects the
active rows (`integrators.contact_rows`). A transition occurs when the ground would have to pull (`lift_off`) and when
an open contact reaches the ground (`impact`, or `touch_down` at low speed). Contacts stick: the friction force is the
one needed for sticking. If it exceeds the friction limit of the feet, the event `contact_slips` is reported (and
`contact_sticks` when it is below the limit again); the model does not include the sliding after it.

States, inputs and parameters are the same as in a System of the machine without its wheels, plus
`<wheel>/ground_height`, `drop_tilt`, `drop_time` and `slips` (1 after `contact_slips`). Outputs are the same as in a
System with its wheels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile import build_module
from dyn_nodes.compile.integrators.contact_rows import row_motion
from dyn_nodes.constraints.unilateral import (
    ClosedContacts,
    ContactImpact,
    ContactProblem,
    NoContactStateError,
)
from dyn_nodes.elements.wheel import FRICTION_SCALE
from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.model.machine import Machine
from dyn_nodes.simulation.assembly import Actuation
from dyn_nodes.simulation.events import Event, watched
from dyn_nodes.simulation.hybrid import DROP_PARAMETERS, END, NEVER, Ground, HybridError, HybridModel, Step
from dyn_nodes.simulation.outputs import traced_outputs
from dyn_nodes.simulation.rigid_assembly import ROWS, ContactModelError, RigidAssembly, rigid_contacts, row_indices
from dyn_nodes.simulation.rigid_rest import TOUCHING, RigidRest

STANDING, FLIGHT, SLIPS = 'standing', 'flight', 'slips'
MOST_CONTACTS = 10
STABILIZATION = (1.0, 10.0)
"""Damping ratio and frequency, 1/s, of the Baumgarte stabilization of closed contacts."""
UNSTABILIZED = np.zeros(6)
SAME = 1e-9
"""Permitted error of distributed contact forces, relative to the greatest force."""
SLACK = 1e-9
"""Depth at which an open contact has reached the ground, m: above the round-off of a pose."""
REST_SPEED = 5e-3
"""Speed of a contact, m/s, below which it comes to rest on the ground without an impact."""


class RigidGroundModel(HybridModel):
    """Model of a machine with wheels and feet on rigid ground.

    Args:
        machine: tree with a free or planar base.
        actuation: of the joints.
        rest_speed: m/s; contacts slower than this come to rest on the ground.

    Raises:
        ContactModelError: the machine is not of this kind.
    """

    first_mode = STANDING
    watches_friction = True

    def __init__(self, machine: Machine, actuation: Actuation = 'hydraulic', rest_speed: float = REST_SPEED) -> None:
        self.machine, self.actuation, self.rest_speed = machine, actuation, rest_speed
        self.contacts = tuple(contact.name for contact in rigid_contacts(machine))
        if len(self.contacts) > MOST_CONTACTS:
            raise ContactModelError(
                f'{machine.name}: expected at most {MOST_CONTACTS} wheels and feet for rigid ground, '
                f'found {len(self.contacts)}'
            )
        self.module = build_module(
            f'{machine.name}: rigid_ground_{actuation}', [machine_fingerprint(machine), actuation], self._functions
        )
        self.modes = tuple(self._mode_name(bits) for bits in range(2 ** len(self.contacts)))
        self._rows = row_indices(len(self.contacts))
        self._closed: dict[str, ClosedContacts] = {}
        self.codes = np.zeros((3, len(self.modes)), dtype=np.int64)
        self.codes[0], self.codes[2] = self.module.code('blocks'), self.module.code('watch')
        self.take(self.module.meta)
        self._size, self._held = int(self.module.meta['size']), np.array(self.module.meta['held'])

    # --- tracing -----------------------------------------------------------------------------------------------------

    def assembly(self, mode: str = STANDING) -> RigidAssembly:
        """Return the traced plant, the same for every mode."""
        return RigidAssembly(self.machine, self.actuation)

    def _functions(self) -> tuple[dict[str, ca.Function], dict[str, Any]]:
        plant = self.assembly()
        p = ca.vertcat(plant.p, ca.SX.sym('own', len(DROP_PARAMETERS) + 1))
        state = [plant.x, plant.u, p]
        names, values = traced_outputs(plant)
        outputs = ca.densify(ca.vertcat(values, *plant.ground_outputs.values()))
        watches, watch = watched(plant.surfaces)
        x = ca.SX(plant.x)
        x[plant.v_slice] = 0.0
        holding = ca.densify(ca.substitute([plant.static_forces], [plant.x], [x])[0])
        functions = {
            'blocks': ca.Function('blocks', state, [plant.blocks]),
            'watch': ca.Function('watch', state, [watch]),
            'outputs': ca.Function('outputs', [*state, plant.a, plant.multipliers], [outputs]),
            'holding': ca.Function('holding', [plant.x, p], [holding]),
        }
        meta = {
            'states': plant.states.names,
            'inputs': plant.inputs.names,
            'parameters': [*plant.parameters.names, *DROP_PARAMETERS, SLIPS],
            'outputs': [*names, *plant.ground_outputs],
            'watches': watches,
            'defaults': [*plant.default_parameters().tolist(), *(NEVER for _ in DROP_PARAMETERS), 0.0],
            'held': [0.0 if contact.rolls and row < 2 else 1.0 for contact in plant.ground for row in range(ROWS)],
            'size': plant.blocks.numel(),
            'nq': plant.tree.nq,
            'nv': plant.tree.nv,
        }
        return functions, meta

    # --- modes -------------------------------------------------------------------------------------------------------

    def _mode_name(self, bits: int) -> str:
        return self.mode_of(k for k in range(len(self.contacts)) if bits >> k & 1)

    def mode_of(self, closed: Iterable[int]) -> str:
        """Return the name of the mode with these closed contacts, given by their numbers."""
        chosen = sorted(closed)
        if len(chosen) == len(self.contacts):
            return STANDING
        return '+'.join(self.contacts[k] for k in chosen) or FLIGHT

    def closed_in(self, mode: str) -> tuple[int, ...]:
        """Return the numbers of the closed contacts of a mode."""
        bits = self.modes.index(mode)
        return tuple(k for k in range(len(self.contacts)) if bits >> k & 1)

    def blocks(self, x: Array, u: Array, p: Array) -> Array:
        """Return the output of the kernel `blocks` at a state."""
        result = np.empty(self._size)
        self.module.blocks(*(np.ascontiguousarray(v, dtype=np.float64) for v in (x, u, p)), result)
        return result

    def problem(self, x: Array, u: Array, p: Array) -> tuple[ContactProblem, Array]:
        """Return the blocks at a state as matrices, and the errors (m,) of the rows: positions of the contacts, m."""
        return self._split(self.blocks(x, u, p))

    def _split(self, blocks: Array) -> tuple[ContactProblem, Array]:
        nq, nv, m = self.nq, self.nv, ROWS * len(self.contacts)
        parts = np.split(blocks, np.cumsum([nq, nv * nv, nv, m * nv, m, m]))
        _, M, load, J, gamma, errors = parts[:6]
        return ContactProblem(M.reshape(nv, nv), load, J.reshape(m, nv), gamma, self._rows), errors

    def ground(self, mode: str, x: Array, u: Array, p: Array) -> Ground:
        """Return the active rows and the surfaces of a mode from a state on."""
        problem, errors = self.problem(x, u, p)
        state = problem.closed(self.closed_in(mode))
        self._closed[mode] = state
        tilt = float(p[self.index('parameter', 'drop_tilt')])
        kernel = self._kernel(state, np.array([*STABILIZATION, SLACK, tilt, *self._friction(mode, p)]), errors)
        surfaces = [f'leave {face}' for face in range(len(state.facets))]
        surfaces += [f'reach {k}' for k in range(len(self.contacts))]
        return Ground(kernel, (*surfaces, 'overturned', 'drop', SLIPS))

    def _friction(self, mode: str, p: Array) -> tuple[float, float]:
        """Return the least friction coefficient of the closed feet, 0 if unlimited, and the side of the limit."""
        closed = [self.machine.wheels[k] for k in self.closed_in(mode)]
        coefficients = [
            wheel.friction.static for wheel in closed if wheel.friction is not None and wheel.rolling is None
        ]
        if not self.watches_friction or not closed or len(coefficients) < len(closed):
            return 0.0, 1.0
        side = 1.0 - 2.0 * float(p[self.index('parameter', SLIPS)])
        return min(coefficients) * float(p[self.index('parameter', FRICTION_SCALE)]), side

    def _kernel(self, state: ClosedContacts, how: Array, errors: Array | None = None) -> tuple[Any, ...]:
        """Return the arguments of a mode for `integrators.contact_rows`; errors (m,) of the rows there, m."""
        normals = np.array([contact[-1] for contact in self._rows], dtype=np.int64)
        anchors = np.zeros(ROWS * len(self.contacts)) if errors is None else errors.copy()
        anchors[normals] = 0.0
        closed = list(state.contacts)
        normals[closed] = -1 - normals[closed]
        sizes = np.array([self.nq, self.nv, len(anchors), self._size], dtype=np.int64)
        rows, facets = state.rows.astype(np.int64), np.ascontiguousarray(state.facets)
        return sizes, how, rows, anchors, normals, facets, self._held

    def solve(self, mode: str, x: Array, u: Array, p: Array) -> tuple[Array, Array]:
        """Return accelerations (nv,) and multipliers of all rows (m,), distributed without tension, at a state."""
        blocks = self.blocks(x, u, p)
        problem, _ = self._split(blocks)
        cached = self._closed.get(mode)
        if cached is not None:
            a, multipliers = np.empty(self.nv), np.empty(len(cached.rows))
            row_motion(self._kernel(cached, UNSTABILIZED), blocks, np.ascontiguousarray(x), a, multipliers)
            shared = cached.share @ multipliers
            missed = problem.J.T @ shared - problem.J[cached.rows].T @ multipliers
            if np.abs(missed).max() <= SAME * max(1.0, float(np.abs(shared).max())):
                return a, problem.shared(cached, multipliers) if shared[ROWS - 1 :: ROWS].min() < 0.0 else shared
        state = self._closed[mode] = problem.closed(self.closed_in(mode))
        a, multipliers = problem.accelerations(state)
        return a, problem.shared(state, multipliers)

    def output_vector(self, mode: str, x: Array, u: Array, p: Array) -> Array:
        """Return all outputs at a state, in the order of `output_names`."""
        return self.vector_of(mode, x, u, p, len(self.output_names))

    def vector_of(self, mode: str, x: Array, u: Array, p: Array, size: int) -> Array:
        """Return the `size` outputs of the kernel."""
        y = np.empty(size)
        arguments = (np.ascontiguousarray(v, dtype=np.float64) for v in (x, u, p, *self.solve(mode, x, u, p)))
        self.module.outputs(*arguments, y)
        return y

    def watch(self, mode: str) -> Any:
        """Return the watch kernel, which all modes share."""
        return self.module.watch

    # --- rest --------------------------------------------------------------------------------------------------------

    def initial_state(self, p: Array, joints: Mapping[str, float] | None = None) -> Array:
        """Return the state at rest on the ground, with actuators that hold the joints; its mode is `resting_mode`.

        Raises:
            NoEquilibriumError: the machine tips in this posture.
            ValueError: an actuator cannot hold its joint, such as a cylinder at a dead centre.
        """
        return RigidRest(self, p).state(joints)

    def resting_mode(self, x: Array, p: Array) -> str:
        """Return the mode of a state at rest: contacts that touch the ground are closed."""
        return self.mode_of(RigidRest(self, p).touching(x))

    def holding_efforts(self, x: Array, p: Array) -> Array:
        """Return the efforts of the movable joints that hold a machine at rest on the ground, N m or N."""
        return RigidRest(self, p).holding(x)[self.nv - len(self.machine.movable_joints) :]

    # --- borders -----------------------------------------------------------------------------------------------------

    def transition(self, mode: str, reached: Sequence[str], t: float, x: Array, u: Array, p: Array) -> Step:
        """Return the transition: lift-off, landing, release of the payload, slip, or end of the run."""
        if 'overturned' in reached:
            tilt = {'tilt': float(self.blocks(x, u, p)[-2])}
            return Step(END, x, p, (Event(t, 'overturned', mode, END, tilt | self._pitch(x)),))
        if any(name.startswith('reach') for name in reached):
            return self._strike(mode, t, x, u, p)
        if any(name.startswith('leave') for name in reached):
            faces = [int(name.split()[1]) for name in reached if name.startswith('leave')]
            return self._leave(mode, faces, t, x, u, p)
        if 'drop' in reached:
            return self.drop_payload(mode, t, x, p)
        return self._slip(mode, t, x, u, p)

    def _slip(self, mode: str, t: float, x: Array, u: Array, p: Array) -> Step:
        """Return the event that sticking needs more friction than available, or no longer does."""
        after, index = p.copy(), self.index('parameter', SLIPS)
        after[index] = 1.0 - p[index]
        kind = 'contact_slips' if after[index] else 'contact_sticks'
        closed = [self.contacts[k] for k in self.closed_in(mode)]
        forces = self.solve(mode, x, u, p)[1].reshape(-1, ROWS).sum(axis=0)
        needed = float(np.hypot(*forces[:2]) / forces[2])
        return Step(mode, x, after, (Event(t, kind, mode, mode, {'wheels': closed, 'friction_needed': needed}),))

    def _pitch(self, x: Array) -> dict[str, float]:
        """Return pitch and pitch rate of a planar machine, for its events."""
        if self.machine.base.attachment != 'planar':
            return {}
        return {'pitch': float(x[2]), 'rate': float(x[self.nv + 2])}

    def _leave(self, mode: str, faces: Sequence[int], t: float, x: Array, u: Array, p: Array) -> Step:
        problem, _ = self.problem(x, u, p)
        state = problem.closed(self.closed_in(mode))
        leaving = {k for face in faces for k in state.leaving[face]}
        kept = self._carrying(problem, state.contacts, leaving, t)
        after = self.mode_of(kept)
        lifted = [self.contacts[k] for k in state.contacts if k not in kept]
        if not lifted:
            return Step(mode, x, p, ())
        return Step(after, x, p, (Event(t, 'lift_off', mode, after, {'wheel': lifted[0], 'wheels': lifted}),))

    def _carrying(
        self, problem: ContactProblem, closed: Sequence[int], leaving: Iterable[int], t: float
    ) -> tuple[int, ...]:
        try:
            return problem.carrying(closed, leaving)
        except NoContactStateError as error:
            raise HybridError(f'{self.machine.name}: at t = {t:.6f} s: {error}') from None

    def _strike(self, mode: str, t: float, x: Array, u: Array, p: Array) -> Step:
        problem, errors = self.problem(x, u, p)
        closed, v = self.closed_in(mode), x[self.nq : self.nq + self.nv]
        gaps = errors[ROWS - 1 :: ROWS]
        struck = [k for k, gap in enumerate(gaps) if k not in closed and gap <= TOUCHING]
        before = v.copy()
        speed = max(-float(problem.J[self._rows[k][-1]] @ v) for k in struck)
        hit = self._impact(problem, closed, struck, v, t)
        self._put_on_ground(x, hit.kept, u, p)
        x[self.nq : self.nq + self.nv] = hit.hit.velocity
        settled, _ = self.problem(x, u, p)
        kept = self._carrying(settled, hit.kept, (), t)
        after = self.mode_of(kept)
        names = [self.contacts[k] for k in struck]
        details: dict[str, Any] = {'wheel': names[0], 'wheels': names, 'speed': speed}
        if speed <= self.rest_speed:
            return Step(after, x, p, (Event(t, 'touch_down', mode, after, details),))
        details |= {
            'velocity_before': before.tolist(),
            'velocity_after': hit.hit.velocity.tolist(),
            'impulse': hit.hit.impulse.tolist(),
            'energy_before': hit.hit.energy_before,
            'energy_after': hit.hit.energy_after,
            'double': hit.double,
        }
        return Step(after, x, p, (Event(t, 'impact', mode, after, details),))

    def _impact(
        self, problem: ContactProblem, closed: Sequence[int], struck: Sequence[int], v: Array, t: float
    ) -> ContactImpact:
        try:
            return problem.impact(closed, struck, v, self.rest_speed)
        except NoContactStateError as error:
            raise HybridError(f'{self.machine.name}: at t = {t:.6f} s: {error}') from None

    def _put_on_ground(self, x: Array, contacts: Sequence[int], u: Array, p: Array) -> None:
        """Change x in place by the least displacement, in the mass metric, that closes the gaps of contacts."""
        problem, errors = self.problem(x, u, p)
        state = problem.closed(contacts)
        error = np.where(np.arange(len(errors)) % ROWS == ROWS - 1, errors, 0.0)[state.rows]
        J = problem.J[state.rows]
        spread = np.linalg.solve(problem.M, J.T)
        step = -spread @ np.linalg.solve(J @ spread, error)
        moved = x.copy()
        moved[self.nq : self.nq + self.nv] = step
        x[: self.nq] += self.blocks(moved, u, p)[: self.nq]
