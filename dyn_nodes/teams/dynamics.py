"""The dynamics of a team, compiled: robots, objects and the forces between them are one straight-line kernel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile import CompiledModule, build_module
from dyn_nodes.compile.integrators import codes_of
from dyn_nodes.compile.tape import Tape
from dyn_nodes.multibody.spatial import cross
from dyn_nodes.simulation.events import watched
from dyn_nodes.simulation.guards.checks import LEAST_GRAVITY, OVERTURNED
from dyn_nodes.simulation.settings import Settings
from dyn_nodes.simulation.tree_dynamics import StraightRates
from dyn_nodes.teams.equations import TeamEquations
from dyn_nodes.teams.layout import XYZ, Holding
from dyn_nodes.teams.object_model import Motion
from dyn_nodes.teams.robot_model import RobotModel

WRENCH = ('moment_x', 'moment_y', 'moment_z', 'force_x', 'force_y', 'force_z')
WORK_SCALE = 1e3
"""Usual size of work and heat, J."""


class TeamDynamics:
    """What a `System` asks for, see there. A state is [q, v, states of elements, time, work, heat] of all.

    Args:
        name: for people and for the cache.
        robots: models with a name each.
        holdings: objects, and which hands hold their nodes.
    """

    blocks = machine = stance = None
    actuation, base, audit = 'effort', 'quaternion', False

    def __init__(self, name: str, robots: Sequence[RobotModel], holdings: Sequence[Holding]) -> None:
        self.name, self.robots, self.holdings = name, tuple(robots), tuple(holdings)
        self.equations = TeamEquations(robots, holdings)
        places = self.equations.places
        self.state_names, self.input_names, self.parameter_names = places.states, places.inputs, places.parameters
        self.nq, self.nv, self.time_place = places.nq, places.nv, places.time
        self.delays = self._delays()

    def _delays(self) -> Array | None:
        if all(robot.delays is None for robot in self.robots):
            return None
        each = (np.zeros(len(own.input_names)) if own.delays is None else own.delays for own in self.robots)
        return np.concatenate(list(each))

    @cached_property
    def defaults(self) -> Array:
        """(n,) parameters: gravity of the first robot, those of the machine files, and factors 1 of the objects."""
        places, p = self.equations.places, np.ones(len(self.parameter_names))
        for robot, place in zip(self.robots, places.p):
            values = dict(zip(robot.blocks.parameters.names, robot.blocks.parameters.values()))
            p[place] = [values[name] for name in robot.parameter_names]
        first = self.robots[0].blocks.parameters.defaults
        p[:3] = [first[f'gravity_{axis}'] for axis in XYZ]
        return p

    @cached_property
    def scales(self) -> dict[str, float]:
        """Usual sizes of states by name, where they are not 1."""
        own = {
            f'{robot.name}/{state.name}': state.scale for robot in self.robots for state in robot.blocks.element_states
        }
        return own | dict.fromkeys(('work', 'heat'), WORK_SCALE)

    @property
    def switches(self) -> bool:
        """There are discrete states."""
        return any(bool(robot.blocks.discrete.any()) for robot in self.robots)

    @cached_property
    def start(self) -> Array:
        """(n,) state at the start: robots as their models say, free nodes where the object lies, vibrations at rest."""
        places = self.equations.places
        x = np.zeros(len(self.state_names))
        for k, robot in enumerate(self.robots):
            x[places.q[k]], x[places.v[k]] = robot.q, robot.v
            x[places.elements[k]] = robot.blocks.parameters.values()[robot.blocks.parameters.state_places]
        for k, own in enumerate(self.holdings):
            free = np.ravel(own.free_start)
            x[places.object_q[k].start : places.object_q[k].start + len(free)] = free
        for k, own in enumerate(self.holdings):
            x[places.inner[k]] = own.model.inner_start(self.nodes(x, k))
        return x

    def state(self, q: ArrayLike, v: ArrayLike, p: Array) -> Array:
        """Return a state from positions (nq,) and velocities (nv,); all others are those of the start."""
        x, places = self.start.copy(), self.equations.places
        x[: self.nq], x[self.nq : self.nq + self.nv] = q, v
        for k, own in enumerate(self.holdings):
            x[places.inner[k]] = own.model.inner_start(self.nodes(x, k))
        return x

    def nodes(self, x: Array, item: int) -> Array:
        """Return the positions (m, 3) of the nodes of an object, by its number, at a state."""
        return np.array(self._nodes[item](x)).reshape(-1, 3)

    @cached_property
    def _nodes(self) -> list[ca.Function]:
        return [ca.Function('nodes', [self.equations.x], [own.position]) for own in self.equations.motions]

    @cached_property
    def module(self) -> CompiledModule:
        """Kernels of the rates, of what guards and of what switches."""
        own = self.equations
        vectors = [own.x, own.u, own.p]
        sound = ca.substitute(own.sound, own.p, ca.DM(self.defaults))
        weight = sum(robot.mass for robot in own.robot_equations) * ca.fmax(ca.norm_2(own.gravity), LEAST_GRAVITY)
        watches, watch = watched()
        functions = {
            'rhs': ca.Function('rhs', vectors, [own.rates]),
            'guard': ca.Function('guard', [own.x], [ca.densify(sound)]),
            'watch': ca.Function('watch', vectors, [watch]),
            'inspect': ca.Function('inspect', [own.x, own.p], [ca.densify(ca.vertcat(own.energy, weight, 0.0))]),
        }
        if self.switches:
            functions['switch'] = ca.Function('switch', vectors, [own.switched])
        key = [Tape.from_function(function).digest for function in functions.values()]
        return build_module(f'{self.name}: team', key, lambda: (functions, {'watches': watches}))

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """Addresses of the kernels."""
        return codes_of(self.module)

    def rhs(self, x: Array, u: Array, p: Array) -> Array:
        """Return dx/dt (n,)."""
        rate = np.empty(len(self.state_names))
        self.module.rhs(x, u, p, rate)
        return rate

    def jacobians(self, x: Array, u: Array, p: Array) -> tuple[Array, Array]:
        """Return the exact partial derivatives of dx/dt by x (n, n) and by u (n, m); they are not compiled."""
        by_x, by_u = self._jacobians(x, u, p)
        return np.array(by_x), np.array(by_u)

    @cached_property
    def _jacobians(self) -> ca.Function:
        own = self.equations
        found = [ca.densify(ca.jacobian(own.rates, by)) for by in (own.x, own.u)]
        return ca.Function('jacobians', [own.x, own.u, own.p], found)

    @cached_property
    def _outputs(self) -> dict[str, ca.SX]:
        own = self.equations
        found: dict[str, ca.SX] = {}
        for holding, pulls, motion in zip(self.holdings, own.pulls, own.motions):
            for name, nodes in holding.held:
                for what, vector in _of_grasp(pulls, motion, nodes).items():
                    found |= {f'{holding.name}/{name}/{what}_{axis}': vector[k] for k, axis in enumerate(XYZ)}
        for k, robot in enumerate(self.robots):
            found |= {f'{robot.name}/ground/{part}': value for part, value in zip(WRENCH, ca.vertsplit(own.ground(k)))}
        energy, momentum = own.energy, own.momentum
        found |= {'kinetic_energy': energy[0], 'potential_energy': energy[1]}
        angular = {f'angular_momentum_{axis}': momentum[k] for k, axis in enumerate(XYZ)}
        return found | angular | {f'linear_momentum_{axis}': momentum[3 + k] for k, axis in enumerate(XYZ)}

    @cached_property
    def output_names(self) -> tuple[str, ...]:
        """Forces of hands on their patches, torques of fixed grasps, wrenches of the ground, energies, momenta."""
        return tuple(self._outputs)

    @cached_property
    def _observe(self) -> ca.Function:
        own = self.equations
        return ca.Function('observe', [own.x, own.u, own.p], [ca.densify(ca.vertcat(*self._outputs.values()))])

    def outputs(self, x: Array, u: Array, p: Array) -> Array:
        """Return all outputs at a state, in the order of `output_names`; they are not compiled."""
        return np.array(self._observe(x, u, p)).ravel()

    def guarded(self, x: Array) -> tuple[str, str]:
        """Return the status of a run that the guard ended at a state, and the reason."""
        places = self.equations.places
        over = [robot.name for robot, place in zip(self.robots, places.q) if robot.has_overturned(x[place])]
        if over:
            return OVERTURNED, f'{", ".join(over)}: the base has tilted beyond its limit'
        return 'unsound', 'the choice of independent velocities no longer holds'

    def guard_limit(self, settings: Settings) -> float:
        """Return what the soundness has to stay above."""
        return 0.0

    def solver_from(self, x: Array, u: Array, p: Array, settings: Settings) -> StraightRates:
        """Return the rates of runs, wherever they start. Raises ValueError for a method with a compiled Jacobian."""
        if settings.method == 'rodas3':
            raise ValueError(f'{self.name}: expected an explicit method for a team, found {settings.method}')
        return StraightRates(self.codes)


def _of_grasp(pulls: ca.SX, motion: Motion, nodes: Sequence[int]) -> dict[str, ca.SX]:
    """Return force, position and velocity (3,) of a grasp in the world, and the torque of a fixed one."""
    places, speeds = (ca.reshape(part, 3, part.shape[0] // 3) for part in (motion.position, motion.velocity))
    place, speed, force = (_sum_of(part, nodes) for part in (places, speeds, pulls))
    middle = place / len(nodes)
    found = {'force': force, 'position': middle, 'velocity': speed / len(nodes)}
    if len(nodes) > 1:
        found['torque'] = sum((cross(places[:, k] - middle, pulls[:, k]) for k in nodes), ca.SX(3, 1))
    return found


def _sum_of(columns: ca.SX, nodes: Sequence[int]) -> ca.SX:
    return sum((columns[:, k] for k in nodes), ca.SX(3, 1))
