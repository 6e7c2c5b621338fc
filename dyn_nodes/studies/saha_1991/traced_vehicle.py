"""Vehicles of the engine in minimal coordinates: inverse and forward dynamics along a plan, without compilation.

Rows, mass matrix and bias are from `ConstraintBlocks`: bodies, joints and rolling contacts in space. No closed form of
the source is used. CasADi's interpreter evaluates them in some ten microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.platform_path import PlanarMotion
from dyn_nodes.studies.formulations.natural_complement import natural_orthogonal_complement
from dyn_nodes.studies.saha_1991.wheeled_vehicles import WheeledVehicle

BASE = ('x', 'y', 'yaw')


class TracedVehicle:
    """I a = efforts - bias of a vehicle on a chain of joints, in selected independent rates.

    Args:
        wheeled: the vehicle.
        independent: names of the independent rates.

    Attributes:
        names: velocities of the tree.
        free: indices of the independent ones.

    Raises:
        MethodError: the rates are not independent at rest.
    """

    def __init__(self, wheeled: WheeledVehicle, independent: Sequence[str]) -> None:
        blocks, tree = wheeled.blocks, wheeled.blocks.tree
        self.wheeled, self.names = wheeled, tuple(tree.velocity_names)
        self.free = [tree.velocity_index(name) for name in independent]
        chosen = natural_orthogonal_complement(blocks, independent).partition(wheeled.rest)
        rows, held = list(chosen.rows), list(chosen.dependent)
        rows_of = blocks.rows
        expressions = [rows_of.jacobian, rows_of.gamma, blocks.mass_matrix, blocks.bias, blocks.state.kinetic_energy]
        numbers = ca.DM(blocks.parameters.values())
        J, gamma, M, h, kinetic = (ca.substitute(e, blocks.parameters.vector, numbers) for e in expressions)
        n = len(self.free)
        N, a_0 = ca.SX(tree.nv, n), ca.SX(tree.nv, 1)
        N[self.free, :] = ca.SX.eye(n)
        N[held, :] = -ca.solve(J[rows, held], J[rows, self.free])
        a_0[held] = ca.solve(J[rows, held], gamma[rows])
        inertia, load = ca.mtimes([N.T, M, N]), ca.mtimes(N.T, ca.mtimes(M, a_0) + h)
        q, rates, tau = blocks.q, ca.SX.sym('rates', n), ca.SX.sym('tau', tree.nv)
        complement = ca.Function('complement', [q], [N])
        v = ca.mtimes(N, rates)
        a_0, load, kinetic = (ca.substitute(e, blocks.v, v) for e in (a_0, load, kinetic))
        a = ca.solve(inertia, ca.mtimes(N.T, tau) - load)
        self._parts = ca.Function('parts', [q, rates], [N, inertia, load, a_0, kinetic])
        self._complement = complement
        self._forward = ca.Function('forward', [q, rates, tau], [ca.vertcat(v, a)])
        slope = ca.jacobian(ca.substitute(a, tau, 0), ca.vertcat(q, rates))
        self._slope = ca.Function('slope', [q, rates], [ca.densify(slope)])

    def complement(self, q: ArrayLike) -> Array:
        """Return N (nv, n): all rates per independent rate."""
        return np.array(self._complement(_numbers(q)))

    def inertia(self, q: ArrayLike) -> Array:
        """Return N^T M N (n, n)."""
        return np.array(self._parts(_numbers(q), np.zeros(len(self.free)))[1])

    def efforts(self, q: ArrayLike, rates: ArrayLike, accelerations: ArrayLike) -> Array:
        """Return the efforts (n,) along the independent rates for these accelerations."""
        _, inertia, load, _, _ = (np.array(part) for part in self._parts(_numbers(q), _numbers(rates)))
        return np.asarray(inertia @ _numbers(accelerations) + load.ravel())

    def rate(self, q: ArrayLike, rates: ArrayLike, tau: ArrayLike) -> tuple[Array, Array]:
        """Return the rates of q (nv,) and the accelerations of the independent rates (n,) for joint efforts (nv,)."""
        result = np.array(self._forward(_numbers(q), _numbers(rates), _numbers(tau))).ravel()
        return result[: len(self.names)], result[len(self.names) :]

    def slope(self, q: ArrayLike, rates: ArrayLike) -> Array:
        """Return the derivatives (n, nq + n) of the accelerations without efforts by positions and rates."""
        return np.array(self._slope(_numbers(q), _numbers(rates)))

    def along(self, q: Array, velocity: Array, acceleration: Array) -> tuple[Array, Array, Array, Array, float]:
        """Return v and a (k, nv), efforts (k, n), energy (k,) and greatest constraint violation of a base motion.

        Args:
            q: (k, nq) positions.
            velocity: (k, 3) of x, y and yaw.
            acceleration: (k, 3).
        """
        indices = [self.names.index(name) for name in BASE]
        k, n = len(q), len(self.free)
        still = self._parts.map(k)(q.T, np.zeros((n, k)))
        N = np.array(still[0]).reshape(-1, k, n).transpose(1, 0, 2)
        solve = np.linalg.pinv(N[:, indices])
        v = _times(N, _times(solve, velocity))
        _, inertia, load, a_0, energy = (np.array(part) for part in self._parts.map(k)(q.T, v[:, self.free].T))
        a = _times(N, _times(solve, acceleration - a_0.T[:, indices])) + a_0.T
        efforts = _times(inertia.reshape(n, k, n).transpose(1, 0, 2), a[:, self.free]) + load.T
        missed = np.abs([v[:, indices] - velocity, a[:, indices] - acceleration]).max()
        return v, a, efforts, energy.ravel(), float(missed)


def _times(matrices: Array, vectors: Array) -> Array:
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])


def _numbers(values: ArrayLike) -> Array:
    return np.asarray(values, dtype=np.float64)


@dataclass(frozen=True)
class TracedPlan:
    """A vehicle along a planned motion of its base, sampled at k times.

    Attributes:
        free: indices of the independent rates.
        times: (k,) s.  q: (k, nq).  v, a: (k, nv).  efforts: (k, n) along the independent rates.
        energy: (k,) kinetic, J.
        missed: greatest violation of the constraints by the motion, m and rad per s or s2.
    """

    free: list[int]
    times: Array
    q: Array
    v: Array
    a: Array
    efforts: Array
    energy: Array
    missed: float

    @property
    def rates(self) -> Array:
        """(k, n) independent rates."""
        return self.v[:, self.free]

    @property
    def accelerations(self) -> Array:
        """(k, n) of the independent rates."""
        return self.a[:, self.free]

    def work(self, until: float) -> float:
        """Return the work of the efforts up to a time, J."""
        power = CubicSpline(self.times, (self.rates * self.efforts).sum(axis=1))
        return float(power.integrate(self.times[0], until))


def plan(vehicle: TracedVehicle, motion: PlanarMotion, start: dict[str, float] | None = None) -> TracedPlan:
    """Return the plan along a motion of the base: other angles integrated, efforts by inverse dynamics.

    Args:
        vehicle: traced.
        motion: of the base, densely sampled; cubic splines between the samples.
        start: nonzero initial positions, by name.
    """
    names = vehicle.wheeled.blocks.tree.position_names
    indices = [names.index(name) for name in BASE]
    turning = [k for k, name in enumerate(names) if name not in (*BASE, 'z', 'pitch', 'roll')]
    times, order = motion.times, [1, 2, 0]
    q = np.tile(vehicle.wheeled.rest, (len(times), 1))
    for name, value in (start or {}).items():
        q[0, names.index(name)] = value
    q[:, indices] = motion.pose[:, order]
    moving = CubicSpline(times, np.hstack([q[:, indices], motion.velocity[:, order]]))

    def turn(now: float, angles: Array) -> Array:
        here, now_q = moving(now), q[0].copy()
        now_q[indices], now_q[turning] = here[:3], angles
        N = vehicle.complement(now_q)
        return np.asarray((N @ np.linalg.lstsq(N[indices], here[3:], rcond=None)[0])[turning])

    span = (times[0], times[-1])
    solution = solve_ivp(turn, span, q[0, turning], method='LSODA', t_eval=times, rtol=1e-11, atol=1e-11)
    q[:, turning] = solution.y.T
    return TracedPlan(
        vehicle.free, times, q, *vehicle.along(q, motion.velocity[:, order], motion.acceleration[:, order])
    )


def driven(
    vehicle: TracedVehicle,
    course: TracedPlan,
    torques: Array,
    kept: Sequence[str],
    times: Array,
    tolerance: float,
    max_step: float,
) -> tuple[Array, Array]:
    """Return positions (k, kept) and independent rates (k, n) of a simulation under motor torques.

    Args:
        vehicle: traced.
        course: the plan; the simulation starts at its first sample.
        torques: of the motors at the times of the plan, in the order of `actuated`; cubic splines between them.
        kept: names of the positions that are integrated; no force depends on the others.
        times: (k,) s.
        tolerance: relative, of an explicit 5(4) pair; the absolute tolerance is a thousandth of it.
        max_step: s.
    """
    names, by_time = vehicle.wheeled.blocks.tree.position_names, CubicSpline(course.times, torques)
    indices, size = [names.index(name) for name in kept], len(kept)
    q = course.q[0].copy()

    def rate(now: float, state: Array) -> Array:
        q[indices] = state[:size]
        v, a = vehicle.rate(q, state[size:], vehicle.wheeled.motors(by_time(now)))
        return np.concatenate([v[indices], a])

    initial = np.concatenate([course.q[0, indices], course.rates[0]])
    solution = solve_ivp(
        rate, (times[0], times[-1]), initial, t_eval=times, rtol=tolerance, atol=1e-3 * tolerance, max_step=max_step
    )
    assert solution.success, solution.message
    return solution.y[:size].T, solution.y[size:].T
