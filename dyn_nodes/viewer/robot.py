"""Shape of a machine from its URDF: one mesh per link and colour, and the poses of the links."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.common.share import MeshError, find_mesh, mesh_parts

GREY = (0.6, 0.6, 0.62, 1.0)
SHARP = 0.6
"""Angle between faces above which their common edge is drawn sharp, rad."""


class RobotError(UserError, ValueError):
    """A robot description that cannot be shown."""


@dataclass
class Shape:
    """All triangles of one colour on one link.

    Attributes:
        material: name of the material in the URDF, '' for none.
        rgba: 0 to 1.
        vertices: (v, 3) in the frame of the link, m.
        faces: (f, 3) indices of vertices.
    """

    material: str
    rgba: tuple[float, float, float, float]
    vertices: NDArray[np.float32]
    faces: NDArray[np.uint32]


@dataclass
class JointFrame:
    """A joint with the pose of its child in the frame of its parent.

    Attributes:
        origin: (4, 4) at position zero.
        axis: (3,) unit vector.
        mimic: (joint, multiplier, offset) or None.
    """

    name: str
    kind: str
    parent: str
    child: str
    origin: Array
    axis: Array
    mimic: tuple[str, float, float] | None = None

    @property
    def movable(self) -> bool:
        """True if the joint has a position."""
        return self.kind in ('revolute', 'continuous', 'prismatic')

    def pose(self, joints: Mapping[str, float]) -> tuple[Array, Rotation]:
        """Return position (3,) and rotation of the child in the parent; a missing joint is at zero."""
        position, rotation = self.origin[:3, 3], Rotation.from_matrix(self.origin[:3, :3])
        value = self.value(joints)
        if not self.movable or value == 0.0:
            return position, rotation
        if self.kind == 'prismatic':
            return position + rotation.apply(self.axis * value), rotation
        return position, rotation * Rotation.from_rotvec(self.axis * value)

    def value(self, joints: Mapping[str, float]) -> float:
        """Return the position of the joint from positions by name; zero if it is missing."""
        if self.mimic is not None:
            leader, multiplier, offset = self.mimic
            return multiplier * joints.get(leader, 0.0) + offset
        return joints.get(self.name, 0.0)


@dataclass
class Robot:
    """Shape of a machine.

    Attributes:
        name: name of the robot.
        root: name of the root link.
        joints: parents before children.
        shapes: by link.
        warnings: parts that cannot be shown.
    """

    name: str
    root: str
    joints: tuple[JointFrame, ...]
    shapes: dict[str, list[Shape]]
    warnings: list[str] = field(default_factory=list)

    @property
    def links(self) -> tuple[str, ...]:
        """Names of the links, root first, parents before children."""
        return (self.root, *(joint.child for joint in self.joints))

    @property
    def tip(self) -> str:
        """Link at the end of the longest chain, usually the implement."""
        depth = {self.root: 0}
        for joint in self.joints:
            depth[joint.child] = depth[joint.parent] + 1
        return max(depth, key=lambda link: depth[link])

    def poses(self, joints: Mapping[str, float]) -> dict[str, tuple[Array, Rotation]]:
        """Return position (3,) and rotation of every link in the root link's frame."""
        poses: dict[str, tuple[Array, Rotation]] = {self.root: (np.zeros(3), Rotation.identity())}
        for joint in self.joints:
            parent_position, turn = poses[joint.parent]
            position, rotation = joint.pose(joints)
            poses[joint.child] = parent_position + turn.apply(position), turn * rotation
        return poses

    def corners(self, joints: Mapping[str, float]) -> Array:
        """Return corners (n, 3) of the link-aligned bounding boxes of the shapes, in the root link's frame, m."""
        poses, corners = self.poses(joints), [np.zeros((0, 3))]
        for link, boxes in self._boxes.items():
            position, turn = poses[link]
            corners.append(turn.apply(boxes) + position)
        return np.vstack(corners)

    @cached_property
    def _boxes(self) -> dict[str, Array]:
        """Corners (n, 3) of the bounding boxes of the shapes by link, in its frame."""
        boxes_of_links: dict[str, list[Array]] = {}
        for link, shapes in self.shapes.items():
            for shape in shapes:
                if len(shape.vertices):
                    sides = np.array([shape.vertices.min(axis=0), shape.vertices.max(axis=0)], dtype=np.float64)
                    box = np.array([[sides[i, 0], sides[j, 1], sides[k, 2]] for i, j, k in np.ndindex(2, 2, 2)])
                    boxes_of_links.setdefault(link, []).append(box)
        return {link: np.vstack(boxes) for link, boxes in boxes_of_links.items()}

    def size(self) -> float:
        """Return the greatest distance of any vertex from the root link's origin at joint positions zero, m."""
        poses, reach = self.poses({}), 1.0
        for link, shapes in self.shapes.items():
            position, turn = poses[link]
            for shape in shapes:
                if len(shape.vertices):
                    reach = max(reach, float(np.linalg.norm(turn.apply(shape.vertices) + position, axis=1).max()))
        return reach


def load_robot(text: str, mesh_directories: Sequence[str | Path] = ()) -> Robot:
    """Return the robot of a URDF.

    Args:
        text: content of the URDF.
        mesh_directories: search directories of `package://<name>/` and relative mesh files, in addition to the entries
            of `AMENT_PREFIX_PATH` and `ROS_PACKAGE_PATH`.

    Raises:
        RobotError: not a URDF, links that do not form a tree, or a DTD.
    """
    import yourdfpy
    from lxml import etree

    try:
        root = etree.fromstring(text.encode(), etree.XMLParser(resolve_entities=False))
        if root.getroottree().docinfo.internalDTD is not None:  # yourdfpy expands its entities
            raise RobotError('robot description: expected no DTD and no entity declarations, found a DTD')
        urdf = yourdfpy.URDF.load(
            io.BytesIO(text.encode()), build_scene_graph=False, load_meshes=False, load_collision_meshes=False
        )
        robot = urdf.robot
        joints = _ordered([_frame_of(joint) for joint in robot.joints], [link.name for link in robot.links])
    except RobotError:
        raise
    except Exception as error:
        raise RobotError(f'robot description: {type(error).__name__}: {error}') from None
    colours = {material.name: material.color for material in robot.materials if material.color is not None}
    reader = _ShapeReader(colours, mesh_directories)
    shapes = {link.name: reader.shapes(link) for link in robot.links}
    root = _root([link.name for link in robot.links], joints)
    return Robot(robot.name or 'machine', root, joints, shapes, reader.warnings)


def _frame_of(joint: Any) -> JointFrame:
    origin = np.eye(4) if joint.origin is None else np.asarray(joint.origin, dtype=np.float64)
    axis = np.asarray((1.0, 0.0, 0.0) if joint.axis is None else joint.axis, dtype=np.float64)
    size = float(np.linalg.norm(axis))
    mimic = None
    if joint.mimic is not None:
        mimic = (joint.mimic.joint, _or(joint.mimic.multiplier, 1.0), _or(joint.mimic.offset, 0.0))
    return JointFrame(joint.name, joint.type, joint.parent, joint.child, origin, axis / size if size else axis, mimic)


def _or(value: float | None, default: float) -> float:
    return default if value is None else float(value)


def _root(links: Sequence[str], joints: Sequence[JointFrame]) -> str:
    children = {joint.child for joint in joints}
    roots = [link for link in links if link not in children]
    if len(roots) != 1:
        raise RobotError(f'robot description: expected one root link, found {", ".join(roots) or "none"}')
    return roots[0]


def _ordered(joints: Sequence[JointFrame], links: Sequence[str]) -> tuple[JointFrame, ...]:
    """Return the joints sorted with parents before children. Raises RobotError."""
    placed, left, result = {_root(links, joints)}, list(joints), []
    while left:
        ready = [joint for joint in left if joint.parent in placed]
        if not ready:
            raise RobotError(f'robot description: joint {left[0].name!r} is not connected to the root link')
        result += ready
        left = [joint for joint in left if joint.parent not in placed]
        placed |= {joint.child for joint in ready}
    return tuple(result)


class _ShapeReader:
    """Converts the visuals of links to meshes."""

    def __init__(self, colours: Mapping[str, Any], directories: Sequence[str | Path]) -> None:
        self.colours = {name: tuple(float(c) for c in color.rgba) for name, color in colours.items()}
        self.directories = [Path(entry) for entry in directories]
        self.warnings: list[str] = []

    def shapes(self, link: Any) -> list[Shape]:
        """Return the shapes of a link, one per colour."""
        import trimesh

        parts: dict[tuple[str, Any], list[Any]] = {}
        for visual in link.visuals:
            material, rgba = self._colour(visual.material)
            for mesh, mesh_colour in self._meshes(link.name, visual.geometry):
                if visual.origin is not None:
                    mesh.apply_transform(visual.origin)
                key = (material, rgba if rgba is not None else mesh_colour)
                parts.setdefault(key, []).append(mesh)
        result = []
        for (material, rgba), meshes in parts.items():
            whole: Any = trimesh.util.concatenate(meshes)
            vertices, faces = np.asarray(whole.vertices, np.float32), np.asarray(whole.faces, np.uint32)
            result.append(Shape(material, rgba or GREY, vertices, faces))
        return result

    def _colour(self, material: Any) -> tuple[str, Any]:
        if material is None:
            return '', None
        if material.color is not None:
            return material.name or '', tuple(float(c) for c in material.color.rgba)
        return material.name or '', self.colours.get(material.name)

    def _meshes(self, link: str, geometry: Any) -> list[tuple[Any, Any]]:
        """Return the meshes of a geometry, each with the colour from its file or None."""
        from trimesh import creation

        if geometry.box is not None:
            return [(_edged(creation.box(extents=geometry.box.size)), None)]
        if geometry.cylinder is not None:
            shape = geometry.cylinder
            return [(_edged(creation.cylinder(shape.radius, shape.length, sections=28)), None)]
        if geometry.sphere is not None:
            return [(creation.icosphere(subdivisions=2, radius=geometry.sphere.radius), None)]
        if geometry.mesh is not None:
            return self._read_mesh(link, geometry.mesh)
        return []

    def _read_mesh(self, link: str, mesh: Any) -> list[tuple[Any, Any]]:
        import trimesh

        path = find_mesh(mesh.filename, self.directories)
        if path is None:
            self.warnings.append(f'link {link!r}: mesh not found: {mesh.filename}')
            return []
        try:
            parts = mesh_parts(path)
        except MeshError as error:
            self.warnings.append(f'link {link!r}: {path}: {error}')
            return []
        scale = np.asarray(1.0 if mesh.scale is None else mesh.scale, dtype=np.float64) * np.ones(3)
        result = []
        for part in parts:
            if isinstance(part, trimesh.Trimesh):
                part.apply_scale(scale)
                result.append((_edged(part), _main_colour(part)))
        return result


def _edged(mesh: Any) -> Any:
    """Return a mesh with faces separated at sharp edges, which smooth shading then keeps."""
    import trimesh

    if len(mesh.faces) > 50_000:
        return mesh
    return trimesh.graph.smooth_shade(mesh, angle=SHARP)


def _main_colour(mesh: Any) -> Any:
    try:
        colour = np.asarray(mesh.visual.to_color().main_color, dtype=np.float64) / 255.0
    except Exception:
        return None
    return tuple(float(c) for c in colour) if colour.shape == (4,) else None  # a scalar if the mesh has no colour
