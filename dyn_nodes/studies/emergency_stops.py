"""Emergency stops of a governed machine: at even instants of a run all outputs are led to neutral, and to rest.

    outcome = emergency_stops(rig, case)

They begin a little late: a governor without measurements keeps its outputs until these are late enough to be missed.
The run itself goes on as if there were no stop: each stop is made by a second plant, from where the first one is, with
what is on its way to the valves.
"""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.control.governor_law import approach
from dyn_nodes.control.tip_over_governor import GovernorSettings
from dyn_nodes.model.equilibrium import NoEquilibriumError
from dyn_nodes.simulation.period import PlantDivergedError
from dyn_nodes.simulation.plant import Plant
from dyn_nodes.studies.governed_run import PERIOD, Rig, Trial
from dyn_nodes.studies.governor_campaign import Kind
from dyn_nodes.studies.governor_cases import Case
from dyn_nodes.studies.json_lines import finite
from dyn_nodes.studies.wheel_watch import Wheels

Array = NDArray[np.float64]
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
    `hard` one shuts them at once, as who moves the valves does where the governor has died.
    """
    case = rig.placed(case)
    refused = rig.refuses(case)
    try:
        trial = rig.trial(case, governed)
    except NoEquilibriumError:
        return _summed([], ended=False, refused=True)
    stopper = rig.new_plant(case.mass, case.center)
    most = np.inf if hard else rig.settings.rate * PERIOD
    found, ended = [], False
    for number, levers in enumerate(trial.levers):
        try:
            trial.step(levers)
        except PlantDivergedError:
            ended = True
            break
        if trial.plant.overturned:
            ended = True
            break
        if number % round(every / PERIOD) == 0:
            continue_from(stopper, trial.plant)
            output = levers if trial.partner is None else trial.partner.governor.output
            found.append((trial.plant.time, *_stop(trial, stopper, output, most, kept)))
    return _summed(found, ended, refused)


def continue_from(plant: Plant, other: Plant) -> None:
    """Bring a plant to where another one of the same machine is, which stays as it is; the ground is compliant."""
    plant.x, plant.p, plant.u = other.x.copy(), other.p.copy(), other.u.copy()
    plant.ticks, plant.overturned = other.ticks, other.overturned
    if plant.delay is not None and other.delay is not None:
        plant.delay.history = other.delay.history
    plant.ground.begin(plant.x, plant.u, plant.p, True)
    plant.set_inputs({})  # what was computed of another state is forgotten


def _stop(trial: Trial, plant: Plant, output: Array, most: float, kept: float) -> tuple[Wheels, bool, bool, float]:
    """Bring a plant to rest; return its wheels, whether it overturned, whether it came to rest, and when."""
    began, waiting, rest = plant.time, deque(trial.waiting), trial.watch.rest
    watch = Wheels(rest, trial.stand(plant)[1])
    watch.share = np.inf
    goal, output = np.zeros(len(output)), output.copy()
    while (spent := plant.time - began) < LONGEST:
        if spent > kept - 0.5 * PERIOD:
            approach(goal, output, most, output)
        waiting.append(output.copy())
        try:
            trial.give(plant, waiting.popleft())
        except PlantDivergedError:
            return watch, plant.overturned, False, spent
        watch.see(plant.time, *trial.stand(plant))
        if plant.overturned:
            return watch, True, False, spent
        if spent >= LEAST_TIME and np.abs(plant.velocities).max() < STILL:
            return watch, False, True, spent
    return watch, False, False, spent


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
