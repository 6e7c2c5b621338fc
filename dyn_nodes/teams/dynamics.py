"""Compiled dynamics of a team: robots, objects and the forces between them as one straight-line kernel."""

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
from dyn_nodes.teams.object_model import ObjectMotion
from dyn_nodes.teams.robot_model import RobotModel

WRENCH = ('moment_x', 'moment_y', 'moment_z', 'force_x', 'force_y', 'force_z')
WORK_SCALE = 1e3
"""Typical magnitude of work and heat, J."""


class TeamDynamics:
    """Dynamics of a team with the interface that `System` requires.

    The state is [q, v, states of elements, time, work, heat] of robots and objects.

    Args:
        name: for messages and the cache.
        robots: models with distinct names.
        holdings: objects, and the hands that hold their nodes.
    """

    blocks = machine = stance = None
    actuation, base, audit = 'effort', 'quaternion', False

    def __init__(self, name: str, robots: Sequence[RobotModel], holdings: Sequence[Holding]) -> None:
        self.name, self.robots, self.holdings = name, tuple(robots), tuple(holdings)
        self.equations = TeamEquations(robots, holdings)
        layout = self.equations.layout
        self.state_names, self.input_names, self.parameter_names = layout.states, layout.inputs, layout.parameters
        self.nq, self.nv, self.time_index = layout.nq, layout.nv, layout.time
        self.delays = self._delays()

    def _delays(self) -> Array | None:
        if all(robot.delays is None for robot in self.robots):
            return None
        each = (np.zeros(len(robot.input_names)) if robot.delays is None else robot.delays for robot in self.robots)
        return np.concatenate(list(each))

    @cached_property
    def defaults(self) -> Array:
        """(n,) parameters: gravity of the first robot, parameters of the machine files, factors 1 of the objects."""
        layout, p = self.equations.layout, np.ones(len(self.parameter_names))
        for robot, rows in zip(self.robots, layout.p):
            values = dict(zip(robot.blocks.parameters.names, robot.blocks.parameters.values()))
            p[rows] = [values[name] for name in robot.parameter_names]
        first = self.robots[0].blocks.parameters.defaults
        p[:3] = [first[f'gravity_{axis}'] for axis in XYZ]
        return p

    @cached_property
    def scales(self) -> dict[str, float]:
        """Typical magnitudes of states by name; 1 for the others."""
        scales = {
            f'{robot.name}/{state.name}': state.scale for robot in self.robots for state in robot.blocks.element_states
        }
        return scales | dict.fromkeys(('work', 'heat'), WORK_SCALE)

    @property
    def switches(self) -> bool:
        """There are discrete states."""
        return any(bool(robot.blocks.discrete.any()) for robot in self.robots)

    @cached_property
    def start(self) -> Array:
        """(n,) initial state: start of the robots' models, free nodes of the undeformed object, vibrations at rest."""
        layout = self.equations.layout
        x = np.zeros(len(self.state_names))
        for k, robot in enumerate(self.robots):
            x[layout.q[k]], x[layout.v[k]] = robot.q, robot.v
            x[layout.elements[k]] = robot.blocks.parameters.values()[robot.blocks.parameters.state_indices]
        for k, holding in enumerate(self.holdings):
            free = np.ravel(holding.free_start)
            x[layout.object_q[k].start : layout.object_q[k].start + len(free)] = free
        for k, holding in enumerate(self.holdings):
            x[layout.inner[k]] = holding.model.inner_start(self.nodes(x, k))
        return x

    def state(self, q: ArrayLike, v: ArrayLike, p: Array) -> Array:
        """Return a state with positions (nq,) and velocities (nv,); the others have their initial values."""
        x, layout = self.start.copy(), self.equations.layout
        x[: self.nq], x[self.nq : self.nq + self.nv] = q, v
        for k, holding in enumerate(self.holdings):
            x[layout.inner[k]] = holding.model.inner_start(self.nodes(x, k))
        return x

    def nodes(self, x: Array, item: int) -> Array:
        """Return the positions (m, 3) of the nodes of an object, by index, at a state, m."""
        return np.array(self._nodes[item](x)).reshape(-1, 3)

    @cached_property
    def _nodes(self) -> list[ca.Function]:
        return [ca.Function('nodes', [self.equations.x], [motion.position]) for motion in self.equations.motions]

    @cached_property
    def module(self) -> CompiledModule:
        """Kernels of rates, guards and switches."""
        equations = self.equations
        vectors = [equations.x, equations.u, equations.p]
        sound = ca.substitute(equations.sound, equations.p, ca.DM(self.defaults))
        weight = sum(robot.mass for robot in equations.robot_equations) * ca.fmax(
            ca.norm_2(equations.gravity), LEAST_GRAVITY
        )
        watches, watch = watched()
        functions = {
            'rhs': ca.Function('rhs', vectors, [equations.rates]),
            'guard': ca.Function('guard', [equations.x], [ca.densify(sound)]),
            'watch': ca.Function('watch', vectors, [watch]),
            'inspect': ca.Function(
                'inspect', [equations.x, equations.p], [ca.densify(ca.vertcat(equations.energy, weight, 0.0))]
            ),
        }
        if self.switches:
            functions['switch'] = ca.Function('switch', vectors, [equations.switched])
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
        """Return the exact partial derivatives of dx/dt by x (n, n) and by u (n, m); not compiled."""
        by_x, by_u = self._jacobians(x, u, p)
        return np.array(by_x), np.array(by_u)

    @cached_property
    def _jacobians(self) -> ca.Function:
        equations = self.equations
        derivatives = [ca.densify(ca.jacobian(equations.rates, by)) for by in (equations.x, equations.u)]
        return ca.Function('jacobians', [equations.x, equations.u, equations.p], derivatives)

    @cached_property
    def _outputs(self) -> dict[str, ca.SX]:
        equations = self.equations
        outputs: dict[str, ca.SX] = {}
        for holding, pulls, motion in zip(self.holdings, equations.pulls, equations.motions):
            for name, nodes in holding.held:
                for vector_name, vector in _of_grasp(pulls, motion, nodes).items():
                    outputs |= {f'{holding.name}/{name}/{vector_name}_{axis}': vector[k] for k, axis in enumerate(XYZ)}
        for k, robot in enumerate(self.robots):
            outputs |= {
                f'{robot.name}/ground/{part}': value for part, value in zip(WRENCH, ca.vertsplit(equations.ground(k)))
            }
        energy, momentum = equations.energy, equations.momentum
        outputs |= {'kinetic_energy': energy[0], 'potential_energy': energy[1]}
        angular = {f'angular_momentum_{axis}': momentum[k] for k, axis in enumerate(XYZ)}
        return outputs | angular | {f'linear_momentum_{axis}': momentum[3 + k] for k, axis in enumerate(XYZ)}

    @cached_property
    def output_names(self) -> tuple[str, ...]:
        """Forces of hands on their patches, torques of fixed grasps, wrenches of the ground, energies, momenta."""
        return tuple(self._outputs)

    @cached_property
    def _observe(self) -> ca.Function:
        equations = self.equations
        return ca.Function(
            'observe', [equations.x, equations.u, equations.p], [ca.densify(ca.vertcat(*self._outputs.values()))]
        )

    def outputs(self, x: Array, u: Array, p: Array) -> Array:
        """Return all outputs at a state, in the order of `output_names`; not compiled."""
        return np.array(self._observe(x, u, p)).ravel()

    def guarded(self, x: Array) -> tuple[str, str]:
        """Return status and reason of a run that the guard ended at a state."""
        layout = self.equations.layout
        over = [robot.name for robot, rows in zip(self.robots, layout.q) if robot.has_overturned(x[rows])]
        if over:
            return OVERTURNED, f'{", ".join(over)}: the base has tilted beyond its limit'
        return 'unsound', 'the choice of independent velocities no longer holds'

    def guard_limit(self, settings: Settings) -> float:
        """Return the lower limit of the soundness."""
        return 0.0

    def solver_from(self, x: Array, u: Array, p: Array, settings: Settings) -> StraightRates:
        """Return the rates of runs from any start. Raises ValueError for a method with a compiled Jacobian."""
        if settings.method == 'rodas3':
            raise ValueError(f'{self.name}: expected an explicit method for a team, found {settings.method}')
        return StraightRates(self.codes)


def _of_grasp(pulls: ca.SX, motion: ObjectMotion, nodes: Sequence[int]) -> dict[str, ca.SX]:
    """Return force, position and velocity (3,) of a grasp in the world, and the torque of a fixed grasp."""
    positions, speeds = (ca.reshape(part, 3, part.shape[0] // 3) for part in (motion.position, motion.velocity))
    position, speed, force = (_sum_of(part, nodes) for part in (positions, speeds, pulls))
    middle = position / len(nodes)
    result = {'force': force, 'position': middle, 'velocity': speed / len(nodes)}
    if len(nodes) > 1:
        result['torque'] = sum((cross(positions[:, k] - middle, pulls[:, k]) for k in nodes), ca.SX(3, 1))
    return result


def _sum_of(columns: ca.SX, nodes: Sequence[int]) -> ca.SX:
    return sum((columns[:, k] for k in nodes), ca.SX(3, 1))
