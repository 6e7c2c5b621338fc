"""A thin disk that rolls without slip on level ground, in twelve formulations (saha-1991, ch. 6, app. B).

The equations follow from the natural orthogonal complement with the angular velocity as independent speed (eq. 6.4 to
6.8), in three frames: F follows the disk without its spin, D is fixed in the disk, I is the fixed frame. The attitude
is kept as Euler angles, quaternion (quadratic invariants) or matrix; tilt and spin, if a frame needs them, are computed
from the attitude (geometry) or integrated.

    disk = RollingDisk(radius=0.05, mass=0.02)
    run = disk.run('F1', disk.steady_state(1.0, -0.5), step=0.007, steps=500)

Euler state: [tilt theta, heading phi, spin psi, their rates, x, y]; the tilt is measured from upright. All schemes
start from it and are converted back to it. Nothing is renormalized: the drift is part of the comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from dyn_nodes.common.arrays import Array
from dyn_nodes.studies.saha_1991._disk_kernels import (
    EULER,
    GEOMETRY,
    INTEGRATED,
    MATRIX,
    QUATERNION,
    disk_energy,
    disk_tilt,
    run_disk,
)

Scheme = Literal['F1', 'F2', 'F3', 'F4', 'F5', 'D1', 'D2', 'D3', 'D4', 'D5', 'I1', 'I2']
SCHEMES: dict[str, tuple[int, int, int]] = {
    'F1': (0, EULER, GEOMETRY),
    'F2': (0, QUATERNION, GEOMETRY),
    'F3': (0, QUATERNION, INTEGRATED),
    'F4': (0, MATRIX, GEOMETRY),
    'F5': (0, MATRIX, INTEGRATED),
    'D1': (1, EULER, GEOMETRY),
    'D2': (1, QUATERNION, GEOMETRY),
    'D3': (1, QUATERNION, INTEGRATED),
    'D4': (1, MATRIX, GEOMETRY),
    'D5': (1, MATRIX, INTEGRATED),
    'I1': (2, QUATERNION, GEOMETRY),
    'I2': (2, MATRIX, GEOMETRY),
}
"""Frame (0: F, 1: D, 2: I), representation of the attitude, and source of tilt and spin."""


@dataclass(frozen=True)
class DiskRun:
    """A run of one scheme.

    Attributes:
        times: (n,) s.
        states: (n, equations) in the variables of the scheme; NaN after a failure.
        tilt: (n,) rad.  position: (n, 2) of the centre, m.  energy: (n,) J, potential zero at the ground.
    """

    times: Array
    states: Array
    tilt: Array
    position: Array
    energy: Array


@dataclass(frozen=True)
class RollingDisk:
    """A thin disk: radius, m; mass, kg; gravity, m/s2."""

    radius: float = 0.05
    mass: float = 0.02
    gravity: float = 9.81

    @property
    def _numbers(self) -> Array:
        return np.array([self.radius, self.mass, self.gravity])

    def start(self, scheme: Scheme, euler: ArrayLike) -> Array:
        """Return the state of a scheme from the Euler state (8,)."""
        frame, kind, source = _scheme(scheme)
        state = np.asarray(euler, dtype=float)
        if kind == EULER:
            return state.copy()
        theta, phi, psi, theta_rate, phi_rate, psi_rate, x, y = state
        F = frame_matrix(theta, phi)
        omega = np.array([-theta_rate, phi_rate * np.cos(theta), psi_rate + phi_rate * np.sin(theta)])
        spin = spin_matrix(psi)
        Q = F if frame == 0 else F @ spin.T
        rates = (omega, spin @ omega, F @ omega)[frame]
        attitude = attitude_quaternion(theta, phi, psi if frame else 0.0) if kind == QUATERNION else Q.ravel()
        angles = [] if source == GEOMETRY else ([theta] if frame == 0 else [theta, psi])
        return np.concatenate([rates, attitude, angles, [x, y]])

    def run(self, scheme: Scheme, euler: ArrayLike, step: float, steps: int) -> DiskRun:
        """Run from an Euler state (8,) by Verner's sixth-order formula, one step per output (spec 2.27)."""
        frame, kind, source = _scheme(scheme)
        state = self.start(scheme, euler)
        states = np.full((steps + 1, len(state)), np.nan)
        states[0] = state
        code = np.array([frame, kind, source])
        run_disk(code, self._numbers, step, states)
        tilt, energy = np.empty(steps + 1), np.empty(steps + 1)
        for k, row in enumerate(states):
            tilt[k] = disk_tilt(code, row)
            energy[k] = disk_energy(code, self._numbers, row)
        return DiskRun(np.arange(steps + 1.0) * step, states, tilt, states[:, -2:], energy)

    def steady_state(self, phi_rate: float, psi_rate: float) -> Array:
        """Return the Euler state (8,) of steady rolling on a circle at these rates (eq. A.26), rad/s.

        A solution between -90 and 90 degrees exists for any rates, because the weight dominates at both ends.
        """

        def moment(theta: float) -> float:
            s, c = np.sin(theta), np.cos(theta)
            return float(5 * phi_rate**2 * s * c + 6 * phi_rate * psi_rate * c + 4 * self.gravity / self.radius * s)

        low, high = -0.5 * np.pi + 1e-9, 0.5 * np.pi - 1e-9
        theta = brentq(moment, low, high, xtol=1e-16, rtol=8.9e-16)
        for _ in range(3):  # to the last digit: the motion may be unstable, and an initial error would grow
            slope = (moment(theta + 1e-6) - moment(theta - 1e-6)) / 2e-6
            theta -= moment(theta) / slope
        return np.array([theta, 0.0, 0.0, 0.0, phi_rate, psi_rate, 0.0, 0.0])

    def growth_rates(self, phi_rate: float, psi_rate: float) -> Array:
        """Return the eigenvalues of the motion linearized about steady rolling, 1/s."""
        theta = self.steady_state(phi_rate, psi_rate)[0]
        s, c, g = np.sin(theta), np.cos(theta), self.gravity / self.radius
        # state [theta, theta_rate, phi_rate, psi_rate] of the scalar form of eq. 6.21
        by_theta = (
            phi_rate**2 * (c * c - s * s) - 6 / 5 * phi_rate * psi_rate * s + 4 / 5 * g * c,
            (10 * phi_rate * s * c + 6 * psi_rate * c) / 5,
            6 / 5 * phi_rate * c,
        )
        phi_by = -2 * psi_rate / c
        psi_by = -5 / 3 * phi_rate * c - phi_by * s
        A = np.array([[0, 1, 0, 0], [by_theta[0], 0, *by_theta[1:]], [0, phi_by, 0, 0], [0, psi_by, 0, 0]])
        return np.linalg.eigvals(A)


def _scheme(name: str) -> tuple[int, int, int]:
    if name not in SCHEMES:
        raise ValueError(f'unknown scheme {name!r}; known: {", ".join(SCHEMES)}')
    return SCHEMES[name]


def frame_matrix(theta: float, phi: float) -> Array:
    """Return F's axes in the fixed frame (3, 3) (eq. 6.24)."""
    s, c, sp, cp = np.sin(theta), np.cos(theta), np.sin(phi), np.cos(phi)
    return np.array([[cp, -s * sp, c * sp], [sp, s * cp, -c * cp], [0.0, c, s]])


def spin_matrix(psi: float) -> Array:
    """Return the matrix from components in F to components in D."""
    s, c = np.sin(psi), np.cos(psi)
    return np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])


def attitude_quaternion(theta: float, phi: float, psi: float) -> Array:
    """Return [x, y, z, w] of the axes of D (psi = 0: F): phi about z, 90 degrees - theta about x, then psi."""
    tilt = 0.5 * (0.5 * np.pi - theta)
    more, less = 0.5 * (phi + psi), 0.5 * (phi - psi)
    return np.array(
        [
            np.sin(tilt) * np.cos(less),
            np.sin(tilt) * np.sin(less),
            np.cos(tilt) * np.sin(more),
            np.cos(tilt) * np.cos(more),
        ]
    )
