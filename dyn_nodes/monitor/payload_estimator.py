"""Mass of the payload, with an interval, from line pressures, joint motion and the motion of the base.

Over a block of some samples the change of momentum of the joints that carry the payload is the integral of all forces
on them. Both are linear in the payload and in the uncertain quantities of the machine file: masses, friction, offsets
of the sensors. All of these are states of a Kalman filter with a deviation each, so that the interval of the payload
includes their effect, and estimates of them persist when the load changes.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.monitor.payload_block import MomentumBlock
from dyn_nodes.monitor.payload_estimate import HEAVIEST, PayloadEstimate, no_weight
from dyn_nodes.monitor.payload_model import PAYLOAD_COLUMNS, MomentumTerms, PayloadModel
from dyn_nodes.monitor.payload_settings import PayloadSettings, deviations, dry_friction
from dyn_nodes.monitor.payload_steps import StepTest

QUANTILE = 1.959964
"""Half width of an interval of 95 %, in standard deviations."""
CHANGING = 0.5
"""Ratio of the variance of dry friction in a block in which its sign changes to the variance of the sign."""
ROUNDS = 3
"""Iterations of an update that is linear in mass and first moment, but not in mass and position."""


class PayloadEstimator:
    """Estimates the payload of a machine from samples in the order of their times.

    Args:
        model: of the machine.
        settings: prior values and their deviations.

    Attributes:
        rated: payload that is used if none is observed, kg.
        limit: of the mount, kg.
        tared: mass that tares have attributed to the machine instead of the payload, kg.
        x, covariance: (k,), (k, k) of all states: mass, position of the payload (3), bodies, efforts, delay; by row dry
            friction in addition to the machine file's, effort of friction at rest, errors of momentum at the last two
            ends of blocks.
    """

    def __init__(self, model: PayloadModel, settings: PayloadSettings | None = None) -> None:
        self.model, self.settings = model, settings or PayloadSettings()
        payload = model.machine.payload
        assert payload is not None
        self.rated, self.limit = payload.mass, payload.limit
        self._spread, self._dry = deviations(model, self.settings), dry_friction(model)
        self._rows, self._late = len(model.rows), len(model.columns)
        self._first_dry = self._late + 1
        machine = np.concatenate((self._spread.columns, [self.settings.delay], self._spread.dry))
        self._first = machine**2
        self._forgetting = np.full(len(machine), self.settings.forgetting)
        self._forgetting[self._first_dry :] = self.settings.friction_forgetting
        joints = [model.machine.joint(name) for name in model.joints]
        self._lower, self._upper = (np.array([getattr(joint, end) for joint in joints]) for end in ('lower', 'upper'))
        moved = [model.moved_by({name}) for name in model.rows]
        self._moved = np.array([[name in names for name in model.joints] for names in moved])
        self.clear()

    def clear(self) -> None:
        """Restart with the prior values."""
        rows = self._rows
        self.x = np.concatenate((self.settings.means(self.model, self.limit), np.zeros(1 + 4 * rows)))
        spreads = self._spread.columns, [self.settings.delay], self._spread.dry, self._spread.resting
        spread = np.concatenate((*spreads, np.ones(2 * rows)))
        self.covariance = np.diag(spread**2)
        self._test = StepTest(self.settings.step_gate, self.settings.step_window)
        self._block: MomentumBlock | None = None
        self._fresh = True
        self._rested, self._aged = 0.0, np.inf
        self.tared = 0.0
        self.steps = 0
        self._stepped: deque[float] = deque(maxlen=self.settings.doubt_steps)
        self.time: float | None = None
        self._seen = -np.inf

    def forget_payload(self) -> None:
        """Reset the payload to unknown; the estimates of the machine are kept."""
        for k in range(PAYLOAD_COLUMNS):
            self.covariance[k, :] = self.covariance[:, k] = 0.0
            self.covariance[k, k] = self._spread.columns[k] ** 2
        self.x[1:PAYLOAD_COLUMNS] = self.settings.means(self.model, self.limit)[1:PAYLOAD_COLUMNS]
        self._test.clear()
        self._block, self._fresh = None, True

    def restart(self) -> None:
        """Discard payload and time; the estimates of the machine are kept."""
        self.forget_payload()
        self._stepped.clear()
        self.steps, self.time, self._seen = 0, None, -np.inf

    def tare(self, mass: float, deviation: float = 1.0) -> None:
        """Process a nominal payload, kg: the residual of the pressures is attributed to the machine.

        Masses and friction of the machine are corrected.

        Args:
            mass: kg; 0 for an empty implement.
            deviation: standard deviation of the mass, kg.
        """
        row = np.zeros(len(self.x))
        row[0] = 1.0
        self.tared += float(self.x[0]) - mass
        self._correct(np.array([mass - self.x[0]]), row[None, :], np.array([[deviation**2]]))
        self._test.clear()

    # -- samples -----------------------------------------------------------------------------------------------------

    def sample(
        self,
        time: float,
        q: Array,
        v: Array,
        omega: Array,
        specific_force: Array,
        pressures: Array,
        deviations: tuple[float, float] = (1e-3, 1e-3),
    ) -> bool:
        """Process a sample; return whether the estimate is new.

        Args:
            time: s.
            q: (n,) positions of the model's joints, rad or m.
            v: (n,) their speeds.
            omega: (3,) angular velocity of the base link in its axes, rad/s.
            specific_force: (3,) at its origin, m/s2.
            pressures: of the model's lines, Pa.
            deviations: of the joints' speeds and of the base's, rad/s.
        """
        terms = self.model.evaluate(
            q, v, omega, specific_force, pressures, min(max(self.x[0], 0.0), HEAVIEST * self.limit)
        )
        indices = self.model.indices
        terms = terms._replace(room=np.minimum(terms.room, self._joint_room(q)))
        step = np.inf if self.time is None else time - self.time
        self.time = time
        block = self._block
        if block is None or not 0.0 < step <= self.settings.gap:
            forgotten = self._forget_unseen(time)
            self._block = MomentumBlock.start(time, terms)
            self._renew_error(terms, deviations)
            return forgotten
        block.add(time, terms, v[indices], self.settings.slow)
        if block.span < self.settings.block - 1e-9:
            return False
        self._use(block, deviations)
        return True

    def _joint_room(self, q: Array) -> Array:
        """Return the remaining travel (r,) to the limits of the joints that each row moves, rad or m."""
        room = np.minimum(q - self._lower, self._upper - q)
        return np.asarray(np.where(self._moved, room, np.inf).min(axis=1))

    def _renew_error(self, terms: MomentumTerms, deviations: tuple[float, float]) -> None:
        """Move the error of momentum at the newest end to the older one, and initialise a new one."""
        rows, start = self._rows, len(self.x) - 2 * self._rows
        old, new = slice(start, start + rows), slice(start + rows, start + 2 * rows)
        spread = np.full(terms.noise.shape[1], deviations[0])
        spread[-3:] = deviations[1]
        scaled = terms.noise * spread
        delayed = self.settings.momentum_noise * self._spread.unmodelled
        self.x[old], self.x[new] = self.x[new], 0.0
        self.covariance[old, :] = self.covariance[new, :]
        self.covariance[:, old] = self.covariance[:, new]
        self.covariance[old, old] = self.covariance[new, new]
        self.covariance[new, :] = self.covariance[:, new] = 0.0
        self.covariance[new, new] = scaled @ scaled.T + np.diag(delayed**2)

    # -- the filter --------------------------------------------------------------------------------------------------

    def _use(self, block: MomentumBlock, deviations: tuple[float, float]) -> None:
        """Process a block; if the load has changed during it, or no payload explains it, reset the payload."""
        self._age(block)
        self._renew_error(block.last, deviations)
        noise = np.diag(self._noise(block))
        stepped = not self._fresh and self._has_stepped(block, noise)
        if stepped or not self._update(block, noise):
            self.steps += not self._fresh  # an estimated payload has changed
            self._stepped.append(block.time)
            self.forget_payload()
            return
        self._fresh = False
        if self._shows_steps(block, noise):
            self._seen = block.time
        else:
            self._forget_unseen(block.time)
        self._block = MomentumBlock.start(block.time, block.last)

    def _has_stepped(self, block: MomentumBlock, noise: Array) -> bool:
        """Return whether the innovations show a step of the load."""
        wrong, rows = self._residual(block, self.x)
        return self._test.see(-wrong, rows @ self.covariance @ rows.T + noise, rows[:, 0])

    def _shows_steps(self, block: MomentumBlock, noise: Array) -> bool:
        """Return whether blocks like this one would show a step of the load; False with joints at their limits."""
        _, rows = self._residual(block, self.x)
        machine = self.covariance.copy()
        machine[0, :] = machine[:, 0] = 0.0
        direction = rows[:, 0]
        shown = direction @ np.linalg.solve(rows @ machine @ rows.T + noise, direction)
        settings = self.settings
        step = settings.blind_step * self.limit
        return bool(settings.step_window * shown * step**2 >= settings.step_gate**2)

    def _forget_unseen(self, time: float) -> bool:
        """Reset the payload if no recent block would have shown a step; return whether it was estimated before."""
        if 0.0 <= time - self._seen <= self.settings.blind_time:
            return False
        observed, self._seen = self._seen > -np.inf, -np.inf
        self.forget_payload()
        return observed

    def _age(self, block: MomentumBlock) -> None:
        """Increase the covariance: of friction at rest by travel, of machine and payload by time.

        The payload may change more at rest.
        """
        self._forget_machine(block.time)
        start = self._first_dry + self._rows
        for k in range(self._rows):
            index = start + k
            kept = np.exp(-block.travel[k] / self.settings.stick_travel)
            self.x[index] *= kept
            self.covariance[index, :] *= kept
            self.covariance[:, index] *= kept
            self.covariance[index, index] += (1.0 - kept**2) * self._spread.resting[k] ** 2
        settings = self.settings
        moving = float(np.mean(np.tanh(block.travel / block.span / settings.working) ** 2))
        self._rested = min(max(self._rested + (1.0 - 2.0 * moving) * block.span, 0.0), settings.rest_time)
        part = self._rested / settings.rest_time
        self.covariance[0, 0] += (settings.drift**2 + part * settings.resting_drift**2) * block.span

    def _forget_machine(self, time: float) -> None:
        """Let the uncertainty of masses, friction and offsets return to its initial value with time."""
        step, self._aged = max(time - self._aged, 0.0), time
        rows = np.arange(PAYLOAD_COLUMNS, len(self._first))
        first = self._first[rows]
        lost = first - self.covariance[rows, rows]
        self.covariance[rows, rows] += np.clip(lost, 0.0, first * np.minimum(step / self._forgetting[rows], 1.0))

    def _residual(self, block: MomentumBlock, x: Array) -> tuple[Array, Array]:
        """Return the mean missing force (r,) of a block at states x, and its derivative (r, k)."""
        first, last, dry, rows, span = block.first, block.last, self._first_dry, self._rows, block.span
        bodies = len(self.model.body_columns)
        columns = (last.momentum_columns - first.momentum_columns - block.force_columns) / span
        lifted = x[:bodies].copy()
        lifted[1:PAYLOAD_COLUMNS] *= x[0]
        H = np.zeros((rows, len(x)))
        H[:, 0] = columns[:, 0] + columns[:, 1:PAYLOAD_COLUMNS] @ x[1:PAYLOAD_COLUMNS]
        H[:, 1:PAYLOAD_COLUMNS] = columns[:, 1:PAYLOAD_COLUMNS] * x[0]
        H[:, PAYLOAD_COLUMNS:bodies] = columns[:, PAYLOAD_COLUMNS:]
        H[:, bodies : self._late] = -block.effort_columns / span
        H[:, self._late] = (first.pressed - last.pressed) / span  # pressures of a little earlier
        row = np.arange(rows)
        sign = block.sign / span
        H[row, dry + row] = sign
        H[row, dry + rows + row] = -np.sqrt(np.maximum(1.0 - sign**2, 0.0))
        H[row, dry + 2 * rows + row] = 1.0 / span
        H[row, dry + 3 * rows + row] = -1.0 / span
        bare = (last.momentum - first.momentum - block.force) / span + self._dry * sign
        wrong = bare + columns @ lifted + H[:, bodies:] @ x[bodies:]
        return wrong, H

    def _noise(self, block: MomentumBlock) -> Array:
        """Return the variances (r,) of the mean forces; a joint or a piston at its limit is not used.

        If a joint starts or stops moving during a block, the duration of sticking is unknown.
        """
        settings = self.settings
        lines = slice(self._rows, self._rows + len(self.model.lines))
        white = (block.effort_columns[:, lines] / block.span) ** 2
        variance = white.sum(axis=1) * settings.pressure_noise**2 / max(block.samples, 1) + self._spread.unmodelled**2
        changing = block.squared / block.span - (block.sign / block.span) ** 2
        variance += CHANGING * changing * np.hypot(self._dry, self._spread.dry) ** 2
        return np.asarray(np.where(block.room > settings.end_room, variance, 1e6 * self._spread.unmodelled**2 + 1e18))

    def _update(self, block: MomentumBlock, noise: Array) -> bool:
        """Update by iteration, because mass times position is not linear; return False, unchanged, without a fit."""
        before, spread = self.x.copy(), self.covariance
        x = before
        for _ in range(ROUNDS):
            wrong, rows = self._residual(block, x)
            expected = rows @ spread @ rows.T + noise
            gain = np.linalg.solve(expected, rows @ spread).T
            surprise = -wrong - rows @ (before - x)
            x = before + gain @ surprise
        if surprise @ np.linalg.solve(expected, surprise) > self.settings.fit_gate**2:
            return False
        self.x = x
        self._shrink(gain, rows, noise)
        return True

    def _correct(self, surprise: Array, rows: Array, noise: Array) -> None:
        gain = np.linalg.solve(rows @ self.covariance @ rows.T + noise, rows @ self.covariance).T
        self.x = self.x + gain @ surprise
        self._shrink(gain, rows, noise)

    def _shrink(self, gain: Array, rows: Array, noise: Array) -> None:
        """Reduce the covariance in Joseph's form, which stays positive definite."""
        kept = np.eye(len(self.x)) - gain @ rows
        self.covariance = kept @ self.covariance @ kept.T + gain @ noise @ gain.T
        self.covariance = 0.5 * (self.covariance + self.covariance.T)

    # -- results -----------------------------------------------------------------------------------------------------

    @property
    def deviation(self) -> float:
        """Standard deviation of the estimated mass, kg."""
        return float(np.sqrt(self.covariance[0, 0]))

    @property
    def blind(self) -> bool:
        """Whether no recent block would have shown a step of the load."""
        return self._seen == -np.inf

    @property
    def doubted(self) -> bool:
        """Whether pressures and motion are inconsistent: frequent load steps, or blocks that no load explains."""
        full = len(self._stepped) == self.settings.doubt_steps
        return full and self.time is not None and self.time - self._stepped[0] <= self.settings.doubt_time

    @property
    def estimate(self) -> PayloadEstimate:
        """The present estimate of the payload."""
        mass, half = float(self.x[0]), QUANTILE * self.deviation
        certain = half <= self.settings.tolerance * self.limit
        observed = certain and not self.doubted and not no_weight(mass - half, mass + half, self.limit)
        used = max(mass, 0.0) if observed else max(self.rated, min(mass - half, self.limit))
        center = self.x[1:PAYLOAD_COLUMNS].copy()
        state = 'observed' if observed else 'rated'
        return PayloadEstimate(state, used, mass - half, mass + half, mass, center, self.steps)


def payload_estimator(machine: Machine, settings: PayloadSettings | None = None) -> PayloadEstimator:
    """Return the estimator of a machine. Raises UnobservableError if its payload cannot be estimated."""
    return PayloadEstimator(PayloadModel(machine), settings)
