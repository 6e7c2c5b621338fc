"""Tests of `dyn-nodes init`: loops of a four-bar linkage from files of other programs become constraints."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from dyn_nodes.cli import main
from dyn_nodes.model import load_machine
from dyn_nodes.model.posture import link_poses
from dyn_nodes.simulation.constrained_machine import constrained_machine

A, B, C, D = (np.array(p, dtype=float) for p in ((0, 0, 0), (0.2, 0, 0.5), (1.1, 0, 0.7), (1, 0, 0)))
"""Pins of the linkage with all joints at 0: ground, crank and coupler, coupler and rocker, ground."""
MASSES = {'crank': 2.0, 'coupler': 3.0, 'rocker': 4.0}


def link(name, com, mass):
    return (
        f'<link name="{name}"><inertial><origin xyz="{com[0]} {com[1]} {com[2]}"/><mass value="{mass}"/>'
        '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def joint(name, parent, child, at, limit='effort="100" velocity="5"', extra=''):
    return (
        f'<joint name="{name}" type="revolute"><origin xyz="{at[0]} {at[1]} {at[2]}"/><parent link="{parent}"/>'
        f'<child link="{child}"/><axis xyz="0 1 0"/><limit lower="-2" upper="2" {limit}/>{extra}</joint>'
    )


def four_bar(folder, more='', limit='effort="100" velocity="5"', mimic=''):
    """Write a four-bar linkage in the form of the SolidWorks exporter: frames at the pins, axes as the root link."""
    path = folder / 'four_bar.urdf'
    path.write_text(
        '<robot name="four_bar">'
        + link('base_link', (0, 0, 0), 50)
        + link('crank', (B - A) / 2, 2)
        + link('coupler', (C - B) / 2, 3)
        + link('rocker', (C - D) / 2, 4)
        + joint('a', 'base_link', 'crank', A)
        + joint('b', 'crank', 'coupler', B - A, limit, mimic)
        + joint('d', 'base_link', 'rocker', D, limit)
        + more
        + '</robot>'
    )
    return path


def init(urdf, *words):
    output = urdf.with_suffix('.yaml')
    assert main(['init', str(urdf), '-o', str(output), '--force', *map(str, words)]) == 0
    assert main(['check', str(urdf), '--config', str(output)]) == 0
    return yaml.safe_load(output.read_text())


def loop_closures(folder, **keys):
    path = folder / 'loop_closures.yaml'
    closure = {'link_a': 'coupler', 'link_b': 'rocker', 'point': C.tolist(), 'axis': [0.0, 1.0, 0.0]}
    values = {'closures': [closure], 'dependent': ['b', 'd'], 'independent': ['a']} | keys
    path.write_text(yaml.safe_dump({key: value for key, value in values.items() if value is not None}))
    return path


def posture(urdf, angle):
    """Return the start and the link poses of the assembled machine at an angle of the crank, rad."""
    start = constrained_machine(load_machine(urdf, urdf.with_suffix('.yaml')), {'a': angle})
    q = dict(zip(start.system.blocks.tree.position_names, start.q))
    poses = link_poses(start.machine.links, start.machine.joints, q)
    return start, poses


def assert_it_is_the_four_bar(urdf, apart=1e-9):
    """Check that coupler and rocker meet and that the crank carries the weight, by virtual work."""
    for angle in (0.0, 0.4):
        start, poses = posture(urdf, angle)
        ends = [poses[name][:3, :3] @ at + poses[name][:3, 3] for name, at in (('coupler', C - B), ('rocker', C - D))]
        assert ends[0] == pytest.approx(ends[1], abs=apart)
        heights = []
        for near in (angle - 1e-5, angle + 1e-5):
            other = posture(urdf, near)[1]
            coms = {'crank': (B - A) / 2, 'coupler': (C - B) / 2, 'rocker': (C - D) / 2}
            heights.append(sum(MASSES[n] * (other[n][:3, :3] @ p + other[n][:3, 3])[2] for n, p in coms.items()))
        expected = 9.81 * (heights[1] - heights[0]) / 2e-5
        assert start.at_rest().efforts == {'a': pytest.approx(expected, rel=1e-6)}


def test_loop_closures_of_the_solidworks_exporter_are_read_from_beside_the_urdf(tmp_path):
    urdf = four_bar(tmp_path)
    loop_closures(tmp_path)
    values = init(urdf)
    assert values['joints'] == {'b': {'class': 'free'}, 'd': {'class': 'free'}}
    (constraint,) = values['constraints'].values()
    assert constraint == {
        'kind': 'line',
        'first': {'link': 'coupler', 'position': pytest.approx((C - B).tolist())},
        'second': {'link': 'rocker', 'position': pytest.approx((C - D).tolist())},
        'axis': [0.0, 1.0, 0.0],
    }
    assert 'loop closures of the SolidWorks exporter, loop_closures.yaml' in urdf.with_suffix('.yaml').read_text()
    assert_it_is_the_four_bar(urdf)


def test_a_config_folder_of_the_package_is_searched_too(tmp_path):
    (tmp_path / 'urdf').mkdir()
    (tmp_path / 'config').mkdir()
    loop_closures(tmp_path / 'config')
    assert 'loop_1' in init(four_bar(tmp_path / 'urdf'))['constraints']


def test_a_loop_replaces_the_mimics_that_approximate_it(tmp_path):
    urdf = four_bar(tmp_path, mimic='<mimic joint="a" multiplier="-0.9"/>')
    loop_closures(tmp_path)
    assert list(init(urdf)['constraints']) == ['loop_1']
    assert_it_is_the_four_bar(urdf)


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'closures': None}, 'closures: expected a list of closures, found dependent, independent'),
        (
            {'closures': [{'link_a': 'copler', 'link_b': 'rocker', 'point': [0, 0, 0], 'axis': [0, 1, 0]}]},
            "link_a: expected a link of the URDF, found 'copler' (did you mean 'coupler'?)",
        ),
        (
            {'closures': [{'link_a': 'coupler', 'link_b': 'rocker', 'point': [0, 0], 'axis': [0, 1, 0]}]},
            'point: expected three numbers, found a list of 2',
        ),
        (
            {'closures': [{'link_a': 'coupler', 'link_b': 'rocker', 'point': [0, 0, 0], 'axis': [0, 0, 0]}]},
            'axis: expected a direction, found a vector of length zero',
        ),
        (
            {'closures': [{'link_a': 'coupler', 'link_b': 'rocker', 'axis': [0, 1, 0]}]},
            'point: expected three numbers, found nothing',
        ),
    ],
)
def test_faults_of_loop_closures_have_file_line_and_key(tmp_path, capsys, changes, message):
    path = loop_closures(tmp_path, **changes)
    assert main(['init', str(four_bar(tmp_path)), '-o', str(tmp_path / 'x.yaml')]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert f'{path}:' in error
    assert not (tmp_path / 'x.yaml').exists()


def test_joints_missing_in_the_urdf_are_reported(tmp_path, capsys):
    loop_closures(tmp_path, independent=['a', 'wheel'])
    init(four_bar(tmp_path))
    assert "independent: expected movable joints of the URDF, found 'wheel'" in capsys.readouterr().err


def test_without_lists_the_joint_nearest_to_the_root_drives(tmp_path):
    loop_closures(tmp_path, dependent=None, independent=None)
    assert set(init(four_bar(tmp_path))['joints']) == {'b', 'd'}


def test_joints_of_effort_zero_are_not_chosen_as_drives(tmp_path):
    loop_closures(tmp_path, dependent=None, independent=None)
    values = init(four_bar(tmp_path, limit='effort="0" velocity="5"'))
    assert values['joints'] == {'b': {'class': 'free'}, 'd': {'class': 'free'}}


# --- MJCF ----------------------------------------------------------------------------------------------------------

BODY = (
    '<body name="{name}" pos="{pos}"><joint name="{joint}" axis="0 1 0"/>'
    '<geom type="sphere" size="0.05" mass="{mass}" pos="{com}"/>{inside}</body>'
)


def spaced(values):
    return ' '.join(f'{value:.17g}' for value in values)


def mjcf(folder, equality, actuator='<motor joint="a"/>'):
    coupler = BODY.format(name='coupler', pos=spaced(B - A), joint='b', mass=3, com=spaced((C - B) / 2), inside='')
    coupler = coupler.replace('</body>', f'<site name="tip" pos="{spaced(C - B)}"/></body>')
    crank = BODY.format(name='crank', pos=spaced(A), joint='a', mass=2, com=spaced((B - A) / 2), inside=coupler)
    rocker = BODY.format(name='rocker', pos=spaced(D), joint='d', mass=4, com=spaced((C - D) / 2), inside='')
    rocker = rocker.replace('</body>', f'<site name="eye" pos="{spaced(C - D)}"/></body>')
    path = folder / 'four_bar.xml'
    path.write_text(
        f'<mujoco><worldbody>{crank}{rocker}</worldbody><equality>{equality}</equality>'
        f'<actuator>{actuator}</actuator></mujoco>'
    )
    return path


CONNECT = f'<connect name="pin" body1="coupler" body2="rocker" anchor="{spaced(C - B)}"/>'
SITES = '<connect name="pin" site1="tip" site2="eye"/>'


@pytest.mark.parametrize('equality', [CONNECT, SITES])
def test_connect_of_an_mjcf_file_agrees_with_mujoco(tmp_path, equality):
    mujoco = pytest.importorskip('mujoco')
    path = mjcf(tmp_path, equality)
    urdf = four_bar(tmp_path)
    values = init(urdf, '--closures', path)
    pin = values['constraints']['pin']
    assert pin['kind'] == 'line'  # of a planar loop
    model = mujoco.MjModel.from_xml_path(str(path))
    if equality is CONNECT:
        anchors = model.eq_data[0][:3], model.eq_data[0][3:6]
    else:
        anchors = (model.site_pos[model.site(name).id] for name in ('tip', 'eye'))
    for key, anchor in zip(('first', 'second'), anchors):
        assert pin[key]['position'] == pytest.approx(list(anchor), abs=1e-9)
    assert values['joints'] == {'b': {'class': 'free'}, 'd': {'class': 'free'}}


def test_two_points_between_the_same_bodies_are_a_hinge(tmp_path):
    beside = spaced(C - B + np.array([0, 0.03, 0]))
    equality = CONNECT + f'<connect name="pin_2" body1="coupler" body2="rocker" anchor="{beside}"/>'
    urdf = four_bar(tmp_path)
    values = init(urdf, '--closures', mjcf(tmp_path, equality))
    assert values['constraints']['pin']['kind'] == 'line'
    assert values['constraints']['pin']['axis'] == [0.0, 1.0, 0.0]
    assert_it_is_the_four_bar(urdf)


def test_weld_and_joint_of_an_mjcf_file(tmp_path):
    equality = '<joint name="gear" joint1="d" joint2="a" polycoef="0.1 -2 0 0 0"/>'
    values = init(four_bar(tmp_path), '--closures', mjcf(tmp_path, equality, '<motor joint="a"/><motor joint="b"/>'))
    assert values['constraints'] == {
        'mimic_d': {'kind': 'coupling', 'coefficients': {'d': 1.0, 'a': 2.0}, 'offset': 0.1}
    }
    assert values['joints'] == {'d': {'class': 'free'}}
    assert values['initial']['joint_positions'] == {'a': 0.0, 'b': 0.0, 'd': 0.1}
    values = init(four_bar(tmp_path), '--closures', mjcf(tmp_path, '<weld body1="rocker" body2="coupler"/>'))
    assert values['constraints']['loop_1']['kind'] == 'frame'


@pytest.mark.parametrize(
    ('equality', 'message'),
    [
        (
            '<connect body1="copler" anchor="0 0 0"/>',
            "connect, body1: expected a body that is a link of the URDF, found 'c",
        ),
        ('<connect body1="coupler" body2="rocker"/>', 'connect: expected an anchor, or site1 and site2, found neither'),
        ('<connect body1="coupler" body2="rocker" anchor="0 0"/>', "connect, anchor: expected 3 numbers, found '0 0'"),
        (
            '<connect site1="tip" site2="ear"/>',
            "connect, site2: expected a site of the file, found 'ear' (known: tip, eye)",
        ),
        (
            '<joint joint1="a" joint2="b" polycoef="0 1 2"/>',
            'joint, polycoef: expected a linear relation of the joints',
        ),
        ('<joint joint1="e"/>', "joint, joint1: expected a joint of the URDF, found 'e'"),
    ],
)
def test_faults_of_an_mjcf_file_have_file_line_and_key(tmp_path, capsys, equality, message):
    path = mjcf(tmp_path, equality)
    words = ['init', str(four_bar(tmp_path)), '-o', str(tmp_path / 'x.yaml'), '--closures', str(path)]
    assert main(words) == 1
    assert f'{path}:1: {message}' in capsys.readouterr().err


# --- SDF -----------------------------------------------------------------------------------------------------------


END = f'<pose relative_to="coupler">{spaced(C - B)} 0 0 0</pose>'


def sdf_joint(kind='revolute', pose=END, child='coupler'):
    return (
        f'<joint name="pin" type="{kind}">{pose}<parent>rocker</parent><child>{child}</child>'
        '<axis><xyz>0 1 0</xyz></axis></joint>'
    )


def test_a_loop_joint_of_an_sdf_file_closes_the_loop(tmp_path):
    tree = '<joint name="b" type="revolute"><parent>crank</parent><child>coupler</child></joint>'
    path = tmp_path / 'four_bar.sdf'
    path.write_text(f'<sdf version="1.10"><model name="four_bar">{tree}{sdf_joint()}</model></sdf>')
    urdf = four_bar(tmp_path)
    assert init(urdf, '--closures', path)['constraints']['pin']['kind'] == 'line'
    assert_it_is_the_four_bar(urdf)


def test_a_ball_joint_closes_a_planar_loop_whose_file_is_rounded(tmp_path):
    """A third row, normal to the plane, would be inconsistent with the rounded axes."""
    path = tmp_path / 'four_bar.sdf'
    path.write_text(f'<sdf version="1.10"><model name="four_bar">{sdf_joint("ball")}</model></sdf>')
    urdf = four_bar(tmp_path)
    urdf.write_text(urdf.read_text().replace('xyz="0 1 0"', 'xyz="1e-8 1 0"', 1))
    pin = init(urdf, '--closures', path)['constraints']['pin']
    assert pin['kind'] == 'line'
    assert pin['axis'] == pytest.approx([0.0, 1.0, 0.0], abs=1e-7)
    assert_it_is_the_four_bar(urdf, apart=1e-8)  # across the plane


def test_a_loop_joint_in_a_gazebo_element_of_the_urdf_closes_the_loop(tmp_path):
    pose = f'<pose>{spaced(C - D)} 0 0 0</pose>'
    element = sdf_joint(pose=pose).replace('coupler', 'X').replace('rocker', 'coupler').replace('X', 'rocker')
    plugin = '<plugin name="mimic"><joint>b</joint><joint>d</joint></plugin>'
    urdf = four_bar(tmp_path, more=f'<gazebo>{element}{plugin}</gazebo>')
    assert init(urdf)['constraints']['pin']['first']['link'] == 'rocker'
    assert_it_is_the_four_bar(urdf)


@pytest.mark.parametrize(
    ('element', 'message'),
    [
        (
            sdf_joint(kind='universal'),
            'joint pin, type: expected a type of revolute, continuous, prismatic, ball, fixed',
        ),
        (sdf_joint().replace('type="revolute"', ''), 'joint pin, type: expected a type of revolute, continuous'),
        (sdf_joint(child='copler'), "joint pin, child: expected a link of the URDF, found 'copler' (did you mean"),
        (sdf_joint(pose='<pose>0 0 0</pose>'), "joint pin, pose: expected 6 numbers, found '0 0 0'"),
        (
            sdf_joint(pose='<pose relative_to="frame">0 0 0 0 0 0</pose>'),
            "joint pin, pose, relative_to: expected a link of the URDF, found 'frame'",
        ),
    ],
)
def test_faults_of_an_sdf_file_have_file_line_and_key(tmp_path, capsys, element, message):
    path = tmp_path / 'four_bar.sdf'
    path.write_text(f'<sdf version="1.10"><model name="four_bar">{element}</model></sdf>')
    words = ['init', str(four_bar(tmp_path)), '-o', str(tmp_path / 'x.yaml'), '--closures', str(path)]
    assert main(words) == 1
    assert f'{path}:1: {message}' in capsys.readouterr().err


def test_another_file_is_rejected_with_the_formats(tmp_path, capsys):
    path = tmp_path / 'other.xml'
    path.write_text('<html/>')
    words = ['init', str(four_bar(tmp_path)), '-o', str(tmp_path / 'x.yaml'), '--closures', str(path)]
    assert main(words) == 1
    expected = 'expected a YAML file, or an XML file with a root of <mujoco>, <sdf>, <robot>, found <html>'
    assert f'{path}:1: document: {expected}' in capsys.readouterr().err
