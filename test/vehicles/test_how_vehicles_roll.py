"""Vehicles in motion with constant torques, against closed forms and numbers of the sources."""

from __future__ import annotations

import numpy as np
import pytest
from vehicles import drive, plant, run


def forward(machine):
    return machine.base_twist()[0][0]


def yaw_rate(machine):
    return machine.base_twist()[1][2]


def mean_rates(machine, duration):
    """Return the mean rate of (vx, vy, wz) over a time, after the tyres have settled."""
    run(machine, 0.3)
    before = np.array([*machine.base_twist()[0][:2], yaw_rate(machine)])
    run(machine, duration)
    return (np.array([*machine.base_twist()[0][:2], yaw_rate(machine)]) - before) / duration


def test_the_axle_accelerates_as_its_wheels_roll_without_slip():
    """m dv/dt = 2 tau / r - 2 I_a / r^2 dv/dt, likewise about the vertical axis (saha-1991, eq. 4.29, with a frame)."""
    radius, half, axial = 0.05, 0.2, 0.0025
    frame = np.array([2.0 * (0.30**2 + 0.34**2) / 12, 2.0])
    mass = frame[1] + 2 * 2.0
    turning = frame[0] + 2 * (0.00125 + 2.0 * half**2)
    machine = plant('agv_axle')
    drive(machine, {'left_drive': 0.05, 'right_drive': 0.05})
    ahead = mean_rates(machine, 0.5)
    assert ahead[0] == pytest.approx(0.1 / radius / (mass + 2 * axial / radius**2), rel=2e-3)
    assert np.abs(ahead[1:]).max() < 1e-9
    machine.reset()
    drive(machine, {'left_drive': -0.05, 'right_drive': 0.05})
    spun = mean_rates(machine, 0.5)
    assert spun[2] == pytest.approx(2 * 0.05 * half / radius / (turning + 2 * axial * (half / radius) ** 2), rel=2e-3)
    assert abs(spun[0]) < 1e-6


OMNI_PATHS = {
    # peak torques of the straight paths (saha-1991, section 6.5), for 5 pi^2 / (60^2 2) ... m/s2; i is our -y, j our x
    'sideways': ((0.0229802, -0.0114901, -0.0114901), (0.0, -0.00872665)),
    'ahead': ((0.0, 0.0199014, -0.0199014), (0.00872665, 0.0)),
}


@pytest.mark.parametrize('path', OMNI_PATHS)
def test_three_omnidirectional_wheels_answer_the_torques_of_the_source(path):
    torques, expected = OMNI_PATHS[path]
    machine = plant('agv_omni')
    drive(machine, dict(zip(('front_drive', 'left_drive', 'right_drive'), 10.0 * np.array(torques))))
    rates = mean_rates(machine, 0.5)
    np.testing.assert_allclose(rates[:2], 10.0 * np.array(expected), atol=2e-3 * 0.0872665)
    assert abs(rates[2]) < 1e-6


def test_omnidirectional_wheels_turn_as_the_vehicle_moves():
    """Wheel rates 1.667, -0.833, -0.833 rad/s at 1/6 m/s along i (saha-1991, section 6.5)."""
    machine = plant('agv_omni')
    drive(machine, dict(zip(('front_drive', 'left_drive', 'right_drive'), (0.3, -0.15, -0.15))))
    run(machine, 1.0)
    speed = -machine.base_twist()[0][1]
    assert speed > 0.1
    np.testing.assert_allclose(machine.velocities / speed, np.array([10.0, -5.0, -5.0]), rtol=0.01)


def start_caster(speed, swivel):
    """Return the caster vehicle rolling at a speed with a slightly turned caster."""
    machine = plant('agv_caster')
    state = {name: machine.system.index('state', name) for name in ('swivel', 'base_vx_rate')}
    for name, rate in (('left_drive', 1.0), ('right_drive', 1.0), ('caster_spin', 1.0)):
        machine.x[machine.system.index('state', f'{name}_rate')] = rate * speed / 0.05
    machine.x[state['base_vx_rate']] = speed
    machine.x[state['swivel']] = swivel
    machine.forget_command()
    return machine, machine.joints.index('swivel')


def swivel_history(speed, swivel, duration, gain=1.0):
    """Return the angle of the caster every millisecond; drives control their speed with a gain, 0: no drives."""
    machine, index = start_caster(speed, swivel)
    angles = [swivel]
    for _ in range(round(duration / machine.period)):
        left, right = (gain * (speed / 0.05 - rate) for rate in machine.velocities[:2])
        drive(machine, {'left_drive': left, 'right_drive': right})
        machine.advance()
        angles.append(machine.positions[index])
    return np.array(angles), machine


def growth(angles):
    small = np.flatnonzero((np.abs(angles) > 0.02) & (np.abs(angles) < 0.2))
    return np.polyfit(1e-3 * small, np.log(np.abs(angles[small])), 1)[0]


def test_a_pulled_caster_aligns():
    angles, _ = swivel_history(0.05, 0.25, 2.5)
    assert growth(angles) == pytest.approx(-0.05 / 0.025, rel=0.03)
    assert np.abs(angles[-100:]).max() < 0.003


def test_a_pushed_caster_swivels_round():
    """Reverse is unstable (saha-1991, section 2.15): from 0.01 rad the caster swivels until it is pulled."""
    angles, machine = swivel_history(-0.3, 0.01, 2.0)
    assert abs(angles[-1]) == pytest.approx(np.pi, abs=0.01)
    assert forward(machine) == pytest.approx(-0.3, abs=0.005)


def test_a_pushed_caster_leaves_its_line_at_the_rate_speed_over_offset():
    """d theta_4 / dt = |v| / d sin theta_4 without slip, on a platform that moves straight.

    At speed the inertia of the caster turns the platform against the drives: 9 % slower at 0.3 m/s.
    """
    angles, _ = swivel_history(-0.05, 0.01, 1.8)
    assert growth(angles) == pytest.approx(0.05 / 0.025, rel=0.03)


def test_without_drives_the_pushed_caster_spins_the_vehicle():
    """The caster deviates more slowly, and the vehicle ends in a spin."""
    angles, machine = swivel_history(-0.3, 0.01, 2.0, gain=0.0)
    assert 0.7 * 0.3 / 0.025 < growth(angles) < 0.85 * 0.3 / 0.025
    assert abs(yaw_rate(machine)) > 1.0
