"""Plots of a recorded run."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from dyn_nodes.analysis.plots import (
    AMBER,
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LINES,
    MOST_POINTS,
    ORANGE,
    RESOLUTION,
    SKY,
    WIDTH,
    style,
)
from dyn_nodes.analysis.run_record import RunRecord
from dyn_nodes.analysis.summary import greatest_use, tightest_wheel
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.percent import percent_of
from dyn_nodes.measures import STAGE_STARTS, measure_of

HIGHEST_USE = 2.0  # greatest friction use that is drawn
HIGHEST_UTILISATION = 2.0  # greatest utilisation that is drawn
PHASE_COLOURS = {'reach': SKY, 'recover': AMBER, 'settle': GREEN, 'done': GREY}
PHASE_NAMES = {'done': 'task over'}


def plot_base_rotation(record: RunRecord) -> Figure:
    """Return the tilt, roll and pitch of the base over time, with a mark at the peak."""
    figure, (axes,) = _figure(record, 3.3)
    attitude = record.attitude
    degrees = {name: np.degrees(getattr(attitude, name)) for name in ('tilt', 'pitch', 'roll')}
    _line(axes, attitude.time, degrees['tilt'], color=BLUE, linewidth=2.4, label='tilt')
    _line(axes, attitude.time, degrees['pitch'], color=AMBER, linewidth=1.2, linestyle='--', label='pitch')
    _line(axes, attitude.time, degrees['roll'], color=GREEN, linewidth=1.2, label='roll')
    if len(attitude.time):
        peak = int(np.argmax(degrees['tilt']))
        time, value = attitude.time[peak], degrees['tilt'][peak]
        _mark_peak(axes, record, time, value, f'{value:.2f}° at {time:.2f} s', BLUE)
    _mark_contact(axes, record)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.12 * (high - low))
    axes.set_ylabel('rotation of the base, °')
    return _finish(figure, record, [axes], legend=4)


def plot_wheel_loads(record: RunRecord) -> Figure:
    """Return the normal force of the ground on every wheel."""
    figure, (axes,) = _figure(record, 3.3)
    total = None
    for (wheel, (time, load)), colour in zip(record.wheel_loads.items(), _colours()):
        _line(axes, time, 1e-3 * load, color=colour, label=wheel.replace('_', ' '), linestyle=_dash(wheel))
        if total is None:
            total = (time, load.copy())
        elif len(load) == len(total[1]):
            total = (time, total[1] + load)
    if total is not None:
        _line(axes, total[0], 1e-3 * total[1], color=GREY, linewidth=1.0, label='sum')
    _mark_contact(axes, record)
    axes.set_ylim(bottom=-3.0)
    axes.set_ylabel('normal force, kN')
    return _finish(figure, record, [axes], legend=len(record.wheel_loads) + 2)


def plot_margins(record: RunRecord) -> Figure:
    """Return one panel per stability measure: its least value and the values of all edges or wheels."""
    names = list(record.margins)
    rows = max(1, (len(names) + 1) // 2)
    figure, panels = _figure(record, 0.7 + 1.75 * rows, rows, 2)
    for axes in panels[len(names) :]:
        axes.set_visible(False)
    for axes, name in zip(panels, names):
        text, history = measure_of(name), record.margins[name]
        shown = text.scale * history.value
        for values in history.edges.values():
            _line(axes, history.time, text.scale * values, color=GREY, linewidth=0.7, alpha=0.8)
        _line(axes, history.time, shown, color=BLUE, linewidth=1.9)
        _critical(axes, history.time, shown)
        axes.set_title(text.label, pad=4)
        axes.set_ylabel(text.display_unit or 'ratio')
        _limits(axes, shown)
    return _finish(figure, record, panels[: len(names)], columns=2)


def plot_load_moment(record: RunRecord) -> Figure:
    """Return the utilisation of the rated load, with the stages of a load-moment indicator and the peak."""
    figure, (axes,) = _figure(record, 3.3)
    if record.utilisation is not None:
        time, values = record.utilisation
        percent = np.where(np.isfinite(values), 100.0 * np.minimum(values, HIGHEST_UTILISATION), np.nan)
        _line(axes, time, percent, color=BLUE, label='load')
        for (stage, start), colour in zip(STAGE_STARTS.items(), (AMBER, ORANGE, ORANGE)):
            axes.axhline(100.0 * start, color=colour, linewidth=0.9, linestyle='--' if stage == 'approach' else '-')
            axes.text(0.003 * record.duration, 100.0 * start, f' {stage}', va='bottom', color=GREY)
        if np.isfinite(percent).any():
            peak = int(np.nanargmax(percent))
            text = f'{percent_of(percent[peak] / 100.0)} % at {time[peak]:.2f} s'
            _mark_peak(axes, record, time[peak], percent[peak], text, BLUE)
    _mark_contact(axes, record)
    axes.set_ylim(0.0, max(125.0, 1.1 * axes.get_ylim()[1]))
    axes.set_ylabel('load, % of rated')
    return _finish(figure, record, [axes], legend=2)


def plot_friction_use(record: RunRecord) -> Figure:
    """Return the friction use of every wheel, with a mark at the greatest value; 1 is the limit of static friction."""
    figure, (axes,) = _figure(record, 3.3)
    for (wheel, (time, use)), colour in zip(record.friction_use.items(), _colours()):
        shown = np.minimum(use, HIGHEST_USE)
        _line(axes, time, shown, color=colour, label=wheel.replace('_', ' '), linestyle=_dash(wheel))
    _mark_contact(axes, record)
    axes.axhline(1.0, color=ORANGE, linewidth=0.9)
    uses = {wheel: greatest_use(*history) for wheel, history in record.friction_use.items()}
    tightest = tightest_wheel(uses)
    if tightest is not None:
        time, value = uses[tightest]['time_s'], uses[tightest]['value']
        text = f'{tightest.replace("_", " ")}: {value:.2f} at {time:.2f} s'
        _mark_peak(axes, record, time, min(value, HIGHEST_USE), text, BLACK)
    axes.set_ylim(0.0, 1.15 * max(1.0, axes.get_ylim()[1]))
    axes.set_ylabel('friction use, ratio')
    return _finish(figure, record, [axes], legend=len(record.friction_use) + 1)


def plot_payload(record: RunRecord) -> Figure:
    """Return the interval of 95 % of the estimated payload, and its middle."""
    figure, (axes,) = _figure(record, 3.3)
    if record.weighed is not None:
        time, lower, upper = record.weighed
        middle = 0.5 * (lower + upper)
        axes.fill_between(time, lower, upper, color=SKY, alpha=0.4, linewidth=0.0, label='interval of 95 %')
        _line(axes, time, middle, color=BLUE, label='middle')
        narrow = middle[upper - lower <= np.quantile(upper - lower, 0.9)]
        limit = record.machine.payload.limit if record.machine and record.machine.payload else 0.0
        most = max(float(narrow.max(initial=0.0)), limit)
        axes.set_ylim(-0.08 * most, 1.12 * most)  # just after a step of the load the interval is wider
    axes.set_ylabel('payload, kg')
    return _finish(figure, record, [axes], legend=2)


def plot_pressures(record: RunRecord) -> Figure:
    """Return one panel per actuator: the pressures of its lines and of its pump."""
    actuators = list(record.pressures)
    figure, panels = _figure(record, 0.8 + 1.75 * max(1, len(actuators)), max(1, len(actuators)))
    colours = {'head_pressure': BLUE, 'rod_pressure': ORANGE, 'pressure_a': BLUE, 'pressure_b': ORANGE}
    for axes, name in zip(panels, actuators):
        lines = sorted(record.pressures[name].items(), key=lambda item: item[0] == 'supply_pressure')
        for line, (time, values) in lines:
            supply = line == 'supply_pressure'
            label = {'pressure_a': 'line a', 'pressure_b': 'line b'}.get(line, line.removesuffix('_pressure'))
            colour = colours.get(line, GREEN)
            _line(axes, time, 1e-6 * values, color=colour, label=label, linewidth=1.1 if supply else 1.6)
        axes.set_title(name, pad=4)
        axes.set_ylabel('pressure, MPa')
        axes.legend(loc='lower right', bbox_to_anchor=(1.0, 0.98), ncol=3, borderaxespad=0.0)
    return _finish(figure, record, panels)


def plot_joints(record: RunRecord) -> Figure:
    """Return one panel per joint with its position."""
    names = list(record.joints)
    figure, panels = _figure(record, 0.8 + 1.5 * max(1, len(names)), max(1, len(names)))
    for axes, name, colour in zip(panels, names, _colours()):
        time, position = record.joints[name]
        sliding = record.machine is not None and _type(record, name) == 'prismatic'
        values = position if sliding else np.degrees(position)
        _line(axes, time, values, color=colour)
        axes.set_title(name.replace('_', ' '), pad=4)
        axes.set_ylabel('position, m' if sliding else 'angle, °')
        finite = values[np.isfinite(values)]
        if len(finite):
            middle = 0.5 * float(finite.max() + finite.min())
            span = max(float(np.ptp(finite)), 1e-3 if sliding else 1.0)
            axes.set_ylim(middle - 0.58 * span, middle + 0.66 * span)
    return _finish(figure, record, panels)


PLOTS: dict[str, Callable[[RunRecord], Figure]] = {
    'base_rotation': plot_base_rotation,
    'wheel_loads': plot_wheel_loads,
    'margins': plot_margins,
    'load_moment': plot_load_moment,
    'friction_use': plot_friction_use,
    'payload': plot_payload,
    'pressures': plot_pressures,
    'joint_angles': plot_joints,
}


def has_data(record: RunRecord, plot: str) -> bool:
    """Return whether a run has the data of a plot."""
    return {
        'base_rotation': len(record.attitude.time) > 0,
        'wheel_loads': bool(record.wheel_loads),
        'margins': bool(record.margins),
        'load_moment': record.utilisation is not None,
        'friction_use': bool(record.friction_use),
        'payload': record.weighed is not None,
        'pressures': bool(record.pressures),
        'joint_angles': bool(record.joints),
    }[plot]


@dataclass(frozen=True)
class Plot:
    """A plot as a PNG file and as SVG."""

    file: Path
    svg: bytes


def make_plots(record: RunRecord, directory: Path, progress: Callable[[str], None] | None = None) -> dict[str, Plot]:
    """Draw every plot that a run has data for; write `<plot>.png`.

    Args:
        record: the run.
        directory: directory of the files.
        progress: called with the name of every plot before it is drawn.
    """
    plots = {}
    for name, make in PLOTS.items():
        if has_data(record, name):
            if progress is not None:
                progress(name)
            file, page = directory / f'{name}.png', io.BytesIO()
            with style():
                _save(make(record), file, page)
            plots[name] = Plot(file, page.getvalue())
    return plots


# --- inside ----------------------------------------------------------------------------------------------------------


def _save(figure: Figure, file: Path, page: io.BytesIO) -> None:
    """Write a figure as PNG and as SVG. `Figure.savefig` would compute the layout again for each."""
    figure.set_dpi(RESOLUTION)
    FigureCanvasAgg(figure).print_png(file, metadata={'Software': None})
    figure.set_layout_engine('none')  # the layout is done
    FigureCanvasSVG(figure).print_svg(page, metadata={'Date': None, 'Creator': None})


def _figure(record: RunRecord, height: float, rows: int = 1, columns: int = 1) -> tuple[Figure, list[Any]]:
    figure = Figure(figsize=(WIDTH, height), layout='constrained')
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, sharex=True, squeeze=False)
    return figure, list(axes.ravel())


def _colours() -> Iterator[str]:
    while True:
        yield from LINES


def _dash(wheel: str) -> str:
    return '--' if 'right' in wheel else '-'


def _type(record: RunRecord, joint: str) -> str:
    assert record.machine is not None
    return next((j.type for j in record.machine.joints if j.name == joint), '')


def _line(axes: Any, time: Array, values: Array, **properties: Any) -> None:
    """Draw a line of at most MOST_POINTS points, with the least and greatest value of every stretch."""
    count = min(len(time), len(values))
    time, values = time[:count], values[:count]
    if count > MOST_POINTS:
        stretches = np.array_split(np.arange(count), MOST_POINTS // 2)
        keep = np.unique([k for s in stretches for k in (s[np.argmin(values[s])], s[np.argmax(values[s])])])
        time, values = time[keep], values[keep]
    axes.plot(time, values, **properties)


def _mark_peak(axes: Any, record: RunRecord, time: float, value: float, text: str, colour: str) -> None:
    """Mark a point of a line with a text, on the side with space."""
    axes.plot([time], [value], 'o', color=colour, markersize=5)
    side = -1 if time > 0.7 * record.duration else 1
    axes.annotate(
        text,
        (time, value),
        xytext=(9 * side, -1),
        textcoords='offset points',
        ha='left' if side > 0 else 'right',
        color=colour,
        weight='bold',
    )


def _critical(axes: Any, time: Array, values: Array) -> None:
    """Mark the times at which a margin is zero."""
    axes.axhline(0.0, color=ORANGE, linewidth=0.9)
    finite = values[np.isfinite(values)]
    floor = 0.005 * float(np.abs(finite).max()) if len(finite) else 0.0
    spent = np.isfinite(values) & (values <= floor)
    if spent.any():
        transform = axes.get_xaxis_transform()
        axes.fill_between(time, 0.0, 0.035, where=spent, color=ORANGE, transform=transform, linewidth=0, zorder=3)


def _limits(axes: Any, values: Array) -> None:
    """Fit the panel to the least values; edges far above are cut."""
    finite = values[np.isfinite(values)]
    if len(finite):
        low, high = min(0.0, float(finite.min())), max(0.0, float(finite.max()))
        span = (high - low) or 1.0
        axes.set_ylim(low - 0.12 * span, high + 0.45 * span)


def _mark_contact(axes: Any, record: RunRecord) -> None:
    """Mark the times at which wheels are in the air by a bar at the bottom of the panel."""
    label = 'a wheel in the air'
    for time, load in record.wheel_loads.values():
        off = load <= 0.0
        if off.any():
            transform = axes.get_xaxis_transform()
            bar = {'color': ORANGE, 'linewidth': 0, 'zorder': 3, 'label': label}
            axes.fill_between(time, 0.0, 0.025, where=off, transform=transform, **bar)
            label = '_again'


def _finish(figure: Figure, record: RunRecord, panels: list[Any], legend: int = 0, columns: int = 1) -> Figure:
    for index, axes in enumerate(panels):
        _shade_phases(axes, record, with_names=index < columns)
        axes.set_xlim(0.0, record.duration)
        if index >= len(panels) - columns:
            axes.set_xlabel('simulated time, s')
            axes.tick_params(labelbottom=True)
    if legend:
        panels[0].legend(loc='lower left', bbox_to_anchor=(0.0, 1.05), ncol=legend, borderaxespad=0.0)
    return figure


def _shade_phases(axes: Any, record: RunRecord, with_names: bool) -> None:
    for phase in record.phases:
        colour = PHASE_COLOURS.get(phase.name)
        if colour is None:
            continue
        axes.axvspan(phase.start, phase.end, color=colour, alpha=0.13, linewidth=0, zorder=0)
        if with_names and phase.end - phase.start > 0.05 * record.duration:
            axes.text(
                0.5 * (phase.start + phase.end),
                0.985,
                PHASE_NAMES.get(phase.name, phase.name),
                transform=axes.get_xaxis_transform(),
                ha='center',
                va='top',
                fontsize=8.5,
                color='#555555',
            )
