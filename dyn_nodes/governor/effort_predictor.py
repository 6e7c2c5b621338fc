"""Stops of a machine whose joints are commanded by efforts: what the tip-over governor asks there.

Where nothing else brakes, neutral are efforts by a model of the machine: those at which each joint comes to rest like
exp(-t / T), with its weight carried (`EffortDrives`). What the joints get beside their efforts, by errors of the model,
shows in how they accelerate, and is made up for. As far as links and a payload explain it that weigh otherwise than
known, within their errors, the machine is taken to move with these, which is right in every posture; the rest is
carried on as it is. Commands of the law are the accelerations beyond that which the wanted efforts would give.

Links that all weigh f times what is known move by an effort as the known ones do by 1/f of it, with 1/f of the payload.
So the model keeps the known links: efforts and payload of it are those of the machine over f.
"""

from __future__ import annotations

import copy
import math

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.governor.drives import CORRECTED, FULL, SLIGHT, EffortDrives
from dyn_nodes.governor.predictor import StopPredictor
from dyn_nodes.governor.records import copied
from dyn_nodes.governor.stop_model import STEP_TIME
from dyn_nodes.governor.stops import Decision
from dyn_nodes.model.machine import Machine

LEARNING_TIME, WEIGHING_TIME = 2.0, 1.0
"""In which disturbances are learnt, and what links and payload weigh of them, s."""
UNSEEN = 0.01
"""Part of the limits of efforts: of weights that take less, joints show little, and they are learnt slowly."""
OF_WEIGHT, OF_LIMIT = 0.5, 0.05
"""Parts of what carries a joint at rest, and of the limit of its effort, to which errors of the model may come."""
ALONE, RESTS = 0.5, 0.02
"""Without a look for so long, s, efforts end where the joints rest by the model, slower than this, rad/s or m/s: a
weight that is carried by a model alone falls ever faster."""
NEAR, RINGS = 0.02, 0.2
"""To the end of a joint's way, rad or m; time that a shock there is felt, s."""


class EffortPredictor(StopPredictor):
    """The `Stops` of a governor of efforts.

    The commands of `decide` are efforts (m,), N m or N; outputs are accelerations beyond neutral, as the law has them,
    rad/s2 or m/s2, and `given` the efforts that these are.

    Args: as `StopPredictor`; order are places among the driven joints of the machine.

    Attributes:
        given: (m,) efforts of the last output, N m or N, in the order of the commands; NaN before the machine was seen,
            and where they have ended: the drives are to hold the joints.
        speeds: (k, m) of the joints by the model, from the time measured to that of the outputs, rad/s or m/s.
        state_at_outputs: positions and velocities (n,) of all joints at the time of the outputs.
        inertia: (m, m) of the driven joints there.
    """

    drives: EffortDrives

    def _drives_of(self, machine: Machine) -> EffortDrives:
        return EffortDrives(machine)

    def reset(self) -> None:
        """Forget what was given: the joints are held where they are."""
        super().reset()
        self._sent, self.inertia = np.zeros_like(self.sent.queue), np.eye(self._count)
        self._since_end, self._is_placed = np.inf, False
        self._at_end = np.zeros(self._count, np.bool_)
        self._neutral = np.zeros(self._count)
        self.speeds = np.zeros((1 + round(0.5 * sum(self.sent.waits[[0, -1]])), self._count))
        self.state_at_outputs = np.zeros(len(self.machine.movable_joints)), np.zeros(len(self.machine.movable_joints))
        self.given = np.full(len(self._limits), np.nan)
        self.disturbances[:] = 0.0

    def branched(self) -> EffortPredictor:
        """Return another one that goes on from here by itself; it shares the monitor."""
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
        """Take over what the monitor knows now."""
        begins, kept = not self._seen, self.disturbances.copy()
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
        self._correct(spent, begins)
        self._of_state(1)[:] = self.speeds[0]
        self.model.kernels.inertia(self.state_at_outputs[0], present.vector, self.inertia.reshape(-1))
        if begins:
            self._sent[:] = self.spools[:] = self.efforts_of(np.zeros(self._count))
        if math.isfinite(self.degree):  # else it stands on nothing: no look showed anything
            self._learn(kept, drawn, spent)
        self._neutral = self.efforts_of(np.zeros(self._count))
        self._go_ahead()

    def _payload_errors(self) -> tuple[float, float]:
        """Return by how much the payload may be less and more than that of the model, kg; less than 0 where beyond."""
        over = self.model_payload - self.monitor.payload
        least, most = self._excesses()
        return over - least, most - over

    def _go_ahead(self) -> None:
        """Take what is on its way as accelerations beyond the neutral of now."""
        if len(self._sent):
            missing = self._sent - self._neutral
            self.sent.queue[:] = np.clip(np.linalg.solve(self.inertia, missing.T).T, -FULL, FULL)

    def _correct(self, spent: float, begins: bool) -> None:
        """Bring the speeds that the model carries on nearer to those that are measured of the time of its first row.

        A feedback of measured speeds would answer to the rocking of the base by as much as the delay late, and raise
        it.
        """
        places = self.drives.places
        if begins:
            self.speeds[:] = self.state_at_outputs[1][places]
        wrong = self.state_at_outputs[1][places] - self.speeds[0]
        slight = np.clip(wrong, -SLIGHT, SLIGHT)
        self.speeds += wrong - slight + min(spent / CORRECTED, 1.0) * slight
        self._move(STEP_TIME * (len(self.speeds) - 1) * self.speeds.mean(axis=0))

    def _move(self, way: Array) -> None:
        """Move the joints on by a way (m,), rad or m, at the speeds of the last row; none goes beyond its end."""
        (q, v), places = self.state_at_outputs, self.drives.places
        least, most = self.drives.reach
        q[places] += way
        ends = ((q[places] <= least) & (self.speeds[-1] < 0.0)) | ((q[places] >= most) & (self.speeds[-1] > 0.0))
        q[places] = np.clip(q[places], least, most)
        self.speeds[-1, ends] = 0.0
        v[places] = self.speeds[-1]

    def _drawn(self) -> float:
        """Return the part of the way that disturbances are drawn: none at first, when it is not known what acts."""
        return -math.expm1(-self._unseen / LEARNING_TIME) if self._seen else 0.0

    @property
    def disturbances(self) -> Array:
        """What the joints get beside their efforts (h, m), by the delays, N m or N; a part of the state."""
        return self._of_state(0)

    def _of_state(self, kind: int) -> Array:
        """Return disturbances, 0, or speeds, 1, of the state (h, m)."""
        return self.states.drives[:, kind * self._count : (kind + 1) * self._count]

    def _learn(self, kept: Array, drawn: float, spent: float) -> None:
        """Learn of a look at the machine what it weighs, and what else the joints get beside their efforts.

        Nothing of a joint at its end, and of none shortly after one came there or left: what the end does to a joint
        is no error of the model, and a shock is felt in all of them.

        Args:
            kept: (h, m) disturbances before.
            drawn: part of the way from there to what shows now that they have gone since.
            spent: time since the last look, s.
        """
        q = self.state_at_outputs[0][self.drives.places]
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
        """Learn what links and payload weigh, within their errors; return the efforts (m,) that others would explain.

        By least squares, of joints over what is not known of their efforts: a part of the limits, and how much they
        change within the delay.

        Args:
            shown: (m,) what the joints get beside their efforts now.
            learns: (m,) whether that is looked at.
            spent: time since the last look, s.
        """
        error, known = self.settings.mass_error, self.monitor.payload
        least, most = np.array([(1.0 - error, 1.0 + error), self._excesses()]).T
        free = most > least
        if not free.any() or not learns.any():
            return np.zeros(self._count)
        efforts = np.where(learns, self._of_weights(), 0.0).T * free
        unsure = UNSEEN * self.drives.greatest + np.abs(self.spools[0] - self.spools[-1])
        parts, scale = efforts / unsure[:, None], np.where(free, (1.0, known + most[1]), 1.0)
        here = np.array([self.heft, self._excess])
        heavier = -np.linalg.solve(parts.T @ parts + np.diag(len(parts) / scale**2), parts.T @ (shown / unsure))
        heavier *= self.heft
        heavier = np.clip(here + heavier, least, most) - here
        explained = efforts @ heavier / self.heft
        self.heft, self._excess = (here - math.expm1(-spent / WEIGHING_TIME) * heavier).tolist()
        self.surroundings.payload[:] = self.model_payload
        return np.asarray(explained)

    def _of_weights(self) -> Array:
        """Return efforts (2, m) that the links take as the joints move now, N m or N, and those of a kilogram."""
        monitor, found = self.monitor, np.empty((2, self._count))
        surroundings = self.surroundings.copied()
        for kilograms in range(2):
            surroundings.payload[:] = kilograms
            self.model.kernels.efforts(monitor.q, monitor.v, monitor.a, surroundings.vector, found[kilograms])
        found[1] -= found[0]
        return found

    def _most_disturbing(self) -> Array:
        """Return the greatest disturbances (m,): an arm that presses on something is not to go on so at neutral."""
        (q, v), weight = self.state_at_outputs, np.empty(self._count)
        self.model.kernels.efforts(q, np.zeros_like(v), np.zeros_like(v), self.surroundings.vector, weight)
        return np.asarray(OF_WEIGHT * np.abs(weight) + OF_LIMIT * self.drives.greatest)

    def efforts_of(self, beyond: Array) -> Array:
        """Return efforts (m,) of accelerations (m,) beyond neutral."""
        q, v = self.state_at_outputs
        rates, found = self.drives.braking * v, np.empty(self._count)
        rates[self.drives.places] += beyond
        self.model.kernels.efforts(q, v, rates, self.surroundings.vector, found)
        return np.asarray(found - self.disturbances.mean(axis=0))

    def issued(self, volts: Array) -> None:
        """Take outputs (m,) that are given from now on."""
        super().issued(volts)
        if not self._is_placed:
            return
        if self._unseen >= ALONE and not volts.any() and np.abs(self.speeds[-1]).max() < RESTS:
            self.given, self._seen = np.full(len(self._limits), np.nan), False
            return
        limit = self.drives.greatest / self.heft
        self._effort = np.clip(self.efforts_of(self._latest), -limit, limit)
        self.given = self.heft * self._effort[self.levers.order]

    def _carry(self) -> None:
        """Go on by a step: what has waited for a delay acts."""
        if np.isnan(self.given).any():
            return
        places = self.drives.places
        rates = self.drives.braking[places] * self.speeds[-1] + self._latest
        self.speeds[:-1] = self.speeds[1:]
        self.speeds[-1] += STEP_TIME * rates
        self._move(STEP_TIME * self.speeds[-1])
        for h, waits in enumerate(self.sent.waits):
            self.spools[h] = self._sent[len(self._sent) - waits] if waits else self._effort
        self._sent[:-1] = self._sent[1:]
        self._sent[-1:] = self._effort

    def decide(self, command: Array, before: Array, step: float, since: Array, lasting: float) -> Decision:
        """Return what is let through of efforts (m,), N m or N; the other arguments are those of `Stops`."""
        missing = np.empty(self._count)
        missing[self.levers.order] = command / self.heft
        missing -= self._neutral
        beyond = np.linalg.solve(self.inertia, missing)[self.levers.order]
        return super().decide(np.clip(beyond, -FULL, FULL), before, step, since, lasting)
