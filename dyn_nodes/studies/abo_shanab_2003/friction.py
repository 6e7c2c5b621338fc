"""Studies E6 and E7: sliding wheels with Karnopp's and the LuGre model (chapter 6 of the source)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from dyn_nodes.studies.abo_shanab_2003 import figures
from dyn_nodes.studies.abo_shanab_2003.planar import (
    P1,
    P2,
    Case,
    FrictionModel,
    PlanarOutcome,
    simulate,
)
from dyn_nodes.studies.abo_shanab_2003.surveys import friction_level_survey, friction_survey
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.reference import tabulated

MODELS: tuple[FrictionModel, FrictionModel] = ('karnopp', 'lugre')
TITLES = {'karnopp': 'Karnopp', 'lugre': 'LuGre'}
TABLE = {
    # peak, deg; way backwards, m; mean friction while sliding, N (spec 6.7), lever arms at the edges and as printed
    (P1, 'edge', 'karnopp'): (15.22, 0.253, 3631.0),
    (P1, 'edge', 'lugre'): (14.78, 0.139, 4937.0),
    (P2, 'edge', 'karnopp'): (10.30, 0.197, 4136.0),
    (P2, 'edge', 'lugre'): (10.18, 0.087, 6251.0),
    (P1, 'source', 'karnopp'): (14.51, 0.244, 3736.0),
    (P1, 'source', 'lugre'): (13.97, 0.137, 4981.0),
    (P2, 'source', 'karnopp'): (10.05, 0.193, 4216.0),
    (P2, 'source', 'lugre'): (9.80, 0.078, 6120.0),
}
MANOEUVRES = 60
LEVEL_MANOEUVRES = 40
NO_SKID = {P1: 13.98, P2: 10.16}
LEVELS = (0.9, 0.3, 0.2, 0.1, 0.07, 0.05, 0.04, 0.03, 0.02, 0.01, 0.005)
SWEEPS = (('lugre', 'source'), ('lugre', 'edge'), ('karnopp', 'source'), ('karnopp', 'edge'))
LEVEL_PEAKS = dict(zip(SWEEPS, tabulated('abo-shanab-2003/6.7/levels')))
"""P2, peak in degrees against mu_s (spec 6.7)."""
TASK_NAMES = {P1: 'P1', P2: 'P2'}


@study('abo-shanab-2003/e6', 'Friction of the wheels: Karnopp, LuGre and no skidding')
def e6(s: StudyRun) -> None:
    """Check profiles P1 and P2 with mu 0.05 / 0.03."""
    keys = list(TABLE)
    cases = [Case(task, 'friction', arm=arm, friction=model) for task, arm, model in keys]  # type: ignore[arg-type]
    smooth = [Case(task, 'no_skid') for task in (P1, P2)]
    outcomes = s.map(simulate, [*cases, *smooth], 'friction models')
    by_key = dict(zip(keys, outcomes))
    no_skid = dict(zip((P1, P2), outcomes[len(keys) :]))
    for task, run in no_skid.items():
        s.near(
            f'{TASK_NAMES[task]}, no skidding: greatest rotation, deg',
            'spec 6.7',
            NO_SKID[task],
            run.peak,
            relative=0.05,
        )
    for (task, arm, model), run in by_key.items():
        _claim_numbers(s, f'{TASK_NAMES[task]}, {TITLES[model]}, arm {arm}', TABLE[task, arm, model], run)
    for task in (P1, P2):
        for arm in ('edge', 'source'):
            _claim_order(s, task, arm, [by_key[task, arm, model] for model in MODELS], no_skid[task])
    _claim_unselected(s)
    _draw_e6(s, [by_key[P1, 'edge', model] for model in MODELS], no_skid[P1])


def _claim_unselected(s: StudyRun) -> None:
    """Check sliding distance, friction and rotation in random manoeuvres (spec 6.11)."""
    survey = friction_survey(s.map, MANOEUVRES)
    for name in ('slide', 'friction', 'lugre', 'karnopp'):
        share = survey.shares[name]
        s.holds(
            f'random manoeuvres: {share.trend}, in how many of {share.count}',
            f'spec 6.11: {100 * share.expected:g} % of {share.expected_count}, less only by chance',
            share.not_rarer,
            expected=f'>= {share.least}',
            value=share.holding,
        )
    share = survey.shares['models']
    s.note(
        f"{share.trend} in {share.holding} of {share.count} random manoeuvres, in half of the specification's: "
        'not a claim of the source, and dependent on how the manoeuvres are drawn.'
    )


def _claim_numbers(s: StudyRun, name: str, expected: tuple[float, float, float], run: PlanarOutcome) -> None:
    s.near(f'{name}: greatest rotation, deg', 'spec 6.7', expected[0], run.peak, relative=0.05)
    s.near(f'{name}: backward displacement, m', 'spec 6.7', expected[1], run.slide, relative=0.05)
    s.near(f'{name}: mean friction while sliding, N', 'spec 6.7', expected[2], run.friction, relative=0.05)


def _claim_order(s: StudyRun, task: str, arm: str, runs: Sequence[PlanarOutcome], no_skid: PlanarOutcome) -> None:
    karnopp, lugre = runs
    name = f'{TASK_NAMES[task]}, arm {arm}'
    s.holds(
        f'{name}: Karnopp slides farther than LuGre, m',
        'p. 81, Fig. 6.7',
        karnopp.slide > lugre.slide,
        expected=f'> {lugre.slide:.4g}',
        value=karnopp.slide,
    )
    s.holds(
        f'{name}: friction while sliding is smaller with Karnopp, N',
        'p. 81, Fig. 6.10',
        karnopp.friction < lugre.friction,
        expected=f'< {lugre.friction:.5g}',
        value=karnopp.friction,
    )
    if arm == 'edge':
        for title, run in (('Karnopp', karnopp), ('LuGre', lugre)):
            s.holds(
                f'{name}: without skidding it rotates less than with {title}, deg',
                'p. 81, Fig. 6.11',
                no_skid.peak < run.peak,
                expected=f'< {run.peak:.5g}',
                value=no_skid.peak,
            )


def _draw_e6(s: StudyRun, runs: Sequence[PlanarOutcome], no_skid: PlanarOutcome) -> None:
    named = {TITLES[model]: run for model, run in zip(MODELS, runs)}

    def edges(name: str, label: str, scale: float = 1.0) -> figures.Figure:
        figure, axes = figures.panels(2, 5.0)
        for panel, edge in zip(axes, ('rear', 'front')):
            for (title, run), colour in zip(named.items(), figures.LINES):
                panel.plot(run.time, scale * run.series[f'{edge}_{name}'], color=colour, label=title)
            figures.over_time(panel, runs[0], f'{edge} {label}')
        figures.legend(axes[0])
        axes[-1].set_xlabel('time, s')
        return figure

    def total() -> figures.Figure:
        figure, (axes,) = figures.panels(1, 3.4)
        for (title, run), colour in zip(named.items(), figures.LINES):
            axes.plot(
                run.time, 1e-3 * (run.series['rear_friction'] + run.series['front_friction']), color=colour, label=title
            )
        figures.over_time(axes, runs[0], 'friction on the machine, kN')
        figures.legend(axes)
        axes.set_xlabel('time, s')
        return figure

    s.figure(
        'movement',
        'Fig. 6.7: movement of the base along the ground',
        lambda: figures.histories(named, 'x', 'base forward, m'),
    )
    s.figure('heights', 'Fig. 6.8: height of the rear and the front edge', lambda: edges('height', 'edge, m'))
    s.figure(
        'wheel_friction',
        'Fig. 6.9: friction force of each wheel on the machine',
        lambda: edges('friction', 'wheel, kN', 1e-3),
    )
    s.figure('friction', 'Fig. 6.10: total friction force', total)
    s.figure(
        'rotation',
        'Fig. 6.11: rotation of the base with three models',
        lambda: figures.histories({**named, 'no skidding': no_skid}, 'rotation', 'rotation of the base, °'),
    )


@study('abo-shanab-2003/e7', 'Level of friction: lower friction reduces rotation down to a limit')
def e7(s: StudyRun) -> None:
    """Check profile P2 with friction coefficients from 0.9 to 0.005, mu_c = 0.6 mu_s."""
    keys = list(LEVEL_PEAKS)
    cases = [
        Case(P2, 'friction', friction=model, arm=arm, static=level)  # type: ignore[arg-type]
        for model, arm in keys
        for level in LEVELS
    ]
    outcomes = s.map(simulate, cases, 'friction levels')
    sweeps = {key: outcomes[k * len(LEVELS) : (k + 1) * len(LEVELS)] for k, key in enumerate(keys)}
    for (model, arm), runs in sweeps.items():
        name = f'{TITLES[model]}, arm {arm}'
        for level, expected, run in zip(LEVELS, LEVEL_PEAKS[model, arm], runs):
            s.near(f'{name}, mu_s {level:g}: greatest rotation, deg', 'spec 6.7', expected, run.peak, relative=0.05)
        _claim_minimum(s, name, model, [run.peak for run in runs])
        if arm == 'edge':
            slides = [run.slide for level, run in zip(LEVELS, runs) if 0.02 <= level <= 0.1]
            s.rising(f'{name}: mu_s 0.1 to 0.02, increasing displacement, m', 'p. 82, Figs 6.12, 6.13', slides)
            _claim_skid_at_stop(s, name, runs[LEVELS.index(0.03)], runs[0])
    _claim_not_general(s)
    _draw_e7(s, sweeps)


def _claim_not_general(s: StudyRun) -> None:
    """Check how often the source's claim holds in random manoeuvres (spec 6.11)."""
    survey = friction_level_survey(s.map, LEVEL_MANOEUVRES)
    for name in ('smaller', 'larger'):
        share = survey.shares[name]
        s.holds(
            f'random manoeuvres: {share.trend} by half a per cent, in how many of {share.count}',
            f'spec 6.11: {100 * share.expected:g} % of {share.expected_count}; no farther than by chance',
            share.alike,
            expected=f'about {share.expected * share.count:.0f}',
            value=share.holding,
        )


def _claim_minimum(s: StudyRun, name: str, model: str, peaks: list[float]) -> None:
    index = int(np.argmin(peaks))
    low, high = (0.02, 0.05) if model == 'lugre' else (0.05, 0.1)
    s.holds(
        f'{name}: least rotation between the ends of the sweep, at mu_s',
        'p. 82, Figs 6.12, 6.13',
        0 < index < len(LEVELS) - 1 and low <= LEVELS[index] <= high,
        expected=f'{low:g} to {high:g}',
        value=LEVELS[index],
    )
    slippery = min(peaks[LEVELS.index(level)] for level in (0.01, 0.005))
    s.holds(
        f'{name}: it rises clearly at 0.01 and 0.005, deg',
        'p. 87',
        slippery > peaks[index] + 0.1,
        expected=f'> {peaks[index] + 0.1:.5g}',
        value=slippery,
    )


def _claim_skid_at_stop(s: StudyRun, name: str, slippery: PlanarOutcome, rough: PlanarOutcome) -> None:
    stop = (rough.time >= 8.7) & (rough.time <= 9.7)
    fast, slow = (float(np.abs(run.series['speed'][stop]).max()) for run in (slippery, rough))
    s.holds(
        f'{name}: on slippery ground (0.03) it slides as the arm stops at 9 s, m/s',
        'p. 82',
        fast > slow,
        expected=f'> {slow:.3g} (0.9)',
        value=fast,
    )


def _draw_e7(s: StudyRun, sweeps: dict[tuple[str, str], list[PlanarOutcome]]) -> None:
    def skid_and_rotation(runs: Sequence[PlanarOutcome]) -> figures.Figure:
        figure, axes = figures.panels(3, 7.2, share=False)
        shown = [(level, run) for level, run in zip(LEVELS, runs) if level in (0.9, 0.1, 0.05, 0.03, 0.01, 0.005)]
        for (level, run), colour in zip(shown, figures.LINES):
            axes[0].plot(run.time, run.series['x'], color=colour, label=f'μ {level:g}')
            for panel in axes[1:]:
                panel.plot(run.time, run.series['rotation'], color=colour)
        for panel, label in zip(axes, ('base forward, m', 'rotation, °', 'near the peak, °')):
            figures.over_time(panel, runs[0], label)
        axes[2].set(xlim=(11.2, 13.2), ylim=(-10.9, -9.0), xlabel='time, s')
        figures.legend(axes[0], 6)
        return figure

    for number, model in (('6.12', 'karnopp'), ('6.13', 'lugre')):
        s.figure(
            f'levels_{model}',
            f'Fig. {number}: skid and rotation for several levels of friction, {TITLES[model]}',
            partial(skid_and_rotation, sweeps[model, 'edge']),
        )
    lines = {f'{TITLES[model]}, arm {arm}': [run.peak for run in runs] for (model, arm), runs in sweeps.items()}
    s.figure(
        'peaks',
        'Greatest rotation against the friction coefficient (not drawn by the source)',
        lambda: figures.against(LEVELS, lines, 'static friction coefficient μ', 'greatest rotation, °', log=True),
    )
