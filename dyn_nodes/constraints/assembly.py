"""Initial states: positions that close loops from a rough guess, velocities projected onto the allowed ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import lsq_linear
from scipy.spatial.transform import Rotation

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.errors import AssemblyError, BeyondLimitsError, ContradictoryConstraintsError
from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.constraints.solve import motion_mass
from dyn_nodes.multibody import Tree

CLOSED = 1e-12
"""Residual at which a loop counts as closed, m or rad, relative to 1 plus the size of the position."""
ITERATIONS = 200
"""Greatest number of steps to close loops."""
OVERRUN = 1e-7
"""Distance beyond a limit within which a joint counts as at the limit, rad or m."""


def moved(tree: Tree, q: ArrayLike, step: ArrayLike) -> Array:
    """Return the position after a displacement (nv,) along the generalized velocities; quaternions stay unit."""
    result = np.array(q, dtype=np.float64)
    change = np.asarray(step, dtype=np.float64)
    for body in tree.bodies:
        if body.kind != 'free':
            result[body.q] += change[body.v]
            continue
        turn = Rotation.from_quat(result[body.q + 3 : body.q + 7])
        result[body.q : body.q + 3] += turn.apply(change[body.v + 3 : body.v + 6])
        result[body.q + 3 : body.q + 7] = (turn * Rotation.from_rotvec(change[body.v : body.v + 3])).as_quat()
    return result


def gaps(system: ConstraintBlocks, residual: Array) -> dict[str, float]:
    """Return the greatest residual of every constraint by name, m or rad."""
    return {name: float(np.abs(residual[rows]).max(initial=0.0)) for name, rows in system.slices.items()}


def assemble(
    system: ConstraintBlocks,
    guess: ArrayLike,
    p: ArrayLike | Mapping[str, float] | None = None,
    held: Sequence[str] = (),
    iterations: int = ITERATIONS,
) -> Array:
    """Return a position (nq,) near a guess that closes every loop.

    Levenberg-Marquardt on the residuals of the holonomic rows, with least steps: joints that need not move stay.

    Args:
        system: blocks of the tree and its constraints.
        guess: (nq,) rough position.
        p: parameters, see `ConstraintBlocks.numbers`.
        held: names of velocities whose coordinates stay as they are.
        iterations: greatest number of steps.

    Raises:
        AssemblyError: loops stay open; names them and their gaps.
    """
    return _closed(system, guess, p, held, iterations)


def _closed(
    system: ConstraintBlocks,
    guess: ArrayLike,
    p: ArrayLike | Mapping[str, float] | None,
    held: Sequence[str],
    iterations: int,
    limits: Mapping[str, tuple[float, float]] | None = None,
) -> Array:
    """Return the position of `assemble`; with limits of joints by velocity name, each step ends within them."""
    q = np.array(guess, dtype=np.float64)
    movable = np.array([name not in held for name in system.tree.velocity_names])
    for name in held:
        system.tree.velocity_index(name)
    holonomic = system.holonomic
    blocks = system.at(q, None, p)
    error = blocks.residual[holonomic]
    damping = 1e-3
    for _ in range(iterations):
        if np.abs(error).max(initial=0.0) <= CLOSED * (1 + np.abs(q).max(initial=0.0)):
            return q
        J = blocks.J[np.ix_(holonomic, movable)]
        step, weight = np.zeros(system.tree.nv), max(damping * np.linalg.norm(error), np.finfo(float).tiny)
        if limits is None:
            # least-norm step of the damped problem: also defined if rows depend on each other or cannot move
            U, values, Vt = np.linalg.svd(J, full_matrices=False)
            step[movable] = -Vt.T @ (values / (values**2 + weight) * (U.T @ error))
        else:
            rows, bounds = (
                np.vstack([J, np.sqrt(weight) * np.eye(J.shape[1])]),
                _step_bounds(system.tree, q, limits)[:, movable],
            )
            step[movable] = lsq_linear(rows, -np.append(error, np.zeros(J.shape[1])), bounds, method='bvls').x
        trial = moved(system.tree, q, step)
        tried = system.at(trial, None, p)
        new = tried.residual[holonomic]
        if np.all(np.isfinite(new)) and new @ new < error @ error:
            q, blocks, error, damping = trial, tried, new, max(damping * 0.1, 1e-12)
        else:
            damping *= 10
            if damping > 1e12:
                break
    open_loops = {name: gap for name, gap in gaps(system, blocks.residual).items() if gap > 1e-9}
    if not open_loops:
        return q
    listed = ', '.join(f'{name} by {gap:.4g}' for name, gap in sorted(open_loops.items(), key=lambda item: -item[1]))
    raise AssemblyError(f'cannot be closed from this position; still open (m or rad): {listed}', open_loops)


def _step_bounds(tree: Tree, q: Array, limits: Mapping[str, tuple[float, float]]) -> Array:
    """Return lower and upper bounds (2, nv) of a step along every velocity: to the limits, or infinite."""
    result = np.tile([[-np.inf], [np.inf]], tree.nv)
    for name, bounds in limits.items():
        if name in tree.velocity_names:
            at = q[tree.position_names.index(name)]
            result[:, tree.velocity_index(name)] = np.array(bounds) - at
    return result


def assemble_within(
    system: ConstraintBlocks,
    guess: ArrayLike,
    limits: Mapping[str, tuple[float, float]],
    p: ArrayLike | Mapping[str, float] | None = None,
    held: Sequence[str] = (),
) -> Array:
    """Return a position (nq,) near a guess that closes every loop with joints within their limits.

    Joints that leave their limits are held at the limit, one after the other, and the others move. If that does not
    close the loops, all joints move together within their limits. Joints held at the guess stay there, even beyond
    their limits.

    Args:
        system: blocks of the tree and its constraints.
        guess: (nq,) rough position.
        limits: lower and upper limit of joints by name, rad or m.
        p: parameters, see `ConstraintBlocks.numbers`.
        held: names of velocities whose coordinates stay as they are.

    Raises:
        AssemblyError: loops stay open.
        BeyondLimitsError: they close only with a joint beyond its limits.
    """
    names, start = system.tree.position_names, np.array(guess, dtype=np.float64)
    joints = [name for name in limits if name in names and name not in held]
    indices = [names.index(name) for name in joints]
    least, most = np.array([limits[name] for name in joints]).reshape(-1, 2).T
    kept = list(held)
    first: BeyondLimitsError | None = None
    while True:
        try:
            q = assemble(system, start, p, kept)
        except AssemblyError:
            if first is None:
                raise
            return _between(system, guess, {name: limits[name] for name in joints}, p, held, first)
        excess = np.maximum(least - q[indices], q[indices] - most)
        if excess.max(initial=0.0) <= OVERRUN:
            return q
        worst = int(np.argmax(excess))
        first = first or BeyondLimitsError(joints[worst], q[indices[worst]], least[worst], most[worst])
        kept.append(joints[worst])
        start = q.copy()
        start[indices[worst]] = np.clip(q[indices[worst]], least[worst], most[worst])


def _between(
    system: ConstraintBlocks,
    guess: ArrayLike,
    limits: Mapping[str, tuple[float, float]],
    p: ArrayLike | Mapping[str, float] | None,
    held: Sequence[str],
    failure: BeyondLimitsError,
) -> Array:
    """Return a position (nq,) that closes every loop by steps within the limits. Raises `failure` if they find none."""
    start, names = np.array(guess, dtype=np.float64), system.tree.position_names
    for name, (lower, upper) in limits.items():
        start[names.index(name)] = np.clip(start[names.index(name)], lower, upper)
    try:
        return _closed(system, start, p, held, ITERATIONS, limits)
    except AssemblyError:
        raise failure from None


def projected_velocity(
    system: ConstraintBlocks,
    q: ArrayLike,
    v: ArrayLike,
    p: ArrayLike | Mapping[str, float] | None = None,
    held: Sequence[str] = (),
) -> Array:
    """Return the velocity (nv,) that satisfies J v = sigma and is nearest to `v` in kinetic energy.

    It is the velocity after the constraints have acted instantaneously, without restitution.

    Args:
        system: blocks of the tree and its constraints.
        q: (nq,) positions.
        v: (nv,) wanted velocities.
        p: parameters, see `ConstraintBlocks.numbers`.
        held: names of velocities that are kept exactly.

    Raises:
        ContradictoryConstraintsError: no velocity satisfies the rows (and the held velocities).
        SingularMotionError: a motion that moves no mass.
    """
    wanted = np.asarray(v, dtype=np.float64)
    blocks = system.at(q, wanted, p)
    fixed = np.eye(system.tree.nv)[[system.tree.velocity_index(name) for name in held]]
    J, sigma = np.vstack([blocks.J, fixed]), np.concatenate([blocks.sigma, fixed @ wanted])
    subspaces = Subspaces(J)
    N = subspaces.motions
    particular = subspaces.pseudo_inverse @ sigma
    missed = np.abs(J @ particular - sigma).max(initial=0.0)
    if missed > 1e-9 * max(1.0, float(np.abs(sigma).max(initial=0.0))):
        worst = (*system.row_names, *held)[int(np.argmax(np.abs(J @ particular - sigma)))]
        raise ContradictoryConstraintsError(f'no velocity satisfies the constraints: {worst} is missed by {missed:.3g}')
    inertia = motion_mass(system, blocks.M, N)
    return np.asarray(particular + N @ np.linalg.solve(inertia, N.T @ blocks.M @ (wanted - particular)))
