"""A simulated log as a bag with the topics of `can_bridge_node`: joint states, IMU, line pressures, valve commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer, WriterError
from rosbags.typesys import Stores, get_typestore

from dyn_nodes.analysis.machine_log import MachineLog, topics_of
from dyn_nodes.model.actuators import hydraulic
from dyn_nodes.model.machine import Machine

STORE = get_typestore(Stores.ROS2_JAZZY)
TYPES = STORE.types


def write_log(path: Path, log: MachineLog, machine: Machine) -> None:
    """Write a log to a new rosbag2 directory; log times equal the stamps.

    Raises:
        FileExistsError: the path exists.
    """
    messages = sorted(_messages(log, machine), key=lambda entry: entry[0])
    try:
        with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
            connections: dict[str, Any] = {}
            for time, topic, kind, fields in messages:
                if topic not in connections:
                    connections[topic] = writer.add_connection(f'/{topic}', kind, typestore=STORE)
                raw = STORE.serialize_cdr(TYPES[kind](**fields), kind)
                writer.write(connections[topic], round(time * 1e9), raw)
    except WriterError:
        raise FileExistsError(f'{path}: the bag directory exists; nothing is ever overwritten') from None


def _header(time: float, frame: str = '') -> Any:
    stamp = TYPES['builtin_interfaces/msg/Time'](*(int(part) for part in divmod(round(time * 1e9), 10**9)))
    return TYPES['std_msgs/msg/Header'](stamp=stamp, frame_id=frame)


def _messages(log: MachineLog, machine: Machine) -> list[tuple[float, str, str, dict[str, Any]]]:
    messages = []
    for time, q, v in zip(log.positions.times.tolist(), log.positions.values, log.velocities.values):
        fields = {'name': list(log.joints), 'position': q, 'velocity': v, 'effort': np.empty(0)}
        messages.append((time, 'joint_states', 'sensor_msgs/msg/JointState', {'header': _header(time), **fields}))
    if log.imu is not None:
        messages += [_imu(time, row, machine) for time, row in zip(log.imu.times.tolist(), log.imu.values)]
    for name, samples in log.pressures.items():
        for topic, column in zip(topics_of(hydraulic(machine.actuator(name))), samples.values.T):
            for time, value in zip(samples.times.tolist(), column.tolist()):
                fields = {'header': _header(time), 'fluid_pressure': value, 'variance': 0.0}
                messages.append((time, topic, 'sensor_msgs/msg/FluidPressure', fields))
    names = [actuator.name for actuator in machine.actuators]
    order = [log.actuators.index(name) if name in log.actuators else None for name in names]
    layout = TYPES['std_msgs/msg/MultiArrayLayout'](dim=[], data_offset=0)
    for time, row in zip(log.commands.times.tolist(), log.commands.values):
        data = np.array([0.0 if index is None else row[index] for index in order])
        messages.append((time, 'valve_commands', 'std_msgs/msg/Float64MultiArray', {'layout': layout, 'data': data}))
    return messages


def _imu(time: float, row: Any, machine: Machine) -> tuple[float, str, str, dict[str, Any]]:
    vector, none = TYPES['geometry_msgs/msg/Vector3'], np.zeros(9)
    unknown = none.copy()
    unknown[0] = -1.0
    fields = {
        'header': _header(time, machine.base.link),
        'orientation': TYPES['geometry_msgs/msg/Quaternion'](0.0, 0.0, 0.0, 1.0),
        'orientation_covariance': unknown,
        'angular_velocity': vector(*row[:3].tolist()),
        'angular_velocity_covariance': none,
        'linear_acceleration': vector(*row[3:].tolist()),
        'linear_acceleration_covariance': none,
    }
    return time, 'imu', 'sensor_msgs/msg/Imu', fields
