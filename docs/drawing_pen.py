"""Lines, arrows, springs, links and wheels for the drawings of the theory pages, as SVG.

Text is written as paths, so that a drawing looks the same with any fonts. The files are deterministic: fixed
identifiers, no date. The background is white, for light and dark pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, Polygon
from numpy.typing import ArrayLike

mpl.use('Agg')
GREY, DARK, RED, GREEN, BLUE, AMBER = '#c3c9cf', '#333a40', '#c8321f', '#dcecdc', '#2463a8', '#a86a00'
LIGHT, LINE, LEAF = '#eef1f3', '#7a8288', '#2c7a3f'
INCHES = 0.5
"""Size of a unit of the drawings, in."""
STYLE = {'svg.fonttype': 'path', 'svg.hashsalt': 'dyn_nodes', 'mathtext.fontset': 'dejavusans', 'font.size': 11.0}


def point(at: ArrayLike) -> np.ndarray:
    """Return a point (2,) as an array."""
    return np.asarray(at, dtype=float)


def shift(at: ArrayLike, right: float, up: float) -> np.ndarray:
    """Return a point that is moved."""
    return point(at) + np.array([right, up])


def polar(center: ArrayLike, radius: float, degrees: float) -> np.ndarray:
    """Return the point at a distance and an angle from a centre."""
    angle = np.radians(degrees)
    return point(center) + radius * np.array([np.cos(angle), np.sin(angle)])


class Pen:
    """A drawing of a size in units, with the origin at its lower left corner."""

    def __init__(self, width: float, height: float) -> None:
        mpl.rcParams.update(STYLE)
        self.figure = Figure(figsize=(INCHES * width, INCHES * height), facecolor='white')
        self.axes = self.figure.add_axes((0.0, 0.0, 1.0, 1.0))
        self.axes.set(xlim=(0.0, width), ylim=(0.0, height), aspect='equal')
        self.axes.axis('off')

    def line(self, points: ArrayLike, colour: str = DARK, width: float = 1.4, **more: Any) -> None:
        """Draw a polyline."""
        x, y = np.asarray(points, dtype=float).T
        self.axes.plot(x, y, color=colour, linewidth=width, solid_capstyle='round', **more)

    def area(self, points: ArrayLike, fill: str = LIGHT, edge: str = DARK, width: float = 1.4, **more: Any) -> None:
        """Draw a filled polygon."""
        more = {'zorder': 2, 'joinstyle': 'round', **more}
        self.axes.add_patch(Polygon(np.asarray(points), facecolor=fill, edgecolor=edge, linewidth=width, **more))

    def box(self, low: ArrayLike, high: ArrayLike, fill: str = LIGHT, edge: str = DARK, **more: Any) -> None:
        """Draw a rectangle from its lower left to its upper right corner."""
        (x0, y0), (x1, y1) = point(low), point(high)
        self.area([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], fill, edge, **more)

    def circle(self, at: ArrayLike, radius: float, fill: str = 'white', edge: str = DARK, **more: Any) -> None:
        """Draw a circle."""
        more = {'zorder': 3, 'linewidth': 1.4, **more}
        self.axes.add_patch(Circle(tuple(point(at)), radius, facecolor=fill, edgecolor=edge, **more))

    def text(self, x: float, y: float, words: str, colour: str = DARK, size: float = 11.0, **more: Any) -> None:
        """Write a text, centred unless `ha` or `va` is specified."""
        more = {'ha': 'center', 'va': 'center', 'zorder': 9, 'linespacing': 1.35, **more}
        self.axes.text(x, y, words, color=colour, fontsize=size, **more)

    def title(self, x: float, y: float, words: str) -> None:
        """Write the title of a part of the drawing, from its left end."""
        white = {'facecolor': 'white', 'edgecolor': 'none', 'pad': 1.0}
        self.text(x, y, words, size=11.5, ha='left', fontweight='bold', bbox=white)

    def arrow(
        self, start: ArrayLike, end: ArrayLike, colour: str = DARK, width: float = 1.8, head: str = '-|>', **more: Any
    ) -> None:
        """Draw an arrow."""
        more = {'zorder': 6, 'mutation_scale': 8.0 + 3.0 * width, 'shrinkA': 0.0, 'shrinkB': 0.0, **more}
        self.axes.add_patch(
            FancyArrowPatch(
                tuple(point(start)), tuple(point(end)), arrowstyle=head, color=colour, linewidth=width, **more
            )
        )

    def vector(self, start: ArrayLike, along: ArrayLike, colour: str = DARK, width: float = 2.2, **more: Any) -> None:
        """Draw an arrow from a point along a vector."""
        self.arrow(start, point(start) + point(along), colour, width, **more)

    def size(self, start: ArrayLike, end: ArrayLike, words: str, colour: str = DARK, at: float = 0.5) -> None:
        """Draw a dimension with arrows at both ends and its symbol on the line."""
        self.arrow(start, end, colour, 1.0, '<|-|>', mutation_scale=9.0)
        x, y = point(start) + at * (point(end) - point(start))
        self.text(x, y, words, colour, bbox={'facecolor': 'white', 'edgecolor': 'none', 'pad': 1.5})

    def arc(
        self, center: ArrayLike, radius: float, start: float, end: float, colour: str = DARK, **more: Any
    ) -> np.ndarray:
        """Draw an arc from an angle to another, degrees, and return its middle."""
        head = more.pop('head', True)
        width = more.pop('width', 1.6)
        angles = np.linspace(start, end, 60)
        points = [polar(center, radius, angle) for angle in angles]
        self.line(points if not head else points[:-3], colour, width, **more)
        if head:
            self.arrow(points[-7], points[-1], colour, width)
        return polar(center, radius, 0.5 * (start + end))

    def spring(self, start: ArrayLike, end: ArrayLike, coils: int = 6, half: float = 0.26, colour: str = DARK) -> None:
        """Draw a spring between two points."""
        begin, along = point(start), point(end) - point(start)
        across = half * np.array([-along[1], along[0]]) / np.linalg.norm(along)
        turns = [begin + (0.18 + 0.64 * (k + 0.5) / (2 * coils)) * along + (-1) ** k * across for k in range(2 * coils)]
        self.line([begin, begin + 0.18 * along, *turns, begin + 0.82 * along, begin + along], colour)

    def damper(self, start: ArrayLike, end: ArrayLike, half: float = 0.24, colour: str = DARK) -> None:
        """Draw a damper between two points, its pot at the start."""
        begin, along = point(start), point(end) - point(start)
        across = half * np.array([-along[1], along[0]]) / np.linalg.norm(along)
        low, top, piston = begin + 0.3 * along, begin + 0.68 * along, begin + 0.52 * along
        self.line([begin, low], colour)
        self.line([top - across, low - across, low + across, top + across], colour)
        self.line([piston - 0.8 * across, piston + 0.8 * across], colour, 2.4)
        self.line([piston, begin + along], colour)

    def ground(self, left: float, right: float, height: float) -> None:
        """Draw level ground with its hatching below."""
        for x in np.arange(left + 0.3, right, 0.4):
            self.line([(x, height), (x - 0.25, height - 0.28)], LINE, 0.8)
        self.line([(left, height), (right, height)], LINE, 2.0)

    def link(self, points: Sequence[ArrayLike], half: float = 0.2, fill: str = LIGHT, edge: str = DARK) -> None:
        """Draw a link with round ends through two or more points."""
        width = 72.0 * INCHES * 2.0 * half
        for colour, wide, depth in ((edge, width + 2.8, 2.0), (fill, width, 2.1)):
            x, y = np.array([point(at) for at in points]).T
            look = {'solid_capstyle': 'round', 'solid_joinstyle': 'round', 'zorder': depth}
            self.axes.plot(x, y, color=colour, linewidth=wide, **look)

    def pin(self, at: ArrayLike, colour: str = DARK, radius: float = 0.13) -> None:
        """Draw the pin of a joint."""
        self.circle(at, radius, 'white', colour, zorder=4)

    def wheel(self, at: ArrayLike, radius: float, lifted: bool = False) -> None:
        """Draw a wheel from its side; dashed if it is off the ground."""
        self.circle(at, radius, 'white' if lifted else GREY, DARK, linestyle='--' if lifted else '-')
        self.circle(at, 0.28 * radius, 'white', DARK)

    def mass(self, at: ArrayLike, radius: float = 0.2) -> None:
        """Draw the symbol of a centre of mass."""
        self.circle(at, radius, 'white', DARK, zorder=5)
        for start in (0.0, 180.0):
            sector = [polar(at, radius, start + angle) for angle in np.linspace(0.0, 90.0, 20)]
            self.area([point(at), *sector], DARK, DARK, 0.5, zorder=5.1)

    def frame(
        self, at: ArrayLike, degrees: float = 0.0, length: float = 0.8, names: tuple[str, str] = ('', '')
    ) -> None:
        """Draw two axes of a frame, turned by an angle."""
        for name, angle in zip(names, (degrees, degrees + 90.0)):
            self.arrow(at, polar(at, length, angle), AMBER, 1.3)
            self.text(*polar(at, length + 0.22, angle), name, AMBER, 10.0)

    def tank(self, at: ArrayLike) -> None:
        """Draw the symbol of a tank around the end of a line."""
        x, y = point(at)
        self.line([(x - 0.32, y + 0.2), (x - 0.32, y - 0.08), (x + 0.32, y - 0.08), (x + 0.32, y + 0.2)])

    def relief(self, top: ArrayLike, length: float) -> None:
        """Draw a relief valve and its tank below the end of a line."""
        x, y = point(top)
        middle = y - 0.5 * length
        self.line([(x, y), (x, y - length)])
        self.tank((x, y - length))
        self.box((x - 0.32, middle - 0.32), (x + 0.32, middle + 0.32), 'white')
        self.arrow((x + 0.12, middle + 0.3), (x + 0.12, middle - 0.3), DARK, 1.1, mutation_scale=8.0)
        self.spring((x + 0.32, middle), (x + 0.95, middle), 3, 0.14)
        self.line([(x, y), (x - 0.5, y), (x - 0.5, middle), (x - 0.32, middle)], LINE, 1.0, linestyle='--')

    def plot(self, low: ArrayLike, high: ArrayLike, across: str, up: str) -> None:
        """Draw the axes of a diagram with their symbols."""
        (x0, y0), (x1, y1) = point(low), point(high)
        self.arrow((x0, y0), (x1, y0), DARK, 1.3)
        self.arrow((x0, y0), (x0, y1), DARK, 1.3)
        self.text(x1, y0 - 0.35, across, ha='right')
        self.text(x0 - 0.1, y1 + 0.3, up, ha='left')

    def write(self, path: Path) -> None:
        """Write the drawing; the suffix of the path decides the format."""
        metadata = {'Date': None, 'Creator': None} if path.suffix == '.svg' else {}
        self.figure.savefig(path, metadata=metadata, facecolor='white', dpi=110)
