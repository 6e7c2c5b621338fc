"""Base class of the actuator nodes: joint states and voltages in, joint efforts out."""

from __future__ import annotations

import contextlib
import time
from typing import Any, ClassVar

import numpy as np

from dyn_nodes.middleware import QoSProfile, SetParametersResult, drive_clock, message, service
from dyn_nodes.nodes import commands
from dyn_nodes.nodes.actuator_health import ActuatorHealth
from dyn_nodes.nodes.actuator_reports import ActuatorReports
from dyn_nodes.nodes.arrays import floats, stamp_of_volts
from dyn_nodes.nodes.diagnostics import DiagnosticsPublisher
from dyn_nodes.nodes.events import EventPublisher
from dyn_nodes.nodes.exchange import (
    DEPTH_REALTIME,
    SOURCE_TIMEOUT,
    Every,
    announce_partner,
    awaits_commands,
    command_qos,
    data_qos,
    is_lockstep,
    set_stamp,
    states_qos,
    valve_order,
)
from dyn_nodes.nodes.follower import FollowerNode
from dyn_nodes.nodes.instants import InstantQueue, Match
from dyn_nodes.nodes.joint_state_reader import JointStateReader
from dyn_nodes.nodes.machines import checked_payload, machine_of
from dyn_nodes.nodes.managed import Managed
from dyn_nodes.nodes.parameters import Declared, ParameterError, declare
from dyn_nodes.nodes.plausible import Bounds
from dyn_nodes.nodes.stamps import NANO, nanoseconds_of_stamp
from dyn_nodes.simulation.cosimulation.actuation import ActuatorSystem, DivergedError
from dyn_nodes.simulation.cosimulation.actuator_exchange import ActuatorExchange
from dyn_nodes.simulation.cosimulation.joint_mobility import mobility_of

JointState = message('sensor_msgs/msg/JointState')
Float64 = message('std_msgs/msg/Float64')
Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
Trigger = service('std_srvs/srv/Trigger')

SAME_PERIOD = 2
"""Difference of two periods that the rounding of stamps may cause, ns."""
MOST_AT_ONCE = 0.1
"""Longest gap between joint states that is integrated over, s; after a longer one the actuators start again."""


class ActuatorNode(FollowerNode, Managed):
    """Answers joint states with joint efforts.

    Attributes:
        exchange: the actuators between two samples.
        received, answered, restarts: numbers of joint states, of answers, and of restarts of the actuators.
        voltages_received: number of accepted valve_commands.
        stamp: of the newest joint states, ns; None before the first.
        awaits_commands: lockstep: the node waits for the valve_commands of every command period.
        instants: lockstep: assigns valve_commands to joint states.
        waiting: lockstep: joint states without an answer, (stamp, positions, velocities).
        fault: reason for which no efforts are published, or ''.
        health: statuses of the node.
        state_rejections, command_rejections: rejected messages.
    """

    node_name: ClassVar[str]
    """Name of the node."""
    declared: ClassVar[tuple[Declared, ...]]
    """Parameters of the node."""
    status: ClassVar[str]
    """Name of the status of the actuators in diagnostics."""
    content: ClassVar[str]
    """Medium of the actuators, for messages: the oil, the current."""
    neutral: ClassVar[str]
    """Effect of a neutral command, for messages."""
    health: ActuatorHealth
    is_managed = True

    def __init__(self, **options: Any) -> None:
        super().__init__(self.node_name, **options)
        self.values = values = declare(self, self.declared)
        self.machine = machine_of(values['machine'], values['config'])
        self._check_machine()
        self.paced, self.lockstep = values['mode'] == 'realtime', is_lockstep(values)
        self.awaits_commands = awaits_commands(values)
        self.order = valve_order(self.machine, values['joints'])
        period = values['exchange_period']
        self._command_due = Every('command_period', values['command_period'], period, not self.paced)
        self._report_due = Every('report_period', values['report_period'], period, not self.paced)
        self.exchange = self._make_exchange()
        self.valve_names = [self.exchange.system.names[k] for k in self.order]
        self._limits = np.array([self.machine.actuators[k].command_limit for k in self.order])
        self.reader = JointStateReader(
            self.exchange.system.joints, Bounds.of(self.machine, self.exchange.system.joints)
        )
        movable = [joint.name for joint in self.machine.movable_joints]
        self.posture = JointStateReader(movable, Bounds.of(self.machine, movable))
        self._clear()
        self.state_rejections, self.command_rejections = commands.Rejections(), commands.Rejections()
        self._create_topics()
        self.health = ActuatorHealth(self)
        self.diagnostics = DiagnosticsPublisher(self, self.health.sources())
        self.create_service(Trigger, '~/reset', self._on_reset)
        self.add_on_set_parameters_callback(self._on_parameters)
        self._start_watch()
        self.get_logger().info(f'{self.machine.name}: {", ".join(self.valve_names)}; {values["mode"]}')
        announce_partner(self)
        self.manage()

    # -- set-up ------------------------------------------------------------------------------------------------------

    def _check_machine(self) -> None:
        """Raise ParameterError for a machine that has none of the actuators of this node."""

    def _tune(self, system: ActuatorSystem) -> None:
        """Set the parameters that may change while the node runs."""

    def _make_exchange(self) -> ActuatorExchange:
        system = ActuatorSystem(self.machine, self.values['integration_step'])
        self._tune(system)
        exchange = ActuatorExchange(system, self.values['exchange_period'])
        self.mobility = mobility_of(self.machine, system.joints) if self.lockstep else None
        if self.values['payload'] >= 0.0:
            self._set_payload(checked_payload(self.machine, self.values['payload']))
        self._warm_up(exchange)
        return exchange

    def _warm_up(self, exchange: ActuatorExchange) -> None:
        """Load the machine code before the first answer is due."""
        system = exchange.system
        initial = self.machine.initial.joint_positions
        positions = np.array([initial.get(joint, 0.0) for joint in system.joints])
        rest = np.zeros(len(positions))
        with contextlib.suppress(ValueError, DivergedError):
            exchange.start(positions, rest)
            system.outputs(positions, rest)
            exchange.predict(positions, rest, rest)
        if self.mobility is not None:
            self.mobility.at(np.array([initial.get(joint.name, 0.0) for joint in self.machine.movable_joints]))

    def _clear(self) -> None:
        count = len(self.exchange.system.names)
        self.received = self.answered = self.restarts = self.voltages_received = 0
        self.stamp: int | None = None
        self.waiting: tuple[int, Any, Any] | None = None
        self._surroundings: tuple[Any, Any] = (None, None)
        self.fault = ''
        self.received_at = self.commanded = time.monotonic()
        self._message: Any = None
        self._volts, self._newest = np.zeros(count), np.zeros(count)
        self.instants: InstantQueue[Any] = InstantQueue(self._command_due.lasts)

    def _create_topics(self) -> None:
        data, command = data_qos(not self.paced), command_qos(self.lockstep)
        joints = [joint.name for joint in self.machine.actuated_joints]
        self._reply = JointState(name=joints)
        self._effort_indices = [joints.index(joint) for joint in self.exchange.system.joints]
        self._efforts = np.zeros(len(joints))  # joints without an actuator get none
        self.commands_out = self.create_publisher(JointState, 'joint_command', command)
        self.reports = ActuatorReports(self, self.machine, data)
        self.events = EventPublisher(self, data)
        self.create_subscription(JointState, 'joint_states', self._on_joint_states, states_qos(self.values))
        qos = command_qos(self.awaits_commands)
        self.create_subscription(Float64, 'payload', self._on_payload, QoSProfile(depth=10))
        qos.depth = DEPTH_REALTIME  # of this side: around a reset two may arrive at once, and both are used
        self.create_subscription(Float64MultiArray, 'valve_commands', self._on_valve_commands, qos)

    # -- time --------------------------------------------------------------------------------------------------------

    def check_timeouts(self) -> None:
        """Report timeouts. In lockstep the wall clock has no other effect."""
        if self.paced and self._lacks_command and time.monotonic() - self.received_at > self.source_timeout:
            self._give_up_source()
            self._answer()
        if not self.lockstep or self.health.timeout_changed():
            self.update_diagnostics()

    @property
    def source_timeout(self) -> float:
        """Return the wall-clock timeout of the valve_commands of an instant (realtime), s; 0 V are used after it."""
        return max(float(self.values['command_timeout']), SOURCE_TIMEOUT)

    @property
    def source_lost(self) -> bool:
        """Return whether the source of valve_commands has timed out (realtime); 0 V are used then."""
        return self.instants.lost

    @property
    def _lacks_command(self) -> bool:
        """Return whether the newest joint states wait only for their valve_commands."""
        return self.instants.waits and not self.fault

    def _give_up_source(self) -> None:
        self.get_logger().error(f'no valve_commands for t = {self.time:.3f} s: {self.neutral}')
        self.instants.give_up()

    # -- joint states ------------------------------------------------------------------------------------------------

    def _on_joint_states(self, msg: Any) -> None:
        stamp = nanoseconds_of_stamp(msg.header.stamp)
        if self.lockstep:
            drive_clock(self, stamp)
        try:
            self._check_order(stamp)
            positions, velocities = self.reader.read(msg)
            if stamp == self.stamp:
                self._repeat()
                return
            surroundings = self._surroundings_of(msg, positions)
            if self._lacks_command and stamp > (self.stamp or 0):
                self._give_up_source()  # the dynamics has continued without this answer
                self._answer()
            interval = self._interval(stamp, msg, positions)
        except commands.RejectedError as error:
            self._reject(self.state_rejections, error)
            return
        self.stamp, self._message = stamp, msg
        self.received_at = time.monotonic()
        self.received += 1
        if self.lockstep:
            self._surroundings = surroundings
            self.waiting = stamp, positions, velocities
            self.instants.start(stamp, self.awaits_commands and self._command_due.at(stamp))
            self._answer()
        elif interval is not None:
            self._follow(stamp, interval, positions, velocities)

    def _surroundings_of(self, msg: Any, positions: Any) -> tuple[Any, Any]:
        """Return the mobility of the joints and their last efforts in lockstep; None for a value that is unknown."""
        if not self.lockstep or self.mobility is None:
            return None, None
        if self.posture.joints != self.reader.joints:
            positions, _ = self.posture.read_measured(msg)
        return self.mobility.at(positions), self.reader.efforts(msg)

    def _interval(self, stamp: int, msg: Any, positions: Any) -> float | None:
        """Return the time since the previous joint states, s; 0 if the actuators start here; None if they cannot."""
        if self.stamp is None:
            return 0.0 if self._start(msg, positions) else None
        gap = (stamp - self.stamp) / NANO
        if gap > 0.0 and self.fault:
            return None  # until time goes back or ~/reset is called
        if self._continues(stamp - self.stamp):
            return gap
        started = self._start(msg, positions)
        self.restarts += 1
        if gap < 0.0:
            self.get_logger().info(f'time went back by {-gap:.3f} s: {self.content} starts again')
        else:
            period = f' (exchange_period: {self.exchange.period:g} s)' if self.lockstep else ''
            text = f'no joint_states for {gap:g} s of their time{period}: {self.content} starts again'
            self.get_logger().warn(text, throttle_duration_sec=1.0)
        return 0.0 if started else None

    def _continues(self, gap: int) -> bool:
        """Return whether a gap, ns, continues the integration: in lockstep exactly one exchange period."""
        if self.lockstep:
            return abs(gap - self._command_due.exchange) <= SAME_PERIOD
        return 0 < gap <= MOST_AT_ONCE * NANO

    def _start(self, msg: Any, positions: Any) -> bool:
        """Start the actuators in the states that give the measured efforts."""
        efforts = self.reader.efforts(msg)
        if efforts is None:
            self.get_logger().warn(f'joint_states hold no efforts: {self.content} starts without load', once=True)
            efforts = np.zeros(len(positions))
        try:
            self.exchange.start(positions, efforts)
        except ValueError as error:
            self._fail(f'{self.content} cannot hold the joints: {error}')
            return False
        self.fault = ''
        return True

    def _repeat(self) -> None:
        """Publish the last answer again in lockstep, where it may have been lost; ignore the message in real time."""
        if not self.lockstep:
            return
        self.received_at = time.monotonic()
        if self.waiting is None and self.answered:
            self.commands_out.publish(self._reply)

    def _set_volts(self) -> bool:
        """Set the volts of the newest joint states; return False if they are not available yet."""
        if not self.awaits_commands:
            self._volts = self._newest_volts()
        elif self.source_lost:
            self._volts = np.zeros_like(self._volts)
            self.instants.pass_by()
        elif self.instants.waits:
            taken = self.instants.take()
            if taken is None:
                return False
            self._volts = taken[1]
        return True

    def _newest_volts(self) -> Any:
        """Return the last volts of an asynchronous source, 0 V after their timeout."""
        return np.zeros_like(self._newest) if self.health.commands_timed_out() else self._newest

    def _answer(self) -> None:
        """Publish the efforts of this exchange in lockstep, once its valve_commands are available."""
        if self.waiting is None or self.fault:
            return
        stamp, positions, velocities = self.waiting
        if not self._set_volts():
            return
        try:
            efforts = self.exchange.predict(positions, velocities, self._volts, *self._surroundings)
        except DivergedError as error:
            self._fail(str(error))
            return
        self.waiting = None
        self._publish_efforts(stamp, efforts)
        self._publish_events(stamp)
        if self._report_due.at(stamp):
            self.reports.publish(stamp, self.exchange.system.outputs(positions, velocities))
            self.update_diagnostics()

    def _follow(self, stamp: int, interval: float, positions: Any, velocities: Any) -> None:
        """Advance the actuators to this instant in real time and publish the efforts until the next one."""
        try:
            efforts = self.exchange.follow(interval, positions, velocities, self._newest_volts())
        except DivergedError as error:
            self._fail(str(error))
            return
        self._publish_efforts(stamp, efforts)
        self._publish_events(stamp)
        if self._report_due.passed(stamp):
            self.reports.publish(stamp, self.exchange.system.outputs(positions, velocities))

    def _publish_efforts(self, stamp: int, efforts: Any) -> None:
        self._efforts[self._effort_indices] = efforts
        set_stamp(self._reply, stamp)
        self._reply.effort = floats(self._efforts)
        self.commands_out.publish(self._reply)
        self.answered += 1

    def _publish_events(self, stamp: int) -> None:
        """Publish the events of the relief valves up to this instant."""
        for event in self.exchange.events:
            self.events.publish(event.shifted(stamp / NANO))

    def _fail(self, fault: str) -> None:
        """Keep the last valid states and publish no efforts: without them the dynamics holds the joints."""
        self.fault = fault
        self.get_logger().error(f'{fault}; no efforts are published', throttle_duration_sec=1.0)
        self.update_diagnostics()

    # -- commands ----------------------------------------------------------------------------------------------------

    def _on_valve_commands(self, msg: Any) -> None:
        try:
            values = commands.voltages(msg, self.valve_names, self._limits)
            stamp = stamp_of_volts(msg) if self.awaits_commands else None
            self._command_due.check_answered('valve_commands', stamp)
        except commands.RejectedError as error:
            self._reject(self.command_rejections, error)
            return
        volts = np.zeros(len(self.exchange.system.names))
        volts[self.order] = values
        if self.awaits_commands:
            match = self.instants.offer(stamp, volts)
            if match is Match.STALE:
                return
            if match is Match.RUNNING:
                self._volts = volts
        self._newest, self.commanded = volts, time.monotonic()
        self.voltages_received += 1
        if self.awaits_commands:
            self._answer()

    def _set_payload(self, mass: float) -> None:
        if self.mobility is not None:
            self.mobility.payload = mass

    def _on_payload(self, msg: Any) -> None:
        try:
            self._set_payload(checked_payload(self.machine, float(msg.data)))
        except ParameterError as error:
            self._reject(self.command_rejections, commands.RejectedError('payload', str(error)))

    def _on_parameters(self, parameters: list[Any]) -> Any:
        self.values.update({parameter.name: parameter.value for parameter in parameters})
        self._tune(self.exchange.system)
        return SetParametersResult(successful=True)

    def _on_reset(self, request: Any, response: Any) -> Any:
        if self._message is None:
            response.success, response.message = False, 'no joint_states yet: nothing to hold'
            return response
        try:
            positions, _ = self.reader.read(self._message)
            response.success = self._start(self._message, positions)
        except commands.RejectedError as error:
            response.success, response.message = False, str(error)
            return response
        response.message = f'{self.content} holds the present efforts' if response.success else self.fault
        if response.success:
            self.restarts += 1
            self._answer()
        return response
