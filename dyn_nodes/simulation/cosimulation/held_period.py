"""Equations of an object and the hands that hold it over one exchange period, see `held_object`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.simulation.cosimulation.grip import Grip, HeldHand, turned
from dyn_nodes.simulation.cosimulation.moving_body import MovingBody

MOST_ITERATIONS = 40
CLOSE = 1e-10
"""Change of the velocities at which the iteration ends, relative to the fastest node or to 1 m/s."""


class HeldObjectError(UserError, ArithmeticError):
    """The iteration for the motion of the object diverged or did not converge."""


class BodyState(NamedTuple):
    """State of a body at the start of a period.

    Attributes:
        position: (n, 3) of its nodes, m.
        velocity: (r,) of nodes, then of amplitudes; velocities of held nodes are ignored.
        amplitudes: (k,) of its vibrations.
        momentum: (r,) mass times velocity at the end of the previous period.
    """

    position: Array
    velocity: Array
    amplitudes: Array
    momentum: Array


class HeldMotion(NamedTuple):
    """Velocities (r,) at both ends of a period, and wrenches (d,) of the hands on the object, by grip."""

    start: Array
    velocity: Array
    wrenches: dict[int, Array]


class HeldPeriod:
    """Equations of one period.

    Unknowns are the wrenches of the holding hands, then the final velocities of the free coordinates.

    Args:
        body: the object.
        state: of the object.
        held: holding grips and their hands, by index.
        gravity: (3,) m/s2.
        period: s.
    """

    def __init__(
        self,
        body: MovingBody,
        state: BodyState,
        held: Mapping[int, tuple[Grip, HeldHand]],
        gravity: Array,
        period: float,
    ) -> None:
        self.body, self.state, self.held, self.gravity, self.period = body, state, held, gravity, period
        self.arms = {k: grip.arms @ hand.rotation.T for k, (grip, hand) in held.items()}
        rows = [grip.rows for grip, _ in held.values()]
        self.free = np.setdiff1d(np.arange(len(state.momentum)), np.concatenate(rows) if rows else [])
        ends = np.cumsum([0, *(grip.size for grip, _ in held.values())])
        self.slices = {k: slice(int(start), int(end)) for k, start, end in zip(held, ends, ends[1:])}
        self.count = int(ends[-1])
        self.start = state.velocity.copy()
        for k, (grip, hand) in held.items():
            self.start[grip.rows] = grip.led(grip.velocities(hand), self.arms[k])

    def solve(self) -> HeldMotion:
        """Return the motion by Newton's method. Raises HeldObjectError if it diverges or does not converge."""
        unknown = np.concatenate([np.zeros(self.count), self.start[self.free]])
        velocity, arms = self._velocity(unknown)
        for _ in range(MOST_ITERATIONS):
            unknown = unknown + self._step(unknown, velocity, arms)
            before = velocity
            velocity, arms = self._velocity(unknown)
            if not np.isfinite(velocity).all():
                raise HeldObjectError('held object: the iteration for its motion over a period diverged')
            if np.abs(velocity - before).max(initial=0.0) <= CLOSE * max(1.0, np.abs(velocity).max(initial=0.0)):
                wrenches = {k: unknown[part] for k, part in self.slices.items()}
                return HeldMotion(self.start, velocity, wrenches)
        text = f'expected a motion through {self.period:g} s after {MOST_ITERATIONS} iterations, found none'
        raise HeldObjectError(text)

    def _velocity(self, unknown: Array) -> tuple[Array, dict[int, Array]]:
        """Return the velocities (r,) and the arms (k, 3) of the nodes, by grip, at the end."""
        velocity, arms = np.zeros_like(self.start), {}
        velocity[self.free] = unknown[self.count :]
        for k, (grip, hand) in self.held.items():
            first = grip.velocities(hand)
            answer = hand.acceleration[: grip.size] - hand.mobility[: grip.size, : grip.size] @ unknown[self.slices[k]]
            motion = first + self.period * answer
            arms[k] = self.arms[k]
            if grip.size > 3:
                arms[k] = self.arms[k] @ turned(0.5 * self.period * (first[3:] + motion[3:])).T
            velocity[grip.rows] = grip.led(motion, arms[k])
        return velocity, arms

    def _step(self, unknown: Array, velocity: Array, arms: Mapping[int, Array]) -> Array:
        body, state, period = self.body, self.state, self.period
        size = state.position.size
        middle = 0.5 * (self.start + velocity)
        halfway = state.position + 0.5 * period * middle[:size].reshape(-1, 3)
        mass = body.mass(state.position + period * middle[:size].reshape(-1, 3))
        pulls = body.pulls(halfway, middle, state.amplitudes + 0.5 * period * middle[size:], self.gravity)
        rest = (mass @ velocity - state.momentum) / period + pulls
        by_velocity = mass / period + body.slopes(halfway, period)
        width = len(unknown)
        moved = np.zeros((len(rest), width))
        moved[self.free, np.arange(self.count, width)] = 1.0
        project = moved.copy()
        for k, (grip, hand) in self.held.items():
            columns = self.slices[k]
            here = halfway[list(grip.nodes)]
            project[grip.rows, columns] = grip.slopes(here - here.mean(axis=0))
            moved[grip.rows, columns] = -period * grip.slopes(arms[k]) @ hand.mobility[: grip.size, : grip.size]
        residual = project.T @ rest
        residual[: self.count] -= unknown[: self.count]
        matrix = project.T @ by_velocity @ moved
        matrix[: self.count, : self.count] -= np.eye(self.count)
        return np.asarray(np.linalg.solve(matrix, -residual), dtype=np.float64)
