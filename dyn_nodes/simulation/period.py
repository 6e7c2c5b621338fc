"""Arguments, result and errors of one exchange period of a plant."""

from __future__ import annotations

from typing import NamedTuple

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.simulation.events import Event

MOST_EVENTS_OF_A_PERIOD = 256
"""Greatest number of events stored per period."""


class PlantDivergedError(UserError, RuntimeError):
    """The integration diverged; the plant keeps its last valid state."""


class PlantStoppedError(PlantDivergedError):
    """The model does not define how the motion continues; `kind` names the event."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Period(NamedTuple):
    """Time span, inputs and payload release of a period.

    Attributes:
        start, end: s.
        step: of the integrator, s.  substeps: number of them.
        knots, table: of the inputs, (k,) s and (k, n).
        drop_time, drop_tilt: the payload is released at this time, s, or when the base has tilted by this angle from
            the start, rad; None: it is not released.
    """

    start: float
    end: float
    step: float
    substeps: int
    knots: Array
    table: Array
    drop_time: float | None
    drop_tilt: float | None


class Reached(NamedTuple):
    """State, parameters and events at the end of a period, and whether the base has overturned."""

    x: Array
    p: Array
    events: list[Event]
    overturned: bool
