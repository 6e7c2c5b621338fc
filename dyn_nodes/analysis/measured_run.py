"""Measurements of a simulated machine by encoders and an IMU with noise, bias and quantization, with the truth.

Seeds are fixed: the same model and the same run give the same measurements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from scipy.spatial.transform import Rotation

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.share import find_resource
from dyn_nodes.control import Segment, VoltageProfile, load_voltage_profile
from dyn_nodes.model.machine import Machine
from dyn_nodes.monitor.measured_samples import SensorModel
from dyn_nodes.simulation import Inputs, Settings, System, initial_state
from dyn_nodes.simulation.run import SystemRun
from dyn_nodes.stability.balance import BalanceObserver

MEASURES = ('force_angle', 'load_share', 'zmp', 'net_moment')
STEADY_SPEED = 0.02
STEADY_TIME = 0.5
BEFORE_IMPACT, IMPACT_TIME = 0.02, 0.3
"""Duration of an impact before and after a wheel touches down, s."""
PHASES = ('steady', 'motion', 'impact')


@dataclass(frozen=True, eq=False)
class MeasuredRun:
    """Measurements and truth over time.

    Attributes:
        machine: simulated machine.  payload: kg.  sensors: model of the sensors.
        time: (t,) s.
        positions, velocities: (t, n) measured joint positions and velocities.
        angular_velocity, specific_force: (t, 3) measurements of the IMU at the base link's origin.
        orientation: (t, 4) quaternions x, y, z, w.
        truth: (t,) true margin by measure.
        phase: (t,) index of `PHASES`.
    """

    machine: Machine
    payload: float
    sensors: SensorModel
    time: Array
    positions: Array
    velocities: Array
    angular_velocity: Array
    specific_force: Array
    orientation: Array
    truth: dict[str, Array]
    phase: NDArray[np.intp]


def work_cycle(machine: Machine) -> VoltageProfile:
    """Return a work cycle within the limits of the log-loader: out, swing, back, valves in turn and together."""
    moves: Sequence[tuple[str, float, float, dict[str, float]]] = (
        ('out', 2.0, 4.5, {'boom': -4.0, 'stick': 4.0}),
        ('swing', 5.5, 8.0, {'swing': 4.5}),
        ('together', 9.0, 11.5, {'boom': 3.5, 'swing': -4.0}),
        ('back', 12.5, 15.0, {'boom': -3.0, 'stick': -4.0}),
    )
    names = {actuator.name for actuator in machine.actuators}
    segments = tuple(
        Segment(name, start, end, 0.5, {k: v for k, v in volts.items() if k in names})
        for name, start, end, volts in moves
    )
    return VoltageProfile('work_cycle', 18.0, segments)


def thrown_levers(machine: Machine) -> VoltageProfile:
    """Return random positions of all levers every 1.5 s with ramps of 0.1 s, also into the end stops."""
    rng = np.random.default_rng(6)
    names = [actuator.name for actuator in machine.actuators]
    size = (20, len(names))
    table = rng.uniform(-8.0, 8.0, size) * (rng.random(size) < 0.7)
    segments = tuple(
        Segment(f'throw {k + 1}', 1.0 + 1.5 * k, 2.5 + 1.5 * k, 0.1, dict(zip(names, table[k].tolist())))
        for k in range(13)
    )
    return VoltageProfile('thrown_levers', 22.0, segments)


def reference_task(recovery: bool = True) -> VoltageProfile:
    """Return the reference task of the log-loader, in which the machine tips and recovers."""
    return load_voltage_profile(find_resource('config/tasks/pick_and_place_recovery.yaml'), recovery=recovery)


def simulate(
    machine: Machine, profile: VoltageProfile, payload: float, rate: float, slope: tuple[float, float]
) -> SystemRun:
    """Return the run of a machine from rest with a profile of voltages, sampled at a rate, Hz."""
    system = System(machine)
    names = tuple(actuator.name for actuator in machine.actuators)
    volts = profile.evaluate(profile.knot_times, names)
    inputs = Inputs(profile.knot_times, {f'{name}/voltage': volts[:, k] for k, name in enumerate(names)})
    p = system.parameters({'payload_mass': payload}, slope)
    times = np.arange(round(profile.duration * rate) + 1) / rate
    return system.run(initial_state(system, p), times, inputs, p, Settings(step=1.0 / rate / 10.0))


def measure(
    machine: Machine,
    profile: VoltageProfile,
    payload: float,
    sensors: SensorModel | None = None,
    slope: tuple[float, float] = (0.0, 0.0),
) -> MeasuredRun:
    """Return measurements of a simulated machine.

    Args:
        machine: machine with a free base and hydraulics.
        profile: voltages of the valves.
        payload: kg.
        sensors: errors of the sensors.
        slope: (roll, pitch) of the ground, rad.
    """
    sensors = sensors or SensorModel()
    run = simulate(machine, profile, payload, sensors.rate, slope)
    motion = _Motion(run)
    rng = np.random.default_rng(sensors.seed)

    def noise(like: Array, deviation: float) -> Array:
        return rng.normal(0.0, deviation, like.shape)

    def constant(deviation: float) -> Array:
        return rng.normal(0.0, deviation, 3)

    raw = motion.positions + noise(motion.positions, sensors.position_noise)
    turned = motion.orientation * Rotation.from_rotvec(constant(sensors.orientation_error))
    omega = motion.omega + constant(sensors.gyroscope_bias) + noise(motion.omega, sensors.gyroscope_noise)
    specific_force = (
        motion.specific_force
        + constant(sensors.accelerometer_bias)
        + noise(motion.specific_force, sensors.accelerometer_noise)
    )
    return MeasuredRun(
        machine,
        payload,
        sensors,
        run.times,
        np.round(raw / sensors.position_step) * sensors.position_step,
        motion.velocities + noise(motion.velocities, sensors.velocity_noise),
        omega,
        specific_force,
        turned.as_quat(),
        motion.truth,
        motion.phase,
    )


class _Motion:
    """The true motion of a run in the quantities of the sensors."""

    def __init__(self, run: SystemRun) -> None:
        system, machine = run.system, run.system.machine
        nq, nv = system.nq, system.nv
        x = run.states
        joints = [joint.name for joint in machine.movable_joints]
        self.positions, self.velocities = x[:, nq - len(joints) : nq], x[:, nq + 6 : nq + nv]
        self.omega = x[:, nq : nq + 3]
        self.orientation = Rotation.from_quat(x[:, 3:7])
        base = [name.removesuffix('_rate') for name in system.state_names[nq + 3 : nq + 6]]
        spatial = np.column_stack([run.output(f'{name}_acceleration') for name in base])
        gravity = run.parameters[:3]
        classical = spatial + np.cross(self.omega, x[:, nq + 3 : nq + 6])
        self.specific_force = classical - self.orientation.inv().apply(gravity)
        # the IMU's world frame has z up; the simulation's is the ground's frame
        self.orientation = _level(gravity) * self.orientation
        observer = BalanceObserver(system, MEASURES)
        outputs = np.array([system.outputs(state, np.zeros(len(system.input_names)), run.parameters) for state in x])
        balances = [observer.observe(y, gravity) for y in outputs]
        self.truth = {name: np.array([b.margins[name].value for b in balances]) for name in MEASURES}
        loads = np.array([b.forces[:, 2] for b in balances])
        self.phase = _phases(run.times, np.column_stack((self.velocities, self.omega)), loads)


def _level(gravity: Array) -> Rotation:
    """Return the rotation from the ground's frame to a frame with z against gravity."""
    up = -gravity / np.linalg.norm(gravity)
    return Rotation.align_vectors([[0.0, 0.0, 1.0]], [up])[0]


def _phases(time: Array, speeds: Array, loads: Array) -> NDArray[np.intp]:
    """Return the phases: steady without motion for `STEADY_TIME`, impact around the touch-down of a wheel."""
    phase = np.full(len(time), PHASES.index('motion'), dtype=np.intp)
    moving = np.abs(speeds).max(axis=1) > STEADY_SPEED
    last = np.maximum.accumulate(np.where(moving, time, -np.inf))
    phase[time - last > STEADY_TIME] = PHASES.index('steady')
    down = np.zeros(len(time), dtype=bool)
    down[1:] = ((loads[1:] > 0.0) & (loads[:-1] <= 0.0)).any(axis=1)
    for instant in time[down]:
        phase[(time >= instant - BEFORE_IMPACT) & (time <= instant + IMPACT_TIME)] = PHASES.index('impact')
    return phase


def full_scale(machine: Machine) -> dict[str, float]:
    """Return the margins for 100 %: machine on level ground, in its initial posture, without payload."""
    system = System(machine)
    p = system.parameters({'payload_mass': 0.0}, (0.0, 0.0))
    y = system.outputs(initial_state(system, p), np.zeros(len(system.input_names)), p)
    margins = BalanceObserver(system, MEASURES).observe(y, p[:3]).margins
    return {name: float(margin.value) for name, margin in margins.items()}


# -- as a bag ----------------------------------------------------------------------------------------------------------

STORE = get_typestore(Stores.ROS2_JAZZY)


def write_bag(path: Path | str, run: MeasuredRun) -> None:
    """Write measurements to a new rosbag2 directory: `joint_states`, `imu`, `payload`, and `truth/stability/<measure>`.

    Log times equal the stamps.
    """
    types = STORE.types
    joints = [joint.name for joint in run.machine.movable_joints]
    frame, covariance = run.machine.base.link, np.zeros(9)

    with Writer(Path(path), version=9, storage_plugin=StoragePlugin.MCAP) as writer:

        def topic(name: str, kind: str):  # type: ignore[no-untyped-def]
            connection = writer.add_connection(f'/{name}', kind, typestore=STORE)

            def write(log: int, **fields: Any) -> None:
                writer.write(connection, log, STORE.serialize_cdr(types[kind](**fields), kind))

            return write

        states, imu = topic('joint_states', 'sensor_msgs/msg/JointState'), topic('imu', 'sensor_msgs/msg/Imu')
        payload = topic('payload', 'std_msgs/msg/Float64')
        truth = {name: topic(f'truth/stability/{name}', 'std_msgs/msg/Float64') for name in run.truth}
        payload(0, data=run.payload)
        for k, time in enumerate(run.time.tolist()):
            log = round(time * 1e9)
            stamp = types['builtin_interfaces/msg/Time'](*(int(part) for part in divmod(log, 10**9)))
            imu(
                log,
                header=types['std_msgs/msg/Header'](stamp=stamp, frame_id=frame),
                orientation=types['geometry_msgs/msg/Quaternion'](*run.orientation[k].tolist()),
                orientation_covariance=covariance,
                angular_velocity=types['geometry_msgs/msg/Vector3'](*run.angular_velocity[k].tolist()),
                angular_velocity_covariance=covariance,
                linear_acceleration=types['geometry_msgs/msg/Vector3'](*run.specific_force[k].tolist()),
                linear_acceleration_covariance=covariance,
            )
            states(
                log,
                header=types['std_msgs/msg/Header'](stamp=stamp, frame_id=''),
                name=joints,
                position=run.positions[k],
                velocity=run.velocities[k],
                effort=np.empty(0),
            )
            for name, write in truth.items():
                write(log, data=float(run.truth[name][k]))
