"""Plots of a fit: speeds on the held-out part of the log, openings of the valves against the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.analysis.drawing import legend, panels
from dyn_nodes.analysis.machine_fit import MachineFit
from dyn_nodes.analysis.plots import LINES, style
from dyn_nodes.analysis.valve_fit import PARAMETERS
from dyn_nodes.model.actuators import hydraulic

POINTS = 161


def opening(fit: MachineFit, name: str, key: str, volts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the area (v,) of `inlet_gain` or `outlet_gain` of an actuator at command voltages (v,), m2."""
    fitted, valve = fit.valves[name], hydraulic(fit.machine.actuator(name)).valve
    way = np.where(volts >= 0.0, 'forward', 'reverse')
    gain, zone = (
        np.array([fitted.values[PARAMETERS.index(f'{name}.{side}')] for side in way]) for name in (key, 'dead_zone')
    )
    return np.asarray(gain * np.maximum(valve.gain * np.abs(volts) - zone, 0.0))


def plot_speeds(fit: MachineFit, path: Path) -> None:
    """Write measured and simulated speeds of every joint that moves."""
    assert fit.validation is not None
    speeds, joints = fit.validation.speeds, fit.validation.joints
    with style():
        figure, axes = panels(len(joints), 2.0 * len(joints) + 0.6)
        for k, (panel, (name, joint)) in enumerate(zip(axes, joints.items())):
            panel.plot(speeds.times, speeds.measured[:, k], color=LINES[0], linewidth=0.8, label='measured')
            panel.plot(speeds.times, speeds.simulated[:, k], color=LINES[1], linewidth=1.0, label='simulated')
            share = 'at rest' if np.isnan(joint.nrmse) else f'NRMSE {100 * joint.nrmse:.1f} %'
            panel.set_title(f'{name}: {share}', loc='right', fontsize='small')
            panel.set_ylabel('rad/s or m/s')
        legend(axes[0], 2)
        axes[-1].set_xlabel('time, s')
        figure.savefig(path, dpi=150)


def plot_gain_curves(fit: MachineFit, path: Path) -> None:
    """Write the openings of every valve by command and direction, fitted and of the machine file."""
    with style():
        figure, axes = panels(len(fit.valves), 2.0 * len(fit.valves) + 0.6, share=False)
        for panel, name in zip(axes, fit.valves):
            valve = hydraulic(fit.machine.actuator(name)).valve
            volts = np.linspace(-valve.voltage_limit, valve.voltage_limit, POINTS)
            for colour, key in zip(LINES, ('inlet_gain', 'outlet_gain')):
                before = getattr(valve, key) * np.maximum(valve.gain * np.abs(volts) - valve.dead_zone, 0.0)
                panel.plot(volts, 1e6 * opening(fit, name, key, volts), color=colour, label=key.partition('_')[0])
                panel.plot(volts, 1e6 * before, color=colour, linestyle=':', label=f'{key.partition("_")[0]}, before')
            panel.set_ylabel(f'{name}, mm2')
        legend(axes[0], 4)
        axes[-1].set_xlabel('command, V')
        figure.savefig(path, dpi=150)
