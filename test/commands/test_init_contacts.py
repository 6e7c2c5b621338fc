"""Tests of the contacts of `dyn-nodes init` under wheels, feet and bases against analytic geometry."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from dyn_nodes.cli import main
from dyn_nodes.commands.init_contacts import LOSS, corners, half_width
from dyn_nodes.commands.machine_summary import static_summary
from dyn_nodes.model import load_machine

BODY = (
    '<link name="base"><inertial><origin xyz="{com} 0 0.5"/><mass value="100"/>'
    '<inertia ixx="9" iyy="9" izz="9" ixy="0" ixz="0" iyz="0"/></inertial>{shape}</link>'
)


def shape(geometry, z=0.0, rpy='0 0 0'):
    return f'<collision><origin xyz="0 0 {z}" rpy="{rpy}"/><geometry>{geometry}</geometry></collision>'


def foot(name, x, y, part, kind='fixed'):
    return (
        f'<link name="{name}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        f'</inertial>{part}</link><joint name="{name}_joint" type="{kind}"><origin xyz="{x} {y} 0"/>'
        f'<parent link="base"/><child link="{name}"/><axis xyz="0 1 0"/></joint>'
    )


def machine_of(folder, base='', parts='', com=0.0):
    urdf, config = folder / 'stand.urdf', folder / 'stand.yaml'
    urdf.write_text(f'<robot name="stand">{BODY.format(com=com, shape=base)}{parts}</robot>')
    assert main(['init', str(urdf), '-o', str(config), '--force']) == 0
    return load_machine(urdf, config)


def test_a_round_base_stands_on_a_ring_that_keeps_its_margin(tmp_path):
    """A disc of radius 0.5 m, its centre of mass 0.3 m off the middle: 0.2 m to the edge, 0.05 m in a square."""
    radius = 0.5
    machine = machine_of(tmp_path, shape(f'<cylinder radius="{radius}" length="0.2"/>'), com=0.3)
    assert len(machine.wheels) == 12
    feet = np.array([wheel.position[:2] for wheel in machine.wheels])
    assert np.linalg.norm(feet, axis=1) == pytest.approx(np.full(12, radius), abs=1e-6)
    inner = -ConvexHull(feet).equations[:, 2]
    assert inner.min() >= (1 - LOSS) * radius
    margin = static_summary(machine)['margins']['static']['value']
    assert 0.16 <= margin <= 0.2  # 0.183 m on level ground; it leans on its springs


def test_round_feet_reach_to_their_rims(tmp_path):
    """Pads of radius 0.3 m at three corners: their hull is the hull of the corners offset by 0.3 m."""
    positions = [(1.0, 0.0), (-0.5, 0.8), (-0.5, -0.8)]
    pad = shape('<cylinder radius="0.3" length="0.05"/>')
    machine = machine_of(tmp_path, parts=''.join(foot(f'foot_{k}', x, y, pad) for k, (x, y) in enumerate(positions)))
    owners = {wheel.link for wheel in machine.wheels}
    assert owners == {'foot_0', 'foot_1', 'foot_2'}
    middle = {f'foot_{k}': np.array(position) for k, position in enumerate(positions)}
    feet = np.array([middle[wheel.link] + wheel.position[:2] for wheel in machine.wheels])
    hull = ConvexHull(feet)
    for a, b, offset in hull.equations:
        normal = np.array([a, b])
        truth = max(float(np.array(position) @ normal) for position in positions) + 0.3
        least_half_width = 0.3 + 0.5 * 1.5
        assert truth - 2 * LOSS * least_half_width <= -offset <= truth + 1e-9


def test_small_feet_have_one_contact_each(tmp_path):
    pad = shape('<cylinder radius="0.01" length="0.05"/>')
    positions = [(0.5, 0.4), (0.5, -0.4), (-0.5, 0.4), (-0.5, -0.4)]
    machine = machine_of(tmp_path, parts=''.join(foot(f'foot_{k}', x, y, pad) for k, (x, y) in enumerate(positions)))
    assert [wheel.name for wheel in machine.wheels] == ['foot_0', 'foot_1', 'foot_2', 'foot_3']
    assert all(wheel.position[:2] == pytest.approx([0.0, 0.0], abs=1e-12) for wheel in machine.wheels)


@pytest.mark.parametrize(
    ('geometry', 'rpy'),
    [('<cylinder radius="0.2" length="0.1"/>', '1.5707963267948966 0 0'), ('<sphere radius="0.2"/>', '0 0 0')],
)
def test_a_wheel_has_one_contact_below_its_middle(tmp_path, geometry, rpy):
    wheel = shape(geometry, rpy=rpy)
    positions = [(0.5, 0.4), (0.5, -0.4), (-0.5, 0.4), (-0.5, -0.4)]
    parts = ''.join(foot(f'wheel_{k}', x, y, wheel, 'continuous') for k, (x, y) in enumerate(positions))
    machine = machine_of(tmp_path, parts=parts)
    assert [tuple(np.round(wheel.position[:2], 9)) for wheel in machine.wheels] == positions
    assert all(wheel.free_length == pytest.approx(0.2) for wheel in machine.wheels)


def test_a_box_stands_on_its_corners(tmp_path):
    machine = machine_of(tmp_path, shape('<box size="1 0.6 0.2"/>'))
    assert {wheel.name: tuple(wheel.position[:2]) for wheel in machine.wheels} == {
        'front_right': (0.5, -0.3),
        'front_left': (0.5, 0.3),
        'rear_right': (-0.5, -0.3),
        'rear_left': (-0.5, 0.3),
    }


@pytest.mark.parametrize(
    'base',
    [shape('<sphere radius="0.5"/>'), shape('<cylinder radius="0.5" length="1"/>', rpy='1.5707963267948966 0 0')],
)
def test_a_base_that_touches_in_a_point_or_line_does_not_stand(tmp_path, base):
    assert machine_of(tmp_path, base).base.attachment == 'fixed'


@pytest.mark.parametrize('tolerance', [0.01, 0.1, 0.3])
def test_corners_are_within_the_hull_and_its_tolerance(tolerance):
    rng = np.random.default_rng(3)
    for _ in range(20):
        points = rng.normal(size=(60, 2)) * rng.uniform(0.5, 3.0, 2)
        chosen = corners(points, tolerance)
        hull = ConvexHull(chosen)
        assert (points @ hull.equations[:, :2].T + hull.equations[:, 2]).max() <= tolerance + 1e-12
        assert all(np.abs(points - corner).sum(axis=1).min() == 0.0 for corner in chosen)
        turns = [np.cross([*(b - a), 0], [*(c - b), 0])[2] for (a, b), (_, c) in pairwise(pairwise([*chosen, *chosen]))]
        assert min(turns) > 0.0


def test_half_the_least_width_of_a_rectangle_and_of_a_line():
    box = np.array([[0, 0], [3, 0], [3, 1], [0, 1]], dtype=float)
    assert half_width(box) == pytest.approx(0.5)
    assert half_width(box[:2]) == 0.0


def test_a_fixed_base_without_joints_has_contacts_that_do_not_move(tmp_path):
    """A machine that tips over its contacts gets a fixed base; its wheels are then points of the world."""
    machine = machine_of(tmp_path, shape('<cylinder radius="0.5" length="0.2"/>'), com=0.6)
    assert machine.base.attachment == 'fixed'
    assert len(machine.wheels) == 12
