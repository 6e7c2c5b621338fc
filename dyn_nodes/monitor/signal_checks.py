"""Checks of measured signals against each other: position and speed of a joint, the three quantities of an IMU.

    checks = JointChecks(names, speed_limits, deviation)
    checks.take(time, positions, velocities)
    checks.faults()

A residual is the difference of two signals of the same quantity. It decays with the time constant `MEMORY`; its bound
grows with the measured travel, so that a scale error or a lag of a sound sensor stays below it. A residual beyond its
bound is a fault until `clear` (`acknowledge` of the nodes): a position that has jumped stays wrong after the jump. The
same checks serve the stability monitor, the tip-over governor, `monitor replay` and `bag import`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.monitor._kernels import kernel
from dyn_nodes.monitor.measured_kernels import up_kernel

if TYPE_CHECKING:
    from dyn_nodes.constraints.linkages import Loops

GAP = 0.1
"""Greatest interval of samples that are compared, s; after a longer one the checks restart."""
MEMORY, NOISE_MEMORY = 4.0, 1.0
"""Time constants with which differences and noise decay, s."""
JUMP = 0.02
"""Permitted deviation of a position from its integrated speed within a sample, rad or m; a change of speed permits
more."""
DIFFERENCE, SCALE, LAG = 0.02, 0.04, 0.03
"""Permitted difference of a position and the integral of its speed: rad or m, fraction of the travel, and s of the
greatest speed, in addition to the time between two samples."""
POSITION_NOISE, SPEED_NOISE = 4e-3, 0.15
"""Permitted root mean square of changes from sample to sample: rad or m, rad/s or m/s."""
RARE = 2.0
"""Bound of a single change, as a multiple of the greatest root mean square: shocks are not noise."""
FASTEST = 20.0
"""Permitted speed of a joint without a speed limit, rad/s or m/s, if no speed is measured."""
OVER_LIMIT = 2.0
"""Permitted multiple of the speed limit of a joint, if no speed is measured."""
BEYOND = 1.0
"""Permitted position beyond the range of a joint, rad or m: the strokes of cylinders may exceed the range of the URDF.
"""
OPEN = 0.03
"""Permitted gap of a linkage at the measured positions of its joints, m or rad: errors of geometry and encoders."""
NO_FAULT, JUMPED, DIFFERS, NOISY_POSITION, NOISY_SPEED, OUT_OF_RANGE = range(6)
"""Faults of a joint."""
JOINT_TEXTS = {
    JUMPED: 'its position jumped by {:.3g}',
    DIFFERS: 'its position and its speed differ by {:.3g}',
    NOISY_POSITION: 'its position is noisy: {:.2g} from sample to sample',
    OUT_OF_RANGE: 'its position is {:.3g} beyond its range',
    NOISY_SPEED: 'its speed is noisy: {:.2g} from sample to sample',
}


class JointMemory(NamedTuple):
    """State of the checks of n joints.

    Attributes:
        time: (1,) of the last sample, s; NaN before the first.
        q, v: (n,) of the last sample.
        step_before: (n,) change of the position (or of the speed, if it is measured) at the last sample.
        difference: (n,) of position and integrated speed.
        way: (n,) travel of the joint, decaying like the difference.  peak: (n,) speed, decaying likewise.
        noise: (2, n) mean squares of changes from sample to sample, of position and speed.
        fault: (n,) of NO_FAULT and so on.  size: (n,) of the fault.
    """

    time: Any
    q: Any
    v: Any
    step_before: Any
    difference: Any
    way: Any
    peak: Any
    noise: Any
    fault: Any
    size: Any


class Check(Protocol):
    """A check of signals."""

    @property
    def are_sound(self) -> bool:
        """Whether there is no fault."""
        ...

    def faults(self) -> dict[str, str]:
        """Return the fault messages by the name of the signal."""
        ...

    def clear(self) -> None:
        """Restart, and clear the faults."""
        ...


class SignalChecks:
    """All checks of the signals of a machine.

    Args:
        checks: of the signals; of two faults of a signal the one of the earlier check is reported.
    """

    def __init__(self, *checks: Check) -> None:
        self._checks = list(checks)

    def add(self, check: Check) -> None:
        """Add a check."""
        self._checks.append(check)

    def clear(self) -> None:
        """Clear the faults; those that persist are detected again."""
        for check in self._checks:
            check.clear()

    @property
    def are_sound(self) -> bool:
        """Whether no check has failed since `clear`."""
        return all(check.are_sound for check in self._checks)

    def faults(self) -> dict[str, str]:
        """Return the fault messages by the name of the signal."""
        return {name: text for check in reversed(self._checks) for name, text in check.faults().items()}


class _StatefulCheck:
    """A check whose state has `time`, `fault` and `size`."""

    _memory: Any

    def clear(self) -> None:
        """Restart, and clear the faults."""
        for part in self._memory:
            part[:] = 0
        self._memory.time[0] = np.nan

    @property
    def are_sound(self) -> bool:
        """Whether there is no fault."""
        return not self._memory.fault.any()


class LoopChecks:
    """Checks that the positions of the joints of a machine close its linkages.

    Args:
        machine: its movable joints are measured, each by its encoder.
        deviation: of the noise of a sound position, rad or m.
    """

    def __init__(self, machine: Machine, deviation: float = 0.0) -> None:
        self._loops: Loops | None = None
        self._bound = OPEN + 20.0 * deviation
        if machine.constraints:
            from dyn_nodes.constraints.linkages import Loops

            self._loops = Loops.of(machine)
        self.clear()

    def clear(self) -> None:
        """Clear the faults."""
        self._faults: dict[str, str] = {}

    def take(self, positions: Array) -> None:
        """Process positions (n,) of the joints."""
        if self._loops is None:
            return
        gaps = self._loops.gaps(positions)
        for k in np.flatnonzero(~(gaps <= self._bound)).tolist():
            name, joints = [*self._loops.joints.items()][k]
            self._faults.setdefault(name, f'the positions of {", ".join(joints)} leave it open by {gaps[k]:.2g}')

    @property
    def are_sound(self) -> bool:
        """Whether all loops were closed since `clear`."""
        return not self._faults

    def faults(self) -> dict[str, str]:
        """Return the fault messages by the name of the constraint."""
        return dict(self._faults)


class JointChecks(_StatefulCheck):
    """Checks the positions and speeds of joints.

    Args:
        names: of n joints.
        speed_limits: (n,) rad/s or m/s; inf without a limit.
        turns: (n,) joints without limits, whose position may restart after a turn.
        deviation: of the noise of a sound position, rad or m.
        reach: (2, n) least and greatest positions, rad or m; None: any.
    """

    def __init__(
        self,
        names: Sequence[str],
        speed_limits: Array,
        turns: NDArray[np.bool_],
        deviation: float = 0.0,
        reach: Array | None = None,
    ) -> None:
        n = len(names)
        self.names = tuple(names)
        self._reach = np.array([np.full(n, -np.inf), np.full(n, np.inf)]) if reach is None else reach
        fastest = np.where(np.isfinite(speed_limits), OVER_LIMIT * speed_limits, FASTEST)
        self._fastest, self._turns = np.ascontiguousarray(fastest), np.ascontiguousarray(turns, dtype=np.bool_)
        self._noise = np.array([max(POSITION_NOISE, 20.0 * deviation), SPEED_NOISE])
        shapes = (1,), n, n, n, n, n, n, (2, n)
        fault, size = np.zeros(n, np.int64), np.zeros(n)
        self._memory = JointMemory._make([*(np.zeros(shape) for shape in shapes), fault, size])
        self.clear()

    @classmethod
    def of(cls, machine: Machine, names: Sequence[str], deviation: float = 0.0) -> JointChecks:
        """Return the checks of joints of a machine."""
        joints = [machine.joint(name) for name in names]
        turns = np.array([not np.isfinite(joint.upper - joint.lower) for joint in joints], dtype=np.bool_)
        reach = np.array([[joint.lower for joint in joints], [joint.upper for joint in joints]], dtype=float)
        return cls(names, np.array([joint.velocity_limit for joint in joints]), turns, deviation, reach)

    def take(self, time: float, positions: Array, velocities: Array | None) -> None:
        """Process a sample: time, s, (n,) positions and (n,) velocities, or None if they are not measured."""
        has_speeds = velocities is not None
        take_joints(
            time,
            positions,
            velocities if has_speeds else positions,
            has_speeds,
            self._fastest,
            self._turns,
            self._reach,
            self._noise,
            self._memory,
        )

    def faults(self) -> dict[str, str]:
        """Return the fault messages by the name of the joint."""
        codes, sizes = self._memory.fault.tolist(), self._memory.size.tolist()
        return {name: JOINT_TEXTS[code].format(size) for name, code, size in zip(self.names, codes, sizes) if code}


@kernel
def take_joints(time, q, v, has_speeds, fastest, turns, reach, noise, memory):
    """Process a sample of n joints.

    Args:
        time: s.
        q: (n,) positions.
        v: (n,) speeds, used if `has_speeds`.
        has_speeds: whether speeds are measured.
        fastest: (n,) permitted speeds if none are measured.
        turns: (n,) joints whose position may restart after a turn.
        reach: (2, n) least and greatest positions.
        noise: (2,) greatest root mean squares of position and speed from sample to sample.
        memory: `JointMemory`, changed.
    """
    step = time - memory.time[0]
    if step <= 0.0:
        return
    continues = step <= GAP
    memory.time[0] = time
    left, left_noise = np.exp(-step / MEMORY), np.exp(-step / NOISE_MEMORY)
    for j in range(q.shape[0]):
        change = q[j] - memory.q[j]
        if turns[j]:
            change -= 2.0 * np.pi * np.round(change / (2.0 * np.pi))
        speed = 0.5 * (v[j] + memory.v[j]) if has_speeds else 0.0
        gained = v[j] - memory.v[j] if has_speeds else change
        memory.q[j] = q[j]
        memory.v[j] = v[j] if has_speeds else 0.0
        beyond = max(reach[0, j] - q[j], q[j] - reach[1, j])
        if beyond > BEYOND and memory.fault[j] == NO_FAULT:
            memory.fault[j], memory.size[j] = OUT_OF_RANGE, beyond
        if not continues:
            memory.step_before[j] = 0.0
            continue
        off = change - speed * step
        allowed = abs(gained) * step if has_speeds else fastest[j] * step
        jumped = abs(off) > JUMP + allowed
        if jumped and memory.fault[j] == NO_FAULT:
            memory.fault[j], memory.size[j] = JUMPED, abs(off)
        second = gained - memory.step_before[j]
        memory.step_before[j] = gained
        uneven = max(abs(off) - allowed, 0.0) if has_speeds else second
        rare = (RARE * noise[0]) ** 2
        memory.noise[0, j] = left_noise * memory.noise[0, j] + (1.0 - left_noise) * min(uneven * uneven, rare)
        if has_speeds:
            rare = (RARE * noise[1]) ** 2
            memory.noise[1, j] = left_noise * memory.noise[1, j] + (1.0 - left_noise) * min(second * second, rare)
            memory.difference[j] = left * memory.difference[j] + off
            memory.way[j] = left * memory.way[j] + abs(speed) * step
            memory.peak[j] = max(left * memory.peak[j], abs(v[j]))
            bound = DIFFERENCE + SCALE * memory.way[j] + (LAG + step) * memory.peak[j]
            if abs(memory.difference[j]) > bound and memory.fault[j] == NO_FAULT:
                memory.fault[j], memory.size[j] = DIFFERS, abs(memory.difference[j])
        for k in range(2):
            if memory.noise[k, j] > noise[k] * noise[k] and memory.fault[j] == NO_FAULT:
                memory.fault[j], memory.size[j] = NOISY_POSITION + k, np.sqrt(memory.noise[k, j])


# -- IMU -------------------------------------------------------------------------------------------------------------

FORCE_OFF, FORCE_MEMORY, SHOCK = 0.2, 3.0, 1.0
"""Permitted difference of the mean specific force from gravity, m/s2; averaging time, s; bound of a shock, m/s2."""
TILT_OFF, TILT_MEMORY = 0.025, 5.0
"""Permitted angle between the mean specific force and the orientation's vertical, rad; averaging time, s."""
LEAST_WINDOW = 0.4
"""Initial averaging time, s; the bound of a mean is scaled by the root of full over present averaging time."""
TURN_OFF, TURN_SCALE = 0.02, 0.1
"""Permitted difference of turning and orientation over `MEMORY`: rad, and fraction of the travel."""
UP_JUMP = 0.03
"""Permitted deviation of the orientation from the integrated gyroscope within a sample, rad."""
TURN_NOISE, FORCE_NOISE = 0.15, 5.0
"""Permitted root mean square of changes from sample to sample, rad/s and m/s2."""
SAME_TIME, TILTED = 0.5, 8e-3
"""A value that is identical to the last bit for this time, s, while the load tilts the base by this angle, rad, is
frozen; within `LONGEST_SAME`."""
LONGEST_SAME = 5.0
FORCE_WRONG, TILT_WRONG, TURN_WRONG, UP_JUMPED, NOISY_TURN, NOISY_FORCE, FROZEN = range(1, 8)
SAME = 'it stayed the same while the load tilted the base by {:.2g} rad'
"""Faults of an IMU."""
IMU_TEXTS = {
    FORCE_WRONG: ('accelerometer', 'its mean is {:.3g} m/s2 away from gravity'),
    TILT_WRONG: ('accelerometer or orientation', 'they differ by {:.3g} rad'),
    TURN_WRONG: ('gyroscope or orientation', 'they differ by {:.3g} rad'),
    UP_JUMPED: ('orientation', 'it jumped by {:.3g} rad'),
    NOISY_TURN: ('gyroscope', 'it is noisy: {:.2g} rad/s from sample to sample'),
    NOISY_FORCE: ('accelerometer', 'it is noisy: {:.2g} m/s2 from sample to sample'),
    FROZEN: ('gyroscope', SAME),
    FROZEN + 1: ('accelerometer', SAME),
    FROZEN + 2: ('orientation', SAME),
}


class ImuMemory(NamedTuple):
    """State of the checks of an IMU; vectors are in its axes.

    Attributes:
        time: (1,) of the last sample, s; NaN before the first.
        last: (3, 3) angular velocity, specific force, direction against gravity.
        change: (2, 3) of the first two at the last sample.
        mean: (1,) of the magnitude of the specific force less gravity, m/s2.
        tilt: (3,) mean difference of the directions.  turned: (3,) difference of orientation and turning.
        way: (1,) travel of the direction.
        age: (1,) averaging time so far, s.
        noise: (2,) mean squares.
        same: (3,) time since which each value is identical, s; NaN if it is not.  at: (3, 3) tilt of the base then.
        fault: (1,).  size: (1,).
    """

    time: Any
    last: Any
    change: Any
    mean: Any
    tilt: Any
    turned: Any
    way: Any
    age: Any
    noise: Any
    same: Any
    at: Any
    fault: Any
    size: Any


class ImuChecks(_StatefulCheck):
    """Checks the quantities of an IMU.

    Args:
        gravity: m/s2.
    """

    def __init__(self, gravity: float) -> None:
        self.gravity = gravity
        shapes = (1,), (3, 3), (2, 3), (1,), (3,), (3,), (1,), (1,), (2,), (3,), (3, 3)
        fault, size = np.zeros(1, np.int64), np.zeros(1)
        self._memory = ImuMemory._make([*(np.zeros(shape) for shape in shapes), fault, size])
        self.clear()

    def take(self, time: float, measured: Array, orientation: Array, bias: Array) -> None:
        """Process a sample.

        Args:
            time: s.
            measured: (2, 3) angular velocity and specific force in the axes of the IMU, rad/s and m/s2.
            orientation: (4,) quaternion x, y, z, w of the IMU in a world whose z points up; NaN without an orientation.
            bias: (3,) estimated bias of the gyroscope, in the same axes, rad/s.
        """
        take_imu(time, measured, orientation, bias, self.gravity, self._memory)

    def compare(self, time: float, normal: Array) -> None:
        """Compare with the tilt of the base by the load: (3,) normal of the ground in axes of the base."""
        compare_imu(time, normal, self._memory)

    def clear(self) -> None:
        """Restart, and clear a fault."""
        super().clear()
        self._memory.same[:] = np.nan

    def faults(self) -> dict[str, str]:
        """Return the fault messages by the name of the signal."""
        if self.are_sound:
            return {}
        name, text = IMU_TEXTS[int(self._memory.fault[0])]
        return {name: text.format(float(self._memory.size[0]))}


@kernel
def take_imu(time, measured, orientation, bias, gravity, memory):
    """Process a sample of an IMU; for the arguments see `ImuChecks.take`, memory is changed."""
    step = time - memory.time[0]
    if step <= 0.0:
        return
    memory.time[0] = time
    now = np.empty((3, 3))
    now[:2] = measured
    now[2] = np.nan
    if not np.isnan(orientation[0]):
        up_kernel(orientation, now[2])
    turning, force, up = now[0], now[1], now[2]
    if not step <= GAP:  # true for NaN, before the first sample
        for k in range(3):
            memory.same[k] = np.nan
            for i in range(3):
                memory.last[k, i] = now[k, i]
        memory.change[:] = 0.0
        return
    size = np.sqrt(force[0] ** 2 + force[1] ** 2 + force[2] ** 2)
    excess = min(max(size - gravity, -SHOCK), SHOCK)
    memory.age[0] += step
    force_window = min(max(memory.age[0], LEAST_WINDOW), FORCE_MEMORY)
    tilt_window = min(max(memory.age[0], LEAST_WINDOW), TILT_MEMORY)
    memory.mean[0] += (1.0 - np.exp(-step / force_window)) * (excess - memory.mean[0])
    left, left_tilt, left_noise = np.exp(-step / MEMORY), np.exp(-step / tilt_window), np.exp(-step / NOISE_MEMORY)
    off, apart, way, jump = 0.0, 0.0, 0.0, 0.0
    for i in range(3 if not (np.isnan(up[0]) or np.isnan(memory.last[2, 0])) else 0):
        a, b = (i + 1) % 3, (i + 2) % 3
        # up is constant in the world: in the axes of the IMU it turns backwards
        wa = 0.5 * (turning[a] + memory.last[0, a]) - bias[a]
        wb = 0.5 * (turning[b] + memory.last[0, b]) - bias[b]
        spin = -(wa * up[b] - wb * up[a]) * step
        wrong = up[i] - memory.last[2, i] - spin
        jump += wrong * wrong
        memory.turned[i] = left * memory.turned[i] + wrong
        off += memory.turned[i] ** 2
        way += spin * spin
        memory.tilt[i] = left_tilt * memory.tilt[i] + (1.0 - left_tilt) * (force[i] / max(size, 1e-9) - up[i])
        apart += memory.tilt[i] ** 2
    memory.way[0] = left * memory.way[0] + np.sqrt(way)
    for k in range(2):
        total = 0.0
        for i in range(3):
            change = now[k, i] - memory.last[k, i]
            total += (change - memory.change[k, i]) ** 2
            memory.change[k, i] = change
        most = TURN_NOISE if k == 0 else FORCE_NOISE
        memory.noise[k] = left_noise * memory.noise[k] + (1.0 - left_noise) * min(total, (RARE * most) ** 2)
    for k in range(3):
        changed = False
        for i in range(3):
            changed = changed or now[k, i] != memory.last[k, i]
            memory.last[k, i] = now[k, i]
        if changed:
            memory.same[k] = np.nan
        elif np.isnan(memory.same[k]):
            memory.same[k] = time
            memory.at[k] = np.nan
    if memory.fault[0] != 0:
        return
    fault, size = 0, 0.0
    if abs(memory.mean[0]) > FORCE_OFF * np.sqrt(FORCE_MEMORY / force_window):
        fault, size = FORCE_WRONG, abs(memory.mean[0])
    if np.sqrt(memory.noise[1]) > FORCE_NOISE:
        fault, size = NOISY_FORCE, np.sqrt(memory.noise[1])
    if np.sqrt(memory.noise[0]) > TURN_NOISE:
        fault, size = NOISY_TURN, np.sqrt(memory.noise[0])
    if np.sqrt(apart) > TILT_OFF * np.sqrt(TILT_MEMORY / tilt_window):
        fault, size = TILT_WRONG, np.sqrt(apart)
    if np.sqrt(off) > TURN_OFF + TURN_SCALE * memory.way[0]:
        fault, size = TURN_WRONG, np.sqrt(off)
    if np.sqrt(jump) > UP_JUMP:
        fault, size = UP_JUMPED, np.sqrt(jump)
    memory.fault[0], memory.size[0] = fault, size


@kernel
def compare_imu(time, normal, memory):
    """Detect frozen values while the load tilts the base; for the arguments see `ImuChecks.compare`."""
    for k in range(3):
        if np.isnan(memory.same[k]):
            continue
        if np.isnan(memory.at[k, 0]) or time - memory.same[k] > LONGEST_SAME:
            memory.same[k] = time
            for i in range(3):
                memory.at[k, i] = normal[i]
            continue
        tilted = 0.0
        for i in range(3):
            tilted += (normal[i] - memory.at[k, i]) ** 2
        if np.sqrt(tilted) > TILTED and time - memory.same[k] > SAME_TIME and memory.fault[0] == 0:
            memory.fault[0], memory.size[0] = FROZEN + k, np.sqrt(tilted)
