"""Reader of loop joints of an SDF file or of `<gazebo>` elements of a URDF: second joints of a child link.

Links have the names and frames of the URDF. A joint that the URDF has, or whose child has no other joint there, closes
no loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from dyn_nodes.commands.init_closures.closure import Closures, Kind, Pair
from dyn_nodes.model.constraint import WORLD
from dyn_nodes.model.machine import Array, Machine
from dyn_nodes.model.posture import link_poses
from dyn_nodes.model.problems import Report, did_you_mean
from dyn_nodes.model.rotations import matrix_of_rpy
from dyn_nodes.model.xml_source import Element

KINDS: dict[str, Kind] = {
    'revolute': 'hinge',
    'continuous': 'hinge',
    'prismatic': 'slider',
    'ball': 'point',
    'fixed': 'frame',
}


def read(root: Element, machine: Machine, report: Report, source: str) -> Closures:
    """Return the loops of an SDF file; faults go into the report."""
    return _closures(root.iterfind('.//model/joint'), machine, report, source)


def read_gazebo(root: Element, machine: Machine, report: Report, source: str) -> Closures:
    """Return the loops that `<gazebo>` elements of a URDF close; faults go into the report."""
    return _closures(root.iterfind('gazebo/joint'), machine, report, source)


def _closures(joints: Iterable[Element], machine: Machine, report: Report, source: str) -> Closures:
    result = Closures(source)
    tree_joints = {joint.name for joint in machine.joints}
    for element in joints:
        if (element.get('name') or '') not in tree_joints:
            result.pairs += _pair(element, machine, report)
    return result


def _pair(element: Element, machine: Machine, report: Report) -> Iterator[Pair]:
    """Yield the pair of a joint; nothing after a fault."""
    name, links = element.get('name') or '', [link.name for link in machine.links]
    where = f'joint {name}'
    ends = {end: (element.findtext(end) or '').strip() for end in ('child', 'parent')}
    for end, link in ends.items():
        if link not in links and not (end == 'parent' and link == WORLD):
            actual = did_you_mean(link, links) if link else 'nothing'
            report.add(element.sourceline, f'{where}, {end}', 'a link of the URDF', actual)
    kind = KINDS.get(element.get('type') or '')
    if kind is None:
        kind_name = element.get('type') or ''
        actual = did_you_mean(kind_name, KINDS) if kind_name else 'nothing'
        report.add(element.sourceline, f'{where}, type', f'a type of {", ".join(KINDS)}', actual)
    if report.failed:
        return
    poses = link_poses(machine.links, machine.joints, {})
    pose = _pose(element, where, ends['child'], poses, report)
    axis = _axis(element, where, pose, poses, report) if kind in ('hinge', 'slider') else (0.0, 0.0, 1.0)
    if pose is not None and axis is not None and kind is not None:
        yield Pair(name, kind, ends['child'], ends['parent'], pose, axis)


def _pose(element: Element, where: str, child: str, poses: dict[str, Array], report: Report) -> Array | None:
    """Return the pose (4, 4) of the joint in the root link: relative to the child or to `relative_to`."""
    pose_element, pose = element.find('pose'), np.eye(4)
    carrier = child if pose_element is None else (pose_element.get('relative_to') or child)
    if pose_element is not None:
        values = _numbers(pose_element, 6, f'{where}, pose', report)
        if values is None:
            return None
        pose[:3, 3], pose[:3, :3] = values[:3], matrix_of_rpy(values[3:])
    if carrier not in poses:
        line = element.sourceline if pose_element is None else pose_element.sourceline
        report.add(line, f'{where}, pose, relative_to', 'a link of the URDF', did_you_mean(carrier, poses))
        return None
    return np.asarray(poses[carrier] @ pose)


def _axis(
    element: Element, where: str, pose: Array | None, poses: dict[str, Array], report: Report
) -> tuple[float, float, float] | None:
    """Return the unit axis in the frame of the joint; default z, as in SDF."""
    xyz = element.find('axis/xyz')
    if xyz is None or pose is None:
        return (0.0, 0.0, 1.0)
    values = _numbers(xyz, 3, f'{where}, axis', report)
    if values is None:
        return None
    carrier = xyz.get('expressed_in') or ''
    if carrier and carrier not in poses:
        report.add(xyz.sourceline, f'{where}, axis, expressed_in', 'a link of the URDF', did_you_mean(carrier, poses))
        return None
    if carrier:
        values = pose[:3, :3].T @ poses[carrier][:3, :3] @ values
    elif (element.findtext('axis/use_parent_model_frame') or '').strip() in ('1', 'true'):  # SDF 1.6 and older
        values = pose[:3, :3].T @ values
    length = float(np.linalg.norm(values))
    if length == 0.0:
        report.add(xyz.sourceline, f'{where}, axis', 'a direction', 'a vector of length zero')
        return None
    x, y, z = (float(value) for value in values / length)
    return x, y, z


def _numbers(element: Element, count: int, where: str, report: Report) -> Array | None:
    try:
        values = np.array([float(word) for word in (element.text or '').split()])
    except ValueError:
        values = np.zeros(0)
    if len(values) == count and np.isfinite(values).all():
        return values
    report.add(element.sourceline, where, f'{count} numbers', repr((element.text or '').strip()))
    return None
