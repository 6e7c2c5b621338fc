"""Other robots of a team, and the deformable objects that they hold."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.viewer.drawing import ANGLE_STEP, GROUND, POSITION_STEP, Drawing, add_shape
from dyn_nodes.viewer.geometry import rotation_of, wxyz
from dyn_nodes.viewer.robot import Robot, Shape

TEAM = f'{GROUND}/team'
GHOST_COLOUR, GHOST_OPACITY = (0, 114, 178), 0.35
"""Colour and opacity of a robot in another posture."""
SHADES = 6
"""Number of levels of red, green and blue; one mesh is sent per colour that occurs."""
QUARTERS = np.array([(0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5)])
"""Vertex indices of the quarters of a triangle: corners 0 to 2, midpoints of its edges 3 to 5."""


class Companion(Drawing):
    """Another robot, without instruments.

    Args:
        server: viser's server.
        name: unique name of the robot.
        robot: shape of the robot.
    """

    def __init__(self, server: Any, name: str, robot: Robot) -> None:
        super().__init__(server)
        self.robot = robot
        paths = {robot.root: f'{TEAM}/{name}'}
        self._add(robot.root, self.scene.add_frame(paths[robot.root], show_axes=False, visible=False))
        for joint in robot.joints:
            paths[joint.child] = f'{paths[joint.parent]}/{joint.child}'
            position, rotation = joint.pose({})
            handle = self.scene.add_frame(paths[joint.child], show_axes=False, position=position, wxyz=wxyz(rotation))
            self._add(joint.child, handle)
        for link, shapes in robot.shapes.items():
            self._add_shapes(paths[link], link, shapes)

    def _add_shapes(self, path: str, link: str, shapes: list[Shape]) -> None:
        for number, shape in enumerate(shapes):
            add_shape(self.scene, f'{path}/visual_{number}', shape)

    def update(self, position: ArrayLike, quaternion: ArrayLike, joints: Mapping[str, float]) -> None:
        """Show the robot: base position (3,) and quaternion (4,) in the ground's frame, joint positions by name."""
        self.handles[self.robot.root].visible = True
        self._set_pose(self.robot.root, np.asarray(position, dtype=np.float64), rotation_of(quaternion))
        for joint in self.robot.joints:
            value = np.array([joint.value(joints)])
            if joint.movable and self._moved(f'{joint.child}/value', value, ANGLE_STEP):
                self._set_pose(joint.child, *joint.pose(joints))

    def remove(self) -> None:
        """Remove the robot from the scene."""
        self.handles[self.robot.root].remove()


class Ghost(Companion):
    """Links of a robot in another posture, transparent; each is one mesh, as a browser may draw in software.

    Args:
        server: viser's server.
        name: unique name.
        robot: shape of the robot.
        without: materials of shapes that are omitted.

    Attributes:
        shown: links that are visible.
    """

    def __init__(self, server: Any, name: str, robot: Robot, without: Collection[str] = ()) -> None:
        self.meshes: dict[str, Any] = {}
        self._without = without
        super().__init__(server, name, robot)
        self.shown = set(self.meshes)

    def _add_shapes(self, path: str, link: str, shapes: list[Shape]) -> None:
        parts = [shape for shape in shapes if shape.material not in self._without]
        if not parts:
            return
        offsets = np.cumsum([0, *(len(shape.vertices) for shape in parts)])
        self.meshes[link] = self.scene.add_mesh_simple(
            f'{path}/visual',
            np.vstack([shape.vertices for shape in parts]),
            np.vstack([shape.faces + offset for shape, offset in zip(parts, offsets)]).astype(np.uint32),
            color=GHOST_COLOUR,
            opacity=GHOST_OPACITY,
            flat_shading=True,
            cast_shadow=False,
            receive_shadow=False,
        )

    def show(self, links: Collection[str]) -> None:
        """Show these links only."""
        wanted = {link for link in links if link in self.meshes}
        for link in self.shown ^ wanted:
            self.meshes[link].visible = link in wanted
        self.shown = wanted


class BodyPicture(NamedTuple):
    """A deformable object at an instant.

    Attributes:
        triangles: True: points are corners of triangles; False: ends of rods.
        points: (k, 3) in the ground's frame, m.
        colours: (k, 3) 0 to 1.
        text: text of its label.
        thickness: of rods, m.
    """

    triangles: bool
    points: Array
    colours: Array
    text: str
    thickness: float = 0.02


class Bodies(Drawing):
    """Deformable objects in the colours of their stress or strain."""

    def update(self, pictures: Mapping[str, BodyPicture]) -> None:
        """Show objects by name; remove the others."""
        shown = {key.partition('/')[0] for key in self.handles}
        for name in shown - set(pictures) - {'label'}:
            self._drop(*[key for key in self.handles if key.partition('/')[0] == name], f'label/{name}')
        for name, picture in pictures.items():
            if not len(picture.points) or not self._moved(f'seen/{name}', picture.points, POSITION_STEP):
                continue
            if picture.triangles:
                self._surface(name, picture)
            else:
                self._rods(name, picture)
            top = picture.points.mean(axis=0)
            top[2] = picture.points[:, 2].max() + 0.3 * self.unit
            self._label(name, picture.text, top)

    def _surface(self, name: str, picture: BodyPicture) -> None:
        """Send the triangles of each shade as one mesh."""
        corners, colours = quartered(picture.points), quartered(picture.colours)
        rounded = np.round(colours.mean(axis=1) * SHADES).astype(int)
        shades = {tuple(int(part) for part in shade) for shade in np.unique(rounded, axis=0)}
        for key in [key for key in self.handles if key.startswith(f'{name}/shade')]:
            if key not in {_shade_key(name, shade) for shade in shades}:
                self.handles[key].visible = False
        for shade in shades:
            triangles = corners[(rounded == shade).all(axis=1)].reshape(-1, 3).astype(np.float32)
            self._mesh_of(_shade_key(name, shade), shade, triangles)

    def _mesh_of(self, key: str, shade: tuple[int, ...], corners: NDArray[np.float32]) -> None:
        faces = np.arange(len(corners), dtype=np.uint32).reshape(-1, 3)
        handle = self.handles.get(key)
        if handle is None:
            colour = tuple(round(255 * part / SHADES) for part in shade)
            handle = self.scene.add_mesh_simple(
                f'{TEAM}/objects/{key}', corners, faces, color=colour, flat_shading=True, side='double'
            )
            self._add(key, handle)
            return
        handle.visible = True
        if len(corners) < len(handle.vertices):  # faces first: at no time may a face refer to missing vertices
            handle.faces = faces
            handle.vertices = corners
        else:
            handle.vertices = corners
            if len(faces) != len(handle.faces):
                handle.faces = faces

    def _rods(self, name: str, picture: BodyPicture) -> None:
        points = picture.points.reshape(-1, 2, 3).astype(np.float32)
        colours = np.round(255.0 * picture.colours.reshape(-1, 2, 3)).astype(np.uint8)
        key = f'{name}/rods'
        handle = self.handles.get(key)
        if handle is None or len(handle.points) != len(points):
            handle = self.scene.add_line_segments(
                f'{TEAM}/objects/{key}', points, colours, thickness=picture.thickness, thickness_units='world'
            )
            self._add(key, handle)
            return
        handle.points, handle.colors = points, colours


def _shade_key(name: str, shade: tuple[int, ...]) -> str:
    return f'{name}/shade_{"_".join(str(part) for part in shade)}'


def quartered(values: Array) -> Array:
    """Return values (4f, 3, 3) at the corners of quarters of f triangles, from values (3f, 3) at their corners."""
    triangles = values.reshape(-1, 3, 3)
    six = np.concatenate([triangles, 0.5 * (triangles + np.roll(triangles, -1, axis=1))], axis=1)
    return six[:, QUARTERS].reshape(-1, 3, 3)
