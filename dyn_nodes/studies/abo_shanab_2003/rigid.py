"""Studies E3 and E4: the planar machine on rigid ground (chapter 4 of the source)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.stability import planar_energy_level
from dyn_nodes.studies.abo_shanab_2003 import figures
from dyn_nodes.studies.abo_shanab_2003.planar import S1, Case, PlanarOutcome, planar_machine, simulate
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.reference import tabulated

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FRONT_ARM, CENTER_BEHIND, CENTER_HEIGHT = 1.0, -2.0, 0.9
"""Distances of the front edge ahead of the boom foot, and of the base's mass centre from it and above the ground, m."""
LEVELS = {
    0: 81_567,
    6: 38_196,
    7: 17_406,
    8: 5_259,
    8.5: 3_570,
    8.9: 3_098,
    8.97: 243,
    14.6: 36_103,
    16: 24_186,
    20: 6_767,
}
"""Energy stability level of the front edge at times of P1, J (spec 6.6)."""
HISTORY = {
    # boom and stick, degrees, at times of P1 (spec 6.6)
    6: (44.1, -93.1),
    7: (29.5, -74.4),
    8: (15.3, -58.1),
    9: (1.1, -43.0),
    10: (-0.4, -42.1),
    12: (-0.2, -44.4),
    14: (-0.3, -72.0),
    20: (0.1, -82.7),
}


def front_energy_level(moment_front: Array, slope: float = 0.0) -> Array:
    """Return the extended energy stability level of the front edge, J: the arm enters as a moment (spec 2.8).

    Args:
        moment_front: M_f, N m.
        slope: rad, front downhill.
    """
    machine = planar_machine()
    weight = machine.link('base_link').mass * machine.gravity
    ahead = FRONT_ARM - CENTER_BEHIND
    base_moment = weight * (ahead * math.cos(slope) - CENTER_HEIGHT * math.sin(slope))
    distance, angle = math.hypot(ahead, CENTER_HEIGHT), math.atan2(ahead, CENTER_HEIGHT) - slope
    level = planar_energy_level(base_moment - moment_front, weight=weight, distance=distance, angle=angle)
    return np.asarray(level.level, dtype=np.float64)


@study('abo-shanab-2003/e3', 'Rigid, level ground: 5000 kg picked, carried out and pulled back')
def e3(s: StudyRun) -> None:
    """Check profile P1 on rigid contact."""
    run, axis = s.map(simulate, [Case(), Case(inertia='axis')])
    level = front_energy_level(run.series['moment_front'])
    _claim_course(s, run)
    _claim_energy(s, run, level)
    for time, (boom, stick) in HISTORY.items():
        s.near(f'boom at {time} s, deg', 'spec 6.6', boom, run.at('boom', time), absolute=0.1)
        s.near(f'stick at {time} s, deg', 'spec 6.6', stick, run.at('stick', time), absolute=0.1)
    double = axis.first('impact')
    s.near(
        'axis inertia: greatest rotation, deg',
        'spec 6.6',
        -tabulated('abo-shanab-2003/6.6/rigid_axis')[1],
        axis.peak,
        relative=0.01,
    )
    s.holds('axis inertia: the impact would turn the base back (double impact)', 'spec 6.6', double.details['double'])
    s.near('axis inertia: base rate after a single impact, rad/s', 'spec 6.6', -0.070, _rates(axis)[1], absolute=0.001)
    _draw_e3(s, run, level)


def _rates(run: PlanarOutcome) -> tuple[float, float]:
    """Return the base rates before and after the first impact, nose up positive, rad/s."""
    details = run.first('impact').details
    return -details['velocity_before'][2], -details['velocity_after'][2]


def _claim_course(s: StudyRun, run: PlanarOutcome) -> None:
    onset, impact = run.first('lift_off'), run.first('impact')
    before, after = _rates(run)
    s.near('onset of tipping, s', 'p. 53 to 57, Fig. 4.8', 9.0, onset.time, absolute=0.3)
    starts, peak, highest, lands, (_, slowed), _ = tabulated('abo-shanab-2003/6.6/rigid_course')
    s.near('onset of tipping, s', 'spec 6.6', starts, onset.time, relative=0.01)
    s.holds('it tips over the front edge', 'p. 54', onset.after == 'front', expected='front', value=onset.after)
    s.holds(
        'it tips while the arm is being stopped',
        'p. 54',
        8.9 <= onset.time <= 9.2,
        expected='8.9 to 9.2 s',
        value=onset.time,
    )
    s.near('greatest rotation, deg', 'spec 6.6', -peak, run.peak, relative=0.01)
    s.near('time of the greatest rotation, s', 'spec 6.6', highest, run.peak_time, relative=0.01)
    s.near('the rear edge is back on the ground, s', 'p. 55, Fig. 4.8', 14.5, impact.time, absolute=0.3)
    s.near('the rear edge is back on the ground, s', 'spec 6.6', lands, impact.time, relative=0.01)
    s.near('base rate before the impact, rad/s', 'spec 6.6', 0.201, before, relative=0.01)
    s.near('base rate after it, rad/s', 'spec 6.6', slowed, after, relative=0.01)
    later = np.abs(run.series['rotation'][run.time > impact.time])
    s.holds(
        'one rocking: later rotation is below 0.05 deg',
        'Fig. 4.8',
        later.max() < 0.05,
        expected='< 0.05',
        value=float(later.max()),
    )
    s.holds('it returns to both edges', 'p. 55', run.returned)
    energies = [(e.details['energy_before'], e.details['energy_after']) for e in run.events if e.kind == 'impact']
    s.holds('no impact adds kinetic energy', 'spec 2.18', all(b >= a for b, a in energies))


def _claim_energy(s: StudyRun, run: PlanarOutcome, level: Array) -> None:
    for time, expected in LEVELS.items():
        s.near(
            f'energy level at {time} s, J', 'spec 6.6', expected, float(np.interp(time, run.time, level)), relative=0.01
        )
    onset = run.first('lift_off')
    at_onset = float(front_energy_level(np.array([onset.details['moment_front']]))[0])
    s.near('energy level at the onset, J', 'Fig. 4.9; exactly where M_f = 0', 0.0, at_onset, absolute=1e-6)
    standing = run.series['standing'] > 0.5
    s.holds(
        'energy level and model agree while the base stands: it is positive',
        'p. 56, Fig. 4.9',
        bool((level[standing] > 0.0).all()),
    )


def _draw_e3(s: StudyRun, run: PlanarOutcome, level: Array) -> None:
    def draw_level() -> Figure:
        figure, (axes,) = figures.panels(1, 3.2)
        standing = run.series['standing'] > 0.5
        axes.plot(run.time, np.where(standing, 1e-3 * level, np.nan), color=figures.BLUE)
        axes.fill_between(
            run.time,
            0,
            1,
            where=~standing,
            transform=axes.get_xaxis_transform(),
            color=figures.AMBER,
            alpha=0.2,
            linewidth=0,
        )
        axes.text(0.5 * (run.onset + 14.3), 40.0, 'the base tips:\nnot valid', ha='center', color='#555555')
        axes.set_ylim(bottom=0.0)
        axes.set_xlabel('time, s')
        figures.over_time(axes, run, 'energy level, kJ')
        return figure

    s.figure('voltages', 'Fig. 4.6: voltages of boom and stick (equivalents)', lambda: figures.voltages(run.case.task))
    s.figure(
        'postures',
        'Fig. 4.7: postures of the machine',
        lambda: figures.postures(run, (0, 6, 8, 9, 10.5, 11.9, 13.5, 20)),
    )
    s.figure('joints', 'Fig. 4.7: motion of the joints with the rotation of the base', lambda: figures.joints(run))
    s.figure(
        'rotation',
        'Fig. 4.8: rotation of the base, nose up positive',
        lambda: figures.histories({'rigid contact': run}, 'rotation', 'rotation of the base, °'),
    )
    s.figure('energy_level', 'Fig. 4.9: energy stability level of the front edge', draw_level)
    s.figure('pressures', 'Fig. 4.10: line pressures of boom and stick', lambda: figures.pressures(run))


@study('abo-shanab-2003/e4', 'Rigid, slope of 20 degrees: 4000 kg lifted, dropped while tipping')
def e4(s: StudyRun) -> None:
    """Check profile S1 on a slope, front downhill, with and without dropping the load."""
    common = {'task': S1, 'payload': 4000.0, 'slope': 20.0}
    run, kept = s.map(simulate, [Case(**common, drop_tilt=15.0), Case(**common)])  # type: ignore[arg-type]
    onset, drop, impact = (run.first(kind) for kind in ('lift_off', 'payload_drop', 'impact'))
    before, after = _rates(run)
    s.holds(
        'it tips over the front (downhill) edge', 'p. 58', onset.after == 'front', expected='front', value=onset.after
    )
    s.near('onset of tipping soon after the lift, s', 'spec E4', 1.372, onset.time, relative=0.02)
    s.near('the load is dropped at 15 deg, s', 'spec E4', 5.230, drop.time, relative=0.02)
    s.near('rotation at the drop, deg', 'p. 58', -15.0, -math.degrees(drop.details['pitch']), absolute=1e-6)
    s.near('greatest rotation after the drop, deg', 'spec E4', 18.02, run.peak, relative=0.02)
    s.near('time of the greatest rotation, s', 'spec E4', 5.66, run.peak_time, relative=0.02)
    s.near('the rear edge hits the ground, s', 'spec E4', 6.707, impact.time, relative=0.02)
    s.near('base rate before the impact, rad/s', 'spec E4', 0.642, before, relative=0.02)
    s.near('base rate after it, rad/s', 'spec E4', 0.098, after, relative=0.02)
    order = [onset.time, drop.time, run.peak_time, impact.time]
    s.rising('onset, drop, peak, touch-down, in this order, s', 'p. 58 to 59', order)
    s.holds('stability is regained after the drop', 'p. 59', run.returned)
    s.holds('with the load kept, it overturns', 'spec E4', kept.overturned, expected='overturned', value=kept.status)
    s.near('with the load kept, 80 deg are reached, s', 'spec E4', 7.27, kept.end_time, relative=0.02)
    _draw_e4(s, run)


def _draw_e4(s: StudyRun, run: PlanarOutcome) -> None:
    def draw() -> Figure:
        figure, axes = figures.panels(2, 4.6)
        drop = run.first('payload_drop').time
        for panel, name, label in zip(axes, ('rotation', 'rotation_rate'), ('rotation, °', 'rate, rad/s')):
            panel.plot(run.time, run.series[name], color=figures.BLUE)
            panel.axvline(drop, color=figures.ORANGE, linewidth=1.0)
            figures.over_time(panel, run, label)
        axes[0].annotate(
            'load dropped', (drop, -2.0), xytext=(-8, 0), textcoords='offset points', ha='right', color=figures.ORANGE
        )
        axes[-1].set_xlabel('time, s')
        return figure

    def draw_postures() -> Figure:
        return figures.postures(run, (0, 2, 4, 5.2, 5.66, 6.3, 6.7, 12))

    s.figure('postures', 'Fig. 4.11: postures of the machine on the slope', draw_postures)
    s.figure('rotation', 'Fig. 4.12: rotation of the base and its rate', draw)
