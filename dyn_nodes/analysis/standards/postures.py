"""Postures that standards name: load farthest, highest or lowest, frames articulated, wheels steered, axles locked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np

from dyn_nodes.analysis.load_statics import LoadChartError, LoadStatics
from dyn_nodes.analysis.outriggers import OutriggerError, outrigger_states
from dyn_nodes.analysis.standards.posed import Posed
from dyn_nodes.analysis.standards.standard import CertifyError
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Joint, Machine
from dyn_nodes.model.posture import carrying_links, center_of_mass, initial_positions, link_poses, moved_links

UPRIGHT = 0.05
"""Sine of the angle to the vertical, or to the horizontal, below which an axis counts as vertical or horizontal."""
GRID = 4_000
"""Number of postures from which the search for an extreme starts."""
ROUNDS = 24
"""Number of refinements of this search; each shrinks the range of every joint by `SHRINK`."""
SHRINK = 0.5
KEPT = 2
"""Number of slew angles with the least tipping loads that are computed exactly, with passive joints below."""
FIRST = 1e3
"""Weight of the height over the reach in a score of postures."""


class Arm:
    """The arm of a machine.

    Args:
        machine: with a payload and supports.
        kind: name of the standard, for messages.
        level: the last turning joint keeps the pitch of the payload link, such as level forks.

    Attributes:
        statics: chain from the base to the payload.
        rest: (a,) initial positions of the arm's joints, rad or m.

    Raises:
        CertifyError: no payload, no supports, or no joint that moves the payload.
    """

    def __init__(self, machine: Machine, kind: str, level: bool = False) -> None:
        try:
            self.statics = LoadStatics(machine)
        except LoadChartError as error:
            raise CertifyError(f'{kind}: {error}') from None
        self._kind = kind
        rest, (lower, upper) = initial_positions(machine), self.statics.arm_limits
        self.rest = np.clip([rest[joint.name] for joint in self.statics.arm], lower, upper)
        self.swing = 0.0 if self.statics.swing is None else rest[self.statics.swing.name]
        self._turns = self._parallel_turns(machine) if level else ()
        self._level_axes: dict[tuple[tuple[str, float], ...], Array] = {}

    def reject_slewing(self, expected: str) -> None:
        """Raise CertifyError if a joint slews the arm; `expected` is the machine for which the standard is meant."""
        swing = self.statics.swing
        if swing is not None:
            name = self.statics.machine.name
            raise CertifyError(f'{name}: {self._kind}: expected {expected}, found the slew joint {swing.name!r}')

    def _parallel_turns(self, machine: Machine) -> tuple[tuple[int, float], ...]:
        """Return index and direction of the turning joints, the last one levels; empty without two parallel ones."""
        poses = link_poses(machine.links, machine.joints, initial_positions(machine))
        axes = {
            k: poses[joint.child][:3, :3] @ joint.axis
            for k, joint in enumerate(self.statics.arm)
            if k in self.moved(False)
        }
        if len(axes) < 2:
            return ()
        *_, last = axes
        signs = {k: float(axis @ axes[last]) for k, axis in axes.items()}
        return (
            tuple((k, sign) for k, sign in signs.items())
            if all(abs(abs(s) - 1.0) < 1e-6 for s in signs.values())
            else ()
        )

    def _levelled(self, arm: Array) -> Array:
        """Return postures (n, a) with the pitch of the payload link as at the start, within the limits of the joint."""
        if not self._turns:
            return arm
        (*others, (last, _)), result = self._turns, arm.copy()
        turned = sum((sign * (arm[:, k] - self.rest[k]) for k, sign in others), np.zeros(len(arm)))
        lower, upper = self.statics.arm_limits
        result[:, last] = np.clip(self.rest[last] - turned, lower[last], upper[last])
        return result

    @property
    def free(self) -> tuple[int, ...]:
        """Indices of the joints of the arm but the one that levels."""
        return tuple(k for k in range(len(self.rest)) if not self._turns or k != self._turns[-1][0])

    def posture(self, arm: Array, swing: float | None = None) -> dict[str, float]:
        """Return positions of joints by name.

        Args:
            arm: (a,) positions of the arm's joints, rad or m.
            swing: position of the joint that slews, rad; None: the initial one.
        """
        angle = self.swing if swing is None else swing
        return self.statics.posture(self.statics.arm_positions(arm[np.newaxis], angle)[0])

    def mount(self, arm: Array, swing: float | None = None) -> Array:
        """Return the positions (n, 3) of the payload for positions of the arm (n, a), in axes of the base, m.

        Args:
            arm: positions of the arm's joints, rad or m.
            swing: position of the joint that slews, rad; None: the initial one.
        """
        return self.statics.mount(self.statics.arm_positions(arm, self.swing if swing is None else swing))

    def height(self, arm: Array) -> float:
        """Return the height of the payload above the ground in one posture (a,), m."""
        return float(self.mount(arm[np.newaxis])[0, 2] - self.statics.ground)

    def moved(self, prismatic: bool) -> tuple[int, ...]:
        """Return the indices of the sliding, or of the turning joints of the arm."""
        return tuple(k for k, joint in enumerate(self.statics.arm) if (joint.type == 'prismatic') == prismatic)

    def extreme(
        self, score: Callable[[Array], Array], free: Collection[int] | None = None, start: Array | None = None
    ) -> Array:
        """Return the posture (a,) with the greatest score.

        Args:
            score: of the positions (n, 3) of the payload in axes of the base, m; returns (n,).
            free: indices of the joints that move; None: all but the one that levels.
            start: (a,) positions of the others; None: the initial ones.
        """
        chosen, rest = list(self.free if free is None else free), self.rest if start is None else start
        if not chosen:
            return rest.copy()
        lower, upper = (limit[chosen] for limit in self.statics.arm_limits)
        best, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
        count = max(3, int(GRID ** (1.0 / len(chosen))))
        for _ in range(ROUNDS):
            ranges = np.clip(best + half * np.linspace(-1.0, 1.0, count)[:, np.newaxis], lower, upper)
            tried = np.stack(np.meshgrid(*ranges.T, indexing='ij'), axis=-1).reshape(-1, len(chosen))
            arm = np.tile(rest, (len(tried), 1))
            arm[:, chosen] = tried
            best = tried[int(np.argmax(score(self.mount(self._levelled(arm)))))]
            half, count = SHRINK * half, 5
        result = np.tile(rest, (1, 1))
        result[:, chosen] = best
        return self._levelled(result)[0]

    def reach(self, mount: Array) -> Array:
        """Return the reach (n,) of positions of the payload (n, 3): ahead, or from the slew axis, m."""
        away = mount[:, :2] - self.statics.axis
        return np.asarray(away[:, 0] if self.statics.swing is None else np.hypot(away[:, 0], away[:, 1]))

    def farthest(self, free: Collection[int] | None = None) -> Array:
        """Return the posture (a,) with the greatest reach; see `extreme`."""
        return self.extreme(self.reach, free)

    def at_height(self, height: float, forward: float = 0.0) -> Callable[[Array], Array]:
        """Return a score of postures: the height counts first, then the reach.

        Args:
            height: of the payload above the ground, m; inf: the greatest.
            forward: weight of the reach; negative: the least reach.
        """

        def score(mount: Array) -> Array:
            above = mount[:, 2] - self.statics.ground
            return np.asarray(
                FIRST * (above if np.isinf(height) else -np.abs(above - height)) + forward * self.reach(mount)
            )

        return score

    def worst_swings(self, chosen: Array, step: float, state: Mapping[str, float]) -> tuple[dict[str, float], ...]:
        """Return the postures at the slew angles with the least tipping loads on rigid supports, the least first.

        The tipping axes of level ground depend on the state of the supports, not on the slew angle.

        Args:
            chosen: (a,) posture of the arm.
            step: step of the slew angle, rad.
            state: positions of other joints, such as of outriggers, m or rad.
        """
        machine, joint, key = self.statics.machine, self.statics.swing, tuple(sorted(state.items()))
        start = {**self.posture(chosen, 0.0), **state}
        if joint is None:
            return (start,)
        if key not in self._level_axes:
            self._level_axes[key] = Posed(machine, start, True).level_axes()
        foot, inward = self._level_axes[key].swapaxes(0, 1)
        poses = link_poses(machine.links, machine.joints, {**initial_positions(machine), **start})
        moved, swings = moved_links(machine, joint), self.swings(step)
        (still_mass, still), (arm_mass, arm) = (
            center_of_mass([link for link in machine.links if (link.name in moved) == turns], poses, None)
            for turns in (False, True)
        )
        cosine, sine, slew = np.cos(swings), self.statics.slew_axis[2] * np.sin(swings), self.statics.slew_origin[:2]
        turn = np.array([[cosine, -sine], [sine, cosine]]).transpose(2, 0, 1)
        center, mount = (slew + turn @ (point[:2] - slew) for point in (arm, self.mount(chosen[np.newaxis], 0.0)[0]))
        mass = still_mass + arm_mass
        holding, lever = (
            ((point[:, np.newaxis] - foot) * inward).sum(axis=2)
            for point in ((still_mass * still[:2] + arm_mass * center) / mass, mount)
        )
        with np.errstate(divide='ignore', invalid='ignore'):
            loads = np.where(lever < 0.0, -mass * holding / lever, np.inf).min(axis=1, initial=np.inf)
        worst = np.argsort(loads, kind='stable')[: KEPT if self.statics.gear.gives_way else 1]
        return tuple({**self.posture(chosen, float(swings[k])), **state} for k in worst)

    def swings(self, step: float) -> Array:
        """Return positions (s,) of the joint that slews, rad; one arbitrary value without one."""
        joint = self.statics.swing
        if joint is None:
            return np.zeros(1)
        around = np.arange(-np.pi + step, np.pi + 1e-9, step)
        return around[(around >= joint.lower) & (around <= joint.upper)]


def highest_at(measure: Callable[[Array], Array], value: float) -> Callable[[Array], Array]:
    """Return a score of postures: the highest one where a measure of the payload's position has a value.

    Args:
        measure: of positions (n, 3) of the payload; returns (n,), m.
        value: m.
    """
    return lambda mount: np.asarray(mount[:, 2] - FIRST * np.abs(measure(mount) - value))


def steering_joints(machine: Machine) -> tuple[tuple[Joint, ...], Joint | None]:
    """Return the joints that steer wheels, and the articulation between two frames, or None.

    Both are driven joints about the vertical that move supports. An articulation has two or more supports on each side.
    """
    poses = link_poses(machine.links, machine.joints, initial_positions(machine))
    driven, carrying = {joint.name for joint in machine.actuated_joints}, carrying_links(machine)
    steering, articulation = [], None
    for joint in machine.movable_joints:
        axis = poses[joint.child][:3, :3] @ joint.axis
        turns = joint.type in ('revolute', 'continuous') and np.hypot(axis[0], axis[1]) < UPRIGHT
        if not turns or joint.child not in carrying or joint.name not in driven:
            continue
        moved = sum(support.link in moved_links(machine, joint) for support in machine.supports)
        if 2 <= moved <= len(machine.supports) - 2:
            articulation = joint
        elif np.isfinite([joint.lower, joint.upper]).all():
            steering.append(joint)
    return tuple(steering), articulation


def steered(machine: Machine) -> dict[str, dict[str, float]]:
    """Return positions of the joints that steer, by name of the state: straight ahead, and fully left and right."""
    steering, articulation = steering_joints(machine)
    joints = (*steering, *(() if articulation is None else (articulation,)))
    states = {'straight': {joint.name: 0.0 for joint in joints}}
    if joints:
        states['fully left'] = {joint.name: joint.upper for joint in joints}
        states['fully right'] = {joint.name: joint.lower for joint in joints}
    return states


def outrigger_postures(machine: Machine) -> dict[str, dict[str, float]]:
    """Return positions of outriggers by the text that names their state; empty text and none without outriggers.

    Args:
        machine: the machine.

    Raises:
        CertifyError: an outrigger does not reach the ground.
    """
    try:
        states = outrigger_states(machine)
    except OutriggerError as error:
        raise CertifyError(str(error)) from None
    return {f', {name}': joints for name, joints in states.items()} or {'': {}}
