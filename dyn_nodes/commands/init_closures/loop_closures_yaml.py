"""`loop_closures.yaml` of sw2robot, the SolidWorks exporter of jsk-ros-pkg (solidworks_urdf_exporter2).

`closures` lists the hinges that close loops: `link_a`, `link_b`, and `point` and `axis` in axes of the root link with
all joints at 0. `dependent` joints are passive, `independent` joints are driven.
"""

from __future__ import annotations

import numpy as np

from dyn_nodes.commands.init_closures.closure import Closures, Pair
from dyn_nodes.model.machine import Array, Machine
from dyn_nodes.model.problems import Report, did_you_mean
from dyn_nodes.model.yaml_source import Entry

LEAST_AXIS = 1e-9


def read(root: Entry, machine: Machine, report: Report, source: str) -> Closures:
    """Return the loops of the file; faults go into the report."""
    result = Closures(source)
    entry = root.mapping.get('closures')
    if entry is None or entry.kind != 'list':
        actual = ', '.join(root.mapping) if entry is None else entry.describe()
        report.add(root.line if entry is None else entry.line, 'closures', 'a list of closures', actual or 'nothing')
        return result
    for item in entry.items:
        pair = _pair(item, machine, report)
        if pair is not None:
            result.pairs.append(pair)
    names = {key: _joints(root.mapping.get(key), machine, report) for key in ('dependent', 'independent')}
    if names['independent'] is not None:
        result.driven = names['independent']
    elif names['dependent'] is not None:
        result.driven = {joint.name for joint in machine.movable_joints} - names['dependent']
    return result


def _pair(entry: Entry, machine: Machine, report: Report) -> Pair | None:
    links, names = [], [link.name for link in machine.links]
    for key in ('link_a', 'link_b'):
        value = entry.mapping.get(key)
        name = value.text if value is not None else ''
        links.append(name)
        if name not in names:
            line, actual = (entry.line, 'nothing') if value is None else (value.line, did_you_mean(name, names))
            report.add(line, f'{entry.path}.{key}', 'a link of the URDF', actual)
    point, axis = (_vector(entry, key, report) for key in ('point', 'axis'))
    if point is None or axis is None or not set(links) <= set(names):
        return None
    length = float(np.linalg.norm(axis))
    if length < LEAST_AXIS:
        report.add(entry.mapping['axis'].line, f'{entry.path}.axis', 'a direction', 'a vector of length zero')
        return None
    pose = np.eye(4)
    pose[:3, 3] = point
    x, y, z = (float(part) for part in axis / length)
    return Pair('', 'hinge', links[0], links[1], pose, (x, y, z))


def _vector(entry: Entry, key: str, report: Report) -> Array | None:
    value = entry.mapping.get(key)
    try:
        values = np.array([float(item.text) for item in value.items]) if value is not None else np.zeros(0)
    except ValueError:
        values = np.zeros(0)
    if len(values) == 3 and np.isfinite(values).all():
        return values
    line, actual = (entry.line, 'nothing') if value is None else (value.line, value.describe())
    report.add(line, f'{entry.path}.{key}', 'three numbers', actual)
    return None


def _joints(entry: Entry | None, machine: Machine, report: Report) -> set[str] | None:
    """Return the joints of a list; None without a list. Names that are not in the URDF are left out."""
    if entry is None or entry.kind != 'list':
        return None
    names = [joint.name for joint in machine.movable_joints]
    for item in entry.items:
        if item.text not in names:
            actual = f'{did_you_mean(item.text, names)}, left out'
            report.warn(item.line, entry.path, 'movable joints of the URDF', actual)
    return {item.text for item in entry.items if item.text in names}
