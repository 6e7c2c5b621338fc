"""Stops of a machine from what a monitor knows of it now: what the tip-over governor asks.

Positions, speeds, payload, base and ground are those of the monitor. The oil is not measured: spools follow the outputs
that were given, and pressures are carried along by the model, their forces drawn towards those at which the joints
accelerate as they do. What was given within the longest delay may not have reached the valves yet, or it was there at
once: stops are predicted for both, each with its spools and pressures, and the worse one counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.control.governor_law import questions
from dyn_nodes.control.stops import Decision, Stop
from dyn_nodes.control.tip_over_governor import LONGEST_LASTING, GovernorSettings
from dyn_nodes.model.machine import Machine
from dyn_nodes.monitor.braking_lanes import AT_MOST, KNOWN, PLACE_OF_PULL, TO_CALM, TO_LAST, TO_ROCK
from dyn_nodes.monitor.braking_model import STEP, BrakingModel, stand_size, state_size
from dyn_nodes.monitor.bringing_down import best, ways_of
from dyn_nodes.monitor.stability_monitor import StabilityMonitor
from dyn_nodes.monitor.standing import StandingGround
from dyn_nodes.monitor.stop_drives import Drives, OilDrives

Array = NDArray[np.float64]
CALM, FASTEST = 0.1, 50.0
"""s from the neutral of all valves until steps are twice as long; where the frequencies with which the base rocks are a
vector of this length at most, rad/s."""
FOLLOWED = 1.5
"""Periods of the slowest rocking for which a stop is followed after a joint was last fast: with an arm that swings on
its oil the base rocks slower than alone."""
DRAWN = 0.1
"""Part of the way that the forces of the pressures are drawn in the time of a step."""
GIVEN, STAND = 2, 3
"""Places in a situation of what is known of the machine, and of how it stands."""
LONGEST = 1.0
"""Time that spools and pressures are carried on by at most, s: by then they are where they go to."""


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
        press: mean push on a spring, N; NaN before `see`.
        payload_bounds: least and greatest payload that there may be, kg; None: `payload_error` of the settings about
            that of the monitor.
        heft: what the links are taken to weigh over what is known.
    """

    def __init__(
        self,
        machine: Machine,
        order: Sequence[int],
        monitor: StabilityMonitor,
        settings: GovernorSettings | None = None,
    ) -> None:
        self.machine, self.monitor, self.settings = machine, monitor, settings or GovernorSettings()
        self.drives = self._drives_of(machine)
        self.model = BrakingModel(machine, self.drives)
        self.ground = StandingGround(machine, monitor.model)
        self.contacts = tuple(own.name for own in machine.supports)
        self._order = np.array(order, dtype=np.intp)
        self._limits = self.drives.limits[self._order]
        self._count = len(self.drives.joints)
        dead = self.drives.dead_times
        least = min(self.settings.least_delay, self.settings.delay) + min(dead)
        most = self.settings.delay + max(dead)
        self._waits = np.array(sorted({math.floor(least / STEP + 1e-6), math.ceil(most / STEP - 1e-6)}))
        springs = [(own.stiffness, own.damping, own.free_length) for own in machine.supports]
        self._springs = np.ascontiguousarray(np.array(springs).T)
        greatest = max(self.drives.limits) / self.settings.rate
        horizon = max(self.settings.horizon, greatest + CALM)  # a stop ends with all valves at neutral
        longest = LONGEST_LASTING + self.settings.lateness + self.settings.hold + most + greatest + CALM
        longest = max(self.settings.longest, horizon, longest)  # no stop is cut off while valves are open
        times = self.settings.hold, horizon, longest, CALM, longest, STEP
        self._times = np.array([round(own / STEP) for own in times])
        self._rocking = np.empty(2)
        own = self.settings
        self._box, self._law = np.array([own.mass_error, 0.0, 0.0, own.center_error]), own.law
        self.payload_bounds: tuple[float, float] | None = None
        wheels = len(self.contacts)
        self._known, self._stand = np.zeros(KNOWN), np.zeros(stand_size(machine))
        self._at_first = np.zeros(state_size(machine, self.drives))
        self._at_first[-1 - 2 * wheels : -1 - wheels] = np.inf
        self._state = np.tile(self._at_first, (len(self._waits), 1))
        places = {joint.name: place for place, joint in enumerate(machine.movable_joints)}
        self._ways = np.array([[places[joint] for joint in self.drives.joints], np.zeros(self._count)])
        self._start, self._found = np.empty(self.drives.shown * self._count + 36), np.empty(4)
        self._expected = np.empty((questions(len(self._order), self.settings.halvings), 4))
        self.reset()

    def _drives_of(self, machine: Machine) -> Drives:
        return OilDrives(machine, STEP)

    def reset(self) -> None:
        """Take all valves to be at neutral, with nothing on its way to them."""
        self._seen, self.degree, self.press, self._elapsed, self._unseen = False, np.nan, np.nan, 0.0, 0.0
        self._times[TO_LAST] = 1
        self._excess, self.heft = 0.0, 1.0  # by which the payload weighs more than known, kg
        self._spool, self._latest = np.zeros((len(self._waits), self._count)), np.zeros(self._count)
        self._past = np.zeros((self._waits[-1], self._count))
        self._expected[:] = np.nan

    def issued(self, volts: Array) -> None:
        """Take outputs (m,) that go to the valves from now on."""
        self._latest = self._of_all(volts)

    def pass_by(self, step: float) -> None:
        """Carry spools and pressures on by a time, s, in which the valves got what was issued last."""
        self._unseen += step
        self._elapsed = min(self._elapsed + step, LONGEST)
        while self._elapsed >= STEP - 1e-9:
            self._elapsed -= STEP
            self._carry()
        if np.isnan(self._state).any():  # the model ran away: the next look at the machine begins anew
            self._state[:], self._seen = self._at_first, False

    def _carry(self) -> None:
        """Carry spools and pressures on by a step, from the joints that were seen last."""
        self.model.kernels.carry(
            self.model.codes,
            self._state,
            self._spool,
            self._known,
            self._stand,
            self._past,
            self._waits,
            self._latest,
            self._seen,
            self.drives.valves,
        )

    def _of_all(self, volts: Array) -> Array:
        result = np.zeros(self._count)
        result[self._order] = volts
        return result

    # -- what is known now -------------------------------------------------------------------------------------------

    def see(self) -> None:
        """Take over what the monitor knows now."""
        monitor = self.monitor
        footing, load = monitor.footing, monitor.load
        if footing is None or load is None:
            self.degree = np.nan
            return
        self.ground.place(footing.plane, monitor.up)
        self.degree = self.ground.present_degree(monitor.q, monitor.payload)
        if not np.isfinite(self.degree):
            return
        self._box[1], self._box[2] = self._payload_errors()
        self.press = self.model.kernels.situate(
            monitor.q,
            monitor.v,
            monitor.a,
            self.machine.gravity * self.ground.up,
            self._model_payload,
            self.ground.plane,
            monitor.turning,
            self._shaken(),
            load.attachments,
            self._springs,
            self._box,
            STEP,
            self.drives.chambers,
            self._drawn(),
            self._state,
            self._spool,
            self._known,
            self._stand,
            self._ways,
            self._start,
            self._rocking,
        )
        n = len(monitor.q)
        self._state[:, :n], self._state[:, n : 2 * n] = monitor.q, monitor.v
        self._follow_rocking()
        self._seen, self._unseen = True, 0.0

    def _drawn(self) -> float:
        """Return the part of the way that the forces are drawn after the time since the last look: all at first."""
        return -math.expm1(math.log1p(-DRAWN) * self._unseen / STEP) if self._seen else 1.0

    def _follow_rocking(self) -> None:
        """Set the steps of a stop by how the base rocks now: longer ones in the end, and on while it rocks."""
        whole, least = self._rocking.tolist()
        longest = self._times[AT_MOST]
        self._times[TO_CALM] = round(CALM / STEP) if whole <= FASTEST else longest
        period = 2.0 * math.pi / least if least > 0.0 else np.inf
        self._times[TO_ROCK] = math.ceil(min(FOLLOWED * period / STEP, longest))

    def _shaken(self) -> Array:
        """Return how the base accelerates, as `situate` wants it; at rest where nothing measures it."""
        return np.concatenate([self.monitor.alpha, self.monitor.felt])

    @property
    def payload(self) -> float:
        """The payload with which the machine is taken to move, kg."""
        return self.monitor.payload + self._excess

    @property
    def _model_payload(self) -> float:
        """The payload of the model, kg, whose links weigh what is known."""
        return float(self.payload / self.heft)

    def _payload_errors(self) -> tuple[float, float]:
        """Return by how much the payload may be less and more than that with which the machine moves, kg."""
        least, most = self._excesses()
        return max(self._excess - least, 0.0), max(most - self._excess, 0.0)

    def _excesses(self) -> tuple[float, float]:
        """Return the least and the most by which the payload may weigh more than known, kg."""
        known = self.monitor.payload
        if self.payload_bounds is None:
            error = self.settings.payload_error * known
            return -error, error
        least, most = self.payload_bounds
        return least - known, most - known

    # -- stops -------------------------------------------------------------------------------------------------------

    def decide(self, command: Array, before: Array, step: float, since: Array, lasting: float) -> Decision:
        """Return what is let through; the arguments are those of `Stops`."""
        output, parts = np.empty(len(before)), np.empty(len(before))
        self._times[TO_LAST] = max(math.ceil((lasting + self.settings.lateness) / STEP - 1e-6), 1)
        command = np.ascontiguousarray(command, dtype=np.float64)
        self.model.kernels.decide(
            command, before, step, self._law, since, self._expected, self._situation, output, parts, self._found
        )
        return Decision(output, parts, _stop(self._found))

    def stop(self, volts: Array, enough: float = -np.inf, toward: Array | None = None) -> Stop:
        """Return the stop after outputs (m,) that are kept as long as those of the last decision, 10 ms before one.

        Args:
            volts: outputs.
            enough: below this share it may end.
            toward: outputs (m,) to which these are led first, and kept there, for `hold` of the settings in all.
        """
        led = volts if toward is None else toward
        self.model.kernels.predict(volts, led, float(toward is not None), enough, self._situation, self._found)
        return _stop(self._found)

    # -- a wheel that has lifted -------------------------------------------------------------------------------------

    @property
    def has_lifted(self) -> bool:
        """Whether a contact carries nothing now, as it is measured."""
        footing = self.monitor.footing
        if footing is None:
            return False
        return bool(np.add.reduceat(footing.normal, self.monitor.ground.contacts.starts).min() <= 0.0)

    def way_down(self, command: Array, before: Array) -> tuple[Array, Stop] | None:
        """Return outputs (m,) to which to lead the levers so that a wheel comes down, and what follows; None to stop.

        None, too, where a lever of the command (m,), V, leads to a better stand by itself. before (m,) are the present
        outputs, V.
        """
        home, eases = np.zeros(len(before)), np.empty(len(before), np.bool_)
        for sign in (1.0, -1.0):
            self.model.kernels.easing(np.full(len(before), sign), self._situation, eases)
            home[eases] = sign * self._limits[eases]
        if (command * home > 0.0).any():
            return None
        ways = ways_of(home, before)
        found = np.empty((len(ways.keys), 6))
        self.model.kernels.predict_all(ways.keys, found, 0, len(found), self._as_known)
        place = best(found)
        if place == 0:
            return None
        return ways.targets[place], _stop(found[place, :4])

    @property
    def _as_known(self) -> tuple[Any, ...]:
        """The situation of the machine as it is known, without what may be wrong with it, on wheels that come off."""
        situation = list(self._situation)
        known, stand, wheels = self._known.copy(), self._stand.copy(), len(self.contacts)
        known[PLACE_OF_PULL] = 0.0
        stand[8 * wheels : 8 * wheels + 3] = 0.0
        stand[8 * wheels + 4 :] = 0.0
        situation[GIVEN], situation[STAND] = known, stand
        return tuple(situation)

    @property
    def _situation(self) -> tuple[Any, ...]:
        """What `predict` looks at."""
        return (
            self.model.codes,
            self._state,
            self._known,
            self._stand,
            self._past,
            self._waits,
            self._order,
            self.settings.rate * STEP,
            self._times,
            self._ways,
        )


def _stop(found: Array) -> Stop:
    """Return the stop of what is found of one (4,)."""
    least, place, when, standing = found.tolist()
    return Stop(least, int(place), when, standing)
