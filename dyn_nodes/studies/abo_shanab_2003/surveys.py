"""Frequencies of the source's trends in random manoeuvres (spec 6.11).

    python -m dyn_nodes.studies.abo_shanab_2003.surveys contact 486     prints the shares of 486 manoeuvres

The specification counts over random manoeuvres and prints neither these nor the ranges of their voltages and times.
Therefore the manoeuvres here are drawn independently, and Fisher's exact test compares the counts of both samples. A
trend that holds in all of 252 manoeuvres of the specification may fail here only as often as chance allows.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import fisher_exact

from dyn_nodes.common.arrays import Array, Flags
from dyn_nodes.studies.abo_shanab_2003.planar import Case, random_manoeuvres, rocks_and_returns, simulate
from dyn_nodes.studies.abo_shanab_2003.spatial_runs import Schedule, profile_run

Mapper = Callable[..., list[Any]]
"""Callable from a function, its cases and a label to the results in order: `StudyRun.map`."""
LEVEL = 0.01
"""Significance level: two counts differ if their p-value is below it."""
FRICTION_LEVELS = (0.9, 0.3, 0.1, 0.05, 0.03, 0.01, 0.005)
CHANGE = 0.005
"""Least relative change of a peak that counts as a change (spec 6.11)."""


@dataclass(frozen=True)
class Share:
    """Share of manoeuvres in which a trend holds, here and in the specification's survey.

    Attributes:
        trend: description.
        holding, count: manoeuvres with the trend and all manoeuvres here.
        expected: share in the specification.
        expected_count: manoeuvres in the specification.
    """

    trend: str
    holding: int
    count: int
    expected: float
    expected_count: int

    @property
    def value(self) -> float:
        """Share here."""
        return self.holding / self.count if self.count else math.nan

    def chance(self, alternative: str = 'two-sided') -> float:
        """Return the p-value of the difference of both shares; `less`: one-sided, with the smaller share here."""
        theirs = round(self.expected * self.expected_count)
        table = [[self.holding, self.count - self.holding], [theirs, self.expected_count - theirs]]
        return float(fisher_exact(table, alternative=alternative).pvalue)

    @property
    def alike(self) -> bool:
        """True if chance explains the difference of both shares."""
        return self.count > 0 and self.chance() >= LEVEL

    @property
    def not_rarer(self) -> bool:
        """True if the trend is not rarer here, or chance explains it."""
        return self.count > 0 and self.chance('less') >= LEVEL

    @property
    def least(self) -> int:
        """Least number of manoeuvres with the trend here that does not count as rarer."""
        return next(
            (k for k in range(self.count + 1) if replace(self, holding=k).chance('less') >= LEVEL), self.count + 1
        )


class Survey(NamedTuple):
    """Numbers of drawn and kept manoeuvres, shares by name, median changes by name (relative to the nominal peak)."""

    drawn: int
    kept: int
    shares: dict[str, Share]
    medians: dict[str, float]

    @property
    def returning(self) -> Share:
        """Share of planar manoeuvres that rock by 2.5 to 20 degrees and return; in the specification 252 of 486."""
        return Share('it rocks by 2.5 to 20 degrees and returns', self.kept, self.drawn, 252 / 486, 486)


class Numbers(NamedTuple):
    """Results of a planar run: peak, deg; backward displacement, m; mean friction while sliding, N; whether kept."""

    peak: float
    slide: float
    friction: float
    kept: bool


def planar_numbers(case: Case) -> Numbers:
    """Run a planar case."""
    run = simulate(case)
    return Numbers(run.peak, run.slide, run.friction, rocks_and_returns(run))


def _share(trend: str, holds: Flags, expected: float, count: int) -> Share:
    return Share(trend, int(holds.sum()), len(holds), expected, count)


def _variants(run: Mapper, cases: Sequence[Case], changes: dict[str, dict[str, Any]]) -> dict[str, list[Numbers]]:
    """Run every case with every change."""
    everything = [replace(case, **change) for change in changes.values() for case in cases]
    results = run(planar_numbers, everything, 'variants')
    return {name: results[k * len(cases) : (k + 1) * len(cases)] for k, name in enumerate(changes)}


def _kept(run: Mapper, count: int, seed: int) -> tuple[list[Case], Array]:
    """Return the random manoeuvres that rock and return, and their peaks without skidding."""
    cases = random_manoeuvres(count, seed)
    results = run(planar_numbers, cases, 'manoeuvres')
    kept = [case for case, result in zip(cases, results) if result.kept]
    return kept, np.array([result.peak for result in results if result.kept])


def contact_survey(run: Mapper, count: int, seed: int = 2003) -> Survey:
    """Return the survey of compliant against rigid contact, stiffness and damping (E5)."""
    cases, nominal = _kept(run, count, seed)
    changes: dict[str, dict[str, Any]] = {
        'rigid': {'contact': 'rigid'},
        'k2': {'stiffness': 2.0},
        'k4': {'stiffness': 4.0},
        'c2': {'damping': 2.0},
        'c4': {'damping': 4.0},
    }
    peaks = {name: np.array([r.peak for r in results]) for name, results in _variants(run, cases, changes).items()}
    shares = {
        'rigid': _share('compliant peak > rigid peak', nominal > peaks['rigid'], 1.0, 252),
        'stiffness': _share(
            'peak falls with k (× 1, 2, 4)', (nominal > peaks['k2']) & (peaks['k2'] > peaks['k4']), 1.0, 252
        ),
        'damping': _share(
            'peak falls with c (× 1, 2, 4)', (nominal > peaks['c2']) & (peaks['c2'] > peaks['c4']), 0.97, 252
        ),
        'damping_4': _share('peak at c × 4 < at c × 1', nominal > peaks['c4'], 0.98, 252),
    }
    medians = {f'{name} × 4': float(np.median(peaks[f'{name}4'] / nominal - 1.0)) for name in 'kc'}
    return Survey(count, len(cases), shares, medians)


def friction_survey(run: Mapper, count: int, seed: int = 2003) -> Survey:
    """Return the survey of Karnopp against LuGre against no skidding (E6)."""
    cases, nominal = _kept(run, count, seed)
    both = _variants(run, cases, {m: {'contact': 'friction', 'friction': m} for m in ('karnopp', 'lugre')})
    table = {name: np.array(results, dtype=np.float64).reshape(-1, 4) for name, results in both.items()}
    karnopp, lugre = table['karnopp'], table['lugre']
    shares = {
        'slide': _share('Karnopp slides farther than LuGre', karnopp[:, 1] > lugre[:, 1], 1.0, 252),
        'friction': _share('mean friction while sliding: Karnopp < LuGre', karnopp[:, 2] < lugre[:, 2], 0.996, 252),
        'lugre': _share('no-skid peak < LuGre peak', nominal < lugre[:, 0], 0.90, 252),
        'karnopp': _share('no-skid peak < Karnopp peak', nominal < karnopp[:, 0], 0.74, 252),
        'models': _share('Karnopp peak > LuGre peak', karnopp[:, 0] > lugre[:, 0], 0.50, 252),
    }
    return Survey(count, len(cases), shares, {})


def friction_level_survey(
    run: Mapper,
    count: int,
    seed: int = 267,
    levels: Sequence[float] = FRICTION_LEVELS,
    change: float = CHANGE,
) -> Survey:
    """Return the survey of the friction level with LuGre and the printed lever arm (E7).

    An interior extremum is at an inner level and beyond both ends of the sweep by more than `change`; the specification
    prints neither its definition nor its levels.
    """
    cases, _ = _kept(run, count, seed)
    changes: dict[str, dict[str, Any]] = {
        f'{level:g}': {'contact': 'friction', 'friction': 'lugre', 'arm': 'source', 'static': level} for level in levels
    }
    peaks = np.array([[r.peak for r in results] for results in _variants(run, cases, changes).values()])
    rough, usual, ends = peaks[0], peaks[list(levels).index(0.05)], peaks[[0, -1]]
    inner = peaks[1:-1]
    shares = {
        'smaller': _share('peak at 0.05 smaller than at 0.9', usual < (1.0 - CHANGE) * rough, 0.28, 267),
        'larger': _share('peak at 0.05 larger than at 0.9', usual > (1.0 + CHANGE) * rough, 0.42, 267),
        'minimum': _share('interior minimum', inner.min(axis=0) < (1.0 - change) * ends.min(axis=0), 0.02, 267),
        'maximum': _share('interior maximum', inner.max(axis=0) > (1.0 + change) * ends.max(axis=0), 0.33, 267),
    }
    return Survey(count, len(cases), shares, {})


class SpatialCase(NamedTuple):
    """A manoeuvre of the 3-D machine with 5100 kg: posture, rad; voltages; parameters by name."""

    posture: dict[str, float]
    schedule: Schedule
    parameters: dict[str, float]


def random_reaches(count: int, seed: int = 2003) -> list[SpatialCase]:
    """Return manoeuvres like P3D with random start, voltages, stop and recovery."""
    draw = np.random.default_rng(seed).uniform
    cases = []
    for _ in range(count):
        stop, ramp = draw(7.0, 9.0), draw(0.3, 0.6)
        back = stop + draw(0.0, 1.0)
        schedule = {
            name: ((5.0, stop, -draw(*out), ramp), (back, back + 3.0, draw(*home), ramp))
            for name, out, home in (('boom', (4.5, 6.0), (3.5, 5.0)), ('stick', (5.0, 6.5), (3.0, 5.0)))
        }
        angles = {'boom_joint': draw(45.0, 60.0), 'stick_joint': draw(-115.0, -95.0)}
        posture = {'swing_joint': 0.0} | {name: math.radians(angle) for name, angle in angles.items()}
        cases.append(SpatialCase(posture, schedule, {}))
    return cases


def spatial_peak(case: SpatialCase) -> tuple[float, bool]:
    """Return the peak tilt, deg, and True if the machine rocks by 2.5 to 20 degrees and returns."""
    run = profile_run([case.schedule], 20.0, case.parameters, case.posture)
    standing = bool(min(load[-1] for load in run.loads.values()) > 0.0)
    return run.peak, not run.overturned and standing and 2.5 <= run.peak <= 20.0


def spatial_survey(run: Mapper, count: int, seed: int = 2003) -> Survey:
    """Return the survey of stiffness, damping and bulk modulus of the 3-D machine (E11 to E13)."""
    cases = random_reaches(count, seed)
    results = run(spatial_peak, cases, 'manoeuvres')
    kept = [case for case, (_, counts) in zip(cases, results) if counts]
    nominal = np.array([peak for peak, counts in results if counts])
    names = {'k': 'wheel_stiffness_scale', 'c': 'wheel_damping_scale', 'b': 'bulk_modulus_scale'}
    changes = [('k', 2.0), ('k', 4.0), ('c', 2.0), ('c', 4.0), ('b', 0.5), ('b', 0.75), ('b', 2.0)]
    variants = [case._replace(parameters={names[kind]: factor}) for kind, factor in changes for case in kept]
    flat = np.array([peak for peak, _ in run(spatial_peak, variants, 'variants')])
    peaks = dict(zip(changes, flat.reshape(len(changes), -1)))
    k2, k4, c2, c4 = (peaks[change] for change in changes[:4])
    shares = {
        'stiffness': _share('peak falls with k (× 1, 2, 4)', (nominal > k2) & (k2 > k4), 0.70, 44),
        'stiffness_4': _share('peak at k × 4 < at k × 1', nominal > k4, 0.84, 44),
        'damping': _share('peak falls with c (× 1, 2, 4)', (nominal > c2) & (c2 > c4), 0.57, 44),
        'damping_2': _share('peak at c × 2 < at c × 1', nominal > c2, 0.66, 44),
        'larger_effect': _share('effect of k × 4 > effect of c × 4', nominal - k4 > nominal - c4, 0.93, 44),
        'modulus_half': _share('β × 0.5: smaller peak', peaks['b', 0.5] < nominal, 0.27, 44),
        'modulus_three_quarters': _share('β × 0.75: smaller peak', peaks['b', 0.75] < nominal, 0.36, 44),
    }
    medians = {
        f'{ {"b": "β"}.get(kind, kind) } × {factor:g}': float(np.median(peaks[kind, factor] / nominal - 1.0))
        for kind, factor in (('k', 4.0), ('c', 4.0), ('b', 0.5), ('b', 2.0))
    }
    return Survey(count, len(kept), shares, medians)


SURVEYS: dict[str, Callable[..., Survey]] = {
    'contact': contact_survey,
    'friction': friction_survey,
    'level': friction_level_survey,
    'level_to_0.04': partial(friction_level_survey, levels=(0.9, 0.3, 0.2, 0.1, 0.07, 0.05, 0.04), change=0.0),
    'spatial': spatial_survey,
}


def main(words: Sequence[str] | None = None) -> None:
    """Run the command line: print a survey of a number of random manoeuvres."""
    from dyn_nodes.commands.option_types import count
    from dyn_nodes.studies.framework import Workers

    parser = argparse.ArgumentParser(description='Count how often trends of the source hold in random manoeuvres.')
    parser.add_argument('survey', choices=list(SURVEYS), help='group of trends')
    parser.add_argument('count', type=count(1), help='number of manoeuvres to draw; about half are kept')
    arguments = parser.parse_args(words)
    with Workers() as workers:
        survey = SURVEYS[arguments.survey](workers.map, arguments.count)
    print(f'{survey.kept} of {survey.drawn} manoeuvres rock by 2.5 to 20 degrees and return')
    for share in survey.shares.values():
        print(
            f'{share.trend}: {share.holding} of {share.count}, {100 * share.value:.1f} % '
            f'(specification {100 * share.expected:.1f} % of {share.expected_count}; chance {share.chance():.2g})'
        )
    for change, median in survey.medians.items():
        print(f'median change of the peak at {change}: {100 * median:+.1f} %')


if __name__ == '__main__':
    main()
