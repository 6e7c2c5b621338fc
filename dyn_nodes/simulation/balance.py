"""From a plant's outputs to ground reactions and stability margins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.simulation.system import System
from dyn_nodes.stability import MEASURES, Margin, Support, margins, support_order

Array = NDArray[np.float64]
DEFAULT_MEASURES = ('static', 'zmp', 'force_angle', 'extended_energy', 'load_share', 'net_moment')


@dataclass(frozen=True, eq=False)
class Balance:
    """How a machine stands at one instant, world frame.

    Attributes:
        wheels: names, in the machine's order.
        points: (w, 3) ground points below the wheels, m.
        forces: (w, 3) ground on wheel in the contact frame: longitudinal, lateral, normal, N.
        polygon: indices of `points`, counter-clockwise.
        center_of_mass: (3,) m.  zmp: (2,) on the ground, m, or NaN where nothing presses on the ground.
        margins: by measure.
        edge_names: of the polygon.
    """

    wheels: tuple[str, ...]
    points: Array
    forces: Array
    polygon: NDArray[np.intp]
    center_of_mass: Array
    zmp: Array
    margins: dict[str, Margin]
    edge_names: tuple[str, ...]

    @property
    def total_normal(self) -> float:
        """Sum of the normal forces, N."""
        return float(self.forces[:, 2].sum())

    def critical_edge(self, measure: str) -> str:
        """Name of the edge (or wheel) with the least margin."""
        margin = self.margins[measure]
        names = self.wheels if len(margin.edges) != len(self.edge_names) or measure == 'load_share' else self.edge_names
        return names[int(np.argmin(margin.edges))]


class BalanceObserver:
    """Reads a system's outputs by place, once looked up."""

    def __init__(self, system: System, measures: tuple[str, ...] = DEFAULT_MEASURES) -> None:
        for name in measures:
            if name not in MEASURES:
                raise KeyError(f'unknown stability measure {name!r}; known: {", ".join(MEASURES)}')
        self.system, self.measures = system, measures
        self.wheels = tuple(wheel.name for wheel in system.machine.wheels)

        def places(*names: str) -> Array:
            return np.array([system.index('output', name) for name in names], dtype=np.intp)

        self._points = [places(*(f'{w}/point_{a}' for a in 'xyz')) for w in self.wheels]
        components = ('friction_longitudinal', 'friction_lateral', 'normal_force')
        self._forces = [places(*(f'{w}/{c}' for c in components)) for w in self.wheels]
        self._com, self._force, self._moment = (
            places(*(f'{name}_{a}' for a in 'xyz')) for name in ('center_of_mass', 'load_force', 'load_moment')
        )
        self._mass, self._yaw = int(places('mass')[0]), int(places('yaw')[0])

    def observe(self, y: Array, gravity: Array) -> Balance:
        """Return the balance of the outputs `y` under the gravity vector (3,) of the parameters."""
        points = np.array([y[place] for place in self._points])
        forces = np.array([y[place] for place in self._forces])
        # the ground is the world's x-y plane; "up" for the measures is against gravity
        size = float(np.linalg.norm(gravity))
        up = -np.asarray(gravity) / size
        order = support_order(points, up)
        travel = np.array([np.cos(y[self._yaw]), np.sin(y[self._yaw]), 0.0])
        support = Support(
            feet=points[order],
            com=y[self._com],
            force=y[self._force],
            moment=y[self._moment],
            mass=float(y[self._mass]),
            up=up,
            normal_loads=forces[:, 2],
            wheels=points,
            travel=travel,
            gravity=size,
        )
        return Balance(
            self.wheels,
            points,
            forces,
            order,
            y[self._com],
            zero_moment_point(points, forces[:, 2]),
            margins(support, self.measures),
            support.edge_names,
        )


def zero_moment_point(points: Array, normal: Array) -> Array:
    """Return the centre of pressure (2,) of normal forces (w,) at ground points (w, 3), m; NaN without load.

    On a plane it is the zero moment point (abo-shanab-2003, section 2.9): no moment of the load about it lies in the
    plane.
    """
    total = float(normal.sum())
    if total <= 0.0:
        return np.full(2, np.nan)
    return normal @ points[:, :2] / total
