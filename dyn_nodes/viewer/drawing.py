"""Objects in the scene by name, with the values sent last: unchanged values are not sent again."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from dyn_nodes.common.arrays import Array
from dyn_nodes.viewer.colours import Rgb
from dyn_nodes.viewer.geometry import wxyz

GROUND = '/ground'
POSITION_STEP, ANGLE_STEP = 2e-4, 1e-4
"""Movements below these values, m and rad, are not sent."""


def add_shape(scene: Any, name: str, shape: Any) -> Any:
    """Add a `Shape` of a link to viser's scene; return its handle."""
    *colour, opacity = shape.rgba
    return scene.add_mesh_simple(
        name,
        shape.vertices,
        shape.faces,
        color=tuple(colour),
        opacity=None if opacity >= 1.0 else opacity,
        side='double' if opacity < 1.0 else 'front',
    )


class Drawing:
    """Draws objects in the ground's frame.

    Args:
        server: viser's server.

    Attributes:
        unit: size of the machine relative to a reach of 8 m.
        messages: number of properties sent so far.
    """

    def __init__(self, server: Any) -> None:
        self.server, self.scene = server, server.scene
        self.unit = 1.0
        self.messages = 0
        self._sent: dict[str, Any] = {}
        self.handles: dict[str, Any] = {}

    def _add(self, name: str, handle: Any) -> Any:
        self.handles[name] = handle
        return handle

    def _up(self, height: float) -> Array:
        return np.array((0.0, 0.0, height * self.unit))

    def _changed(self, key: str, value: Any) -> bool:
        if key in self._sent and self._sent[key] == value:
            return False
        self._sent[key] = value
        self.messages += 1
        return True

    def _moved(self, key: str, values: Array, step: float) -> bool:
        sent = self._sent.get(key)
        if sent is not None and sent.shape == values.shape and float(np.abs(sent - values).max()) < step:
            return False
        self._sent[key] = np.array(values)
        self.messages += 1
        return True

    def _set_pose(self, name: str, position: Array, rotation: Rotation) -> None:
        handle, quaternion = self.handles[name], wxyz(rotation)
        if self._moved(f'{name}/position', position, POSITION_STEP):
            handle.position = position
        if self._moved(f'{name}/rotation', quaternion, 0.5 * ANGLE_STEP):
            handle.wxyz = quaternion

    def _drop(self, *names: str) -> None:
        for name in names:
            handle = self.handles.pop(name, None)
            if handle is not None:
                handle.remove()
                for key in [key for key in self._sent if key == name or key.startswith(f'{name}/')]:
                    del self._sent[key]

    def _segments(
        self, name: str, points: Array, colour: Rgb, thickness: float, step: float = 5 * POSITION_STEP
    ) -> None:
        if name not in self.handles or self._sent.get(f'{name}/colour') != colour:
            self._sent[name], self._sent[f'{name}/colour'] = np.array(points), colour
            self.messages += 1
            handle = self.scene.add_line_segments(
                f'{GROUND}/{name}', points, colour, thickness=thickness * self.unit, thickness_units='world'
            )
            self._add(name, handle)
        elif self._moved(name, points, step):
            self.handles[name].points = points.astype(np.float32)

    def _band(self, name: str, inner: Array, outer: Array, is_closed: bool, colour: Rgb) -> None:
        """Draw the area between two lines (n, 3), transparent."""
        corners, count = np.vstack([inner, outer]), len(inner)
        if name in self.handles and self._sent[name].shape == corners.shape:
            if self._moved(name, corners, 0.03 * self.unit):
                self.handles[name].vertices = corners.astype(np.float32)
            return
        self._sent[name] = corners
        self.messages += 1
        first = np.arange(count if is_closed else count - 1)
        second = (first + 1) % count
        faces = np.vstack(
            [np.stack([first, second, second + count], 1), np.stack([first, second + count, first + count], 1)]
        )
        handle = self.scene.add_mesh_simple(
            f'{GROUND}/{name}',
            corners,
            faces.astype(np.uint32),
            color=colour,
            opacity=0.35,
            side='double',
            cast_shadow=False,
        )
        self._add(name, handle)

    def _fill(self, corners: Array, colour: Rgb) -> None:
        """Draw the area within the corners, transparent."""
        if 'fill' in self.handles and self._sent.get('fill/colour') == colour:
            if self._moved('fill', corners, 5 * POSITION_STEP):
                self.handles['fill'].vertices = corners.astype(np.float32)
            return
        self._sent['fill'], self._sent['fill/colour'] = np.array(corners), colour
        self.messages += 1
        faces = np.array([(0, k, k + 1) for k in range(1, len(corners) - 1)], dtype=np.uint32)
        handle = self.scene.add_mesh_simple(
            f'{GROUND}/fill', corners, faces, color=colour, opacity=0.3, side='double', cast_shadow=False
        )
        self._add('fill', handle)

    def _ball(self, name: str, position: Array, colour: Rgb, radius: float) -> None:
        if name not in self.handles:
            self._add(name, self.scene.add_icosphere(f'{GROUND}/{name}', radius=radius * self.unit, color=colour))
        if self._moved(name, position, 10 * POSITION_STEP):
            self.handles[name].position = position

    def _disc(self, name: str, position: Array, colour: Rgb) -> None:
        if name not in self.handles or self._sent.get(f'{name}/colour') != colour:
            self._sent[f'{name}/colour'] = colour
            self._sent.pop(name, None)
            self._add(
                name,
                self.scene.add_cylinder(
                    f'{GROUND}/{name}', radius=0.17 * self.unit, height=0.03 * self.unit, color=colour
                ),
            )
        if self._moved(name, position, 10 * POSITION_STEP):
            self.handles[name].position = position

    def _label(self, name: str, text: str, position: Array, hidden: bool = False) -> None:
        """Draw a label in the scene; `hidden`: objects in front of it hide it."""
        key = f'label/{name}'
        if key not in self.handles:
            handle = self.scene.add_label(f'{GROUND}/labels/{name}', text, anchor='bottom-center', depth_test=hidden)
            self._add(key, handle)
            self._sent[f'{key}/text'] = text
        if self._changed(f'{key}/text', text):
            self.handles[key].text = text
        if self._moved(key, position, 25 * POSITION_STEP):
            self.handles[key].position = position
