"""The blocks of a constrained system, traced once: M a + h = tau + J^T lambda, J a = gamma, J v = sigma.

Solvers, analysis, assembly and the compiled simulation all use `ConstraintBlocks`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.rows import Constraint, Rows
from dyn_nodes.multibody import (
    Parameters,
    Tree,
    TreeState,
    bias_force,
    forward_dynamics,
    inverse_dynamics,
    mass_matrix,
)
from dyn_nodes.multibody.elements import (
    ContactElement,
    ForceElement,
    GroundPoint,
    Surface,
    external_forces,
    total_force,
)
from dyn_nodes.multibody.spatial import Expression


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks at one state, as numbers.

    Attributes:
        M: (nv, nv) mass matrix.
        h: (nv,) velocity, gravity and element forces on the left-hand side: M a + h = tau + J^T lambda.
        J, gamma, sigma, residual: (m, nv), (m,), (m,), (m,) of the rows.
    """

    M: Array
    h: Array
    J: Array
    gamma: Array
    sigma: Array
    residual: Array


class ConstraintBlocks:
    """Blocks of a tree with constraints and forces.

    Args:
        tree: bodies.
        constraints: constraints with unique names.
        forces: elements: springs, dampers, friction, wheels on springs, actuators; their states are
            `parameters.states`, their inputs are parameters, too.
        gravity: (3,) in the world, m/s2; parameters `gravity_x`, `gravity_y`, `gravity_z`.
        payload: mass at the tree's payload point, kg; parameter `payload_mass`.

    Attributes:
        row_names, holonomic: names and kinds of all rows.
        slices: rows of a constraint by its name.
        inputs: names of the inputs of the elements.
        element_states: states of the elements, in the order of `parameters.states`.
    """

    def __init__(
        self,
        tree: Tree,
        constraints: Sequence[Constraint],
        forces: Sequence[ForceElement] = (),
        gravity: Sequence[float] = (0.0, 0.0, 0.0),
        payload: float = 0.0,
    ) -> None:
        names = [part.name for part in constraints]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f'expected a unique name for every constraint, found twice: {", ".join(twice)}')
        x, y, z = (float(part) for part in gravity)
        self.tree, self.constraints, self.forces = tree, tuple(constraints), tuple(forces)
        self.parameters = Parameters((x, y, z))
        self.q, self.v = ca.SX.sym('q', tree.nq), ca.SX.sym('v', tree.nv)
        point = self.parameters.add('payload_mass', payload) if tree.payload is not None else 0.0
        self.state = TreeState(tree, self.q, self.v, point)
        parts = [constraint.rows(self.state, self.parameters) for constraint in constraints]
        self.rows = Rows.stacked(parts, tree.nv)
        self.row_names, self.holonomic = self.rows.names, np.array(self.rows.holonomic, dtype=bool)
        ends = np.cumsum([0, *(len(part.names) for part in parts)])
        self.slices = {name: slice(int(a), int(b)) for name, a, b in zip(names, ends[:-1], ends[1:])}
        self.element_states = tuple(state for force in self.forces for state in force.states)
        self._declare_elements()

    def _declare_elements(self) -> None:
        self.inputs = tuple(command.name for force in self.forces for command in force.inputs)
        for name in self.inputs:
            self.parameters.add(name, 0.0)
        for force in self.forces:
            for name, default in force.parameters.items():
                self.parameters.add(name, default)
            for state in force.states:
                self.parameters.add_state(state.name, state.start)

    @cached_property
    def applied(self) -> Expression:
        """Return (nv,) efforts of the elements along the velocities, point forces included."""
        return self._summed(total_force)

    def _summed(self, effort: Callable[[ForceElement, TreeState, Parameters], Expression]) -> Expression:
        none = ca.SX(self.tree.nv, 1)
        return ca.densify(sum((effort(force, self.state, self.parameters) for force in self.forces), none))

    @property
    def discrete(self) -> NDArray[np.bool_]:
        """Return (nz,) whether each state of the elements is discrete."""
        return np.array([state.discrete for state in self.element_states], dtype=bool)

    @cached_property
    def element_rates(self) -> Expression:
        """Return (nz,) rates of the elements' states, in the order of `parameters.states`; zero for discrete ones."""
        rates = [rate for force in self.forces for rate in force.rates(self.state, self.parameters)]
        return ca.densify(ca.vertcat(*rates, ca.SX(0, 1)))

    @cached_property
    def switched(self) -> dict[str, Expression]:
        """Return the next values of the discrete states, by name."""
        updates = (force.after_step(self.state, self.parameters) for force in self.forces)
        return {name: value for update in updates for name, value in update.items()}

    @cached_property
    def ground_points(self) -> tuple[GroundPoint, ...]:
        """Return the contact points of elements on the ground."""
        contacts = (force for force in self.forces if isinstance(force, ContactElement))
        return tuple(point for contact in contacts for point in contact.ground_points(self.state, self.parameters))

    @cached_property
    def surfaces(self) -> tuple[Surface, ...]:
        """Return the event surfaces of the elements."""
        return tuple(surface for force in self.forces for surface in force.surfaces(self.state, self.parameters))

    @property
    def m(self) -> int:
        """Return the number of rows."""
        return len(self.row_names)

    @cached_property
    def mass_matrix(self) -> Expression:
        """Return the mass matrix (nv, nv)."""
        return mass_matrix(self.state)

    @cached_property
    def bias(self) -> Expression:
        """Return (nv,) h: velocity terms and gravity less the forces of the elements."""
        at_points = external_forces(self.forces, self.state, self.parameters)
        efforts = self._summed(lambda force, state, symbols: force.generalized_force(state, symbols))
        return ca.densify(bias_force(self.state, self.parameters.gravity, at_points) - efforts)

    def residuals(self, a: Expression, multipliers: Expression) -> tuple[Expression, Expression]:
        """Return J^T lambda - M a - h (nv,) and gamma - J a (m,): zero at a solution without efforts."""
        at_points = external_forces(self.forces, self.state, self.parameters)
        needed = inverse_dynamics(self.state, a, self.parameters.gravity, at_points)
        efforts = self._summed(lambda force, state, symbols: force.generalized_force(state, symbols))
        J = self.rows.jacobian
        return ca.mtimes(J.T, multipliers) + efforts - needed, self.rows.gamma - ca.mtimes(J, a)

    @cached_property
    def potential_energy(self) -> Expression:
        """Return the potential energy of gravity and the elements, J."""
        energies = (force.potential_energy(self.state, self.parameters) for force in self.forces)
        return sum(energies, self.state.potential_energy(self.parameters.gravity))

    @cached_property
    def dissipated_power(self) -> Expression:
        """Return the power that the elements dissipate, W."""
        return sum((force.dissipated_power(self.state, self.parameters) for force in self.forces), ca.SX(0))

    @cached_property
    def supplied_power(self) -> Expression:
        """Return the power that sources supply to the elements, W."""
        return sum((force.supplied_power(self.state, self.parameters) for force in self.forces), ca.SX(0))

    @cached_property
    def _evaluate(self) -> ca.Function:
        rows = self.rows
        outputs = [self.mass_matrix, self.bias, rows.jacobian, rows.gamma, rows.sigma, rows.residual]
        return ca.Function('blocks', [self.q, self.v, self.parameters.vector], outputs)

    @cached_property
    def _response(self) -> ca.Function:
        """Return the function M^-1 f by articulated bodies at rest: order n."""
        force = ca.SX.sym('force', self.tree.nv)
        still = TreeState(self.tree, self.q, ca.SX(self.tree.nv, 1), self.state.payload_mass)
        outputs = [forward_dynamics(still, force, ca.SX(3, 1))]
        return ca.Function('response', [self.q, force, self.parameters.vector], outputs)

    def responses(self, q: Array, load: Array, J: Array, p: Array | None = None) -> tuple[Array, Array]:
        """Return M^-1 load (nv,) and M^-1 J^T (nv, m) by recursion along the tree."""
        numbers = self.numbers(p)
        columns = [np.array(self._response(q, column, numbers)).ravel() for column in (load, *J)]
        return columns[0], np.column_stack([np.zeros((self.tree.nv, 0)), *columns[1:]])

    @cached_property
    def _energies(self) -> ca.Function:
        outputs = [self.state.kinetic_energy, self.potential_energy]
        return ca.Function('energies', [self.q, self.v, self.parameters.vector], outputs)

    def at(self, q: ArrayLike, v: ArrayLike | None = None, p: ArrayLike | Mapping[str, float] | None = None) -> Blocks:
        """Return the blocks at a state.

        Args:
            q: (nq,) positions.
            v: (nv,) velocities; None: zero.
            p: (n,) parameters, or by name those that differ from their default.

        Raises:
            ValueError: a vector of another length.
        """
        nv, m = self.tree.nv, self.m
        position, velocity = self._vector('q', q, self.tree.nq), self._vector('v', np.zeros(nv) if v is None else v, nv)
        M, h, J, gamma, sigma, residual = (
            np.array(part) for part in self._evaluate(position, velocity, self.numbers(p))
        )
        return Blocks(M, h.ravel(), J.reshape(m, nv), gamma.ravel(), sigma.ravel(), residual.ravel())

    def energies(
        self, q: ArrayLike, v: ArrayLike, p: ArrayLike | Mapping[str, float] | None = None
    ) -> tuple[float, float]:
        """Return kinetic and potential energy, J."""
        kinetic, potential = self._energies(np.asarray(q, float), np.asarray(v, float), self.numbers(p))
        return float(kinetic), float(potential)

    def numbers(self, p: ArrayLike | Mapping[str, float] | None) -> Array:
        """Return the parameter vector `p`, or the defaults with some changed by name."""
        if p is None or isinstance(p, Mapping):
            return self.parameters.values(p)
        return self._vector('p', p, len(self.parameters.names))

    @staticmethod
    def _vector(name: str, values: ArrayLike, size: int) -> Array:
        vector = np.asarray(values, dtype=np.float64)
        if vector.shape != (size,):
            raise ValueError(f'expected {name} of {size} numbers, found shape {vector.shape}')
        return vector
