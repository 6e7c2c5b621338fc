"""A machine under a lever sequence, with a governor between levers and valves or without one.

    rig = Rig(machine)
    outcome = rig.run(case, governed=True)

The plant is compiled. Monitor and governor are those of `tip_over_governor_node`, with the times of its chain: the
governor gets measurements late, the valves get what it lets through late.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.governor.campaign.cases import SETTLING, Case, lever_profile
from dyn_nodes.governor.campaign.lever_effects import Efforts, Valves, lever_effects
from dyn_nodes.governor.campaign.run_outcome import RESTLESS, Outcome
from dyn_nodes.governor.campaign.sensor_faults import FaultySensors
from dyn_nodes.governor.campaign.wheel_watch import Stand, Wheels, travel
from dyn_nodes.governor.settings import GovernorSettings
from dyn_nodes.governor.tip_over_governor import TipOverGovernor
from dyn_nodes.model.equilibrium import NoEquilibriumError
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions
from dyn_nodes.monitor.in_space import in_space
from dyn_nodes.monitor.measured_samples import Sample, Sensors, sample_of
from dyn_nodes.monitor.stability_monitor import StabilityMonitor
from dyn_nodes.simulation.assembly import DAMPING_SCALE, STIFFNESS_SCALE
from dyn_nodes.simulation.period import PlantDivergedError
from dyn_nodes.simulation.plant import Plant

Offset = tuple[float, float]
PERIOD, STEP = 0.01, 5e-4
"""Between two commands, and of the integrator, s."""
NOTICED = 0.5
"""After a load is dropped or grabbed the governor knows of it, s."""
PLACES = 16
"""Between the first posture and that towards which a case begins."""
CHANGES = 5.0
"""Of a delay that varies, 1/s."""


class Rig:
    """A governor and the plants of its box; a plant is made for every mass at its first run.

    Args:
        machine: as the governor knows it.
        settings: of the governor.
        tests_motion: joints that do not follow their valves are sensor faults; None: where nothing is brought down.
    """

    def __init__(
        self, machine: Machine, settings: GovernorSettings | None = None, tests_motion: bool | None = None
    ) -> None:
        self.machine, self.settings = machine, settings or GovernorSettings()
        self._tests_motion = not self.settings.bring_down if tests_motion is None else tests_motion
        self.effects = lever_effects(machine)
        self._plants: dict[tuple[float, Offset], Plant] = {}
        self._partners: dict[bool, Partner] = {}
        self._margin: tuple[Case, float] | None = None

    def plant(self, mass: float = 1.0, center: Offset = (0.0, 0.0)) -> Plant:
        """Return the plant whose links have this part of the mass that the governor knows, their centre off by m."""
        key = mass, center
        if key not in self._plants:
            self._plants[key] = self.new_plant(mass, center)
        return self._plants[key]

    def new_plant(self, mass: float, center: Offset) -> Plant:
        """Return another plant of this kind."""
        return Plant(unlike(self.machine, mass, center), self.effects.actuation, PERIOD, STEP, ())

    def partner(self, imu: bool) -> Partner:
        """Return monitor and governor, with an IMU or without one."""
        if imu not in self._partners:
            self._partners[imu] = Partner(self.effects, self.settings, self._tests_motion)
        return self._partners[imu]

    def trial(self, case: Case, governed: bool = True) -> Trial:
        """Return a run of a case before its first step; the next one takes its plant and its governor.

        Raises:
            NoEquilibriumError: the machine cannot rest at its start.
        """
        plant = self.plant(case.mass, case.center)
        load(plant, case, case.payload)
        reset_at(plant, dict(zip(self.effects.joints, case.start)))
        return Trial(plant, case, self.effects, self.partner(case.imu) if governed else None)

    def run(self, case: Case, governed: bool = True) -> Outcome:
        """Run a case to the end of its levers or until the machine overturns."""
        case = self.placed(case)
        refused = self.refuses(case)
        try:
            trial = self.trial(case, governed)
        except NoEquilibriumError:
            return RESTLESS
        return replace(trial.run(), refused=refused)

    def placed(self, case: Case) -> Case:
        """Return the case with the start that is nearest to its own, on the way from the first posture, and certified.

        From there a run begins at rest, most often at the edge of what the governor certifies.
        """
        if not case.start:
            return case
        first = initial_positions(self.machine)
        here = np.array([first[joint] for joint in self.effects.joints])
        for part in np.linspace(1.0, 0.0, PLACES, endpoint=False):
            found = replace(case, start=tuple(np.round(here + part * (np.array(case.start) - here), 6).tolist()))
            if not self.refuses(found):
                return found
        return replace(case, start=())

    def refuses(self, case: Case) -> bool:
        """Return whether a case starts where nothing is certified: not even valves at neutral keep `least`."""
        if self._margin is None or self._margin[0] != case:
            self._margin = case, self.start_margin(case)  # a case is run with the governor and without it
        return not self._margin[1] >= self.settings.least

    def start_margin(self, case: Case) -> float:
        """Return the least share of a wheel's load of all machines of the box, valves at neutral from the start.

        The payload is that which the governor knows, the slope that which an IMU shows; -inf where the machine stands
        on nothing or cannot rest.
        """
        partner = self.partner(True)
        try:
            plant = self.trial(case, governed=False).plant
        except NoEquilibriumError:
            return -np.inf
        partner.begin(case.known_payload)
        partner.measure(sample_of(plant, True))
        partner.stops.see()
        if not np.isfinite(partner.stops.degree):
            return -np.inf
        return partner.stops.stop(np.zeros(len(self.effects.names))).least


def reset_at(plant: Plant, joints: dict[str, float]) -> None:
    """Begin at rest with joints by name where asked for, this time only.

    Raises:
        NoEquilibriumError: the machine cannot rest there.
    """
    plant.start = joints
    try:
        plant.reset()
    finally:
        plant.start = {}


def load(plant: Plant, case: Case, payload: float) -> None:
    """Give a plant what a case says of ground, stops, oil and wheels, and a payload, kg."""
    values = {
        'payload_mass': payload,
        'joint_stop_scale': float(case.stops),
        **({'bulk_modulus_scale': case.troubles.oil} if plant.machine.actuators else {}),
        STIFFNESS_SCALE: case.troubles.stiffness,
        DAMPING_SCALE: case.troubles.damping,
    }
    plant.p[:] = plant.system.parameters(values, (case.roll, case.pitch))


def heavier(machine: Machine, factor: float) -> Machine:
    """Return a machine whose links have this part of their mass and inertia; the payload stays."""
    if factor == 1.0:
        return machine
    links = (replace(link, mass=factor * link.mass, inertia=factor * link.inertia) for link in machine.links)
    return replace(machine, links=tuple(links))


def off_center(machine: Machine, offset: Offset) -> Machine:
    """Return a machine whose links have their common centre of mass elsewhere by (2,) m, ahead and to the left.

    The base's own centre is moved for all of them.
    """
    if offset == (0.0, 0.0):
        return machine
    whole = sum(link.mass for link in machine.links)
    links = []
    for link in machine.links:
        if link.name == machine.base.link:
            links.append(replace(link, com=link.com + whole / link.mass * np.array([*offset, 0.0])))
        else:
            links.append(link)
    return replace(machine, links=tuple(links))


def unlike(machine: Machine, mass: float, center: Offset) -> Machine:
    """Return the machine that runs where the governor knows another."""
    return off_center(heavier(machine, mass), center)


class Partner:
    """Monitor and governor as tip_over_governor_node joins them.

    Attributes:
        measured: what they saw last.
        waits: for levers at neutral, since something was wrong with the measurements.
    """

    def __init__(self, effects: Valves | Efforts, settings: GovernorSettings, tests_motion: bool) -> None:
        self.effects = effects
        self.monitor = StabilityMonitor(in_space(effects.machine), ('zmp',))
        self.stops = effects.stops(self.monitor, settings)
        if tests_motion:
            self.monitor.checks.add(self.stops.motion)
        self.governor = TipOverGovernor(effects.names, self.stops, settings)
        self.measured: Sample | None = None
        self.waits = self._had_imu = False

    def begin(self, payload: float) -> None:
        """Start again with a payload, kg."""
        self.measured = None
        self.waits = self._had_imu = False
        self.monitor.clear()
        self.monitor.payload = payload
        self.governor.reset()

    def measure(self, sample: Sample) -> None:
        """Take the measurements of an instant."""
        self.measured = sample
        if sample.imu is not None:
            orientation, turn, felt = sample.imu
            self.monitor.imu(sample.time, turn, felt, orientation)
        self.monitor.joints(sample.time, sample.q, sample.v)
        self._had_imu = self._had_imu or self.monitor.has_imu

    def knows(self, now: float) -> bool:
        """Return whether the measurements may be acted upon at a time, s, that of joint states which are not late."""
        late = self.measured is not None and now - self.measured.time > self.stops.settings.lateness
        return not late and self.monitor.checks.are_sound and self._had_imu == self.monitor.has_imu

    def command(self, levers: Array | None, known: bool = True) -> Array:
        """Return what is let through, voltages or efforts; without levers, what leads to neutral.

        Where the machine is not known outputs go to neutral, and stay there until the levers have been at neutral.
        """
        self.waits = not known or (self.waits and levers is not None and bool(levers.any()))
        if levers is None or self.waits:
            self.stops.see()
            return self.effects.given(self.stops, self.governor.neutral(PERIOD))
        wanted = self.effects.wanted(levers, self.measured, self.monitor.payload)
        return self.effects.given(self.stops, self.governor.govern(wanted, PERIOD).volts)


class Trial:
    """One run.

    Args:
        plant: at rest, with the parameters of the case.
        case: levers, delays, what the governor knows.
        effects: of the levers.
        partner: monitor and governor; None: the levers move the machine.

    Attributes:
        levers: (t, m) V, or rad/s2 and m/s2, a row a period.
        waiting: outputs (m,) on their way to the machine, the oldest first.
        watch: of wheels and base.
        faulty: sensors of which one is wrong; None where all are sound.
        blind: when the governor found for the first time that it does not know the machine, s; None: never.
        stand: of plants of this machine.
    """

    def __init__(self, plant: Plant, case: Case, effects: Valves | Efforts, partner: Partner | None) -> None:
        self.plant, self.case, self.effects, self.partner = plant, case, effects, partner
        names, self.stand = effects.names, Stand(plant)
        self._places = np.array([plant.system.index('input', name) for name in effects.inputs])
        self.profile = lever_profile(case, names)
        times = PERIOD * np.arange(round(self.profile.duration / PERIOD))
        self.levers = self.profile.evaluate(times + 0.5 * PERIOD, names)
        own = case.troubles
        self._sensors = Sensors(own.noise, own.seed) if own.noise else None
        joints = [joint.name for joint in plant.machine.movable_joints]
        self.faulty = None if own.fault is None else FaultySensors(own.fault, joints, SETTLING)
        self.blind: float | None = None
        self._changes = self._load_changes()
        self._rng = np.random.default_rng((own.seed, 1))
        self._lateness = [case.state_delay, case.command_delay]
        self._states: deque[Sample] = deque()
        self._reached = plant.u[self._places]
        self.waiting: deque[Array] = deque([self._reached] * round(case.command_delay / PERIOD))
        self._given: list[Array] = []
        self.watch = Wheels(*self.stand(plant))
        if partner is not None:
            partner.begin(case.known_payload)

    def run(self) -> Outcome:
        """Run to the end."""
        plant, diverged = self.plant, False
        for levers in self.levers:
            try:
                self.step(levers)
            except PlantDivergedError:
                diverged = True
                break
            if plant.overturned:
                break
        watch = self.watch
        return Outcome(
            overturned=plant.overturned,
            lifted=watch.since is not None or plant.overturned,
            diverged=diverged,
            time=round(plant.time, 6),
            lift_time=watch.since,
            tilt=watch.tilt,
            share=watch.share,
            let_through=self._part(travel),
            begin=watch.begin,
            unrest=self._part(lambda volts: travel(np.diff(volts, axis=0))),
            off=round(watch.off, 6),
        )

    def _part(self, measure: Callable[[Array], float]) -> float:
        """Return what the machine has of something of levers (t, m) that the levers have; 1 where these have none."""
        given = np.array(self._given)
        wanted = measure(self.levers[: len(given)])
        return measure(given) / wanted if wanted else 1.0

    def step(self, levers: Array | None) -> None:
        """Go on by a period; without levers where no command reaches the governor.

        Raises:
            PlantDivergedError: the numbers run away.
        """
        while self._changes and self.plant.time > self._changes[0][0] - 0.5 * PERIOD:
            self._change_load(*self._changes.pop(0)[1:])
        looks = self.partner is not None or self.effects.looks
        sample = sample_of(self.plant, self.case.imu) if looks else None
        given = self._governed(levers, sample)
        if levers is not None:
            self._given.append(self.effects.lever_part(given, levers, sample, self.case.known_payload))
        self.give(self.plant, given)
        self.watch.see(self.plant.time, *self.stand(self.plant))

    def _load_changes(self) -> list[tuple[float, bool, float]]:
        """Return when the load changes, s, whether that is when the governor knows of it, and the load then, kg."""
        own, case = self.case.troubles, self.case
        changes = [] if own.drop is None else [(SETTLING + own.drop, 0.0, 0.0)]
        if own.grab is not None:
            changes.append((SETTLING + own.grab, case.payload + own.grabbed, case.known_payload + own.grabbed))
        true = [(when, False, mass) for when, mass, _ in changes]
        return sorted(true + [(when + NOTICED, True, believed) for when, _, believed in changes])

    def _change_load(self, is_known: bool, mass: float) -> None:
        """Give the plant another payload, kg, or let the governor know of it."""
        if not is_known:
            load(self.plant, self.case, mass)
        elif self.partner is not None:
            self.partner.monitor.payload = mass

    def give(self, plant: Plant, given: Array) -> None:
        """Advance a plant of this machine by a period with these voltages (m,) at its valves, or these efforts."""
        plant.u[self._places] = given
        plant.advance()

    def _governed(self, levers: Array | None, sample: Sample | None) -> Array:
        """Return what reaches the machine now."""
        if self.partner is None or sample is None:
            assert levers is not None
            return self.effects.wanted(levers, sample, self.case.known_payload)
        plant = self.plant
        if self.case.troubles.jitter:
            self._vary()
        measured, commanded = self._lateness
        read = sample if self._sensors is None else self._sensors.read(sample)
        shown = read if self.faulty is None else self.faulty.read(read)
        if shown is not None:
            self._states.append(shown)
        while self._states and self._states[0].time <= plant.time - measured + 0.5 * PERIOD:
            self.partner.measure(self._states.popleft())
        if not self.effects.looks or self.partner.measured:
            known = self.partner.knows(plant.time - measured)
            if not known and self.blind is None:
                self.blind = plant.time
            self.waiting.append(self.partner.command(levers, known))
        while len(self.waiting) > round(commanded / PERIOD):
            self._reached = self.waiting.popleft()
        return self._reached

    def _vary(self) -> None:
        """Change the delays to others, at times."""
        case = self.case
        for k, longest in enumerate((case.state_delay, case.command_delay)):
            if self._rng.random() < CHANGES * PERIOD:
                self._lateness[k] = longest * (1.0 - case.troubles.jitter * float(self._rng.random()))
