"""Controller of vehicles on wheels or tracks: cmd_vel in, commands and odometry out; an arm on joint_trajectory.

    dyn-nodes run vehicle_controller_node --ros-args -p machine:=agv_mecanum

Every joint state is answered by one command. Without cmd_vel the vehicle holds its position, also on a slope. Without
joint states it sends nothing, and the actuator nodes hold the joints after their timeout.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dyn_nodes.control.drive_valves import ValveGains
from dyn_nodes.control.motion import PositionMotion
from dyn_nodes.control.trajectory import JointReference, JointTrajectory
from dyn_nodes.control.wheel_base import WheelBase
from dyn_nodes.control.wheel_drive import DriveLimits
from dyn_nodes.control.wheel_motion import JointValues, WheelMotion
from dyn_nodes.control.wheel_odometry import OdometryNoise
from dyn_nodes.control.wheel_servo import ServoGains
from dyn_nodes.middleware import QoSProfile, SetParametersResult, message
from dyn_nodes.nodes import commands
from dyn_nodes.nodes.arrays import labelled_array
from dyn_nodes.nodes.diagnostics import WARN, DiagnosticsPublisher, Health
from dyn_nodes.nodes.drive_motor_output import DriveMotorOutput, is_on_motors
from dyn_nodes.nodes.drive_valve_output import DriveValveOutput
from dyn_nodes.nodes.exchange import Every, announce_partner, command_qos, data_qos, is_lockstep, set_stamp, states_qos
from dyn_nodes.nodes.follower import CommandingNode, FollowerHealth
from dyn_nodes.nodes.grip_limiting import GripLimiting
from dyn_nodes.nodes.joint_state_reader import JointStateReader
from dyn_nodes.nodes.machines import checked_payload, machine_of, payload_mount
from dyn_nodes.nodes.parameters import ParameterError, declare, group, node_parameters
from dyn_nodes.nodes.plausible import Bounds
from dyn_nodes.nodes.running import run_node
from dyn_nodes.nodes.stamps import NANO
from dyn_nodes.nodes.trajectory_goals import TrajectoryGoals
from dyn_nodes.nodes.trajectory_messages import last_point_of, trajectory_of
from dyn_nodes.nodes.transforms import TransformPublisher
from dyn_nodes.nodes.vehicle_health import WheelHealth
from dyn_nodes.nodes.vehicle_messages import fill_odometry, frame_of, odometry_message, twist_of

JointState = message('sensor_msgs/msg/JointState')
JointTrajectoryMessage = message('trajectory_msgs/msg/JointTrajectory')
Float64, Float64MultiArray = message('std_msgs/msg/Float64'), message('std_msgs/msg/Float64MultiArray')
Odometry = message('nav_msgs/msg/Odometry')
Twist, TwistStamped = message('geometry_msgs/msg/Twist'), message('geometry_msgs/msg/TwistStamped')

PARAMETERS = node_parameters('vehicle_controller_node')
DRIVING, HOLDING, STOPPING = 'driving', 'holding', 'stopping: cmd_vel timed out'


class VehicleControllerNode(CommandingNode):
    """Publishes a command for every joint state.

    Attributes:
        twists, timeouts, trajectories: numbers of accepted cmd_vel, its timeouts in motion, accepted trajectories.
        wanted: (3,) reference twist.
        state: driving, holding, or stopping.
    """

    timeout_action = 'no commands'

    def __init__(self, **options: Any) -> None:
        super().__init__('vehicle_controller_node', **options)
        self.values = values = declare(self, PARAMETERS)
        self.machine = machine_of(values['machine'], values['config'])
        self.paced, self.lockstep = values['mode'] == 'realtime', is_lockstep(values)
        self._reports = Every('report_period', values['report_period'], values['exchange_period'], not self.paced)
        self.motion = self._make_motion()
        self.joints = tuple(joint.name for joint in self.machine.movable_joints)
        self.reader = JointStateReader(self.joints, Bounds.of(self.machine, self.joints))
        self._wheel_indices = np.array([self.joints.index(name) for name in self.motion.joints], dtype=np.intp)
        self.valves: DriveValveOutput | None = None
        self.motors: DriveMotorOutput | None = None
        by_voltage = values['output'] == 'valve_commands'
        on_motors = by_voltage and is_on_motors(self.machine)
        self.by_effort = on_motors or values['output'] == 'effort'
        if by_voltage and not on_motors:
            self.valves = DriveValveOutput(self, self.motion, group(values, 'valves', ValveGains))
        self._make_arm()
        arm = self.arm.joint_names if self.arm else ()
        self.grip = GripLimiting(self, arm) if values['grip.mode'] != 'off' else None
        if on_motors:
            self.motors = DriveMotorOutput(self, self._out.name, self.joints)
        self._warm_up()
        announce_partner(self)
        self.twists = self.timeouts = self.trajectories = 0
        self.wanted = np.zeros(3)
        self.state = HOLDING
        self._twist_at: float | None = None
        self._create_topics()
        self.goals = self._make_goals()
        self.health = FollowerHealth(self, ('no command is due', 'no commands, the actuator nodes hold the joints'))
        self.wheel_health = WheelHealth(self.motion, values)
        self.diagnostics = DiagnosticsPublisher(self, self._statuses())
        self.add_on_set_parameters_callback(self._on_parameters)
        self._start_watch()
        self._introduce()

    # -- set-up ------------------------------------------------------------------------------------------------------

    def _make_motion(self) -> WheelMotion:
        values = self.values
        limits = group(values, 'limits', DriveLimits)
        gains, noise = group(values, 'gains', ServoGains), group(values, 'noise', OdometryNoise)
        machine = self.machine
        if values['payload'] >= 0.0:
            mass = checked_payload(machine, values['payload'])
            machine = replace(machine, payload=replace(payload_mount(machine), mass=mass))
        return WheelMotion(WheelBase.of(machine), values['exchange_period'], limits, gains, noise)

    def _warm_up(self) -> None:
        """Load or compile the machine code of the first cmd_vel, so that it does not time out meanwhile."""
        motion, still = self._make_motion(), np.zeros(len(self.motion.joints))
        motion.restart(JointValues(still, still, still))
        for _ in range(2):
            motion.step(np.full(3, 0.1), self.values['exchange_period'], JointValues(still, still, still))
        if self.servo is not None and self.arm is not None and motion.reference is not None:
            rest = np.zeros(len(self.joints))
            self.arm.restart(rest[self._arm_indices])
            self.servo.efforts(rest, rest, np.zeros(3), motion.reference.acceleration, self.arm.sample(0.0))

    def _make_arm(self) -> None:
        """Create the control of driven joints other than wheels and steering, which follow joint_trajectory."""
        wheel_joints = set(self.motion.commanded)
        names = (
            ()
            if self.valves
            else tuple(joint.name for joint in self.machine.actuated_joints if joint.name not in wheel_joints)
        )
        self.arm = PositionMotion(names) if names else None
        self._arm_indices = np.array([self.joints.index(name) for name in names], dtype=np.intp)
        self.servo: Any = None
        if names and self.by_effort:
            self._reject_closed_loops(names)
            from dyn_nodes.control.arm_servo import ArmServo  # a vehicle alone needs no rigid-body model

            self.servo = ArmServo(self.machine, names, self.values['arm_bandwidth'])
        if self.servo is not None and self.values['payload'] >= 0.0:
            self.servo.payload = self.values['payload']
        self._out = JointState(name=[*self.motion.commanded, *names])

    def _make_goals(self) -> TrajectoryGoals | None:
        """Return the goals of the arm, None without one."""
        if self.arm is None:
            return None
        return TrajectoryGoals(self, self.arm.joint_names, self._plan, self._follow, self._reference_now, self.reject)

    def _reject_closed_loops(self, names: tuple[str, ...]) -> None:
        """Raise ParameterError if efforts of an arm's joints would need the closed loops of its linkages."""
        loops = [linkage.name for linkage in self.machine.linkages]
        if loops:
            raise ParameterError(
                f"parameter 'output': expected valve_commands or velocity for {self.machine.name!r}, whose "
                f'{", ".join(names)} move in closed loops ({", ".join(loops)}), found effort'
            )

    def _create_topics(self) -> None:
        values, data = self.values, data_qos(not self.paced)
        if self.valves is None and self.motors is None:
            self.commands_out = self.create_publisher(JointState, 'joint_command', command_qos(self.lockstep))
        self.odom_out = self.create_publisher(Odometry, 'wheel_odom', data)
        self.slip_out = self.create_publisher(Float64MultiArray, 'wheel_slip', data)
        self.tf_out = TransformPublisher(self, '/tf', data) if values['publish_tf_odom'] else None
        self._odom = odometry_message(values['world_frame'], self.machine.base.link, self.motion.base.height)
        self._slip = labelled_array(self.motion.base.names)
        self.create_subscription(JointState, 'joint_states', self._on_joint_states, states_qos(self.values))
        self.create_subscription(JointTrajectoryMessage, 'joint_trajectory', self._on_trajectory, QoSProfile(depth=10))
        self.create_subscription(Float64, 'payload', self._on_payload, QoSProfile(depth=10))
        twist = TwistStamped if values['stamped_cmd_vel'] else Twist
        self.create_subscription(twist, 'cmd_vel', self._on_cmd_vel, QoSProfile(depth=10))

    def _introduce(self) -> None:
        base, log = self.motion.base, self.get_logger()
        steered = f', {int(base.steered.sum())} steered' if base.steered.any() else ''
        arm = f'; {", ".join(self.arm.joint_names)} follow joint_trajectory' if self.arm else ''
        kind = 'wheels' if base.slip is None else 'tracks'
        log.info(f'{self.machine.name}: {len(base.wheels)} {kind}, {int(base.driven.sum())} driven{steered}{arm}')
        if base.slip is not None:
            factor = base.slip.gauge_factor(0.0, 1.0)
            log.info(
                f'tracks slip in a turn: on the spot as with {factor:.2f} times their gauge; the odometry includes it'
            )
        if base.drags:
            log.warn(
                f'in a turn {", ".join(base.fixed)} drag sideways: they share no axle; the odometry does not include it'
            )
        if not self.motion.odometry.slip_dimensions():
            log.info('no more wheels than the motion needs: slip cannot be detected')

    # -- joint states ------------------------------------------------------------------------------------------------

    def _read_further(self, msg: Any, stamp: int) -> Any:
        """Return the measured efforts if the loops start from them; else None."""
        continues = (
            self.stamp is not None and 0 <= stamp - self.stamp <= self.health.timeout * NANO and not self.timed_out
        )
        return None if continues and not self.valves else self.reader.efforts(msg)

    def _repeat(self) -> None:
        """Publish the last command again, except volts: each period uses exactly one message."""
        if self.lockstep and self.sent and not (self.valves or self.motors):
            self.commands_out.publish(self._out)

    def _answer(self, since: float, further: Any) -> None:
        self._command(since, further)

    def _wheel_state(self, efforts: Any = None) -> JointValues:
        assert self._state is not None
        positions, velocities = (values[self._wheel_indices] for values in self._state)
        return JointValues(positions, velocities, None if efforts is None else efforts[self._wheel_indices])

    def _restart(self, before: int | None, efforts: Any) -> None:
        assert self._state is not None
        if before is not None:
            self.get_logger().info('time went back: odometry and trajectory start again')
        initial = self.machine.initial
        x, y, _ = initial.base_position
        self.motion.restart(self._wheel_state(efforts), (x, y, initial.base_yaw))
        self._rest()
        if self.arm is not None:
            self.arm.restart(self._state[0][self._arm_indices])
        if self.goals is not None:
            self.goals.preempt('a reset of time')
        if self.servo is not None:
            self.servo.restart(self._state[0], efforts)
        self.wheel_health.restart()
        if self.grip is not None:
            self.grip.restart()

    def _resume(self, efforts: Any, gap: float) -> None:
        """Hold the vehicle after a timeout; neither a twist nor a trajectory is resumed, as it may be anywhere."""
        assert self._state is not None
        self.motion.resume(self._wheel_state(efforts), gap)
        self._rest()
        if self.goals is not None:
            self.goals.preempt('a timeout of joint_states')
        if self.arm is not None and self.arm.interrupt(self.time, self._state[0][self._arm_indices]):
            self.get_logger().warn('joint_states are received again: the trajectory is dropped, the joints are held')

    def _set_back(self, efforts: Any, back: float) -> None:
        self.wheel_health.restart()
        super()._set_back(efforts, back)

    def _rest(self) -> None:
        self.wanted, self._twist_at, self.state = np.zeros(3), None, HOLDING
        if self.valves is not None:
            self.valves.restart()

    def _command(self, dt: float, efforts: Any = None) -> None:
        self._check_timeout()
        if self.goals is not None and self._state is not None:
            self.goals.update(*(values[self._arm_indices] for values in self._state))
        if self.grip is not None and self._state is not None:
            self.grip.update(self.time, *self._state, self.arm)
        wheels = self.motion.step(self.wanted, dt, self._wheel_state())
        if self.state != DRIVING and not self.motion.drive.twist.any():
            self.state = HOLDING
        if self.motors is not None:
            self._publish_volts(wheels)
        elif self.valves is None:
            self._publish_command(wheels)
        elif self.valves.is_due(self.stamp or 0):
            resting = self.state == HOLDING
            self.valves.publish(self.motion.reference, self._wheel_state(efforts), resting)
            self.sent += 1
        self.wheel_health.note(self.time)
        due = self._reports.at(self.stamp or 0) if self.lockstep else self._reports.passed(self.stamp or 0)
        if due:
            self._report()

    def _check_timeout(self) -> None:
        """Stop the vehicle after a timeout of cmd_vel."""
        if self._twist_at is not None and self.time - self._twist_at > self.values['cmd_vel_timeout']:
            if self.wanted.any():
                self.timeouts += 1
                self.get_logger().warn(f'no cmd_vel for {self.values["cmd_vel_timeout"]:g} s: stopping')
            self.wanted, self._twist_at, self.state = np.zeros(3), None, STOPPING

    def _publish_command(self, wheels: JointValues) -> None:
        out = self._out
        set_stamp(out, self.stamp or 0)
        if self.values['output'] == 'effort':
            out.effort = self._efforts(wheels)
        else:
            positions, velocities = self.arm.reference(self.time) if self.arm else (np.empty(0), np.empty(0))
            out.position = [*wheels.position.tolist(), *positions.tolist()]
            out.velocity = [*wheels.velocity.tolist(), *velocities.tolist()]
        self.commands_out.publish(out)
        self.sent += 1

    def _publish_volts(self, wheels: JointValues) -> None:
        assert self.motors is not None
        assert self._state is not None
        if self.motors.is_due(self.stamp or 0):
            self.motors.publish(self._efforts(wheels), self._state[1])
            self.sent += 1

    def _efforts(self, wheels: JointValues) -> list[float]:
        assert wheels.effort is not None
        return [*wheels.effort.tolist(), *self._arm_efforts()]

    def _arm_efforts(self) -> list[float]:
        if self.servo is None or self.arm is None or self._state is None or self.motion.reference is None:
            return []
        driven = self.motion.odometry.twist, self.motion.reference.acceleration
        return list(self.servo.efforts(*self._state, *driven, self.arm.sample(self.time)))

    def _report(self) -> None:
        odometry = self.motion.odometry
        fill_odometry(self._odom, self.time, odometry)
        self.odom_out.publish(self._odom)
        self._slip.data = odometry.slip.tolist()
        self.slip_out.publish(self._slip)
        if self.grip is not None:
            self.grip.publish_twist(self.time)
            self.grip.publish_limit(self.time)
        if self.tf_out is not None:
            self.tf_out.publish([frame_of(self._odom)], self.stamp or 0)
        if self.lockstep:
            self.update_diagnostics()

    # -- commands ----------------------------------------------------------------------------------------------------

    def _on_cmd_vel(self, msg: Any) -> None:
        try:
            if self._state is None or self.timed_out:
                raise commands.RejectedError('no joint_states', 'cmd_vel: no joint_states')
            stamped, timeout = self.values['stamped_cmd_vel'], self.values['cmd_vel_timeout']
            self.wanted = twist_of(msg, stamped, self.time, timeout)
        except commands.RejectedError as error:
            self._reject(self.rejections, error)
            return
        self.twists += 1
        self._twist_at, self.state = self.time, DRIVING

    def _on_trajectory(self, msg: Any) -> None:
        try:
            trajectory, _ = self._plan(msg)
        except commands.RejectedError as error:
            self._reject(self.rejections, error)
            return
        assert self.goals is not None
        self._follow(trajectory)
        self.goals.preempt('a trajectory on joint_trajectory')
        self.trajectories += 1
        self.get_logger().info(f'trajectory of {trajectory.duration:.2f} s, {len(trajectory.times)} points')

    def _plan(self, msg: Any) -> tuple[JointTrajectory, float]:
        """Return the curve of a trajectory message and the time of its last point, s. Raises RejectedError."""
        if self._state is None or self.timed_out:
            raise commands.RejectedError('no joint_states', 'joint_trajectory: no joint_states to start from')
        if self.arm is None or self.goals is None:
            text = f'joint_trajectory: machine {self.machine.name!r} has no joints except wheel joints'
            if self.valves is not None:
                text = 'joint_trajectory: with valve_commands the other actuators take valve_commands_in alone'
            raise commands.RejectedError('joint_trajectory', text)
        positions, velocities = (values[self._arm_indices] for values in self._state)
        start, rules = self.goals.start(positions, velocities), self.goals.rules(positions)
        trajectory = trajectory_of(msg, self.arm.joint_names, self.machine, self.time, start, rules)
        last = last_point_of(msg, trajectory)
        if self.grip is None:
            return trajectory, last
        admitted = self.grip.admitted(trajectory, *self._state)
        return admitted, last if admitted is trajectory else admitted.duration

    def _follow(self, trajectory: JointTrajectory) -> None:
        assert self.arm is not None
        assert self.goals is not None
        assert self._state is not None
        start = self.goals.start(*(values[self._arm_indices] for values in self._state))
        self.arm.follow(trajectory, self.time, *start)

    def _reference_now(self) -> JointReference | None:
        return None if self.arm is None else self.arm.reference_at(self.time)

    def _on_payload(self, msg: Any) -> None:
        """Set the payload of the arm; the speed loop compensates its effect on the vehicle's mass."""
        try:
            mass = checked_payload(self.machine, float(msg.data))
        except ParameterError as error:
            self._reject(self.rejections, commands.RejectedError('payload', str(error)))
            return
        if self.servo is not None:
            self.servo.payload = mass
        if self.grip is not None:
            self.grip.payload = mass

    def reject(self, error: commands.RejectedError) -> None:
        """Count and report a rejected command."""
        self._reject(self.rejections, error)

    def _statuses(self) -> dict[str, Callable[[], Health]]:
        return {
            'joint_states': self.health.joint_states,
            'cmd_vel': self._cmd_vel_health,
            'wheels': lambda: self.wheel_health.wheels(self.time),
            **({} if self.grip is None else {'grip': self.grip.status}),
        }

    def _cmd_vel_health(self) -> Health:
        """Return the status `cmd_vel`: reference twist, infeasible demands, rejected commands."""
        vx, vy, wz = self.wanted
        values = {
            'wanted': f'{vx:.3f} m/s, {vy:.3f} m/s, {wz:.3f} rad/s',
            'received': str(self.twists),
            'timeouts': str(self.timeouts),
            'infeasible demands': str(self.wheel_health.infeasible),
            'trajectories': str(self.trajectories),
            **({} if self.goals is None else self.goals.values()),
            'sent': str(self.sent),
            **({} if self.valves is None else {'levers that wait for neutral': ', '.join(self.valves.waiting)}),
            **self.rejections.values(),
        }
        health = Health(text=self.state, values=values)
        self.wheel_health.warn_of_demand(health, self.time)
        if self.rejections.recent(self.now()):
            health.worse(WARN, f'rejected: {self.rejections.last}')
        return health

    def _on_parameters(self, parameters: list[Any]) -> Any:
        changed = {parameter.name: parameter.value for parameter in parameters if parameter.name in self.values}
        values = {**self.values, **changed}
        try:
            limits, gains = group(values, 'limits', DriveLimits), group(values, 'gains', ServoGains)
            valves = group(values, 'valves', ValveGains)
        except ParameterError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self.values.update(changed)
        self.motion.drive.limits, self.motion.servo.gains = limits, gains
        self.motion.servo.tune()
        if self.grip is not None:
            self.grip.tune()
        if self.valves is not None:
            self.valves.valves.gains = valves
        return SetParametersResult(successful=True)


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node('vehicle_controller_node', VehicleControllerNode, args)


if __name__ == '__main__':
    sys.exit(main())
