"""Positions and velocities that joints are led to, within their ranges and the limits of their drives."""

from __future__ import annotations

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.drive_limits import drive_limits
from dyn_nodes.simulation.events import BEYOND, Event, overspeed
from dyn_nodes.simulation.plant import Plant

STOPPED = 1e-3
"""Speed below which a joint that is to stand keeps its position, rad/s or m/s."""
RECENT = 1.0
"""s for which a joint counts as saturated after it was."""


class JointTargets:
    """Servos on the joints of a plant that takes efforts.

    A position beyond the range of its joint is clamped to the range. Where the effort or speed of a joint is at its
    limit, or its position was clamped, there is an event `saturated` as that begins. Where its speed is beyond its
    limit, `overspeed`: a load that its drive cannot brake has moved it, or efforts were commanded.

    Args:
        plant: that is led.

    Attributes:
        holding: the joints are held where they are, by brakes.
        limits: of the driven joints.
    """

    def __init__(self, plant: Plant) -> None:
        self._plant = plant
        self._target: tuple[Array, Array] | None = None
        self.holding = False
        self.limits = drive_limits(plant.machine)
        self._driven = np.array([plant.joints.index(name) for name in plant.actuated], dtype=np.intp)
        self._seen: dict[tuple[str, str], float] = {}

    def release(self) -> None:
        """Lead the joints to nothing: efforts are commanded."""
        self._target, self.holding = None, False

    def hold(self) -> None:
        """Hold the joints where they are led to, else where they are."""
        positions = self._plant.positions.copy()
        if self._target is not None:
            positions = np.where(np.isnan(self._target[0]), positions, self._target[0])
        self._target, self.holding = (positions, np.zeros(len(positions))), True

    def command(self, positions: Array, velocities: Array) -> None:
        """Lead the joints to positions and velocities (n,), NaN where none is given.

        A joint with a velocity alone moves at it; one with neither stays where it was led to.
        """
        held = self._plant.positions if self._target is None else self._target[0]
        held = np.where(np.isnan(velocities), held, np.nan)
        target = np.where(np.isnan(positions), held, positions)
        target[self._driven] = self.limits.clamped(target[self._driven])
        for k in np.flatnonzero(np.abs(target - positions) > 0.0):
            self._saturate(self._plant.joints[k], 'position', f'{positions[k]:.6g} is clamped to {target[k]:.6g}')
        self._target, self.holding = (target, np.nan_to_num(velocities)), False

    def lead(self) -> None:
        """Set the efforts of this instant; report joints beyond their speed limits, whatever drives them."""
        speeds = np.abs(self._plant.velocities[self._driven])
        for k in np.flatnonzero(speeds > BEYOND * self.limits.speed):
            joint = self._plant.actuated[k]
            self._note(joint, overspeed(self._plant.time, joint, speeds[k], self.limits.speed[k]), 'overspeed')
        if self._target is None:
            return
        plant, (position, rate) = self._plant, self._target
        standing = np.isnan(position) & (rate == 0.0) & (np.abs(plant.velocities) < STOPPED)
        position[standing] = plant.positions[standing]
        if self.holding:
            plant.let_wheels_run_out(position, rate)
        plant.lead(position, rate, self.holding)
        result = plant.servo.result
        assert result is not None
        for quantity, limits, flags in (
            ('effort', self.limits.effort, result.at_effort),
            ('speed', self.limits.speed, result.at_speed),
        ):
            for k in np.flatnonzero(flags):
                self._saturate(plant.actuated[k], quantity, f'at its limit, {limits[k]:.6g}')

    def _saturate(self, joint: str, quantity: str, text: str) -> None:
        details = {'text': f'{joint}: {quantity} {text}', 'joint': joint}
        self._note(joint, Event(self._plant.time, 'saturated', details=details), quantity)

    def _note(self, joint: str, event: Event, limit: str) -> None:
        """Keep that a joint is at a limit or beyond; an event where it was not lately."""
        last = self._seen.get((joint, limit))
        if last is None or not 0.0 <= event.time - last <= RECENT:
            self._plant.note(event)
        self._seen[joint, limit] = event.time

    @property
    def saturated(self) -> str:
        """Joints that are or were lately at a limit, and at which; ''."""
        now = self._plant.time
        return ', '.join(f'{joint} ({limit})' for (joint, limit), at in self._seen.items() if 0.0 <= now - at <= RECENT)
