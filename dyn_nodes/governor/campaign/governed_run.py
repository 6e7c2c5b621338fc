"""A machine under a lever sequence, with a governor between levers and valves or without one.

    rig = Rig(machine)
    outcome = rig.run(case, governed=True)

The plant is compiled. Monitor and governor are the same as in `tip_over_governor_node`, with the delays of its chain:
from the measurements to the governor, and from the governor to the valves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.governor.campaign.attacks import ATTACKS, PERIOD, Attack
from dyn_nodes.governor.campaign.cases import SETTLING, Case, lever_profile
from dyn_nodes.governor.campaign.lever_effects import Efforts, Valves, lever_effects
from dyn_nodes.governor.campaign.run_outcome import RESTLESS, RunOutcome
from dyn_nodes.governor.campaign.sensor_faults import FaultySensors
from dyn_nodes.governor.campaign.wheel_watch import LoadsAndAttitude, Wheels, travel
from dyn_nodes.governor.settings import GovernorSettings
from dyn_nodes.governor.tip_over_governor import TipOverGovernor
from dyn_nodes.model.equilibrium import NoEquilibriumError
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions
from dyn_nodes.model.problems import MachineError
from dyn_nodes.monitor.in_space import in_space
from dyn_nodes.monitor.measured_samples import Sample, Sensors, sample_of
from dyn_nodes.monitor.stability_monitor import StabilityMonitor
from dyn_nodes.simulation.assembly import DAMPING_SCALE, STIFFNESS_SCALE
from dyn_nodes.simulation.period import PlantDivergedError
from dyn_nodes.simulation.plant import Plant
from dyn_nodes.stability.load_moment import LoadMomentIndicator

Offset = tuple[float, float]
STEP = 5e-4
"""Step of the integrator, s."""
NOTICED = 0.5
"""Delay after which a dropped or grabbed load is reported to the governor, s."""
STARTS = 16
"""Number of postures between the first one and the start of a case."""
MOST_UTILISATION = 10.0
"""Greatest recorded utilisation: without a rated load it is infinite."""
RATED_EVERY = 10
"""Number of periods between two computations of the utilisation."""
CHANGES = 5.0
"""Rate of the changes of a variable delay, 1/s."""


class Rig:
    """A governor and the plants of its box; the plant of a mass is created at its first run.

    Args:
        machine: nominal machine of the governor.
        settings: of the governor.
        tests_motion: joints that do not follow their valves are sensor faults; None: unless the settings have
            `bring_down`.
    """

    def __init__(
        self, machine: Machine, settings: GovernorSettings | None = None, tests_motion: bool | None = None
    ) -> None:
        self.machine, self.settings = machine, settings or GovernorSettings()
        self._tests_motion = not self.settings.bring_down if tests_motion is None else tests_motion
        self.effects = lever_effects(machine)
        self.rating = Rating(machine, self.settings.rated_share) if self.settings.criterion == 'tipping' else None
        self._plants: dict[tuple[float, Offset], Plant] = {}
        self._partners: dict[bool, Partner] = {}
        self._margin: tuple[Case, float] | None = None

    def plant(self, mass: float = 1.0, center: Offset = (0.0, 0.0)) -> Plant:
        """Return the plant with this ratio of the links' mass to the nominal one and a displaced centre, (2,) m."""
        key = mass, center
        if key not in self._plants:
            self._plants[key] = self.new_plant(mass, center)
        return self._plants[key]

    def new_plant(self, mass: float, center: Offset) -> Plant:
        """Return a new plant of this kind."""
        return Plant(unlike(self.machine, mass, center), self.effects.actuation, PERIOD, STEP, ())

    def partner(self, imu: bool) -> Partner:
        """Return monitor and governor, with an IMU or without one."""
        if imu not in self._partners:
            self._partners[imu] = Partner(self.effects, self.settings, self._tests_motion)
        return self._partners[imu]

    def trial(self, case: Case, governed: bool = True) -> Trial:
        """Return a run of a case before its first step; the next trial reuses its plant and its governor.

        Raises:
            NoEquilibriumError: the machine cannot rest at its start.
        """
        return Trial(
            self._at_start(case), case, self.effects, self.partner(case.imu) if governed else None, self.rating
        )

    def _at_start(self, case: Case) -> Plant:
        """Return the plant of a case at its start; errors as in `trial`."""
        plant = self.plant(case.mass, case.center)
        load(plant, case, case.payload)
        reset_at(plant, dict(zip(self.effects.joints, case.start)))
        return plant

    def run(self, case: Case, governed: bool = True) -> RunOutcome:
        """Run a case to the end of its levers or until the machine overturns."""
        case = self.placed(case)
        rejected = self.rejects(case)
        try:
            trial = self.trial(case, governed)
        except NoEquilibriumError:
            return RESTLESS
        return replace(trial.run(), refused=rejected)

    def placed(self, case: Case) -> Case:
        """Return the case with the certified start nearest to its start, on the way from the first posture.

        From there a run starts at rest, in most cases at the border of the certified postures.
        """
        if not case.start:
            return case
        first = initial_positions(self.machine)
        here = np.array([first[joint] for joint in self.effects.joints])
        for part in np.linspace(1.0, 0.0, STARTS, endpoint=False):
            candidate = replace(case, start=tuple(np.round(here + part * (np.array(case.start) - here), 6).tolist()))
            if not self.rejects(candidate):
                return candidate
        return replace(case, start=())

    def rejects(self, case: Case) -> bool:
        """Return whether a case starts without a certified stop: with valves at neutral the share is below `least`."""
        if self._margin is None or self._margin[0] != case:
            self._margin = case, self.start_margin(case)  # a case is run with the governor and without it
        return not self._margin[1] >= self.settings.law.least

    def start_margin(self, case: Case) -> float:
        """Return the least share of a wheel's load of all machines of the box, valves at neutral from the start.

        With the payload of the governor and the slope measured by an IMU; -inf if the machine has no support or cannot
        rest.
        """
        partner = self.partner(True)
        try:
            plant = self._at_start(case)
        except NoEquilibriumError:
            return -np.inf
        partner.restart(case.known_payload)
        partner.measure(sample_of(plant, True))
        partner.stops.see()
        if not np.isfinite(partner.stops.degree):
            return -np.inf
        return partner.stops.stop(np.zeros(len(self.effects.names))).least


def reset_at(plant: Plant, joints: dict[str, float]) -> None:
    """Start at rest with the positions of joints by name, once.

    Raises:
        NoEquilibriumError: the machine cannot rest there, or its linkages do not close within the limits of its joints.
    """
    plant.start = joints
    try:
        plant.reset()
    except MachineError as error:
        raise NoEquilibriumError(str(error)) from None
    finally:
        plant.start = {}


def load(plant: Plant, case: Case, payload: float) -> None:
    """Set ground, stops, oil and wheels of a plant as in a case, and its payload, kg."""
    values = {
        'payload_mass': payload,
        'joint_stop_scale': float(case.stops),
        **({'bulk_modulus_scale': case.troubles.oil} if plant.machine.actuators else {}),
        STIFFNESS_SCALE: case.troubles.stiffness,
        DAMPING_SCALE: case.troubles.damping,
    }
    plant.p[:] = plant.system.parameters(values, (case.roll, case.pitch))


def heavier(machine: Machine, factor: float) -> Machine:
    """Return a machine with mass and inertia of its links scaled by a factor; the payload is unchanged."""
    if factor == 1.0:
        return machine
    links = (replace(link, mass=factor * link.mass, inertia=factor * link.inertia) for link in machine.links)
    return replace(machine, links=tuple(links))


def off_center(machine: Machine, offset: Offset) -> Machine:
    """Return a machine with the common centre of mass of its links displaced by (2,) m, ahead and to the left.

    The base's centre is moved to obtain this.
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
    """Return the true machine for a nominal one."""
    return off_center(heavier(machine, mass), center)


class Rating:
    """Utilisation of the rated load of a machine.

    Args:
        machine: nominal.
        share: rated share of the tipping load.
    """

    def __init__(self, machine: Machine, share: float) -> None:
        self._indicator = LoadMomentIndicator(in_space(machine), share)
        self._names = [joint.name for joint in machine.movable_joints]

    def utilisation(self, plant: Plant, payload: float) -> float:
        """Return the utilisation of the rated load at rest in the posture of a plant, on its slope."""
        positions = dict(zip(self._names, plant.positions.tolist()))
        return self._indicator.evaluate(positions, payload, plant.p[:3]).utilisation


class Partner:
    """Monitor and governor, connected as in tip_over_governor_node.

    Attributes:
        measured: the last measurements.
        waits: for levers at neutral, since there was a fault of the measurements.
    """

    def __init__(self, effects: Valves | Efforts, settings: GovernorSettings, tests_motion: bool) -> None:
        self.effects = effects
        self.monitor = StabilityMonitor(in_space(effects.machine), ())
        self.stops = effects.stops(self.monitor, settings)
        if tests_motion:
            self.monitor.checks.add(self.stops.motion)
        self.governor = TipOverGovernor(effects.names, self.stops, settings)
        self.measured: Sample | None = None
        self.waits = self._had_imu = False

    def restart(self, payload: float) -> None:
        """Restart with a payload, kg."""
        self.measured = None
        self.waits = self._had_imu = False
        self.monitor.clear()
        self.monitor.payload = payload
        self.governor.reset()

    def measure(self, sample: Sample) -> None:
        """Process the measurements of an instant."""
        self.measured = sample
        if sample.imu is not None:
            orientation, turn, specific_force = sample.imu
            self.monitor.imu(sample.time, turn, specific_force, orientation)
        self.monitor.joints(sample.time, sample.q, sample.v)
        self._had_imu = self._had_imu or self.monitor.has_imu

    def is_valid(self, now: float) -> bool:
        """Return whether the measurements are valid at time `now`, s, minus the nominal delay of the joint states."""
        late = self.measured is not None and now - self.measured.time > self.stops.settings.lateness
        return not late and self.monitor.checks.are_sound and self._had_imu == self.monitor.has_imu

    def command(self, levers: Array | None, valid: bool = True) -> Array:
        """Return the permitted voltages or efforts; without levers, those that lead to neutral.

        If the state of the machine is not valid, outputs go to neutral, and stay there until the levers have been at
        neutral.
        """
        self.waits = not valid or (self.waits and levers is not None and bool(levers.any()))
        if levers is None or self.waits:
            self.stops.see()
            return self.effects.applied(self.stops, self.governor.neutral(PERIOD))
        wanted = self.effects.wanted(levers, self.measured, self.monitor.payload)
        return self.effects.applied(self.stops, self.governor.govern(wanted, PERIOD).volts)


class Trial:
    """One run.

    Args:
        plant: at rest, with the parameters of the case.
        case: levers, delays, nominal data of the governor.
        effects: of the levers.
        partner: monitor and governor; None: the levers move the machine.
        rating: of the nominal machine with the criterion `tipping`; None: `lift_off`.

    Attributes:
        levers: (t, m) V, or rad/s2 and m/s2, one row per period; an attack overwrites its rows.
        waiting: queued outputs (m,) to the machine, the oldest first.
        watch: observer of wheels and base.
        faulty: sensors with a fault; None if all are sound.
        blind: first instant at which the measurements were not valid, s; None: never.
        loads_and_attitude: of plants of this machine, a function.
    """

    def __init__(
        self, plant: Plant, case: Case, effects: Valves | Efforts, partner: Partner | None, rating: Rating | None = None
    ) -> None:
        self.plant, self.case, self.effects, self.partner = plant, case, effects, partner
        names, self.loads_and_attitude = effects.names, LoadsAndAttitude(plant, 'tipping' if rating else 'lift_off')
        self._rating = rating
        self._inputs = np.array([plant.system.index('input', name) for name in effects.inputs])
        self.profile = lever_profile(case, names)
        times = PERIOD * np.arange(round(self.profile.duration / PERIOD))
        self.levers = self.profile.evaluate(times + 0.5 * PERIOD, names)
        troubles = case.troubles
        self._sensors = Sensors(troubles.noise, troubles.seed) if troubles.noise else None
        joints = [joint.name for joint in plant.machine.movable_joints]
        self.faulty = None if troubles.fault is None else FaultySensors(troubles.fault, joints, SETTLING)
        self.blind: float | None = None
        self._changes = self._load_changes()
        self._rng = np.random.default_rng((troubles.seed, 1))
        self._lateness = [case.state_delay, case.command_delay]
        self._states: deque[Sample] = deque()
        self._reached = plant.u[self._inputs]
        self.waiting: deque[Array] = deque([self._reached] * round(case.command_delay / PERIOD))
        self._applied: list[Array] = []
        self._attack = self._new_attack(case)
        self.watch = Wheels(*self.loads_and_attitude(plant))
        self._reported, self._steps = case.known_payload, 0
        self._most = self._overload = np.nan
        self._rate()
        if partner is not None:
            partner.restart(case.known_payload)

    def run(self) -> RunOutcome:
        """Run to the end."""
        plant, diverged = self.plant, False
        for k in range(len(self.levers)):
            try:
                if self._attack is not None and plant.time > SETTLING - 0.5 * PERIOD:
                    passed = self._applied[-1] if self._applied else np.zeros(self.levers.shape[1])
                    self.levers[k] = self._attack(*self.loads_and_attitude(plant), passed)
                self.step(self.levers[k])
            except PlantDivergedError:
                diverged = True
                break
            if plant.overturned:
                break
        watch = self.watch
        return RunOutcome(
            overturned=plant.overturned,
            lifted=watch.since is not None or plant.overturned,
            diverged=diverged,
            time=round(plant.time, 6),
            lift_time=watch.since,
            tilt=watch.tilt,
            share=watch.share,
            let_through=self._part(travel),
            begin=watch.initial_share,
            unrest=self._part(lambda volts: travel(np.diff(volts, axis=0))),
            off=round(watch.off, 6),
            overload=None if self._rating is None else round(self._overload, 6),
        )

    def _rate(self) -> None:
        """Update the greatest overload."""
        if self._rating is None:
            return
        utilisation = min(self._rating.utilisation(self.plant, self._reported), MOST_UTILISATION)
        if not self._most >= 1.0:
            self._most, self._overload = max(utilisation, 1.0), 0.0
        self._overload = max(self._overload, utilisation - self._most)

    def _new_attack(self, case: Case) -> Attack | None:
        """Return the attacker of a case, None if its levers are a sequence."""
        if not case.attack:
            return None
        time, levers = case.segments[0]
        return ATTACKS[case.attack](np.array(levers), time, self.effects.limits, case.troubles.seed)

    def _part(self, measure: Callable[[Array], float]) -> float:
        """Return a measure of the outputs (t, m) over the same measure of the levers; 1 if the latter is 0."""
        applied = np.array(self._applied)
        wanted = measure(self.levers[: len(applied)])
        return measure(applied) / wanted if wanted else 1.0

    def step(self, levers: Array | None) -> None:
        """Advance by a period; without levers if no command reaches the governor.

        Raises:
            PlantDivergedError: the state diverges.
        """
        while self._changes and self.plant.time > self._changes[0][0] - 0.5 * PERIOD:
            self._change_load(*self._changes.pop(0)[1:])
        measures = self.partner is not None or self.effects.needs_state
        sample = sample_of(self.plant, self.case.imu) if measures else None
        output = self._governed(levers, sample)
        if levers is not None:
            self._applied.append(self.effects.lever_part(output, levers, sample, self.case.known_payload))
        self.give(self.plant, output)
        self.watch.see(self.plant.time, *self.loads_and_attitude(self.plant))
        self._steps += 1
        if self._steps % RATED_EVERY == 0:
            self._rate()

    def _load_changes(self) -> list[tuple[float, bool, float]]:
        """Return the changes of the load: time, s, whether it is the report to the governor, and the load then, kg."""
        troubles, case = self.case.troubles, self.case
        changes = [] if troubles.drop is None else [(SETTLING + troubles.drop, 0.0, 0.0)]
        if troubles.grab is not None:
            changes.append(
                (SETTLING + troubles.grab, case.payload + troubles.grabbed, case.known_payload + troubles.grabbed)
            )
        true = [(when, False, mass) for when, mass, _ in changes]
        return sorted(true + [(when + NOTICED, True, reported) for when, _, reported in changes])

    def _change_load(self, is_reported: bool, mass: float) -> None:
        """Change the payload of the plant, kg, or report it to the governor."""
        if not is_reported:
            load(self.plant, self.case, mass)
            return
        self._reported, self._most = mass, np.nan
        if self.partner is not None:
            self.partner.monitor.payload = mass

    def give(self, plant: Plant, output: Array) -> None:
        """Advance a plant of this machine by a period with these voltages (m,) at its valves, or these efforts."""
        plant.u[self._inputs] = output
        plant.advance()

    def _governed(self, levers: Array | None, sample: Sample | None) -> Array:
        """Return the outputs that reach the machine now."""
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
        if not self.effects.needs_state or self.partner.measured:
            valid = self.partner.is_valid(plant.time - measured)
            if not valid and self.blind is None:
                self.blind = plant.time
            self.waiting.append(self.partner.command(levers, valid))
        while len(self.waiting) > round(commanded / PERIOD):
            self._reached = self.waiting.popleft()
        return self._reached

    def _vary(self) -> None:
        """Change the delays at random times."""
        case = self.case
        for k, longest in enumerate((case.state_delay, case.command_delay)):
            if self._rng.random() < CHANGES * PERIOD:
                self._lateness[k] = longest * (1.0 - case.troubles.jitter * float(self._rng.random()))
