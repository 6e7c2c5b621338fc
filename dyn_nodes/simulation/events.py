"""What happens at an instant, and what is watched for it.

A run watches values along its steps: the load of a wheel, what the pressure of a line has over that of its relief.
Where one changes its sign within a step, the step is halved 34 times to find the instant; the integration itself goes
on as if nothing had been watched. A value that changes its sign twice within one step is not seen.
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
"""Share of a speed limit from which on a speed is beyond it."""
EVENT_COLUMNS = 4
"""Of a row of the table that a run fills: number of the watch, time, 1.0 for rising or 0.0 for falling, value."""


@dataclass(frozen=True)
class Event:
    """Something that happened at an instant.

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
        """Return the same at a time later by an offset, s."""
        return replace(self, time=self.time + offset)


def overspeed(time: float, joint: str, speed: float, limit: float) -> Event:
    """Return the event of a joint whose speed is beyond its limit, rad/s or m/s."""
    text = f'{joint}: speed {speed:.6g} is beyond its limit, {limit:.6g}'
    return Event(time, 'overspeed', details={'text': text, 'joint': joint})


def watched(*groups: Iterable[Surface]) -> tuple[list[Watch], Expression]:
    """Return what is watched of elements, and (2 n,) the n values, then the n numbers to be reported with events."""
    every = [surface for group in groups for surface in group]
    values = [value for _, value, _ in every] + [quantity for _, _, quantity in every]
    return [watch for watch, _, _ in every], ca.densify(ca.vertcat(*values, ca.SX(0, 1)))


class Watcher:
    """The watches of a compiled module, the signs that their values have, and the events of a stretch.

    Args:
        meta: the watches, as stored beside the module.
        capacity: events kept of one stretch.

    Attributes:
        positive: (n,) whether each value was positive at the end of the last stretch; the integrators change it.
        found: (capacity, 4) table that the integrators fill.
        lost: events beyond the capacity, since the start.
    """

    def __init__(self, meta: Sequence[Any], capacity: int) -> None:
        self.watches = [Watch(rise, fall, quantity, subject) for rise, fall, quantity, subject in meta]
        self.positive: Flags = np.ones(len(self.watches), np.bool_)
        self.table: Array = np.zeros((capacity, EVENT_COLUMNS))
        self.lost = 0

    @classmethod
    def at(cls, module: CompiledModule, x: Array, u: Array, p: Array, capacity: int) -> Watcher:
        """Return the watcher of runs of a module that begin at a state."""
        watcher = cls(module.meta['watches'], capacity)
        if watcher.watches:
            values = np.empty(2 * len(watcher.watches))
            module.watch(x, u, p, values)
            watcher.take_signs(values)
        return watcher

    def take_signs(self, values: Array) -> None:
        """Take the signs from the values (2 n,) of the watch kernel at the state from which a run starts."""
        self.positive[:] = values[: len(self.watches)] > 0.0

    def events(self, count: int, before: str = '', after: str = '') -> list[Event]:
        """Return the events of a stretch, of which the driver counted so many, in the order of time."""
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
