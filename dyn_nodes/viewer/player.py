"""Browser page that plays recorded motions (`animation`): bodies, traces, curves, a time slider."""

from __future__ import annotations

import contextlib
import html
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from dyn_nodes.viewer.animation import Animation
from dyn_nodes.viewer.camera import FIELD_OF_VIEW
from dyn_nodes.viewer.cockpit import check_port, free_port
from dyn_nodes.viewer.drawing import GROUND, Drawing
from dyn_nodes.viewer.gate import Gate
from dyn_nodes.viewer.plots import Plot
from dyn_nodes.viewer.scene import Scene
from dyn_nodes.viewer.time_line import TimeLine

SHOWN = 4.0
"""Displayed width of a motion's span, m of the scene; ground and shadows are scaled for machines."""
MOST_POINTS = 400
PLOT_PERIOD = 0.25
EYE = np.array([0.55, -1.25, 0.75])
SPEEDS = {'0.1×': 0.1, '0.25×': 0.25, '0.5×': 0.5, '1×': 1.0}


class Player(Drawing):
    """Plays motions on a page.

    Args:
        animations: by displayed name; the first one is shown first.
        host: address to listen on.
        port: port to listen on; 0: a free one.
        speed: time of the motion over wall time.

    Attributes:
        time: displayed time of the motion, s.
        playing: the motion is playing.
        chosen: name of the displayed motion.

    Raises:
        OSError: the port is in use.
        ValueError: no motion.
    """

    def __init__(
        self, animations: Mapping[str, Animation], host: str = '127.0.0.1', port: int = 0, speed: float = 0.25
    ) -> None:
        if not animations:
            raise ValueError('expected at least one motion')
        port = port or free_port(host)
        check_port(host, port)  # viser would silently choose another port
        self.gate = Gate(host, port)
        server = self.gate.server
        super().__init__(server)
        self.host, self.port = host, server.get_port()
        self.animations, self.speed = dict(animations), speed
        self.time, self.playing, self._plotted = 0.0, True, 0.0
        self.stage = Scene(server)  # ground, light and sky
        self._plots: dict[str, Plot] = {}
        self._charted = -1.0
        self._time_line: TimeLine | None = None
        self._set_up_page()
        self.show(next(iter(self.animations)))

    @property
    def address(self) -> str:
        """Address of the page with its token, to open in a browser to play the motions."""
        return self.gate.access.address(self.port)

    @property
    def animation(self) -> Animation:
        """The displayed motion."""
        return self.animations[self.chosen]

    # -- the page ----------------------------------------------------------------------------------------------------

    def _set_up_page(self) -> None:
        gui = self.server.gui
        gui.set_panel_label('Motion')
        gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(0, 114, 178))
        gui.main_panel.dock_right()
        self._words = gui.add_html('', order=-1.0)
        names = tuple(self.animations)
        self._choice = gui.add_dropdown('Motion', names, order=0.0)
        self._run = gui.add_button_group('Run', ('Pause', 'Play', 'Restart'), order=1.0)
        self._speed = gui.add_button_group('Speed', tuple(SPEEDS), order=2.0)
        self._choice.on_update(lambda event: self._chosen(event))
        self._run.on_click(lambda event: self._ran(event.target.value))
        self._speed.on_click(lambda event: setattr(self, 'speed', SPEEDS[event.target.value]))
        shadows = gui.add_checkbox('Shadows', True, hint='Turn off if the picture is slow.', order=3.5)
        shadows.on_update(lambda event: self.stage.set_shadows(bool(event.target.value)))
        self._charts = gui.add_folder('Curves', order=4.0)

    def _chosen(self, event: Any) -> None:
        if event.client_id is not None:
            self.show(event.target.value)

    def _ran(self, button: str) -> None:
        if button == 'Restart':
            self.time = 0.0
        self.playing = button != 'Pause'

    def show(self, name: str) -> None:
        """Show a motion from its start."""
        self._drop(*[key for key in self.handles if key.startswith(('body/', 'trace/', 'label/'))])
        for plot in self._plots.values():
            plot.remove()
        self.chosen, self.time, self._plots = name, 0.0, {}
        if self._choice.value != name:
            self._choice.value = name
        animation, gui = self.animation, self.server.gui
        self.scale = SHOWN / animation.span
        if self._time_line is not None:
            self._time_line.remove()
        self._time_line = TimeLine(gui, animation.duration, animation.duration / 500, 3.0)
        self._words.content = (
            f'<div style="margin:8px 10px;font-size:13px"><b data-motion="{html.escape(name)}">'
            f'{html.escape(animation.title)}</b><br>{html.escape(animation.note)}<br>'
            f'Grid size of the ground: {100.0 / self.scale:.3g} cm.</div>'
        )
        for key, body in animation.bodies.items():
            self._add(f'body/{key}', self.scene.add_frame(f'{GROUND}/body/{key}', show_axes=False))
            for number, shape in enumerate(body.shapes):
                self.scene.add_mesh_simple(
                    f'{GROUND}/body/{key}/{number}',
                    self.scale * shape.vertices,
                    shape.faces,
                    color=shape.colour,
                    opacity=None if shape.opacity >= 1.0 else shape.opacity,
                    flat_shading=True,
                    side='double',
                )
        for title, lines in animation.curves.items():
            plot = Plot(gui, self._charts, title, float(len(self._plots)))
            plot.history.window, plot.history.period = animation.duration, animation.duration / 300.0
            plot.history.names = list(lines)
            self._plots[title] = plot
        self._aim_cameras(animation)
        self.draw()

    def _aim_cameras(self, animation: Animation) -> None:
        positions = np.vstack([body.positions for body in animation.bodies.values()])
        middle = self.scale * 0.5 * (positions.min(axis=0) + positions.max(axis=0))
        eyes = [self.server.initial_camera, *(client.camera for client in self.server.get_clients().values())]
        for camera in eyes:
            camera.position, camera.look_at = middle + 1.35 * SHOWN * EYE, middle
        self.server.initial_camera.fov = FIELD_OF_VIEW

    # -- the time ----------------------------------------------------------------------------------------------------

    def advance(self, seconds: float) -> None:
        """Advance by wall time, s, and draw; the motion restarts after its end."""
        assert self._time_line is not None
        dragged = self._time_line.dragged()
        if dragged is not None:
            self.playing, self.time = False, dragged
        if self.playing:
            self.time += self.speed * seconds
            if self.time > self.animation.duration:
                self.time = 0.0
        self.draw()
        self._time_line.put(self.time)

    def draw(self) -> None:
        """Draw the current instant."""
        animation = self.animation
        with self.server.atomic():
            for name, body in animation.bodies.items():
                position, rotation = body.pose(self.time)
                self._set_pose(f'body/{name}', self.scale * position, Rotation.from_matrix(rotation))
            for name, trace in animation.traces.items():
                past = trace.points[trace.times <= self.time + 1e-12]
                if len(past) < 2:
                    self._drop(f'trace/{name}')
                    continue
                kept = past[np.unique(np.linspace(0, len(past) - 1, MOST_POINTS).astype(int))]
                points = self.scale * kept + np.array([0.0, 0.0, 0.01])
                self._segments(f'trace/{name}', np.stack([points[:-1], points[1:]], axis=1), trace.colour, 0.022)
        self._draw_curves(animation)

    def _draw_curves(self, animation: Animation) -> None:
        if 0.0 <= self.time - self._charted < PLOT_PERIOD * self.speed:
            return
        self._charted = self.time
        for title, plot in self._plots.items():
            lines = animation.curves[title]
            past = [times <= self.time + 1e-12 for times, _ in lines.values()]
            plot.history.clear()
            longest = max(range(len(past)), key=lambda k: int(past[k].sum()))
            instants = list(lines.values())[longest][0][past[longest]]
            for instant in instants[:: max(1, len(instants) // 300)]:
                values = {name: float(np.interp(instant, times, v)) for name, (times, v) in lines.items()}
                plot.history.add(float(instant), values)
            plot.draw()

    def stop(self) -> None:
        """Close the page."""
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()
