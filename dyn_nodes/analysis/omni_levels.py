"""The four levels of work with an omnidirectional vehicle along one path, and what is worth telling of them.

`dyn-nodes omni` shows it; `omni_output` draws and writes it (saha-1991, 4.5, program OMNI).
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
"""s, of the simulation: the greatest stretch of a path that may be jumped over."""


@dataclass(frozen=True)
class OmniRun:
    """A vehicle along a path, up to a level; what lies beyond it is None.

    Attributes:
        level: one of LEVELS.
        path: name.
        motion: planned, at n times.
        wheels: rates and accelerations (n, wheels).
        hub_angles, roller_angles: (n, wheels), rad.
        torques: (n, driven), N m.
        energy: (n,) kinetic, J.
        power: (n, driven) of the drives, W.
        simulated: what the torques make of the vehicle.
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
        """(n, 3) simulated pose less the planned one, [yaw, x, y]."""
        return None if self.simulated is None else self.simulated.pose - self.motion.pose


def run_levels(
    machine: OmniMachine,
    name: str,
    path: Path,
    times: ArrayLike,
    level: str = 'simulate',
    torques: Callable[[float], ArrayLike] | None = None,
) -> OmniRun:
    """Take a vehicle along a path.

    Args:
        machine: the vehicle.
        name: of the path.
        path: planned.
        times: (n,) rising, s.
        level: how far to go: wheel rates, wheel angles, torques of the drives, or also the way back by simulation.
        torques: of the drives at a time, N m, for the simulation in place of those that the path needs.

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
    given = np.array([torques(t) for t in motion.times]) if torques else drive_torques(vehicle, motion, share)
    energy = 0.5 * np.einsum('ni,ij,nj->n', motion.twist, vehicle.inertia, motion.twist)
    power = given * wheels.hub_rates[:, vehicle.driven]
    simulated = None
    if reach == 3:
        feed = torques or (lambda t: drive_torques(vehicle, path([t]), share)[0])
        begin = motion.pose[0], motion.twist[0]
        simulated = simulate(vehicle, feed, motion.times, *begin, tolerance=TOLERANCE, max_step=LONGEST_STEP)
    return OmniRun(machine, level, name, motion, wheels, hubs, rollers, given, energy, power, simulated)


def torque_history(times: ArrayLike, torques: ArrayLike) -> Callable[[float], Array]:
    """Return the torques of a table (n,), (n, drives) at any time, by a cubic spline; the ends hold beyond them."""
    t = np.asarray(times, dtype=float)
    spline = CubicSpline(t, np.asarray(torques, dtype=float))
    return lambda now: np.asarray(spline(min(max(now, t[0]), t[-1])))
