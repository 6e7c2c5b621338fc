"""Runs of a governed machine with one sensor fault, and of one whose sensors are sound.

    cases = faulty_cases(box, joints, seeds=20, seed=1)
    records = campaign.run(cases)
    rows = rows_of(records)

A run ends some time after the fault was detected and the outputs went to neutral, or with its levers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any
from zlib import crc32

import numpy as np

from dyn_nodes.governor.campaign.campaign import Kind, Record
from dyn_nodes.governor.campaign.cases import Box, Case, random_case
from dyn_nodes.governor.campaign.governed_run import Rig
from dyn_nodes.governor.campaign.json_lines import finite
from dyn_nodes.governor.campaign.sensor_faults import AXES, drawn_fault, kinds_of, signals_of
from dyn_nodes.model.equilibrium import NoEquilibriumError
from dyn_nodes.simulation.period import PlantDivergedError

AFTERWARDS = 2.0
"""Time for which a run continues after its fault was detected, s."""
LATEST = 3.0
"""Greatest time from the start of the levers to the start of a fault, s."""
SLIGHT = {'position': 0.01, 'speed': 0.05, 'gyroscope': 0.02, 'accelerometer': 0.2, 'orientation': 0.01}
"""A signal with smaller errors at all times, such as the signal of a joint at rest, has no fault that could be
detected."""


@dataclass(frozen=True)
class FaultyRun:
    """Result of a run.

    Attributes:
        found: s after the start of the fault; None: not detected; for sound sensors the time of a false alarm.
        text: detected faults.
        error: greatest difference of the faulty signal from the true one, in its unit; None: infinite.
        lifted: a wheel was off the ground for longer than 0.1 s, or the machine overturned.
        diverged: the simulation ended before its time.
        share: least load of a wheel over the mean load of a wheel at the start.
        time: at the end, s.
        refused: no command could keep the machine from tipping at the start.
    """

    found: float | None
    text: str
    error: float | None
    lifted: bool
    diverged: bool
    share: float
    time: float
    refused: bool

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> FaultyRun:
        """Return the outcome of `as_dict`.

        Raises:
            ValueError, TypeError: data of another form, or a number that is not finite.
        """
        run = cls(**data)
        if not all(isinstance(number, bool) for number in (run.lifted, run.diverged, run.refused)):
            raise ValueError('lifted, diverged or refused that is not true or false')
        for number in (run.share, run.time, *(number for number in (run.found, run.error) if number is not None)):
            finite(number)
        return run


def faulty_cases(box: Box, joints: Sequence[str], seeds: int, seed: int) -> list[Case]:
    """Return cases with every fault of every signal of a machine with these movable joints, `seeds` of each."""
    cases = []
    for signal in signals_of(joints):
        for kind in kinds_of(signal, joints):
            for number in range(seeds):
                rng = np.random.default_rng((seed, number, crc32(f'{signal} {kind}'.encode())))
                case = random_case(box, rng)
                fault = drawn_fault(signal, kind, rng, LATEST)
                cases.append(replace(case, troubles=replace(case.troubles, fault=fault)))
    return cases


def run_faulty(rig: Rig, case: Case, governed: bool = True) -> FaultyRun:
    """Run a case until its fault has been detected and the machine stopped, or to the end of its levers."""
    case = rig.placed(case)
    rejected = rig.rejects(case)
    try:
        trial = rig.trial(case, governed)
    except NoEquilibriumError:
        return FaultyRun(None, '', 0.0, False, False, 0.0, 0.0, True)
    diverged, text = False, ''
    for levers in trial.levers:
        try:
            trial.step(levers)
        except PlantDivergedError:
            diverged = True
            break
        if trial.blind is not None and not text and trial.partner is not None:
            text = (
                '; '.join(f'{name}: {fault}' for name, fault in trial.partner.monitor.checks.faults().items())
                or 'not there'
            )
        is_over = trial.blind is not None and trial.plant.time > trial.blind + AFTERWARDS
        if trial.plant.overturned or is_over:
            break
    since = max(trial.faulty.since, 0.0) if trial.faulty is not None else 0.0
    error = trial.faulty.error if trial.faulty is not None else 0.0
    return FaultyRun(
        found=None if trial.blind is None else round(trial.blind - since, 6),
        text=text,
        error=None if np.isinf(error) else round(error, 6),
        lifted=trial.watch.since is not None or trial.plant.overturned,
        diverged=diverged,
        share=trial.watch.share,
        time=round(trial.plant.time, 6),
        refused=rejected,
    )


RUNS = Kind('sensor faults', run_faulty, FaultyRun.from_dict)
"""Kind of a campaign."""


def signal_class(signal: str) -> str:
    """Return the class of a signal: encoder, position, speed, an entry of `AXES`, or imu."""
    if signal in (*AXES, 'imu'):
        return signal
    return {'': 'encoder', 'position': 'position', 'velocity': 'speed'}[signal.partition('/')[2]]


def rows_of(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return the results of each kind of fault of each class of signals, in the order of the records.

    Keys: signal, kind, runs (without rejected starts), slight (the error was always below `SLIGHT`), found, median and
    longest (s after the start of the fault), missed (greatest error of those not detected), lifted, share.
    """
    groups: dict[tuple[str, str], list[FaultyRun]] = {}
    for record in records:
        fault = record.case.troubles.fault
        if fault is not None and not record.outcome.refused:
            groups.setdefault((signal_class(fault.signal), fault.kind), []).append(record.outcome)
    return [{'signal': signal, 'kind': kind, **_row(signal, runs)} for (signal, kind), runs in groups.items()]


def _row(signal: str, runs: list[FaultyRun]) -> dict[str, Any]:
    least = SLIGHT[{'encoder': 'position', 'imu': 'orientation'}.get(signal, signal)]
    delays = [run.found for run in runs if run.found is not None]
    missed = [run.error for run in runs if run.found is None and run.error is not None]
    return {
        'runs': len(runs),
        'slight': sum(error < least for error in missed),
        'found': len(delays),
        'median': median(delays) if delays else None,
        'longest': max(delays, default=None),
        'missed': max((error for error in missed if error >= least), default=None),
        'lifted': sum(run.lifted for run in runs),
        'share': min((run.share for run in runs), default=1.0),
    }
