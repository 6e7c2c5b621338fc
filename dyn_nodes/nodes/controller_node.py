"""Controller of tasks and joint trajectories: joint states in; volts of valves or motors, or joint positions, out.

    dyn-nodes run controller_node --ros-args -p machine:=log_loader -p task:=pick_and_place_recovery

vehicle_controller_node controls vehicles.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dyn_nodes.common.share import find_resource
from dyn_nodes.control import (
    JointReference,
    JointTrajectory,
    PositionMotion,
    SupervisedTask,
    TrackerGains,
    TrajectoryTracker,
    ValveMotion,
    VoltageProfile,
    load_voltage_profile,
    recover_on,
)
from dyn_nodes.control.drive_dynamics import OpenLoopError
from dyn_nodes.control.motor_motion import MotorMotion
from dyn_nodes.control.motor_state_motion import MotorStateMotion, StateLaw
from dyn_nodes.middleware import (
    DurabilityPolicy,
    QoSProfile,
    SetParametersResult,
    message,
)
from dyn_nodes.model.actuators import electric_motors
from dyn_nodes.model.machine import Actuator
from dyn_nodes.nodes import commands
from dyn_nodes.nodes.arrays import floats, stamp_volts, volts_message
from dyn_nodes.nodes.diagnostics import WARN, DiagnosticsPublisher, Health
from dyn_nodes.nodes.drives import drive_dynamics, drive_inertia
from dyn_nodes.nodes.exchange import (
    Every,
    announce_partner,
    command_qos,
    is_lockstep,
    set_stamp,
    states_qos,
    valve_order,
)
from dyn_nodes.nodes.follower import CommandingNode, FollowerHealth
from dyn_nodes.nodes.group_values import command_publisher
from dyn_nodes.nodes.joint_state_reader import JointStateReader
from dyn_nodes.nodes.machines import checked_payload, machine_of
from dyn_nodes.nodes.parameters import Declared, ParameterError, declare, mapped_parameters, node_parameters
from dyn_nodes.nodes.plausible import Bounds
from dyn_nodes.nodes.recovery_watch import RecoveryWatch
from dyn_nodes.nodes.running import NotNeeded, run_node
from dyn_nodes.nodes.trajectory_goals import TrajectoryGoals
from dyn_nodes.nodes.trajectory_messages import last_point_of, trajectory_of

JointState = message('sensor_msgs/msg/JointState')
JointTrajectoryMessage = message('trajectory_msgs/msg/JointTrajectory')
Float64, Float64MultiArray = message('std_msgs/msg/Float64'), message('std_msgs/msg/Float64MultiArray')
String = message('std_msgs/msg/String')
Twist, TwistStamped = message('geometry_msgs/msg/Twist'), message('geometry_msgs/msg/TwistStamped')

PARAMETERS = node_parameters('controller_node')


def gain_parameters(joint: str) -> tuple[Declared, ...]:
    """Return the parameters of a joint's gains, with the names of joint_trajectory_controller."""
    declared = mapped_parameters('controller_node', 'joints', joint)
    return tuple(parameter for parameter in declared if parameter.name.startswith('gains.'))


class ControllerNode(CommandingNode):
    """Publishes a command for every period of the joint states' time.

    Attributes:
        trajectories: number of accepted trajectories.
        phase: last one published on `task_phase`.
    """

    timeout_action = 'neutral commands'

    def __init__(self, **options: Any) -> None:
        super().__init__('controller_node', **options)
        self.values = values = declare(self, PARAMETERS)
        self.machine = machine_of(values['machine'], values['config'])
        self.paced, self.lockstep = values['mode'] == 'realtime', is_lockstep(values)
        self.valves = values['output'] == 'valve_commands'
        period = values['exchange_period']
        self._due = Every('command_period', values['command_period'], period, not self.paced)
        self.motors = False
        self.motion: Any = self._make_voltage_motion() if self.valves else self._make_position_motion()
        self.reader = JointStateReader(self.motion.joint_names, Bounds.of(self.machine, self.motion.joint_names))
        self.trajectories = 0
        self.phase = ''
        self.watch = self._make_watch()
        self._shape = self._make_shaper()
        self._create_topics()
        self.goals = TrajectoryGoals(
            self, self.motion.joint_names, self._plan, self._follow, self._reference_now, self._reject_command
        )
        self.health = FollowerHealth(self, ('no command is due', 'neutral commands'))
        statuses = {'joint_states': self.health.joint_states, 'commands': self._command_health}
        if self.watch is not None:
            statuses['recovery'] = self.watch.health
        self.diagnostics = DiagnosticsPublisher(self, statuses)
        self.add_on_set_parameters_callback(self._on_parameters)
        self._start_watch()
        self.get_logger().info(f'{self.machine.name}: {values["output"]}, {values["task"] or "no task"}')
        announce_partner(self)

    # -- set-up ------------------------------------------------------------------------------------------------------

    def _make_voltage_motion(self) -> ValveMotion | MotorMotion | MotorStateMotion:
        actuators = [self.machine.actuators[k] for k in valve_order(self.machine, self.values['joints'])]
        self.motors, self._drives = len(electric_motors(actuators)) == len(actuators), len(actuators)
        try:
            return self._make_motor_motion(actuators) if self.motors else self._make_valve_motion(actuators)
        except ValueError as error:
            raise ParameterError(str(error)) from None

    def _make_motor_motion(self, actuators: list[Actuator]) -> MotorMotion | MotorStateMotion:
        values = self.values
        if values['task']:
            raise ParameterError("parameter 'task': a task of voltages needs valves, found electric motors")
        self._out = volts_message([actuator.name for actuator in actuators])
        if values['motors.law'] != 'computed_torque':
            return MotorStateMotion(self.machine, actuators, self._state_law(), values['command_period'])
        loop = (values['motors.bandwidth'], values['motors.damping_ratio'])
        drives = drive_dynamics(self.machine, [actuator.joint for actuator in actuators])
        return MotorMotion(self.machine, actuators, *loop, values['command_period'], drives)

    def _state_law(self) -> StateLaw:
        values = self.values
        sizes = {name: values[f'motors.deviation.{name}'] for name in ('position', 'rate', 'current', 'voltage')}
        poles, imaginary = (tuple(values[f'motors.{name}']) for name in ('poles', 'poles_imaginary'))
        return StateLaw(values['motors.law'], poles, imaginary if any(imaginary) else (), **sizes)

    def _make_valve_motion(self, actuators: list[Actuator]) -> ValveMotion:
        values = self.values
        for actuator in actuators:
            values.update(declare(self, gain_parameters(actuator.joint)))
        tracker = TrajectoryTracker(actuators, inertia=drive_inertia(self.machine, [each.joint for each in actuators]))
        tracker.set_gains(self._gains(tracker.joint_names, values))
        names = [actuator.name for actuator in actuators]
        self._out = volts_message(names)
        return ValveMotion(tracker, self._make_task(names), 0.5 * values['command_period'])

    def _make_task(self, names: list[str]) -> VoltageProfile | SupervisedTask | None:
        values = self.values
        if not values['task']:
            return None
        profile = load_voltage_profile(self._task_file(), names, values['recovery'])
        try:
            on = recover_on(values['recover_on'], profile.recover_on, values['recovery_delay'])
            return profile if on is None or not values['recovery'] else SupervisedTask(profile, on)
        except ValueError as error:
            raise ParameterError(f"parameter 'recover_on': {error}") from None

    def _make_position_motion(self) -> PositionMotion:
        if self.values['task']:
            raise ParameterError("parameter 'task': a task of voltages needs the output valve_commands")
        driven = [joint.name for joint in self.machine.actuated_joints]
        joints = [name for name in self.values['joints'] if name] or driven
        if not joints:
            self.destroy_node()
            raise NotNeeded(f'machine {self.machine.name!r} has no driven joint, there is nothing to control')
        unknown = [name for name in joints if name not in driven]
        if unknown or len(set(joints)) != len(joints):
            raise ParameterError(
                f"parameter 'joints': expected joints of {', '.join(driven)}, each once; found {', '.join(joints)}"
            )
        self._out = JointState(name=joints)
        return PositionMotion(tuple(joints))

    @staticmethod
    def _gains(joints: Any, values: dict[str, Any]) -> list[TrackerGains]:
        shared = {name: values[name] for name in ('dead_band', 'load_filter', 'least_speed')}
        return [
            TrackerGains(
                position=values[f'gains.{joint}.p'],
                integral=values[f'gains.{joint}.i'],
                feedforward=values[f'gains.{joint}.ff_velocity_scale'],
                **shared,
            )
            for joint in joints
        ]

    def _task_file(self) -> Path:
        task = self.values['task']
        if '/' in task or task.endswith(('.yaml', '.yml')):
            return Path(task)
        try:
            return find_resource(f'config/tasks/{task}.yaml')
        except FileNotFoundError as error:
            raise ParameterError(f"parameter 'task': {error}") from None

    def _make_watch(self) -> RecoveryWatch | None:
        """Subscribe to the triggers of a recovery, before joint states, so that they are served first."""
        task = self.motion.profile if self.valves and not self.motors else None
        if not isinstance(task, SupervisedTask):
            return None
        return RecoveryWatch(self, task, lambda error: self._reject(self.rejections, error), QoSProfile(depth=100))

    def _make_shaper(self, payload: float | None = None) -> Callable[[JointTrajectory], JointTrajectory]:
        """Return a function that shapes trajectories for a payload, kg; None: the payload of the machine."""
        kind = self.values['anti_sway']
        if kind == 'none':
            return lambda trajectory: trajectory
        from dyn_nodes.control.anti_sway import shaped, shaper_of  # imports SciPy and the dynamics

        try:
            shaper = shaper_of(self.machine, kind, payload)
        except ValueError as error:
            raise ParameterError(f"parameter 'anti_sway': {error}") from None
        self.get_logger().info(f'anti-sway {kind}: trajectories take {shaper.delay:.2f} s longer')
        return lambda trajectory: shaped(trajectory, shaper)

    def _create_topics(self) -> None:
        states, command = states_qos(self.values), command_qos(self.lockstep)
        kind, topic = (Float64MultiArray, 'valve_commands') if self.valves else (JointState, 'joint_command')
        self.commands_out = command_publisher(self, kind, topic, command)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.phase_out = self.create_publisher(String, 'task_phase', latched)
        self.create_subscription(JointState, 'joint_states', self._on_joint_states, states)
        self.create_subscription(JointTrajectoryMessage, 'joint_trajectory', self._on_trajectory, QoSProfile(depth=10))
        twist = TwistStamped if self.values['stamped_cmd_vel'] else Twist
        self.create_subscription(twist, 'cmd_vel', self._on_cmd_vel, QoSProfile(depth=10))
        if self.values['anti_sway'] != 'none':
            self.create_subscription(Float64, 'payload', self._on_payload, QoSProfile(depth=10))

    # -- joint states ------------------------------------------------------------------------------------------------

    def _on_timeout_tick(self) -> None:
        self._publish_neutral()

    def _read_further(self, msg: Any, stamp: int) -> tuple[bool, Any]:
        """Return whether a command is due, and measured efforts where valves need them."""
        due = self._is_due(stamp)
        return due, self.reader.efforts(msg) if due and self.valves else None

    def _answer(self, since: float, further: tuple[bool, Any]) -> None:
        due, efforts = further
        if due:
            self._command(efforts)

    def _reference_now(self) -> JointReference | None:
        """Return the reference of the joints now, None without a trajectory."""
        reference: JointReference | None = self.motion.reference_at(self.time)
        return reference

    def _is_due(self, stamp: int) -> bool:
        if not self.lockstep:
            return self._due.passed(stamp)
        return not self.valves or self._due.at(stamp)  # the dynamics waits for a joint_command at every exchange

    def _restart(self, before: int | None, further: Any) -> None:
        if before is not None:
            self.get_logger().info('time went back: the task starts again')
            self.goals.preempt('a reset of time')
        self.motion.restart(self._state[0] if self._state else None)

    def _resume(self, further: Any, gap: float) -> None:
        """Hold the joints after a timeout: a real machine may be anywhere, and neither task nor trajectory is resumed.

        A task of a simulation continues with simulated time.
        """
        if self._state is None:
            return
        self.goals.preempt('a timeout of joint_states')
        left, motion = '', self.motion
        if self.live and isinstance(motion, ValveMotion) and motion.leave_task(self.time, self._state[0]):
            left = 'task'
        elif motion.interrupt(self.time, self._state[0]):
            left = 'trajectory'
        if left:
            self.get_logger().warn(f'joint_states are received again: the {left} is dropped, the joints are held')

    def _repeat(self) -> None:
        """Publish the last command again, except volts: each period uses exactly one message."""
        if self.lockstep and not self.valves and self.sent:
            self.commands_out.publish(self._out)

    def _command(self, efforts: Any) -> None:
        assert self._state is not None
        now = self.time
        self.goals.update(*self._state)
        if self.valves:
            try:
                self._publish_voltages(self.motion.voltages(now, *self._state, efforts))
            except OpenLoopError as error:
                self._publish_neutral()
                self._reject(self.state_rejections, commands.RejectedError('open loop', f'joint_states: {error}'))
        else:
            self._publish_positions(*self.motion.reference(now))
        self._publish_phase(self.motion.phase(now))
        if self.watch is not None:
            self.watch.report()
        if self.lockstep and self._due.at(self.stamp or 0):
            self.update_diagnostics()

    def _publish_voltages(self, volts: Any) -> None:
        self._out.data = floats(volts)
        stamp_volts(self._out, self.stamp)
        self.commands_out.publish(self._out)
        self.sent += 1

    def _publish_positions(self, positions: Any, velocities: Any) -> None:
        set_stamp(self._out, self.stamp or 0)
        self._out.position, self._out.velocity = floats(positions), floats(velocities)
        self.commands_out.publish(self._out)
        self.sent += 1

    def _publish_neutral(self) -> None:
        """Publish 0 V, or the last measured positions of the joints."""
        if self.valves:
            self._publish_voltages(np.zeros(self._drives))
            if isinstance(self.motion, ValveMotion):
                self.motion.record_neutral()
        elif self._state is not None:
            self._publish_positions(self._state[0], np.zeros(len(self.motion.joint_names)))

    def _publish_phase(self, phase: str) -> None:
        if phase != self.phase:
            self.phase = phase
            self.phase_out.publish(String(data=phase))

    # -- commands ----------------------------------------------------------------------------------------------------

    def _on_trajectory(self, msg: Any) -> None:
        try:
            trajectory, _ = self._plan(msg)
            self._follow(trajectory)
        except commands.RejectedError as error:
            self._reject(self.rejections, error)
            return
        self.goals.preempt('a trajectory on joint_trajectory')
        self.trajectories += 1
        self.get_logger().info(f'trajectory of {trajectory.duration:.2f} s, {len(trajectory.times)} points')
        self._publish_phase(self.motion.phase(self.time))

    def _plan(self, msg: Any) -> tuple[JointTrajectory, float]:
        """Return the curve of a trajectory message and the time of its last point, s. Raises RejectedError."""
        if self._state is None:
            raise commands.RejectedError('no joint_states', 'joint_trajectory: no joint_states yet to start from')
        if self.timed_out:
            raise commands.RejectedError('no joint_states', 'joint_trajectory: joint_states have timed out')
        start, rules = self.goals.start(*self._state), self.goals.rules(self._state[0])
        trajectory = trajectory_of(msg, self.motion.joint_names, self.machine, self.time, start, rules)
        shaped = self._shape(trajectory)
        return shaped, last_point_of(msg, trajectory) if shaped is trajectory else shaped.duration

    def _reject_command(self, error: commands.RejectedError) -> None:
        self._reject(self.rejections, error)

    def _follow(self, trajectory: JointTrajectory) -> None:
        assert self._state is not None
        try:
            self.motion.follow(trajectory, self.time, *self.goals.start(*self._state))
        except ValueError as error:
            raise commands.RejectedError('bad trajectory', f'joint_trajectory: {error}') from None

    def _on_payload(self, msg: Any) -> None:
        """Shape the following trajectories for a new payload."""
        try:
            self._shape = self._make_shaper(checked_payload(self.machine, float(msg.data)))
        except ParameterError as error:
            self._reject(self.rejections, commands.RejectedError('payload', str(error)))

    def _on_cmd_vel(self, msg: Any) -> None:
        text = f'cmd_vel: machine {self.machine.name!r} has no driven base'
        self._reject(self.rejections, commands.RejectedError('cmd_vel', text))

    def _command_health(self) -> Health:
        """Return the status `commands`: the current task or trajectory, and rejected commands."""
        health = Health(text=self.phase or 'waiting', more=self._command_values)
        if self.rejections.recent(self.now()):
            health.worse(WARN, f'rejected: {self.rejections.last}')
        return health

    def _command_values(self) -> dict[str, str]:
        return {
            'output': self.values['output'],
            'joints': ', '.join(self.motion.joint_names),
            'phase': self.phase,
            'sent': str(self.sent),
            'trajectories': str(self.trajectories),
            **self.goals.values(),
            **self.rejections.values(),
        }

    def _on_parameters(self, parameters: list[Any]) -> Any:
        changed = {parameter.name: parameter.value for parameter in parameters if parameter.name in self.values}
        self.values.update(changed)
        if self.valves and not self.motors:
            self.motion.tracker.set_gains(self._gains(self.motion.joint_names, self.values))
        return SetParametersResult(successful=True)


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node('controller_node', ControllerNode, args)


if __name__ == '__main__':
    sys.exit(main())
