"""Reader of `<equality>` of an MJCF file whose bodies and joints have the names of the URDF's links and joints.

`connect` becomes a point, two points between the same bodies a hinge; `weld` becomes a frame, and `joint1` of
`joint` a mimic joint of `joint2`. Joints with an actuator are driven.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.spatial.transform import Rotation

from dyn_nodes.commands.init_closures.closure import Closures, Pair, hinges_of_points
from dyn_nodes.model.constraint import WORLD
from dyn_nodes.model.machine import Array, Machine
from dyn_nodes.model.mimic import Mimic
from dyn_nodes.model.posture import link_poses
from dyn_nodes.model.problems import Report, did_you_mean
from dyn_nodes.model.xml_source import Element

KINDS = ('connect', 'weld', 'joint')


class _File:
    """An MJCF file with the machine of its URDF."""

    def __init__(self, root: Element, machine: Machine, report: Report) -> None:
        self.root, self.machine, self.report = root, machine, report
        self.links = [link.name for link in machine.links]
        self.joints = [joint.name for joint in machine.joints]
        self.poses = link_poses(machine.links, machine.joints, {}) | {WORLD: np.eye(4)}
        self.sites = {site.get('name') or '': site for site in root.iter('site')}

    def numbers(self, element: Element, key: str, sizes: tuple[int, ...]) -> Array | None:
        """Return the numbers of an attribute; None if it is absent, or wrong, which is reported."""
        text = element.get(key)
        if text is None:
            return None
        try:
            values = np.array([float(word) for word in text.split()])
        except ValueError:
            values = np.zeros(0)
        if len(values) in sizes and np.isfinite(values).all():
            return values
        counts = ' or '.join(str(size) for size in sizes)
        self.report.add(element.sourceline, f'{element.tag}, {key}', f'{counts} numbers', repr(text))
        return None

    def name(self, element: Element, key: str, names: list[str], expected: str) -> str | None:
        """Return the value of an attribute if it is one of some names; None after a fault, which is reported."""
        name = element.get(key)
        if name in names:
            return name
        actual = 'nothing' if name is None else did_you_mean(name, names)
        self.report.add(element.sourceline, f'{element.tag}, {key}', expected, actual)
        return None

    def pose_of(self, element: Element) -> Array | None:
        """Return the pose (4, 4) of an element in its body, from `pos` and `quat`."""
        pose = np.eye(4)
        position = self.numbers(element, 'pos', (3,))
        pose[:3, 3] = 0.0 if position is None else position
        quaternion = self.numbers(element, 'quat', (4,))
        if quaternion is not None:
            pose[:3, :3] = Rotation.from_quat(np.roll(quaternion, -1)).as_matrix()
        others = [key for key in ('axisangle', 'euler', 'xyaxes', 'zaxis') if element.get(key) is not None]
        if others:
            actual = others[0]
            self.report.add(element.sourceline, f'{element.tag}, {actual}', 'an orientation by quat', actual)
            return None
        return pose


def read(root: Element, machine: Machine, report: Report, source: str) -> Closures:
    """Return the loops of the file; faults go into the report."""
    file, result = _File(root, machine, report), Closures(source)
    for element in root.iterfind('equality/*'):
        if not isinstance(element.tag, str) or element.get('active') == 'false':
            continue
        if element.tag not in KINDS:
            expected = f'{", ".join(KINDS[:-1])} or {KINDS[-1]}'
            report.warn(element.sourceline, 'equality', expected, f'{element.tag}, left out')
        elif element.tag == 'joint':
            result.mimics |= _followed(element, file)
        else:
            result.pairs += _pair(element, file)
    result.pairs = hinges_of_points(result.pairs)
    driven = {actuator.get('joint') for actuator in root.iterfind('actuator/*') if isinstance(actuator.tag, str)}
    result.driven = {name for name in driven if name in file.joints} or None
    return result


def _pair(element: Element, file: _File) -> Iterator[Pair]:
    """Yield the pair of a `connect` or `weld`; nothing after a fault."""
    by_sites = element.get('site1') is not None
    ends = _of_sites(element, file) if by_sites else _of_bodies(element, file)
    if ends is not None:
        first, second, pose = ends
        yield Pair(element.get('name') or '', 'point' if element.tag == 'connect' else 'frame', first, second, pose)


def _of_bodies(element: Element, file: _File) -> tuple[str, str, Array] | None:
    """Return the links and the pose of the pair in the root link: `anchor` in body 1, or in body 2 of a weld."""
    expected = 'a body that is a link of the URDF'
    first = file.name(element, 'body1', file.links, expected)
    second = WORLD if element.get('body2') is None else file.name(element, 'body2', [*file.links, WORLD], expected)
    anchor = file.numbers(element, 'anchor', (3,))
    if first is None or second is None or (anchor is None and element.get('anchor') is not None):
        return None
    if anchor is None and element.tag == 'connect':
        file.report.add(element.sourceline, 'connect', 'an anchor, or site1 and site2', 'neither')
        return None
    relative = file.numbers(element, 'relpose', (7,))
    if relative is not None and np.any(relative[3:]):
        actual = 'another relative pose'
        pose = np.eye(4)
        pose[:3, 3], pose[:3, :3] = relative[:3], Rotation.from_quat(np.roll(relative[3:], -1)).as_matrix()
        if not np.allclose(file.poses[first] @ pose, file.poses[second], atol=1e-6):
            file.report.add(
                element.sourceline, 'weld, relpose', 'the pose of body2 in body1 at joint positions 0', actual
            )
            return None
    carrier = first if element.tag == 'connect' else second
    pose = file.poses[carrier].copy()
    if anchor is not None:
        pose[:3, 3] += pose[:3, :3] @ anchor
    return first, second, pose


def _of_sites(element: Element, file: _File) -> tuple[str, str, Array] | None:
    """Return the links and the pose of the pair, which is the pose of the first site in the root link."""
    poses, links = [], []
    for key in ('site1', 'site2'):
        name = file.name(element, key, list(file.sites), 'a site of the file')
        site = file.sites[name] if name is not None else None
        body = site.getparent() if site is not None else None
        link = WORLD if body is not None and body.tag == 'worldbody' else None
        if body is not None and link is None:
            link = file.name(body, 'name', file.links, f'a link of the URDF, which carries the site {name!r}')
        pose = file.pose_of(site) if site is not None else None
        if link is None or pose is None:
            return None
        links.append(link)
        poses.append(file.poses[link] @ pose)
    return links[0], links[1], poses[0]


def _followed(element: Element, file: _File) -> dict[str, Mimic]:
    """Return the mimic joint of a `joint`: position 1 is a polynomial of position 2, which must be linear."""
    first = file.name(element, 'joint1', file.joints, 'a joint of the URDF')
    leader = ''
    if element.get('joint2') is not None:
        leader = file.name(element, 'joint2', file.joints, 'a joint of the URDF') or ''
    powers = np.array([0.0, 1.0])
    if element.get('polycoef') is not None:
        numbers = file.numbers(element, 'polycoef', (1, 2, 3, 4, 5))
        powers = np.zeros(5) if numbers is None else np.concatenate([numbers, np.zeros(5 - len(numbers))])
    if leader and powers[2:].any():
        expected = 'a linear relation of the joints'
        file.report.add(element.sourceline, 'joint, polycoef', expected, repr(element.get('polycoef')))
    line = int(element.sourceline or 0)
    return {} if first is None else {first: Mimic(leader, float(powers[1]) if leader else 0.0, float(powers[0]), line)}
