"""Margins as gauges with bands, and the state of the connection, as HTML."""

from __future__ import annotations

import html
import math
from collections.abc import Collection, Mapping

from dyn_nodes.common.percent import percent_of
from dyn_nodes.measures import (
    BAND_OF_STAGE,
    CAUTION,
    DANGER,
    OK,
    STAGE_STARTS,
    Measure,
    in_order,
    measure_of,
    stage_of,
)
from dyn_nodes.viewer.colours import AMBER, BAND, BAND_TEXT, DARK, GREEN, GREY, RED, Rgb, css, ink_on
from dyn_nodes.viewer.situation import FRICTION, NOT_AT_REST
from dyn_nodes.viewer.snapshot import GovernorState, Load, Margin, Situation

STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
HEAD = 90
"""Height of the greatest words of a machine with its figures, pixels."""
LARGE, SMALLER, SHORT = 19, 15, 27
"""Font sizes of the greatest words, px: up to a number of letters, and of longer ones."""
LOAD_SCALE = 1.25
"""Utilisation of a full bar of the load."""
BAR = 'position:absolute;left:0;top:0;bottom:0;border-radius:3px'


class Scale:
    """Full scale of every gauge.

    It is the full scale of the alarm levels. For a margin without levels whose measure is unbounded, it is the greatest
    value so far.
    """

    def __init__(self) -> None:
        self._greatest: dict[str, float] = {}

    def full(self, name: str, margin: Margin) -> float:
        """Return the full scale of a measure."""
        full = margin.levels_of(name).full
        if math.isfinite(full):
            return full
        if math.isfinite(margin.value):
            self._greatest[name] = max(self._greatest.get(name, 0.0), margin.value)
        return round_up(self._greatest.get(name, 0.0)) or 1.0

    def forget(self) -> None:
        """Forget the greatest values."""
        self._greatest.clear()

    def part(self, name: str, margin: Margin) -> float:
        """Return a margin as a fraction of its full scale; NaN if unknown."""
        full = self.full(name, margin)
        return margin.value / full if math.isfinite(margin.value) else float('nan')


def friction_band(use: float) -> str:
    """Return the band of a friction use; alarm levels refer to the remaining friction, 1 - use."""
    return FRICTION.band(1.0 - use)


def round_up(value: float) -> float:
    """Return the least number not below a value among 1, 1.5, 2, 3, 4, 5, 6, 8 times a power of ten; 0 for 0."""
    if not value > 0.0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in STEPS if step * power >= value * 0.999)


def number(value: float, measure: Measure) -> str:
    """Return a margin as text in its display unit."""
    return measure.display(value) if math.isfinite(value) else 'unknown'


def gauges(margins: Mapping[str, Margin], scale: Scale) -> str:
    """Return all margins as horizontal gauges."""
    if not margins:
        return f'<div style="padding:8px 12px;color:{css(GREY)}">No margins have been received yet.</div>'
    return (
        '<div style="padding:4px 12px 8px">'
        + ''.join(_gauge(n, margins[n], scale) for n in in_order(margins))
        + '</div>'
    )


def _gauge(name: str, margin: Margin, scale: Scale) -> str:
    measure = measure_of(name)
    title = measure.label[:1].upper() + measure.label[1:]
    part, band, levels = scale.part(name, margin), margin.band(name), margin.levels_of(name)
    colour = css(BAND[band])
    shown = 100.0 * min(max(part, 0.0), 1.0) if math.isfinite(part) else 0.0
    word = measure.at_zero if measure.is_zero(margin.value) else band if band != OK else ''
    where = margin.critical_name.replace('_', ' ')
    standstill = '' if measure.with_motion else 'at rest'
    notes = (word, where, standstill)
    note = ' &middot; '.join(html.escape(text) for text in notes if text)
    low, high = (100.0 * level / scale.full(name, margin) for level in (levels.danger, levels.caution))
    track = _track((RED, AMBER, GREEN), low, high)
    said = ', '.join(text for text in (number(margin.value, measure), where, word or 'in order') if text)
    return (
        f'<div data-margin="{html.escape(name)}" data-band="{band}" {_meter(title, shown, said)} '
        'style="margin-top:7px;font-size:12.5px;line-height:1.25">'
        '<div style="display:flex;justify-content:space-between;gap:6px">'
        f'<span style="font-weight:600;white-space:nowrap">{html.escape(title)}</span>'
        f'<span style="flex:1;color:{css(GREY)}">{note}</span>'
        f'<span style="font-variant-numeric:tabular-nums;white-space:nowrap;color:{BAND_TEXT[band]}">'
        f'{number(margin.value, measure)}</span></div>'
        f'{_bar(track, shown, colour)}</div>'
    )


def hold_key(label: str, can: bool) -> str:
    """Return a key that acts while it is held, by the script of the page; disabled if it cannot act."""
    colour = 'color:#c02519;cursor:pointer' if can else f'color:{css(GREY)}'
    return (
        f'<div style="margin:0 10px 8px"><button data-hold-key {"" if can else "disabled"} '
        'style="width:100%;height:32px;border:1px solid currentColor;border-radius:4px;background:transparent;'
        f'font:600 14px sans-serif;touch-action:none;user-select:none;{colour}">'
        f'<span>{html.escape(label)}</span></button></div>'
    )


def load_bar(load: Load | None, allowance: Mapping[str, float], situation: Situation | None = None) -> str:
    """Return the utilisation of the rated load as a bar with its stages; '' if it is not published.

    Args:
        load: load moment.
        allowance: remaining allowances by name, `payload` in kg, `reach` in m.
        situation: of the machine; what remains at rest is not shown while it tips.
    """
    if load is None:
        return ''
    percent = 100.0 * load.utilisation
    stage = stage_of(load.utilisation)
    band = BAND_OF_STAGE[stage]
    shown = 100.0 * min(load.utilisation / LOAD_SCALE, 1.0) if math.isfinite(percent) else 100.0
    value = (
        f'{percent_of(load.utilisation)} %'
        if math.isfinite(percent)
        else 'unknown'
        if math.isnan(percent)
        else 'no rated load'
    )
    rated = f'{load.payload:,.0f} of {load.rated:,.0f} kg' if math.isfinite(load.rated + load.payload) else ''
    low, high = (100.0 * STAGE_STARTS[name] / LOAD_SCALE for name in ('approach', 'rated'))
    rest = _remaining(load, allowance)
    if situation is not None and situation.state in NOT_AT_REST and load.payload < load.rated:
        rest = 'for the machine at rest'
    words = ' · '.join(text for text in (rest, load.edge and f'tips over the {load.edge}') if text)
    return (
        f'<div data-load="{stage}" {_meter("load, % of the rated load", shown, f"{value}, {stage}, {words}")} '
        'style="margin:4px 10px;font-size:13px;line-height:1.3">'
        '<div style="display:flex;justify-content:space-between;gap:8px">'
        f'<span style="font-weight:600">Load</span><span style="flex:1;color:{css(GREY)};white-space:nowrap;'
        f'overflow:hidden;text-overflow:ellipsis">{html.escape(rated)}</span>'
        f'<span style="font-weight:600;font-variant-numeric:tabular-nums;color:{BAND_TEXT[band]}">'
        f'{html.escape(stage)} {value}</span></div>'
        f'{_bar(_track((GREEN, AMBER, RED), low, high), shown, css(BAND[band]), 14)}'
        f'<div style="{lines(1, 12.0)};white-space:nowrap;overflow:hidden">{html.escape(words)}</div></div>'
    )


def _remaining(load: Load, allowance: Mapping[str, float]) -> str:
    """Return the remaining load and reach as a text, or the excess of load; '' if unknown."""
    rest = load.rated - load.payload
    if not math.isfinite(rest):
        return ''
    if rest <= 0.0:
        return f'{-rest:,.0f} kg above the rated load'
    reach = allowance.get('reach', math.nan)
    return f'{rest:,.0f} kg{f" or {reach:.1f} m of reach" if reach > 0.0 else ""} remain'


def governor_line(governor: GovernorState | None) -> str:
    """Return what a governor does, in two lines: held levers and the reason; '' without a governor."""
    if governor is None:
        return ''
    kind = 'held' if governor.held else 'fault' if governor.is_fault else 'passing'
    kind = 'override' if governor.is_override else kind
    colour = BAND_TEXT[DANGER] if kind in ('fault', 'override') else BAND_TEXT[CAUTION] if kind == 'held' else css(GREY)
    text = governor.message.replace('_', ' ')
    if governor.held:
        text = text.partition(':')[0]  # the banner has the reason
    return (
        f'<div data-governor="{kind}" style="margin:2px 10px;color:{colour};{lines(2, 12.5)}">'
        f'<b>Governor</b> {html.escape(text)}</div>'
    )


def friction_gauges(uses: Mapping[str, float]) -> str:
    """Return the friction use of every wheel as a horizontal gauge; the worst one is named and bold."""
    if not uses:
        return ''
    worst = worst_wheel(uses)
    band = friction_band(uses[worst])
    title = (
        '<div style="display:flex;justify-content:space-between;gap:6px;font-size:12.5px;margin-top:3px">'
        '<span style="font-weight:600">Friction use</span>'
        f'<span style="flex:1;color:{css(GREY)};white-space:nowrap;overflow:hidden">'
        f'{_note(worst, band, uses[worst])}</span></div>'
    )
    rows = ''.join(_friction_gauge(wheel, uses[wheel], wheel == worst) for wheel in sorted(uses))
    return f'<div data-friction="{band}" style="padding:0 12px 8px">{title}{rows}</div>'


def worst_wheel(uses: Mapping[str, float]) -> str:
    """Return the wheel with the greatest friction use; unknown use counts as greatest, ties go by name."""
    return max(sorted(uses), key=lambda wheel: math.inf if math.isnan(uses[wheel]) else uses[wheel])


def _note(worst: str, band: str, use: float) -> str:
    word = 'beyond friction' if use > 1.0 else band if band != OK else ''
    return ' &middot; '.join(html.escape(text) for text in (worst.replace('_', ' '), word) if text)


def _friction_gauge(wheel: str, use: float, worst: bool) -> str:
    band = friction_band(use)
    colour = css(BAND[band])
    shown = 100.0 if not use < 1.0 else 100.0 * max(use, 0.0)
    value = 'unknown' if math.isnan(use) else f'{use:.2f}' if math.isfinite(use) else 'no load'
    track = _track((GREEN, AMBER, RED), 100 * (1.0 - FRICTION.caution), 100 * (1.0 - FRICTION.danger))
    return (
        f'<div data-wheel="{html.escape(wheel)}" data-band="{band}" data-worst="{str(worst).lower()}" '
        f'{_meter(f"friction use {wheel}".replace("_", " "), shown, f"{value}, {band}")} '
        f'style="margin-top:3px;font-size:12px;line-height:1.25;font-weight:{600 if worst else 400}">'
        '<div style="display:flex;justify-content:space-between;gap:6px">'
        f'<span style="white-space:nowrap;overflow:hidden">{html.escape(wheel.replace("_", " "))}</span>'
        f'<span style="font-variant-numeric:tabular-nums;color:{BAND_TEXT[band]}">'
        f'{value}</span></div>'
        f'{_bar(track, shown, colour, 9 if worst else 5)}</div>'
    )


def _meter(label: str, shown: float, text: str) -> str:
    """Return the attributes of a gauge for screen readers: name, percentage, text."""
    return (
        f'role="meter" aria-label="{html.escape(label)}" aria-valuemin="0" aria-valuemax="100" '
        f'aria-valuenow="{shown:.0f}" aria-valuetext="{html.escape(text)}"'
    )


def _bar(track: str, shown: float, colour: str, height: int = 9) -> str:
    """Return a bar filled to a percentage, on a track."""
    return (
        f'<div style="position:relative;height:{height}px;border-radius:3px;margin-top:2px;background:{track}">'
        f'<div style="{BAR};width:{shown:.1f}%;background:{colour}"></div></div>'
    )


def _track(colours: tuple[Rgb, Rgb, Rgb], first: float, second: float) -> str:
    """Return the background of a gauge: three bands with two boundaries, %."""
    left, middle, right = (_tint(colour) for colour in colours)
    bands = f'{left} 0 {first:g}%,{middle} {first:g}% {second:g}%,{right} {second:g}% 100%'
    return f'linear-gradient(to right,{bands})'


def _tint(colour: Rgb, strength: float = 0.28) -> str:
    return f'rgba({colour[0]},{colour[1]},{colour[2]},{strength})'


def lines(count: int, size: float) -> str:
    """Return the style of a text of constant height: a number of lines of a font size, px.

    Texts that appear and disappear must not move the buttons below them.
    """
    return f'font-size:{size:g}px;line-height:1.35;height:{1.35 * count:g}em;overflow-y:auto'


def banner(
    state: str,
    text: str,
    details: str = '',
    beat: int = 0,
    band: str = OK,
    rows: int = 2,
    situation: Situation | None = None,
    second: Situation | None = None,
) -> str:
    """Return the banner: the state of the machine in the greatest words, then the state of the page.

    Args:
        state: 'running', 'replay', 'paused', 'waiting' or 'lost'.
        text: of the state of the page.
        details: text in smaller letters.
        beat: number that changes while the viewer is alive, for the script of the page.
        band: worst band of the machine: the colour while it runs, or is paused in danger.
        rows: number of lines reserved for details.
        situation: of the machine; None: unknown, the state of the page is in the greatest words.
        second: of a second machine, with its name in the words.
    """
    fixed = {'paused': AMBER, 'waiting': GREY, 'lost': RED}
    colour = BAND[band] if state in ('running', 'replay') else fixed.get(state, DARK)
    if state == 'paused' and band == DANGER:
        colour = RED
    small = ' · '.join(part for part in ('' if situation is None else text, details) if part)
    machines = [situation or Situation('', band, text), *([] if second is None else [second])]
    size = LARGE if max(len(machine.words) for machine in machines) <= SHORT else SMALLER
    heads = ''.join(_head(machine, size) for machine in machines)
    return (
        f'<div aria-live="off" data-connection="{state}" data-band="{band}" data-beat="{beat}" '
        f'data-situation="{html.escape(situation.state if situation else "")}" '
        'style="margin:8px 10px 4px;padding:6px 10px;border-radius:5px;'
        f'color:{css(ink_on(colour))};background:{css(colour)};font-size:13.5px;line-height:1.35">'
        f'{heads}<div style="{lines(rows, 11.5)}">{html.escape(small)}</div></div>'
    )


def _head(situation: Situation, size: int) -> str:
    """Return the words of a machine in a font size, px, with its figures and least margin, at a constant height."""
    return (
        f'<div data-head style="height:{HEAD}px;overflow:hidden">'
        f'<b style="display:block;font-size:{size}px;line-height:1.2">{html.escape(situation.words)}</b>'
        f'<div style="font-size:13px">{html.escape(situation.figures)}</div>'
        f'<div style="font-size:13px">{html.escape(situation.margin)}</div></div>'
    )


def dead_parts(
    dead: Mapping[str, tuple[float, float]], values: Mapping[str, float], loaded: Collection[str] = ()
) -> str:
    """Return a table of the dead voltage ranges of levers; levers within their range are highlighted.

    Args:
        dead: lower and upper voltage by lever, V.
        values: of the levers, V.
        loaded: levers whose load is known from the line pressures; ranges of the others are without load.
    """
    rows, idle = [], []
    for name, (low, high) in dead.items():
        rests = values.get(name, 0.0) != 0.0 and low <= values[name] <= high
        bare = '' if name in loaded else ' unloaded'
        style = f'color:{BAND_TEXT[CAUTION]};font-weight:600' if rests else f'color:{css(GREY)}'
        text = f'{name} {_volts(low)} to {_volts(high)} V{bare}'
        rows.append(f'<div style="{style};white-space:nowrap;overflow:hidden">{html.escape(text)}</div>')
        idle += [name] if rests else []
    return (
        f'<div data-dead="{html.escape(" ".join(idle))}" style="margin:0 10px 6px;font-size:12px;line-height:1.35">'
        f'No motion, by dead zone or open centre:{"".join(rows)}</div>'
    )


def _volts(value: float) -> str:
    """Return a voltage with one decimal; 0 has no sign."""
    return f'{round(value, 1) + 0.0:.1f}'


def spoken(state: str, band: str, where: str) -> str:
    """Return the text that a screen reader speaks when it changes: states of page and machine, without numbers."""
    hidden = 'position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)'
    words = ', '.join(text for text in (state, where or band) if text)
    return f'<div role="status" style="{hidden}">{html.escape(words)}</div>'
