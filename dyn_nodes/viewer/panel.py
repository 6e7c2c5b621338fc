"""Panels beside the scene: instruments on the left, controls on the right."""

from __future__ import annotations

import html
import math
import queue
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dyn_nodes.measures import OK, in_order, measure_of
from dyn_nodes.viewer.camera import PRESETS
from dyn_nodes.viewer.gauges import (
    Scale,
    banner,
    dead_parts,
    friction_gauges,
    gauges,
    governor_line,
    hold_key,
    lines,
    load_bar,
    spoken,
)
from dyn_nodes.viewer.geometry import roll_pitch
from dyn_nodes.viewer.page_script import HOLD_KEY
from dyn_nodes.viewer.plots import Plot
from dyn_nodes.viewer.pose_sliders import UNITS
from dyn_nodes.viewer.scene import DRAWINGS
from dyn_nodes.viewer.snapshot import Margin, Situation, Snapshot

SPEEDS = {'0.1×': 0.1, '0.5×': 0.5, '1×': 1.0, '2×': 2.0}
INSTRUMENTS_WIDTH, CONTROLS_WIDTH = 320, 340
PUSH_HZ = 15.0
OFF_HINT = 'Off: nothing is sent.'
ON_HINT = 'On while this page is open and visible.'
OVERRIDE_LABEL = f'Hold: override the governor ({HOLD_KEY.upper()})'
NEUTRAL_HINT = 'Dead-man switch: nothing is sent to the valves while it is off.'


@dataclass(frozen=True)
class Action:
    """An action of a user on the page.

    Attributes:
        name: 'drive', 'lever', 'push', 'neutral', 'skip', 'run', 'speed', 'payload', 'slope', 'camera', 'shadows',
            'drawing', 'clear_trace'.
        value: value of the action.
        client: number of the page, None: unknown.
    """

    name: str
    value: Any = None
    client: int | None = None


class Instruments:
    """Gauges and plots.

    Args:
        gui: viser's.
    """

    def __init__(self, gui: Any, scale: Scale) -> None:
        self.scale = scale
        self.gui = gui
        panel = gui.add_panel()
        self._tab = tab = panel.add_tab('Instruments')
        with tab:
            self._gauges = gui.add_html(gauges({}, scale), order=1.0)
        panel.dock_left()
        panel.set_width(INSTRUMENTS_WIDTH)
        self.margins = Plot(gui, tab, 'Margins, % of full scale', 2.0)
        self.angles = Plot(gui, tab, 'Base roll and pitch, degrees', 3.0)
        self.pressures = Plot(gui, tab, 'Pressures, MPa', 4.0)

    def show(self, margins: Mapping[str, Margin], friction_use: Mapping[str, float]) -> None:
        """Show the gauges: margins, then the friction use of the wheels if it is published."""
        _set_html(self._gauges, gauges(margins, self.scale) + friction_gauges(friction_use))

    def record(self, snapshot: Snapshot) -> None:
        """Add a sample to the plots: margins, % of full scale, at most 100; angles, degrees; pressures, MPa."""
        margins, time = snapshot.margins, snapshot.time
        roll, pitch = (math.degrees(angle) for angle in roll_pitch(snapshot.base_quaternion))
        parts = {
            measure_of(name).label: 100.0 * min(self.scale.part(name, margins[name]), 1.0) for name in in_order(margins)
        }
        self.margins.history.add(time, parts)
        self.angles.history.add(time, {'roll': roll, 'pitch': pitch})
        self.pressures.history.add(time, {name: value / 1e6 for name, value in snapshot.pressures.items()})

    def add_text(self, order: float) -> Callable[[str], None]:
        """Add an HTML element; return a function that sets its content. Orders: gauges 1, plots 2 to 4."""
        with self._tab:
            handle = self.gui.add_html('', order=order)
        return lambda content: _set_html(handle, content)

    def refill(self, past: Iterable[Snapshot]) -> None:
        """Replace the content of the plots."""
        for plot in (self.margins, self.angles, self.pressures):
            plot.history.clear()
        for snapshot in past:
            self.record(snapshot)

    def draw(self) -> None:
        """Send the plots."""
        for plot in (self.margins, self.angles, self.pressures):
            plot.draw()


def _within(slider: Any, value: float) -> float:
    """Return a value limited to the range of a slider."""
    return float(min(max(value, slider.min), slider.max))


def _set_html(handle: Any, content: str) -> None:
    if handle.content != content:
        handle.content = content


class Controls:
    """Levers, simulation, view. Actions of users are queued.

    Args:
        gui: viser's.
        title: title of the panel.

    Attributes:
        rows: number of lines for the details of the state.
    """

    def __init__(self, gui: Any, title: str) -> None:
        self.gui = gui
        self.rows = 2
        self._queue: queue.SimpleQueue[Action] = queue.SimpleQueue()
        self.sliders: dict[str, Any] = {}
        self._rest: list[Any] = []
        self._dead: Any = None
        self._skip: Any = None
        gui.set_panel_label(title)
        gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(0, 114, 178))
        gui.main_panel.dock_right()
        gui.main_panel.set_width(CONTROLS_WIDTH)
        self._banner = gui.add_html(banner('waiting', 'Waiting for a machine'), order=-1.0)
        self._spoken = gui.add_html('', order=-0.5)
        self._load = gui.add_html('', order=-0.4)
        self._drive = gui.add_folder('Drive', order=0.0, visible=False)  # shown by `offer_driving` and the sliders
        with self._drive:
            self.armed = gui.add_checkbox('Levers on', False, hint=NEUTRAL_HINT, order=0.0)
            self._override = gui.add_html('', order=0.4, visible=False)  # shown by `show_override`
            self._note = gui.add_html('', order=0.6)
        self.armed.on_update(self._event('drive', lambda event: bool(event.target.value)))
        self._add_simulation()
        self._add_ground()
        self._add_view()

    def actions(self) -> Iterator[Action]:
        """Yield the actions since the last call."""
        while True:
            try:
                yield self._queue.get_nowait()
            except queue.Empty:
                return

    def show_state(
        self,
        state: str,
        text: str,
        details: str = '',
        band: str = OK,
        situation: Situation | None = None,
        second: Situation | None = None,
    ) -> None:
        """Show the states of machine and page in the colour of the band, and name them for screen readers."""
        words = ', '.join(each.words for each in (situation, second) if each is not None)
        _set_html(self._spoken, spoken(state, band, words))
        content = banner(state, text, details, int(time.monotonic()), band, self.rows, situation, second)
        _set_html(self._banner, content)

    def show_load(self, snapshot: Snapshot, situation: Situation | None) -> None:
        """Show the load moment with the remaining allowances, and the state of a governor."""
        bar = load_bar(snapshot.load, snapshot.allowance, situation)
        _set_html(self._load, bar + governor_line(snapshot.governor))

    def _event(self, name: str, value: Any = None) -> Any:
        async def note(event: Any) -> None:
            if event.client_id is not None:  # values set by the server have no client
                self._queue.put(Action(name, value(event) if value else None, event.client_id))

        return note

    # -- levers ------------------------------------------------------------------------------------------------------

    def offer_driving(self, there: bool) -> None:
        """Show the levers; hide them if no node subscribes."""
        if self._drive.visible != there:
            self._drive.visible = there

    def _reset_sliders(self, label: str, hint: str) -> None:
        for handle in self._rest:
            handle.remove()
        self._rest, self.sliders, self._dead = [], {}, None
        self._drive.visible = True
        self.armed.label, self.armed.hint = label, hint

    def set_valves(
        self,
        names: Sequence[str],
        limits: Mapping[str, float],
        units: Mapping[str, str] | None = None,
        hint: str = NEUTRAL_HINT,
    ) -> None:
        """Offer a lever for each valve.

        Args:
            names: in the order of the command.
            limits: maximum by name, V or its unit.
            units: by name; None: volts.
            hint: of the switch.
        """
        self._reset_sliders('Levers on', hint)
        units = units or dict.fromkeys(names, 'V')
        with self._drive:
            for k, name in enumerate(names):
                self._add_lever(name, float(limits[name]), units[name], 1.0 + k)
            neutral = self.gui.add_button('All levers to neutral', color='red', icon='hand-stop', order=0.3)
            neutral.on_click(self._event('neutral'))
            folder = self.gui.add_folder('Hold to move', order=21.0, expand_by_default=False)
            with folder:
                for name in names:
                    for sign, arrow in ((1.0, '+'), (-1.0, '−')):
                        self._add_push(name, sign * 0.6 * float(limits[name]), f'{name} {arrow}')
            self._rest += [neutral, folder]

    def _add_lever(self, name: str, limit: float, unit: str, order: float) -> None:
        marks = (
            (-limit, f'−{limit:g}'),
            (0.0, f'0 {unit}'),
            (limit, f'{limit:g}'),
        )  # the number box is close
        step = 0.1 if unit == 'V' else 0.01
        slider = self.gui.add_slider(name, -limit, limit, step, 0.0, marks=marks, order=order, disabled=True)
        slider.on_update(self._event('lever', lambda event: (name, float(event.target.value))))
        self.sliders[name] = slider
        self._rest.append(slider)

    def _add_push(self, name: str, volts: float, label: str) -> None:
        button = self.gui.add_button(label, hint='Moves while pressed; returns to neutral.')
        button.on_hold(self._event('push', lambda _: (name, volts)), callback_hz=PUSH_HZ)

    def offer_skipping(self) -> None:
        """Add a switch that skips the dead range of the levers, and a table of the dead ranges."""
        with self._drive:
            hint = 'Lever travel starts where the valve starts to move its actuator. Set it with all levers at neutral.'
            skip = self.gui.add_checkbox('Skip the dead part', False, hint=hint, order=18.0)
            self._dead = self.gui.add_html('', order=19.0)
        skip.on_update(self._event('skip', lambda event: bool(event.target.value)))
        self._skip = skip
        self._rest += [skip, self._dead]

    def show_override(self, is_offered: bool, can: bool) -> None:
        """Show the held key that overrides a governor if it is offered; it can act while the page drives."""
        if self._override.visible != is_offered:
            self._override.visible = is_offered
        _set_html(self._override, hold_key(OVERRIDE_LABEL, can) if is_offered else '')

    def show_skipping(self, skips: bool) -> None:
        """Show on the switch whether the dead range is skipped."""
        if self._skip.value != skips:
            self._skip.value = skips

    def show_dead_parts(
        self,
        dead: Mapping[str, tuple[float, float]],
        values: Mapping[str, float],
        skips: bool,
        loaded: Collection[str] = (),
    ) -> None:
        """Show the dead voltage range of each lever, and highlight levers within it."""
        if self._dead is None:
            return
        self.show_skipping(skips)
        _set_html(self._dead, '' if skips else dead_parts(dead, values, loaded))

    def set_pose(self, limits: Mapping[str, float]) -> None:
        """Offer six sliders of the pose of a platform.

        Args:
            limits: maximum offset by name, mm or degrees.
        """
        self.set_held({name: (-limit, limit) for name, limit in limits.items()}, UNITS)

    def set_held(self, ranges: Mapping[str, tuple[float, float]], units: Mapping[str, str]) -> None:
        """Offer sliders of position-controlled coordinates.

        Args:
            ranges: minimum and maximum by name.
            units: by name, mm or degrees.
        """
        self._reset_sliders('Sliders on', 'Dead-man switch: nothing is sent while it is off.')
        with self._drive:
            for k, (name, (low, high)) in enumerate(ranges.items()):
                unit = units[name]
                marks = ((low, f'{low:.0f}'), *(((0.0, '0'),) if low < 0.0 < high else ()), (high, f'{high:.0f}'))
                step = 1.0 if unit == 'mm' else 0.1
                slider = self.gui.add_slider(
                    f'{name}, {unit}', low, high, step, min(max(0.0, low), high), marks=marks, order=1.0 + k,
                    disabled=True,
                )  # fmt: skip
                slider.on_update(self._event('lever', lambda event, name=name: (name, float(event.target.value))))
                self.sliders[name] = slider
            middle = self.gui.add_button('To the middle', icon='focus-centered', color='gray', order=20.0)
            middle.on_click(self._event('neutral'))
            self._rest += [*self.sliders.values(), middle]

    def show_pose(self, armed: bool, note: str, present: Mapping[str, float]) -> None:
        """Show the actual state of the switch, and the pose of the platform on the sliders while no page drives."""
        if self.armed.value != armed:
            self.armed.value = armed
        for name, slider in self.sliders.items():
            if slider.disabled == armed:
                slider.disabled = not armed
            if not armed and present:
                value = _within(slider, round(present[name], 1))
                if abs(slider.value - value) >= 0.1:
                    slider.value = value
        self._show_note(armed, note)

    def show_levers(self, armed: bool, note: str) -> None:
        """Show the actual state of switch and levers."""
        if self.armed.value != armed:
            self.armed.value = armed
        for slider in self.sliders.values():
            if slider.disabled == armed:
                slider.disabled = not armed
            if not armed and slider.value != 0.0:
                slider.value = 0.0
        self._show_note(armed, note)

    def _show_note(self, armed: bool, note: str) -> None:
        words = note or (ON_HINT if armed else OFF_HINT)
        _set_html(self._note, f'<div style="margin:0 10px 4px;{lines(1, 12.0)}">{html.escape(words)}</div>')

    def set_sliders(self, values: Mapping[str, float]) -> None:
        """Set all sliders to the values of the levers, by name in their units, within their ranges."""
        for name, slider in self.sliders.items():
            value = _within(slider, values[name])
            if slider.value != value:
                slider.value = value

    # -- simulation, ground, view ------------------------------------------------------------------------------------

    def _add_simulation(self) -> None:
        gui = self.gui
        self._simulation = gui.add_folder('Simulation', order=1.0, visible=False)  # shown by `offer_simulation`
        with self._simulation:
            self.run = gui.add_button_group('Run', ('Pause', 'Step', 'Play'), order=0.0)
            self.speed = gui.add_button_group('Speed', tuple(SPEEDS), order=1.0)
            reset = gui.add_button('Reset', icon='rotate-2', color='gray', order=1.5)
            self.payload = gui.add_slider('Load, kg', 0.0, 1000.0, 10.0, 0.0, order=2.0, visible=False)
            self.drop = gui.add_button('Drop the load', icon='arrow-down', color='gray', order=3.0, visible=False)
        self.run.on_click(self._event('run', lambda event: event.target.value.lower()))
        reset.on_click(self._event('run', lambda _: 'reset'))
        self.speed.on_click(self._event('speed', lambda event: SPEEDS[event.target.value]))
        self.payload.on_update(self._event('payload', lambda event: float(event.target.value)))
        self.drop.on_click(self._event('payload', lambda _: 0.0))

    def offer_simulation(self, there: bool) -> None:
        """Show the controls of a simulation; hide them without one, for a bag or a real machine."""
        for folder in (self._simulation, self._ground):
            if folder.visible != there:
                folder.visible = there

    def set_payload(self, mass: float, limit: float) -> None:
        """Show a slider of the load, kg."""
        self.payload.max, self.payload.step = limit, 50.0 if limit >= 1000.0 else limit / 100.0
        self.payload._marks = None
        self.payload.visible = self.drop.visible = True
        self.show_payload(mass)

    def show_payload(self, mass: float) -> None:
        """Set the slider to the load, kg."""
        if abs(self.payload.value - mass) > 1e-6:
            self.payload.value = mass

    def _add_ground(self) -> None:
        gui = self.gui
        self._ground = gui.add_folder('Ground', order=2.0, expand_by_default=False, visible=False)
        with self._ground:
            hint = 'Positive pitch: the front is downhill.'
            self.pitch = gui.add_slider('Pitch, deg', -20.0, 20.0, 0.5, 0.0, order=0.0, hint=hint)
            self.roll = gui.add_slider('Roll, deg', -20.0, 20.0, 0.5, 0.0, order=1.0)
        for slider in (self.pitch, self.roll):
            slider.on_update(self._event('slope', lambda _: (float(self.roll.value), float(self.pitch.value))))

    def show_slope(self, roll: float, pitch: float) -> None:
        """Set the sliders to the slope of the ground, degrees."""
        for slider, value in ((self.roll, roll), (self.pitch, pitch)):
            if abs(slider.value - value) > 0.26:
                slider.value = min(max(round(value, 1), -20.0), 20.0)

    def _add_view(self) -> None:
        gui = self.gui
        with gui.add_folder('View', order=3.0):
            camera = gui.add_button_group('Camera', tuple(PRESETS), order=0.0)
            self.shadows = gui.add_checkbox('Shadows', True, hint='Turn off if the picture is slow.', order=0.5)
            clear = gui.add_button('Clear the trace', icon='eraser', color='gray', order=1.0)
            with gui.add_folder('Drawings', order=2.0, expand_by_default=False):
                self.drawings = {name: gui.add_checkbox(name, True) for name in DRAWINGS}
        for name, box in self.drawings.items():
            box.on_update(self._event('drawing', lambda event, name=name: (name, bool(event.target.value))))
        camera.on_click(self._event('camera', lambda event: event.target.value))
        self.shadows.on_update(self._event('shadows', lambda event: bool(event.target.value)))
        clear.on_click(self._event('clear_trace'))
