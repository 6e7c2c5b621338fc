"""Two RM-1 with a bar and three with a triangle: numbers of tanner-1998, sections 6.8 and 6.9, and statement S9."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.stability import admissible_reactions
from dyn_nodes.studies.framework import Study, run_study
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.tanner_1998 import objects
from dyn_nodes.studies.tanner_1998.robot import WHEELS
from dyn_nodes.studies.tanner_1998.team import BAR, TRIANGLE, Team, facing
from dyn_nodes.studies.tanner_1998.vehicle import rm_1
from dyn_nodes.teams.deformable.augmented import augmented_object, saddle_point

PAIR, TRIO = Team(BAR), Team(TRIANGLE)
PAIR_START = facing(BAR, [(0.3, 0.2, (0.1, 0.2, -0.1)), (-0.3, 0.1, (-0.2, 0.1, 0.15))])
TRIO_START = facing(
    TRIANGLE,
    [(0.2, 0.1, (0.1, 0.2, -0.1)), (-0.1, 0.2, (-0.2, 0.1, 0.15)), (0.15, -0.1, (0.05, -0.1, 0.1))],
)


def efforts(*pairs):
    return [rm_1().efforts(joints, drives) for joints, drives in pairs]


@pytest.fixture(scope='module')
def pair():
    members = PAIR.members(PAIR_START, efforts(((0.5, 20, 4), (1, 1.5)), ((-0.3, 19, 5), (-1, -1.2))))
    return members, PAIR.solve(members)


@pytest.fixture(scope='module')
def trio():
    torques = efforts(((0.5, 20, 4), (1, 1.5)), ((-0.3, 19, 5), (-1, -1.2)), ((0.2, 18, 4.5), (0.5, 0.2)))
    members = TRIO.members(TRIO_START, torques)
    return members, TRIO.solve(members)


def test_accelerations_and_grasp_forces_of_two_robots_with_a_bar(pair):
    members, held = pair
    assert PAIR_START[:, :3] == pytest.approx(np.array([(-1.0645020172, 0, 0), (1.0645020172, 0, np.pi)]), abs=1e-10)
    velocity = np.concatenate([one.velocity for one in members])
    rates, accelerations, forces = tabulated('tanner-1998/6.8/instant')
    assert velocity == pytest.approx(rates, abs=1e-9)
    assert held.acceleration == pytest.approx(accelerations, rel=1e-7)
    assert held.force.ravel() == pytest.approx(forces, rel=1e-7)


def test_apparent_mass_of_the_hands(pair):
    for member, sign in zip(pair[0], (1.0, -1.0)):
        J, M = member.hand.jacobian, member.hand.inertia
        apparent = np.linalg.inv(J @ np.linalg.solve(M, J.T))
        (ahead, across, aside, up), _ = tabulated('tanner-1998/6.8/apparent')
        across *= sign
        expected = [(ahead, 0, across), (0, aside, 0), (across, 0, up)]
        assert apparent == pytest.approx(np.array(expected), abs=1e-8)


def test_grasp_forces_added_as_printed_are_counted_twice(pair):
    members, held = pair
    mass = np.kron(BAR.mass.toarray(), np.eye(3))
    load = held.force.ravel() - mass @ held.acceleration
    hands = [one.hand for one in members]
    assert augmented_object(hands, mass, load).acceleration == pytest.approx(held.acceleration, rel=1e-12)
    twice = augmented_object(hands, mass, load - held.force.ravel())
    assert twice.acceleration == pytest.approx(tabulated('tanner-1998/6.8/printed'), rel=1e-7)


@pytest.mark.pins('tanner-1998/3.1/S9', 'tanner-1998/6.8/saddle', 'tanner-1998/6.9/saddle')
def test_the_augmented_object_is_the_solution_of_all_equations_at_once(pair, trio):
    for team, (members, held) in ((PAIR, pair), (TRIO, trio)):
        other = team.solve(members, at_once=True)
        assert other.acceleration == pytest.approx(held.acceleration, abs=1e-10)
        assert other.force == pytest.approx(held.force, abs=1e-10)
        for mine, theirs in zip(held.speed_rates, other.speed_rates):
            assert mine == pytest.approx(theirs, abs=1e-10)


def test_an_object_with_free_nodes_is_augmented_as_all_equations_at_once(pair):
    random = np.random.default_rng(5)
    root = random.normal(size=(10, 10))
    mass, load = root @ root.T + np.eye(10), random.normal(size=10)
    hands = [one.hand for one in pair[0]]
    mine, theirs = augmented_object(hands, mass, load), saddle_point(hands, mass, load)
    assert mine.acceleration == pytest.approx(theirs.acceleration, abs=1e-10)
    assert mine.force == pytest.approx(theirs.force, abs=1e-10)


@pytest.mark.pins('tanner-1998/6.8/momentum')
def test_momentum_of_the_whole_team_changes_by_ground_reactions_and_weight(pair, trio):
    for team, (members, held) in ((PAIR, pair), (TRIO, trio)):
        left = team.balance(members, held)
        assert np.abs(left.force).max() < 1e-8
        assert np.abs(left.moment).max() < 1e-8
        other = held._replace(force=held.force + 1.0)
        assert np.abs(team.balance(members, other).force).max() > 0.1, (
            'a force that does not act on the object is detected'
        )


def test_ground_reactions_of_both_robots(pair):
    members, held = pair
    left, right, castor, *others = tabulated('tanner-1998/6.8/ground')
    expected = ((left, right, (0, 0, castor)), (*others[:2], (0, 0, others[2])))
    for one, rates, pull, drives, wheels in zip(
        members, held.speed_rates, held.force, ((10, 15, 0), (-10, -12, 0)), expected
    ):
        load = PAIR.ground_load(one, rates, pull)
        reaction = admissible_reactions(
            WHEELS, np.zeros(3), load[:3], load[3:], friction=(0.7, 0.7, 0.0), traction=drives, ranges=False
        )
        assert reaction.split == pytest.approx(np.array(wheels), abs=1e-6)
        assert reaction.possible


def test_accelerations_and_grasp_forces_of_three_robots_with_a_triangle(trio):
    _, held = trio
    assert np.linalg.norm(TRIO_START[:, :2], axis=1) == pytest.approx(1.110912178671609, abs=1e-12)
    accelerations, forces = tabulated('tanner-1998/6.9/instant')
    assert held.acceleration == pytest.approx(accelerations, rel=1e-7)
    assert held.force.ravel() == pytest.approx(forces, rel=1e-7)


@pytest.mark.pins('tanner-1998/6.9/static')
def test_three_robots_hold_the_triangle_still():
    start = facing(TRIANGLE, [(0.0, 0.0, (0, 0, 0))] * 3)
    members = TRIO.members(start, efforts(*[((0, 21.164318861, 5.295095791), (0, 0))] * 3))
    held = TRIO.solve(members)
    assert held.acceleration == pytest.approx(0.0, abs=1e-8)
    assert held.force == pytest.approx(np.tile([0.0, 0.0, 3.924], (3, 1)), abs=1e-8)


@pytest.mark.parametrize('name', ['e9', 'e10', 'e11'])
def test_studies_of_objects_pass(name):
    result = run_study(Study(f'tanner-1998/{name}', '', getattr(objects, name)))
    assert [claim.claim for claim in result.claims if not claim.passed] == []
    assert len(result.claims) > 8
