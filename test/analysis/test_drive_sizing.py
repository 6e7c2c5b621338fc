"""Sizing of drives compared with closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.analysis.drive_sizing import JointMotion, coolest_ratio, demand, gear_choice, load_of
from dyn_nodes.analysis.motor_catalogue import CatalogueMotor

INERTIA, RATE, AMPLITUDE = 2.0, 3.0, 0.5
MOTOR = CatalogueMotor('m', '', 0.25, 1.0, 3e-3, 48.0, 10.0, rotor_inertia=2e-4)


def swinging(load=lambda angle, acceleration: INERTIA * acceleration, count=4001):
    """Return three whole periods of a sine."""
    time = np.linspace(0.0, 6.0 * np.pi / RATE, count)
    angle = AMPLITUDE * np.sin(RATE * time)
    acceleration = -(RATE**2) * angle
    return JointMotion(time, AMPLITUDE * RATE * np.cos(RATE * time), acceleration, load(angle, acceleration))


def test_the_ratio_of_least_heat_matches_inertias():
    assert coolest_ratio(swinging(), MOTOR) == pytest.approx(np.sqrt(INERTIA / MOTOR.rotor_inertia), rel=1e-12)


def test_no_ratio_near_the_coolest_is_cooler():
    motion = swinging(lambda angle, acceleration: 40.0 * np.cos(angle) + INERTIA * acceleration)
    best = coolest_ratio(motion, MOTOR)
    heats = [load_of(motion, MOTOR, best * factor).heat for factor in (0.97, 1.0, 1.03)]
    assert heats[1] < min(heats[0], heats[2])


def test_demands_of_an_inertial_load():
    requirements = demand(swinging())
    peak = INERTIA * AMPLITUDE * RATE**2
    assert requirements.peak_effort == pytest.approx(peak, rel=1e-6)
    assert requirements.rms_effort == pytest.approx(peak / np.sqrt(2.0), rel=1e-6)
    assert requirements.peak_speed == pytest.approx(AMPLITUDE * RATE, rel=1e-9)
    assert requirements.peak_power == pytest.approx(0.5 * peak * AMPLITUDE * RATE, rel=1e-5)
    assert requirements.peak_return == pytest.approx(requirements.peak_power, rel=1e-5)
    kinetic = 0.5 * INERTIA * (AMPLITUDE * RATE) ** 2
    assert requirements.work == pytest.approx(6 * kinetic, rel=1e-5)
    assert requirements.returned == pytest.approx(requirements.work, rel=1e-9)


def test_current_and_voltage_of_a_motor_in_steady_motion():
    """Constant speed against a constant load: i = (tau / n + B n w) / C, V = R i + C n w."""
    motor = CatalogueMotor('m', '', 0.1, 2.0, 1e-3, 24.0, 5.0, rotor_inertia=1e-4, rotor_damping=1e-4)
    time = np.linspace(0.0, 1.0, 11)
    motion = JointMotion(time, np.full(11, 1.5), np.zeros(11), np.full(11, 6.0))
    load = load_of(motion, motor, 50.0)
    current = (6.0 / 50.0 + 1e-4 * 75.0) / 0.1
    assert load.peak_current == pytest.approx(current)
    assert load.peak_voltage == pytest.approx(2.0 * current + 0.1 * 75.0)
    assert load.heat == pytest.approx(2.0 * current**2)
    # input power equals the power of load, winding and friction
    assert load.peak_power == pytest.approx(6.0 * 1.5 + load.heat + load.friction)


def test_limits_leave_a_range_of_ratios():
    choice = gear_choice(swinging(lambda angle, acceleration: 60.0 + INERTIA * acceleration), MOTOR)
    assert choice.fits
    assert choice.least <= choice.best.ratio <= choice.greatest
    motion = swinging(lambda angle, acceleration: 60.0 + INERTIA * acceleration)
    assert load_of(motion, MOTOR, 0.98 * choice.least).exceeded
    assert load_of(motion, MOTOR, 1.02 * choice.greatest).exceeded


def test_a_too_small_motor_is_reported_with_its_excess():
    choice = gear_choice(swinging(lambda angle, acceleration: 6000.0 + 0.0 * angle), MOTOR)
    assert not choice.fits
    assert np.isnan(choice.least)
    assert set(choice.best.exceeded) & {'voltage', 'current'}


def test_samples_must_have_rising_times():
    with pytest.raises(ValueError, match='increasing times'):
        JointMotion.of_samples([0.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0])


def test_differences_of_velocities_are_accelerations():
    motion = swinging()
    sampled = JointMotion.of_samples(motion.time, motion.velocity, motion.effort)
    assert sampled.acceleration == pytest.approx(motion.acceleration, abs=0.02)
