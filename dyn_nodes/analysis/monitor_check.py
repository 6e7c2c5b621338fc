"""How near a stability monitor comes to the truth on a measured run."""

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
"""Greatest magnitude of an error in a phase, %. In an impact the truth jumps by twice the full scale in moments."""
UNSAFE = 5.0
"""Greatest part of the full scale, %, by which a margin may be given as more than it is, in every phase."""
CHECKED = ('force_angle', 'load_share')
QUANTITIES = {
    'stiffness': 'of every suspension, damping with it',
    'mass': 'of every link, inertia with it',
    'centre of mass': "of the base link, ahead; % of the support polygon's inradius",
    'payload': 'its mass',
}
"""What a monitor may know with an error, and what the error is a part of."""


@dataclass(frozen=True)
class Deviation:
    """Errors of one measure in one phase, in % of its full scale.

    Attributes:
        measure, phase: names.
        count: of instants.
        over: greatest error on the unsafe side.  under: on the safe side.  median: of the magnitudes.
    """

    measure: str
    phase: str
    count: int
    over: float
    under: float
    median: float

    @property
    def bound(self) -> float:
        """Greatest magnitude allowed, %; inf where nothing is promised but the unsafe side."""
        return BOUNDS[self.phase] if self.measure in CHECKED else np.inf

    @property
    def passed(self) -> bool:
        """Return whether the promise is kept; for measures that are not checked it always is."""
        return self.measure not in CHECKED or (self.under <= self.bound and self.over <= UNSAFE)


def misjudged(run: MeasuredRun, quantity: str, error: float) -> tuple[Machine, float]:
    """Return what a monitor believes in that knows a quantity with an error: machine and payload, kg.

    Args:
        run: its machine and payload are the true ones.
        quantity: of `QUANTITIES`.
        error: part of the true value by which what is believed is larger.
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
    """Give a run's measurements to a monitor in the order of their times; ask it after each of them.

    Args:
        run: the measurements.
        use_imu: false: the monitor gets no IMU.
        use_velocities: false: it gets joint positions alone.
        noise: that it believes in.
        observer: its other settings.
        slope: that it is given.
        machine: that it believes in; the true one by default.
        payload: that it believes in, kg; the true one by default.

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
    """Compare margins (k,) at times (k,) with the truth, phase by phase."""
    scale = full_scale(run.machine)
    places = np.searchsorted(run.time, times - 1e-9)
    result = []
    for name, values in margins.items():
        errors = 100.0 * (values - run.truth[name][places]) / scale[name]
        for index, phase in enumerate(PHASES):
            own = errors[run.phase[places] == index]
            if len(own):
                over, under = max(0.0, float(own.max())), max(0.0, float(-own.min()))
                result.append(Deviation(name, phase, len(own), over, under, float(np.median(np.abs(own)))))
    return result
