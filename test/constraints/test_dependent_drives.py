"""Drives that do not determine the motion and loops that cannot close are rejected by name, file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyn_nodes.constraints.drives import dependent_drives
from dyn_nodes.model import load_machine
from dyn_nodes.model.problems import MachineError
from dyn_nodes.simulation.constrained_machine import constrained_machine
from dyn_nodes.studies.freeman_1985.machines import stewart

ROOT = Path(__file__).resolve().parents[2]
BODY = '<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def slide(name, parent, axis):
    return (
        f'<link name="{name}">{BODY}</link><joint name="{name}_joint" type="prismatic"><parent link="{parent}"/>'
        f'<child link="{name}"/><axis xyz="{axis}"/><limit lower="-1" upper="1" effort="100" velocity="1"/></joint>'
    )


GANTRY = '<robot name="gantry"><link name="ground"/>' + ''.join(
    slide(f'carriage_{k}', 'ground', '1 0 0') + slide(f'lift_{k}', f'carriage_{k}', '0 0 1') for k in (1, 2)
) + '</robot>'  # fmt: skip
PIN = 'constraints:\n  pin: {kind: line, axis: [0, 1, 0], first: {link: lift_1}, second: {link: lift_2}}\njoints:\n'


def gantry(folder, free):
    (folder / 'gantry.urdf').write_text(GANTRY)
    (folder / 'gantry.yaml').write_text(PIN + ''.join(f'  {name}_joint: {{class: free}}\n' for name in free))
    return load_machine(folder / 'gantry.urdf', folder / 'gantry.yaml')


def test_drives_of_the_same_freedom_are_rejected_by_name_file_and_line(tmp_path):
    machine = gantry(tmp_path, ['lift_1', 'lift_2'])
    with pytest.raises(MachineError) as caught:
        constrained_machine(machine)
    (problem,) = caught.value.problems
    assert str(problem) == (
        f'{tmp_path / "gantry.yaml"}:4: joints: expected drives that determine the motion, as many as there are '
        'freedoms, found carriage_1_joint, carriage_2_joint, whose rates depend on each other in every position'
    )


@pytest.mark.parametrize('free', [['carriage_1', 'lift_2'], ['lift_2'], ['carriage_1', 'carriage_2', 'lift_1']])
def test_independent_additional_and_fewer_drives_are_accepted(tmp_path, free):
    assert constrained_machine(gantry(tmp_path, free)).analysis.mobility == 2


def test_base_joints_with_parallel_axes_do_not_move_a_stewart_platform():
    """Spec 7.10: condition number 3e16; all six base joints take part."""
    base = [f'leg_{r}_1' for r in range(1, 7)]
    platform = stewart(parallel_axes=True)
    assert dependent_drives(platform.blocks(), platform.q, base) == tuple(base)
    assert dependent_drives(platform.blocks(), platform.q, platform.actuated) == ()
    askew = stewart()
    assert dependent_drives(askew.blocks(), askew.q, base) == ()


def test_a_dead_centre_is_accepted(tmp_path):
    config = tmp_path / 'slider_crank.yaml'
    text = (ROOT / 'config' / 'slider_crank.yaml').read_text()
    positions = '{crank_joint: 0.6, rod_joint: -0.7702134741, piston_joint: 0.6165746564}'
    assert positions in text
    text = text.replace(positions, '{crank_joint: 0, rod_joint: 0, piston_joint: 0.65}')
    config.write_text(text.replace('piston_joint: {class', 'crank_joint: {class'))
    start = constrained_machine(load_machine(ROOT / 'urdf' / 'slider_crank.urdf', config))
    assert (start.analysis.mobility, start.analysis.actuators) == (1, 0)


def test_a_leg_that_cannot_close_is_rejected_by_name_file_and_line(tmp_path):
    text = (ROOT / 'config' / 'three_leg_device.yaml').read_text()
    config = tmp_path / 'three_leg_device.yaml'
    pin = next(line for line in text.splitlines() if line.startswith('  pin_3:'))
    config.write_text(
        text.replace(pin, pin.replace('leg_3_link_2, position: [1.5, 0, 0]', 'leg_3_link_2, position: [0.1, 0, 0]'))
    )
    assert config.read_text() != text
    machine = load_machine(ROOT / 'urdf' / 'three_leg_device.urdf', config)
    with pytest.raises(MachineError) as caught:
        constrained_machine(machine, {f'leg_{r}_joint_1': 1.387 for r in (1, 2)})
    line = next(k for k, text in enumerate(text.splitlines(), 1) if text.startswith('  pin_3:'))
    expected = f'{config}:{line}: constraints.pin_3: expected a loop that closes, found ends that stay '
    assert any(str(problem).startswith(expected) for problem in caught.value.problems)


def test_a_leg_that_closes_only_beyond_its_limits_is_rejected_by_name_file_and_line(tmp_path):
    text = (ROOT / 'config' / 'stewart_platform.yaml').read_text()
    ball = next(line for line in text.splitlines() if line.startswith('  ball_2:'))
    config = tmp_path / 'stewart_platform.yaml'
    config.write_text(
        text.replace(ball, ball.replace('position: [0.6427876097, 0.7660444431, -0.1]', 'position: [6, 7, 0]'))
    )
    assert config.read_text() != text
    machine = load_machine(ROOT / 'urdf' / 'stewart_platform.urdf', config)
    with pytest.raises(MachineError) as caught:
        constrained_machine(machine)
    (problem,) = caught.value.problems
    line = text.splitlines().index(ball) + 1
    expected = (
        f'{config}:{line}: constraints.ball_2: expected a loop that closes within the limits of the joints, found leg_'
    )
    assert str(problem).startswith(expected)
    assert str(problem).endswith('beyond its limits 1.6 to 2.8')
