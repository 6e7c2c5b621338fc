"""Validation of a fit on the held-out part of a log: simulated speeds from commands, and their delay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_nodes.analysis.joint_simulation import JointNumbers, JointSimulation, Simulated
from dyn_nodes.analysis.machine_log import MachineLog

HORIZON = 5.0
"""Duration of a simulation from one measured state, s."""
LATEST = 0.3
"""Greatest shift between simulated and measured speeds, s."""
MOVES = 1e-3
"""Standard deviation of the speed below which a joint counts as at rest, rad/s or m/s."""


@dataclass(frozen=True)
class JointValidation:
    """Validation of one joint.

    Attributes:
        nrmse: root mean square error of the speed over the standard deviation of the measured speed; NaN at rest.
        error: root mean square error, rad/s or m/s.
        delay: delay of the measured speed behind the simulated one, s; NaN at rest.
    """

    nrmse: float
    error: float
    delay: float


@dataclass(frozen=True, eq=False)
class Validation:
    """Validation by joint, with the speeds for plots; (start, end) of the part, s."""

    joints: dict[str, JointValidation]
    speeds: Simulated
    span: tuple[float, float]


def validate(numbers: JointNumbers, log: MachineLog, start: float, end: float, horizon: float = HORIZON) -> Validation:
    """Return the comparison of a simulation with a part of a log.

    Args:
        numbers: parameters of a fit.
        log: whole log, because commands before `start` have an effect.
        start: start of the part, s.
        end: end of the part, s.
        horizon: period after which the simulation restarts from measurements, s.
    """
    simulation = JointSimulation(numbers, log.actuators)
    duration = min(horizon, end - start)
    speeds = simulation.run(log, start, end, duration)
    joints = {}
    for k, name in enumerate(simulation.joints):
        measured, simulated = speeds.measured[:, k], speeds.simulated[:, k]
        error, deviation = float(np.sqrt(np.mean((simulated - measured) ** 2))), float(measured.std())
        rests = deviation < MOVES
        nrmse = np.nan if rests else error / deviation
        joints[name] = JointValidation(nrmse, error, np.nan if rests else _delay(speeds, k))
    return Validation(joints, speeds, (start, end))


def _delay(speeds: Simulated, joint: int) -> float:
    """Return the shift between measured and simulated speeds, s, by a parabola through the three best steps."""
    step = float(speeds.times[1] - speeds.times[0])
    reach = round(LATEST / step)
    measured, simulated = speeds.measured[:, joint], speeds.simulated[:, joint]
    shifts = np.arange(-reach, reach + 1)
    count = len(measured) - 2 * reach
    if count < 10:
        return float('nan')
    middle = simulated[reach : reach + count]
    errors = np.array([np.mean((measured[reach + s : reach + s + count] - middle) ** 2) for s in shifts])
    best = int(np.clip(np.argmin(errors), 1, len(errors) - 2))
    left, here, right = errors[best - 1 : best + 2]
    bend = left - 2.0 * here + right
    return float(step * (shifts[best] + (0.5 * (left - right) / bend if bend > 0.0 else 0.0)))
