"""Servos on the joints of a plant with effort inputs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.drive_limits import Flags, JointTask, ServoEfforts, drive_limits
from dyn_nodes.control.servo import JointServo, PresentMotion, ServoTask
from dyn_nodes.elements.forces.joint_stop import JointStop, joint_stops

MOST_CORRECTIONS = 8
"""Greatest number of repetitions of a period."""


class PlantServo:
    """Servos that lead the joints of a plant to a target, within the limits of the joints.

    A drive limits its speed at every instant, whereas these servos are sampled once a period. If a joint exceeds its
    speed limit because forces change within a period (a pad lands, a tyre starts to slip), the period is repeated with
    efforts that compensate them.

    Args:
        plant: the plant.

    Attributes:
        led: target of the present period, see `efforts`; None: other efforts were set.
        result: efforts of the servos; None before the first ones.
    """

    def __init__(self, plant: Any) -> None:
        self._plant = plant
        driven = [plant.joints.index(name) for name in plant.actuated]
        self._rates = [plant.system.index('state', f'{name}_rate') for name in plant.actuated]
        self._stiff: Flags = ~np.isin(driven, plant.run_out.joints)  # the ground under rolling wheels is a brake
        self._fastest, self._none = drive_limits(plant.machine).speed, np.zeros(len(driven))
        self.led: tuple[Array, Array, bool, Array | None] | None = None
        self.result: ServoEfforts | None = None

    @cached_property
    def _servo(self) -> JointServo:
        return JointServo(self._plant.machine)

    def efforts(
        self,
        target: Array,
        rates: Array,
        brakes: bool,
        commanded: Array | None = None,
        disturbance: Array | None = None,
    ) -> Array:
        """Return the efforts (n,) that drive the joints to a target.

        Args:
            target: (n,) positions, rad or m; NaN: velocity control.
            rates: (n,) velocities, rad/s or m/s.
            brakes: the joints are held: brakes carry loads beyond the drive limits.
            commanded: (n,) efforts of joints without a servo, NaN for all others; None: all have one.
            disturbance: (d,) accelerations of the driven joints that the efforts compensate, rad/s2 or m/s2.
        """
        plant, allowed_for = self._plant, self._none if disturbance is None else disturbance
        task = JointTask(plant.positions, plant.velocities, target, rates, brakes, allowed_for, commanded)
        if plant.constraints is not None:
            result = plant.constraints.servo.efforts(plant.constraints.blocks(), task, self._stiff)
        else:
            q, v = plant.tree_state()
            whole = ServoTask(q, v, task, plant.p[:3], plant.payload)
            if plant.ground.carries_the_base_alone:
                result = self._servo.efforts(whole)
            else:
                now = PresentMotion(plant.efforts, plant.accelerations, self._stop_efforts())
                result = self._servo.stiff_efforts(whole, now, self._stiff)
        self.result = result
        return np.asarray(result.efforts)

    def through(self, advance: Callable[[], Any], go_back: Callable[[], None]) -> Any:
        """Return the end of a period, which is repeated if driven joints exceed their speed limits.

        Args:
            advance: simulates the period with the efforts of the plant; returns its end, with the state x (n,).
            go_back: restores the start of the period.
        """
        reached, disturbance = advance(), self._none.copy()
        for _ in range(MOST_CORRECTIONS):
            if self.led is None or not self._correct(self.led, reached.x, disturbance):
                break
            go_back()
            reached = advance()
        return reached

    def _correct(self, led: tuple[Array, Array, bool, Array | None], x: Array, disturbance: Array) -> bool:
        """Correct the efforts of a period with end state x (n,); False: not needed, or the drives are at limits."""
        plant, result = self._plant, self.result
        start, end, efforts = plant.x[self._rates], x[self._rates], plant.u.copy()
        beyond = np.abs(end) > np.maximum(self._fastest, np.abs(start))
        if result is None or not beyond.any():
            return False
        disturbance[beyond] = ((end - start) / plant.period - result.accelerations)[beyond]
        plant.set_efforts(self.efforts(*led, disturbance))
        self.led = led
        return not np.allclose(plant.u, efforts, rtol=1e-9, atol=0.0)

    def _stop_efforts(self) -> Array:
        """Return the efforts (n,) of the stops at the limits of the joints, which a servo does not compensate."""
        plant = self._plant
        result = np.zeros(len(plant.joints))
        scale = plant.p[plant.system.index('parameter', 'joint_stop_scale')]
        if scale > 0.0:
            for k, stop in self._stops:
                result[k] = scale * stop.effort(float(plant.positions[k]), float(plant.velocities[k]))
        return result

    @cached_property
    def _stops(self) -> list[tuple[int, JointStop]]:
        return [(self._plant.joints.index(stop.joint), stop) for stop in joint_stops(self._plant.machine)]
