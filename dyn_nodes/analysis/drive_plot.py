"""Plot of efforts over speeds of joints, with the limits of their motors and gears."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dyn_nodes.analysis.drive_sizing import JointMotion
from dyn_nodes.analysis.motor_catalogue import CatalogueMotor
from dyn_nodes.analysis.plots import BLUE, GREY, MOST_POINTS, ORANGE, RESOLUTION, style

COLUMNS = 3


def drive_figure(
    motions: Mapping[str, JointMotion], chosen: Mapping[str, tuple[CatalogueMotor, float]] | None = None
) -> Figure:
    """Return the plot, one panel per joint.

    Args:
        motions: motions by joint.
        chosen: motor and gear ratio by joint, if chosen; the efforts then include the rotor.
    """
    columns = min(COLUMNS, len(motions))
    rows = math.ceil(len(motions) / columns)
    with style():
        figure = Figure(figsize=(3.6 * columns, 3.0 * rows + 0.2), dpi=RESOLUTION, layout='constrained')
        for index, (joint, motion) in enumerate(motions.items()):
            _panel(figure.add_subplot(rows, columns, index + 1), joint, motion, (chosen or {}).get(joint))
    return figure


def _panel(axes: Axes, joint: str, motion: JointMotion, drive: tuple[CatalogueMotor, float] | None) -> None:
    effort, title = motion.effort, joint
    if drive is not None:
        motor, ratio = drive
        effort = effort + ratio**2 * (motor.rotor_inertia * motion.acceleration + motor.rotor_damping * motion.velocity)
        title = f'{joint}: {motor.name}, 1:{ratio:.3g}'
        _limits(axes, motor, ratio)
    step = max(1, len(effort) // MOST_POINTS)
    axes.plot(motion.velocity[::step], effort[::step], color=BLUE, linewidth=1.0)
    axes.set_title(title)
    axes.set_xlabel('speed, rad/s or m/s')
    axes.set_ylabel('effort, N m or N')


def _limits(axes: Axes, motor: CatalogueMotor, ratio: float) -> None:
    """Draw the efforts that voltage and current permit at each speed, and the continuous efforts."""
    constant = ratio * motor.torque_constant
    fastest = motor.voltage_limit / constant
    speeds = np.linspace(-fastest, fastest, 201)
    stall = np.full_like(speeds, motor.current_limit)
    upper = constant * np.minimum(stall, (motor.voltage_limit - constant * speeds) / motor.resistance)
    lower = constant * np.maximum(-stall, (-motor.voltage_limit - constant * speeds) / motor.resistance)
    for bound in (upper, lower):
        axes.plot(speeds, bound, color=ORANGE, linewidth=1.2)
    if np.isfinite(motor.continuous_current):
        for sign in (-1.0, 1.0):
            axes.axhline(sign * constant * motor.continuous_current, color=GREY, linewidth=0.9, linestyle='--')
