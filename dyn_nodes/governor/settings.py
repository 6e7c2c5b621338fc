"""Settings of the governors, with their defaults, which nodes and commands take from here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

JERK = 5.0
"""Rate of the settings that suits efforts: by which accelerations change, rad/s3 or m/s3. With three times as much an
arm that is let go and held in turns rocks the log-loader over longer delays, and lifts a wheel."""


class LawSettings(NamedTuple):
    """Numbers of `GovernorSettings` that the law uses; their description is there."""

    reserve: float
    rise: float
    least: float
    slack: float
    rate: float
    halvings: int


@dataclass(frozen=True)
class GovernorSettings:
    """How careful the governor is, and what it does not know.

    Attributes:
        reserve: least share of its mean load that every wheel keeps on the way to rest.
        rise: by which more is kept where an output grows, so that one that just passed is not braked at once.
        least: share that every wheel keeps under a command to a better stand.
        slack: by which such a command may come below the share at rest, where that bound is lower than `least`.
        hold: s for which such a command goes on in the prediction.
        rate: greatest change of an output, V/s.
        delay: longest time from a measurement to the valve that answers it, s.
        least_delay: the shortest, s; as long as `delay` where it is known.
        lateness: by which measurements may be late before outputs are led to neutral, s: these are certified for so
            much longer than until the next decision.
        mass_error: part by which all links may be heavier or lighter than known.
        center_error: by which the centre of mass of all links may lie elsewhere, in any horizontal direction, m.
        payload_error: part by which the payload may be heavier or lighter than known.
        horizon: s that are predicted at least.
        longest: s that are predicted at most, while a joint moves or the base still rocks; longer where valves would be
            open still.
        halvings: of the part of a function's step that is let through.
        bring_down: where a wheel has lifted and no lever leads to a better stand, the governor leads functions there
            by itself, if that brings the wheel down sooner than to stop.
    """

    reserve: float = 0.16
    rise: float = 0.04
    least: float = 0.08
    slack: float = 0.06
    hold: float = 0.8
    rate: float = 15.0
    delay: float = 0.1
    least_delay: float = 0.0
    lateness: float = 0.04
    mass_error: float = 0.1
    center_error: float = 0.0
    payload_error: float = 0.2
    horizon: float = 1.2
    longest: float = 4.0
    halvings: int = 2
    bring_down: bool = False

    @property
    def law(self) -> LawSettings:
        """Settings of the law."""
        return LawSettings(self.reserve, self.rise, self.least, self.slack, self.rate, self.halvings)


@dataclass(frozen=True)
class GripSettings:
    """How careful the governor is.

    Attributes:
        friction_use: greatest friction force over what static friction can hold.
        load_share: least normal force over an equal share of the load.
        least_braking: deceleration that is always allowed, and that must be possible from every twist, m/s2.
        overshoot: times the rates that are asked for, for springs that ring behind them.
    """

    friction_use: float = 0.8
    load_share: float = 0.25
    least_braking: float = 0.3
    overshoot: float = 1.2
