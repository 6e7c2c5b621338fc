"""Figures of planar runs in the plot style of `dyn_nodes.analysis.plots`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.analysis.drawing import legend, panels
from dyn_nodes.analysis.plots import AMBER, BLACK, BLUE, GREEN, GREY, LINES, ORANGE, SKY
from dyn_nodes.studies.abo_shanab_2003.planar import PlanarOutcome, profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ['AMBER', 'BLACK', 'BLUE', 'GREEN', 'GREY', 'LINES', 'ORANGE', 'SKY']

HALF_BASE, FOOT, BOOM, STICK = 2.5, (1.5, 1.5), 5.2, 1.8  # m, of urdf/log_loader_planar.urdf
HOUSE = ((-2.5, 0.25), (2.5, 0.25), (2.5, 0.7), (1.9, 0.9), (1.5, 1.7), (0.7, 2.3), (-1.6, 2.0), (-2.4, 1.7))
SPRING = 0.3  # m, free length
OVER = 25.0  # degrees at which a rotation that overturns is cut


def over_time(axes: Any, outcome: PlanarOutcome, label: str) -> None:
    """Set the limits of the time axis and the label of the other axis."""
    axes.set_xlim(0.0, profile(outcome.case.task).duration)
    axes.set_ylabel(label)


def histories(
    lines: Mapping[str, PlanarOutcome],
    name: str,
    label: str,
    *,
    scale: float = 1.0,
    height: float = 3.4,
    columns: int = 4,
) -> Figure:
    """Return one panel with a history of several runs; a rotation that overturns is cut."""
    figure, (axes,) = panels(1, height)
    palette = shades(len(lines))
    lowest = 0.0
    for (title, outcome), colour in zip(lines.items(), palette):
        values = scale * outcome.series[name]
        if outcome.overturned and name == 'rotation':
            values = np.where(np.abs(values) > OVER, np.nan, values)
            title += ' (overturns)'
        if outcome.case.contact == 'rigid' and len(lines) > 1:
            axes.plot(outcome.time, values, color=BLACK, linestyle='--', linewidth=1.1, label=title)
        else:
            axes.plot(outcome.time, values, color=colour, label=title)
        lowest = min(lowest, float(np.nanmin(values)))
        over_time(axes, outcome, label)
    axes.set_xlabel('time, s')
    legend(axes, columns)
    return figure


def shades(count: int) -> Sequence[Any]:
    """Return colours for a number of lines: the package's line colours, or a colour map for more lines."""
    if count <= len(LINES):
        return LINES[:count]
    from matplotlib import colormaps

    return [colormaps['viridis'](0.92 * k / (count - 1)) for k in range(count)]


def voltages(task: str) -> Figure:
    """Return the voltages of a task over time."""
    plan = profile(task)
    figure, axes = panels(2, 3.6)
    for panel, name, colour in zip(axes, ('boom', 'stick'), (BLUE, ORANGE)):
        times = np.linspace(0.0, plan.duration, 2001)
        panel.plot(times, plan.evaluate(times, ('boom', 'stick'))[:, int(name == 'stick')], color=colour)
        panel.set_ylabel(f'{name}, V')
        panel.set_ylim(-7.0, 7.0)
        panel.set_xlim(0.0, plan.duration)
    axes[-1].set_xlabel('time, s')
    return figure


def joints(outcome: PlanarOutcome, other: PlanarOutcome | None = None, names: tuple[str, str] = ('', '')) -> Figure:
    """Return boom, stick and base rotation over time, of one run or two."""
    figure, axes = panels(3, 5.4)
    for panel, name, colour in zip(axes, ('boom', 'stick', 'rotation'), (BLUE, ORANGE, GREEN)):
        panel.plot(outcome.time, outcome.series[name], color=colour, label=names[0] or None)
        if other is not None:
            panel.plot(other.time, other.series[name], color=BLACK, linestyle='--', linewidth=1.1, label=names[1])
        over_time(panel, outcome, 'base, °' if name == 'rotation' else f'{name}, °')
        if names[0]:
            panel.legend(loc='best')
    axes[-1].set_xlabel('time, s')
    return figure


def postures(outcome: PlanarOutcome, times: Sequence[float], columns: int = 4) -> Figure:
    """Return stick figures of the machine at some times."""
    rows = math.ceil(len(times) / columns)
    figure, axes = panels(rows, 1.65 * rows + 0.1, columns)
    slope = outcome.case.slope
    for panel in axes[len(times) :]:
        panel.set_visible(False)
    for panel, time in zip(axes, times):
        _posture(panel, outcome, time, math.radians(-slope))
        rotation = outcome.at('rotation', time)
        panel.set_title(f't = {time:g} s   base {round(rotation, 1) + 0.0:.1f}°', fontsize=9)
        panel.set_aspect('equal')
        panel.set(xlim=(-4.2, 9.6), ylim=(-3.4, 4.6) if slope else (-1.9, 6.1), xticks=[], yticks=[])
        panel.grid(False)
        panel.spines[['left', 'bottom']].set_visible(False)
    return figure


def _posture(axes: Any, outcome: PlanarOutcome, time: float, tilt: float) -> None:
    turn = math.radians(outcome.at('rotation', time))
    rear_height, front_height = outcome.at('rear_height', time), outcome.at('front_height', time)
    # the lower edge does not move
    front_pivot = rear_height > front_height
    rear_x = -HALF_BASE + (2.0 * HALF_BASE * (1.0 - math.cos(turn)) if front_pivot else 0.0)
    if 'x' in outcome.series:
        rear_x = outcome.at('x', time) - HALF_BASE * math.cos(turn)
    origin = np.array([rear_x, rear_height]) + _turned((HALF_BASE, 0.0), turn)
    foot = origin + _turned(FOOT, turn)
    boom_angle = turn + math.radians(outcome.at('boom', time))
    elbow = foot + _turned((BOOM, 0.0), boom_angle)
    tip = elbow + _turned((STICK, 0.0), boom_angle + math.radians(outcome.at('stick', time)))
    house = np.array([origin + _turned(corner, turn) for corner in HOUSE])
    drawn = _tilted(house, tilt)
    axes.fill(drawn[:, 0], drawn[:, 1], color=AMBER, alpha=0.75, linewidth=0)
    for edge in (-HALF_BASE, HALF_BASE):
        point = origin + _turned((edge, 0.0), turn)
        center = _tilted(np.array([point]), tilt)[0]
        axes.plot(*center, 'o', color=BLACK, markersize=5)
        if outcome.case.contact != 'rigid' and point[1] < SPRING:
            # supporting spring
            leg = _tilted(np.array([point, (point[0], 0.0)]), tilt)
            axes.plot(leg[:, 0], leg[:, 1], color=BLACK, linewidth=2.0)
    for chain, width in (((foot, elbow), 3.2), ((elbow, tip), 2.4)):
        line = _tilted(np.array(chain), tilt)
        axes.plot(line[:, 0], line[:, 1], color=BLUE, linewidth=width, solid_capstyle='round')
    dropped = [event.time for event in outcome.events if event.kind == 'payload_drop']
    if not dropped or time < dropped[0]:
        axes.plot(*_tilted(np.array([tip]), tilt)[0], 'o', color=ORANGE, markersize=8)
    ground = _tilted(np.array([(-4.5, 0.0), (9.8, 0.0)]), tilt)
    axes.plot(ground[:, 0], ground[:, 1], color=GREY, linewidth=1.2, zorder=0)


def _turned(point: ArrayLike, angle: float) -> np.ndarray:
    x, y = np.asarray(point, dtype=float)
    return np.array([x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle)])


def _tilted(points: np.ndarray, angle: float) -> np.ndarray:
    return np.array([_turned(point, angle) for point in points])


def pressures(outcome: PlanarOutcome) -> Figure:
    """Return the line pressures of boom and stick."""
    figure, axes = panels(2, 4.6)
    for panel, name in zip(axes, ('boom', 'stick')):
        for line, colour in (('head', BLUE), ('rod', ORANGE)):
            panel.plot(outcome.time, 1e-6 * outcome.series[f'{name}_{line}'], color=colour, label=f'{name} {line}')
        over_time(panel, outcome, 'pressure, MPa')
        panel.legend(loc='upper right', ncol=2)
        panel.set_ylim(0.0, 42.0)
    axes[-1].set_xlabel('time, s')
    return figure


def against(
    x: ArrayLike, lines: Mapping[str, ArrayLike], xlabel: str, ylabel: str, *, log: bool = False, height: float = 3.4
) -> Figure:
    """Return the results of a sweep against the swept quantity."""
    figure, (axes,) = panels(1, height)
    for (name, values), colour in zip(lines.items(), LINES):
        axes.plot(x, values, 'o-', color=colour, label=name, markersize=4)
    if log:
        axes.set_xscale('log')
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    if len(lines) > 1:
        legend(axes)
    return figure
