"""Derivatives of noisy measurements, causal and at any rate: a Kalman filter on a chain of integrators.

A quantity y and its derivatives are the states; the highest one is driven by white noise of a given density. With
three states (position, velocity, acceleration) that is the constant-jerk tracker whose steady state is the
alpha-beta-gamma filter. Against that filter and against a Savitzky-Golay filter it has three advantages for joint
states from the field: periods may vary and messages may be lost, measured velocities are taken with the weight that
their noise deserves, and one number, the density, trades noise against lag.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial, inf, isfinite

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control._kernels import kernel, part

TIME, SURPRISE, BEGUN, KEPT = 0, 1, 2, 3
"""Places in the memory of a filter: s, standard deviations, whether it follows something; covariance and estimates."""
STATES, GAP, GATE, FIXED = 0, 1, 2, 3
"""Places in its law: see `DerivativeFilter`; variances, start, transition and noise."""


class DerivativeFilter:
    """Filter of n quantities with the same noise, which share one covariance.

    Args:
        states: number of states of each quantity, its value included.
        density: of the white noise that drives the last state, units of the quantity squared over s^(2 states - 1).
        deviations: standard deviation of the measured value, of its measured derivative, ...; as many as can be
            measured.
        start: standard deviation of each state before the first measurement; states that are measured at the start
            take the measurement.
        gap: s; after a longer one, and where time does not rise, the filter starts again.
        gate: standard deviations; a measurement of the last state but one (or the last) that is farther from what was
            expected shows a shock, and the last state is then taken to have jumped by as much as it takes: the
            filter follows at once, and is noisier for some samples.

    Attributes:
        law: numbers of `filter_kernel`, which do not change.
        memory: of `filter_kernel`, which it changes; its size is that of `prepare`.
    """

    def __init__(
        self,
        states: int,
        density: float,
        deviations: Sequence[float],
        start: Sequence[float],
        gap: float = 0.2,
        gate: float = inf,
    ) -> None:
        if states < 1 or len(start) != states or not 1 <= len(deviations) <= states:
            raise ValueError(f'expected {states} start deviations and 1 to {states} of measurements')
        if not all(isfinite(value) and value > 0.0 for value in (density, gap, *deviations, *start)):
            raise ValueError('density, gap and deviations: expected finite numbers above 0')
        self.states, self.gap = states, gap
        order = np.arange(states)
        rise = order[None, :] - order[:, None]
        transition = np.where(rise >= 0, [[1.0 / factorial(max(p, 0)) for p in row] for row in rise], 0.0)
        up = states - 1 - order
        scale = np.array([factorial(int(k)) for k in up], dtype=np.float64)
        noise = density / ((up[:, None] + up[None, :] + 1) * scale[:, None] * scale[None, :])
        variances = np.full(states, inf)
        variances[: len(deviations)] = np.square(np.asarray(deviations, dtype=np.float64))
        begin = np.square(np.asarray(start, dtype=np.float64))
        self.law = np.concatenate(
            [(states, gap, gate), variances, begin, transition.ravel(), noise.ravel()], dtype=np.float64
        )
        self.memory = np.zeros(KEPT + states * states)

    def clear(self) -> None:
        """Forget everything."""
        self.memory[BEGUN] = 0.0

    def prepare(self, count: int) -> None:
        """Make room for so many quantities.

        Raises:
            ValueError: the filter follows another number of them.
        """
        found = self.estimates.shape[1]
        if found == count:
            return
        if self.memory[BEGUN]:
            raise ValueError(f'expected {found} quantities, found {count}')
        self.memory = np.zeros(KEPT + self.states * (self.states + count))

    @property
    def estimates(self) -> Array:
        """(states, n) as a view of the memory."""
        return self.memory[KEPT + self.states**2 :].reshape(self.states, -1)

    @property
    def x(self) -> Array | None:
        """(states, n) estimates, of the time of the last update; None before the first."""
        return self.estimates.copy() if self.memory[BEGUN] else None

    @property
    def covariance(self) -> Array:
        """(states, states), which all quantities share."""
        return self.memory[KEPT : KEPT + self.states**2].reshape(self.states, -1).copy()

    @property
    def surprise(self) -> float:
        """How far the last measurements were from what was expected, standard deviations; 0 without a gate."""
        return float(self.memory[SURPRISE])

    def update(self, time: float, *measured: Array | None) -> Array:
        """Take measurements at a time; return the estimates (states, n).

        Args:
            time: s.
            measured: (n,) value, derivative, ... or None where this message does not hold it.
        """
        rows = [k for k, values in enumerate(measured) if values is not None]
        values = np.array([measured[k] for k in rows], dtype=np.float64)
        self.prepare(values.shape[1])
        filter_kernel(time, np.array(rows), values, self.law, self.memory)
        return self.estimates.copy()


@kernel
def filter_kernel(time, rows, values, law, memory):
    """Take measurements at a time, s; the filter starts again after a gap and where time does not rise.

    Args:
        time: s.
        rows: (m,) state that each measurement shows.
        values: (m or more, n) measurements.
        law: of a `DerivativeFilter`.
        memory: of the same; changed.
    """
    n = int(law[STATES])
    variances, start = law[FIXED : FIXED + n], law[FIXED + n : FIXED + 2 * n]
    fixed = law[FIXED + 2 * n :].reshape((2, n, n))
    covariance, x = memory[KEPT : KEPT + n * n].reshape((n, n)), memory[KEPT + n * n :].reshape((n, values.shape[1]))
    step = time - memory[TIME]
    memory[TIME] = time
    if memory[BEGUN] > 0.0 and 0.0 < step <= law[GAP]:
        before = np.empty(x.shape)
        for i in range(n):
            for j in range(x.shape[1]):
                before[i, j] = x[i, j]
        memory[SURPRISE] = update_kernel(
            step, before, fixed[0], fixed[1], rows, values, variances, law[GATE], x, covariance
        )
        return
    for i in range(KEPT, memory.shape[0]):
        memory[i] = 0.0
    for i in range(n):
        covariance[i, i] = start[i]
    for m in range(len(rows)):
        row = rows[m]
        covariance[row, row] = variances[row]
        for j in range(x.shape[1]):
            x[row, j] = values[m, j]
    memory[SURPRISE], memory[BEGUN] = 0.0, 1.0


@part
def estimate_kernel(law, memory, place, count):
    """Return the estimates (count,) of a state of `count` quantities, as a view of the memory."""
    n = int(law[STATES])
    first = KEPT + n * n + place * count
    return memory[first : first + count]


@part
def update_kernel(step, before, unit_transition, unit_noise, rows, values, variances, gate, x, covariance):
    """Fill the estimates (states, n), carry their covariance on in place; return the surprise.

    The quantities count together in it, by the length of their vector: that of an IMU does not depend on its mounting.

    Args:
        step: time since `before`, s.
        before: (states, n) estimates.
        unit_transition: (states, states) of a step of 1 s.
        unit_noise: (states, states) of a step of 1 s.
        rows: (m,) state that each measurement shows.
        values: (m or more, n) measurements.
        variances: (states or fewer,) of the measurements, by state.
        gate: standard deviations.
        x: (states, n), written.
        covariance: (states, states), of `before`, then of `x`.
    """
    states, count = before.shape
    transition, spread, powers = np.empty((states, states)), np.empty((states, states)), np.empty(2 * states)
    for i in range(states):
        for j in range(states):
            spread[i, j] = covariance[i, j]
    for k in range(2 * states):
        powers[k] = step ** float(k)
    for i in range(states):
        for k in range(i, states):
            transition[i, k] = unit_transition[i, k] * powers[k - i]
    for i in range(states):
        for j in range(count):
            x[i, j] = 0.0
            for k in range(i, states):
                x[i, j] += transition[i, k] * before[k, j]
        for j in range(states):
            total = unit_noise[i, j] * powers[2 * states - 1 - i - j]
            for k in range(i, states):
                for m in range(j, states):
                    total += transition[i, k] * spread[k, m] * transition[j, m]
            covariance[i, j] = total
    surprise, jump = 0.0, 0.0
    if gate < np.inf:
        for m in range(len(rows)):
            row = rows[m]
            if row < states - 2:
                continue  # differences of second order and above drown in noise what a jump would be
            expected = covariance[row, row] + variances[row]
            found = 0.0
            for j in range(count):
                found += (values[m, j] - x[row, j]) ** 2
            surprise = max(surprise, np.sqrt(found / expected))
            if found > gate * gate * expected:
                # a jump of the last state a step ago, as large as was measured
                jump = max(jump, (found - expected) / transition[row, states - 1] ** 2)
        for i in range(states):
            for j in range(states):
                covariance[i, j] += jump * transition[i, states - 1] * transition[j, states - 1]
    gain = np.empty(states)
    kept = np.empty((states, states))
    for m in range(len(rows)):  # one after the other is the same as all at once: their noises have no part in common
        row = rows[m]
        expected = covariance[row, row] + variances[row]
        for i in range(states):
            gain[i] = covariance[i, row] / expected
        for j in range(count):
            wrong = values[m, j] - x[row, j]
            for i in range(states):
                x[i, j] += gain[i] * wrong
        # Joseph's form: stays positive definite
        for i in range(states):
            for j in range(states):
                kept[i, j] = covariance[i, j] - gain[i] * covariance[row, j]
        for i in range(states):
            for j in range(states):
                covariance[i, j] = kept[i, j] - kept[i, row] * gain[j] + gain[i] * variances[row] * gain[j]
    return surprise
