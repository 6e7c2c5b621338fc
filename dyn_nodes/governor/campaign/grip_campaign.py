"""An adversary against the grip governor: random `cmd_vel` and arm motions of a simulated vehicle, with it and without.

A wheel slides if its friction force equals the sliding friction at a slip speed along its grip above `SLIP`, for longer
than `LASTING`. It lifts if it carries no load for as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.processes import LastingPool
from dyn_nodes.control.arm_servo import ArmServo
from dyn_nodes.control.motion import PositionMotion
from dyn_nodes.control.trajectory import JointTrajectory, TrajectoryPoint
from dyn_nodes.control.wheel_base import WheelBase
from dyn_nodes.control.wheel_drive import DriveLimits
from dyn_nodes.control.wheel_motion import JointValues, WheelMotion
from dyn_nodes.governor.arm_pace import SLOWEST, STILL, ArmPace, slowed
from dyn_nodes.governor.grip_governor import GripGovernor
from dyn_nodes.governor.grip_model import COMING, GripModel, is_astray, joint_states
from dyn_nodes.governor.settings import GripSettings
from dyn_nodes.model.equilibrium import NoEquilibriumError, gravity_in_ground
from dyn_nodes.model.machine import Machine, Slope
from dyn_nodes.simulation.plant import Plant
from dyn_nodes.stability.grip import grip_of

STEP = 5e-4
"""Step of the integrator, s."""
REFRESH = 0.02
"""Period with which the governor updates the posture, s."""
TRIES = 50
LASTING = 0.05
SLIDING = 0.95
"""Fraction of the sliding friction above which a force counts as sliding."""
SLIP = 0.05
"""Slip speed of a wheel that slides, m/s."""
OVER = 0.6
"""Tilt of the base at which a run ends, rad."""


@dataclass(frozen=True)
class GripCase:
    """A run.

    Attributes:
        number: of the run.
        twists: (time s, vx, vy, wz) of the commands.
        arm: (time s, duration s, goal of every joint of the arm) of its trajectories.
        posture: of the arm at the start.
        payload: kg.
        slope: roll and pitch of the ground, rad.
    """

    number: int
    twists: tuple[tuple[float, float, float, float], ...]
    arm: tuple[tuple[float, float, tuple[float, ...]], ...]
    posture: tuple[float, ...]
    payload: float
    slope: tuple[float, float]


@dataclass(frozen=True)
class GripOutcome:
    """Results of a run.

    Attributes:
        slid, lifted, overturned: a wheel slid, a wheel lifted, the vehicle overturned.
        friction_use: greatest of all wheels.
        load_share: least normal force of a wheel over an equal share.
        way: distance driven, m.
        led: distance of the twists after limits and governor, m.
        wanted: distance of the commands, m, without limits of their rates.
        slowed: number of arm trajectories that were slowed or rejected.
        commands: number of commands to base and arm, up to the end of the run.
    """

    slid: bool
    lifted: bool
    overturned: bool
    friction_use: float
    load_share: float
    way: float
    led: float
    wanted: float
    slowed: int
    commands: int


@dataclass(frozen=True)
class GripBox:
    """Ranges of the cases.

    Attributes:
        limits: of the vehicle.
        seconds: length of a run.
        slope: steepest ground, rad.
        period: of the commands, s; the default is the one of `dyn-nodes launch vehicle`.
    """

    limits: DriveLimits
    seconds: float = 4.0
    slope: float = 0.087
    period: float = 0.005


def arm_of(machine: Machine, base: WheelBase) -> tuple[str, ...]:
    """Return the driven joints that are neither wheels nor steering."""
    wheel_joints = {wheel.drive for wheel in base.wheels} | {wheel.steering for wheel in base.wheels}
    return tuple(joint.name for joint in machine.actuated_joints if joint.name not in wheel_joints)


def check_machine(machine: Machine) -> None:
    """Raise ValueError, one of its kinds, for a machine that the adversary cannot drive."""
    GripModel(machine, WheelBase.of(machine))
    if machine.needs_constraints:
        raise ValueError(f'{machine.name}: expected a vehicle on springs without constraints')


def random_case(machine: Machine, box: GripBox, seed: int, number: int) -> GripCase:
    """Return the random case of a seed and a number.

    Raises:
        NoEquilibriumError: none of many random postures has load on all wheels.
    """
    rng = np.random.default_rng((seed, number))
    base = WheelBase.of(machine)
    names = arm_of(machine, base)
    twists, time = [], 0.2
    sideways = 1.0 if base.constraint is None else 0.0
    while time < box.seconds:
        kind = rng.random()
        size = np.array([box.limits.linear_speed, sideways * box.limits.linear_speed, box.limits.angular_speed])
        wanted = np.zeros(3) if kind < 0.2 else size * np.sign(rng.uniform(-1, 1, 3)) * rng.uniform(0.0, 1.0, 3) ** 0.5
        if kind > 0.6:  # full reversals and full speed ahead
            wanted = size * np.array([rng.choice([-1.0, 1.0]), 0.0, rng.choice([-1.0, 0.0, 1.0])])
        twists.append((time, float(wanted[0]), float(wanted[1]), float(wanted[2])))
        time += float(rng.uniform(0.3, 1.2))

    def posture() -> tuple[float, ...]:
        joints = [machine.joint(name) for name in names]
        return tuple(float(rng.uniform(max(j.lower, -1.5), min(j.upper, 1.5))) for j in joints)

    moves, time = [], float(rng.uniform(0.2, 0.6))
    while names and time < box.seconds:  # the next one may start while the arm still moves
        moves.append((time, float(rng.uniform(0.4, 1.2)), posture()))
        time += float(rng.uniform(0.4, 1.4))
    payload = 0.0 if machine.payload is None else float(rng.uniform(0.0, machine.payload.limit or 0.0))
    slope = tuple(float(x) for x in rng.uniform(-box.slope, box.slope, 2))
    case = GripCase(number, tuple(twists), tuple(moves), (), payload, (slope[0], slope[1]))
    for _ in range(TRIES if names else 1):
        case = replace(case, posture=posture() if names else ())
        if _carries_load_on_all_wheels(machine, names, case):
            return case
    raise NoEquilibriumError(f'{machine.name}: has load on all wheels in none of {TRIES} random postures')


def _plant(machine: Machine, names: tuple[str, ...], case: GripCase, period: float) -> Plant:
    """Return the vehicle of a case at rest."""
    joints = dict(zip(names, case.posture))
    values = {'payload_mass': case.payload} if machine.payload is not None else {}
    return Plant(machine, 'effort', period, STEP, (), joints=joints or None, values=values or None, slope=case.slope)


def _carries_load_on_all_wheels(machine: Machine, names: tuple[str, ...], case: GripCase) -> bool:
    """Return whether all wheels carry load at rest in the initial posture."""
    try:
        plant = _plant(machine, names, case, 0.005)
    except NoEquilibriumError:
        return False
    return all(plant.output(f'{wheel.name}/normal_force') > 0.0 for wheel in machine.wheels)


class GripRig:
    """A simulated vehicle with its controller, with the grip governor or without it."""

    def __init__(self, machine: Machine, case: GripCase, box: GripBox, settings: GripSettings | None) -> None:
        base, limits = WheelBase.of(machine), box.limits
        self.names, self.case, self.period = arm_of(machine, base), case, box.period
        self.plant = plant = _plant(machine, self.names, case, box.period)
        self.motion = WheelMotion(base, box.period, limits)
        self._wheels, self._driven, self._arm = (
            np.array([plant.joints.index(name) for name in names], dtype=np.intp)
            for names in (self.motion.joints, self.motion.commanded, self.names)
        )
        self.servo = ArmServo(machine, self.names, 15.0) if self.names else None
        self.arm = PositionMotion(self.names) if self.names else None
        if self.servo is not None and self.arm is not None:
            self.servo.payload = case.payload
            self.servo.restart(plant.positions, plant.efforts)
            self.arm.restart(plant.positions[self._arm])
        self.motion.restart(self._state())
        self.governor: GripGovernor | None = None
        self._gravity = gravity_in_ground(replace(machine, slope=Slope(*case.slope)))
        if settings is not None:
            self.model = GripModel(machine, base)
            turning = limits.angular_acceleration / limits.linear_acceleration
            self.governor = GripGovernor(self.model, settings, base.constraint, turning)
            self.pace = ArmPace(self.governor, self.model, self.names)
            self.motion.drive.governor = self.governor
            self.motion.load = self.model.planar
        grip = [wheel.friction for wheel in machine.wheels]
        self._static = grip_of(machine).friction
        self._kinetic = np.array([0.0 if law is None else law.kinetic for law in grip])
        index = plant.system.index
        rows = [[index('output', f'{wheel.name}/{part}') for part in PARTS] for wheel in machine.wheels]
        self._rows = np.array(rows, dtype=np.intp)
        self._rollers = np.array(
            [wheel.rolling.roller_angle or 0.0 if wheel.rolling else 0.0 for wheel in machine.wheels]
        )
        self._tyres = np.array(
            [wheel.rolling is None or wheel.rolling.roller_angle is None for wheel in machine.wheels]
        )
        self.slowed = 0

    def _state(self) -> JointValues:
        plant = self.plant
        return JointValues(*(values[self._wheels] for values in (plant.positions, plant.velocities, plant.efforts)))

    def gravity(self) -> Array:
        """Return gravity (3,) in axes of the base."""
        c, s = np.cos(self.motion.odometry.pose[2]), np.sin(self.motion.odometry.pose[2])
        x, y, z = self._gravity
        return np.array([c * x + s * y, c * y - s * x, z])

    def move(self, duration: float, goal: Sequence[float]) -> None:
        """Send the arm to a goal, as its controller accepts a trajectory."""
        assert self.arm is not None
        here, rates = self.plant.positions[self._arm], self.plant.velocities[self._arm]
        rest = np.zeros(len(self.names))
        points = [TrajectoryPoint(duration, goal, rest, rest)]
        trajectory = JointTrajectory.from_points(self.names, points).starting_from(here, rates)
        if self.governor is not None:
            angles = self.motion.steering_angles(self.plant.positions[self._wheels])
            state = (self.plant.positions, angles, self.motion.drive.twist)
            pace = self.pace.of(trajectory, *state, self.case.payload, self.gravity())
            self.slowed += pace.factor != 1.0
            if not pace.factor >= SLOWEST or (pace.factor < 1.0 and np.abs(rates).max() > STILL):
                return
            trajectory = slowed(trajectory, pace.factor)
        self.arm.follow(trajectory, self.plant.time, here, rates)

    def advance(self, wanted: Array, refresh: bool) -> None:
        """Advance by a period with a requested twist."""
        plant = self.plant
        reference = None if self.arm is None else self.arm.sample(plant.time)
        if self.governor is not None and refresh:
            coming = [] if self.arm is None else self.arm.coming(plant.time, COMING)
            self.governor.halts = is_astray(plant.positions, self._arm, coming)
            postures = joint_states(plant.positions, plant.velocities, self._arm, coming)
            angles = self.motion.steering_angles(plant.positions[self._wheels])
            self.model.set_state(*postures, angles, self.case.payload, self.gravity())
            self.governor.refresh()
        command = self.motion.step(wanted, self.period, self._state())
        efforts = np.zeros(len(plant.joints))
        efforts[self._driven] = command.effort
        if self.servo is not None and reference is not None and self.motion.reference is not None:
            driven = self.motion.odometry.twist, self.motion.reference.acceleration
            efforts[self._arm] = self.servo.efforts(plant.positions, plant.velocities, *driven, reference)
        plant.set_efforts(efforts)
        plant.advance()

    def wheels(self) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Return friction uses (w,), shares of the load (w,), and which wheels slide (w,)."""
        y = self.plant.outputs()[self._rows]
        friction, normal = np.hypot(y[:, 0], y[:, 1]), y[:, 2]
        with np.errstate(divide='ignore', invalid='ignore'):
            use = np.where(normal > 0.0, friction / (self._static * normal), 0.0)
        gripping = y[:, 3] * np.cos(self._rollers) + y[:, 4] * np.sin(self._rollers)
        slip = np.where(self._tyres, np.hypot(y[:, 3], y[:, 4]), np.abs(gripping))
        slides = (friction >= SLIDING * self._kinetic * normal) & (slip > SLIP) & (normal > 0.0)
        return use, normal / max(float(normal.mean()), 1e-9), np.asarray(slides)


PARTS = ('friction_longitudinal', 'friction_lateral', 'normal_force', 'slip_longitudinal', 'slip_lateral')


def run_case(machine: Machine, case: GripCase, box: GripBox, settings: GripSettings | None) -> GripOutcome:
    """Run a case with the governor, or without it if there are no settings."""
    rig, period = GripRig(machine, case, box, settings), box.period
    every = max(1, round(REFRESH / period))
    moves, twists, commands = list(case.arm), list(case.twists), 0
    wanted, asked, led, use, share = np.zeros(3), 0.0, 0.0, 0.0, np.inf
    sliding, lifted = (np.zeros(len(machine.wheels)) for _ in range(2))
    slid = off = over = False
    for k in range(round(box.seconds / period)):
        time = k * period
        while twists and twists[0][0] <= time:
            wanted, commands = np.array(twists.pop(0)[1:]), commands + 1
        while moves and moves[0][0] <= time:
            rig.move(*moves.pop(0)[1:])
            commands += 1
        rig.advance(wanted, k % every == 0)
        asked += float(np.hypot(*wanted[:2])) * period
        led += float(np.hypot(*rig.motion.drive.twist[:2])) * period
        uses, shares, slides = rig.wheels()
        use, share = max(use, float(uses.max())), min(share, float(shares.min()))
        sliding, lifted = np.where(slides, sliding + period, 0.0), np.where(shares <= 0.0, lifted + period, 0.0)
        slid, off = slid or bool(sliding.max() > LASTING), off or bool(lifted.max() > LASTING)
        x, y, _, _ = rig.plant.base_pose()[1]
        over = bool(1.0 - 2.0 * (x * x + y * y) < np.cos(OVER))
        if over:
            break
    way = rig.motion.odometry.distance
    return GripOutcome(slid, off, over, use, share, float(way), led, asked, rig.slowed, commands)


@dataclass(frozen=True)
class _Job:
    machine: Machine
    box: GripBox
    settings: GripSettings
    seed: int

    def __call__(self, number: int) -> tuple[GripOutcome, GripOutcome]:
        case = random_case(self.machine, self.box, self.seed, number)
        return run_case(self.machine, case, self.box, None), run_case(self.machine, case, self.box, self.settings)


def campaign(
    machine: Machine,
    box: GripBox,
    runs: int,
    seed: int = 1,
    settings: GripSettings | None = None,
    jobs: int = 1,
    keep: Callable[[int, tuple[GripOutcome, GripOutcome]], None] = lambda number, outcomes: None,
    first: int = 0,
) -> list[tuple[GripOutcome, GripOutcome]]:
    """Return the outcomes of random cases, without the governor and with it.

    Args:
        machine: the vehicle.
        box: of the cases.
        runs: number of cases.
        seed: of the random numbers.
        settings: of the governor.
        jobs: processes.
        keep: receives the number of each case and its outcomes, in their order.
        first: number of the first case; with the seed it determines the case.
    """
    job = _Job(machine, box, settings or GripSettings(), seed)
    result = []
    numbers = range(first, first + runs)
    for number, outcome in zip(numbers, _outcomes(job, numbers, jobs)):
        result.append(outcome)
        keep(number, outcome)
    return result


def _outcomes(job: _Job, numbers: range, jobs: int) -> Iterator[tuple[GripOutcome, GripOutcome]]:
    if jobs == 1:
        yield from map(job, numbers)
        return
    with LastingPool(jobs, name='case') as pool:
        yield from pool.map(job, numbers)
