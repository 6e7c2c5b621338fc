"""Warnings of numbers of a machine that are probably in another unit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from dyn_nodes.model.actuator import Drive
from dyn_nodes.model.config import read_config
from dyn_nodes.model.machine import Actuator, Machine
from dyn_nodes.model.magnitudes import bodies, ground, settings
from dyn_nodes.model.magnitudes.geometry import Geometry
from dyn_nodes.model.magnitudes.relation import Quantity, Relation, doubts
from dyn_nodes.model.posture import moved_inertia
from dyn_nodes.model.problems import Problem, Report
from dyn_nodes.model.shapes import Shapes
from dyn_nodes.model.source_map import SourceMap
from dyn_nodes.model.xml_source import UrdfLines
from dyn_nodes.model.yaml_source import read_yaml

LEAST_OF_A_CUBE = 0.01
"""Mass of a machine over the cube of its greatest extent, kg/m3; tower cranes have 0.05 and more."""


def magnitude_warnings(machine: Machine, shapes: Shapes, loads: Mapping[str, float]) -> tuple[Problem, ...]:
    """Return a warning for every number that contradicts the others, with its probable unit.

    Args:
        machine: without faults.
        shapes: of its links.
        loads: normal force of each wheel and contact at rest, N; empty if the machine does not rest.
    """
    geometry = Geometry(machine, shapes)
    relations = list(machine_relations(geometry, loads))
    if all(one.holds(one.value) for one in relations):
        return tuple(_cube(geometry))
    warnings: list[Problem] = []
    config = machine.sources[-1]
    source_map, lines = _source_map(config if len(machine.sources) > 1 else None), UrdfLines(machine.sources[0])
    seen = set()
    for doubt in doubts(relations, source_map.written):
        where = source_map.written(doubt.quantity.where)
        if (where, doubt.relation.name) in seen:
            continue
        seen.add((where, doubt.relation.name))
        in_urdf = where.startswith(('link ', 'joint '))
        file, line = (
            (machine.sources[0], lines.of(where)) if in_urdf else (config, source_map.line(doubt.quantity.where))
        )
        warnings.append(Problem(file, line, where, doubt.expected, doubt.found))
    files = machine.sources
    return (*sorted(warnings, key=lambda warning: (files.index(warning.file), warning.line)), *_cube(geometry))


def machine_relations(geometry: Geometry, loads: Mapping[str, float]) -> Iterator[Relation]:
    """Yield the relations of a machine's numbers; arguments as for `magnitude_warnings`."""
    yield from bodies.links(geometry)
    yield from bodies.joints(geometry)
    yield from ground.contacts(geometry, loads)
    yield from settings.settings(geometry, loads)
    for actuator in geometry.machine.actuators:
        yield from actuator.relations(_drive(actuator, geometry))


def _drive(actuator: Actuator, geometry: Geometry) -> Drive:
    machine = geometry.machine
    joint, pump = machine.joint(actuator.joint), machine.pump_of(actuator.name)
    inertia = moved_inertia(machine, joint, geometry.poses) or math.inf
    if pump is None:
        return Drive(joint, inertia, geometry.extent)
    flow = Quantity(f'pumps.{pump.name}.flow', pump.flow, 'm3/s')
    relief = Quantity(f'pumps.{pump.name}.relief_pressure', pump.relief_pressure, 'Pa')
    return Drive(joint, inertia, geometry.extent, flow, relief)


def _cube(geometry: Geometry) -> Iterator[Problem]:
    mass, extent = geometry.machine.total_mass, geometry.extent
    least = LEAST_OF_A_CUBE * extent**3
    if 0.0 < mass < least < math.inf:
        expected = f'at least {least:.3g} kg of a machine that measures {extent:.3g} m'
        actual = f'{mass:.4g} kg (are the masses in tonnes, or the lengths in millimetres?)'
        yield Problem(geometry.machine.sources[0], 0, 'masses', expected, actual)


def _source_map(config: str | None) -> SourceMap:
    """Return the lines of the values of a machine YAML."""
    if config is None:
        return SourceMap()
    aside = Report(config)
    root = read_yaml(Path(config), aside)
    return SourceMap() if root is None else read_config(root, '', aside).source_map
