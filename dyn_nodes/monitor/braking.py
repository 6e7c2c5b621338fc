"""Stops of a machine from what a monitor knows of it now: what the tip-over governor asks.

Positions, speeds, payload, base and ground are those of the monitor. Of the oil nobody measures anything: spools follow
the outputs that were given, and pressures are carried along by the model and drawn towards those at which the joints
accelerate as they do. What was given within the longest delay may not have reached the valves yet, so the prediction
begins with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.control.stops import Stop
from dyn_nodes.control.tip_over_governor import GovernorSettings
from dyn_nodes.model.actuators import hydraulic
from dyn_nodes.model.machine import Machine
from dyn_nodes.monitor.braking_model import KNOWN, BrakingModel
from dyn_nodes.monitor.ground_observer import ground_axes
from dyn_nodes.monitor.stability_monitor import StabilityMonitor
from dyn_nodes.monitor.standing import StandingGround

Array = NDArray[np.float64]
STEP = 0.01
"""Of the integration, s."""
DRAWN = 0.1
"""Part of the way that the pressures are drawn in a step."""
CERTAIN = np.zeros(3)
"""Box of a machine that is known."""


class BrakingPredictor:
    """The `Stops` of a tip-over governor.

    Args:
        machine: on wheels, its joints moved by hydraulic actuators alone.
        order: actuators in the order of the commands, as places in `machine.actuators`.
        monitor: what knows the machine.
        settings: errors, delay, rate and horizon.

    Attributes:
        contacts: names of the springs on which the machine stands: of wheels, of rollers.
        ground: on which the machine stands now.
        degree: stability degree at rest in the present posture; NaN before `see`.
        payload_bounds: least and greatest payload that there may be, kg; None: `payload_error` of the settings about
            that of the monitor.
    """

    def __init__(
        self,
        machine: Machine,
        order: Sequence[int],
        monitor: StabilityMonitor,
        settings: GovernorSettings | None = None,
    ) -> None:
        self.machine, self.monitor, self.settings = machine, monitor, settings or GovernorSettings()
        self.model = BrakingModel(machine)
        self.ground = StandingGround(machine, monitor.model)
        self.contacts = tuple(own.name for own in machine.supports)
        self._order = np.array(order, dtype=np.intp)
        self._count = len(machine.actuators)
        valves = [hydraulic(own).valve for own in machine.actuators]
        self._gain = np.array([valve.gain for valve in valves])
        self._lag = np.array([valve.time_constant for valve in valves])
        self._reach = np.array([min(valve.gain * valve.voltage_limit, valve.spool_limit) for valve in valves])
        dead = max(valve.dead_time for valve in valves)
        self._waiting = round((self.settings.delay + dead) / STEP)
        self._free = np.array([own.free_length for own in machine.supports])
        springs_table = [(own.stiffness, own.damping) for own in machine.supports]
        self._springs = np.ascontiguousarray(np.array(springs_table).T)
        self._box = np.array([self.settings.mass_error, 0.0, 0.0])
        self.payload_bounds: tuple[float, float] | None = None
        self._ramp = self.settings.rate * STEP * np.arange(1, 1 + round(self.settings.horizon / STEP))[:, None]
        self._pressures, self._base = np.empty(2 * self._count), np.empty(36)
        self._known, self._oil = np.empty(KNOWN), np.zeros(3 * self._count)
        self._found = np.empty((3, len(self.contacts)))
        self.reset()

    def reset(self) -> None:
        """Take all valves to be at neutral, with nothing on its way to them."""
        self._seen, self.degree, self._elapsed = False, np.nan, 0.0
        self._spool = np.zeros(self._count)
        self._latest = np.zeros(self._count)
        self._past: deque[Array] = deque([np.zeros(self._count)] * self._waiting)

    def issued(self, volts: Array, step: float) -> None:
        """Take outputs (m,) that go to the valves for a step, s."""
        self._latest = self._of_all(volts)
        self._elapsed = min(self._elapsed + step, 1.0)
        while self._elapsed >= STEP - 1e-9:
            self._elapsed -= STEP
            self._past.append(self._latest)
            self._pass(self._past.popleft())

    def _pass(self, volts: Array) -> None:
        """Carry spools and pressures on by a step."""
        if self._seen:
            oil = self._oil.copy()
            self._run(oil, volts[None].copy(), CERTAIN, -np.inf, STEP)
            self._oil[:] = oil
        target = np.clip(self._gain * volts, -self._reach, self._reach)
        self._spool = target + (self._spool - target) * np.exp(-STEP / self._lag)

    def _of_all(self, volts: Array) -> Array:
        result = np.zeros(self._count)
        result[self._order] = volts
        return result

    # -- what is known now -------------------------------------------------------------------------------------------

    def see(self) -> None:
        """Take over what the monitor knows now."""
        monitor, known = self.monitor, self._known
        footing, load = monitor.footing, monitor.load
        if footing is None or load is None:
            self.degree = np.nan
            return
        self.ground.place(footing.plane, monitor.up)
        still = np.zeros((1, len(monitor.q)))
        self.degree = float(self.ground.moving_degrees(monitor.q[None], still, still, monitor.payload)[0])
        if not np.isfinite(self.degree):
            return
        axes = ground_axes(footing.plane)
        normal, foot = axes[:, 2], footing.plane[3] * footing.plane[:3]
        known[:3], known[3] = self.machine.gravity * monitor.up, monitor.payload
        self._box[1:] = self._payload_errors()
        known[4:13], known[13:16], known[16] = axes.T.ravel(), foot, STEP
        turn = monitor.turning @ axes
        self._turn = np.array([0.0, turn[0], turn[1]])
        self.model.kernels.start(monitor.q, monitor.v, monitor.a, known, self._turn, self._pressures, self._base)
        local = (load.attachments - foot) @ axes
        self._rows = np.column_stack((np.ones(len(local)), local[:, 1], -local[:, 0]))
        self._squeeze = self._free - (load.attachments @ normal - footing.plane[3])
        self._press = self._base[21] * self.machine.gravity / len(self.contacts)
        self._take_pressures()

    def _payload_errors(self) -> tuple[float, float]:
        """Return by how much the payload may be less and more than known, kg."""
        known = self.monitor.payload
        if self.payload_bounds is None:
            return self.settings.payload_error * known, self.settings.payload_error * known
        least, most = self.payload_bounds
        return max(known - least, 0.0), max(most - known, 0.0)

    def _take_pressures(self) -> None:
        part = DRAWN if self._seen else 1.0
        oil, seen = self._oil.reshape(-1, 3), self._pressures.reshape(-1, 2)
        oil[:, 0] = self._spool
        oil[:, 1:] += part * (seen - oil[:, 1:])
        self._seen = True

    # -- stops -------------------------------------------------------------------------------------------------------

    def stop(self, volts: Array, enough: float = -np.inf, toward: Array | None = None) -> Stop:
        """Return the stop after outputs (m,) that are kept for a period; the arguments are those of `Stops`."""
        kept = self._of_all(volts)[None]
        if toward is not None:
            most = self.settings.rate * STEP * np.arange(1, 1 + round(self.settings.hold / STEP))[:, None]
            kept = np.concatenate((kept, kept + np.clip(self._of_all(toward) - kept, -most, most)))
        end = kept[-1]
        ahead = np.copysign(np.maximum(np.abs(end) - self._ramp, 0.0), end)
        table = np.concatenate((*(row[None] for row in self._past), kept, ahead))
        self._run(self._oil.copy(), table, self._box, enough, self.settings.longest)
        least, when, standing = self._found
        if not np.isfinite(self._found).all():
            return Stop(-np.inf, 0, 0.0, -np.inf)
        place = int(np.argmin(least))
        return Stop(float(least[place]), place, float(when[place]), float(standing.min()))

    def _run(self, oil: Array, volts: Array, box: Array, enough: float, longest: float) -> None:
        monitor = self.monitor
        self.model.kernels.brake(
            monitor.q.copy(),
            monitor.v.copy(),
            oil,
            self._known,
            volts,
            self._rows,
            self._springs,
            self._squeeze,
            self._turn.copy(),
            self._press,
            box,
            enough,
            round(longest / STEP),
            self._found,
        )
