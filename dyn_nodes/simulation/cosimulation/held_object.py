"""Object between hands of separately simulated machines, over one exchange period.

At the start of a period the object receives the motion and the mobility of every hand (`HeldHand`). It is integrated
together with the hands over the period, as one augmented object, and returns the wrenches. These wrenches act on the
hands as constants of the period:

    (M' v' - p) / h + pulls(x_mid, v_mid) = f                    of the object with momentum p, implicit midpoint rule
    V'_hand = V_hand + h (acceleration - mobility F)             of every hand that holds

A ball grasp holds one node, a fixed grasp three nodes that rotate with the hand. The rule is stable for any stiffness
of the object, and exact for a hand under a constant wrench: object and hands have equal velocities at the end. Because
mobility and free acceleration change over the period, the actual motion of the hands deviates slightly. The next period
starts with their actual positions and velocities and with the momentum of the object, so that the total momentum is
conserved.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.simulation.cosimulation.grip import Grip, HeldHand
from dyn_nodes.simulation.cosimulation.held_period import BodyState, HeldObjectError, HeldPeriod
from dyn_nodes.simulation.cosimulation.moving_body import MovingBody, moving_body
from dyn_nodes.teams.deformable.condensation import Condensed
from dyn_nodes.teams.deformable.lattice import Lattice

__all__ = ['Grip', 'HeldHand', 'HeldObject', 'HeldObjectError', 'strains']


class HeldObject:
    """Object whose nodes are held by hands.

    Args:
        body: rods, or finite elements reduced to the nodes.
        gravity: (3,) m/s2.
        limits: (m,) force above which a hand slips off its node, N; inf or None: no limit.
        grips: of the hands; None: hand k holds node k by a ball grasp, with these limits.

    Attributes:
        position, velocity: (n, 3) of the nodes, m and m/s.
        amplitudes, rates: (k,) of the vibrations.
        released: indices of the grips whose hand has slipped off.
    """

    def __init__(
        self,
        body: Lattice | Condensed,
        gravity: Array,
        limits: Array | None = None,
        grips: Sequence[Grip] | None = None,
    ) -> None:
        self.body: MovingBody = moving_body(body)
        self.gravity = np.asarray(gravity, dtype=np.float64)
        count = len(self.body.nodes)
        if grips is None:
            forces = np.full(count, np.inf) if limits is None else limits
            grips = [Grip((k,), np.zeros((1, 3)), float(force)) for k, force in enumerate(forces)]
        self.grips = tuple(grips)
        self.position, self.velocity = self.body.nodes.copy(), np.zeros((count, 3))
        self.amplitudes, self.rates = np.zeros(self.body.vibrations), np.zeros(self.body.vibrations)
        self._momentum = np.zeros(3 * count + self.body.vibrations)
        self.released: set[int] = set()

    def start(self, hands: Sequence[HeldHand]) -> None:
        """Start with every node in its hand, at the velocity of the hand, vibrations at rest in their sag."""
        self.released.clear()
        self.follow(hands)
        start = np.zeros_like(self._momentum)
        for grip, hand in zip(self.grips, hands):
            start[grip.rows] = grip.led(grip.velocities(hand), grip.arms @ hand.rotation.T)
        self._take_velocity(start)
        self.rates[:] = 0.0
        self.amplitudes = self.body.settled(self.position, self.gravity)
        self._momentum = self.body.mass(self.position) @ self._velocity

    def follow(self, hands: Sequence[HeldHand]) -> None:
        """Set the positions of held nodes from their hands."""
        for k in self._held():
            self.position[list(self.grips[k].nodes)] = self.grips[k].positions(hands[k])

    def advance(self, hands: Sequence[HeldHand], period: float) -> Array:
        """Advance by a period; return the wrenches (m, 6) of the object on the hands, force then torque, N and N m.

        A hand whose wrench would exceed its limits slips off at the start of the period. Torques are about the hands in
        the middle of the period, and zero for ball grasps.

        Args:
            hands: of the grips, in their order; hands of released grips are ignored.
            period: s.

        Raises:
            HeldObjectError: the iteration diverged.
        """
        self.follow(hands)
        while True:
            held = {k: (self.grips[k], hands[k]) for k in self._held()}
            state = BodyState(self.position, self._velocity, self.amplitudes, self._momentum)
            motion = HeldPeriod(self.body, state, held, self.gravity, period).solve()
            slipping = [k for k, wrench in motion.wrenches.items() if self._slips(self.grips[k], wrench)]
            if not slipping:
                break
            self.released.update(slipping)
        middle = 0.5 * (motion.start + motion.velocity)
        size = self.position.size
        self.position = self.position + period * middle[:size].reshape(-1, 3)
        self.amplitudes = self.amplitudes + period * middle[size:]
        self._take_velocity(motion.velocity)
        self._momentum = self.body.mass(self.position) @ motion.velocity
        result = np.zeros((len(self.grips), 6))
        for k, wrench in motion.wrenches.items():
            result[k, : len(wrench)] = -wrench
        return result

    @property
    def _velocity(self) -> Array:
        return np.concatenate([self.velocity.ravel(), self.rates])

    def _take_velocity(self, velocity: Array) -> None:
        size = self.position.size
        self.velocity, self.rates = velocity[:size].reshape(-1, 3).copy(), velocity[size:].copy()

    @staticmethod
    def _slips(grip: Grip, wrench: Array) -> bool:
        return bool(np.linalg.norm(wrench[:3]) > grip.force or np.linalg.norm(wrench[3:]) > grip.torque)

    def _held(self) -> list[int]:
        return [k for k in range(len(self.grips)) if k not in self.released]


def strains(lattice: Lattice, position: Array) -> Array:
    """Return the strain (e,) of every rod with nodes at positions (n, 3)."""
    first, second = lattice.rods.T
    return np.asarray(np.linalg.norm(position[second] - position[first], axis=1) / lattice.lengths - 1.0)
