"""The four levels of computation for an omnidirectional vehicle along one path, with summary values.

`dyn-nodes omni` prints them; `omni_output` draws and writes them (saha-1991, 4.5, program OMNI).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from dyn_nodes.analysis.omni import SimulatedMotion, WheelMotion, drive_torques, simulate, wheel_angles, wheel_motion
from dyn_nodes.analysis.omni_config import OmniMachine
from dyn_nodes.common.arrays import Array
from dyn_nodes.control.platform_path import LinesAndCurve, Path, PlanarMotion, circle_path, straight_path

LEVELS = ('rates', 'angles', 'torques', 'simulate')
NAMED_PATHS: dict[str, tuple[str, Callable[[], Path]]] = {
    'path_1': ('5 m along the body axis x in 60 s, from rest to rest', lambda: straight_path(0.0)),
    'path_2': ('5 m along the body axis y in 60 s, from rest to rest', lambda: straight_path(0.5 * np.pi)),
    'path_3': ('two lines joined by a curve, turning by a quarter on the way, 60 s', LinesAndCurve),
    'circle': ('one turn on a circle of 5 m, heading along it, 60 s', circle_path),
}
"""Paths of saha-1991 (4.6.1); its figures change the labels of 1 and 2 for the vehicle with four wheels (spec F39)."""
NAMED_DURATION = 60.0
TOLERANCE = 1e-9
LONGEST_STEP = 0.3
"""Longest step of the simulation, s."""


@dataclass(frozen=True)
class OmniRun:
    """A vehicle along a path, up to a level; values of higher levels are None.

    Attributes:
        level: one of LEVELS.
        path: name of the path.
        motion: planned motion at n times.
        wheels: rates and accelerations (n, wheels).
        hub_angles, roller_angles: (n, wheels), rad.
        torques: (n, driven), N m.
        energy: (n,) kinetic energy, J.
        power: (n, driven) power of the drives, W.
        simulated: simulated motion under the torques.
    """

    machine: OmniMachine
    level: str
    path: str
    motion: PlanarMotion
    wheels: WheelMotion
    hub_angles: Array | None = None
    roller_angles: Array | None = None
    torques: Array | None = None
    energy: Array | None = None
    power: Array | None = None
    simulated: SimulatedMotion | None = None

    @property
    def effort(self) -> float:
        """Integral of the squared torques over the time, N2 m2 s; NaN below level 3."""
        if self.torques is None:
            return float('nan')
        squares = np.sum(self.torques**2, axis=1)
        return float(np.trapezoid(squares, self.motion.times))

    @property
    def errors(self) -> Array | None:
        """Simulated pose less planned pose (n, 3), [yaw, x, y]."""
        return None if self.simulated is None else self.simulated.pose - self.motion.pose


def run_levels(
    machine: OmniMachine,
    name: str,
    path: Path,
    times: ArrayLike,
    level: str = 'simulate',
    torques: Callable[[float], ArrayLike] | None = None,
) -> OmniRun:
    """Return the results of a vehicle along a path.

    Args:
        machine: the vehicle.
        name: name of the path.
        path: planned path.
        times: (n,) increasing, s.
        level: last level: wheel rates, wheel angles, torques of the drives, or the simulation under these torques.
        torques: function of time for the torques of the drives, N m, instead of the torques for the path.

    Raises:
        NoTorquesError: the limits are too low for the path.
        ValueError: an unknown level.
    """
    if level not in LEVELS:
        raise ValueError(f'expected a level among {", ".join(LEVELS)}, found {level!r}')
    reach, vehicle, motion = LEVELS.index(level), machine.vehicle, path(times)
    wheels = wheel_motion(vehicle, motion)
    if reach == 0:
        return OmniRun(machine, level, name, motion, wheels)
    hubs, rollers = wheel_angles(vehicle, motion)
    if reach == 1:
        return OmniRun(machine, level, name, motion, wheels, hubs, rollers)
    share = machine.distribution()
    applied = np.array([torques(t) for t in motion.times]) if torques else drive_torques(vehicle, motion, share)
    energy = 0.5 * np.einsum('ni,ij,nj->n', motion.twist, vehicle.inertia, motion.twist)
    power = applied * wheels.hub_rates[:, vehicle.driven]
    simulated = None
    if reach == 3:
        feed = torques or (lambda t: drive_torques(vehicle, path([t]), share)[0])
        initial = motion.pose[0], motion.twist[0]
        simulated = simulate(vehicle, feed, motion.times, *initial, tolerance=TOLERANCE, max_step=LONGEST_STEP)
    return OmniRun(machine, level, name, motion, wheels, hubs, rollers, applied, energy, power, simulated)


def torque_history(times: ArrayLike, torques: ArrayLike) -> Callable[[float], Array]:
    """Return the torques of a table (n,), (n, drives) at any time, by a cubic spline; constant beyond the ends."""
    t = np.asarray(times, dtype=float)
    spline = CubicSpline(t, np.asarray(torques, dtype=float))
    return lambda now: np.asarray(spline(min(max(now, t[0]), t[-1])))
