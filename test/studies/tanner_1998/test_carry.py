"""Teams of RM-1 along a figure of eight: no wheel slips within the speed limits, and wheels slip without them."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.studies.framework import Study, run_study
from dyn_nodes.studies.tanner_1998 import plate, teams
from dyn_nodes.studies.tanner_1998.carrying import (
    ACTUATED,
    FRICTION,
    GRIP,
    MOST,
    abilities,
    judged,
    run_team,
)
from dyn_nodes.studies.tanner_1998.teams import planned_team, profile_of
from dyn_nodes.teams.carry_limits import Reserve, inverse, limits, reactions

POINTS = 81


@pytest.fixture(scope='module')
def plan():
    return planned_team('bar', POINTS)


def test_efforts_and_reactions_stay_within_the_limits_along_the_whole_profile(plan):
    profile, reserve = profile_of('bar', True, POINTS), Reserve()
    middle = 0.5 * (profile.times[1:] + profile.times[:-1])
    for k, robot in enumerate(plan.formation.robots):
        solved = [inverse(plan, plan.at(*profile.at(float(t))))[k] for t in middle[::4]]
        efforts = np.array([pair[0] for pair in solved])
        assert np.all(np.abs(efforts) <= 1.05 * reserve.efforts * MOST)
        reaction = reactions(
            [ground for _, ground in solved], np.array([robot.tractions(e) for e in efforts]), FRICTION * GRIP
        )
        assert reaction.robust.all()
        assert reaction.margin.min() > 50.0
        assert reaction.friction_use[:, :2].max() < 1.1 * reserve.friction, 'between the points of the grid, too'
    assert len(ACTUATED) == efforts.shape[1]


def test_limits_are_those_of_the_inverse_dynamics_at_any_speed(plan):
    """Wheel forces are linear in acceleration and squared speed: the limits hold if the forces are admissible."""
    bounds, reserve = limits(plan, abilities(plan.formation), Reserve()), Reserve()
    random, index = np.random.default_rng(2), 11
    for _ in range(12):
        a, b = random.uniform(-1.5, 1.5), random.uniform(0.0, 1.0)
        left = bounds.rest[index] - bounds.per_acceleration[index] * a - bounds.per_square[index] * b
        solved = inverse(plan, plan.at(float(plan.parameters[index]), np.sqrt(b), a))
        inside = []
        for robot, (efforts, ground) in zip(plan.formation.robots, solved):
            reaction = reactions([ground], np.array([robot.tractions(efforts)]), FRICTION * GRIP)
            used = np.hypot(*reaction.split[0, :2, :2].T) / (0.7 * reaction.split[0, :2, 2])
            inside.append(used.max() / reserve.friction)
            inside.append(np.max(np.abs(efforts) / (reserve.efforts * MOST)))
            inside.append(reserve.lift / reaction.split[0, :, 2].min())
        if max(inside) > 1.0:
            assert left.min() < 0.0
        if max(inside) < 0.99:
            assert left.min() > 0.0


def test_a_bar_is_carried_without_slip_within_the_limits_and_slips_without(plan):
    within, beyond = (
        judged(plan, profile, run_team(plan, profile, seconds=1.0))
        for profile in (profile_of('bar', limited, POINTS) for limited in (True, False))
    )
    assert within.robust
    assert within.margin > 40.0
    assert within.deviation.max() < 3e-3
    assert not beyond.robust
    assert beyond.lasted < 0.99
    assert 'slips' in beyond.why or 'lifts' in beyond.why


@pytest.mark.slow
@pytest.mark.parametrize(
    'function',
    [teams.carry_bar, teams.carry_triangle, teams.carry_others, teams.slip, plate.carry_plate],
    ids=lambda function: function.__name__,
)
def test_studies_of_teams_pass(function):
    """Fast counterpart: the bar, above."""
    result = run_study(Study('tanner-1998/test', '', function))
    assert result.error == ''
    assert [claim.claim for claim in result.claims if not claim.passed] == []
    assert len(result.claims) >= 4
