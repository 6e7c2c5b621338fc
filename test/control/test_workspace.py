"""Workspaces of hands: closed forms of a planar arm, differences, and Pinocchio's frame."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dyn_nodes.cli import main
from dyn_nodes.common.share import find_resource
from dyn_nodes.control.hand import HandError, HandKinematics, HandTask
from dyn_nodes.control.hand.workspace import joint_stiffness, ranges_of, spread, survey
from dyn_nodes.model import load_machine

TWO = """<robot name="two">
  <link name="base"/>
  <link name="upper"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tip"/>
  <joint name="a" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
  <joint name="b" type="continuous"><parent link="upper"/><child link="lower"/><origin xyz="2 0 0"/><axis xyz="0 0 1"/>
    </joint>
  <joint name="c" type="fixed"><parent link="lower"/><child link="tip"/><origin xyz="1 0 0"/></joint>
</robot>"""


@pytest.fixture(scope='module')
def two(tmp_path_factory):
    path = tmp_path_factory.mktemp('two') / 'two.urdf'
    path.write_text(TWO)
    return path


@pytest.fixture(scope='module')
def planar(two):
    machine = load_machine(two)
    return machine, HandKinematics.of(machine, 'tip')


def test_a_planar_arm_reaches_a_ring_with_the_manipulability_of_the_closed_form(planar):
    _, hand = planar
    postures = spread(ranges_of(hand), 4000)
    space = survey(hand, postures, HandTask(('x', 'y')))
    assert space.reach.max() == pytest.approx(3.0, abs=1e-3)
    assert space.reach.min() == pytest.approx(1.0, abs=1e-3)
    assert space.manipulability == pytest.approx(np.abs(2.0 * np.sin(postures[:, 1])), abs=1e-9)


def test_a_stretched_arm_is_singular_and_a_missing_row_too(planar):
    _, hand = planar
    space = survey(hand, np.array([[0.3, 0.0], [0.3, 1.0]]), HandTask(('x', 'y')))
    assert space.condition[0] > 1e12
    assert space.condition[1] < 10.0
    assert np.isinf(survey(hand, np.array([[0.3, 1.0]]), HandTask(('x', 'y', 'rz'))).condition[0])


def test_compliance_of_the_tip_follows_from_its_joints(planar):
    """A force F across the stretched arm rotates the shoulder by 3 F / K_a and the elbow by F / K_b."""
    machine, hand = planar
    law = joint_stiffness(machine, hand, {'a': 900.0, 'b': 100.0})
    space = survey(hand, np.array([[0.3, 0.0]]), HandTask(('x', 'y')), stiffness=law)
    assert space.stiffness[0] == pytest.approx(1.0 / (9.0 / 900.0 + 1.0 / 100.0), rel=1e-12)
    unknown = survey(hand, np.array([[0.3, 0.0]]), stiffness=joint_stiffness(machine, hand, {'a': 900.0}))
    assert np.isnan(unknown.stiffness[0])


def test_stiffness_of_the_log_loader_equals_differences_of_its_statics():
    """The compliance is J K^-1 J^T with J by finite differences of the position."""
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    hand = HandKinematics.of(machine, 'payload_link')
    law, q = joint_stiffness(machine, hand), np.array([[0.4, 0.3, -1.2]])
    step = 1e-6
    columns = []
    for k in range(3):
        moved = [hand.pose(hand.with_joints(hand.posture({}), q[0] + s * step * np.eye(3)[k])) for s in (1, -1)]
        columns.append((moved[0].position - moved[1].position) / (2 * step))
    J = np.array(columns).T
    compliance = J @ np.diag(1.0 / law(q)[0]) @ J.T
    space = survey(hand, q, stiffness=law)
    assert space.vertical_stiffness[0] == pytest.approx(1.0 / compliance[2, 2], rel=1e-6)
    assert space.stiffness[0] == pytest.approx(1.0 / np.linalg.eigvalsh(compliance)[-1], rel=1e-6)
    assert space.condition[0] == pytest.approx(np.linalg.cond(J), rel=1e-6)


def test_invalid_ranges_and_stiffnesses_are_rejected(planar):
    machine, hand = planar
    with pytest.raises(HandError, match='a, b, found z'):
        ranges_of(hand, {'z': (0.0, 1.0)})
    with pytest.raises(HandError, match='least to a greatest'):
        ranges_of(hand, {'a': (1.0, 0.0)})
    with pytest.raises(HandError, match='above 0'):
        joint_stiffness(machine, hand, {'a': 0.0})
    assert ranges_of(hand)[1] == pytest.approx([-np.pi, np.pi])


def test_the_command_prints_and_writes_its_results(two, tmp_path, capsys):
    npz, png = tmp_path / 'space.npz', tmp_path / 'space.png'
    arguments = ['workspace', str(two), '--link', 'tip', '--rows', 'x', 'y', '--postures', '500', '--json']
    assert main([*arguments, '--stiffness', 'a=900', 'b=100', '--npz', str(npz), '--plot', str(png)]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result['joints'] == ['a', 'b']
    assert result['farthest']['reach'] == pytest.approx(3.0, abs=0.01)
    assert result['softest']['stiffness'] >= 50.0
    assert np.load(npz)['positions'].shape == (500, 3)
    assert png.stat().st_size > 10_000


@pytest.mark.parametrize(
    ('arguments', 'expected'),
    [
        (('--link', 'no'), 'unknown link'),
        (('--link', 'tip', '--range', 'a=1'), '--range: expected two finite numbers with a comma'),
        (('--link', 'tip', '--range', 'a=nan,1'), 'finite'),
        (('--link', 'tip', '--stiffness', 'b'), '--stiffness: expected NAME=NUMBER'),
        (('--link', 'tip', '--postures', '0'), '--postures'),
        (('--link', 'tip', '--rows', 'w'), 'rows'),
        (('--link', 'tip', '--plot', 'space.foo'), '--plot: expected a .png, .svg or .pdf'),
    ],
)
def test_mistakes_get_one_line(two, capsys, arguments, expected):
    assert main(['workspace', str(two), *arguments]) in (1, 2)
    shown = capsys.readouterr().err
    assert expected in shown
    assert 'Traceback' not in shown
