"""Limits valve commands so that the machine does not tip: a reference governor on its braking.

A command passes if the following stop is certified: after one more period of the command all valves are led to neutral,
and every wheel keeps a reserve of its load until the machine rests. If no new stop can be certified, the governor
executes the stop that was certified with the previous command. Each function is slowed only as far as its share
requires.

If not even the stop is certified, or a function would stop moving at the border, a command passes that leads to a more
stable posture without a lower share than permitted on the way (`least`, `slack`). `Stops` predicts stops and decides by
the law in `law`.
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
"""Longest step used for the change of outputs, s; after a longer pause they change as after this one."""
LONGEST_LASTING = 1.0
"""Longest duration for which outputs are certified, s: decisions are made at least this often."""


@dataclass
class Verdict:
    """Result of a decision.

    Attributes:
        volts: (m,) output.
        scale: least permitted fraction of the command of a held lever, 1 if nothing is held back.
        held: names of the levers that are held back.
        certified: the stop after the output keeps the reserve.
        degree: stability degree at rest in the present posture.
        margin: least share of a wheel's load on the stop after the output.
        contact: that wheel.
        ahead: time of that instant, s from now.
        brought: names of the functions that the governor moves by itself.
        is_override: the output follows the command without a certificate.
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
    is_override: bool = False


class TipOverGovernor:
    """Outputs of the governor, and its verdicts.

    Args:
        names: of the levers, in the order of the commands.
        stops: predicts and decides.
        settings: reserves and errors.

    Attributes:
        output: (m,) present outputs to the valves, V.
        held_since: (m,) time since each lever was held back, s.
    """

    def __init__(self, names: tuple[str, ...], stops: Stops, settings: GovernorSettings | None = None) -> None:
        self.names, self.stops, self.settings = names, stops, settings or GovernorSettings()
        self.reset()

    def reset(self) -> None:
        """Set all outputs to neutral."""
        self.output = np.zeros(len(self.names))
        self.held_since = np.full(len(self.names), np.inf)
        self.stops.reset()

    def neutral(self, step: float) -> Array:
        """Lead the outputs to neutral at their rate, `step` s after the previous outputs; return them."""
        self.stops.pass_by(max(step, 0.0))
        return self._led_to(np.zeros(len(self.names)), step)

    def govern(self, command: Array, step: float) -> Verdict:
        """Return the permitted part of a command (m,), V; 0 if the machine has no support.

        Args:
            command: of all levers.
            step: time since the previous outputs and until the next ones, s: stops are certified for outputs that last
                so long, and for `lateness` of the settings.
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
            stop.least >= self.settings.law.reserve,
            degree,
            stop.least,
            self.stops.contacts[stop.contact],
            stop.ahead,
        )

    def override(self, command: Array, step: float) -> Verdict:
        """Follow a command (m,), V, at the rate of the outputs without a certificate; arguments as in `govern`."""
        self.stops.pass_by(max(step, 0.0))
        self.stops.see()
        verdict = Verdict(self._led_to(command, step).copy(), certified=False, is_override=True)
        verdict.degree = self.stops.degree
        if math.isfinite(verdict.degree):
            stop = self.stops.stop(verdict.volts)
            verdict.margin, verdict.contact, verdict.ahead = stop.least, self.stops.contacts[stop.contact], stop.ahead
        return verdict

    def _brought_down(self, target: Array, stop: Stop, step: float, command: Array) -> Verdict:
        """Lead the outputs to a target (m,), V, independently of the commands of the levers."""
        output, held = self._led_to(target, step), self._moved(command)
        contact, scale = self.stops.contacts[stop.contact], 0.0 if held else 1.0
        kept = stop.least, contact, stop.ahead
        return Verdict(output.copy(), scale, held, False, self.stops.degree, *kept, self._moved(target))

    def _moved(self, volts: Array) -> tuple[str, ...]:
        """Return the names of the levers that are not at neutral."""
        return tuple(name for name, voltage in zip(self.names, volts) if voltage)

    def _led_to(self, target: Array, step: float) -> Array:
        """Lead the outputs to a target (m,), V, at their rate, and return them."""
        output, most = np.empty(len(self.names)), self.settings.rate * min(max(step, 0.0), LONGEST_STEP)
        approach(target, self.output, most, output)
        self._issue(output)
        return output

    def _issue(self, output: Array) -> None:
        self.output = output
        self.stops.issued(output)
