"""The machine of a node, its initial posture and its payload."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from dyn_nodes.common.printing import near, printable
from dyn_nodes.common.share import find_resource
from dyn_nodes.model import Machine, load_machine
from dyn_nodes.model.machine import InitialTwist, Payload
from dyn_nodes.nodes.parameters import ParameterError


def machine_of(urdf: str, config: str) -> Machine:
    """Load the machine of a node's parameters.

    Args:
        urdf: path of a URDF, or the name of a machine of this package.
        config: path of the machine YAML, or the name of one of this package; empty: the name of the machine, or no file
            for a path.

    Raises:
        ValueError (MachineError included): with the faults, one per line.
    """
    if _shared is None:
        return _loaded(urdf, config)
    if (urdf, config) not in _shared:
        _shared[urdf, config] = _loaded(urdf, config)
    return _shared[urdf, config]


_shared: dict[tuple[str, str], Machine] | None = None
"""Machines of the nodes that are created in one process; None: each node loads its machine."""


@contextmanager
def shared_machines() -> Iterator[None]:
    """Load each machine once, for nodes that are created together."""
    global _shared
    before, _shared = _shared, {}
    try:
        yield
    finally:
        _shared = before


def _loaded(urdf: str, config: str) -> Machine:
    if not urdf:
        raise ValueError("parameter 'machine': expected the path of a URDF or a machine's name, found nothing")
    named = '/' not in urdf and not urdf.endswith(('.urdf', '.xacro'))
    if not named and not Path(urdf).is_file():
        raise ValueError(f"parameter 'machine': no such file: {printable(urdf)}")
    source = _resource('machine', f'urdf/{urdf}.urdf') if named else Path(urdf)
    if config and '/' not in config and not config.endswith(('.yaml', '.yml')):
        return load_machine(source, _resource('config', f'config/{config}.yaml'))
    if named and not config:
        return load_machine(source, _resource('machine', f'config/{urdf}.yaml'))
    return load_machine(source, config or None)


def _resource(parameter: str, name: str) -> Path:
    """Return a file of the package. Raises ValueError with the parameter."""
    try:
        return find_resource(name)
    except FileNotFoundError as error:
        raise ValueError(f'parameter {parameter!r}: {error}') from None


def robot_of_team(team: str, robot: str) -> tuple[Machine, tuple[str, ...], tuple[str, ...]]:
    """Return the machine of a robot at its pose in a team, its hands that hold an object, and the fixed ones of these.

    Raises:
        ParameterError: no such robot.
        ValueError (MachineError included): with the faults of the file of the team.
    """
    from dyn_nodes.teams import load_team  # a large import that few machines need

    loaded = load_team(team)
    if robot not in loaded.robots:
        names = ', '.join(loaded.robots)
        raise ParameterError(f"parameter 'robot': expected a robot of team {loaded.name!r} ({names}), found {robot!r}")
    grasps = loaded.grasps_of(robot)
    fixed = tuple(grasp.hand for grasp in grasps if grasp.kind == 'fixed')
    return loaded.robots[robot].machine, tuple(grasp.hand for grasp in grasps), fixed


def payload_mount(machine: Machine) -> Payload:
    """Return the payload mount of a machine.

    Raises:
        ParameterError: the machine has none.
    """
    if machine.payload is None:
        raise ParameterError(f'payload: machine {machine.name!r} has no payload mount')
    return machine.payload


def checked_payload(machine: Machine, mass: float) -> float:
    """Return a payload, kg, if the machine can carry it.

    Raises:
        ParameterError: no payload mount, or a mass not finite, negative or beyond the limit.
    """
    limit = payload_mount(machine).limit
    if not 0.0 <= mass <= limit:  # false for NaN too
        raise ParameterError(f'payload: expected 0 to {limit:g} kg, found {mass:g}')
    return mass


def joint_positions(text: str, machine: Machine) -> dict[str, float]:
    """Return the positions by joint from a text such as `boom_joint=0.17,stick_joint=-0.96`.

    Raises:
        ParameterError: another form, an unknown or repeated joint, a position beyond its limits.
    """
    positions = _by_joint('initial_positions', text, machine, 'position, rad or m')
    for name, value in positions.items():
        joint = machine.joint(name)
        if not joint.lower <= value <= joint.upper:  # false for NaN too
            where = f"parameter 'initial_positions': '{name}={value:g}': "
            raise ParameterError(f'{where}expected {joint.lower:g} to {joint.upper:g}')
    return positions


def moving(machine: Machine, velocities: str, twist: str) -> Machine:
    """Return a machine with initial velocities that replace the values of its file.

    Args:
        machine: the machine.
        velocities: by joint, such as `left_drive=8,right_drive=8`, rad/s or m/s.
        twist: of the base link in its axes: x, y, z in m/s, then x, y, z in rad/s, such as `0.4,0,0,0,0,0.2`;
        empty: the twist of the file.

    Raises:
        ParameterError: another form, an unknown or repeated joint, a velocity beyond its limit, a twist that the base
            cannot have.
    """
    specified = _by_joint('initial_velocities', velocities, machine, 'velocity, rad/s or m/s')
    for name, value in specified.items():
        limit = machine.joint(name).velocity_limit
        if not abs(value) <= limit:
            text = f"parameter 'initial_velocities': '{name}={value:g}': expected at most {limit:g}"
            raise ParameterError(text)
    initial = machine.initial
    initial = replace(initial, joint_velocities={**initial.joint_velocities, **specified})
    if twist.strip():
        initial = replace(initial, base_twist=_twist(machine, twist))
    return replace(machine, initial=initial)


def _twist(machine: Machine, text: str) -> InitialTwist:
    where = "parameter 'initial_twist': expected "
    try:
        values = [float(part) for part in text.split(',')]
    except ValueError:
        values = []
    if len(values) != 6 or not all(map(math.isfinite, values)):
        raise ParameterError(f'{where}six finite numbers, found {text!r}')
    x, y, z, roll, pitch, yaw = values
    stuck = {'free': [], 'planar': [y, roll, yaw], 'fixed': values}[machine.base.attachment]
    if any(stuck):
        raise ParameterError(f'{where}a motion that a {machine.base.attachment} base can have, found {text!r}')
    return InitialTwist((x, y, z), (roll, pitch, yaw))


def _by_joint(parameter: str, text: str, machine: Machine, expected: str) -> dict[str, float]:
    """Return numbers by joint from a text such as `boom_joint=0.17,stick_joint=-0.96`. Raises ParameterError."""
    joints = [joint.name for joint in machine.movable_joints]
    values: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(','))):
        name, _, number = (piece.strip() for piece in part.partition('='))
        where = f'parameter {parameter!r}: {part!r}: '
        try:
            value = float(number)
        except ValueError:
            raise ParameterError(f'{where}expected joint={expected}') from None
        if name.removesuffix(':') in joints and name not in joints:
            raise ParameterError(f'{where}expected joint={expected} (did you mean {part.replace(":=", "=")!r}?)')
        if name not in joints:
            raise ParameterError(f'{where}unknown joint; known: {", ".join(joints)}{near(name, joints)}')
        if name in values:
            raise ParameterError(f'{where}{name} is named twice')
        values[name] = value
    return values
