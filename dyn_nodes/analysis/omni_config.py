"""A platform on omnidirectional wheels from one YAML file: geometry, inertia, drives and their limits (saha-1991, 4.5).

    platform: {mass: 32.0, yaw_inertia: 1.7067}
    defaults:
      wheel: {radius: 0.1, roller_radius: 0.01, mass: 2.0, axial_inertia: 0.01, diametral_inertia: 0.00515}
    wheels:
      front: {position: [0.3, 0.0], hub: 0.0, roller: deg(90), torque_limit: 0.5}

The wheels have the order of the file. Angles in the plane are measured from the platform's x axis, about z.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dyn_nodes.analysis.omni_keys import OmniPlatform, OmniWheelEntry, omni_keys
from dyn_nodes.common.arrays import Array
from dyn_nodes.control.torque_distribution import TorqueDistribution
from dyn_nodes.model.named_file import load_file
from dyn_nodes.model.problems import Report, did_you_mean
from dyn_nodes.model.schema import build, keys_of
from dyn_nodes.model.schema_reader import SchemaReader, Values, overlay
from dyn_nodes.model.yaml_source import Entry
from dyn_nodes.multibody.omni_vehicle import OmniVehicle, OmniWheel

LEAST_DRIVES = 3
PARALLEL = 1e-9
"""Sine of the angle between roller and hub below which a wheel is conventional."""

COORDINATES = ('position', 'distance', 'direction')


@dataclass(frozen=True)
class OmniMachine:
    """A vehicle, the names of its wheels, and the limits of its drives.

    Attributes:
        name: name of the vehicle.
        vehicle: geometry and inertia.
        wheels: names, in order.
        limits, weights: (wheels,) torque limits of the motors, N m (infinity without a limit), and weights in the
            effort.
    """

    name: str
    vehicle: OmniVehicle
    wheels: tuple[str, ...]
    limits: Array
    weights: Array

    @property
    def drives(self) -> tuple[str, ...]:
        """Names of the driven wheels."""
        return tuple(name for name, driven in zip(self.wheels, self.vehicle.driven) if driven)

    def distribution(self) -> TorqueDistribution:
        """Return the distribution of a wrench over the drives."""
        driven = self.vehicle.driven
        limit = self.limits[driven]
        return TorqueDistribution(self.vehicle.L_driven, -limit, limit, self.weights[driven], self.drives)

    def with_drives(self, names: Sequence[str]) -> OmniMachine:
        """Return the vehicle with motors on these wheels only.

        Raises:
            ValueError: an unknown wheel, or drives that cannot produce every motion.
        """
        for name in names:
            self._index(name)
        wheels = [replace(wheel, driven=name in names) for name, wheel in zip(self.wheels, self.vehicle.wheels)]
        fault = drive_fault([w for w, wheel in zip(self.wheels, wheels) if wheel.driven], wheels)
        if fault is not None:
            raise ValueError(f'expected {fault[0]}, found {fault[1]}')
        return replace(self, vehicle=OmniVehicle(wheels, self.vehicle.mass, self.vehicle.yaw_inertia))

    def with_limits(self, limits: Mapping[str, float]) -> OmniMachine:
        """Return the vehicle with these limits, N m, instead of the file's. Raise ValueError for an unknown wheel."""
        values = self.limits.copy()
        for name, limit in limits.items():
            values[self._index(name)] = limit
        return replace(self, limits=values)

    def with_weights(self, weights: Mapping[str, float]) -> OmniMachine:
        """Return the vehicle with these weights instead of the file's. Raise ValueError for an unknown wheel."""
        values = self.weights.copy()
        for name, weight in weights.items():
            values[self._index(name)] = weight
        return replace(self, weights=values)

    def _index(self, name: str) -> int:
        if name not in self.wheels:
            raise ValueError(f'expected a wheel of {self.name}, found {did_you_mean(name, self.wheels)}')
        return self.wheels.index(name)


def drive_fault(names: Sequence[str], wheels: Sequence[OmniWheel]) -> tuple[str, str] | None:
    """Return the expected and the found drives; None if they can produce every motion."""
    if len(names) < LEAST_DRIVES:
        actual = f'{len(names)} ({", ".join(names)})' if names else 'none'
        return 'three or more driven wheels, because the platform has three motions', actual
    rates = OmniVehicle(wheels).L_driven
    rank = int(np.linalg.matrix_rank(rates))
    if rank < LEAST_DRIVES:
        actual = f'rank {rank} of {", ".join(names)}: their rollers are parallel, or their axes meet in one point'
        return 'driven wheels that produce every motion of the platform', actual
    return None


def load_omni_machine(path: str | Path) -> OmniMachine:
    """Return the vehicle of a file.

    Raises:
        MachineError: with file, line, key, expected and found value for every error.
    """
    return load_file(path, lambda root, report: _read(root, report, Path(path).stem))


def _read(root: Entry, report: Report, stem: str) -> OmniMachine | None:
    reader = SchemaReader(report)
    values = reader.table(root, omni_keys())
    defaults = root.mapping.get('defaults')
    shared = defaults.mapping.get('wheel') if defaults is not None else None
    listed = values.get('wheels')
    entries = reader.named(listed if isinstance(listed, Entry) else None)
    pairs = {name: _wheel(reader, entry, shared) for name, entry in entries.items()}
    if report.failed:
        return None
    platform: OmniPlatform = build(OmniPlatform, values['platform'])
    wheels = {name: pair for name, pair in pairs.items() if pair is not None}
    line = listed.line if isinstance(listed, Entry) else 0
    fault = drive_fault([name for name, (wheel, _) in wheels.items() if wheel.driven], [w for w, _ in wheels.values()])
    if fault is not None:
        report.add(line, 'wheels', *fault)
        return None
    return OmniMachine(
        str(values['name'] or stem),
        OmniVehicle([wheel for wheel, _ in wheels.values()], platform.mass, platform.yaw_inertia),
        tuple(wheels),
        np.array([math.inf if entry.torque_limit is None else entry.torque_limit for _, entry in wheels.values()]),
        np.array([entry.weight for _, entry in wheels.values()]),
    )


def _wheel(reader: SchemaReader, written: Entry, shared: Entry | None) -> tuple[OmniWheel, OmniWheelEntry] | None:
    if written.kind != 'map':
        reader.report.add(written.line, written.path, 'a mapping', written.describe())
        return None
    merged = overlay(shared, written) or written
    values = reader.table(merged, keys_of(OmniWheelEntry), where=written.path)
    centre = _centre(reader.report, written, merged, values)
    entry: OmniWheelEntry | None = build(OmniWheelEntry, values)
    if centre is None or entry is None:
        return None
    if abs(math.sin(entry.roller)) < PARALLEL:
        angle = merged.mapping['roller']
        expected = 'an angle other than 0 and pi: rollers along the hub make a conventional wheel'
        reader.report.add(angle.line, angle.path, expected, f'{entry.roller:.6g} rad')
        return None
    sizes = (entry.radius, entry.roller_radius, entry.mass, entry.axial_inertia, entry.diametral_inertia)
    return OmniWheel(entry.roller, entry.hub, *centre, *sizes, entry.driven), entry


def _centre(report: Report, written: Entry, merged: Entry, values: Values) -> tuple[float, float] | None:
    """Return direction and distance of the wheel's centre, from either coordinates of the file."""
    present = {name for name in COORDINATES if name in merged.mapping}
    if present - set(values):
        return None  # an error in one of them is reported already
    if present not in ({'position'}, {'distance', 'direction'}):
        actual = ' and '.join(name for name in COORDINATES if name in present) or 'nothing'
        report.add(written.line, written.path, 'either position, or distance and direction', actual)
        return None
    position, distance, direction = (values.get(name) for name in COORDINATES)
    if isinstance(position, tuple):
        return math.atan2(position[1], position[0]), math.hypot(*position)
    if isinstance(distance, float) and isinstance(direction, float):
        return direction, distance
    report.add(written.line, written.path, 'a position of the wheel', 'nothing')  # present, but empty
    return None
