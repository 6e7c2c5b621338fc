"""The two worked examples of virtual links, in closed form (abo-shanab-2003, chapter 3; corrected).

A body on a spherical joint (section 3.2), and the reaction force in a three-link chain (section 3.3) by virtual links
and by constrained Lagrange equations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.studies.abo_shanab_2003.dh_machines import GRAVITY

Array = NDArray[Any]


def spherical_joint_torque(
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    mass: float,
    com_height: float,
    inertia: float,
    axial_inertia: float,
    length: float,
) -> Array:
    """Return the torques (3,) about the Euler angles z-y-z of a body on a spherical joint, N m.

    Arguments as in `dh_machines.spherical_joint`, whose chain gives the same torques.
    """
    (q1, q2, _), (w1, w2, w3), (a1, a2, a3) = (np.asarray(values, dtype=np.float64) for values in (q, qd, qdd))
    s1, c1, s2, c2 = np.sin(q1), np.cos(q1), np.sin(q2), np.cos(q2)
    across = inertia + mass * (length + com_height) ** 2
    weight = mass * GRAVITY * (length + com_height)
    return np.array(
        [
            (across * s2**2 + axial_inertia * c2**2) * a1
            + axial_inertia * c2 * a3
            + 2 * s2 * c2 * w1 * w2 * (across - axial_inertia)
            - axial_inertia * s2 * w2 * w3
            - weight * s1 * s2,
            across * a2 + w1**2 * s2 * c2 * (axial_inertia - across) + w1 * w3 * axial_inertia * s2 + weight * c1 * c2,
            axial_inertia * (c2 * a1 + a3 - w1 * w2 * s2),
        ]
    )


class ConstrainedMotion(NamedTuple):
    """Accelerations (5,) of (theta, x_c2, y_c2) and multipliers (2,) of the constrained Lagrange equations."""

    acceleration: Array
    multiplier: Array


@dataclass(frozen=True)
class ThreeLinkChain:
    """Planar chain of three links hinged to the ground, with absolute angles from the downward vertical.

    Torques are conjugate to the absolute angles: T_1 = tau_1 - tau_2, T_2 = tau_2 - tau_3, T_3 = tau_3 of the
    joint torques tau.

    Attributes:
        length: l_i, m.  com: d_i, from the proximal joint, m.  mass: m_i, kg.
        inertia: I_i about the centre of mass, kg m2.
    """

    length: tuple[float, float, float]
    com: tuple[float, float, float]
    mass: tuple[float, float, float]
    inertia: tuple[float, float, float]

    def extended_equations(
        self, angles: ArrayLike, rates: ArrayLike, virtual_masses: tuple[float, float] = (0.0, 0.0)
    ) -> tuple[Array, Array]:
        """Return the equations with two locked virtual prismatic links at joint A between links 1 and 2 (3.15), (3.16).

        The coordinates are (theta_1, theta_2, theta_3, x, y): x and y open the joint along the inertial axes.

        Args:
            angles: (3,) rad.
            rates: (3,) rad/s.
            virtual_masses: of the two virtual links, kg; normally zero.

        Returns:
            M (5, 5), and Coriolis plus gravity (5,), at x = y = 0.
        """
        sine, cosine = np.sin(angles), np.cos(angles)
        _, m2, m3 = self.mass
        v1, v2 = virtual_masses
        # mass moment of link i and all distal links about its proximal joint
        carried = np.array(
            [
                self.mass[0] * self.com[0] + (m2 + m3) * self.length[0],
                m2 * self.com[1] + m3 * self.length[1],
                m3 * self.com[2],
            ]
        )
        beyond = np.array([(m2 + m3) * self.length[0], carried[1], carried[2]])  # the part beyond A
        # coupling of links i < j: l_i times the mass moment of link j
        coupling = np.array(
            [
                [0.0, self.length[0] * carried[1], self.length[0] * carried[2]],
                [0.0, 0.0, self.length[1] * carried[2]],
                [0.0, 0.0, 0.0],
            ]
        )
        coupling = coupling + coupling.T
        difference = np.subtract.outer(np.asarray(angles, dtype=float), np.asarray(angles, dtype=float))
        diagonal = np.array(
            [
                self.inertia[0] + self.mass[0] * self.com[0] ** 2 + (m2 + m3 + v1 + v2) * self.length[0] ** 2,
                self.inertia[1] + m2 * self.com[1] ** 2 + m3 * self.length[1] ** 2,
                self.inertia[2] + m3 * self.com[2] ** 2,
            ]
        )
        matrix = np.zeros((5, 5))
        matrix[:3, :3] = coupling * np.cos(difference) + np.diag(diagonal)
        first = np.array([self.length[0], 0.0, 0.0])
        matrix[:3, 3] = matrix[3, :3] = (beyond + (v1 + v2) * first) * cosine
        matrix[:3, 4] = matrix[4, :3] = (beyond + v2 * first) * sine
        matrix[3, 3], matrix[4, 4] = m2 + m3 + v1 + v2, m2 + m3 + v2
        square = np.asarray(rates, dtype=float) ** 2
        bias = np.empty(5)
        bias[:3] = (coupling * np.sin(difference)) @ square + (carried + (v1 + v2) * first) * GRAVITY * sine
        bias[3] = -((beyond + (v1 + v2) * first) * sine) @ square
        bias[4] = ((beyond + v2 * first) * cosine) @ square + (m2 + m3 + v2) * GRAVITY
        return matrix, bias

    def accelerations(self, angles: ArrayLike, rates: ArrayLike, torques: ArrayLike) -> Array:
        """Return the angular accelerations (3,) under torques (3,) by the first block row (3.13), (3.17), rad/s2."""
        matrix, bias = self.extended_equations(angles, rates)
        return np.linalg.solve(matrix[:3, :3], np.asarray(torques, dtype=float) - bias[:3])

    def reaction(self, angles: ArrayLike, rates: ArrayLike, accelerations: ArrayLike) -> Array:
        """Return the force (2,) of link 1 on link 2 at A by the second block row (3.14), (3.18): F_x, F_y, N."""
        matrix, bias = self.extended_equations(angles, rates)
        return matrix[3:, :3] @ np.asarray(accelerations, dtype=float) + bias[3:]

    def constrained_motion(self, angles: ArrayLike, rates: ArrayLike, torques: ArrayLike) -> ConstrainedMotion:
        """Return the solution of the reference method: Lagrange's equations with multipliers (3.19) to (3.24).

        Args:
            angles: (3,) rad.
            rates: (3,) rad/s.
            torques: (3,) conjugate to the absolute angles, N m.
        """
        (s1, s2, s3), (c1, c2, c3) = np.sin(angles), np.cos(angles)
        w1, w2, w3 = np.asarray(rates, dtype=float)
        theta = np.asarray(angles, dtype=float)
        m1, m2, m3 = self.mass
        l1, (d1, d2, d3) = self.length[0], self.com
        inertia = self.inertia
        e = self.length[1] - d2
        c32, s32 = np.cos(theta[2] - theta[1]), np.sin(theta[2] - theta[1])
        upper = np.array(
            [
                [inertia[0] + m1 * d1**2, 0, 0, 0, 0],
                [0, inertia[1] + e**2 * m3, e * m3 * d3 * c32, e * m3 * c2, e * m3 * s2],
                [0, 0, inertia[2] + m3 * d3**2, m3 * d3 * c3, m3 * d3 * s3],
                [0, 0, 0, m2 + m3, 0],
                [0, 0, 0, 0, m2 + m3],
            ]
        )
        matrix = upper + np.triu(upper, 1).T
        bias = np.array(
            [
                m1 * GRAVITY * d1 * s1,
                e * m3 * (GRAVITY * s2 - d3 * s32 * w3**2),
                m3 * d3 * (GRAVITY * s3 + e * s32 * w2**2),
                -e * m3 * s2 * w2**2 - m3 * d3 * s3 * w3**2,
                (m2 + m3) * GRAVITY + e * m3 * c2 * w2**2 + m3 * d3 * c3 * w3**2,
            ]
        )
        constraint = np.array([[-l1 * c1, -d2 * c2, 0, 1, 0], [-l1 * s1, -d2 * s2, 0, 0, 1]])
        drift = np.array([l1 * s1 * w1**2 + d2 * s2 * w2**2, -l1 * c1 * w1**2 - d2 * c2 * w2**2])
        applied = np.append(np.asarray(torques, dtype=float), (0.0, 0.0))
        inverse_times = np.linalg.solve(matrix, np.column_stack([constraint.T, bias - applied]))
        multiplier = np.linalg.solve(constraint @ inverse_times[:, :2], constraint @ inverse_times[:, 2] - drift)
        return ConstrainedMotion(inverse_times[:, :2] @ multiplier - inverse_times[:, 2], multiplier)
