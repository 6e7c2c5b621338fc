"""Levers that react to the machine: attackers that see its loads, its base, and what the governor passes.

    attack = ATTACKS['pump'](levers, time, limits, seed)
    levers = attack(loads, attitude, passed)

The first segments of a case are the parameters of an attack, so that searches can change them: the levers of the first
one are directions and sizes, its duration is a time of the attack.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dyn_nodes.common.arrays import Array

PERIOD = 0.01
"""Period of the levers and of the commands to the machine, s."""
MORE = 1.0
"""How much more than was passed is commanded by `follow`, V or rad/s2."""
REST = 0.5
"""Time for which levers rest after a release, s."""


class Attack:
    """Base of the attacks.

    Args:
        levers: (m,) of the first segment.
        time: duration of the first segment, s.
        limits: (m,) greatest commands.
        seed: of random choices.
    """

    def __init__(self, levers: Array, time: float, limits: Array, seed: int) -> None:
        self.levers, self.time, self.limits = levers, time, limits
        self.rng = np.random.default_rng(seed)
        self.count, self.loads, self.rates = 0, np.zeros(0), np.zeros(2)
        self._attitude = np.zeros(2)
        self.unloading = 0.0

    def __call__(self, loads: Array, attitude: tuple[float, float], passed: Array) -> Array:
        """Return the levers (m,) of the next period.

        Args:
            loads: of the contacts, N.
            attitude: roll and pitch of the base, rad.
            passed: (m,) levers that the governor has passed last.
        """
        shares = loads / max(float(loads.mean()), 1e-9)
        if self.count:
            self.rates = (np.array(attitude) - self._attitude) / PERIOD
            self.unloading = (shares.min() - self.loads.min()) / PERIOD
        self.loads, self._attitude = shares, np.array(attitude)
        self.count += 1
        return np.clip(self.react(passed), -self.limits, self.limits)

    def react(self, passed: Array) -> Array:
        """Return the levers (m,) for the present observations."""
        raise NotImplementedError

    @property
    def now(self) -> float:
        """Time since the start of the levers, s."""
        return self.count * PERIOD


class Pump(Attack):
    """Each lever in phase with the rocking of the base: the roll rate for even levers, the pitch rate for odd ones."""

    def react(self, passed: Array) -> Array:
        """Return full levers in the direction of the rate, after the first time of holding them."""
        if self.now < self.time:
            return self.levers
        phase = np.sign([self.rates[j % 2] for j in range(len(self.levers))])
        return self.limits * np.sign(self.levers) * phase


class InOut(Attack):
    """Out until the governor holds back a lever, then in and out."""

    def __init__(self, levers: Array, time: float, limits: Array, seed: int) -> None:
        super().__init__(levers, time, limits, seed)
        self._since = -1.0

    def react(self, passed: Array) -> Array:
        """Return the levers one way or the other."""
        held = bool((np.abs(passed) < 0.5 * np.abs(self.levers)).any())
        if self._since < 0.0 and held and self.now > 1.0:
            self._since = self.now
        if self._since < 0.0:
            return self.levers
        half = min(max(0.25 * self.time, 0.25), 1.0)
        return self.levers * (-1.0 if int((self.now - self._since) / half) % 2 == 0 else 1.0)


class WorstRelease(Attack):
    """Levers are let go while the lightest wheel unloads fastest, and thrown again when the base has settled."""

    def __init__(self, levers: Array, time: float, limits: Array, seed: int) -> None:
        super().__init__(levers, time, limits, seed)
        self._fastest, self._free, self._side = 0.0, 0.0, 1.0

    def react(self, passed: Array) -> Array:
        """Return the levers, or neutral after a release."""
        if self.now < self._free:
            return np.zeros(len(self.levers))
        self._fastest = min(self._fastest, self.unloading)
        if self._fastest < -0.5 and self.unloading > 0.8 * self._fastest:
            self._fastest, self._free, self._side = 0.0, self.now + REST, -self._side
            return np.zeros(len(self.levers))
        return self._side * self.levers


class Toggle(Attack):
    """Levers are thrown to random ends every 10 to 40 ms."""

    def react(self, passed: Array) -> Array:
        """Return ends, which stay for one to four periods."""
        if self.count == 1 or self.rng.random() < 0.4:
            self.levers = self.limits * self.rng.choice([-1.0, 1.0, 1.0], len(self.limits))
        return self.levers


class SwingEdge(Attack):
    """The last lever, of the swing drive in most machines, reverses when one wheel becomes lighter than all others."""

    def __init__(self, levers: Array, time: float, limits: Array, seed: int) -> None:
        super().__init__(levers, time, limits, seed)
        self._lightest, self._side = -1, 1.0

    def react(self, passed: Array) -> Array:
        """Return the levers with the last one to one side or the other."""
        lightest = int(self.loads.argmin())
        if lightest != self._lightest:
            self._side, self._lightest = -self._side, lightest
        levers = self.levers.copy()
        levers[-1] = self._side * self.limits[-1]
        return levers


class Follow(Attack):
    """Always a little more than was passed, with the direction reversed from time to time."""

    def react(self, passed: Array) -> Array:
        """Return the passed levers and some more."""
        side = -1.0 if int(self.now / max(self.time, 0.2)) % 2 else 1.0
        return passed + MORE * side * np.sign(self.levers)


ATTACKS: dict[str, Callable[..., Attack]] = {
    'pump': Pump,
    'in_out': InOut,
    'worst_release': WorstRelease,
    'toggle': Toggle,
    'swing_edge': SwingEdge,
    'follow': Follow,
}
"""Attacks by name."""
