"""What became of a machine under a lever sequence."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dyn_nodes.governor.campaign.json_lines import finite

WELL = 0.2
"""Share of its mean load with which a wheel stands well: more of it is no better."""


@dataclass(frozen=True)
class Outcome:
    """What became of a run.

    Attributes:
        overturned: the base tilted beyond the machine's limit.
        lifted: a wheel was off the ground for longer than 0.1 s, or the base turned by more than 0.5 degrees meanwhile.
        diverged: the simulation ended before its time.
        time: at the end, s.
        lift_time: first instant at which a wheel had lifted, s; None: never.
        tilt: greatest rotation of the base from where it stood, rad.
        share: least load of a wheel over the mean load of a wheel at the start.
        let_through: travel of the valves over that of the levers.
        refused: the start is beyond what any command could hold (`Rig.refuses`).
        begin: least load of a wheel where the run begins, over the same mean; None: not noted.
        unrest: sum of the changes of the valves' outputs over that of the levers' changes; None: not noted.
        off: for how long a wheel was without load, s; None: not noted.
    """

    overturned: bool
    lifted: bool
    diverged: bool
    time: float
    lift_time: float | None
    tilt: float
    share: float
    let_through: float
    refused: bool = False
    begin: float | None = None
    unrest: float | None = None
    off: float | None = None

    @property
    def score(self) -> float:
        """How far the least share comes below that of the begin, `WELL` at most, and the tilt: the lower the worse.

        The share alone would lead a search to machines that hardly stand and do not move. A wheel that lost its load is
        worse than any that did not, wherever it began.
        """
        begin = WELL if self.begin is None else min(self.begin, WELL)
        return self.share - begin - self.tilt - float(self.lost)

    @property
    def lost(self) -> bool:
        """Whether a wheel came to no load, however shortly."""
        return self.share <= 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Outcome:
        """Return the outcome of `as_dict`.

        Raises:
            ValueError, TypeError: data of another form, or a number that is not finite.
        """
        outcome = cls(**data)
        flags = outcome.overturned, outcome.lifted, outcome.diverged, outcome.refused
        if not all(isinstance(own, bool) for own in flags):
            raise ValueError('overturned, lifted, diverged or refused that is not true or false')
        for own in (outcome.time, outcome.tilt, outcome.share, outcome.let_through):
            finite(own)
        for given in (outcome.lift_time, outcome.begin, outcome.unrest, outcome.off):
            if given is not None:
                finite(given)
        return outcome


RESTLESS = Outcome(
    overturned=False,
    lifted=False,
    diverged=False,
    time=0.0,
    lift_time=None,
    tilt=0.0,
    share=0.0,
    let_through=1.0,
    refused=True,
)
"""Of a machine that cannot rest where a run begins, such as one that slides on its slope: there is no run."""
