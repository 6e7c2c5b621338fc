"""Settings of the governors, with their defaults, which nodes and commands take from here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

JERK = 5.0
"""Setting of the output rate for efforts: greatest rate of change of accelerations, rad/s3 or m/s3. With three times as
much, an arm that is released and held in turns rocks the log-loader over longer delays, and lifts a wheel."""

CRITERIA = ('lift_off', 'tipping')
"""Criteria of a stop (`GovernorSettings`)."""


class LawSettings(NamedTuple):
    """Settings of `GovernorSettings` that the law uses; they are described there."""

    reserve: float
    rise: float
    least: float
    slack: float
    rate: float
    halvings: int


@dataclass(frozen=True)
class GovernorSettings:
    """Reserves of the governor, and the errors that it assumes.

    Attributes:
        criterion: of a stop: `lift_off`, every wheel keeps a share of its mean load; or `tipping`, the ground keeps a
            moment about every edge of the support polygon, as a share of the moment of equally loaded wheels, and the
            machine may at most carry its rated load at the end. Wheels may lift then, as long as others hold it.
        rated_share: rated load over tipping load.
        reserve: `lift_off`: least share of its mean load that every wheel keeps on the way to rest.
        tipping_reserve: `tipping`: least share of its moment that every edge keeps, also under a command to a more
            stable posture unless `least` is greater. `rise`, `least` and `slack` are in the same ratio to it as they
            are to `reserve`.
        rise: added to the reserve if an output grows, so that one that just passed is not braked at once.
        least: share that every wheel keeps under a command to a more stable posture.
        slack: margin below the share at rest that such a command may use, if that bound is lower than `least`.
        hold: time for which such a command continues in the prediction, s.
        rate: greatest change of an output, V/s.
        delay: longest time from a measurement to the response of the valve, s.
        least_delay: shortest time from a measurement to the response of the valve, s; equal to `delay` if that is
            exact.
        lateness: permitted delay of measurements before outputs are led to neutral, s; outputs are certified for this
            time beyond the next decision.
        mass_error: relative error of the mass of all links, heavier or lighter.
        center_error: error of the centre of mass of all links in any horizontal direction, m.
        payload_error: relative error of the payload, heavier or lighter.
        horizon: least predicted time, s.
        longest: greatest predicted time while a joint moves or the base rocks, s; longer if valves would still be open.
        halvings: number of bisections for the part of a function's step that passes.
        bring_down: if a wheel has lifted and no lever leads to a more stable posture, the governor leads functions
            there by itself, provided that this brings the wheel down sooner than a stop.
    """

    criterion: str = 'lift_off'
    rated_share: float = 0.75
    reserve: float = 0.16
    tipping_reserve: float = 0.12
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
        """Settings of the law for the criterion."""
        ratio = 1.0 if self.criterion == 'lift_off' else self.tipping_reserve / self.reserve
        reserve, rise = ratio * self.reserve, ratio * self.rise
        least = ratio * self.least if self.criterion == 'lift_off' else max(ratio * self.least, reserve)
        return LawSettings(reserve, rise, least, ratio * self.slack, self.rate, self.halvings)


@dataclass(frozen=True)
class GripSettings:
    """Settings of the grip governor.

    Attributes:
        friction_use: greatest ratio of friction force to the limit of static friction.
        load_share: least ratio of normal force to an equal share of the load.
        least_braking: deceleration that is always allowed, and that must be possible from every twist, m/s2.
        overshoot: factor on the requested rates, for springs that overshoot.
    """

    friction_use: float = 0.8
    load_share: float = 0.25
    least_braking: float = 0.3
    overshoot: float = 1.2
