"""Minimal equations of a constrained system at one state, and their solutions (saha-1991, 3.29, 3.44)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.independent import Partition
from dyn_nodes.studies.formulations.pair_wrenches import ConstraintWrenches, recovered


@dataclass(frozen=True, eq=False)
class StackedBodies:
    """Traced quantities of all bodies and rows as numbers at one state: r bodies, nv joint rates, m rows.

    Attributes:
        tree, tree_rate: (6 r, nv) twists per joint rate, and its derivative by time.
        tree_bias: (6 r,) rates of the twists at zero joint accelerations.
        central: (r, 3, 3) inertias about the mass centres, kg m2.  masses: (r,) kg.
        gravity: (3,) m/s2.
        pushed: (6 r,) wrenches of springs, dampers and tyres.
        per_effort: (6 r, nv) wrenches of unit joint efforts.
        J, J_rate: (m, nv) constraint rows on the joint rates, and their derivative by time.
        gamma, sigma: (m,) J a = gamma, J v = sigma.
    """

    tree: Array
    tree_rate: Array
    tree_bias: Array
    central: Array
    masses: Array
    gravity: Array
    pushed: Array
    per_effort: Array
    J: Array
    J_rate: Array
    gamma: Array
    sigma: Array

    def weighed(self, motions: Array) -> Array:
        """Return M X (6 r, k) of twists or their rates X (6 r, k), body by body: M is block diagonal."""
        X = motions.reshape(len(self.masses), 6, -1)
        parts = [self.central @ X[:, :3], self.masses[:, None, None] * X[:, 3:]]
        return np.concatenate(parts, axis=1).reshape(motions.shape)

    def inertia_rates(self, v: Array) -> Array:
        """Return Omega I - I Omega (r, 3, 3) of every body at joint rates v (nv,): the nonzero blocks of dM/dt."""
        omega = (self.tree @ v).reshape(-1, 6)[:, :3]
        turn = np.cross(omega[:, None, :], np.eye(3)).transpose(0, 2, 1)
        return np.asarray(turn @ self.central - self.central @ turn)

    def turned(self, motions: Array, rates: Array) -> Array:
        """Return dM/dt X (6 r, k) of twists X (6 r, k), with the `inertia_rates`."""
        X = motions.reshape(len(self.masses), 6, -1)
        return np.concatenate([rates @ X[:, :3], np.zeros_like(X[:, 3:])], axis=1).reshape(motions.shape)

    @property
    def weight(self) -> Array:
        """(6 r,) weights as wrenches."""
        forces = self.masses[:, None] * self.gravity
        return np.hstack([np.zeros_like(forces), forces]).ravel()


class RowsOfTwists(Protocol):
    """Source of the constraint rows on bodies; used only for wrenches."""

    @property
    def system(self) -> ConstraintBlocks:
        """The traced system."""

    def constraints_on_bodies(self, q: Array, p: Array) -> tuple[Array, Array]:
        """Return A of the constraints (m, 6 r) and the mass centres of the bodies (r, 3), m."""


@dataclass(frozen=True, eq=False)
class MinimalEquations:
    """The minimal equations at one state: I a_I = C v_I + tau_I + gravity + elements + driven (3.29).

    r bodies, n independent rates, nv joint rates, m constraint rows. World axes, mass centres.

    Attributes:
        formulation: of these equations.
        q: (nq,) positions.  v: (nv,) all rates, dependent ones from the independent ones.  p: parameters.
        partition: which rates are independent.
        N: (nv, n) all joint rates per independent rate, [1; U] in the order of the velocities (3.37).
        N_rate: (nv, n) dN/dt.
        T: (6 r, n) twists per independent rate (3.39).  T_rate: (6 r, n) dT/dt (3.40).
        inertia: (n, n) I = T^T M T + N^T A N, A the diagonal matrix of reflected rotor inertias.
        convective: (n, n) C = -T^T (M dT/dt + dM/dt T) - N^T A dN/dt.
        gravity, elements: (n,) of the weights, and of springs, dampers and tyres.
        driven: (n,) of motions that constraints prescribe in time; zero for constraints at rest.
        start: (nv,) joint accelerations at zero accelerations of the independent rates.
        parts: traced quantities of all bodies and rows.
    """

    formulation: RowsOfTwists
    q: Array
    v: Array
    p: Array
    partition: Partition
    N: Array
    N_rate: Array
    T: Array
    T_rate: Array
    inertia: Array
    convective: Array
    gravity: Array
    elements: Array
    driven: Array
    start: Array
    parts: StackedBodies

    @property
    def independent(self) -> tuple[str, ...]:
        """Names of the independent rates, in the order of the minimal equations."""
        return tuple(self.formulation.system.tree.velocity_names[k] for k in self.partition.independent)

    @property
    def independent_rates(self) -> Array:
        """(n,) v_I."""
        return self.v[list(self.partition.independent)]

    @property
    def twists(self) -> Array:
        """(6 r,) of all bodies."""
        return np.asarray(self.parts.tree @ self.v)

    def efforts(self, tau: ArrayLike) -> Array:
        """Return T^T w of joint efforts tau (nv,): the efforts along the independent rates, N or N m."""
        return np.asarray(self.T.T @ (self.parts.per_effort @ _vector('tau', tau, len(self.v))))

    def minimal_accelerations(self, tau: ArrayLike) -> Array:
        """Return the accelerations of the independent rates (n,)."""
        load = self.convective @ self.independent_rates + self.efforts(tau)
        return np.asarray(np.linalg.solve(self.inertia, load + self.gravity + self.elements + self.driven))

    def accelerations(self, tau: ArrayLike) -> Array:
        """Return the accelerations of all joints (nv,) for joint efforts tau (nv,)."""
        return np.asarray(self.N @ self.minimal_accelerations(tau) + self.start)

    def inverse_dynamics(self, accelerations: ArrayLike) -> Array:
        """Return the efforts (n,) along the independent rates for their accelerations (n,) (3.44)."""
        a = _vector('accelerations', accelerations, self.N.shape[1])
        velocity_terms = self.convective @ self.independent_rates
        return np.asarray(self.inertia @ a - velocity_terms - self.gravity - self.elements - self.driven)

    def twist_rates(self, accelerations: ArrayLike) -> Array:
        """Return dt/dt (6 r,) for accelerations of all joints (nv,)."""
        return np.asarray(self.parts.tree @ _vector('a', accelerations, len(self.v)) + self.parts.tree_bias)

    def wrenches(self, tau: ArrayLike) -> ConstraintWrenches:
        """Return the wrenches of joints and constraints under joint efforts tau (nv,) (spec 2.12)."""
        parts = self.parts
        turning = parts.turned(self.twists, parts.inertia_rates(self.v))
        accelerations = self.accelerations(tau)
        motion = parts.weighed(self.twist_rates(accelerations)) + turning
        efforts = _vector('tau', tau, len(self.v)) - self.formulation.system.tree.armatures * accelerations
        working = parts.weight + parts.pushed + parts.per_effort @ efforts
        rows, centres = self.formulation.constraints_on_bodies(self.q, self.p)
        return recovered(self.formulation.system, rows, parts.tree, centres, motion - working)


def _vector(name: str, values: ArrayLike, size: int) -> Array:
    vector = np.asarray(values, dtype=np.float64)
    if vector.shape != (size,):
        raise ValueError(f'expected {name} of {size} numbers, found shape {vector.shape}')
    return vector
