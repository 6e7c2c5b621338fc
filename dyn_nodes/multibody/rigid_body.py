"""Compiled rigid-body functions of a machine, for users, tests and benchmarks.

    model = RigidBodyModel(machine)
    acceleration = model.forward_dynamics(q, v, tau, model.parameters())

Vectors: q (nq,) and v, tau (nv,) in the order of `model.position_names`, `model.velocity_names`. A free base comes
first: position x, y, z (m) and quaternion x, y, z, w in the world; velocity [angular; linear] in base axes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile import CompiledModule, build_module
from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import TreeState, build_tree
from dyn_nodes.multibody import dynamics as md
from dyn_nodes.multibody.spatial import Expression
from dyn_nodes.multibody.tree import BaseForm

PARAMETERS = ('gravity_x', 'gravity_y', 'gravity_z', 'payload_mass')


class RigidBodyModel:
    """Machine code of the rigid-body algorithms of one machine.

    Every method takes vectors and returns new arrays; a wrong length raises ValueError. `parameters` (4,) are gravity
    (x, y, z) in the world, m/s2, and the payload's mass, kg. `kernels` are the compiled functions, which fill an output
    argument and do not check lengths: use them in inner loops and from other Numba code.
    """

    def __init__(self, machine: Machine, base: BaseForm = 'quaternion') -> None:
        self.machine = machine
        self.tree = build_tree(machine, base)
        self.position_names = self.tree.position_names
        self.velocity_names = self.tree.velocity_names
        self.nq, self.nv = self.tree.nq, self.tree.nv
        self.kernels = build_module(
            f'{machine.name}: rigid',
            [machine_fingerprint(machine), base],
            lambda: (_functions(machine, base), {}),
            batch=('forward_dynamics', 'inverse_dynamics', 'mass_matrix'),
        )
        self._frame_kernels: dict[tuple[str, str], Any] = {}

    def parameters(self, payload: float | None = None, gravity: tuple[float, float, float] | None = None) -> Array:
        """Return the (4,) parameter vector; by default of the machine."""
        mass = self.machine.payload.mass if self.machine.payload else 0.0
        g = gravity or (0.0, 0.0, -self.machine.gravity)
        return np.array([*g, mass if payload is None else payload])

    def neutral(self) -> Array:
        """Return the (nq,) position vector of all joints at zero and the base at the origin."""
        q = np.zeros(self.nq)
        if self.tree.free:
            q[6] = 1.0
        return q

    def _call(self, kernel: Any, size: int, **inputs: Array) -> Array:
        output = np.empty(size)
        kernel(*self._vectors(inputs), output)
        return output

    def _vectors(self, inputs: dict[str, Array]) -> list[Array]:
        """Return contiguous float64 vectors for machine code. Raises ValueError for a wrong length."""
        vectors = []
        for name, values in inputs.items():
            vector = np.ascontiguousarray(values, dtype=np.float64)
            size = {'q': self.nq, 'parameters': len(PARAMETERS)}.get(name, self.nv)
            if vector.shape != (size,):
                raise ValueError(f'{self.machine.name}: {name}: expected shape ({size},), found {vector.shape}')
            vectors.append(vector)
        return vectors

    def mass_matrix(self, q: Array, parameters: Array) -> Array:
        """Return the mass matrix M (nv, nv)."""
        return self._call(self.kernels.mass_matrix, self.nv**2, q=q, parameters=parameters).reshape(self.nv, self.nv)

    def inverse_dynamics(self, q: Array, v: Array, a: Array, parameters: Array) -> Array:
        """Return the generalized forces (nv,) for accelerations a (nv,)."""
        return self._call(self.kernels.inverse_dynamics, self.nv, q=q, v=v, a=a, parameters=parameters)

    def forward_dynamics(self, q: Array, v: Array, tau: Array, parameters: Array) -> Array:
        """Return the accelerations (nv,) under generalized forces tau (nv,), by articulated bodies."""
        return self._call(self.kernels.forward_dynamics, self.nv, q=q, v=v, tau=tau, parameters=parameters)

    def forward_dynamics_mass_matrix(self, q: Array, v: Array, tau: Array, parameters: Array) -> Array:
        """Return the accelerations (nv,) under generalized forces tau (nv,), by the factored mass matrix."""
        return self._call(self.kernels.forward_dynamics_mass_matrix, self.nv, q=q, v=v, tau=tau, parameters=parameters)

    def position_rate(self, q: Array, v: Array) -> Array:
        """Return dq/dt (nq,)."""
        return self._call(self.kernels.position_rate, self.nq, q=q, v=v)

    def energy(self, q: Array, v: Array, parameters: Array) -> tuple[float, float]:
        """Return kinetic and potential energy, J."""
        kinetic, potential = self._call(self.kernels.energy, 2, q=q, v=v, parameters=parameters)
        return float(kinetic), float(potential)

    def momentum(self, q: Array, v: Array, parameters: Array) -> Array:
        """Return (6,): angular momentum about the centre of mass and linear momentum, in world axes."""
        return self._call(self.kernels.momentum, 6, q=q, v=v, parameters=parameters)

    def center_of_mass(self, q: Array, parameters: Array) -> Array:
        """Return the centre of mass (3,) in the world, m."""
        return self._call(self.kernels.center_of_mass, 3, q=q, parameters=parameters)

    def link_pose(self, link: str, q: Array) -> Array:
        """Return the (4, 4) pose of a link in the world."""
        flat = self._call(self._frame_kernel('pose', link), 12, q=q)
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = flat[:9].reshape(3, 3, order='F'), flat[9:]
        return pose

    def jacobian(self, link: str, q: Array) -> Array:
        """Return the (6, nv) Jacobian of a link's origin: [angular; linear] velocity in world axes."""
        return self._call(self._frame_kernel('jacobian', link), 6 * self.nv, q=q).reshape(6, self.nv, order='F')

    def jacobian_rate_times_velocity(self, link: str, q: Array, v: Array) -> Array:
        """Return dJ/dt v (6,), world axes."""
        return self._call(self._frame_kernel('jacobian_rate', link), 6, q=q, v=v)

    def forward_dynamics_derivatives(
        self, q: Array, v: Array, tau: Array, parameters: Array
    ) -> tuple[Array, Array, Array]:
        """Return the exact partial derivatives of the accelerations by q (nv, nq), v (nv, nv) and tau (nv, nv)."""
        blocks = [np.empty(self.nv * n) for n in (self.nq, self.nv, self.nv)]
        vectors = self._vectors({'q': q, 'v': v, 'tau': tau, 'parameters': parameters})
        self._derivative_kernels.derivatives(*vectors, *blocks)
        dq, dv, dt = (b.reshape(self.nv, n, order='F') for b, n in zip(blocks, (self.nq, self.nv, self.nv)))
        return dq, dv, dt

    @cached_property
    def _derivative_kernels(self) -> CompiledModule:
        return build_module(
            f'{self.machine.name}: derivatives',
            [machine_fingerprint(self.machine), str(self.position_names)],
            lambda: (_derivative_functions(self.machine, 'quaternion' if self.tree.free else 'virtual_chain'), {}),
        )

    def _frame_kernel(self, kind: str, link: str) -> Any:
        if (kind, link) not in self._frame_kernels:
            self.tree.frame(link)
            module = build_module(
                f'{self.machine.name}: frame',
                [machine_fingerprint(self.machine), str(self.position_names), link],
                lambda: (_frame_functions(self.tree, link), {}),
            )
            for name in ('pose', 'jacobian', 'jacobian_rate'):
                self._frame_kernels[name, link] = getattr(module, name)
        return self._frame_kernels[kind, link]


class _Symbols:
    """Inputs of the traced functions."""

    def __init__(self, tree: Any) -> None:
        self.q, self.v = ca.SX.sym('q', tree.nq), ca.SX.sym('v', tree.nv)
        self.a, self.tau = ca.SX.sym('a', tree.nv), ca.SX.sym('tau', tree.nv)
        self.parameters = ca.SX.sym('p', len(PARAMETERS))
        self.gravity, self.payload = self.parameters[0:3], self.parameters[3]
        self.state = TreeState(tree, self.q, self.v, self.payload)


def _function(name: str, inputs: list[Expression], output: Expression) -> ca.Function:
    return ca.Function(name, inputs, [ca.densify(ca.vec(output))])


def _functions(machine: Machine, base: BaseForm) -> dict[str, ca.Function]:
    s = _Symbols(build_tree(machine, base))
    state, qvp = s.state, [s.q, s.v, s.parameters]
    momentum = state.momentum
    outputs: dict[str, Callable[[], tuple[list[Expression], Expression]]] = {
        'mass_matrix': lambda: ([s.q, s.parameters], md.mass_matrix(state)),
        'inverse_dynamics': lambda: ([s.q, s.v, s.a, s.parameters], md.inverse_dynamics(state, s.a, s.gravity)),
        'forward_dynamics': lambda: ([s.q, s.v, s.tau, s.parameters], md.forward_dynamics(state, s.tau, s.gravity)),
        'forward_dynamics_mass_matrix': lambda: (
            [s.q, s.v, s.tau, s.parameters],
            md.forward_dynamics_mass_matrix(state, s.tau, s.gravity),
        ),
        'position_rate': lambda: ([s.q, s.v], state.position_rate),
        'energy': lambda: (qvp, ca.vertcat(state.kinetic_energy, state.potential_energy(s.gravity))),
        'momentum': lambda: (qvp, momentum.stacked()),
        'center_of_mass': lambda: ([s.q, s.parameters], state.center_of_mass),
    }
    return {name: _function(name, *make()) for name, make in outputs.items()}


def _derivative_functions(machine: Machine, base: BaseForm) -> dict[str, ca.Function]:
    s = _Symbols(build_tree(machine, base))
    acceleration = md.forward_dynamics(s.state, s.tau, s.gravity)
    blocks = [ca.densify(ca.vec(ca.densify(ca.jacobian(acceleration, x)))) for x in (s.q, s.v, s.tau)]
    return {'derivatives': ca.Function('derivatives', [s.q, s.v, s.tau, s.parameters], blocks)}


def _frame_functions(tree: Any, link: str) -> dict[str, ca.Function]:
    s = _Symbols(tree)
    frame = tree.frame(link)
    pose = s.state.frame_pose(frame)
    return {
        'pose': _function('pose', [s.q], ca.vertcat(ca.vec(pose.R), pose.p)),
        'jacobian': _function('jacobian', [s.q], s.state.jacobian(frame)),
        'jacobian_rate': _function('jacobian_rate', [s.q, s.v], s.state.jacobian_rate_times_velocity(frame)),
    }
