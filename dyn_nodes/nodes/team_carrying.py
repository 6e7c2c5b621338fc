"""State machine of a team that carries an object: holding, following a path, braking; without topics and clocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.carry import Gains, Reference, TeamLaw
from dyn_nodes.control.carry.formation import RobotState
from dyn_nodes.teams.carry_plan import Carriage, CarryPlan

HOLDING, CARRYING, BRAKING = 'holding', 'carrying', 'braking'
BRAKED = 'stopped'


class Carrying:
    """A team that carries an object, from rest at its start.

    Args:
        carriage: the team.
        gains: of the feedback.
        first: path that starts `delay` s after the start; None: the object is held.
        delay: s.

    Attributes:
        free: whether each hand has slipped off, in the order of the object's patches.
        state: `holding`, `carrying`, `braking` or `stopped`, the last with a reason.
        reason: why the team has braked, or ''.
        reference: of the last instant.
        deviation: greatest distance of a holding hand from its reference, m.
    """

    def __init__(self, carriage: Carriage, gains: Gains, first: CarryPlan | None, delay: float) -> None:
        self.gains, self.delay = gains, delay
        self._home, self._first = carriage, first
        self.restart(0.0)

    def restart(self, time: float) -> None:
        """Reset to rest at the start at a time, s; the first path starts `delay` s later."""
        home = self._home
        self.carriage, self._time = home, time
        self.free = [False] * len(home.holders)
        self.reason, self.deviation, self.state = '', 0.0, HOLDING
        self._rest = home.at_rest(home.pose, [holder.start for holder in home.holders])
        self.plan = self._rest if self._first is None else self._first.starting(time + self.delay)
        self.reference: Reference = self.plan.at(time)
        self._law = self._law_of(home)

    def _law_of(self, carriage: Carriage) -> TeamLaw:
        most = np.array([holder.ability.efforts for holder in carriage.holders])
        return TeamLaw(carriage.formation, self.gains, most)

    @property
    def is_at_rest(self) -> bool:
        """Return whether the reference is at rest and no path follows."""
        return self.state in (HOLDING, BRAKED) and not self._is_ahead

    @property
    def _is_ahead(self) -> bool:
        return self.plan is not self._rest and self._time < self.plan.ends

    def distance(self, states: Sequence[RobotState]) -> tuple[str, float]:
        """Return the robot whose hand or vehicle is farthest from the reference, and the distance, m."""
        positions = np.array(
            [carriers.robot.motions(state.q)[0] for carriers, state in zip(self.carriage.holders, states)]
        )
        reference = self.reference
        hands = np.linalg.norm(positions[:, :3] - reference.hands.position, axis=1)
        carriers = np.linalg.norm(positions[:, 3:] - reference.carriers.position, axis=1)
        worst = np.maximum(hands, carriers)
        k = int(worst.argmax())
        return self.carriage.holders[k].name, float(worst[k])

    def efforts(self, time: float, states: Sequence[RobotState], hands: Array) -> list[Array]:
        """Advance to a time, s; return the efforts (n,) of every robot.

        Args:
            time: s.
            states: measured.
            hands: (m, 3) measured, m.

        Raises:
            LinAlgError: a posture in which a robot cannot move its hand and its vehicle.
        """
        self._time = time
        self.reference = self.plan.at(time)
        if self.plan is not self._rest and time >= self.plan.begins:
            moving = time < self.plan.ends
            self.state = (BRAKING if moving else BRAKED) if self.reason else (CARRYING if moving else HOLDING)
        off = np.linalg.norm(hands - self.reference.hands.position, axis=1)
        self.deviation = float(np.max(off[~np.array(self.free)], initial=0.0))
        return self._law.efforts(self.reference, states, self.free)

    def brake(self, why: str) -> None:
        """Brake along the path as fast as its limits allow."""
        if self.reason:
            return
        self.reason = why
        if self.state == CARRYING:
            self.plan, self.state = self.plan.stopping(self._time), BRAKING
        else:
            self._set_rest(BRAKED)

    def let_go(self, hand: int, why: str) -> None:
        """Mark a hand as free: the others take over its share, and the team brakes."""
        self.free[hand] = True
        self.brake(why)

    def onward(self, goal: Array) -> float:
        """Start the way of the object from rest to a pose (3,), heading, x, y; return its duration, s.

        Raises:
            CarryError: the pose is not reachable.
        """
        plan = self.carriage.onward(self.reference, goal).starting(self._time)
        self.plan, self.reason, self.state = plan, '', CARRYING
        return plan.profile.duration

    def squeeze(self, force: float) -> None:
        """Set another squeeze, N, at rest. Raises CarryError if the object does not withstand it."""
        self.carriage = self.carriage.squeezed(force)
        self._law = self._law_of(self.carriage)
        self._set_rest(self.state)

    def _set_rest(self, state: str) -> None:
        here = self.reference
        self.plan = self._rest = self.carriage.at_rest(here.center, [robot.q for robot in here.states])
        self.state = state

    @property
    def progress(self) -> float:
        """Return the completed part of the path."""
        return 1.0 if self.plan is self._rest else self.plan.progress(self._time)
