"""RM-1, the reference robot of tanner-1998: two driven wheels on an axle, a castor, an arm of three joints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.stability import AdmissibleReactions, admissible_reactions
from dyn_nodes.studies.reference import tabulated

GRAVITY = np.array([0.0, 0.0, -9.81])
HEIGHT = 0.3
"""Height of the vehicle's centre of mass above the ground, m."""
WHEELS = np.array([(-0.15, 0.30, -HEIGHT), (-0.15, -0.30, -HEIGHT), (0.35, 0.0, -HEIGHT)])
"""Ground points of left and right driven wheel and castor from the vehicle's centre of mass, m."""
AXLE = 0.15
"""Distance of the centre of mass ahead of the driven axle, m."""
FRICTION = 0.7
MOUNT = np.array([0.10, 0.0, 0.20])
LINKS = ((0.20, 0.0, np.pi / 2.0), (0.0, 0.40, 0.0), (0.0, 0.35, 0.0))
"""Denavit-Hartenberg d, a, alpha of the joints."""
MASSES = (5.0, 4.0, 2.5)
CENTERS = ((0.0, -0.08, 0.0), (-0.20, 0.0, 0.0), (-0.18, 0.0, 0.0))
INERTIAS = ((0.03, 0.015, 0.03), (0.01, 0.06, 0.06), (0.005, 0.03, 0.03))


S0_JOINTS, ARM_LEFT = (0.4, 0.6, -0.9), (np.pi / 2.0, 0.0, 0.0)
POSTURES = {'left': ARM_LEFT, 'front': (0.0, 0.0, 0.0), 'back': (np.pi, 0.0, 0.0)}
"""Postures with the arm straight."""
S0_LOAD = -tabulated('tanner-1998/6.4/wrench')[0]
"""Force and moment on the ground at S0/T0, N and N m (6.4)."""
S0_TRACTION = (30.0, 20.0, 0.0)
"""Rolling forces at S0/T0: drive torques over the radius, N."""


class Bodies(NamedTuple):
    """Bodies of the robot in vehicle axes, from the vehicle's centre of mass: vehicle, link 0, links.

    Attributes:
        mass: (b,) kg.
        center: (b, 3) m.
        inertia: (b, 3, 3) about the centres of mass, kg m2.
        hand: (3,) grasp point, m.
    """

    mass: Array
    center: Array
    inertia: Array
    hand: Array


def bodies(joints: ArrayLike) -> Bodies:
    """Return the bodies with joint angles (3,), rad."""
    mass, center = [60.0, 4.0], [np.zeros(3), MOUNT + np.array([0.0, 0.0, 0.05])]
    inertia = [np.diag((2.0, 3.0, 4.0)), np.diag((0.02, 0.02, 0.015))]
    turn, origin = np.eye(3), MOUNT
    for q, (d, a, alpha), m, com, tensor in zip(np.asarray(joints), LINKS, MASSES, CENTERS, INERTIAS):
        c, s = np.cos(q), np.sin(q)
        origin = origin + turn @ (a * c, a * s, d)
        twist = np.array([(1.0, 0.0, 0.0), (0.0, np.cos(alpha), -np.sin(alpha)), (0.0, np.sin(alpha), np.cos(alpha))])
        turn = turn @ np.array([(c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)]) @ twist
        mass.append(m)
        center.append(origin + turn @ com)
        inertia.append(turn @ np.diag(tensor) @ turn.T)
    return Bodies(np.array(mass), np.array(center), np.array(inertia), origin)


def load_in_a_circle(joints: ArrayLike, speed: float = 0.0, rate: float = 0.0, payload: float = 0.0) -> Array:
    """Return the load on the ground with the arm locked, in vehicle axes at the vehicle's centre of mass.

    Args:
        joints: (3,) rad.
        speed: of the middle of the driven axle, steady, m/s.
        rate: of turning, steady, rad/s.
        payload: point mass at the grasp point, kg.

    Returns:
        (6,) force and moment of gravity and inertia, N and N m.
    """
    robot = bodies(joints)
    mass = np.append(robot.mass, payload)
    center = np.vstack([robot.center, robot.hand])
    acceleration = np.array([-(rate**2) * AXLE, rate * speed, 0.0]) - rate**2 * center * (1.0, 1.0, 0.0)
    force = mass[:, None] * (GRAVITY - acceleration)
    turning = np.array([0.0, 0.0, rate])
    moment = np.cross(center, force).sum(axis=0) - np.cross(turning, robot.inertia.sum(axis=0) @ turning)
    return np.concatenate([force.sum(axis=0), moment])


def reactions(load: Array, friction: float = FRICTION, ranges: bool = False) -> AdmissibleReactions:
    """Return the reactions that can balance a load (6,); the castor takes no horizontal force."""
    return admissible_reactions(
        WHEELS, np.zeros(3), load[:3], load[3:], friction=(friction, friction, 0.0), ranges=ranges
    )
