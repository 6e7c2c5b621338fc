"""Tip-over margins of postures and motions by measure and edge, as tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.optional import pandas, xarray
from dyn_nodes.library.carried import Conditions, not_at_rest, warn
from dyn_nodes.library.html import table
from dyn_nodes.library.motion import Motion, at_rest, motion_of
from dyn_nodes.library.notice import shown
from dyn_nodes.library.vectors import checked_name
from dyn_nodes.measures import MEASURES
from dyn_nodes.model.equilibrium import NoEquilibriumError
from dyn_nodes.model.machine import Machine as MachineData
from dyn_nodes.model.rotations import length, matrix_of_quaternion
from dyn_nodes.monitor.ground_observer import Footing, ground_axes
from dyn_nodes.monitor.load_model import GroundLoad
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
"""Convergence tolerance of the ground plane in axes of the base, m per m and m."""
AT_REST = 0.02
"""Tolerance of a wheel's position at rest, over the maximum compression of a spring."""
DIMENSIONS = {'edge': 'edge', 'wheel': 'wheel', 'foot': 'lost_foot', 'end': 'end'}


@dataclass(frozen=True, eq=False)
class MarginValues:
    """The values of one stability measure.

    Attributes:
        name: name of the measure.
        value: least over the edges, () or (t,), to compare with limits.
        edges: values by name of the edge (wheel, lost foot, end), () or (t,) each.
        valid: () or (t,), False if the measure is undefined or does not apply.
        unit: unit of value and edges.
    """

    name: str
    value: Array
    edges: dict[str, Array]
    valid: NDArray[np.bool_]
    unit: str

    @property
    def critical(self) -> Any:
        """Name of the edge with the least value; for rows an array (t,) of names."""
        names, table = np.array(list(self.edges)), np.array(list(self.edges.values()))
        critical = names[np.argmin(np.where(np.isnan(table), np.inf, table), axis=0)]
        return str(critical) if np.ndim(critical) == 0 else critical

    def __getitem__(self, edge: str) -> Array:
        """Return the values at an edge. Raises KeyError with the nearest name."""
        return self.edges[checked_name(self.name, 'edge', edge, tuple(self.edges))]


class Margins(Mapping[str, MarginValues]):
    """Margins by measure: `s['static'].value`, `s['static']['front']`, `s['static', 'front']`.

    Attributes:
        reactions: ground force (3,) or (t, 3) by wheel, in its contact frame: longitudinal, lateral, normal, N.
        index: (t,) times, s, or row numbers; None for one state.
        index_name: `time` or `row`.
        conditions: payload and slope of the margins.
    """

    def __init__(
        self, balances: Sequence[Balance], index: Array | None, conditions: Conditions, index_name: str = 'row'
    ) -> None:
        self.index, self.index_name, self.conditions = index, index_name, conditions
        first = balances[0]
        self._values: dict[str, MarginValues] = {}
        self._names: Collection[str] = tuple(first.margins)
        if index is None:
            self.reactions = dict(zip(first.wheels, first.forces))
            self._single = first
            return
        self.reactions = {
            wheel: np.array([balance.forces[k] for balance in balances]) for k, wheel in enumerate(first.wheels)
        }
        for name in first.margins:
            rows = [dict(zip(balance.names(name), balance.margins[name].edges)) for balance in balances]
            self._values[name] = MarginValues(
                name,
                np.array([balance.margins[name].value for balance in balances]),
                {edge: np.array([row.get(edge, np.nan) for row in rows]) for edge in rows[0]},
                np.array([balance.margins[name].valid for balance in balances]).astype(bool),
                MEASURES[name].unit,
            )

    def __getitem__(self, key: str | tuple[str, str]) -> Any:
        """Return the values of a measure, or of a measure at an edge. Raises KeyError with the nearest name."""
        if isinstance(key, tuple):
            return self[key[0]][key[1]]
        values = self._values.get(key)
        if values is None:
            name = checked_name('margins', 'measure', key, tuple(self._names))
            margin = self._single.margins[name]
            edges = dict(zip(self._single.names(name), margin.edges))
            values = self._values[name] = MarginValues(
                name, np.float64(margin.value), edges, _flag(margin.valid), MEASURES[name].unit
            )
        return values

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        if self.index is not None:
            return f'<margins of {len(self.index)} states: {", ".join(self)}; {self.conditions}>'
        shown = (
            f'{name} {MEASURES[name].display(float(margin.value))} ({margin.critical})' for name, margin in self.items()
        )
        return f'<margins: {", ".join(shown)}; {self.conditions}>'

    def replaced(self, value: Any, conditions: Conditions) -> Margins:
        """Return margins of one state whose values are all the same and invalid.

        Args:
            value: of every edge.
            conditions: payload and slope.
        """
        result = copy(self)
        result.conditions, result.reactions = conditions, dict.fromkeys(self.reactions, np.full(3, np.nan))
        result._values = {
            name: replace(margin, value=value, edges=dict.fromkeys(margin.edges, value), valid=_flag(False))
            for name, margin in self.items()
        }
        return result

    def _repr_html_(self) -> str:
        rows = []
        for name, margin in self.items():
            low = int(np.argmin(np.where(np.isnan(margin.value), np.inf, margin.value))) if margin.value.ndim else ()
            edge = margin.critical if low == () else margin.critical[low]
            value, valid = MEASURES[name].display(float(margin.value[low])), bool(margin.valid[low])
            rows.append((MEASURES[name].label, value, edge, 'yes' if valid else 'no'))
        least = '' if self.index is None else 'least of '
        return table(('measure', f'{least}value', 'at', 'valid'), rows, repr(self)[1:-1].partition(':')[0])

    def to_pandas(self) -> Any:
        """Return a DataFrame with one row per state, columns (measure, edge) and (measure, `least`).

        Raises:
            ImportError: pandas is not installed.
        """
        columns = {}
        for name, margin in self.items():
            columns[name, 'least'] = np.atleast_1d(margin.value)
            columns |= {(name, edge): np.atleast_1d(values) for edge, values in margin.edges.items()}
        index = None if self.index is None else pandas().Index(self.index, name=self.index_name)
        frame = pandas().DataFrame(columns, index=index)
        frame.columns.names = ['measure', 'edge']
        return frame

    def to_xarray(self) -> Any:
        """Return a Dataset with one variable per measure over states and edges, units as attributes.

        Raises:
            ImportError: xarray is not installed.
        """
        library = xarray()
        whole_index = [] if self.index is None else [self.index_name]
        parts = {}
        for name, margin in self.items():
            # measures have different edges, such as the two ends, and therefore separate dimensions
            dimension = DIMENSIONS[MEASURES[name].per]
            parts[name] = library.DataArray(
                np.stack(list(margin.edges.values()), axis=-1),
                dims=[*whole_index, dimension],
                coords={dimension: list(margin.edges)},
                attrs={'units': margin.unit, 'long_name': MEASURES[name].label},
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
    """Return the margins of a motion; arguments and errors as for `Machine.margins`.

    A warning is issued if the conditions were assumed and a motionless machine is not at rest under them.
    """
    data = machine.data
    if data.base.attachment == 'fixed':
        raise ValueError(f'{machine.name}: margins: the base is fixed to the world and cannot tip over')
    payload, slope, _ = conditions
    motion = motion_of(machine, q, v, a, payload=payload, slope=slope)
    standings = machine.standings
    standings.check(measures)
    judged = assumed and not (motion.standing or motion.moves)
    try:
        if standings.rigid:
            balances, rests = _of_load(machine, motion, measures, payload, slope, judged)
        else:
            balances, rests = _at_rest(machine, motion, measures, payload, slope, judged)
    except KeyError as error:  # a measure that is not defined for so few points
        raise ValueError(f'{machine.name}: {error.args[0]}') from None
    if not rests:
        warn(not_at_rest(machine.name, 'q', conditions))
    return Margins(balances, None if motion.rows is None else np.arange(float(motion.rows)), conditions)


def _flag(value: bool) -> Any:
    """Return a truth value as NumPy has it."""
    return np.bool_(value)


def penalised(
    machine: Loaded,
    q: ArrayLike | None,
    v: ArrayLike | None,
    a: ArrayLike | None,
    measures: tuple[str, ...],
    conditions: Conditions,
    penalty: float,
) -> Margins:
    """Return the margins of one motion, or a penalty; arguments as for `margins_of` and `Machine.margins`."""
    motion = motion_of(machine, q, v, a, conditions.payload, conditions.slope)
    if motion.rows is not None:
        raise ValueError(f'{machine.name}: penalty: expected one state, found {motion.rows} rows')
    joints = [machine.data.joint(name) for name in machine.joints]
    values = motion.q[0][[machine.position_names.index(name) for name in machine.joints]]
    beyond = [max(joint.lower - value, value - joint.upper, 0.0) for joint, value in zip(joints, values.tolist())]
    if not any(beyond):
        try:
            return margins_of(machine, q, v, a, measures, conditions, False)
        except (PolygonError, NoEquilibriumError):
            pass
        except ValueError as error:
            if not isinstance(error.__context__, PolygonError):
                raise
    model = margins_of(machine, None, None, None, measures, machine.conditions, False)
    return model.replaced(np.float64(-penalty * (1.0 + sum(beyond))), conditions)


def _of_load(
    machine: Loaded, motion: Motion, measures: tuple[str, ...], payload: float, slope: tuple[float, float], judged: bool
) -> tuple[list[Balance], bool]:
    """Return the balances of motions of a machine on springs, from their loads, and whether it rests.

    `judged`: check whether the machine rests; otherwise the second result is True.
    """
    balances, rests = [], True
    standing = machine.standings.take(measures, payload, slope)
    for k, (q, v, a) in enumerate(zip(motion.q, motion.v, motion.a)):
        try:
            if motion.standing:
                balances.append(standing.balance(q, v, a))
                continue
            balance, footing = standing.placed_balance(q, v, a)
            balances.append(balance)
            rests = rests and (not judged or standing.bears(q, footing))
        except PolygonError as error:
            row = '' if motion.rows is None else f'row {k}: '
            raise ValueError(f'{machine.name}: margins: {row}{error}') from None
    machine.standings.free(standing)
    return balances, rests


class Standings:
    """The equilibria of a machine on springs that `margins` has computed with, for its next calls.

    Args:
        machine: content of its files.

    Attributes:
        springs, wheels: numbers of corners on springs, and of wheels by constraint.
        rigid: springs alone carry the machine, as one body.
    """

    margins_of, penalised = staticmethod(margins_of), staticmethod(penalised)

    def __init__(self, machine: MachineData) -> None:
        self._machine, self._idle = machine, dict[tuple[str, ...], list[_Standing]]()
        self.springs = sum(spring.corner for spring in machine.supports)
        self.wheels = len(machine.rigid_wheels)
        on_springs = machine.base.attachment == 'free' and self.springs >= 3 and not self.wheels and not machine.loads
        self.rigid = bool(on_springs and not gives_way(machine))

    def check(self, measures: tuple[str, ...]) -> None:
        """Raise ValueError for a measure that needs more support points."""
        if measures in self._idle or self._machine.base.attachment == 'planar':
            return
        corners = self.springs + self.wheels
        for name in measures:
            if (least := MEASURES[name].least_feet) > corners:
                owner = self._machine.name
                raise ValueError(f'{owner}: margins: {name!r} needs {least} support points, found {corners}')

    def take(self, measures: tuple[str, ...], payload: float, slope: tuple[float, float]) -> _Standing:
        """Return an equilibrium without a past, for one thread until `free`."""
        idle = self._idle.get(measures)
        try:
            standing = idle.pop() if idle else _Standing(self._machine, measures)
        except IndexError:  # another thread was faster
            standing = _Standing(self._machine, measures)
        standing.load(payload, slope)
        return standing

    def free(self, standing: _Standing) -> None:
        """Keep an equilibrium for later calls."""
        self._idle.setdefault(standing.monitor.measures, []).append(standing)


class _Standing:
    """Equilibrium of a machine on springs under a prescribed load."""

    def __init__(self, machine: MachineData, measures: tuple[str, ...]) -> None:
        with shown('margins'):
            self.monitor = StabilityMonitor(machine, measures)
        self.size = machine.gravity
        self._slope: tuple[float, float] = (0.0, 0.0)
        self.gravity = np.array(gravity_vector(self.size, self._slope))

    def load(self, payload: float, slope: tuple[float, float]) -> None:
        """Set payload and slope; the ground of earlier calls is discarded."""
        self.monitor.payload = payload
        self.monitor.ground.clear()
        if slope != self._slope:
            self._slope, self.gravity = slope, np.array(gravity_vector(self.size, slope))

    def balance(self, q: Array, v: Array, a: Array) -> Balance:
        """Return the balance with the base at rest, in the attitude in which its springs support the load."""
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
        """Return the ground plane (4,) at the stable equilibrium of a machine on soft springs; None: it tips."""
        positions = dict(zip(self.monitor.model.joints, joints.tolist()))
        equilibrium = settle(running_gear(self.monitor.machine, positions), self.monitor.payload, self.gravity)
        if equilibrium is None:
            return None
        height, pitch, roll = equilibrium.q[:3]
        normal = np.array([-np.sin(pitch), np.cos(pitch) * np.sin(roll), np.cos(pitch) * np.cos(roll)])
        return np.array([*normal, -height])

    def placed_balance(self, q: Array, v: Array, a: Array) -> tuple[Balance, Footing]:
        """Return the balance with the base pose and motion of q, v and a; the ground is where springs bear the load."""
        up = -_turn_of(q).T.dot(self.gravity) / self.size
        specific_force = base_acceleration('free', q, v, a) + up * self.size
        load, footing = self._footing(q[7:], v[6:], a[6:], v[:3], a[:3], specific_force)
        return self.monitor.balance_under(load, footing, up), footing

    def bears(self, q: Array, footing: Footing) -> bool:
        """Return whether the spring compressions at the base pose of q match the load of the machine at rest."""
        carrying, stiffness = footing.normal > 0.0, self.monitor.ground.stiffness
        gaps = np.abs((footing.feet @ _turn_of(q).T)[carrying, 2] + q[2])
        return bool(gaps.max(initial=0.0) < AT_REST * (footing.normal / stiffness).max())

    def _footing(
        self, q: Array, v: Array, a: Array, omega: Array, alpha: Array, specific_force: Array
    ) -> tuple[GroundLoad, Footing]:
        joint_q, joint_v, joint_a = (np.ascontiguousarray(part) for part in (q, v, a))
        load = self.monitor.model.evaluate(
            joint_q, joint_v, joint_a, omega, alpha, specific_force, self.monitor.payload
        )
        return load, self.monitor.ground.without_gyroscope(load)


def _turn_of(q: Array) -> Array:
    """Return the rotation matrix (3, 3) of a free base."""
    return matrix_of_quaternion(q[3:7] / length(q[3:7]))


def _not_held(balance: Balance) -> Balance:
    """Return the balance of a machine without equilibrium: all margins invalid and at most 0."""
    margins = {
        name: margin._replace(value=min(margin.value, 0.0), valid=False) for name, margin in balance.margins.items()
    }
    return replace(balance, margins=margins)


def _sag(machine: Loaded, payload: float) -> float:
    """Return the static deflection of all springs together under a machine, m; inf without springs."""
    stiffness = sum(spring.stiffness for spring in machine.data.supports)
    return (machine.data.total_mass + payload) * machine.data.gravity / stiffness if stiffness else np.inf


def _beside(machine: Loaded, q: Array, x: Array) -> float:
    """Return the deviation of a base from rest: the larger of height, m, and a component of its up vector, 1."""
    if machine.data.base.attachment == 'planar':
        return float(np.abs(q[1:3] - x[1:3]).max())
    return float(max(abs(q[2] - x[2]), np.abs(_turn_of(q)[2] - _turn_of(x)[2]).max()))


def _at_rest(
    machine: Loaded, motion: Motion, measures: tuple[str, ...], payload: float, slope: tuple[float, float], judged: bool
) -> tuple[list[Balance], bool]:
    """Return the balances of postures at rest from the equations of motion, and whether the machine rests in q.

    `judged`: check whether it rests at the base pose of q; otherwise the second result is True.
    """
    if motion.moves:
        raise ValueError(
            f'{machine.name}: margins: expected no velocities: the load distribution of this machine in motion needs '
            'a simulation (simulate, then run.margins)'
        )
    balances: list[Balance] = []
    rests, sag = True, _sag(machine, payload)
    for q, plant in zip(motion.q, at_rest(machine, motion, payload, slope, measures)):
        balance = plant.balance()
        rests = rests and (not judged or _beside(machine, q, plant.x) < AT_REST * sag)
        if balance is None:
            raise ValueError(f'{machine.name}: margins: too few support points for a support polygon')
        balances.append(balance)
    return balances, rests
