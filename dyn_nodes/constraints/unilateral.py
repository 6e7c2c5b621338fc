"""Contacts that push and never pull: which carry, which separate, and plastic impacts on them.

A contact has a few rows of a Jacobian, its normal row last. While it is closed, all its rows hold (it sticks or rolls)
and its normal multiplier is not negative. By Gauss's principle the closed contacts either push (lambda_n >= 0) or
separate (a_n >= 0); in an impact the same holds for impulses and velocities.

If more contacts are closed than a body needs, such as four feet of one body, the rows depend on each other and the
multipliers are not unique. Whether *some* distribution without a pull exists does not depend on a choice: the
admissible multipliers form a cone with the faces `ClosedContacts.facets`. For feet of one body on a plane these are the
edges of the support polygon, and a facet's value is the moment about its edge over the distance of the opposite feet.
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
"""Length of a row's remainder, relative to the longest row, at which the row counts as dependent."""
NO_PULL = 1e-9
"""Pull that counts as round-off, relative to the greatest force of the problem."""
LEAST_ACCELERATION = 1e-6
"""Acceleration into the ground that counts as round-off, m/s2."""
LEAST_SPEED = 1e-9
"""Speed into the ground that counts as round-off, m/s."""


class NoContactStateError(ConstraintError):
    """No set of contacts pushes without a pull while the others separate."""


@dataclass(frozen=True, eq=False)
class ClosedContacts:
    """Contacts that are closed together, at one state.

    Attributes:
        contacts: indices of the contacts.
        rows: (r,) independent rows of the contacts; their multipliers are unique.
        facets: (f, r); facets times multipliers of `rows` is not negative if some distribution only pushes.
        leaving: by facet, the contacts without load at value zero, which separate beyond.
        share: (m, r) maps the multipliers of `rows` to equivalent multipliers of all rows with least norm.
    """

    contacts: tuple[int, ...]
    rows: Indices
    facets: Array
    leaving: tuple[tuple[int, ...], ...]
    share: Array


@dataclass(frozen=True, eq=False)
class ContactProblem:
    """A machine on contacts at one state: M a = load + J^T lambda.

    Attributes:
        M: (nv, nv) mass matrix.
        load: (nv,) generalized forces less velocity terms.
        J, gamma: (m, nv), (m,) rows of all contacts, J a = gamma for closed ones.
        row_indices: by contact, indices of its rows; the normal one last.
    """

    M: Array
    load: Array
    J: Array
    gamma: Array
    row_indices: Sequence[Indices]

    def closed(self, contacts: Iterable[int]) -> ClosedContacts:
        """Return the rows and facets of contacts that are closed together."""
        chosen = tuple(contacts)
        if not chosen:
            return ClosedContacts((), np.zeros(0, np.intp), np.zeros((0, 0)), (), np.zeros((len(self.J), 0)))
        every = np.concatenate([self.row_indices[k] for k in chosen])
        L = np.linalg.cholesky(self.M)
        spread = solve_triangular(L, self.J[every].T, lower=True)  # lengths in the metric of the masses
        _, R, order = qr(spread, mode='economic', pivoting=True)
        diagonal = np.abs(np.diag(R))
        rank = int(np.count_nonzero(diagonal > DEPENDENT * diagonal[0]))
        rows = np.sort(every[order[:rank]])
        normals = np.array([self.row_indices[k][-1] for k in chosen])
        weights = _cone_faces(_null_space(spread, rank)[np.searchsorted(every, normals)])
        facets = np.zeros((len(weights), len(rows)))
        for column, row in enumerate(rows):
            facets[:, column] = weights[:, normals == row].sum(axis=1)
        leaving = tuple(tuple(k for k, share in zip(chosen, face) if share > 0.0) for face in weights)
        return ClosedContacts(chosen, rows, facets, leaving, self._share(every, rows, spread))

    def _share(self, every: Indices, rows: Indices, spread: Array) -> Array:
        """Return C (C^T C)^-1, where J = C J_r expresses all rows by the independent ones."""
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

    def is_consistent(self, kept: Iterable[int], closed: Iterable[int]) -> bool:
        """Return whether contacts `kept` push and the others of `closed` separate."""
        state = self.closed(kept)
        a, multipliers = self.accelerations(state)
        scale = max(1.0, float(np.abs(self.load).max(initial=0.0)))
        if (state.facets @ multipliers < -NO_PULL * scale).any():
            return False
        normals = [int(self.row_indices[k][-1]) for k in closed if k not in state.contacts]
        return bool((self.J[normals] @ a - self.gamma[normals] >= -LEAST_ACCELERATION).all())

    def carrying(self, closed: Sequence[int], leaving: Iterable[int] = ()) -> tuple[int, ...]:
        """Return the closed contacts that stay closed.

        Args:
            closed: contacts without speed towards or from the ground.
            leaving: contacts of facets that have just been reached, tried first.

        Raises:
            NoContactStateError: no set of contacts pushes without a pull while the others separate.
        """
        released = set(leaving)
        first = tuple(k for k in closed if k not in released)
        if released and self.is_consistent(first, closed):
            return first
        for kept in _subsets(closed, largest_first=True):
            if (not released or len(kept) < len(closed)) and self.is_consistent(kept, closed):
                return kept
        raise NoContactStateError('no set of contacts pushes without a pull while the others separate')

    def shared(self, state: ClosedContacts, multipliers: Array) -> Array:
        """Return equivalent multipliers (m,) of all rows: the least norm among those without a pull.

        If every distribution pulls, or the greedy choice of contacts without load fails, they have the least norm.

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
            every = np.concatenate([self.row_indices[k] for k in carrying])
            solution = np.linalg.lstsq(self.J[every].T, effort, rcond=DEPENDENT)[0]
            missed = np.abs(self.J[every].T @ solution - effort).max(initial=0.0)
            if missed > 1e-6 * max(1.0, float(np.abs(effort).max(initial=0.0))):
                break
            result[:] = 0.0
            result[every] = solution
            if self.pushes(carrying, result):
                return result
            del carrying[int(np.argmin(result[[self.row_indices[k][-1] for k in carrying]]))]
        return least

    def pushes(self, contacts: Sequence[int], multipliers: Array) -> bool:
        """Return whether no contact pulls at multipliers (m,) of all rows."""
        normals = multipliers[[int(self.row_indices[k][-1]) for k in contacts]]
        return bool(normals.min(initial=0.0) >= -NO_PULL * max(1.0, float(np.abs(multipliers).max(initial=0.0))))

    def impact(self, closed: Sequence[int], struck: Sequence[int], v: Array, rest: float) -> ContactImpact:
        """Return the impact of contacts on the ground without restitution: Gauss's principle in velocities.

        The fewest contacts get an impulse that stops them: the striking ones, and closed ones that would otherwise move
        into the ground. The others separate. Finite forces have no effect.

        Args:
            closed: contacts on the ground before.
            struck: contacts that reach the ground now.
            v: (nv,) velocities before.
            rest: speed below which contacts that leave the ground stay on it, m/s.

        With sticking contacts no such choice may exist (Painleve). Then the points of all contacts stop along the
        ground, and the normal velocities are the nearest ones, in the mass metric, that do not enter the ground.
        """
        touched = tuple(sorted({*closed, *struck}))
        normals = np.array([self.row_indices[k][-1] for k in touched])
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
        """Return the velocity nearest to v with J_t v = 0 and J_n v >= 0, a projection that reduces the energy."""
        normals = np.array([self.row_indices[k][-1] for k in touched])
        along = np.concatenate([self.row_indices[k][:-1] for k in touched])
        L = np.linalg.cholesky(self.M)
        spread = solve_triangular(L, np.vstack([self.J[normals], self.J[along], -self.J[along]]).T, lower=True)
        solution, _ = nnls(spread, -L.T @ v)
        after = v + solve_triangular(L.T, spread @ solution, lower=False)
        push, forth, back = np.split(solution, [len(normals), len(normals) + len(along)])
        kept = tuple(k for k, speed in zip(touched, self.J[normals] @ after) if speed <= LEAST_SPEED)
        impulse = np.concatenate([push, forth - back])
        energies = 0.5 * v @ self.M @ v, 0.5 * after @ self.M @ after
        hit = Impact(after, impulse, *map(float, energies))
        return ContactImpact(kept, np.concatenate([normals, along]), hit, True)


@dataclass(frozen=True, eq=False)
class ContactImpact:
    """Result of a plastic impact on contacts.

    Attributes:
        kept: contacts at rest on the ground after the impact; the others separate.
        rows: (r,) rows along which `hit.impulse` acts.
        hit: velocities, impulses and kinetic energies.
        double: closed contacts would have moved into the ground and got an impulse, too.
    """

    kept: tuple[int, ...]
    rows: Indices
    hit: Impact
    double: bool


def _null_space(matrix: Array, rank: int) -> Array:
    """Return an orthonormal basis (m, m - rank) of the null space of a matrix (n, m)."""
    _, _, Vt = np.linalg.svd(matrix, full_matrices=True)
    return np.asarray(Vt[rank:].T)


def _cone_faces(dependencies: Array) -> Array:
    """Return the faces (f, k) of the cone of normal multipliers: w . lambda >= 0, each w >= 0 with the sum 1.

    These are the vertices of {w >= 0, sum w = 1, w . n = 0 for every dependency n}.

    Args:
        dependencies: (k, d) normal parts of multipliers without effect.
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
            continue  # a vertex with fewer positive weights, which another choice yields
        weight = Vt[-1] * np.sign(Vt[-1][np.argmax(np.abs(Vt[-1]))])
        if weight.min() < -DEPENDENT:
            continue
        face = np.zeros(count)
        face[list(chosen)] = np.where(weight > DEPENDENT, weight, 0.0)
        face /= face.sum()
        if not any(np.abs(face - other).max() < 1e-6 for other in faces):
            faces.append(face)
    return np.array(faces).reshape(-1, count)


def _subsets(
    of: Sequence[int], largest_first: bool = False, within: Sequence[int] = (), among: Sequence[int] = ()
) -> Iterator[tuple[int, ...]]:
    """Yield subsets by size: with all of `within`, or with some but not all of `among`."""
    sizes = range(len(of), -1, -1) if largest_first else range(len(of) + 1)
    for size in sizes:
        for subset in combinations(of, size):
            if within and not set(within) <= set(subset):
                continue
            if among and not 0 < len(set(among) & set(subset)) < len(set(among)):
                continue
            yield subset
