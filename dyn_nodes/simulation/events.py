"""Events of runs, and the watched values whose sign changes cause them.

A run monitors values along its steps: the load of a wheel, the pressure of a line minus its relief pressure. If a value
changes its sign within a step, 34 bisections locate the instant; the integration itself is not affected. A value that
changes its sign twice within one step is not detected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array, Flags
from dyn_nodes.compile import CompiledModule
from dyn_nodes.multibody.elements import Surface, Watch
from dyn_nodes.multibody.spatial import Expression

BEYOND = 1.001
"""Ratio of a speed to its limit above which an overspeed event occurs."""
EVENT_COLUMNS = 4
"""Number of columns of the event table of a run: index of the watch, time, 1.0 for rising or 0.0 for falling, value."""


@dataclass(frozen=True)
class Event:
    """An event at an instant.

    Attributes:
        time: s.
        kind: `lift_off`, `touch_down`, `impact`, `payload_drop`, `relief_open`, `relief_closed`, `overturned`, ...
        before, after: modes of a hybrid model; empty elsewhere.
        details: names, numbers and lists by name: the wheel, the joint, the valve, velocity jumps of an impact.
    """

    time: float
    kind: str
    before: str = ''
    after: str = ''
    details: Mapping[str, Any] = field(default_factory=dict)

    def shifted(self, offset: float) -> Event:
        """Return the same event at a time later by an offset, s."""
        return replace(self, time=self.time + offset)


def overspeed(time: float, joint: str, speed: float, limit: float) -> Event:
    """Return the event of a joint speed above its limit, rad/s or m/s."""
    text = f'{joint}: speed {speed:.6g} is beyond its limit, {limit:.6g}'
    return Event(time, 'overspeed', details={'text': text, 'joint': joint})


def watched(*groups: Iterable[Surface]) -> tuple[list[Watch], Expression]:
    """Return the watches of elements, and (2 n,) their n values, then the n quantities that events report."""
    every = [surface for group in groups for surface in group]
    values = [value for _, value, _ in every] + [quantity for _, _, quantity in every]
    return [watch for watch, _, _ in every], ca.densify(ca.vertcat(*values, ca.SX(0, 1)))


class Watcher:
    """Watches of a compiled module, the signs of their values, and the events of a stretch.

    Args:
        meta: the watches, as stored beside the module.
        capacity: greatest number of events stored per stretch.

    Attributes:
        positive: (n,) whether each value was positive at the end of the last stretch; the integrators update it.
        table: (capacity, 4) rows written by the integrators.
        lost: number of events beyond the capacity, since the start.
    """

    def __init__(self, meta: Sequence[Any], capacity: int) -> None:
        self.watches = [Watch(rise, fall, quantity, subject) for rise, fall, quantity, subject in meta]
        self.positive: Flags = np.ones(len(self.watches), np.bool_)
        self.table: Array = np.zeros((capacity, EVENT_COLUMNS))
        self.lost = 0

    @classmethod
    def at(cls, module: CompiledModule, x: Array, u: Array, p: Array, capacity: int) -> Watcher:
        """Return the watcher of runs of a module from a state."""
        watcher = cls(module.meta['watches'], capacity)
        if watcher.watches:
            values = np.empty(2 * len(watcher.watches))
            module.watch(x, u, p, values)
            watcher.take_signs(values)
        return watcher

    def take_signs(self, values: Array) -> None:
        """Store the signs of the values (2 n,) of the watch kernel at the state from which a run starts."""
        self.positive[:] = values[: len(self.watches)] > 0.0

    def events(self, count: int, before: str = '', after: str = '') -> list[Event]:
        """Return the events of a stretch in the order of time; `count` is the number that the driver counted."""
        if not count:
            return []
        self.lost += max(0, count - len(self.table))
        events = []
        for row in self.table[:count]:
            watch = self.watches[int(row[0])]
            kind = watch.rise if row[2] > 0.0 else watch.fall
            if kind:
                details = {**watch.subject, watch.quantity: float(row[3])}
                events.append(Event(float(row[1]), kind, before, after, details))
        return sorted(events, key=lambda event: event.time)
