"""Condition for the start of a task's recovery by a supervisor."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from dyn_nodes.measures import MEASURES

LIFT_OFF = 'lift_off'
EVENTS = (LIFT_OFF,)
LOAD_SHARE = 'load_share'
CLOCK = 'clock'
FORM = f'{CLOCK}, {LIFT_OFF} or <measure> < <value>'


@dataclass(frozen=True)
class RecoverOn:
    """An event of the machine, or a measure below a value, and the time until the supervisor acts.

    The supervisor monitors the reports of a measure. With `lift_off` this is `load_share`, the least share of the load
    on any wheel, which is 0 if a wheel is off the ground and so replaces a lost event.

    Attributes:
        event: `lift_off`, or '' with a measure.
        measure: name of a stability measure, or '' with an event.
        below: value of the measure below which the recovery starts, in its SI unit.
        delay: from the event to the start of the recovery, s: the reaction time of a person or a computer.
        timeout: time without a report of the measure after which the task is stopped, s.

    Raises:
        ValueError: neither or both of event and measure, an unknown one, or a number out of range.
    """

    event: str = ''
    measure: str = ''
    below: float = 0.0
    delay: float = 0.0
    timeout: float = 0.5

    def __post_init__(self) -> None:
        if bool(self.event) == bool(self.measure):
            raise ValueError(
                'recover_on: expected an event or a measure, found ' + ('both' if self.event else 'neither')
            )
        if self.event and self.event not in EVENTS:
            raise ValueError(f'event: expected {" or ".join(EVENTS)}, found {self.event!r}')
        if self.measure and self.measure not in MEASURES:
            raise ValueError(f'measure: expected one of {", ".join(MEASURES)}, found {self.measure!r}')
        if not math.isfinite(self.below):
            raise ValueError(f'below: expected a finite number, found {self.below:g}')
        if not 0.0 <= self.delay <= 60.0:
            raise ValueError(f'delay: expected 0 to 60 s, found {self.delay:g}')
        if not 0.05 <= self.timeout <= 10.0:
            raise ValueError(f'timeout: expected 0.05 to 10 s, found {self.timeout:g}')

    @property
    def watched(self) -> str:
        """Name of the measure that the supervisor monitors."""
        return self.measure or LOAD_SHARE

    def is_reached(self, value: float) -> bool:
        """Return whether a value of the monitored measure starts the recovery."""
        return value < self.below if self.measure else value <= 0.0

    def __str__(self) -> str:
        return self.event or f'{self.measure} < {self.below:g}'


def recover_on(text: str, default: RecoverOn | None, delay: float = -1.0) -> RecoverOn | None:
    """Return the condition of a text such as `lift_off` or `force_angle < 0.1`; None for `clock`.

    Args:
        text: '': the default.
        default: of the task; its timeout also applies to the text.
        delay: replaces the task's delay, s; negative: the task's delay.

    Raises:
        ValueError: another form, or as `RecoverOn`.
    """
    timeout = RecoverOn(LIFT_OFF).timeout if default is None else default.timeout
    delay = delay if delay >= 0.0 else 0.0 if default is None else default.delay
    if text == CLOCK:
        return None
    if not text:
        return None if default is None else RecoverOn(default.event, default.measure, default.below, delay, timeout)
    if text in EVENTS:
        return RecoverOn(text, delay=delay, timeout=timeout)
    match = re.fullmatch(r'(\w+)\s*<\s*(\S+)', text)
    try:
        measure, below = (match[1], float(match[2])) if match else ('', 0.0)
    except ValueError:
        measure = ''
    if not measure:
        raise ValueError(f'recover_on: expected {FORM}, found {text!r}')
    return RecoverOn(measure=measure, below=below, delay=delay, timeout=timeout)
