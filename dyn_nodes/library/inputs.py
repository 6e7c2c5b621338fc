"""Voltages and torques of a run from user input: numbers, tables over time, or functions of time and state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile.integrators.inputs import Inputs
from dyn_nodes.library.vectors import by_name, checked_name, rows_of
from dyn_nodes.simulation.events import Event

if TYPE_CHECKING:
    from dyn_nodes.control import VoltageProfile

Values = Mapping[str, Any] | Sequence[float] | Array
Drive = Values | Callable[[float, Array], Values] | EllipsisType
"""Numbers or `(times, values)` by name, an array in order, or a function of t and x that returns them; `...`: none."""


def table_of(owner: str, quantity: str, drive: Values, inputs: Mapping[str, str], held: Mapping[str, float]) -> Inputs:
    """Return inputs over time.

    Args:
        owner: name of the machine.
        quantity: `voltage` or `torque`.
        drive: numbers or tables by name, or numbers in the order of `inputs`.
        inputs: names of the inputs of the system, by actuator or joint.
        held: default values of the inputs, by input name.

    Raises:
        KeyError: a name that is not among `inputs`.
        ValueError: numbers that are not finite, times that are not ascending.
    """
    if not isinstance(drive, Mapping):
        numbers = rows_of(owner, quantity, drive, tuple(inputs))
        if numbers.ndim != 1:
            raise ValueError(f'{owner}: {quantity}: expected shape ({len(inputs)},); found {numbers.shape}')
        drive = dict(zip(inputs, numbers))
    columns = {}
    for name, value in drive.items():
        checked_name(owner, _kind(quantity), name, tuple(inputs))
        columns[inputs[name]] = _column(owner, f'{quantity}[{name!r}]', value)
    knots = np.unique(np.concatenate([np.zeros(1), *(times for times, _ in columns.values())]))
    sides = {
        name: [_side(knots, times, column, side) for side in ('left', 'right')]
        for name, (times, column) in columns.items()
    }
    jumps = np.any([left != right for left, right in sides.values()], axis=0) | np.zeros(len(knots), dtype=bool)
    indices = np.repeat(np.arange(len(knots)), 1 + jumps)  # two knots at a jump: left and right limit
    after = np.append(np.diff(indices) > 0, True)
    values = {name: np.full(len(indices), value) for name, value in held.items()}
    for name, (left, right) in sides.items():
        values[name] = np.where(after, right[indices], left[indices])
    return Inputs(knots[indices], values)


def within(inputs: Inputs, limits: Mapping[str, float]) -> tuple[Inputs, list[Event]]:
    """Return the limited inputs, and an event `saturated` for each limited input at its first instant.

    Args:
        inputs: over time.
        limits: maximum magnitudes by name.
    """
    t, events, added = inputs.knots, [], []
    for name, limit in limits.items():
        y = inputs.values[name]
        beyond = np.abs(y) > limit
        for bound in (-limit, limit) if beyond.any() else ():
            with np.errstate(divide='ignore', invalid='ignore'):
                share = (bound - y[:-1]) / np.diff(y)
            crossed = (share > 0.0) & (share < 1.0) & (np.diff(t) > 0.0)
            added.append(t[:-1][crossed] + share[crossed] * np.diff(t)[crossed])
        if beyond.any():
            events.append(_saturated(float(t[np.argmax(beyond)]), name, float(y[np.argmax(beyond)]), limit))
    if not events:
        return inputs, []
    more = np.setdiff1d(np.concatenate(added), t)
    order = np.argsort(np.concatenate([t, more]), kind='stable')
    columns = {}
    for name, y in inputs.values.items():
        whole = np.concatenate([y, np.interp(more, t, y)])[order]
        columns[name] = np.clip(whole, -limits.get(name, np.inf), limits.get(name, np.inf))
    return Inputs(np.concatenate([t, more])[order], columns), events


def _saturated(time: float, name: str, value: float, limit: float) -> Event:
    joint = name.removesuffix('/effort')
    text = f'{joint}: effort at its limit, {limit:.6g}; requested: {value:.6g}'
    return Event(time, 'saturated', details={'text': text, 'joint': joint})


class Saturation:
    """Limits inputs instant by instant.

    Args:
        limits: maximum magnitudes by name.
    """

    def __init__(self, limits: Mapping[str, float]) -> None:
        self._limits, self._at_limit = limits, set[str]()

    def cut(self, values: Mapping[str, float], time: float) -> tuple[dict[str, float], list[Event]]:
        """Return the limited values, and an event `saturated` for each that has just reached its limit."""
        beyond = {name: value for name, value in values.items() if abs(value) > self._limits.get(name, np.inf)}
        new = beyond.keys() - self._at_limit
        self._at_limit = set(beyond)
        cut = {name: float(np.copysign(self._limits[name], value)) for name, value in beyond.items()}
        return {**values, **cut}, [_saturated(time, name, beyond[name], self._limits[name]) for name in sorted(new)]


def _column(owner: str, where: str, value: Any) -> tuple[Array, Array]:
    """Return times and values of one input. Raises ValueError."""
    if isinstance(value, tuple) and len(value) == 2 and np.ndim(value[0]) == 1:
        times, column = (np.asarray(part, dtype=np.float64) for part in value)
        if times.shape != column.shape or not len(times) or not np.isfinite([*times, *column]).all():
            raise ValueError(
                f'{owner}: {where}: expected equal numbers of finite times and values, '
                f'found {times.shape} and {column.shape}'
            )
        if not (np.diff(times) >= 0).all():
            raise ValueError(f'{owner}: {where}: expected ascending times')
        return times, column
    numbers = rows_of(owner, where, [value] if np.ndim(value) == 0 else value, ('number',))
    return np.zeros(1), numbers


def _side(knots: Array, times: Array, values: Array, side: Any) -> Array:
    """Return one-sided limits of a piecewise-linear function at knots; it is constant beyond its ends."""
    index = np.searchsorted(times, knots, side=side)
    exact = index if side == 'left' else index - 1
    hit = np.isin(knots, times)
    return np.where(hit, values[np.clip(exact, 0, len(times) - 1)], np.interp(knots, times, values))


def task_profile(owner: str, task: str | Path | VoltageProfile, actuators: Sequence[str]) -> VoltageProfile:
    """Return a task by name, from its file, or unchanged if it is a profile.

    Raises:
        ValueError: no such task; `TaskError`: an invalid file; a task that waits for events, which needs a controller.
    """
    from dyn_nodes.common.share import share_directory
    from dyn_nodes.control import VoltageProfile, load_voltage_profile
    from dyn_nodes.model.problems import did_you_mean

    if isinstance(task, VoltageProfile):
        profile = task
    else:
        path = Path(task)
        if isinstance(task, str) and '/' not in task and path.suffix not in ('.yaml', '.yml'):
            tasks = {file.stem: file for file in sorted((share_directory() / 'config' / 'tasks').glob('*.yaml'))}
            if task not in tasks:
                raise ValueError(f'{owner}: unknown task {did_you_mean(task, tasks)}')
            path = tasks[task]
        elif not path.is_file():
            raise ValueError(f'{owner}: task: no such file: {path}')
        profile = load_voltage_profile(path, actuators)
    if profile.recover_on is not None:
        raise ValueError(f'{owner}: task {profile.name!r} waits for an event: run it with controller_node')
    return profile


def values_at(owner: str, quantity: str, returned: Any, inputs: Mapping[str, str]) -> dict[str, float]:
    """Return the values returned by a function of t and x by input name. Raises KeyError and ValueError."""
    if isinstance(returned, Mapping):
        numbers = by_name(owner, quantity, returned, tuple(inputs), _kind(quantity))
        return {inputs[name]: value for name, value in numbers.items()}
    values = rows_of(owner, f'{quantity}(t, x)', [returned] if np.ndim(returned) == 0 else returned, tuple(inputs))
    if values.ndim != 1:
        raise ValueError(f'{owner}: {quantity}(t, x): expected shape ({len(inputs)},); found {values.shape}')
    return dict(zip(inputs.values(), values.tolist()))


def _kind(quantity: str) -> str:
    return 'actuator' if quantity == 'voltage' else 'driven joint'
