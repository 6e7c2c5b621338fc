"""A planned motion of a vehicle with joints: base and joints at points in time, from a YAML file.

    points:
      start: {time: 0.0}
      there: {time: 2.0, base: [1.0, 0.0, 0.3], joints: {arm_elbow: 1.2}}

Between the points, base and joints follow cubic splines with continuous accelerations, at rest at both ends. A point
without base or joints keeps the values of the previous point, the first point the values of the machine.
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.named_file import load_file
from dyn_nodes.model.problems import MachineError, Report
from dyn_nodes.model.schema import build, collection, keys_of, named, number, text, vector
from dyn_nodes.model.schema_reader import SchemaReader
from dyn_nodes.model.yaml_source import Entry

SOONEST = 1e-3
"""Least time between two points, s."""
Reference = tuple[Array, Array, Array]


@dataclass(frozen=True)
class PlanPoint:
    """Positions of base and joints at a time."""

    time: Annotated[float, number('from the start of the motion', 's', 'non-negative')]
    base: Annotated[
        tuple[float, float, float] | None, vector('x and y of the base link on the ground, m, and its heading, rad')
    ] = None
    joints: Annotated[dict[str, float], collection('positions', 'by joint name', 'rad or m')] = field(
        default_factory=dict
    )
    name: str = ''
    line: int = 0


@dataclass(frozen=True)
class _PlanFile:
    machine: Annotated[str, text('name of a machine of this package, or its URDF')]
    points: Annotated[dict[str, PlanPoint], named('points in the order of their times', PlanPoint)]
    config: Annotated[str, text("machine YAML; empty: the named machine's")] = ''
    payload: Annotated[float | None, number("in the implement; absent: the machine's", 'kg', 'non-negative')] = None
    name: Annotated[str, text('of the motion')] = ''
    description: Annotated[str, text('shown with results')] = ''


class MotionPlan(NamedTuple):
    """A motion and its machine.

    Attributes:
        name: name of the motion.
        machine: machine that moves.
        payload: kg.
        times: (m,) times of the points, s, the first one 0.
        base: (m, 3) x, y, heading of the base link on the ground, m and rad.
        joints: (m, n) positions of the movable joints, in the machine's order.
        payload_specified: whether the plan specifies the payload; else it is the payload of the machine.
    """

    name: str
    machine: Machine
    payload: float
    times: Array
    base: Array
    joints: Array
    payload_specified: bool = True

    def sampled(self, times: Array) -> tuple[Reference, Reference]:
        """Return positions, rates and accelerations of base (t, 3), in axes of the ground, and joints (t, n)."""
        base, joints = (
            CubicSpline(self.times, values, bc_type='clamped') for values in (self.base, self.joints)
        )  # fmt: skip
        first, second = (tuple(np.asarray(curve(times, k)) for k in range(3)) for curve in (base, joints))
        return (first[0], first[1], first[2]), (second[0], second[1], second[2])


def load_motion_plan(path: str | Path, machine_of: Callable[[str, str], Machine]) -> MotionPlan:
    """Return the motion of a file.

    Args:
        path: path of the YAML file.
        machine_of: loads a machine from the keys `machine` and `config`; raises ValueError.

    Raises:
        MachineError: with file, line, key, expected and found value for every error.
    """
    return load_file(path, lambda root, report: _read(root, SchemaReader(report), machine_of))


def _read(root: Entry, reader: SchemaReader, machine_of: Callable[[str, str], Machine]) -> MotionPlan | None:
    values = reader.table(root, keys_of(_PlanFile))
    listed = values.get('points')
    entries = reader.named(listed if isinstance(listed, Entry) else None)
    if reader.report.failed:
        return None
    machine = _machine(values, reader, machine_of)
    points = [_point(reader, name, entry) for name, entry in entries.items()]
    if machine is None or reader.report.failed:
        return None
    complete = [point for point in points if point is not None]
    _check_times(complete, root.line, reader.report)
    for point in complete:
        _check_joints(point, machine, reader.report)
    payload = values['payload']
    if payload is not None and (machine.payload is None or payload > machine.payload.limit):
        limit = 'a machine with a payload' if machine.payload is None else f'at most {machine.payload.limit:g} kg'
        reader.report.add(reader.entries['payload'].line, 'payload', limit, f'{payload:g}')
    if reader.report.failed:
        return None
    default = 0.0 if machine.payload is None else machine.payload.mass
    base, joints = _filled(complete, machine)
    times = np.array([point.time for point in complete])
    mass = default if payload is None else float(payload)
    return MotionPlan(str(values['name']), machine, mass, times, base, joints, payload is not None)


def _machine(
    values: Mapping[str, Any], reader: SchemaReader, machine_of: Callable[[str, str], Machine]
) -> Machine | None:
    try:
        return machine_of(str(values['machine']), str(values['config']))
    except MachineError:
        raise
    except ValueError as error:
        reader.report.add(reader.entries['machine'].line, 'machine', 'a machine that can be loaded', str(error))
        return None


def _point(reader: SchemaReader, name: str, entry: Entry) -> PlanPoint | None:
    values = reader.table(entry, keys_of(PlanPoint), where=entry.path)
    return None if reader.report.failed else build(PlanPoint, values, name=name, line=entry.line)


def _check_times(points: list[PlanPoint], line: int, report: Report) -> None:
    if len(points) < 2:
        report.add(line, 'points', 'at least two points', f'{len(points)}')
    elif points[0].time != 0.0:
        report.add(points[0].line, f'points.{points[0].name}.time', '0 at the first point', f'{points[0].time:g}')
    for before, point in itertools.pairwise(points):
        if not point.time >= before.time + SOONEST:
            where = f'points.{point.name}.time'
            report.add(point.line, where, f'a time at least {SOONEST:g} s after {before.time:g} s', f'{point.time:g}')


def _check_joints(point: PlanPoint, machine: Machine, report: Report) -> None:
    joints = {joint.name: joint for joint in machine.movable_joints}
    for name, position in point.joints.items():
        where = f'points.{point.name}.joints.{name}'
        if name not in joints:
            report.add(point.line, where, f'a joint of {machine.name}: {", ".join(joints)}', name)
        elif not joints[name].lower <= position <= joints[name].upper:
            report.add(point.line, where, f'{joints[name].lower:g} to {joints[name].upper:g}', f'{position:g}')


def _filled(points: list[PlanPoint], machine: Machine) -> tuple[Array, Array]:
    """Return base (m, 3) and joints (m, n) of all points."""
    start = machine.initial
    base = np.array([start.base_position[0], start.base_position[1], start.base_yaw])
    joints = {joint.name: start.joint_positions.get(joint.name, 0.0) for joint in machine.movable_joints}
    rows = []
    for point in points:
        base = base if point.base is None else np.array(point.base)
        joints = {**joints, **point.joints}
        rows.append((base, np.array(list(joints.values()))))
    return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
