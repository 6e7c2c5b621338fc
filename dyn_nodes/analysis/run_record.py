"""A recorded run in terms of the machine: attitude, wheel loads, margins, pressures, phases, events."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dyn_nodes.analysis.bag_reading import BagData, BagReadingError, Progress, Table, read_bag
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.share import find_resource
from dyn_nodes.measures import Levels, levels_of_values, measure_of
from dyn_nodes.model import Machine, MachineError, load_machine
from dyn_nodes.model.assumptions import Assumption, payload_of


@dataclass(frozen=True)
class Phase:
    """A named interval of a run, s."""

    name: str
    start: float
    end: float


@dataclass(frozen=True)
class Event:
    """An event, such as `lift_off`, `touch_down`, `overturned`, `finished`, at a simulated time, s."""

    time: float
    name: str
    text: str
    level: int


@dataclass(frozen=True, eq=False)
class Attitude:
    """Attitude of the base relative to the ground, rad, over `time`, s.

    Attributes:
        tilt: angle between the base's z axis and the ground's normal.
        roll, pitch: angles of the rotation Rz(yaw) Ry(pitch) Rx(roll).
    """

    time: Array
    tilt: Array
    roll: Array
    pitch: Array


@dataclass(frozen=True, eq=False)
class MarginHistory:
    """One stability measure over `time`, s.

    Attributes:
        value: least value.
        edges: values by name of the edge or wheel.
        levels: alarm levels; without diagnostics in the bag, the levels of the measure that do not depend on the
            machine.
    """

    time: Array
    value: Array
    edges: dict[str, Array]
    levels: Levels = field(default_factory=Levels)


@dataclass(eq=False)
class RunRecord:
    """A recorded run.

    Attributes:
        data: the bag.
        machine: machine of the bag, if its URDF and YAML are available.
        attitude: attitude of the base; empty without odometry in the bag.
        wheel_loads: (time, normal force N) by wheel.
        margins: histories by measure.
        pressures: (time, Pa) by actuator and line (`head_pressure`, ...).
        joints: (time, position) by joint.
        phases: phases of the task, in order; empty without `task_phase`.
        events: events in order of time.
        duration: last simulated time, s.
        friction_use: (time, friction force over friction limit) by wheel; NaN if unknown or without normal force; empty
            without `friction_use/<wheel>`.
        weighed: time, and lower and upper end of the interval of 95 % of an estimated payload, kg; None without
            `payload/interval` (also below `monitor`).
        utilisation: time, and load over rated load, of a load-moment indicator; None without one.
    """

    data: BagData
    machine: Machine | None
    attitude: Attitude
    wheel_loads: dict[str, tuple[Array, Array]]
    margins: dict[str, MarginHistory]
    pressures: dict[str, dict[str, tuple[Array, Array]]]
    joints: dict[str, tuple[Array, Array]]
    phases: tuple[Phase, ...]
    events: tuple[Event, ...]
    duration: float
    friction_use: dict[str, tuple[Array, Array]] = field(default_factory=dict)
    weighed: tuple[Array, Array, Array] | None = None
    utilisation: tuple[Array, Array] | None = None

    def first_event(self, name: str) -> Event | None:
        """Return the first event of a name, or None."""
        return next((event for event in self.events if event.name == name), None)

    @property
    def payload(self) -> float | None:
        """Payload of the implement at the end, kg; None if unknown."""
        for _, status in reversed(self.data.statuses.get('diagnostics', [])):
            try:  # the stability monitor also publishes a payload, as text
                return float(status.values['payload'])
            except (KeyError, ValueError):
                continue
        for name in ('payload', 'payload/estimate'):
            if name in self.data.tables:
                return float(self.data.tables[name]['data'][-1])
        if self.machine is None or self.machine.payload is None:
            return None
        return self.machine.payload.mass

    @property
    def assumed(self) -> tuple[Assumption, ...]:
        """Assumed conditions that are not in the bag: the payload of the machine file."""
        recorded = any(name in self.data.tables for name in ('payload', 'payload/estimate'))
        recorded = recorded or any(
            'payload' in status.values for _, status in self.data.statuses.get('diagnostics', [])
        )
        return () if recorded or self.machine is None else payload_of(self.machine, 'payload in the bag')


def read_run(
    path: Path | str,
    config: Path | str | None = None,
    namespace: str | None = None,
    progress: Progress | None = None,
) -> RunRecord:
    """Return the run of a bag.

    Args:
        path: path of the bag.
        config: machine YAML; None: the YAML of this package for the robot named in the bag's URDF, if there is one.
        namespace: namespace of the machine's topics.
        progress: see `read_bag`.

    Raises:
        BagReadingError: no bag, an unreadable bag, a bag without odometry and wheel reactions, or a bag of two
            machines.
        MachineError: `config` does not match the URDF of the bag.
    """
    data = read_bag(path, progress, namespace)
    if 'odom' not in data.tables and not data.below('ground_reactions'):
        topics = ', '.join(sorted(data.counts))
        raise BagReadingError(
            f'{data.path}: expected odom or ground_reactions/<wheel> of a dynamics_node, found {topics}'
        )
    duration = max(float(table.time[-1]) for table in data.tables.values() if len(table))
    machine = _machine(data, config)
    _require_wheels_of(data, machine)
    return RunRecord(
        data=data,
        machine=machine,
        attitude=_attitude(data.tables.get('odom')),
        wheel_loads={name: (table.time, table['fz']) for name, table in data.below('ground_reactions').items()},
        margins=_margins(data),
        pressures=_pressures(data),
        joints=_joints(data.tables.get('joint_states')),
        phases=_phases(data.texts.get('task_phase', []), duration),
        events=_events(data),
        duration=duration,
        friction_use={
            name: (table.time, table['data'])
            for name, table in data.below('friction_use').items()
            if 'data' in table.columns
        },
        weighed=_weighed(data),
        utilisation=_utilisation(data),
    )


def _machine(data: BagData, config: Path | str | None) -> Machine | None:
    """Return the machine of the bag's URDF and a machine YAML; None if either is missing."""
    urdf = next((text for _, text in data.texts.get('robot_description', [])), '')
    if not urdf:
        return None
    wanted = config
    if config is None:
        match = re.search(r'<robot[^>]*\bname\s*=\s*["\']([\w-]+)["\']', urdf)
        try:
            config = find_resource(f'config/{match.group(1)}.yaml') if match else None
        except FileNotFoundError:
            config = None
    if config is None:
        return None
    return _load(urdf, Path(config), strict=wanted is not None)


def _require_wheels_of(data: BagData, machine: Machine | None) -> None:
    """Raise BagReadingError if the bag has ground reactions of all contacts of its machine and of further contacts."""
    contacts = tuple(contact.name for contact in machine.ground_contacts) if machine is not None else ()
    names = list(data.below('ground_reactions'))
    foreign = [name for name in names if not name.startswith(contacts)]
    if contacts and foreign and set(contacts) <= set(names):
        assert machine is not None
        raise BagReadingError(
            f'{data.path}: expected ground_reactions of {machine.name} ({", ".join(contacts)}), also found '
            f'{", ".join(foreign)}: the bag has another machine'
        )


def _load(urdf: str, config: Path, strict: bool) -> Machine | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'robot_description.urdf'
        path.write_text(urdf, encoding='utf-8')
        try:
            return load_machine(path, config)
        except MachineError:
            if strict:
                raise
            return None


def attitude_of(quaternions: Array) -> tuple[Array, Array, Array]:
    """Return tilt, roll and pitch, rad, of quaternions (n, 4) x, y, z, w of the base in the ground's frame."""
    q = quaternions / np.linalg.norm(quaternions, axis=1)[:, None]
    x, y, z, w = q.T
    forward_up = 2.0 * (x * z - w * y)  # third row of the rotation matrix: the ground's normal in the base
    left_up = 2.0 * (y * z + w * x)
    up_up = 1.0 - 2.0 * (x * x + y * y)
    level = np.hypot(left_up, up_up)
    return np.arctan2(np.hypot(forward_up, left_up), up_up), np.arctan2(left_up, up_up), np.arctan2(-forward_up, level)


def _attitude(odom: Table | None) -> Attitude:
    if odom is None:
        return Attitude(*(np.zeros(0) for _ in range(4)))
    return Attitude(odom.time, *attitude_of(np.column_stack([odom[name] for name in ('qx', 'qy', 'qz', 'qw')])))


def _weighed(data: BagData) -> tuple[Array, Array, Array] | None:
    """Return the interval of an estimated payload, of a machine or of a monitor beside a simulation."""
    for name in ('payload/interval', 'monitor/payload/interval'):
        table = data.tables.get(name)
        if table is not None and {'lower', 'upper'} <= set(table.columns):
            return table.time, table['lower'], table['upper']
    return None


def _utilisation(data: BagData) -> tuple[Array, Array] | None:
    """Return the utilisation of the rated load, of a machine or of a monitor beside a simulation."""
    for name in ('load_moment/utilisation', 'monitor/load_moment/utilisation'):
        table = data.tables.get(name)
        if table is not None and 'data' in table.columns:
            return table.time, 0.01 * table['data']
    return None


def _margins(data: BagData) -> dict[str, MarginHistory]:
    histories, recorded = {}, _levels(data)
    for name, table in data.below('stability').items():
        if 'data' not in table.columns:
            continue
        values = data.tables.get(f'stability/{name}/edges')
        edges = {} if values is None else _on(values, table.time)
        levels = recorded.get(name) or measure_of(name).levels(len(edges))
        histories[name] = MarginHistory(table.time, table['data'], edges, levels)
    return histories


def _levels(data: BagData) -> dict[str, Levels]:
    """Return alarm levels by topic of the margin, preferably from the diagnostics of the dynamics node."""
    result: dict[str, Levels] = {}
    for _, status in reversed(data.statuses.get('diagnostics', [])):
        node, _, title = status.name.partition(': ')
        if title == 'stability' and (recorded := levels_of_values(status.values.items())):
            result = {measure_of(name).topic: levels for name, levels in recorded.items()}
            if node.rpartition('/')[2] == 'dynamics_node':
                return result
    return result


def _on(table: Table, time: Array) -> dict[str, Array]:
    """Return the columns of a table at other times, each with its newest value."""
    if len(table) == len(time) and np.array_equal(table.time, time):
        return table.columns
    indices = np.clip(np.searchsorted(table.time, time + 1e-9) - 1, 0, len(table) - 1)
    return {name: column[indices] for name, column in table.columns.items()}


def _pressures(data: BagData) -> dict[str, dict[str, tuple[Array, Array]]]:
    pressures: dict[str, dict[str, tuple[Array, Array]]] = {}
    for topic, table in sorted(data.tables.items()):
        parts = topic.split('/')
        if len(parts) == 3 and parts[0] == 'hydraulics' and 'pressure' in table.columns:
            pressures.setdefault(parts[1], {})[parts[2]] = (table.time, table['pressure'])
    return pressures


def _joints(table: Table | None) -> dict[str, tuple[Array, Array]]:
    if table is None:
        return {}
    names = [name.removesuffix('/position') for name in table.columns if name.endswith('/position')]
    return {name: (table.time, table[f'{name}/position']) for name in names}


def _phases(entries: list[tuple[float, str]], end: float) -> tuple[Phase, ...]:
    phases: list[Phase] = []
    for time, name in entries:
        if phases and phases[-1].name == name:
            continue
        if phases:
            phases[-1] = Phase(phases[-1].name, phases[-1].start, time)
        phases.append(Phase(name, time, end))
    return tuple(phases)


def _events(data: BagData) -> tuple[Event, ...]:
    events = []
    for log_time, status in data.statuses.get('events', []):
        try:
            time = float(status.values.get('time', ''))
        except ValueError:
            time = log_time
        events.append(Event(time, status.name.rpartition(': ')[2], status.message, status.level))
    return tuple(sorted(events, key=lambda event: event.time))
