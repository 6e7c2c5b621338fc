"""An object between the hands of machines that are simulated elsewhere, through one exchange period.

The object gets, at the start of a period, how every hand moves and how it answers a force (`HeldHand`). It moves with
the hands through the period, as one augmented object, and returns the forces that do this. The hands feel these forces
as constants of the period:

    M (v' - v) / h = forces(x_mid, v_mid) + weight + f          of the object, implicit midpoint rule
    v'_hand = v_hand + h (acceleration - mobility f)             of every hand that holds

The rule is stable however stiff the object is, and it is what a hand does under a constant force: object and hands
have one velocity at the end. As mobility and free acceleration change over the period, the hands come out a little
elsewhere. The next period begins with their true positions and velocities, and with the momentum that the object had,
so that what the hands have lost the object has got.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.deformable.lattice import Lattice

Array = NDArray[np.float64]
MOST_ITERATIONS = 20
CLOSE = 1e-10
"""Change of the velocities, relative to the fastest node or to 1 m/s, at which the iteration ends."""


class HeldHand(NamedTuple):
    """A hand in the world at the start of a period.

    Attributes:
        position, velocity: (3,) m and m/s.
        mobility: (3, 3) acceleration for a force on the hand, 1/kg; zero: the hand is moved, whatever it holds.
        acceleration: (3,) without force on the hand, m/s2.
    """

    position: Array
    velocity: Array
    mobility: Array
    acceleration: Array


class HeldObjectError(ArithmeticError):
    """The object has no motion through the period: its numbers have run away."""


class HeldObject:
    """An object whose nodes are held by hands.

    Args:
        lattice: the object; node k is held by hand k.
        gravity: (3,) m/s2.
        limits: (n,) force beyond which a hand slips off its node, N; inf: it never does. None: none does.

    Attributes:
        position, velocity: (n, 3) of the nodes, m and m/s.
        released: nodes whose hand has slipped off.
    """

    def __init__(self, lattice: Lattice, gravity: Array, limits: Array | None = None) -> None:
        self.lattice = lattice
        count = len(lattice.nodes)
        self.limits = np.full(count, np.inf) if limits is None else np.asarray(limits, dtype=np.float64)
        self._mass = np.kron(lattice.mass.toarray(), np.eye(3))
        self._weight = np.outer(lattice.lumped_mass, gravity)
        self.position, self.velocity = lattice.nodes.copy(), np.zeros((count, 3))
        self.released: set[int] = set()

    def begin(self, hands: Sequence[HeldHand]) -> None:
        """Start with every node in its hand, at the velocity of the hand."""
        self.released.clear()
        self.position = np.array([hand.position for hand in hands])
        self.velocity = np.array([hand.velocity for hand in hands])

    def follow(self, hands: Sequence[HeldHand]) -> None:
        """Put every node that is held where its hand is."""
        for k in self._held():
            self.position[k] = hands[k].position

    def advance(self, hands: Sequence[HeldHand], period: float) -> Array:
        """Go through a period; return the forces (n, 3) of the object on the hands, N.

        A hand that would have to pull more than its limit slips off at the start of the period.

        Args:
            hands: of the nodes, in their order; those of released nodes do not matter.
            period: s.

        Raises:
            HeldObjectError: the numbers run away.
        """
        self.follow(hands)
        while True:
            velocity, force = self._solve(hands, period)
            slipping = [k for k in self._held() if np.linalg.norm(force[k]) > self.limits[k]]
            if not slipping:
                break
            self.released.update(slipping)
        before = self.velocity.copy()
        for k in self._held():
            before[k] = hands[k].velocity
        self.position = self.position + 0.5 * period * (before + velocity)
        self.velocity = velocity
        return -force

    def _held(self) -> list[int]:
        return [k for k in range(len(self.position)) if k not in self.released]

    def _solve(self, hands: Sequence[HeldHand], period: float) -> tuple[Array, Array]:
        """Return velocities at the end (n, 3) and mean forces of the hands on the object (n, 3) by Newton's method."""
        held = self._held()
        start = self.velocity.copy()
        for k in held:
            start[k] = hands[k].velocity
        velocity, force = start.copy(), np.zeros_like(start)
        for k in held:
            velocity[k] += period * hands[k].acceleration
        for _ in range(MOST_ITERATIONS):
            middle = 0.5 * (start + velocity)
            place = self.position + 0.5 * period * middle
            pull = self.lattice.forces(place, middle)
            rest = self._mass @ (velocity - self.velocity).ravel() / period + (pull - self._weight - force).ravel()
            by_velocity = self._mass / period + self._slopes(place, period)
            slopes = by_velocity.copy()
            for k in held:
                own = slice(3 * k, 3 * k + 3)
                slopes[:, own] = -period * by_velocity[:, own] @ hands[k].mobility
                slopes[own, own] -= np.eye(3)
            step = np.linalg.solve(slopes, -rest)
            if not np.isfinite(step).all():
                raise HeldObjectError('the object has no motion through this period: its numbers run away')
            change = step.reshape(-1, 3).copy()
            for k in held:
                force[k] += change[k]
                change[k] = -period * hands[k].mobility @ change[k]
            velocity = velocity + change
            if np.abs(change).max(initial=0.0) <= CLOSE * max(1.0, np.abs(velocity).max(initial=0.0)):
                return velocity, force
        raise HeldObjectError(f'expected a motion through {period:g} s after {MOST_ITERATIONS} iterations, found none')

    def _slopes(self, place: Array, period: float) -> Array:
        """Return (3n, 3n) derivatives of the pulls by the velocities at the end: stiffness, and damping along rods."""
        lattice, count = self.lattice, len(place)
        first, second = lattice.rods.T
        along = place[second] - place[first]
        length = np.linalg.norm(along, axis=1)
        along = along / length[:, None]
        outer = along[:, :, None] * along[:, None, :]
        tension = lattice.stiffness * (length - lattice.lengths)
        across = (tension / length)[:, None, None] * (np.eye(3) - outer)
        own = 0.25 * period * (lattice.stiffness[:, None, None] * outer + across)
        own = own + 0.5 * lattice.damping[:, None, None] * outer
        result = np.zeros((count, 3, count, 3))
        for block, i, j in zip(own, first, second):
            result[i, :, i] += block
            result[j, :, j] += block
            result[i, :, j] -= block
            result[j, :, i] -= block
        return result.reshape(3 * count, 3 * count)


def strains(lattice: Lattice, position: Array) -> Array:
    """Return the strain (e,) of every rod with nodes at positions (n, 3)."""
    first, second = lattice.rods.T
    return np.asarray(np.linalg.norm(position[second] - position[first], axis=1) / lattice.lengths - 1.0)
