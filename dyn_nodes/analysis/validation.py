"""How well a fit predicts the part of a log that it has not seen: speeds from commands, and when they come."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_nodes.analysis.joint_simulation import JointNumbers, JointSimulation, Simulated
from dyn_nodes.analysis.machine_log import MachineLog

HORIZON = 5.0
"""Of a simulation from one measured state, s."""
LATEST = 0.3
"""Greatest shift between simulated and measured speeds that is looked for, s."""
MOVES = 1e-3
"""A joint whose speeds have a smaller deviation rests, rad/s or m/s."""


@dataclass(frozen=True)
class JointValidation:
    """One joint: root mean square error of its speed over the deviation of the measured one, and its delay, s.

    Attributes:
        nrmse: of the speed; NaN where the joint rests.
        error: root mean square, rad/s or m/s.
        delay: by which the measured speed follows the simulated one, s; NaN where the joint rests.
    """

    nrmse: float
    error: float
    delay: float


@dataclass(frozen=True, eq=False)
class Validation:
    """Result: by joint, with the speeds for plots; (start, end) of the part, s."""

    joints: dict[str, JointValidation]
    speeds: Simulated
    span: tuple[float, float]


def validate(numbers: JointNumbers, log: MachineLog, start: float, end: float, horizon: float = HORIZON) -> Validation:
    """Simulate a part of a log and compare.

    Args:
        numbers: of a fit.
        log: whole, as commands before `start` still act.
        start: of the part, s.
        end: of it, s.
        horizon: the simulation begins anew from measurements so often, s.
    """
    simulation = JointSimulation(numbers, log.actuators)
    own = min(horizon, end - start)
    speeds = simulation.run(log, start, end, own)
    found = {}
    for k, name in enumerate(simulation.joints):
        measured, simulated = speeds.measured[:, k], speeds.simulated[:, k]
        error, deviation = float(np.sqrt(np.mean((simulated - measured) ** 2))), float(measured.std())
        rests = deviation < MOVES
        nrmse = np.nan if rests else error / deviation
        found[name] = JointValidation(nrmse, error, np.nan if rests else _delay(speeds, k))
    return Validation(found, speeds, (start, end))


def _delay(speeds: Simulated, joint: int) -> float:
    """Shift at which measured and simulated speeds agree best, by a parabola through the three best steps."""
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
