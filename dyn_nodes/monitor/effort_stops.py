"""Stops of a machine whose joints are commanded by efforts: what the tip-over governor asks there.

Where nothing else brakes, neutral is an effort by a model of the machine: that at which each joint comes to rest like
exp(-t / T), with its weight carried (`EffortDrives`). What the joints get beside their efforts, by errors of the model,
shows in how they accelerate; it is added, so that a payload that weighs more than known does not sink. Commands of the
law go from there to the efforts that are wanted, as parts of the limits.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.control.stops import Decision
from dyn_nodes.model.machine import Machine
from dyn_nodes.monitor.braking import BrakingPredictor
from dyn_nodes.monitor.braking_model import STEP
from dyn_nodes.monitor.stop_drives import BRAKING_TIME, FULL, EffortDrives

Array = NDArray[np.float64]


class EffortStops(BrakingPredictor):
    """The `Stops` of a governor of efforts.

    The commands of `decide` are efforts (m,), N m or N; outputs are parts of their limits beyond neutral, as the law
    has them, and `given` the efforts that these are.

    Args: as `BrakingPredictor`; order are places among the driven joints of the machine.

    Attributes:
        given: (m,) efforts of the last output, N m or N, in the order of the commands; NaN before the machine was seen.
    """

    drives: EffortDrives

    def _drives_of(self, machine: Machine) -> EffortDrives:
        return EffortDrives(machine, STEP)

    def reset(self) -> None:
        """Forget what was given: the joints are held where they are."""
        super().reset()
        self._neutral, self._sent = np.full(self._count, np.nan), np.zeros_like(self._past)
        self._at = np.zeros(len(self.machine.movable_joints)), np.zeros(len(self.machine.movable_joints))
        self.given = np.full(len(self._order), np.nan)

    def see(self) -> None:
        """Take over what the monitor knows now."""
        begins = not self._seen
        super().see()
        monitor = self.monitor
        self._at, self._unseen = (monitor.q.copy(), monitor.v.copy()), 0.0
        self._known[:3], self._known[3] = self.machine.gravity * monitor.up, monitor.payload
        self._brake()
        if begins:
            self._sent[:] = self._spool[:] = self._neutral

    def _drawn(self) -> float:
        """Return the part of the way that disturbances are drawn: none at first, when it is not known what acts."""
        return super()._drawn() if self._seen else 0.0

    def _brake(self) -> None:
        """Find the efforts that brake the joints where they are by now, if they brake since they were seen."""
        q, v = self._at
        left = math.exp(-self._unseen / BRAKING_TIME)
        self.model.kernels.braked(q + BRAKING_TIME * (1.0 - left) * v, left * v, self._known, self._neutral)

    @property
    def _held(self) -> Array:
        """Efforts (m,) of neutral, in the order of the drives, with what is known of disturbances."""
        first = 2 * len(self._at[0])
        return self._neutral - self._state[:, first : first + self._count].mean(axis=0)

    def issued(self, volts: Array) -> None:
        """Take outputs (m,) that are given from now on."""
        super().issued(volts)
        if self._unseen > 0.0:
            self._brake()
        limit = self.drives.greatest
        self._effort = np.clip(self._held + limit * self._latest, -limit, limit)
        self.given = self._effort[self._order]

    def _carry(self) -> None:
        """Go on by a step: what has waited for a delay acts."""
        if np.isnan(self.given).any():
            return
        for h, waits in enumerate(self._waits):
            self._spool[h] = self._sent[len(self._sent) - waits] if waits else self._effort
        for waiting, latest in ((self._past, self._latest), (self._sent, self._effort)):
            waiting[:-1] = waiting[1:]
            waiting[-1:] = latest

    def decide(self, command: Array, before: Array, step: float, since: Array, lasting: float) -> Decision:
        """Return what is let through of efforts (m,), N m or N; the other arguments are those of `Stops`."""
        limit = self.drives.greatest[self._order]
        beyond = np.clip((command - self._held[self._order]) / limit, -FULL, FULL)
        return super().decide(beyond, before, step, since, lasting)
