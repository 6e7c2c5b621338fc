"""`check` warns of implausible masses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.commands.check import checked
from dyn_nodes.model import load_machine_report
from dyn_nodes.model.magnitudes.geometry import hull_volume

INERTIA = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'


def machine(folder: Path, mass: float, shape: str, reach: float = 1.0) -> Path:
    """Write the URDF of a box with an arm, both of a mass, kg; the second line is the box."""
    path = folder / 'thing.urdf'
    path.write_text(
        f'<robot name="thing">\n<link name="box"><inertial><mass value="{mass}"/>{INERTIA}</inertial>'
        f'<collision><geometry>{shape}</geometry></collision></link>\n'
        f'<link name="arm"><inertial><mass value="{mass}"/>{INERTIA}</inertial></link>\n'
        f'<joint name="turn" type="revolute"><parent link="box"/><child link="arm"/><origin xyz="{reach} 0 0"/>'
        '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>\n</robot>'
    )
    return path


def mass_warnings(path: Path) -> list[str]:
    report = checked(load_machine_report(path))[0]
    return [str(warning) for warning in report.warnings if 'mass' in warning.where]


@pytest.mark.parametrize('mass', [5.0, 1000.0, 25_000.0])
def test_usual_masses_of_machines_cause_no_warning(tmp_path, mass):
    assert mass_warnings(machine(tmp_path, mass, '<box size="1 1 1"/>')) == []


def test_a_body_lighter_than_air_is_a_warning(tmp_path):
    path = machine(tmp_path, 0.5, '<box size="1 1 1"/>')
    expected = 'a density over the hull of its shapes of 1 to 3e+04 kg/m3, found 0.5 kg, which gives 0.5 kg/m3'
    assert mass_warnings(path) == [f'{path}:2: link box, mass: expected {expected}; perhaps in tonnes']


def test_a_body_denser_than_any_metal_is_a_warning(tmp_path):
    path = machine(tmp_path, 40.0, '<sphere radius="0.05"/>')
    assert mass_warnings(path) == [
        f'{path}:2: link box, mass: expected a density over the hull of its shapes of 1 to 3e+04 kg/m3, '
        'found 40 kg, which gives 7.64e+04 kg/m3; perhaps in grams'
    ]


def test_a_machine_of_ten_metres_and_150_grams_is_a_warning(tmp_path):
    path = machine(tmp_path, 0.075, '<box size="0.05 0.05 0.05"/>', reach=10.0)
    (line,) = mass_warnings(path)
    assert 'masses: expected at least 10.1 kg of a machine that measures 10 m, found 0.15 kg (are the masses in' in line


def test_volume_of_a_hull():
    corners = np.array(np.meshgrid([0, 1], [0, 2], [0, 3])).reshape(3, -1).T.astype(float)
    assert hull_volume(corners, np.zeros(8)) == pytest.approx(6.0)
    assert hull_volume(np.zeros((1, 3)), np.array([0.5])) == pytest.approx(np.pi / 6.0)
    assert hull_volume(corners[:4], np.zeros(4)) == 0.0  # flat
    assert hull_volume(np.zeros((0, 3)), np.zeros(0)) == 0.0


@pytest.mark.parametrize('shape', ['', '<box size="0 0 0"/>'])
def test_a_machine_that_is_a_point_is_checked_without_a_fault(shape, tmp_path):
    geometry = f'<collision><geometry>{shape}</geometry></collision>' if shape else ''
    path = tmp_path / 'point.urdf'
    path.write_text(
        f'<robot name="point">\n<link name="one"><inertial><mass value="1"/>{INERTIA}</inertial>{geometry}</link>\n'
        '</robot>'
    )
    assert mass_warnings(path) == []
