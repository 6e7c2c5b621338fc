"""What the view shows of one instant: plain numbers, wherever they come from."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.measures import Levels, measure_of

IDENTITY = (0.0, 0.0, 0.0, 1.0)


@dataclass
class Margin:
    """A stability margin.

    Attributes:
        value: the least.  edges: of every edge (or wheel).  names: of the edges, or empty where they are not known.
        levels: alarm levels from the node that computes the margin; None where it has not published any.
    """

    value: float = float('nan')
    edges: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    levels: Levels | None = None

    def levels_of(self, name: str) -> Levels:
        """Return the alarm levels; where none have been published, those that the measure has on any machine."""
        return measure_of(name).levels(len(self.edges)) if self.levels is None else self.levels

    def band(self, name: str) -> str:
        """Return the band of the margin of a measure: OK, CAUTION or DANGER. What is not known is never OK."""
        return self.levels_of(name).band(self.value)

    @property
    def critical(self) -> int | None:
        """Place of the least edge, None where there is none."""
        return int(np.argmin(self.edges)) if self.edges and np.isfinite(self.edges).all() else None

    @property
    def critical_name(self) -> str:
        """Name of the least edge, or ''."""
        place = self.critical
        return self.names[place] if place is not None and len(self.names) == len(self.edges) else ''


@dataclass
class Snapshot:
    """One instant. Whatever is not known stays empty or None and isn't shown.

    Attributes:
        time: of the data, s.
        joints: position by joint, rad or m.
        base_position: (3,) of the base link in the ground's frame, m.
        base_quaternion: (4,) x, y, z, w.
        forces: (3,) force of the ground by wheel, in its contact frame, N.
        contacts: (3,) point of the ground below each wheel, m.
        margins: by measure.
        friction_use: friction force over what friction can hold, by wheel.
        polygon: (n, 3) support polygon, m.
        center_of_mass: (3,) m.  zmp: (3,) m.
        pressures: by `<actuator>/<chamber>`, Pa.
        slope: (roll, pitch) of the ground, rad.
        payload: kg.
        weighed: (lower, upper) ends of the interval of 95 % of a payload that is estimated, kg.
    """

    time: float = 0.0
    joints: dict[str, float] = field(default_factory=dict)
    base_position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    base_quaternion: tuple[float, float, float, float] = IDENTITY
    forces: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    contacts: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    margins: dict[str, Margin] = field(default_factory=dict)
    friction_use: dict[str, float] = field(default_factory=dict)
    polygon: Array | None = None
    center_of_mass: tuple[float, float, float] | None = None
    zmp: tuple[float, float, float] | None = None
    pressures: dict[str, float] = field(default_factory=dict)
    slope: tuple[float, float] = (0.0, 0.0)
    payload: float | None = None
    weighed: tuple[float, float] | None = None
