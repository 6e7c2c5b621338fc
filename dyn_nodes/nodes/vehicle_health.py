"""Diagnostics of a vehicle's wheels: odometry, slip, demands that the wheels cannot follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dyn_nodes.control.wheel_motion import WheelMotion
from dyn_nodes.nodes.diagnostics import WARN, Health

REMEMBERED = 1.0
"""Time for which slip and infeasible demands are reported, s."""


class WheelHealth:
    """Monitors the motion of the wheels.

    Args:
        motion: of the wheels.
        values: parameters of the node; `slip_warning` in m/s.

    Attributes:
        infeasible: number of infeasible demands.
    """

    def __init__(self, motion: WheelMotion, values: Mapping[str, Any]) -> None:
        self.motion, self.values = motion, values
        self.infeasible = 0
        self.restart()

    def restart(self) -> None:
        """Drop slip and demands, but not the counts: time starts again."""
        self._last_infeasible: tuple[float, str] = (-np.inf, '')
        self._slip: tuple[float, str, float] = (-np.inf, '', 0.0)

    def note(self, now: float) -> None:
        """Store slip and demands of the present instant, s."""
        infeasible = self.motion.infeasible
        if infeasible:
            if now - self._last_infeasible[0] > REMEMBERED:
                self.infeasible += 1
            self._last_infeasible = now, infeasible[0]
        slip = self.motion.odometry.slip
        most = int(np.argmax(slip))
        if slip[most] > self.values['slip_warning']:
            self._slip = now, self.motion.base.names[most], float(slip[most])

    def warn_of_demand(self, health: Health, now: float) -> None:
        """Raise the level of a status after a recent infeasible demand; `now` in s."""
        since, text = self._last_infeasible
        if now - since < REMEMBERED:
            health.worse(WARN, f'not followed: {text}')

    def wheels(self, now: float) -> Health:
        """Return the status `wheels` at an instant, s."""
        motion = self.motion
        odometry = motion.odometry
        x, y, yaw = odometry.pose
        dimensions = odometry.slip_dimensions()
        values = {
            'pose': f'{x:.3f} m, {y:.3f} m, {yaw:.4f} rad',
            'distance': f'{odometry.distance:.2f} m',
            'slip can be seen in': f'{dimensions} combinations of wheel speeds'
            if dimensions
            else 'none: no spare wheel',
            'at their effort limit': ', '.join(motion.servo.saturated) or 'none',
            **{f'slip of {name}': f'{slip:.4f} m/s' for name, slip in zip(motion.base.names, odometry.slip)},
        }
        health = Health(text='rolling' if dimensions else 'rolling; slip cannot be detected', values=values)
        since, name, slip = self._slip
        if now - since < REMEMBERED:
            health.worse(WARN, f'{name} slips by {slip:.3f} m/s')
        return health
