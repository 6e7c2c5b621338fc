"""Checks of the elements of a URDF, before the machine is built."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from lxml import etree

from dyn_nodes.model.inertia_checks import check_inertia
from dyn_nodes.model.limits import (
    LARGEST_MASS,
    LARGEST_OFFSET,
    UNLIMITED_LENGTH,
    angle_remark,
    length_remark,
    limit_remark,
)
from dyn_nodes.model.mimic import Mimic, check_mimics
from dyn_nodes.model.problems import PRINTABLE, Report, did_you_mean, is_printable, shorten
from dyn_nodes.model.xml_source import Element

SUPPORTED = ('revolute', 'continuous', 'prismatic', 'fixed')
UNSUPPORTED = {
    'floating': 'no floating joint: remove it and set `base: {attachment: free}` in the machine YAML',
    'planar': 'no planar joint: use two prismatic and one revolute joint, or `base: {attachment: planar}`',
}
LINK_CHILDREN = ('inertial', 'visual', 'collision')
JOINT_CHILDREN = ('parent', 'child', 'origin', 'axis', 'limit', 'dynamics', 'mimic', 'calibration', 'safety_controller')
FAR = 100.0  # m; a centre of mass further from its link frame is suspicious
UNSPECIFIED_LIMIT = -1.0  # as a limit of effort or velocity
SURELY_UNLIMITED = 1e5  # m; a larger prismatic limit is not in millimetres
OFFSET_TOLERANCE = 1e-3  # of the length of an axis; smaller ones are rounding in the file


@dataclass
class Outline:
    """Names and lines of the elements of a URDF.

    Attributes:
        links, joints: line of each.
        parent, child: link names of each joint.
        fixed_to_another: links held by a fixed joint.
        mimic: by mimic joint.
        torn: a link or joint is missing because of a fault: the tree is not checked.
    """

    links: dict[str, int] = field(default_factory=dict)
    joints: dict[str, int] = field(default_factory=dict)
    parent: dict[str, str] = field(default_factory=dict)
    child: dict[str, str] = field(default_factory=dict)
    fixed_to_another: set[str] = field(default_factory=set)
    mimic: dict[str, Mimic] = field(default_factory=dict)
    torn: bool = False
    name: str = ''


def check_elements(root: Element, report: Report) -> Outline:
    """Check every link and joint separately; return the outline for the check of the tree."""
    outline = Outline()
    if root.tag != 'robot':
        report.add(root.sourceline, 'document', 'a <robot> element', f'<{shorten(str(root.tag))}>')
        return outline
    outline.name = (root.get('name') or '').strip()
    if not outline.name:
        report.add(root.sourceline, 'robot', 'a name', 'none')
    elif not is_printable(outline.name):
        report.add(root.sourceline, 'robot, name', PRINTABLE, ascii(outline.name))
    outline.fixed_to_another = {
        child.get('link') or ''
        for joint in root.findall('joint')
        for child in joint.findall('child')
        if joint.get('type') == 'fixed'
    }
    for element in root:
        if element.tag == 'link':
            _check_link(element, outline, report)
        elif element.tag == 'joint':
            _check_joint(element, outline, report)
    _check_xacro(root, outline, report)
    if not outline.links:
        report.add(root.sourceline, 'robot', 'at least one link', 'none')
    check_mimics(outline.mimic, outline.joints, report)
    return outline


def leave_out_free_root(root: Element, report: Report) -> bool:
    """Remove a massless `world` link above a floating or planar joint. Return True if one was removed.

    `base.attachment` of the machine YAML replaces it; elsewhere in the tree such a joint is a fault.
    """
    joints = root.findall('joint')
    held = {(child.get('link') or '').strip() for joint in joints for child in joint.findall('child')}
    for joint in joints:
        parents = [(parent.get('link') or '').strip() for parent in joint.findall('parent')]
        if joint.get('type') not in UNSUPPORTED or len(parents) != 1 or parents[0] in held:
            continue
        world = [link for link in root.findall('link') if (link.get('name') or '').strip() == parents[0]]
        others = [o for o in joints if o is not joint and any(p.get('link') == parents[0] for p in o.findall('parent'))]
        if len(world) == 1 and not others and len(world[0]) == 0:
            expected = '`base: {attachment: ...}` of the machine YAML to define the motion of the base'
            report.warn(
                joint.sourceline, f'joint {joint.get("name")}, type', expected, f'{joint.get("type")}: left out'
            )
            root.remove(joint)
            root.remove(world[0])
            return True
    return False


def _check_xacro(root: Element, outline: Outline, report: Report) -> None:
    leftovers = [element for element in root.iter(etree.Element) if 'xacro}' in str(element.tag)]
    for element in leftovers:
        tag = f'<xacro:{etree.QName(element).localname}>'
        if tag == '<xacro:include>' or not outline.links:
            report.add(element.sourceline, 'document', 'a URDF (expand a xacro file first: `xacro IN > OUT`)', tag)
        else:
            report.warn(element.sourceline, 'document', 'plain URDF', f'{tag}, which is ignored')


# --- links ---------------------------------------------------------------------------------------------------------


def _check_link(element: Element, outline: Outline, report: Report) -> None:
    name = _name_of(element, 'link', outline.links, outline, report)
    where = f'link {name}' if name else 'link'
    _check_children(element, where, LINK_CHILDREN, ('inertial',), report)
    inertial = element.find('inertial')
    if inertial is not None:
        _check_inertial(inertial, where, report, name in outline.fixed_to_another)
    for kind in ('visual', 'collision'):
        for shape in element.findall(kind):
            check_origin(shape, f'{where}, {kind}', report)
            _check_geometry(shape, f'{where}, {kind}', report)


def _check_inertial(element: Element, where: str, report: Report, rides_on_another: bool) -> None:
    com = check_origin(element, f'{where}, inertial', report)
    if com is not None and FAR < max(abs(value) for value in com) <= LARGEST_OFFSET:
        report.warn(element.sourceline, f'{where}, inertial', f'a centre of mass within {FAR:.0f} m', f'{list(com)}')
    mass_element = element.find('mass')
    mass = None
    if mass_element is None:
        report.add(element.sourceline, f'{where}, inertial', 'a <mass>', 'none')
    else:
        mass = read_number(mass_element, 'value', f'{where}, mass', report, required=True)
        if mass is not None and mass < 0:
            report.add(mass_element.sourceline, f'{where}, mass', 'a mass >= 0 kg', f'{mass:.6g}')
        if mass is not None and mass > LARGEST_MASS:
            actual = f'{mass:.6g} kg, which looks like grams'
            report.add(mass_element.sourceline, f'{where}, mass', f'at most {LARGEST_MASS:.0e} kg', actual)
    inertia_element = element.find('inertia')
    if inertia_element is None:
        report.add(element.sourceline, f'{where}, inertial', 'an <inertia>', 'none')
        return
    entries = [
        read_number(inertia_element, key, f'{where}, inertia', report, required=True)
        for key in ('ixx', 'iyy', 'izz', 'ixy', 'ixz', 'iyz')
    ]
    if mass is None or com is None or any(entry is None for entry in entries):
        return
    xx, yy, zz, xy, xz, yz = (float(entry) for entry in entries if entry is not None)
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    check_inertia(tensor, mass, inertia_element.sourceline, where, report, rides_on_another)


def _check_geometry(element: Element, where: str, report: Report) -> None:
    geometry = element.find('geometry')
    shapes = [] if geometry is None else [child for child in geometry if isinstance(child.tag, str)]
    if len(shapes) != 1:
        report.add(element.sourceline, where, 'a <geometry> with one shape', f'{len(shapes)} shapes')
        return
    shape = shapes[0]
    sizes: list[float] = []
    if shape.tag == 'box':
        sizes = list(read_vector(shape, 'size', 3, f'{where}, box', report, required=True) or ())
    elif shape.tag in ('cylinder', 'sphere', 'capsule'):
        for key in ('radius',) if shape.tag == 'sphere' else ('radius', 'length'):
            value = read_number(shape, key, f'{where}, {shape.tag}', report, required=True)
            sizes += [] if value is None else [value]
    elif shape.tag == 'mesh':
        if not shape.get('filename'):
            report.add(shape.sourceline, f'{where}, mesh', 'a filename', 'none')
        if shape.get('scale') is not None:
            read_vector(shape, 'scale', 3, f'{where}, mesh', report, required=True)
    else:
        actual = did_you_mean(str(shape.tag), ('box', 'cylinder', 'sphere', 'mesh'))
        report.warn(shape.sourceline, where, 'a box, cylinder, sphere or mesh', actual)
    if any(size < 0 for size in sizes):
        report.add(shape.sourceline, f'{where}, {shape.tag}', 'sizes >= 0 m', shorten(_attributes(shape)))


# --- joints --------------------------------------------------------------------------------------------------------


def _check_joint(element: Element, outline: Outline, report: Report) -> None:
    name = _name_of(element, 'joint', outline.joints, outline, report)
    where = f'joint {name}' if name else 'joint'
    _check_children(element, where, JOINT_CHILDREN, ('parent', 'child', 'origin', 'axis', 'limit', 'dynamics'), report)
    kind = element.get('type')
    if kind in UNSUPPORTED or kind not in SUPPORTED:
        expected = UNSUPPORTED.get(kind or '', f'a type of {", ".join(SUPPORTED)}')
        report.add(element.sourceline, f'{where}, type', expected, did_you_mean(kind, SUPPORTED) if kind else 'none')
    for end, ends in (('parent', outline.parent), ('child', outline.child)):
        link = _link_of(element, end, where, report)
        if name and link:
            ends.setdefault(name, link)
        else:
            outline.torn = True
    check_origin(element, where, report)
    if kind in ('revolute', 'continuous', 'prismatic'):
        _check_axis(element, where, report)
        _check_limit(element, kind, where, report)
        _check_dynamics(element, where, report)
    elif kind == 'fixed':
        _check_idle_dynamics(element, where, report)
    mimic = element.find('mimic')
    if mimic is not None:
        _check_mimic(mimic, name, where, outline, report)


def _check_mimic(mimic: Element, name: str, where: str, outline: Outline, report: Report) -> None:
    multiplier = read_number(mimic, 'multiplier', f'{where}, mimic', report)
    offset = read_number(mimic, 'offset', f'{where}, mimic', report)
    numbers = 1.0 if multiplier is None else multiplier, offset or 0.0
    outline.mimic[name] = Mimic((mimic.get('joint') or '').strip(), *numbers, int(mimic.sourceline or 0))


def _check_axis(element: Element, where: str, report: Report) -> None:
    axis = element.find('axis')
    if axis is None:
        return  # 1 0 0 by the definition of URDF
    values = read_vector(axis, 'xyz', 3, f'{where}, axis', report, required=True)
    if values is None:
        return
    length = math.sqrt(sum(value * value for value in values))
    if length == 0:
        report.add(axis.sourceline, f'{where}, axis', 'a unit vector', 'a zero vector')
    elif abs(length - 1.0) > OFFSET_TOLERANCE:
        actual = f'{axis.get("xyz")} of length {length:.6g}, which is normalized'
        report.warn(axis.sourceline, f'{where}, axis', 'a unit vector', actual)


def _check_limit(element: Element, kind: str, where: str, report: Report) -> None:
    where = f'{where}, limit'
    limit = element.find('limit')
    if limit is None:
        if kind != 'continuous':
            report.add(element.sourceline, where, f'a <limit> (a {kind} joint needs one)', 'none')
        else:
            report.warn(element.sourceline, where, 'effort and velocity limits', 'none')
        return
    lower = read_number(limit, 'lower', where, report)
    upper = read_number(limit, 'upper', where, report)
    if kind != 'continuous':
        _check_range(limit, lower, upper, kind, where, report)
    for key in ('effort', 'velocity'):
        value = read_number(limit, key, where, report)
        if value == UNSPECIFIED_LIMIT or limit.get(key) is None:
            report.warn(limit.sourceline, where, f'a limit of {key}', 'none')
        elif value is not None and value < 0:
            report.add(limit.sourceline, where, f'{key} >= 0, or -1 for none', f'{value:.6g}')
        elif value == 0:
            means = (
                'a passive joint unless the machine YAML drives it' if key == 'effort' else 'which prevents any motion'
            )
            report.warn(limit.sourceline, where, f'{key} > 0', f'0, {means}')


def _check_range(
    limit: Element, lower: float | None, upper: float | None, kind: str, where: str, report: Report
) -> None:
    for key, value in (('lower', lower), ('upper', upper)):
        actual = limit_remark(value, kind == 'revolute') if value is not None else None
        if actual:
            report.add(limit.sourceline, where, f'{key} in rad', actual)
        elif value is not None and kind == 'prismatic' and UNLIMITED_LENGTH < abs(value) < SURELY_UNLIMITED:
            actual = f'{value:.6g} m, interpreted as no limit (in millimetres it would be {value / 1000:.4g} m)'
            report.warn(limit.sourceline, where, f'{key} in m', actual)
    if lower is None and upper is None and limit.get('lower') is None and limit.get('upper') is None:
        report.warn(limit.sourceline, where, 'lower and upper', 'neither, so both are 0')
    elif (lower or 0.0) > (upper or 0.0):
        report.add(limit.sourceline, where, 'lower <= upper', f'lower {lower or 0:.6g} > upper {upper or 0:.6g}')


def _check_dynamics(element: Element, where: str, report: Report) -> None:
    dynamics = element.find('dynamics')
    if dynamics is None:
        return
    for key in ('damping', 'friction'):
        value = read_number(dynamics, key, f'{where}, dynamics', report)
        if value is not None and value < 0:
            report.add(dynamics.sourceline, f'{where}, dynamics', f'{key} >= 0', f'{value:.6g}')


def _check_idle_dynamics(element: Element, where: str, report: Report) -> None:
    dynamics = element.find('dynamics')
    nonzero = [] if dynamics is None else [key for key in ('damping', 'friction') if _moves(dynamics.get(key))]
    if dynamics is not None and nonzero:
        report.warn(dynamics.sourceline, f'{where}, dynamics', 'a joint that moves', f'{nonzero[0]} of a fixed joint')


def _moves(text: str | None) -> bool:
    try:
        return float(text or 0) != 0
    except ValueError:
        return False


def _link_of(element: Element, end: str, where: str, report: Report) -> str | None:
    reference = element.find(end)
    if reference is None:
        report.add(element.sourceline, where, f'a <{end} link="..."/>', 'none')
        return None
    link = (reference.get('link') or '').strip()
    if not link:
        report.add(reference.sourceline, f'{where}, {end}', 'a link name', 'none')
        return None
    return link


# --- attributes ----------------------------------------------------------------------------------------------------


def check_origin(element: Element, where: str, report: Report) -> tuple[float, ...] | None:
    """Check the <origin> of an element; return its xyz (zeros without one), None after a fault."""
    origin = element.find('origin')
    if origin is None:
        return (0.0, 0.0, 0.0)
    xyz = read_vector(origin, 'xyz', 3, f'{where}, origin', report)
    rpy = read_vector(origin, 'rpy', 3, f'{where}, origin', report)
    for axis, value in zip('xyz', xyz or ()):
        actual = length_remark(value)
        if actual:
            report.add(origin.sourceline, f'{where}, origin', f'{axis} in m', actual)
    for axis, value in zip(('roll', 'pitch', 'yaw'), rpy or ()):
        actual = angle_remark(value)
        if actual:
            report.add(origin.sourceline, f'{where}, origin', f'{axis} in rad', actual)
    return xyz


def read_vector(
    element: Element, key: str, size: int, where: str, report: Report, required: bool = False
) -> tuple[float, ...] | None:
    """Return an attribute of `size` finite numbers; zeros if absent and not required; None after a fault."""
    text = element.get(key)
    if text is None:
        if required:
            report.add(element.sourceline, where, f'an attribute {key}="..."', 'none')
            return None
        return (0.0,) * size
    words = text.split()
    try:
        values = tuple(float(word) for word in words)
    except ValueError:
        values = ()
    if len(values) != size or not all(math.isfinite(value) for value in values) or '_' in text:
        report.add(element.sourceline, where, f'{key} of {size} finite numbers', repr(shorten(text)))
        return None
    return values


def read_number(element: Element, key: str, where: str, report: Report, required: bool = False) -> float | None:
    """Return a finite number; None if absent or after a fault."""
    if element.get(key) is None and not required:
        return None
    values = read_vector(element, key, 1, where, report, required=True)
    return values[0] if values else None


def _name_of(element: Element, kind: str, lines: dict[str, int], outline: Outline, report: Report) -> str:
    name = (element.get('name') or '').strip()
    outline.torn |= not name or name in lines
    if not name:
        report.add(element.sourceline, kind, 'a name', 'none')
    elif not is_printable(name):
        report.add(element.sourceline, f'{kind}, name', PRINTABLE, ascii(name))
        outline.torn = True
    elif name in lines:
        expected = f'a unique name (line {lines[name]} has it)'
        report.add(element.sourceline, f'{kind} {name}', expected, 'a duplicate')
    else:
        lines[name] = int(element.sourceline or 0)
    return name


def _check_children(
    element: Element, where: str, allowed: tuple[str, ...], once: tuple[str, ...], report: Report
) -> None:
    seen: set[str] = set()
    for child in element:
        tag = child.tag
        if not isinstance(tag, str) or '}' in tag:
            continue
        if tag in once and tag in seen:
            report.add(child.sourceline, where, f'one <{tag}>', 'a second one')
        elif tag not in allowed and 'did you mean' in did_you_mean(tag, allowed):
            report.warn(child.sourceline, where, 'an element of URDF', did_you_mean(tag, allowed))
        seen.add(tag)


def _attributes(element: Element) -> str:
    return ' '.join(f'{key}={value!r}' for key, value in element.attrib.items())
