"""Inverse kinematics: joint positions for a pose of the hand, by Newton steps with the analytic G, within joint limits.

The source does not treat this problem (freeman-1985, p. 24). The residual is e = (target - position, rotation vector
from the hand to the target). Its Jacobian is -G, with the rate of the rotation vector as factor, so that a step is
exact to second order at any residual. Joints that would exceed a limit stop there and the others compensate. A step
that does not reduce the residual is damped, with the second derivatives H of the position, until it does. If the target
is out of reach, the iteration ends at a locally nearest pose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.hand.bounded_step import bounded_step
from dyn_nodes.control.hand.kinematics import POSITION, HandError, HandKinematics, HandPose, HandTask

LONGEST_STEP = 0.7
"""Greatest change of a joint in one iteration, rad or m."""
FIRST_DAMPING, GREATEST_DAMPING = 1e-6, 1e12
"""Damping of rejected steps, relative to the square of the greatest singular value."""
STATIONARY = 1e-12
"""Change of the joints, rad or m, below which the iteration ends."""
SAME = 1e-6
"""Greatest difference of equal solutions, and of a joint and its limit if it counts as at the limit, rad or m."""


@dataclass(frozen=True)
class Settings:
    """Settings of the iteration.

    Attributes:
        tolerance: residual that counts as reached, m (rotations times the task's length).
        iterations: greatest number from one start.
        damping: of every step, in rad or m over the residual: near singular postures steps stay short; 0: none.
        starts: number of start postures, the specified one and random ones within the limits.
        more_starts: tried beyond these while none has reached the target.
        seed: of the random postures.
    """

    tolerance: float = 1e-12
    iterations: int = 100
    damping: float = 0.0
    starts: int = 1
    more_starts: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (('tolerance', 0.0), ('iterations', 1), ('damping', 0.0), ('starts', 1), ('more_starts', 0)):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= least):
                raise HandError(f'{name}: expected a number >= {least:g}, found {value!r}')


@dataclass(frozen=True, eq=False)
class Solution:
    """Result of the iteration from one start posture.

    Attributes:
        joints: names (n).
        positions: (n,) of these joints, rad or m.
        posture: positions of all joints of the tree.
        reached: the residual is within the tolerance.
        distance, angle: residual in the rows of the task, m and rad.
        pose: of the hand there.
        iterations: steps tried, rejected ones included.
        condition: condition number of the task's G, with its length.
        at_limit: joints at a limit: -1 the lower, 1 the upper one, by name.
    """

    joints: tuple[str, ...]
    positions: Array
    posture: Array
    reached: bool
    distance: float
    angle: float
    pose: HandPose
    iterations: int
    condition: float
    at_limit: dict[str, int]


@dataclass(frozen=True, eq=False)
class Result:
    """Solutions for a target.

    Attributes:
        solutions: different postures that reach the target, the one nearest to the start posture first; if none
            does, the posture with the least residual.
        starts: number of start postures tried.
    """

    solutions: tuple[Solution, ...]
    starts: int

    @property
    def best(self) -> Solution:
        """The first solution."""
        return self.solutions[0]

    @property
    def reached(self) -> bool:
        """Whether the target is reached."""
        return self.best.reached

    @property
    def statement(self) -> str:
        """One line: whether the target is reached; else the residual and the joints at a limit."""
        best = self.best
        if best.reached:
            return f'reached in {best.iterations} iterations; condition number {best.condition:.3g}'
        sides = {-1: 'lower', 1: 'upper'}
        stops = ', '.join(f'{name} at its {sides[side]} limit' for name, side in best.at_limit.items())
        missing = f'{best.distance:.4g} m' + (f' and {best.angle:.4g} rad' if best.angle > 0.0 else '')
        return (
            f'out of reach: the nearest of {self.starts} starts leaves {missing}; {stops or "no joint is at a limit"}'
        )


def inverse_kinematics(
    hand: HandKinematics,
    target: HandPose,
    start: ArrayLike,
    task: HandTask | None = None,
    settings: Settings = Settings(),
) -> Result:
    """Return joint positions that bring the hand to a pose.

    Args:
        hand: the link and the joints that may move.
        target: in axes of the base link.
        start: positions of all joints of the tree; all others keep them.
        task: controlled rows; None: `hand.default_task`.
        settings: of the iteration.

    Raises:
        HandError: a start of another size, or a start or target that is not finite.
    """
    first = np.asarray(start, dtype=np.float64)
    if first.shape != (len(hand.names),) or not np.isfinite(first).all():
        raise HandError(f'start: expected {len(hand.names)} finite positions, found an array of shape {first.shape}')
    if not (np.isfinite(target.rotation).all() and np.isfinite(target.position).all()):
        raise HandError('target: expected finite numbers')
    problem = _Problem(hand, target, task or hand.default_task, settings)
    random = np.random.default_rng(settings.seed)
    solutions: list[Solution] = []
    for k in range(settings.starts + settings.more_starts):
        if k >= settings.starts and any(each.reached for each in solutions):
            break
        solutions.append(problem.solve(first) if k == 0 else problem.solve_from_anywhere(first, random))
    return Result(_sorted(solutions, first[hand.indices], problem.task.length), len(solutions))


def _sorted(solutions: Sequence[Solution], start: Array, length: float) -> tuple[Solution, ...]:
    reached = [each for each in solutions if each.reached]
    if not reached:
        return (min(solutions, key=lambda each: float(np.hypot(each.distance, length * each.angle))),)
    different: list[Solution] = []
    for each in sorted(reached, key=lambda each: float(np.linalg.norm(each.positions - start))):
        if all(np.abs(each.positions - other.positions).max() > SAME for other in different):
            different.append(each)
    return tuple(different)


class _Problem:
    """The residual of a target and the iteration that takes it to zero."""

    def __init__(self, hand: HandKinematics, target: HandPose, task: HandTask, settings: Settings) -> None:
        self.hand, self.target, self.task, self.settings = hand, target, task, settings

    def anywhere(self, random: np.random.Generator) -> Array:
        """Return random positions (n,) within the limits; within half a turn to both sides without limits."""
        low = np.where(np.isfinite(self.hand.lower), self.hand.lower, -np.pi)
        high = np.where(np.isfinite(self.hand.upper), self.hand.upper, np.pi)
        return random.uniform(low, np.maximum(low, high))

    def residual(self, posture: Array) -> tuple[Array, Array, HandPose]:
        """Return the rows of the residual (P,), its Jacobian's negative (P, n), in metres, and the pose."""
        pose, G = self.hand.pose_and_jacobian(posture)
        error = pose.error_to(self.target)
        J = G.copy()
        J[3:] = rate_of_rotation_vector(error[3:]) @ G[3:]
        return self.task.scaled(error), self.task.scaled(J), pose

    def solve_from_anywhere(self, start: Array, random: np.random.Generator) -> Solution:
        """Iterate from a random posture: first without limits, then within them, whole turns removed."""
        hand = self.hand
        free = np.full(len(hand.joints), np.inf)
        unlimited = self.solve(hand.with_joints(start, self.anywhere(random)), -free, free)
        turning = hand.turning & np.isfinite(hand.lower) & np.isfinite(hand.upper)
        middle = 0.5 * (hand.lower[turning] + hand.upper[turning])
        whole = np.zeros(len(hand.joints))
        whole[turning] = 2.0 * np.pi * np.round((unlimited.positions[turning] - middle) / (2.0 * np.pi))
        return self.solve(hand.with_joints(start, unlimited.positions - whole))

    def solve(self, start: Array, lower: Array | None = None, upper: Array | None = None) -> Solution:
        """Iterate from a posture, within limits (n,); None: the limits of the hand."""
        hand, settings = self.hand, self.settings
        least = hand.lower if lower is None else lower
        most = hand.upper if upper is None else upper
        q = np.clip(start[hand.indices], least, most)
        posture = hand.with_joints(start, q)
        q = posture[hand.indices]
        e, J, pose = self.residual(posture)
        damping, slow, count = 0.0, False, 0
        while count < settings.iterations and np.linalg.norm(e) > settings.tolerance:
            count += 1
            scale = float(np.linalg.norm(J, 2)) ** 2
            step_damping = (settings.damping * float(np.linalg.norm(e))) ** 2 + damping * scale
            bend = self._curvature(posture, e) if slow or damping > 0.0 else None
            step_damping = max(step_damping, 1e-14 * scale) if bend is not None else step_damping
            low, high = np.maximum(least - q, -LONGEST_STEP), np.minimum(most - q, LONGEST_STEP)
            step, _ = bounded_step(J, e, low, high, step_damping, bend)
            trial = np.clip(q + step, least, most)
            moved = hand.with_joints(posture, trial)
            trial = moved[hand.indices]
            e_new, J_new, pose_new = self.residual(moved)
            within = not hand.exceeded(moved) or bool(hand.exceeded(posture))
            nearer = within and np.linalg.norm(e_new) < np.linalg.norm(e)
            if nearer:
                slow = bool(np.linalg.norm(e_new) > 0.3 * np.linalg.norm(e))
                q, posture, e, J, pose = trial, moved, e_new, J_new, pose_new
                damping = 0.1 * damping if damping > FIRST_DAMPING else 0.0
            else:
                damping = max(10.0 * damping, FIRST_DAMPING)
            if np.abs(step).max() < STATIONARY or damping > GREATEST_DAMPING:
                break
        return self._solution(q, posture, e, J, pose, count)

    def _curvature(self, posture: Array, e: Array) -> Array:
        """Return minus the sum of the residual's rows times their second derivatives, of position rows only."""
        H = self.hand.coefficients(posture, 2).H
        n = len(self.hand.joints)
        total = np.zeros((n, n))
        for row, index, value in zip(self.task.rows, self.task.indices, e):
            if row in POSITION:
                total -= value * H[index]
        return 0.5 * (total + total.T)

    def _solution(self, q: Array, posture: Array, e: Array, J: Array, pose: HandPose, count: int) -> Solution:
        hand, missing = self.hand, e / self.task.scales
        linear = np.array([row in POSITION for row in self.task.rows])
        sides = {}
        for name, value, low, high in zip(hand.joints, q.tolist(), hand.lower, hand.upper):
            if value <= low + SAME or value >= high - SAME:
                sides[name] = -1 if value <= low + SAME else 1
        return Solution(
            hand.joints, q, posture, bool(np.linalg.norm(e) <= self.settings.tolerance),
            float(np.linalg.norm(missing[linear])), float(np.linalg.norm(missing[~linear])), pose, count,
            condition_number(J), sides,
        )  # fmt: skip


def condition_number(J: ArrayLike) -> float:
    """Return the condition number of a Jacobian (P, n); inf at a singular posture or with fewer joints than rows."""
    matrix = np.asarray(J, dtype=np.float64)
    values = np.linalg.svd(matrix, compute_uv=False)
    if matrix.shape[1] < matrix.shape[0] or values[-1] <= 0.0:
        return float('inf')
    return float(values[0] / values[-1])


def rate_of_rotation_vector(vector: ArrayLike) -> Array:
    """Return A (3, 3): the rotation vector from the hand to a target changes by -A w as the hand turns with w.

    The inverse of the right Jacobian of the rotations' exponential, 1 + [r x] / 2 + c [r x]^2.
    """
    r = np.asarray(vector, dtype=np.float64)
    angle = float(np.sqrt(r @ r))
    cross = np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])
    if angle < 1e-4:
        factor = 1.0 / 12.0 + angle**2 / 720.0
    else:
        factor = (1.0 - 0.5 * angle / float(np.tan(0.5 * angle))) / angle**2
    return np.asarray(np.eye(3) + 0.5 * cross + factor * cross @ cross)
