"""Emergency stops of a governed machine: at regular instants of a run all outputs are led to neutral, and to rest.

If joints are commanded by efforts, neutral is the governor's output without further measurements; `released_levers`
performs stops of a governor that continues to measure.

    outcome = emergency_stops(rig, case)

The outputs start to move after a delay: a governor without measurements keeps its outputs until these are late enough
to be missed. The run itself is not affected: each stop is performed by a second plant, from the state of the first one,
with the same queue of outputs to the valves.
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
"""Interval between two stops, s."""
KEPT = GovernorSettings().lateness
"""Time for which outputs are kept before they are led to neutral, s."""
LEAST_TIME, LONGEST, STILL = 1.5, 6.0, 0.02
"""A stop is followed at least for the first time, s, until all joints are slower than the last number, rad/s or m/s,
and at most for the second time, s."""


@dataclass(frozen=True)
class Stopped:
    """Results of the stops of a run.

    Attributes:
        stops: number of stops.
        lost: number of stops in which a wheel lost its load, however shortly.
        lifted: number of stops in which a wheel was off the ground for longer than 0.1 s, or the base turned by more
            than 0.5 degrees meanwhile.
        overturned: number of stops in which the base tilted beyond the machine's limit.
        unfinished: number of stops in which a joint still moved after `LONGEST`, or the simulation ended.
        share: least load of a wheel in any stop, over the mean load of a wheel at the start of the run.
        worst: start of that stop, s.
        longest: longest time to rest, s.
        ended: the run itself overturned or diverged before its end.
        refused: no command could keep the machine from tipping at the start of the run.
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
        for number_of_stops in (outcome.stops, outcome.lost, outcome.lifted, outcome.overturned, outcome.unfinished):
            if not isinstance(number_of_stops, int) or isinstance(number_of_stops, bool):
                raise ValueError('a count that is no integer')
        if not (isinstance(outcome.ended, bool) and isinstance(outcome.refused, bool)):
            raise ValueError('ended or refused that is not true or false')
        for number in (outcome.share, outcome.worst, outcome.longest):
            finite(number)
        return outcome


def emergency_stops(
    rig: Rig, case: Case, governed: bool = True, every: float = EVERY, kept: float = KEPT, hard: bool = False
) -> Stopped:
    """Run a case and perform a stop at every multiple of `every`, s, until the machine overturns.

    Outputs are kept for `kept`, s, before. Without the governor a stop leads the valves to neutral at the same rate. A
    `hard` stop shuts them at once, as a valve driver does if the governor has died. Efforts are stopped by the governor
    alone, without measurements, as nothing else brakes.
    """
    case = rig.placed(case)
    rejected = rig.rejects(case)
    try:
        trial = rig.trial(case, governed)
    except NoEquilibriumError:
        return _summed([], aborted=False, rejected=True)
    stopper = rig.new_plant(case.mass, case.center)
    most, partner = np.inf if hard else rig.settings.rate * PERIOD, trial.partner
    stops, aborted = [], False
    for number, levers in enumerate(trial.levers):
        if not _advance(trial, levers):
            aborted = True
            break
        if number % round(every / PERIOD) == 0:
            continue_from(stopper, trial.plant)
            if partner is not None and isinstance(partner.stops, EffortPredictor):
                outputs = _efforts_to_rest(partner.governor, partner.stops, kept)
            else:
                outputs = _volts_to_rest(levers if partner is None else partner.governor.output, most, kept)
            stops.append((trial.plant.time, *_stop(trial, stopper, outputs)))
    return _summed(stops, aborted, rejected)


def released_levers(rig: Rig, case: Case, governed: bool = True, every: float = EVERY, kept: float = KEPT) -> Stopped:
    """Perform the stops of `emergency_stops` with a governor that gets no more commands and continues to measure.

    The state of the governor is part of such a stop, so that each is a run from the start.
    """
    case = rig.placed(case)
    rejected = rig.rejects(case)
    try:
        instants = len(rig.trial(case, governed).levers)
    except NoEquilibriumError:
        return _summed([], aborted=False, rejected=True)
    stops, aborted = [], False
    for number in range(0, instants, round(every / PERIOD)):
        trial = rig.trial(case, governed)
        if not all(_advance(trial, levers) for levers in trial.levers[: number + 1]):
            aborted = True
            break
        lasting = [trial.levers[number]] * round(kept / PERIOD)
        stops.append((trial.plant.time, *_follow(trial, trial.plant, chain(lasting, repeat(None)), trial.step)))
    return _summed(stops, aborted, rejected)


def _advance(trial: Trial, levers: Array) -> bool:
    """Advance a run by a period; return whether the machine has neither overturned nor diverged."""
    try:
        trial.step(levers)
    except PlantDivergedError:
        return False
    return not trial.plant.overturned


def continue_from(plant: Plant, other: Plant) -> None:
    """Copy the state of another plant of the same machine, which is not changed; the ground is compliant."""
    plant.x, plant.p, plant.u = other.x.copy(), other.p.copy(), other.u.copy()
    plant.ticks, plant.overturned = other.ticks, other.overturned
    if plant.delay is not None and other.delay is not None:
        plant.delay.history = other.delay.history
    plant.ground.start(plant.x, plant.u, plant.p, True, plant.period / plant.substeps)
    plant.set_inputs({})  # discards results of the previous state


def _volts_to_rest(output: Array, most: float, kept: float) -> Iterator[Array]:
    """Yield outputs (m,), V, period by period: they are kept for a while, then led to neutral."""
    goal, output = np.zeros(len(output)), output.copy()
    for number in count():
        if number * PERIOD > kept - 0.5 * PERIOD:
            approach(goal, output, most, output)
        yield output.copy()


def _efforts_to_rest(governor: TipOverGovernor, stops: EffortPredictor, kept: float) -> Iterator[Array]:
    """Yield efforts (m,), N m or N, of a governor without further measurements, period by period.

    NaN after the efforts have ended.
    """
    alone = copy.copy(governor)
    alone.stops = predictor = stops.branched()
    for number in count():
        if number * PERIOD > kept - 0.5 * PERIOD:
            alone.neutral(PERIOD)
        else:
            predictor.pass_by(PERIOD)
        yield predictor.output_efforts.copy()


Followed = tuple[Wheels, bool, bool, float]
"""Wheels of a stop, whether the machine overturned, whether it came to rest, and the time, s."""


def _stop(trial: Trial, plant: Plant, outputs: Iterator[Array]) -> Followed:
    """Bring a plant to rest by outputs (m,), after those in the queue of the run.

    If they are NaN the drives hold the joints, as they do without commands.
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


def _follow(trial: Trial, plant: Plant, outputs: Iterable[Any], advance: Callable[[Any], None]) -> Followed:
    """Advance a plant with one output after the other until it rests."""
    start = plant.time
    watch = Wheels(trial.watch.rest, trial.loads_and_attitude(plant)[1])
    watch.share = np.inf
    for output in outputs:
        spent = plant.time - start
        if spent >= LONGEST:
            break
        try:
            advance(output)
        except PlantDivergedError:
            return watch, plant.overturned, False, spent
        watch.see(plant.time, *trial.loads_and_attitude(plant))
        if plant.overturned:
            return watch, True, False, spent
        if spent >= LEAST_TIME and np.abs(plant.velocities).max() < STILL:
            return watch, False, True, spent
    return watch, False, False, LONGEST


def _summed(stops: list[tuple[float, Wheels, bool, bool, float]], aborted: bool, rejected: bool) -> Stopped:
    worst = min(stops, key=lambda stop: stop[1].share, default=None)
    return Stopped(
        stops=len(stops),
        lost=sum(watch.share <= 0.0 for _, watch, *_ in stops),
        lifted=sum(watch.since is not None or over for _, watch, over, _, _ in stops),
        overturned=sum(over for _, _, over, _, _ in stops),
        unfinished=sum(not (over or rested) for _, _, over, rested, _ in stops),
        share=1.0 if worst is None else worst[1].share,
        worst=0.0 if worst is None else round(worst[0], 6),
        longest=round(max((stop[4] for stop in stops), default=0.0), 6),
        ended=aborted,
        refused=rejected,
    )


STOPS = Kind('emergency stops', emergency_stops, Stopped.from_dict)
"""Kind of a campaign."""
