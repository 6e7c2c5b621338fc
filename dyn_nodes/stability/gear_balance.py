"""Balance of a machine whose joints give way: margins by tipping axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.measures import DEFAULT_MEASURES, Measure
from dyn_nodes.model.rotations import length
from dyn_nodes.stability.balance import Balance, BalanceObserver, contact_axes, zero_moment_point
from dyn_nodes.stability.equilibrium.axes import TippingAxes, bodies_at, mass_rates, tipping_axes
from dyn_nodes.stability.equilibrium.gear import RunningGear, running_gear
from dyn_nodes.stability.equilibrium.standing import carried, observed_joints, position_output
from dyn_nodes.stability.gear_margins import AxisMoments, axis_margins, axis_polygon, name_axes
from dyn_nodes.stability.support import Support

MOVED = 2e-4
"""Change of attitude or of a joint that gives way above which the axes are recomputed, rad or m."""
POSTURE = 1e-6
"""Change of a driven joint above which the running gear is rebuilt, rad or m."""


class Kept(NamedTuple):
    """Axes, and the position (n,), gravity (3,) and supports (c,) for which they were computed."""

    axes: TippingAxes
    q: Array
    gravity: Array
    carrying: NDArray[np.bool_]


class GearBalanceObserver(BalanceObserver):
    """Computes the balance of a machine whose joints give way, by `tipping_axes` in its position.

    Arguments and errors: see `BalanceObserver`.
    """

    def __init__(self, system: Any, measures: tuple[str, ...] = DEFAULT_MEASURES) -> None:
        super().__init__(system, measures)
        self.machine = system.machine
        self._joints = observed_joints(self.machine)
        self._positions = [system.index('output', position_output(name)) for name in self._joints]
        self._attitude = [system.index('output', name) for name in ('pitch', 'roll')]
        self._links_mass = self.machine.total_mass
        self._running: RunningGear | None = None
        self._kept: Kept | None = None
        self._loads = [system.index('output', f'{support.name}/normal_force') for support in self.machine.supports]

    def _check(self, wanted: Measure) -> None:
        """Accept every measure; measures that need more than axes are not valid."""

    def observe(self, y: Array, gravity: Array) -> Balance:
        """Return the balance of the outputs `y` under the gravity vector (3,) of the parameters."""
        points, forces, feet = y[self._points], y[self._forces], y[self._feet_indices]
        size, yaw = length(gravity), float(y[self._yaw])
        turn = np.array([[np.cos(yaw), -np.sin(yaw), 0.0], [np.sin(yaw), np.cos(yaw), 0.0], [0.0, 0.0, 1.0]])
        pull = np.asarray(gravity) @ turn
        running = self._gear(dict(zip(self._joints, y[self._positions])))
        loose = [
            float(y[self._positions[self._joints.index(name)]]) for name in running.joints[running.gear.base + 1 :]
        ]
        attitude = [float(y[index]) for index in self._attitude][: running.gear.base]
        payload = float(y[self._mass]) - self._links_mass
        q = np.array([0.0, *attitude, *loose])
        q[0] = float(y[self._com][2] - bodies_at(running, q, payload).center[0, 2])
        axes = self._axes_at(running, q, payload, pull)
        bodies = bodies_at(running, q, payload)
        weight = -(axes.motions @ mass_rates(running, bodies)) @ pull
        total = np.where(axes.leaves_stop, weight, axes.lifts @ y[self._loads])
        shift = y[self._com] - turn @ bodies.center[0]
        placed = replace(axes, lines=axes.lines @ turn.T + shift)
        support = Support(
            feet=np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
            com=y[self._com],
            force=y[self._force],
            moment=y[self._moment],
            mass=float(y[self._mass]),
            up=-np.asarray(gravity) / size,
            normal_loads=forces[:, 2],
            edge_names=('', '', ''),
            wheels=points,
            travel=turn[:, 0],
            gravity=size,
        )
        moments = AxisMoments(weight, total)
        corners = axis_polygon(placed, weight / (support.mass * size), support)
        corners = corners if len(corners) > 2 else feet
        return Balance(
            self.wheels,
            points,
            forces,
            contact_axes(*y[self._axes].transpose(1, 0, 2)),
            np.arange(len(feet)),
            y[self._com],
            zero_moment_point(points, forces[:, 2]),
            axis_margins(support, placed, moments, self.measures, self._posture.wheels),
            name_axes(placed, turn[:, 0]),
            corners,
            placed.lines,
            self.foot_names,
            feet,
            self._moments_of(y),
        )

    def forget(self) -> None:
        """Discard the values from earlier positions."""
        self._running = self._kept = None

    def _gear(self, positions: Mapping[str, float]) -> RunningGear:
        """Return the running gear at positions of all joints."""
        running = self._running
        if running is not None:
            loose = running.joints
            moved = (abs(running.positions[name] - at) for name, at in positions.items() if name not in loose)
            if max(moved, default=0.0) < POSTURE:
                return running
        self._running = running_gear(self.machine, positions)
        return self._running

    def _axes_at(self, running: RunningGear, q: Array, payload: float, gravity: Array) -> TippingAxes:
        kept = self._kept
        carrying = carried(running)
        if (
            kept is None
            or np.abs(kept.q[1:] - q[1:]).max() > MOVED
            or not np.array_equal(kept.carrying, carrying)
            or np.abs(kept.gravity - gravity).max() > MOVED * length(gravity)
        ):
            axes = tipping_axes(running, q, payload, gravity, carrying)
            self._kept = kept = Kept(axes, q, gravity, carrying)
        return kept.axes
