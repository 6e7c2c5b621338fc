"""Position of the spool of a valve from the commands: a dead time, then a first-order lag; exact between commands."""

from __future__ import annotations

import numpy as np

from dyn_nodes.analysis.machine_log import Samples
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.hydraulic import Valve


class LaggedCommand:
    """A signal that follows targets after a dead time with a lag of first order; 0 before the first target.

    Args:
        times: (m,) s, rising.
        targets: (m,) each held until the next one.
    """

    def __init__(self, times: Array, targets: Array) -> None:
        changed = np.concatenate([[True], np.diff(targets) != 0.0])
        self._times, self._targets = times[changed], targets[changed]

    def at(self, times: Array, dead_time: float, time_constant: float) -> tuple[Array, Array]:
        """Return the signal (t,) and its change per second of dead time (t,).

        Args:
            times: (t,) s.
            dead_time: s.
            time_constant: s, > 0.
        """
        starts = self._starts(time_constant)
        place = np.searchsorted(self._times + dead_time, times, side='right') - 1
        known = place >= 0
        place = np.maximum(place, 0)
        faded = np.exp(-np.maximum(times - dead_time - self._times[place], 0.0) / time_constant)
        spool = self._targets[place] + (starts[place] - self._targets[place]) * faded
        spool = np.where(known, spool, 0.0)
        return spool, np.where(known, (spool - self._targets[place]) / time_constant, 0.0)

    def _starts(self, time_constant: float) -> Array:
        """The signal at every change of the target (m,)."""
        kept = np.exp(-np.diff(self._times) / time_constant).tolist()
        targets = self._targets.tolist()
        result, spool = [0.0], 0.0
        for target, share in zip(targets, kept):
            spool = target + (spool - target) * share
            result.append(spool)
        return np.array(result)


class SpoolMotion(LaggedCommand):
    """The spool, m, under the commands of a log.

    Args:
        valve: gain and limits.
        commands: (m, 1) V, each held until the next one; before the first one the valve is at neutral.
    """

    def __init__(self, valve: Valve, commands: Samples) -> None:
        self.reach = min(valve.gain * valve.voltage_limit, valve.spool_limit)
        super().__init__(commands.times, np.clip(valve.gain * commands.values[:, 0], -self.reach, self.reach))
