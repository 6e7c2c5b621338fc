"""Health of nodes on /diagnostics, as REP-107 tools expect it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dyn_nodes.middleware import message
from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.nodes.stamps import stamp_of

DiagnosticArray = message('diagnostic_msgs/msg/DiagnosticArray')
DiagnosticStatus = message('diagnostic_msgs/msg/DiagnosticStatus')
KeyValue = message('diagnostic_msgs/msg/KeyValue')

OK, WARN, ERROR, STALE = 0, 1, 2, 3
LONGEST_TEXT = 300
FINGERPRINT = 16
"""Digits of a machine's fingerprint in the statuses."""


@dataclass
class Health:
    """One status.

    Attributes:
        level: OK, WARN, ERROR or STALE.  text: one line.  values: by key.
        more: returns further values; called only if the status is published.
    """

    level: int = OK
    text: str = 'running'
    values: Mapping[str, str] = field(default_factory=dict)
    more: Callable[[], Mapping[str, str]] = dict

    def worse(self, level: int, text: str) -> None:
        """Raise the level and replace the text if `level` is worse than the present one."""
        if level > self.level:
            self.level, self.text = level, text


def one_line(text: object) -> str:
    """Return a text as one printable line of at most `LONGEST_TEXT` characters."""
    line = ''.join(c if c.isprintable() else ' ' for c in str(text))
    return line if len(line) <= LONGEST_TEXT else line[: LONGEST_TEXT - 3] + '...'


def level_byte(level: int) -> Any:
    """Return a level as this runtime's `byte` field requires it."""
    return type(DiagnosticStatus().level)([level]) if isinstance(DiagnosticStatus().level, bytes) else level


def status_message(node: Any, subject: str, health: Health) -> Any:
    """Return a DiagnosticStatus named `<node>: <subject>`."""
    name = node.get_fully_qualified_name().lstrip('/')
    pairs = [KeyValue(key=key, value=value) for key, value in {**health.values, **health.more()}.items()]
    status = DiagnosticStatus()
    status.level = level_byte(health.level)
    status.name, status.message, status.hardware_id, status.values = f'{name}: {subject}', health.text, name, pairs
    return status


def machine_values(node: Any) -> list[Any]:
    """Return name and fingerprint of a node's machine as KeyValues; empty without a machine."""
    machine = getattr(node, 'machine', None)
    if machine is None:
        return []
    values = {'machine': machine.name, 'fingerprint': machine_fingerprint(machine)[:FINGERPRINT]}
    return [KeyValue(key=key, value=value) for key, value in values.items()]


class DiagnosticsPublisher:
    """Publishes statuses at 1 Hz, and at once when a level changes. The first status names the machine of the node.

    Args:
        node: the node.
        sources: by subject; each returns its present health.

    Attributes:
        last_published: time of the last message, s; None: the next update publishes.
    """

    def __init__(self, node: Any, sources: Mapping[str, Callable[[], Health]], period: float = 1.0) -> None:
        self.node, self.sources, self.period = node, sources, period
        self.publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._levels: dict[str, int] = {}
        self.last_published: float | None = None
        self._messages: Callable[[], Health | None] = getattr(node, 'message_health', lambda: None)
        self._machine = machine_values(node)

    def update(self, time: float, stamp: float | None = None) -> None:
        """Publish the statuses if due.

        Args:
            time: of the clock that paces the node, s.
            stamp: of the message, s; None: `time`.
        """
        health = {subject: source() for subject, source in self.sources.items()}
        neighbours = getattr(self.node, 'neighbours', None)
        if neighbours is not None and (status := neighbours.health()) is not None:
            health['neighbours'] = status
        if (messages := self._messages()) is not None:
            health['messages'] = messages
        levels = {subject: item.level for subject, item in health.items()}
        due = (
            self.last_published is None
            or time < self.last_published
            or time - self.last_published >= self.period - 1e-9
        )
        if not due and levels == self._levels:
            return
        self.last_published, self._levels = time, levels
        array = DiagnosticArray()
        array.header.stamp = stamp_of(time if stamp is None else stamp)
        array.status = [status_message(self.node, subject, item) for subject, item in health.items()]
        if array.status:
            array.status[0].values = [*self._machine, *array.status[0].values]
        self.publisher.publish(array)
