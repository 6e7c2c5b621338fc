"""Picture of a machine at one instant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.percent import percent_of
from dyn_nodes.measures import BAND_OF_STAGE, in_order, measure_of, stage_of
from dyn_nodes.viewer.colours import BAND, DARK, GREEN, GREY, RED, WHITE, Rgb, ink_on
from dyn_nodes.viewer.gauges import LOAD_SCALE, Scale, number
from dyn_nodes.viewer.geometry import ground_rotation, rotation_of
from dyn_nodes.viewer.picture.camera import Camera
from dyn_nodes.viewer.picture.raster import fill_triangles
from dyn_nodes.viewer.robot import Robot
from dyn_nodes.viewer.scene import SKY_BOTTOM, SKY_TOP, colour_of, critical_edge, edge_measure
from dyn_nodes.viewer.snapshot import Snapshot

FINE = 2
"""Supersampling factor in each direction."""
SUN = np.array((-0.35, -0.55, 0.76))
AMBIENT, FADE = 0.5, 60.0
GROUND, LINE = np.array((206.0, 209.0, 202.0)), np.array((168.0, 173.0, 168.0))
SHADOW = 0.68
SMALL = 240
"""Height of a picture below which only state and time are written, pixels."""
BESIDE_BARS = 24.0
"""Width left and right of the bars, pixels."""
LOADS = ('bark', 'wood')
"""Materials of the load, hidden without payload."""


@dataclass(frozen=True)
class _Part:
    """Triangles of one colour on one link."""

    link: str
    corners: Array
    colour: Array
    is_load: bool


class Painter:
    """Draws a machine.

    Args:
        robot: shape of the machine.
        camera: in the level world.
        load_link: link whose materials in `LOADS` are hidden at a payload of 0 kg.
        scale: of the gauges.
    """

    def __init__(self, robot: Robot, camera: Camera, load_link: str = '', scale: Scale | None = None) -> None:
        self.robot, self.camera, self.scale = robot, camera, scale or Scale()
        self._fine = Camera(camera.eye, camera.target, FINE * camera.width, FINE * camera.height)
        self._kept: tuple[tuple[float, float], Array] | None = None
        self._parts = [
            _Part(
                link,
                np.asarray(shape.vertices, dtype=np.float64)[shape.faces.astype(np.int64)],
                255.0 * np.array(shape.rgba[:3]),
                link == (load_link or robot.tip) and shape.material in LOADS,
            )
            for link, shapes in robot.shapes.items()
            for shape in shapes
            if len(shape.faces)
        ]

    @cached_property
    def _sun(self) -> Array:
        return SUN / np.linalg.norm(SUN)

    def draw(self, snapshot: Snapshot, title: str = '', event: str = '') -> NDArray[np.uint8]:
        """Return the picture (height, width, 3) of an instant.

        Args:
            snapshot: data of the instant.
            title: text before the time.
            event: text below the time, '' for none.
        """
        ground = ground_rotation(*snapshot.slope)
        corners, colours = self._triangles(snapshot, ground)
        image = self._empty(snapshot.slope).copy()
        depth = np.zeros(image.shape[:2])
        self._shade(image, corners, ground)
        below, opacity = self._below(snapshot, ground)
        drawn = opacity > 0.0
        image[drawn] += (below[drawn] - image[drawn]) * opacity[drawn][:, None]
        placed = self._fine.project(corners.reshape(-1, 3)).reshape(-1, 3, 3)
        fill_triangles(placed, colours, depth, image)
        parts = [image[row::FINE, column::FINE] for row in range(FINE) for column in range(FINE)]
        small = np.asarray(sum(parts[1:], parts[0])) / len(parts)  # several times as fast as `mean` of two axes
        return self._words(np.clip(small, 0.0, 255.0).astype(np.uint8), snapshot, ground, title, event)

    # -- the machine -------------------------------------------------------------------------------------------------

    def _triangles(self, snapshot: Snapshot, ground: Any) -> tuple[Array, Array]:
        """Return corners (n, 3, 3) in the level world, m, and the lit colour (n, 3) of each."""
        base = rotation_of(snapshot.base_quaternion)
        poses = self.robot.poses(snapshot.joints)
        corners, colours = [np.zeros((0, 3, 3))], [np.zeros((0, 3))]
        for part in self._parts:
            if part.is_load and snapshot.payload == 0.0:
                continue
            position, turn = poses[part.link]
            triangles = turn.apply(part.corners.reshape(-1, 3)) + position
            triangles = ground.apply(base.apply(triangles) + np.asarray(snapshot.base_position)).reshape(-1, 3, 3)
            normal = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
            size = np.linalg.norm(normal, axis=1, keepdims=True)
            normal = np.divide(normal, size, out=np.zeros_like(normal), where=size > 0.0)
            light = AMBIENT + (1.0 - AMBIENT) * np.abs(normal @ self._sun)
            corners.append(triangles)
            colours.append(light[:, None] * part.colour)
        return np.concatenate(corners), np.concatenate(colours)

    # -- ground and sky ----------------------------------------------------------------------------------------------

    def _empty(self, slope: tuple[float, float]) -> Array:
        """Return the picture without a machine, cached for the same slope."""
        if self._kept is None or self._kept[0] != slope:
            self._kept = slope, self._background(ground_rotation(*slope))
        return self._kept[1]

    def _background(self, ground: Any) -> Array:
        """Return sky and ground (height, width, 3)."""
        camera = self._fine
        rays = camera.rays()
        up = ground.apply((0.0, 0.0, 1.0))
        fall = -(rays @ up)
        height = float(camera.eye @ up)
        distance = np.divide(height, fall, out=np.full_like(fall, np.inf), where=fall > 1e-6)
        blend = np.clip(np.linspace(0.0, 1.6, camera.height), 0.0, 1.0)[:, None] ** 0.7
        sky = (1.0 - blend[..., None]) * np.array(SKY_TOP) + blend[..., None] * np.array(SKY_BOTTOM)
        image = np.broadcast_to(sky, rays.shape).copy()
        hit = np.isfinite(distance)
        points = ground.inv().apply(camera.eye + rays[hit] * distance[hit][:, None])
        wide = distance[hit] / camera.focal / np.maximum(fall[hit], 0.05)  # width of a pixel on the ground, m
        off = np.abs(points[:, :2] - np.round(points[:, :2]))
        line = np.clip(1.5 - off / np.maximum(wide[:, None], 0.015), 0.0, 1.0).max(axis=1)
        far = np.exp(-((distance[hit] / FADE) ** 2))
        colour = GROUND + (LINE - GROUND) * (line * np.clip(0.35 / wide, 0.0, 1.0))[:, None]
        image[hit] = far[:, None] * colour + (1.0 - far[:, None]) * image[hit]
        return image

    def _shade(self, image: Array, corners: Array, ground: Any) -> None:
        """Darken the ground in the shadow of the machine."""
        up = ground.apply((0.0, 0.0, 1.0))
        points = corners.reshape(-1, 3)
        fallen = points - self._sun * ((points @ up) / float(self._sun @ up))[:, None]
        placed = self._fine.project(fallen).reshape(-1, 3, 3)
        depth = np.zeros(image.shape[:2])
        fill_triangles(placed, np.zeros((len(placed), 3)), depth, np.empty_like(image))
        image[depth > 0.0] *= SHADOW

    def _below(self, snapshot: Snapshot, ground: Any) -> tuple[Array, Array]:
        """Return the picture of the support polygon: colours (height, width, 3) and opacity (height, width)."""
        from PIL import Image, ImageDraw

        layer = Image.new('RGBA', (self._fine.width, self._fine.height), (0, 0, 0, 0))
        corners = snapshot.polygon
        if corners is not None and len(corners) >= 3:
            placed = self._fine.project(ground.apply(corners))
            if (placed[:, 2] > 0.0).all():
                pen = ImageDraw.Draw(layer)
                outline = [(float(x), float(y)) for x, y in placed[:, :2]]
                measure = edge_measure(snapshot.margins, len(corners))
                pen.polygon(outline, fill=(*colour_of(measure), 90))
                pen.line([*outline, outline[0]], fill=(*WHITE, 230), width=2 * FINE)
                if (critical := critical_edge(measure)) is not None:
                    index, colour = critical
                    edge = outline[index], outline[(index + 1) % len(outline)]
                    pen.line(edge, fill=(*colour, 255), width=4 * FINE)
        values = np.asarray(layer, dtype=np.float64)
        return values[..., :3], values[..., 3] / 255.0

    # -- numbers -----------------------------------------------------------------------------------------------------

    def _words(
        self, picture: NDArray[np.uint8], snapshot: Snapshot, ground: Any, title: str, event: str
    ) -> NDArray[np.uint8]:
        from PIL import Image, ImageDraw

        image = Image.fromarray(picture)
        pen = ImageDraw.Draw(image, 'RGBA')
        self._forces(pen, snapshot, ground)
        situation = snapshot.situation
        time = f'{title}  t = {snapshot.time + 0.0:.1f} s'.strip()
        text = time if situation is None else situation.words
        lines = [event] if situation is None else [situation.figures, situation.margin, time, event]
        size = self._size
        colour = GREY if situation is None else BAND[situation.band]
        if self.camera.height < SMALL:
            lines = [] if situation is None else [time]
        self._banner(pen, text, [line for line in lines if line], colour, size)
        self._gauges(pen, snapshot, size)
        return np.asarray(image)

    def _banner(self, pen: Any, text: str, lines: list[str], colour: Rgb, size: int) -> None:
        heading = 1.5 * size if self.camera.height >= SMALL else size
        large, small, ink = font(round(heading), bold=True), font(size), ink_on(colour)
        widths = [pen.textlength(text, font=large), *(pen.textlength(line, font=small) for line in lines)]
        first = 1.4 * heading
        right, bottom = 20 + max(widths), 16 + first + 1.25 * size * len(lines)
        pen.rounded_rectangle((8, 8, right, bottom), radius=5, fill=colour)
        pen.text((14, 10), text, font=large, fill=ink)
        for k, line in enumerate(lines):
            pen.text((14, 10 + first + 1.25 * size * k), line, font=small, fill=ink)

    def covered(self, snapshot: Snapshot) -> float:
        """Return the width of the part at the left that the bars cover, pixels."""
        bars, small = self._bars(snapshot), font(self._size - 2)
        labels = [small.getlength(f'{label}  -888 kN m') for label, *_ in bars]
        return max(labels) + BESIDE_BARS if labels else 0.0

    @property
    def _size(self) -> int:
        """Font size of the text, pixels."""
        return max(11, self.camera.height // 32)

    def _bars(self, snapshot: Snapshot) -> list[tuple[str, str, float, Rgb]]:
        """Return label, value, part of the full bar and colour of the load moment and the margins."""
        bars = _load_bars(snapshot)
        for name in in_order(snapshot.margins):
            margin = snapshot.margins[name]
            part, value = self.scale.part(name, margin), number(margin.value, measure_of(name))
            label = measure_of(name).label + ('' if measure_of(name).with_motion else ', at rest')
            bars.append((label, value, part, BAND[margin.band(name)]))
        return bars

    def _gauges(self, pen: Any, snapshot: Snapshot, size: int) -> None:
        """Draw the load moment and the margins as bars."""
        bars, small = self._bars(snapshot), font(size - 2)
        step, width = 1.9 * size, self.covered(snapshot) - BESIDE_BARS
        left, top = 12.0, self.camera.height - 10.0 - step * len(bars)
        if bars:
            pen.rounded_rectangle(
                (6, top - 4, left + width + 6, self.camera.height - 6), radius=5, fill=(255, 255, 255, 205)
            )
        for k, (label, value, part, colour) in enumerate(bars):
            y = top + step * k
            pen.text((left, y), label, font=small, fill=DARK)
            pen.text((left + width - pen.textlength(value, font=small), y), value, font=small, fill=DARK)
            y += 1.25 * (size - 2)
            pen.rectangle((left, y, left + width, y + 0.3 * size), fill=(215, 217, 214))
            shown = min(max(part, 0.0), 1.0) if np.isfinite(part) else 0.0
            pen.rectangle((left, y, left + width * shown, y + 0.3 * size), fill=colour)

    def _forces(self, pen: Any, snapshot: Snapshot, ground: Any) -> None:
        wheels = [name for name in snapshot.forces if name in snapshot.contacts]
        loads = np.array([snapshot.forces[name][2] for name in wheels])
        if not len(loads) or not np.abs(loads).sum() > 0.0:
            return
        unit = self.robot.size() / 8.0
        longest = 2.4 * unit / np.abs(loads).sum()  # length for the whole weight on one wheel
        for name, load in zip(wheels, loads):
            foot = np.asarray(snapshot.contacts[name])
            tip = foot + np.array((0.0, 0.0, max(load * longest, 0.1 * unit)))
            start, end = self.camera.project(ground.apply(np.array([foot, tip])))
            colour = RED if load <= 0.0 else GREEN
            width = max(3, self.camera.height // 110)
            pen.line((*start[:2], *end[:2]), fill=(*colour, 255), width=width)
            x, y = end[:2]
            pen.polygon(
                [(x, y - 2.2 * width), (x - 1.6 * width, y + width), (x + 1.6 * width, y + width)], fill=(*colour, 255)
            )


def _load_bars(snapshot: Snapshot) -> list[tuple[str, str, float, Rgb]]:
    """Return label, value, part of the full bar and colour of the load moment; empty if it is not published."""
    load = snapshot.load
    if load is None or np.isnan(load.utilisation):
        return []
    stage = stage_of(load.utilisation)
    return [
        (
            'load, % of rated',
            f'{percent_of(load.utilisation)} %' if np.isfinite(load.utilisation) else 'no rated load',
            load.utilisation / LOAD_SCALE,
            BAND[BAND_OF_STAGE[stage]],
        )
    ]


def font(size: int, bold: bool = False) -> Any:
    """Return the sans-serif font that is part of Matplotlib."""
    from matplotlib import get_data_path
    from PIL import ImageFont

    return ImageFont.truetype(f'{get_data_path()}/fonts/ttf/DejaVuSans{"-Bold" if bold else ""}.ttf', size)
