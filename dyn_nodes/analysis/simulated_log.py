"""Logs of a simulated machine: random levers, sensors with noise and quantization, and times of a bus.

The true values of a fit to such a log are available, so that its errors and intervals can be checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dyn_nodes.analysis.machine_log import MachineLog, Samples
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.actuators import hydraulic
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.inertial_sensor import read_imu
from dyn_nodes.simulation.plant import Plant

PERIOD, STEP = 0.01, 5e-4
"""Period of the true samples and step of the integrator, s."""
COMMAND_EVERY = 2
"""Number of periods between two commands."""
Command = Callable[[float], Sequence[float]]
MARGIN = 0.12
"""Part of the travel of a joint that is not used at each end."""
FREE_RANGE = 1.2
"""Half of the range of a joint without limits, rad."""


@dataclass(frozen=True)
class LogSensors:
    """Errors and times of the sensors: standard deviations of white noise, and quantization steps.

    Attributes:
        position_noise, position_step: rad or m.  velocity_noise, velocity_step: rad/s or m/s.
        gyroscope_noise, gyroscope_step: rad/s.  accelerometer_noise, accelerometer_step: m/s2.
        pressure_noise, pressure_step: Pa.
        pressure_every: number of periods of 10 ms between two samples of a line.
        position_offset, pressure_offset, gyroscope_bias, accelerometer_bias: standard deviations of constant errors: of
            each joint, subtracted from its position, rad or m; of each line, Pa; of each axis, rad/s and m/s2.
    """

    position_noise: float = 1e-4
    position_step: float = 1.7e-4
    velocity_noise: float = 2e-3
    velocity_step: float = 1.7e-4
    gyroscope_noise: float = 1e-3
    gyroscope_step: float = 1.7e-4
    accelerometer_noise: float = 0.02
    accelerometer_step: float = 2e-3
    pressure_noise: float = 2e4
    pressure_step: float = 1e3
    pressure_every: int = 3
    position_offset: float = 0.0
    pressure_offset: float = 0.0
    gyroscope_bias: float = 0.0
    accelerometer_bias: float = 0.0


@dataclass(frozen=True, eq=False)
class TrueRun:
    """True motion of a simulated machine, every `PERIOD`.

    Attributes:
        machine: simulated machine.  payload: kg.
        times: (t,) s.  positions, velocities: (t, n).  imu: (t, 6).  pressures: (t, 2) by actuator.
        commands: (t, a) commands sent at these times, V.
        dead_time: delay of a command in addition to the dead time of the machine's valves, s.
    """

    machine: Machine
    payload: float
    times: Array
    positions: Array
    velocities: Array
    imu: Array
    pressures: dict[str, Array]
    commands: Array
    dead_time: float = 0.0


@dataclass
class Levers:
    """Random levers: each drives its joint between the ends of a range at random volts, sometimes at neutral.

    Attributes:
        machine: machine of the levers.
        rng: random numbers.
        ranges: (low, high) of each joint; by default its limits less a margin.
    """

    machine: Machine
    rng: np.random.Generator
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._until: dict[str, float] = {}
        self._volts: dict[str, float] = {}
        self.ranges = joint_ranges(self.machine) | self.ranges

    def volts(self, time: float, positions: dict[str, float], signs: dict[str, float]) -> list[float]:
        """Return the volts of all levers; `signs` is +1 if a positive command increases the position."""
        result = []
        for actuator in self.machine.actuators:
            low, high = self.ranges[actuator.joint]
            q, name = positions[actuator.joint], actuator.name
            ahead = np.sign(self._volts.get(name, 0.0)) * signs[name]
            beyond = (q > high and ahead > 0.0) or (q < low and ahead < 0.0)
            if beyond or time >= self._until.get(name, 0.0):
                self._until[name] = time + float(self.rng.uniform(0.6, 2.5))
                toward = 1.0 if q < low else -1.0 if q > high else float(self.rng.choice([-1.0, 1.0]))
                level = float(self.rng.uniform(0.15, 1.0)) * actuator.command_limit
                still = not beyond and low < q < high and self.rng.random() < 0.2
                self._volts[name] = 0.0 if still else toward * signs[name] * level
            result.append(self._volts[name])
        return result


def joint_ranges(machine: Machine) -> dict[str, tuple[float, float]]:
    """Return (low, high) of the joint of every actuator, rad or m: its limits less a margin."""
    ranges = {}
    for actuator in machine.actuators:
        joint = machine.joint(actuator.joint)
        if np.isfinite(joint.lower) and np.isfinite(joint.upper):
            room = MARGIN * (joint.upper - joint.lower)
            ranges[actuator.joint] = joint.lower + room, joint.upper - room
        else:
            ranges[actuator.joint] = -FREE_RANGE, FREE_RANGE
    return ranges


class Recorder:
    """Simulation of a machine with recording of its motion.

    Args:
        machine: machine with hydraulic actuators on a free or fixed base.
        payload: kg.
        joints: initial positions by name that replace the positions of the machine, rad or m.
        plant: existing plant of this machine; None for a new one.
    """

    def __init__(
        self,
        machine: Machine,
        payload: float = 0.0,
        joints: dict[str, float] | None = None,
        plant: Plant | None = None,
    ) -> None:
        self.machine = machine
        self.plant = plant or Plant(machine, 'hydraulic', PERIOD, STEP, (), joints=joints)
        self.reset(payload)
        system = self.plant.system
        self._lines = {
            actuator.name: [system.index('state', f'{actuator.name}/{line}') for line in hydraulic(actuator).lines]
            for actuator in machine.actuators
        }
        self._inputs = [system.index('input', f'{actuator.name}/voltage') for actuator in machine.actuators]

    def reset(self, payload: float) -> None:
        """Restart from rest with a payload, kg."""
        self.payload = payload
        self.plant.set_parameter('payload_mass', payload)
        self.plant.reset()

    def random(self, seconds: float, seed: int, dead_time: float = 0.0) -> TrueRun:
        """Return a run under random levers; commands act after `dead_time`, a multiple of `PERIOD`, s."""
        levers = Levers(self.machine, np.random.default_rng(seed))
        signs = lever_signs(self.machine)
        names = self.plant.joints

        def command(time: float) -> list[float]:
            return levers.volts(time, dict(zip(names, self.plant.positions.tolist())), signs)

        return self.run(seconds, command, dead_time)

    def run(self, seconds: float, command: Command, dead_time: float = 0.0, every: int = COMMAND_EVERY) -> TrueRun:
        """Return a run with commands.

        Args:
            seconds: duration of the run.
            command: function of time, s, for the volts of all actuators.
            dead_time: delay of the commands, a multiple of `PERIOD`, s.
            every: number of periods between two commands.
        """
        plant, count, late = self.plant, round(seconds / PERIOD) + 1, round(dead_time / PERIOD)
        n, a = len(plant.joints), len(self._inputs)
        positions, velocities, imu, commands = (np.zeros((count, width)) for width in (n, n, 6, a))
        pressures = {name: np.zeros((count, 2)) for name in self._lines}
        for k in range(count):
            positions[k], velocities[k] = plant.positions, plant.velocities
            _, turn, specific_force = read_imu(plant)
            imu[k] = [*turn, *specific_force]
            for name, indices in self._lines.items():
                pressures[name][k] = plant.x[indices]
            commands[k] = command(k * PERIOD) if k % every == 0 else commands[k - 1]
            plant.u[self._inputs] = commands[k - late] if k >= late else 0.0
            plant.advance()
        times: Array = PERIOD * np.arange(count, dtype=np.float64)
        return TrueRun(
            self.machine, self.payload, times, positions, velocities, imu, pressures, commands, late * PERIOD
        )


def lever_signs(machine: Machine) -> dict[str, float]:
    """Return +1 by actuator if positive volts increase the position of its joint, else -1."""
    signs = {}
    for actuator in machine.actuators:
        linkage = getattr(actuator, 'linkage', None)
        signs[actuator.name] = 1.0 if linkage is None else float(linkage.direction)
    return signs


@dataclass(frozen=True, eq=False)
class SensorErrors:
    """Constant errors of the sensors of a log: joint offsets (n,), axes of the IMU (6,), lines (2,) by actuator."""

    offsets: Array
    imu: Array
    pressures: dict[str, Array]


def drawn_errors(run: TrueRun, sensors: LogSensors, seed: int) -> SensorErrors:
    """Return random constant errors of sensors."""
    rng = np.random.default_rng([seed, 1])
    bias = np.array([sensors.gyroscope_bias] * 3 + [sensors.accelerometer_bias] * 3) * rng.normal(size=6)
    offsets: Array = sensors.position_offset * rng.normal(size=(run.positions.shape[1],))
    lines = {actuator.name: sensors.pressure_offset * rng.normal(size=2) for actuator in run.machine.actuators}
    return SensorErrors(offsets, bias, lines)


def measured(run: TrueRun, sensors: LogSensors, seed: int, imu: bool = True) -> MachineLog:
    """Return the log of sensors for a run, with the constant errors of `drawn_errors`."""
    rng, errors = np.random.default_rng(seed), drawn_errors(run, sensors, seed)

    def sensed(values: Array, noise: float, step: float) -> Array:
        noisy = values + noise * rng.normal(size=values.shape)
        return np.round(noisy / step) * step if step > 0.0 else noisy

    s, times = sensors, run.times
    base = run.imu + errors.imu
    turn = sensed(base[:, :3], s.gyroscope_noise, s.gyroscope_step)
    specific_force = sensed(base[:, 3:], s.accelerometer_noise, s.accelerometer_step)
    names = tuple(actuator.name for actuator in run.machine.actuators)
    pressures = {}
    for k, name in enumerate(names):
        part = slice(k % s.pressure_every, None, s.pressure_every)
        values = sensed(run.pressures[name][part] + errors.pressures[name], s.pressure_noise, s.pressure_step)
        pressures[name] = Samples(times[part], values)
    return MachineLog(
        tuple(joint.name for joint in run.machine.movable_joints),
        names,
        Samples(times, sensed(run.positions - errors.offsets, s.position_noise, s.position_step)),
        Samples(times, sensed(run.velocities, s.velocity_noise, s.velocity_step)),
        Samples(times, np.column_stack((turn, specific_force))) if imu else None,
        pressures,
        Samples(times, run.commands),
        f'simulated {run.machine.name}',
    )


def with_friction(machine: Machine, friction: dict[str, float], leakage: dict[str, float] | None = None) -> Machine:
    """Return a machine with other dry friction of joints, N m or N, and leakage of actuators, m3/(s Pa), by name."""
    joints = tuple(replace(joint, friction=friction.get(joint.name, joint.friction)) for joint in machine.joints)
    leaks = leakage or {}
    actuators = tuple(
        replace(hydraulic(actuator), leakage=leaks[actuator.name])  # type: ignore[call-arg]
        if actuator.name in leaks
        else actuator
        for actuator in machine.actuators
    )
    return replace(machine, joints=joints, actuators=actuators)
