"""The YAML of a team: poses of robots, objects between hands, and every fault by file, line and key."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.common.share import find_resource
from dyn_nodes.model import MachineError
from dyn_nodes.model.schema import keys_of
from dyn_nodes.model.team import GraspEntry, ObjectEntry, ObjectPose, RobotEntry, TeamEntries
from dyn_nodes.studies.tanner_1998.team import REACH
from dyn_nodes.teams import load_team
from dyn_nodes.teams.reach import fitted

BAR = find_resource('config/teams/team_bar.yaml').read_text()
DOCUMENT = Path(__file__).resolve().parents[2] / 'docs' / 'reference' / 'teams.md'


@pytest.fixture
def faults(tmp_path):
    """Return the messages about the bar's team with some text replaced."""

    def of(*changes: tuple[str, str]) -> list[str]:
        text = BAR
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        file = tmp_path / 'team.yaml'
        file.write_text(text)
        with pytest.raises(MachineError) as rejected:
            load_team(file)
        return [str(problem).removeprefix(f'{file}:') for problem in rejected.value.problems]

    return of


@pytest.fixture(scope='module')
def bar():
    return load_team('team_bar')


def test_robots_stand_where_their_hands_meet_the_ends_of_the_bar(bar):
    ends = np.array([grasp.position for grasp in bar.grasps.values()])
    np.testing.assert_allclose(ends, [(-0.3, 0.0, ends[0, 2]), (0.3, 0.0, ends[0, 2])], atol=1e-11)
    assert max(grasp.distance for grasp in bar.grasps.values()) < 1e-11
    right = bar.robots['right']
    np.testing.assert_allclose(right.machine.initial.base_position, (0.3 + REACH, 0.0, 0.3), atol=1e-10)
    assert right.machine.initial.base_yaw == pytest.approx(np.pi)
    assert right.machine.initial.joint_positions['arm_joint_1'] == 0.0
    assert Path(right.urdf).name == 'rm_1.urdf'
    assert Path(right.config).name == 'rm_1.yaml'


def test_an_object_without_a_pose_lies_between_the_hands(bar):
    held = bar.objects['bar']
    np.testing.assert_allclose(held.position, (0.0, 0.0, bar.grasps['left_end'].position[2]), atol=1e-11)
    np.testing.assert_allclose(held.rotation, np.eye(3), atol=1e-10)
    assert [grasp.name for grasp in held.item.grasps] == ['left', 'right']


@pytest.mark.parametrize(
    'file', sorted(find_resource('config/teams/team_bar.yaml').parent.glob('*.yaml')), ids=lambda file: file.stem
)
def test_hands_of_the_teams_of_this_package_meet_their_patches(file):
    team = load_team(file)
    assert max(grasp.distance for grasp in team.grasps.values()) < 1e-6
    for name, held in team.objects.items():
        hands = [grasp.position for grasp in team.grasps_on(name)]
        np.testing.assert_allclose(held.patches, hands, atol=1e-6)
        lattice = held.item.lattice
        assert lattice.lumped_mass.sum() == pytest.approx(held.item.body.total_mass, rel=1e-6)


def test_the_rods_of_the_triangle_are_near_those_of_the_source():
    lattice = load_team('team_triangle').objects['triangle'].item.lattice
    np.testing.assert_allclose(lattice.lengths, 0.6, rtol=1e-3)
    np.testing.assert_allclose(lattice.stiffness, 2000.0, rtol=0.02)
    np.testing.assert_allclose(lattice.damping, 4.0, rtol=0.02)
    np.testing.assert_allclose(lattice.rod_mass, 0.4, rtol=0.08)


def test_patches_follow_the_order_of_the_grasps():
    plate = load_team('team_plate')
    held = plate.objects['plate']
    assert [grasp.name for grasp in held.item.grasps] == [grasp.patch for grasp in plate.grasps_on('plate')]
    positions = [grasp.position for grasp in plate.grasps_on('plate')]
    np.testing.assert_allclose(held.patches, positions, atol=1e-10)


def test_a_robot_is_moved_by_what_its_hand_misses(tmp_path):
    file = tmp_path / 'near.yaml'
    pose = 'pose: {position: [0.0, 0.0, 0.8224], orientation: [0.0, 0.0, 0.0]}'
    file.write_text(BAR.replace('-1.0645020172', '-1.066').replace('object: bar}\ng', f'object: bar, {pose}}}\ng'))
    team = load_team(file)
    assert team.robots['left'].pose[0] == pytest.approx(-0.3 - REACH, abs=1e-9)
    assert team.grasps['left_end'].distance == pytest.approx(team.grasps['left_end'].position[2] - 0.8224, abs=1e-9)


def test_a_hand_in_the_place_of_a_payload_holds_the_object_and_the_payload_is_gone():
    machine = load_team('team_plank').robots['left'].machine
    assert machine.payload is None
    hand = machine.grasp('payload')
    assert hand.link == 'arm_hand'
    np.testing.assert_array_equal(hand.point, (0.0, 0.0, 0.15))


def test_a_body_on_a_line_lies_upright_where_its_hands_are():
    patches = np.array([(-0.3, 0.0, 0.0), (0.3, 0.0, 0.0)])
    hands = np.array([(1.0, 2.0, 0.5), (1.0, 2.5, 0.9)])
    position, rotation = fitted(patches, hands)
    np.testing.assert_allclose(position, (1.0, 2.25, 0.7), atol=1e-12)
    np.testing.assert_allclose(rotation[:, 0], (hands[1] - hands[0]) / np.linalg.norm(hands[1] - hands[0]), atol=1e-12)
    assert np.linalg.det(rotation) == pytest.approx(1.0)
    assert rotation[2, 1] == pytest.approx(0.0, abs=1e-12)
    assert rotation[2, 2] > 0.7


def test_a_body_on_a_line_has_a_place_where_its_hands_coincide():
    with np.errstate(all='raise'):
        position, rotation = fitted(np.array([(-0.3, 0.0, 0.0), (0.3, 0.0, 0.0)]), np.ones((2, 3)))
    np.testing.assert_allclose(position, 1.0)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(rotation) == pytest.approx(1.0)


def test_a_body_with_four_hands_lies_where_they_are():
    turn = np.array([(0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)])
    patches = np.array([(0.4, 0.2, 0.0), (-0.4, 0.2, 0.0), (-0.4, -0.2, 0.0), (0.4, -0.2, 0.1)])
    position, rotation = fitted(patches, patches @ turn.T + (1.0, 2.0, 3.0))
    np.testing.assert_allclose(rotation, turn, atol=1e-12)
    np.testing.assert_allclose(position, (1.0, 2.0, 3.0), atol=1e-12)


FAULTS = {
    'an unknown robot': (('robot: left', 'robot: lft'), '9: grasps.left_end.robot', "(did you mean 'left'?)"),
    'an unknown hand': (('robot: left, hand: hand', 'robot: left, hand: hnd'), '9: grasps.left_end.hand', "'hand'"),
    'no payload': (('left, hand: hand', 'left, hand: payload'), '9: grasps.left_end.hand', 'of the grasps of rm_1'),
    'an unknown object': (('bar, patch: left', 'br, patch: left'), '9: grasps.left_end.object', "'bar'"),
    'an unknown patch': (('patch: right', 'patch: top'), '10: grasps.right_end.patch', 'known: left, right'),
    'an unknown machine': (('left: {machine: rm_1', 'left: {machine: rm_9'), '4: robots.left.machine', "'rm_1'?"),
    'an unknown joint': (('0.0}}\n  right', '0.0, elbow: 1.0}}\n  right'), 'joint_positions.elbow', 'known'),
    'an unknown object file': (('{object: bar}', '{object: barr}'), '7: objects.bar.object', "(did you mean 'bar'?)"),
    'a path without a file': (('{object: bar}', '{object: own/bar.yaml}'), '7: objects.bar.object', 'own/bar.yaml'),
    'one namespace for two': (('  right: {m', '  left: {m'), '5: robots.left', 'a duplicate'),
    'a name that is no topic': (('  right: {m', '  2nd: {m'), '5: robots.2nd', 'letters, digits and underscores'),
    'one name for a robot and an object': (('  bar: {', '  left: {'), '7: objects.left', 'a name that no robot has'),
    'one hand for two patches': (('robot: right', 'robot: left'), '10: grasps.right_end.hand', 'line 9 has it'),
    'one patch for two hands': (('patch: right', 'patch: left'), '10: grasps.right_end.patch', 'line 9 has it'),
    'a grasp with torque': (('patch: left}', 'patch: left, kind: fixed}'), '9: grasps.left_end.kind', 'no orientation'),
    'a hold without force': (('patch: left}', 'patch: left, holding_force: 0}'), 'left_end.holding_force', '> 0 N'),
    'too few grasps': (('  right_end: {', '  # {'), '7: objects.bar', 'found 1 (left)'),
    'too few grasps of finite elements': (('{object: bar}', '{object: bar, model: condensed}'), '7: objects.bar', '3'),
    'a hand that does not reach': (('-1.0645020172', '-1.1645020172'), '9: grasps.left_end', 'm away'),
    'a key of something else': (('pose: [1', 'place: [1'), '5: robots.right.place', "found 'place' (known: machine"),
}  # fmt: skip


@pytest.mark.parametrize('fault', FAULTS)
def test_a_fault_is_named_with_its_line_and_its_key(faults, fault):
    change, key, text = FAULTS[fault]
    result = faults(change)
    assert any(key in message and text in message for message in result), result


def test_robots_that_do_not_exist_are_reported_once(faults):
    result = faults(('left: {machine: rm_1', 'left: {machine: rm_9'))
    assert len(result) == 1


def test_the_distance_of_a_hand_is_printed(faults):
    held = '{object: bar, pose: {position: [0.0, 0.0, 0.9]}}'
    left, right = faults(('{object: bar}', held))
    assert '0.07758 m away' in left
    assert '0.07758 m away' in right


def test_a_team_without_a_file_is_rejected_by_name():
    with pytest.raises(FileNotFoundError, match='team_bra'):
        load_team('team_bra')


@pytest.mark.skipif(not DOCUMENT.exists(), reason='documentation is not installed')
def test_every_key_is_documented():
    text = DOCUMENT.read_text()
    for record in (TeamEntries, RobotEntry, ObjectEntry, ObjectPose, GraspEntry):
        for key in keys_of(record):
            assert f'`{key.name}`' in text, key.name
