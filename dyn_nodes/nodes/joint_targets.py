"""Position and velocity targets of joints, within their ranges and the limits of their drives."""

from __future__ import annotations

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.drive_limits import drive_limits
from dyn_nodes.simulation.events import BEYOND, Event, overspeed
from dyn_nodes.simulation.plant import Plant

STOPPED = 1e-3
"""Speed below which a joint with a target speed of zero holds its position, rad/s or m/s."""
RECENT = 1.0
"""Time for which a joint counts as saturated after its last saturation, s."""


class JointTargets:
    """Servos on the joints of a plant that takes efforts.

    A position beyond the range of its joint is clamped to the range. An event `saturated` marks the start of a time in
    which the effort or speed of a joint is at its limit or its position is clamped; an event `overspeed` a speed beyond
    the limit, due to a load that the drive cannot brake or to commanded efforts.

    Args:
        plant: with the joints.

    Attributes:
        holding: whether brakes hold the joints at their positions.
        limits: of the driven joints.
    """

    def __init__(self, plant: Plant) -> None:
        self._plant = plant
        self._target: tuple[Array, Array] | None = None
        self._efforts: Array | None = None
        self.holding = False
        self.limits = drive_limits(plant.machine)
        self._driven = np.array([plant.joints.index(name) for name in plant.actuated], dtype=np.intp)
        self._seen: dict[tuple[str, str], float] = {}

    def release(self) -> None:
        """Drop the targets: efforts are commanded."""
        self._target, self._efforts, self.holding = None, None, False

    def hold(self) -> None:
        """Hold the joints at their targets, or at their positions without a target."""
        positions = self._plant.positions.copy()
        if self._target is not None:
            positions = np.where(np.isnan(self._target[0]), positions, self._target[0])
        self._target, self._efforts, self.holding = (positions, np.zeros(len(positions))), None, True

    def command(self, positions: Array, velocities: Array, efforts: Array | None = None) -> None:
        """Set the targets of the joints.

        A joint with a velocity alone moves at it. A joint without a command keeps its target position or comes to rest.

        Args:
            positions: (n,) rad or m, NaN for none.
            velocities: (n,) rad/s or m/s, NaN for none.
            efforts: (n,) N m or N, NaN for joints under a servo; None: all are.
        """
        held = self._plant.positions if self._target is None else self._target[0]
        moved = ~np.isnan(velocities)
        if efforts is not None:
            moved |= ~np.isnan(efforts)
        held = np.where(moved, np.nan, held)
        target = np.where(np.isnan(positions), held, positions)
        target[self._driven] = self.limits.clamped(target[self._driven])
        for k in np.flatnonzero(np.abs(target - positions) > 0.0):
            self._saturate(self._plant.joints[k], 'position', f'{positions[k]:.6g} is clamped to {target[k]:.6g}')
        self._target, self._efforts, self.holding = (target, np.nan_to_num(velocities)), efforts, False

    def lead(self) -> None:
        """Set the efforts of this instant; report joints beyond their speed limits with any kind of command."""
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
        plant.lead(position, rate, self.holding, self._efforts)
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
        """Store that a joint is at or beyond a limit; publish an event unless it was recently."""
        last = self._seen.get((joint, limit))
        if last is None or not 0.0 <= event.time - last <= RECENT:
            self._plant.note(event)
        self._seen[joint, limit] = event.time

    @property
    def saturated(self) -> str:
        """Return the joints that are or were recently at a limit, with the limit, or ''."""
        now = self._plant.time
        return ', '.join(f'{joint} ({limit})' for (joint, limit), at in self._seen.items() if 0.0 <= now - at <= RECENT)
