"""Commands of joints from messages: efforts, positions and velocities, one interface or several in a message.

A `JointState` commands each named joint by the interfaces that have a finite value for it; NaN is no command. An array
has one value for each name, or, as the hardware component JointStateTopicSystem of ros2_control writes it, one value
for each named joint with that command interface in the `<ros2_control>` blocks of the URDF, in the order of the names
(topic_based_hardware_interfaces 1.1.0, `JointStateTopicSystem::write`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import numpy as np
from lxml import etree

from dyn_nodes.common.arrays import Array, Flags
from dyn_nodes.nodes.commands import RejectedError

QUANTITIES = ('position', 'velocity', 'effort')


class JointCommand(NamedTuple):
    """Commands of n joints; NaN: no command by this interface.

    Attributes:
        position: (n,) rad or m.
        velocity: (n,) rad/s or m/s.
        effort: (n,) N m or N.
        is_effort: every driven joint has an effort; the efforts of passive joints are zero.
    """

    position: Array
    velocity: Array
    effort: Array
    is_effort: bool = False

    @property
    def commanded(self) -> Flags:
        """Return the joints (n,) that have a command."""
        return np.isfinite(self.position) | np.isfinite(self.velocity) | np.isfinite(self.effort)


def command_interfaces(urdf: str) -> dict[str, set[str]]:
    """Return the command interfaces of each joint of the `<ros2_control>` blocks of a URDF."""
    result: dict[str, set[str]] = {}
    for joint in etree.fromstring(urdf.encode('utf-8')).findall('ros2_control/joint'):
        names = {interface.get('name', '') for interface in joint.findall('command_interface')}
        result.setdefault(joint.get('name', ''), set()).update(names)
    return result


def joint_values(
    message: Any,
    joints: Sequence[str],
    limits: Array,
    topic: str = 'joint_command',
    passive: Mapping[str, str] | None = None,
    interfaces: Mapping[str, AbstractSet[str]] | None = None,
    partial: bool = False,
) -> JointCommand:
    """Check a JointState command and sort it into the machine's order.

    Args:
        message: sensor_msgs/JointState.
        joints: n names of the machine's joints.
        limits: (n,) greatest effort of each, N m or N, inf for none.
        topic: for messages.
        passive: class by name of the joints without a drive; they may be named without a value.
        interfaces: command interfaces by joint, for arrays with values of some names.
        partial: named joints may have no command; otherwise each needs a finite value.

    Raises:
        RejectedError: unknown, passive, missing or repeated joint, wrong size, not finite, an effort beside a position
            or velocity, beyond the effort limit, empty.
    """
    plain = _plain_efforts(message, joints, limits) if not passive else None
    if plain is not None:
        nothing = np.full(len(joints), np.nan)
        return JointCommand(nothing, nothing, plain, True)
    names = list(message.name)
    _check_names(names, joints, topic)
    columns = {q: _column(message, q, names, interfaces, topic) for q in QUANTITIES}
    if not names or all(column is None for column in columns.values()):
        raise RejectedError('wrong size', f'{topic}: neither effort nor position nor velocity given')
    indices = [joints.index(name) for name in names]
    table = np.full((len(QUANTITIES), len(joints)), np.nan)
    for row, column in zip(table, columns.values()):
        if column is not None:
            row[indices] = column
    command = JointCommand(*table)
    _check_assignment(command, joints, names, passive or {}, partial, topic)
    if not np.isfinite(command.effort).any():
        return command
    return _with_efforts(command, joints, limits, names, passive or {}, topic)


def _plain_efforts(message: Any, joints: Sequence[str], limits: Array) -> Array | None:
    """Return the efforts of a valid command of all joints in their order; None if it needs further checks."""
    if len(message.position) or len(message.velocity) or tuple(message.name) != tuple(joints):
        return None
    efforts = np.array(message.effort, dtype=np.float64)
    if efforts.shape != limits.shape:
        return None
    for value, limit in zip(efforts.tolist(), limits.tolist()):
        if not (math.isfinite(value) and abs(value) <= limit):
            return None
    return efforts


def _check_names(names: Sequence[str], joints: Sequence[str], topic: str) -> None:
    for name in names:
        if name not in joints:
            raise RejectedError('unknown joint', f'{topic}: unknown joint {name!r}; known: {", ".join(joints)}')
    if len(set(names)) != len(names):
        raise RejectedError('wrong size', f'{topic}: a joint is named twice: {", ".join(names)}')


def _column(
    message: Any, quantity: str, names: list[str], interfaces: Mapping[str, AbstractSet[str]] | None, topic: str
) -> Array | None:
    """Return the values of a quantity by name, NaN for none; None if the message has no such array."""
    values = np.asarray(getattr(message, quantity), dtype=np.float64)
    if not values.size:
        return None
    owners = list(range(len(names)))
    if values.size != len(names):
        owners = [k for k, name in enumerate(names) if quantity in (interfaces or {}).get(name, ())]
        if values.size != len(owners):
            raise RejectedError('wrong size', f'{topic}: {_sizes(quantity, names, owners, interfaces, values.size)}')
    column = np.full(len(names), np.nan)
    column[owners] = values
    bad = np.flatnonzero(np.isinf(column))
    if len(bad):
        k = int(bad[0])
        text = f'{topic}: {quantity} of {names[k]!r}: expected a finite number, found {column[k]}'
        raise RejectedError('not finite', text)
    return column


def _sizes(
    quantity: str,
    names: Sequence[str],
    owners: Sequence[int],
    interfaces: Mapping[str, AbstractSet[str]] | None,
    size: int,
) -> str:
    expected = f'expected {len(names)} values of {quantity}'
    if owners:
        some = ', '.join(names[k] for k in owners)
        return f'{expected}, or {len(owners)} of the joints with that command interface ({some}), found {size}'
    advice = '' if interfaces or size > len(names) else '; fewer need a <ros2_control> block with the interfaces'
    return f'{expected}, found {size}{advice}'


def _check_assignment(
    command: JointCommand,
    joints: Sequence[str],
    names: Sequence[str],
    passive: Mapping[str, str],
    partial: bool,
    topic: str,
) -> None:
    """Check that each named joint has one command, and that passive joints have none. Raises RejectedError."""
    commanded = command.commanded
    both = np.isfinite(command.effort) & (np.isfinite(command.position) | np.isfinite(command.velocity))
    for name in names:
        k = joints.index(name)
        if name in passive and commanded[k]:
            raise RejectedError('passive joint', f'{topic}: joint {name!r} is {passive[name]}: nothing drives it')
        if both[k]:
            text = f'{topic}: {name!r}: expected an effort, or a position and velocity, found both'
            raise RejectedError('two commands', text)
        if not (partial or commanded[k] or name in passive):
            text = f'{topic}: {name!r}: expected a finite position, velocity or effort, found nan'
            raise RejectedError('not finite', text)


def _with_efforts(
    command: JointCommand,
    joints: Sequence[str],
    limits: Array,
    names: Sequence[str],
    passive: Mapping[str, str],
    topic: str,
) -> JointCommand:
    """Return a command with efforts within their limits. Raises RejectedError."""
    missing = [joint for joint in joints if joint not in names and joint not in passive]
    if missing:
        raise RejectedError('missing joint', f'{topic}: no effort for {", ".join(missing)}')
    over = np.flatnonzero(np.abs(command.effort) > limits)
    if len(over):
        k = int(over[0])
        text = f'{topic}: effort of {joints[k]!r}: expected at most {limits[k]:g}, found {command.effort[k]:g}'
        raise RejectedError('out of range', text)
    driven = np.array([joint not in passive for joint in joints])
    if np.isfinite(command.effort[driven]).all():
        return command._replace(effort=np.where(driven, command.effort, 0.0), is_effort=True)
    return command
