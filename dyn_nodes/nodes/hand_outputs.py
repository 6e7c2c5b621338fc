"""Commands that lead the joints of a hand along its references: volts of valves or motors, or joint positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.control.hand import (
    ArmDynamics,
    HandFollower,
    HandMotors,
    HandValves,
    MotorLoopGains,
    ValveLoopGains,
)
from dyn_nodes.control.motor_servo import MotorServo
from dyn_nodes.middleware import message
from dyn_nodes.model.machine import Machine
from dyn_nodes.nodes.arrays import stamp_volts, volts_message
from dyn_nodes.nodes.drive_motor_output import is_on_motors
from dyn_nodes.nodes.drives import drive_dynamics
from dyn_nodes.nodes.exchange import set_stamp, valve_order
from dyn_nodes.nodes.parameters import ParameterError, group

Array = NDArray[np.float64]
JointState = message('sensor_msgs/msg/JointState')
Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
State = tuple[Array, Array]
"""Positions and rates of all joints of the hand's tree."""


class PositionOutput:
    """`joint_command`: positions and velocities of the hand's joints, one message for every `joint_states`."""

    kind, topic = JointState, 'joint_command'
    every_exchange = True
    """The dynamics waits for a command at every exchange, not once a period."""
    takes_efforts = False

    def __init__(self, follower: HandFollower) -> None:
        self.follower = follower
        self.message = JointState(name=list(follower.reference.hand.joints))

    def restart(self, time: float, posture: Array) -> None:
        """Nothing is kept."""

    def carry(self, payload: float) -> None:
        """Take a payload, kg: it makes no difference."""

    def tune(self, values: dict[str, Any]) -> None:
        """Take changed parameters: there are none."""

    def fill(self, stamp: int, time: float, state: State, efforts: Array | None) -> None:
        """Write the command of an instant into the message."""
        target = self.follower.sample(time)
        self._write(stamp, target.position, target.velocity)

    def fill_neutral(self, stamp: int, state: State | None) -> bool:
        """Write the joints where they were last into the message; False where that is unknown."""
        if state is None:
            return False
        held = state[0][self.follower.reference.hand.places]
        self._write(stamp, held, np.zeros(len(held)))
        return True

    def _write(self, stamp: int, positions: Array, velocities: Array) -> None:
        set_stamp(self.message, stamp)
        self.message.position, self.message.velocity = positions.tolist(), velocities.tolist()


class VoltageOutput:
    """`valve_commands` of all actuators of a machine: a base of those of valves and of motors."""

    kind, topic = Float64MultiArray, 'valve_commands'
    every_exchange = False

    def __init__(self, machine: Machine) -> None:
        self.order = [machine.actuators[k] for k in valve_order(machine, [])]
        self.message = volts_message([own.name for own in self.order])

    def fill_neutral(self, stamp: int, state: State | None) -> bool:
        """Write 0 V into the message."""
        self._write(stamp, [0.0] * len(self.order))
        return True

    def _write(self, stamp: int, volts: list[float]) -> None:
        self.message.data = volts
        stamp_volts(self.message, stamp)


class ValveOutput(VoltageOutput):
    """Volts of valves.

    Raises:
        ValueError: a joint of the hand without a hydraulic actuator.
    """

    takes_efforts = True

    def __init__(self, machine: Machine, follower: HandFollower, values: dict[str, Any]) -> None:
        super().__init__(machine)
        self.hand = follower.reference.hand
        arm = ArmDynamics(self.hand, (0.0, 0.0, -machine.gravity))
        self.loops = HandValves(follower, arm, machine.actuators, group(values, 'gains', ValveLoopGains))
        arm.model(self.hand.home)  # loads the machine code before time begins
        self._places = [self.order.index(own) for own in self.loops.actuators]

    def restart(self, time: float, posture: Array) -> None:
        """Forget what was measured before."""
        self.loops.restart(time)

    def carry(self, payload: float) -> None:
        """Reckon with a payload, kg."""
        self.loops.arm.payload = payload

    def tune(self, values: dict[str, Any]) -> None:
        """Take changed gains. Raises ParameterError."""
        self.loops.gains = group(values, 'gains', ValveLoopGains)

    def fill(self, stamp: int, time: float, state: State, efforts: Array | None) -> None:
        """Write the voltages of an instant into the message."""
        places = self.hand.places
        own = None if efforts is None else efforts[places]
        data = np.zeros(len(self.order))
        data[self._places] = self.loops.voltages(time, state[0], state[1][places], own)
        self._write(stamp, data.tolist())


class MotorOutput(VoltageOutput):
    """Volts of electric motors.

    Raises:
        ValueError: a joint of a tree that no motor moves, or motors that do not determine the motion of closed loops.
    """

    takes_efforts = False

    def __init__(self, machine: Machine, follower: HandFollower, values: dict[str, Any]) -> None:
        super().__init__(machine)
        drives = drive_dynamics(machine, [own.joint for own in self.order])
        servo = MotorServo(machine, self.order, values['command_period'], drives)
        self.loops = HandMotors(follower, servo, group(values, 'motors', MotorLoopGains))

    def restart(self, time: float, posture: Array) -> None:
        """Hold the joints that are not the hand's where they are; closed loops begin at the machine's start."""
        self.loops.servo.drives.restart()
        self.loops.restart(posture)

    def carry(self, payload: float) -> None:
        """Reckon with a payload, kg."""
        self.loops.servo.payload = payload

    def tune(self, values: dict[str, Any]) -> None:
        """Take changed gains. Raises ParameterError."""
        self.loops.gains = group(values, 'motors', MotorLoopGains)

    def fill(self, stamp: int, time: float, state: State, efforts: Array | None) -> None:
        """Write the voltages of an instant into the message. Raises OpenLoopError."""
        self._write(stamp, self.loops.voltages(time, *state).tolist())


Output = PositionOutput | ValveOutput | MotorOutput


def output_of(machine: Machine, follower: HandFollower, values: dict[str, Any]) -> Output:
    """Return the output that the parameter `output` names. Raises ParameterError where it does not fit the machine."""
    if values['output'] == 'joint_command':
        return PositionOutput(follower)
    try:
        kind = MotorOutput if is_on_motors(machine) else ValveOutput
        return kind(machine, follower, values)
    except ParameterError:
        raise
    except ValueError as error:
        raise ParameterError(f"parameter 'output': machine {machine.name!r}: {error}") from None
