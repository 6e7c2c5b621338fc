"""Points of shapes, and search of mesh files."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.common.share import find_mesh, folders_above
from dyn_nodes.model.shapes import Shapes


def lowest(points, radii) -> float:
    return float((points[:, 2] - radii).min())


def shapes_of(inside: str, **options) -> Shapes:
    return Shapes(f'<robot name="r"><link name="a">{inside}</link></robot>', **options)


@pytest.mark.parametrize(
    ('geometry', 'origin', 'expected'),
    [
        ('<box size="2 4 6"/>', '', -3.0),
        ('<box size="2 4 6"/>', '<origin xyz="0 0 1" rpy="1.5707963267948966 0 0"/>', -1.0),
        ('<sphere radius="0.5"/>', '<origin xyz="0 0 0.2"/>', -0.3),
        ('<cylinder radius="0.3" length="2"/>', '', -1.0),
        ('<cylinder radius="0.3" length="2"/>', '<origin rpy="1.5707963267948966 0 0"/>', -0.3),
    ],
)
def test_the_lowest_point_of_a_shape(geometry, origin, expected):
    shapes = shapes_of(f'<collision>{origin}<geometry>{geometry}</geometry></collision>')
    assert lowest(*shapes.points('a')) == pytest.approx(expected, abs=1e-12)


def test_visual_shapes_are_used_only_without_collision_shapes():
    box = '<{0}><geometry><box size="1 1 {1}"/></geometry></{0}>'
    both = shapes_of(box.format('visual', 4) + box.format('collision', 2))
    assert lowest(*both.points('a')) == -1.0
    assert lowest(*shapes_of(box.format('visual', 4)).points('a')) == -2.0
    points, radii = shapes_of('').points('a')
    assert points.shape == (0, 3)
    assert radii.shape == (0,)


def test_a_mesh_is_scaled_and_reduced_to_its_corners(tmp_path):
    trimesh = pytest.importorskip('trimesh')
    (tmp_path / 'robot_parts' / 'meshes').mkdir(parents=True)
    ball = trimesh.creation.icosphere(subdivisions=3, radius=100.0)
    ball.export(tmp_path / 'robot_parts' / 'meshes' / 'ball.stl')
    mesh = '<mesh filename="package://robot_parts/meshes/ball.stl" scale="0.001 0.001 0.002"/>'
    urdf = tmp_path / 'robot_parts' / 'urdf' / 'robot.urdf'
    shapes = shapes_of(f'<visual><geometry>{mesh}</geometry></visual>', directories=folders_above(urdf))
    points, radii = shapes.points('a')
    assert lowest(points, radii) == pytest.approx(-0.2, rel=1e-6)
    assert shapes.warnings == []
    np.testing.assert_allclose(np.linalg.norm(points * [1, 1, 0.5], axis=1), 0.1, rtol=1e-5)


def test_a_mesh_that_is_missing_or_broken_is_a_warning(tmp_path):
    (tmp_path / 'broken.stl').write_text('no mesh')
    for name, message in (('gone.stl', 'mesh not found: gone.stl'), ('broken.stl', 'link a: broken.stl: ')):
        mesh = f'<collision><geometry><mesh filename="{name}"/></geometry></collision>'
        shapes = shapes_of(mesh, directories=[tmp_path])
        assert len(shapes.points('a')[0]) == 0
        assert message in shapes.warnings[0]


def test_a_package_is_found_above_the_urdf_and_on_the_ros_paths(tmp_path, monkeypatch):
    mesh = tmp_path / 'share' / 'my_robot' / 'meshes' / 'a.stl'
    mesh.parent.mkdir(parents=True)
    mesh.touch()
    urdf = tmp_path / 'share' / 'my_robot' / 'urdf' / 'r.urdf'
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    monkeypatch.delenv('ROS_PACKAGE_PATH', raising=False)
    for reference in ('package://my_robot/meshes/a.stl', 'package:///my_robot/meshes/a.stl', f'file://{mesh}'):
        assert find_mesh(reference, folders_above(urdf)) == mesh
    assert find_mesh('package://my_robot/meshes/a.stl') is None
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'/nowhere:{tmp_path}')
    assert find_mesh('package://my_robot/meshes/a.stl') == mesh
