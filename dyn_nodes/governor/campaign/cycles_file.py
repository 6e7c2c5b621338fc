"""Working cycles of a machine in a YAML file: target positions of the joints, phase by phase, and payloads.

cycles:
  fetch_a_log:
    payload: 0.0             # kg at the start
    speed: 0.85              # fraction of a lever's travel that the operator uses
    start: {boom_joint: 0.873, stick_joint: -1.71}   # rad or m
    phases:
      reach: {move: {boom_joint: 0.436}}
      draw_in: {payload: 1000.0, move: {boom_joint: 0.873}}
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from dyn_nodes.model.machine import Machine
from dyn_nodes.model.named_file import load_named
from dyn_nodes.model.problems import did_you_mean
from dyn_nodes.model.schema import build, collection, keys_of, named, number
from dyn_nodes.model.schema_reader import SchemaReader
from dyn_nodes.model.yaml_source import Entry
from dyn_nodes.stability.load_moment import LoadMomentIndicator


@dataclass(frozen=True)
class Phase:
    """Joints that an operator moves at the same time.

    Attributes:
        name: of the phase.
        move: target positions by joint, rad or m; the others stay.
        payload: kg from the start of the phase on; None: unchanged.
    """

    name: str
    move: Annotated[dict[str, float], collection('positions', 'where joints go')]
    payload: Annotated[float | None, number('from the beginning of the phase on', 'kg', 'non-negative')] = None


@dataclass(frozen=True)
class Cycle:
    """A working cycle.

    Attributes:
        name: of the cycle.
        start: positions by joint at the start, rad or m.
        phases: one after the other.
        payload: at the start, kg.
        speed: fraction of a lever's travel that the operator uses.
    """

    name: str
    start: Annotated[dict[str, float], collection('positions', 'where joints are at the start')]
    phases: Annotated[tuple[Phase, ...], named('one after the other', Phase)]
    payload: Annotated[float, number('at the start', 'kg', 'non-negative')] = 0.0
    speed: Annotated[float, number('part of the way of a lever that is used', '', 'positive')] = 0.85


@dataclass(frozen=True)
class _Cycles:
    cycles: Annotated[dict[str, Cycle], named('working cycles', Cycle)] = field(default_factory=dict)


def load_cycles(path: Path, machine: Machine) -> tuple[Cycle, ...]:
    """Read the cycles of a file for a machine.

    Raises:
        MachineError: with file, line, key, expected and found, for every fault.
    """
    return load_named(path, keys_of(_Cycles), 'cycles', 'a cycle at least', _Reader(machine).cycle)


def by_chart(cycle: Cycle, machine: Machine, part: float, share: float) -> Cycle:
    """Return a cycle that carries a part of the rated load instead of its payloads.

    Args:
        cycle: of the machine.
        machine: on springs, with a payload.
        part: of the least rated load at the start and the targets of the phases while the cycle carries a load.
        share: rated load over tipping load.
    """
    positions, payload = dict(cycle.start), cycle.payload
    loaded = [dict(positions)] if payload else []
    for phase in cycle.phases:
        payload = payload if phase.payload is None else phase.payload
        loaded += [dict(positions), positions | phase.move] if payload else []
        positions |= phase.move
    indicator, level = LoadMomentIndicator(machine, share), np.array([0.0, 0.0, -machine.gravity])
    load = part * min((indicator.evaluate(posture, 0.0, level).rated for posture in loaded), default=0.0)
    phases = tuple(replace(phase, payload=load) if phase.payload else phase for phase in cycle.phases)
    return replace(cycle, payload=load if cycle.payload else 0.0, phases=phases)


class _Reader:
    def __init__(self, machine: Machine) -> None:
        self.limits = {joint.name: (joint.lower, joint.upper) for joint in machine.actuated_joints}
        self.most = machine.payload.limit if machine.payload else 0.0

    def cycle(self, reader: SchemaReader, name: str, entry: Entry) -> Cycle | None:
        values = reader.table(entry, keys_of(Cycle), where=entry.path)
        listed = entry.mapping.get('phases')
        phases = [self._phase(reader, phase, inner) for phase, inner in reader.named(listed).items()]
        if listed is not None and not phases:
            reader.report.add(listed.line, listed.path, 'a phase at least', 'none')
        self._check(reader, entry, 'start', values)
        if 'speed' in values and values['speed'] > 1.0:
            reader.report.add(entry.line, f'{entry.path}.speed', 'at most 1', f'{values["speed"]:g}')
        if reader.report.failed:
            return None
        made: Cycle = build(Cycle, {**values, 'phases': tuple(phases)}, name=name)
        return made

    def _phase(self, reader: SchemaReader, name: str, entry: Entry) -> Phase | None:
        values = reader.table(entry, keys_of(Phase), where=entry.path)
        self._check(reader, entry, 'move', values)
        return None if reader.report.failed else build(Phase, values, name=name)

    def _check(self, reader: SchemaReader, entry: Entry, key: str, values: dict[str, Any]) -> None:
        """Report joints without an actuator, positions beyond their limits, and excessive payloads."""
        positions = entry.mapping.get(key)
        for joint, position in values.get(key, {}).items():
            assert positions is not None
            value = positions.mapping[joint]
            if joint not in self.limits:
                reader.report.add(value.line, value.path, 'a joint with an actuator', did_you_mean(joint, self.limits))
                continue
            lower, upper = self.limits[joint]
            if not lower <= position <= upper:
                reader.report.add(value.line, value.path, f'{lower:.4g} to {upper:.4g}', f'{position:.4g}')
        payload = values.get('payload')
        if payload is not None and payload > self.most:
            reader.report.add(entry.line, f'{entry.path}.payload', f'at most {self.most:g} kg', f'{payload:g}')
