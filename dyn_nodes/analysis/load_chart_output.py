"""A load chart as a picture, a table, CSV and JSON."""

from __future__ import annotations

import csv
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.analysis.load_chart import HYDRAULICS, LIMIT, REASONS, SLIDING, TIPPING, ChartSettings, LoadChart
from dyn_nodes.analysis.plots import BLACK, LINES, RESOLUTION, style
from dyn_nodes.common.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LABEL = {'boxstyle': 'round,pad=0.12', 'facecolor': 'white', 'edgecolor': 'none', 'alpha': 0.75}
ROUNDED = 10.0  # kg; payloads for the operator are rounded down to multiples
SIDES = ('over front', 'over side', 'over rear', 'all round')
MARKS = {
    'tipping': 'T',
    'hydraulics': 'H',
    'dynamic tipping': 'D',
    'dynamic hydraulics': 'P',
    'payload limit': 'L',
    'sliding': 'S',
    'dynamic sliding': 'G',
}


TIPS_WHEN_SLEWED = '*'
"""Mark of a payload above the tipping load of the worst swing angle."""
WARNING = '#b3401a'
"""Colour of warnings."""
NOTES = 5
"""Number of assumptions below the picture; its marks need no letters, and warnings are above it."""


def sides(chart: LoadChart, slope: int) -> dict[str, tuple[Array, list[str]]]:
    """Return the safe payload (r,) and its limit, with the arm over each side of the machine, by `SIDES`.

    A payload may exceed the tipping load of the worst swing angle (`LoadChart.tips_when_slewed`).

    `over side` is the worse of left and right; `all round` the worst of all swing angles. NaN where the machine cannot
    swing.
    """
    indices: dict[str, NDArray[np.intp]] = {'all round': np.arange(len(chart.swings))}
    for name, angles in (('over front', [0.0]), ('over side', [np.pi / 2, -np.pi / 2]), ('over rear', [np.pi])):
        near = [int(np.argmin(np.abs(_wrapped(chart.swings - angle)))) for angle in angles]
        fits = all(abs(_wrapped(chart.swings[k] - angle)) < 0.02 for k, angle in zip(near, angles))
        indices[name] = np.array(near if fits else [], dtype=np.intp)
    rows = np.arange(len(chart.reaches))
    result = {}
    for name in SIDES:
        values = chart.safe[slope][:, indices[name]]
        if values.shape[1] == 0:
            result[name] = (np.full(len(rows), np.nan), [''] * len(rows))
            continue
        worst = np.argmin(np.where(np.isnan(values), np.inf, values), axis=1)
        reasons = chart.reason[slope][rows, indices[name][worst]]
        result[name] = (values[rows, worst], [REASONS[k] for k in reasons])
    return result


def _wrapped(angle: Any) -> Any:
    return np.mod(angle + np.pi, 2.0 * np.pi) - np.pi


def table_rows(chart: LoadChart, slope: int) -> list[list[str]]:
    """Return the operator's table: reach, height of the load, posture, and a payload for each of `SIDES`.

    Payloads are in kg, rounded down, each with the letter of its limit from `MARKS`; `TIPS_WHEN_SLEWED` marks those
    above the tipping load of the worst swing angle.
    """
    columns, worst = sides(chart, slope), chart.tipping[slope].min(axis=1)
    rows = []
    for k, reach in enumerate(chart.reaches):
        if not np.isfinite(chart.heights[k]):
            continue
        cells = [
            f'{reach:.2f}',
            f'{chart.heights[k]:.1f}',
            _posture(chart, chart.postures[k]),
        ]
        for name in SIDES:
            values, reasons = columns[name]
            shown = '-' if np.isnan(values[k]) else f'{ROUNDED * np.floor(values[k] / ROUNDED):.0f}'
            beyond = TIPS_WHEN_SLEWED if values[k] > worst[k] else ''
            cells.append(shown if shown == '-' else f'{shown} {MARKS.get(reasons[k], "")}{beyond}')
        rows.append(cells)
    return rows


def slope_text(chart: LoadChart, slope: int) -> str:
    """Return the description of a slope."""
    degrees = np.degrees(chart.settings.slopes[slope])
    if degrees == 0.0:
        return 'level ground'
    if chart.settings.downhill is None:
        return f'slope {degrees:g}°, any heading of the machine'
    heading = np.degrees(chart.settings.downhill)
    words = {0: 'front', 90: 'left', -90: 'right', 180: 'rear', 270: 'right'}
    return f'slope {degrees:g}°, {words.get(round(heading), f"{heading:g}° from the front")} downhill'


def assumptions(chart: LoadChart) -> list[str]:
    """Return the assumptions of the chart, one sentence each."""
    settings = chart.settings
    origin = f'the axis of {chart.swing_joint}' if chart.swing_joint else f'the axis of {chart.joints[0]}'
    posture = (
        'at each reach the posture with the greatest payload at its worst swing angle on level ground'
        if settings.height is None
        else f'the payload held {settings.height:g} m above the ground'
    )
    slew = (
        f' and the slew with {settings.slew_deceleration:g} rad/s2 from {settings.slew_speed:g} rad/s'
        if chart.swing_joint
        else ''
    )
    return [
        f'Reach: horizontal distance of the payload mount from {origin}. Arm: {posture}{_configuration(settings)}.',
        f'Static: the lesser of {100 * settings.tipping_share:g} % of the tipping load and '
        f'{100 * settings.hydraulic_share:g} % of the hydraulic lift capacity (ISO 10567); firm ground, at rest.',
        _tipping_text(chart),
        f'Dynamic: no edge unloaded and no line relief open while the arm stops the load with '
        f'{settings.arm_deceleration:g} m/s2{slew}.',
        _friction_text(chart),
        f'Limited by: T tipping, H hydraulics, S sliding; in the stop D tipping, P line reliefs, G sliding; '
        f'L the payload limit of the machine file. Payloads rounded down to {ROUNDED:g} kg.',
        *warnings(chart),
    ]


def _configuration(settings: ChartSettings) -> str:
    """Return the state of telescopes and outriggers, if the settings prescribe them."""
    text = '' if settings.extension is None else f'; telescopes at {100.0 * settings.extension:g} % of their travel'
    side = {'left': 'on the left only', 'right': 'on the right only'}.get(settings.outriggers, settings.outriggers)
    return text + (f'; outriggers {side}' if side else '')


def warnings(chart: LoadChart) -> list[str]:
    """Return statements that a reader of the chart must see: assumed values, payloads that tip a slewing machine."""
    result = []
    if chart.assumed:
        count = len(chart.assumed)
        result.append(
            f'{count} value{"" if count == 1 else "s"} of the machine file {"is" if count == 1 else "are"} assumed, '
            'not measured or published: `dyn-nodes check --assumed` lists them.'
        )
    reaches = chart.reaches[np.any([chart.tips_when_slewed(k).any(axis=1) for k in range(len(chart.safe))], axis=0)]
    if len(reaches):
        result.append(
            f'{TIPS_WHEN_SLEWED}, hatched in the picture: above the tipping load of the worst slew angle at this reach '
            f'(from {reaches[0]:.2f} m). The machine tips if it slews there with this payload.'
        )
    return result


def joints_heading(chart: LoadChart) -> str:
    """Return the heading of the column of postures: the arm's joints and the units of their positions."""
    units = ['m' if slides else 'deg' for slides in chart.sliding_joints]
    if len(set(units)) == 1:
        return f'{", ".join(chart.joints)}, {units[0]}'
    return ', '.join(f'{joint} ({unit})' for joint, unit in zip(chart.joints, units))


def _columns(chart: LoadChart) -> list[str]:
    return [f'{joint}_{"m" if slides else "deg"}' for joint, slides in zip(chart.joints, chart.sliding_joints)]


def _shown(chart: LoadChart, posture: Array) -> Array:
    """Return positions (a,) of the arm's joints, deg or m."""
    return np.where(chart.sliding_joints, posture, np.degrees(posture))


def _posture(chart: LoadChart, posture: Array) -> str:
    digits = (2 if slides else 0 for slides in chart.sliding_joints)
    return ' '.join(
        f'{round(value, decimals) + 0.0:.{decimals}f}' for value, decimals in zip(_shown(chart, posture), digits)
    )


def _tipping_text(chart: LoadChart) -> str:
    """Return the description of the method for the tipping load."""
    text = 'Tipping load: first loss of equilibrium, '
    text += 'supports taken as rigid' if chart.settings.rigid else 'on compliant springs and tyres'
    if chart.held:
        text += f'; {", ".join(chart.held)} fixed at the initial {"position" if len(chart.held) == 1 else "positions"}'
    if chart.loose:
        text += f'; {", ".join(chart.loose)} move{"s" if len(chart.loose) == 1 else ""} passively'
    if chart.raised:
        text += f'; raised, without support: {", ".join(chart.raised)}'
    return text + '.'


def _friction_text(chart: LoadChart) -> str:
    """Return the description of the friction that the chart assumes."""
    if not chart.sliding_checked:
        return 'Ground: sliding was not checked, because passive joints below the machine move or it has tracks.'
    if not chart.friction.any():
        return 'Ground: wheels that do not slide, because the machine file has no friction.'
    least, most = chart.friction.min(), chart.friction.max()
    values = f'{least:g}' if least == most else f'{least:g} to {most:g}'
    return f'Ground: static friction {values}, of the machine file.'


def as_text(chart: LoadChart) -> str:
    """Return the tables of all slopes as plain text."""
    lines = [f'Load chart of {chart.machine}: safe payload, kg', '']
    headings = ['reach, m', 'height, m', joints_heading(chart), *SIDES]
    for k in range(len(chart.settings.slopes)):
        rows = [headings, *table_rows(chart, k)]
        widths = [max(len(row[c]) for row in rows) for c in range(len(headings))]
        lines += [slope_text(chart, k)]
        lines += ['  '.join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows]
        lines.append('')
    return '\n'.join(lines + assumptions(chart)) + '\n'


def write_csv(chart: LoadChart, path: Path) -> None:
    """Write every state of the chart as one line."""
    with path.open('w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file)
        names = ['slope_deg', 'reach_m', 'swing_deg', 'height_m', *_columns(chart)]
        payloads = ('tipping', 'lift_off', 'fall', 'lifting', 'static', 'dynamic', 'safe')
        writer.writerow([*names, *(f'{name}_kg' for name in payloads), 'limited_by', 'tips_when_slewed'])
        for k, r, s in np.ndindex(chart.safe.shape):
            if not np.isfinite(chart.heights[r]):
                continue
            state = (np.degrees(chart.settings.slopes[k]), chart.reaches[r], np.degrees(chart.swings[s]))
            posture = (chart.heights[r], *_shown(chart, chart.postures[r]))
            masses = (getattr(chart, name)[k, r, s] for name in payloads)
            numbers = [f'{value:.4f}' for value in (*state, *posture)] + [f'{value:.1f}' for value in masses]
            tips = 'yes' if chart.tips_when_slewed(k)[r, s] else 'no'
            writer.writerow([*numbers, REASONS[int(chart.reason[k, r, s])], tips])


def as_json(chart: LoadChart) -> dict[str, Any]:
    """Return the chart as plain numbers, SI units; None for missing values."""
    settings = chart.settings
    return {
        'machine': chart.machine,
        'assumptions': {
            'slopes': list(settings.slopes),
            'downhill': settings.downhill,
            'height': settings.height,
            'tipping_share': settings.tipping_share,
            'hydraulic_share': settings.hydraulic_share,
            'arm_deceleration': settings.arm_deceleration,
            'slew_deceleration': settings.slew_deceleration,
            'slew_speed': settings.slew_speed,
            'rigid': settings.rigid,
            'outriggers': settings.outriggers,
            'extension': settings.extension,
            'held': list(chart.held),
            'gives_way': list(chart.loose),
            'raised': list(chart.raised),
        },
        'swing_joint': chart.swing_joint,
        'joints': list(chart.joints),
        'swings': _plain(chart.swings),
        'reaches': _plain(chart.reaches),
        'heights': _plain(chart.heights),
        'postures': _plain(chart.postures),
        **{
            name: _plain(getattr(chart, name))
            for name in ('tipping', 'lift_off', 'fall', 'lifting', 'sliding', 'static', 'dynamic', 'safe')
        },
        'tips_when_slewed': [chart.tips_when_slewed(k).tolist() for k in range(len(chart.safe))],
        'assumed_values': list(chart.assumed),
        'limited_by': [[[REASONS[k] for k in row] for row in block] for block in chart.reason.tolist()],
    }


def _plain(values: Array) -> Any:
    if values.ndim > 1:
        return [_plain(row) for row in values]
    return [float(value) if np.isfinite(value) else None for value in values]


# ------------------------------------------------------------------------------------------------ the picture


def draw(chart: LoadChart) -> Figure:
    """Draw the chart: reach by swing for the first slope, and lines per slope."""
    from matplotlib.figure import Figure

    with style():
        if len(chart.swings) > 3:
            figure = Figure(figsize=(13.0, 6.6), dpi=RESOLUTION, layout='constrained')
            left, right = figure.subplots(1, 2, width_ratios=(1.15, 1.0))
            _draw_map(chart, left)
            _draw_lines(chart, right)
        else:
            figure = Figure(figsize=(8.0, 5.2), dpi=RESOLUTION, layout='constrained')
            _draw_lines(chart, figure.subplots())
        width = int(17.5 * figure.get_figwidth())  # characters per line of the notes
        _draw_head(chart, figure, int(0.8 * width))
        small = '\n'.join(textwrap.fill(line, width) for line in assumptions(chart)[:NOTES])
        figure.supxlabel(small, x=0.01, ha='left', fontsize=7.5, color='#555555')
        return figure


def _draw_head(chart: LoadChart, figure: Figure, width: int) -> None:
    """Write title and warnings above the plots."""
    line = 0.19 / figure.get_figheight()
    figure.text(0.01, 1.0 - 0.4 * line, f'{chart.machine}: safe payload', va='top', fontweight='bold', fontsize=13)
    warned = '\n'.join(textwrap.fill(text, width) for text in warnings(chart))
    figure.text(0.01, 1.0 - 1.9 * line, warned, va='top', fontsize=9.5, color=WARNING)
    used = line * (2.3 + (warned.count('\n') + 1 if warned else 0))
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.set(rect=(0.0, 0.0, 1.0, 1.0 - used))  # type: ignore[call-arg]


def _draw_map(chart: LoadChart, axes: Axes) -> None:
    """Draw the payload over the ground from above, the front up; polar axes would bend contours and labels."""
    swings = np.append(chart.swings, chart.swings[0] + 2.0 * np.pi)
    if float(chart.swings[-1] - chart.swings[0]) < 1.9 * np.pi - chart.settings.swing_step:
        swings = chart.swings  # a swing joint with stops
    reached = np.isfinite(chart.heights)
    reaches, payload = chart.reaches[reached], chart.safe[0][reached] / 1000.0
    payload = np.column_stack([payload, payload[:, :1]])[:, : len(swings)]
    step = _nice_step(float(payload.max() - payload.min()) / 8.0)
    levels = step * np.arange(np.floor(payload.min() / step), np.ceil(payload.max() / step) + 1)
    # refined along reach and swing, so that the contours are smooth
    fine_reaches, fine_swings = (np.interp(*_refined(values, 5)) for values in (reaches, swings))
    along = np.array([np.interp(fine_reaches, reaches, column) for column in payload.T]).T
    fine = np.array([np.interp(fine_swings, swings, row) for row in along])
    left, ahead = -np.outer(fine_reaches, np.sin(fine_swings)), np.outer(fine_reaches, np.cos(fine_swings))
    filled = axes.contourf(left, ahead, fine, levels=levels, cmap='viridis')
    lines = axes.contour(left, ahead, fine, levels=levels, colors='white', linewidths=0.7)
    axes.clabel(lines, fmt=lambda value: f'{value:g} t', fontsize=8)
    if chart.tips_when_slewed().any():
        with np.errstate(invalid='ignore'):
            beyond = chart.safe[0][reached] - chart.tipping[0][reached].min(axis=1, keepdims=True)
        beyond = np.column_stack([beyond, beyond[:, :1]])[:, : len(swings)]
        along = np.array([np.interp(fine_reaches, reaches, column) for column in beyond.T]).T
        fine = np.array([np.interp(fine_swings, swings, row) for row in along])
        axes.contourf(left, ahead, fine, levels=[0.0, np.inf], colors='none', hatches=['////'])
    _draw_rings(axes, float(reaches[0]), float(reaches[-1]))
    outline = np.vstack([chart.support_polygon, chart.support_polygon[:1]])
    axes.fill(-outline[:, 1], outline[:, 0], facecolor='#e3e3e3', edgecolor=BLACK, linewidth=1.2, zorder=4)
    axes.text(0.0, 0.0, 'supports', ha='center', va='center', fontsize=8, zorder=5)
    axes.set_title(f'by reach and swing angle, {slope_text(chart, 0)}')
    axes.figure.colorbar(filled, ax=axes, shrink=0.75, pad=0.02, label='safe payload, t')


def _refined(values: Array, parts: int) -> tuple[Array, Array, Array]:
    """Arguments of np.interp for `parts` steps between neighbours."""
    indices = np.arange(len(values), dtype=np.float64)
    return np.linspace(0.0, len(values) - 1.0, parts * (len(values) - 1) + 1), indices, values


def _draw_rings(axes: Axes, nearest: float, farthest: float) -> None:
    """Draw rings of equal reach, spokes of swing angle, and the names of the machine's sides."""
    turn = np.linspace(0.0, 2.0 * np.pi, 181)
    for ring in np.arange(np.ceil(nearest - 1e-9), farthest + 1e-9):
        axes.plot(ring * np.sin(turn), ring * np.cos(turn), color=BLACK, linewidth=0.4, alpha=0.35, zorder=3)
        position = ring * np.array([-np.sin(np.pi / 8), np.cos(np.pi / 8)])
        axes.text(position[0], position[1], f'{ring:g} m', fontsize=7, ha='center', va='center', zorder=5, bbox=_LABEL)
    for spoke in range(0, 360, 45):
        angle = np.radians(spoke)
        start, end = (reach * np.array([-np.sin(angle), np.cos(angle)]) for reach in (nearest, farthest))
        axes.plot([start[0], end[0]], [start[1], end[1]], color=BLACK, linewidth=0.4, alpha=0.35, zorder=3)
        name = {0: 'front', 90: 'left', 180: 'rear', 270: 'right'}.get(
            spoke, f'{spoke if spoke < 180 else spoke - 360}°'
        )
        axes.text(1.07 * end[0], 1.07 * end[1], name, ha='center', va='center', fontsize=9)
    axes.set_aspect('equal')
    axes.set_xlim(-1.16 * farthest, 1.16 * farthest)
    axes.set_ylim(-1.13 * farthest, 1.13 * farthest)
    axes.axis('off')


def _nice_step(step: float) -> float:
    if step <= 0.0:
        return 0.1
    size = 10.0 ** np.floor(np.log10(step))
    return float(size * min((m for m in (1.0, 2.0, 2.5, 5.0, 10.0)), key=lambda m: abs(m * size - step)))


def _draw_lines(chart: LoadChart, axes: Axes) -> None:
    turning = len(chart.swings) > 3
    marks = {TIPPING: '', HYDRAULICS: 's', LIMIT: '^', SLIDING: 'v'}
    used: set[int] = set()
    for k in range(len(chart.settings.slopes)):
        colour = LINES[k % len(LINES)]
        columns = sides(chart, k)
        if turning and k == 0:
            values, _ = columns['over front']
            axes.plot(chart.reaches, values / 1000.0, color=colour, linestyle='--', linewidth=1.3)
            beyond = np.where(values > chart.tipping[0].min(axis=1), values, np.nan) / 1000.0
            if np.isfinite(beyond).any():
                label = 'over front, above the tipping load of the worst slew angle'
                axes.plot(chart.reaches, beyond, 'x', color=WARNING, markersize=6, label=label)
        values, reasons = columns['all round']
        label = slope_text(chart, k) + (', all round' if turning else '')
        axes.plot(chart.reaches, values / 1000.0, color=colour, linewidth=2.0, label=label)
        for code, marker in marks.items():
            hit = np.array([reason == REASONS[code] for reason in reasons])
            if marker and hit.any():
                axes.plot(chart.reaches[hit], values[hit] / 1000.0, marker, color=colour, markersize=5)
                used.add(code)
    if turning:
        axes.plot([], [], '--', color=LINES[0], linewidth=1.3, label=f'{slope_text(chart, 0)}, over front')
    for code in sorted(used):
        axes.plot([], [], marks[code], color='#555555', markersize=5, label=f'limited by {REASONS[code]}')
    axes.plot(chart.reaches, _all_round(chart.tipping) / 1000.0, ':', color='#777777', linewidth=1.2)
    limit = 'tipping load' + (' of the worst slew angle' if turning else '')
    axes.plot([], [], ':', color='#777777', linewidth=1.2, label=f'{limit}, {slope_text(chart, 0)}')
    axes.set_xlabel(f'reach from the axis of {chart.swing_joint or chart.joints[0]}, m')
    axes.set_ylabel('payload, t')
    top = float(np.nanmax(chart.safe)) / 1000.0
    axes.set_ylim(0.0, 1.15 * top)
    axes.set_xlim(chart.reaches[0], chart.reaches[-1])
    axes.set_title('by reach' + (' and slope' if len(chart.settings.slopes) > 1 else ''))
    axes.legend(loc='best')


def _all_round(payload: Array) -> Array:
    return np.asarray(payload[0].min(axis=1))


def write_all(chart: LoadChart, out: Path) -> list[Path]:
    """Write picture, CSV and table into an existing directory; return their paths."""
    paths = [out / 'load_chart.png', out / 'load_chart.svg', out / 'load_chart.csv', out / 'load_chart.txt']
    figure = draw(chart)
    figure.savefig(paths[0])
    figure.savefig(paths[1])
    write_csv(chart, paths[2])
    paths[3].write_text(as_text(chart), encoding='utf-8')
    return paths
