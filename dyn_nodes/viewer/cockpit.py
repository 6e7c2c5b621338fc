"""The cockpit page: scene, instruments and controls."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dyn_nodes.measures import BANDS, OK
from dyn_nodes.viewer.camera import Cameras
from dyn_nodes.viewer.connection import PAUSED, REPLAYED, RUNNING
from dyn_nodes.viewer.gate import Gate
from dyn_nodes.viewer.gauges import Scale
from dyn_nodes.viewer.geometry import ground_rotation, rotation_of, yaw_of
from dyn_nodes.viewer.panel import Action, Controls, Instruments
from dyn_nodes.viewer.robot import Robot
from dyn_nodes.viewer.scene import Scene
from dyn_nodes.viewer.situation import NOT_AT_REST, SituationTracker
from dyn_nodes.viewer.snapshot import Situation, Snapshot

GAUGE_PERIOD, PLOT_PERIOD = 0.1, 0.25


class Cockpit:
    """A page in the browser.

    Args:
        host: address to listen on.
        port: port to listen on; 0: a free one.
        title: title of the panel.
        beat_timeout: time after the last beat of a page at which it loses the right to drive, s.

    Attributes:
        gate: access checks.
        scene, instruments, controls, cameras: parts of the page.
        beside: points (n, 3) of objects beside the machine to keep in view, in the ground's frame, m.

    Raises:
        OSError: the port is in use.
    """

    def __init__(self, host: str, port: int, title: str, beat_timeout: float = 1.0) -> None:
        port = port or free_port(host)
        check_port(host, port)  # viser would silently choose another port
        self.gate, self.beat_timeout = Gate(host, port), beat_timeout
        self.server = self.gate.server
        self.host, self.port = host, self.server.get_port()
        self.scene = Scene(self.server)
        self.cameras = Cameras(self.server)
        self.controls = Controls(self.server.gui, title)
        self.instruments = Instruments(self.server.gui, Scale())
        self.server.on_client_connect(self._join)
        self._gauged = self._plotted = 0.0
        self._robot: Robot | None = None
        self.corners = self.beside = np.zeros((0, 3))
        self._situations = SituationTracker()
        self._situation: Situation | None = None

    @property
    def address(self) -> str:
        """Address of the page with its token, to open in a browser to drive."""
        return self.gate.access.address(self.port)

    @property
    def drivers(self) -> list[int]:
        """Numbers of the pages that may drive: they have the token, are visible and not frozen."""
        return self.gate.workers(self.beat_timeout)

    @property
    def clients(self) -> list[int]:
        """Numbers of the open pages."""
        return list(self.server.get_clients())

    def _join(self, client: Any) -> None:
        self.cameras.join(client)

    def actions(self) -> Iterator[Action]:
        """Yield the actions of users, except those on camera, shadows, drawings and trace, which are performed here."""
        for action in self.controls.actions():
            if action.name == 'camera':
                client = self.server.get_clients().get(action.client or 0)
                if client is not None:
                    self.cameras.choose(client, action.value)
            elif action.name == 'shadows':
                self.scene.set_shadows(action.value)
            elif action.name == 'drawing':
                self.scene.set_drawing(*action.value)
            elif action.name == 'clear_trace':
                self.scene.clear_trace()
            else:
                yield action

    def set_robot(
        self, robot: Robot, implement: tuple[str, Any] | None = None, posture: Mapping[str, float] | None = None
    ) -> None:
        """Show a machine; cameras frame all of it in a posture (default: joints at zero)."""
        self._robot = robot
        self.scene.set_robot(robot, implement)
        self.cameras.show(self.scene.unit, np.vstack([robot.corners(posture or {}), self.beside]))

    def set_shadows(self, cast: bool) -> None:
        """Turn shadows on or off."""
        self.scene.set_shadows(cast)
        self.controls.shadows.value = cast

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Send all changes within this context as one message: gauges and banner then show the same instant."""
        with self.server.atomic():
            yield

    def update(self, snapshot: Snapshot) -> None:
        """Show an instant: the scene at every call, gauges ten times a second, plots four times a second."""
        self._situation = situation = snapshot.situation or self._situations.update(snapshot)
        self.scene.update(replace(snapshot, reach=None) if situation.state in NOT_AT_REST else snapshot)
        ground, now = ground_rotation(*snapshot.slope), time.monotonic()
        position = ground.apply(snapshot.base_position)
        if self._robot is not None and now - self._gauged >= GAUGE_PERIOD:
            turn = ground * rotation_of(snapshot.base_quaternion)
            self.corners = turn.apply(self._robot.corners(snapshot.joints))
        seen = np.vstack([self.corners + position, ground.apply(np.vstack([self.beside, self.scene.margin_points]))])
        self.cameras.follow(position, yaw_of(snapshot.base_quaternion), seen)
        self.instruments.record(snapshot)
        if now - self._gauged >= GAUGE_PERIOD:
            self._gauged = now
            self.instruments.show(snapshot.margins, snapshot.friction_use)
            self.controls.show_load(snapshot, situation)
            if snapshot.payload is not None:
                self.controls.show_payload(snapshot.payload)
            self.controls.show_slope(*np.degrees(snapshot.slope))
        if now - self._plotted >= PLOT_PERIOD:
            self._plotted = now
            self.instruments.draw()

    def show_state(
        self, state: str, text: str, details: str = '', name: str = '', second: Situation | None = None
    ) -> None:
        """Show the states of machine and page in the banner; fog covers the scene if the connection is lost.

        Args:
            state: of `connection`.
            text: text of the banner.
            details: text in smaller letters.
            name: of the machine, shown with a second one.
            second: situation of a second machine, its name in its words.
        """
        situation = self._situation if state in (RUNNING, PAUSED, REPLAYED) else None
        bands = [entry.band for entry in (situation, second) if entry is not None]
        band = max(bands, key=BANDS.index, default=OK)
        if situation is not None and second is not None:
            situation = replace(situation, words=f'{name}: {situation.words}')
        self.controls.show_state(state, text, details, band, situation, second)
        self.scene.set_mist(state == 'lost')

    def notify(self, text: str, client: int | None = None) -> None:
        """Show a message for a few seconds, on one page or on all."""
        for number, page in self.server.get_clients().items():
            if client is None or number == client:
                page.add_notification(text, '', auto_close_seconds=6.0)

    def stop(self) -> None:
        """Close the page."""
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()


def free_port(host: str) -> int:
    """Return a port that is free now."""
    import socket

    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def check_port(host: str, port: int) -> None:
    """Raise OSError if a port is not available."""
    import socket

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise OSError(f'the page cannot listen on {host}:{port}: {error.strerror}') from None
