"""Position of a valve's spool from the commands: dead time and first-order lag, exact between commands."""

from __future__ import annotations

import numpy as np

from dyn_nodes.analysis.machine_log import Samples
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.hydraulic import Valve


class LaggedCommand:
    """A signal that follows targets with dead time and first-order lag; 0 before the first target.

    Args:
        times: (m,) s, increasing.
        targets: (m,) targets, each held until the next one.
    """

    def __init__(self, times: Array, targets: Array) -> None:
        changed = np.concatenate([[True], np.diff(targets) != 0.0])
        self._times, self._targets = times[changed], targets[changed]

    def at(self, times: Array, dead_time: float, time_constant: float) -> tuple[Array, Array]:
        """Return the signal (t,) and its derivative by the dead time (t,).

        Args:
            times: (t,) s.
            dead_time: s.
            time_constant: s, > 0.
        """
        starts = self._starts(time_constant)
        index = np.searchsorted(self._times + dead_time, times, side='right') - 1
        started = index >= 0
        index = np.maximum(index, 0)
        faded = np.exp(-np.maximum(times - dead_time - self._times[index], 0.0) / time_constant)
        spool = self._targets[index] + (starts[index] - self._targets[index]) * faded
        spool = np.where(started, spool, 0.0)
        return spool, np.where(started, (spool - self._targets[index]) / time_constant, 0.0)

    def _starts(self, time_constant: float) -> Array:
        """Return the signal at every change of the target (m,)."""
        kept = np.exp(-np.diff(self._times) / time_constant).tolist()
        targets = self._targets.tolist()
        result, spool = [0.0], 0.0
        for target, share in zip(targets, kept):
            spool = target + (spool - target) * share
            result.append(spool)
        return np.array(result)


class SpoolMotion(LaggedCommand):
    """Spool position, m, for the commands of a log.

    Args:
        valve: valve with gain and limits.
        commands: (m, 1) V, each held until the next one; the valve is at neutral before the first one.
    """

    def __init__(self, valve: Valve, commands: Samples) -> None:
        self.reach = min(valve.gain * valve.voltage_limit, valve.spool_limit)
        super().__init__(commands.times, np.clip(valve.gain * commands.values[:, 0], -self.reach, self.reach))
