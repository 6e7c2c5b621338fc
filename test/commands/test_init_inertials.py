"""`dyn-nodes init --mass` and `--density`: inertials from shapes and meshes."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from dyn_nodes.cli import main
from dyn_nodes.model import load_machine

URDF = """<robot name="cart">
  <link name="base_link">
    <collision><origin xyz="0 0 0.5"/><geometry><mesh filename="base.stl" scale="2 1 0.5"/></geometry></collision>
  </link>
  <link name="mast">
    <inertial><mass value="10"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="ball">
    <visual>
      <origin xyz="0 0 0.3" rpy="0 1.5707963267948966 0"/><geometry><cylinder radius="0.1" length="0.6"/></geometry>
    </visual>
    <visual><origin xyz="0.5 0 0"/><geometry><sphere radius="0.1"/></geometry></visual>
  </link>
  <link name="frame"/>
  <joint name="slew" type="revolute">
    <parent link="base_link"/><child link="mast"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="9" velocity="1"/>
  </joint>
  <joint name="arm" type="revolute">
    <parent link="mast"/><child link="ball"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="9" velocity="1"/>
  </joint>
  <joint name="tip" type="fixed"><parent link="ball"/><child link="frame"/></joint>
</robot>
"""
BALL = 4 / 3 * np.pi * 1e-3
ROD = np.pi * 0.01 * 0.6


@pytest.fixture
def urdf(tmp_path):
    trimesh.creation.box((1.0, 1.0, 1.0)).export(tmp_path / 'base.stl')
    path = tmp_path / 'cart.urdf'
    path.write_text(URDF)
    return path


def links(path):
    return {link.name: link for link in load_machine(path).links}


def test_density_fills_links_without_inertial_from_meshes_and_shapes(urdf, tmp_path, capsys):
    assert main(['init', str(urdf), '--density', '100', '-o', str(tmp_path / 'full.yaml')]) == 0
    filled = links(tmp_path / 'full.urdf')
    assert filled['base_link'].mass == pytest.approx(100.0, rel=1e-6)  # a box of 2 x 1 x 0.5 m
    np.testing.assert_allclose(filled['base_link'].com, [0.0, 0.0, 0.5], atol=1e-6)
    expected = np.diag([1.0 + 0.25, 4.0 + 0.25, 4.0 + 1.0]) * 100.0 / 12.0
    np.testing.assert_allclose(filled['base_link'].inertia, expected, rtol=1e-6, atol=1e-6)
    assert filled['mast'].mass == 10.0
    assert filled['ball'].mass == pytest.approx(100.0 * (BALL + ROD), rel=1e-6)
    center = np.array([0.5 * BALL, 0.0, 0.3 * ROD]) / (BALL + ROD)
    np.testing.assert_allclose(filled['ball'].com, center, atol=1e-6)
    # about y: rod along x and ball, with their distances from the common centre
    about_y = ROD * ((3 * 0.01 + 0.36) / 12 + (center[0] ** 2 + (0.3 - center[2]) ** 2))
    about_y += BALL * (0.4 * 0.01 + (0.5 - center[0]) ** 2 + center[2] ** 2)
    assert filled['ball'].inertia[1, 1] == pytest.approx(100.0 * about_y, rel=1e-6)
    assert 'inertials of 2 links at 100 kg/m3' in capsys.readouterr().err
    assert urdf.read_text() == URDF


def test_mass_is_shared_by_volume(urdf, tmp_path):
    assert main(['init', str(urdf), '--mass', '510', '-o', str(tmp_path / 'full.yaml')]) == 0
    filled = links(tmp_path / 'full.urdf')
    assert sum(link.mass for link in filled.values()) == pytest.approx(510.0, rel=1e-6)
    assert filled['ball'].mass / filled['base_link'].mass == pytest.approx(BALL + ROD, rel=1e-6)


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['--mass', '8'], 'expected more than the 10 kg of the present inertials, found 8'),
        (['--mass', '50', '--density', '3'], 'not allowed with argument'),
        (['--density', '0'], 'expected'),
    ],
)
def test_wrong_masses_are_reported(urdf, tmp_path, capsys, arguments, message):
    assert main(['init', str(urdf), *arguments, '-o', str(tmp_path / 'full.yaml')]) in (1, 2)
    assert message in capsys.readouterr().err
    assert not (tmp_path / 'full.urdf').exists()


def test_a_missing_mesh_is_reported(urdf, tmp_path, capsys):
    (tmp_path / 'base.stl').unlink()
    assert main(['init', str(urdf), '--density', '100', '-o', str(tmp_path / 'full.yaml')]) == 1
    assert 'expected the mesh base.stl of link base_link, found none' in capsys.readouterr().err


def test_an_open_mesh_counts_as_its_hull(urdf, tmp_path, capsys):
    mesh = trimesh.creation.box((1.0, 1.0, 1.0))
    mesh.update_faces(np.arange(len(mesh.faces)) > 1)
    mesh.export(tmp_path / 'base.stl')
    assert main(['init', str(urdf), '--density', '100', '-o', str(tmp_path / 'full.yaml')]) == 0
    assert 'link base_link: its mesh is not closed' in capsys.readouterr().err
    assert links(tmp_path / 'full.urdf')['base_link'].mass == pytest.approx(100.0, rel=1e-6)


def test_a_machine_with_all_inertials_has_nothing_to_fill(urdf, tmp_path, capsys):
    assert main(['init', str(urdf), '--density', '100', '-o', str(tmp_path / 'full.yaml')]) == 0
    assert main(['init', str(tmp_path / 'full.urdf'), '--density', '100', '-o', str(tmp_path / 'again.yaml')]) == 1
    assert 'expected at least one link without inertial and with a shape, found none' in capsys.readouterr().err
