"""Initial velocities: of trees and with constraints, in `check`, as parameters, after a reset."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from domains import next_domain
from scipy.spatial.transform import Rotation

from dyn_nodes.cli import main
from dyn_nodes.middleware import Context, Parameter, init
from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import InitialTwist, Machine
from dyn_nodes.model.problems import MachineError
from dyn_nodes.multibody.base_motion import initial_velocities
from dyn_nodes.nodes.machines import machine_of, moving
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.simulation.constrained_machine import constrained_machine
from dyn_nodes.simulation.plant import Plant

DOMAIN = next_domain()
LINEAR, ANGULAR = (0.3, -0.2, 0.1), (0.5, -0.4, 0.7)
BODY = """<robot name="body">
  <link name="hull"><inertial><origin xyz="0.1 0 0"/><mass value="4"/>
    <inertia ixx="0.2" iyy="0.3" izz="0.4" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="wheel"><inertial><origin xyz="0 0.05 0"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="spin" type="continuous"><parent link="hull"/><child link="wheel"/><origin xyz="0.3 0 0"/>
    <axis xyz="0 1 0"/><limit effort="5" velocity="30"/></joint>
</robot>
"""


def body(folder: Path, initial: str, attachment: str = 'free') -> tuple[Path, Path]:
    urdf, config = folder / 'body.urdf', folder / 'body.yaml'
    urdf.write_text(BODY)
    config.write_text(f'gravity: 0\nbase: {{attachment: {attachment}}}\ninitial:\n{initial}')
    return urdf, config


def in_motion(machine: Machine, **changes) -> Machine:
    return replace(machine, initial=replace(machine.initial, **changes))


@pytest.fixture(scope='module')
def adrift(tmp_path_factory) -> Plant:
    """Return the plant of a body in space that starts inclined, moving and spinning."""
    initial = '  base_position: [1, 2, 3]\n  base_roll: 0.3\n  base_pitch: -0.2\n  base_yaw: 0.5\n'
    initial += '  joint_velocities: {spin: 6}\n'
    initial += f'  base_twist: {{linear: {list(LINEAR)}, angular: {list(ANGULAR)}}}\n'
    machine = load_machine(*body(tmp_path_factory.mktemp('body'), initial))
    return Plant(machine, 'effort', 1e-3, 1e-3)


def test_a_body_starts_in_its_pose_with_its_twist_and_keeps_its_momentum(adrift):
    adrift.reset()
    position, quaternion = adrift.base_pose()
    assert position == pytest.approx([1.0, 2.0, 3.0])
    np.testing.assert_allclose(
        Rotation.from_quat(quaternion).as_matrix(), Rotation.from_euler('ZYX', [0.5, -0.2, 0.3]).as_matrix(), atol=1e-14
    )
    linear, angular = adrift.base_twist()
    assert (linear.tolist(), angular.tolist()) == (list(LINEAR), list(ANGULAR))
    assert adrift.velocities.tolist() == [6.0]
    names = [f'{name}_{axis}' for name in ('center_of_mass_velocity', 'angular_momentum') for axis in 'xyz']
    before = [adrift.output(name) for name in names]
    energy = adrift.output('kinetic_energy')
    for _ in range(200):
        adrift.advance()
    assert [adrift.output(name) for name in names] == pytest.approx(before, abs=1e-9)
    assert adrift.output('kinetic_energy') == pytest.approx(energy, rel=1e-9)
    assert np.linalg.norm(adrift.base_pose()[0] - position) > 0.05


def test_a_reset_restores_the_initial_velocities(adrift):
    adrift.reset()
    start = adrift.x.copy()
    adrift.advance()
    assert np.abs(adrift.x - start).max() > 1e-4
    adrift.reset()
    assert (adrift.x == start).all()


def test_the_rates_of_a_chain_of_joints_give_the_twist_of_a_free_base(adrift):
    machine, h = adrift.machine, 1e-6
    turn = Rotation.from_euler('YXZ', [0.7, -0.3, 1.1])
    rates = initial_velocities(machine, turn.as_matrix(), 'virtual_chain')
    angles = np.array([0.7, -0.3, 1.1])
    step = h * np.array([rates[f'base_{name}'] for name in ('pitch', 'roll', 'yaw')])
    after = Rotation.from_euler('YXZ', angles + step)
    assert (turn.inv() * after).as_rotvec() / h == pytest.approx(ANGULAR, abs=1e-5)
    assert [rates[f'base_{axis}'] for axis in 'xyz'] == pytest.approx(turn.apply(LINEAR))
    assert rates['spin'] == 6.0


def test_the_twist_of_a_planar_base_is_in_its_axes():
    machine = machine_of('log_loader_planar', '')
    moved = in_motion(machine, base_twist=InitialTwist((1.0, 0.0, 0.0), (0.0, 0.2, 0.0)))
    velocities = initial_velocities(moved, Rotation.from_euler('y', 0.3).as_matrix())
    assert velocities == pytest.approx({'base_x': np.cos(0.3), 'base_z': -np.sin(0.3), 'base_pitch': 0.2})
    assert initial_velocities(machine, np.eye(3)) == {}


def test_joints_of_a_loop_follow_a_joint_with_specified_velocity():
    machine = in_motion(machine_of('four_bar', ''), joint_velocities={'crank_joint': 0.8})
    start = constrained_machine(machine)
    names = start.system.blocks.tree.velocity_names
    velocities = dict(zip(names, start.v))
    # a parallelogram: rocker as crank, coupler keeps its direction
    assert velocities == pytest.approx({'crank_joint': 0.8, 'coupler_joint': -0.8, 'rocker_joint': 0.8}, abs=1e-9)


def test_wheels_by_constraint_turn_as_the_base_moves():
    machine = machine_of('agv_caster', 'agv_caster_rigid')
    start = constrained_machine(in_motion(machine, base_twist=InitialTwist((0.3, 0.0, 0.0), (0.0, 0.0, 0.5))))
    velocities = dict(zip(start.system.blocks.tree.velocity_names, start.v))
    assert velocities['left_drive'] == pytest.approx((0.3 - 0.5 * 0.2) / 0.05, abs=1e-9)
    assert velocities['right_drive'] == pytest.approx((0.3 + 0.5 * 0.2) / 0.05, abs=1e-9)
    assert [velocities[f'base_{name}'] for name in ('vx', 'vy', 'wz')] == pytest.approx([0.3, 0.0, 0.5], abs=1e-12)


def test_velocities_that_violate_constraints_are_rejected_with_their_line(tmp_path):
    text = (Path(machine_of('agv_caster', 'agv_caster_rigid').sources[1])).read_text()
    config = tmp_path / 'aside.yaml'
    config.write_text(text.replace('0.05]\n', '0.05]\n  base_twist: {linear: [0.3, 0.1, 0]}\n', 1))
    machine = load_machine(machine_of('agv_caster', '').sources[0], config)
    with pytest.raises(MachineError) as error:
        constrained_machine(machine)
    (line,) = str(error.value).splitlines()
    number = next(k for k, entry in enumerate(config.read_text().splitlines(), 1) if 'base_twist' in entry)
    assert line.startswith(
        f'{config}:{number}: initial: expected velocities that the constraints allow, found no velocity'
    )
    assert 'lateral is missed by' in line or 'base_v' in line


@pytest.mark.parametrize(
    ('initial', 'attachment', 'fault'),
    [
        (
            '  joint_velocities: {spun: 1}\n',
            'free',
            "expected a movable joint of the URDF, found 'spun'",
        ),
        ('  joint_velocities: {spin: 31}\n', 'free', 'expected at most the limit of the joint, 30, found 31'),
        ('  joint_velocities: 3\n', 'free', "expected a mapping of joint names to numbers, found '3'"),
        ('  base_twist: {linear: [0, 0, 1]}\n', 'fixed', 'expected no motion of a fixed base, found another'),
        (
            '  base_twist: {angular: [0, 0, 1]}\n',
            'planar',
            'expected a motion in the plane: x, z and pitch, found another',
        ),
        ('  base_twist: {linear: [0, 1]}\n', 'free', 'expected'),
    ],
)
def test_check_rejects_invalid_velocities(tmp_path, capsys, initial, attachment, fault):
    urdf, config = body(tmp_path, initial, attachment)
    assert main(['check', str(urdf), '--config', str(config)]) == 1
    printed = capsys.readouterr().err
    assert f'{config}:4: initial.' in printed
    assert fault in printed


def test_check_shows_the_initial_velocities(tmp_path, capsys):
    urdf, config = body(tmp_path, '  joint_velocities: {spin: 6}\n  base_twist: {linear: [0.5, 0, 0]}\n')
    assert main(['check', str(urdf), '--config', str(config)]) == 0
    assert 'base_vx 0.5 (m/s, rad/s)' in ' '.join(capsys.readouterr().out.replace('│', ' ').split())


def test_parameters_replace_the_velocities_of_the_file():
    machine = machine_of('agv_caster', '')
    initial = moving(machine, 'left_drive=8, right_drive=-8', '0.4,0,0,0,0,0.2').initial
    assert initial.joint_velocities == {'left_drive': 8.0, 'right_drive': -8.0}
    assert initial.base_twist == InitialTwist((0.4, 0.0, 0.0), (0.0, 0.0, 0.2))
    assert moving(machine, '', '').initial == machine.initial


@pytest.mark.parametrize(
    ('velocities', 'twist', 'fault'),
    [
        ('left_drive=fast', '', "'initial_velocities': 'left_drive=fast': expected joint=velocity, rad/s or m/s"),
        ('left_drive=41', '', 'expected at most 40'),
        ('left_drive=nan', '', 'expected at most 40'),
        ('', '1,2,3', "'initial_twist': expected six finite numbers, found '1,2,3'"),
        ('', '1,0,0,0,0,inf', 'expected six finite numbers'),
        ('', 'fast', 'expected six finite numbers'),
    ],
)
def test_invalid_parameters_are_rejected(velocities, twist, fault):
    with pytest.raises(ParameterError) as error:
        moving(machine_of('agv_caster', ''), velocities, twist)
    assert fault in str(error.value)


def test_a_node_starts_with_its_velocities_and_restores_them_at_reset(monkeypatch):
    from dyn_nodes.nodes.dynamics_node import DynamicsNode

    monkeypatch.setenv('ROS_DOMAIN_ID', str(DOMAIN))
    context = Context()
    init(args=['moving'], context=context)
    values = {'machine': 'four_bar', 'mode': 'lockstep', 'initial_velocities': 'crank_joint=-0.8'}
    node = DynamicsNode(
        context=context, parameter_overrides=[Parameter(name, value=setting) for name, setting in values.items()]
    )
    try:
        start = node.plant.velocities.copy()
        assert start == pytest.approx([-0.8, 0.8, -0.8], abs=1e-9)
        assert node.advance()
        # held by the efforts at rest only: no servo brakes the initial motion
        assert node.plant.velocities == pytest.approx(start, rel=0.01)
        assert node.put_back() == ''
        assert (node.plant.velocities == start).all()
    finally:
        context.try_shutdown()
