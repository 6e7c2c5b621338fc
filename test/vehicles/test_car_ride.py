"""Ride of the car: heave against quarter car, pitch against half car (yesiloglu-2007, set P-D, section 6.11)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from vehicles import GRAVITY, plant, run

SPRING, DAMPER, TYRE, TYRE_DAMPER = 25e3, 1500.0, 200e3, 200.0
UNSPRUNG = 35.0


def quarter_car(sprung):
    """Return the matrix of d/dt of (body, wheel, and their rates) about rest."""
    matrix = np.zeros((4, 4))
    matrix[0, 2] = matrix[1, 3] = 1.0
    matrix[2] = np.array([-SPRING, SPRING, -DAMPER, DAMPER]) / sprung
    matrix[3] = np.array([SPRING, -SPRING - TYRE, DAMPER, -DAMPER - TYRE_DAMPER]) / UNSPRUNG
    return matrix


def index_of_joint(car, name):
    return car.system.index('state', name)


def suspensions(car):
    return [(joint, index_of_joint(car, joint)) for joint in car.joints if joint.endswith('_suspension')]


def test_the_spectrum_equals_the_specified_one():
    expected = [-2.017881925 + 8.481844644j, -24.76783236 + 75.173817846j]
    eigenvalues = [value for value in np.linalg.eigvals(quarter_car(300.0)) if value.imag > 0]
    np.testing.assert_allclose(sorted(eigenvalues, key=abs), expected, rtol=1e-8)


def test_heave_equals_the_quarter_car():
    car = plant('car')
    height = car.base_pose()[0][2]
    car.x[2] -= 0.03
    for _, index in suspensions(car):
        car.x[index] += 0.03
    car.forget_command()
    start = np.array([-0.03, 0.0, 0.0, 0.0])
    loads = {0.1: 3559.673, 0.25: 2995.598, 0.5: 3210.653, 1.0: 3217.271}
    heights = {0.1: -0.0216653939, 0.25: 0.0047567965, 0.5: 0.0078798307, 1.0: 0.0013574497}
    for time in np.arange(0.05, 1.0001, 0.05):
        run(car, 0.05)
        expected = expm(quarter_car(300.0) * time) @ start
        assert car.base_pose()[0][2] - height == pytest.approx(expected[0], abs=1e-8)
        if round(time, 2) in heights:
            assert car.base_pose()[0][2] - height == pytest.approx(heights[round(time, 2)], abs=1e-8)
            np.testing.assert_allclose(car.balance().forces[:, 2], loads[round(time, 2)], atol=2e-3)
    assert np.abs(car.base_pose()[0][:2]).max() < 1e-9


def half_car():
    """Return the matrix of body and wheels in pitch, as displacements at a corner: a quarter car of I / (4 a^2).

    The hubs are h below the centre of mass. Therefore the body is an inverted pendulum on its springs, and pitch moves
    the wheels by -h theta relative to it, both free along the ground.
    """
    a, h, radius = 1.3, 0.55 - 0.30 + 335.0 * GRAVITY / TYRE, 0.30 - 335.0 * GRAVITY / TYRE
    rolling = 4 * (UNSPRUNG + 1.0 / radius**2)
    inertia = 1800.0 + 4 * 0.08 + h**2 * rolling * 1200.0 / (1200.0 + rolling)
    sprung = inertia / (4 * a**2)
    matrix = quarter_car(sprung)
    matrix[2, 0] += 1200.0 * GRAVITY * h / (4 * a**2) / sprung
    return matrix


def test_pitch_equals_the_half_car():
    car = plant('car')
    angle = 0.004
    half = angle / 2
    car.x[3:7] = [0.0, np.sin(half), 0.0, np.cos(half)]
    for joint, index in suspensions(car):
        car.x[index] += 1.3 * np.sin(angle) * (1.0 if joint.startswith('front') else -1.0)
    car.forget_command()
    start = np.array([angle, 0.0, 0.0, 0.0])
    expected, measured = [], []
    for time in np.arange(0.02, 1.0001, 0.02):
        run(car, 0.02)
        quaternion = car.base_pose()[1]
        measured.append(2 * np.arcsin(quaternion[1]))
        expected.append((expm(half_car() * time) @ start)[0])
    measured, expected = np.array(measured), np.array(expected)
    assert np.abs(measured - expected).max() < 1e-4 * angle
    frequency = np.abs(np.linalg.eigvals(half_car()).imag).min() / (2 * np.pi)
    assert crossing_frequency(measured) == pytest.approx(frequency, rel=1e-4)


def crossing_frequency(values, step=0.02):
    signs = np.flatnonzero(np.diff(np.sign(values)))
    times = [step * (k + values[k] / (values[k] - values[k + 1])) for k in signs[:2]]
    return 0.5 / (times[1] - times[0])
