"""Tests of `dyn-nodes init` and `dyn-nodes attach` with published URDFs."""

from __future__ import annotations

import importlib.metadata
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

from dyn_nodes.cli import main
from dyn_nodes.model import load_machine, load_machine_report
from dyn_nodes.model.posture import center_of_mass, link_poses
from dyn_nodes.stability.equilibrium.standing import at_rest

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / 'test' / 'corpus'
PLATFORM = ROOT / 'urdf' / 'tutorial_platform.urdf'


def robots() -> Path | None:
    try:
        files = importlib.metadata.files('example-robot-data') or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(str(f.locate())).resolve().parents[2] for f in files if f.name == 'tiago.urdf'), None)


ROBOTS = robots()
needs_robots = pytest.mark.skipif(ROBOTS is None, reason='needs the package example-robot-data')


def init(urdf: Path, folder: Path):
    output = folder / f'{urdf.stem}.yaml'
    assert main(['init', str(urdf), '-o', str(output)]) == 0
    report = load_machine_report(urdf, output)
    assert report.machine is not None, report.problems
    return report.machine, output.read_text()


@needs_robots
def test_tiago_stands_on_its_wheels_and_castors(tmp_path, capsys):
    machine, _ = init(ROBOTS / 'tiago_description' / 'robots' / 'tiago.urdf', tmp_path)
    assert machine.base.attachment == 'free'
    assert {wheel.name for wheel in machine.wheels} == {
        'wheel_right',
        'wheel_left',
        *(f'caster_{end}_{side}_2' for end in ('front', 'back') for side in ('right', 'left')),
    }
    wheel = next(wheel for wheel in machine.wheels if wheel.name == 'wheel_left')
    np.testing.assert_allclose([wheel.position[1], wheel.free_length], [0.2022, 0.0985], atol=2e-3)
    moving = [joint.name for joint in machine.movable_joints]
    assert moving == ['torso_lift_joint', 'head_1_joint', 'head_2_joint', *(f'arm_{k}_joint' for k in range(1, 8))]
    assert machine.payload.link == 'hand_grasping_frame'
    stance = at_rest(machine)[1]
    assert stance.loads.sum() == pytest.approx(machine.total_mass * 9.81, rel=1e-9)
    assert np.all(stance.loads > 0.0)
    assert 'caster_front_left_2: the name of caster_front_left_2_link' in capsys.readouterr().out


@needs_robots
def test_init_keeps_mass_and_centre_of_mass_of_the_urdf(tmp_path):
    urdf = ROBOTS / 'tiago_description' / 'robots' / 'tiago.urdf'
    machine, _ = init(urdf, tmp_path)
    alone = load_machine(urdf)
    assert machine.total_mass == alone.total_mass
    np.testing.assert_allclose(
        center_of_mass(machine.links, link_poses(machine.links, machine.joints, {}), None)[1],
        center_of_mass(alone.links, link_poses(alone.links, alone.joints, {}), None)[1],
        atol=1e-12,
    )


def test_every_guess_is_marked_and_explained(tmp_path):
    machine, text = init(PLATFORM, tmp_path)
    values = yaml.safe_load(text)
    for wheel in values['wheels'].values():
        for key in ('position', 'free_length'):
            assert wheel[key]['assumed'].startswith('guess: ')
    shared = values['defaults']['wheel']
    for value in (shared['stiffness'], shared['damping'], *shared['friction'].values()):
        assert value['assumed'].startswith('guess: ')
    assert 'attachment: free  # guess: ' in text
    assert '  # guess: a wheel or its steering' in text
    assert set(values) == {'name', 'base', 'initial', 'locked', 'defaults', 'wheels'}
    assert len(machine.assumed) == 4 + 2 * 4
    assert all(reason.startswith('guess: ') for reason in machine.assumed.values())


def test_stiffness_and_damping_agree_with_their_explanations(tmp_path):
    machine, _ = init(PLATFORM, tmp_path)
    sag = 0.008 * np.hypot(0.7, 0.66)
    wheel = machine.wheels[0]
    assert wheel.stiffness == pytest.approx(150.0 * 9.81 / 4 / sag, rel=1e-5)
    assert wheel.damping == pytest.approx(2 * 0.3 * np.sqrt(wheel.stiffness * 150.0 / 4), rel=1e-5)
    stance = at_rest(machine)[1]
    np.testing.assert_allclose(stance.loads / wheel.stiffness, sag, rtol=1e-5)
    np.testing.assert_allclose(stance.contacts, [[0.35, -0.33], [0.35, 0.33], [-0.35, -0.33], [-0.35, 0.33]], atol=1e-9)


def test_struts_of_a_heavy_machine_on_short_feet_are_longer_than_its_sag(tmp_path):
    """50 t on outriggers 7.5 m apart: 0.8 % of their distance exceeds the height of the feet."""
    machine, text = init(ROOT / 'test' / 'zoo' / 'crane.urdf', tmp_path)
    assert 'of static sag, 30% of the shortest strut' in text
    stance = at_rest(machine)[1]
    sags = [load / wheel.stiffness for load, wheel in zip(stance.loads, machine.wheels)]
    assert max(sags) < 0.35 * min(wheel.free_length for wheel in machine.wheels)


def test_an_excavator_stands_on_the_ends_of_its_tracks(tmp_path):
    machine, text = init(ROOT / 'test' / 'zoo' / 'excavator.urdf', tmp_path)
    assert machine.base.attachment == 'free'
    assert {wheel.name: [round(float(c), 6) for c in wheel.position[:2]] for wheel in machine.wheels} == {
        'right_track_rear': [-1.8, -1.0],
        'right_track_front': [1.8, -1.0],
        'left_track_rear': [-1.8, 1.0],
        'left_track_front': [1.8, 1.0],
    }
    assert 'the front end of the track right_track_link' in text


def test_without_wheels_the_corners_are_within_the_base(tmp_path):
    round_base = (
        (CORPUS / 'crane.urdf').read_text().replace('<box size="3 2 0.5"/>', '<cylinder radius="1.5" length="0.5"/>')
    )
    assert 'cylinder' in round_base
    path = tmp_path / 'crane.urdf'
    path.write_text(round_base)
    machine, text = init(ROOT / 'urdf' / 'log_loader.urdf', tmp_path)
    assert [wheel.name for wheel in machine.wheels] == ['front_right', 'front_left', 'rear_right', 'rear_left']
    assert 'corners of the sole of the base body' in text
    init(path, tmp_path)
    positions = np.array([wheel.position[:2] for wheel in load_machine(path, tmp_path / 'crane.yaml').wheels])
    np.testing.assert_allclose(np.linalg.norm(positions, axis=1), 1.5, rtol=1e-6)


@needs_robots
@pytest.mark.parametrize(
    ('name', 'reason'),
    [
        ('panda_description/urdf/panda.urdf', 'it tips over its contacts in the initial posture'),
        ('g1_description/urdf/g1_29dof_rev_1_0.urdf', 'the base body ends 0.64 m above the lowest link'),
    ],
)
def test_a_machine_that_cannot_stand_gets_a_fixed_base_and_the_reason(tmp_path, capsys, name, reason):
    machine, text = init(ROBOTS / name, tmp_path)
    assert machine.base.attachment == 'fixed'
    assert reason in text
    assert f'no margins: the base is fixed, because {reason}' in capsys.readouterr().out.replace(
        'no three wheels or feet were found, and ', ''
    )


@needs_robots
@pytest.mark.parametrize(
    ('name', 'contacts'),
    [
        ('hyq_description/robots/hyq_no_sensors.urdf', 4),
        ('anymal_c_simple_description/urdf/anymal.urdf', 4),
        ('pr2_description/urdf/pr2.urdf', 8),
        ('baxter_description/urdf/baxter.urdf', 4),
    ],
)
def test_published_robots_stand(tmp_path, name, contacts):
    machine, _ = init(ROBOTS / name, tmp_path)
    assert machine.base.attachment == 'free'
    assert len(machine.wheels) == contacts
    assert at_rest(machine)[1].loads.sum() == pytest.approx(machine.total_mass * 9.81, rel=1e-9)


@needs_robots
def test_joints_without_inertia_are_held_so_that_the_machine_loads(tmp_path):
    urdf = ROBOTS / 'romeo_description' / 'urdf' / 'romeo.urdf'
    assert load_machine_report(urdf).machine is None
    machine, text = init(urdf, tmp_path)
    assert '# guess: moves no inertia' in text
    assert len(machine.movable_joints) == 29


def test_a_joint_whose_range_excludes_zero_starts_inside_its_range(tmp_path):
    path = tmp_path / 'crane.urdf'
    path.write_text((CORPUS / 'crane.urdf').read_text().replace('lower="-0.2" upper="1.2"', 'lower="0.2" upper="1.2"'))
    machine, text = init(path, tmp_path)
    assert machine.initial.joint_positions['luff'] == pytest.approx(0.21)
    assert 'where 0 is outside' in text


def test_a_broken_urdf_is_rejected_with_its_lines(tmp_path, capsys):
    assert main(['init', str(CORPUS / 'mass_negative.urdf'), '-o', str(tmp_path / 'x.yaml')]) == 1
    error = capsys.readouterr().err
    assert 'mass_negative.urdf:' in error
    assert 'link boom_link, mass: expected a mass >= 0 kg, found -80' in error
    assert not (tmp_path / 'x.yaml').exists()


def test_a_xacro_file_without_an_expander_is_reported(tmp_path, capsys):
    path = tmp_path / 'a.urdf.xacro'
    path.write_text('<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:include filename="b"/></robot>')
    assert main(['init', str(path), '-o', str(tmp_path / 'x.yaml')]) == 1
    assert 'xacro' in capsys.readouterr().err


def test_an_existing_file_is_kept_without_force(tmp_path, capsys):
    output = tmp_path / 'mine.yaml'
    output.write_text('name: mine\n')
    assert main(['init', str(PLATFORM), '-o', str(output)]) == 1
    assert '--force overwrites it' in capsys.readouterr().err
    assert output.read_text() == 'name: mine\n'
    assert main(['init', str(PLATFORM), '-o', str(output), '--force']) == 0
    assert 'controller:=false' in capsys.readouterr().out  # it has no joint that moves
    assert 'guess:' in output.read_text()


# --- attach --------------------------------------------------------------------------------------------------------


@needs_robots
def test_a_ur10_on_the_platform_has_the_total_mass_and_valid_meshes(tmp_path):
    arm = ROBOTS / 'ur_description' / 'urdf' / 'ur10_robot.urdf'
    output = tmp_path / 'both.urdf'
    words = ['attach', str(PLATFORM), str(arm), '--to', 'mount', '--prefix', 'ur10_', '-o', str(output)]
    assert main(words) == 0
    machine = load_machine(output)
    assert machine.name == 'tutorial_platform_with_ur10'
    assert machine.total_mass == pytest.approx(150.0 + load_machine(arm).total_mass)
    poses = link_poses(machine.links, machine.joints, {})
    alone = link_poses(load_machine(arm).links, load_machine(arm).joints, {})
    np.testing.assert_allclose(poses['ur10_tool0'][:3, 3] - [0.2, 0, 0.4], alone['tool0'][:3, 3], atol=1e-12)
    standing, _ = init(output, tmp_path)
    assert standing.base.attachment == 'free'
    assert len(standing.wheels) == 4
    assert 'package://' not in output.read_text()


def test_an_arm_can_be_turned_and_moved(tmp_path):
    output = tmp_path / 'both.urdf'
    words = ['attach', str(PLATFORM), str(CORPUS / 'crane.urdf'), '--to', 'chassis', '-o', str(output)]
    assert main([*words, '--xyz', '0', '0', '1', '--rpy', '0', '0', '1.5707963267948966', '--name', 'both']) == 0
    machine = load_machine(output)
    pose = link_poses(machine.links, machine.joints, {})['base_link']
    np.testing.assert_allclose(pose, [[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]], atol=1e-12)


def test_equal_names_are_rejected_and_a_prefix_is_proposed(tmp_path, capsys):
    other = tmp_path / 'other.urdf'
    shutil.copy(PLATFORM, other)
    words = ['attach', str(PLATFORM), str(other), '--to', 'mount', '-o', str(tmp_path / 'both.urdf')]
    assert main(words) == 1
    error = capsys.readouterr().err
    assert 'both have chassis, ' in error
    assert '--prefix tutorial_platform_' in error
    assert main([*words, '--prefix', 'upper_']) == 0


def test_an_unknown_link_is_rejected(tmp_path, capsys):
    words = ['attach', str(PLATFORM), str(CORPUS / 'crane.urdf'), '--to', 'mound', '-o', str(tmp_path / 'both.urdf')]
    assert main(words) == 1
    assert "'mound' (did you mean 'mount'?)" in capsys.readouterr().err
