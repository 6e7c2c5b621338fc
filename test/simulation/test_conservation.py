"""Balances of energy, momentum and load moments over whole runs of the plant."""

from __future__ import annotations

import numpy as np
import pytest
from log_loader_tasks import P3D, WEIGHT, WHEELS, run

from dyn_nodes.simulation import Settings
from dyn_nodes.stability.balance import BalanceObserver

WORKS = ('work_actuators', 'work_suspension', 'work_friction')


def residual_and_exchange(result):
    """Return the greatest error of the energy account, J, and all energy exchanged, J."""
    energy = result.output('kinetic_energy') + result.output('potential_energy')
    works = np.array([result.state(name) for name in WORKS])
    residual = energy - energy[0] - (works - works[:, :1]).sum(axis=0)
    return np.abs(residual).max(), np.abs(np.diff(works)).sum()


def test_mechanical_energy_changes_by_the_work_of_actuators_suspension_and_friction(audited_task):
    assert audited_task.status == 'done'
    residual, exchanged = residual_and_exchange(audited_task)
    assert exchanged > 2e5  # J: the load came down, the machine rocked
    assert residual < 1e-6 * exchanged
    assert residual < 3e-8 * exchanged  # error of a step of 0.25 ms


def test_books_close_with_the_order_of_the_integrator(audited):
    """The error is the integrator's, not a missing force."""
    residuals = []
    for step in (1e-3, 5e-4, 2.5e-4):
        residual, exchanged = residual_and_exchange(run(audited, P3D, 16.0, settings=Settings(step=step)))
        residuals.append(residual / exchanged)
    assert residuals[0] < 1e-6  # the demo's own step
    assert residuals[0] / residuals[1] > 3
    assert residuals[1] / residuals[2] > 3


def test_suspension_stores_and_dissipates_but_never_makes_energy(audited_task):
    stored = audited_task.output('suspension_energy')
    dissipated = -(audited_task.state('work_suspension') + stored - stored[0])
    assert dissipated[-1] > 1000.0
    assert np.diff(dissipated).min() > -1e-6


def test_friction_work_dissipates_and_equals_the_integral_of_force_times_slip(audited_task):
    work = audited_task.state('work_friction')
    power = sum(
        audited_task.output(f'{wheel}/friction_{axis}') * audited_task.output(f'{wheel}/slip_{axis}')
        for wheel in WHEELS
        for axis in ('longitudinal', 'lateral')
    )
    assert work[-1] < -100.0
    by_hand = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(audited_task.times))])
    assert np.abs(by_hand - work).max() < 1e-3 * np.abs(work[-1])


def test_actuator_work_equals_the_integral_of_effort_times_speed(audited_task):
    power = sum(
        audited_task.output(f'{name}_joint/drive_effort') * audited_task.state(f'{name}_joint_rate')
        for name in ('swing', 'boom', 'stick')
    )
    work = audited_task.state('work_actuators')
    by_hand = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(audited_task.times))])
    assert np.abs(by_hand - work).max() < 1e-4 * np.abs(work).max()


def test_audit_does_not_change_the_motion(audited_task, system):
    """Not bit for bit: a line at tank pressure is stiff (50 kHz) and amplifies round-off to a few kilopascals."""
    plain = run(system, P3D, 16.0, spacing=1e-3, settings=Settings(step=2.5e-4))
    positions = slice(0, system.nq)
    assert np.abs(audited_task.states[:, positions] - plain.states[:, positions]).max() < 5e-6


# ---------------------------------------------------------------------------- momentum


def sampled(system, task, count=60):
    """Return states in every phase of the run, with their inputs."""
    samples = np.linspace(0, len(task.times) - 1, count).astype(int)
    inputs = task.inputs.at(task.times[samples], system.input_names)
    return [(task.states[sample], u) for sample, u in zip(samples, inputs)]


def rates_of(system, names, x, u, p, h=1e-6):
    """Return time derivatives of outputs along the motion, by differences along dx/dt."""
    rate = system.rhs(x, u, p)
    indices = [system.index('output', name) for name in names]
    return (system.outputs(x + h * rate, u, p)[indices] - system.outputs(x - h * rate, u, p)[indices]) / (2 * h)


def vector(system, y, name):
    return np.array([y[system.index('output', f'{name}_{axis}')] for axis in 'xyz'])


def ground_loads(system, y, about):
    """Return force and moment of the ground on the machine from the outputs of the wheels; level heading axes."""
    yaw = y[system.index('output', 'yaw')]
    along, across = np.array([np.cos(yaw), np.sin(yaw), 0]), np.array([-np.sin(yaw), np.cos(yaw), 0])
    force, moment = np.zeros(3), np.zeros(3)
    for wheel in WHEELS:
        one = (
            y[system.index('output', f'{wheel}/friction_longitudinal')] * along
            + y[system.index('output', f'{wheel}/friction_lateral')] * across
            + y[system.index('output', f'{wheel}/normal_force')] * np.array([0, 0, 1])
        )
        force += one
        moment += np.cross(vector(system, y, f'{wheel}/point') - about, one)
    return force, moment


def test_momentum_changes_by_gravity_and_the_ground(system, task):
    p = task.parameters
    for x, u in sampled(system, task):
        y = system.outputs(x, u, p)
        center, mass = vector(system, y, 'center_of_mass'), y[system.index('output', 'mass')]
        force, moment = ground_loads(system, y, center)
        acceleration = rates_of(system, [f'center_of_mass_velocity_{a}' for a in 'xyz'], x, u, p)
        spin_rate = rates_of(system, [f'angular_momentum_{a}' for a in 'xyz'], x, u, p)
        assert np.abs(mass * acceleration - mass * p[:3] - force).max() < 1e-6 * WEIGHT
        assert np.abs(spin_rate - moment).max() < 1e-6 * WEIGHT  # times a metre


def test_load_outputs_are_gravity_and_inertia(system, task):
    """load_force = m (g - a), load_moment = -dH/dt about the centre of mass."""
    p = task.parameters
    for x, u in sampled(system, task):
        y = system.outputs(x, u, p)
        mass = y[system.index('output', 'mass')]
        acceleration = rates_of(system, [f'center_of_mass_velocity_{a}' for a in 'xyz'], x, u, p)
        spin_rate = rates_of(system, [f'angular_momentum_{a}' for a in 'xyz'], x, u, p)
        assert np.abs(vector(system, y, 'load_force') - mass * (p[:3] - acceleration)).max() < 1e-6 * WEIGHT
        assert np.abs(vector(system, y, 'load_moment') + spin_rate).max() < 1e-6 * WEIGHT


def test_center_of_mass_velocity_is_its_rate(system, task):
    p = task.parameters
    for x, u in sampled(system, task, 20):
        y = system.outputs(x, u, p)
        rate = rates_of(system, [f'center_of_mass_{a}' for a in 'xyz'], x, u, p)
        np.testing.assert_allclose(vector(system, y, 'center_of_mass_velocity'), rate, atol=1e-8)


def test_load_has_no_tipping_moment_about_the_zero_moment_point(system, task):
    """The moment of gravity and inertia about the centre of pressure of the wheels does not tip."""
    observer, p = BalanceObserver(system, ('zmp',)), task.parameters
    for x, u in sampled(system, task):
        y = system.outputs(x, u, p)
        balance = observer.observe(y, p[:3])
        arm = vector(system, y, 'center_of_mass') - np.r_[balance.zmp, 0.0]
        about = vector(system, y, 'load_moment') + np.cross(arm, vector(system, y, 'load_force'))
        assert np.abs(about[:2]).max() < 1e-9 * WEIGHT


def test_acceleration_outputs_equal_the_rates_of_the_velocities(system, task):
    p, names = task.parameters, [name for name in system.output_names if name.endswith('_acceleration')]
    velocities = slice(system.nq, system.nq + system.nv)
    for x, u in sampled(system, task, 20):
        y = system.outputs(x, u, p)
        accelerations = [y[system.index('output', name)] for name in names]
        np.testing.assert_allclose(accelerations, system.rhs(x, u, p)[velocities], rtol=1e-10, atol=1e-10)
    assert len(names) == system.nv


@pytest.mark.parametrize('slope', [(0.0, 0.0), (0.1, -0.15)])
def test_frictionless_effortless_machine_in_the_air_keeps_its_momentum(effort_system, slope):
    p = effort_system.parameters(slope=slope)
    x = np.zeros(len(effort_system.state_names))
    x[2], x[6] = 10.0, 1.0  # ten metres up
    x[effort_system.nq : effort_system.nq + effort_system.nv] = np.random.default_rng(5).normal(size=9) * 0.3
    u = np.zeros(len(effort_system.input_names))
    y = effort_system.outputs(x, u, p)
    assert all(y[effort_system.index('output', f'{wheel}/normal_force')] == 0.0 for wheel in WHEELS)
    acceleration = rates_of(effort_system, [f'center_of_mass_velocity_{a}' for a in 'xyz'], x, u, p)
    np.testing.assert_allclose(acceleration, p[:3], atol=1e-6)
    spin_rate = rates_of(effort_system, [f'angular_momentum_{a}' for a in 'xyz'], x, u, p)
    assert np.abs(spin_rate).max() < 1e-7 * WEIGHT
