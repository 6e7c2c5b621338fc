"""`locked` in the machine YAML, and URDFs as published: mimic joints, links without inertia, a floating root."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.model import load_machine, load_machine_report
from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.model.posture import center_of_mass, initial_positions, link_poses

CORPUS = Path(__file__).resolve().parents[1] / 'corpus'
CRANE = CORPUS / 'crane.urdf'
CONFIG = CORPUS / 'crane.yaml'
GRIPPER = """<robot name="gripper">
  <link name="base"><inertial><mass value="5"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="left"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"/>
  <joint name="leader" type="revolute"><parent link="base"/><child link="left"/><origin xyz="0 1 0"/>
    <axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  <joint name="follower" type="revolute"><parent link="base"/><child link="right"/><origin xyz="0 -1 0" rpy="0 0 0.2"/>
    <axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="1" velocity="1"/>
    <mimic joint="leader" multiplier="-0.5" offset="0.1"/></joint>
</robot>
"""


def gripper(folder: Path, config: str, urdf: str = GRIPPER):
    (folder / 'gripper.urdf').write_text(urdf)
    (folder / 'gripper.yaml').write_text(config)
    return load_machine_report(folder / 'gripper.urdf', folder / 'gripper.yaml')


def test_a_locked_joint_is_fixed_where_it_starts(tmp_path):
    folder = tmp_path / 'crane.yaml'
    posture = 'initial: {joint_positions: {slew: 0.3, luff: 0.5, extend: 0.2}}\n'
    folder.write_text(posture)
    free = load_machine(CRANE, folder)
    folder.write_text(posture + 'locked: [luff]\n')
    held = load_machine(CRANE, folder)
    assert [joint.name for joint in held.movable_joints] == ['slew', 'extend']
    assert set(held.initial.joint_positions) == {'slew', 'extend'}
    where = [link_poses(machine.links, machine.joints, initial_positions(machine)) for machine in (free, held)]
    for link in free.links:
        np.testing.assert_allclose(where[1][link.name], where[0][link.name], atol=1e-15)
    masses = [center_of_mass(machine.links, poses, None) for machine, poses in zip((free, held), where)]
    np.testing.assert_allclose(masses[1][1], masses[0][1], atol=1e-15)


def test_the_robot_description_holds_a_locked_joint_as_a_fixed_one(tmp_path):
    config = tmp_path / 'crane.yaml'
    config.write_text('initial: {joint_positions: {luff: 0.5}}\nlocked: [luff]\n')
    machine = load_machine(CRANE, config)
    path = tmp_path / 'described.urdf'
    path.write_text(machine.urdf)
    again = load_machine(path)
    assert [joint.name for joint in again.movable_joints] == ['slew', 'extend']
    np.testing.assert_allclose(again.joint('luff').origin, machine.joint('luff').origin, atol=1e-12)
    kept = {joint.get('name') for joint in ElementTree.fromstring(machine.urdf).findall('joint')}
    assert kept == {joint.name for joint in machine.joints}


def test_a_locked_mimic_joint_has_the_position_that_follows_from_its_leader(tmp_path):
    machine = gripper(tmp_path, 'initial: {joint_positions: {leader: 0.8}}\nlocked: [follower]\n').machine
    angle = 0.2 - 0.5 * 0.8 + 0.1
    np.testing.assert_allclose(machine.joint('follower').origin[:2, 0], [np.cos(angle), np.sin(angle)], atol=1e-15)


def test_a_joint_that_moves_no_inertia_has_to_be_locked(tmp_path):
    machine, problems, _ = gripper(tmp_path, 'name: gripper\n')
    assert machine is None
    assert 'a missing <inertial>?' in str(problems[0])
    assert problems[0].line == 9
    assert gripper(tmp_path, 'locked: [follower]\n').machine is not None


def test_a_joint_without_inertia_may_be_moved_by_a_constraint(tmp_path):
    held = 'constraints: {grip: {kind: point, first: {link: right}, second: {link: world}}}\n'
    machine, problems, warnings = gripper(tmp_path, held)
    assert (machine is None, problems) == (False, ())
    (warning,) = (warning for warning in warnings if 'expected a mass (joint follower moves it)' in str(warning))
    assert '0 kg; only links that constraints move with it have mass' in str(warning)


@pytest.mark.parametrize(
    ('config', 'message'),
    [
        ('locked: [bom]\n', "expected movable joints of the URDF, found 'bom' (known: slew, luff, extend)"),
        ('locked: [slew, slew]\n', "expected every joint once, found 'slew' twice"),
        ('locked: slew\n', 'expected a list of names'),
    ],
)
def test_an_invalid_list_of_locked_joints_is_rejected(tmp_path, config, message):
    path = tmp_path / 'crane.yaml'
    path.write_text(config)
    machine, problems, _ = load_machine_report(CRANE, path)
    assert machine is None
    assert any(message in str(problem) and problem.line == 1 for problem in problems), problems


def test_a_joint_with_an_actuator_can_not_be_locked(tmp_path):
    path = tmp_path / 'crane.yaml'
    path.write_text(CONFIG.read_text() + '\nlocked: [luff]\n')
    machine, problems, _ = load_machine_report(CRANE, path)
    assert machine is None
    assert any('joints without actuator' in str(problem) for problem in problems)


OTHER_WAYS = {
    'class': ('joints:\n  luff: {class: locked, rest: 0.5}\n', 2, 'joints.luff'),
    'class at the start': (
        'initial: {joint_positions: {luff: 0.5}}\njoints: {luff: {class: locked}}\n',
        2,
        'joints.luff',
    ),
    'constraint': ('constraints:\n  hold: {kind: lock, joint: luff, position: 0.5}\n', 2, 'constraints.hold'),
}


@pytest.mark.parametrize('way', OTHER_WAYS)
def test_other_ways_to_lock_a_joint_are_added_to_the_list_with_a_warning(tmp_path, way):
    text, line, where = OTHER_WAYS[way]
    path = tmp_path / 'crane.yaml'
    path.write_text('initial: {joint_positions: {luff: 0.5}}\nlocked: [luff]\n')
    listed = load_machine(CRANE, path)
    path.write_text(text)
    machine, problems, warnings = load_machine_report(CRANE, path)
    assert problems == ()
    assert (machine.locked, machine.constraints, machine.joint_classes) == (('luff',), (), ())
    assert machine_fingerprint(machine) == machine_fingerprint(listed)
    assert machine.urdf == listed.urdf
    remark = "expected locked joints in the list `locked`, found 'luff' locked in another way, which does the same"
    assert f'{path}:{line}: {where}: {remark}' in [str(warning) for warning in warnings]


def test_a_coupling_keeps_the_joints_that_move(tmp_path):
    """slew + 2 luff - extend = 0.4 with luff at 0.5 is slew - extend = -0.6."""
    path = tmp_path / 'crane.yaml'
    gear = 'gear: {kind: coupling, coefficients: {slew: 1, luff: 2, extend: -1}, offset: 0.4}'
    path.write_text(f'initial: {{joint_positions: {{luff: 0.5}}}}\nlocked: [luff]\nconstraints:\n  {gear}\n')
    (gear,) = load_machine(CRANE, path).constraints
    assert gear.coefficients == (('slew', 1.0), ('extend', -1.0))
    assert gear.offset == pytest.approx(-0.6)


@pytest.mark.parametrize(('offset', 'sound'), [(0.5, True), (0.6, False)])
def test_a_coupling_of_locked_joints_alone_must_be_met(tmp_path, offset, sound):
    path = tmp_path / 'crane.yaml'
    gear = f'gear: {{kind: coupling, coefficients: {{luff: 1, slew: 3}}, offset: {offset}}}'
    path.write_text(f'initial: {{joint_positions: {{luff: 0.5}}}}\nlocked: [luff, slew]\nconstraints:\n  {gear}\n')
    machine, problems, _ = load_machine_report(CRANE, path)
    if sound:
        assert machine.constraints == ()
        return
    message = 'constraints.gear: expected locked joints that meet it, with a sum of 0.6, found 0.5'
    assert [str(problem) for problem in problems] == [f'{path}:4: {message}']


def test_with_constraints_a_locked_joint_with_published_reaction_is_held_by_a_row(tmp_path):
    path = tmp_path / 'crane.yaml'
    keys = 'initial: {joint_positions: {luff: 0.5}}\nlocked: [luff]\nreactions: [luff]\n'
    path.write_text(keys)
    assert not load_machine(CRANE, path).joint('luff').movable
    path.write_text(f'{keys}constraints:\n  gear: {{kind: coupling, coefficients: {{slew: 1, extend: -1}}}}\n')
    machine = load_machine(CRANE, path)
    assert machine.joint('luff').movable
    assert [(entry.joint, entry.kind, entry.rest) for entry in machine.joint_classes] == [('luff', 'locked', None)]
    assert machine.initial.joint_positions == {'luff': 0.5}


def test_a_joint_of_class_locked_has_no_actuator(tmp_path):
    path = tmp_path / 'crane.yaml'
    path.write_text(CONFIG.read_text() + '\njoints: {luff: {class: locked}}\n')
    machine, problems, _ = load_machine_report(CRANE, path)
    assert machine is None
    assert any(
        "joints.luff: expected joints without actuator, found 'luff', which" in str(problem) for problem in problems
    )


@pytest.mark.parametrize('kind', ['floating', 'planar'])
def test_a_world_link_with_a_floating_joint_is_removed_with_a_warning(tmp_path, kind):
    world = f'<link name="world"/><joint name="root" type="{kind}"><parent link="world"/><child link="base"/></joint>'
    machine, problems, warnings = gripper(
        tmp_path, 'base: {attachment: free}\nlocked: [follower]\n', GRIPPER.replace('</robot>', world + '</robot>')
    )
    assert machine is not None, problems
    assert machine.links[0].name == 'base'
    assert 'world' not in machine.urdf
    assert any(f'found {kind}: left out' in str(warning) for warning in warnings)


def test_a_floating_joint_further_out_is_rejected(tmp_path):
    loose = GRIPPER.replace(
        'type="revolute"><parent link="base"/><child link="right"/>',
        'type="floating"><parent link="base"/><child link="right"/>',
    )
    machine, problems, _ = gripper(tmp_path, 'name: x\n', loose)
    assert machine is None
    assert any('no floating joint' in str(problem) for problem in problems)
