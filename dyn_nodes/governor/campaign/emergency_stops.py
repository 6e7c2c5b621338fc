"""Emergency stops of a governed machine: at even instants of a run all outputs are led to neutral, and to rest.

Where joints are commanded by efforts, neutral is what the governor makes of it without measurements from then on;
`released_levers` makes the stops of one that goes on measuring.

    outcome = emergency_stops(rig, case)

They begin a little late: a governor without measurements keeps its outputs until these are late enough to be missed.
The run itself goes on as if there were no stop: each stop is made by a second plant, from where the first one is, with
what is on its way to the valves.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain, count, repeat
from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.governor.campaign.campaign import Kind
from dyn_nodes.governor.campaign.cases import Case
from dyn_nodes.governor.campaign.governed_run import PERIOD, Rig, Trial
from dyn_nodes.governor.campaign.json_lines import finite
from dyn_nodes.governor.campaign.wheel_watch import Wheels
from dyn_nodes.governor.effort_predictor import EffortPredictor
from dyn_nodes.governor.law import approach
from dyn_nodes.governor.settings import GovernorSettings
from dyn_nodes.governor.tip_over_governor import TipOverGovernor
from dyn_nodes.model.equilibrium import NoEquilibriumError
from dyn_nodes.simulation.period import PlantDivergedError
from dyn_nodes.simulation.plant import Plant

EVERY = 0.05
"""Between two stops, s."""
KEPT = GovernorSettings().lateness
"""Outputs stay for so long before they are led to neutral, s."""
LEAST_TIME, LONGEST, STILL = 1.5, 6.0, 0.02
"""A stop is followed for so long at least, until all joints are slower, rad/s or m/s, and for so long at most, s."""


@dataclass(frozen=True)
class Stopped:
    """What became of the stops of a run.

    Attributes:
        stops: how many there were.
        lost: in how many a wheel came to no load, however shortly.
        lifted: in how many a wheel was off the ground for longer than 0.1 s, or the base turned by more than 0.5
            degrees meanwhile.
        overturned: in how many the base tilted beyond the machine's limit.
        unfinished: in how many a joint still moved after `LONGEST`, or the simulation ended.
        share: least load of a wheel in any of them, over the mean load of a wheel at the start of the run.
        worst: instant at which that stop began, s.
        longest: time to rest, s: the longest.
        ended: the run itself overturned or diverged before its end.
        refused: its start is beyond what any command could hold.
    """

    stops: int
    lost: int
    lifted: int
    overturned: int
    unfinished: int
    share: float
    worst: float
    longest: float
    ended: bool
    refused: bool

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Stopped:
        """Return the outcome of `as_dict`.

        Raises:
            ValueError, TypeError: data of another form, or a number that is not finite.
        """
        outcome = cls(**data)
        for own in (outcome.stops, outcome.lost, outcome.lifted, outcome.overturned, outcome.unfinished):
            if not isinstance(own, int) or isinstance(own, bool):
                raise ValueError('a count that is no integer')
        if not (isinstance(outcome.ended, bool) and isinstance(outcome.refused, bool)):
            raise ValueError('ended or refused that is not true or false')
        for number in (outcome.share, outcome.worst, outcome.longest):
            finite(number)
        return outcome


def emergency_stops(
    rig: Rig, case: Case, governed: bool = True, every: float = EVERY, kept: float = KEPT, hard: bool = False
) -> Stopped:
    """Run a case and make a stop at every instant that is a multiple of `every`, s, while the machine stands.

    Outputs stay for `kept`, s, before. Without the governor a stop leads the valves to neutral at the same rate. A
    `hard` one shuts them at once, as who moves the valves does where the governor has died. Efforts are stopped by the
    governor alone, as nothing else brakes: without measurements.
    """
    case = rig.placed(case)
    refused = rig.refuses(case)
    try:
        trial = rig.trial(case, governed)
    except NoEquilibriumError:
        return _summed([], ended=False, refused=True)
    stopper = rig.new_plant(case.mass, case.center)
    most, partner = np.inf if hard else rig.settings.rate * PERIOD, trial.partner
    found, ended = [], False
    for number, levers in enumerate(trial.levers):
        if not _goes_on(trial, levers):
            ended = True
            break
        if number % round(every / PERIOD) == 0:
            continue_from(stopper, trial.plant)
            if partner is not None and isinstance(partner.stops, EffortPredictor):
                outputs = _efforts_to_rest(partner.governor, partner.stops, kept)
            else:
                outputs = _volts_to_rest(levers if partner is None else partner.governor.output, most, kept)
            found.append((trial.plant.time, *_stop(trial, stopper, outputs)))
    return _summed(found, ended, refused)


def released_levers(rig: Rig, case: Case, governed: bool = True, every: float = EVERY, kept: float = KEPT) -> Stopped:
    """Make stops as `emergency_stops` does, of a governor that gets no commands any more and goes on measuring.

    The governor's own state is part of such a stop, so that each is a run from the start.
    """
    case = rig.placed(case)
    refused = rig.refuses(case)
    try:
        instants = len(rig.trial(case, governed).levers)
    except NoEquilibriumError:
        return _summed([], ended=False, refused=True)
    found, ended = [], False
    for number in range(0, instants, round(every / PERIOD)):
        trial = rig.trial(case, governed)
        if not all(_goes_on(trial, levers) for levers in trial.levers[: number + 1]):
            ended = True
            break
        lasting = [trial.levers[number]] * round(kept / PERIOD)
        found.append((trial.plant.time, *_follow(trial, trial.plant, chain(lasting, repeat(None)), trial.step)))
    return _summed(found, ended, refused)


def _goes_on(trial: Trial, levers: Array) -> bool:
    """Go on with a run by a period; return whether it still stands."""
    try:
        trial.step(levers)
    except PlantDivergedError:
        return False
    return not trial.plant.overturned


def continue_from(plant: Plant, other: Plant) -> None:
    """Bring a plant to where another one of the same machine is, which stays as it is; the ground is compliant."""
    plant.x, plant.p, plant.u = other.x.copy(), other.p.copy(), other.u.copy()
    plant.ticks, plant.overturned = other.ticks, other.overturned
    if plant.delay is not None and other.delay is not None:
        plant.delay.history = other.delay.history
    plant.ground.begin(plant.x, plant.u, plant.p, True, plant.period / plant.substeps)
    plant.set_inputs({})  # what was computed of another state is forgotten


def _volts_to_rest(output: Array, most: float, kept: float) -> Iterator[Array]:
    """Yield outputs (m,), V, period by period: they stay for a while and go to neutral."""
    goal, output = np.zeros(len(output)), output.copy()
    for number in count():
        if number * PERIOD > kept - 0.5 * PERIOD:
            approach(goal, output, most, output)
        yield output.copy()


def _efforts_to_rest(governor: TipOverGovernor, stops: EffortPredictor, kept: float) -> Iterator[Array]:
    """Yield efforts (m,), N m or N, of a governor that has no measurements any more, period by period.

    NaN where they have ended.
    """
    alone = copy.copy(governor)
    alone.stops = own = stops.branched()
    for number in count():
        if number * PERIOD > kept - 0.5 * PERIOD:
            alone.neutral(PERIOD)
        else:
            own.pass_by(PERIOD)
        yield own.given.copy()


Followed = tuple[Wheels, bool, bool, float]
"""Wheels of a stop, whether the machine overturned, whether it came to rest, and when, s."""


def _stop(trial: Trial, plant: Plant, outputs: Iterator[Array]) -> Followed:
    """Bring a plant to rest by outputs (m,); those that are on their way in a run come first.

    Where they are NaN the drives hold the joints, as where nothing is given to them any more.
    """
    held: list[Array] = []

    def give(output: Array) -> None:
        if not np.isnan(output).any():
            trial.give(plant, output)
            return
        if not held:
            held.append(plant.positions.copy())
        plant.set_efforts(plant.servo_efforts(held[0], np.zeros(len(held[0])), brakes=True))
        plant.advance()

    return _follow(trial, plant, chain(list(trial.waiting), outputs), give)


def _follow(trial: Trial, plant: Plant, given: Iterable[Any], advance: Callable[[Any], None]) -> Followed:
    """Give a plant one after the other until it rests."""
    began = plant.time
    watch = Wheels(trial.watch.rest, trial.stand(plant)[1])
    watch.share = np.inf
    for own in given:
        spent = plant.time - began
        if spent >= LONGEST:
            break
        try:
            advance(own)
        except PlantDivergedError:
            return watch, plant.overturned, False, spent
        watch.see(plant.time, *trial.stand(plant))
        if plant.overturned:
            return watch, True, False, spent
        if spent >= LEAST_TIME and np.abs(plant.velocities).max() < STILL:
            return watch, False, True, spent
    return watch, False, False, LONGEST


def _summed(found: list[tuple[float, Wheels, bool, bool, float]], ended: bool, refused: bool) -> Stopped:
    worst = min(found, key=lambda own: own[1].share, default=None)
    return Stopped(
        stops=len(found),
        lost=sum(watch.share <= 0.0 for _, watch, *_ in found),
        lifted=sum(watch.since is not None or over for _, watch, over, _, _ in found),
        overturned=sum(over for _, _, over, _, _ in found),
        unfinished=sum(not (over or rested) for _, _, over, rested, _ in found),
        share=1.0 if worst is None else worst[1].share,
        worst=0.0 if worst is None else round(worst[0], 6),
        longest=round(max((own[4] for own in found), default=0.0), 6),
        ended=ended,
        refused=refused,
    )


STOPS = Kind('emergency stops', emergency_stops, Stopped.from_dict)
"""For a campaign."""
