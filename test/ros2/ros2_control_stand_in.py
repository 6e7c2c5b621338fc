"""Plays the part of controller_manager, JointStateTopicSystem and joint_trajectory_controller, habits included.

Written from the plug-in's source (topic_based_hardware_interfaces 1.1.0) and the controllers' documentation:
- the hardware's node is in the namespace of the controller manager;
- the hardware's topics, joints and interfaces come from the <ros2_control> block of the latched robot_description;
- joint states are received best effort; a value that is not finite leaves the state unchanged;
- commands are NaN until a controller is active, and are sent like that;
- a message names every joint of the block; an array has only the values of the joints with that command interface;
- nothing is sent while the sum of |state - command| over all command interfaces is at most the threshold
  (1e-5 by default; a NaN in the sum is not at most anything, so it is sent);
- the controller holds where it was activated, then follows a trajectory by splines through positions and velocities.
"""

from __future__ import annotations

import math
from typing import Any
from xml.etree import ElementTree

import numpy as np

from dyn_nodes.middleware import (
    Context,
    DurabilityPolicy,
    Node,
    Parameter,
    QoSProfile,
    message,
    qos_profile_sensor_data,
)

JointState = message('sensor_msgs/msg/JointState')
String = message('std_msgs/msg/String')
UPDATE_RATE = 100.0
PLUGIN = 'joint_state_topic_hardware_interface/JointStateTopicSystem'


class Hardware:
    """Contents of the block of a description, and the values of the interfaces."""

    def __init__(self, description: str) -> None:
        block = ElementTree.fromstring(description).find('ros2_control')
        assert block is not None, 'the description has no <ros2_control> block'
        assert block.attrib['type'] == 'system'
        hardware = block.find('hardware')
        assert hardware is not None
        assert (hardware.findtext('plugin') or '').strip() == PLUGIN
        parameters = {item.attrib['name']: (item.text or '').strip() for item in hardware.findall('param')}
        self.commands_topic = parameters.get('joint_commands_topic', '/robot_joint_commands')
        self.states_topic = parameters.get('joint_states_topic', '/robot_joint_states')
        self.threshold = float(parameters.get('trigger_joint_command_threshold', 1e-5))
        self.joints = [joint.attrib['name'] for joint in block.findall('joint')]
        self.state: dict[str, float] = {}
        self.command: dict[str, float] = {}
        for joint in block.findall('joint'):
            for item in joint.findall('state_interface'):
                initial = item.find("param[@name='initial_value']")
                value = float(initial.text or 'nan') if initial is not None else math.nan
                self.state[f'{joint.attrib["name"]}/{item.attrib["name"]}'] = value
            for item in joint.findall('command_interface'):
                self.command[f'{joint.attrib["name"]}/{item.attrib["name"]}'] = math.nan


class ControllerManager(Node):
    """Reads, updates, writes a hundred times a simulated second.

    A joint_trajectory_controller leads the joints with a position interface, `speeds` all others.

    Args:
        context: of the node.
        namespace: of the node.

    Attributes:
        speeds: commands of joints with a velocity interface alone, by name; none: NaN.
        sent, kept: command messages published, and held back by the threshold.
        worst: greatest distance of a joint from its reference while the controller is active, rad.
        greatest: greatest velocity and effort of each joint of `joint_states`, rad/s and N m.
    """

    def __init__(self, context: Context, namespace: str = '') -> None:
        options = {'namespace': namespace, 'parameter_overrides': [Parameter('use_sim_time', value=True)]}
        super().__init__('controller_manager', context=context, **options)
        self.speeds: dict[str, float] = {}
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.hardware: Hardware | None = None
        self.trajectory: Any = None
        self.sent = self.kept = self.received = 0
        self.worst = 0.0
        self.greatest: dict[str, tuple[float, float]] = {}
        self._newest: Any = None
        self.create_subscription(String, 'robot_description', self._on_description, latched)

    def _on_description(self, msg: Any) -> None:
        self.hardware = hardware = Hardware(msg.data)
        self._out = self.create_publisher(JointState, hardware.commands_topic, QoSProfile(depth=1))
        self.create_subscription(JointState, hardware.states_topic, self._on_states, qos_profile_sensor_data)
        self.create_timer(1.0 / UPDATE_RATE, self._update)

    def _on_states(self, msg: Any) -> None:
        self._newest = msg
        self.received += 1
        for name, velocity, effort in zip(msg.name, msg.velocity, msg.effort):
            before = self.greatest.get(name, (0.0, 0.0))
            self.greatest[name] = max(before[0], abs(velocity)), max(before[1], abs(effort))

    @property
    def led(self) -> list[str]:
        """Return the joints of the joint_trajectory_controller."""
        assert self.hardware is not None
        return [name for name in self.hardware.joints if f'{name}/position' in self.hardware.command]

    @property
    def positions(self) -> np.ndarray:
        assert self.hardware is not None
        return np.array([self.hardware.state[f'{name}/position'] for name in self.led])

    def activate(self) -> None:
        """Activate the joint_trajectory_controller: it holds the present positions."""
        self.trajectory = np.zeros(1), self.positions[None], np.zeros((1, len(self.positions)))
        self._began = self.get_clock().now().nanoseconds

    def follow(self, goal: Any, duration: float) -> None:
        """Take a trajectory of one point with zero velocity at its end, from where the joints are."""
        positions = np.array([self.positions, np.asarray(goal)])
        self.trajectory = np.array([0.0, duration]), positions, np.zeros_like(positions)
        self._began = self.get_clock().now().nanoseconds

    def reference(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the cubic spline's positions and velocities now."""
        times, positions, velocities = self.trajectory
        elapsed = (self.get_clock().now().nanoseconds - self._began) * 1e-9
        if elapsed >= times[-1]:
            return positions[-1], velocities[-1]
        length, s = times[-1], elapsed / times[-1]
        value = positions[0] + (positions[1] - positions[0]) * (3 * s**2 - 2 * s**3)
        return value, (positions[1] - positions[0]) * (6 * s - 6 * s**2) / length

    def _update(self) -> None:
        hardware = self.hardware
        assert hardware is not None
        self._read(hardware)
        if self.trajectory is not None:
            positions, velocities = self.reference()
            self.worst = max(self.worst, float(np.abs(positions - self.positions).max()))
            for name, position, velocity in zip(self.led, positions, velocities):
                hardware.command[f'{name}/position'] = float(position)
                hardware.command[f'{name}/velocity'] = float(velocity)
        for name in set(hardware.joints) - set(self.led):
            hardware.command[f'{name}/velocity'] = self.speeds.get(name, math.nan)
        self._write(hardware)

    def _read(self, hardware: Hardware) -> None:
        if self._newest is None:
            return
        for index, name in enumerate(self._newest.name):
            for kind in ('position', 'velocity', 'effort'):
                values = getattr(self._newest, kind)
                if len(values) and math.isfinite(values[index]) and f'{name}/{kind}' in hardware.state:
                    hardware.state[f'{name}/{kind}'] = float(values[index])

    def _write(self, hardware: Hardware) -> None:
        difference = sum(abs(hardware.state[name] - value) for name, value in hardware.command.items())
        if difference <= hardware.threshold:
            self.kept += 1
            return
        command = JointState()
        command.header.stamp = self.get_clock().now().to_msg()
        command.name = list(hardware.joints)
        for kind in ('position', 'velocity'):
            keys = [f'{name}/{kind}' for name in hardware.joints]
            setattr(command, kind, [hardware.command[key] for key in keys if key in hardware.command])
        self._out.publish(command)
        self.sent += 1
