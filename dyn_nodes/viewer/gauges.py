"""Margins as gauges with bands, and the state of the connection, as HTML."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping

from dyn_nodes.measures import Measure, in_order, measure_of
from dyn_nodes.viewer.colours import AMBER, DANGER, DARK, GREEN, GREY, OK, RED, WARNING, Rgb, css
from dyn_nodes.viewer.snapshot import Margin

STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
BAR = 'position:absolute;left:0;top:0;bottom:0;border-radius:3px'


class Scale:
    """What a full gauge means for each measure, and where its bands lie.

    A normalized measure has a full scale of its own: 1 for the zero moment point, an equal share of the load for the
    wheels. The others are held against the greatest value seen.

    Args:
        warning, danger: as parts of the full scale.
    """

    def __init__(self, warning: float = 0.4, danger: float = 0.2) -> None:
        self.warning, self.danger = warning, danger
        self._greatest: dict[str, float] = {}

    def full(self, name: str, margin: Margin) -> float:
        """Return the full scale of a measure."""
        bound = measure_of(name).full_scale
        if bound is not None:
            return bound(len(margin.edges))
        if math.isfinite(margin.value):
            self._greatest[name] = max(self._greatest.get(name, 0.0), margin.value)
        return round_up(self._greatest.get(name, 0.0)) or 1.0

    def part(self, name: str, margin: Margin) -> float:
        """Return a margin as a part of its full scale; NaN where it is not known."""
        full = self.full(name, margin)
        return margin.value / full if math.isfinite(margin.value) else float('nan')

    def band(self, name: str, margin: Margin) -> str:
        """Return OK, WARNING or DANGER. What is not known is never OK."""
        part = self.part(name, margin)
        if not part > self.danger:
            return DANGER
        return OK if part > self.warning else WARNING


def round_up(value: float) -> float:
    """Return the next number of 1, 1.5, 2, 3, 4, 5, 6, 8 times a power of ten that is not below a value; 0 for 0."""
    if not value > 0.0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in STEPS if step * power >= value * 0.999)


def number(value: float, measure: Measure) -> str:
    """Return a margin as people read it."""
    return measure.display(value) if math.isfinite(value) else 'not known'


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
    part, band = scale.part(name, margin), scale.band(name, margin)
    colour = css({OK: GREEN, WARNING: AMBER, DANGER: RED}[band])
    shown = 100.0 * min(max(part, 0.0), 1.0) if math.isfinite(part) else 0.0
    word = band if band != OK else ''
    if margin.value <= 0.0:
        word = measure.at_zero
    where = margin.critical_name.replace('_', ' ')
    note = ' &middot; '.join(html.escape(text) for text in (where, word) if text)
    low, high = 100 * scale.danger, 100 * scale.warning
    bands = f'{_tint(RED)} 0 {low:g}%,{_tint(AMBER)} {low:g}% {high:g}%,{_tint(GREEN)} {high:g}% 100%'
    track = f'linear-gradient(to right,{bands})'
    return (
        f'<div data-margin="{html.escape(name)}" data-band="{band}" '
        'style="margin-top:7px;font-size:12.5px;line-height:1.25">'
        '<div style="display:flex;justify-content:space-between;gap:6px">'
        f'<span style="font-weight:600">{html.escape(title)}</span>'
        f'<span style="flex:1;color:{css(GREY)};white-space:nowrap;overflow:hidden">{note}</span>'
        f'<span style="font-variant-numeric:tabular-nums;color:{colour if band != OK else "inherit"}">'
        f'{number(margin.value, measure)}</span></div>'
        f'<div style="position:relative;height:9px;border-radius:3px;margin-top:2px;background:{track}">'
        f'<div style="{BAR};width:{shown:.1f}%;background:{colour}"></div></div></div>'
    )


def _tint(colour: Rgb, strength: float = 0.28) -> str:
    return f'rgba({colour[0]},{colour[1]},{colour[2]},{strength})'


def banner(state: str, text: str, details: str = '', beat: int = 0) -> str:
    """Return the line at the top that says how things are.

    Args:
        state: 'running', 'paused', 'waiting' or 'lost'.
        text: in words.
        details: a second, smaller line.
        beat: a number that changes as long as the viewer lives, for the script of the page.
    """
    colour = {'running': GREEN, 'paused': AMBER, 'waiting': GREY, 'lost': RED}.get(state, DARK)
    second = f'<div style="font-size:11.5px;opacity:.92">{html.escape(details)}</div>' if details else ''
    return (
        f'<div data-connection="{state}" data-beat="{beat}" '
        'style="margin:8px 10px 4px;padding:6px 10px;border-radius:5px;color:#fff;'
        f'background:{css(colour)};font-size:13.5px;line-height:1.35"><b>{html.escape(text)}</b>{second}</div>'
    )
