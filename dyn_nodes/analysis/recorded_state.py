"""State of a system at one time of a bag of these nodes, as far as the bag has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyn_nodes.analysis.bag_reading import BagData, BagReadingError, Table
from dyn_nodes.common.arrays import Array

ODOMETRY = {
    **{f'base_{axis}': axis for axis in ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw')},
    **{f'base_{axis}_rate': axis for axis in ('vx', 'vy', 'vz', 'wx', 'wy', 'wz')},
}
"""States of a free base, and their columns in the odometry."""
COMMANDS = 'valve_commands'


@dataclass(frozen=True, eq=False)
class RecordedState:
    """A state from a bag.

    Attributes:
        x: (N,) state. u: (m,) inputs.
        time: time of the sample, s.
        missing: states and inputs that the bag lacks; they have their default values.
    """

    x: Array
    u: Array
    time: float
    missing: tuple[str, ...]


def recorded_state(system: Any, data: BagData, time: float, x: Array, u: Array) -> RecordedState:
    """Return the state nearest to a time.

    Args:
        system: system with the names of states and inputs.
        data: the bag.
        time: s.
        x: (N,) default state, such as the state at rest.
        u: (m,) default inputs.

    Raises:
        BagReadingError: no joint states, or none near this time.
    """
    joints = data.table('joint_states')
    first, last = float(joints.time[0]), float(joints.time[-1])
    spacing = float(np.median(np.diff(joints.time))) if len(joints) > 1 else 0.0
    if not first - spacing <= time <= last + spacing:
        raise BagReadingError(f'{data.path}: expected a time from {first:g} to {last:g} s, found {time:g} s')
    at = float(joints.time[int(np.argmin(np.abs(joints.time - time)))])
    recorded = dict(_recorded(data, at))
    state, inputs = x.copy(), u.copy()
    missing = [
        *_filled(state, system.state_names, recorded),
        *_filled(inputs, system.input_names, recorded | _commands(data, at, system.input_names)),
    ]
    return RecordedState(state, inputs, at, tuple(missing))


def _filled(vector: Array, names: Sequence[str], recorded: dict[str, float]) -> list[str]:
    """Write the recorded values into a vector; return the names without a recorded value."""
    missing = []
    for k, name in enumerate(names):
        if np.isfinite(recorded.get(name, np.nan)):
            vector[k] = recorded[name]
        else:
            missing.append(name)
    return missing


def _recorded(data: BagData, time: float) -> Iterator[tuple[str, float]]:
    """Yield values by the names of states at a time: joints, base, and `<actuator>/<quantity>`."""
    for name, value in _newest(data.table('joint_states'), time).items():
        joint, _, field = name.rpartition('/')
        suffix = {'position': '', 'velocity': '_rate'}.get(field)
        if suffix is not None:
            yield joint + suffix, value
        elif field == 'effort':
            yield f'{joint}/effort', value
    if 'odom' in data.tables:
        odometry = _newest(data.tables['odom'], time)
        yield from ((state, odometry[column]) for state, column in ODOMETRY.items() if column in odometry)
    for topic, table in data.tables.items():
        parts = topic.split('/')
        if len(parts) == 3 and len(table.columns) == 1:
            yield f'{parts[1]}/{parts[2]}', next(iter(_newest(table, time).values()))


def _commands(data: BagData, time: float, inputs: Sequence[str]) -> dict[str, float]:
    """Return voltages by the names of inputs, in the order of the actuators."""
    names = [name for name in inputs if name.endswith('/voltage')]
    if COMMANDS not in data.tables:
        return {}
    values = list(_newest(data.tables[COMMANDS], time).values())
    return dict(zip(names, values)) if len(values) == len(names) else {}


def _newest(table: Table, time: float) -> dict[str, float]:
    """Return the newest values of a table at a time; before its start the first values."""
    index = max(int(np.searchsorted(table.time, time + 1e-9)) - 1, 0)
    return {name: float(column[index]) for name, column in table.columns.items()}
