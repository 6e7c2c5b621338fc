"""Compiled dynamics with constraints: the whole step is machine code, including the factorization.

    system = System.of_blocks('four_bar', blocks, actuated=('crank',))
    run = system.run(system.state(q, v), np.linspace(0, 2, 201), Inputs.constant({'crank': 4.0}))
    run.force('grasp_1'), run.energy_balance

The accelerations satisfy the constraints exactly, and Baumgarte stabilization removes the drift of the integrator. A
change of rank, a contact that would pull, or contradicting dependent rows end a run with a status.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import Blocks, ConstraintBlocks
from dyn_nodes.constraints._dense_loops import OPERATOR, REDUCED
from dyn_nodes.constraints.linear import RANK_TOLERANCE, Subspaces
from dyn_nodes.constraints.solve import definite
from dyn_nodes.elements.command_delay import input_delays
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.base_motion import tilted_beyond
from dyn_nodes.multibody.spatial import Expression
from dyn_nodes.simulation.assembly import COMMON_PARAMETERS, Actuation
from dyn_nodes.simulation.constrained_kernels import ConstraintKernels
from dyn_nodes.simulation.constrained_outputs import ConstrainedOutputs
from dyn_nodes.simulation.constrained_solver import Solver
from dyn_nodes.simulation.guards.checks import BOOKS, OVERTURNED, WORK_SCALE
from dyn_nodes.simulation.march import NO_GUARD
from dyn_nodes.simulation.settings import FIXED, NEARNESS, Settings, Stabilization, StepMethod
from dyn_nodes.stability.stance import stance_of

ABSENT = ('payload_mass', 'joint_stop_scale')
"""Common parameters with the default 0; the others are factors with the default 1."""


class ConstrainedDynamics(ConstraintKernels):
    """Dynamics of a tree with constraints and elements, traced from a machine or built by hand.

    A state is [q, v, states of elements, time, work, heat]: s, and J since the start.

    Args:
        name: for display and for the cache.
        blocks: the traced system.
        actuated: velocities with an input each, of the same name, or `<joint>/effort` of a machine, N or N m.
        unilateral: names of rows whose multiplier must not become negative, such as a wheel's normal force; a run
            stops before.
        machine: of the blocks; None: blocks without a machine, which have no outputs.
        actuation: of its joints.
        can_overturn: the machine stands on wheels.
    """

    base, audit = 'quaternion', False

    def __init__(
        self,
        name: str,
        blocks: ConstraintBlocks,
        actuated: Sequence[str] = (),
        unilateral: Sequence[str] = (),
        machine: Machine | None = None,
        actuation: Actuation = 'effort',
        can_overturn: bool = False,
    ) -> None:
        common = upright = None
        if machine is not None:
            common = {name: float(name not in ABSENT) for name in COMMON_PARAMETERS}
            base = blocks.tree.frame(machine.base.link)
            upright = blocks.state.frame_pose(base).R[2, 2] if can_overturn else None
        super().__init__(name, blocks, actuated, unilateral, common, upright)
        self.machine, self.actuation = machine, actuation
        self.stance, self.delays = None, None
        if machine is not None:
            self.input_names = (*(f'{name}/effort' for name in actuated), *blocks.inputs)
            self.delays = input_delays(machine, self.input_names)
            self.stance = stance_of(machine)

    def solver(
        self,
        start: Blocks,
        method: StepMethod = 'auto',
        stabilization: Stabilization | None = None,
        tolerance: float = RANK_TOLERANCE,
        implicit: bool = False,
    ) -> Solver:
        """Return the solver of the constraints for runs from a start, whose rank is the expected one.

        With `implicit` the solver has the Jacobian of dx/dt; its kernel is compiled at the first use.

        Raises:
            ValueError: method `operator` for dependent rows or a singular mass matrix.
        """
        rank = Subspaces(start.J, tolerance).rank
        fits = rank == self.blocks.m and definite(start.M)
        if method == 'operator' and not fits:
            raise ValueError(
                f'{self.name}: method operator expects a regular mass matrix and {self.blocks.m} independent rows, '
                f'found rank {rank}'
            )
        chosen = OPERATOR if method == 'operator' or (method == 'auto' and fits) else REDUCED
        zeta, omega = (0.0, 0.0) if stabilization is None else (stabilization.zeta, stabilization.omega)
        marks = self._drives, self.blocks.holonomic, self._pressing
        settings = tolerance, zeta, omega
        key = (rank, chosen, *settings, implicit)
        if key not in self._solvers:  # a solver has no state and takes some milliseconds to make
            derivatives = self.implicit if implicit else None
            self._solvers[key] = Solver(
                self.module,
                self._sizes,
                marks,
                self._moving,
                self.blocks.row_names,
                rank,
                chosen,
                settings,
                derivatives,
            )
        return self._solvers[key]

    @cached_property
    def _solvers(self) -> dict[tuple[float, ...], Solver]:
        return {}

    def rhs(self, x: Array, u: Array, p: Array) -> Array:
        """Return dx/dt (n,) at a state, without stabilization; NaN if it is undefined."""
        return self.solver(self.blocks_at(x, u, p)).rates(x, u, p)

    def jacobians(self, x: Array, u: Array, p: Array) -> tuple[Array, Array]:
        """Return the exact partial derivatives of dx/dt by x (n, n) and u (n, k), without stabilization."""
        return self.solver(self.blocks_at(x, u, p), implicit=True).jacobians(x, u, p)

    @cached_property
    def _observed(self) -> ConstrainedOutputs | None:
        return None if self.machine is None else ConstrainedOutputs(self.machine, self.blocks)

    @cached_property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return () if self._observed is None else tuple(self._observed.names)

    def traced_outputs(
        self, names: Sequence[str], a: Expression, multipliers: Expression, tau: Expression
    ) -> Expression:
        """Return selected outputs as expressions of the blocks, accelerations, multipliers and generalized efforts."""
        assert self._observed is not None
        return self._observed.traced(names, a, multipliers, tau)

    def outputs_of(self, x: Array, u: Array, p: Array, a: Array, multipliers: Array) -> Array:
        """Return the outputs at a state from its accelerations (nv,) and multipliers (m,)."""
        if self._observed is None:
            return np.zeros(0)
        nq, nv = self.nq, self.nv
        return self._observed.evaluate(x[:nq], x[nq : nq + nv], a, multipliers, self.efforts(u), self.numbers(p, x))

    def outputs(self, x: Array, u: Array, p: Array) -> Array:
        """Return all outputs at a state, in the order of `output_names`, without stabilization."""
        return self.outputs_of(x, u, p, *self.solver(self.blocks_at(x, u, p)).solution(x, u, p))

    def efforts(self, u: Array) -> Array:
        """Return the efforts (nv,) of the inputs along the velocities."""
        tau = np.zeros(self.nv)
        tau[self.driven_indices] = u[: len(self.actuated)]
        return tau

    @cached_property
    def _monitor(self) -> ca.Function:
        blocks, rows = self.blocks, self.blocks.rows
        momentum = blocks.state.momentum
        about_origin = momentum.n + ca.cross(blocks.state.center_of_mass, momentum.f)
        slip = ca.mtimes(rows.jacobian, blocks.v) - rows.sigma
        outputs = [ca.vertcat(about_origin, momentum.f), rows.residual, slip]
        return ca.Function('monitor', [blocks.q, blocks.v, blocks.parameters.vector], outputs)

    def monitor(self, states: Array, p: Array) -> dict[str, Array]:
        """Return momentum, residual and slip, (t, ...) each, at states (t, n) with parameters (k,)."""
        numbers = np.array([self.numbers(p, x) for x in states]).T
        results = self._monitor(states[:, : self.nq].T, states[:, self.nq : self.nq + self.nv].T, numbers)
        names = ('momentum', 'residual', 'slip')
        return {name: np.array(part).T.reshape(len(states), -1) for name, part in zip(names, results)}

    def guarded(self, x: Array) -> tuple[str, str]:
        """Return status and reason of a run that the guard ended at a state."""
        assert self.machine is not None
        return OVERTURNED, tilted_beyond(self.machine, x)

    def trouble(self, x: Array, u: Array, p: Array) -> str:
        """Return the condition number of the constraints and their weakest row as text; '' without constraints."""
        if not self.blocks.m:
            return ''
        spaces = Subspaces(self.blocks_at(x, u, p).J)
        row = self.blocks.row_names[spaces.weakest_row]
        return f'condition number {spaces.condition:.3g} of the constraints, {row} the nearest to depend on others'

    def conditions(self, states: Array, u: Array, p: Array) -> Array:
        """Return the condition number (t,) of the independent rows at states (t, n) with inputs (t, k)."""
        return np.array([Subspaces(self.blocks_at(x, inputs, p).J).condition for x, inputs in zip(states, u)])

    def solver_from(self, x: Array, u: Array, p: Array, settings: Settings) -> Solver:
        """Return the solver of the constraints for runs from a state."""
        start, tolerance, stabilization = self.blocks_at(x, u, p), settings.rank_tolerance, settings.stabilization
        if tolerance is None:
            tolerance = RANK_TOLERANCE if self.machine is None else min(NEARNESS, 0.1 / Subspaces(start.J).condition)
        if stabilization is not None and settings.method in FIXED:
            stabilization = stabilization.bounded(settings.step)
        return self.solver(start, settings.solve, stabilization, tolerance, settings.method == 'rodas3')

    @property
    def switches(self) -> bool:
        """Whether the system has discrete states."""
        return bool(self.blocks.discrete.any())

    def guard_limit(self, settings: Settings) -> float:
        """Return the least permitted cosine of the tilt in a run."""
        guarded = self.machine is not None and settings.stop_at_overturn
        return float(np.cos(self.machine.overturn_angle)) if self.machine is not None and guarded else NO_GUARD

    @property
    def scales(self) -> dict[str, float]:
        """Typical magnitudes of states by name, if not 1."""
        return {state.name: state.scale for state in self.blocks.element_states} | dict.fromkeys(BOOKS, WORK_SCALE)
