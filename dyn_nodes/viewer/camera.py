"""Where the eye is."""

from __future__ import annotations

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
FOLLOW_STEP = 0.01


class Cameras:
    """The eyes of all who look.

    Args:
        server: viser's server.
    """

    def __init__(self, server: Any) -> None:
        self.server = server
        self.unit = 1.0
        self._anchor = np.zeros(3)
        self._heading = 0.0
        self._followed: dict[int, Array] = {}
        self.start()

    def start(self) -> None:
        """Set the eye of those who are still to come."""
        eye, target = self.preset('Follow')
        camera = self.server.initial_camera
        camera.position, camera.look_at, camera.fov = eye, target, FIELD_OF_VIEW

    def preset(self, name: str) -> tuple[Array, Array]:
        """Return eye and target (3,) in the level world. Raises KeyError."""
        eye, target = (np.array(point) * self.unit for point in PRESETS[name])
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
            self._followed[client.client_id] = self._anchor.copy()
        else:
            self._followed.pop(client.client_id, None)

    def join(self, client: Any) -> None:
        """Someone new looks on, following."""
        self._followed[client.client_id] = self._anchor.copy()

    def follow(self, position: Array, heading: float) -> None:
        """Take the eyes that follow along.

        Args:
            position: (3,) of the machine's base in the level world, m.
            heading: rad.
        """
        ground = np.array((position[0], position[1], 0.0))
        self._anchor, self._heading = ground, heading
        clients = self.server.get_clients()
        for number in [number for number in self._followed if number not in clients]:
            del self._followed[number]
        for number, client in clients.items():
            if number not in self._followed:
                continue
            moved = ground - self._followed[number]
            if np.linalg.norm(moved) > FOLLOW_STEP * self.unit:
                self._followed[number] = ground.copy()
                client.camera.position = client.camera.position + moved
