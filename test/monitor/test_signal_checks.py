"""Checks of signals against each other: every kind of fault is detected, and sound signals pass."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from dyn_nodes.monitor.signal_checks import ImuChecks, JointChecks

NAMES = ('boom', 'stick')
STEP, FROM = 0.01, 2.0
STILL = np.zeros(3)


def motion(time, size=0.4, rate=1.3):
    """Return positions and speeds of two oscillating joints."""
    phase = rate * time * np.array([1.0, 0.7])
    return size * (1.0 - np.cos(phase)), size * rate * np.array([1.0, 0.7]) * np.sin(phase)


def detected(change, seconds=8.0, speeds=True, noise=0.0, rng=None):
    """Return detected faults of joints whose samples `change` falsifies from an instant on, and the time until then."""
    checks, rng = JointChecks(NAMES, np.array([1.0, 1.0]), np.array([False, False])), rng or np.random.default_rng(1)
    start = None
    for time in np.arange(0.0, seconds, STEP):
        q, v = motion(time)
        q, v = q + noise * rng.normal(size=2), v + 30.0 * noise * rng.normal(size=2)
        if time >= FROM:
            start = motion(FROM) if start is None else start
            q[0], v[0] = change(time - FROM, q[0], v[0], start, rng)
        checks.take(time, q, v if speeds else None)
        if not checks.are_sound:
            return checks.faults(), time - FROM
    return {}, None


FAULTS = {
    'a frozen position': (lambda t, q, v, start, rng: (start[0][0], v), 'differ', 1.1),
    'a frozen speed': (lambda t, q, v, start, rng: (q, start[1][0]), 'differ', 2.0),
    'a jump': (lambda t, q, v, start, rng: (q + 0.1, v), 'jumped', 0.02),
    'a jump of a turn and a half': (lambda t, q, v, start, rng: (q + 1.4, v), 'jumped', 0.02),
    'a position that drifts': (lambda t, q, v, start, rng: (q + 0.05 * t, v), 'differ', 2.0),
    'a position that is 0.2 s late': (lambda t, q, v, start, rng: (motion(t + FROM - 0.2)[0][0], v), '', 3.0),
    'a noisy position': (lambda t, q, v, start, rng: (q + 0.02 * rng.normal(), v), '', 1.0),
    'a noisy speed': (lambda t, q, v, start, rng: (q, v + 0.3 * rng.normal()), 'noisy', 1.0),
    'another position': (lambda t, q, v, start, rng: (motion(t + FROM)[0][1], v), 'jumped', 0.02),
    'a position with a third too much': (lambda t, q, v, start, rng: (q + 0.33 * (q - start[0][0]), v), 'differ', 3.0),
    'a reversed position': (lambda t, q, v, start, rng: (2.0 * start[0][0] - q, v), 'differ', 1.0),
    'a second sender': (lambda t, q, v, start, rng: (q + 0.05 * (round(t / STEP) % 2), v), '', 0.05),
    'spikes': (lambda t, q, v, start, rng: (q + 0.3 * (rng.random() < 0.1), v), 'jumped', 1.0),
}  # fmt: skip


@pytest.mark.parametrize('name', FAULTS)
def test_a_wrong_position_or_speed_is_detected(name):
    change, text, within = FAULTS[name]
    faults, after = detected(change)
    assert list(faults) == ['boom']
    assert text in faults['boom']
    assert after <= within


def test_positions_without_speeds_may_not_jump_nor_be_noisy():
    assert 'jumped' in detected(FAULTS['a jump'][0], speeds=False)[0]['boom']
    faults, _ = detected(lambda t, q, v, start, rng: (q + 0.008 * rng.normal(), v), speeds=False)
    assert 'noisy' in faults['boom']
    assert detected(lambda t, q, v, start, rng: (q, v), speeds=False) == ({}, None)


@given(st.floats(0.05, 1.0), st.floats(0.3, 3.0), st.floats(0.0, 1e-3), st.integers(0, 1000))
def test_sound_joints_raise_no_alarm(size, rate, noise, seed):
    """Ramps of any steepness between rest and speed, sampled unevenly, with noise and a speed that lags by 20 ms."""
    checks, rng = JointChecks(NAMES, np.array([4.0, 4.0]), np.array([False, False])), np.random.default_rng(seed)
    time = 0.0
    while time < 6.0:
        q, v = motion(time, size, rate)[0], motion(max(time - 0.02, 0.0), size, rate)[1]
        checks.take(time, q + noise * rng.normal(size=2), v + 10.0 * noise * rng.normal(size=2))
        time += STEP * rng.uniform(0.5, 2.0)
    assert checks.faults() == {}


def test_a_joint_without_limits_may_wrap_after_a_turn_and_one_with_limits_may_not():
    checks = JointChecks(NAMES, np.array([1.0, 1.0]), np.array([True, False]))
    checks.take(0.0, np.array([3.14, 3.14]), np.zeros(2))
    checks.take(0.01, np.array([3.14 - 2.0 * np.pi, 3.14 - 2.0 * np.pi]), np.zeros(2))
    assert list(checks.faults()) == ['stick']


def test_a_fault_stays_through_sound_samples_and_pauses_until_it_is_cleared():
    checks = JointChecks(NAMES, np.array([1.0, 1.0]), np.array([False, False]))
    for time, q in ((0.0, 0.0), (0.01, 1.0), (0.02, 1.0), (5.0, 1.0)):
        checks.take(time, np.array([q, 0.0]), np.zeros(2))
    assert list(checks.faults()) == ['boom']
    checks.clear()
    checks.take(5.01, np.ones(2), np.zeros(2))
    checks.take(5.02, np.ones(2), np.zeros(2))
    assert checks.are_sound


# -- IMU -------------------------------------------------------------------------------------------------------------


def imu_detected(change, seconds=8.0, oriented=True, tilts=True):
    """Return detected faults of an IMU on a base that rocks by 2 degrees, and the time to detection."""
    checks, rng, start = ImuChecks(9.81), np.random.default_rng(2), None
    for time in np.arange(0.0, seconds, STEP):
        angle, rate = (0.035 * np.sin(3.0 * time), 0.105 * np.cos(3.0 * time)) if tilts else (0.0, 0.0)
        turn = Rotation.from_rotvec([angle, 0.0, 0.0])
        omega = np.array([rate, 0.0, 0.0]) + 1e-3 * rng.normal(size=3)
        force = turn.inv().apply([0.0, 0.0, 9.81]) + 0.05 * rng.normal(size=3)
        if time >= FROM:
            start = (turn, omega, force) if start is None else start
            turn, omega, force = change(time - FROM, turn, omega, force, start, rng)
        shown = turn.as_quat() if oriented else np.full(4, np.nan)
        checks.take(time, np.array([omega, force]), shown, STILL)
        checks.compare(time, np.array([0.0, np.sin(angle), np.cos(angle)]))
        if not checks.are_sound:
            return checks.faults(), time - FROM
    return {}, None


UPWARDS, ASIDE, LEFT = np.array([0.0, 0.0, 0.3]), np.array([0.4, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
ABOUT_Y = Rotation.from_rotvec([0.0, 0.1, 0.0])
IMU_FAULTS = {
    'a frozen gyroscope': (lambda t, o, w, f, b, rng: (o, b[1], f), 'gyroscope', 1.0),
    'a frozen accelerometer': (lambda t, o, w, f, b, rng: (o, w, b[2]), 'accelerometer', 1.0),
    'a frozen orientation': (lambda t, o, w, f, b, rng: (b[0], w, f), 'orientation', 1.0),
    'an orientation that jumps': (lambda t, o, w, f, b, rng: (o * ABOUT_Y, w, f), 'orientation', 0.02),
    'an orientation that drifts': (
        lambda t, o, w, f, b, rng: (o * Rotation.from_rotvec([0.0, 0.02 * t, 0.0]), w, f), 'orientation', 4.0,
    ),
    'a gyroscope that drifts': (lambda t, o, w, f, b, rng: (o, w + 0.02 * t * LEFT, f), 'gyroscope', 3.0),
    'a noisy gyroscope': (lambda t, o, w, f, b, rng: (o, w + 0.3 * rng.normal(size=3), f), 'gyroscope', 1.0),
    'a noisy accelerometer': (lambda t, o, w, f, b, rng: (o, w, f + 6.0 * rng.normal(size=3)), 'accelerometer', 1.0),
    'a bias of the accelerometer upwards': (lambda t, o, w, f, b, rng: (o, w, f + UPWARDS), 'accelerometer', 5.0),
    'a bias of the accelerometer aside': (lambda t, o, w, f, b, rng: (o, w, f + ASIDE), 'accelerometer', 5.0),
    'a scaled accelerometer': (lambda t, o, w, f, b, rng: (o, w, 0.9 * f), 'accelerometer', 2.0),
    'a reversed gyroscope': (lambda t, o, w, f, b, rng: (o, -w, f), 'gyroscope', 2.0),
    'swapped axes of the gyroscope': (lambda t, o, w, f, b, rng: (o, w[[1, 0, 2]], f), 'gyroscope', 2.0),
}  # fmt: skip


@pytest.mark.parametrize('name', IMU_FAULTS)
def test_a_wrong_quantity_of_an_imu_is_detected(name):
    change, signal, within = IMU_FAULTS[name]
    faults, after = imu_detected(change)
    assert any(signal in name for name in faults)
    assert after <= within


def test_a_sound_imu_raises_no_alarm_with_or_without_orientation_at_rest_or_rocking():
    for oriented in (True, False):
        for tilts in (True, False):
            assert imu_detected(lambda t, *sample: sample[:3], oriented=oriented, tilts=tilts) == ({}, None)


def test_a_constant_signal_is_not_frozen_while_the_base_does_not_tilt():
    assert imu_detected(lambda t, o, w, f, b, rng: (b[0], b[1], b[2]), tilts=False) == ({}, None)


def test_a_misaligned_imu_cannot_be_distinguished_from_a_slope():
    """No check of an IMU alone can detect this, see docs/reference/stability_monitor.md."""
    askew = Rotation.from_rotvec([0.0, 0.05, 0.0])

    def turned(t, o, w, f, b, rng):
        return o * askew, askew.inv().apply(w), askew.inv().apply(f)

    checks = ImuChecks(9.81)
    for time in np.arange(0.0, 8.0, STEP):
        o, w, f = turned(time, Rotation.identity(), STILL, np.array([0.0, 0.0, 9.81]), None, None)
        checks.take(time, np.array([w, f]), o.as_quat(), STILL)
    assert checks.are_sound


def test_a_position_beyond_the_range_of_its_joint_is_wrong_from_the_first_sample():
    """An encoder of another joint; a cylinder may extend beyond the range of the URDF."""
    reach = np.array([[-0.3, -np.inf], [1.1, np.inf]])
    for q, is_sound in ((1.5, True), (-1.2, True), (2.2, False), (-1.8, False)):
        checks = JointChecks(NAMES, np.array([1.0, 1.0]), np.array([False, True]), reach=reach)
        checks.take(0.0, np.array([q, 40.0]), np.zeros(2))
        assert checks.are_sound == is_sound
        assert is_sound or 'beyond its range' in checks.faults()['boom']
