"""Vehicles with rolling constraints under twists: unicycle kinematics, and odometry without slip."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from vehicles import GRAVITY, ROOT, vehicle

from dyn_nodes.cli import main
from dyn_nodes.commands.rviz_layout import machine_layout
from dyn_nodes.control.wheel_base import WheelBase
from dyn_nodes.control.wheel_motion import JointValues, WheelMotion
from dyn_nodes.control.wheel_run_out import BRAKING
from dyn_nodes.control.wheel_unit import NoVehicleError
from dyn_nodes.middleware.launching import interpret
from dyn_nodes.model.machine import Machine
from dyn_nodes.nodes.machines import machine_of, moving
from dyn_nodes.simulation.plant import Plant

PERIOD = 0.005
SCRIPT = ((0.6, (0.4, 0.0)), (1.2, (0.4, 0.8)), (2.0, (0.0, 0.0)))
MACHINES = {'agv_caster_rigid': 'agv_caster', 'cart_skids': 'cart', 'agv_axle_rigid': 'agv_axle'}
SLOW = [pytest.param('agv_axle_rigid', marks=pytest.mark.slow)]


def machine(name: str) -> Machine:
    return machine_of(MACHINES[name], name)


@dataclass
class Drive:
    """Run of a vehicle with SCRIPT: twists (t, 3) of base and odometry, poses (t, 3), pitch rates (t,)."""

    plant: Plant
    motion: WheelMotion
    twists: np.ndarray
    seen: np.ndarray
    poses: np.ndarray
    odometry: np.ndarray
    pitching: np.ndarray


def driven(name: str) -> Drive:
    vehicle_machine = machine(name)
    plant = Plant(vehicle_machine, 'effort', PERIOD, 5e-4)
    motion = WheelMotion(WheelBase.of(vehicle_machine), PERIOD)
    indices = [plant.joints.index(joint) for joint in motion.joints]
    out = [plant.joints.index(joint) for joint in motion.commanded]
    rows = []

    def joints() -> JointValues:
        return JointValues(plant.positions[indices], plant.velocities[indices], np.zeros(len(indices)))

    motion.restart(joints())
    for k in range(round(SCRIPT[-1][0] / PERIOD)):
        speed, yaw_rate = next(twist for end, twist in SCRIPT if k * PERIOD < end - 1e-9)
        command = motion.step(np.array([speed, 0.0, yaw_rate]), PERIOD if k else 0.0, joints())
        (x, y, _), q = plant.base_pose()
        linear, angular = plant.base_twist()
        pose = [x, y, 2.0 * np.arctan2(q[2], q[3])]
        rows.append(
            [linear[0], linear[1], angular[2], *motion.odometry.twist, *pose, *motion.odometry.pose, angular[1]]
        )
        efforts = np.zeros(len(plant.joints))
        efforts[out] = command.effort
        plant.set_efforts(efforts)
        plant.advance()
    table = np.array(rows)
    return Drive(plant, motion, table[:, :3], table[:, 3:6], table[:, 6:9], table[:, 9:12], table[:, 12])


@pytest.fixture(scope='module')
def drives() -> dict[str, Drive]:
    return {}


@pytest.fixture
def drive(request, drives) -> Drive:
    if request.param not in drives:
        drives[request.param] = driven(request.param)
    return drives[request.param]


ALL = pytest.mark.parametrize('drive', ['agv_caster_rigid', 'cart_skids', *SLOW], indirect=True)


@ALL
def test_it_follows_the_twists_like_a_unicycle(drive):
    """No motion along the axle, the commanded twist, and the pose integrated from speed and yaw rate."""
    assert np.abs(drive.twists[:, 1]).max() < 1e-12
    for end, (speed, yaw_rate) in SCRIPT:
        assert drive.twists[round(end / PERIOD) - 1] == pytest.approx([speed, 0.0, yaw_rate], abs=0.03)
    middle = 0.5 * (drive.twists[1:] + drive.twists[:-1])
    yaw = drive.poses[:-1, 2] + 0.5 * PERIOD * middle[:, 2]
    steps = PERIOD * np.column_stack([middle[:, 0] * np.cos(yaw), middle[:, 0] * np.sin(yaw), middle[:, 2]])
    path = np.vstack([np.zeros(3), np.cumsum(steps, axis=0)])
    assert np.abs(path - drive.poses).max() < 1e-5  # second order of the period
    assert np.ptp(drive.poses[:, 0]) > 0.3
    assert drive.poses[-1, 2] > 0.4


@ALL
def test_odometry_is_exact_without_slip(drive):
    """The base pitches relative to the wheels: the error of odometry is the radius times the pitch rate."""
    radius = drive.motion.base.wheels[0].radius
    missed, rocks = drive.twists - drive.seen, drive.plant.machine.supports
    assert np.abs(missed[:, 0] - radius * drive.pitching).max() < (1e-5 if rocks else 1e-12)
    assert np.abs(missed[:, 1:]).max() < (1e-6 if rocks else 1e-12)
    off = np.abs(drive.poses - drive.odometry)
    assert off.max() < (4e-4 if rocks else 2e-6)  # the arcs of a period are of second order
    assert off[-1].max() < (4e-5 if rocks else 2e-6)
    assert drive.plant.take_events() == []


@ALL
def test_the_ground_carries_its_weight(drive):
    drive.plant.reset()
    balance = drive.plant.balance()
    weight = drive.plant.machine.total_mass * GRAVITY
    assert balance is not None
    assert balance.forces[:, 2].sum() == pytest.approx(weight, rel=1e-9)
    assert np.abs(balance.forces[:, :2]).max() < 1e-9 * weight
    before = drive.plant.base_pose()[0].copy()
    for _ in range(100):
        drive.plant.advance()
    assert np.abs(drive.plant.base_pose()[0] - before).max() < 1e-9


@pytest.mark.parametrize('slope', [0.0, 0.1])
@pytest.mark.parametrize('name', ['agv_caster_rigid', 'cart_skids'])
def test_a_vehicle_whose_joints_are_held_while_it_drives_comes_to_rest_on_all_its_wheels(name, slope):
    """The safe state after the end of commands: a stiff servo would stop the wheels in milliseconds and lift one."""
    vehicle_machine = moving(machine(name), '', '0.6,0,0,0,0,0')
    plant = Plant(vehicle_machine, 'effort', PERIOD, 5e-4, slope=(0.0, slope))
    target, rates = plant.positions.copy(), np.zeros(len(plant.joints))
    speeds, loads = [plant.base_twist()[0][0]], []
    for _ in range(240):
        plant.let_wheels_run_out(target, rates)
        plant.set_efforts(plant.servo_efforts(target, rates))
        plant.advance()
        speeds.append(plant.base_twist()[0][0])
        loads.append(min(plant.constraints.ground_reaction(wheel)[2][2] for wheel in plant.constraints.wheels))
    assert speeds[60] == pytest.approx(0.6 - 60 * PERIOD * BRAKING, abs=0.05)
    assert min(speeds) > -0.02  # the base rocks back on its skids
    assert abs(speeds[-1]) < 1e-4
    assert min(loads) > 0.3 * loads[-1]
    assert plant.take_events() == []


@pytest.mark.parametrize(('rigid', 'sprung'), [('agv_caster_rigid', 'agv_caster'), ('agv_axle_rigid', 'agv_axle')])
def test_wheels_by_constraint_have_the_geometry_of_those_on_tyres(rigid, sprung):
    rigid_base, expected = WheelBase.of(machine(rigid)), WheelBase.of(vehicle(sprung))
    zero = np.zeros(len(expected.wheels))
    assert rigid_base.names == expected.names
    assert rigid_base.driven.tolist() == expected.driven.tolist()
    np.testing.assert_allclose(rigid_base.rolling_rows(zero)[0], expected.rolling_rows(zero)[0], atol=1e-12)
    np.testing.assert_allclose(rigid_base.held_rows(zero), expected.held_rows(zero), atol=1e-12)
    np.testing.assert_allclose(rigid_base.inertia, expected.inertia, rtol=1e-12)
    assert rigid_base.reach == pytest.approx(np.full(len(zero), 0.05), abs=1e-12)
    assert rigid_base.height == pytest.approx(0.05, abs=1e-12)


def test_a_tyre_beside_wheels_by_constraint_rolls_on_the_height_that_these_give():
    axle = vehicle('agv_axle')
    rigid = tuple(wheel for wheel in machine('agv_axle_rigid').constraints if wheel.name == 'left')
    sprung = tuple(wheel for wheel in axle.wheels if wheel.name != 'left')
    base = WheelBase.of(replace(axle, wheels=sprung, constraints=rigid))
    assert base.names == ('right', 'left')
    assert [wheel.radius for wheel in base.wheels] == pytest.approx([0.05, 0.05], abs=1e-12)


def test_a_wheel_by_constraint_without_an_axle_joint_is_no_vehicle_wheel():
    axle = machine('agv_axle_rigid')
    left, right = axle.constraints
    assert left.first is not None
    fixed = replace(left, first=replace(left.first, link='base_link'))
    with pytest.raises(NoVehicleError, match="wheel 'left': expected a joint that turns link 'base_link', found none"):
        WheelBase.of(replace(axle, constraints=(fixed, right)))
    leaning = replace(left, axis=(1.0, 0.0, 0.0))
    with pytest.raises(NoVehicleError, match="'left': expected an axle along the axis of joint 'left_drive'"):
        WheelBase.of(replace(axle, constraints=(leaning, right)))
    beside = replace(left, first=replace(left.first, position=np.array([0.01, 0.0, 0.0])))
    with pytest.raises(NoVehicleError, match="'left': expected a centre on the axis of joint 'left_drive'"):
        WheelBase.of(replace(axle, constraints=(beside, right)))


@pytest.mark.parametrize('name', MACHINES)
def test_its_launch_file_drives_it_and_its_layout_shows_its_ground_reactions(name):
    children = {
        child.name: list(child.command)
        for child in interpret(ROOT / f'launch/{name}.launch.xml', {'compose': 'false'}).children
    }
    assert set(children) == {'dynamics_node', 'vehicle_controller_node'}
    for words in children.values():
        arguments = dict(word.split(':=', 1) for word in words if ':=' in word)
        assert (arguments['machine'].strip("'"), arguments['config'].strip("'")) == (MACHINES[name], name)
    vehicle_machine = machine(name)
    displays = machine_layout(vehicle_machine)['Visualization Manager']['Displays']
    group = next(display for display in displays if display['Class'] == 'rviz_common/Group')
    expected = {f'ground_reactions/{wheel.name}' for wheel in (*vehicle_machine.rigid_wheels, *vehicle_machine.wheels)}
    assert {display['Topic']['Value'] for display in group['Displays']} == expected


@pytest.mark.parametrize('name', MACHINES)
def test_check_reports_no_problem_and_no_springs_alone(name, capsys):
    """The skids carry a third of the weight, so that the machine does not stand on springs alone."""
    files = ROOT / f'urdf/{MACHINES[name]}.urdf', ROOT / f'config/{name}.yaml'
    assert main(['check', str(files[0]), '--config', str(files[1])]) == 0
    printed = capsys.readouterr().out
    assert 'no problems' in printed
    assert 'does not stand' not in printed
    assert 'warning' not in printed


def test_skids_in_line_with_an_axle_by_constraint_span_no_area(tmp_path, capsys):
    text = (ROOT / 'config/agv_axle_rigid.yaml').read_text().replace('0.14, 0.0', '0.0, 0.14')
    (tmp_path / 'line.yaml').write_text(text)
    assert main(['check', str(ROOT / 'urdf/agv_axle.urdf'), '--config', str(tmp_path / 'line.yaml')]) == 1
    assert 'expected wheels that span an area, found wheels on one line' in capsys.readouterr().err


def test_a_node_accepts_the_name_of_a_machine_yaml_of_the_package():
    assert machine_of('agv_axle', 'agv_axle_rigid').name == 'agv_axle_rigid'
    assert machine_of('agv_axle', '').name == 'agv_axle'
    with pytest.raises(ValueError, match=r"parameter 'config': config/agv_axle_rigit\.yaml was not found"):
        machine_of('agv_axle', 'agv_axle_rigit')
