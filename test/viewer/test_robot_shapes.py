from __future__ import annotations

import importlib.metadata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from dyn_nodes.common.share import folders_above
from dyn_nodes.simulation.assembly import gravity_vector
from dyn_nodes.viewer.geometry import ground_rotation, roll_pitch, shortest_turn, yaw_of
from dyn_nodes.viewer.robot import RobotError, load_robot

ROOT = Path(__file__).resolve().parents[2]
URDF = (ROOT / 'urdf' / 'log_loader.urdf').read_text()
angle = st.floats(-1.2, 1.2)


@pytest.fixture(scope='module')
def robot():
    return load_robot(URDF)


def test_all_links_are_listed_parents_first(robot):
    assert robot.links == ('base_link', 'cabin_link', 'boom_link', 'stick_link', 'payload_link')
    assert robot.tip == 'payload_link'
    assert robot.warnings == []


def test_every_colour_of_a_link_is_one_mesh(robot):
    for link, shapes in robot.shapes.items():
        colours = [(shape.material, shape.rgba) for shape in shapes]
        assert len(colours) == len(set(colours)), link
    assert {'bark', 'wood'} <= {shape.material for shape in robot.shapes['payload_link']}
    assert sum(len(shapes) for shapes in robot.shapes.values()) < 40


def test_faces_refer_to_existing_vertices(robot):
    for shapes in robot.shapes.values():
        for shape in shapes:
            assert shape.faces.max() < len(shape.vertices)
            assert np.isfinite(shape.vertices).all()


@settings(max_examples=6)
@given(angle, angle, angle)
def test_poses_equal_yourdfpy(swing, boom, stick):
    import yourdfpy

    joints = {'swing_joint': swing, 'boom_joint': boom, 'stick_joint': stick}
    reference = _reference(yourdfpy)
    reference.update_cfg(joints)
    for link, (position, rotation) in load_robot_once().poses(joints).items():
        expected = reference.get_transform(link, 'base_link')
        assert position == pytest.approx(expected[:3, 3], abs=1e-7)  # the reference rounds its rotations
        assert rotation.as_matrix() == pytest.approx(expected[:3, :3], abs=1e-7)


_cache: dict = {}


def load_robot_once():
    return _cache.setdefault('robot', load_robot(URDF))


def _reference(yourdfpy):
    if 'reference' not in _cache:
        _cache['reference'] = yourdfpy.URDF.load(str(ROOT / 'urdf' / 'log_loader.urdf'), load_meshes=False)
    return _cache['reference']


def test_a_mimic_joint_follows():
    text = """<robot name="r"><link name="a"/><link name="b"/><link name="c"/>
      <joint name="j" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="0 0 2"/>
        <limit lower="0" upper="1" effort="1" velocity="1"/></joint>
      <joint name="k" type="revolute"><parent link="b"/><child link="c"/><axis xyz="0 0 1"/>
        <mimic joint="j" multiplier="2" offset="0.1"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
      </robot>"""
    poses = load_robot(text).poses({'j': 0.5})
    assert poses['b'][0] == pytest.approx([0.0, 0.0, 0.5])
    assert poses['c'][1].as_rotvec() == pytest.approx([0.0, 0.0, 1.1])


def test_a_missing_mesh_is_reported_and_the_rest_is_shown():
    text = """<robot name="r"><link name="a">
      <visual><geometry><mesh filename="package://nowhere/a.stl"/></geometry></visual>
      <visual><geometry><sphere radius="0.5"/></geometry></visual></link></robot>"""
    robot = load_robot(text)
    assert robot.warnings == ["link 'a': mesh not found: package://nowhere/a.stl"]
    assert np.linalg.norm(robot.shapes['a'][0].vertices, axis=1) == pytest.approx(0.5)


def test_meshes_are_found_below_the_given_directories(tmp_path):
    import trimesh

    (tmp_path / 'parts' / 'meshes').mkdir(parents=True)
    trimesh.creation.box(extents=(2.0, 4.0, 6.0)).export(tmp_path / 'parts' / 'meshes' / 'box.stl')
    text = """<robot name="r"><link name="a"><visual><origin xyz="1 0 0"/>
      <geometry><mesh filename="package://parts/meshes/box.stl" scale="0.5 0.5 0.5"/></geometry></visual></link>
      </robot>"""
    robot = load_robot(text, [tmp_path])
    assert robot.warnings == []
    assert robot.shapes['a'][0].vertices.min(axis=0) == pytest.approx([0.5, -1.0, -1.5])
    assert robot.shapes['a'][0].vertices.max(axis=0) == pytest.approx([1.5, 1.0, 1.5])


@pytest.mark.parametrize(
    'text',
    ['', 'no xml', '<robot name="r"/>', '<robot name="r"><link name="a"/><link name="b"/></robot>'],
)
def test_an_invalid_robot_is_an_error_with_a_reason(text):
    with pytest.raises(RobotError, match='robot description'):
        load_robot(text)


@given(angle, angle)
def test_the_tilted_ground_makes_gravity_point_straight_down(roll, pitch):
    turned = ground_rotation(roll, pitch).apply(gravity_vector(9.81, (roll, pitch)))
    assert turned == pytest.approx([0.0, 0.0, -9.81], abs=1e-9)


@given(st.floats(-3.0, 3.0), angle, angle)
def test_heading_roll_and_pitch_survive_a_round_trip(yaw, pitch, roll):
    quaternion = Rotation.from_euler('ZYX', (yaw, pitch, roll)).as_quat()
    assert roll_pitch(quaternion) == pytest.approx((roll, pitch), abs=1e-9)
    assert yaw_of(quaternion) == pytest.approx(yaw, abs=1e-9)


def test_the_shortest_turn_also_turns_round():
    down = np.array([0.0, 0.0, -1.0])
    assert shortest_turn(-down, down).apply(-down) == pytest.approx(down)
    assert shortest_turn(down, down).magnitude() == 0.0


@pytest.mark.parametrize('name', ['ur_description/urdf/ur10_robot.urdf', 'tiago_description/robots/tiago.urdf'])
def test_published_robots_are_shown_with_their_meshes(name):
    try:
        files = importlib.metadata.files('example-robot-data') or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip('needs the package example-robot-data')
    urdf = next(Path(str(f.locate())).resolve() for f in files if str(f).endswith(name))
    robot = load_robot(urdf.read_text(), folders_above(urdf))
    assert robot.warnings == []
    assert sum(len(shape.faces) for shapes in robot.shapes.values() for shape in shapes) > 10_000
    assert all(len(shape.rgba) == 4 for shapes in robot.shapes.values() for shape in shapes)
