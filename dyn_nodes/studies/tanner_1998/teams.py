"""Carrying teams: figures of eight within the friction of all wheels, robustness, and a hand that slips off."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from dyn_nodes.control.carry import PathPlan, Profile, figure_of_eight, planned
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.tanner_1998.carrying import (
    EFFORTS_ALONE,
    Carried,
    Reality,
    abilities,
    judged,
    run_team,
    starts,
    team_around,
)
from dyn_nodes.studies.tanner_1998.team import BAR, TRIANGLE
from dyn_nodes.teams.carry_limits import Reserve, fastest_within

SQUEEZE = 5.0
EIGHT = (2.5, 2.0)
"""Length and width of the figure of eight, m."""
OBJECTS = {'bar': BAR, 'triangle': TRIANGLE}
OTHERS = {
    'as planned': Reality(),
    'load + 20 %': Reality(load=1.2),
    'load - 20 %': Reality(load=0.8),
    'arms + 20 %': Reality(arm=1.2),
    'arms - 20 %': Reality(arm=0.8),
    'friction - 20 %': Reality(friction=0.56),
    'start 20 mm beside': Reality(offset=0.02),
    'measured 20 ms late': Reality(delay=2),
    'all at once': Reality(load=1.2, arm=1.2, friction=0.56, offset=0.02, delay=2),
}
HOLDING = 8.0
"""Holding force of the second hand of the bar in the slip study, below the braking force, N."""
SECONDS = 3.0
"""Duration of a run with another reality, s: the start and the first bend of the path."""


class Case(NamedTuple):
    """A run: object, whether the wheels limit the speed, name of the reality, greatest duration, s."""

    load: str
    limited: bool = True
    reality: str = 'as planned'
    seconds: float = np.inf


@cache
def planned_team(load: str, points: int = 241) -> PathPlan:
    """Return the plan of a team around an object along the figure of eight."""
    formation, path = team_around(OBJECTS[load], SQUEEZE), figure_of_eight(*EIGHT)
    return planned(formation, path, np.linspace(0.0, 2.0 * np.pi, points), starts(formation, path, 0.0))


@cache
def profile_of(load: str, limited: bool, points: int = 241) -> Profile:
    """Return the fastest profile of a team, within the friction of its wheels or bounded by efforts alone."""
    plan = planned_team(load, points)
    return fastest_within(plan, abilities(plan.formation), Reserve() if limited else EFFORTS_ALONE)


def carried(case: Case) -> Carried:
    """Return the verdict on a run."""
    plan, profile = planned_team(case.load), profile_of(case.load, case.limited)
    reality = OTHERS[case.reality]
    return judged(plan, profile, run_team(plan, profile, reality, seconds=case.seconds), reality)


def check_eight(s: StudyRun, load: str) -> None:
    """Check a whole figure of eight within the limits, and its first part without the wheel limits."""
    slow, fast = (profile_of(load, limited) for limited in (True, False))
    whole, beginning = s.map(carried, [Case(load), Case(load, limited=False, seconds=SECONDS)], 'eight')
    s.holds('no wheel slips or lifts: the split of least norm is admissible all along', 'C20, C22', whole.robust,
            value=whole.why or True)  # fmt: skip
    s.near('greatest deviation of a hand, m', 'control', 0.0, float(whole.deviation.max()), absolute=2e-3)
    s.near('greatest use of the friction', 'C22', 0.5, whole.use, absolute=0.1)
    s.holds('without the limit of the wheels a wheel slips or lifts', 'C22', not beginning.robust,
            expected='slips or lifts', value=beginning.why)  # fmt: skip
    s.holds('no reactions exist there at all', 'C20', beginning.lasted < SECONDS - 1e-9, value=beginning.lasted)
    s.holds('the limit costs time', 'control', slow.duration > fast.duration,
            expected=fast.duration, value=slow.duration)  # fmt: skip
    s.note(f'{load}: {slow.duration:.2f} s within the friction of the wheels, {fast.duration:.2f} s by efforts alone')
    s.note(f'margin {whole.margin:.1f} N; without the limit it lasts {beginning.lasted:.2f} s: {beginning.why}')


@study('tanner-1998/carry-bar', 'Two RM-1 carry a bar along a figure of eight within the friction of their wheels')
def carry_bar(s: StudyRun) -> None:
    """Check the team of two."""
    check_eight(s, 'bar')


@study('tanner-1998/carry-triangle', 'Three RM-1 carry a triangle along a figure of eight within the friction')
def carry_triangle(s: StudyRun) -> None:
    """Check the team of three."""
    check_eight(s, 'triangle')


@study('tanner-1998/carry-others', 'Teams whose loads, arms, ground, starts and delays differ from the plan')
def carry_others(s: StudyRun) -> None:
    """Check the reserve of the plan and record deviations and margins of every case."""
    cases = [Case(load, True, reality, SECONDS) for load in OBJECTS for reality in OTHERS]
    verdicts = s.map(carried, cases, 'realities')
    for case, verdict in zip(cases, verdicts):
        s.holds(
            f'{case.load}, {case.reality}: no wheel slips or lifts', 'C20', verdict.robust, value=verdict.why or True
        )
        end = float(verdict.deviation[-1].max())
        s.note(
            f'{case.load}, {case.reality}: deviation {1e3 * verdict.deviation.max():.1f} mm, {1e3 * end:.1f} mm after '
            f'{SECONDS:g} s; margin {verdict.margin:.1f} N, friction used {100.0 * verdict.use:.0f} %'
        )
    worst = max(float(verdict.deviation.max()) for verdict in verdicts)
    s.holds('greatest deviation of a hand below 60 mm', 'control', worst < 0.06, expected='0.06', value=worst)


@study('tanner-1998/slip', 'A hand slips off the bar when its force exceeds the holding force; the team continues')
def slip(s: StudyRun) -> None:
    """Check the instant of the slip and both robots after it."""
    plan, profile = planned_team('bar'), profile_of('bar', True)
    trace = run_team(plan, profile, Reality(holding=(np.inf, HOLDING)), seconds=1.5)
    first = trace.slips[0]
    s.near('force at the instant of the slip, N', 'grasp', HOLDING, first.force, relative=0.05)
    s.holds('the slip is between driving and braking', 'grasp', 0.6 < first.time < 0.9, value=first.time)
    verdict = judged(plan, profile, trace)
    after = [k for k, instant in enumerate(trace.instants) if instant.time > first.time]
    loose = int(first.name[-1])
    s.holds('the free hand exerts no force', 'grasp', all(not trace.instants[k].forces[loose].any() for k in after))
    s.holds('no wheel of the team slips or lifts', 'C20', verdict.robust, value=verdict.why or True)
    s.near(
        'deviation of the free hand at the end, m', 'control', 0.0, float(verdict.deviation[-1, loose]), absolute=0.01
    )
    s.note(f'{first.name} slips off {first.time:.4f} s after the start at {first.force:.3f} N')
