"""Commands that move a hand along its references: volts of valves or motors, joint positions, efforts of drives."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.errors import MethodError
from dyn_nodes.constraints.traced_space import TracedSpace
from dyn_nodes.control.hand import (
    POSITION,
    ArmDynamics,
    HandFollower,
    HandKinematics,
    HandMotors,
    HandValves,
    LoopGains,
    MotorLoopGains,
    ValveLoopGains,
    WholeBodyFollower,
    WholeBodyServo,
)
from dyn_nodes.control.motor_servo import MotorServo
from dyn_nodes.middleware import message
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.rotations import quaternion_of_matrix
from dyn_nodes.nodes.arrays import stamp_volts, volts_message
from dyn_nodes.nodes.drive_motor_output import is_on_motors
from dyn_nodes.nodes.drives import drive_dynamics
from dyn_nodes.nodes.exchange import set_stamp, valve_order
from dyn_nodes.nodes.parameters import ParameterError, group

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
        """Do nothing: there is no state."""

    def carry(self, payload: float) -> None:
        """Ignore a payload, kg."""

    def tune(self, values: dict[str, Any]) -> None:
        """Ignore changed parameters."""

    def fill(self, stamp: int, time: float, state: State, efforts: Array | None) -> None:
        """Write the command of an instant into the message."""
        target = self.follower.sample(time)
        self._write(stamp, target.position, target.velocity)

    def fill_neutral(self, stamp: int, state: State | None) -> bool:
        """Write the last positions of the joints into the message; return False if they are unknown."""
        if state is None:
            return False
        held = state[0][self.follower.reference.hand.indices]
        self._write(stamp, held, np.zeros(len(held)))
        return True

    def _write(self, stamp: int, positions: Array, velocities: Array) -> None:
        set_stamp(self.message, stamp)
        self.message.position, self.message.velocity = positions.tolist(), velocities.tolist()


class VoltageOutput:
    """`valve_commands` of all actuators of a machine: base class for valves and motors."""

    kind, topic = Float64MultiArray, 'valve_commands'
    every_exchange = False

    def __init__(self, machine: Machine) -> None:
        self.order = [machine.actuators[k] for k in valve_order(machine, [])]
        self.message = volts_message([actuator.name for actuator in self.order])

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
        arm.model(self.hand.home)  # loads the machine code before the first command
        self._indices = [self.order.index(actuator) for actuator in self.loops.actuators]

    def restart(self, time: float, posture: Array) -> None:
        """Drop previous measurements."""
        self.loops.restart(time)

    def carry(self, payload: float) -> None:
        """Set the payload, kg."""
        self.loops.arm.payload = payload

    def tune(self, values: dict[str, Any]) -> None:
        """Set changed gains. Raises ParameterError."""
        self.loops.gains = group(values, 'gains', ValveLoopGains)

    def fill(self, stamp: int, time: float, state: State, efforts: Array | None) -> None:
        """Write the voltages of an instant into the message."""
        indices = self.hand.indices
        measured = None if efforts is None else efforts[indices]
        data = np.zeros(len(self.order))
        data[self._indices] = self.loops.voltages(time, state[0], state[1][indices], measured)
        self._write(stamp, data.tolist())


class MotorOutput(VoltageOutput):
    """Volts of electric motors.

    Raises:
        ValueError: a joint of a tree without a motor, or motors that do not determine the motion of closed loops.
    """

    takes_efforts = False

    def __init__(self, machine: Machine, follower: HandFollower, values: dict[str, Any]) -> None:
        super().__init__(machine)
        drives = drive_dynamics(machine, [actuator.joint for actuator in self.order])
        servo = MotorServo(machine, self.order, values['command_period'], drives)
        self.loops = HandMotors(follower, servo, group(values, 'motors', MotorLoopGains))

    def restart(self, time: float, posture: Array) -> None:
        """Hold the joints that do not move the hand; closed loops start at the initial posture of the machine."""
        self.loops.servo.drives.restart()
        self.loops.restart(posture)

    def carry(self, payload: float) -> None:
        """Set the payload, kg."""
        self.loops.servo.payload = payload

    def tune(self, values: dict[str, Any]) -> None:
        """Set changed gains. Raises ParameterError."""
        self.loops.gains = group(values, 'motors', MotorLoopGains)

    def fill(self, stamp: int, time: float, state: State, efforts: Array | None) -> None:
        """Write the voltages of an instant into the message. Raises OpenLoopError."""
        self._write(stamp, self.loops.voltages(time, *state).tolist())


class EffortOutput:
    """`joint_command`: efforts of all drives of a vehicle with an arm that move a point together.

    Raises:
        ValueError: a base that is not free, no constraints, actuators, or drives that do not determine the motion.
    """

    kind, topic = JointState, 'joint_command'
    every_exchange = True
    takes_efforts = False

    def __init__(self, machine: Machine, follower: WholeBodyFollower, values: dict[str, Any]) -> None:
        from dyn_nodes.simulation.constrained_machine import constrained_machine  # a large import

        if machine.base.attachment != 'free' or not machine.needs_constraints or machine.actuators:
            raise ValueError('expected a vehicle whose wheels roll by constraint, with efforts as its drives')
        self.follower, hand = follower, follower.hand
        start = constrained_machine(machine)
        blocks = start.system.blocks
        tree, joints = blocks.tree, [joint.name for joint in machine.actuated_joints]
        try:
            space = TracedSpace(blocks, tree.frame(hand.link), joints, [start.q])
        except MethodError as error:
            raise ValueError(str(error)) from None
        limits = [machine.joint(name).effort_limit for name in joints]
        self.servo = WholeBodyServo(space, hand.joints, limits, _gains(values))
        self._q = start.q.copy()
        self._positions = [tree.position_names.index(name) for name in hand.names]
        self._drives = [hand.names.index(name) for name in joints]
        self.message = JointState(name=joints)
        still = np.zeros(len(joints))
        self.servo.efforts(self._q, still, still, follower.reference)  # traced before the first command

    def restart(self, time: float, posture: Array) -> None:
        """Set the present posture of the arm as its reference."""
        self.servo.posture = np.asarray(posture, dtype=np.float64)[self._drives]

    def carry(self, payload: float) -> None:
        """Set the payload, kg."""
        self.servo.space.payload = payload

    def tune(self, values: dict[str, Any]) -> None:
        """Set changed gains. Raises ParameterError."""
        self.servo.gains = _gains(values)

    def fill(self, stamp: int, time: float, state: State, efforts: Array | None) -> None:
        """Write the efforts of an instant into the message; the positions of the joints if the point cannot move."""
        base = self.follower.base
        self._q[:3], self._q[3:7] = base.position, quaternion_of_matrix(base.rotation)
        self._q[self._positions] = state[0]
        measured = state[0][self._drives], state[1][self._drives]
        try:
            result = self.servo.efforts(self._q, *measured, self.follower.reference)
        except MethodError:
            self.fill_neutral(stamp, state)
            return
        set_stamp(self.message, stamp)
        self.message.position, self.message.velocity, self.message.effort = [], [], result.tolist()

    def fill_neutral(self, stamp: int, state: State | None) -> bool:
        """Write the last positions of the joints into the message; return False if they are unknown."""
        if state is None:
            return False
        set_stamp(self.message, stamp)
        self.message.position, self.message.velocity = state[0][self._drives].tolist(), [0.0] * len(self._drives)
        self.message.effort = []
        return True


def _gains(values: dict[str, Any]) -> LoopGains:
    gains = group(values, 'motors', MotorLoopGains)
    return LoopGains(gains.bandwidth, gains.damping_ratio, gains.null_bandwidth)


def whole_body_of(hand: HandKinematics, values: dict[str, Any]) -> WholeBodyFollower:
    """Return the follower of base and arm together. Raises ParameterError."""
    frame, rows = values['target_frame'], [row for row in values['rows'] if row]
    if frame != 'world':
        raise ParameterError(
            f"parameter 'target_frame': expected world, as the base moves with output effort, found {frame}"
        )
    if rows and rows != list(POSITION):
        raise ParameterError(f"parameter 'rows': expected x, y, z with output effort, found {', '.join(rows)}")
    return WholeBodyFollower(hand, values['command_period'], values['tolerance'])


Output = PositionOutput | ValveOutput | MotorOutput | EffortOutput


def output_of(machine: Machine, follower: HandFollower | WholeBodyFollower, values: dict[str, Any]) -> Output:
    """Return the output of the parameter `output`. Raises ParameterError if it does not fit the machine."""
    if isinstance(follower, WholeBodyFollower):
        try:
            return EffortOutput(machine, follower, values)
        except ValueError as error:
            raise ParameterError(f"parameter 'output': machine {machine.name!r}: effort: {error}") from None
    if values['output'] == 'joint_command':
        return PositionOutput(follower)
    try:
        kind = MotorOutput if is_on_motors(machine) else ValveOutput
        return kind(machine, follower, values)
    except ParameterError:
        raise
    except ValueError as error:
        raise ParameterError(f"parameter 'output': machine {machine.name!r}: {error}") from None
