"""`valve_commands` of a vehicle with hydraulic motors at wheels or tracks; the levers of other valves pass through."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyn_nodes.control.drive_valves import DriveValves, ValveGains
from dyn_nodes.control.wheel_drive import DriveReference
from dyn_nodes.control.wheel_motion import JointValues, WheelMotion
from dyn_nodes.middleware import QoSProfile, message
from dyn_nodes.nodes import commands
from dyn_nodes.nodes.arrays import stamp_volts, volts_message
from dyn_nodes.nodes.exchange import Every, command_qos
from dyn_nodes.nodes.group_values import command_publisher

Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
TOPIC = 'valve_commands_in'


class DriveValveOutput:
    """Publishes the volts of all valves of a machine, in its order.

    The motors of wheels and tracks follow the reference of the motion. The other valves, and all valves while `cmd_vel`
    commands no motion, get the volts of `valve_commands_in`; neutral after their timeout.

    At the start, after a restart and after `cmd_vel` has driven, a lever of wheels or tracks acts only once it has been
    within the dead zone of its valve: a lever that is held deflected must not start the vehicle.

    Args:
        node: a vehicle controller with `machine`, `values`, `lockstep`, `paced`, `stamp` and `time`.
        motion: of wheels and tracks.
        gains: of the motors.

    Attributes:
        valves: of the wheels and tracks.
        names: of all valves.
        taken: number of accepted commands of levers.

    Raises:
        NoVehicleError: a driven wheel without a hydraulic motor.
    """

    def __init__(self, node: Any, motion: WheelMotion, gains: ValveGains) -> None:
        machine = node.machine
        self.node, self.motion = node, motion
        self.valves = DriveValves(machine, motion.base, gains)
        self.names = [actuator.name for actuator in machine.actuators]
        self.taken = 0
        self._limits = np.array([actuator.command_limit for actuator in machine.actuators])
        self._due = Every(
            'command_period', node.values['command_period'], node.values['exchange_period'], not node.paced
        )
        self._out = volts_message(self.names)
        self._levers, self._levers_at = np.zeros(len(self.names)), -np.inf
        self._waits = np.ones(len(self.valves.indices), dtype=bool)
        self._time: float | None = None
        self._volts = np.zeros(len(self.names))
        self.publisher = command_publisher(node, Float64MultiArray, 'valve_commands', command_qos(node.lockstep))
        node.create_subscription(Float64MultiArray, TOPIC, self._on_levers, QoSProfile(depth=10))

    def _on_levers(self, msg: Any) -> None:
        try:
            volts = commands.voltages(msg, self.names, self._limits, TOPIC)
        except commands.RejectedError as error:
            self.node.reject(error)
            return
        self._levers, self._levers_at = volts, self.node.time
        self._waits &= np.abs(volts[self.valves.indices]) > self.valves.dead_volts
        self.taken += 1

    def restart(self) -> None:
        """Start at neutral, as after a reset or a timeout."""
        self.valves.reset()
        self._levers, self._levers_at, self._time = np.zeros(len(self.names)), -np.inf, None
        self._waits[:] = True

    @property
    def waiting(self) -> list[str]:
        """Return the valves of wheels and tracks whose deflected levers must first return to neutral."""
        indices = self.valves.indices[self._waits]
        return [self.names[index] for index in indices if self._levers[index] != 0.0]

    def is_due(self, stamp: int) -> bool:
        """Return whether a command is due at an instant, ns."""
        return self._due.at(stamp) if self.node.lockstep else self._due.passed(stamp)

    def publish(self, reference: DriveReference | None, state: JointValues, resting: bool) -> None:
        """Publish the volts of an instant.

        Args:
            reference: of the wheels.
            state: of the joints of the motion.
            resting: whether no motion of wheels and tracks is commanded: the levers may move them.
        """
        now = self.node.time
        since, self._time = 0.0 if self._time is None else now - self._time, now
        timed_out = not 0.0 <= now - self._levers_at <= self.node.values['cmd_vel_timeout']
        self._volts[:] = 0.0 if timed_out else self._levers
        if reference is not None and not resting:
            speeds = self.motion.about_axles(state.velocity)
            efforts = None if state.effort is None else self.motion.about_axles(state.effort)
            self._volts[self.valves.indices] = self.valves.volts(reference, since, speeds, efforts)
            self._waits[:] = True
        else:
            self._volts[self.valves.indices[self._waits]] = 0.0
            self.valves.reset()
        self._out.data = self._volts.tolist()
        stamp_volts(self._out, self.node.stamp)
        self.publisher.publish(self._out)
