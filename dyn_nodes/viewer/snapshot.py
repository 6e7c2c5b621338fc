"""Data of one instant for the view, independent of their source."""

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
        value: least over the edges.
        edges: value of every edge (or wheel).
        names: names of the edges; empty: unknown.
        levels: alarm levels from the node that computes the margin; None: not published.
    """

    value: float = float('nan')
    edges: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    levels: Levels | None = None

    def levels_of(self, name: str) -> Levels:
        """Return the published alarm levels, else the default levels of the measure."""
        return measure_of(name).levels(len(self.edges)) if self.levels is None else self.levels

    def band(self, name: str) -> str:
        """Return the band of the margin of a measure: OK, CAUTION or DANGER. An unknown margin is never OK."""
        return self.levels_of(name).band(self.value)

    @property
    def critical(self) -> int | None:
        """Index of the edge with the least value, None if a value is unknown."""
        return int(np.argmin(self.edges)) if self.edges and np.isfinite(self.edges).all() else None

    @property
    def critical_name(self) -> str:
        """Name of the edge with the least value, or ''."""
        index = self.critical
        return self.names[index] if index is not None and len(self.names) == len(self.edges) else ''


@dataclass(frozen=True)
class Load:
    """Load moment of an instant.

    Attributes:
        utilisation: load over rated load; inf if the machine tips without load.
        rated: rated load, kg.
        payload: kg.
        edge: over which a greater load tips the machine; '' if unknown.
        tipping: tipping load, kg.
        share: rated share of the tipping load.
    """

    utilisation: float
    rated: float = float('nan')
    payload: float = float('nan')
    edge: str = ''
    tipping: float = float('nan')
    share: float = float('nan')


@dataclass(frozen=True, eq=False)
class Reach:
    """Reach of the present payload around the axis of the swing.

    Attributes:
        centre: (2,) point of the axis in axes of the base, m.
        angles: (n,) directions from the x axis of the base, rad.
        limits: (n,) greatest distance of the payload from the axis, m.
        is_closed: whether the directions are a full turn.
        present: present distance, m.
    """

    centre: Array
    angles: Array
    limits: Array
    is_closed: bool
    present: float


@dataclass(frozen=True)
class GovernorState:
    """State of a governor.

    Attributes:
        message: its text.
        is_fault: whether it passes no commands because something is missing.
        held: names of the levers that it holds back.
        scale: least passed fraction of a held lever.
        is_override: whether a held key passes levers without it.
    """

    message: str
    is_fault: bool = False
    held: tuple[str, ...] = ()
    scale: float = 1.0
    is_override: bool = False

    @property
    def reason(self) -> str:
        """Fraction and reason of the held levers."""
        return f'{100.0 * self.scale:.0f} % of the lever passes: {self.message.partition(": ")[2].replace("_", " ")}'


@dataclass(frozen=True)
class Situation:
    """State of a machine at one instant.

    Attributes:
        state: one of the states of `viewer.situation`, or a band of the margins.
        band: OK, CAUTION or DANGER.
        words: the greatest words of the page: the state and where, such as 'TIPPING over the front'.
        figures: the numbers beside them; '' for none.
        margin: the least margin; '' if margins are not published.
    """

    state: str
    band: str
    words: str
    figures: str = ''
    margin: str = ''


@dataclass
class Snapshot:
    """Data of one instant. Unknown data are empty or None and not shown.

    Attributes:
        time: of the data, s.
        joints: positions by joint, rad or m.
        base_position: (3,) of the base link in the ground's frame, m.
        base_quaternion: (4,) x, y, z, w.
        forces: (3,) ground force by wheel, in its contact frame, N.
        contacts: (3,) ground point below each wheel, m.
        margins: by measure.
        friction_use: friction force over maximum friction force, by wheel.
        polygon: (n, 3) support polygon, m.
        center_of_mass: (3,) m.
        zmp: (3,) m.
        pressures: by `<actuator>/<chamber>`, Pa.
        slope: (roll, pitch) of the ground, rad.
        payload: kg.
        weighed: lower and upper end of the 95 % interval of an estimated payload, kg.
        load: load moment; None: not published.
        reach: of the payload; None: unknown.
        allowance: remaining allowances by name: payload, kg; reach, m; swing_speed, rad/s.
        governor: state of a governor; None: there is none.
        stop: joint positions after the stop that a governor has certified, rad or m; empty: none.
        overturned: the machine has overturned.
        situation: state of the machine in words; None: not determined yet.
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
    load: Load | None = None
    reach: Reach | None = None
    allowance: dict[str, float] = field(default_factory=dict)
    governor: GovernorState | None = None
    stop: dict[str, float] = field(default_factory=dict)
    overturned: bool = False
    situation: Situation | None = None
