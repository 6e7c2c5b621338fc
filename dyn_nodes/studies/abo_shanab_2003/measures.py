"""Study E15: comparison of stability measures (sections 2.2 and 4.3 of the source)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.stability import energy_level, longitudinal_margin, planar_energy_level, static_margin
from dyn_nodes.studies.abo_shanab_2003 import figures
from dyn_nodes.studies.abo_shanab_2003.planar import Case, PlanarOutcome, simulate
from dyn_nodes.studies.abo_shanab_2003.rigid import front_energy_level
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.reference import tabulated

GRAVITY = 9.81
LENGTH = 5.0  # m, of the base
EXTENDED = (-200_000, -100_000, 0, 100_000, 200_000, 300_000, 350_000, 353_160)
"""Moments about the front edge, N m."""


@study('abo-shanab-2003/e15', 'Stability measures compared: slope, onset, agreement')
def e15(s: StudyRun) -> None:
    """Check static margin and energy level on a slope, and energy level, moment and ZMP at the onset of tipping."""
    _claim_slope(s)
    _claim_extended(s)
    (run,) = s.map(simulate, [Case()])
    _claim_onset(s, run)


class Levels(NamedTuple):
    """Margins and energy levels of a levelled body on a slope."""

    static: float
    longitudinal: tuple[float, float]
    energy: Array


def levelled_body(drop: float) -> Levels:
    """Return the measures of a level body of 1000 kg whose front feet are lower by `drop`, m."""
    feet = np.array([[2.0, 1.0, 0.0], [-2.0, 1.0, 0.0], [-2.0, -1.0, 0.0], [2.0, -1.0, 0.0]])
    feet[[0, 3], 2] = -drop
    com = np.array([0.0, 0.0, 1.2])
    along = longitudinal_margin(feet, com, (1.0, 0.0, 0.0))
    return Levels(
        float(static_margin(feet, com).value),
        (float(along.front), float(along.rear)),
        np.asarray(energy_level(feet, com, 1000.0).edges),
    )


def _claim_slope(s: StudyRun) -> None:
    drops = np.linspace(0.0, 1.0, 21)
    levels = [levelled_body(float(drop)) for drop in drops]
    here = levelled_body(0.5)
    s.holds(
        'levelled body on a slope: static margins front and rear are equal, m',
        'section 2.2, Fig. 2.4',
        here.longitudinal[0] == here.longitudinal[1] == 2.0,
        expected=[2.0, 2.0],
        value=list(here.longitudinal),
    )
    front, rear = _edge(here, 'front'), _edge(here, 'rear')
    s.near('energy level of the front (downhill) edge, J', 'spec 6.4', 9_073.082, front, relative=1e-6)
    s.near('energy level of the rear edge, J', 'spec 6.4', 11_108.655, rear, relative=1e-6)
    s.holds(
        'the energy level depends on the slope: downhill is smaller, J',
        'section 2.2, Fig. 2.4',
        front < rear,
        expected=f'< {rear:.6g}',
        value=front,
    )

    def draw() -> figures.Figure:
        figure, axes = figures.panels(2, 4.8)
        axes[0].plot(drops, [level.longitudinal[0] for level in levels], color=figures.BLUE, label='front (downhill)')
        axes[0].plot(drops, [level.longitudinal[1] for level in levels], '--', color=figures.ORANGE, label='rear')
        axes[1].plot(drops, [1e-3 * _edge(level, 'front') for level in levels], color=figures.BLUE)
        axes[1].plot(drops, [1e-3 * _edge(level, 'rear') for level in levels], '--', color=figures.ORANGE)
        axes[0].set(ylim=(0.0, 3.0), ylabel='static margin, m')
        axes[1].set(ylabel='energy level, kJ', xlabel='front feet lower by, m')
        figures.legend(axes[0])
        return figure

    s.figure('slope', 'Figs 2.1 to 2.4: a levelled body on a slope: static margins equal, energy levels not', draw)


def _edge(levels: Levels, name: str) -> float:
    # edges of the feet: left (0 to 1), rear, right, front
    return float(levels.energy[{'left': 0, 'rear': 1, 'right': 2, 'front': 3}[name]])


def _claim_extended(s: StudyRun) -> None:
    weight = 12_000.0 * GRAVITY
    distance, angle = math.hypot(3.0, 0.9), math.atan2(3.0, 0.9)
    moments = np.array(list(EXTENDED), dtype=np.float64)
    energies = planar_energy_level(moments, weight=weight, distance=distance, angle=angle)
    for moment, expected, level in zip(
        EXTENDED, (*tabulated('abo-shanab-2003/6.4/extended_level'), 0.0), energies.level
    ):
        s.near(
            f'extended energy level of the front edge, M = {moment} N m, J',
            'spec 6.4',
            expected,
            float(level),
            relative=1e-6,
            absolute=1e-3,
        )
    downhill = planar_energy_level(
        0.0,
        weight=weight,
        distance=[distance, math.hypot(2.0, 0.9)],
        angle=[angle - math.radians(20.0), math.atan2(2.0, 0.9) + math.radians(20.0)],
    )
    for name, expected, level in zip(('front', 'rear'), (148_363.477, 239_146.785), downhill.level):
        s.near(f'slope of 20 deg: level of the {name} edge, J', 'spec 6.4', expected, float(level), relative=1e-6)

    def draw() -> figures.Figure:
        sweep = np.linspace(-3.5e5, 4.2e5, 400)
        levels = planar_energy_level(sweep, weight=weight, distance=distance, angle=angle)
        figure, (axes,) = figures.panels(1, 3.2)
        axes.plot(1e-3 * sweep, 1e-3 * levels.level, color=figures.BLUE)
        axes.plot(1e-3 * moments, 1e-3 * energies.level, 'o', color=figures.ORANGE, markersize=4)
        axes.set(xlabel='moment about the front edge, kN m', ylabel='energy level, kJ')
        return figure

    s.figure('extended', 'Fig. 2.5: extended energy level of the base against the moment of the arm', draw)


def _claim_onset(s: StudyRun, run: PlanarOutcome) -> None:
    onset = run.first('lift_off')
    front, rear = run.series['moment_front'], run.series['moment_rear']
    level = front_energy_level(front)
    standing = run.series['standing'] > 0.5
    degree = _zmp_degree(front[standing], rear[standing])
    last = _zmp_degree(np.array([onset.details['moment_front']]), np.array([onset.details['moment_rear']]))
    at_onset = float(front_energy_level(np.array([onset.details['moment_front']]))[0])
    s.near(
        'net moment about the front edge at the onset, N m',
        'section 4.3',
        0.0,
        onset.details['moment_front'],
        absolute=1e-3,
    )
    s.near('energy level at the onset, J', 'section 4.3', 0.0, at_onset, absolute=1e-6)
    s.near('ZMP degree at the onset', 'spec 2.9', 0.0, float(last[0]), absolute=1e-8)
    s.holds(
        'energy level and net moment have one sign while the base stands',
        'section 4.3',
        bool(((level > 0.0) == (front > 0.0))[standing].all()),
    )
    s.holds('the ZMP degree has the same sign', 'spec 2.9', bool(((degree > 0.0) == (front[standing] > 0.0)).all()))
    before = (run.time < onset.time) & (run.time >= onset.time - 0.01)
    s.holds(
        'the sample before the onset is positive, none later until touch-down stands',
        'section 4.3',
        bool((front[before] > 0.0).all()) and not standing[(run.time > onset.time) & (run.time < 14.28)].any(),
    )

    def draw() -> figures.Figure:
        figure, axes = figures.panels(3, 6.0)
        shown = np.where(standing, 1.0, np.nan)
        whole = np.full(len(run.time), np.nan)
        whole[standing] = degree
        for panel, values, label in zip(
            axes, (1e-3 * front * shown, 1e-3 * level * shown, whole), ('M_f, kN m', 'energy level, kJ', 'ZMP degree')
        ):
            panel.plot(run.time, values, color=figures.BLUE)
            panel.axvline(onset.time, color=figures.ORANGE, linewidth=1.0)
            figures.over_time(panel, run, label)
            panel.set_ylim(bottom=0.0)
        axes[-1].set_xlabel('time, s')
        return figure

    s.figure('onset', 'Three measures of the rigid machine (P1): all vanish at the onset of tipping', draw)


def _zmp_degree(front: Array, rear: Array) -> Array:
    """Return the degree of the ZMP between the edges, from the moments about them (spec 2.9)."""
    normal_rear, normal_front = front / LENGTH, -rear / LENGTH
    ahead = LENGTH * normal_front / (normal_rear + normal_front)
    return np.asarray(np.minimum(ahead, LENGTH - ahead) / (0.5 * LENGTH))
