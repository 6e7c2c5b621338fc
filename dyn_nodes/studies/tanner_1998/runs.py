"""Runs of RM-1 by Kane's equations in independent speeds, and by all coordinates with multipliers as a check (E4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import qr

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.linear import rank_of
from dyn_nodes.studies.tanner_1998.kanes_equations import kanes_equations
from dyn_nodes.studies.tanner_1998.vehicle import SPEEDS, Robot

Torques = Callable[[float], Array]


class RunEnd(NamedTuple):
    """The end of a run.

    Attributes:
        q: (6,) x, y, yaw and the arm's angles.  u: (5,) independent speeds.
        work: of the efforts, J.
        gain: of kinetic and potential energy, J.
        lateral: greatest lateral velocity of a wheel that does not skid at the end, m/s.
    """

    q: Array
    u: Array
    work: float
    gain: float
    lateral: float


def by_kane(robot: Robot, q: Array, u: Array, torques: Torques, seconds: float, tolerance: float = 1e-10) -> RunEnd:
    """Run from x, y, yaw, arm (6,) and independent speeds (5,) under efforts (nv,) as a function of time."""
    kane = kanes_equations(robot.blocks, SPEEDS)
    yaw = robot.blocks.tree.velocity_index('yaw')

    def rates(t: float, x: Array) -> Array:
        here, tau = kane.at(robot.position(x[:6]), robot.velocity(x[6:11])), torques(t)
        moved = np.concatenate([here.u[:2], [here.v[yaw]], here.u[2:]])
        return np.concatenate([moved, here.speed_rates(tau), [tau @ here.v]])

    end = solve_ivp(rates, (0.0, seconds), [*q, *u, 0.0], 'DOP853', rtol=tolerance, atol=1e-3 * tolerance).y[:, -1]
    before, after = (kane.at(robot.position(x[:6]), robot.velocity(x[6:])) for x in (np.append(q, u), end[:11]))
    return _run_end(robot, (before.q, before.v), (after.q, after.v), end[11])


def by_multipliers(
    robot: Robot, q: Array, u: Array, torques: Torques, seconds: float, tolerance: float = 1e-10
) -> RunEnd:
    """Return the same by the mass matrix and bias of the constraint engine with multipliers."""
    blocks = robot.blocks
    nv = blocks.tree.nv
    start = kanes_equations(blocks, SPEEDS).at(robot.position(q), robot.velocity(u))
    J = start.numbers.J
    kept = qr(J.T, mode='r', pivoting=True)[1][: rank_of(J)]  # wheels of one axle repeat each other's lateral row
    empty = np.zeros((len(kept), len(kept)))

    def rates(t: float, x: Array) -> Array:
        at = blocks.at(x[:nv], x[nv : 2 * nv])
        tau, rows = torques(t), at.J[kept]
        matrix = np.block([[at.M, -rows.T], [rows, empty]])
        solved = np.linalg.solve(matrix, np.concatenate([tau - at.h, at.gamma[kept]]))
        return np.concatenate([x[nv : 2 * nv], solved[:nv], [tau @ x[nv : 2 * nv]]])

    initial = np.concatenate([start.q, start.v, [0.0]])
    end = solve_ivp(rates, (0.0, seconds), initial, 'DOP853', rtol=tolerance, atol=1e-3 * tolerance).y[:, -1]
    return _run_end(robot, (start.q, start.v), (end[:nv], end[nv : 2 * nv]), end[-1])


def _run_end(robot: Robot, before: tuple[Array, Array], after: tuple[Array, Array], work: float) -> RunEnd:
    blocks = robot.blocks
    gain = sum(blocks.energies(*after)) - sum(blocks.energies(*before))
    lateral = [k for k, name in enumerate(blocks.row_names) if name.endswith('/lateral')]
    skid = float(np.abs((blocks.at(*after).J @ after[1])[lateral]).max())
    indices = [blocks.tree.velocity_index(name) for name in SPEEDS]
    return RunEnd(robot.state(after[0]), after[1][indices], float(work), float(gain), skid)


def swinging(robot: Robot) -> Torques:
    """Return time-dependent torques on all joints and wheels, N m."""

    def torques(t: float) -> Array:
        joints = (0.5 * np.sin(3.0 * t), 18.0 + 2.0 * np.cos(2.0 * t), 4.0 + np.sin(5.0 * t))
        return robot.efforts(joints, (3.0 * np.cos(t), 2.0 * np.sin(2.0 * t)))

    return torques
