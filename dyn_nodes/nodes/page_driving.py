"""Ways to drive a machine on the page of the cockpit: voltages of valves, cmd_vel, or positions of joints."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from dyn_nodes.control.dead_part import beyond, dead_part, resting_load
from dyn_nodes.middleware import Node, QoSProfile, message
from dyn_nodes.model import Machine
from dyn_nodes.model.actuators import oil_actuators
from dyn_nodes.nodes.valve_outlet import ValveOutlet
from dyn_nodes.viewer.held_sliders import HeldSliders
from dyn_nodes.viewer.levers import Levers
from dyn_nodes.viewer.panel import Controls
from dyn_nodes.viewer.snapshot import Snapshot

Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
JointTrajectory = message('trajectory_msgs/msg/JointTrajectory')
JointTrajectoryPoint = message('trajectory_msgs/msg/JointTrajectoryPoint')
Twist, TwistStamped = message('geometry_msgs/msg/Twist'), message('geometry_msgs/msg/TwistStamped')

SLOWED, LEAST_TIME, FASTEST = 2.5, 0.5, 1.0
"""Time of a joint to its slider over the time at its greatest speed; least time, s; greatest speed of a joint without a
limit, rad/s or m/s."""
TRAJECTORY_PERIOD, TRAJECTORY_TIME = 0.2, 0.6
"""Least time between two trajectories of joints, and duration of each, s: without page or node the joints soon stop."""
DEAD_PERIOD = 0.5
"""Period of the computation of the levers' dead parts, s."""


class Driving(Protocol):
    """A way to drive."""

    @property
    def topic(self) -> str:
        """Return the topic that needs a subscription of another node."""

    @property
    def unknown(self) -> str:
        """Return why it cannot start before the first measurement, or '' if it needs no measurements."""

    @property
    def levers(self) -> Levers:
        """Return the levers or sliders on the page."""

    def set_up(self, controls: Controls) -> None:
        """Show its controls on the page."""

    def publish(self, values: Sequence[float]) -> None:
        """Publish the values of the levers."""

    def show(self, controls: Controls, snapshot: Snapshot, note: str) -> None:
        """Update its controls on the page."""


class ValveDriving:
    """Levers of valves or motors, V.

    Args:
        node: the node.
        levers: by the names of the actuators, in the order of `valve_commands`.
        machine: for the dead parts of the levers; None: unknown.
        governed: whether volts go to a governor only.
    """

    unknown = 'The state of the machine is unknown: no joint_states were received.'

    def __init__(self, node: Node, levers: Levers, machine: Machine | None, governed: bool = False) -> None:
        self.levers, self._outlet = levers, ValveOutlet(node, levers.names, governed)
        actuators = machine.actuators if machine is not None else ()
        self._oil = {actuator.name: actuator for actuator in oil_actuators(actuators) if actuator.name in levers.names}
        self._unloaded = {name: dead_part(actuator) for name, actuator in self._oil.items()}
        self.dead = dict(self._unloaded)
        self.skips = False
        self._loaded: set[str] = set()
        self.computed_at = -1e9

    @property
    def topic(self) -> str:
        """Return the present topic of volts: of the valves, or of a governor before them."""
        return self._outlet.topic

    @property
    def is_governed(self) -> bool:
        """Return whether volts go to a governor."""
        return self._outlet.is_governed

    @property
    def offers_override(self) -> bool:
        """Return whether a held key overrides the governor of the volts."""
        return self._outlet.offers_override

    def override(self, is_held: bool) -> None:
        """Publish the held key of the governor."""
        self._outlet.override(is_held)

    def set_up(self, controls: Controls) -> None:
        """Show a lever for each valve."""
        controls.set_valves(self.levers.names, self.levers.limits)
        if self.dead:
            controls.offer_skipping()

    def publish(self, values: Sequence[float]) -> None:
        """Publish volts, beyond the dead parts if requested."""
        named = dict(zip(self.levers.names, values))
        if self.skips:
            named |= {name: beyond(named[name], dead, self.levers.limits[name]) for name, dead in self.dead.items()}
        self._outlet.publish(list(named.values()))

    def show(self, controls: Controls, snapshot: Snapshot, note: str) -> None:
        """Show the switch, the levers and their dead parts."""
        controls.show_levers(self.levers.armed, note)
        now = time.monotonic()
        if self._oil and now - self.computed_at >= DEAD_PERIOD:
            self.computed_at = now
            values = self.levers.values(now)
            self._learn(snapshot.pressures, [name for name, value in values.items() if value == 0.0])
            controls.show_dead_parts(self.dead, values, self.skips, self._loaded)

    def switch_skipping(self, on: bool, client: int | None, now: float) -> bool:
        """Switch the skipping of dead parts on or off at a wall time, s.

        Returns False if the page does not drive, or a lever is deflected, whose volts would jump.
        """
        if not self.levers.armed or client != self.levers.owner or any(self.levers.values(now).values()):
            return False
        self.skips = on
        return True

    def _learn(self, pressures: Mapping[str, float], resting: Sequence[str]) -> None:
        """Compute the dead parts of levers at neutral, at which the pressures are due to the load.

        Without plausible pressures it is the dead part without a load.
        """
        for name, actuator in self._oil.items():
            if name not in resting:
                continue
            lines = [pressures.get(f'{name}/{line.removesuffix("_pressure")}', math.nan) for line in actuator.lines]
            load = resting_load(actuator, lines[0], lines[1])
            if load is None:
                self.dead[name] = self._unloaded[name]
                self._loaded.discard(name)
            else:
                self.dead[name] = dead_part(actuator, load)
                self._loaded.add(name)


class TwistDriving:
    """Sliders of `cmd_vel`.

    Args:
        node: the node.
        linear, angular: greatest speeds, m/s and rad/s.
        stamped: whether it is a TwistStamped.
        idle_timeout: of the levers, s.
    """

    topic = 'cmd_vel'
    unknown = ''
    UNITS: ClassVar[dict[str, str]] = {'ahead': 'm/s', 'left': 'm/s', 'turn left': 'rad/s'}

    def __init__(self, node: Node, linear: float, angular: float, stamped: bool, idle_timeout: float) -> None:
        limits = dict(zip(self.UNITS, (linear, linear, angular)))
        self.levers = Levers(tuple(self.UNITS), limits, idle_timeout)
        self._node, self._kind = node, TwistStamped if stamped else Twist
        self._out: Any = None

    def set_up(self, controls: Controls) -> None:
        """Show three sliders and hold-to-move buttons."""
        controls.set_valves(self.levers.names, self.levers.limits, self.UNITS, 'Nothing is sent before it is on.')

    def publish(self, values: Sequence[float]) -> None:
        """Publish a twist with stamp 0, which means now."""
        if self._out is None:
            self._out = self._node.create_publisher(self._kind, self.topic, QoSProfile(depth=10))
        result = self._kind()
        twist = result.twist if self._kind is TwistStamped else result
        twist.linear.x, twist.linear.y, twist.angular.z = (float(value) for value in values)
        self._out.publish(result)

    def show(self, controls: Controls, snapshot: Snapshot, note: str) -> None:
        """Show the switch and the sliders."""
        controls.show_levers(self.levers.armed, note)


class JointDriving:
    """Sliders of joint positions, degrees or mm, as goals of `joint_trajectory`.

    Args:
        node: the node.
        machine: with at least one driven joint.
    """

    topic = 'joint_trajectory'
    unknown = 'The joint positions are unknown: no joint_states of all joints were received.'

    def __init__(self, node: Node, machine: Machine) -> None:
        self._node = node
        self._joints = machine.actuated_joints
        self._factor = {joint.name: 1e3 if joint.type == 'prismatic' else math.degrees(1.0) for joint in self._joints}
        self.units = {joint.name: 'mm' if joint.type == 'prismatic' else '°' for joint in self._joints}
        self.levers = HeldSliders(
            {
                joint.name: (
                    max(joint.lower, -math.pi) * self._factor[joint.name],
                    min(joint.upper, math.pi) * self._factor[joint.name],
                )
                for joint in self._joints
            }
        )
        self._out: Any = None
        self._published = -1e9
        self._goal: list[float] | None = None

    def set_up(self, controls: Controls) -> None:
        """Show a slider for each joint."""
        controls.set_held(self.levers.ranges, self.units)

    def publish(self, values: Sequence[float]) -> None:
        """Set a goal; the way to it is published piece by piece."""
        self._goal = [float(value) for value in values]

    def _send(self, goal: Sequence[float]) -> None:
        """Publish the way to a goal, or its first part, and drop the goal after the last part."""
        if self._out is None:
            self._out = self._node.create_publisher(JointTrajectory, self.topic, QoSProfile(depth=10))
        seconds = self.time_to(goal)
        part = min(1.0, TRAJECTORY_TIME / seconds)
        self._goal = list(goal) if part < 1.0 else None
        positions = []
        for joint, value in zip(self._joints, goal):
            here = self.levers.present.get(joint.name, value)
            position = (here + part * (value - here)) / self._factor[joint.name]
            positions.append(min(max(position, joint.lower), joint.upper))
        point = JointTrajectoryPoint(positions=positions)
        seconds *= part
        point.time_from_start.sec = int(seconds)
        point.time_from_start.nanosec = int(1e9 * (seconds - int(seconds)))
        self._out.publish(JointTrajectory(joint_names=[joint.name for joint in self._joints], points=[point]))

    def time_to(self, goal: Sequence[float]) -> float:
        """Return the time from the present positions to a goal in degrees or mm, s."""
        longest = LEAST_TIME
        for joint, value in zip(self._joints, goal):
            way = abs(value - self.levers.present.get(joint.name, value)) / self._factor[joint.name]
            longest = max(longest, SLOWED * way / min(joint.velocity_limit, FASTEST))
        return longest

    def show(self, controls: Controls, snapshot: Snapshot, note: str) -> None:
        """Show the switch and the sliders, and publish a waiting goal."""
        joints = snapshot.joints
        present = {name: joints[name] * factor for name, factor in self._factor.items() if name in joints}
        self.levers.present = present if len(present) == len(self._joints) else {}
        controls.show_pose(self.levers.armed, note, self.levers.present)
        now = time.monotonic()
        if self._goal is not None and now - self._published >= TRAJECTORY_PERIOD:
            self._published = now
            self._send(self._goal)
