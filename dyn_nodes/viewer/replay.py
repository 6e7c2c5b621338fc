"""Replay of recorded runs in the cockpit: a time line, and a second run beside the first."""

from __future__ import annotations

import html
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from dyn_nodes.viewer.cockpit import Cockpit
from dyn_nodes.viewer.companions import Companion
from dyn_nodes.viewer.connection import REPLAYED
from dyn_nodes.viewer.gauges import Scale, friction_gauges, gauges, load_bar
from dyn_nodes.viewer.geometry import rotation_of
from dyn_nodes.viewer.robot import Robot
from dyn_nodes.viewer.snapshot import Situation, Snapshot
from dyn_nodes.viewer.time_line import TimeLine

SPEEDS = {'0.1×': 0.1, '0.25×': 0.25, '0.5×': 0.5, '1×': 1.0, '2×': 2.0, '4×': 4.0}
WINDOW, SAMPLE = 30.0, 0.1
"""Time window and sampling period of the plots, s."""
SCALE_SAMPLES = 500
JUMP = 0.5
"""Step of the time line above which, or below 0, the plots are refilled, s."""
APART = 1.4
"""Distance of the second machine from the first, over the larger machine size (`Robot.size`)."""
NAME_ABOVE = 0.08
"""Height of a name above its machine, over the size of the machine."""


class Recording(Protocol):
    """A recorded run; times in s since its start."""

    events: list[tuple[float, str]]

    @property
    def duration(self) -> float:
        """Duration, s."""

    def at(self, time: float) -> Snapshot:
        """Return the last received values at a time."""

    def event(self, time: float) -> str:
        """Return the event of the seconds before a time, or ''."""


@dataclass(frozen=True)
class ReplayRun:
    """A run with its machine.

    Attributes:
        name: displayed name.
        load_link: link of the implement, '': unknown.
        load_point: (3,) in the frame of that link, m.
    """

    name: str
    recording: Recording
    robot: Robot
    load_link: str = ''
    load_point: tuple[float, float, float] = (0.0, 0.0, 0.0)


class ReplayPage:
    """Plays one run, or two beside each other, on a page of the cockpit.

    Args:
        runs: one or two.
        host: address to listen on.
        port: port to listen on; 0: a free one.

    Attributes:
        time: displayed time since the start, s.
        playing: the run is playing.
        speed: replay speed over real time.
        stopped: the page is closed.

    Raises:
        OSError: the port is in use.
        ValueError: neither one run nor two.
    """

    def __init__(self, runs: Sequence[ReplayRun], host: str = '127.0.0.1', port: int = 0) -> None:
        if not 1 <= len(runs) <= 2:
            raise ValueError(f'expected one run or two, found {len(runs)}')
        self.runs = list(runs)
        self.duration = max(run.recording.duration for run in runs)
        self.time, self.playing, self.speed = 0.0, True, 1.0
        first = self.runs[0]
        self.cockpit = Cockpit(host, port, 'Replay')
        self._second: Companion | None = None
        self._second_scale = Scale()
        if len(self.runs) > 1:
            self._second = Companion(self.cockpit.server, 'second', self.runs[1].robot)
            self._offset = np.array((0.0, APART * max(run.robot.size() for run in self.runs), 0.0))
            start = self.runs[1].recording.at(0.0)
            self.cockpit.beside = self._robot_points(start, np.asarray(start.base_position) + self._offset)
        implement = (first.load_link, np.array(first.load_point)) if first.load_link else None
        self.cockpit.set_robot(first.robot, implement, first.recording.at(0.0).joints)
        self._shown, self.stopped, self._drawing = -1.0, False, threading.Lock()
        self._set_up()
        self.draw()

    def _learn_scales(self, time: float) -> None:
        """Set the full scale of every gauge from the greatest value before a time, as in live display."""
        scales = [self.cockpit.instruments.scale, self._second_scale]
        for run, scale in zip(self.runs, scales):
            scale.forget()
            for past in np.linspace(0.0, time, SCALE_SAMPLES).tolist():
                for name, margin in run.recording.at(past).margins.items():
                    scale.full(name, margin)

    # -- the page ----------------------------------------------------------------------------------------------------

    def _set_up(self) -> None:
        gui = self.cockpit.server.gui
        with gui.add_folder('Time', order=0.5):
            step = max(self.duration / 1000.0, 1e-3)
            self.time_line = TimeLine(gui, self.duration, step, 0.0)
            self.buttons = gui.add_button_group('Run', ('Pause', 'Play', 'Restart'), order=1.0)
            self.speeds = gui.add_button_group('Speed', tuple(SPEEDS), order=2.0)
            self.steps = gui.add_button_group('Event', ('Before', 'Next'), order=3.0)
        self.buttons.on_click(lambda event: self.run(event.target.value))
        self.speeds.on_click(lambda event: setattr(self, 'speed', SPEEDS[event.target.value]))
        self.steps.on_click(lambda event: self.step(event.target.value == 'Next'))
        self._compare = self.cockpit.instruments.add_text(1.5)
        if len(self.runs) > 1:
            self.cockpit.instruments.add_text(0.5)(_heading(self.runs[0].name))

    def run(self, button: str) -> None:
        """Pause, play, or restart."""
        if button == 'Restart' or (button == 'Play' and self.time >= self.duration):
            self.time = 0.0
        self.playing = button != 'Pause'

    def step(self, onwards: bool) -> None:
        """Jump to the next or the previous event of the first run."""
        times = [when for when, _ in self.runs[0].recording.events]
        targets = [t for t in times if t > self.time + 1e-3] if onwards else [t for t in times if t < self.time - 1e-3]
        if targets:
            self.playing, self.time = False, targets[0] if onwards else targets[-1]

    # -- the time ----------------------------------------------------------------------------------------------------

    def advance(self, seconds: float) -> None:
        """Advance by wall time, s, and draw, unless the page is closed; the run stops at its end."""
        with self._drawing:
            if not self.stopped:
                self._advance(seconds)

    def _advance(self, seconds: float) -> None:
        for action in self.cockpit.actions():  # the cockpit performs actions on camera, shadows and trace
            del action
        dragged = self.time_line.dragged()
        if dragged is not None:
            self.playing, self.time = False, dragged
        if self.playing:
            self.time = min(self.time + self.speed * seconds, self.duration)
            self.playing = self.time < self.duration
        self.draw()
        self.time_line.put(self.time)

    def draw(self) -> None:
        """Show the current instant."""
        first, time = self.runs[0].recording, self.time
        if not 0.0 <= time - self._shown <= JUMP:
            self.cockpit.scene.clear_trace()
            self._learn_scales(time)
            start = max(time - WINDOW, 0.0)
            self.cockpit.instruments.refill(first.at(t) for t in np.arange(start, time, SAMPLE).tolist())
        self._shown = time
        with self.cockpit.at_once():
            self.cockpit.update(first.at(time))
            second = self._draw_second(time) if self._second is not None else None
            text = f'Replay, t = {time:.2f} of {self.duration:.1f} s'
            self.cockpit.show_state(REPLAYED, text, first.event(time), self.runs[0].name, second)

    def _draw_second(self, time: float) -> Situation | None:
        """Show the second run; return its situation with its name in the words."""
        assert self._second is not None
        other = self.runs[1].recording.at(time)
        position = np.asarray(other.base_position) + self._offset
        self._second.update(position, other.base_quaternion, other.joints)
        self.cockpit.beside = self._robot_points(other, position)
        self._name(0, self.runs[0].recording.at(time), np.zeros(3))
        self._name(1, other, self._offset)
        scale = self._second_scale
        content = (
            load_bar(other.load, {}, other.situation)
            + gauges(other.margins, scale)
            + friction_gauges(other.friction_use)
        )
        self._compare(f'{_heading(self.runs[1].name)}{content}')
        situation = other.situation
        if situation is None:
            return None
        return replace(situation, words=f'{self.runs[1].name}: {situation.words}')

    def _name(self, number: int, snapshot: Snapshot, offset: Any) -> None:
        """Show the name of a run above its machine."""
        run = self.runs[number]
        top = rotation_of(snapshot.base_quaternion).apply(run.robot.corners(snapshot.joints))[:, 2].max()
        high = np.array((0.0, 0.0, top + NAME_ABOVE * run.robot.size()))
        self.cockpit.scene.show_name(str(number), run.name, np.asarray(snapshot.base_position) + offset + high)

    def _robot_points(self, snapshot: Snapshot, position: Any) -> Any:
        turn = rotation_of(snapshot.base_quaternion)
        return turn.apply(self.runs[1].robot.corners(snapshot.joints)) + position

    def stop(self) -> None:
        """Close the page."""
        with self._drawing:
            self.stopped = True
            self.cockpit.stop()


def _heading(name: str) -> str:
    return f'<div style="padding:6px 12px 0;font-weight:600">{html.escape(name)}</div>'
