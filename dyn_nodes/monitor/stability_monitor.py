"""Ground reactions and stability margins of a machine from measurements: no simulation, no drive models.

Joint positions (and velocities) are filtered and differentiated, an IMU gives the motion of the base, and recursive
Newton-Euler the load on the ground. Without an IMU the rocking of the base on its suspension is predicted, on ground of
a specified slope, and margins are reduced by the possible error of the prediction.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.derivative_filter import DerivativeFilter
from dyn_nodes.measures import DEFAULT_MEASURES, measure
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.rotations import cross
from dyn_nodes.monitor.ground_kernels import contact_frames, fill_forces, in_frames, squared_arms
from dyn_nodes.monitor.ground_observer import Footing, GroundObserver, ObserverSettings, ground_axes
from dyn_nodes.monitor.load_model import GroundLoad, LoadModel, axles_of
from dyn_nodes.monitor.margin_guard import TICK, GuardSettings, MarginGuard
from dyn_nodes.monitor.measured_kernels import TURNING, imu_kernel, joints_kernel
from dyn_nodes.monitor.rocking import RockingModel
from dyn_nodes.monitor.sensors import ImuMount, SensorNoise
from dyn_nodes.monitor.signal_checks import ImuChecks, JointChecks, LoopChecks, SignalChecks
from dyn_nodes.simulation.assembly import gravity_vector
from dyn_nodes.stability import PolygonError, Support, margins
from dyn_nodes.stability.balance import Balance
from dyn_nodes.stability.equilibrium.standing import check_rigid, gives_way, moving_joints, standing_supports
from dyn_nodes.stability.grip import check_points, grip_of

UP = np.array([0.0, 0.0, 1.0])
UNKNOWN = np.full(4, np.nan)
JOINT_GATE, TURN_GATE, FORCE_GATE = 6.0, 5.0, 6.0
"""Surprises, in standard deviations, above which joints, gyroscope and accelerometer count as jumped: see
:class:`DerivativeFilter`."""
UNSEEN, UNSEEN_TIME = 0.05, 0.5
"""Without an IMU: fraction of the full scale that is deducted while the machine moves, and for this time after, s."""
LIFTING, LIFTED_TIME = 0.005, 2.0
"""Without an IMU: share of the load below which a wheel may have lifted; margins are limited to 0 for this time after,
s."""
FULL_SCALE_ROUNDS = 3
RECENT = 64
"""Number of instants that are stored until the guard needs them."""
LEAST_LOAD = 1e-9
"""Added to the force of every spring for the centre of pressure, N."""
LAGGING = 4.0
"""Ratio of the error of speeds from positions alone to the deviation of their filter, which lags behind accelerations.
"""
LEG_DIGITS = 3
"""Decimals of leg positions at which the supports that carry are updated, m or rad."""
FORCE_SHOCK = 15.0
"""Surprise of the accelerometer above which the guard is notified: about 0.2 m/s2."""


class StabilityMonitor:
    """Estimates ground reactions and margins of a machine.

    Pass every message to `joints` or `imu`, in the order of their times; call `balance` after `joints`.

    Args:
        machine: with a free base on three wheels or more.
        measures: names of stability measures; without one the machine may have joints that give way between base and
            supports.
        noise: of the sensors.
        mount: of the IMU.
        observer: settings of the combination of load and gyroscope.
        slope: (roll, pitch) of the ground under the machine's heading, rad; used without an IMU only.
        settling: duration of joint states (and IMU) before the first balance, s.
        imu_timeout: time without IMU messages after which the motion of the base is predicted, s.
        guard: settings of the margin guard.

    Attributes:
        payload: kg.
        checks: of the measured signals; more may be added.
        time: of the last joint states, s; None before the first.
        imu_time: of the last IMU message, s; None before the first.
        load, footing: of the last joint states.
        q, v, a: (n,) estimates of the joints.
        omega, alpha, felt: (3,) angular velocity of the base link, rad/s, its angular acceleration, rad/s2, and the
            specific force at its origin, m/s2, in its axes, of the last joint states.

    Raises:
        ValueError: fewer than three corners of the support polygon, a base that is not free, or measures and joints
            without a drive between base and supports.
        KeyError: an unknown measure.
    """

    def __init__(
        self,
        machine: Machine,
        measures: tuple[str, ...] = DEFAULT_MEASURES,
        noise: SensorNoise | None = None,
        mount: ImuMount | None = None,
        observer: ObserverSettings | None = None,
        slope: tuple[float, float] | None = None,
        settling: float = 0.5,
        imu_timeout: float = 0.1,
        guard: GuardSettings | None = None,
    ) -> None:
        if (corners := sum(spring.corner for spring in machine.supports)) < 3:
            raise ValueError(f'{machine.name}: expected three wheels or more, or two tracks, found {corners} corners')
        if measures:
            check_rigid(machine, 'stability monitor')
        for name in measures:
            check_points(machine, measure(name))
        self.machine, self.measures = machine, measures
        self._grip = grip_of(machine) if any(measure(name).of_friction for name in measures) else None
        self.model = LoadModel(machine)
        self.ground = GroundObserver(machine, observer)
        axles = axles_of(machine)
        self._rolling = np.array([axles[spring.contact] is not None for spring in machine.supports])
        self.rocking = RockingModel(machine, self.model)
        legs = [name for name in moving_joints(machine) if name not in gives_way(machine)]
        self._legs = np.array([self.model.joints.index(name) for name in legs], dtype=np.intp)
        self._legs_at: Array | None = None
        self.noise, self.mount = noise or SensorNoise(), mount or ImuMount()
        self.settling, self.imu_timeout = settling, imu_timeout
        self.payload = machine.payload.mass if machine.payload else 0.0
        self._gravity = np.array(gravity_vector(machine.gravity, machine.slope if slope is None else slope))
        self._make_filters()
        self._make_checks()
        self._rate, self._payload_mass = np.zeros(7), np.empty(1)
        imu_mount = self.mount
        self._axes, self._arm = (
            np.ascontiguousarray(part, dtype=np.float64) for part in (imu_mount.rotation, imu_mount.position)
        )
        self._edge_names: tuple[str, ...] = ()
        self.guard = MarginGuard(guard or GuardSettings(), {})
        self.clear()
        self.guard.full_scale = self.full_scale()

    def _make_filters(self) -> None:
        noise = self.noise
        self._joints = DerivativeFilter(
            3, noise.jerk_density, (noise.position, noise.velocity), (1.0, 0.1, 0.1), gap=0.2, gate=JOINT_GATE
        )
        self._turning = DerivativeFilter(
            2, noise.turn_density, (noise.gyroscope,), (1.0, 0.05), gap=0.2, gate=TURN_GATE
        )
        self._accelerometer = DerivativeFilter(
            2, noise.specific_force_density, (noise.accelerometer,), (1.0, 1.0), gap=0.2, gate=FORCE_GATE
        )
        for derivative, count in ((self._joints, len(self.model.joints)), (self._turning, 3), (self._accelerometer, 3)):
            derivative.prepare(count)

    def _make_checks(self) -> None:
        self.joint_checks = JointChecks.of(self.machine, self.model.joints, self.noise.position)
        self.imu_checks = ImuChecks(self.machine.gravity)
        self._loop_checks = LoopChecks(self.machine, self.noise.position)
        self.checks = SignalChecks(self.joint_checks, self.imu_checks, self._loop_checks)

    def clear(self) -> None:
        """Restart, for example after time went back."""
        self.joint_checks.clear()
        self.imu_checks.clear()
        self._loop_checks.clear()
        for derivative in (self._joints, self._turning, self._accelerometer):
            derivative.clear()
        self.ground.clear()
        self.guard.clear()
        self._shocked = False
        self._resting: Array | None = None
        self.rocking.plane = None
        self._moved = self._lifted = -np.inf
        self._had_imu = False
        self._balance: Balance | None = None
        self._recent: deque[tuple[float, GroundLoad, Footing, Array]] = deque(maxlen=RECENT)
        self.time: float | None = None
        self._began = 0.0
        self.imu_time: float | None = None
        self._imu_began = 0.0
        self._rate[:] = 0.0
        self.omega, self.alpha = np.zeros(3), np.zeros(3)
        self.specific_force = np.array([0.0, 0.0, self.machine.gravity])
        self._up: Array | None = None
        self.load: GroundLoad | None = None
        self.footing: Footing | None = None
        n = len(self.model.joints)
        self.q, self.v, self.a = np.zeros(n), np.zeros(n), np.zeros(n)

    # -- measurements ------------------------------------------------------------------------------------------------

    def imu(
        self, time: float, angular_velocity: Array, specific_force: Array, orientation: Array | None = None
    ) -> None:
        """Process an IMU message.

        Args:
            time: s.
            angular_velocity: (3,) in the IMU's axes, rad/s.
            specific_force: (3,) in the IMU's axes, m/s2, +g upwards at rest.
            orientation: (4,) quaternion x, y, z, w of the IMU in a world whose z points up, or None.
        """
        step = 0.0 if self.imu_time is None else time - self.imu_time
        if self.imu_time is None or not 0.0 < step <= self._turning.gap:
            self._imu_began = time
            self.ground.forget()  # the attitude may have changed
            step = 0.0
        self.imu_time = time
        measured, shown = np.empty((2, 3)), UNKNOWN.copy()
        measured[0], measured[1] = angular_velocity, specific_force
        if orientation is not None:
            shown[:] = orientation
        up = (UNKNOWN[:3] if self._up is None else self._up).copy()
        self.imu_checks.take(time, measured, shown, self.ground.memory[:3] @ self._axes)
        turned, force_surprise = imu_kernel(
            time,
            step,
            measured,
            shown,
            self._axes,
            self.mount.up_time,
            self._turning.law,
            self._turning.memory,
            self._accelerometer.law,
            self._accelerometer.memory,
            self.ground.memory,
            self._rate,
            up,
        )
        self._up, self._shocked = up, self._shocked or turned > TURN_GATE or force_surprise > FORCE_SHOCK

    def joints(self, time: float, positions: Array, velocities: Array | None) -> None:
        """Process joint states: (n,) positions and velocities in the machine's order, or None if they are not measured.

        After a gap the filters restart; if time does not increase, everything restarts.
        """
        step = self._step_to(time)
        self.joint_checks.take(time, positions, velocities)
        self._loop_checks.take(positions)
        if len(self._legs):
            self._move_legs(positions)
        if self.has_imu:
            self._watch(self._follow(step, positions, velocities))
            self.imu_checks.compare(time, self.ground.balancing)
            self._resting = self.rocking.plane = None
            self._had_imu = True
        else:
            if self._had_imu:
                self._lose_imu(time)
            self.q, self.v, self.a = self._joints.update(time, positions, velocities)
            self._predict(step)
            assert self.footing is not None
            self._watch(self.ground.contacts.summed(self.footing.normal) > 0.0)

    def _move_legs(self, positions: Array) -> None:
        """Update the supports that carry for the present positions of the legs, joints at positions (n,)."""
        at = np.round(positions[self._legs], LEG_DIGITS)
        if self._legs_at is None or not np.array_equal(at, self._legs_at):
            self._legs_at = at
            named = dict(zip(self.model.joints, positions.tolist()))
            self.ground.set_standing(standing_supports(self.machine, named))
            if self.ground.polygon is None:
                self._edge_names = ()
                still, rest = np.zeros(len(positions)), np.zeros(3)
                load = self.model.evaluate(positions, still, still, rest, rest, self.specific_force, self.payload)
                self.ground.learn_polygon(load.attachments)

    def _step_to(self, time: float) -> float:
        """Advance to the time of joint states, s; return the step since the last ones, 0 if the filters start."""
        step = np.nan if self.time is None else time - self.time
        if 0.0 < step <= self._joints.gap:
            self.time = time
            return step
        if step > 0.0:
            self._pass_gap(step)
        elif self.time is not None:
            self.clear()
        self.time = self._began = time
        return 0.0

    def _pass_gap(self, gap: float) -> None:
        """Restart after a gap, s, in the joint states; the estimates of the IMU and possible events are kept.

        The gap is excluded from the times since the machine moved or a wheel may have lifted.
        """
        self._joints.clear()
        self.ground.forget()
        self.guard.clear()
        self._recent.clear()
        self._resting = self.rocking.plane = None
        self._moved += gap
        self._lifted += gap

    def _lose_imu(self, time: float) -> None:
        """Handle the loss of the IMU: a machine that was about to tip may continue to tip."""
        self._had_imu, self._moved = False, time
        footing = self.footing
        if (
            footing is None
            or not footing.balanced
            or self.ground.contacts.summed(footing.normal).min() < LIFTING * footing.normal.sum()
        ):
            self._lifted = time

    def _watch(self, touching: NDArray[np.bool_]) -> None:
        """Pass the events of an instant to the guard: which contacts (c,) carry load."""
        assert self.time is not None
        assert self.footing is not None
        self._balance = None
        shocked = self._shocked or self._joints.surprise > JOINT_GATE
        self._shocked = False
        self.guard.see(self.time, shocked, touching)
        if self.settled:
            assert self.load is not None
            self._recent.append((self.time, self.load, self.footing, self.up))

    def _remember(self) -> None:
        """Pass the recent instants within the guard's hold time to the guard, unless it has them."""
        assert self.time is not None
        since = self.time - self.guard.span(self.time) - TICK
        if self._recent:
            self._recent.pop()  # the present one, which `hold` stores
        while self._recent and self._recent[-1][0] >= since:
            time, load, footing, up = self._recent.pop()
            with suppress(ValueError):  # without a polygon there are no margins to hold
                self.guard.remember(time, self.balance_under(load, footing, up).margins)

    @property
    def has_imu(self) -> bool:
        """Whether IMU messages are recent."""
        recent = self.imu_time is not None and self.time is not None
        return recent and self.time - self.imu_time <= self.imu_timeout  # type: ignore[operator]

    @property
    def speed_deviation(self) -> float:
        """Standard deviation of the estimated joint speeds, rad/s or m/s; with lag if speeds are not measured."""
        deviation = float(np.sqrt(self._joints.covariance[1, 1]))
        return self.noise.velocity if deviation < self.noise.velocity else LAGGING * deviation

    @property
    def turning(self) -> Array:
        """Angular velocity (3,) of the base in its axes, rad/s; without an IMU of the predicted rocking."""
        if not self.has_imu:
            return self.rocking.rate
        return self._turning.estimates[0] - self.ground.bias

    @property
    def settled(self) -> bool:
        """Whether the filters have settled."""
        return self.time is not None and self.time - max(self._began, self._imu_began) >= self.settling - 1e-9

    def _follow(self, step: float, positions: Array, velocities: Array | None) -> NDArray[np.bool_]:
        """Update load and footing with an IMU, from the measured motion. Return which contacts carry load, (c,)."""
        n, w, ground = len(self.model.joints), len(self.ground.stiffness), self.ground
        measured, state, base = np.empty((2, n)), np.empty((3, n)), np.empty(9)
        flat, results = np.empty(self.model.size), np.empty(4 * w + 7)
        touching = np.empty(len(ground.contacts.starts), np.bool_)
        measured[0], self._payload_mass[0] = positions, self.payload
        if velocities is not None:
            measured[1] = velocities
        balanced, pressed = joints_kernel(
            self.time,
            step,
            measured,
            1 if velocities is None else 2,
            self._joints.law,
            self._joints.memory,
            self._turning.law,
            self._turning.memory,
            self._accelerometer.law,
            self._accelerometer.memory,
            self._arm,
            self._rate,
            self.model.code,
            self._payload_mass,
            *ground.law,
            ground.memory,
            state,
            base,
            flat,
            results,
            touching,
        )
        self.q, self.v, self.a = state
        self.omega, self.alpha, self.specific_force = base.reshape(3, 3)
        self.load = self.model.load_of(flat)
        self.footing = ground.followed(self.load, results, balanced, pressed)
        return touching

    def _predict(self, step: float = 0.0) -> None:
        """Update load and footing without an IMU: gravity from the slope, rocking from the prediction."""
        first = self._resting is None
        plane = np.array([0.0, 0.0, 1.0, 0.0]) if self._resting is None else self._resting
        for _ in range(2 if first else 1):
            self._up = -ground_axes(plane) @ self._gravity / self.machine.gravity
            still = np.zeros(3)
            specific_force = self._up * self.machine.gravity
            self.omega, self.alpha, self.specific_force = still, still, specific_force
            self.load = self.model.evaluate(self.q, self.v, self.a, still, still, specific_force, self.payload)
            self.footing = self.ground.without_gyroscope(self.load)
            plane = self._resting = self.footing.plane
        if self.rocking.plane is not None and step > 0.0:
            self._rock(step)
        elif self.settled and self.footing is not None and self.footing.balanced:
            self.rocking.start(plane)

    def _rock(self, step: float) -> None:
        """Advance the prediction, and use it if the machine would be in equilibrium at rest now."""
        assert self.time is not None
        assert self.footing is not None
        up = -self._gravity / self.machine.gravity
        load, footing = self.rocking.advance(self.q, self.v, self.a, self.payload, up, step)
        if np.abs(self.v).max(initial=0.0) > TURNING:
            self._moved = self.time
        least = self.ground.contacts.summed(footing.normal).min()
        if not self.footing.balanced or least < LIFTING * footing.normal.sum():
            self._lifted = self.time
        if not footing.pressed or not self.rocking.upright:
            self.rocking.plane, self._lifted = None, self.time
        elif self.footing.balanced:
            self.load, self.footing = load, footing
            self._up = ground_axes(footing.plane) @ up

    def _doubted(self, balance: Balance) -> Balance:
        """Reduce the margins of a base whose motion is not measured."""
        if self.has_imu or self.time is None:
            return balance
        moving = self.time - max(self._moved, self._lifted) < UNSEEN_TIME
        ceiling = 0.0 if self.time - self._lifted < LIFTED_TIME else np.inf
        return self.guard.lower(balance, UNSEEN if moving else 0.0, ceiling)

    # -- results -----------------------------------------------------------------------------------------------------

    @property
    def up(self) -> Array:
        """Direction (3,) against gravity, base axes."""
        return UP if self._up is None else self._up

    def balance(self) -> Balance:
        """Return reactions and margins, in the frame of :meth:`footprint`; margins after :class:`MarginGuard`.

        Raises:
            ValueError: no joint states yet.
            PolygonError: the ground points of the wheels form no polygon seen along gravity or the ground's normal.
        """
        if self._balance is None:
            estimated = self.estimated_balance()
            assert self.time is not None
            self._remember()
            self._balance = self._doubted(self.guard.hold(self.time, estimated))
        return self._balance

    def estimated_balance(self) -> Balance:
        """Return reactions and margins as estimated, before the guard.

        Raises:
            ValueError: as for :meth:`balance`.
        """
        if self.load is None or self.footing is None:
            raise ValueError('no joint states yet')
        return self.balance_under(self.load, self.footing, self.up)

    def balance_under(self, load: GroundLoad, footing: Footing, up: Array) -> Balance:
        """Return reactions and margins under a load on its footing, with (3,) up against gravity in the base's axes.

        Raises:
            PolygonError: as for :meth:`balance`.
        """
        order = self.ground.polygon
        assert order is not None
        axes, origin, s = ground_axes(footing.plane), footing.plane[3] * footing.plane[:3], len(footing.feet)
        vectors = np.empty((2 * s + 4, 3))  # turned by one product
        vectors[:s], vectors[s : 2 * s], vectors[-4] = footing.feet - origin, load.axles, load.com - origin
        vectors[-3], vectors[-2], vectors[-1] = footing.force, footing.moment - cross(load.com, footing.force), up
        turned = vectors.dot(axes)
        points, com, force, moment, up = turned[:s], turned[-4], turned[-3], turned[-2], turned[-1]
        fault = self.ground.fault(points, up, UP)
        if fault:
            raise PolygonError(fault)
        frames, grip = contact_frames(turned[s : 2 * s], self._rolling), self._grip
        support = Support.of_arrays(
            feet=points[order],
            com=com,
            force=force,
            moment=moment,
            mass=float(load.mass),
            up=up,
            normal_loads=self.ground.contacts.summed(footing.normal),
            wheels=self._centers(footing.normal, points) if self.machine.contacts else points,
            gravity=self.machine.gravity,
            edge_names=self._edge_names,
            friction=None if grip is None else grip.friction,
            rolling=None if grip is None else grip.rolling(frames),
            traction=None if grip is None else grip.traction,
        )
        self._edge_names = support.edge_names  # constant, because the wheels have fixed positions on the machine
        forces, center = wheel_forces(footing.normal, points, force, moment, com)
        return self._balance_of(forces, points, frames, com, center, support)

    def _centers(self, normal: Array, points: Array) -> Array:
        """Return the centres of pressure (c, 3) of the contacts; the middle of one without load."""
        springs = self.ground.contacts
        pushes = normal + LEAST_LOAD
        return springs.summed(pushes[:, None] * points) / springs.summed(pushes)[:, None]

    def _balance_of(
        self, forces: Array, points: Array, frames: Array, com: Array, center: Array, support: Support
    ) -> Balance:
        """Return the balance for forces (s, 3) of springs at points (s, 3), in frames (s, 3, 3), summed by contact."""
        springs, order = self.ground.contacts, self.ground.polygon
        assert order is not None
        foot_names, feet, moments, polygon = None, None, None, order
        axes = frames if len(springs.starts) == len(frames) else frames[springs.starts]
        resultants = springs.summed(forces)
        centers = points if support.wheels is None else support.wheels
        if self.machine.contacts:
            arms = points - np.repeat(centers, np.diff(np.append(springs.starts, len(points))), axis=0)
            moments = np.einsum('wij,wi->wj', axes, springs.summed(np.cross(arms, forces)))
            names = [spring.name for spring in self.machine.supports]
            foot_names, feet = tuple(names[k] for k in springs.corners), points[springs.corners]
            polygon = np.searchsorted(springs.corners, order)
        return Balance(
            springs.names,
            centers,
            in_frames(axes, resultants),
            axes,
            polygon,
            com,
            center,
            margins(support, self.measures, self.ground.counted),
            support.edge_names,
            foot_names=foot_names,
            feet=feet,
            moments=moments,
            friction=support.friction,
        )

    def full_scale(self) -> dict[str, float]:
        """Return the finite margins of the machine at rest on level ground, in its first posture, unloaded.

        They are the reference for errors. The suspension is deflected accordingly.
        """
        payload, initial = self.payload, self.machine.initial.joint_positions
        self.q = np.array([initial.get(joint, 0.0) for joint in self.model.joints])
        self.payload, gravity, self._gravity = 0.0, self._gravity, np.array([0.0, 0.0, -self.machine.gravity])
        for _ in range(FULL_SCALE_ROUNDS):
            self._predict()
        margins = self.estimated_balance().margins
        self.payload, self._gravity = payload, gravity
        self.clear()
        return {name: m.value for name, m in margins.items() if m.valid and np.isfinite(m.value)}

    def footprint(self) -> tuple[Array, Array]:
        """Return axes (3, 3) and origin (3,) in the base link of the ground frame below it: `base_footprint`.

        x is the base's heading on the ground, z the ground's normal; the origin is below the base link's.
        """
        plane = np.array([0.0, 0.0, 1.0, 0.0]) if self.footing is None else self.footing.plane
        return ground_axes(plane), plane[3] * plane[:3]


def wheel_forces(normal: Array, points: Array, force: Array, moment: Array, com: Array) -> tuple[Array, Array]:
    """Return the distribution of the horizontal load among wheels that slip or deflect together, in proportion to load.

    Args:
        normal: (w,) N.
        points: (w, 3) on the ground, z its normal.
        force: (3,) load without the ground's, N.
        moment: (3,) its moment about `com`, N m.
        com: (3,) m.

    Returns:
        Forces (w, 3) of the ground on the wheels along the axes of `points`, N; and the centre of pressure (2,) or NaN.
    """
    total = float(np.add.reduce(normal))
    forces = np.zeros((len(normal), 3))
    if total <= 0.0:
        return forces, np.full(2, np.nan)
    share = normal / total
    center = share.dot(points)
    (x, y, _), (along, aside, _) = (com - center).tolist(), force.tolist()
    turn = -(float(moment[2]) + x * aside - y * along)
    stiffness = float(share.dot(squared_arms(points, center)))
    twist = turn / stiffness if stiffness > 1e-9 else 0.0
    fill_forces(share, points, center, along, aside, twist, normal, forces)
    return forces, center[:2]
