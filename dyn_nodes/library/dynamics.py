"""Rigid-body dynamics of a machine for one state or many."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.library.carried import Conditions, State, warn
from dyn_nodes.library.checked import checked_kernels
from dyn_nodes.library.notice import shown
from dyn_nodes.library.vectors import Coordinates, checked_name, each_row, rows_of, together, whole
from dyn_nodes.model.machine import Machine as MachineData
from dyn_nodes.multibody.rigid_body import RigidBodyModel
from dyn_nodes.simulation.assembly import gravity_vector

UNFIT = (TypeError, ValueError, IndexError)
"""Errors of a compiled function for other types or lengths, and of the first element of an empty result."""


class Dynamics:
    """Dynamics of the rigid bodies of a machine and their joints, without wheel springs, friction and oil.

    Every method accepts single vectors (n,) or rows (t, n); results have one leading dimension more for rows. A single
    vector together with rows applies to every row. Positions q are (nq,) in the order of `position_names`; velocities,
    accelerations and generalized forces are (nv,) in the order of `velocity_names`. A free base comes first: x, y, z,
    m, and quaternion x, y, z, w in the world. Its velocity [angular; linear] and force [moment; force] are in axes of
    the base. If the base can move, the joints alone (nj,) suffice: the base is then level, at rest and without force.

    SI units. Created by `Machine.dynamics`.

    Attributes:
        position_names: of q, in order.
        velocity_names: of v, in order.
        gravity_vector: (3,) in the world, m/s2.
        payload: mass in the implement, kg.
        conditions: payload and slope.

    Raises:
        ValueError: in every method, for another shape, elements that are not real numbers, a number that is not
            finite, or numbers so large that the result is not finite.
    """

    def __repr__(self) -> str:
        sizes = f'{len(self.position_names)} positions, {len(self.velocity_names)} velocities'
        return f'<dynamics of {self._owner}: {sizes}; {self.conditions}>'

    def __init__(self, machine: MachineData, conditions: Conditions) -> None:
        gravity, payload = gravity_vector(machine.gravity, conditions.slope), conditions.payload
        self.conditions = conditions
        with shown('dynamics'):
            self._model = model = RigidBodyModel(machine)
        self._machine, self._owner = machine, machine.name
        self.position_names, self.velocity_names = model.position_names, model.velocity_names
        self.gravity_vector, self.payload = np.array(gravity), payload
        self._p = np.array([*gravity, payload])
        joints = len(machine.movable_joints)
        base = model.nq - joints if not machine.loads else 0
        self._positions = Coordinates(model.position_names, joints if base else model.nq, model.neutral()[:base])
        self._velocities = Coordinates(
            model.velocity_names, joints if base else model.nv, np.zeros(model.nv - joints if base else 0)
        )
        self._nv, self._constrained = model.nv, machine.needs_constraints
        with shown('dynamics'):
            kernels = checked_kernels(machine)
        self._mass_matrix, self._gravity, self._bias = kernels.mass_matrix, kernels.gravity, kernels.bias
        self._inverse, self._forward = kernels.inverse, _not_of_a_tree if self._constrained else kernels.forward

    # Methods called in inner loops try the compiled function first: it checks types and lengths, and the first element
    # of its result is finite only if all inputs and results are. All other inputs are handled by `_kernel` and `_rows`.

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return the mass matrix M (nv, nv), or (t, nv, nv), by composite rigid bodies (Featherstone 2008, 6.2)."""
        n = self._nv
        matrix = np.empty((n, n))
        if type(q) is State:
            self._compare(q)
        try:
            self._mass_matrix(q, self._p, matrix.ravel())
            if isfinite(matrix[0, 0]):
                return matrix
        except UNFIT:
            pass
        flat = self._kernel('mass_matrix', n * n, q=self._q(q))
        return flat.reshape(*flat.shape[:-1], n, n)

    def gravity(self, q: ArrayLike) -> Array:
        """Return the generalized forces (nv,) that hold the machine against gravity at rest."""
        forces = np.empty(self._nv)
        if type(q) is State:
            self._compare(q)
        try:
            self._gravity(q, self._p, forces)
            if isfinite(forces[0]):
                return forces
        except UNFIT:
            pass
        still = np.zeros(self._nv)
        return self._kernel('inverse_dynamics', self._nv, q=self._q(q), v=still, a=still)

    def bias(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the generalized forces (nv,) at zero acceleration: centrifugal, Coriolis and gravity."""
        forces = np.empty(self._nv)
        if type(q) is State:
            self._compare(q)
        try:
            self._bias(q, v, self._p, forces)
            if isfinite(forces[0]):
                return forces
        except UNFIT:
            pass
        still = np.zeros(self._nv)
        return self._kernel('inverse_dynamics', self._nv, q=self._q(q), v=self._v('v', v), a=still)

    def inverse(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return the generalized forces (nv,) of accelerations a (nv,), by recursive Newton-Euler (ibid., 5.3)."""
        forces = np.empty(self._nv)
        if type(q) is State:
            self._compare(q)
        try:
            self._inverse(q, v, a, self._p, forces)
            if isfinite(forces[0]):
                return forces
        except UNFIT:
            pass
        return self._kernel('inverse_dynamics', self._nv, q=self._q(q), v=self._v('v', v), a=self._v('a', a))

    def forward(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Array:
        """Return the accelerations (nv,) of generalized forces tau (nv,), by articulated bodies (ibid., 7.3).

        Constraints of the machine (loops, rolling wheels, locks) are enforced: their forces are solved together with
        the accelerations. q and v must satisfy them.

        Raises:
            ValueError: a shape or number as above; constraints that do not determine the accelerations.
        """
        accelerations = np.empty(self._nv)
        if type(q) is State:
            self._compare(q)
        try:
            self._forward(q, v, tau, self._p, accelerations)
            if isfinite(accelerations[0]):
                return accelerations
        except UNFIT:
            pass
        q, v, tau = self._q(q), self._v('v', v), self._v('tau', tau)
        if self._constrained:
            return self._rows(self._solved, q=q, v=v, tau=tau)
        return self._kernel('forward_dynamics', self._nv, q=q, v=v, tau=tau)

    def energy(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return kinetic and potential energy (2,), J; the potential is zero with all masses at the world's origin."""
        return self._kernel('energy', 2, q=self._q(q), v=self._v('v', v))

    def momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return angular momentum about the centre of mass, kg m2/s, and linear momentum, kg m/s (6,), world axes."""
        return self._kernel('momentum', 6, q=self._q(q), v=self._v('v', v))

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Return the centre of mass (3,) of machine and payload in the world, m."""
        return self._kernel('center_of_mass', 3, q=self._q(q))

    def pose(self, link: str, q: ArrayLike, point: ArrayLike | None = None) -> Array:
        """Return the pose (4, 4) of a link in the world.

        Args:
            link: name.
            q: positions.
            point: (3,) in axes of the link, whose position is in the result, m; None: the link's origin.

        Raises:
            KeyError: no such link.
        """
        self._link(link)
        arm = self._point(point)

        def pose(row: Array) -> Array:
            result = np.array(self._model.link_pose(link, row))
            result[:3, 3] += result[:3, :3] @ arm
            return result

        with shown('dynamics'):
            return self._rows(pose, q=self._q(q))

    def jacobian(self, link: str, q: ArrayLike, point: ArrayLike | None = None) -> Array:
        """Return the Jacobian (6, nv) of a point of a link, [angular; linear] in world axes.

        Args:
            link: name.
            q: positions.
            point: (3,) in axes of the link, m; None: the link's origin.

        Raises:
            KeyError: no such link.
        """
        self._link(link)
        arm = self._point(point)

        def jacobian(row: Array) -> Array:
            result = np.array(self._model.jacobian(link, row))
            if arm.any():
                lever = np.asarray(self._model.link_pose(link, row))[:3, :3] @ arm
                result[3:] += np.cross(result[:3].T, lever).T
            return result

        with shown('dynamics'):
            return self._rows(jacobian, q=self._q(q))

    # -- one or many ---------------------------------------------------------------------------------------------------

    def _q(self, q: ArrayLike) -> Array:
        if isinstance(q, State):
            self._compare(q)
        return whole(self._owner, 'q', q, self._positions)

    def _compare(self, q: State) -> None:
        """Warn if a state was computed with another payload or slope than these dynamics."""
        conditions = q.conditions
        if conditions is not None and conditions != self.conditions:
            warn(f'{self._owner}: dynamics with {self.conditions}; found a state with: {conditions}')

    def _v(self, name: str, v: ArrayLike) -> Array:
        return whole(self._owner, name, v, self._velocities)

    def _point(self, point: ArrayLike | None) -> Array:
        if point is None:
            return np.zeros(3)
        arm = rows_of(self._owner, 'point', point, ('x', 'y', 'z'))
        if arm.ndim != 1:
            raise ValueError(f'{self._owner}: point: expected shape (3,); found {arm.shape}')
        return arm

    def _link(self, link: str) -> None:
        checked_name(self._owner, 'link', link, tuple(self._model.tree.frames))

    def _kernel(self, name: str, size: int, **inputs: Array) -> Array:
        """Return the checked result (size,) or (t, size) of a compiled function of the inputs and the parameters."""
        return self._finite(self._called(name, size, **inputs), inputs)

    def _finite(self, result: Array, inputs: Mapping[str, Array]) -> Array:
        """Return the result. Raises ValueError if it is not finite because the inputs are too large."""
        if not np.isfinite(result).all():
            largest = ', '.join(f'{name} up to {np.abs(array).max():g}' for name, array in inputs.items() if array.size)
            raise ValueError(f'{self._owner}: expected inputs with a finite result, found {largest}')
        return result

    def _called(self, name: str, size: int, **inputs: Array) -> Array:
        kernels = self._model.kernels
        if all(array.ndim == 1 for array in inputs.values()):
            result = np.empty(size)
            getattr(kernels, name)(*inputs.values(), self._p, result)
            return result
        count, rows = together(self._owner, **inputs)
        result = np.empty((count or 0, size))
        if name in BATCHED:
            parameters = np.tile(self._p, (len(result), 1))
            getattr(kernels, f'{name}_batch')(*rows, parameters, result)
            return result
        kernel = getattr(kernels, name)
        for k, row in enumerate(zip(*rows)):
            kernel(*row, self._p, result[k])
        return result

    def _rows(self, call: Callable[..., Any], **inputs: Array) -> Array:
        count, rows = together(self._owner, **inputs)
        return self._finite(each_row(count, rows, call), inputs)

    @cached_property
    def _blocks(self) -> Any:
        from dyn_nodes.constraints import ConstraintBlocks
        from dyn_nodes.simulation.machine_rows import machine_dynamics

        rows = machine_dynamics(self._machine, 'effort').blocks.constraints  # without springs and wheels on springs
        x, y, z = self.gravity_vector
        return ConstraintBlocks(self._model.tree, rows, (), (x, y, z), self.payload)

    def _solved(self, q: Array, v: Array, tau: Array) -> Array:
        from dyn_nodes.constraints import ConstraintError, constrained_dynamics

        try:
            return np.asarray(constrained_dynamics(self._blocks, q, v, tau).acceleration)
        except np.linalg.LinAlgError:  # raised for numbers that are not finite
            return np.full(self._nv, np.nan)
        except ConstraintError as error:
            raise ValueError(f'{self._owner}: {error}') from error


BATCHED = ('forward_dynamics', 'inverse_dynamics', 'mass_matrix')


def _not_of_a_tree(*_: Any) -> None:
    """Raise TypeError: forward dynamics of a machine with constraints need its solver instead of a tree's function."""
    raise TypeError
