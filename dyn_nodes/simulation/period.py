"""An exchange period of a plant: what a ground is given, and what it gives back."""

from __future__ import annotations

from typing import NamedTuple

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.simulation.events import Event

MOST_EVENTS_OF_A_PERIOD = 256


class PlantDivergedError(UserError, RuntimeError):
    """The integration left the numbers that make sense; the plant keeps its last good state."""


class PlantStoppedError(PlantDivergedError):
    """The model does not say how the motion goes on; `kind` names the event."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Period(NamedTuple):
    """A period to go through.

    Attributes:
        start, end: s.
        step: of the integrator, s.  substeps: number of them.
        knots, table: of the inputs, (k,) s and (k, n).
        drop_time, drop_tilt: the payload is let go at this time, s, or where the base has tilted by this more than at
            the start, rad; None: it is not.
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
    """Where a period has led: the state, the parameters, what happened, whether the base has overturned."""

    x: Array
    p: Array
    events: list[Event]
    overturned: bool
