"""Stop prediction for machines whose joints are commanded by efforts.

Nothing but efforts brakes these machines. Neutral efforts follow from a model of the machine: each joint comes to rest
like exp(-t / T), with its weight carried (`EffortDrives`). Additional efforts on the joints, from errors of the model,
are estimated from the measured accelerations and compensated. As far as deviations of the masses of links and payload,
within their errors, explain them, the machine is modelled with these masses, which is right in every posture; the rest
is carried on as it is. Commands of the law are the accelerations in addition to neutral that the requested efforts
would give.

If all links weigh f times their nominal mass, an effort moves them as 1/f of it moves the nominal links with 1/f of the
payload. So the model keeps the nominal links, with efforts and payload of the machine over f.
"""

from __future__ import annotations

import copy
import math

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.governor.drives import CORRECTED, FULL, SLIGHT, EffortDrives
from dyn_nodes.governor.neutral_loop import check_delay
from dyn_nodes.governor.predictor import StopPredictor
from dyn_nodes.governor.records import Extremes, copied
from dyn_nodes.governor.stop_model import STEP_TIME
from dyn_nodes.governor.stops import Decision
from dyn_nodes.model.machine import Machine

LEARNING_TIME, WEIGHING_TIME = 2.0, 1.0
"""Time constants with which disturbances are estimated, and the masses of links and payload from them, s."""
UNSEEN = 0.01
"""Fraction of the effort limits: weights with smaller efforts have little effect on joints and are estimated slowly."""
OF_WEIGHT, OF_LIMIT = 0.5, 0.05
"""Bounds of the effort errors of the model: fractions of the static effort of a joint, and of its effort limit."""
ALONE, RESTS = 0.5, 0.02
"""Time without an update after which efforts end, s, if by the model the joints rest, slower than this, rad/s or m/s: a
weight that only a model carries falls ever faster."""
NEAR, RINGS = 0.02, 0.2
"""Distance to a joint limit, rad or m, and the time for which a shock there affects the joints, s."""


class EffortPredictor(StopPredictor):
    """The `Stops` of a governor of efforts.

    The commands of `decide` are efforts (m,), N m or N; outputs are accelerations relative to neutral, as in the law,
    rad/s2 or m/s2, and `given` the corresponding efforts.

    Args: as `StopPredictor`; `order` are indices among the driven joints of the machine.

    Attributes:
        given: (m,) efforts of the last output, N m or N, in the order of the commands; NaN before the first update, and
            after the efforts have ended: the drives must hold the joints.
        speeds: (k, m) of the joints by the model, from the time measured to the time of the outputs, rad/s or m/s.
        state_at_outputs: positions and velocities (n,) of all joints at the time of the outputs.
        inertia: (m, m) of the driven joints there.
    """

    machines = 1
    drives: EffortDrives

    def _drives_of(self, machine: Machine) -> EffortDrives:
        check_delay(machine, self.settings.delay)
        return EffortDrives(machine)

    def reset(self) -> None:
        """Clear the outputs: the joints are held at their present positions."""
        super().reset()
        self._sent, self.inertia = np.zeros_like(self.sent.queue), np.eye(self._count)
        self._since_end, self._is_placed = np.inf, False
        self._at_end = np.zeros(self._count, np.bool_)
        self._neutral = np.zeros(self._count)
        self.speeds = np.zeros((1 + round(0.5 * sum(self.sent.waits[[0, -1]])), self._count))
        self.state_at_outputs = np.zeros(len(self.machine.movable_joints)), np.zeros(len(self.machine.movable_joints))
        self.output_efforts = np.full(len(self._limits), np.nan)
        self.disturbances[:] = 0.0

    def branched(self) -> EffortPredictor:
        """Return an independent copy that continues from the present state; it shares the monitor."""
        other = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(other, name, value.copy())
        other.states, other.surroundings = self.states.copied(), self.surroundings.copied()
        other.support, other.sent, other.expected = self.support.copied(), copied(self.sent), copied(self.expected)
        other.levers = self.levers._replace(arms=self.levers.arms.copy())
        q, v = self.state_at_outputs
        other.state_at_outputs = q.copy(), v.copy()
        return other

    def see(self) -> None:
        """Update the model from the monitor."""
        starts, kept = not self._seen, self.disturbances.copy()
        least, most = self._excesses()
        self._excess = self._excess if least <= self._excess <= most else 0.0  # another load
        spent, drawn = self._unseen, self._drawn()
        self._since_end += spent
        super().see()
        monitor = self.monitor
        if monitor.time is None:
            return
        self._is_placed = True
        self.state_at_outputs, self._unseen = (monitor.q.copy(), monitor.v.copy()), 0.0
        present = self.surroundings
        present.specific_force[:], present.payload[:] = self.machine.gravity * monitor.up, self.model_payload
        self._correct(spent, starts)
        self._of_state(1)[:] = self.speeds[0]
        self.model.kernels.inertia(self.state_at_outputs[0], present.vector[0], self.inertia.reshape(-1))
        if starts:
            self._sent[:] = self.spools[:] = self.efforts_of(np.zeros(self._count))
        if math.isfinite(self.degree):  # else the machine has no support, and there was no update
            self._learn(kept, drawn, spent)
        self._neutral = self.efforts_of(np.zeros(self._count))
        self._go_ahead()

    def _extremes(self) -> Extremes:
        """Return the masses with which the machine moves in all variants; loads include all errors."""
        extremes, (least, most) = self.extremes, self._excesses()
        extremes.payload[:] = self.model_payload
        extremes.bounds[:, 2], extremes.bounds[:, 3] = self.monitor.payload + least, self.monitor.payload + most
        return extremes

    def _go_ahead(self) -> None:
        """Convert queued efforts into accelerations relative to the present neutral."""
        if len(self._sent):
            missing = self._sent - self._neutral
            self.sent.queue[:] = np.clip(np.linalg.solve(self.inertia, missing.T).T, -FULL, FULL)

    def _correct(self, spent: float, starts: bool) -> None:
        """Correct the speeds of the model towards those measured, which belong to the time of its first row.

        Feedback of measured speeds would respond to the rocking of the base with the full delay, and amplify it.
        """
        indices = self.drives.indices
        if starts:
            self.speeds[:] = self.state_at_outputs[1][indices]
        wrong = self.state_at_outputs[1][indices] - self.speeds[0]
        slight = np.clip(wrong, -SLIGHT, SLIGHT)
        self.speeds += wrong - slight + min(spent / CORRECTED, 1.0) * slight
        self._move(STEP_TIME * (len(self.speeds) - 1) * self.speeds.mean(axis=0))

    def _move(self, way: Array) -> None:
        """Move the joints by a displacement (m,), rad or m, at the speeds of the last row, within their limits."""
        (q, v), indices = self.state_at_outputs, self.drives.indices
        least, most = self.drives.reach
        q[indices] += way
        ends = ((q[indices] <= least) & (self.speeds[-1] < 0.0)) | ((q[indices] >= most) & (self.speeds[-1] > 0.0))
        q[indices] = np.clip(q[indices], least, most)
        self.speeds[-1, ends] = 0.0
        v[indices] = self.speeds[-1]

    def _drawn(self) -> float:
        """Return the filter gain of the disturbances: 0 at first, when the acting efforts are unknown."""
        return -math.expm1(-self._unseen / LEARNING_TIME) if self._seen else 0.0

    @property
    def disturbances(self) -> Array:
        """Disturbance efforts of the joints (h, m), by the delays, N m or N; a view into the state."""
        return self._of_state(0)

    def _of_state(self, kind: int) -> Array:
        """Return disturbances (`kind` 0) or speeds (`kind` 1) of the state (h, m)."""
        return self.states.drives[:, kind * self._count : (kind + 1) * self._count]

    def _learn(self, kept: Array, drawn: float, spent: float) -> None:
        """Estimate masses and the remaining disturbances of the joints from the present measurement.

        Joints at a limit are excluded, and all joints for a short time after one reached or left its limit: the effort
        of the limit is no error of the model, and a shock affects all joints.

        Args:
            kept: (h, m) disturbances before.
            drawn: filter gain with which the disturbances have since been updated towards the measured ones.
            spent: time since the last update, s.
        """
        q = self.state_at_outputs[0][self.drives.indices]
        least, most = self.drives.reach
        at_end = (q < least + NEAR) | (q > most - NEAR)
        if (at_end != self._at_end).any():
            self._since_end, self._at_end = 0.0, at_end
        learns = ~at_end & (self._since_end >= RINGS)
        shown = (self.disturbances - kept) / drawn + kept if drawn else kept
        other = shown + self._weigh(shown.mean(axis=0), learns, spent)
        most = self._most_disturbing()
        self.disturbances[:] = np.clip(kept + drawn * np.where(learns, other - kept, 0.0), -most, most)

    def _weigh(self, shown: Array, learns: Array, spent: float) -> Array:
        """Estimate the masses of links and payload, within their errors; return the efforts (m,) of the corrections.

        By least squares, with each joint weighted by the uncertainty of its effort: a fraction of the limit, and its
        change within the delay.

        Args:
            shown: (m,) present disturbances of the joints.
            learns: (m,) whether a joint is used.
            spent: time since the last update, s.
        """
        error, nominal = self.settings.mass_error, self.monitor.payload
        least, most = np.array([(1.0 - error, 1.0 + error), self._excesses()]).T
        free = most > least
        if not free.any() or not learns.any():
            return np.zeros(self._count)
        efforts = np.where(learns, self._of_weights(), 0.0).T * free
        unsure = UNSEEN * self.drives.greatest + np.abs(self.spools[0] - self.spools[-1])
        parts, scale = efforts / unsure[:, None], np.where(free, (1.0, nominal + most[1]), 1.0)
        here = np.array([self.heft, self._excess])
        heavier = -np.linalg.solve(parts.T @ parts + np.diag(len(parts) / scale**2), parts.T @ (shown / unsure))
        heavier *= self.heft
        heavier = np.clip(here + heavier, least, most) - here
        explained = efforts @ heavier / self.heft
        self.heft, self._excess = (here - math.expm1(-spent / WEIGHING_TIME) * heavier).tolist()
        self.surroundings.payload[:] = self.model_payload
        return np.asarray(explained)

    def _of_weights(self) -> Array:
        """Return the efforts (2, m) of the links in the present motion, N m or N, and of a kilogram of payload."""
        monitor, efforts = self.monitor, np.empty((2, self._count))
        surroundings = self.surroundings.copied()
        for kilograms in range(2):
            surroundings.payload[:] = kilograms
            self.model.kernels.efforts(monitor.q, monitor.v, monitor.a, surroundings.vector[0], efforts[kilograms])
        efforts[1] -= efforts[0]
        return efforts

    def _most_disturbing(self) -> Array:
        """Return the greatest disturbances (m,): at neutral an arm must not continue to push against an obstacle."""
        (q, v), weight = self.state_at_outputs, np.empty(self._count)
        self.model.kernels.efforts(q, np.zeros_like(v), np.zeros_like(v), self.surroundings.vector[0], weight)
        return np.asarray(OF_WEIGHT * np.abs(weight) + OF_LIMIT * self.drives.greatest)

    def efforts_of(self, beyond: Array) -> Array:
        """Return the efforts (m,) of accelerations (m,) relative to neutral."""
        q, v = self.state_at_outputs
        rates, efforts = self.drives.braking * v, np.empty(self._count)
        rates[self.drives.indices] += beyond
        self.model.kernels.efforts(q, v, rates, self.surroundings.vector[0], efforts)
        return np.asarray(efforts - self.disturbances.mean(axis=0))

    def issued(self, volts: Array) -> None:
        """Accept the outputs (m,) that apply from now on."""
        super().issued(volts)
        if not self._is_placed:
            return
        if self._unseen >= ALONE and not volts.any() and np.abs(self.speeds[-1]).max() < RESTS:
            self.output_efforts, self._seen = np.full(len(self._limits), np.nan), False
            return
        limit = self.drives.greatest / self.heft
        self._effort = np.clip(self.efforts_of(self._latest), -limit, limit)
        self.output_efforts = self.heft * self._effort[self.levers.order]

    def _carry(self) -> None:
        """Advance by a step: outputs that have waited for a delay take effect."""
        if np.isnan(self.output_efforts).any():
            return
        indices = self.drives.indices
        rates = self.drives.braking[indices] * self.speeds[-1] + self._latest
        self.speeds[:-1] = self.speeds[1:]
        self.speeds[-1] += STEP_TIME * rates
        self._move(STEP_TIME * self.speeds[-1])
        for h, waits in enumerate(self.sent.waits):
            self.spools[h] = self._sent[len(self._sent) - waits] if waits else self._effort
        self._sent[:-1] = self._sent[1:]
        self._sent[-1:] = self._effort

    def decide(self, command: Array, before: Array, step: float, since: Array, lasting: float) -> Decision:
        """Return the decision for efforts (m,), N m or N; for the other arguments see `Stops`."""
        missing = np.empty(self._count)
        missing[self.levers.order] = command / self.heft
        missing -= self._neutral
        beyond = np.linalg.solve(self.inertia, missing)[self.levers.order]
        return super().decide(np.clip(beyond, -FULL, FULL), before, step, since, lasting)
