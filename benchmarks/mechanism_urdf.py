"""The tree of an MJCF or SDF file as a URDF, so that `dyn-nodes init --closures` can close its loops by that file.

Names of links and joints and the frames of the links are taken from the file. MuJoCo reads an MJCF. Of an SDF, a joint
whose two links are reached on another way already is left out: it closes a loop.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from dyn_nodes.model.machine import Joint, Link

Array = NDArray[np.float64]
TREE_JOINTS = ('revolute', 'continuous', 'prismatic', 'fixed')
"""Joint types common to SDF and URDF."""
KINDS: dict[int, Any] = {2: 'prismatic', 3: 'revolute'}
"""Types of the joints of an MJCF by `mjtJoint`."""
EFFORT, SPEED = 1e5, 10.0
"""Default limits if the file has none: N m or N, and rad/s or m/s."""


def urdf_of(path: Path) -> str:
    """Return the URDF of the tree of an MJCF or SDF file."""
    bodies, pairs = _of_sdf(path) if path.suffix == '.sdf' else _of_mjcf(path)
    robot = etree.Element('robot', name=path.stem)
    for body in bodies:
        link = etree.SubElement(robot, 'link', name=body.name)
        if body.mass > 0.0:
            inertial = etree.SubElement(link, 'inertial')
            etree.SubElement(inertial, 'origin', xyz=_text(body.com))
            etree.SubElement(inertial, 'mass', value=repr(body.mass))
            moments = {f'i{"xyz"[i]}{"xyz"[j]}': repr(float(body.inertia[i, j])) for i in range(3) for j in range(i, 3)}
            etree.SubElement(inertial, 'inertia', moments)
    for pair in pairs:
        bounded = np.isfinite([pair.lower, pair.upper]).all()
        kind = 'continuous' if pair.type == 'revolute' and not bounded else pair.type
        joint = etree.SubElement(robot, 'joint', name=pair.name, type=kind)
        _origin(joint, pair.origin)
        etree.SubElement(joint, 'parent', link=pair.parent)
        etree.SubElement(joint, 'child', link=pair.child)
        etree.SubElement(joint, 'axis', xyz=_text(pair.axis))
        limit = {'effort': repr(EFFORT), 'velocity': repr(SPEED)}
        if bounded:
            limit |= {'lower': repr(float(pair.lower)), 'upper': repr(float(pair.upper))}
        etree.SubElement(joint, 'limit', limit)
    return str(etree.tostring(robot, pretty_print=True, encoding='unicode'))


def _of_mjcf(path: Path) -> tuple[list[Link], list[Joint]]:
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(path))
    named = [model.body(k).name or f'body_{k}' for k in range(model.nbody)]
    roots = [k for k in range(1, model.nbody) if model.body_parentid[k] == 0]
    held = len(roots) == 1 and model.body_jntnum[roots[0]] == 0
    named[0] = 'ground'
    bodies = [] if held else [_massless('ground')]
    pairs: list[Joint] = []
    for k in range(1, model.nbody):
        center = _pose(model.body_ipos[k], model.body_iquat[k])
        bodies.append(_link(named[k], float(model.body_mass[k]), center, np.diag(model.body_inertia[k])))
        if k in roots and held:
            continue
        parent, pose = named[model.body_parentid[k]], _pose(model.body_pos[k], model.body_quat[k])
        first, count = model.body_jntadr[k], model.body_jntnum[k]
        for j in range(first, first + count):
            bounds = model.jnt_range[j] if model.jnt_limited[j] else (-np.inf, np.inf)
            name = model.joint(j).name or f'joint_{j}'
            last = j == first + count - 1 and not model.jnt_pos[j].any()
            child = named[k] if last else f'{named[k]}_{name}'
            pose[:3, 3] += pose[:3, :3] @ model.jnt_pos[j]
            pairs.append(Joint(name, KINDS[int(model.jnt_type[j])], parent, child, pose, model.jnt_axis[j], *bounds))
            parent, pose = child, _pose(-model.jnt_pos[j], (1.0, 0.0, 0.0, 0.0))
            if not last:
                bodies.append(_massless(child))
        if parent != named[k]:
            pairs.append(Joint(f'{named[k]}_mount', 'fixed', parent, named[k], pose, np.array([0.0, 0.0, 1.0])))
    return bodies, pairs


def _link(name: str, mass: float, center: Array, inertia: Array) -> Link:
    """Return a link with its moments of inertia (3, 3) in the axes of its center (4, 4) turned into its own axes."""
    turn = center[:3, :3]
    return Link(name, mass, center[:3, 3], turn @ inertia @ turn.T)


def _massless(name: str) -> Link:
    return Link(name, 0.0, np.zeros(3), np.zeros((3, 3)))


def _pose(position: Array, quaternion: Array | tuple[float, ...]) -> Array:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = Rotation.from_quat(np.roll(quaternion, -1)).as_matrix(), position
    return pose


def _of_sdf(path: Path) -> tuple[list[Link], list[Joint]]:
    model = etree.parse(str(path)).getroot().find('.//model')
    if model is None:
        raise ValueError(f'{path}: expected a model, found none')
    poses, bodies = {}, []
    for link in model.findall('link'):
        name, inertial = link.get('name') or '', link.find('inertial')
        poses[name] = _sdf_pose(link)
        center, mass, inertia = np.eye(4), 0.0, np.zeros((3, 3))
        if inertial is not None:
            center, mass = _sdf_pose(inertial), float(inertial.findtext('mass') or 0.0)
            for i, j in zip(*np.triu_indices(3)):
                value = float(inertial.findtext(f'inertia/i{"xyz"[i]}{"xyz"[j]}') or 0.0)
                inertia[i, j] = inertia[j, i] = value
        bodies.append(_link(name, mass, center, inertia))
    reached, left, pairs = {bodies[0].name}, model.findall('joint'), []
    while True:
        joint = next((candidate for candidate in left if _reaches(candidate, reached)), None)
        if joint is None:
            return [body for body in bodies if body.name in reached], pairs
        left.remove(joint)
        parent, child = joint.findtext('parent') or '', joint.findtext('child') or ''
        reached.add(child)
        pose, axis = poses[child] @ _sdf_pose(joint), np.array([0.0, 0.0, 1.0])
        if joint.find('axis/xyz') is not None:
            axis = np.array([float(word) for word in (joint.findtext('axis/xyz') or '').split()])
        if (joint.findtext('axis/use_parent_model_frame') or '').strip() in ('1', 'true'):
            axis = pose[:3, :3].T @ axis
        bounds = [float(joint.findtext(f'axis/limit/{key}') or np.nan) for key in ('lower', 'upper')]
        lower, upper = (bounds[0] if bounds[0] > -1e15 else -np.inf), (bounds[1] if bounds[1] < 1e15 else np.inf)
        kind: Any = joint.get('type')
        name = joint.get('name') or ''
        shifted = not np.array_equal(_sdf_pose(joint), np.eye(4))
        at = f'{child}_{name}' if shifted else child
        pairs.append(Joint(name, kind, parent, at, np.linalg.inv(poses[parent]) @ pose, axis, lower, upper))
        if shifted:
            bodies.append(_massless(at))
            reached.add(at)
            mount = np.linalg.inv(_sdf_pose(joint))
            pairs.append(Joint(f'{child}_mount', 'fixed', at, child, mount, np.array([0.0, 0.0, 1.0])))


def _reaches(joint: etree._Element, reached: set[str]) -> bool:
    ends = joint.findtext('parent') in reached, joint.findtext('child') in reached
    return joint.get('type') in TREE_JOINTS and ends == (True, False)


def _sdf_pose(element: etree._Element) -> Array:
    pose, words = np.eye(4), (element.findtext('pose') or '0 0 0 0 0 0').split()
    values = [float(word) for word in words]
    pose[:3, 3], pose[:3, :3] = values[:3], Rotation.from_euler('xyz', values[3:]).as_matrix()
    return pose


def _origin(element: etree._Element, pose: Array) -> None:
    angles = Rotation.from_matrix(pose[:3, :3]).as_euler('xyz')
    etree.SubElement(element, 'origin', xyz=_text(pose[:3, 3]), rpy=_text(angles))


def _text(values: Array) -> str:
    return ' '.join(repr(float(value)) for value in values)
