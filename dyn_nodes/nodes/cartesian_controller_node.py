"""Cartesian controller of a hand: poses, velocities and paths of the hand in; volts, joint positions or efforts out.

    dyn-nodes run cartesian_controller_node --ros-args -p machine:=log_loader

Without a target the joints are held. The hand is slowed near singular postures, at the speed limits of joints and if
the machine lags; `hand_state` and the diagnostics report it.
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any

from dyn_nodes.control.drive_dynamics import OpenLoopError
from dyn_nodes.control.hand import (
    HandError,
    HandFollower,
    HandKinematics,
    HandLimits,
    HandPath,
    HandPose,
    HandReference,
    HandTask,
    PumpSpeeds,
    ReferenceLimits,
    Settings,
    WholeBodyFollower,
    hand_of,
    inverse_kinematics,
)
from dyn_nodes.control.hand.reference import SLOWED, STILL, STOPPED, twist_rows
from dyn_nodes.control.trajectory import JointReference, JointTrajectory
from dyn_nodes.middleware import DurabilityPolicy, QoSProfile, SetParametersResult, message
from dyn_nodes.model.actuators import oil_actuators
from dyn_nodes.nodes import commands
from dyn_nodes.nodes.diagnostics import ERROR, WARN, DiagnosticsPublisher, Health
from dyn_nodes.nodes.exchange import (
    Every,
    announce_partner,
    command_qos,
    data_qos,
    is_lockstep,
    set_stamp,
    states_qos,
)
from dyn_nodes.nodes.follower import CommandingNode, FollowerHealth
from dyn_nodes.nodes.group_values import command_publisher
from dyn_nodes.nodes.hand_messages import check_frame, fill_pose, path_of, pose_of, twist_of, within_limits
from dyn_nodes.nodes.hand_outputs import Output, output_of, whole_body_of
from dyn_nodes.nodes.joint_state_reader import JointStateReader
from dyn_nodes.nodes.machines import checked_payload, machine_of
from dyn_nodes.nodes.parameters import ParameterError, declare, group, node_parameters, problem_of_choices
from dyn_nodes.nodes.plausible import Bounds
from dyn_nodes.nodes.running import run_node
from dyn_nodes.nodes.trajectory_goals import TrajectoryGoals
from dyn_nodes.nodes.trajectory_messages import last_point_of, trajectory_of

JointState = message('sensor_msgs/msg/JointState')
Float64, String = message('std_msgs/msg/Float64'), message('std_msgs/msg/String')
PoseStamped, TwistStamped = message('geometry_msgs/msg/PoseStamped'), message('geometry_msgs/msg/TwistStamped')
Path, Odometry = message('nav_msgs/msg/Path'), message('nav_msgs/msg/Odometry')

PARAMETERS = node_parameters('cartesian_controller_node')


class CartesianControllerNode(CommandingNode):
    """Moves a link of a machine along targets by its joints.

    Attributes:
        targets: number of accepted poses, paths and twists.
        timeouts: number of timeouts of hand_twist while the hand moved.
    """

    timeout_action = 'neutral commands'

    def __init__(self, **options: Any) -> None:
        super().__init__('cartesian_controller_node', **options)
        self.values = values = declare(self, PARAMETERS)
        self.machine = machine_of(values['machine'], values['config'])
        self.paced, self.lockstep = values['mode'] == 'realtime', is_lockstep(values)
        self._due = Every('command_period', values['command_period'], values['exchange_period'], not self.paced)
        self.hand = self._make_hand()
        self.limits = group(values, 'limits', HandLimits)
        self.follower = self._make_follower()
        self.output = self._make_output()
        self.reader = JointStateReader(self.hand.names, Bounds.of(self.machine, self.hand.names))
        self.in_world = values['target_frame'] == 'world'
        self.frame = values['world_frame'] if self.in_world else self.machine.base.link
        self.targets = self.timeouts = 0
        self._base: HandPose | None = None if self.in_world else STILL
        self.base_received_at, self._lost_base = -math.inf, False
        self._twist_at: float | None = None
        self._published_state = ''
        self._open = False  # loops did not close at the last joint states: the target is dropped
        self._create_topics()
        self.goals = self._make_goals()
        self.health = FollowerHealth(self, ('no command is due', 'neutral commands'))
        self.diagnostics = DiagnosticsPublisher(
            self, {'joint_states': self.health.joint_states, 'hand': self._hand_health}
        )
        self.add_on_set_parameters_callback(self._on_parameters)
        self._start_watch()
        rows = ', '.join(self.follower.reference.task.rows)
        self.get_logger().info(f'{self.machine.name}: {self.hand.link} ({rows}) by {", ".join(self.hand.joints)}')
        announce_partner(self)

    # -- set-up ------------------------------------------------------------------------------------------------------

    def _make_hand(self) -> HandKinematics:
        values, machine = self.values, self.machine
        payload = machine.payload
        link = values['link'] or (payload.link if payload else machine.links[-1].name)
        chosen = [name for name in values['joints'] if name]
        try:
            hand = hand_of(machine, link, chosen or None)
        except HandError as error:
            raise ParameterError(f'machine {machine.name!r}: {error}') from None
        driven = {joint.name for joint in machine.actuated_joints}
        idle = [name for name in chosen or hand.carrying if name not in driven and name not in hand.dependent]
        if idle:
            raise ParameterError(
                f'machine {machine.name!r}: expected driven joints between base link and {link!r}, '
                f'found {", ".join(idle)}, which nothing drives directly'
            )
        return hand

    def _make_follower(self) -> HandFollower | WholeBodyFollower:
        values, hand = self.values, self.hand
        if values['output'] == 'effort':
            return whole_body_of(hand, values)
        try:
            rows = tuple(row for row in values['rows'] if row) or hand.default_task.rows
            task = HandTask(rows, self.limits.per_radian)
        except HandError as error:
            raise ParameterError(f'parameter {error}') from None
        limits = [self.machine.joint(name).velocity_limit for name in hand.joints]
        actuators = self.machine.actuators if values['output'] == 'valve_commands' else ()
        speeds = PumpSpeeds(hand.joints, limits, actuators, hand.indices, values['pump_share'])
        try:
            reference = HandReference(hand, task, speeds, group(values, 'singular', ReferenceLimits))
        except HandError as error:
            raise ParameterError(f"parameters 'singular': {error}") from None
        period = values['command_period']
        lead = period + max((actuator.valve.time_constant for actuator in oil_actuators(actuators)), default=0.0)
        return HandFollower(reference, period, lead, values['tolerance'], values['base_filter'])

    def _make_output(self) -> Output:
        machine, payload = self.machine, self.values['payload']
        output = output_of(machine, self.follower, self.values)
        if payload >= 0.0:
            output.carry(checked_payload(machine, payload))
        elif machine.payload is not None:
            output.carry(machine.payload.mass)
        return output

    def _make_goals(self) -> TrajectoryGoals | None:
        """Return the goals of the hand's joints; None if the base moves with the hand."""
        if isinstance(self.follower, WholeBodyFollower):
            return None
        return TrajectoryGoals(
            self, self.hand.joints, self._plan, self._follow, self._reference_now, self._reject_command
        )

    def _create_topics(self) -> None:
        states, command, data = states_qos(self.values), command_qos(self.lockstep), data_qos(not self.paced)
        self.commands_out = command_publisher(self, self.output.kind, self.output.topic, command)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.state_out = self.create_publisher(String, 'hand_state', latched)
        self.reference_out = self.create_publisher(PoseStamped, 'hand_reference', data)
        self.error_out = self.create_publisher(Float64, 'hand_error', data)
        self._reference = PoseStamped()
        self._reference.header.frame_id = self.frame
        self.create_subscription(JointState, 'joint_states', self._on_joint_states, states)
        for kind, topic, callback in (
            (PoseStamped, 'hand_pose', self._on_pose),
            (Path, 'hand_path', self._on_path),
            (TwistStamped, 'hand_twist', self._on_twist),
            (Float64, 'payload', self._on_payload),
        ):
            self.create_subscription(kind, topic, callback, QoSProfile(depth=10))
        if self.in_world:
            self.create_subscription(Odometry, 'odom', self._on_odometry, states)

    # -- joint states ------------------------------------------------------------------------------------------------

    def _on_timeout_tick(self) -> None:
        self._publish_neutral()

    def _read_further(self, msg: Any, stamp: int) -> tuple[bool, Any]:
        """Return whether a command is due, and the measured efforts if valves need them."""
        due = self._due.at(stamp) if self.lockstep else self._due.passed(stamp)
        return due, self.reader.efforts(msg) if due and self.output.takes_efforts else None

    def _restart(self, before: int | None, further: Any) -> None:
        if before is not None:
            self.get_logger().info('time went back: the joints are held')
        self._hold('a reset of time')

    def _hold(self, reason: str) -> None:
        """Hold the joints where they are; the reason ends a goal."""
        assert self._state is not None
        self._preempt(reason)
        self._open = False
        self.follower.restart(self.time, self._state[0], self._base or STILL)
        self.output.restart(self.time, self._state[0])
        self._twist_at = None

    def _resume(self, further: Any, gap: float) -> None:
        """Hold the joints after a timeout; a target is not resumed, as the machine may be anywhere."""
        if self.follower.reference.moving:
            self.get_logger().warn('joint_states are received again: the target is dropped, the joints are held')
        self._hold('a timeout of joint_states')

    def _check_base(self) -> None:
        """Hold the joints if the pose of the base in the world has timed out."""
        if not self.in_world or not self.live or self._base is None:
            return
        if time.monotonic() - self.base_received_at > self.health.timeout:
            self._base, self._lost_base = None, True
            self.get_logger().error(f'no odom for {self.health.timeout:g} s: the joints are held')
            self._hold('a timeout of odom')

    def _repeat(self) -> None:
        """Publish the last command again, except volts: each period uses exactly one message."""
        if self.lockstep and self.output.every_exchange and self.sent:
            self.commands_out.publish(self.output.message)

    def _answer(self, since: float, further: tuple[bool, Any]) -> None:
        assert self._state is not None
        due, efforts = further
        if due:
            if self._open:
                self._hold('loops that did not close')
            self._check_timeout()
            self._check_base()
            self.follower.advance(self.time, self._state[0], self._base or STILL)
            self._check_goal()
        if due or (self.lockstep and self.output.every_exchange):
            self._command(efforts)
        if due:
            self._report()

    def _command(self, efforts: Any) -> None:
        """Publish the command of this instant; 0 V if the loops of the machine do not close at measured joints."""
        assert self._state is not None
        try:
            self.output.fill(self.stamp or 0, self.time, self._state, efforts)
        except OpenLoopError as error:
            self._reject(self.state_rejections, commands.RejectedError('open loop', f'joint_states: {error}'))
            self._publish_neutral()
            self._open = True
            return
        self._publish()

    def _check_timeout(self) -> None:
        """Stop the hand after a timeout of hand_twist."""
        if self._twist_at is None or self.time - self._twist_at <= self.values['twist_timeout']:
            return
        self._twist_at = None
        if self.follower.reference.moving:
            self.timeouts += 1
            self.get_logger().warn(f'no hand_twist for {self.values["twist_timeout"]:g} s: stopping')
        self.follower.reference.stop()

    def _publish(self) -> None:
        self.commands_out.publish(self.output.message)
        self.sent += 1

    def _publish_neutral(self) -> None:
        """Publish 0 V, or the last measured positions of the joints."""
        if self.output.fill_neutral(self.stamp or 0, self._state):
            self._publish()

    def _report(self) -> None:
        reference = self.follower.reference
        set_stamp(self._reference, self.stamp or 0)
        fill_pose(self._reference, self.follower.pose_at(self.time))
        self.reference_out.publish(self._reference)
        self.error_out.publish(Float64(data=self.follower.lag))
        reason = reference.reason.partition(' (')[0]
        state = f'{reference.state}: {reason}' if reason else reference.state
        if state != self._published_state:
            self._published_state = state
            self.state_out.publish(String(data=state))
        if self.lockstep:
            self.update_diagnostics()

    # -- targets -----------------------------------------------------------------------------------------------------

    def _demand_ready(self, topic: str) -> None:
        """Raise RejectedError while joint states or the pose of the base are missing."""
        if self._state is None or self.timed_out:
            raise commands.RejectedError('no joint_states', f'{topic}: no joint_states')
        if self._base is None:
            raise commands.RejectedError('no odom', f'{topic}: no odom yet, which targets in {self.frame!r} need')

    def _on_pose(self, msg: Any) -> None:
        try:
            self._demand_ready('hand_pose')
            check_frame('hand_pose', msg.header.frame_id, self.frame)
            end = pose_of(msg.pose, 'hand_pose')
        except commands.RejectedError as error:
            self._reject(self.rejections, error)
            return
        self._start('hand_pose', lambda start: HandPath.line(start, end, self.limits), end)

    def _on_path(self, msg: Any) -> None:
        try:
            self._demand_ready('hand_path')
            smooth = self.values['path_shape'] == 'spline'
            make, end = path_of(msg, 'hand_path', self.frame, self.limits, smooth)
        except commands.RejectedError as error:
            self._reject(self.rejections, error)
            return
        self._start('hand_path', make, end)

    def _start(self, topic: str, make: Any, end: HandPose) -> None:
        try:
            path = self.follower.follow(make)
        except ValueError as error:
            self._reject(self.rejections, commands.RejectedError('bad trajectory', f'{topic}: {error}'))
            return
        self._preempt(f'a target on {topic}')
        self._twist_at = None
        self.targets += 1
        self.get_logger().info(f'{topic}: {path.duration:.2f} s')
        self._foresee(topic, end)

    def _foresee(self, topic: str, end: HandPose) -> None:
        """Warn if the end of a path is out of reach for the hand, which then moves as far as possible."""
        reference = self.follower.reference
        if not isinstance(reference, HandReference):
            return
        local = end.seen_from(self._base or STILL)
        solution = inverse_kinematics(
            self.hand, local, reference.posture, reference.task, Settings(1e-4, iterations=40, more_starts=0)
        )
        if not solution.reached:
            self.get_logger().warn(f'{topic}: its end is {solution.statement}')

    def _on_twist(self, msg: Any) -> None:
        try:
            self._demand_ready('hand_twist')
            check_frame('hand_twist', msg.header.frame_id, self.frame)
            twist = twist_of(msg, 'hand_twist', self.time, self.values['twist_timeout'])
        except commands.RejectedError as error:
            self._reject(self.rejections, error)
            return
        self._preempt('a target on hand_twist')
        self.targets += 1
        self._twist_at = self.time
        kept = twist_rows(self.follower.reference.task, twist)
        self.follower.drive(within_limits(kept, self.limits), self.limits)

    def _on_payload(self, msg: Any) -> None:
        try:
            mass = checked_payload(self.machine, float(msg.data))
        except ParameterError as error:
            self._reject(self.rejections, commands.RejectedError('payload', str(error)))
            return
        self.output.carry(mass)

    def _on_odometry(self, msg: Any) -> None:
        try:
            base = pose_of(msg.pose.pose, 'odom', 'pose.pose')
        except commands.RejectedError as error:
            self._reject(self.state_rejections, error)
            return
        first, self._base, self.base_received_at, self._lost_base = self._base is None, base, time.monotonic(), False
        if first and self._state is not None:
            self._hold('a new pose of the base')

    # -- goals of joint trajectories ---------------------------------------------------------------------------------

    def _joint_state(self) -> tuple[Any, Any]:
        """Return measured positions and velocities (n,) of the hand's joints."""
        assert self._state is not None
        return self._state[0][self.hand.indices], self._state[1][self.hand.indices]

    def _plan(self, msg: Any) -> tuple[JointTrajectory, float]:
        """Return the curve of a trajectory message and the time of its last point, s. Raises RejectedError."""
        self._demand_ready('joint_trajectory')
        assert self.goals is not None
        assert isinstance(self.follower, HandFollower)
        here = self._joint_state()
        start, rules = self.goals.start(*here), self.goals.rules(here[0])
        trajectory = trajectory_of(msg, self.hand.joints, self.machine, self.time, start, rules)
        point = self.follower.reference.open_point(trajectory)
        if point is not None:
            text = f'points[{point}]: expected a posture that the closed loops can take'
            raise commands.RejectedError('bad trajectory', f'joint_trajectory: {text}')
        return trajectory, last_point_of(msg, trajectory)

    def _follow(self, trajectory: JointTrajectory) -> None:
        assert self.goals is not None
        assert isinstance(self.follower, HandFollower)
        self._twist_at = None
        self.follower.follow_joints(trajectory, self.time, *self.goals.start(*self._joint_state()))

    def _reference_now(self) -> JointReference:
        assert isinstance(self.follower, HandFollower)
        return self.follower.sample(self.time)

    def _reject_command(self, error: commands.RejectedError) -> None:
        self._reject(self.rejections, error)

    def _check_goal(self) -> None:
        """Check the goal in progress; a gap in the joint states has ended its motion."""
        if self.goals is None or self.goals.active is None:
            return
        assert isinstance(self.follower, HandFollower)
        if not self.follower.reference.follows_joints:
            self.goals.preempt('a gap in joint_states')
        self.goals.update(*self._joint_state())

    def _preempt(self, reason: str) -> None:
        if self.goals is not None:
            self.goals.preempt(reason)

    # -- health ------------------------------------------------------------------------------------------------------

    def _hand_health(self) -> Health:
        """Return the status `hand`: its state, the reason of a slowdown, rejected targets."""
        reference = self.follower.reference
        health = Health(text=reference.state, more=self._hand_values)
        if reference.state in (SLOWED, STOPPED):
            health.worse(WARN, f'{reference.state}: {reference.reason}')
        if self.rejections.recent(self.now()):
            health.worse(WARN, f'rejected: {self.rejections.last}')
        if self._lost_base:
            health.worse(ERROR, 'no odom: the pose of the base in the world is unknown, the joints are held')
        return health

    def _hand_values(self) -> dict[str, str]:
        reference = self.follower.reference
        return {
            'link': self.hand.link,
            'joints': ', '.join(self.hand.joints),
            'rows': ', '.join(reference.task.rows),
            'frame': self.frame,
            'state': reference.state,
            'scale': f'{reference.scale:.3f}',
            'condition': f'{reference.condition:.4g}',
            'error': f'{self.follower.lag:.4f} m',
            'remaining': f'{reference.remaining:.2f} s',
            'targets': str(self.targets),
            'timeouts': str(self.timeouts),
            **({} if self.goals is None else self.goals.values()),
            'sent': str(self.sent),
            **self.rejections.values(),
        }

    def _on_parameters(self, parameters: list[Any]) -> Any:
        changed = {parameter.name: parameter.value for parameter in parameters if parameter.name in self.values}
        values = {**self.values, **changed}
        try:
            if problem := problem_of_choices(PARAMETERS, parameters):
                raise ParameterError(problem)
            limits = group(values, 'limits', HandLimits)
            self.output.tune(values)
        except ParameterError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self.values.update(changed)
        self.limits = limits
        return SetParametersResult(successful=True)


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node('cartesian_controller_node', CartesianControllerNode, args)


if __name__ == '__main__':
    sys.exit(main())
