"""Many runs of an adversary against a governor: in parallel, recorded one by one, resumable.

    campaign = Campaign(machine, Path('runs.jsonl'), jobs=2)
    records = campaign.run(random_cases(box, 500, seed=1))

Each run is a line of a JSON Lines file with its case and its outcome. Runs that are in the file are not repeated, so an
interrupted campaign continues, and a repeated search reads its first part.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dyn_nodes.common.printing import printable
from dyn_nodes.common.processes import LastingPool
from dyn_nodes.governor.campaign.cases import Box, Case, random_case
from dyn_nodes.governor.campaign.governed_run import Rig
from dyn_nodes.governor.campaign.json_lines import cut_last_line, json_objects
from dyn_nodes.governor.campaign.run_outcome import RunOutcome
from dyn_nodes.governor.settings import GovernorSettings
from dyn_nodes.model.fingerprint import code_fingerprint, machine_fingerprint
from dyn_nodes.model.machine import Machine

Progress = Callable[[], None]
"""Called after every run."""


@dataclass(frozen=True)
class Record:
    """A run.

    Attributes:
        case: of the run.
        governed: with the governor, else without it.
        outcome: of the campaign's kind: `RunOutcome` if the case is run as it is.
    """

    case: Case
    governed: bool
    outcome: Any


def random_cases(box: Box, count: int, seed: int, first: int = 0) -> list[Case]:
    """Return random cases with numbers from `first` on; the case of a number is independent of the count."""
    return [random_case(box, np.random.default_rng((seed, number))) for number in range(first, first + count)]


def read_cases(path: Path, box: Box) -> list[Case]:
    """Return the distinct cases of a JSON Lines file, each under `case`, in their order.

    Raises:
        OSError: the file cannot be read.
        ValueError: a line is not a case of this machine; the message has file and line.
    """
    cases: dict[Case, None] = {}
    for number, data in json_objects(path):
        try:
            case = Case.from_dict((data or {})['case'])
        except (ValueError, KeyError, TypeError) as error:
            finding = printable(repr(error))
            raise ValueError(f'{path}:{number}: expected a JSON object with a case, found {finding}') from None
        if max(case.payload, case.known_payload) > box.payload_limit:
            finding = f'{max(case.payload, case.known_payload):g}'
            raise ValueError(f'{path}:{number}: expected a payload up to {box.payload_limit:g} kg, found {finding}')
        for _, volts in case.segments:
            if len(volts) != len(box.levers):
                finding = f'{path}:{number}: expected {len(box.levers)} levers in a segment, found {len(volts)}'
                raise ValueError(finding)
        if case.start and len(case.start) != len(box.reach):
            raise ValueError(f'{path}:{number}: expected {len(box.reach)} joints at the start, found {len(case.start)}')
        for q, (least, most) in zip(case.start, box.reach):
            if not least <= q <= most:
                finding = f'{path}:{number}: expected a start within {least:g} to {most:g}, found {q:g}'
                raise ValueError(finding)
        cases[case] = None
    return list(cases)


@dataclass(frozen=True)
class Kind:
    """Processing of a case by a campaign.

    Attributes:
        name: unique name; runs of different names are kept apart.
        run: returns the outcome of a case, with the governor or without it.
        read: returns an outcome from the data of its `as_dict`; raises ValueError, KeyError or TypeError.
    """

    name: str
    run: Callable[[Rig, Case, bool], Any]
    read: Callable[[dict[str, Any]], Any]


def _whole(rig: Rig, case: Case, governed: bool) -> RunOutcome:
    return rig.run(case, governed)


RUNS = Kind('', _whole, RunOutcome.from_dict)
"""Runs the case without changes."""


class Campaign:
    """Runs cases and stores their outcomes. Runs of other versions of the package are repeated.

    Args:
        machine: nominal machine of the governor.
        path: JSON Lines file that is read and appended to; None: nothing is stored.
        jobs: processes; 1: this one.
        settings: of the governor.
        progress: called after every run, also after one that the file contains.
        kind: processing of a case.

    Attributes:
        repeated: number of runs that the file contained.

    Raises:
        OSError: the file cannot be read or written.
    """

    def __init__(
        self,
        machine: Machine,
        path: Path | None = None,
        jobs: int = 1,
        settings: GovernorSettings | None = None,
        progress: Progress = lambda: None,
        kind: Kind = RUNS,
    ) -> None:
        self.machine, self.settings, self.path = machine, settings or GovernorSettings(), path
        self.kind = kind
        self.progress = progress
        self._jobs = jobs
        self._pool: LastingPool | None = None
        self._rig: Rig | None = None
        settings_text = json.dumps(asdict(self.settings), sort_keys=True)
        self._salt = code_fingerprint() + machine_fingerprint(machine) + settings_text + kind.name
        self._outcomes_by_key = dict(_read(path, kind)) if path is not None else {}
        self.repeated = 0

    def __enter__(self) -> Campaign:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._pool is not None:
            self._pool.close(at_once=kind is not None)
            self._pool = None

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def run(self, cases: Sequence[Case], governed: bool = True) -> list[Record]:
        """Return the records of cases in their order."""
        keys = [self._key(case, governed) for case in cases]
        missing = [(key, case) for key, case in zip(keys, cases) if key not in self._outcomes_by_key]
        for _ in range(len(cases) - len(missing)):
            self.repeated += 1
            self.progress()
        for (key, case), outcome in zip(missing, self._outcomes([case for _, case in missing], governed)):
            self._keep(key, Record(case, governed, outcome))
            self.progress()
        return [Record(case, governed, self._outcomes_by_key[key]) for key, case in zip(keys, cases)]

    def _outcomes(self, cases: list[Case], governed: bool) -> Iterator[Any]:
        if self._jobs == 1:
            self._rig = self._rig or Rig(self.machine, self.settings)
            for case in cases:
                yield self.kind.run(self._rig, case, governed)
            return
        if self._pool is None:
            self._pool = LastingPool(self._jobs, _initialize, (self.machine, self.settings, self.kind), 'case')
        yield from self._pool.map(partial(_run, governed), cases)

    def _keep(self, key: str, record: Record) -> None:
        self._outcomes_by_key[key] = record.outcome
        if self.path is not None:
            line = {
                'key': key,
                'governed': record.governed,
                'outcome': record.outcome.as_dict(),
                'case': record.case.as_dict(),
            }
            with self.path.open('a') as file:
                file.write(json.dumps(line) + '\n')

    def _key(self, case: Case, governed: bool) -> str:
        text = json.dumps([case.as_dict(), governed, self._salt], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]


def _read(path: Path, kind: Kind) -> Iterator[tuple[str, Any]]:
    """Yield the runs of a file; a line that was cut off by an interruption, or is damaged, is skipped."""
    if not path.exists():
        return
    cut_last_line(path)
    for _, data in json_objects(path):
        try:
            run = str((data or {})['key']), kind.read((data or {})['outcome'])
        except (ValueError, KeyError, TypeError):
            continue
        yield run


_work: tuple[Rig, Kind] | None = None
"""State of a process of a campaign."""


def _initialize(machine: Machine, settings: GovernorSettings, kind: Kind) -> None:
    global _work
    _work = Rig(machine, settings), kind


def _run(governed: bool, case: Case) -> Any:
    assert _work is not None
    rig, kind = _work
    return kind.run(rig, case, governed)


# -- results ---------------------------------------------------------------------------------------------------------


def worst(records: Iterable[Record], count: int) -> list[Record]:
    """Return the worst runs, the worst first: overturned ones by their time, the others by their score.

    Runs that lifted a wheel, or diverged, come before those that did not; those with a rejected start come last.
    """
    return sorted(records, key=_badness)[:count]


def _badness(record: Record) -> tuple[bool | float, ...]:
    outcome = record.outcome
    score = outcome.time if outcome.overturned else outcome.score
    return outcome.refused, not outcome.overturned, not (outcome.lifted or outcome.diverged), score


def summary(records: Sequence[Record]) -> dict[str, Any]:
    """Return counts and extremes of runs; those with a rejected start are counted separately."""
    outcomes = [record.outcome for record in records if not record.outcome.refused]
    rejected = [record.outcome for record in records if record.outcome.refused]
    off = [outcome.off for outcome in outcomes if outcome.off is not None]
    changes = [outcome.unrest for outcome in outcomes if outcome.unrest is not None]
    overloads = [outcome.overload for outcome in outcomes if outcome.overload is not None]
    return {
        'runs': len(outcomes),
        'overturned': sum(outcome.overturned for outcome in outcomes),
        'lifted': sum(outcome.lifted for outcome in outcomes),
        'lost': sum(outcome.lost for outcome in outcomes),
        'diverged': sum(outcome.diverged for outcome in outcomes),
        'share': min((outcome.share for outcome in outcomes), default=1.0),
        'tilt': max((outcome.tilt for outcome in outcomes), default=0.0),
        'let_through': float(np.mean([outcome.let_through for outcome in outcomes])) if outcomes else 1.0,
        'unrest': float(np.mean(changes)) if changes else None,
        'off': math.fsum(off) if off else None,
        'overload': max(overloads, default=None),
        'refused_starts': {
            'runs': len(rejected),
            'overturned': sum(outcome.overturned for outcome in rejected),
            'lifted': sum(outcome.lifted for outcome in rejected),
            'diverged': sum(outcome.diverged for outcome in rejected),
        },
    }
