"""Slip of crawler tracks in a steady turn: the motion of the vehicle from the speeds of its belts, and back.

    slip = TrackSlip(tracks)
    real = slip.motion(rolling)

A rolling twist (v, 0, w) is the motion without slip: the belt of a track at y runs at V = v - w y. Tracks shear the
ground (`elements.contacts.track`), so that the vehicle turns more slowly, about a point that is not abreast of their
middles. Without other forces the shear of all tracks is in balance at its twist. The steady law does not depend on
time: it is homogeneous in the speeds, so that one table over the direction of (v, w h), h the greatest y of a track,
holds for every speed.

Loads are taken at rest. Inertia, slopes, soil in front of the belts, viscous friction and the difference
of static and kinetic friction are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import fsolve

from dyn_nodes.common.arrays import Array

DIRECTIONS = 180
"""Number of directions of the table: one every 2 degrees, with linear interpolation."""
NEARLY_STRAIGHT = np.radians((-1.0, -0.3, -0.1, -0.03, 0.03, 0.1, 0.3, 1.0))
"""Further directions near straight ahead and back, rad: there the shear is below its limit, and the slip is less."""
GUESSES = (1.5, 1.0, 2.5)
"""Start values of the search: ratio of the yaw rate of rolling belts to the yaw rate of the vehicle."""
BALANCED = 1e-8
"""Greatest residual force of a steady turn, relative to the weight."""
MOST_LOST = 0.1
"""Greatest part of the directions without a solution."""
STILL = 1e-12
"""Added to the divisor, 1/s: without slip and belt motion there is no shear."""


@dataclass(frozen=True, eq=False)
class SlippingTrack:
    """Parameters of a track in the slip law.

    Attributes:
        middle: (x, y) in the base frame, m.
        roller_positions: (n,) along x from the middle, the rearmost one first, m.
        loads: (n,) on the rollers at rest, N.
        pitch: of the rollers, m.
        modulus: shear displacement at which a shoe slides, kinetic friction over the stiffness of the bristles, m.
        friction: kinetic.
    """

    middle: tuple[float, float]
    roller_positions: Array
    loads: Array
    pitch: float
    modulus: float
    friction: float

    def shear(self, belt: float, twist: Sequence[float] | Array) -> tuple[float, float, float]:
        """Return forces of the ground ahead and to the left, N, and their moment about the base's origin, N m."""
        u, v, turn = twist
        x0, y = self.middle
        order = range(len(self.roller_positions)) if belt < 0.0 else range(len(self.roller_positions) - 1, -1, -1)
        along, carried = u - turn * y - belt, abs(belt) / self.pitch
        ahead = left = moment = 0.0
        zx = zy = 0.0  # deflections; zero as a shoe touches down
        for k in order:
            x = x0 + float(self.roller_positions[k])
            across = v + turn * x
            loss = math.hypot(along, across) / self.modulus + carried + STILL
            zx, zy = (along + carried * zx) / loss, (across + carried * zy) / loss
            push = -float(self.loads[k]) * self.friction / self.modulus
            ahead, left = ahead + push * zx, left + push * zy
            moment += push * (x * zy - y * zx)
        return ahead, left, moment


class TrackSlip:
    """Table of the steady motions of a vehicle on tracks.

    Args:
        tracks: two or more, not all on one line.

    Attributes:
        tracks: of the vehicle.
        half: greatest distance of a track from the base's middle line, m.
    """

    def __init__(self, tracks: Sequence[SlippingTrack]) -> None:
        self.tracks = tuple(tracks)
        self.half = max(abs(track.middle[1]) for track in self.tracks)
        further = (angle + NEARLY_STRAIGHT for angle in (0.0, np.pi, 2.0 * np.pi))
        self._angles = np.sort(np.concatenate([np.linspace(0.0, 2.0 * np.pi, DIRECTIONS + 1), *further]))[4:-4]
        self._motions = self._table()
        turned = np.unwrap(np.arctan2(self._motions[:, 2] * self.half, self._motions[:, 0]))
        self._turned = turned - turned[0]

    def _table(self) -> Array:
        """Return steady twists (k, 3) at belts of size 1 m/s, by direction; missing solutions are interpolated.

        The search may fail if a belt is nearly at rest: its shoes start to slide all at once.
        """
        rolling = [(math.cos(angle), 0.0, math.sin(angle) / self.half) for angle in self._angles]
        result = np.array([self._balance(twist) for twist in rolling])
        lost = np.isnan(result[:, 0])
        if lost.sum() > MOST_LOST * len(lost):
            raise ValueError(
                f'tracks: expected steady turns at belts of all directions, found {lost.sum()} without one'
            )
        for column in result.T:
            column[lost] = np.interp(self._angles[lost], self._angles[~lost], column[~lost])
        return result

    def _balance(self, rolling: Sequence[float]) -> Array:
        """Return the steady twist (3,) at the belts of a rolling twist; NaN if the search fails."""
        scale = sum(float(track.loads.sum()) for track in self.tracks)

        def unbalanced(twist: Array) -> Array:
            forces = self.forces(rolling, twist).sum(axis=0)
            return np.array([forces[0], forces[1], forces[2] / self.half]) / scale

        for factor in GUESSES:
            guess = np.array([rolling[0], 0.0, rolling[2] / factor])
            solution = np.asarray(fsolve(unbalanced, guess, xtol=1e-12, full_output=True)[0])
            if np.abs(unbalanced(solution)).max() < BALANCED:
                return solution
        return np.full(3, np.nan)

    def forces(self, rolling: Sequence[float] | Array, twist: Sequence[float] | Array) -> Array:
        """Return forces (tracks, 3) of the ground on each track: ahead, left, N, and moment about the origin, N m."""
        belts = (rolling[0] - rolling[2] * track.middle[1] for track in self.tracks)
        return np.array([track.shear(belt, twist) for track, belt in zip(self.tracks, belts)])

    def motion(self, rolling: Array) -> Array:
        """Return the twist (3,) of the vehicle at the belts of a rolling twist (3,)."""
        size = math.hypot(rolling[0], rolling[2] * self.half)
        angle = math.atan2(rolling[2] * self.half, rolling[0]) % (2.0 * math.pi)
        return size * self._at(angle)

    def rolling(self, twist: Array) -> Array:
        """Return the rolling twist (3,) whose belts give speed and yaw rate of a twist (3,); its y is left out."""
        size = math.hypot(twist[0], twist[2] * self.half)
        if size == 0.0:
            return np.zeros(3)
        turned = math.atan2(twist[2] * self.half, twist[0]) % (2.0 * math.pi)
        angle = float(np.interp(turned, self._turned, self._angles))
        at = self._at(angle)
        belts = size / math.hypot(at[0], at[2] * self.half)
        return np.array([belts * math.cos(angle), 0.0, belts * math.sin(angle) / self.half])

    def pulls(self, rolling: Array) -> Array:
        """Return forward forces (tracks,) of the ground on the belts in the steady turn, N: loads of the sprockets."""
        if not rolling.any():
            return np.zeros(len(self.tracks))
        return self.forces(rolling, self.motion(rolling))[:, 0]

    def gauge_factor(self, speed: float, yaw_rate: float) -> float:
        """Return the yaw rate of rolling belts over the vehicle's, at a speed, m/s, and a yaw rate, rad/s."""
        return float(self.rolling(np.array([speed, 0.0, yaw_rate]))[2] / yaw_rate)

    def _at(self, angle: float) -> Array:
        return np.array([np.interp(angle, self._angles, column) for column in self._motions.T])
