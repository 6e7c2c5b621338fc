"""Contacts that push and never pull: which of them carry, which come off, and what a plastic impact does.

A contact has a few rows of a Jacobian, its normal one last. While it is closed all of its rows hold (it sticks, or
rolls); its normal multiplier is not negative. By Gauss's principle the closed contacts either push (lambda_n >= 0) or
come off (a_n >= 0), and in an impact likewise with impulses and velocities.

Where more contacts are closed than a body needs, as four feet of one body, the rows depend on each other and the
multipliers are not unique. Whether *some* share without a pull exists does not depend on a choice: the admissible
multipliers are a cone, and `ClosedContacts.facets` are its faces. For feet of one body on a plane these are the edges
of the support polygon, and the value of a facet is the moment about its edge over the distance of the opposite feet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.linalg import cho_factor, cho_solve, qr, solve_triangular
from scipy.optimize import nnls

from dyn_nodes.common.arrays import Array, Indices
from dyn_nodes.constraints.errors import ConstraintError
from dyn_nodes.constraints.impact import Impact, plastic_impact

DEPENDENT = 1e-9
"""Length of what is left of a row, relative to the longest one, at which it counts as dependent on the others."""
NO_PULL = 1e-9
"""Pull, relative to the greatest force of the problem, that round-off may show where there is none."""
LEAST_ACCELERATION = 1e-6
"""Acceleration into the ground, m/s2, that round-off may show where there is none."""
LEAST_SPEED = 1e-9
"""Speed into the ground, m/s, that round-off may show where there is none."""


class NoContactStateError(ConstraintError):
    """No set of contacts pushes without a pull while the others come off."""


@dataclass(frozen=True, eq=False)
class ClosedContacts:
    """Contacts that are closed together, at one state.

    Attributes:
        contacts: their indices.
        rows: (r,) independent rows among theirs; their multipliers are unique.
        facets: (f, r) these times the multipliers of `rows` are not negative where some share pushes everywhere.
        leaving: by facet, the contacts that carry nothing where it is zero, and come off beyond.
        share: (m, r) from the multipliers of `rows` to those of all rows that do the same with the least norm.
    """

    contacts: tuple[int, ...]
    rows: Indices
    facets: Array
    leaving: tuple[tuple[int, ...], ...]
    share: Array


@dataclass(frozen=True, eq=False)
class ContactProblem:
    """A machine that may stand on contacts, at one state: M a = load + J^T lambda.

    Attributes:
        M: (nv, nv) mass matrix.
        load: (nv,) generalized forces less velocity terms.
        J, gamma: (m, nv), (m,) rows of all contacts, J a = gamma while they are closed.
        places: by contact, its rows; the normal one last.
    """

    M: Array
    load: Array
    J: Array
    gamma: Array
    places: Sequence[Indices]

    def closed(self, contacts: Iterable[int]) -> ClosedContacts:
        """Return the rows and facets of contacts that are closed together."""
        chosen = tuple(contacts)
        if not chosen:
            return ClosedContacts((), np.zeros(0, np.intp), np.zeros((0, 0)), (), np.zeros((len(self.J), 0)))
        every = np.concatenate([self.places[k] for k in chosen])
        L = np.linalg.cholesky(self.M)
        spread = solve_triangular(L, self.J[every].T, lower=True)  # lengths in the metric of the masses
        _, R, order = qr(spread, mode='economic', pivoting=True)
        diagonal = np.abs(np.diag(R))
        rank = int(np.count_nonzero(diagonal > DEPENDENT * diagonal[0]))
        rows = np.sort(every[order[:rank]])
        normals = np.array([self.places[k][-1] for k in chosen])
        weights = _cone_faces(_null_space(spread, rank)[np.searchsorted(every, normals)])
        facets = np.zeros((len(weights), len(rows)))
        for place, row in enumerate(rows):
            facets[:, place] = weights[:, normals == row].sum(axis=1)
        leaving = tuple(tuple(k for k, share in zip(chosen, face) if share > 0.0) for face in weights)
        return ClosedContacts(chosen, rows, facets, leaving, self._share(every, rows, spread))

    def _share(self, every: Indices, rows: Indices, spread: Array) -> Array:
        """Every row is a combination of the independent ones, J = C J_r, so that lambda = C (C^T C)^-1 lambda_r."""
        share = np.zeros((len(self.J), len(rows)))
        combined = np.linalg.lstsq(spread[:, np.searchsorted(every, rows)], spread, rcond=None)[0].T
        share[every] = combined @ np.linalg.inv(combined.T @ combined)
        return share

    def accelerations(self, state: ClosedContacts) -> tuple[Array, Array]:
        """Return the accelerations (nv,), and the multipliers (r,) of the rows of `state`."""
        factor = cho_factor(self.M)
        free, J = cho_solve(factor, self.load), self.J[state.rows]
        spread = cho_solve(factor, J.T)
        multipliers = np.linalg.solve(J @ spread, self.gamma[state.rows] - J @ free)
        return free + spread @ multipliers, multipliers

    def goes_on(self, kept: Iterable[int], closed: Iterable[int]) -> bool:
        """Return whether contacts `kept` push, and the others of `closed` come off."""
        state = self.closed(kept)
        a, multipliers = self.accelerations(state)
        scale = max(1.0, float(np.abs(self.load).max(initial=0.0)))
        if (state.facets @ multipliers < -NO_PULL * scale).any():
            return False
        left = [int(self.places[k][-1]) for k in closed if k not in state.contacts]
        return bool((self.J[left] @ a - self.gamma[left] >= -LEAST_ACCELERATION).all())

    def carrying(self, closed: Sequence[int], leaving: Iterable[int] = ()) -> tuple[int, ...]:
        """Return those of the closed contacts that stay closed.

        Args:
            closed: contacts without speed towards or from the ground.
            leaving: contacts of the facets that have just been reached, tried first.

        Raises:
            NoContactStateError: no set of contacts pushes without a pull while the others come off.
        """
        gone = set(leaving)
        first = tuple(k for k in closed if k not in gone)
        if gone and self.goes_on(first, closed):
            return first
        for kept in _subsets(closed, largest_first=True):
            if (not gone or len(kept) < len(closed)) and self.goes_on(kept, closed):
                return kept
        raise NoContactStateError('no set of contacts pushes without a pull while the others come off')

    def shared(self, state: ClosedContacts, multipliers: Array) -> Array:
        """Return multipliers (m,) of all rows that do the same: those of least norm among which no normal one pulls.

        Where every share pulls somewhere, or the greedy choice of contacts without load fails, the least norm alone.

        Args:
            state: closed contacts.
            multipliers: (r,) of their independent rows.
        """
        result = state.share @ multipliers
        if self.pushes(state.contacts, result):
            return np.asarray(result)
        effort = self.J[state.rows].T @ multipliers
        carrying = list(state.contacts)
        least = result.copy()
        while carrying:
            every = np.concatenate([self.places[k] for k in carrying])
            found = np.linalg.lstsq(self.J[every].T, effort, rcond=DEPENDENT)[0]
            missed = np.abs(self.J[every].T @ found - effort).max(initial=0.0)
            if missed > 1e-6 * max(1.0, float(np.abs(effort).max(initial=0.0))):
                break
            result[:] = 0.0
            result[every] = found
            if self.pushes(carrying, result):
                return result
            del carrying[int(np.argmin(result[[self.places[k][-1] for k in carrying]]))]
        return least

    def pushes(self, contacts: Sequence[int], multipliers: Array) -> bool:
        """Return whether no contact pulls, given the multipliers (m,) of all rows."""
        normals = multipliers[[int(self.places[k][-1]) for k in contacts]]
        return bool(normals.min(initial=0.0) >= -NO_PULL * max(1.0, float(np.abs(multipliers).max(initial=0.0))))

    def impact(self, closed: Sequence[int], struck: Sequence[int], v: Array, rest: float) -> ContactImpact:
        """Return what happens when contacts strike the ground without restitution: Gauss's principle in velocities.

        The fewest contacts take an impulse that brings them to rest: those that strike, and of the closed ones those
        that would otherwise move into the ground. The others separate. Every finite force is without effect.

        Args:
            closed: contacts on the ground so far.
            struck: contacts that reach the ground now.
            v: (nv,) velocities before.
            rest: speed, m/s; contacts that would leave the ground more slowly stay on it.

        Contacts that stick may leave no such choice (Painleve). Then the points of all contacts stop along the ground,
        and of the normal velocities the nearest ones, in the metric of the masses, that do not enter it are taken.
        """
        touched = tuple(sorted({*closed, *struck}))
        normals = np.array([self.places[k][-1] for k in touched])
        for kept in (*_subsets(touched, within=struck), *_subsets(touched, among=struck)):
            state = self.closed(kept)
            hit = plastic_impact(self.M, self.J[state.rows], v)
            speeds = self.J[normals] @ hit.velocity
            scale = max(1.0, float(np.abs(hit.impulse).max(initial=0.0)))
            others = np.array([k not in kept for k in touched])
            if (state.facets @ hit.impulse < -NO_PULL * scale).any() or (speeds[others] < -LEAST_SPEED).any():
                continue
            slow = tuple(k for k, speed in zip(touched, speeds) if k in kept or speed <= rest)
            if len(slow) > len(kept):
                state = self.closed(slow)
                hit = plastic_impact(self.M, self.J[state.rows], v)
            return ContactImpact(slow, state.rows, hit, bool(set(kept) & set(closed)))
        return self._all_held(touched, v)

    def _all_held(self, touched: Sequence[int], v: Array) -> ContactImpact:
        """Return the velocity nearest to v with J_t v = 0 and J_n v >= 0: a projection on a cone, so energy falls."""
        normals = np.array([self.places[k][-1] for k in touched])
        along = np.concatenate([self.places[k][:-1] for k in touched])
        L = np.linalg.cholesky(self.M)
        spread = solve_triangular(L, np.vstack([self.J[normals], self.J[along], -self.J[along]]).T, lower=True)
        found, _ = nnls(spread, -L.T @ v)
        after = v + solve_triangular(L.T, spread @ found, lower=False)
        push, forth, back = np.split(found, [len(normals), len(normals) + len(along)])
        kept = tuple(k for k, speed in zip(touched, self.J[normals] @ after) if speed <= LEAST_SPEED)
        impulse = np.concatenate([push, forth - back])
        energies = 0.5 * v @ self.M @ v, 0.5 * after @ self.M @ after
        hit = Impact(after, impulse, *map(float, energies))
        return ContactImpact(kept, np.concatenate([normals, along]), hit, True)


@dataclass(frozen=True, eq=False)
class ContactImpact:
    """What a plastic impact does.

    Attributes:
        kept: contacts that are at rest on the ground after it; the others separate.
        rows: (r,) along which `hit.impulse` acts.
        hit: velocities, impulses and kinetic energies.
        double: contacts that were closed would have moved into the ground, and took an impulse, too.
    """

    kept: tuple[int, ...]
    rows: Indices
    hit: Impact
    double: bool


def _null_space(matrix: Array, rank: int) -> Array:
    """Return an orthonormal basis (m, m - rank) of the vectors that a matrix (n, m) of known rank makes zero."""
    _, _, Vt = np.linalg.svd(matrix, full_matrices=True)
    return np.asarray(Vt[rank:].T)


def _cone_faces(dependencies: Array) -> Array:
    """Return the faces (f, k) of the cone of normal multipliers: w . lambda >= 0, each w >= 0 with the sum 1.

    These are the vertices of {w >= 0, sum w = 1, w . n = 0 for every dependency n}.

    Args:
        dependencies: (k, d) normal parts of the multipliers that do nothing.
    """
    count = len(dependencies)
    if not dependencies.size:
        return np.eye(count)
    U, values, _ = np.linalg.svd(dependencies, full_matrices=True)
    basis = U[:, : int(np.count_nonzero(values > DEPENDENT))]
    size = basis.shape[1]
    if size == 0:
        return np.eye(count)
    faces: list[Array] = []
    for chosen in combinations(range(count), size + 1):
        part = basis[list(chosen)]  # (size + 1, size)
        _, lengths, Vt = np.linalg.svd(part.T)
        if lengths[-1] <= DEPENDENT:
            continue  # a vertex with fewer positive weights, which another choice gives
        weight = Vt[-1] * np.sign(Vt[-1][np.argmax(np.abs(Vt[-1]))])
        if weight.min() < -DEPENDENT:
            continue
        face = np.zeros(count)
        face[list(chosen)] = np.where(weight > DEPENDENT, weight, 0.0)
        face /= face.sum()
        if not any(np.abs(face - known).max() < 1e-6 for known in faces):
            faces.append(face)
    return np.array(faces).reshape(-1, count)


def _subsets(
    of: Sequence[int], largest_first: bool = False, within: Sequence[int] = (), among: Sequence[int] = ()
) -> Iterator[tuple[int, ...]]:
    """Yield subsets, by size: with all of `within`, or with some but not all of `among`."""
    sizes = range(len(of), -1, -1) if largest_first else range(len(of) + 1)
    for size in sizes:
        for subset in combinations(of, size):
            if within and not set(within) <= set(subset):
                continue
            if among and not 0 < len(set(among) & set(subset)) < len(set(among)):
                continue
            yield subset
