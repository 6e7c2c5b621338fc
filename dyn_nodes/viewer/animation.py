"""Recorded motions: bodies with poses over time, traces and curves. Data only, for any renderer."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.viewer.colours import Rgb


@dataclass(frozen=True)
class Shape:
    """Part of a body: triangles of one colour.

    Attributes:
        vertices: (v, 3) in the body's frame, m.
        faces: (f, 3) indices of vertices.
        opacity: 0 to 1.
    """

    vertices: Array
    faces: NDArray[np.uint32]
    colour: Rgb
    opacity: float = 1.0


@dataclass(frozen=True)
class Body:
    """A body and its motion: positions (n, 3), m, and rotation matrices (n, 3, 3) at times (n,), s.

    The body keeps its last pose after the last time.
    """

    shapes: tuple[Shape, ...]
    times: Array
    positions: Array
    rotations: Array

    def pose(self, time: float) -> tuple[Array, Array]:
        """Return position (3,) and rotation (3, 3) of the last sample up to a time."""
        k = max(int(np.searchsorted(self.times, time + 1e-12, side='right')) - 1, 0)
        return self.positions[k], self.rotations[k]


@dataclass(frozen=True)
class Trace:
    """Path of a point, drawn up to the current time: times (n,), s, points (n, 3), m."""

    times: Array
    points: Array
    colour: Rgb


@dataclass(frozen=True)
class Animation:
    """A motion.

    Attributes:
        title: title of the motion.
        duration: s.
        span: width of the scene, m.
        bodies: by name.
        traces: by name.
        curves: title of a chart -> name of a line -> times (n,) and values (n,).
        note: sentence below the title.
    """

    title: str
    duration: float
    span: float
    bodies: Mapping[str, Body]
    traces: Mapping[str, Trace] = field(default_factory=dict)
    curves: Mapping[str, Mapping[str, tuple[Array, Array]]] = field(default_factory=dict)
    note: str = ''

    def stream(self) -> Iterator[tuple[float, str, Array, Array]]:
        """Yield (time, body, position, rotation matrix) in the order of time."""
        rows = [
            (float(time), number, name, k)
            for number, (name, body) in enumerate(self.bodies.items())
            for k, time in enumerate(body.times)
        ]
        for time, _, name, k in sorted(rows):
            body = self.bodies[name]
            yield time, name, body.positions[k], body.rotations[k]

    def write_csv(self, path: Path) -> None:
        """Write the stream with one pose per line: time, body, position, rotation matrix row by row."""
        with path.open('w', newline='', encoding='utf-8') as file:
            writer = csv.writer(file)
            writer.writerow(['time', 'body', 'x', 'y', 'z', *(f'r{i}{k}' for i in (1, 2, 3) for k in (1, 2, 3))])
            for time, name, position, rotation in self.stream():
                writer.writerow([f'{time:.9g}', name, *(f'{v:.12g}' for v in (*position, *rotation.ravel()))])


def disc(radius: float, thickness: float, colours: tuple[Rgb, Rgb], opacity: float = 1.0) -> tuple[Shape, ...]:
    """Return a disc about z in sectors of two colours, which make its spin visible."""
    shapes = []
    for colour, first in zip(colours, (0, 1)):
        parts = [
            _sector(radius, thickness, np.pi / 4 * (2 * k + first), np.pi / 4 * (2 * k + first + 1)) for k in range(4)
        ]
        shapes.append(_joined(parts, colour, opacity))
    return tuple(shapes)


def _sector(radius: float, thickness: float, start: float, end: float) -> tuple[Array, NDArray[np.uint32]]:
    angles = np.linspace(start, end, 9)
    rim = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    plane = np.vstack([[0.0, 0.0], rim])
    count, half = len(plane), 0.5 * thickness
    vertices = np.vstack([np.column_stack([plane, np.full(count, z)]) for z in (half, -half)])
    faces = []
    for k in range(1, count - 1):
        faces += [(0, k, k + 1), (count, count + k + 1, count + k)]
        faces += [(k, count + k, count + k + 1), (k, count + k + 1, k + 1)]
    return vertices, np.array(faces, dtype=np.uint32)


def _joined(parts: list[tuple[Array, NDArray[np.uint32]]], colour: Rgb, opacity: float) -> Shape:
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in parts)])
    faces = np.vstack([faces + np.uint32(start) for (_, faces), start in zip(parts, starts)])
    return Shape(np.vstack([vertices for vertices, _ in parts]), faces.astype(np.uint32), colour, opacity)
