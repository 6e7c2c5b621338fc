"""Limits speed and acceleration of a vehicle so that its wheels neither slide nor lift.

A twist is accepted if the split of least norm of the ground reactions (`GripModel`) keeps a reserve to the border of
the friction cones and to lift-off, both at this twist and while the vehicle brakes from it at the least braking. If a
whole step is too much, the greatest accepted part of it is taken; the rest is used for components that only decrease. A
twist that cannot be kept is scaled as a whole, so that the curvature of the path is preserved. Braking is never limited
below `least_braking`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.governor.settings import GripSettings

PARTS = np.linspace(0.0, 1.0, 9)
"""Fractions of a step, or of a speed, that are tried."""
GRIDS = 2
LEAST = 1e-9
ALIKE = 1e-6
"""Tolerance of margins, N: round-off depends on the number of twists in an evaluation."""


class Reactions(Protocol):
    """Ground reactions that the governor uses: a `GripModel`."""

    names: tuple[str, ...]
    friction: Array

    def reactions(self, twists: Array, accelerations: Array) -> Array:
        """Return forces (p, t, w, 3) of twists and their rates (t, 3) in p postures, the present one first."""


@dataclass(frozen=True)
class Verdict:
    """Decision of the governor in a step.

    Attributes:
        speed: fraction of the requested twist that can be kept.
        acceleration: fraction of the step that was taken.
        wheel: the contact nearest to its limit in the requested motion, '' if nothing was limited.
        lifts: it would lift; else slide.
        friction_use: of that contact in the requested motion; inf if the contact would be pulled.
    """

    speed: float = 1.0
    acceleration: float = 1.0
    wheel: str = ''
    lifts: bool = False
    friction_use: float = 0.0

    @property
    def held(self) -> bool:
        """Whether the request was limited."""
        return bool(self.wheel)

    @property
    def text(self) -> str:
        """Description for users; '' if nothing was limited."""
        if not self.held:
            return ''
        return (
            f'{100 * self.speed:.0f} % of the speed, {100 * self.acceleration:.0f} % of the acceleration: '
            f'{self.wheel} would {"lift" if self.lifts else "slide"}'
        )


class GripGovernor:
    """Governor of the twist of a vehicle.

    Args:
        model: ground reactions of the present posture.
        settings: limits and reserves.
        constraint: (3,) row that vanishes on the twists that fixed tyres allow, or None.
        turning: rad/s2 that are equivalent to 1 m/s2.

    Attributes:
        acts: the governor limits the requests; else it only reports.
        halts: the vehicle is brought to rest, whatever is requested: the motion of its arm is unknown.
        settings, turning: may be replaced at any time; then `refresh` has to be called.
        verdict: of the last step.
    """

    def __init__(
        self,
        model: Reactions,
        settings: GripSettings | None = None,
        constraint: Array | None = None,
        turning: float = 2.0,
    ) -> None:
        self.model, self.settings = model, settings or GripSettings()
        self.constraint, self.turning, self.acts, self.halts = constraint, turning, True, False
        self.verdict = Verdict()
        self._sound = np.isfinite(model.friction)
        self._speed: Verdict | None = None
        self._cached: tuple[bytes, Array, Verdict | None] | None = None

    def refresh(self) -> None:
        """Discard results of a model that has changed."""
        self._cached = None

    # -- margins -------------------------------------------------------------------------------------------------------

    def margins(self, forces: Array) -> Array:
        """Return the margins of forces (..., w, 3) to sliding and lifting, less the reserve: (..., 2, w), N."""
        normal, friction = forces[..., 2], self.model.friction
        sliding = np.hypot(forces[..., 0], forces[..., 1])
        limit = self.settings.friction_use * np.where(self._sound, friction, 0.0) * normal
        slides = np.where(self._sound & (friction > 0.0), limit - sliding, np.inf)
        share = normal.sum(axis=-1, keepdims=True) / normal.shape[-1]
        return np.stack([slides, normal - self.settings.load_share * share], axis=-2)

    def _margin(self, twists: Array, accelerations: Array, now: bool = False) -> Array:
        """Return the least margins (t,) of all postures, or only the present one, N; -inf for NaN."""
        forces = self.model.reactions(twists, self.settings.overshoot * accelerations)
        margins = self._least(forces[:1] if now else forces).min(axis=0)
        return np.where(np.isnan(margins), -np.inf, margins)

    def _least(self, forces: Array) -> Array:
        """Return the least of `margins` over sliding, lifting and wheels: (...), N."""
        normal, held = forces[..., 2], self._sound & (self.model.friction > 0.0)
        lifts = normal.min(axis=-1) - self.settings.load_share / normal.shape[-1] * normal.sum(axis=-1)
        if not held.any():
            return np.asarray(lifts)
        gripping = forces if held.all() else forces[..., held, :]
        limit = self.settings.friction_use * self.model.friction[held] * gripping[..., 2]
        slides = limit - np.sqrt(gripping[..., 0] ** 2 + gripping[..., 1] ** 2)
        return np.asarray(np.minimum(slides.min(axis=-1), lifts))

    def _kept(self, twists: Array) -> Array:
        """Return the margins (t,) of keeping twists and of braking gently from them, N."""
        both = self._margin(np.vstack([twists, twists]), np.vstack([np.zeros_like(twists), self.braking(twists)]))
        return np.minimum(both[: len(twists)], both[len(twists) :])

    def braking(self, twists: Array) -> Array:
        """Return the rates (t, 3) of stops in a straight line to rest at `least_braking`; 0 at rest."""
        return -twists * (self.settings.least_braking / np.maximum(self.size(twists), LEAST))[:, None]

    def size(self, twists: Array) -> Array:
        """Return the sizes (t,) of twists or rates (t, 3), m/s or m/s2: linear part or equivalent of the turn."""
        return np.asarray(np.maximum(np.hypot(twists[:, 0], twists[:, 1]), np.abs(twists[:, 2]) / self.turning))

    # -- the law -------------------------------------------------------------------------------------------------------

    def reachable(self, wanted: Array) -> Array:
        """Return the greatest part of a twist (3,) that can be kept and braked from; 0 while the governor `halts`."""
        key = wanted.tobytes()
        if self._cached is None or self._cached[0] != key:
            self._cached = (key, *self._reachable(wanted))
        _, twist, self._speed = self._cached
        if not self.acts:
            return wanted
        return np.zeros(3) if self.halts else twist

    def _reachable(self, wanted: Array) -> tuple[Array, Verdict | None]:
        if not wanted.any() or self._kept(wanted[None])[0] >= 0.0:
            return wanted, None
        part = _greatest(lambda parts: self._kept(parts[:, None] * wanted))
        gentle = self.braking(wanted[None])
        blamed = self._blame(np.vstack([wanted, wanted]), np.vstack([np.zeros(3), gentle]), part, 1.0)
        return part * wanted, blamed

    def share(self, twists: Array) -> float:
        """Return the greatest fraction, 0 to 1, at which all of the twists (t, 3) can be kept and braked from."""

        def margins(parts: Array) -> Array:
            least = self._kept((parts[:, None, None] * twists).reshape(-1, 3))
            return np.asarray(least.reshape(len(parts), -1).min(axis=1))

        return _greatest(margins)

    def step(self, before: Array, ahead: Array, stop: Array, goal: Array, dt: float) -> Array:
        """Return the twist (3,) of the next step.

        Args:
            before: (3,) present twist.
            ahead: (3,) twist of the next step on the way to the goal.
            stop: (3,) the same on the way to rest.
            goal: (3,) requested twist.
            dt: length of the step, s.
        """
        self.verdict = self._speed or Verdict()
        if dt <= 0.0 or self._accepted(before, ahead, dt):
            return ahead
        if before.any() and self._kept(before[None])[0] < 0.0:
            result, part, asked = self._retreat(before, stop, dt), 0.0, stop
        else:
            part = self._part(before, before, ahead, dt)
            if _brakes(before, goal):
                part = max(part, self._always(before, ahead, dt))
            result, asked = before + part * (ahead - before), ahead
            result = self._less(before, result, goal, (1.0 - part) * _size(ahead - before), dt)
        speed = self.verdict.speed
        self.verdict = self._blame(
            np.vstack([asked, asked]), np.vstack([(asked - before) / dt, 0 * asked]), speed, part
        )
        return result if self.acts else ahead

    def _accepted(self, before: Array, ahead: Array, dt: float) -> bool:
        rates = np.vstack([(ahead - before) / dt, np.zeros(3), self.braking(ahead[None])])
        return bool(self._margin(np.tile(ahead, (3, 1)), rates).min() >= 0.0)

    def _part(self, before: Array, start: Array, end: Array, dt: float) -> float:
        """Return the greatest accepted part of the way from a start to an end."""

        def margins(parts: Array) -> Array:
            twists = start + parts[:, None] * (end - start)
            rates = np.vstack([(twists - before) / dt, np.zeros_like(twists), self.braking(twists)])
            return np.asarray(self._margin(np.tile(twists, (3, 1)), rates).reshape(3, -1).min(axis=0))

        return _greatest(margins)

    def _always(self, before: Array, ahead: Array, dt: float) -> float:
        """Return the part of a braking step that is always allowed."""
        gentle = self.braking(before[None])[0] * dt
        return min(1.0, _size(gentle) / max(_size(ahead - before), LEAST))

    def _retreat(self, before: Array, stop: Array, dt: float) -> Array:
        """Return the next twist on the way to rest, with margins that are kept or at least not worse than now.

        Coming postures are ignored: they require a slower twist later, and therefore this braking. Returns `stop` if
        the margin is unknown.
        """
        here = float(self._margin(before[None], np.zeros((1, 3)), now=True)[0])
        if not np.isfinite(here):
            return stop

        def margins(parts: Array) -> Array:
            twists = before + parts[:, None] * (stop - before)
            return self._margin(twists, (twists - before) / dt, now=True) - min(0.0, here - ALIKE)

        part = max(_greatest(margins), self._always(before, stop, dt))
        return np.asarray(before + part * (stop - before))

    def _less(self, before: Array, twist: Array, goal: Array, change: float, dt: float) -> Array:
        """Return the twist with components greater than requested reduced, by `change` at most."""
        target = np.where(twist * goal > 0.0, np.sign(twist) * np.minimum(np.abs(twist), np.abs(goal)), 0.0)
        if self.constraint is not None:
            side = self.constraint[:2]
            target[:2] -= side * (side @ target[:2] + self.constraint[2] * target[2])
        size = _size(target - twist)
        if size <= LEAST or change <= LEAST:
            return twist
        end = twist + (target - twist) * min(1.0, change / size)
        return np.asarray(twist + self._part(before, twist, end, dt) * (end - twist))

    def _blame(self, twists: Array, accelerations: Array, speed: float, part: float) -> Verdict:
        forces = self.model.reactions(twists, accelerations)
        spare = self.margins(forces)
        posture, row, _, wheel = (int(k) for k in np.unravel_index(int(np.argmin(spare)), spare.shape))
        lifts = bool(spare[posture, row, 1, wheel] < 0.0)
        force, friction = forces[posture, row, wheel], float(self.model.friction[wheel])
        held = friction * force[2]
        use = float(np.hypot(force[0], force[1]) / held) if held > 0.0 else np.inf
        return Verdict(speed, part, self.model.names[wheel], lifts, use)


def _size(twist: Array) -> float:
    return float(np.linalg.norm(twist))


def _brakes(before: Array, goal: Array) -> bool:
    """Return whether the goal is in the direction of the present twist, with no component greater."""
    return bool((goal * before >= 0.0).all() and (np.abs(goal) <= np.abs(before) + LEAST).all())


def _greatest(margins: Callable[[Array], Array]) -> float:
    """Return the greatest fraction up to which no margin is negative: from two grids, then by linear interpolation."""
    low, high = 0.0, 1.0
    for _ in range(GRIDS):
        parts = low + (high - low) * PARTS
        values = margins(parts)
        below = np.flatnonzero(values < 0.0)
        if not len(below):
            return high
        first = int(below[0])
        if first == 0:
            return low
        low, high = float(parts[first - 1]), float(parts[first])
    inside, outside = float(values[first - 1]), float(values[first])
    share = inside / (inside - outside) if np.isfinite(outside) else 0.0
    return low + share * (high - low)
