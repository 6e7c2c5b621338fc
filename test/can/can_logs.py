"""Logs of a log-loader's bus for tests: a machine that swings to and fro, and faults of its log."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import can
from can_fixtures import log_loader

from dyn_nodes.can.sender import RawFrame, Sender

PERIOD = 0.01
Change = Callable[[int, str, dict[Any, float]], bool]
"""Function that changes the quantities of instant k before a message is sent; False: do not send."""


def quantities(time: float) -> dict[Any, float]:
    """Return the measurements of the swinging machine, with boom and stick at rest."""
    swing, rate = 0.5 * math.sin(time), 0.5 * math.cos(time)
    values = {('position', 'swing_joint'): swing, ('position', 'boom_joint'): 0.8, ('position', 'stick_joint'): -1.5}
    values |= {('velocity', name): 0.0 for name in ('boom_joint', 'stick_joint')} | {('velocity', 'swing_joint'): rate}
    for k, (quantity, still) in enumerate((('angular_velocity', 0.0), ('linear_acceleration', 9.81))):
        for n, axis in enumerate('xyz'):
            values['imu', f'{quantity}_{axis}'] = 0.1 * math.sin(7.0 * time + n + k) + (still if axis == 'z' else 0.0)
    for k, name in enumerate(('boom/head', 'boom/rod', 'stick/head', 'stick/rod')):
        values['pressure', f'{name}_pressure'] = 5e6 + 1e5 * math.sin(5.0 * time + k)
    values |= {('pressure', f'swing/pressure_{side}'): 4e6 + 1e5 * math.sin(6.0 * time) for side in 'ab'}
    for k, wheel in enumerate(('front_right', 'front_left', 'rear_right', 'rear_left')):
        values['wheel_load', wheel] = 5e4 + 1e3 * math.sin(3.0 * time + k)
    return values | {('command', name): 3.0 * rate for name in ('boom', 'stick', 'swing')}


def frames(seconds: float, change: Change = lambda *_: True) -> Iterator[tuple[float, RawFrame]]:
    """Yield times, s, and frames."""
    mapping = log_loader()
    sender = Sender(mapping.frames)
    for k in range(round(seconds / PERIOD)):
        for frame in mapping.frames:
            values = quantities(k * PERIOD)
            is_due = k % round(frame.period / PERIOD) == 0 and change(k, frame.name, values)
            raw = sender.encode(frame, values) if is_due else None
            if raw is not None:
                yield k * PERIOD, raw


def write_log(path: Path, seconds: float, change: Change = lambda *_: True, clock=lambda time: time) -> Path:
    """Write a log by python-can; `clock` returns the time of the logger."""
    logger = can.Logger(str(path))
    for time, raw in frames(seconds, change):
        message = can.Message(clock(time), raw.identifier, raw.extended, data=raw.data)
        logger.on_message_received(message)
    logger.stop()
    return path
