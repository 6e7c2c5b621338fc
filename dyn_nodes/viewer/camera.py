"""Where the eye is."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

PRESETS: dict[str, tuple[tuple[float, float, float], tuple[float, float, float]]] = {
    'Follow': ((8.6, -12.0, 5.4), (2.2, 0.0, 1.2)),
    'Side': ((2.2, -19.0, 2.0), (2.2, 0.0, 1.7)),
    'Front': ((19.0, 0.0, 3.4), (0.0, 0.0, 1.7)),
    'Top': ((2.0, -0.02, 23.0), (2.0, 0.0, 0.0)),
}
"""Eye and the point it looks at, from the machine's base, x ahead, for a machine that reaches 8 m."""
FIELD_OF_VIEW = 0.75
VISIBLE = (1.0, 0.9)
"""Half of the width and of the height of the picture that no panel covers, in halves of its height."""
FOLLOW_STEP = 0.02
SETTLING, PATIENCE, HAND = 2.0, 1.0, 0.3
"""A new page gets this time to find its place; an answer is awaited so long; so long after a movement it is held, s."""
ECHO = 1e-3


def distance_to_show(points: Array, target: Array, away: Array) -> float:
    """Return the distance from a target at which an eye sees all points.

    Args:
        points: (n, 3), at least one.
        target: (3,) that it looks at.
        away: (3,) unit vector from the target to the eye, not vertical.
    """
    right = np.cross((0.0, 0.0, 1.0), away)
    right /= np.linalg.norm(right)
    across = np.abs((points - target) @ np.column_stack((right, np.cross(away, right))))
    seen = np.array(VISIBLE) * np.tan(0.5 * FIELD_OF_VIEW)
    return float(((across / seen).max(axis=1) + (points - target) @ away).max())


class Follower:
    """An eye that goes along with the machine, but never against the hand that turns it.

    A page tells where its eye is a moment after it was put there, and may still tell of before: an eye is moved only
    from where its page has said it is, when nothing that was asked of it is outstanding and nobody is moving it.

    Args:
        anchor: (3,) place of the machine for which the eye is where it is.
        now: s.
    """

    def __init__(self, anchor: Array, now: float) -> None:
        self.anchor, self.since = anchor.copy(), now
        self.reported: Array | None = None
        self._reported_at = now
        self._asked: Array | None = None
        self._asked_at = now

    def report(self, position: Array, now: float) -> None:
        """The page says where its eye is."""
        self.reported = np.array(position)
        if self._asked is not None and np.linalg.norm(self.reported - self._asked) < ECHO:
            self._asked = None  # this is what was asked for, nobody's hand
        else:
            self._reported_at = now

    def shift(self, place: Array, now: float, step: float) -> Array | None:
        """Return where the eye has to go now that the machine is at `place` (3,), None where it stays."""
        if now - self.since < SETTLING or self.reported is None:
            self.anchor = place.copy()
            return None
        if self._asked is not None and now - self._asked_at > PATIENCE:
            self._asked = None
        moved = place - self.anchor
        if self._asked is not None or now - self._reported_at < HAND or np.linalg.norm(moved) < step:
            return None
        self.anchor = place.copy()
        self._asked, self._asked_at = self.reported + moved, now
        return self._asked


class Cameras:
    """The eyes of all who look.

    Args:
        server: viser's server.
    """

    def __init__(self, server: Any) -> None:
        self.server = server
        self.unit = 1.0
        self._shape = np.zeros((0, 3))
        self._anchor = np.zeros(3)
        self._heading = 0.0
        self._followers: dict[int, Follower] = {}
        self.start()

    def show(self, unit: float, shape: Array) -> None:
        """Take a machine: its size against one that reaches 8 m, and points of its shape (n, 3) from its base, m."""
        self.unit, self._shape = unit, shape
        self.start()

    def start(self) -> None:
        """Set the eye of those who are still to come."""
        eye, target = self.preset('Follow')
        camera = self.server.initial_camera
        camera.position, camera.look_at, camera.fov = eye, target, FIELD_OF_VIEW

    def preset(self, name: str) -> tuple[Array, Array]:
        """Return eye and target (3,) in the level world. Raises KeyError.

        A machine that would not be seen as a whole is looked at in its middle, from the same side and farther away.
        """
        eye, target = (np.array(point) * self.unit for point in PRESETS[name])
        away = (eye - target) / np.linalg.norm(eye - target)
        if len(self._shape) and distance_to_show(self._shape, target, away) > np.linalg.norm(eye - target):
            target = 0.5 * (self._shape.min(axis=0) + self._shape.max(axis=0))
            eye = target + away * distance_to_show(self._shape, target, away)
        c, s = np.cos(self._heading), np.sin(self._heading)
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        return self._anchor + turn @ eye, self._anchor + turn @ target

    def choose(self, client: Any, name: str) -> None:
        """Put one eye where a preset says; 'Follow' also moves it with the machine from then on."""
        eye, target = self.preset(name)
        with client.atomic():
            client.camera.position = eye
            client.camera.look_at = target
            client.camera.up_direction = (0.0, 0.0, 1.0)
        if name == 'Follow':
            self._followers[client.client_id] = Follower(self._anchor, time.monotonic())
        else:
            self._followers.pop(client.client_id, None)

    def join(self, client: Any) -> None:
        """Someone new looks on, following."""
        self._followers[client.client_id] = Follower(self._anchor, time.monotonic())

        @client.camera.on_update
        async def _(camera: Any) -> None:
            follower = self._followers.get(client.client_id)
            if follower is not None:
                follower.report(camera.position, time.monotonic())

    def follow(self, position: Array, heading: float) -> None:
        """Take the eyes that follow along.

        Args:
            position: (3,) of the machine's base in the level world, m.
            heading: rad.
        """
        now = time.monotonic()
        self._anchor, self._heading = np.array((position[0], position[1], 0.0)), heading
        clients = self.server.get_clients()
        for number, follower in list(self._followers.items()):
            if number not in clients:
                del self._followers[number]
                continue
            eye = follower.shift(self._anchor, now, FOLLOW_STEP * self.unit)
            if eye is not None:
                clients[number].camera.position = eye
