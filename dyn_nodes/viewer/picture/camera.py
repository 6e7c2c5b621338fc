"""Camera of a picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.viewer.camera import PRESETS
from dyn_nodes.viewer.framing import FIELD_OF_VIEW, directions, distance_to_show, visible


@dataclass(frozen=True)
class Camera:
    """A camera and the size of its picture.

    Attributes:
        eye: (3,) position, m.
        target: (3,) point in the middle of the picture, m; not vertically above or below the eye.
        width: pixels.
        height: pixels.
    """

    eye: Array
    target: Array
    width: int
    height: int

    @property
    def axes(self) -> Array:
        """Unit vectors forward, right and up, rows (3, 3)."""
        return directions(self.target - self.eye)

    @property
    def focal(self) -> float:
        """Distance of the image plane, pixels."""
        return float(0.5 * self.height / np.tan(0.5 * FIELD_OF_VIEW))

    def project(self, points: Array) -> Array:
        """Return x, y, pixels from the upper left corner, and inverse depth, 1/m, (n, 3) of points (n, 3).

        The inverse depth is 0 for points nearer than 0.1 m or behind the camera.
        """
        ahead, right, up = self.axes
        relative = np.asarray(points, dtype=np.float64).reshape(-1, 3) - self.eye
        distance = relative @ ahead
        nearness = np.divide(1.0, distance, out=np.zeros_like(distance), where=distance > 0.1)
        x = 0.5 * self.width + self.focal * (relative @ right) * nearness
        y = 0.5 * self.height - self.focal * (relative @ up) * nearness
        return np.stack([x, y, nearness], axis=1)

    def rays(self) -> Array:
        """Return the view direction (height, width, 3) of every pixel, with forward component 1."""
        ahead, right, up = self.axes
        x = (np.arange(self.width) + 0.5 - 0.5 * self.width) / self.focal
        y = (0.5 * self.height - np.arange(self.height) - 0.5) / self.focal
        return np.asarray(ahead + x[None, :, None] * right + y[:, None, None] * up)


def camera_for(
    points: Iterable[Array], width: int, height: int, preset: str = 'Follow', covered: float = 0.0
) -> Camera:
    """Return a camera that shows all points (n, 3), m, from the direction of a preset of the cockpit.

    They are to the right of a covered part, pixels, at most half of the width of the picture.

    Raises:
        KeyError: no such preset.
        ValueError: no points.
    """
    cloud = np.vstack(list(points))
    if not len(cloud):
        raise ValueError('expected points to show, found none')
    eye, target = (np.array(point) for point in PRESETS[preset])
    away = (eye - target) / np.linalg.norm(eye - target)
    middle = 0.5 * (cloud.min(axis=0) + cloud.max(axis=0))
    covered = min(covered, 0.5 * width)
    distance = max(distance_to_show(cloud, middle, away, visible((width - covered) / height)), 1.0)
    camera = Camera(middle + away * distance, middle, width, height)
    aside = camera.axes[1] * 0.5 * covered * distance / camera.focal
    return Camera(camera.eye - aside, camera.target - aside, width, height)
