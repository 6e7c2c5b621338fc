"""Margins that remain on the safe side when an estimate may be a sample or two early or late, or too large.

When a wheel lands, its true load jumps within milliseconds, from nothing to twice its usual size, and the next sample
does not show on which side of the jump the machine is. Only the event is detected: a contact has changed between
touching and not, or a sensor value surprised its filter. For a short time after an event the margins are the least ones
of the last moments, reduced by their latest decrease once again, and by a deduction that decays.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.stability import Margin
from dyn_nodes.stability.balance import Balance

TICK = 1e-6


@dataclass(frozen=True)
class GuardSettings:
    """Hold times and safety deductions of the margin guard.

    Attributes:
        shock_time: hold time after a surprise of the filters, s; the least margin of this time counts.
        contact_time: hold time after a wheel has landed or lifted, s; the least margin of this time counts.
        doubt: fraction of a margin's full scale that is deducted when a wheel has landed.
        doubt_time: time constant with which the deduction decays, s.
    """

    shock_time: float = 0.015
    contact_time: float = 0.05
    doubt: float = 0.03
    doubt_time: float = 0.3


class MarginGuard:
    """Follows balances and holds their margins down while they are not reliable.

    Args:
        settings: of the guard.
        full_scale: by measure, the reference of `doubt`; nothing is deducted from other measures.
    """

    def __init__(self, settings: GuardSettings, full_scale: Mapping[str, float]) -> None:
        self.settings, self.full_scale = settings, full_scale
        self.clear()

    def clear(self) -> None:
        """Discard the past."""
        self._past: list[tuple[float, dict[str, Margin]]] = []
        self._shock = self._contact = self._down = -np.inf
        self._touching: NDArray[np.bool_] | None = None

    def see(self, time: float, shock: bool, touching: NDArray[np.bool_]) -> None:
        """Process the events of an instant.

        Args:
            time: s.
            shock: a filter was surprised.
            touching: (w,) wheels that carry load.
        """
        if shock:
            self._shock = time
        if self._touching is not None and touching.tobytes() != self._touching.tobytes():
            self._contact = time
            if (touching & ~self._touching).any():
                self._down = time
        self._touching = touching

    def span(self, time: float) -> float:
        """Return the present hold time, s; 0 without an event.

        If margins are evaluated seldom, call `remember` for every instant.
        """
        if self._within(time, self._contact, self.settings.contact_time):
            return self.settings.contact_time
        return self.settings.shock_time if self._within(time, self._shock, self.settings.shock_time) else 0.0

    def remember(self, time: float, margins: dict[str, Margin]) -> None:
        """Store estimated margins of an instant, s, not later than the last call of `see`."""
        insort(self._past, (time, margins), key=lambda entry: entry[0])
        while not self._within(time, self._past[0][0], self.settings.contact_time):
            self._past.pop(0)

    @staticmethod
    def _within(time: float, since: float, span: float) -> bool:
        return time - since <= span + TICK

    def hold(self, time: float, balance: Balance) -> Balance:
        """Return a balance with reliable margins.

        Args:
            time: s, not before the time of the previous call.
            balance: as estimated.
        """
        estimated, settings, span = balance.margins, self.settings, self.span(time)
        before = self._past[-1][1] if self._past else estimated
        self.remember(time, estimated)
        doubt = settings.doubt * np.exp(-(time - self._down) / settings.doubt_time)
        if span == 0.0 and doubt < 0.01 * settings.doubt:
            return balance
        shock = self._within(time, self._shock, settings.shock_time)
        held = {}
        for name, margin in estimated.items():
            edges = margin.edges
            if shock:
                with np.errstate(invalid='ignore'):  # an edge with an infinite margin keeps it
                    edges = edges + np.fmin(0.0, edges - before[name].edges)
            for at, past in self._past:
                if self._within(time, at, span):
                    edges = np.fmin(edges, past[name].edges)
            edges = edges - doubt * self.full_scale.get(name, 0.0)
            held[name] = self._with_edges(margin, edges)
        return replace(balance, margins=held)

    def lower(self, balance: Balance, doubt: float, ceiling: float) -> Balance:
        """Return a balance with margins reduced by a fraction of their full scale, and limited to a ceiling."""
        if doubt == 0.0 and np.isinf(ceiling):
            return balance
        lowered = {}
        for name, margin in balance.margins.items():
            edges = np.minimum(margin.edges - doubt * self.full_scale.get(name, 0.0), ceiling)  # NaN stays NaN
            lowered[name] = self._with_edges(margin, edges)
        return replace(balance, margins=lowered)

    @staticmethod
    def _with_edges(margin: Margin, edges: Array) -> Margin:
        """Return a margin with other edges; an invalid one is unchanged."""
        if not margin.valid or not np.isfinite(margin.value):
            return margin
        fallen = float(np.nanmin(edges)) - float(np.nanmin(margin.edges))
        return margin._replace(value=margin.value + min(0.0, fallen), edges=edges)
