"""Measurements of a bus as topics, and topics of a simulated machine as measurements of its bus."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from dyn_nodes.can.mapping import IMU_AXES, CanMapping, Channel, Frame, Key
from dyn_nodes.can.receiver import Receiver
from dyn_nodes.middleware import QoSProfile, message
from dyn_nodes.monitor.signal_checks import JointChecks
from dyn_nodes.nodes.exchange import set_stamp
from dyn_nodes.nodes.stamps import NANO

JointState, Imu = message('sensor_msgs/msg/JointState'), message('sensor_msgs/msg/Imu')
FluidPressure, Float64 = message('sensor_msgs/msg/FluidPressure'), message('std_msgs/msg/Float64')
WrenchStamped = message('geometry_msgs/msg/WrenchStamped')


def names_of(frames: Iterable[Frame], kind: str) -> tuple[str, ...]:
    """Return the names of the channels of a kind."""
    return tuple(channel.name for frame in frames for channel in frame.channels if channel.kind == kind)


class MeasurementTopics:
    """Publishers of the measurements of a machine on a bus.

    `joint_states` and `imu` are published when each of their signals has a new value, the others with their frame.

    Args:
        node: the node.
        mapping: of the bus.
        receiver: of the values.
        checks: receive the published joint states; None: no checks.
    """

    def __init__(self, node: Any, mapping: CanMapping, receiver: Receiver, checks: JointChecks | None = None) -> None:
        self.receiver, self._checks, qos = receiver, checks, QoSProfile(depth=10)
        frames = mapping.measurements
        self._joints = names_of(frames, 'position')
        moving = names_of(frames, 'velocity')
        self._rates = self._joints if set(moving) >= set(self._joints) else ()
        self._groups: list[tuple[set[Key], set[Key], Callable[[int], None]]] = []
        if self._joints:
            self._states = node.create_publisher(JointState, 'joint_states', qos)
            keys = {('position', name) for name in self._joints} | {('velocity', name) for name in self._rates}
            self._groups.append((keys, set(), self._publish_joints))  # type: ignore[arg-type]
        if names_of(frames, 'imu'):
            self._imu_frame = mapping.machine.base.link
            self._imu = node.create_publisher(Imu, 'imu', qos)
            self._groups.append(({('imu', name) for name in IMU_AXES}, set(), self._publish_imu))
        self._single: dict[Key, tuple[Any, Any]] = {}
        for frame in frames:
            for channel in frame.channels:
                self._single.update(self._made(node, channel, qos))

    @staticmethod
    def _made(node: Any, channel: Channel, qos: Any) -> dict[Key, tuple[Any, Any]]:
        kinds = {
            'pressure': (FluidPressure, f'hydraulics/{channel.name}'),
            'payload': (Float64, 'payload'),
            'wheel_load': (Float64, f'wheel_loads/{channel.name}'),
        }
        if channel.kind not in kinds:
            return {}
        kind, topic = kinds[channel.kind]
        return {channel.key: (node.create_publisher(kind, topic, qos), kind)}

    def take(self, frame: Frame, at: float, stamp: int) -> None:
        """Publish the messages that a frame completes, received at a steady time, s; `stamp` of the messages, ns."""
        new = {channel.key for channel in frame.channels if self.receiver.received_at.get(channel.key) == at}
        for wanted, have, publish in self._groups:
            have |= new & wanted
            if have == wanted:
                have.clear()
                publish(stamp)
        for key in new & self._single.keys():
            publisher, kind = self._single[key]
            value = self.receiver.values[key]
            if kind is Float64:
                publisher.publish(Float64(data=value))
            else:
                msg = FluidPressure(fluid_pressure=value)
                set_stamp(msg, stamp)
                publisher.publish(msg)

    def _publish_joints(self, stamp: int) -> None:
        values = self.receiver.values
        msg = JointState(name=list(self._joints))
        msg.position = [values['position', name] for name in self._joints]
        msg.velocity = [values['velocity', name] for name in self._rates]
        if self._checks is not None:
            speeds = np.array(msg.velocity) if self._rates else None
            self._checks.take(stamp / NANO, np.array(msg.position), speeds)
        set_stamp(msg, stamp)
        self._states.publish(msg)

    def _publish_imu(self, stamp: int) -> None:
        values, msg = self.receiver.values, Imu()
        msg.header.frame_id = self._imu_frame
        for name in IMU_AXES:
            vector, axis = name.rsplit('_', 1)
            setattr(getattr(msg, vector), axis, values['imu', name])
        msg.orientation_covariance[0] = -1.0
        set_stamp(msg, stamp)
        self._imu.publish(msg)


class SimulatedMeasurements:
    """Subscriptions to the measurements of a simulated machine.

    Args:
        node: the node.
        frames: that carry the measurements.
        timeout: of a quantity, s.
    """

    def __init__(self, node: Any, frames: Iterable[Frame], timeout: float) -> None:
        self.timeout = timeout
        self._values: dict[Key, tuple[float, float]] = {}
        frames = tuple(frames)
        joints = set(names_of(frames, 'position')) | set(names_of(frames, 'velocity'))
        if joints:
            node.create_subscription(JointState, 'joint_states', self._on_joints, QoSProfile(depth=10))
        if names_of(frames, 'imu'):
            node.create_subscription(Imu, 'imu', self._on_imu, QoSProfile(depth=10))
        for name in names_of(frames, 'pressure'):
            take = self._taker(('pressure', name), lambda msg: msg.fluid_pressure)
            node.create_subscription(FluidPressure, f'hydraulics/{name}', take, QoSProfile(depth=10))
        for name in names_of(frames, 'wheel_load'):
            take = self._taker(('wheel_load', name), lambda msg: msg.wrench.force.z)
            node.create_subscription(WrenchStamped, f'ground_reactions/{name}', take, QoSProfile(depth=10))
        if names_of(frames, 'payload'):
            take = self._taker(('payload', 'payload'), lambda msg: msg.data)
            node.create_subscription(Float64, 'payload', take, QoSProfile(depth=10))

    def fresh_values(self, now: float) -> dict[Key, float]:
        """Return the quantities that have not timed out; any thread may call this."""
        return {
            key: value for key, (value, received_at) in list(self._values.items()) if now - received_at <= self.timeout
        }

    def _set(self, key: Key, value: float) -> None:
        if math.isfinite(value):
            self._values[key] = value, time.monotonic()

    def _taker(self, key: Key, of: Callable[[Any], float]) -> Callable[[Any], None]:
        return lambda msg: self._set(key, float(of(msg)))

    def _on_joints(self, msg: Any) -> None:
        for name, position in zip(msg.name, msg.position):
            self._set(('position', name), float(position))
        for name, velocity in zip(msg.name, msg.velocity):
            self._set(('velocity', name), float(velocity))

    def _on_imu(self, msg: Any) -> None:
        for name in IMU_AXES:
            vector, axis = name.rsplit('_', 1)
            self._set(('imu', name), float(getattr(getattr(msg, vector), axis)))
