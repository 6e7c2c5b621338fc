"""Subscriptions to events and margins that trigger the recovery of a `SupervisedTask`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dyn_nodes.control import SupervisedTask
from dyn_nodes.measures import MEASURES
from dyn_nodes.middleware import QoSProfile, message
from dyn_nodes.nodes.commands import RejectedError
from dyn_nodes.nodes.diagnostics import ERROR, WARN, Health

DiagnosticStatus = message('diagnostic_msgs/msg/DiagnosticStatus')
Float64 = message('std_msgs/msg/Float64')
AHEAD = 0.5
"""Greatest time by which an event may be ahead of the joint states, s; a later one belongs to another run."""


class RecoveryWatch:
    """Passes events and margins to a supervised task.

    Args:
        node: the node, with the `time` of the joint states and the `motion` of the task.
        task: the task.
        reject: called with the error of a rejected message.
        qos: of the reports.

    Attributes:
        reports, events: numbers of received messages.
    """

    def __init__(
        self, node: Any, task: SupervisedTask, reject: Callable[[RejectedError], None], qos: QoSProfile
    ) -> None:
        self.node, self.task, self._reject = node, task, reject
        self.reports = self.events = 0
        self._logged: tuple[float | None, float | None] = (None, None)
        topic = f'stability/{MEASURES[task.on.watched].topic}'
        node.create_subscription(Float64, topic, self._on_measure, qos)
        if task.on.event:
            node.create_subscription(DiagnosticStatus, 'events', self._on_event, QoSProfile(depth=100))

    def _on_measure(self, msg: Any) -> None:
        self.reports += 1
        self.task.record_measure(self.task.on.watched, float(msg.data), self.node.time)

    def _on_event(self, msg: Any) -> None:
        kind = msg.name.rpartition(': ')[2]
        if kind != self.task.on.event:
            return
        try:
            at = self._time_of(msg, kind)
        except RejectedError as error:
            self._reject(error)
            return
        self.events += 1
        self.task.record_event(kind, at, self.node.time)

    def _time_of(self, msg: Any, kind: str) -> float:
        text = next((item.value for item in msg.values if item.key == 'time'), '')
        try:
            at = float(text)
        except ValueError:
            at = math.nan
        if not 0.0 <= at <= self.node.time + AHEAD:  # false for NaN too
            expected = f'a time up to {self.node.time + AHEAD:.3f} s'
            raise RejectedError('event', f'events: {kind}: expected {expected}, found {text[:40]!r}')
        return at

    def report(self) -> None:
        """Log once the start of the recovery or the stop of the task."""
        if not self.node.motion.plays_task:
            return
        task, log = self.task, self.node.get_logger()
        logged, self._logged = self._logged, (task.started, task.stopped)
        if task.started is not None and logged[0] is None:
            log.warn(f'recovery from t = {task.started:.3f} s: {task.cause}')
        if task.stopped is not None and logged[1] is None:
            log.error(f'the task is stopped at t = {task.stopped:.3f} s: {self._timeout_text()}')

    def _timeout_text(self) -> str:
        topic = f'stability/{MEASURES[self.task.on.watched].topic}'
        return f'no {topic} for {self.task.on.timeout:g} s' if self.reports else f'no {topic}'

    def health(self) -> Health:
        """Return the status `recovery`."""
        task = self.task
        values = {'waits for': str(task.on), 'delay': f'{task.on.delay:g}', 'reports': str(self.reports)}
        values |= {'events': str(self.events), 'cause': task.cause}
        if not self.node.motion.plays_task:
            return Health(WARN, 'the task was left: no recovery follows', values)
        if task.started is not None:
            text = f'recovery from t = {task.started:.3f} s: {task.cause}'
            return Health(WARN, text, values)
        if task.stopped is not None:
            return Health(ERROR, f'the task is stopped: {self._timeout_text()}', values)
        return Health(text=f'waiting for {task.on}', values=values)
