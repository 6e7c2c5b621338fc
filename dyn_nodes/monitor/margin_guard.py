"""Margins that stay on the safe side where an estimate may be a sample or two early, late or too lively.

When a wheel comes down the truth jumps within milliseconds, from nothing to twice its usual size, and the next
sample does not show on which side of the jump the machine is. What can be known is that something has happened: a
wheel has changed between touching and not, or a sensor says what its filter did not expect. For a short time after
that the margins given are the least of those of the last moments, less what they have just fallen by once again, and
less a doubt that fades away.
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
    """How long the guard stays on watch, and what it takes off.

    Attributes:
        shock_time: s after a surprise of the filters; and the moments whose least counts.
        contact_time: s after a wheel has come down or lifted; and the moments whose least counts.
        doubt: part of a margin's full scale that is taken off when a wheel has come down.
        doubt_time: time constant with which that fades, s.
    """

    shock_time: float = 0.015
    contact_time: float = 0.05
    doubt: float = 0.03
    doubt_time: float = 0.3


class MarginGuard:
    """Follows balances and holds their margins down where they cannot be trusted.

    Args:
        settings: of the guard.
        full_scale: by measure, what `doubt` is a part of; measures without one have no doubt taken off.
    """

    def __init__(self, settings: GuardSettings, full_scale: Mapping[str, float]) -> None:
        self.settings, self.full_scale = settings, full_scale
        self.clear()

    def clear(self) -> None:
        """Forget what was."""
        self._past: list[tuple[float, dict[str, Margin]]] = []
        self._shock = self._contact = self._down = -np.inf
        self._touching: NDArray[np.bool_] | None = None

    def see(self, time: float, shock: bool, touching: NDArray[np.bool_]) -> None:
        """Take the news of an instant.

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
        """Return the time before now whose moments count, s; 0 while nothing has happened.

        Where margins are asked for seldom, `remember` every instant.
        """
        if self._within(time, self._contact, self.settings.contact_time):
            return self.settings.contact_time
        return self.settings.shock_time if self._within(time, self._shock, self.settings.shock_time) else 0.0

    def remember(self, time: float, margins: dict[str, Margin]) -> None:
        """Take estimated margins of an instant, s, at or before that of the last news."""
        insort(self._past, (time, margins), key=lambda entry: entry[0])
        while not self._within(time, self._past[0][0], self.settings.contact_time):
            self._past.pop(0)

    @staticmethod
    def _within(time: float, since: float, span: float) -> bool:
        return time - since <= span + TICK

    def hold(self, time: float, balance: Balance) -> Balance:
        """Return a balance with margins that may be relied upon.

        Args:
            time: s, not before that of the call before.
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
        """Return a balance with margins that are lower by a part of their full scale, and no higher than a ceiling."""
        if doubt == 0.0 and np.isinf(ceiling):
            return balance
        lowered = {}
        for name, margin in balance.margins.items():
            edges = np.minimum(margin.edges - doubt * self.full_scale.get(name, 0.0), ceiling)  # NaN stays NaN
            lowered[name] = self._with_edges(margin, edges)
        return replace(balance, margins=lowered)

    @staticmethod
    def _with_edges(margin: Margin, edges: Array) -> Margin:
        """Return a margin with other edges; one that does not hold stays as it is."""
        if not margin.valid or not np.isfinite(margin.value):
            return margin
        fallen = float(np.nanmin(edges)) - float(np.nanmin(margin.edges))
        return margin._replace(value=margin.value + min(0.0, fallen), edges=edges)
