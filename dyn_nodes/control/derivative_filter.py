"""Derivatives of noisy measurements, causal and at any rate: a Kalman filter on a chain of integrators.

A quantity y and its derivatives are the states; the highest one is driven by white noise of a given density. With
three states (position, velocity, acceleration) this is the tracker whose steady state is the alpha-beta-gamma filter.
Compared with it and with a Savitzky-Golay filter, periods may vary and messages may be lost, measured velocities are
weighted by their noise, and one number, the density, trades noise against lag.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial, inf, isfinite

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control._kernels import kernel, part

TIME, SURPRISE, STARTED, KEPT = 0, 1, 2, 3
"""Indices in the memory of a filter: time, s, innovation, deviations, started; then covariance and estimates."""
STATES, GAP, GATE, FIXED = 0, 1, 2, 3
"""Indices in its law: see `DerivativeFilter`; then variances, start, transition and noise."""


class DerivativeFilter:
    """Filter of n quantities with the same noise, which share one covariance.

    Args:
        states: number of states of each quantity, its value included.
        density: of the white noise that drives the last state, units of the quantity squared over s^(2 states - 1).
        deviations: standard deviations of the measured value, of its measured derivative, ...
        start: standard deviation of each state before the first measurement; measured states start at the measurement.
        gap: s; after a longer gap, and if time does not increase, the filter restarts.
        gate: standard deviations; a measurement of the last state but one (or the last) with a larger innovation
            indicates a shock, and the last state is assumed to have jumped accordingly: the filter follows at once,
            with more noise for some samples.

    Attributes:
        law: constants of `filter_kernel`.
        memory: of `filter_kernel`, changed by it; `prepare` sets its size.
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
        start_variances = np.square(np.asarray(start, dtype=np.float64))
        self.law = np.concatenate(
            [(states, gap, gate), variances, start_variances, transition.ravel(), noise.ravel()], dtype=np.float64
        )
        self.memory = np.zeros(KEPT + states * states)

    def clear(self) -> None:
        """Reset the filter."""
        self.memory[STARTED] = 0.0

    def prepare(self, count: int) -> None:
        """Allocate memory for a number of quantities.

        Raises:
            ValueError: the filter has started with another number.
        """
        followed = self.estimates.shape[1]
        if followed == count:
            return
        if self.memory[STARTED]:
            raise ValueError(f'expected {followed} quantities, found {count}')
        self.memory = np.zeros(KEPT + self.states * (self.states + count))

    @property
    def estimates(self) -> Array:
        """(states, n) as a view of the memory."""
        return self.memory[KEPT + self.states**2 :].reshape(self.states, -1)

    @property
    def x(self) -> Array | None:
        """(states, n) estimates at the last update; None before the first."""
        return self.estimates.copy() if self.memory[STARTED] else None

    @property
    def covariance(self) -> Array:
        """(states, states) covariance, the same for all quantities."""
        return self.memory[KEPT : KEPT + self.states**2].reshape(self.states, -1).copy()

    @property
    def surprise(self) -> float:
        """Innovation of the last measurements, standard deviations; 0 without a gate."""
        return float(self.memory[SURPRISE])

    def update(self, time: float, *measured: Array | None) -> Array:
        """Update the filter with measurements; return the estimates (states, n).

        Args:
            time: s.
            measured: (n,) value, derivative, ...; None if not measured.
        """
        rows = [k for k, values in enumerate(measured) if values is not None]
        values = np.array([measured[k] for k in rows], dtype=np.float64)
        self.prepare(values.shape[1])
        filter_kernel(time, np.array(rows), values, self.law, self.memory)
        return self.estimates.copy()


@kernel
def filter_kernel(time, rows, values, law, memory):
    """Update a filter with measurements; it restarts after a gap and if time does not increase.

    Args:
        time: s.
        rows: (m,) index of the state of each measurement.
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
    if memory[STARTED] > 0.0 and 0.0 < step <= law[GAP]:
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
    memory[SURPRISE], memory[STARTED] = 0.0, 1.0


@part
def estimate_kernel(law, memory, state, count):
    """Return the estimates (count,) of a state of `count` quantities, as a view of the memory."""
    n = int(law[STATES])
    first = KEPT + n * n + state * count
    return memory[first : first + count]


@part
def update_kernel(step, before, unit_transition, unit_noise, rows, values, variances, gate, x, covariance):
    """Write the estimates (states, n), update their covariance in place; return the innovation, standard deviations.

    It is computed for the vector of all quantities, so that for an IMU it does not depend on the mounting.

    Args:
        step: time since `before`, s.
        before: (states, n) estimates.
        unit_transition: (states, states) of a step of 1 s.
        unit_noise: (states, states) of a step of 1 s.
        rows: (m,) index of the state of each measurement.
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
                continue  # noise of differences of second order and above exceeds a jump
            expected = covariance[row, row] + variances[row]
            distance = 0.0
            for j in range(count):
                distance += (values[m, j] - x[row, j]) ** 2
            surprise = max(surprise, np.sqrt(distance / expected))
            if distance > gate * gate * expected:
                # a jump of the last state a step ago, as large as was measured
                jump = max(jump, (distance - expected) / transition[row, states - 1] ** 2)
        for i in range(states):
            for j in range(states):
                covariance[i, j] += jump * transition[i, states - 1] * transition[j, states - 1]
    gain = np.empty(states)
    kept = np.empty((states, states))
    for m in range(len(rows)):  # in sequence, as their noises are independent
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
