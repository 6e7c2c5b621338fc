"""Where the eye is."""

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
"""Eye and the point it looks at, from the machine's base, x ahead, for a machine that reaches 8 m."""
FOLLOW_STEP = 0.02
SETTLING, LATEST, PATIENCE, HAND = 2.0, 15.0, 1.0, 0.3
"""A new page gets this time to find its place, and the second one until it says that it has; an answer is awaited so
long; so long after a movement the eye is held, s."""
ECHO = 1e-3
REMEMBERED = 16
"""Places of an eye that were asked for, which a slow page may still report."""
WIDE = 16 / 9
"""Width of a picture over its height where its page has not said it."""


class Follower:
    """An eye that goes along with the machine, but never against the hand that turns it.

    A page reports the place of its eye with a delay, and may still report an earlier one: an eye is moved only
    from the place that its page has reported, when no request is outstanding and no hand is moving it. Where
    no hand has moved it yet, it also goes back as far as it must to see the whole machine, and comes nearer again
    where the picture gets another shape.

    Args:
        anchor: (3,) place of the machine for which the eye is where it is.
        now: s.
        expected: (3,) where its page is to put it first, None where that is not known.

    Attributes:
        reported: (3,) where the page says that its eye is, None before it has.
        ahead: (3,) in which direction it looks.
        turned: a hand has moved it since the page found its place.
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
        """The page says where its eye is and in which direction it looks, both (3,)."""
        before, self.reported, self.ahead = self.reported, np.array(position), np.array(ahead)
        if any(np.linalg.norm(self.reported - place) < ECHO for place in self.requested):
            self._placed = True
            if self._outstanding is not None and np.linalg.norm(self.reported - self._outstanding) < ECHO:
                self._outstanding = None  # this is what was asked for, not a hand
            return
        self._reported_at = now
        settled = self._placed and self._settled(now)  # a page on its way to where it was put is no hand
        if before is not None and settled and np.linalg.norm(self.reported - before) > ECHO:
            self.turned = True

    def _settled(self, now: float) -> bool:
        """A page that has just been opened reports other places first, a slow one for long."""
        return now - self.since >= (SETTLING if self._placed else LATEST)

    def shift(self, place: Array, points: Array, aspect: float, now: float, step: float) -> Array | None:
        """Return where the eye has to go now that the machine is at a place, None where it stays.

        Args:
            place: (3,) of the machine.
            points: (n, 3) of it, all of which are to be seen; none: wherever it is seen.
            aspect: width of the picture over its height.
            now: s.
            step: least way of the machine for which the eye moves, m.
        """
        if not self._settled(now) or self.reported is None:
            self.anchor = place.copy()
            return None
        if self._outstanding is not None and now - self._asked_at > PATIENCE:
            self._outstanding = None
        if self._outstanding is not None or now - self._reported_at < HAND:
            return None
        moved = place - self.anchor if np.linalg.norm(place - self.anchor) >= step else np.zeros(3)
        wanted = self.reported + moved
        if len(points) and not self.turned and np.linalg.norm(self.ahead[:2]) > 0.0:
            if aspect != self._aspect and self._placed and self._home is not None:
                wanted = self._home + moved
            seeing = eye_that_sees(points, wanted, self.ahead, aspect)
            wanted = wanted if seeing is None else seeing
            self._aspect = aspect
        if np.linalg.norm(wanted - self.reported) < ECHO:
            return None
        self.anchor = place.copy()
        if self._home is not None:
            self._home += moved
        if all(np.linalg.norm(wanted - asked) >= ECHO for asked in self.requested):
            self.requested.append(wanted)
        self._outstanding, self._asked_at = wanted, now
        return wanted


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
        self.followers: dict[int, Follower] = {}
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

    def preset(self, name: str, aspect: float = WIDE) -> tuple[Array, Array]:
        """Return eye and target (3,) in the level world. Raises KeyError.

        A machine that would not be seen as a whole is looked at in its middle, from the same side and farther away.

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
        """Put one eye where a preset says; 'Follow' also moves it with the machine from then on."""
        eye, target = self.preset(name, _aspect(client))
        there = np.allclose(client.camera.position, eye)  # a page that stays where it is reports nothing
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
        """Someone new looks on, following."""
        expected = self.server.initial_camera.position
        self.followers[client.client_id] = Follower(self._anchor, time.monotonic(), expected)

        @client.camera.on_update
        async def _(camera: Any) -> None:
            follower = self.followers.get(client.client_id)
            if follower is not None:
                follower.report(camera.position, camera.look_at - camera.position, time.monotonic())

    def follow(self, position: Array, heading: float, points: Array) -> None:
        """Take the eyes that follow along.

        Args:
            position: (3,) of the machine's base in the level world, m.
            heading: rad.
            points: (n, 3) of the machine in the level world, all of which are to be seen, m.
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
                with clients[number].atomic():  # the eye and the point that it looks at
                    clients[number].camera.position = eye


def _aspect(client: Any) -> float:
    """Return width over height of the picture of a page, of the part that no panel covers."""
    camera = client.camera
    known = camera.update_timestamp != 0.0 and camera.image_height
    return float(camera.image_width) / camera.image_height if known else WIDE
