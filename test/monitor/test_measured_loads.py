"""Loads, wheel reactions and margins from a machine's motion, compared with the simulation of that motion."""

from __future__ import annotations

import numpy as np
import pytest
from log_loader_tasks import PAYLOAD, WHEELS
from scipy.spatial.transform import Rotation

from dyn_nodes.monitor.ground_observer import GroundObserver, ground_axes
from dyn_nodes.monitor.load_model import LoadModel
from dyn_nodes.monitor.sensors import ImuMount, SensorNoise, world_up
from dyn_nodes.monitor.stability_monitor import StabilityMonitor, wheel_forces
from dyn_nodes.simulation import System, initial_state
from dyn_nodes.stability.balance import BalanceObserver


@pytest.fixture(scope='module')
def model(machine):
    return LoadModel(machine)


def sensed(task, k):
    """Return exact measurements at an instant: joints (q, v, a), base (omega, alpha, specific force), attitude."""
    system = task.system
    nq, nv = system.nq, system.nv
    x = task.states[k]
    names = [name.removesuffix('_rate') for name in system.state_names[nq : nq + nv]]
    a = np.array([task.output(f'{name}_acceleration')[k] for name in names])
    rotation = Rotation.from_quat(x[3:7]).as_matrix()
    omega = x[nq : nq + 3]
    force = a[3:6] + np.cross(omega, x[nq + 3 : nq + 6]) - rotation.T @ task.parameters[:3]
    return (x[7:nq].copy(), x[nq + 6 : nq + nv].copy(), a[6:].copy()), (omega, a[:3].copy(), force), rotation


INSTANTS = (0, 5500, 6000, 7300, 9000, 11000, 12300, 15000)


@pytest.mark.parametrize('k', INSTANTS)
def test_the_load_is_that_of_the_ground_reversed(task, model, k):
    """Newton-Euler from joints and IMU, compared with the sum of the simulated wheels' forces."""
    joints, base, rotation = sensed(task, k)
    load = model.evaluate(*joints, *base, PAYLOAD)
    force = np.array([task.output(f'load_force_{axis}')[k] for axis in 'xyz'])
    moment = np.array([task.output(f'load_moment_{axis}')[k] for axis in 'xyz'])
    assert rotation @ load.force == pytest.approx(force, abs=1e-6 * 2.2e5)
    assert rotation @ load.moment_at_com == pytest.approx(moment, abs=1e-6 * 2.2e5)
    assert float(load.mass) == pytest.approx(task.output('mass')[k])


def test_the_load_on_the_payload_is_gravity_less_its_acceleration(task, model):
    """By finite differences of the payload's path in the simulated world."""
    frame = []
    for k in (5998, 5999, 6000, 6001, 6002):
        joints, base, rotation = sensed(task, k)
        load = model.evaluate(*joints, *base, PAYLOAD)
        frame.append(task.states[k][:3] + rotation @ load.payload_point)
        if k == 6000:
            force = rotation @ load.payload_load
    step = 1e-3
    weights = np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / 12.0
    acceleration = weights @ np.array(frame) / step**2
    assert force == pytest.approx(task.parameters[:3] - acceleration, abs=2e-3)


def test_a_batch_is_the_same_as_one_by_one(task, model):
    rows = [sensed(task, k)[:2] for k in INSTANTS]
    q, v, a = (np.array([row[0][j] for row in rows]) for j in range(3))
    base = np.array([np.concatenate(row[1]) for row in rows])
    batch = model.evaluate_batch(q, v, a, base, np.full(len(rows), PAYLOAD))
    for i, (joints, motion) in enumerate(rows):
        one = model.evaluate(*joints, *motion, PAYLOAD)
        for name in ('force', 'moment', 'com', 'attachments', 'payload_point'):
            assert getattr(batch, name)[i] == pytest.approx(getattr(one, name), rel=1e-12, abs=1e-9)


@pytest.mark.parametrize('k', [0, 5500, 6000, 6500, 7300, 15000])
def test_wheel_loads_from_the_load_alone(task, model, machine, k):
    """Exact at rest; in motion the dampers are proportional to the springs and change only the tilt."""
    joints, base, rotation = sensed(task, k)
    load = model.evaluate(*joints, *base, PAYLOAD)
    loads = GroundObserver(machine).statics(load)
    truth = np.array([task.output(f'{wheel}/normal_force')[k] for wheel in WHEELS])
    assert loads.balanced
    assert loads.normal == pytest.approx(truth, abs=2e-4 * truth.sum() if k else 1e-6)
    assert loads.normal.sum() == pytest.approx(-load.force @ loads.plane[:3])
    if k == 0:
        assert loads.plane[:3] == pytest.approx(rotation.T @ [0.0, 0.0, 1.0], abs=1e-9)


def test_perfect_sensors_give_the_margins_of_the_simulation(task, machine):
    """The residual is the sampling, 4 ms, of an integrated gyroscope: 1.2 % measured."""
    exact = SensorNoise(1e-7, 1e-6, 1e-6, 1e-5, jerk_density=1e3, turn_density=1e3, specific_force_density=1e5)
    monitor = StabilityMonitor(machine, ('zmp', 'load_share', 'net_moment'), exact)
    monitor.payload = PAYLOAD
    observer = BalanceObserver(task.system, monitor.measures)
    worst = dict.fromkeys(monitor.measures, 0.0)
    scale = {'zmp': 1.0, 'load_share': 0.25, 'net_moment': 1.884e5}
    for k in range(5000, 8000, 4):
        joints, (omega, _, force), rotation = sensed(task, k)
        quaternion = Rotation.from_matrix(rotation).as_quat()
        monitor.imu(1e-3 * k, omega, force, quaternion)
        monitor.joints(1e-3 * k, joints[0], joints[1])
        if k % 40 or not monitor.settled:
            continue
        truth = observer.observe(task.all_outputs[k], task.parameters[:3])
        balance = monitor.balance()
        for name in worst:
            error = abs(balance.margins[name].value - truth.margins[name].value) / scale[name]
            worst[name] = max(worst[name], error)
    assert max(worst.values()) < 0.02, worst


@pytest.mark.parametrize('slope', [(0.0, 0.0), (0.05, -0.08), (-0.1, 0.12)])
def test_without_an_imu_margins_at_rest_on_a_slope_are_exact(machine, slope):
    system = System(machine, 'effort')
    p = system.parameters({'payload_mass': 1500.0}, slope)
    posture = {'swing_joint': 0.8, 'boom_joint': 0.7, 'stick_joint': -1.5}
    y = system.outputs(initial_state(system, p, posture), np.zeros(len(system.input_names)), p)
    truth = BalanceObserver(system).observe(y, p[:3])
    monitor = StabilityMonitor(machine, slope=slope)
    monitor.payload = 1500.0
    for k in range(60):
        monitor.joints(0.01 * k, np.array(list(posture.values())), np.zeros(3))
    balance = monitor.balance()
    for name, margin in truth.margins.items():
        assert balance.margins[name].value == pytest.approx(margin.value, rel=1e-5), name
    assert balance.forces[:, 2] == pytest.approx(truth.forces[:, 2], rel=1e-6)
    # friction: the least deflections that hold the machine, in proportion to the load
    assert balance.forces[:, :2].sum(axis=0) == pytest.approx(truth.forces[:, :2].sum(axis=0), abs=1.0)


def test_a_machine_that_would_overturn_has_margins_below_zero(machine):
    monitor = StabilityMonitor(machine, ('zmp', 'net_moment', 'load_share'))
    monitor.payload = 6000.0
    for k in range(60):
        monitor.joints(0.01 * k, np.zeros(3), np.zeros(3))
    balance = monitor.balance()
    assert not monitor.footing.balanced
    assert balance.margins['net_moment'].value < 0.0
    assert balance.margins['zmp'].value < 0.0
    assert balance.critical_edge('net_moment') == 'front'
    assert balance.margins['load_share'].value < 1e-3


def test_a_misaligned_imu_with_its_mounting_gives_the_same_margins(task, machine):
    """The temporary difference is the lag of the angular acceleration, times the arm of 1.2 m."""
    position, turn = np.array([0.7, -0.4, 0.9]), Rotation.from_euler('xyz', [0.3, -0.2, 2.0])
    series = []
    for mount in (None, ImuMount(position, turn.as_matrix())):
        monitor = StabilityMonitor(machine, ('zmp', 'net_moment'), mount=mount)
        monitor.payload = PAYLOAD
        margins = []
        for k in range(5000, 6001, 5):
            joints, (omega, alpha, force), rotation = sensed(task, k)
            attitude = Rotation.from_matrix(rotation)
            if mount is not None:
                force = force + np.cross(alpha, position) + np.cross(omega, np.cross(omega, position))
                omega, force, attitude = turn.inv().apply(omega), turn.inv().apply(force), attitude * turn
            monitor.imu(1e-3 * k, omega, force, attitude.as_quat())
            monitor.joints(1e-3 * k, joints[0], joints[1])
            margins.append([monitor.balance().margins[name].value for name in monitor.measures])
        series.append(np.array(margins))
    apart = np.sqrt(np.square(series[1] - series[0]).mean(axis=0))
    assert apart[0] < 5e-3
    assert apart[1] < 1e3


def test_friction_shares_hold_force_and_yaw_moment():
    rng = np.random.default_rng(5)
    points = np.c_[rng.uniform(-2.0, 2.0, (5, 2)), np.zeros(5)]
    normal, force, moment, com = rng.uniform(1e3, 9e3, 5), rng.normal(size=3), rng.normal(size=3), rng.normal(size=3)
    forces, center = wheel_forces(normal, points, force, moment, com)
    assert forces[:, :2].sum(axis=0) == pytest.approx(-force[:2])
    turning = np.cross(points - com, np.c_[forces[:, :2], np.zeros(5)])[:, 2].sum()
    assert turning == pytest.approx(-moment[2])
    assert center == pytest.approx(normal @ points[:, :2] / normal.sum())


def test_axes_of_the_ground_and_up_of_a_quaternion():
    turn = Rotation.from_euler('xyz', [0.2, -0.3, 1.0])
    axes = ground_axes(np.append(turn.inv().apply([0.0, 0.0, 1.0]), 1.0))
    assert axes.T @ axes == pytest.approx(np.eye(3))
    assert np.linalg.det(axes) == pytest.approx(1.0)
    assert axes[:, 2] == pytest.approx(world_up(turn.as_quat()))
