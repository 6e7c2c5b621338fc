"""Margins of postures and motions by measure and edge, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.library.carried import Conditions, not_at_rest, warn
from dyn_nodes.library.motion import Motion, at_rest, motion_of
from dyn_nodes.library.notice import shown
from dyn_nodes.library.optional import pandas, xarray
from dyn_nodes.library.vectors import known_name
from dyn_nodes.measures import MEASURES
from dyn_nodes.model.rotations import matrix_of_quaternion
from dyn_nodes.monitor.ground_observer import Footing, ground_axes
from dyn_nodes.monitor.load_model import Load
from dyn_nodes.monitor.stability_monitor import StabilityMonitor
from dyn_nodes.multibody.base_motion import base_acceleration
from dyn_nodes.simulation.assembly import gravity_vector
from dyn_nodes.stability import PolygonError
from dyn_nodes.stability.balance import Balance
from dyn_nodes.stability.equilibrium.gear import running_gear
from dyn_nodes.stability.equilibrium.standing import gives_way
from dyn_nodes.stability.equilibrium.tipping import settle

if TYPE_CHECKING:
    from dyn_nodes.library.loaded import Loaded

ROUNDS = 20
SETTLED = 1e-12
"""Change of the ground's plane in the base's axes below which the base stands, m per m and m."""
AT_REST = 0.02
"""How far a wheel may be beside its place at rest, over the greatest compression of a spring."""
DIMENSIONS = {'edge': 'edge', 'wheel': 'wheel', 'foot': 'lost_foot', 'end': 'end'}


@dataclass(frozen=True, eq=False)
class MarginValues:
    """The values of one stability measure.

    Attributes:
        name: of the measure.
        value: least over the edges, () or (t,); what a limit is compared with.
        edges: by name of the edge (wheel, lost foot, end), () or (t,) each.
        valid: () or (t,), False where the measure is not defined or does not hold.
        unit: of value and edges.
    """

    name: str
    value: Array
    edges: dict[str, Array]
    valid: NDArray[np.bool_]
    unit: str

    @property
    def critical(self) -> Any:
        """Name of the edge with the least value, or an array (t,) of names."""
        names, table = np.array(list(self.edges)), np.array(list(self.edges.values()))
        found = names[np.argmin(np.where(np.isnan(table), np.inf, table), axis=0)]
        return str(found) if np.ndim(found) == 0 else found

    def __getitem__(self, edge: str) -> Array:
        """Return the values at an edge. Raises KeyError with the nearest name."""
        return self.edges[known_name(self.name, 'edge', edge, tuple(self.edges))]


class Margins(Mapping[str, MarginValues]):
    """Margins by measure: `s['static'].value`, `s['static']['front']`, `s['static', 'front']`.

    Attributes:
        reactions: force of the ground on every wheel in its contact frame, longitudinal, lateral, normal, by name, N:
            (3,) or (t, 3).
        index: (t,) times, s, or numbers of the rows; None for one state.
        index_name: `time` or `row`.
        conditions: payload and slope for which they hold.
    """

    def __init__(
        self, balances: Sequence[Balance], index: Array | None, conditions: Conditions, index_name: str = 'row'
    ) -> None:
        self.index, self.index_name, self.conditions = index, index_name, conditions
        first, single = balances[0], index is None

        def column(values: Iterable[Any]) -> Array:
            found = np.array(list(values))
            return found[0] if single else found

        self.reactions = {wheel: column(own.forces[k] for own in balances) for k, wheel in enumerate(first.wheels)}
        self._values = {}
        for name in first.margins:
            rows = [dict(zip(own.names(name), own.margins[name].edges)) for own in balances]
            self._values[name] = MarginValues(
                name,
                column(own.margins[name].value for own in balances),
                {edge: column(row.get(edge, np.nan) for row in rows) for edge in rows[0]},
                column(own.margins[name].valid for own in balances).astype(bool),
                MEASURES[name].unit,
            )

    def __getitem__(self, key: str | tuple[str, str]) -> Any:
        """Return the values of a measure, or of a measure at an edge. Raises KeyError with the nearest name."""
        if isinstance(key, tuple):
            return self[key[0]][key[1]]
        return self._values[known_name('margins', 'measure', key, tuple(self._values))]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        if self.index is not None:
            return f'<margins of {len(self.index)} states: {", ".join(self)}; {self.conditions}>'
        shown = (f'{name} {MEASURES[name].display(float(own.value))} ({own.critical})' for name, own in self.items())
        return f'<margins: {", ".join(shown)}; {self.conditions}>'

    def to_pandas(self) -> Any:
        """Return a DataFrame: a row a state, columns (measure, edge) and (measure, `least`). Raises ImportError."""
        columns = {}
        for name, own in self.items():
            columns[name, 'least'] = np.atleast_1d(own.value)
            columns |= {(name, edge): np.atleast_1d(values) for edge, values in own.edges.items()}
        index = None if self.index is None else pandas().Index(self.index, name=self.index_name)
        frame = pandas().DataFrame(columns, index=index)
        frame.columns.names = ['measure', 'edge']
        return frame

    def to_xarray(self) -> Any:
        """Return a Dataset: a variable a measure over states and its edges, units as attributes. Raises ImportError."""
        library = xarray()
        whole_index = [] if self.index is None else [self.index_name]
        parts = {}
        for name, own in self.items():
            # names of edges are those of their measure: the two ends are no edges
            dimension = DIMENSIONS[MEASURES[name].per]
            parts[name] = library.DataArray(
                np.stack(list(own.edges.values()), axis=-1),
                dims=[*whole_index, dimension],
                coords={dimension: list(own.edges)},
                attrs={'units': own.unit, 'long_name': MEASURES[name].label},
            )
        coordinates = {} if self.index is None else {self.index_name: self.index}
        return library.Dataset(parts, coords=coordinates)


def margins_of(
    machine: Loaded,
    q: ArrayLike | None,
    v: ArrayLike | None,
    a: ArrayLike | None,
    measures: tuple[str, ...],
    conditions: Conditions,
    assumed: bool,
) -> Margins:
    """Return the margins of a motion; arguments and errors are those of `Machine.margins`.

    Where the conditions were assumed, a machine that is given at rest and does not rest under them gives a warning.
    """
    data = machine.data
    if data.base.attachment == 'fixed':
        raise ValueError(f'{machine.name}: margins: its base is fixed to the world, it cannot tip over')
    payload, slope, _ = conditions
    motion = motion_of(machine, q, v, a, payload=payload, slope=slope)
    springs = sum(spring.corner for spring in data.supports)
    corners = springs + len(data.rigid_wheels)
    for name in measures:
        if (least := MEASURES[name].least_feet) > corners and data.base.attachment != 'planar':
            raise ValueError(f'{machine.name}: margins: {name!r} needs {least} points to stand on, found {corners}')
    judged = assumed and not (motion.standing or motion.moves)
    try:
        on_springs = data.base.attachment == 'free' and springs >= 3 and not data.rigid_wheels and not data.loads
        if on_springs and not gives_way(data):
            balances, rests = _of_load(machine, motion, measures, payload, slope, judged)
        else:
            balances, rests = _at_rest(machine, motion, measures, payload, slope, judged)
    except KeyError as error:  # a measure that is not defined on so few points
        raise ValueError(f'{machine.name}: {error.args[0]}') from None
    if not rests:
        warn(not_at_rest(machine.name, 'q', conditions))
    return Margins(balances, None if motion.rows is None else np.arange(float(motion.rows)), conditions)


def _of_load(
    machine: Loaded, motion: Motion, measures: tuple[str, ...], payload: float, slope: tuple[float, float], judged: bool
) -> tuple[list[Balance], bool]:
    """Return the balances of motions of a machine on springs, from the load of each; False where it does not rest.

    `judged`: whether it has to rest.
    """
    with shown('margins'):
        standing = _Standing(machine, measures, payload, slope)
    found, rests = [], True
    for k, (q, v, a) in enumerate(zip(motion.q, motion.v, motion.a)):
        try:
            if motion.standing:
                found.append(standing.balance(q, v, a))
                continue
            balance, footing = standing.placed_balance(q, v, a)
            found.append(balance)
            rests = rests and (not judged or standing.bears(q, footing))
        except PolygonError as error:
            row = '' if motion.rows is None else f'row {k}: '
            raise ValueError(f'{machine.name}: margins: {row}{error}') from None
    return found, rests


class _Standing:
    """A machine on springs, whose load is known: how it stands on them."""

    def __init__(self, machine: Loaded, measures: tuple[str, ...], payload: float, slope: tuple[float, float]) -> None:
        self.monitor = StabilityMonitor(machine.data, measures)
        self.monitor.payload = payload
        self.gravity = np.array(gravity_vector(machine.data.gravity, slope))
        self.size = machine.data.gravity

    def balance(self, q: Array, v: Array, a: Array) -> Balance:
        """Return the balance with the base still, in the attitude in which its springs bear the load."""
        plane, still = np.array([0.0, 0.0, 1.0, 0.0]), np.zeros(3)
        for _ in range(ROUNDS):
            up = -ground_axes(plane) @ self.gravity / self.size
            load, footing = self._footing(q[7:], v[6:], a[6:], still, still, up * self.size)
            moved = float(np.abs(footing.plane - plane).max())
            if moved < SETTLED or not footing.balanced:
                return self.monitor.balance_under(load, footing, up)
            plane = footing.plane
        held = self._held_plane(q[7:])
        if held is not None:
            up = -ground_axes(held) @ self.gravity / self.size
            load, footing = self._footing(q[7:], v[6:], a[6:], still, still, up * self.size)
        balance = self.monitor.balance_under(load, footing, up)
        return _not_held(balance) if held is None else balance

    def _held_plane(self, joints: Array) -> Array | None:
        """Return the plane (4,) of the ground at the stable equilibrium of a machine on soft springs; None: it tips."""
        positions = dict(zip(self.monitor.model.joints, joints.tolist()))
        found = settle(running_gear(self.monitor.machine, positions), self.monitor.payload, self.gravity)
        if found is None:
            return None
        height, pitch, roll = found.q[:3]
        normal = np.array([-np.sin(pitch), np.cos(pitch) * np.sin(roll), np.cos(pitch) * np.cos(roll)])
        return np.array([*normal, -height])

    def placed_balance(self, q: Array, v: Array, a: Array) -> tuple[Balance, Footing]:
        """Return the balance with the base as q, v and a put it; the ground is where the springs bear the load."""
        up = -_turn_of(q).T @ self.gravity / self.size
        felt = base_acceleration('free', q, v, a) + up * self.size
        load, footing = self._footing(q[7:], v[6:], a[6:], v[:3], a[:3], felt)
        return self.monitor.balance_under(load, footing, up), footing

    def bears(self, q: Array, footing: Footing) -> bool:
        """Return whether the springs of a machine at rest are compressed, where q puts the base, as its load asks."""
        carrying, stiffness = footing.normal > 0.0, self.monitor.ground.stiffness
        gaps = np.abs((footing.feet @ _turn_of(q).T)[carrying, 2] + q[2])
        return bool(gaps.max(initial=0.0) < AT_REST * (footing.normal / stiffness).max())

    def _footing(self, q: Array, v: Array, a: Array, omega: Array, alpha: Array, felt: Array) -> tuple[Load, Footing]:
        own_q, own_v, own_a = (np.ascontiguousarray(part) for part in (q, v, a))
        load = self.monitor.model.evaluate(own_q, own_v, own_a, omega, alpha, felt, self.monitor.payload)
        return load, self.monitor.ground.without_gyroscope(load)


def _turn_of(q: Array) -> Array:
    """Return the rotation matrix (3, 3) of a free base."""
    return matrix_of_quaternion(q[3:7] / np.linalg.norm(q[3:7]))


def _not_held(balance: Balance) -> Balance:
    """Return the balance of a machine that its springs do not hold: no margin is valid, and none above 0."""
    margins = {
        name: margin._replace(value=min(margin.value, 0.0), valid=False) for name, margin in balance.margins.items()
    }
    return replace(balance, margins=margins)


def _sag(machine: Loaded, payload: float) -> float:
    """Return how far all springs give way together below a machine, m; inf without springs."""
    stiffness = sum(spring.stiffness for spring in machine.data.supports)
    return (machine.data.total_mass + payload) * machine.data.gravity / stiffness if stiffness else np.inf


def _beside(machine: Loaded, q: Array, x: Array) -> float:
    """Return how far a base is from where it rests: difference of height, m, or of a component of its up, 1."""
    if machine.data.base.attachment == 'planar':
        return float(np.abs(q[1:3] - x[1:3]).max())
    return float(max(abs(q[2] - x[2]), np.abs(_turn_of(q)[2] - _turn_of(x)[2]).max()))


def _at_rest(
    machine: Loaded, motion: Motion, measures: tuple[str, ...], payload: float, slope: tuple[float, float], judged: bool
) -> tuple[list[Balance], bool]:
    """Return the balances of postures of any machine that stands, by its equations, at rest; False where it does not.

    `judged`: whether it has to rest where q puts it.
    """
    if motion.moves:
        raise ValueError(
            f'{machine.name}: margins: expected no velocities: how its contacts share a load in motion follows from '
            'its simulation alone (simulate, then run.margins)'
        )
    found: list[Balance] = []
    rests, sag = True, _sag(machine, payload)
    for q, plant in zip(motion.q, at_rest(machine, motion, payload, slope, measures)):
        balance = plant.balance()
        rests = rests and (not judged or _beside(machine, q, plant.x) < AT_REST * sag)
        if balance is None:
            raise ValueError(f'{machine.name}: margins: it stands on too few points to have a support polygon')
        found.append(balance)
    return found, rests
