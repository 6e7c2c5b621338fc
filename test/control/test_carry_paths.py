"""Paths, formations and speeds of teams: derivatives, squeezed objects, and profiles with closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.control.carry.formation import carried, compressed, inward
from dyn_nodes.control.carry.pace import Halfplanes, braked, fastest
from dyn_nodes.control.carry.paths import between, figure_of_eight, moved, straight
from dyn_nodes.teams.deformable.lattice import Lattice, chain

CORNERS = np.array([(1.0, 0.0, 0.0), (-0.5, 0.8, 0.0), (-0.5, -0.8, 0.1)])
TRIANGLE = Lattice(
    CORNERS, np.array([(0, 1), (1, 2), (0, 2)]), np.full(3, 800.0), np.zeros(3), np.full(3, 0.5), np.zeros(3)
)


@pytest.mark.parametrize(
    'path',
    [
        figure_of_eight(2.0, 1.5),
        figure_of_eight(1.0, 3.0, heading=0.4),
        straight(2.0, 0.7),
        moved(figure_of_eight(2.0, 1.5), (3.0, -1.0), 2.0, 0.5),
        between((3.0, 1.0, 2.0), (-3.0, 0.0, 4.0)),
    ],
    ids=['eight', 'turned eight', 'straight', 'moved eight', 'between poses'],
)
def test_derivatives_of_paths_are_those_of_their_differences(path):
    s, h = np.linspace(0.05, 6.2, 40), 1e-5
    here, before, after = (path(s + d) for d in (0.0, -h, h))
    assert (after.pose - before.pose) / (2 * h) == pytest.approx(here.velocity, abs=1e-6)
    assert (after.velocity - before.velocity) / (2 * h) == pytest.approx(here.acceleration, abs=1e-6)


def test_a_figure_of_eight_comes_back_with_its_heading_and_never_jumps():
    result = figure_of_eight(2.0, 1.5)(np.linspace(0.0, 2.0 * np.pi, 400))
    assert result.pose[-1] == pytest.approx(result.pose[0], abs=1e-9)
    assert np.abs(np.diff(result.pose[:, 0])).max() < 0.1
    one = figure_of_eight(2.0, 1.5)([float(result.times[150])])
    assert one.pose[0] == pytest.approx(result.pose[150]), 'the heading of one parameter does not depend on others'


def test_a_path_that_is_moved_turns_about_its_origin():
    one, other = figure_of_eight(2.0, 1.5), moved(figure_of_eight(2.0, 1.5), (3.0, -1.0), 0.5 * np.pi, 0.25)
    s = np.linspace(0.0, 6.0, 9)
    assert other(s).pose[:, 1] == pytest.approx(3.0 - one(s).pose[:, 2])
    assert other(s).pose[:, 2] == pytest.approx(-1.0 + one(s).pose[:, 1])
    assert other(s).pose[:, 0] == pytest.approx(one(s).pose[:, 0] + 0.5 * np.pi + 0.25)


def test_between_two_poses_the_heading_turns_by_the_lesser_angle():
    way = between((3.0, 1.0, 2.0), (-3.0, 0.0, 4.0))([0.0, 1.0]).pose
    assert way[0] == pytest.approx((3.0, 1.0, 2.0))
    assert way[1] == pytest.approx((2.0 * np.pi - 3.0, 0.0, 4.0))
    with pytest.raises(ValueError, match='expected another pose than the one at the start'):
        between((0.0, 1.0, 2.0), (2.0 * np.pi, 1.0, 2.0))


def test_points_of_a_turning_body_have_its_accelerations():
    path, points, h = figure_of_eight(2.0, 1.5), np.array([(0.3, 0.1, 0.5), (-1.0, 0.0, 0.2)]), 1e-5
    here, before, after = (carried(path([1.0 + d]), points) for d in (0.0, -h, h))
    assert (after.position - before.position) / (2 * h) == pytest.approx(here.rate, abs=1e-6)
    assert (after.rate - before.rate) / (2 * h) == pytest.approx(here.change, abs=1e-6)


@pytest.mark.parametrize('load', [chain(0.6, 1, 1.2, 3000.0), TRIANGLE], ids=['bar', 'triangle'])
def test_hands_squeeze_an_object_by_forces_that_balance_each_other(load):
    forces = inward(load.nodes, 8.0)
    assert forces.sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-9)
    assert np.cross(load.nodes, forces).sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-9)
    assert np.linalg.norm(forces, axis=1).min() > 3.0
    moved = compressed(load, forces)
    assert load.forces(load.nodes + moved) == pytest.approx(forces, abs=1e-5)


def test_forces_that_no_rod_carries_are_rejected():
    across = np.array([(0.0, 1.0, 0.0), (0.0, -1.0, 0.0)])
    with pytest.raises(
        ValueError, match='expected internal forces that the rods of the object balance, found 1 N left'
    ):
        compressed(chain(0.6, 1, 1.2, 3000.0), across)


def limits(count, per_acceleration, per_square, rest):
    each = np.ones((count, 1))
    return Halfplanes(*(each * np.asarray(row, float) for row in (per_acceleration, per_square, rest)))


def test_bounded_acceleration_gives_half_the_path_to_braking():
    grid = np.linspace(0.0, 4.0, 401)
    result = fastest(grid, limits(401, (1.0, -1.0), (0.0, 0.0), (2.0, 2.0)))
    assert result.duration == pytest.approx(2.0 * np.sqrt(4.0 / 2.0), rel=1e-6)
    assert result.at(0.5 * result.duration)[0] == pytest.approx(2.0, abs=1e-2)
    assert result.at(0.0) == (0.0, 0.0, 0.0)
    assert result.at(result.duration + 1.0) == (4.0, 0.0, 0.0)


def test_each_speed_is_bounded_by_its_limit():
    grid = np.linspace(0.0, 4.0, 401)
    bounded = limits(401, (1.0, -1.0), (0.0, 0.0), (2.0, 2.0))
    result = fastest(grid, bounded + Halfplanes.of_speeds(np.tile((2.0, 5.0), (401, 1)), (1.5, np.inf)))
    assert result.speeds.max() == pytest.approx(0.75)


@pytest.mark.parametrize('time', [0.1, 1.0, 1.3, 2.5])
def test_braking_with_a_bounded_deceleration_is_parabolic(time):
    grid, bounded = np.linspace(0.0, 4.0, 401), limits(401, (1.0, -1.0), (0.0, 0.0), (2.0, 2.0))
    profile = fastest(grid, bounded)
    s, speed, _ = profile.at(time)
    result = braked(profile, bounded, time)
    assert result.at(0.0)[0] == pytest.approx(s)
    assert result.parameters[-1] - s == pytest.approx(0.5 * speed**2 / 2.0, rel=1e-6)
    assert result.duration == pytest.approx(0.5 * speed, rel=1e-6)


def test_braking_at_rest_stays_there():
    grid, bounded = np.linspace(0.0, 4.0, 401), limits(401, (1.0, -1.0), (0.0, 0.0), (2.0, 2.0))
    result = braked(fastest(grid, bounded), bounded, 99.0)
    assert result.at(0.0) == result.at(1.0) == (4.0, 0.0, 0.0)


def test_a_bend_is_anticipated_and_passed_at_its_limit():
    grid = np.linspace(0.0, 4.0, 401)
    tight = limits(401, (1.0, -1.0, 0.0), (0.0, 0.0, 0.0), (2.0, 2.0, 1.0))
    tight.per_square[(grid > 1.9) & (grid < 2.1), 2] = 4.0
    result = fastest(grid, tight)
    inside = (grid > 1.9) & (grid < 2.1)
    assert result.speeds[inside] == pytest.approx(np.full(inside.sum(), 0.5), rel=1e-6)
    before = result.speeds[grid < 1.9] ** 2
    reach = 0.25 + 2.0 * 2.0 * (1.91 - grid[grid < 1.9])
    assert np.all(before <= reach + 1e-6), 'it brakes in time, within its deceleration'
    assert before.max() > 2.0


def test_wheels_on_a_circle_keep_to_the_friction_circle():
    """A point of mass m on a circle: sqrt(a^2 + (b / r)^2) <= mu g, with a pyramid inside the cone."""
    mass, radius, mu, count = 3.0, 2.0, 0.5, 601
    weight = mass * 9.81
    grid = np.linspace(0.0, 6.0, count)
    still, faster, square = np.zeros((3, count, 1, 3))
    still[:, 0, 2], faster[:, 0, 0], square[:, 0, 1] = weight, mass, mass / radius
    result = fastest(grid, Halfplanes.of_wheels(still, faster, square, [mu], [1.0]))
    top = np.sqrt(mu * 9.81 * radius)
    assert 0.99 * top < result.speeds.max() <= top
    a = np.diff(result.speeds**2) / (2.0 * np.diff(grid))
    used = np.hypot(a, result.speeds[:-1] ** 2 / radius) / (mu * 9.81)
    assert used.max() <= 1.0 + 1e-9
    assert np.median(used) > 0.98, 'all of the friction is used'


def test_a_wheel_that_would_lift_bounds_the_acceleration():
    count, grid = 101, np.linspace(0.0, 1.0, 101)
    still, faster, square = np.zeros((3, count, 1, 3))
    still[:, 0, 2], faster[:, 0, 2] = 10.0, -4.0
    result = fastest(grid, Halfplanes.of_wheels(still, faster, square, [0.0], [2.0]), acceleration=5.0)
    assert np.diff(result.speeds**2).max() / (2.0 * 0.01) == pytest.approx(2.0, rel=1e-6)


def test_a_posture_that_cannot_be_held_is_named_by_its_parameter():
    bad = limits(11, (1.0,), (0.0,), (1.0,))
    bad.rest[4] = -0.5
    with pytest.raises(ValueError, match='expected a posture that can be held at rest, found none'):
        fastest(np.linspace(0.0, 1.0, 11), bad)
