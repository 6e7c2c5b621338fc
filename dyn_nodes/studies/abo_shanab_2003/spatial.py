"""Studies E8 to E14: the 3-D log-loader of chapter 7."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.studies.abo_shanab_2003 import spatial_figures as draw
from dyn_nodes.studies.abo_shanab_2003.spatial_runs import (
    FAST_REACH,
    FAST_RECOVERY,
    REACH,
    RECOVERY,
    Led,
    SpatialRun,
    led_run,
    profile_run,
)
from dyn_nodes.studies.abo_shanab_2003.surveys import spatial_survey
from dyn_nodes.studies.abo_shanab_2003.valve_law import ValvePositionLaw
from dyn_nodes.studies.framework import StudyRun, study

SPEEDS = (0.4, 0.6, 0.8, 1.0, 1.1, 1.2, 1.3, 1.4, 1.6)
ACCELERATIONS = (0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.45, 0.5, 0.6)
SWING_POSTURES = ((45.0, -45.0), (30.0, -60.0))
SWING_PEAKS = (
    (0.82, 1.00, 1.13, 1.61, 2.20, 4.53, 4.88, np.inf, np.inf),
    (0.94, 1.06, 1.14, 1.51, 1.87, 2.79, 4.78, 5.06, np.inf),
)
REACHED = (0.43, 0.63, 0.82, 1.02, 1.12, 1.25, 1.42, 1.58, 1.85)
LEAST_LOADS = (14_065.0, 7_712.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
STIFFNESSES, STIFFNESS_PEAKS = (0.8, 1.0, 1.5, 2.0, 4.0, 10.0), (9.26, 8.55, 6.52, 5.37, 4.26, 3.66)
DAMPINGS = (5.25e4, 7e4, 7.5e4, 10.5e4, 14e4, 21e4, 28e4)
DAMPING_PEAKS = (9.07, 8.65, 8.55, 8.12, 7.84, 7.60, 7.50)
MODULI, MODULUS_PEAKS = (0.5, 0.75, 1.0), (4.96, 9.06, 13.09)
NOMINAL_DAMPING = 7.5e4
FAR_AND_BACK = (REACH, RECOVERY)
MANOEUVRES = 60


class SwingCase(NamedTuple):
    """One revolution of the cabin with 2000 kg.

    Attributes:
        speed, acceleration: of the reference, rad/s, rad/s2.  posture: boom and stick, degrees.
        variant: of the machine (`spatial_runs.system`).
        pieces: linear pieces of the angle reference in each speed ramp; not in the specification, whose reached speeds
            and peaks are reproduced with 4.
    """

    speed: float
    acceleration: float
    posture: tuple[float, float] = SWING_POSTURES[0]
    variant: str = 'fast_swing'
    pieces: int = 4


def swing_reference(case: SwingCase) -> tuple[Array, Array]:
    """Return knots of the swing angle, s and rad: a trapezoid of speed over one revolution, from 1 s on."""
    speed, turn, ramp = case.speed, 2.0 * np.pi, case.speed / case.acceleration
    part = np.linspace(0.0, 1.0, case.pieces + 1)
    length = turn / speed + ramp
    rising = 0.5 * speed * ramp * part**2
    times = np.concatenate([[0.0], 1.0 + ramp * part, 1.0 + length - ramp * part[::-1]])
    return times, np.concatenate([[0.0], rising, turn - rising[::-1]])


def swing_case(case: tuple[float, float] | SwingCase) -> SpatialRun:
    """Run one revolution of the cabin; see :class:`SwingCase`."""
    case = SwingCase(*case)
    times, angles = swing_reference(case)
    law = ValvePositionLaw(gain=25.0, dead_band=0.002)
    led = Led('swing_joint', 'swing', law, tuple(times), tuple(angles))
    boom, stick = np.radians(case.posture)
    posture = {'swing_joint': 0.0, 'boom_joint': boom, 'stick_joint': stick}
    return led_run(case.variant, posture, 2000.0, [led], float(times[-1]) + 4.0)


@study('abo-shanab-2003/e8', '3-D: one revolution of the cabin at several speeds, 2000 kg')
def e8(s: StudyRun) -> None:
    """Check example 1, Figs 7.5 and 7.6."""
    cases = [SwingCase(*pair, posture) for posture in SWING_POSTURES for pair in zip(SPEEDS, ACCELERATIONS)]
    runs = s.map(swing_case, cases, 'swing speeds')
    first, second = runs[: len(SPEEDS)], runs[len(SPEEDS) :]
    for posture, posture_runs, expected in zip(SWING_POSTURES, (first, second), SWING_PEAKS):
        name = f'boom and stick at ({posture[0]:g}, {posture[1]:g}) deg'
        peaks = [run.peak for run in posture_runs]
        s.rising(f'{name}: the faster the swing, the greater the base rotation', 'p. 99 to 102', peaks)
        s.holds(f'{name}: it overturns at the highest speed', 'Fig. 7.6', posture_runs[-1].overturned)
        for speed, value, run in zip(SPEEDS, expected, posture_runs):
            if np.isinf(value):
                s.holds(f'{name}: it overturns at {speed:g} rad/s', 'section 6.8', run.overturned)
            else:
                s.near(f'{name}: peak at {speed:g} rad/s, deg', 'section 6.8', value, run.peak, relative=0.03)
                angle = float(run.joints['swing_joint'][-1])
                s.near(f'{name}: final swing angle at {speed:g} rad/s, deg', 'section 6.8', 360.0, angle, absolute=1.0)
    s.holds('all wheels stay down at the lowest speed', 'Fig. 7.6', first[0].least_load > 0.0)
    s.holds('a wheel lifts at a medium speed', 'Fig. 7.6', first[3].least_load <= 0.0 and not first[3].overturned)
    for speed, reached, load, run in zip(SPEEDS, REACHED, LEAST_LOADS, first):
        # the specification prints two decimals; 3 % would be wider
        s.near(
            f'speed reached at {speed:g} rad/s', 'section 6.8', reached, run.rates['swing_joint'].max(), absolute=0.006
        )
        s.near(f'least wheel load at {speed:g} rad/s, N', 'section 6.8', load, run.least_load, relative=0.03)
    s.note(
        'Two assumptions that the specification does not print determine its numbers: the reference angle is linear '
        'between five points in each speed ramp, and each line of the drive is relieved at a line pressure of 22 MPa. '
        'With the cross-over relief of the product the peaks are equal up to 1.0 rad/s and differ beyond.'
    )
    named = {f'{speed:g} rad/s': run for speed, run in zip(SPEEDS, first)}
    s.figure('fig_7_5', 'Fig. 7.5: swing angle for several speeds', lambda: draw.histories(named, ('swing_joint',), 5))
    s.figure('fig_7_6', 'Fig. 7.6: rotation of the base for these', lambda: draw.histories(named, columns=5))


@study('abo-shanab-2003/e9', '3-D: reaching out with 5100 kg, no recovery')
def e9(s: StudyRun) -> None:
    """Check example 2, Fig. 7.7."""
    run = profile_run([REACH], 20.0)
    s.holds('it overturns completely', 'p. 100, 104', run.overturned)
    s.near('time at which 75 deg are reached, s', 'section 6.8', 13.0, run.end_time, absolute=0.05)
    fast = profile_run([FAST_REACH], 20.0)
    s.near('the same for the fast profile, s', 'section 6.8', 11.0, fast.end_time, absolute=0.05)
    s.figure(
        'fig_7_7',
        'Fig. 7.7: motion of the joints and rotation of the base, no recovery',
        lambda: draw.motion(run, {'arm out': (5.0, 8.8)}),
    )


@study('abo-shanab-2003/e10', '3-D: reaching out with 5100 kg, recovered by pulling the arm back')
def e10(s: StudyRun) -> None:
    """Check example 2, Fig. 7.8."""
    run = profile_run(FAR_AND_BACK, 24.0)
    s.holds('the machine returns', 'p. 100, 104', not run.overturned)
    s.near('peak of the base rotation, deg', 'section 6.8', 8.55, run.peak, relative=0.03)
    s.near('time of the peak, s', 'section 6.8', 10.68, run.peak_time, absolute=0.03)
    rear = [run.lift_time(f'rear_{side}') for side in ('right', 'left')]
    s.near('the first rear wheel lifts, s', 'E10', 8.38, min(rear), relative=0.03)
    s.near('the second rear wheel lifts, s', 'E10', 8.44, max(rear), relative=0.03)
    s.near('all wheels are down again, s', 'E10', 12.0, run.first_return, relative=0.03)
    history = {
        7: 0.83,
        8: 1.05,
        8.5: 1.27,
        9: 3.44,
        9.5: 5.55,
        10: 7.27,
        10.5: 8.43,
        11: 8.15,
        11.5: 5.58,
        12: 0.34,
        13: 2.03,
        14: 1.21,
        16: 0.99,
    }
    for time, pitch in history.items():
        s.near(f'pitch at {time:g} s, deg', 'section 6.8', pitch, run.pitch_at(time), relative=0.03, absolute=0.006)
    swings = [float(np.ptp(run.pitch[(run.times >= a) & (run.times < a + 2.0)])) for a in (12.0, 14.0, 16.0, 18.0)]
    s.falling('the rocking decays', 'p. 100', swings)
    fast = profile_run([FAST_REACH, FAST_RECOVERY], 20.0)
    s.near('peak of the fast profile, deg', 'section 6.8', 13.09, fast.peak, relative=0.03)
    s.near('its time, s', 'section 6.8', 9.38, fast.peak_time, absolute=0.03)
    s.figure(
        'fig_7_8',
        'Fig. 7.8: motion of the joints and rotation of the base, the arm pulled back',
        lambda: draw.motion(run, {'arm out': (5.0, 8.8), 'arm back': (8.8, 11.8)}),
    )


def stiffness_case(factor: float) -> SpatialRun:
    """Run P3D with the stiffness of all wheels times a factor."""
    return profile_run(FAR_AND_BACK, 16.0, {'wheel_stiffness_scale': factor})


def damping_case(damping: float) -> SpatialRun:
    """Run P3D with a damping of every wheel, N s/m."""
    return profile_run(FAR_AND_BACK, 16.0, {'wheel_damping_scale': damping / NOMINAL_DAMPING})


def modulus_case(factor: float) -> SpatialRun:
    """Run P3D-fast with the oil's bulk modulus times a factor."""
    return profile_run([FAST_REACH, FAST_RECOVERY], 20.0, {'bulk_modulus_scale': factor})


@study('abo-shanab-2003/e11', '3-D: contact stiffness')
def e11(s: StudyRun) -> None:
    """Check example 3, Fig. 7.9."""
    runs = s.map(stiffness_case, STIFFNESSES, 'stiffnesses')
    s.falling('the stiffer the contact, the smaller the base rotation', 'p. 103, 105', [run.peak for run in runs])
    for factor, expected, run in zip(STIFFNESSES, STIFFNESS_PEAKS, runs):
        s.near(f'peak at k x {factor:g}, deg', 'E11', expected, run.peak, relative=0.03)
    _claim_unselected(s)
    named = {f'k × {factor:g}': run for factor, run in zip(STIFFNESSES, runs)}
    s.figure(
        'fig_7_9', 'Fig. 7.9: rotation of the base for several stiffnesses', lambda: draw.histories(named, columns=6)
    )


def _claim_unselected(s: StudyRun) -> None:
    """Check the trends of E11 to E13 in random manoeuvres (spec 6.11)."""
    survey = spatial_survey(s.map, MANOEUVRES)
    for share in survey.shares.values():
        s.holds(
            f'random manoeuvres: {share.trend}, in how many of {share.count}',
            f'spec 6.11: {100 * share.expected:g} % of {share.expected_count}; no farther than by chance',
            share.alike,
            expected=f'about {share.expected * share.count:.0f}',
            value=share.holding,
        )


@study('abo-shanab-2003/e12', '3-D: contact damping')
def e12(s: StudyRun) -> None:
    """Check example 3, Fig. 7.10."""
    runs = s.map(damping_case, DAMPINGS, 'dampings')
    peaks = [run.peak for run in runs]
    s.falling('the stronger the damping, the smaller the base rotation', 'p. 103, 105', peaks)
    for damping, expected, run in zip(DAMPINGS, DAMPING_PEAKS, runs):
        s.near(f'peak at c = {damping:g} N s/m, deg', 'E12', expected, run.peak, relative=0.03)
    base, four_k = profile_run(FAR_AND_BACK, 16.0).peak, stiffness_case(4.0).peak
    four_c = damping_case(4.0 * 7e4).peak
    s.holds(
        'stiffness matters more than damping',
        'p. 105',
        base - four_k > base - four_c,
        expected='effect of k x 4 above effect of c x 4',
        value=[base - four_k, base - four_c],
    )
    named = {f'{1e-3 * damping:g} kN s/m': run for damping, run in zip(DAMPINGS, runs)}
    s.figure('fig_7_10', 'Fig. 7.10: rotation of the base for several dampings', lambda: draw.histories(named))


@study('abo-shanab-2003/e13', '3-D: bulk modulus of the oil')
def e13(s: StudyRun) -> None:
    """Check example 4, Fig. 7.11."""
    wide = (*MODULI, 1.5, 2.0, 4.0, 0.25)
    runs = s.map(modulus_case, wide, 'bulk moduli')
    s.rising('the softer the oil, the smaller the base rotation (0.5 to 1)', 'p. 103, 106', [r.peak for r in runs[:3]])
    for factor, expected, run in zip(MODULI, MODULUS_PEAKS, runs):
        s.near(f'peak at bulk modulus x {factor:g}, deg', 'E13', expected, run.peak, relative=0.03)
    for factor, expected, run in zip((1.5, 2.0, 4.0), (13.7, 11.8, 9.0), runs[3:6]):
        s.near(f'peak at bulk modulus x {factor:g}, deg', 'E13', expected, run.peak, relative=0.03)
    s.holds('a quarter of the bulk modulus overturns', 'E13', runs[6].overturned)
    s.note(
        'The claim holds between half and the whole of the bulk modulus for this manoeuvre. It is not general: a '
        'quarter overturns, and beyond the nominal value the rotation falls again (section 6.11 of the specification).'
    )
    named = {f'β × {factor:g}': run for factor, run in sorted(zip(wide, runs), key=lambda item: item[0])}
    s.figure('fig_7_11', 'Fig. 7.11: rotation of the base for several bulk moduli β', lambda: draw.histories(named))


def smooth_reference(start: float, end: float, a: float, b: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return 9 knots of a + (b - a)(s - sin(2 pi s) / 2 pi) between two times (spec G15)."""
    part = np.linspace(0.0, 1.0, 9)
    blend = part - np.sin(2 * np.pi * part) / (2 * np.pi)
    return tuple(start + part * (end - start)), tuple(a + (b - a) * blend)


Coordination = tuple[str, float, float, float]


def coordination_case(case: Coordination) -> SpatialRun:
    """Run from (55, -105) deg to (boom, stick) deg in a total time: `simultaneous`, `boom first` or `stick first`."""
    order, boom_end, stick_end, total = case
    half = 0.5 * total
    spans = {
        'simultaneous': ((5.0, 5.0 + total), (5.0, 5.0 + total)),
        'boom first': ((5.0, 5.0 + half), (5.0 + half, 5.0 + total)),
        'stick first': ((5.0 + half, 5.0 + total), (5.0, 5.0 + half)),
    }[order]
    led = []
    for joint, span, (a, b), direction in (
        ('boom', spans[0], (55.0, boom_end), 1.0),
        ('stick', spans[1], (-105.0, stick_end), -1.0),
    ):
        law = ValvePositionLaw(gain=60.0, dead_band=0.001, direction=direction)
        led.append(Led(f'{joint}_joint', joint, law, *smooth_reference(*span, np.radians(a), np.radians(b))))
    posture = {'boom_joint': np.radians(55.0), 'stick_joint': np.radians(-105.0)}
    return led_run('fast_valves', posture, 5100.0, led, 20.0)


def _coordination_cases(boom: float, stick: float, total: float) -> Sequence[Coordination]:
    return [(order, boom, stick, total) for order in ('simultaneous', 'boom first', 'stick first')]


@study('abo-shanab-2003/e14', '3-D: simultaneous against sequential motion of boom and stick')
def e14(s: StudyRun) -> None:
    """Check example 5, Fig. 7.12."""
    cases = [
        *_coordination_cases(30.0, -75.0, 4.0),
        *_coordination_cases(35.0, -75.0, 4.0),
        *_coordination_cases(30.0, -75.0, 5.0),
    ]
    runs = s.map(coordination_case, cases, 'orders')
    s.holds('simultaneous motion is stable', 'p. 106, 107', not runs[0].overturned)
    s.holds('boom, then stick overturns', 'p. 106, 107', runs[1].overturned)
    s.holds('stick, then boom overturns', 'p. 106, 107', runs[2].overturned)
    expected = (1.85, np.inf, np.inf, 1.56, 3.85, np.inf, 1.45, 1.38, np.inf)
    for (order, boom, stick, total), value, run in zip(cases, expected, runs):
        label = f'{order} to ({boom:g}, {stick:g}) deg in {total:g} s'
        if np.isinf(value):
            s.holds(f'{label}: overturns', 'section 6.8', run.overturned)
        else:
            s.near(f'{label}: peak, deg', 'section 6.8', value, run.peak, relative=0.03)
    named = {order: run for (order, *_), run in zip(cases[:3], runs)}
    s.figure(
        'fig_7_12',
        'Fig. 7.12: joints and rotation of the base, simultaneous and sequential movement',
        lambda: draw.histories(named, ('boom_joint', 'stick_joint', 'tilt')),
    )
