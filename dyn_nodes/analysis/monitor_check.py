"""Comparison of a stability monitor with the truth on a measured run."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dyn_nodes.analysis.measured_run import MEASURES, PHASES, MeasuredRun, full_scale
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.monitor.ground_observer import ObserverSettings
from dyn_nodes.monitor.sensors import SensorNoise
from dyn_nodes.monitor.stability_monitor import StabilityMonitor

BOUNDS = {'steady': 5.0, 'motion': 15.0, 'impact': np.inf}
"""Greatest magnitude of an error in a phase, %. In an impact the truth jumps by twice the full scale."""
UNSAFE = 5.0
"""Greatest overestimate of a margin, % of the full scale, in every phase."""
CHECKED = ('force_angle', 'load_share')
QUANTITIES = {
    'stiffness': 'of every suspension, damping in proportion',
    'mass': 'of every link, inertia in proportion',
    'centre of mass': "of the base link, ahead; % of the support polygon's inradius",
    'payload': 'mass of the payload',
}
"""Quantities with an error in a monitor, with a description."""


@dataclass(frozen=True)
class Deviation:
    """Errors of one measure in one phase, in % of its full scale.

    Attributes:
        measure, phase: names.
        count: number of instants.
        over: greatest error on the unsafe side.  under: on the safe side.  median: median of the magnitudes.
    """

    measure: str
    phase: str
    count: int
    over: float
    under: float
    median: float

    @property
    def bound(self) -> float:
        """Greatest permitted magnitude, %; inf if only the unsafe side is limited."""
        return BOUNDS[self.phase] if self.measure in CHECKED else np.inf

    @property
    def passed(self) -> bool:
        """Return whether the limits are met; always true for measures without limits."""
        return self.measure not in CHECKED or (self.under <= self.bound and self.over <= UNSAFE)


def misjudged(run: MeasuredRun, quantity: str, error: float) -> tuple[Machine, float]:
    """Return the machine and payload, kg, of a monitor with an error of one quantity.

    Args:
        run: measured run with the true machine and payload.
        quantity: one of `QUANTITIES`.
        error: relative excess of the monitor's value over the true value.
    """
    machine, factor = run.machine, 1.0 + error
    if quantity == 'stiffness':
        wheels = (replace(w, stiffness=factor * w.stiffness, damping=factor * w.damping) for w in machine.wheels)
        return replace(machine, wheels=tuple(wheels)), run.payload
    if quantity == 'mass':
        links = (replace(link, mass=factor * link.mass, inertia=factor * link.inertia) for link in machine.links)
        return replace(machine, links=tuple(links)), run.payload
    if quantity == 'centre of mass':
        ahead = error * StabilityMonitor(machine).ground.radius * np.array([1.0, 0.0, 0.0])
        base = machine.base.link
        links = (replace(link, com=link.com + ahead) if link.name == base else link for link in machine.links)
        return replace(machine, links=tuple(links)), run.payload
    if quantity == 'payload':
        return machine, factor * run.payload
    raise ValueError(f'expected one of {", ".join(QUANTITIES)}, found {quantity!r}')


def replay(
    run: MeasuredRun,
    use_imu: bool = True,
    use_velocities: bool = True,
    noise: SensorNoise | None = None,
    observer: ObserverSettings | None = None,
    slope: tuple[float, float] | None = None,
    machine: Machine | None = None,
    payload: float | None = None,
) -> tuple[Array, dict[str, Array]]:
    """Return the margins of a monitor that receives a run's measurements in order, after each of them.

    Args:
        run: the measurements.
        use_imu: False: the monitor receives no IMU.
        use_velocities: False: it receives joint positions only.
        noise: noise model of the monitor.
        observer: other settings of the monitor.
        slope: slope parameter of the monitor, rad.
        machine: machine of the monitor, by default the true one.
        payload: payload of the monitor, kg, by default the true one.

    Returns:
        Times (k,) of the reports, s, and margins (k,) by measure.
    """
    monitor = StabilityMonitor(machine or run.machine, MEASURES, noise, observer=observer, slope=slope)
    monitor.payload = run.payload if payload is None else payload
    times: list[float] = []
    values: list[list[float]] = []
    for k, time in enumerate(run.time.tolist()):
        if use_imu:
            monitor.imu(time, run.angular_velocity[k], run.specific_force[k], run.orientation[k])
        monitor.joints(time, run.positions[k], run.velocities[k] if use_velocities else None)
        if monitor.settled:
            margins = monitor.balance().margins
            times.append(time)
            values.append([margins[name].value for name in MEASURES])
    table = np.array(values).reshape(-1, len(MEASURES))
    return np.array(times), {name: table[:, k] for k, name in enumerate(MEASURES)}


def deviations(run: MeasuredRun, times: Array, margins: dict[str, Array]) -> list[Deviation]:
    """Return the deviations of margins (k,) at times (k,) from the truth, by phase."""
    scale = full_scale(run.machine)
    indices = np.searchsorted(run.time, times - 1e-9)
    result = []
    for name, values in margins.items():
        errors = 100.0 * (values - run.truth[name][indices]) / scale[name]
        for index, phase in enumerate(PHASES):
            phase_errors = errors[run.phase[indices] == index]
            if len(phase_errors):
                over, under = max(0.0, float(phase_errors.max())), max(0.0, float(-phase_errors.min()))
                result.append(
                    Deviation(name, phase, len(phase_errors), over, under, float(np.median(np.abs(phase_errors))))
                )
    return result
