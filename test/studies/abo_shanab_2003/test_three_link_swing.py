"""The free swing of the three-link chain: virtual links against constrained Lagrange equations (spec 6.1).

Both are integrated by the classical Runge-Kutta method for 10 s. The constrained form allows joint A to open; with
virtual links its position is not a state, so it cannot open.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pytest

from dyn_nodes.studies.abo_shanab_2003.virtual_link_examples import ThreeLinkChain
from dyn_nodes.studies.reference import tabulated

LENGTH, COM, MASS = np.array((1.0, 0.8, 0.6)), np.array((0.5, 0.4, 0.3)), np.array((10.0, 8.0, 5.0))
INERTIA = MASS * LENGTH**2 / 12
CHAIN = ThreeLinkChain(tuple(LENGTH), tuple(COM), tuple(MASS), tuple(INERTIA))
RELEASED = np.array((1.0, 0.5, -0.5))
NO_TORQUE = np.zeros(3)


class Swing(NamedTuple):
    """Angles and rates (t, 3); the constrained form's mass centre of link 2 (t, 2), or None."""

    angles: np.ndarray
    rates: np.ndarray
    center: np.ndarray | None


@lru_cache
def swing(method, step):
    if method == 'virtual links':
        q = RELEASED
        acceleration = lambda q, v: CHAIN.accelerations(q, v, NO_TORQUE)  # noqa: E731
    else:
        q = np.r_[RELEASED, second_center(RELEASED)]
        acceleration = lambda q, v: CHAIN.constrained_motion(q[:3], v[:3], NO_TORQUE).acceleration  # noqa: E731
    n, count = len(q), round(10.0 / step)
    rows = np.empty((count + 1, 2 * n))
    rows[0] = np.r_[q, np.zeros(n)]

    def rate(y):
        return np.concatenate([y[n:], acceleration(y[:n], y[n:])])

    for k, y in enumerate(rows[:-1]):
        k1 = rate(y)
        k2 = rate(y + 0.5 * step * k1)
        k3 = rate(y + 0.5 * step * k2)
        k4 = rate(y + step * k3)
        rows[k + 1] = y + step / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)
    center = rows[:, 3:5] if n == 5 else None
    return Swing(rows[:, :3], rows[:, n : n + 3], center)


def second_center(angles):
    """Mass centre of link 2 (..., 2) with joint A closed."""
    first, second = angles[..., 0], angles[..., 1]
    x = LENGTH[0] * np.sin(first) + COM[1] * np.sin(second)
    return np.stack([x, -LENGTH[0] * np.cos(first) - COM[1] * np.cos(second)], axis=-1)


def energy(run):
    """Kinetic and potential energy (t,), J, from positions and velocities of the mass centres."""
    along = np.stack([np.sin(run.angles), -np.cos(run.angles)], axis=-1)
    across = np.stack([np.cos(run.angles), np.sin(run.angles)], axis=-1) * run.rates[..., None]
    total = np.zeros(len(run.angles))
    joint, speed = np.zeros((len(total), 2)), np.zeros((len(total), 2))
    for k in range(3):
        center, velocity = joint + COM[k] * along[:, k], speed + COM[k] * across[:, k]
        total += 0.5 * MASS[k] * (velocity**2).sum(axis=1) + 0.5 * INERTIA[k] * run.rates[:, k] ** 2
        total += MASS[k] * 9.81 * center[:, 1]
        joint, speed = joint + LENGTH[k] * along[:, k], speed + LENGTH[k] * across[:, k]
    return total


def energy_error(run):
    total = energy(run)
    return np.abs(total - total[0]).max()


def drift(run):
    """Greatest opening of joint A, m."""
    return np.linalg.norm(run.center - second_center(run.angles), axis=1).max()


@pytest.mark.pins('abo-shanab-2003/6.1/swing_energy_error_5ms')
def test_energy_and_its_error_are_those_of_the_spec():
    fine, coarse = swing('virtual links', 1e-3), swing('virtual links', 5e-3)
    assert energy(fine)[0] == pytest.approx(tabulated('abo-shanab-2003/6.1/swing_energy')[0], abs=5e-5)
    assert energy_error(fine) == pytest.approx(5.4e-7, rel=0.01)
    assert energy_error(coarse) == pytest.approx(6.0e-4, rel=0.01)


@pytest.mark.pins('abo-shanab-2003/6.1/swing_drift')
def test_only_the_constrained_form_drifts():
    assert drift(swing('constrained', 1e-3)) == pytest.approx(1.7e-7, rel=0.05)
    assert drift(swing('constrained', 5e-3)) == pytest.approx(1.07e-4, abs=1e-6)
    # the joint's position is not a state, so the joint cannot open
    assert swing('virtual links', 1e-3).center is None
    assert swing('virtual links', 5e-3).center is None


def test_end_and_peak_reaction_are_those_of_the_spec():
    fine = swing('virtual links', 1e-3)
    np.testing.assert_allclose(fine.angles[-1], tabulated('abo-shanab-2003/6.1/swing_end')[0], rtol=0, atol=1e-8)
    peak = 0.0
    for q, v in zip(fine.angles, fine.rates):
        force = CHAIN.reaction(q, v, CHAIN.accelerations(q, v, NO_TORQUE))
        peak = max(peak, float(np.hypot(*force)))
    assert peak == pytest.approx(tabulated('abo-shanab-2003/6.1/swing_end')[1], abs=0.005)


def test_both_forms_swing_alike():
    ours, theirs = swing('virtual links', 1e-3), swing('constrained', 1e-3)
    np.testing.assert_allclose(theirs.angles[:2001], ours.angles[:2001], rtol=0, atol=1e-7)
