"""Sizing of electric drives: loads of a task on every joint, and the gear ratio with the least heat of a motor.

With an effort a of the load and the rotor's torque n b (its inertia and friction times the joint's motion), a motor
behind a ratio n carries the current i = (a / n + n b) / k. The product of both terms is the same for every ratio, so
the mean square of i, and the heat of the winding, is least at n = (mean a^2 / mean b^2)^(1/4); for a load of inertia J
alone this is the ratio sqrt(J / I) that matches inertias. Limits of current and voltage restrict the ratios to a range,
in which the best one is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.analysis.motor_catalogue import CatalogueMotor
from dyn_nodes.common.arrays import Array

RATIOS = (1.0, 10_000.0)
"""Range of gear ratios."""
RATIO_STEP = 1.005
"""Factor between two successive ratios of the search."""


@dataclass(frozen=True)
class JointMotion:
    """Motion of a joint in a task.

    Attributes:
        time: (t,) rising, s.
        velocity: (t,) rad/s or m/s.
        acceleration: (t,) rad/s2 or m/s2.
        effort: (t,) of the drive at the joint, N m or N, without a rotor's inertia and friction.
    """

    time: Array
    velocity: Array
    acceleration: Array
    effort: Array

    @classmethod
    def of_samples(
        cls, time: ArrayLike, velocity: ArrayLike, effort: ArrayLike, reflected_inertia: float = 0.0
    ) -> JointMotion:
        """Return the motion of recorded samples, with accelerations from differences of velocities.

        Args:
            time: (t,) s.
            velocity: (t,) rad/s or m/s.
            effort: (t,) N m or N.
            reflected_inertia: reflected inertia of the rotor that is part of the recorded effort, kg m2 or kg;
                subtracted.

        Raises:
            ValueError: fewer than three samples, or times that do not increase.
        """
        t, v, tau = (np.asarray(values, dtype=float) for values in (time, velocity, effort))
        if len(t) < 3 or not np.all(np.diff(t) > 0.0):
            raise ValueError(f'expected at least 3 samples at increasing times, found {len(t)}')
        acceleration = np.gradient(v, t)
        return cls(t, v, acceleration, tau - reflected_inertia * acceleration)

    @property
    def duration(self) -> float:
        """Length of the task, s."""
        return float(self.time[-1] - self.time[0])

    def mean(self, values: Array) -> float:
        """Return the mean over time of values (t,)."""
        return float(0.5 * np.dot(values[1:] + values[:-1], np.diff(self.time)) / self.duration)


@dataclass(frozen=True)
class DriveDemand:
    """Requirements of a task on a joint's drive, in SI units.

    Attributes:
        peak_effort, rms_effort: N m or N.
        peak_speed: rad/s or m/s.
        peak_power: greatest power to the joint, W.
        peak_return: greatest power from the joint, W.
        work, returned: energy to and from the joint, J.
    """

    peak_effort: float
    rms_effort: float
    peak_speed: float
    peak_power: float
    peak_return: float
    work: float
    returned: float


def demand(motion: JointMotion) -> DriveDemand:
    """Return the requirements of a motion on the joint's drive."""
    power = motion.effort * motion.velocity
    return DriveDemand(
        peak_effort=float(np.abs(motion.effort).max()),
        rms_effort=float(np.sqrt(motion.mean(motion.effort**2))),
        peak_speed=float(np.abs(motion.velocity).max()),
        peak_power=max(0.0, float(power.max())),
        peak_return=max(0.0, float(-power.min())),
        work=motion.mean(np.maximum(power, 0.0)) * motion.duration,
        returned=motion.mean(np.maximum(-power, 0.0)) * motion.duration,
    )


@dataclass(frozen=True)
class DriveLoad:
    """A motor's load in a task behind a gear ratio, in SI units.

    Attributes:
        ratio: turns of the rotor per turn of the joint, or rad/m.
        peak_current, rms_current: A.
        peak_voltage: V.
        heat: mean loss of the winding, W.
        friction: mean loss of the rotor's friction, W.
        peak_power: greatest electric power, W.
        exceeded: limits that are exceeded, of `voltage`, `current` and `continuous current`.
    """

    ratio: float
    peak_current: float
    rms_current: float
    peak_voltage: float
    heat: float
    friction: float
    peak_power: float
    exceeded: tuple[str, ...]


def load_of(motion: JointMotion, motor: CatalogueMotor, ratio: float) -> DriveLoad:
    """Return the load of a motor behind a ratio; (2-238) to (2-240) of freeman-1985 for one joint."""
    speed, acceleration = ratio * motion.velocity, ratio * motion.acceleration
    torque = motion.effort / ratio + motor.rotor_inertia * acceleration + motor.rotor_damping * speed
    current = torque / motor.torque_constant
    change = np.gradient(current, motion.time)
    voltage = motor.inductance * change + motor.resistance * current + motor.torque_constant * speed
    mean_square = motion.mean(current**2)
    limits = {
        'voltage': (float(np.abs(voltage).max()), motor.voltage_limit),
        'current': (float(np.abs(current).max()), motor.current_limit),
        'continuous current': (float(np.sqrt(mean_square)), motor.continuous_current),
    }
    return DriveLoad(
        ratio=ratio,
        peak_current=limits['current'][0],
        rms_current=limits['continuous current'][0],
        peak_voltage=limits['voltage'][0],
        heat=motor.resistance * mean_square,
        friction=motor.rotor_damping * motion.mean(speed**2),
        peak_power=max(0.0, float((voltage * current).max())),
        exceeded=tuple(name for name, (value, limit) in limits.items() if value > limit),
    )


def coolest_ratio(motion: JointMotion, motor: CatalogueMotor) -> float:
    """Return the ratio of least heatwithout regard to limits; infinite for a rotor without inertia and friction."""
    rotor = motor.rotor_inertia * motion.acceleration + motor.rotor_damping * motion.velocity
    mean_square = motion.mean(rotor**2)
    return float((motion.mean(motion.effort**2) / mean_square) ** 0.25) if mean_square > 0.0 else np.inf


@dataclass(frozen=True)
class GearChoice:
    """Gear ratios with which a motor can execute a task.

    Attributes:
        motor: name of the motor.
        least, greatest: range of the ratios within all limits; NaN without such a ratio.
        best: load at the ratio of least heat among them; without such a ratio, at the ratio of least heat of all.
    """

    motor: str
    least: float
    greatest: float
    best: DriveLoad

    @property
    def fits(self) -> bool:
        """Whether a ratio is within all limits."""
        return not self.best.exceeded


def gear_choice(motion: JointMotion, motor: CatalogueMotor) -> GearChoice:
    """Return the gear ratios with which a motor can execute a task, within `RATIOS`."""
    least, greatest = RATIOS
    count = int(np.ceil(np.log(greatest / least) / np.log(RATIO_STEP))) + 1
    coolest = float(np.clip(coolest_ratio(motion, motor), least, greatest))
    tried = [load_of(motion, motor, ratio) for ratio in (*np.geomspace(least, greatest, count), coolest)]
    kept = [load for load in tried if not load.exceeded]
    if not kept:
        return GearChoice(motor.name, np.nan, np.nan, tried[-1])
    ratios = [load.ratio for load in kept]
    return GearChoice(motor.name, min(ratios), max(ratios), min(kept, key=lambda load: load.heat))
