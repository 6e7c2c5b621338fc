"""Static loads in the initial posture compared with the capacity of drives and springs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dyn_nodes.commands.build_check import CheckedStart, holding_efforts
from dyn_nodes.elements import actuator_element
from dyn_nodes.model.machine import Joint, Machine
from dyn_nodes.model.problems import Problem, Report, number
from dyn_nodes.model.xml_source import UrdfLines
from dyn_nodes.model.yaml_source import read_yaml

ROUND_OFF = 1e-9
"""Relative excess of a load over the capacity of its drive that is not reported."""
MOST_SAG = 0.7
"""Greatest permitted compression of a strut at rest over its free length."""


class StaticLoad(NamedTuple):
    """Holding effort of a joint at rest in the initial posture, and the capacity of its drive, N m or N.

    Attributes:
        load: with the payload of the file; None if the machine does not rest.
        at_payload_limit: with the greatest payload; None without a payload or if the machine does not rest with it.
        least, greatest: capacity of the actuator at breakaway, or limits of the URDF; infinite without a limit.
    """

    load: float | None
    at_payload_limit: float | None
    least: float
    greatest: float

    @property
    def beyond(self) -> bool:
        """Whether a load exceeds the capacity of the drive."""
        low, high = self.least * (1.0 + ROUND_OFF), self.greatest * (1.0 + ROUND_OFF)
        return any(load is not None and not low <= load <= high for load in (self.load, self.at_payload_limit))

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> StaticLoad:
        """Return the load from plain numbers, see `facts`."""
        least, greatest = (math.inf if facts[key] is None else facts[key] for key in ('least', 'greatest'))
        return cls(facts['load'], facts['at_payload_limit'], -least if facts['least'] is None else least, greatest)

    @property
    def facts(self) -> dict[str, float | None]:
        """Plain numbers, None for no limit."""
        return {
            name: value if value is not None and math.isfinite(value) else None
            for name, value in self._asdict().items()
        }


def static_loads(machine: Machine, start: CheckedStart | None) -> dict[str, StaticLoad]:
    """Return the static loads of the driven joints by name.

    Args:
        machine: without faults.
        start: of its plant; None if it does not rest.
    """
    present: Mapping[str, float] = {} if start is None else start.efforts
    limit: Mapping[str, float] = {}
    if machine.payload is not None and start is not None:
        same = machine.payload.limit == machine.payload.mass
        limit = present if same else holding_efforts(start, machine.payload.limit)
    return {
        joint.name: StaticLoad(present.get(joint.name), limit.get(joint.name), *_capacity(machine, joint))
        for joint in machine.actuated_joints
    }


def _capacity(machine: Machine, joint: Joint) -> tuple[float, float]:
    """Return the least and the greatest effort of the drives of a joint at its initial position."""
    drives = [actuator for actuator in machine.actuators if actuator.joint == joint.name]
    if not drives:
        return -joint.effort_limit, joint.effort_limit
    at = machine.initial.joint_positions.get(joint.name, 0.0)
    limits = [
        actuator_element(actuator).capacity(at, machine.source_limit(actuator.name), False) for actuator in drives
    ]
    return sum(float(low) for low, _ in limits), sum(float(high) for _, high in limits)


def load_warnings(machine: Machine, facts: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Return a warning for every driven joint whose static load exceeds the capacity of its drive.

    Args:
        machine: without faults.
        facts: of `machine_summary`.
    """
    joints = {joint['name']: joint['static_load'] for joint in facts['joints'] if joint['static_load']}
    loads = {name: StaticLoad.of(values) for name, values in joints.items()}
    beyond = [name for name, load in loads.items() if load.beyond]
    lines = UrdfLines(machine.sources[0]).named('joint') if beyond else {}
    return tuple(_warning(machine, name, loads[name], lines) for name in beyond)


def _warning(machine: Machine, name: str, static: StaticLoad, lines: Mapping[str, int]) -> Problem:
    unit = 'N' if machine.joint(name).type == 'prismatic' else 'N m'
    drives = [actuator.name for actuator in machine.actuators if actuator.joint == name]
    loads = [load if drives or load is None else abs(load) for load in (static.load, static.at_payload_limit)]
    shown = ['none' if load is None else f'{number(load)} {unit}' for load in loads]
    expected = f'an effort that holds its static load in the initial posture, {shown[0]}'
    if machine.payload is not None and shown[1] not in ('none', shown[0]):
        expected += f', or {shown[1]} with the greatest payload, {number(machine.payload.limit)} kg'
    if not drives:
        where, actual = f'joint {name}, limit', f'at most {number(static.greatest)} {unit}'
        return Problem(machine.sources[0], lines.get(name, 0), where, expected, actual)
    actual, config = f'{number(static.least)} to {number(static.greatest)} {unit}', machine.sources[-1]
    where = f'actuators.{drives[0]}'
    return Problem(config, _line_of(config, where), where, expected, actual)


def stance_warnings(machine: Machine, facts: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Return warnings of a machine that tips, or whose struts or tyres are compressed too far.

    Args:
        machine: without faults.
        facts: of `machine_summary`.
    """
    static, config = facts['static'], machine.sources[-1]
    if static is None:
        return ()
    if not static['stands']:
        line = _line_of(config, 'initial.joint_positions') or _line_of(config, 'wheels')
        expected = 'a posture in which the machine stands on its wheels'
        return (Problem(config, line, 'initial', expected, 'one in which it tips'),)
    warnings = []
    for contact in machine.ground_contacts:
        sag, support = static['wheels'][contact.name]['compression'], contact.supports[0]
        if sag > MOST_SAG * support.free_length:
            where = f'{support.key}.stiffness'
            expected = f'a compression at rest well below the free length, {support.free_length:.4g} m'
            line = _line_of(config, where) or _line_of(config, support.key)
            warnings.append(Problem(config, line, where, expected, f'{sag:.4g} m'))
    return tuple(warnings)


def _line_of(config: str, where: str) -> int:
    """Return the line of a dotted key in a machine YAML; 0 if the key is missing."""
    entry: Any = read_yaml(Path(config), Report(config))
    for key in where.split('.'):
        entry = entry.mapping.get(key) if entry is not None else None
    return entry.line if entry is not None else 0
