"""The planar machine on compliant contact without skidding: heave and pitch about an edge (chapter 5).

    model = PinnedPlanarModel(machine)
    x0 = model.initial_state(p)
    run = model.run(x0, model.modes[0], times, inputs, p)

The base has no horizontal freedom. Its motion is described by a reference edge above its fixed ground point: the rear
edge while it is lower than its free spring length (mode `rear`, the source's phase 1), else the front edge (`front`,
phase 2). At a switch pitch, joints and rates are continuous, and the height changes to the other edge; the implied jump
of the machine's horizontal speed is ignored, as in the source (spec 2.20, G12). With `reference='middle'` the middle of
the base is held horizontally instead: one mode, no jump.

The states are as of a planar System without friction, for the reference point: `edge_x`, `edge_z`, `base_pitch` (nose
DOWN positive, the source's q2 = -pitch), the joints, their rates, the oil. The outputs are as of a System. Additional
parameters are `drop_tilt` and `drop_time`, as of the rigid model. The events `lift_off` and `touch_down` of the rear
edge are changes of the reference edge, at the free length of its spring; a spring with a damper stops pushing shortly
before. The events of the front edge are start and end of its contact force.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile import build_module
from dyn_nodes.compile.integrators import modes
from dyn_nodes.model.equilibrium import NoEquilibriumError
from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import joint_vector
from dyn_nodes.multibody.elements import Surface
from dyn_nodes.simulation.assembly import Actuation
from dyn_nodes.simulation.events import Event, watched
from dyn_nodes.simulation.hybrid import DROP_PARAMETERS, END, NEVER, Ground, HybridModel, Step
from dyn_nodes.simulation.initial import hold_joints
from dyn_nodes.simulation.outputs import traced_outputs
from dyn_nodes.studies.abo_shanab_2003.pinned import PinnedAssembly, edges_of, relocated

Reference = Literal['edges', 'middle']
REAR, FRONT, MIDDLE = 'rear', 'front', 'middle'
MOVING = ('base_z', 'base_pitch')
ITERATIONS = 60
CONVERGED = 1e-10
"""Greatest unbalanced force over the weight."""


class PinnedPlanarModel(HybridModel):
    """A planar machine on two unilateral springs that can't slide.

    Args:
        machine: planar, with two wheels on its base; their friction is not used.
        actuation: of the joints.
        reference: `edges`: the source's two phases; `middle`: the point between the edges is held.

    Raises:
        ValueError: an unknown reference.
        ContactModelError: not a planar machine with two wheels on its base.
    """

    def __init__(self, machine: Machine, actuation: Actuation = 'hydraulic', reference: Reference = 'edges') -> None:
        if reference not in ('edges', 'middle'):
            raise ValueError(f"reference: expected 'edges' or 'middle', found {reference!r}")
        self.machine, self.actuation, self.reference = machine, actuation, reference
        self.rear, self.front = edges_of(machine)
        self.modes = (REAR, FRONT) if reference == 'edges' else (MIDDLE,)
        self.first_mode = self.modes[0]
        self.module = build_module(
            f'{machine.name}: pinned_planar_{actuation}',
            [machine_fingerprint(machine), actuation, reference],
            lambda: self._functions(self.modes),
        )
        self.codes = np.array([[self.module.code(f'{kind}_{mode}') for mode in self.modes] for kind in modes.KINDS])
        self.take(self.module.meta)

    def _point(self, mode: str) -> Array:
        """Return the reference point of a mode in the frame of the base link."""
        if mode == MIDDLE:
            return np.asarray(0.5 * (self.rear.position + self.front.position))
        return self.rear.position if mode == REAR else self.front.position

    def assembly(self, mode: str) -> PinnedAssembly:
        """Return the traced plant of a mode, in the coordinates of the state."""
        smooth = replace(self.machine, wheels=tuple(replace(w, friction=None) for w in self.machine.wheels))
        return PinnedAssembly(relocated(smooth, self._point(mode)), self.actuation, MOVING)

    def ground(self, mode: str, x: Array, u: Array, p: Array) -> Ground:
        """Return no rows: the kernel of a mode is its whole right-hand side."""
        return Ground(modes.NO_GROUND, self.module.meta['surfaces'][mode])

    def watch(self, mode: str) -> Any:
        """Return the watch kernel of a mode."""
        return getattr(self.module, f'watch_{mode}')

    def output_vector(self, mode: str, x: Array, u: Array, p: Array) -> Array:
        """Return all outputs at a state, in the order of `output_names`."""
        y = np.empty(len(self.output_names))
        getattr(self.module, f'outputs_{mode}')(*(np.ascontiguousarray(v, dtype=np.float64) for v in (x, u, p)), y)
        return y

    def _functions(self, phases: Sequence[str]) -> tuple[dict[str, ca.Function], dict[str, Any]]:
        plants = {mode: self.assembly(mode) for mode in phases}
        first = plants[phases[0]]
        drop = ca.SX.sym('drop', len(DROP_PARAMETERS))
        variables = [first.x, first.u, ca.vertcat(first.p, drop)]
        rhs, surfaces, outputs, watches = {}, {}, {}, {}
        names: list[str] = []
        for mode, plant in plants.items():

            def here(expression: ca.SX, plant: PinnedAssembly = plant) -> ca.SX:
                return ca.substitute(
                    [plant.with_locked(expression)], [plant.x, plant.u, plant.p], [first.x, first.u, first.p]
                )[0]

            names, plant_outputs = traced_outputs(plant)
            rhs[mode], outputs[mode] = here(plant.rhs), here(plant_outputs)
            surfaces[mode] = ca.vertcat(here(self._surfaces(plant, mode)), drop[0] - ca.fabs(first.x[2]))
            watched_for, watch = watched(self._wheel_surfaces(plant, mode), plant.actuator_surfaces)
            watches[mode] = here(watch)
        functions = {
            f'{kind}_{mode}': ca.Function(f'{kind}_{mode}', variables, [ca.densify(expression)])
            for kind, by_mode in (('rhs', rhs), ('surfaces', surfaces), ('outputs', outputs), ('watch', watches))
            for mode, expression in by_mode.items()
        }
        functions['rest'] = self._rest(first, variables[2])
        meta = {
            'states': [name.replace('base_x', 'edge_x').replace('base_z', 'edge_z') for name in first.states.names],
            'inputs': first.inputs.names,
            'parameters': [*first.parameters.names, *DROP_PARAMETERS],
            'outputs': names,
            'surfaces': {mode: ['overturned', *(['switch'] if mode != MIDDLE else []), 'drop'] for mode in phases},
            'watches': watched_for,
            'defaults': [*first.default_parameters().tolist(), *(NEVER for _ in DROP_PARAMETERS)],
            'nq': first.tree.nq,
            'nv': first.tree.nv,
        }
        return functions, meta

    def _wheel_surfaces(self, plant: PinnedAssembly, mode: str) -> list[Surface]:
        """Return the surfaces of the front wheel and, in mode `middle`, of the rear wheel."""
        names = (self.front.name,) if mode != MIDDLE else (self.rear.name, self.front.name)
        wheels = {wheel.name: wheel for wheel in plant.wheels}
        return [surface for name in names for surface in wheels[name].surfaces(plant.state, plant.symbols)]

    def _surfaces(self, plant: PinnedAssembly, mode: str) -> ca.SX:
        upright = plant.upright - np.cos(self.machine.overturn_angle)
        if mode == MIDDLE:
            return upright
        left = plant.contacts[self.rear.name].height - self.rear.free_length
        return ca.vertcat(upright, -left if mode == REAR else left)

    def _rest(self, plant: PinnedAssembly, p: ca.SX) -> ca.Function:
        """Return a kernel from x and parameters to the holding forces and their derivatives by height and pitch."""
        velocities = [plant.states.names.index(f'{name}_rate') for name in plant.tree.velocity_names]
        x = ca.SX(plant.x)
        x[velocities] = 0.0
        holding = ca.substitute([plant.static_forces], [plant.x], [x])[0]
        jacobian = ca.jacobian(holding[1:3], plant.x[1:3])
        return ca.Function('rest', [plant.x, p], [ca.densify(holding), ca.densify(ca.vec(ca.densify(jacobian)))])

    def initial_state(self, p: Array, joints: Mapping[str, float] | None = None) -> Array:
        """Return the state at rest on the springs, trapped oil holding the arm (spec G5).

        Raises:
            NoEquilibriumError: the machine tips in this posture.
            ValueError: a cylinder is at a dead centre.
        """
        machine = self.machine
        x = np.zeros(len(self.state_names))
        angles = joint_vector(machine, joints)
        x[0], x[1] = self._point(self.modes[0])[0], 0.9 * self.rear.free_length
        x[3 : 3 + len(angles)] = angles
        holding, flat = np.empty(self.nv), np.empty(4)
        weight = machine.total_mass * float(np.linalg.norm(p[:3]))
        for _ in range(ITERATIONS):
            self.module.rest(x, p, holding, flat)
            if np.abs(holding[1:3]).max() < CONVERGED * weight:
                break
            change = -np.linalg.lstsq(flat.reshape(2, 2, order='F'), holding[1:3], rcond=1e-12)[0]
            x[1:3] += change * min(1.0, 0.05 / max(float(np.abs(change).max()), 1e-12))
        else:
            raise NoEquilibriumError(f'{machine.name}: no resting pose on the springs in this posture; it tips')
        hold_joints(self, x, angles, holding)
        return x

    def transition(self, mode: str, reached: Sequence[str], t: float, x: Array, u: Array, p: Array) -> Step:
        """Change the reference edge, drop the payload, or end the run."""
        if 'overturned' in reached:
            return Step(END, x, p, (Event(t, 'overturned', mode, END, {'pitch': float(x[2])}),))
        if 'switch' not in reached:
            return self.drop_payload(mode, t, x, p)
        new = FRONT if mode == REAR else REAR
        kind = 'lift_off' if new == FRONT else 'touch_down'
        span = self._point(new) - self._point(mode)
        pitch, rate = x[2], x[self.nv + 2]
        cosine, sine = np.cos(pitch), np.sin(pitch)
        x[0] = self._point(new)[0]
        # the height of the other edge: z - span_x sin(pitch) + span_z cos(pitch)
        x[1] += -span[0] * sine + span[2] * cosine
        x[self.nv + 1] += (-span[0] * cosine - span[2] * sine) * rate
        return Step(new, x, p, (Event(t, kind, mode, new, {'wheel': self.rear.name}),))
