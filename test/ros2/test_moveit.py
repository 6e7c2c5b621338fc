"""The MoveIt configuration of the vehicle with an arm: its files against URDF, machine, nodes and launch file."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from domains import next_domain

from dyn_nodes.middleware import Context, Parameter, init
from dyn_nodes.middleware.launching import declared_arguments, interpret
from dyn_nodes.model.rotations import matrix_of_rotation_vector
from dyn_nodes.multibody.rigid_body import RigidBodyModel
from dyn_nodes.nodes import follow_joint_trajectory
from dyn_nodes.nodes.composition_node import class_of
from dyn_nodes.nodes.machines import machine_of

ROOT = Path(__file__).parents[2]
NAME = 'agv_mecanum_arm'
FOLDER = ROOT / 'config' / 'moveit' / NAME
LAUNCH = ROOT / 'launch' / f'{NAME}_moveit.launch.xml'
URDF = ElementTree.parse(ROOT / 'urdf' / f'{NAME}.urdf').getroot()
SRDF = ElementTree.parse(FOLDER / f'{NAME}.srdf').getroot()
JOINTS = {joint.attrib['name']: joint for joint in URDF.findall('joint')}
LINKS = {link.attrib['name']: link for link in URDF.findall('link')}
PARENT_JOINT = {joint.find('child').attrib['link']: joint for joint in JOINTS.values()}


def parameters(name: str) -> dict[str, Any]:
    """Return the parameters of a file of the configuration."""
    return yaml.safe_load((FOLDER / f'{name}.yaml').read_text())['/**']['ros__parameters']


def chain(group: ElementTree.Element) -> list[str]:
    """Return the joints that move along the chain of a group, from its base to its tip."""
    ends = group.find('chain').attrib
    link, joints = ends['tip_link'], []
    while link != ends['base_link']:
        joint = PARENT_JOINT[link]
        link = joint.find('parent').attrib['link']
        joints.append(joint)
    return [joint.attrib['name'] for joint in reversed(joints) if joint.attrib['type'] != 'fixed']


GROUPS = {group.attrib['name']: group for group in SRDF.findall('group')}
ARM = chain(GROUPS['arm'])


def test_groups_and_states_of_the_srdf_are_those_of_the_urdf() -> None:
    assert SRDF.tag == 'robot'
    assert SRDF.attrib['name'] == URDF.attrib['name']
    kinds = {'virtual_joint', 'group', 'group_state', 'passive_joint', 'disable_collisions'}
    assert {element.tag for element in SRDF} == kinds
    assert list(GROUPS) == ['arm']
    (virtual,) = SRDF.findall('virtual_joint')
    assert virtual.attrib['child_link'] in set(LINKS) - set(PARENT_JOINT), 'the root'
    assert virtual.attrib['parent_frame'] == 'odom'
    machine = machine_of(NAME, '')
    driven = {joint.name for joint in machine.actuated_joints}
    passive = {joint.attrib['name'] for joint in SRDF.findall('passive_joint')}
    assert {*ARM, *passive} == driven
    assert not set(ARM) & passive
    for state in SRDF.findall('group_state'):
        assert state.attrib['group'] == 'arm'
        values = {joint.attrib['name']: float(joint.attrib['value']) for joint in state.findall('joint')}
        assert list(values) == ARM
        for name, value in values.items():
            assert machine.joint(name).lower <= value <= machine.joint(name).upper
        if state.attrib['name'] == 'home':
            assert values == {name: machine.initial.joint_positions.get(name, 0.0) for name in ARM}


# -- collisions ------------------------------------------------------------------------------------------------------


def numbers(text: str) -> np.ndarray:
    return np.array([float(word) for word in text.split()])


class Solid:
    """The collision shape of a link, a box or a cylinder about z, by points and by their containment."""

    def __init__(self, link: ElementTree.Element) -> None:
        collision = link.find('collision')
        origin = collision.find('origin').attrib
        self.at = numbers(origin.get('xyz', '0 0 0'))
        roll, pitch, yaw = numbers(origin.get('rpy', '0 0 0'))
        turns = [matrix_of_rotation_vector(angle * np.eye(3)[k]) for k, angle in ((2, yaw), (1, pitch), (0, roll))]
        self.axes = turns[0] @ turns[1] @ turns[2]
        (shape,) = collision.find('geometry')
        self.round = shape.tag == 'cylinder'
        self.half = (
            np.array([float(shape.attrib['radius']), float(shape.attrib['radius']), float(shape.attrib['length']) / 2])
            if self.round
            else numbers(shape.attrib['size']) / 2
        )
        grid = np.stack(np.meshgrid(*3 * [np.linspace(-1.0, 1.0, 9)]), axis=-1).reshape(-1, 3) * self.half
        self.points = grid[self.contains(grid @ self.axes.T + self.at)] @ self.axes.T + self.at

    def contains(self, points: np.ndarray) -> np.ndarray:
        """Return whether points of the link are inside, within 1 cm."""
        local, half = np.abs((points - self.at) @ self.axes), self.half + 0.01
        if self.round:
            return (np.hypot(local[:, 0], local[:, 1]) < half[0]) & (local[:, 2] < half[2])
        return (local < half).all(axis=1)


def test_disabled_collisions_are_those_of_neighbours_and_of_links_that_never_meet() -> None:
    disabled: dict[str, set[tuple[str, ...]]] = {'Adjacent': set(), 'Never': set()}
    entries = [element.attrib for element in SRDF.iter('disable_collisions')]
    for entry in entries:
        disabled[entry['reason']].add(tuple(sorted((entry['link1'], entry['link2']))))
    assert sum(map(len, disabled.values())) == len(entries), 'each pair once'
    assert {link for pairs in disabled.values() for pair in pairs for link in pair} <= set(LINKS)
    assert disabled['Adjacent'] == {
        tuple(sorted((joint.find('parent').attrib['link'], joint.find('child').attrib['link'])))
        for joint in JOINTS.values()
    }
    machine = machine_of(NAME, '')
    model = RigidBodyModel(replace(machine, base=replace(machine.base, attachment='fixed')))
    solids = {name: Solid(link) for name, link in LINKS.items()}
    random, met = np.random.default_rng(45), set()
    limits = np.array([(max(machine.joint(n).lower, -3.2), min(machine.joint(n).upper, 3.2)) for n in ARM])
    order = [model.position_names.index(name) for name in ARM]
    for k in range(400):
        q = model.neutral()
        q[order] = random.uniform(*limits.T) if k else 0.0
        poses = {name: model.link_pose(name, q) for name in LINKS}
        for one, other in combinations(sorted(LINKS), 2):
            there = np.linalg.inv(poses[other]) @ poses[one]
            points = solids[one].points @ there[:3, :3].T + there[:3, 3]
            if solids[other].contains(points).any():
                met.add((one, other))
    assert not met & disabled['Never']
    assert ('arm_column', 'arm_fore') in met, 'pairs that meet are found'


# -- parameters ------------------------------------------------------------------------------------------------------


def test_the_solver_fits_the_number_of_joints() -> None:
    solvers = parameters('kinematics')['robot_description_kinematics']
    assert list(solvers) == list(GROUPS)
    assert solvers['arm']['position_only_ik'] is (len(ARM) < 6)


def test_limits_of_joints_are_within_the_urdf_and_the_efforts() -> None:
    """In random postures, with the heaviest payload, at the greatest speeds and accelerations."""
    limits = parameters('joint_limits')['robot_description_planning']['joint_limits']
    assert list(limits) == ARM
    machine = machine_of(NAME, '')
    joints = [machine.joint(name) for name in ARM]
    speeds, rises = (np.array([limits[name][f'max_{kind}'] for name in ARM]) for kind in ('velocity', 'acceleration'))
    assert all(limits[name][f'has_{kind}_limits'] for name in ARM for kind in ('velocity', 'acceleration'))
    assert (speeds <= [joint.velocity_limit for joint in joints]).all()
    model = RigidBodyModel(replace(machine, base=replace(machine.base, attachment='fixed')))
    order = [model.velocity_names.index(name) for name in ARM]
    random, worst = np.random.default_rng(45), np.zeros(len(ARM))
    low, high = (np.array([getattr(joint, side) for joint in joints]) for side in ('lower', 'upper'))
    for _ in range(2000):
        q, v, a = (np.zeros(model.nv) for _ in range(3))
        q[order] = random.uniform(np.maximum(low, -np.pi), np.minimum(high, np.pi))
        v[order], a[order] = random.choice([-1, 0, 1], len(ARM)) * speeds, random.choice([-1, 1], len(ARM)) * rises
        efforts = model.inverse_dynamics(q, v, a, model.parameters(machine.payload.limit))[order]
        worst = np.maximum(worst, np.abs(efforts))
    assert (worst < [joint.effort_limit for joint in joints]).all()


# -- nodes and launch file -------------------------------------------------------------------------------------------


def nodes_of(**arguments: str) -> dict[str, list[str]]:
    """Return the command lines of the nodes of the launch file, by name."""
    children = interpret(LAUNCH, {'compose': 'false', **arguments}).children
    return {child.name: list(child.command) for child in children}


def test_controllers_are_actions_of_the_nodes_that_the_launch_file_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = parameters('moveit_controllers')
    assert settings['moveit_controller_manager'].endswith('/MoveItSimpleControllerManager')
    manager = settings['moveit_simple_controller_manager']
    started = nodes_of()
    monkeypatch.setenv('ROS_DOMAIN_ID', str(next_domain()))
    context = Context()
    init(args=['tester'], context=context)
    for name in manager['controller_names']:
        controller = manager[name]
        assert name in started
        assert f'~/{controller["action_ns"]}' == follow_joint_trajectory.NAME
        assert controller['type'] == follow_joint_trajectory.TYPE.rpartition('/')[2]
        machine = next(word.partition(':=')[2] for word in started[name] if word.startswith('machine:='))
        overrides = [Parameter('machine', value=machine), Parameter('config', value=NAME)]
        node = class_of(name)(context=context, parameter_overrides=overrides)
        assert sorted(controller['joints']) == sorted(node.goals.joints) == sorted(ARM)
        node.destroy_node()
    assert set(manager) == {'controller_names', *manager['controller_names']}
    context.try_shutdown()


def test_the_launch_file_gives_every_file_to_move_group() -> None:
    (node,) = [each for each in ElementTree.parse(LAUNCH).iter('node') if each.attrib['pkg'] != 'dyn_nodes']
    assert (node.attrib['exec'], node.attrib['if']) == ('move_group', '$(var moveit)')
    defaults = {argument.name: argument.default for argument in declared_arguments(LAUNCH)}
    assert Path(defaults['machine']).resolve() == (ROOT / 'urdf' / f'{NAME}.urdf').resolve()
    assert Path(defaults['moveit_config']).resolve() == FOLDER
    assert defaults['srdf'] == f'{NAME}.srdf'
    files = {entry.attrib['from'].rpartition('/')[2] for entry in node.iter('param') if 'from' in entry.attrib}
    assert {*files, defaults['srdf']} == {path.name for path in FOLDER.iterdir()}
    values = {entry.attrib['name']: entry.attrib['value'] for entry in node.iter('param') if 'name' in entry.attrib}
    assert values['robot_description'] == '$(file-content $(var machine))'
    assert values['robot_description_semantic'] == '$(file-content $(var moveit_config)/$(var srdf))'
    assert values['use_sim_time'] == '$(var use_sim_time)', 'dynamics_node is the clock'


def test_without_moveit_the_machine_alone_is_started() -> None:
    if importlib.util.find_spec('moveit_ros_move_group') is None:
        assert 'move_group' not in nodes_of()
    alone = nodes_of(moveit='false', namespace='left')
    assert {'dynamics_node', 'vehicle_controller_node'} <= set(alone)
    assert 'move_group' not in alone
    assert '__ns:=/left' in ' '.join(alone['vehicle_controller_node'])


def test_the_files_are_installed() -> None:
    assert f"glob('config/moveit/{NAME}/*.*')" in (ROOT / 'setup.py').read_text()
