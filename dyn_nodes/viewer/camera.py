"""Cameras of the pages: presets, and following the machine."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.viewer.framing import FIELD_OF_VIEW, distance_to_show, eye_that_sees, visible

PRESETS: dict[str, tuple[tuple[float, float, float], tuple[float, float, float]]] = {
    'Follow': ((8.6, -12.0, 5.4), (2.2, 0.0, 1.2)),
    'Side': ((2.2, -19.0, 2.0), (2.2, 0.0, 1.7)),
    'Front': ((19.0, 0.0, 3.4), (0.0, 0.0, 1.7)),
    'Top': ((2.0, -0.02, 23.0), (2.0, 0.0, 0.0)),
}
"""Camera position and target relative to the base, x forward, for a machine with a reach of 8 m, m."""
FOLLOW_STEP = 0.02
SETTLING, LATEST, ANSWER_TIMEOUT, HAND = 2.0, 15.0, 1.0, 0.3
"""Times, s: for a new page to settle, at most until it reports its initial position; timeout of a requested camera
position; hold time after a movement by the user."""
ECHO = 1e-3
"""Distance below which a reported position equals a requested one, m."""
REMEMBERED = 16
"""Number of requested positions that a slow page may still report."""
WIDE = 16 / 9
"""Default aspect ratio of a picture, width over height."""


class Follower:
    """Camera that follows the machine and never works against the user.

    A page reports its camera position with a delay and may still report an earlier one. The camera is therefore moved
    only relative to the reported position, with no request outstanding and no movement by the user. Until the user has
    moved it, the camera also moves back as far as necessary to show the whole machine, and returns when the aspect
    ratio changes.

    Args:
        anchor: (3,) position of the machine that belongs to the camera position, m.
        now: s.
        expected: (3,) initial camera position of the page, None: unknown.

    Attributes:
        reported: (3,) camera position reported by the page, None before the first report.
        ahead: (3,) direction of view.
        turned: the user has moved the camera since the page settled.
    """

    def __init__(self, anchor: Array, now: float, expected: Array | None = None) -> None:
        self.anchor, self.since = anchor.copy(), now
        self.reported: Array | None = None
        self.ahead = np.zeros(3)
        self.turned = False
        self._placed = expected is None
        self._home = None if expected is None else np.array(expected)
        self._aspect = 0.0
        self._reported_at = now
        self._outstanding: Array | None = None
        self.requested = deque([] if expected is None else [np.array(expected)], maxlen=REMEMBERED)
        self._asked_at = now

    def report(self, position: Array, ahead: Array, now: float) -> None:
        """Take the camera position and direction of view reported by the page, both (3,)."""
        before, self.reported, self.ahead = self.reported, np.array(position), np.array(ahead)
        if any(np.linalg.norm(self.reported - requested) < ECHO for requested in self.requested):
            self._placed = True
            if self._outstanding is not None and np.linalg.norm(self.reported - self._outstanding) < ECHO:
                self._outstanding = None  # the requested position, not a movement by the user
            return
        self._reported_at = now
        settled = self._placed and self._settled(now)  # an unfinished request is not a movement by the user
        if before is not None and settled and np.linalg.norm(self.reported - before) > ECHO:
            self.turned = True

    def _settled(self, now: float) -> bool:
        """Return whether the page has settled: a new page first reports other positions, a slow one for long."""
        return now - self.since >= (SETTLING if self._placed else LATEST)

    def shift(self, position: Array, points: Array, aspect: float, now: float, step: float) -> Array | None:
        """Return the new camera position (3,) for a position of the machine, None: unchanged.

        Args:
            position: (3,) of the machine, m.
            points: (n, 3) of the machine to keep in view, m; empty: no constraint.
            aspect: width of the picture over its height.
            now: s.
            step: minimum displacement of the machine that moves the camera, m.
        """
        if not self._settled(now) or self.reported is None:
            self.anchor = position.copy()
            return None
        if self._outstanding is not None and now - self._asked_at > ANSWER_TIMEOUT:
            self._outstanding = None
        if self._outstanding is not None or now - self._reported_at < HAND:
            return None
        moved = position - self.anchor if np.linalg.norm(position - self.anchor) >= step else np.zeros(3)
        wanted = self.reported + moved
        if len(points) and not self.turned and np.linalg.norm(self.ahead[:2]) > 0.0:
            if aspect != self._aspect and self._placed and self._home is not None:
                wanted = self._home + moved
            seeing = eye_that_sees(points, wanted, self.ahead, aspect)
            wanted = wanted if seeing is None else seeing
            self._aspect = aspect
        if np.linalg.norm(wanted - self.reported) < ECHO:
            return None
        self.anchor = position.copy()
        if self._home is not None:
            self._home += moved
        if all(np.linalg.norm(wanted - asked) >= ECHO for asked in self.requested):
            self.requested.append(wanted)
        self._outstanding, self._asked_at = wanted, now
        return wanted


class Cameras:
    """The cameras of all open pages.

    Args:
        server: viser's server.
    """

    def __init__(self, server: Any) -> None:
        self.server = server
        self.unit = 1.0
        self._shape = np.zeros((0, 3))
        self._anchor = np.zeros(3)
        self._heading = 0.0
        self.followers: dict[int, Follower] = {}
        self.start()

    def show(self, unit: float, shape: Array) -> None:
        """Set the machine: its size relative to a reach of 8 m, and points (n, 3) of its shape from its base, m."""
        self.unit, self._shape = unit, shape
        self.start()

    def start(self) -> None:
        """Set the initial camera of new pages."""
        eye, target = self.preset('Follow')
        camera = self.server.initial_camera
        camera.position, camera.look_at, camera.fov = eye, target, FIELD_OF_VIEW

    def preset(self, name: str, aspect: float = WIDE) -> tuple[Array, Array]:
        """Return camera position and target (3,) in the level world. Raises KeyError.

        If the preset does not show the whole machine, the target is its middle and the camera moves farther away on
        the same side.

        Args:
            name: of PRESETS.
            aspect: width of the picture over its height.
        """
        eye, target = (np.array(point) * self.unit for point in PRESETS[name])
        away, seen = (eye - target) / np.linalg.norm(eye - target), visible(aspect)
        if len(self._shape) and distance_to_show(self._shape, target, away, seen) > np.linalg.norm(eye - target):
            target = 0.5 * (self._shape.min(axis=0) + self._shape.max(axis=0))
            eye = target + away * distance_to_show(self._shape, target, away, seen)
        c, s = np.cos(self._heading), np.sin(self._heading)
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        return self._anchor + turn @ eye, self._anchor + turn @ target

    def choose(self, client: Any, name: str) -> None:
        """Move the camera of a page to a preset; 'Follow' then also moves it with the machine."""
        eye, target = self.preset(name, _aspect(client))
        there = np.allclose(client.camera.position, eye)  # a page does not report an unchanged position
        with client.atomic():
            client.camera.position = eye
            client.camera.look_at = target
            client.camera.up_direction = (0.0, 0.0, 1.0)
        if name == 'Follow':
            follower = self.followers[client.client_id] = Follower(self._anchor, time.monotonic(), eye)
            if there:
                follower.report(eye, target - eye, time.monotonic())
        else:
            self.followers.pop(client.client_id, None)

    def join(self, client: Any) -> None:
        """Start to follow with the camera of a new page."""
        expected = self.server.initial_camera.position
        self.followers[client.client_id] = Follower(self._anchor, time.monotonic(), expected)

        @client.camera.on_update
        async def _(camera: Any) -> None:
            follower = self.followers.get(client.client_id)
            if follower is not None:
                follower.report(camera.position, camera.look_at - camera.position, time.monotonic())

    def follow(self, position: Array, heading: float, points: Array) -> None:
        """Move the cameras that follow the machine.

        Args:
            position: (3,) of the machine's base in the level world, m.
            heading: rad.
            points: (n, 3) of the machine in the level world to keep in view, m.
        """
        now = time.monotonic()
        self._anchor, self._heading = np.array((position[0], position[1], 0.0)), heading
        clients = self.server.get_clients()
        for number, follower in list(self.followers.items()):
            if number not in clients:
                del self.followers[number]
                continue
            eye = follower.shift(self._anchor, points, _aspect(clients[number]), now, FOLLOW_STEP * self.unit)
            if eye is not None:
                with clients[number].atomic():  # camera position and target
                    clients[number].camera.position = eye


def _aspect(client: Any) -> float:
    """Return width over height of the part of a page's picture that no panel covers."""
    camera = client.camera
    reported = camera.update_timestamp != 0.0 and camera.image_height
    return float(camera.image_width) / camera.image_height if reported else WIDE
