"""The rolling disk in twelve schemes against an independent model."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.saha_1991.rolling_disk import SCHEMES, RollingDisk

DISK = RollingDisk(radius=0.05, mass=0.02, gravity=9.81)
GENERAL = [0.35, 0.1, 0.2, 0.4, 6.0, -5.0, 0.0, 0.0]


def test_a_disk_that_does_not_turn_stands_upright():
    assert DISK.steady_state(0.0, 3.0)[0] == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize('scheme', SCHEMES)
def test_every_scheme_gives_the_general_motion_of_the_specification(scheme):
    run = DISK.run(scheme, GENERAL, 0.001, 2000)
    _, after_1, after_2, energy = tabulated('saha-1991/6.7/general')
    assert run.energy[0] == pytest.approx(energy, abs=1e-13)
    assert run.tilt[1000] == pytest.approx(after_1[0], abs=8e-10)
    assert run.position[1000] == pytest.approx(after_1[6:], abs=1e-10)
    assert np.abs(run.energy[:1001] - run.energy[0]).max() < 6e-13
    assert run.tilt[2000] == pytest.approx(after_2[0], abs=2e-9)
    assert run.position[2000] == pytest.approx(after_2[6:], abs=1e-9)


def test_the_euler_scheme_has_the_angles_and_rates_of_the_specification():
    run = DISK.run('F1', GENERAL, 0.001, 2000)
    first, _, last, _ = tabulated('saha-1991/6.7/general')
    assert run.states[500, :6] == pytest.approx(first[:6], abs=2e-9)
    assert run.states[2000, :6] == pytest.approx(last[:6], abs=1e-7)


def test_accelerations_equal_those_of_a_multiplier_model():
    theta, phi, psi, dt, dp, ds = 0.3, 0.4, -0.7, 0.5, 2.0, -3.0
    step = 1e-6
    run = DISK.run('F1', [theta, phi, psi, dt, dp, ds, 0.0, 0.0], step, 1)
    back = DISK.run('F1', [theta, phi, psi, dt, dp, ds, 0.0, 0.0], -step, 1)
    accelerations = (run.states[1, 3:6] - back.states[1, 3:6]) / (2 * step)
    # spec 6.7: a Lagrange-multiplier model in five coordinates
    assert accelerations == pytest.approx(tabulated('saha-1991/6.7/multiplier_model'), abs=1e-6)


def lagrange_accelerations(theta, phi, dt, dp, ds) -> np.ndarray:
    """Unreduced model: five coordinates, two rolling equations with multipliers, from the disk's Lagrangian."""
    m, r, g = DISK.mass, DISK.radius, DISK.gravity
    s, c = np.sin(theta), np.cos(theta)
    sp, cp = np.sin(phi), np.cos(phi)
    q = m * r * r / 4
    M = np.zeros((5, 5))
    M[0, 0] = q + m * r * r * s * s
    M[1, 1] = q * (c * c + 2 * s * s)
    M[1, 2] = M[2, 1] = 2 * q * s
    M[2, 2] = 2 * q
    M[3, 3] = M[4, 4] = m
    bias = np.array(
        [
            m * r * r * s * c * dt * dt - q * (2 * s * c) * dp * dp / 2 - 2 * q * c * dp * ds - m * g * r * s,
            q * 2 * s * c * dt * dp + 2 * q * c * dt * ds,
            2 * q * c * dt * dp,
            0.0,
            0.0,
        ]
    )
    J = np.array([[r * c * sp, r * s * cp, r * cp, 1, 0], [-r * c * cp, r * s * sp, r * sp, 0, 1]])
    J_rate = np.array(
        [
            [-r * s * dt * sp + r * c * dp * cp, r * c * dt * cp - r * s * dp * sp, -r * dp * sp, 0, 0],
            [r * s * dt * cp + r * c * dp * sp, r * c * dt * sp + r * s * dp * cp, r * dp * cp, 0, 0],
        ]
    )
    speed = -J[:, :3] @ [dt, dp, ds]
    velocity = np.r_[dt, dp, ds, speed]
    saddle = np.block([[M, J.T], [J, np.zeros((2, 2))]])
    return np.linalg.solve(saddle, np.r_[-bias, -J_rate @ velocity])[:3]


def test_the_equations_of_motion_are_those_of_lagrange_with_multipliers():
    rng = np.random.default_rng(3)
    for _ in range(20):
        theta, phi, dt, dp, ds = rng.uniform(-1, 1), *rng.uniform(-3, 3, 4)
        ahead, back = (DISK.run('F1', [theta, phi, 0, dt, dp, ds, 0, 0], h, 1).states[1, 3:6] for h in (1e-6, -1e-6))
        assert (ahead - back) / 2e-6 == pytest.approx(lagrange_accelerations(theta, phi, dt, dp, ds), abs=1e-5)


def test_a_scheme_that_fails_ends_with_nan_and_no_exception():
    run = DISK.run('I1', DISK.steady_state(1.0, -0.5), 0.007, 3000)
    assert np.isfinite(run.tilt[:300]).all()


def test_an_unknown_scheme_is_rejected():
    with pytest.raises(ValueError, match="unknown scheme 'G1'; known: F1, F2"):
        DISK.run('G1', GENERAL, 0.01, 1)
