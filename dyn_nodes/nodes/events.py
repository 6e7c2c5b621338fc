"""Events of a machine as messages on `events` and in the log."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dyn_nodes.middleware import message
from dyn_nodes.nodes.diagnostics import ERROR, OK, WARN, Health, status_message
from dyn_nodes.simulation.events import Event

DiagnosticStatus = message('diagnostic_msgs/msg/DiagnosticStatus')
ENDINGS = (
    'overturned',
    'diverged',
    'rank_changed',
    'motion_without_mass',
    'contradictory_constraints',
    'contact_opened',
)
"""Kinds of events that end a machine's motion."""
WARNINGS = ('constraint_drift', 'inaccurate', 'contact_slips', 'slip_off', 'team_stopped')


class EventPublisher:
    """Publishes events as diagnostic_msgs/DiagnosticStatus named `<node>: <kind>`, and logs them.

    The values hold `time`, s, to the nanosecond, and the details of the event by name: wheel, actuator, joint, relief,
    masses, rates, impulses, in SI units.

    Args:
        node: the node.
        qos: of the topic.
    """

    def __init__(self, node: Any, qos: Any) -> None:
        self.node = node
        self.publisher = node.create_publisher(DiagnosticStatus, 'events', qos)

    def publish(self, event: Event) -> None:
        """Publish and log an event."""
        level = ERROR if event.kind in ENDINGS else WARN if event.kind in WARNINGS else OK
        text = words(event)
        values = {'time': f'{event.time:.9f}', **{name: _number(value) for name, value in _details(event).items()}}
        self.publisher.publish(status_message(self.node, event.kind, Health(level, text, values)))
        if level == ERROR:  # two lines: a logger of rclpy rejects another severity from the same line of code
            self.node.get_logger().error(f'{event.kind}: {text}')
        else:
            self.node.get_logger().info(f'{event.kind}: {text}')


def _details(event: Event) -> dict[str, Any]:
    modes = {'mode_before': event.before, 'mode_after': event.after} if event.before != event.after else {}
    return {**event.details, **modes}


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f'{value:.9g}'
    if isinstance(value, list):
        return '[' + ', '.join(_number(item) for item in value) + ']'
    return str(value)


def words(event: Event) -> str:
    """Return a readable line."""
    describe = _WORDS.get(event.kind)
    return describe(event.details, f'at t = {event.time:.3f} s') if describe else str(event.details.get('text', ''))


def _relief(details: Any, at: str) -> str:
    owner = details.get('actuator', details.get('pump', ''))
    return f'{owner} {details["relief"]} relief, {1e-6 * details["pressure"]:.4g} MPa, {at}'


def _current(details: Any, at: str) -> str:
    return f'{details["actuator"]} at {details["current"]:.4g} A {at}'


def _impact(details: Any, at: str) -> str:
    double = ', double impact' if details['double'] else ''
    return f'{_wheels(details)} hits the ground with {details["speed"]:.4g} m/s {at}{double}'


def _overturned(details: Any, at: str) -> str:
    tilt = abs(details.get('tilt', details.get('pitch', math.nan)))
    return f'the base has tilted {math.degrees(tilt):.1f} degrees {at}'


def _mass(details: Any, at: str) -> str:
    return f'{details["mass_after"]:g} kg'


def _limit(details: Any, at: str) -> str:
    return f'{details["joint"]} has reached its {details["limit"]} limit {at}'


def _slip(details: Any, at: str) -> str:
    return f'{details["joint"]} moves against its friction {at}'


def _stick(details: Any, at: str) -> str:
    return f'{details["joint"]} is held by its friction {at}'


def _wheel(details: Any, at: str) -> str:
    return f'{_wheels(details)} {at}'


def _wheels(details: Any) -> str:
    return ', '.join(details.get('wheels', [details['wheel']]))


def _friction(details: Any, at: str) -> str:
    return f'{", ".join(details["wheels"])} need a friction coefficient of {details["friction_needed"]:.3f} {at}'


_WORDS: dict[str, Callable[[Any, str], str]] = {
    'lift_off': _wheel,
    'touch_down': _wheel,
    'impact': _impact,
    'contact_slips': _friction,
    'contact_sticks': _friction,
    'joint_limit': _limit,
    'joint_slip': _slip,
    'joint_stick': _stick,
    'overturned': _overturned,
    'payload': _mass,
    'payload_drop': _mass,
    'current_limited': _current,
    'current_free': _current,
    'relief_open': _relief,
    'relief_closed': _relief,
}
