"""Payload limits of a machine at rest or in a stop, for every posture of the arm at every slew angle.

The loads of a state on ground and joints, without payload and per kilogram of payload, are linear in gravity and in the
accelerations of a stop. A slew joint at the root of the arm turns the arm as a whole: six inverse dynamics of a posture
then serve all slew angles, slopes, headings and stops (`stability/payload.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from dyn_nodes.analysis.load_grip import NEAR, LoadGrip
from dyn_nodes.analysis.load_statics import UNIT_LOAD, LoadStatics
from dyn_nodes.common.arrays import Array
from dyn_nodes.stability.payload import edge_kernel, grip_kernel, joint_kernel

SHORTEST = 0.1
"""Least lever of the load about the arm's first joint, m."""
WORTH_A_THREAD = 2000
"""Number of states times headings below which a second thread does not pay."""


class Stops(NamedTuple):
    """Deceleration of the load by the arm, m/s2, of the slew, rad/s2, and slew speed, rad/s, in a stop."""

    arm_deceleration: float
    slew_deceleration: float
    slew_speed: float


class Payloads(NamedTuple):
    """Greatest payloads (n, s) of postures at slew angles on the worst heading, kg, without rated shares."""

    tipping: Array
    lifting: Array
    dynamic_tipping: Array
    dynamic_lifting: Array


@dataclass(frozen=True, eq=False)
class LoadLimits:
    """Postures of the arm, slew angles, and the stop for their limits.

    Attributes:
        statics: statics of the machine.
        arm: (n, a) positions of the arm's joints, rad or m.
        swings: (s,) positions of the slew joint, rad; one arbitrary value without a slew joint.
        stops: the stop.
    """

    statics: LoadStatics
    arm: Array
    swings: Array
    stops: Stops

    @property
    def _turning(self) -> bool:
        """Whether the slew joint turns the whole chain, so that the postures can omit it."""
        return self.statics.swing is not None and self.statics.chain[0] is self.statics.swing

    @cached_property
    def positions(self) -> Array:
        """(n s, c) positions of the chain, the slew angle fastest."""
        arm = np.repeat(self.arm, len(self.swings), axis=0)
        return self.statics.arm_positions(arm, np.tile(self.swings, len(self.arm)))

    @cached_property
    def _postures(self) -> Array:
        return self.statics.arm_positions(self.arm) if self._turning else self.positions

    @cached_property
    def _angles(self) -> Array:
        return self.swings if self._turning else np.zeros(1)

    @cached_property
    def _turns(self) -> Array:
        """Rotations (s, 3, 3) of vectors in base axes by the slew joint."""
        if not self._turning:
            return np.eye(3)[np.newaxis]
        return np.asarray(Rotation.from_rotvec(np.outer(self._angles, self.statics.slew_axis)).as_matrix())

    @cached_property
    def _columns(self) -> tuple[Array, Array, Array, Array]:
        """Wrench and effort of each column of the postures, without payload and per kilogram."""
        (wrench, effort), (loaded_wrench, loaded_effort) = (self._forces(payload) for payload in (0.0, UNIT_LOAD))
        wrench_per_kg, effort_per_kg = (loaded_wrench - wrench) / UNIT_LOAD, (loaded_effort - effort) / UNIT_LOAD
        wrench[:, :3] -= self.statics.still_wrench.T
        return wrench, wrench_per_kg, effort, effort_per_kg

    def _forces(self, payload: float) -> tuple[Array, Array]:
        q, still = self._postures, np.zeros(3)
        forces = [self.statics.forces(q, pull, None, None, payload) for pull in np.eye(3)]
        forces += [self.statics.forces(q, still, None, acceleration, payload) for acceleration in self._accelerations]
        forces.append(self.statics.forces(q, still, self._rate, None, payload))
        return tuple(np.ascontiguousarray(np.stack(parts, axis=1)) for parts in zip(*forces))  # type: ignore[return-value]

    @cached_property
    def _accelerations(self) -> tuple[Array, Array]:
        """Accelerations (n, c) of the chain in a stop of the arm and in a stop of the slew."""
        statics, q = self.statics, self._postures
        lever = np.linalg.norm(statics.mount_slopes(q)[1][:, :, 0], axis=1)
        arm, slew = np.zeros_like(q), np.zeros_like(q)
        arm[:, statics.chain.index(statics.arm[0])] = self.stops.arm_deceleration / np.maximum(lever, SHORTEST)
        if statics.swing is not None:
            slew[:, statics.chain.index(statics.swing)] = self.stops.slew_deceleration
        return arm, slew

    @cached_property
    def _rate(self) -> Array:
        rate = np.zeros_like(self._postures)
        if self.statics.swing is not None:
            rate[:, self.statics.chain.index(self.statics.swing)] = self.stops.slew_speed
        return rate

    @cached_property
    def signs(self) -> Array:
        """Signs (k, 2) of the accelerations of arm and slew, one row per stop."""
        return np.array(list(product((-1.0, 1.0), (-1.0, 1.0) if self.statics.swing is not None else (0.0,))))

    def stop(self, k: int, indices: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return rates and accelerations (m, c) of the chain in a stop, for the states `indices` of `positions`."""
        arm, slew = self._accelerations
        at = indices // len(self.swings) if self._turning else indices
        return self._rate[at], self.signs[k, 0] * arm[at] + self.signs[k, 1] * slew[at]

    @cached_property
    def _capacities(self) -> tuple[Array, Array]:
        """Return least and greatest efforts (n, s or 1, c, 2) of the joints, at rest and in a stop."""
        statics = self.statics
        if not self._turning:
            return tuple(  # type: ignore[return-value]
                np.stack(statics.capacities(self.positions, holding), axis=-1)[:, np.newaxis]
                for holding in (False, True)
            )
        turned, result = np.zeros((len(self.swings), len(statics.chain))), []
        turned[:, 0] = self.swings
        for holding in (False, True):
            limits = np.stack(statics.capacities(self._postures, holding), axis=-1)[:, np.newaxis]
            slew = np.stack(statics.capacities(turned, holding), axis=-1)[:, 0]
            if np.ptp(slew, axis=0).any():  # a slew joint whose strength depends on its angle
                limits = np.repeat(limits, len(self.swings), axis=1)
                limits[:, :, 0] = slew
            result.append(np.ascontiguousarray(limits))
        return result[0], result[1]

    def _pull(self, gravities: Array) -> Array:
        """Return gravity (h, s, 3) in axes that slew."""
        return np.ascontiguousarray(np.einsum('sji,hj->hsi', self._turns, gravities))

    def _still(self, gravities: Array) -> Array:
        """Return the wrench (h, 6) of the ground on all links but the arm's."""
        return gravities @ self.statics.still_wrench.T

    def payloads(self, gravities: Array) -> Payloads:
        """Return the greatest payloads for the worst of some directions of gravity (h, 3) in base axes, m/s2."""
        wrench, per_kg, effort, effort_per_kg = self._columns
        statics, pull = self.statics, self._pull(gravities)
        edges, origin = statics.edge_rows, statics.slew_origin
        rows = np.empty((len(self._turns), len(edges), 6))
        lever = edges[:, 3:] + np.cross(edges[:, :3], origin)
        rows[..., :3] = edges[:, :3] @ self._turns
        rows[..., 3:] = lever @ self._turns - np.cross(rows[..., :3], origin)
        pressed, lifts, holds = gravities @ statics.still_rows.T, *self._capacities
        results = [np.empty((len(wrench), len(rows))) for _ in range(4)]

        def evaluate(part: slice) -> None:
            tipping, lifting, dynamic_tipping, dynamic_lifting = (values[part] for values in results)
            efforts = effort[part], effort_per_kg[part], lifts[part], holds[part]
            edge_kernel(wrench[part], per_kg[part], rows, pressed, pull, self.signs, tipping, dynamic_tipping)
            joint_kernel(*efforts, pull, self.signs, lifting, dynamic_lifting)

        _on_all_cores(evaluate, len(wrench), len(rows) * len(gravities))
        return Payloads(*(values.reshape(len(self.arm), len(self.swings)) for values in results))

    def equilibria(self, gravities: Array, to_the_fall: bool) -> Array:
        """Return the payloads (3, n, s) at which a support lifts, equilibrium is lost, and the machine overturns, kg.

        Supports, tyres and passive joints are compliant (`stability.equilibrium`). Gravity (h, 3) is in axes of the
        ground; the worst heading counts. The overturning payloads are inf unless requested.
        """
        wrench, per_kg, _, _ = self._columns
        mass, (moment, mount) = (
            -wrench[:, 2, 5],
            (np.column_stack([column[:, 2, 1], -column[:, 2, 0], -column[:, 0, 1]]) for column in (wrench, per_kg)),
        )
        origin, turns = self.statics.slew_origin, self._turns
        mounts = (origin + np.einsum('sij,nj->nsi', turns, mount - origin)).reshape(-1, 3)
        arms = moment - mass[:, None] * origin
        moments = (mass[:, None, None] * origin + np.einsum('sij,nj->nsi', turns, arms)).reshape(-1, 3)
        masses, result = np.repeat(mass, len(turns)), np.empty((3, len(mounts)))

        def evaluate(part: slice) -> None:
            result[:, part] = self.statics.gear.payloads(
                masses[part], moments[part], mounts[part], gravities, to_the_fall
            )

        _on_all_cores(evaluate, len(masses), WORTH_A_THREAD)
        return result.reshape(3, len(self.arm), len(self.swings))

    def sliding(self, grip: LoadGrip, gravities: Array, at_rest: Array, in_stop: Array) -> tuple[Array, Array]:
        """Return the payloads (n, s) at which states start to slide, at rest and in the worst stop, kg.

        The result is inf if the wheels hold up to the bounds (n, s), and 0 if they do not hold even without payload. No
        search is needed if an explicit split of the load is inside the friction cones.
        """
        least = np.full((2, *at_rest.shape), np.inf)
        if not grip.has_friction:
            return least[0], least[1]
        bounds = at_rest.ravel(), in_stop.ravel()
        holds = self._held_on_all(grip, gravities, at_rest, in_stop)
        for gravity in gravities if not holds.all() else ():
            sure = self._surely_held(grip, gravity, at_rest, in_stop, holds)
            for k in range(sure.shape[1]):
                states = np.flatnonzero(~sure[:, k])  # of the states in the order of `positions`
                if not len(states):
                    continue
                motion = (None, None) if k == 0 else self.stop(k - 1, states)
                demand = self.statics.demand(self.positions[states], gravity, *motion)
                payloads = least[min(k, 1)].reshape(-1)
                payloads[states] = np.minimum(payloads[states], grip.greatest_held(demand, bounds[min(k, 1)][states]))
        return least[0], least[1]

    def _held_on_all(self, grip: LoadGrip, gravities: Array, at_rest: Array, in_stop: Array) -> NDArray[np.bool_]:
        """Return (n, 1 + k, s) whether the wheels certainly hold the bounds on every heading.

        Loads that wheels can hold form a convex cone: if they hold at the corners around all headings, they hold at all
        headings.
        """
        corners = _corners_around(gravities)
        holds = np.full((len(self._postures), 1 + len(self.signs), len(self._turns)), len(corners) < len(gravities))
        for corner in corners if holds.any() else ():
            holds &= self._surely_held(grip, corner, at_rest, in_stop, np.zeros_like(holds))
        return holds

    def _surely_held(
        self, grip: LoadGrip, gravity: Array, at_rest: Array, in_stop: Array, certain: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return (n, 1 + k, s) whether the wheels certainly hold almost the bounds, at rest and in stops.

        States in `certain` are not computed again.
        """
        wrench, per_kg, _, _ = self._columns
        turns, origin, (split, spare) = self._turns, self.statics.slew_origin, grip.splits
        pull, still = self._pull(gravity[np.newaxis])[0], self._still(gravity[np.newaxis])[0]
        rest, stop = ((1.0 - NEAR) * bound.reshape(len(wrench), len(turns)) for bound in (at_rest, in_stop))
        held = certain.copy()

        def evaluate(part: slice) -> None:
            columns = wrench[part], per_kg[part], turns, origin, still, pull, self.signs
            wheels = grip.points, split, spare, grip.friction
            grip_kernel(*columns, rest[part], stop[part], *wheels, held[part])

        if grip.certain:
            _on_all_cores(evaluate, len(wrench), len(turns))
        return held


def _corners_around(gravities: Array) -> Array:
    """Return directions of gravity (c, 3) whose convex hull contains all of (h, 3); or `gravities` if they are few."""
    corners, level = 8, gravities[:, 2]
    if len(gravities) <= corners or np.ptp(level) > 1e-12 * np.abs(level).max():
        return gravities
    turn = 2.0 * np.pi / corners * np.arange(corners)
    radius = 1.000001 * np.hypot(gravities[:, 0], gravities[:, 1]).max() / np.cos(np.pi / corners)
    return np.column_stack([radius * np.cos(turn), radius * np.sin(turn), np.full(corners, level[0])])


def _on_all_cores(evaluate: Callable[[slice], None], count: int, each: int) -> None:
    """Call a function for slices of `count` postures, in as many threads as pay for the work."""
    threads = max(1, min(os.cpu_count() or 1, count, count * each // WORTH_A_THREAD))
    if threads == 1:
        evaluate(slice(0, count))
        return
    cuts = np.linspace(0, count, 4 * threads + 1).astype(int)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(evaluate, [slice(a, b) for a, b in pairwise(cuts) if b > a]))
