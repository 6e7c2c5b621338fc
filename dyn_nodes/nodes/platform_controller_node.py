"""Controller of a platform on six driven legs: poses and 6-D trajectories in, motor voltages out.

    dyn-nodes run platform_controller_node --ros-args -p machine:=stewart_platform

Without a target the platform is held. It moves to a pose with limited speed and acceleration; poses and trajectories
beyond the reach of a leg are rejected with its name. Only the legs must be measured.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from dyn_nodes.common.share import find_resource
from dyn_nodes.control.motor_motion import MotorLoop
from dyn_nodes.control.motor_servo import MotorServo
from dyn_nodes.control.platform_follower import PlatformFollower, ReachError
from dyn_nodes.control.pose_reference import PoseLimits
from dyn_nodes.control.pose_task import TimedPose, load_pose_task
from dyn_nodes.control.pose_trajectory import PoseTrajectory
from dyn_nodes.middleware import DurabilityPolicy, QoSProfile, SetParametersResult, message
from dyn_nodes.model.actuators import electric_motors
from dyn_nodes.nodes import commands
from dyn_nodes.nodes.arrays import stamp_volts, volts_message
from dyn_nodes.nodes.diagnostics import ERROR, WARN, DiagnosticsPublisher, Health
from dyn_nodes.nodes.drives import drive_dynamics
from dyn_nodes.nodes.exchange import Every, announce_partner, command_qos, data_qos, is_lockstep, set_stamp, states_qos
from dyn_nodes.nodes.follower import CommandingNode, FollowerHealth
from dyn_nodes.nodes.group_values import command_publisher
from dyn_nodes.nodes.hand_messages import check_frame, fill_pose, pose_of
from dyn_nodes.nodes.joint_state_reader import JointStateReader
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.nodes.parameters import ParameterError, declare, group, node_parameters
from dyn_nodes.nodes.platform_messages import trajectory_of
from dyn_nodes.nodes.plausible import Bounds
from dyn_nodes.nodes.running import run_node

JointState, PoseStamped = message('sensor_msgs/msg/JointState'), message('geometry_msgs/msg/PoseStamped')
Float64, Float64MultiArray = message('std_msgs/msg/Float64'), message('std_msgs/msg/Float64MultiArray')
String = message('std_msgs/msg/String')
MultiDOFJointTrajectory = message('trajectory_msgs/msg/MultiDOFJointTrajectory')

PARAMETERS = node_parameters('platform_controller_node')
MOST_STOPS, STOPS_WITHIN = 3, 1.0
"""Number of stops of a platform that leaves its reference, and time within which they occur, s: motors to 0 V."""


class PlatformControllerNode(CommandingNode):
    """Moves the platform of a parallel machine by its legs.

    Attributes:
        targets: number of accepted poses and trajectories.
        stopped: why the platform stopped before its target, or ''.
        fault: why the command is 0 V, or ''.
        given_up: whether the fault lasts until a reset of the simulation or a restart of the node.
    """

    timeout_action = 'neutral commands'

    def __init__(self, **options: Any) -> None:
        super().__init__('platform_controller_node', **options)
        self.values = values = declare(self, PARAMETERS)
        self.machine = machine_of(values['machine'], values['config'])
        self.paced, self.lockstep = values['mode'] == 'realtime', is_lockstep(values)
        self.motors = values['output'] == 'valve_commands'
        self._due = Every('command_period', values['command_period'], values['exchange_period'], not self.paced)
        try:
            limits, condition = group(values, 'limits', PoseLimits), values['greatest_condition']
            self.follower = PlatformFollower(self.machine, values['link'], limits, condition)
            self.loop = self._make_loop() if self.motors else None
        except ValueError as error:
            raise ParameterError(str(error)) from None
        legs = self.follower.legs.joints
        self.path = self._load_path()
        self._out = self._command_message()
        self.reader = JointStateReader(legs, Bounds.of(self.machine, legs))
        self.frame = self.machine.base.link
        self.targets, self.stopped, self.fault, self._published_state = 0, '', '', ''
        self.given_up = False
        self._stops: list[float] = []
        self._advanced: int | None = None
        self._create_topics()
        self.health = FollowerHealth(self, ('no command is due', 'neutral commands'))
        self.diagnostics = DiagnosticsPublisher(
            self, {'joint_states': self.health.joint_states, 'platform': self._platform_health}
        )
        self.add_on_set_parameters_callback(self._on_parameters)
        self._start_watch()
        self.get_logger().info(f'{self.machine.name}: {self.follower.link} by {", ".join(legs)}')
        announce_partner(self)

    # -- set-up ------------------------------------------------------------------------------------------------------

    def _make_loop(self) -> MotorLoop:
        """Return the loops of the legs; one command is computed to load the machine code."""
        machine, legs, values = self.machine, self.follower.legs.joints, self.values
        motors = {motor.joint: motor for motor in electric_motors(machine.actuators)}
        left = [joint for joint in legs if joint not in motors]
        if left:
            raise ValueError(f'{machine.name}: expected an electric motor on every leg, found none on {left[0]}')
        drives = drive_dynamics(machine, legs)
        self._order = list(machine.actuators)
        self._indices = [self._order.index(motors[joint]) for joint in legs]
        servo = MotorServo(machine, [motors[joint] for joint in legs], values['command_period'], drives)
        loop = MotorLoop(servo, values['motors.bandwidth'], values['motors.damping_ratio'])
        rest = self.follower.sample()
        loop.voltages(rest, None, rest.position, rest.velocity)
        return loop

    def _load_path(self) -> tuple[TimedPose, ...]:
        name = self.values['path']
        if not name:
            return ()
        if '/' in name or name.endswith(('.yaml', '.yml')):
            return load_pose_task(Path(name))
        try:
            return load_pose_task(find_resource(f'config/poses/{name}.yaml'))
        except FileNotFoundError as error:
            raise ParameterError(f"parameter 'path': {error}") from None

    def _command_message(self) -> Any:
        if self.loop is not None:
            return volts_message([actuator.name for actuator in self._order])
        return JointState(name=list(self.follower.legs.joints))

    def _create_topics(self) -> None:
        states, command, data = states_qos(self.values), command_qos(self.lockstep), data_qos(not self.paced)
        kind, topic = (Float64MultiArray, 'valve_commands') if self.motors else (JointState, 'joint_command')
        self.commands_out = command_publisher(self, kind, topic, command)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.state_out = self.create_publisher(String, 'platform_state', latched)
        self.reference_out = self.create_publisher(PoseStamped, 'platform_reference', data)
        self.measured_out = self.create_publisher(PoseStamped, 'platform_measured', data)
        self.distance_out = self.create_publisher(Float64, 'platform_error/distance', data)
        self.angle_out = self.create_publisher(Float64, 'platform_error/angle', data)
        self._pose = PoseStamped()
        self._pose.header.frame_id = self.frame
        self.create_subscription(JointState, 'joint_states', self._on_joint_states, states)
        self.create_subscription(PoseStamped, 'platform_pose', self._on_pose, QoSProfile(depth=10))
        self.create_subscription(
            MultiDOFJointTrajectory, 'platform_trajectory', self._on_trajectory, QoSProfile(depth=10)
        )

    # -- joint states ------------------------------------------------------------------------------------------------

    def _on_timeout_tick(self) -> None:
        self._publish_neutral()

    def _read_further(self, msg: Any, stamp: int) -> bool:
        """Return whether a command is due."""
        return self._due.at(stamp) if self.lockstep else self._due.passed(stamp)

    def _restart(self, before: int | None, further: Any) -> None:
        if before is not None:
            self.get_logger().info('time went back: the platform is held')
        self.given_up, self._stops = False, []
        self._hold()
        if self.path and not self.fault:
            self._play()

    def _hold(self) -> None:
        assert self._state is not None
        self._advanced, self.stopped = None, ''
        if self.loop is not None:
            self.loop.servo.drives.restart()
        try:
            self.follower.restart(self._state[0])
            self.fault = ''
        except ValueError as error:
            self._fail(str(error))

    def _play(self) -> None:
        """Start the motion of the file."""
        here = self.follower.reference.motion
        try:
            times, poses = (
                [0.0, *(point.time for point in self.path)],
                [here.pose, *(point.pose for point in self.path)],
            )
            self.follower.follow(PoseTrajectory(times, poses))
        except ValueError as error:
            self._reject(self.rejections, commands.RejectedError('bad trajectory', f"parameter 'path': {error}"))

    def _resume(self, further: Any, gap: float) -> None:
        """Hold the platform after a timeout; a target is not resumed, as the machine may be anywhere."""
        if self.given_up:
            return
        if self.follower.reference.state != 'holding':
            self.get_logger().warn('joint_states are received again: the target is dropped, the platform is held')
        self._hold()

    def _repeat(self) -> None:
        """Publish the last command again, except volts: each period uses exactly one message."""
        if self.lockstep and not self.motors and self.sent:
            self.commands_out.publish(self._out)

    def _answer(self, since: float, further: bool) -> None:
        if further:
            self._follow()
        if self.motors:
            if further:
                self._publish_voltages()
        elif further or self.lockstep:  # the dynamics waits for a joint_command at every exchange
            self._publish_positions()
        if further:
            self._report()

    def _follow(self) -> None:
        """Advance the reference to this instant, and measure the platform."""
        assert self._state is not None
        assert self.stamp is not None
        if self.fault:
            if not self.given_up:
                self._hold()
            if self.fault:
                return
        if self._advanced is not None:
            self.follower.reference.advance((self.stamp - self._advanced) * 1e-9)
        self._advanced = self.stamp
        try:
            self.follower.measure(self._state[0])
        except ValueError as error:
            self._fail(str(error))
            return
        distance, angle = self.follower.error
        if distance > self.values['tolerance.distance'] or angle > self.values['tolerance.angle']:
            self.stopped = f'{1e3 * distance:.1f} mm and {np.degrees(angle):.2f} degrees from its reference'
            text = f'the platform was {self.stopped}: it is held where it is'
            self.get_logger().error(text, throttle_duration_sec=1.0)
            self.follower.hold()
            self._count_stop()

    def _count_stop(self) -> None:
        """Set a permanent fault if the platform leaves its reference repeatedly: unstable loops or external forces."""
        self._stops = [time for time in self._stops if abs(self.time - time) < STOPS_WITHIN] + [self.time]
        if len(self._stops) >= MOST_STOPS:
            self.given_up = True
            self._fail(f'the platform has left its reference {MOST_STOPS} times in {STOPS_WITHIN:g} s')

    def _fail(self, fault: str) -> None:
        if not self.fault:
            self.get_logger().error(f'{fault}; motors to 0 V')
        self.fault = fault

    def _publish_voltages(self) -> None:
        data = np.zeros(len(self._order))
        if not self.fault:
            assert self._state is not None
            assert self.loop is not None
            try:
                data[self._indices] = self.loop.voltages(self.follower.sample(), None, *self._state)
            except ValueError as error:
                self._fail(str(error))
        self._send_voltages(data)

    def _send_voltages(self, data: Any) -> None:
        self._out.data = data.tolist()
        stamp_volts(self._out, self.stamp)
        self.commands_out.publish(self._out)
        self.sent += 1

    def _publish_positions(self) -> None:
        assert self._state is not None
        if self.fault:
            self._send_positions(self._state[0], np.zeros(6))
            return
        target = self.follower.sample()
        late = 0.0 if self._advanced is None else ((self.stamp or 0) - self._advanced) * 1e-9
        position = target.position + late * target.velocity + 0.5 * late**2 * target.acceleration
        self._send_positions(position, target.velocity + late * target.acceleration)

    def _send_positions(self, positions: Any, velocities: Any) -> None:
        set_stamp(self._out, self.stamp or 0)
        self._out.position, self._out.velocity = positions.tolist(), velocities.tolist()
        self.commands_out.publish(self._out)
        self.sent += 1

    def _publish_neutral(self) -> None:
        """Publish 0 V, or the last measured lengths of the legs."""
        if self.motors:
            self._send_voltages(np.zeros(len(self._order)))
        elif self._state is not None:
            self._send_positions(self._state[0], np.zeros(6))

    def _report(self) -> None:
        follower = self.follower
        set_stamp(self._pose, self.stamp or 0)
        fill_pose(self._pose, follower.reference.motion.pose)
        self.reference_out.publish(self._pose)
        if not self.fault:
            fill_pose(self._pose, follower.measured)
            self.measured_out.publish(self._pose)
            distance, angle = follower.error
            self.distance_out.publish(Float64(data=distance))
            self.angle_out.publish(Float64(data=angle))
        state = self.state
        if state != self._published_state:
            self._published_state = state
            self.state_out.publish(String(data=state))
        if self.lockstep:
            self.update_diagnostics()

    @property
    def state(self) -> str:
        """Return the state of the platform, with the reason of a stop or fault."""
        if self.fault:
            return f'fault: {self.fault}'
        return f'stopped: {self.stopped}' if self.stopped else self.follower.reference.state

    # -- targets -----------------------------------------------------------------------------------------------------

    def _demand_ready(self, topic: str) -> None:
        """Raise RejectedError while joint states are missing, or with a fault."""
        if self._state is None or self.timed_out:
            raise commands.RejectedError('no joint_states', f'{topic}: no joint_states')
        if self.fault:
            raise commands.RejectedError('fault', f'{topic}: {self.fault}')

    def _on_pose(self, msg: Any) -> None:
        try:
            self._demand_ready('platform_pose')
            check_frame('platform_pose', msg.header.frame_id, self.frame)
            self._take('platform_pose', lambda: self.follower.go_to(pose_of(msg.pose, 'platform_pose')))
        except commands.RejectedError as error:
            self._reject(self.rejections, error)

    def _on_trajectory(self, msg: Any) -> None:
        try:
            self._demand_ready('platform_trajectory')
            trajectory = trajectory_of(
                msg, self.follower.link, self.frame, self.time, self.follower.reference.motion
            )  # fmt: skip
            self._take('platform_trajectory', lambda: self.follower.follow(trajectory))
        except commands.RejectedError as error:
            self._reject(self.rejections, error)
            return
        self.get_logger().info(f'platform_trajectory: {trajectory.duration:.2f} s')

    def _take(self, topic: str, start: Any) -> None:
        """Start a motion. Raises RejectedError if it is out of reach; the present motion continues."""
        try:
            start()
        except ReachError as error:
            raise commands.RejectedError('out of reach', f'{topic}: {error}') from None
        self.targets += 1
        self.stopped = ''

    # -- health ------------------------------------------------------------------------------------------------------

    def _platform_health(self) -> Health:
        """Return the status `platform`: state, faults, rejected targets."""
        health = Health(text=self.state, more=self._platform_values)
        if self.fault:
            health.worse(ERROR, f'{self.fault}: {"motors at 0 V" if self.motors else "the legs are held"}')
        if self.stopped:
            health.worse(WARN, f'stopped: {self.stopped}')
        if self.rejections.recent(self.now()):
            health.worse(WARN, f'rejected: {self.rejections.last}')
        return health

    def _platform_values(self) -> dict[str, str]:
        follower = self.follower
        distance, angle = follower.error
        measured = follower.measured
        condition = follower.legs.condition(measured.position, measured.rotation)
        return {
            'link': follower.link,
            'joints': ', '.join(follower.legs.joints),
            'frame': self.frame,
            'state': self.state,
            'distance': f'{1e3 * distance:.3f} mm',
            'angle': f'{np.degrees(angle):.4f} deg',
            'condition': f'{condition:.4g}',
            'remaining': f'{follower.reference.remaining:.2f} s',
            'targets': str(self.targets),
            'sent': str(self.sent),
            **self.rejections.values(),
        }

    def _on_parameters(self, parameters: list[Any]) -> Any:
        changed = {parameter.name: parameter.value for parameter in parameters if parameter.name in self.values}
        try:
            limits = group({**self.values, **changed}, 'limits', PoseLimits)
        except ParameterError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self.values.update(changed)
        self.follower.reference.limits = limits
        return SetParametersResult(successful=True)


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node('platform_controller_node', PlatformControllerNode, args)


if __name__ == '__main__':
    sys.exit(main())
