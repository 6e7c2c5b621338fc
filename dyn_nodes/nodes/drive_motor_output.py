"""`valve_commands` of a vehicle on electric motors: the efforts of its controllers as voltages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.control.motor_law import MotorLaw
from dyn_nodes.control.wheel_unit import NoVehicleError
from dyn_nodes.middleware import message
from dyn_nodes.model.actuators import electric_motors
from dyn_nodes.model.machine import Machine
from dyn_nodes.nodes.arrays import stamp_volts, volts_message
from dyn_nodes.nodes.exchange import Every, command_qos
from dyn_nodes.nodes.group_values import command_publisher

Float64MultiArray = message('std_msgs/msg/Float64MultiArray')


def is_on_motors(machine: Machine) -> bool:
    """Return whether electric motors move all actuated joints of a machine."""
    return len(electric_motors(machine.actuators)) == len(machine.actuators) > 0


class DriveMotorOutput:
    """Publishes the volts of all motors of a machine, in its order.

    Args:
        node: a vehicle controller with `machine`, `values`, `lockstep`, `paced` and `stamp`.
        joints: of the computed efforts, in their order.
        measured: joints of the measured rates, in their order.

    Raises:
        NoVehicleError: a joint without a motor, or a motor on another joint.
    """

    def __init__(self, node: Any, joints: Sequence[str], measured: Sequence[str]) -> None:
        machine: Machine = node.machine
        self.law = MotorLaw(machine.actuators)
        missing = set(joints) ^ set(self.law.joint_names)
        if missing:
            raise NoVehicleError(
                f'{machine.name}: expected a motor on each of {", ".join(joints)} and on no other joint, '
                f'found otherwise: {", ".join(sorted(missing))}'
            )
        self._efforts_at = [list(joints).index(name) for name in self.law.joint_names]
        self._rates_at = [list(measured).index(name) for name in self.law.joint_names]
        self._node, values = node, node.values
        self._lockstep = node.lockstep
        self._due = Every('command_period', values['command_period'], values['exchange_period'], not node.paced)
        self._out = volts_message([motor.name for motor in self.law.motors])
        self.publisher = command_publisher(node, Float64MultiArray, 'valve_commands', command_qos(node.lockstep))

    def is_due(self, stamp: int) -> bool:
        """Return whether a command is due at an instant, ns."""
        return self._due.at(stamp) if self._lockstep else self._due.passed(stamp)

    def publish(self, efforts: ArrayLike, rates: ArrayLike) -> None:
        """Publish the volts of efforts, N m or N, at measured rates, in the orders of the constructor."""
        wanted, measured = np.asarray(efforts, dtype=float), np.asarray(rates, dtype=float)
        self._out.data = self.law.voltages(wanted[self._efforts_at], measured[self._rates_at]).tolist()
        stamp_volts(self._out, self._node.stamp)
        self.publisher.publish(self._out)
