"""State of a running simulation and its display on the terminal."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from dyn_nodes.common.compiling import COMPILED, COMPILING
from dyn_nodes.measures import CAUTION, DANGER, OK, Levels, measure_of
from dyn_nodes.viewer.gauges import Scale
from dyn_nodes.viewer.snapshot import Margin

SPEED_WINDOW = 2.0  # wall time over which the speed is averaged, s
BAR_WIDTH = 34
UNKNOWN = '—'
COLOURS = {OK: 'green', CAUTION: 'yellow', DANGER: 'bold red', UNKNOWN: 'dim'}
PHASES = {'reach': 'bright_blue', 'recover': 'yellow', 'settle': 'green', 'done': 'green'}


@dataclass(eq=False)
class LiveState:
    """Newest values of a running simulation.

    Attributes:
        title: of the display.
        duration: of the run, s of simulated time.
        weight: sum of the wheel loads at rest, N; scales the bars.
        time: simulated, s; None before the first message.
        tilt, roll, pitch: of the base, rad.
        loads: normal force by wheel, N.
        margins: newest value by measure.
        levels: alarm levels by measure, from the node that computes the margins.
        scale: full scales of the margins, as in the cockpit.
        pressures: Pa by actuator and line.
        phase: of the task.
        events: texts of the last events.
        log: last lines of output of the nodes.
        compilers: newest lines of compiling processes by label.
    """

    title: str
    duration: float
    weight: float = 0.0
    time: float | None = None
    tilt: float = 0.0
    roll: float = 0.0
    pitch: float = 0.0
    peak_tilt: float = 0.0
    loads: dict[str, float] = field(default_factory=dict)
    margins: dict[str, float] = field(default_factory=dict)
    levels: dict[str, Levels] = field(default_factory=dict)
    scale: Scale = field(default_factory=Scale)
    pressures: dict[str, dict[str, float]] = field(default_factory=dict)
    phase: str = ''
    events: deque[str] = field(default_factory=lambda: deque(maxlen=4))
    log: deque[str] = field(default_factory=lambda: deque(maxlen=6))
    compilers: dict[str, str] = field(default_factory=dict)
    _track: deque[tuple[float, float]] = field(default_factory=deque)

    def set_time(self, simulated: float, wall: float) -> None:
        """Set the simulated time received at a wall time, s."""
        self.time = simulated
        self._track.append((wall, simulated))
        while len(self._track) > 2 and wall - self._track[1][0] > SPEED_WINDOW:
            self._track.popleft()

    def add_line(self, line: str) -> None:
        """Add a line of output of a node."""
        self.log.append(line)
        label, text = line.partition(']')[0].lstrip('['), line.rpartition(']: ')[2]
        if text.startswith(f'{COMPILING} '):
            self.compilers[label] = text
        elif text.startswith(f'{COMPILED} '):
            self.compilers.pop(label, None)

    @property
    def compiling(self) -> str:
        """Newest line of a compiling process, '' for none."""
        return next(reversed(self.compilers.values()), '')

    def set_margin(self, name: str, value: float) -> None:
        """Set a margin."""
        self.margins[name] = value
        self.scale.full(name, self._margin(name))

    @property
    def speed(self) -> float | None:
        """Simulated over wall time in the last `SPEED_WINDOW`; None if unknown."""
        if len(self._track) < 2:
            return None
        (wall, simulated), (wall_end, simulated_end) = self._track[0], self._track[-1]
        return (simulated_end - simulated) / (wall_end - wall) if wall_end > wall else None

    def margin_status(self, name: str) -> str:
        """Return the band of a margin, as in the gauges of the cockpit; UNKNOWN if the value is NaN."""
        return UNKNOWN if math.isnan(self.margins[name]) else self._margin(name).band(name)

    def margin_part(self, name: str) -> float:
        """Return a margin over its full scale, 0 if it is unknown."""
        part = self.scale.part(name, self._margin(name))
        return part if math.isfinite(part) else 0.0

    def _margin(self, name: str) -> Margin:
        return Margin(self.margins[name], (self.margins[name],) * len(self.loads), levels=self.levels.get(name))

    def line(self) -> str:
        """Return the state as one line, for pipes and logs."""
        if self.time is None:
            return self.compiling or 'waiting for the nodes'
        parts = [f'{self.time:5.1f} of {self.duration:g} s']
        if self.speed is not None:
            parts.append(f'{self.speed:.1f} times real time')
        if self.phase:
            parts.append(self.phase)
        parts.append(f'tilt {math.degrees(self.tilt):.2f} deg')
        if self.loads:
            parts.append('wheel loads ' + ' '.join(f'{1e-3 * load:.0f}' for load in self.loads.values()) + ' kN')
        return ', '.join(parts)


def render(state: LiveState) -> RenderableType:
    """Return the display."""
    if state.time is None:
        body: RenderableType = Group(
            Text(state.compiling or 'starting the nodes ...', style='bold'), *_log_lines(state)
        )
    else:
        parts = [_clock(state), Text(), _attitude(state), Text(), _wheels(state), Text(), _margins(state)]
        if state.pressures:
            parts += [Text(), _pressures(state)]
        if state.events:
            parts += [Text(), *(Text(f'  {event}', style='dim') for event in state.events)]
        body = Group(*parts)
    return Panel(body, title=state.title, title_align='left', border_style='cyan', padding=(1, 2), width=88)


def _clock(state: LiveState) -> RenderableType:
    row = Table.grid(padding=(0, 2))
    done = min(max((state.time or 0.0) / state.duration, 0.0), 1.0) if state.duration > 0.0 else 0.0
    speed = '' if state.speed is None else f'{state.speed:.1f} times real time'
    phase = Text(f' {state.phase} ', style=f'reverse {PHASES.get(state.phase, "white")}') if state.phase else Text()
    time = Text(f'{state.time or 0.0:6.2f} of {state.duration:g} s', style='bold')
    row.add_row(time, ProgressBar(total=1.0, completed=done, width=22), Text(speed), phase)
    return row


def _attitude(state: LiveState) -> RenderableType:
    def angle(name: str, value: float, style: str = '') -> Text:
        return Text.assemble((f'{name} ', 'dim'), (f'{math.degrees(value):+7.2f}°', style))

    tilt = math.degrees(state.tilt)
    style = 'bold red' if tilt > 5.0 else 'yellow' if tilt > 2.0 else 'bold'
    peak = Text.assemble(('peak ', 'dim'), f'{math.degrees(state.peak_tilt):.2f}°')
    cells = (angle('roll', state.roll), angle('pitch', state.pitch), angle('tilt', state.tilt, style), peak)
    return Columns(cells, padding=(0, 3))


def _bar(share: float, colour: str) -> Text:
    """Return a bar with a resolution of eighths of characters."""
    eighths = round(8 * BAR_WIDTH * min(max(share, 0.0), 1.0))
    full, rest = divmod(eighths, 8)
    filled = '█' * full + (' ▏▎▍▌▋▊▉'[rest] if rest else '')
    bar = Text(filled, style=colour)
    bar.append('·' * (BAR_WIDTH - len(filled)), style='bright_black')
    return bar


def _wheels(state: LiveState) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(width=26)
    table.add_column(justify='right', width=9)
    largest = max(0.75 * state.weight, *state.loads.values(), 1.0) if state.loads else 1.0
    for wheel, load in state.loads.items():
        lifted = load <= 0.0
        colour = 'red' if load < 0.02 * state.weight else 'yellow' if load < 0.05 * state.weight else 'cyan'
        note = Text('in the air', style='bold red') if lifted else Text()
        table.add_row(wheel.replace('_', ' '), f'{1e-3 * load:.1f} kN', _bar(load / largest, colour), note)
    total = sum(state.loads.values())
    share = f'{total / state.weight:.1%} of the weight' if state.weight else ''
    table.add_row(Text('sum', style='dim'), Text(f'{1e-3 * total:.1f} kN', style='dim'), Text(share, style='dim'))
    return table


def _margins(state: LiveState) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(width=26)
    table.add_column(justify='right', width=9)
    for name, value in state.margins.items():
        text, status = measure_of(name), state.margin_status(name)
        shown = text.display(value) if math.isfinite(value) else '—'
        colour = COLOURS[status]
        table.add_row(text.label, shown, _bar(state.margin_part(name), colour.split()[-1]), Text(status, style=colour))
    return table


def _pressures(state: LiveState) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for actuator, lines in state.pressures.items():
        cells = (f'{line.removesuffix("_pressure").replace("_", " ")} {1e-6 * p:4.1f}' for line, p in lines.items())
        table.add_row(Text(f'{actuator}, MPa', style='dim'), *(Text(cell, style='dim') for cell in cells))
    return table


def _log_lines(state: LiveState) -> list[Text]:
    return [Text(line, style='dim', overflow='ellipsis', no_wrap=True) for line in state.log]
