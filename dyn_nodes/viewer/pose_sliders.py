"""Sliders of the pose of a platform."""

from __future__ import annotations

from collections.abc import Mapping

from dyn_nodes.viewer.held_sliders import HeldSliders

NAMES = ('x', 'y', 'z', 'roll', 'pitch', 'yaw')
LENGTHS, UNITS = NAMES[:3], dict.fromkeys(NAMES[:3], 'mm') | dict.fromkeys(NAMES[3:], '°')


class PoseSliders(HeldSliders):
    """Offsets of a platform from its middle pose, mm and degrees.

    Args:
        limits: maximum offset by name, mm or degrees.
    """

    def __init__(self, limits: Mapping[str, float]) -> None:
        super().__init__({name: (-limits[name], limits[name]) for name in NAMES})
