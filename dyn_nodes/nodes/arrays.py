"""Arrays of numbers as messages, with the names of the numbers."""

from __future__ import annotations

import array
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.middleware import RUNTIME, message

Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
MultiArrayDimension = message('std_msgs/msg/MultiArrayDimension')
STAMP = 'stamp_ns='
MOST_DIGITS = 19
"""Digits of a ROS time in ns."""


def floats(values: NDArray[np.float64]) -> Any:
    """Return a copy of a vector (n,) in the form that this runtime's `float64[]` fields take without converting it."""
    copied = np.array(values, dtype=np.float64)
    return copied if RUNTIME == 'embedded' else array.array('d', copied.tobytes())


def labelled_array(names: Sequence[str], values: Iterable[float] | None = None) -> Any:
    """Return a Float64MultiArray with the names of its values, comma-separated, as the label of its one dimension.

    Args:
        names: of the values; the label is empty if their number differs.
        values: None: to be written later, one for every name.
    """
    data = None if values is None else [float(value) for value in values]
    size = len(names) if data is None else len(data)
    label = ','.join(names) if len(names) == size else ''
    result = Float64MultiArray(data=data or [])
    result.layout.dim = [MultiArrayDimension(label=label, size=size, stride=size)]
    return result


def volts_message(names: Sequence[str]) -> Any:
    """Return a labelled array for the volts of actuators and the instant that they answer.

    A second dimension of size 1 carries that instant in its label (`stamp_volts`): a Float64MultiArray has no header.
    """
    result = labelled_array(names)
    result.layout.dim = [*result.layout.dim, MultiArrayDimension(label='', size=1, stride=1)]
    return result


def stamp_volts(msg: Any, nanoseconds: int | None) -> None:
    """Write the instant, ns, of the joint states that volts answer into a `volts_message`; None: it is unknown."""
    msg.layout.dim[1].label = '' if nanoseconds is None else f'{STAMP}{nanoseconds}'


def stamp_of_volts(msg: Any) -> int | None:
    """Return the instant, ns, that volts answer; None if the message has none."""
    dimensions = msg.layout.dim
    label = dimensions[1].label if len(dimensions) > 1 else ''
    digits = label[len(STAMP) :] if label.startswith(STAMP) else ''
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= MOST_DIGITS else None
