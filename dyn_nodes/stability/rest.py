"""Stable static equilibrium of a machine on springs: one search for trees and for machines with constraints.

At rest h(q, s) = S tau + J^T lambda and phi(q) = 0: h are the forces that hold the machine, s the deflections of
friction, tau the efforts of the driven joints, whose positions are fixed. The unknowns are height, roll, pitch and the
passive joints that give way. With constant deflections their potential is minimised: Newton steps that treat negative
curvature as positive lead to a minimum, never to a saddle. If the weight has a component along the ground, a second
stage adds friction by the balancing deflections of least energy. They follow from the equilibrium and not from the path
to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.equilibrium import NoEquilibriumError
from dyn_nodes.model.rotations import cross, length, matrix_of_quaternion, product, quaternion_about

BALANCED = 1e-9
"""Greatest unbalanced force of a machine at rest over its weight."""
CLOSED = 1e-11
"""Greatest residual of a closed loop, m or rad, over 1 plus the size of the position."""
CONVERGED = 1e-11
"""Greatest Newton step at convergence, m or rad."""
ROUND_OFF = 1e-11
"""Force that counts as zero, over the weight."""
FLAT = 1e-10
"""Stiffness that counts as zero, over the weight, 1/m."""
GREATEST_STEP = 0.1
"""Greatest change of a coordinate in one iteration, m or rad."""
NUDGE = 0.05
"""Displacement from an unstable equilibrium, m or rad."""
UPRIGHT = 0.8
"""Greatest tilt of a machine at rest over the tilt at which it counts as overturned."""
UP = (0.0, 0.0, 1.0)
ITERATIONS, FRICTION_ITERATIONS, HALVINGS = 150, 60, 12


class Forces(NamedTuple):
    """Forces in one position without motion.

    Attributes:
        force: (n,) holding forces along the undriven velocities, less J^T lambda; zero at rest.
        stiffness: (n, n) derivative of `force` by displacements along these velocities.
        by_deflection: (n, k) derivative of `force` by the deflections of friction.
        rows: (m, nv) J.
        gaps: (m,) residuals of the loops, m or rad; zero for rows of velocities.
        used: friction over the greatest static friction, in the order of `RestModel.used`.
    """

    force: Array
    stiffness: Array
    by_deflection: Array
    rows: Array
    gaps: Array
    used: Array


class RestModel(Protocol):
    """Interface of a machine for the search.

    Attributes:
        name: of the machine.
        weight: N.
        planar: it moves in the vertical plane.
        free: (n,) indices of the undriven velocities, base first.
        yields: (n,) True for velocities that the search changes; False for the base in the plane of the ground.
        deflections: number of deflections of friction.
        rows: number of constraints.
        anchored: the position of the base matters: constraints hold it, or the ground is not a plane.
        overturn: tilt of the base at which the machine counts as overturned, rad.
    """

    name: str
    weight: float
    planar: bool
    free: NDArray[np.intp]
    yields: NDArray[np.bool_]
    deflections: int
    rows: int
    anchored: bool
    overturn: float

    @property
    def joints(self) -> Sequence[str]:
        """(n,) names of the undriven velocities."""

    @property
    def used(self) -> Sequence[str]:
        """Names of the elements of `Forces.used`."""

    def at(self, q: Array, s: Array, multipliers: Array) -> Forces:
        """Return the forces in a position."""

    def moved(self, q: Array, step: Array) -> Array:
        """Return a position after a displacement (nv,)."""

    def objection(self, q: Array) -> str:
        """Return why a balanced position is no rest of the machine, or ''."""

    def carrying(self, q: Array) -> list[str]:
        """Return the names of the contacts that carry load."""


class Root(NamedTuple):
    """A rest: position (nq,), deflections of friction, and friction over the greatest static friction."""

    q: Array
    s: Array
    used: Array


@dataclass(frozen=True, eq=False)
class _Point:
    """A position with its forces, in coordinates of the ground; for a free base roll, pitch, yaw, x, y, z.

    Roll and pitch turn the base about axes in the ground, about which ground friction has no moment.
    """

    model: RestModel
    q: Array
    forces: Forces
    fixed_origin: bool = False

    @cached_property
    def axes(self) -> Array:
        """(n, n) velocities by coordinates."""
        T = np.eye(len(self.model.free))
        if self.model.planar:
            T[0, 2] = 0.0 if self.fixed_origin else self.q[1]
            return T
        R = matrix_of_quaternion(self.q[3:7])
        heading = np.array([R[0, 0], R[1, 0], 0.0])
        forward = heading / max(length(heading), 1e-12)
        turns = np.column_stack([forward, [-forward[1], forward[0], 0.0], [0.0, 0.0, 1.0]])
        lever = np.zeros(3) if self.fixed_origin else np.array([0.0, 0.0, self.q[2]])
        T[:3, :3] = R.T @ turns
        T[3:6, :3] = R.T @ np.array([cross(turn, lever) for turn in turns.T]).T
        T[3:6, 3:6] = R.T
        return T

    @cached_property
    def rows(self) -> Array:
        """(m, n) constraint rows by coordinates."""
        return self.forces.rows[:, self.model.free] @ self.axes

    @cached_property
    def directions(self) -> tuple[Array, Array]:
        """(n, k) displacements that give way, and (n, l) displacements that friction has to hold."""
        yields = self.model.yields
        if not len(self.forces.rows):
            return self.axes[:, yields], self.axes[:, ~yields]
        motions = null_space(self.rows)
        _, values, turn = np.linalg.svd(motions[yields])
        rank = int(np.count_nonzero(values > 1e-9))
        basis = self.axes @ motions @ turn.T
        return basis[:, :rank], basis[:, rank:]

    @cached_property
    def closing(self) -> Array:
        """(nv,) displacement that closes the loops; driven joints take part only if the others cannot close them."""
        model, rows = self.model, self.forces.rows
        step = np.zeros(rows.shape[1])
        if not len(self.forces.gaps) or not np.abs(self.forces.gaps).max():
            return step
        step[model.free] = self.axes @ np.linalg.lstsq(self.rows, -self.forces.gaps, rcond=1e-10)[0]
        left = self.forces.gaps + rows @ step
        if np.abs(left).max() > 1e-3 * np.abs(self.forces.gaps).max():
            step -= np.linalg.lstsq(rows, left, rcond=1e-10)[0]
        return step

    @property
    def closed(self) -> bool:
        """All loops are closed."""
        if not len(self.forces.gaps):
            return True
        return float(np.abs(self.forces.gaps).max(initial=0.0)) <= CLOSED * (1.0 + float(np.abs(self.q).max()))

    @cached_property
    def force(self) -> Array:
        """(n,) force after closing the loops."""
        if not len(self.forces.gaps):
            return self.forces.force
        return self.forces.force + self.forces.stiffness @ self.closing[self.model.free]

    @cached_property
    def stiffness(self) -> Array:
        """(k, k) symmetric stiffness of the displacements that give way."""
        give, _ = self.directions
        K = give.T @ self.forces.stiffness @ give
        return np.asarray(0.5 * (K + K.T))

    @cached_property
    def tilt(self) -> float:
        """Tilt of the base, rad."""
        upright = np.cos(self.q[2]) if self.model.planar else matrix_of_quaternion(self.q[3:7])[2, 2]
        return float(np.arccos(np.clip(upright, -1.0, 1.0)))


def null_space(rows: Array) -> Array:
    """Return an orthonormal basis (n, n - r) of the displacements that rows (m, n) allow."""
    _, values, Vt = np.linalg.svd(rows)
    rank = int(np.count_nonzero(values > 1e-10 * values[0])) if values.size and values[0] > 0.0 else 0
    return np.asarray(Vt[rank:].T)


@dataclass(frozen=True, eq=False)
class RestSearch:
    """The search for the rest of a machine."""

    model: RestModel

    def settle(self, guesses: Iterable[Array]) -> Root:
        """Return the first stable rest reached from the guesses (nq,).

        Raises:
            NoEquilibriumError: the machine tips over, slides, or a joint is not held.
        """
        reasons: list[str] = []
        for guess in guesses:
            for point in self._equilibria(guess):
                root = point if isinstance(point, str) else self._rest_at(point)
                if isinstance(root, Root):
                    self._check_friction(root)
                    return root
                reasons.append(root)
        raise NoEquilibriumError(f'{self.model.name}: {reasons[0] if reasons else "no posture to start from"}')

    def _equilibria(self, guess: Array) -> list[_Point | str]:
        """Return the equilibrium reached from a position; for an unstable one the equilibria on both of its sides."""
        point = self._descent(guess)
        if isinstance(point, str):
            return [point]
        values, vectors = np.linalg.eigh(point.stiffness)
        if not values.size or values[0] >= -FLAT * self.model.weight:
            return [point]
        away = np.zeros(point.forces.rows.shape[1])
        away[self.model.free] = NUDGE * point.directions[0] @ vectors[:, 0]
        return [self._descent(self._moved(point, side * away)) for side in (1.0, -1.0)]

    def _rest_at(self, point: _Point) -> Root | str:
        """Return the rest at an equilibrium without friction, or why it is none."""
        model, s = self.model, np.zeros(self.model.deflections)
        _, held = point.directions
        if np.abs(held.T @ point.force).max(initial=0.0) > ROUND_OFF * model.weight:
            rubbing = self._with_friction(point)
            if isinstance(rubbing, str):
                return rubbing
            point, s = rubbing
        values = np.linalg.eigvalsh(point.stiffness)
        if values.size and values[0] < -FLAT * model.weight:
            return BALANCES
        if point.tilt > UPRIGHT * model.overturn:
            return self._tips([point.q])
        return model.objection(point.q) or Root(point.q, s, point.forces.used)

    def _check_friction(self, root: Root) -> None:
        for name, share in zip(self.model.used, root.used):
            if share > 1.0:
                wheel = name.split('/')[0]
                raise NoEquilibriumError(f'{self.model.name}: wheel {wheel!r} slides on this slope')

    def _point(self, q: Array, s: Array, multipliers: Array) -> _Point:
        return _Point(self.model, q, self.model.at(q, s, multipliers), self.model.anchored)

    def _multipliers(self, point: _Point, multipliers: Array) -> Array:
        if not self.model.rows:
            return multipliers
        rows = point.forces.rows[:, self.model.free]
        return np.asarray(multipliers + np.linalg.lstsq(rows.T, point.forces.force, rcond=1e-10)[0])

    def _moved(self, point: _Point, step: Array) -> Array:
        """Return a position after a displacement (nv,); on a plane with the same x, y and heading."""
        q = self.model.moved(point.q, step)
        if self.model.anchored:
            return q
        if self.model.planar:
            q[0] = point.q[0]
            return q
        q[:2] = point.q[:2]
        q[3:7] = product(quaternion_about(UP, _heading(point.q) - _heading(q)), q[3:7])
        return q

    def _descent(self, q: Array) -> _Point | str:
        """Return the equilibrium without friction reached from a position, or why there is none."""
        model, s, multipliers = self.model, np.zeros(self.model.deflections), np.zeros(self.model.rows)
        point, passed = self._point(q, s, multipliers), []
        for _ in range(ITERATIONS):
            if not np.isfinite(point.forces.force).all():
                break
            passed.append(point.q)
            if point.tilt >= model.overturn:
                return self._tips(passed)
            multipliers = self._multipliers(point, multipliers)
            give, _ = point.directions
            step, force = self._newton_step(point)
            if point.closed and self._converged(step, force):
                whole = np.zeros(point.forces.rows.shape[1])
                whole[model.free] = give @ step
                return self._point(self._moved(point, whole), s, multipliers)  # the remainder is round-off
            point = self._line_search(point, give @ step, s, multipliers)
        return self._unfound(point)

    def _unfound(self, point: _Point) -> str:
        """Return why a descent did not converge, such as a joint that falls without resistance."""
        give, _ = point.directions
        if not np.isfinite(point.forces.force).all() or not np.isfinite(point.stiffness).all():
            return NO_EQUILIBRIUM
        values, vectors = np.linalg.eigh(point.stiffness)
        falls = np.where(np.abs(values) < FLAT * self.model.weight, vectors.T @ give.T @ point.force, 0.0)
        motion = np.abs(give @ vectors @ falls)
        joint = int(np.argmax(motion)) if motion.any() else 0
        return self._unsupported_joint(joint) if joint >= (3 if self.model.planar else 6) else NO_EQUILIBRIUM

    def _unsupported_joint(self, joint: int) -> str:
        return f'nothing holds joint {self.model.joints[joint]!r} in this posture'

    def _converged(self, step: Array, force: Array) -> bool:
        small = np.abs(step).max(initial=0.0) <= CONVERGED
        left = float(np.abs(force).max(initial=0.0)) / self.model.weight
        return bool(left <= BALANCED and small) or left <= 1e-2 * ROUND_OFF

    def _newton_step(self, point: _Point) -> tuple[Array, Array]:
        """Return the step (k,) to a minimum of the potential, and the force (k,)."""
        give, _ = point.directions
        force, weight = give.T @ point.force, self.model.weight
        values, vectors = np.linalg.eigh(point.stiffness)
        along = vectors.T @ force
        flat = (np.abs(values) < FLAT * weight) & (np.abs(along) < ROUND_OFF * weight)
        step = -along / np.maximum(np.abs(values), FLAT * weight)
        step[flat] = 0.0
        return vectors @ np.clip(step, -GREATEST_STEP, GREATEST_STEP), force

    def _line_search(self, point: _Point, along: Array, s: Array, multipliers: Array) -> _Point:
        """Return the point at a share of a step (n,) at which the force along it does not push back harder."""
        before = float(along @ point.force)
        share, whole = 1.0, np.zeros(point.forces.rows.shape[1])
        for _ in range(HALVINGS):
            whole[self.model.free] = share * along
            trial = self._point(self._moved(point, whole + point.closing), s, multipliers)
            after = float(along @ trial.forces.force)
            if after <= 0.5 * abs(before) or not abs(before) > ROUND_OFF * self.model.weight * np.abs(along).max():
                break
            share *= min(0.7, max(0.1, abs(before) / (abs(before) + after)))
        return trial

    def _with_friction(self, point: _Point) -> tuple[_Point, Array] | str:
        """Return the rest with the balancing friction of least energy, or why there is none."""
        model, s, multipliers = self.model, np.zeros(self.model.deflections), np.zeros(self.model.rows)
        point, passed = self._point(point.q, s, multipliers), [point.q]
        for _ in range(FRICTION_ITERATIONS):
            multipliers = self._multipliers(point, multipliers)
            step, wanted, missed = self._friction_step(point, s)
            if np.abs(missed).max(initial=0.0) > BALANCED * model.weight:
                return self._unheld(point, missed)
            change = float(max(np.abs(step).max(initial=0.0), np.abs(wanted - s).max(initial=0.0)))
            if point.closed and change <= CONVERGED:
                return point, s
            share = min(1.0, GREATEST_STEP / max(change, 1e-12))
            whole = point.closing.copy()
            whole[model.free] += share * point.directions[0] @ step
            s = s + share * (wanted - s)
            q = self._moved(point, whole)
            point = self._point(q, s, multipliers)
            if point.tilt >= model.overturn or not np.isfinite(point.forces.force).all():
                return self._tips([*passed, q])
            passed.append(q)
        return NO_EQUILIBRIUM

    def _friction_step(self, point: _Point, s: Array) -> tuple[Array, Array, Array]:
        """Return the step (k,), the deflections (d,) of least energy, and the unbalanced forces (l,)."""
        give, held = point.directions
        K, B = point.forces.stiffness, point.forces.by_deflection
        answer = np.linalg.pinv(give.T @ K @ give, rcond=1e-13) @ give.T
        through = held.T - held.T @ K @ give @ answer
        grip, pull = through @ B, through @ point.force
        ease = self._ease(point)
        wanted = ease * np.linalg.lstsq(grip * ease, grip @ s - pull, rcond=1e-10)[0] if grip.size else s
        step = -answer @ (point.force + B @ (wanted - s))
        return step, wanted, grip @ (wanted - s) + pull

    def _ease(self, point: _Point) -> Array:
        """Return (d,) one over the root of the stiffness of each deflection, zero for one without stiffness.

        Least energy: the machine shifts as a whole, and all wheels use the same share.
        """
        at_ground = point.axes.T @ point.forces.by_deflection
        along = np.linalg.norm(at_ground[[0] if self.model.planar else [3, 4]], axis=0)
        stiffness = np.where(along > 0.0, along, np.abs(at_ground).max(axis=0, initial=0.0))
        return np.where(stiffness > 0.0, 1.0 / np.sqrt(np.maximum(stiffness, 1e-300)), 0.0)

    def _tips(self, passed: Sequence[Array]) -> str:
        """Return the message that a machine tips, with the last two or more contacts that carried it on the path."""
        contacts = (self.model.carrying(q) for q in reversed(passed))
        edge = next((names for names in contacts if len(names) > 1), [])
        over = f' over {" and ".join(repr(name) for name in edge)}' if edge else ''
        return f'no resting pose on the wheels in this posture: the machine tips{over}'

    def _unheld(self, point: _Point, missed: Array) -> str:
        """Return the message for a motion that friction does not hold."""
        _, held = point.directions
        parts = np.abs(np.linalg.solve(point.axes, held) @ missed)
        worst, base = int(np.argmax(parts)), 3 if self.model.planar else 6
        joints = parts[base:]
        if worst >= base or joints.max(initial=0.0) > 0.1 * parts.max():
            return self._unsupported_joint(base + int(np.argmax(joints)))
        return 'slides on this slope: no friction holds the machine'


BALANCES = 'no stable rest in this posture: the equilibrium is unstable'
NO_EQUILIBRIUM = 'no resting pose in this posture: no equilibrium was found'


def _heading(q: Array) -> float:
    R = matrix_of_quaternion(q[3:7])
    return float(np.arctan2(R[1, 0], R[0, 0]))
