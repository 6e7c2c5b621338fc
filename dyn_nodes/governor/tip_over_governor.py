"""Keeps valve commands within what the machine can do without tipping: a reference governor on its braking.

A command passes where the stop behind it is certified: after one more period of the command all valves are led to
neutral, and every wheel keeps a reserve of its load on the whole way to rest. The stop that was certified with the last
command is what is left where nothing else is certified, so the way out is never one that was not looked at before.
Each function is slowed only as far as its own share asks for.

Where not even the stop is certified, or a function would stand still at the border, a command passes that leads to a
better stand and costs nothing on the way. Nothing here knows how a stop is predicted: `Stops` does, and decides by the
law in `law`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.governor.law import approach
from dyn_nodes.governor.settings import GovernorSettings
from dyn_nodes.governor.stops import Stop, Stops

LONGEST_STEP = 0.1
"""After a longer pause outputs change as after this one, s."""
LONGEST_LASTING = 1.0
"""Outputs are certified to last so long at most, s: decisions are not made less often."""


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
        brought: names of the functions that the governor moves by itself.
    """

    volts: Array
    scale: float = 1.0
    held: tuple[str, ...] = ()
    certified: bool = True
    degree: float = np.nan
    margin: float = np.nan
    contact: str = ''
    ahead: float = np.nan
    brought: tuple[str, ...] = ()


class TipOverGovernor:
    """Outputs, and what is reported of them.

    Args:
        names: of the levers, in the order of the commands.
        stops: predicts and decides.
        settings: how careful.

    Attributes:
        output: (m,) what goes to the valves, V.
        held_since: (m,) time since each lever was held back, s.
    """

    def __init__(self, names: tuple[str, ...], stops: Stops, settings: GovernorSettings | None = None) -> None:
        self.names, self.stops, self.settings = names, stops, settings or GovernorSettings()
        self.reset()

    def reset(self) -> None:
        """All outputs at neutral."""
        self.output = np.zeros(len(self.names))
        self.held_since = np.full(len(self.names), np.inf)
        self.stops.reset()

    def neutral(self, step: float) -> Array:
        """Lead the outputs to neutral at their rate, step s after they were given last; return them."""
        self.stops.pass_by(max(step, 0.0))
        return self._led_to(np.zeros(len(self.names)), step)

    def govern(self, command: Array, step: float) -> Verdict:
        """Return what is let through of a command (m,), V; nothing where the machine stands on nothing.

        Args:
            command: of all levers.
            step: time since the last outputs and until the next ones, s: stops are certified for outputs that last so
                long, and `lateness` of the settings.
        """
        self.stops.pass_by(max(step, 0.0))
        self.stops.see()
        degree = self.stops.degree
        if not math.isfinite(degree):
            output = self._led_to(np.zeros(len(self.names)), step)
            return Verdict(output.copy(), 0.0, self._moved(command), False, degree)
        change, lasting = min(step, LONGEST_STEP), min(step, LONGEST_LASTING)
        if self.settings.bring_down and self.stops.has_lifted:
            way = self.stops.way_down(command, self.output)
            if way is not None:
                return self._brought_down(*way, step, command)
        output, parts, stop = self.stops.decide(command, self.output, change, self.held_since, lasting)
        self._issue(output)
        held = {name: part for name, part in zip(self.names, parts.tolist()) if part == part}
        return Verdict(
            output.copy(),
            min(held.values(), default=1.0),
            tuple(held),
            stop.least >= self.settings.reserve,
            degree,
            stop.least,
            self.stops.contacts[stop.contact],
            stop.ahead,
        )

    def _brought_down(self, target: Array, stop: Stop, step: float, command: Array) -> Verdict:
        """Lead the outputs to a target (m,), V, whatever the levers command."""
        output, held = self._led_to(target, step), self._moved(command)
        contact, scale = self.stops.contacts[stop.contact], 0.0 if held else 1.0
        kept = stop.least, contact, stop.ahead
        return Verdict(output.copy(), scale, held, False, self.stops.degree, *kept, self._moved(target))

    def _moved(self, volts: Array) -> tuple[str, ...]:
        """Return the names of the levers that are not at neutral."""
        return tuple(name for name, own in zip(self.names, volts) if own)

    def _led_to(self, target: Array, step: float) -> Array:
        """Lead the outputs to a target (m,), V, at their rate, and return them."""
        output, most = np.empty(len(self.names)), self.settings.rate * min(max(step, 0.0), LONGEST_STEP)
        approach(target, self.output, most, output)
        self._issue(output)
        return output

    def _issue(self, output: Array) -> None:
        self.output = output
        self.stops.issued(output)
