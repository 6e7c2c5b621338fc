"""The machine of a node, its initial posture and its payload."""

from __future__ import annotations

from pathlib import Path

from dyn_nodes.model import Machine, load_machine
from dyn_nodes.model.machine import Payload
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.printing import printable
from dyn_nodes.share import find_resource


def machine_of(urdf: str, config: str) -> Machine:
    """Load the machine of a node's parameters.

    Args:
        urdf: path of a URDF, or the name of a machine of this package.
        config: path of the machine YAML, or the name of one of this package; empty: that of the machine's name, or
            none for a path.

    Raises:
        ValueError (MachineError among them): with what is wrong, in one line a problem.
    """
    if not urdf:
        raise ValueError("parameter 'machine': expected the path of a URDF or a machine's name, found nothing")
    named = '/' not in urdf and not urdf.endswith(('.urdf', '.xacro'))
    if not named and not Path(urdf).is_file():
        raise ValueError(f"parameter 'machine': no such file: {printable(urdf)}")
    source = _found('machine', f'urdf/{urdf}.urdf') if named else Path(urdf)
    if config and '/' not in config and not config.endswith(('.yaml', '.yml')):
        return load_machine(source, _found('config', f'config/{config}.yaml'))
    if named and not config:
        return load_machine(source, _found('machine', f'config/{urdf}.yaml'))
    return load_machine(source, config or None)


def _found(parameter: str, name: str) -> Path:
    """Return a file of the package. Raises ValueError that names the parameter."""
    try:
        return find_resource(name)
    except FileNotFoundError as error:
        raise ValueError(f'parameter {parameter!r}: {error}') from None


def payload_mount(machine: Machine) -> Payload:
    """Return where a machine carries its payload.

    Raises:
        ParameterError: nowhere.
    """
    if machine.payload is None:
        raise ParameterError(f'payload: machine {machine.name!r} has no payload mount')
    return machine.payload


def checked_payload(machine: Machine, mass: float) -> float:
    """Return a payload's mass if the machine can carry it, kg.

    Raises:
        ParameterError: no payload mount, or a mass that is not finite, negative or beyond the limit.
    """
    limit = payload_mount(machine).limit
    if not 0.0 <= mass <= limit:  # false for NaN too
        raise ParameterError(f'payload: expected 0 to {limit:g} kg, found {mass:g}')
    return mass


def joint_positions(text: str, machine: Machine) -> dict[str, float]:
    """Return the positions by joint of a text such as `boom_joint=0.17,stick_joint=-0.96`.

    Raises:
        ParameterError: another form, a joint that does not exist or is named twice, a position beyond its limits.
    """
    known = {joint.name: joint for joint in machine.movable_joints}
    positions: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(','))):
        name, _, number = (piece.strip() for piece in part.partition('='))
        where = f"parameter 'initial_positions': {part!r}: "
        try:
            value = float(number)
        except ValueError:
            raise ParameterError(f'{where}expected joint=position, rad or m') from None
        if name not in known:
            raise ParameterError(f'{where}unknown joint; known: {", ".join(known)}')
        if name in positions:
            raise ParameterError(f'{where}{name} is named twice')
        joint = known[name]
        if not joint.lower <= value <= joint.upper:
            raise ParameterError(f'{where}expected {joint.lower:g} to {joint.upper:g}')
        positions[name] = value
    return positions
