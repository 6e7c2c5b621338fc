"""Conservative, normalized-energy and moment-height margins, batches of all measures, and force-angle by hand."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from draws import reached, reaches
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from dyn_nodes.measures import MEASURES
from dyn_nodes.stability import (
    Support,
    all_measures,
    conservative_margin,
    energy_level,
    force_angle,
    margins,
    moment_height,
    net_moment,
    normalized_energy,
    static_margin,
    support_order,
)

SEEDS = st.integers(0, 2**32 - 1)
PENTAGON = np.array([(-np.sin(a), np.cos(a), 0.0) for a in 2 * np.pi / 5 * np.arange(5)])
SQUARE = np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], dtype=float)


def random_feet(rng, least=3, most=8):
    while True:
        points = rng.normal(size=(int(rng.integers(least, most + 1)), 3)) * (2, 2, 0.3)
        order = support_order(points)
        if len(order) >= least:
            return points[order]


# ---------------------------------------------------------------------------------------------- conservative


@pytest.mark.pins('abo-shanab-2003/6.4/pentagon_conservative')
def test_conservative_margin_of_the_pentagon():
    at_centre, aside = conservative_margin(PENTAGON, (0, 0, 1)), conservative_margin(PENTAGON, (0.2, 0.1, 1))
    assert at_centre.value == pytest.approx(0.309017, abs=5e-7)
    assert aside.value == pytest.approx(0.087904, abs=5e-7)
    assert at_centre.valid
    assert aside.valid
    assert static_margin(PENTAGON, (0, 0, 1)).value == pytest.approx(0.809017, abs=5e-7)
    assert static_margin(PENTAGON, (0.2, 0.1, 1)).value == pytest.approx(0.610558, abs=5e-7)


@pytest.mark.pins('abo-shanab-2003/6.4/square_conservative')
def test_conservative_margin_of_a_square_is_not_defined():
    result = conservative_margin(SQUARE, (0, 0, 1))
    assert np.isnan(result.value)
    assert not result.valid
    assert not margins(Support(SQUARE, (0, 0, 1), (0, 0, -9), (0, 0, 0), 1.0))['conservative'].valid


@reaches(inside=3, outside=4)
@given(SEEDS)
@settings(max_examples=60)
def test_conservative_margin_is_the_distance_to_the_intersection_of_all_hulls(seed):
    rng = np.random.default_rng(seed)
    feet = random_feet(rng, least=5)
    com = rng.normal(size=3)
    # the definition, independent of the order of the feet: half-planes of the hulls of all subsets without one foot
    halves = [ConvexHull(feet[list(kept), :2]).equations for kept in combinations(range(len(feet)), len(feet) - 1)]
    distances = -(np.vstack(halves) @ (*com[:2], 1.0))
    reached('inside', distances.min() > 0.0)
    reached('outside', distances.min() < 0.0)
    assert conservative_margin(feet, com).value == pytest.approx(distances.min(), abs=1e-9)


# ---------------------------------------------------------------------------------------------- normalized energy


@given(SEEDS)
@settings(max_examples=60)
def test_normalized_energy_of_a_stable_machine_is_the_energy_level_over_the_weight(seed):
    rng = np.random.default_rng(seed)
    feet, com = random_feet(rng), rng.normal(size=3) * 0.5 + (0, 0, 1.5)
    levels, rises = energy_level(feet, com, 40.0), normalized_energy(feet, com)
    inside = static_margin(feet, com).edges > 1e-3
    np.testing.assert_allclose(rises.edges[inside], levels.edges[inside] / (40.0 * 9.81), rtol=1e-7, atol=1e-12)


@reaches(inside=4, outside=4)
@given(SEEDS)
@settings(max_examples=60)
def test_normalized_energy_has_the_sign_of_the_static_margin(seed):
    rng = np.random.default_rng(seed)
    feet, com = random_feet(rng), rng.normal(size=3) * 2 + (0, 0, 1.5)
    distances = static_margin(feet, com).edges
    assume(np.abs(distances).min() > 1e-6)
    reached('inside', distances.min() > 0.0)
    reached('outside', distances.min() < 0.0)
    assert (np.sign(normalized_energy(feet, com).edges) == np.sign(distances)).all()


def test_normalized_energy_beyond_an_edge_is_the_drop_of_the_centre_of_mass():
    # 3-4-5: on the circle of radius 5 about the front edge, 3 m beyond it, the centre of mass has fallen from 5 to 4 m
    assert normalized_energy(SQUARE, (4.0, 0.0, 4.0)).edges[1] == pytest.approx(-1.0, rel=1e-12)
    assert normalized_energy(SQUARE, (-2.0, 0.0, 4.0)).edges[1] == pytest.approx(1.0, rel=1e-12)


def test_normalized_energy_near_the_edge_keeps_its_digits():
    assert normalized_energy(SQUARE, (1.0 - 1e-9, 0.0, 2.0)).edges[1] == pytest.approx(1e-18 / 4, rel=1e-6)


# ---------------------------------------------------------------------------------------------- moment-height


def test_moment_height_of_a_cube_by_hand():
    # a cube of 2 m and 3 kg: 2/3 m a^2 = 8 kg m2 about an edge, moment m g 1 m, height 1 m
    inertia = 3.0 * 4.0 / 6.0 * np.eye(3)
    cube = moment_height(SQUARE, (0, 0, 1.0), (0, 0, -3 * 9.81), mass=3.0, inertia=inertia)
    np.testing.assert_allclose(cube.inertias, 8.0, rtol=1e-12)
    assert cube.height == pytest.approx(1.0)
    np.testing.assert_allclose(cube.edges, 3 * 9.81 * 8.0, rtol=1e-12)
    point = moment_height(SQUARE, (0, 0, 1.0), (0, 0, -3 * 9.81), mass=3.0)
    np.testing.assert_allclose(point.edges, 3 * 9.81 * 6.0, rtol=1e-12)


def test_moment_height_while_tipping_divides_by_inertia_over_height():
    # pushed forward with twice its weight at 1 m: moment about the front edge m g (1 - 2)
    result = moment_height(SQUARE, (0, 0, 1.0), (6 * 9.81, 0, -3 * 9.81), mass=3.0, inertia=2.0 * np.eye(3))
    assert result.edges[1] == pytest.approx(-3 * 9.81 / 8.0, rel=1e-12)
    assert result.value == result.edges[1]


@reaches(tips=2, stands=4, steadier=4)
@given(SEEDS, st.floats(1.05, 3))
@settings(max_examples=60)
def test_more_inertia_is_never_less_safe_and_tipping_keeps_its_sign(seed, factor):
    rng = np.random.default_rng(seed)
    feet, com = random_feet(rng), np.array((0, 0, 3.0)) + rng.normal(size=3)
    force, moment = rng.normal(size=3) * 60 + (0, 0, -150), rng.normal(size=3) * 40
    spread = rng.normal(size=(3, 3))
    tensor = spread @ spread.T + 0.1 * np.eye(3)
    light = moment_height(feet, com, force, moment, mass=15.0, inertia=tensor)
    heavy = moment_height(feet, com, force, moment, mass=15.0, inertia=factor * tensor)
    assume(light.valid)
    reached('tips', light.value < 0.0)
    reached('stands', light.value > 0.0)
    reached('steadier', (heavy.edges > light.edges).any())
    assert (heavy.edges >= light.edges).all()
    np.testing.assert_array_equal(np.sign(light.edges), np.sign(net_moment(feet, com, force, moment).edges))


def test_moment_height_below_the_feet_is_not_valid():
    result = moment_height(SQUARE, (0, 0, -0.5), (0, 0, -9.81), mass=1.0)
    assert not result.valid
    assert not result.value > 0


# ---------------------------------------------------------------------------------------------- force-angle by hand


@pytest.mark.parametrize('height', [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize('slope', [0.0, 0.1, -0.2])
def test_force_angle_of_a_planar_body_on_a_slope(height, slope):
    """The planar example of Papadopoulos and Rey: half width b, height h; the angle is measured by plane trigonometry.

    The line from the centre of mass to the front edge is atan(b / h) ahead of the normal, gravity `slope` ahead of it:
    theta = atan(b / h) - slope, |d| = hypot(b, h) sin(theta), beta = theta |d| m g. Higher means less stable.
    """
    b, weight = 1.0, 500.0
    result = force_angle(SQUARE * (b, 5.0, 1.0), (0, 0, height), (weight * np.sin(slope), 0, -weight * np.cos(slope)))
    for edge, angle in ((1, np.arctan2(b, height) - slope), (3, np.arctan2(b, height) + slope)):
        arm = np.hypot(b, height) * np.sin(angle)
        assert result.angles[edge] == pytest.approx(angle, rel=1e-12, abs=1e-15)
        assert result.edges[edge] == pytest.approx(angle * arm * weight, rel=1e-12)


def test_force_angle_of_a_pushed_planar_body():
    """A horizontal force f at the centre of mass: tipping starts at f h = m g b with any definition of the angle."""
    b, h, weight = 1.0, 2.0, 500.0
    feet = SQUARE * (b, 5.0, 1.0)
    for push in (0.0, 100.0, 249.0, 251.0, 400.0):
        theta = np.arctan2(b, h) - np.arctan2(push, weight)
        size = np.hypot(push, weight)
        edge = force_angle(feet, (0, 0, h), (push, 0, -weight)).edges[1]
        assert edge == pytest.approx(theta * abs(np.hypot(b, h) * np.sin(theta)) * size, rel=1e-9)
        assert (edge > 0) == (push * h < weight * b)


def test_force_angle_counts_a_couple_as_a_force_across_the_line_to_the_edge():
    """An overturning couple about the front edge adds n / |l| across l, away from the ground: by components."""
    b, h, weight, couple = 1.0, 2.0, 500.0, 150.0
    length = np.hypot(b, h)
    across = np.array((h, b)) / length  # in (x, z): across (b, -h), turned so that it overturns
    force = np.array((0.0, -weight)) + couple / length * across
    line = np.array((b, -h)) / length
    theta = np.arctan2(force[0] * line[1] - force[1] * line[0], force @ line)
    result = force_angle(SQUARE * (b, 5.0, 1.0), (0, 0, h), (0, 0, -weight), (0, couple, 0))
    assert result.angles[1] == pytest.approx(abs(theta), rel=1e-12)
    assert result.angles[1] < np.arctan2(b, h)


# ---------------------------------------------------------------------------------------------- all of them


def random_states(count, seed=0, n=4):
    rng = np.random.default_rng(seed)
    angles = np.sort(rng.uniform(0, 2 * np.pi, (count, n)) * 0.05 + 2 * np.pi / n * np.arange(n), axis=1)
    feet = np.stack([2 * np.cos(angles), np.sin(angles), 0.1 * rng.normal(size=angles.shape)], axis=-1)
    spread = rng.normal(size=(count, 3, 3))
    return {
        'feet': feet,
        'com': rng.normal(size=(count, 3)) * 0.3 + (0, 0, 1.5),
        'force': rng.normal(size=(count, 3)) * 30 + (0, 0, -150),
        'moment': rng.normal(size=(count, 3)) * 20,
        'mass': rng.uniform(10, 20, count),
        'inertia': spread @ np.swapaxes(spread, 1, 2),
        'normal_loads': rng.uniform(0, 50, (count, n)),
    }


@pytest.mark.parametrize('n', [4, 5])
def test_a_batch_of_all_measures_is_the_measures_one_by_one(n):
    states = random_states(50, n=n)
    batch = all_measures(**states)
    assert list(batch) == list(MEASURES)
    for k in range(50):
        single = margins(Support(**{name: values[k] for name, values in states.items()}))
        for name, margin in single.items():
            np.testing.assert_array_equal(batch[name].edges[k], margin.edges, err_msg=name)
            np.testing.assert_array_equal(batch[name].value[k], margin.value, err_msg=name)
            assert batch[name].valid[k] == margin.valid
            assert batch[name].unit == margin.unit


def test_threads_and_pieces_do_not_change_a_bit():
    states = random_states(40_000)
    one, two = all_measures(**states, threads=1), all_measures(**states, threads=2)
    for name in one:
        np.testing.assert_array_equal(one[name].edges, two[name].edges, err_msg=name)
        np.testing.assert_array_equal(one[name].value, two[name].value, err_msg=name)


def test_a_batch_takes_shared_inputs_and_some_measures():
    states = random_states(30)
    batch = all_measures(SQUARE, states['com'], (0, 0, -150.0), mass=15.0, names=('zmp', 'energy'))
    assert list(batch) == ['zmp', 'energy']
    assert batch['zmp'].value.shape == (30,)
    assert batch['energy'].edges.shape == (30, 4)


def test_faults_of_a_batch_name_the_state():
    states = random_states(40_000)
    states['feet'][33_333] = states['feet'][33_333][::-1]
    with pytest.raises(ValueError, match='feet in state 33333'):
        all_measures(**states)
    with pytest.raises(KeyError, match=r'unknown stability measure .tilt.*moment_height'):
        all_measures(**random_states(3), names=['tilt'])


@given(SEEDS)
@settings(max_examples=30)
def test_measures_do_not_depend_on_the_frame(seed):
    rng = np.random.default_rng(seed)
    states = random_states(1, seed=seed, n=int(rng.integers(4, 7)))
    turn, shift = Rotation.random(random_state=seed).as_matrix(), rng.normal(size=3) * 5
    turned = dict(states)
    for name in ('feet', 'com', 'force', 'moment'):
        turned[name] = states[name] @ turn.T + (shift if name in ('feet', 'com') else 0.0)
    turned['inertia'] = turn @ states['inertia'] @ turn.T
    here, there = all_measures(**states), all_measures(**turned, up=turn[:, 2], travel=turn[:, 0])
    for name in here:
        scale = np.nanmax(np.abs(np.append(here[name].edges, 1e-12)))
        np.testing.assert_allclose(there[name].edges, here[name].edges, rtol=1e-7, atol=1e-9 * scale, err_msg=name)
        assert there[name].valid == here[name].valid


@given(SEEDS, st.integers(1, 6))
@settings(max_examples=30)
def test_the_new_measures_do_not_depend_on_the_first_foot(seed, roll):
    states = random_states(1, seed=seed, n=6)
    rolled = {**states, 'feet': np.roll(states['feet'], -roll, axis=1)}
    here, there = all_measures(**states), all_measures(**rolled)
    for name in ('conservative', 'normalized_energy', 'moment_height'):
        expected = np.roll(here[name].edges, -roll, axis=1)
        np.testing.assert_allclose(there[name].edges, expected, rtol=1e-9, atol=1e-12, err_msg=name)


# ---------------------------------------------------------------------------------------------- cached kernels


PROBE = (
    'from dyn_nodes.stability import static_margin as s; print(s([(0,0,0),(1,0,0),(1,1,0),(0,1,0)], (.2,.5,1)).value)'
)


def test_a_cached_kernel_is_rebuilt_after_a_change_of_a_helper(tmp_path):
    """Edit a helper in another file than the kernel's and keep its time stamp: the next process must use the edit."""
    import dyn_nodes

    package = tmp_path / 'dyn_nodes'
    (package / 'stability').mkdir(parents=True)
    source = Path(dyn_nodes.__file__).parent
    shutil.copy(source / '__init__.py', package)
    for path in (source / 'stability').glob('*.py'):
        shutil.copy2(path, package / 'stability')
    environment = {**os.environ, 'DYN_NODES_CACHE': str(tmp_path / 'cache'), 'PYTHONPATH': str(tmp_path)}

    def probe():
        done = subprocess.run(
            [sys.executable, '-c', PROBE], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return float(done.stdout)

    assert probe() == pytest.approx(0.2)
    cached = sorted(path.name for path in (tmp_path / 'cache').rglob('*.nbi'))
    assert any('static_margin_kernel' in name for name in cached)
    helper = package / 'stability' / '_states.py'
    text, stamp = helper.read_text(), helper.stat()
    assert '        if value < smallest:\n            smallest = value\n' in text
    helper.write_text(text.replace('            smallest = value\n', '            smallest = -value\n'))
    os.utime(helper, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert probe() == pytest.approx(-0.2)
