"""Keeps valve commands within what the machine can do without tipping: a reference governor on its braking.

A command passes where the stop behind it is certified: after one more period of the command all valves are led to
neutral, and every wheel keeps a reserve of its load on the whole way to rest. The stop that was certified with the last
command is what is left where nothing else is certified, so the way out is never one that was not looked at before.
Each function is slowed only as far as its own share asks for.

Where not even the stop is certified, or a function would stand still at the border, a command passes that leads to a
better stand and costs nothing on the way. Nothing here knows how a stop is predicted: `Stops` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.control.stops import Stop, Stops

Array = NDArray[np.float64]
GAIN = 2e-3
"""By which a command has to lead to a better stand to pass without a certificate."""
SHOWN = 0.2
"""A lever that was held back counts as held for so long, s: at the border it gets a part of its way in turns."""
PARTS = (1.0, 0.75, 0.6)
"""Of a command to a better stand that are tried."""


@dataclass(frozen=True)
class GovernorSettings:
    """How careful the governor is, and what it does not know.

    Attributes:
        reserve: least share of its mean load that every wheel keeps on the way to rest.
        least: share that every wheel keeps under a command to a better stand.
        slack: where that is not kept: by which such a command may come below the share at rest, or to that of the stop.
        hold: s for which such a command goes on in the prediction.
        rate: greatest change of an output, V/s.
        delay: longest time from a measurement to the valve that answers it, s.
        mass_error: part by which all links may be heavier or lighter than known.
        payload_error: the same of the payload.
        horizon: s that are predicted at least.
        longest: s that are predicted at most while a joint still moves.
        halvings: of the part of a function's step that is let through.
    """

    reserve: float = 0.12
    least: float = 0.03
    slack: float = 0.08
    hold: float = 0.8
    rate: float = 15.0
    delay: float = 0.1
    mass_error: float = 0.1
    payload_error: float = 0.2
    horizon: float = 1.2
    longest: float = 4.0
    halvings: int = 2


@dataclass
class Verdict:
    """What the governor did to a command.

    Attributes:
        volts: (m,) output.
        scale: least part of a held lever's command that is let through, 1 where nothing is held back.
        held: names of the levers that are held back.
        certified: the stop behind the output keeps the reserve.
        degree: stability degree at rest in the present posture.
        margin: least share of a wheel's load on the stop behind the output.
        contact: that wheel.
        ahead: when, s from now.
    """

    volts: Array
    scale: float = 1.0
    held: tuple[str, ...] = ()
    certified: bool = True
    degree: float = np.nan
    margin: float = np.nan
    contact: str = ''
    ahead: float = np.nan


class TipOverGovernor:
    """The law.

    Args:
        names: of the levers, in the order of the commands.
        stops: predicts.
        settings: how careful.

    Attributes:
        output: (m,) what goes to the valves, V.
    """

    def __init__(self, names: tuple[str, ...], stops: Stops, settings: GovernorSettings | None = None) -> None:
        self.names, self.stops, self.settings = names, stops, settings or GovernorSettings()
        self.reset()

    def reset(self) -> None:
        """All outputs at neutral."""
        self.output = np.zeros(len(self.names))
        self._known: dict[bytes, Stop] = {}
        self._since = np.full(len(self.names), np.inf)
        self.stops.reset()

    def neutral(self, step: float) -> Array:
        """Lead the outputs to neutral at their rate; return them."""
        self._issue(self._approach(np.zeros(len(self.names)), step), step)
        return self.output

    def govern(self, command: Array, step: float) -> Verdict:
        """Return what is let through of a command (m,), V; nothing where the machine stands on nothing.

        Args:
            command: of all levers.
            step: time since the last command, s.
        """
        degree = self.stops.degree
        self._known.clear()
        if not np.isfinite(degree):
            names = tuple(name for name, wanted in zip(self.names, command) if wanted)
            return Verdict(self.neutral(step).copy(), 0.0, names, False, degree)
        follow, brake = self._approach(command, step), self._approach(np.zeros(len(command)), step)
        output, stop = self._chosen(command, follow, brake)
        held = self._held(command, np.abs(follow - output), output, step)
        parts = [_part(output[k], command[k]) for k in held]
        self._issue(output, step)
        certified = stop.least >= self.settings.reserve
        contact = self.stops.contacts[stop.contact]
        scale = min(parts, default=1.0)
        names = tuple(self.names[k] for k in held)
        return Verdict(output.copy(), scale, names, certified, degree, stop.least, contact, stop.ahead)

    def _held(self, command: Array, less: Array, output: Array, step: float) -> list[int]:
        """Return the levers that are held back now, or were just now and are not yet where they want to be."""
        slight = 1e-3 * np.maximum(np.abs(command), 1e-3)
        self._since = np.where(less > slight, 0.0, self._since + step)
        return [int(k) for k in np.flatnonzero((self._since < SHOWN) & (np.abs(command - output) > slight))]

    def _approach(self, target: Array, step: float) -> Array:
        most = self.settings.rate * max(step, 0.0)
        return np.asarray(self.output + np.minimum(np.maximum(target - self.output, -most), most))

    def _issue(self, output: Array, step: float) -> None:
        self.output = output
        self.stops.issued(output, max(step, 0.0))

    # -- the law -----------------------------------------------------------------------------------------------------

    def _chosen(self, command: Array, follow: Array, brake: Array) -> tuple[Array, Stop]:
        """Return the output and the stop behind it."""
        stop = self._stop(follow)
        if self._certified(stop):
            return follow, stop
        wanted = [int(k) for k in np.flatnonzero(np.abs(follow - brake) > 1e-9)]
        rest = self._stop(brake) if wanted else stop
        output, left = brake.copy(), wanted
        if self._certified(rest):
            output, left = self._shares(follow, brake, wanted)
        stop = self._stop(output)
        changed = self._to_safety(command, follow, output, left, stop)
        return output, self._stop(output) if changed else stop

    def _stop(self, volts: Array, enough: float = -np.inf, toward: Array | None = None) -> Stop:
        """Return the stop behind outputs, predicted once a decision."""
        key = volts.tobytes() if toward is None else volts.tobytes() + toward.tobytes()
        if key not in self._known:
            stop = self.stops.stop(volts, enough, toward)
            if not stop.least >= enough:
                return stop  # not followed to its end
            self._known[key] = stop
        return self._known[key]

    def _standing_without(self, place: int, output: Array) -> float:
        return self._stop(output, toward=_with(output, place, 0.0)).standing

    def _certified(self, stop: Stop) -> bool:
        return bool(stop.least >= self.settings.reserve)

    def _passes(self, volts: Array) -> bool:
        return self._certified(self._stop(volts, self.settings.reserve))

    def _shares(self, follow: Array, brake: Array, wanted: list[int]) -> tuple[Array, list[int]]:
        """Return the stop with as much of every function as is certified, and the functions that are held back.

        The function that costs least comes first.
        """
        output, left = brake.copy(), []
        for k in sorted(wanted, key=lambda k: -self._stop(_with(brake, k, follow[k])).least):
            low, high = 0.0, 1.0
            part = 1.0
            for _ in range(1 + self.settings.halvings):
                fine = self._passes(_with(output, k, _between(brake[k], follow[k], part)))
                low, high = (part, high) if fine else (low, part)
                if low == high:
                    break
                part = 0.5 * (low + high)
            output[k] = _between(brake[k], follow[k], low)
            if low < 1.0:
                left.append(k)
        return output, left

    def _to_safety(self, command: Array, follow: Array, output: Array, left: list[int], rest: Stop) -> bool:
        """Let functions through, in place, that lead to a better stand than the stop behind the output.

        Return whether there are any.

        Such a command is looked at as a whole, against the same time without it, and taken in the greatest of some
        `PARTS` that does no harm on the way. A function that still works the other way is only braked.
        """
        left = [k for k in left if follow[k] * command[k] > 0.0]
        if not left:
            return False
        settings, changed = self.settings, False
        floor = settings.least
        if rest.least < floor:
            floor = min(rest.least, rest.standing - settings.slack)
        for k in left:
            for part in PARTS:
                wanted = part * command[k]
                volts = min(follow[k], wanted) if wanted > 0.0 else max(follow[k], wanted)
                found = self.stops.stop(_with(output, k, volts), floor, _with(output, k, wanted))
                if found.least >= floor and found.standing > self._standing_without(k, output) + GAIN:
                    output[k], changed = volts, True
                    break
        return changed


def _with(volts: Array, place: int, value: Any) -> Array:
    result = volts.copy()
    result[place] = value
    return result


def _between(start: Any, end: Any, part: float) -> Any:
    return end if part == 1.0 else start + part * (end - start)


def _part(given: float, wanted: float) -> float:
    return min(max(given / wanted, 0.0), 1.0) if wanted else 0.0
