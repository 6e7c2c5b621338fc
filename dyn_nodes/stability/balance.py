"""Ground reactions and stability margins from the outputs of a plant.

A machine on three wheels or more has a support polygon. A planar machine has two edges: lines across its plane through
the ground points of its rearmost and its foremost wheel. A contact such as a crawler track counts as a wheel at its
centre of pressure; it contributes its first and its last ground point as corners of the polygon.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.elements.wheel import axis_names
from dyn_nodes.measures import DEFAULT_MEASURES, MEASURES, Measure, measure
from dyn_nodes.model.posture import initial_positions
from dyn_nodes.model.rotations import length
from dyn_nodes.stability import Margin, PolygonError, Support, margins, support_order
from dyn_nodes.stability.batch import BatchMargin, all_measures
from dyn_nodes.stability.equilibrium.standing import moving_joints, position_output, standing_supports
from dyn_nodes.stability.grip import check_points, friction_use, grip_of

ENDS = ('front', 'rear')
NEXT, LAST = [1, 2, 0], [2, 0, 1]
"""Component indices of the factors of a cross product."""
DRAWN_HALF_WIDTH = 1.0
"""Half the drawn width of the edges of a planar machine, which are lines, m."""
PLANAR_EDGES = [3, 1]
"""Indices of rear and front among the edges of the rectangle: right side, front, left side, rear."""
WIDE = 10.0
"""Half the width of the polygon for the measures of a planar machine, over the distance of its edges."""


@dataclass(frozen=True, eq=False)
class Balance:
    """Ground reactions and margins of a machine at one instant, world frame.

    Attributes:
        wheels: names of wheels and feet, then of other contacts, in the machine's order.
        points: (w, 3) ground points below the wheels, centres of pressure of other contacts, m.
        forces: (w, 3) ground on wheel in the contact frame: longitudinal, lateral, normal, N.
        axes: (w, 3, 3) contact frames: columns longitudinal (rolling direction of a wheel that rolls, else the heading
            of the base), lateral, normal of the ground.
        polygon: indices of `feet`, counter-clockwise; for a planar machine the rearmost and the foremost foot.
        center_of_mass: (3,) m.  zmp: (2,) on the ground, m, or NaN without load on the ground.
        margins: by measure.
        edge_names: in the order of the measures' values.
        outline: (n, 3) drawn corners, m, of a planar machine and of a machine whose joints give way; None: the
            corners of the polygon.
        lines: (e, 2, 3) ends of the edges in `edge_names`, m; None: the sides of the polygon.
        foot_names, feet: names and positions (f, 3), m, of the points that may be corners; None: the wheels.
        moments: (w, 3) ground on wheel about its point in the contact frame, N m; None: zero.
        friction: (w,) static coefficients, if a measure needs them.
    """

    wheels: tuple[str, ...]
    points: Array
    forces: Array
    axes: Array
    polygon: NDArray[np.intp]
    center_of_mass: Array
    zmp: Array
    margins: dict[str, Margin]
    edge_names: tuple[str, ...]
    outline: Array | None = None
    lines: Array | None = None
    foot_names: tuple[str, ...] | None = None
    feet: Array | None = None
    moments: Array | None = None
    friction: Array | None = None

    @property
    def friction_use(self) -> Array:
        """Friction forces (w,) over the greatest static friction; NaN without coefficients."""
        if self.friction is None:
            return np.full(len(self.wheels), np.nan)
        return friction_use(self.forces, self.friction)

    @property
    def corners(self) -> Array:
        """Corners (n, 3) of the support polygon, counter-clockwise, m; for a planar machine the drawn rectangle."""
        if self.outline is not None:
            return self.outline
        return (self.points if self.feet is None else self.feet)[self.polygon]

    @property
    def edge_lines(self) -> Array:
        """Ends (e, 2, 3) of the edges in `edge_names`, m."""
        return _sides(self.corners) if self.lines is None else self.lines

    @property
    def total_normal(self) -> float:
        """Sum of the normal forces, N."""
        return float(self.forces[:, 2].sum())

    def names(self, name: str) -> tuple[str, ...]:
        """Return the names of the values in a measure's margin."""
        names = self.wheels if self.foot_names is None else self.foot_names
        feet = (names[k] for k in self.polygon)
        return value_names(name, self.edge_names, self.wheels, feet)

    def critical_edge(self, name: str) -> str:
        """Return the name of the edge (wheel, foot, end) with a measure's least value."""
        edges = self.margins[name].edges
        return self.names(name)[int(np.argmin(np.where(np.isnan(edges), np.inf, edges)))]


def _sides(corners: Array) -> Array:
    """Return the sides (n, 2, 3) of a polygon (n, 3)."""
    return np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)


def value_names(name: str, edges: Iterable[str], wheels: Iterable[str], feet: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the values of a measure: edges, wheels, both ends, or lost feet in the polygon's order."""
    per = MEASURES[name].per
    if per == 'edge':
        return tuple(edges)
    kinds: dict[str, Iterable[str]] = {'wheel': wheels, 'end': ENDS}
    return tuple(kinds[per]) if per in kinds else tuple(f'loss of {foot}' for foot in feet)


class Posture:
    """Selects the wheels and corners of a machine that are on or near the ground in the posture of its legs.

    Args:
        system: argument of `BalanceObserver`.
        wheels: names of wheels and other contacts.
        feet: names of the supports that may be corners.

    Attributes:
        joints: names of the joints that move supports, whose positions are among the outputs.
        wheels: (w,) True for wheels that count.
    """

    def __init__(self, system: Any, wheels: Sequence[str], feet: Sequence[str]) -> None:
        machine = getattr(system, 'machine', None)
        self.joints: tuple[str, ...] = ()
        self._corners, self.wheels = np.arange(len(feet)), np.ones(len(wheels), dtype=bool)
        if machine is None or not machine.supports:
            return
        self._machine, self._wheel_names, self._feet = machine, wheels, feet
        self.joints = moving_joints(machine)
        self._indices = [system.index('output', position_output(name)) for name in self.joints]
        self._at: tuple[float, ...] | None = None
        self._count(initial_positions(machine))

    def corners(self, y: Array) -> NDArray[np.intp]:
        """Return the indices of the corners that count at outputs y (n,)."""
        if self.joints:
            at = tuple(np.round(y[self._indices], 3))
            if at != self._at:
                self._at = at
                self._count(dict(zip(self.joints, at)))
        return self._corners

    def _count(self, positions: Mapping[str, float]) -> None:
        standing = standing_supports(self._machine, positions)
        raised = {support.name for support, carries in zip(self._machine.supports, standing) if not carries}
        on_ground = {support.contact for support, carries in zip(self._machine.supports, standing) if carries}
        hanging = {support.contact for support in self._machine.supports} - on_ground
        self._corners = np.array([k for k, name in enumerate(self._feet) if name not in raised], dtype=np.intp)
        self.wheels = np.array([name not in hanging for name in self._wheel_names], dtype=bool)


class BalanceObserver:
    """Computes the balance of a machine from the outputs of its system.

    Args:
        system: a System, or a hybrid model with the output names of a System.
        measures: names of the stability measures.

    Raises:
        KeyError: a measure that does not exist, or needs more wheels.
    """

    def __init__(self, system: Any, measures: tuple[str, ...] = DEFAULT_MEASURES) -> None:
        machine = system.stance
        self.wheels = tuple(contact.name for contact in (*machine.wheels, *machine.contacts))
        self.foot_names = tuple(support.name for support in machine.supports if support.corner)
        for name in measures:
            self._check(measure(name))
            check_points(machine, measure(name))
        self._grip = grip_of(machine) if any(MEASURES[name].of_friction for name in measures) else None
        self.system, self.measures = system, measures

        def indices(*names: str) -> NDArray[np.intp]:
            return np.array([system.index('output', name) for name in names], dtype=np.intp)

        def rows(owners: Iterable[str], *parts: str) -> NDArray[np.intp]:
            names = [f'{owner}/{part}' for owner in owners for part in parts]
            return indices(*names).reshape(-1, len(parts))

        point = ('point_x', 'point_y', 'point_z')
        self._points, self._feet_indices = rows(self.wheels, *point), rows(self.foot_names, *point)
        twists = (f'moment_{part}' for part in ('longitudinal', 'lateral', 'normal'))
        self._moments = rows((contact.name for contact in machine.contacts), *twists)
        self._forces = rows(self.wheels, 'friction_longitudinal', 'friction_lateral', 'normal_force')
        self._axes = indices(*(name for wheel in self.wheels for name in axis_names(wheel))).reshape(-1, 2, 3)
        self._com, self._force, self._moment = (
            indices(*(f'{name}_{a}' for a in 'xyz')) for name in ('center_of_mass', 'load_force', 'load_moment')
        )
        self._mass, self._yaw = int(indices('mass')[0]), int(indices('yaw')[0])
        self._posture = Posture(system, self.wheels, self.foot_names)

    def observe(self, y: Array, gravity: Array) -> Balance:
        """Return the balance of the outputs `y` under the gravity vector (3,) of the parameters."""
        points, forces, feet = y[self._points], y[self._forces], y[self._feet_indices]
        # the ground is the world's x-y plane; "up" for the measures is against gravity
        size = length(gravity)
        up = -np.asarray(gravity) / size
        order = self._order(feet, up, self._posture.corners(y))
        axes, grip = contact_axes(*y[self._axes].transpose(1, 0, 2)), self._grip
        support = Support(
            feet=self._feet(feet[order]),
            com=y[self._com],
            force=y[self._force],
            moment=y[self._moment],
            mass=float(y[self._mass]),
            up=up,
            normal_loads=forces[:, 2],
            wheels=points,
            travel=np.array([np.cos(y[self._yaw]), np.sin(y[self._yaw]), 0.0]),
            gravity=size,
            friction=None if grip is None else grip.friction,
            rolling=None if grip is None else grip.rolling(axes),
            traction=None if grip is None else grip.traction,
        )
        return Balance(
            self.wheels,
            points,
            forces,
            axes,
            order,
            y[self._com],
            zero_moment_point(points, forces[:, 2]),
            self._margins(support, self._posture.wheels),
            self._edge_names(support),
            *self._outline(feet[order]),
            self.foot_names,
            feet,
            self._moments_of(y),
            support.friction,
        )

    def forget(self) -> None:
        """Discard the values from earlier positions; here nothing."""

    def course(self, outputs: Array, gravity: Array) -> dict[str, Array]:
        """Return the margins (t,) by measure of outputs (t, n), equal to the margins of `observe` at every instant.

        If every foot is a corner all the time, one call evaluates all instants.
        """
        up = -np.asarray(gravity) / length(gravity)
        feet = outputs[:, self._feet_indices]
        order = self._order(feet[0], up, self._posture.corners(outputs[0]))
        if (
            self._grip is None
            and len(order) == feet.shape[1]
            and not self._posture.joints
            and type(self) is BalanceObserver
        ):
            with suppress(PolygonError):
                batch = self._at_once(outputs, feet[:, order], up, length(gravity))
                return {name: margin.value for name, margin in batch.items()}
        margins = [self.observe(y, gravity).margins for y in outputs]
        return {name: np.array([by_name[name].value for by_name in margins]) for name in self.measures}

    def _at_once(self, outputs: Array, feet: Array, up: Array, size: float) -> dict[str, BatchMargin]:
        yaw = outputs[:, self._yaw]
        return all_measures(
            feet,
            outputs[:, self._com],
            outputs[:, self._force],
            outputs[:, self._moment],
            mass=outputs[:, self._mass],
            up=up,
            travel=np.column_stack([np.cos(yaw), np.sin(yaw), np.zeros(len(yaw))]),
            wheels=outputs[:, self._points],
            normal_loads=outputs[:, self._forces][:, :, 2],
            gravity=size,
            names=self.measures,
            threads=1,
        )

    def _moments_of(self, y: Array) -> Array | None:
        if not len(self._moments):
            return None
        wheels = np.zeros((len(self.wheels) - len(self._moments), 3))
        return np.vstack([wheels, y[self._moments]])

    def _check(self, wanted: Measure) -> None:
        if wanted.least_feet > len(self.foot_names):
            raise KeyError(
                f'stability measure {wanted.name!r} needs {wanted.least_feet} wheels, found {len(self.foot_names)}'
            )

    def _order(self, points: Array, up: Array, corners: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the corners of the polygon of the points (f, 3) that count."""
        return corners[support_order(points[corners], up)]

    def _feet(self, ordered: Array) -> Array:
        return ordered

    def _edge_names(self, support: Support) -> tuple[str, ...]:
        return support.edge_names

    def _outline(self, ordered: Array) -> tuple[Array | None, Array | None]:
        """Return outline and lines of a balance."""
        return None, None

    def _margins(self, support: Support, counted: NDArray[np.bool_]) -> dict[str, Margin]:
        return margins(support, self.measures, counted)


class PlanarBalanceObserver(BalanceObserver):
    """Computes the balance of a planar machine, which has a rear and a front edge across the plane.

    The measures are evaluated on a polygon much wider than long, whose sides have no effect: values of the rear and the
    front edge do not depend on the width, and the radius r_o of the ZMP degree is half the distance of the edges.
    """

    def _check(self, wanted: Measure) -> None:
        if wanted.per == 'foot':
            raise KeyError(
                f'stability measure {wanted.name!r} needs {wanted.least_feet} feet, a planar machine has two edges'
            )

    def _order(self, points: Array, up: Array, corners: NDArray[np.intp]) -> NDArray[np.intp]:
        order = corners[np.argsort(points[corners, 0])]
        return order[[0, -1]]

    def _feet(self, ordered: Array) -> Array:
        return _widened(ordered, WIDE * float(ordered[1, 0] - ordered[0, 0]))

    def _edge_names(self, support: Support) -> tuple[str, ...]:
        return ('rear', 'front')

    def _outline(self, ordered: Array) -> tuple[Array | None, Array | None]:
        corners = _widened(ordered, DRAWN_HALF_WIDTH)
        return corners, _sides(corners)[PLANAR_EDGES]

    def _margins(self, support: Support, counted: NDArray[np.bool_]) -> dict[str, Margin]:
        result = margins(support, self.measures, counted)
        for name, margin in result.items():
            if MEASURES[name].per == 'edge':
                edges = margin.edges[PLANAR_EDGES]
                result[name] = Margin(float(edges.min()), edges, margin.valid, margin.unit)
        return result


def _widened(ends: Array, half_width: float) -> Array:
    """Return the rectangle (4, 3) about the line from the rear to the front end (2, 3), counter-clockwise."""
    rear, front = ends
    across = np.array([0.0, half_width, 0.0])
    return np.array([rear - across, front - across, front + across, rear + across])


def contact_axes(longitudinal: Array, normal: Array) -> Array:
    """Return the axes (..., 3, 3) of contacts: columns longitudinal, lateral and normal, unit vectors (..., 3)."""
    axes = np.empty((*longitudinal.shape, 3))
    axes[..., 0], axes[..., 2] = longitudinal, normal
    axes[..., 1] = normal[..., NEXT] * longitudinal[..., LAST] - normal[..., LAST] * longitudinal[..., NEXT]
    return axes


def zero_moment_point(points: Array, normal: Array) -> Array:
    """Return the centre of pressure (2,) of normal forces (w,) at ground points (w, 3), m; NaN without load.

    On a plane it is the zero moment point (abo-shanab-2003, section 2.9): no moment of the load about it lies in the
    plane.
    """
    total = float(normal.sum())
    if total <= 0.0:
        return np.full(2, np.nan)
    return normal @ points[:, :2] / total
