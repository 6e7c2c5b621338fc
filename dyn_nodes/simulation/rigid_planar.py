"""The planar machine on rigid ground: it stands, tips about an edge, and its free edge hits the ground (chapter 4).

    model = RigidPlanarModel(machine)
    p = model.parameters({'payload_mass': 4000.0}, slope=math.radians(20))
    run = model.run(model.initial_state(p), 'standing', times, inputs, p)

The wheels of the machine are its edges; their springs are not used. Ground friction holds the edges in place. Modes:
`standing` (phase 1 of the source), `rear` (tipping about the rear edge, 2A) and `front` (about the front edge, 2B).

States are those of a planar System without wheels, for the reference edge: `edge_x`, `edge_z` (of the edge the base
turns about; the rear one while standing), `base_pitch` (nose DOWN positive, the source's q3 = -pitch), the joints,
their rates, the oil. Outputs: those of a System with its wheels, `moment_front`, `moment_rear` (M_f and M_r, (4.6) and
(4.7); while the base tips, the moment of the ground about the edge in contact is zero) and `traction`, the force of the
ground along its line. How two standing edges share it is not determined; it is told in proportion to their loads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dyn_nodes.compile import build_module
from dyn_nodes.elements.wheel import axis_names
from dyn_nodes.model.machine import Machine, Wheel
from dyn_nodes.simulation.assembly import Actuation
from dyn_nodes.simulation.events import Event, Watched, watch_surfaces
from dyn_nodes.simulation.fingerprint import machine_fingerprint
from dyn_nodes.simulation.hybrid import (
    DROP_PARAMETERS,
    END,
    NEVER,
    HybridError,
    HybridModel,
    Step,
    kernels,
)
from dyn_nodes.simulation.initial import NoEquilibriumError, hold_joints, joint_vector
from dyn_nodes.simulation.outputs import traced_outputs
from dyn_nodes.simulation.pinned import PinnedAssembly, edges_of, relocated
from dyn_nodes.simulation.rigid_assembly import ContactModelError

if TYPE_CHECKING:
    from dyn_nodes.constraints.impact import Impact

Array = NDArray[np.float64]
DoubleImpact = Literal['stop', 'error']
STANDING, REAR, FRONT = MODES = ('standing', 'rear', 'front')
OTHER = {REAR: FRONT, FRONT: REAR}
SURFACES = {
    STANDING: ['front_free', 'rear_free'],
    REAR: ['touch_down', 'overturned', 'drop'],
    FRONT: ['touch_down', 'overturned', 'drop'],
}


class RigidPlanarModel(HybridModel):
    """A planar machine with two edges on rigid ground.

    Args:
        machine: planar, with two wheels at one height of the base link.
        actuation: of the joints.
        double_impact: what to do where an impact would turn the base back about the edge it has just left: `stop` it
            by an impulse on both edges and flag it, or raise HybridError.
        rest_rate: base rate below which the base sits down, rad/s (the source's epsilon_v).

    Parameters beside a System's: `drop_tilt`, `drop_time`: the payload is let go when the base has turned by this, rad,
    or at this time, s; NEVER where it is kept.

    Raises:
        ValueError: the machine is not of this kind.
    """

    def __init__(
        self,
        machine: Machine,
        actuation: Actuation = 'hydraulic',
        double_impact: DoubleImpact = 'stop',
        rest_rate: float = 1e-3,
    ) -> None:
        if double_impact not in ('stop', 'error'):
            raise ValueError(f"double_impact: expected 'stop' or 'error', found {double_impact!r}")
        self.machine, self.actuation = machine, actuation
        self.double_impact, self.rest_rate = double_impact, rest_rate
        self.rear, self.front = edges_of(machine)
        if abs(self.rear.position[2] - self.front.position[2]) > 1e-9:
            raise ContactModelError(
                f'{machine.name}: expected both edges at one height of the base, found a difference'
            )
        self.length = float(self.front.position[0] - self.rear.position[0])
        self.take(
            build_module(
                f'{machine.name}: rigid_planar_{actuation}',
                [machine_fingerprint(machine), actuation],
                self._functions,
            ),
            MODES,
        )
        self.nv = int(self.module.meta['nv'])
        self._rates = slice(self.nv, 2 * self.nv)

    # --- tracing -----------------------------------------------------------------------------------------------------

    def _plant(self, edge: str, moving: tuple[str, ...]) -> PinnedAssembly:
        point = self.rear.position if edge == REAR else self.front.position
        bare = replace(relocated(self.machine, point), wheels=())
        return PinnedAssembly(bare, self.actuation, moving)

    def assembly(self, mode: str) -> PinnedAssembly:
        """Return the traced plant of a mode, in the state's own coordinates."""
        return self._plant(FRONT if mode == FRONT else REAR, () if mode == STANDING else ('base_pitch',))

    def _functions(self) -> tuple[dict[str, ca.Function], dict[str, Any]]:
        plants = {mode: self.assembly(mode) for mode in MODES}
        first = plants[STANDING]
        drop, own_count = ca.SX.sym('drop', len(DROP_PARAMETERS)), first.p.shape[0]
        x, u, p = first.x, first.u, ca.vertcat(first.p, drop)
        rhs, surfaces, outputs, watches = {}, {}, {}, {}
        watched = Watched()
        names: list[str] = []
        for mode, plant in plants.items():
            still = ('base_pitch', 'base_x', 'base_z') if mode == STANDING else ('base_x', 'base_z')

            def here(expression: ca.SX, plant: PinnedAssembly = plant, still: tuple[str, ...] = still) -> ca.SX:
                value = plant.with_locked(expression, still)
                return ca.substitute([value], [plant.x, plant.u, plant.p], [x, u, p[:own_count]])[0]

            moments = self._moments(plant, mode)
            rhs[mode] = here(plant.rhs)
            surfaces[mode] = self._surfaces(plant, mode, moments, drop[0], here)
            own_names, own = traced_outputs(plant)
            ground = self._ground(plant, mode, moments)
            names = [*own_names, *ground]
            # where the machine stands matters to no acceleration, but to what is told
            outputs[mode] = here(ca.vertcat(own, *ground.values()), still=still[:1] if mode == STANDING else ())
            watched = Watched()
            watch_surfaces(watched, plant.actuator_surfaces)
            watches[mode] = here(watched.expression)
        functions = kernels(rhs, surfaces, outputs, watches, [x, u, p])
        for edge in (REAR, FRONT):
            plant = plants[edge]
            matrix = ca.substitute([plant.inertia], [plant.x, plant.p], [x, p[:own_count]])[0]
            functions[f'mass_matrix_{edge}'] = ca.Function(
                f'mass_matrix_{edge}', [x, p], [ca.densify(ca.vec(ca.densify(matrix)))]
            )
        holding = first.with_locked(first.static_forces, ('base_pitch', 'base_x', 'base_z'))
        functions['holding'] = ca.Function('holding', [x, p], [ca.substitute([holding], [first.p], [p[:own_count]])[0]])
        meta = {
            'states': [name.replace('base_x', 'edge_x').replace('base_z', 'edge_z') for name in first.states.names],
            'inputs': first.inputs.names,
            'parameters': [*first.parameters.names, *DROP_PARAMETERS],
            'outputs': names,
            'surfaces': SURFACES,
            'watches': watched.watches,
            'defaults': [*first.default_parameters().tolist(), *(NEVER for _ in DROP_PARAMETERS)],
            'nv': first.tree.nv,
        }
        return functions, meta

    def _moments(self, plant: PinnedAssembly, mode: str) -> tuple[ca.SX, ca.SX]:
        """M_f and M_r: what the ground gives about the front and the rear edge, N m, by virtual-link rows."""
        _, normal, moment = ca.vertsplit(plant.base_wrench)
        if mode == FRONT:
            return moment, moment - self.length * normal
        return moment + self.length * normal, moment

    def _ground(self, plant: PinnedAssembly, mode: str, moments: tuple[ca.SX, ca.SX]) -> dict[str, ca.SX]:
        """Outputs of the edges, under the names that a System gives those of its wheels, and the moments about them."""
        front, rear = moments
        traction = plant.base_wrench[0]
        loads = {self.rear.name: front / self.length, self.front.name: -rear / self.length}
        if mode == STANDING:
            share = loads[self.rear.name] / (loads[self.rear.name] + loads[self.front.name])
            along = {self.rear.name: share * traction, self.front.name: (1.0 - share) * traction}
        else:
            along = {wheel.name: ca.SX(0) for wheel in (self.rear, self.front)}
            along[self._pivot(mode).name] = traction
        reference = ca.vertcat(plant.state.q[0], 0, plant.state.q[1])
        outputs: dict[str, ca.SX] = {}
        for wheel in (self.rear, self.front):
            point = reference + ca.mtimes(plant.base_rotation, wheel.position - self._pivot(mode).position)
            own = {'height': point[2], 'normal_force': loads[wheel.name], 'friction_longitudinal': along[wheel.name]}
            own |= {name: ca.SX(0) for name in ('friction_lateral', 'slip_longitudinal', 'slip_lateral')}
            own |= {'point_x': point[0], 'point_y': ca.SX(float(wheel.position[1])), 'point_z': ca.SX(0)}
            outputs |= {f'{wheel.name}/{name}': value for name, value in own.items()}
            outputs |= dict(zip(axis_names(wheel.name), (ca.SX(part) for part in (1.0, 0.0, 0.0, 0.0, 0.0, 1.0))))
        return {**outputs, 'moment_front': front, 'moment_rear': rear, 'traction': traction}

    def _pivot(self, mode: str) -> Wheel:
        """The edge to which the state of a mode refers."""
        return self.front if mode == FRONT else self.rear

    def _surfaces(
        self, plant: PinnedAssembly, mode: str, moments: tuple[ca.SX, ca.SX], drop: ca.SX, here: Any
    ) -> ca.SX:
        if mode == STANDING:
            front, rear = moments
            return here(ca.vertcat(front, -rear))
        pitch = here(plant.state.q[2])
        turned = pitch if mode == FRONT else -pitch
        return ca.vertcat(turned, self.machine.overturn_angle - turned, drop - turned)

    # --- running -----------------------------------------------------------------------------------------------------

    def initial_state(self, p: Array, joints: Mapping[str, float] | None = None) -> Array:
        """Return the state at rest on both edges, trapped oil holding the arm (spec G5).

        Raises:
            NoEquilibriumError: the machine tips at rest in this posture.
            ValueError: a cylinder stands at a dead centre.
        """
        x = np.zeros(len(self.state_names))
        x[0], x[1] = self.rear.position[0], 0.0
        angles = joint_vector(self.machine, joints)
        x[3 : 3 + len(angles)] = angles
        holding = np.empty(self.nv)
        self.module.holding(x, p, holding)
        front, rear = holding[2] + self.length * holding[1], holding[2]
        if front <= 0.0 or rear >= 0.0:
            raise NoEquilibriumError(
                f'{self.machine.name}: no rest on both edges in this posture (moments {front:.6g} N m about the '
                f'front, {rear:.6g} N m about the rear edge)'
            )
        hold_joints(self, x, angles, holding)
        return x

    def transition(self, mode: str, reached: Sequence[str], t: float, x: Array, u: Array, p: Array) -> Step:
        """Apply the source's algorithm (section 4.2; spec 2.19 with rules (a) to (e))."""
        if list(reached) == ['drop']:
            return self.drop_payload(mode, t, x, p)
        if mode == STANDING:
            return self._lift_off(reached, t, x, u, p)
        if 'touch_down' in reached:
            return self._touch_down(mode, t, x, p)
        if 'overturned' in reached:
            details = {'pitch': float(x[2]), 'rate': float(x[self.nv + 2])}
            return Step(END, x, p, (Event(t, 'overturned', mode, END, details),))
        return self.drop_payload(mode, t, x, p)

    def _lift_off(self, reached: Sequence[str], t: float, x: Array, u: Array, p: Array) -> Step:
        if len(reached) == 2:
            raise HybridError(f'{self.machine.name}: the base leaves the ground at t = {t:.6f} s, which is not covered')
        # a moment that vanishes about the front edge lets the machine tip over that edge
        mode = FRONT if 'front_free' in reached else REAR
        y = self.outputs(STANDING, x, u, p)
        details = {
            'wheel': self.rear.name if mode == FRONT else self.front.name,
            'moment_front': y['moment_front'],
            'moment_rear': y['moment_rear'],
        }
        self._stand_on(mode, x)
        return Step(mode, x, p, (Event(t, 'lift_off', STANDING, mode, details),))

    def _stand_on(self, edge: str, x: Array) -> None:
        """Refer the state to an edge that is at rest on the ground, the base level."""
        x[0], x[1], x[2] = (self.rear if edge == REAR else self.front).position[0], 0.0, 0.0
        x[self.nv : self.nv + 2] = 0.0

    def _touch_down(self, mode: str, t: float, x: Array, p: Array) -> Step:
        rate = float(x[self.nv + 2])
        wheel = self.front if mode == REAR else self.rear
        if abs(rate) <= self.rest_rate:
            x[self.nv + 2] = 0.0
            self._stand_on(REAR, x)
            return Step(STANDING, x, p, (Event(t, 'touch_down', mode, STANDING, {'wheel': wheel.name, 'rate': rate}),))
        impact = self.impact(mode, x, p)
        after = float(impact.velocity[2])
        double = after * rate < 0.0 and abs(after) > self.rest_rate
        if double and self.double_impact == 'error':
            raise HybridError(
                f'{self.machine.name}: double impact at t = {t:.6f} s: {rate:.6g} rad/s would become {after:.6g} rad/s'
            )
        details = _impact_details(wheel.name, x[self._rates], impact, double)
        if double:
            impact = self.impact(mode, x, p, both=True)
            details['impulse_both'] = impact.impulse.tolist()
            details['energy_after'] = impact.energy_after
        elif abs(after) > self.rest_rate:
            x[self._rates] = impact.velocity
            self._stand_on(OTHER[mode], x)
            return Step(OTHER[mode], x, p, (Event(t, 'impact', mode, OTHER[mode], details),))
        x[self._rates] = impact.velocity
        x[self.nv + 2] = 0.0
        self._stand_on(REAR, x)
        return Step(STANDING, x, p, (Event(t, 'impact', mode, STANDING, details),))

    def edge_position(self, mode: str) -> Array:
        """Return where the edge, to which the state of a mode refers, lies in the frame of the base link (3,), m."""
        return self._pivot(mode).position

    def mass_matrix(self, edge: str, x: Array, p: Array) -> Array:
        """Return M (nv, nv) for (edge x, edge z, pitch, joints) of a reference edge, `rear` or `front`."""
        flat = np.empty(self.nv**2)
        getattr(self.module, f'mass_matrix_{edge}')(x, p, flat)
        return flat.reshape(self.nv, self.nv, order='F')

    def impact(self, edge: str, x: Array, p: Array, both: bool = False) -> Impact:
        """Return the plastic impact of the other edge on the ground ((4.2) to (4.5)), velocities at the old pivot.

        Args:
            edge: the pivot up to now, which is let go.
            x: state, the base level.
            p: parameters.
            both: bring both edges to rest.
        """
        from dyn_nodes.constraints.impact import plastic_impact  # with all of `constraints`, which seldom is needed

        arm = self.length if edge == REAR else -self.length
        jacobian = np.zeros((2, self.nv))
        jacobian[0, 0] = jacobian[1, 1] = 1.0
        jacobian[1, 2] = -arm  # pitch is nose down positive
        if both:
            jacobian = np.eye(3, self.nv)
        return plastic_impact(self.mass_matrix(edge, x, p), jacobian, x[self._rates])


def _impact_details(edge: str, before: Array, impact: Impact, double: bool) -> dict[str, Any]:
    return {
        'wheel': edge,
        'velocity_before': before.tolist(),
        'velocity_after': impact.velocity.tolist(),
        'impulse': impact.impulse.tolist(),
        'energy_before': impact.energy_before,
        'energy_after': impact.energy_after,
        'double': double,
    }
