"""Prediction of a machine's stops from its monitored state, for the tip-over governor.

Positions, speeds, payload, base and ground come from the monitor. The oil is not measured: spools follow the applied
outputs, and pressures are integrated by the model, their forces drawn towards those that produce the measured
accelerations. Outputs of the time of the longest delay may not have reached the valves yet, or may have reached them at
once, and links and payload may be lighter or heavier than in the model. Stops are predicted for both delays, each with
the lightest links and the heaviest payload, and with the heaviest links and the lightest payload. These variants have
their own spools and pressures; the worst one counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dyn_nodes.common.arrays import Array, Indices
from dyn_nodes.governor.bringing_down import best, ways_of
from dyn_nodes.governor.drives import Drives, OilDrives
from dyn_nodes.governor.lanes import STILL
from dyn_nodes.governor.law import decide_fields, questions
from dyn_nodes.governor.motion_check import MotionCheck
from dyn_nodes.governor.prediction import eases_of, predict_fields, predict_stops
from dyn_nodes.governor.present import FASTEST, carry_fields, take_over_fields
from dyn_nodes.governor.records import (
    SURROUNDINGS,
    Extremes,
    Levers,
    Measured,
    Results,
    Sent,
    Situation,
    Springs,
    Support,
    Surroundings,
    Times,
    fields_of,
    requests,
    results,
    states,
    support,
    support_layout,
    surroundings,
)
from dyn_nodes.governor.settings import GovernorSettings
from dyn_nodes.governor.stop_model import STEP_TIME, StopModel
from dyn_nodes.governor.stops import Decision, Stop
from dyn_nodes.governor.tip_over_governor import LONGEST_LASTING
from dyn_nodes.model.machine import Machine
from dyn_nodes.monitor.ground_observer import ground_axes
from dyn_nodes.monitor.stability_monitor import StabilityMonitor
from dyn_nodes.monitor.standing import StandingGround
from dyn_nodes.stability.equilibrium.standing import check_pivots
from dyn_nodes.stability.load_moment import LoadMomentIndicator
from dyn_nodes.stability.polygon import name_edges

CALM = 0.1
"""Time from the neutral of all valves until steps are twice as long, s; only if the base does not rock fast."""
FOLLOWED = 2.0
"""Number of periods of the slowest rocking for which a stop is followed after a joint was last fast: with an arm that
oscillates on its oil the base rocks slower than alone."""
DRAWN = 0.1
"""Fraction by which the forces of the pressures are corrected in the time of a step."""
RATED_AGAIN = 0.03
"""Displacement of a joint, or change of the slope, after which the rated load is computed again, rad or m."""
HEAVIEST = 1e9
"""Tipping load of a machine that no load tips, kg."""
LONGEST = 1.0
"""Longest time for which spools and pressures are integrated, s: by then they have reached their final values."""


class StopPredictor:
    """The `Stops` of a tip-over governor.

    Args:
        machine: on wheels, its joints moved by hydraulic actuators alone. On pivots an IMU has to measure its base.
        order: actuators in the order of the commands, as indices of `machine.actuators`.
        monitor: of the machine.
        settings: errors, delay, rate and horizon.

    Attributes:
        contacts: names of the springs that support the machine, of wheels or rollers, or of the edges of its support
            polygon, by criterion.
        ground: present ground of the machine.
        degree: stability degree at rest in the present posture; on pivots the least share of a wheel at rest; NaN
            before `see`.
        extremes: masses of the variants.
        states, surroundings, support, sent, times, levers: initial data of predictions, see `records.Situation`.
        expected: answers of the last decision, see `law`.
        springs: of the supports.
        spools: (h, m) present spools of the variants; present efforts if the drives are efforts.
        initial_state: of a stop, before the first update.
        rocking: greatest norm of the three frequencies of the base, and the least, rad/s; NaN before `see`.
        motion: check of the joints against their valves.
        payload_bounds: least and greatest possible payload, kg; None: `payload_error` of the settings about the payload
            of the monitor.
        heft: mass of the links over their mass in the model.
        machines: number of variants of a stop for each delay.
    """

    machines = 2

    def __init__(
        self,
        machine: Machine,
        order: Sequence[int],
        monitor: StabilityMonitor,
        settings: GovernorSettings | None = None,
    ) -> None:
        self.machine, self.monitor, self.settings = machine, monitor, settings or GovernorSettings()
        check_pivots(machine, 'tip-over governor')
        self.drives = self._drives_of(machine)
        self.model = StopModel(machine, self.drives)
        self.ground = StandingGround(machine, monitor.model)
        self._corners, self.contacts = self._shares()
        self._indicator = LoadMomentIndicator(machine, self.settings.rated_share) if len(self._corners) else None
        self.payload_bounds: tuple[float, float] | None = None
        self._law = self.settings.law
        self._limits = self.drives.limits[np.array(order, dtype=np.intp)]
        springs = [(support.stiffness, support.damping, support.free_length) for support in machine.supports]
        self.springs = Springs(*np.array(springs).T.copy())
        self._set_up(order)
        watched = self._count if isinstance(self.drives, OilDrives) else 0  # efforts do not determine how joints move
        self.motion = MotionCheck(self.drives.joints[:watched], self.levers.joints[:watched], self.states)
        self.expected = results(questions(len(order), self.settings.halvings))
        self._one, self._its_result = requests(1, len(order)), results(1)
        self.reset()

    def _shares(self) -> tuple[Indices, tuple[str, ...]]:
        """Return the corners of the support polygon, none if each spring has its share, and the names of the shares."""
        if self.settings.criterion == 'lift_off':
            return np.zeros(0, np.int64), tuple(support.name for support in self.machine.supports)
        attachments = self.ground.first_attachments()
        if len(self.model.pivots):
            return np.arange(len(attachments)), tuple(support.name for support in self.machine.supports)
        return self.ground.corners, name_edges(self.ground.feet(attachments))

    def _set_up(self, order: Sequence[int]) -> None:
        """Create the initial data of predictions, before the first update."""
        settings, dead = self.settings, self.drives.dead_times
        least = min(settings.least_delay, settings.delay) + min(dead)
        most = settings.delay + max(dead)
        delays = sorted({math.floor(least / STEP_TIME + 1e-6), math.ceil(most / STEP_TIME - 1e-6)})
        waits = np.repeat(delays, self.machines)
        greatest = max(self.drives.limits) / settings.rate
        horizon = max(settings.horizon, greatest + CALM)  # a stop ends with all valves at neutral
        longest = LONGEST_LASTING + settings.lateness + settings.hold + most + greatest + CALM
        longest = max(settings.longest, horizon, longest)  # no stop is cut off while valves are open
        error = settings.mass_error
        hefts = np.resize([1.0 - error, 1.0 + error] if self.machines == 2 else [1.0], len(waits))
        bounds = np.tile([1.0 - error, 1.0 + error, 0.0, 0.0], (len(waits), 1))
        self.extremes = Extremes(hefts, np.zeros(len(waits)), bounds, settings.center_error)
        times = settings.hold, horizon, longest, CALM, longest, STEP_TIME
        layout, supports = self.model.layout, len(self.machine.supports)
        self.initial_state = np.zeros(layout.size)
        self.initial_state[layout.least : layout.instants] = np.inf
        indices = {joint.name: index for index, joint in enumerate(self.machine.movable_joints)}
        joints = np.array([indices[joint] for joint in self.drives.joints])
        self.states = states(np.tile(self.initial_state, (len(waits), 1)), layout)
        self.surroundings = surroundings(np.zeros((len(waits), SURROUNDINGS)))
        self.surroundings.heft[:] = 1.0
        pivots = len(self.model.pivots)
        self.support = support(np.zeros((len(waits), support_layout(supports, pivots).size)), pivots)
        self.support.rated[:] = -1.0
        self.sent = Sent(np.zeros((waits[-1], len(joints))), waits)
        self.times = Times(*(round(time / STEP_TIME) for time in times))
        self.levers = Levers(np.array(order), joints, np.zeros(len(joints)), settings.rate * STEP_TIME)

    @property
    def situation(self) -> Situation:
        """Initial data of predictions."""
        return self._situation(self.surroundings, self.support)

    def _situation(self, present: Surroundings, support: Support) -> Situation:
        """Return initial data of predictions with other surroundings or another support."""
        model = self.model
        vectors = self.states.vectors, present.vector, support.vector
        return Situation(model.code, model.layout, *vectors, self.sent, self.times, self.levers)

    @property
    def _count(self) -> int:
        """Number of actuators."""
        return len(self.drives.joints)

    def _drives_of(self, machine: Machine) -> Drives:
        return OilDrives(machine, STEP_TIME)

    def reset(self) -> None:
        """Assume all valves at neutral, with empty queues."""
        self._seen, self.degree, self._elapsed, self._unseen = False, np.nan, 0.0, 0.0
        self.rocking = np.nan, np.nan
        self.times = self.times._replace(lasting=1)
        self._rated_at, self._over_rated = np.full(len(self.machine.movable_joints) + 3, np.nan), 1.0
        self._excess, self.heft = 0.0, 1.0  # additional payload, not in the monitor, kg
        self.spools, self._latest = np.zeros((len(self.sent.waits), self._count)), np.zeros(self._count)
        self.sent.queue[:] = 0.0
        self.expected.least[:] = np.nan
        self.motion.clear()

    def issued(self, volts: Array) -> None:
        """Accept the outputs (l,) that go to the valves from now on."""
        self._latest = self._of_all(volts)

    def pass_by(self, step: float) -> None:
        """Advance spools and pressures by a time, s, with the outputs issued last."""
        self._unseen += step
        self._elapsed = min(self._elapsed + step, LONGEST)
        while self._elapsed >= STEP_TIME - 1e-9:
            self._elapsed -= STEP_TIME
            self._carry()
        vectors = self.states.vectors
        if np.isnan(vectors).any():  # the model diverged: the next update starts anew
            vectors[:], self._seen = self.initial_state, False

    def _carry(self) -> None:
        """Advance spools and pressures by a step, from the joint states of the last update."""
        motion, fields = self.motion, fields_of(self.situation)
        watched = motion.states.vectors, motion.continues
        carry_fields(*watched, self.spools, self._latest, self._seen, *self.drives.valves, *fields)

    def _of_all(self, volts: Array) -> Array:
        result = np.zeros(self._count)
        result[self.levers.order] = volts
        return result

    # -- update ------------------------------------------------------------------------------------------------------

    def see(self) -> None:
        """Update from the monitor."""
        monitor = self.monitor
        footing, load = monitor.footing, monitor.load
        if footing is None or load is None:
            self.degree = np.nan
            return
        self.ground.set_ground(footing.plane, monitor.up)
        on_pivots = len(self.model.pivots) > 0
        if on_pivots:
            self.degree = 0.0 if footing.pressed and monitor.has_imu else np.nan
        else:
            self.degree = self.ground.present_degree(monitor.q, monitor.payload)
        if not np.isfinite(self.degree):
            return
        measured = Measured(
            monitor.q,
            monitor.v,
            monitor.a,
            self.machine.gravity * self.ground.up,
            self.model_payload,
            self.ground.plane,
            monitor.turning,
            np.concatenate([monitor.alpha, monitor.specific_force]),
            load.attachments,
        )
        self.rocking = take_over_fields(
            self.model.code.start,
            self.model.code.pivots,
            STEP_TIME,
            self._drawn(),
            self.spools,
            self.states.drives,
            self.states.turn,
            self.levers.arms,
            *measured,
            *self.springs,
            *self._extremes(),
            self._corners,
            self._law.reserve,
            *self.drives.chambers,
            *self.surroundings,
            *self.support,
        )
        self.states.positions[:], self.states.velocities[:] = monitor.q, monitor.v
        self.support.pivot_start[:] = monitor.q[self.model.pivots]
        if on_pivots:
            self.degree = float(self._at_rest(0)[: len(self.machine.supports)].min())
        self._rate()
        self.motion.compare(self.states, monitor.q, monitor.v, self._unseen)
        self._follow_rocking(*self.rocking)
        self._seen, self._unseen = True, 0.0

    def _drawn(self) -> float:
        """Return the filter gain of the forces for the time since the last update; 1 at first."""
        return -math.expm1(math.log1p(-DRAWN) * self._unseen / STEP_TIME) if self._seen else 1.0

    def _at_rest(self, variant: int) -> Array:
        """Return the shares (2 w,) of a variant at rest in the present posture, then those with the rated payload."""
        shares = np.empty(2 * len(self.machine.supports))
        vectors = self.states.vectors, self.surroundings.vector, self.support.vector
        self.model.kernels.standing(*(each[variant] for each in vectors), shares)
        return shares

    def _follow_rocking(self, norm: float, least: float) -> None:
        """Set when steps of a stop are doubled and how long it is followed, from frequencies of the base, rad/s."""
        longest = self.times.longest
        period = 2.0 * math.pi / least if least > 0.0 else np.inf
        self.times = self.times._replace(
            calm=round(CALM / STEP_TIME) if norm <= FASTEST else longest,
            rocking=math.ceil(min(FOLLOWED * period / STEP_TIME, longest)),
        )

    @property
    def payload(self) -> float:
        """The estimated payload with which the machine moves, kg."""
        return self.monitor.payload + self._excess

    @property
    def model_payload(self) -> float:
        """The payload of the model, kg, whose links have their nominal mass."""
        return float(self.payload / self.heft)

    def _extremes(self) -> Extremes:
        """Return the masses of the variants: for each delay light links with a heavy payload, and the opposite.

        Loads include all links within their error.
        """
        extremes, (least, most) = self.extremes, self._excesses()
        extremes.payload[::2], extremes.payload[1::2] = self.payload + most, max(self.payload + least, 0.0)
        extremes.bounds[:, 2] = extremes.bounds[:, 3] = extremes.payload
        return extremes

    def _rate(self) -> None:
        """Rate the payload for stops: in the present posture the limit at rest is the rated load of the load chart.

        Unlike loads at rest on the present ground, the chart includes how the machine leans on its tyres until it tips.
        Their ratio is computed again when a joint has moved or the slope has changed.
        """
        if self._indicator is None:
            return
        q = self.states.positions[0]
        slope = ground_axes(self.ground.plane).T @ self.ground.up
        at = np.concatenate((q, slope))
        if not np.abs(at - self._rated_at).max() <= RATED_AGAIN:
            self._rated_at = at
            names = (joint.name for joint in self.machine.movable_joints)
            rated = self._indicator.evaluate(dict(zip(names, q.tolist())), 0.0, -self.machine.gravity * slope).rated
            loads = []
            for payload in range(2):
                self.support.rated[0] = payload
                loads.append(self._at_rest(0)[len(self.machine.supports) :])
            links, kilogram = loads
            links, kilogram = links - self._law.reserve, kilogram - links
            tipping = np.where(kilogram < 0.0, links, np.inf) / np.maximum(-kilogram, 1e-12)
            self._over_rated = float(np.clip(tipping.min(), 0.0, HEAVIEST) / max(rated, 1e-3))
        self.support.rated[:] = self.payload * self._over_rated

    def _excesses(self) -> tuple[float, float]:
        """Return the least and greatest difference of the true payload from the monitor's, kg."""
        nominal = self.monitor.payload
        if self.payload_bounds is None:
            error = self.settings.payload_error * nominal
            return -error, error
        least, most = self.payload_bounds
        return least - nominal, most - nominal

    # -- stops -------------------------------------------------------------------------------------------------------

    def decide(self, command: Array, before: Array, step: float, since: Array, lasting: float) -> Decision:
        """Return the permitted outputs; for the arguments see `Stops`."""
        output, parts = np.empty(len(before)), np.empty(len(before))
        rows = max(math.ceil((lasting + self.settings.lateness) / STEP_TIME - 1e-6), 1)
        self.times = self.times._replace(lasting=rows)
        command = np.ascontiguousarray(command, dtype=np.float64)
        fields = *self._law, *self.expected, *fields_of(self.situation)
        return Decision(output, parts, decide_fields(command, before, step, since, output, parts, *fields))

    def stop(self, volts: Array, enough: float = -np.inf, toward: Array | None = None) -> Stop:
        """Return the stop after outputs (l,) that last as long as in the last decision, 10 ms before one.

        Args:
            volts: outputs.
            enough: share below which the stop may end early.
            toward: outputs (l,) that these first move to and keep, for `hold` of the settings in all.
        """
        request = self._one
        request.volts[0], request.toward[0] = volts, volts if toward is None else toward
        request.leads[0], request.enough[0] = float(toward is not None), enough
        predict_fields(*request, *self._its_result, *fields_of(self.situation))
        return _stop(self._its_result, 0)

    def rest_after(self) -> Array:
        """Return positions (n,) of the joints, rad or m, after the stop from the outputs issued last, or NaN.

        They are of the last variant: of the longest delay, which moves farthest.
        """
        queue, wait = self.sent.queue, self.sent.waits[-1]
        surroundings, support = self.surroundings.vector[-1], self.support.vector[-1]
        state, after, seen = self.states.vectors[-1].copy(), np.empty(self.states.layout.size), np.empty(2)
        volts = self._latest.copy()
        for row in range(self.times.longest):
            if row >= wait + self.times.lasting:
                volts -= np.clip(volts, -self.levers.change, self.levers.change)
            applied = queue[len(queue) - wait + row] if row < wait else volts
            self.model.kernels.stride(state, applied, surroundings, support, after, seen)
            state, after = after, state
            if not volts.any() and not seen[1] >= STILL:
                break
        return state[: self.states.layout.velocities]

    # -- a wheel that has lifted -------------------------------------------------------------------------------------

    @property
    def has_lifted(self) -> bool:
        """Whether the measured load of a contact is zero, or of all contacts off an edge of the support polygon."""
        footing = self.monitor.footing
        if footing is None:
            return False
        if len(self._corners):
            return bool((self.support.edges[0] @ footing.normal).min() <= 0.0)
        return bool(np.add.reduceat(footing.normal, self.monitor.ground.contacts.starts).min() <= 0.0)

    def way_down(self, command: Array, before: Array) -> tuple[Array, Stop] | None:
        """Return outputs (m,) to which to lead the levers so that a wheel comes down, and the stop; None to stop now.

        Also None if a lever of the command (m,), V, improves stability by itself. `before` (m,) are the present
        outputs, V.
        """
        home, eases = np.zeros(len(before)), np.empty(len(before), np.bool_)
        for sign in (1.0, -1.0):
            eases_of(np.full(len(before), sign), self.situation, eases)
            home[eases] = sign * self._limits[eases]
        if (command * home > 0.0).any():
            return None
        ways = ways_of(home, before)
        count = len(ways.leads)
        stops = results(count)
        predict_stops(ways, stops, 0, count, self._as_modelled)
        taken = best(stops)
        if taken == 0:
            return None
        return ways.toward[taken], _stop(stops, taken)

    @property
    def _as_modelled(self) -> Situation:
        """The situation of the machine without errors of its model, with wheels that can leave the ground.

        Its pressures are the means of the extreme machines.
        """
        present, support, load = self.surroundings.copied(), self.support.copied(), self.monitor.load
        assert load is not None
        present.least_push[:], present.heft[:], present.payload[:] = 0.0, 1.0, self.model_payload
        support.bounds[:] = 1.0, 1.0, self.model_payload, self.model_payload
        support.offset[:], support.rated[:] = 0.0, -1.0
        height = load.attachments @ self.ground.plane[:3] - self.ground.plane[3]
        support.squeeze[:] = self.springs.free_length - height
        vectors = self.states.vectors.reshape(-1, self.machines, self.states.vectors.shape[1])
        mean = np.repeat(vectors.mean(axis=1), self.machines, axis=0)
        return self._situation(present, support)._replace(states=mean)


def _stop(stops: Results, row: int) -> Stop:
    """Return the predicted stop in a row."""
    return Stop(*(column[row].item() for column in stops[:6]))
