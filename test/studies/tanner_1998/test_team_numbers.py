"""Two RM-1 with a bar and three with a triangle: numbers of tanner-1998, sections 6.8 and 6.9, and statement S9."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.stability import admissible_reactions
from dyn_nodes.studies.framework import Study, run_study
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


@pytest.mark.pins('tanner-1998/6.8/instant')
def test_accelerations_and_grasp_forces_of_two_robots_with_a_bar(pair):
    members, held = pair
    assert PAIR_START[:, :3] == pytest.approx(np.array([(-1.0645020172, 0, 0), (1.0645020172, 0, np.pi)]), abs=1e-10)
    velocity = np.concatenate([one.velocity for one in members])
    expected = (0.265171809, 0.249350605, 0.099463626, 0.296727681, 0.041450202, 0.116605367)
    assert velocity == pytest.approx(expected, abs=1e-9)
    expected = (-1.921512389, 0.306426258, -4.096938188, -0.362122888, 0.169388780, -1.470950643)
    assert held.acceleration == pytest.approx(expected, rel=1e-7)
    expected = (-1.051402010, 0.156448259, 3.953034596, -0.318779156, 0.129040764, 4.478232105)
    assert held.force.ravel() == pytest.approx(expected, rel=1e-7)


@pytest.mark.pins('tanner-1998/6.8/apparent')
def test_apparent_mass_of_the_hands(pair):
    for member, sign in zip(pair[0], (1.0, -1.0)):
        J, M = member.hand.jacobian, member.hand.inertia
        apparent = np.linalg.inv(J @ np.linalg.solve(M, J.T))
        across = -sign * 1.498384636
        expected = [(4.728297974, 0, across), (0, 1.806207589, 0), (across, 0, 1.386737311)]
        assert apparent == pytest.approx(np.array(expected), abs=1e-8)


@pytest.mark.pins('tanner-1998/6.8/printed')
def test_grasp_forces_added_as_printed_are_counted_twice(pair):
    members, held = pair
    mass = np.kron(BAR.mass.toarray(), np.eye(3))
    load = held.force.ravel() - mass @ held.acceleration
    hands = [one.hand for one in members]
    assert augmented_object(hands, mass, load).acceleration == pytest.approx(held.acceleration, rel=1e-12)
    printed = (-1.419311198, 0.372580371, -1.807121403, -1.341188243, 0.221881547, 1.600169660)
    twice = augmented_object(hands, mass, load - held.force.ravel())
    assert twice.acceleration == pytest.approx(printed, rel=1e-7)


@pytest.mark.pins('tanner-1998/3.1/S9', 'tanner-1998/6.8/saddle', 'tanner-1998/6.9/saddle')
def test_the_augmented_object_is_the_solution_of_all_equations_at_once(pair, trio):
    for team, (members, held) in ((PAIR, pair), (TRIO, trio)):
        other = team.solve(members, at_once=True)
        assert other.acceleration == pytest.approx(held.acceleration, abs=1e-10)
        assert other.force == pytest.approx(held.force, abs=1e-10)
        for mine, theirs in zip(held.speed_rates, other.speed_rates):
            assert mine == pytest.approx(theirs, abs=1e-10)


def test_an_object_with_nodes_of_its_own_is_augmented_as_all_equations_at_once(pair):
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
        assert np.abs(team.balance(members, other).force).max() > 0.1, 'a pull that the object does not feel is seen'


@pytest.mark.pins('tanner-1998/6.8/ground')
def test_ground_reactions_of_both_robots(pair):
    members, held = pair
    expected = (
        ((10, 2.692928664, 227.659659257), (15, 2.692928664, 235.761223108), (0, 0, 279.461018642)),
        ((-10, -1.176306378, 219.749734565), (-12, -1.176306378, 215.980220699), (0, 0, 303.665783727)),
    )
    for one, rates, pull, drives, wheels in zip(
        members, held.speed_rates, held.force, ((10, 15, 0), (-10, -12, 0)), expected
    ):
        load = PAIR.ground_load(one, rates, pull)
        found = admissible_reactions(
            WHEELS, np.zeros(3), load[:3], load[3:], friction=(0.7, 0.7, 0.0), traction=drives, ranges=False
        )
        assert found.split == pytest.approx(np.array(wheels), abs=1e-6)
        assert found.possible


@pytest.mark.pins('tanner-1998/6.9/instant')
def test_accelerations_and_grasp_forces_of_three_robots_with_a_triangle(trio):
    _, held = trio
    assert np.linalg.norm(TRIO_START[:, :2], axis=1) == pytest.approx(1.110912178671609, abs=1e-12)
    expected = (
        2.127008301, 0.046117443, -3.528402794, 0.146190108, -0.760392901, -0.337340066, -0.526329037, 0.336003568,
        -2.171070793,
    )  # fmt: skip
    assert held.acceleration == pytest.approx(expected, rel=1e-7)
    expected = (
        -0.864196665, -0.806485002, 2.815865198, 0.164139384, -0.234274692, 3.454077743, 1.398805030, 0.889450938,
        3.087331598,
    )  # fmt: skip
    assert held.force.ravel() == pytest.approx(expected, rel=1e-7)


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
