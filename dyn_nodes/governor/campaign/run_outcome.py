"""Result of a run of a machine under a lever sequence."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dyn_nodes.governor.campaign.json_lines import finite

WELL = 0.2
"""Share of its mean load above which a wheel counts as fully loaded in a score."""


@dataclass(frozen=True)
class RunOutcome:
    """Result of a run.

    Attributes:
        overturned: the base tilted beyond the machine's limit.
        lifted: a wheel was off the ground for longer than 0.1 s, or the base turned by more than 0.5 degrees meanwhile.
        diverged: the simulation ended before its time.
        time: at the end, s.
        lift_time: first instant at which a wheel had lifted, s; None: never.
        tilt: greatest rotation of the base from its initial attitude, rad.
        share: least load of a wheel over the mean load of a wheel at the start.
        let_through: travel of the valves over the travel of the levers.
        refused: no command could keep the machine from tipping at the start (`Rig.rejects`).
        begin: least load of a wheel at the start of the run, over the same mean; None: not recorded.
        unrest: sum of the changes of the valves' outputs over the sum of the levers' changes; None: not recorded.
        off: time for which a wheel was without load, s; None: not recorded.
        overload: greatest utilisation of the rated load at rest above 1, or above its value at the start,
            with the payload of the governor; None: not recorded.

    With the criterion `tipping` a wheel stands for all wheels off an edge of the support polygon.
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
    overload: float | None = None

    @property
    def score(self) -> float:
        """Decrease of the least share since the start (from `WELL` at most) and tilt, as a score: the lower the worse.

        The share alone would lead a search to machines that are almost unstable and do not move. A wheel that lost its
        load is worse than any that did not, whatever its initial load.
        """
        initial = WELL if self.begin is None else min(self.begin, WELL)
        return self.share - initial - self.tilt - float(self.lost)

    @property
    def lost(self) -> bool:
        """Whether a wheel lost its load, however shortly."""
        return self.share <= 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RunOutcome:
        """Return the outcome of `as_dict`.

        Raises:
            ValueError, TypeError: data of another form, or a number that is not finite.
        """
        outcome = cls(**data)
        flags = outcome.overturned, outcome.lifted, outcome.diverged, outcome.refused
        if not all(isinstance(value, bool) for value in flags):
            raise ValueError('overturned, lifted, diverged or refused that is not true or false')
        for value in (outcome.time, outcome.tilt, outcome.share, outcome.let_through):
            finite(value)
        for optional in (outcome.lift_time, outcome.begin, outcome.unrest, outcome.off, outcome.overload):
            if optional is not None:
                finite(optional)
        return outcome


RESTLESS = RunOutcome(
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
"""Outcome of a machine that cannot rest where a run starts, such as one that slides on its slope: there is no run."""
