"""A machine with constraints, advanced step by step as a `Plant` is.

Its constraints are kept by the accelerations; as a node runs without an end, Baumgarte's return keeps the drift small
for good. What the model cannot continue ends the run with its reason: a rank that changes, rows that contradict each
other, a motion without mass, a wheel that would lift off.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from dyn_nodes.constraints import ForceObserver
from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.constraints.solve import UNIQUE
from dyn_nodes.simulation.assembly import Actuation
from dyn_nodes.simulation.constrained import Stabilization
from dyn_nodes.simulation.constrained_machine import constrained_machine, starting_velocity
from dyn_nodes.simulation.constrained_outputs import loops_of, wheels_of
from dyn_nodes.simulation.constrained_system import ConstrainedMachineSystem
from dyn_nodes.simulation.events import Event
from dyn_nodes.simulation.fastest_motion import FastestMotion, fastest_of
from dyn_nodes.simulation.plant import Plant, PlantStoppedError
from dyn_nodes.stability.balance import contact_axes

Array = NDArray[np.float64]
STABILIZATION = Stabilization(zeta=1.0, omega=10.0)
GREATEST_DRIFT, BROKEN = 1e-6, 1e-3
"""Error of a constraint that is told, and one that ends the run, m or rad."""
NEARNESS = 1e-2
"""Relative length of what is left of a row at which it counts as dependent on the others: the run ends there. It is
smaller for a machine whose rows differ much in length from the start."""
SERVO_BANDWIDTH, SERVO_DAMPING = 40.0, 1.0
BRAKING = 1.0
"""Deceleration of a vehicle on wheels by constraint whose joints are held, m/s2."""
SERVO_CUTOFF = 1e-9
"""Of the inertia that driven joints feel: directions in which they fight each other, relative."""


@dataclass(frozen=True, eq=False)
class ConstraintHealth:
    """How the constraints are at one instant.

    Attributes:
        rows, rank: number of rows, and of those that are independent.
        mobility: velocities less rank. underactuation: mobility less independent actuators, at the start.
        condition: of the independent rows; it rises without bound where they come to depend on each other.
        drift: greatest error at position level, m or rad. slip: at velocity level, m/s or rad/s.
        indeterminate: names of the rows whose force is not unique (the one of least norm is told).
    """

    rows: int
    rank: int
    mobility: int
    underactuation: int
    condition: float
    drift: float
    slip: float
    indeterminate: tuple[str, ...]


class ConstrainedPlant(Plant):
    """A running machine with constraints; arguments and attributes are those of `Plant`.

    Attributes:
        x: positions, velocities, work done on the machine, heat.

    Raises:
        MachineError: the constraints cannot be met from the initial position,
            or a reaction is asked for at a joint that does not move.
        ValueError: a cylinder at its dead centre.
    """

    is_constrained = True

    def _make_system(self, actuation: Actuation) -> Any:
        self.loops, self.wheels = loops_of(self.machine), wheels_of(self.machine)
        self._assembled = constrained_machine(self.machine, actuation=actuation)
        return self._assembled.system

    def warm_up(self) -> None:
        """Load the machine code of everything that is called later, which may have to be compiled; then reset."""
        self.outputs()
        super().warm_up()

    @cached_property
    def _places(self) -> NDArray[np.intp]:
        """Places of the driven joints among the velocities of the tree."""
        return np.array([self.system.blocks.tree.velocity_index(name) for name in self.actuated], dtype=np.intp)

    def _efforts_at_rest(self) -> Array:
        return np.zeros(len(self.joints))  # those that hold it are set once the stepper is there

    def _initial_state(self) -> Array:
        start = self._assembled
        if self.start:
            start = constrained_machine(self.machine, self.start, self.system.actuation)
        found = start.at_rest(start.system.numbers(self.p, start.system.state(start.q, start.v)))
        self._held_at_rest = np.array([found.efforts.get(name, 0.0) for name in self.joints])
        v = start.v if found.q is start.q else starting_velocity(self.machine, start.system.blocks, found.q)
        x = start.system.state(found.q, v)
        for name, value in found.states.items():
            x[self.system.index('state', name)] = value
        return x

    def _begin(self) -> None:
        system: ConstrainedMachineSystem = self.system
        at = system.blocks_at(self.x, self.u, self.p)
        tolerance = min(NEARNESS, 0.1 / Subspaces(at.J).condition)
        self.solver = system.solver(at, stabilization=STABILIZATION, tolerance=tolerance)
        self._drifted = False
        self._reaction = ForceObserver(system.blocks) if self.machine.reactions else None
        self._limit = float(np.cos(self.machine.overturn_angle)) if self.observer else -2.0
        super()._begin()
        if self.system.actuation == 'effort':
            at_rest = self.machine.supports or self.machine.initial.moves  # a servo would brake what is to move
            self.set_efforts(self._held_at_rest if at_rest else self.holding_efforts())

    @property
    def _codes(self) -> NDArray[np.int64]:
        return self.solver.codes

    def _fastest_motion(self) -> FastestMotion:
        system: ConstrainedMachineSystem = self.system
        scales = {own.name: own.scale for own in system.blocks.element_states}
        return fastest_of(system.state_names, scales, lambda x: self.solver.rates(x, self.u, self.p), self.x)

    @property
    def reaction(self) -> Any:  # type: ignore[override]
        """The joints whose reaction is told, as `joints`; None where there are none."""
        return _Reactions(self.machine.reactions) if self.machine.reactions else None

    def joint_reactions(self) -> Array:
        """Return the wrenches (joints, 6) of parent on child at these joints now, in the child's axes; N and N m."""
        system: ConstrainedMachineSystem = self.system
        assert self._reaction is not None
        tree, q, v = system.blocks.tree, *self._tree_state()
        numbers = system.numbers(self.p, self.x)
        forces = self._reaction.forces(q, v, *self.solution(), self._tau(), numbers)
        result = np.empty((len(self.machine.reactions), 6))
        for row, name in zip(result, self.machine.reactions):
            link = tree.frame(self.machine.joint(name).child)
            turn = self._rotations(q)[link.body] @ link.R
            wrench = forces.wrench(name)
            row[:3], row[3:] = turn.T @ wrench[3:], turn.T @ wrench[:3]
        return result

    def _rotations(self, q: Array) -> list[Array]:
        """Axes (3, 3) of every body in the world."""
        result: list[Array] = []
        for body in self.system.blocks.tree.bodies:
            if body.kind == 'free':
                result.append(Rotation.from_quat(q[body.q + 3 : body.q + 7]).as_matrix())
                continue
            own = body.R0
            if body.kind == 'revolute':
                own = own @ Rotation.from_rotvec(body.axis * q[body.q]).as_matrix()
            result.append(own if body.parent < 0 else result[body.parent] @ own)
        return result

    def _tau(self) -> Array:
        tau = np.zeros(self.system.nv)
        driven = self.system.driven_places
        tau[driven] = self.u[: len(driven)]
        return tau

    def solution(self) -> tuple[Array, Array]:
        """Return accelerations (nv,) and multipliers (m,) now."""
        return self.solver.solution(self.x, self.u, self.p)

    def _evaluate(self) -> Array:
        return np.asarray(self.system.outputs_of(self.x, self.u, self.p, *self.solution()))

    def _integrate(self, x: Array, start: float, end: float, knots: Array, table: Array) -> list[Event]:
        drift = 0.0 if self._outputs is None else self.output('constraint_drift')
        if drift > BROKEN:
            text = f'constraints have drifted apart by {drift:.3g} m or rad'
            raise PlantStoppedError('constraint_drift', f'{self.machine.name}: at t = {start:.4f} s: {text}')
        x[self.system.time_place] = start
        return super()._integrate(x, start, end, knots, table)

    def _stopped(self, status: int, x: Array) -> PlantStoppedError:
        system: ConstrainedMachineSystem = self.system
        kind, text = system.reason(status, self.solver.rank)
        at = f'{self.machine.name}: at t = {x[system.time_place]:.4f} s: '
        return PlantStoppedError(kind.replace(' ', '_'), at + (text or kind))

    def let_wheels_run_out(self, target: Array, rates: Array | None = None) -> None:
        """As `Plant` does; wheels by constraint, which no friction lets slide, are led to rest at BRAKING.

        A servo would stop them within milliseconds, and the vehicle would turn over them. Calls at successive
        instants go on; after a gap the wheels are led from their present speed.
        """
        super().let_wheels_run_out(target)
        if rates is None:
            return
        led, self._led = self._led, (self.ticks, rates)
        goes_on = led[0] == self.ticks - 1 and led[1] is rates
        for joint, radius in self._rigid_wheels:
            speed = rates[joint] if goes_on else float(self.velocities[joint])
            if speed != 0.0:  # it is held where it comes to rest
                target[joint] = self.positions[joint]
            rates[joint] = np.sign(speed) * max(0.0, abs(speed) - BRAKING * self.period / radius)

    _led: tuple[int, Array | None] = (-2, None)
    """Instant of the last call of `let_wheels_run_out`, and its rates."""

    @cached_property
    def _rigid_wheels(self) -> list[tuple[int, float]]:
        """Places of the joints of wheels by constraint, and the radii of these."""
        above = {joint.child: joint.name for joint in self.machine.movable_joints}
        wheels = [(above.get(own.first.link), own.radius) for own in self.machine.rigid_wheels if own.first is not None]
        return [(self.joints.index(name), radius) for name, radius in wheels if name is not None]

    def servo_efforts(self, target: Array, target_velocity: Array) -> Array:
        """Return efforts (n,) that drive the actuated joints to a target, as stiff position servos would.

        Computed torque on the constrained machine: wanted accelerations of the actuated joints, the passive ones move
        as they must. Where driven joints fight each other, the efforts of least norm. Joints of rolling wheels on
        springs do not work against the ground: that would be a brake that locks them.
        """
        system: ConstrainedMachineSystem = self.system
        at = system.blocks_at(self.x, self.u, self.p)
        spaces = Subspaces(at.J)
        N, forced = spaces.motions, spaces.pseudo_inverse @ at.gamma
        inertia = N.T @ at.M @ N
        own = N[self._places]  # accelerations of the driven joints from those of the motions
        still = forced[self._places] + own @ np.linalg.solve(inertia, N.T @ (-at.h - at.M @ forced))
        response = own @ np.linalg.solve(inertia, own.T)
        error = (target - self.positions)[self._driven]
        rate_error = (target_velocity - self.velocities)[self._driven]
        wanted = SERVO_BANDWIDTH**2 * error + 2 * SERVO_DAMPING * SERVO_BANDWIDTH * rate_error
        stiff, loose = self._stiff, ~self._stiff
        push = np.zeros(len(stiff))
        push[loose] = np.linalg.pinv(response[np.ix_(loose, loose)], SERVO_CUTOFF, hermitian=True) @ wanted[loose]
        rest = (wanted - still)[stiff] - response[np.ix_(stiff, loose)] @ push[loose]
        push[stiff] = np.linalg.pinv(response[np.ix_(stiff, stiff)], SERVO_CUTOFF, hermitian=True) @ rest
        efforts = np.zeros(len(self.joints))
        efforts[self._driven] = push
        return efforts

    def load_poses(self) -> dict[str, tuple[Array, Array]]:
        """Return position (3,), m, and quaternion (x, y, z, w) of every load in the ground's frame, by name."""
        result = {}
        tree = self.system.blocks.tree
        for load in self.machine.loads:
            if load.motion == 'free':
                at = tree.bodies[tree.body(load.name)].q
                turn = self.x[at + 3 : at + 7]
                result[load.name] = self.x[at : at + 3], turn / np.linalg.norm(turn)
                continue
            names = (f'{load.name}_{part}' for part in ('x', 'z', 'pitch'))
            x, z, pitch = (self.x[tree.position_names.index(name)] for name in names)
            half = 0.5 * pitch
            result[load.name] = np.array([x, 0.0, z]), np.array([0.0, np.sin(half), 0.0, np.cos(half)])
        return result

    def constraint_reaction(self, name: str) -> Array:
        """Return force, N, and torque, N m, (6,) on the first link of a loop at its end and in the end's axes, now."""
        start = self.system.index('output', f'{name}/force_x')
        return self.outputs()[start : start + 6]

    def ground_reaction(self, wheel: str) -> tuple[Array, Array, Array]:
        """Return the force of the ground on a wheel by constraint, in the axes of its contact.

        Returns:
            ground point (3,), m; axes (3, 3) of the contact: columns ahead, left, normal; force (3,) along them, N.
        """
        y, index = self.outputs(), self.system.index
        at = index('output', f'{wheel}/point_x')
        components = ('friction_longitudinal', 'friction_lateral', 'normal_force')
        force = np.array([y[index('output', f'{wheel}/{name}')] for name in components])
        first = index('output', f'{wheel}/longitudinal_x')
        return y[at : at + 3], contact_axes(y[first : first + 3], y[first + 3 : first + 6]), force

    def constraint_health(self) -> ConstraintHealth:
        """Return how the constraints are now; a drift beyond what is tolerated becomes an event once."""
        system: ConstrainedMachineSystem = self.system
        at = system.blocks_at(self.x, self.u, self.p)
        spaces = Subspaces(at.J)
        drift, slip = self.output('constraint_drift'), self.output('constraint_slip')
        if drift > GREATEST_DRIFT and not self._drifted:
            self._drifted = True
            text = f'constraints have drifted apart by {drift:.3g} m or rad'
            self._events.append(Event(self.time, 'constraint_drift', details={'drift': drift, 'text': text}))
        open_rows = np.abs(spaces.dependencies).max(axis=1, initial=0.0) >= UNIQUE
        names = tuple(name for name, is_open in zip(system.blocks.row_names, open_rows) if is_open)
        return ConstraintHealth(
            rows=system.blocks.m,
            rank=spaces.rank,
            mobility=system.nv - spaces.rank,
            underactuation=self._assembled.analysis.underactuation,
            condition=spaces.condition,
            drift=drift,
            slip=slip,
            indeterminate=names,
        )


@dataclass(frozen=True)
class _Reactions:
    joints: tuple[str, ...]
