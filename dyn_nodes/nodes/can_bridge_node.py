"""can_bridge_node: connects a machine on a CAN bus with topics, or simulates the control units of a bus.

    dyn-nodes run can_bridge_node --ros-args -p mapping:=log_loader -p channel:=can0
    dyn-nodes run can_bridge_node --ros-args -p mapping:=log_loader -p channel:=can1 -p role:=machine

With `role:=bridge` it only receives until `~/arm` is called. With `role:=machine` it simulates and needs no arming.
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import numpy as np

from dyn_nodes.can.arming import Arming, ArmingError
from dyn_nodes.can.command_bounds import CommandBounds
from dyn_nodes.can.commandable import obstacles
from dyn_nodes.can.competing import CompetingSenders
from dyn_nodes.can.mapping import CanMapping, Frame, Key
from dyn_nodes.can.mapping_file import load_mapping
from dyn_nodes.can.receiver import Receiver
from dyn_nodes.can.sender import RawFrame, Sender
from dyn_nodes.middleware import Clock, ClockType, DurabilityPolicy, QoSProfile, message, service
from dyn_nodes.nodes import commands
from dyn_nodes.nodes.arrays import volts_message
from dyn_nodes.nodes.can_bus import CanBus, Received
from dyn_nodes.nodes.can_topics import MeasurementTopics, SimulatedMeasurements
from dyn_nodes.nodes.diagnostics import ERROR, WARN, DiagnosticsPublisher, Health, one_line
from dyn_nodes.nodes.exchange import valve_order
from dyn_nodes.nodes.group_values import command_publisher
from dyn_nodes.nodes.listeners import other_publishers
from dyn_nodes.nodes.managed import Managed
from dyn_nodes.nodes.overridable import OverridableNode
from dyn_nodes.nodes.parameters import ParameterError, declare, node_parameters
from dyn_nodes.nodes.running import run_node
from dyn_nodes.nodes.stamps import NANO

Float64MultiArray, String = message('std_msgs/msg/Float64MultiArray'), message('std_msgs/msg/String')
SetBool = service('std_srvs/srv/SetBool')

PARAMETERS = node_parameters('can_bridge_node')
HUNG = 0.2
"""Time without a run of the node's timer after which the writing thread sends neutral commands, s; also the least time
for which unread frames are tolerated."""
STUCK = 0.5
"""Time without a run of the writing thread after which the bus counts as blocked, s."""
GRAPH_PERIOD = 0.2
"""Period in which the publishers of commands are checked while the machine is commanded, s."""


def mapping_of(name: str) -> CanMapping:
    """Return the mapping of a parameter. Raises ParameterError, or MachineError with the faults of the files."""
    if not name:
        raise ParameterError("parameter 'mapping': expected the path of a YAML or a name in config/can, found nothing")
    try:
        return load_mapping(name)[0]
    except ImportError as error:
        raise ParameterError(f"the package {error.name} is missing: pip install 'dyn_nodes[can]'") from None
    except FileNotFoundError as error:
        raise ParameterError(f"parameter 'mapping': {error}") from None


class CanBridgeNode(OverridableNode, Managed):
    """Publishes measurements of a bus and sends valve commands to it.

    Attributes:
        mapping: signals and quantities.  machine: the machine.
        receiver: of the incoming frames.
        seen: bridge: receiver of the command frames of another control unit, the levers of the machine.
        competing: bridge: control units that send them; none may while the machine is commanded.
        arming: permission to command the machine.
        rejections: of `valve_commands`.
        bounds: of the sent commands.
        bus: the interface.
    """

    is_managed = runs_inactive = True  # an inactive bridge is in shadow

    def __init__(self, **options: Any) -> None:
        super().__init__('can_bridge_node', **options)
        self.values = values = declare(self, PARAMETERS)
        self.mapping = mapping_of(values['mapping'])
        self.machine = machine = self.mapping.machine
        order = valve_order(machine, values['joints'])
        self.names = [machine.actuators[k].name for k in order]
        self.bounds = CommandBounds(self.mapping, self.names)
        self.is_bridge = values['role'] == 'bridge'
        measured, commanded = self.mapping.measurements, self.mapping.commands
        incoming, outgoing = (measured, commanded) if self.is_bridge else (commanded, measured)
        self.receiver, self.sender = Receiver(incoming), Sender(outgoing)
        self.seen = Receiver(commanded if self.is_bridge else ())
        self.competing = CompetingSenders(commanded if self.is_bridge else ())
        self._obstacles = '; '.join(map(str, obstacles(self.mapping)))
        self.arming = Arming(values['limit_share'], values['neutral_time'])
        self.rejections = commands.Rejections()
        self._command = -math.inf, np.zeros(len(order))
        self._waits_for_neutral = True
        self._stamped = 0
        self._turned = self._read_until = time.monotonic()
        self._unread = max(HUNG, min((frame.timeout for frame in incoming), default=HUNG))
        self._moved = False
        self._graph_seen = -math.inf
        self._out = volts_message(self.names)
        self._create_topics()
        # the control units of a simulated machine also send its levers
        self.bus = CanBus(values, outgoing if self.is_bridge else (*outgoing, *commanded), self._frame_now)
        self.diagnostics = DiagnosticsPublisher(
            self, {'bus': self._bus_health, 'signals': self._signal_health, 'state': self._state_health}
        )
        self.bus.start()
        self.create_timer(values['poll_period'], self.run_cycle, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.get_logger().info(f'{machine.name}: {values["role"]} on {values["interface"]} {values["channel"]}')
        if self.is_bridge:
            self.manage()

    def _create_topics(self) -> None:
        qos = QoSProfile(depth=10)
        if not self.is_bridge:
            self.simulated = SimulatedMeasurements(self, self.mapping.measurements, self.values['command_timeout'])
            self.commands_out = command_publisher(self, Float64MultiArray, 'valve_commands', qos)
            self.create_subscription(Float64MultiArray, 'levers', self._on_levers, qos)
            return
        self.topics = MeasurementTopics(self, self.mapping, self.receiver)
        self.commands_out = self.create_publisher(Float64MultiArray, 'can/valve_commands', qos)
        self.levers_out = self.create_publisher(Float64MultiArray, 'can/levers', qos)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.state_out = self.create_publisher(String, 'can/state', latched)
        self._publish_state()
        self.create_subscription(Float64MultiArray, 'valve_commands', self._on_commands, qos)
        self.create_service(SetBool, '~/arm', self._on_arm)
        self.create_service(SetBool, '~/activate', self._on_activate)

    def destroy_node(self) -> None:
        """Send neutral commands if the machine was commanded, close the bus and destroy the node."""
        bus = getattr(self, 'bus', None)
        if bus is not None:
            if self.is_bridge and self.arming.disarm('the bridge ends', time.monotonic()):
                bus.wait_sent(2 * len(bus.frames))
            bus.close()
        super().destroy_node()

    # -- from the bus ------------------------------------------------------------------------------------------------

    def run_cycle(self) -> None:
        """Process the received frames and check for faults."""
        now = time.monotonic()
        self._waits_for_neutral = self._waits_for_neutral or now - self._turned > HUNG
        self._turned, self._read_until = now, self.bus.read_until  # of the frames used below
        clock = self.get_clock().now().nanoseconds
        for _ in range(len(self.bus.received)):
            received = self.bus.received.popleft()
            at = received.time
            frame = self.receiver.take(*received)
            if frame is not None and self.is_bridge:
                self.topics.take(frame, at, self._stamp_of(clock - round((now - at) * NANO)))
            elif self.is_bridge:
                self._take_other(received, now)
            elif frame is not None:
                self._publish_received()
        if self.is_bridge:
            fault = self.bus.take_fault() or self.fault() or self.competing.fault(now) or self._new_source(now)
            if fault and self.arming.disarm(fault, now):
                self.get_logger().error(f'disarmed: {fault}')
                self._publish_state()
        elif self._moved and self._signal_fault(now):
            self._moved = False
            self._publish(np.zeros(len(self.names)))
        self.diagnostics.update(now, clock / NANO)

    def _stamp_of(self, wall: int) -> int:
        """Return a stamp, ns, for a wall time; it does not decrease unless the clock was set back.

        The process may be suspended between the readings of two clocks, which must not turn time back.
        """
        if 0 <= self._stamped - wall < NANO // 10:
            wall = self._stamped + 1_000
        self._stamped = wall
        return wall

    def _take_other(self, received: Received, now: float) -> None:
        """Store commands of other control units (bridge); publish them once all are received and fresh."""
        identifier, extended, data, at = received
        if self.receiver.frame_of(identifier, extended) is not None:
            return
        self.competing.take(identifier, extended, now)
        if self.seen.take(identifier, extended, data, at) is not None and not self.seen.fault(at):
            self._publish_to(self.levers_out, self._commanded(self.seen))

    def fault(self) -> str:
        """Return why the machine on the bus must not be commanded, or ''."""
        now = time.monotonic()
        stuck = f'the bus takes no frames for {STUCK:g} s' if now - self.bus.written > STUCK else ''
        return self._obstacles or self.bus.fault or self.bus.send_fault or stuck or self._signal_fault(now)

    def _signal_fault(self, now: float) -> str:
        """Return why the quantities of the bus are out of date, or ''.

        Ages refer to the time up to which the bus was read: frames that a busy computer has not read are not missing.
        """
        if now - self._read_until > self._unread:
            return f'the bus was not read for {self._unread:g} s'
        return self.receiver.fault(min(now, self._read_until))

    def _publish_received(self) -> None:
        """Publish the commands of the bus (machine) once all are received and fresh, and no lever is moved."""
        now = time.monotonic()
        if not self._signal_fault(now) and not self._has_command(now):
            self._moved = True
            self._publish(self._commanded(self.receiver))

    def _commanded(self, receiver: Receiver) -> np.ndarray:
        return np.array([receiver.values.get(('command', name), 0.0) for name in self.names])

    def _publish(self, volts: np.ndarray) -> None:
        self._publish_to(self.commands_out, volts)

    def _publish_to(self, publisher: Any, volts: np.ndarray) -> None:
        self._out.data = volts.tolist()
        publisher.publish(self._out)

    # -- to the bus --------------------------------------------------------------------------------------------------

    def _on_commands(self, msg: Any) -> None:
        try:
            volts = commands.voltages(msg, self.names, self.bounds.limits)
        except commands.RejectedError as error:
            self.rejections.add(error, time.monotonic())
            self.get_logger().warn(f'rejected: {error}', throttle_duration_sec=1.0)
            if error.kind in ('wrong size', 'other actuators'):  # from the controller of another machine
                return  # other faults belong to the controller of this machine
            volts = np.zeros(len(self.names))
        now = time.monotonic()
        self.bounds.note(volts, now)
        self._note_command(volts, now)
        share = 1.0 if self.arming.state == 'shadow' else self.arming.greatest_share()
        self._publish(self._volts(now, share))

    def _note_command(self, volts: np.ndarray, now: float) -> None:
        """Store a command; at the start and after a timeout a neutral command must precede any other."""
        timed_out = not self._has_command(now)
        self._waits_for_neutral = not commands.are_neutral(volts) and (self._waits_for_neutral or timed_out)
        self._command = now, volts

    def _on_levers(self, msg: Any) -> None:
        """Publish the levers of the operator (machine) and send them to the bus."""
        try:
            volts = commands.voltages(msg, self.names, self.bounds.limits, 'levers')
        except commands.RejectedError as error:
            self.get_logger().warn(f'rejected: {error}', throttle_duration_sec=1.0)
            return
        self._command = time.monotonic(), self.bounds.applied(volts, 1.0)
        self._publish(self._command[1])

    def _has_command(self, now: float) -> bool:
        return now - self._command[0] <= self.values['command_timeout']

    def _volts(self, now: float, share: float) -> np.ndarray:
        """Return the volts, limited to a share of the limits; neutral after a timeout or if the node hangs.

        They stay neutral until a neutral command was received, so that the machine does not start by itself.
        """
        at, volts = self._command  # read once: the writing thread calls this as well
        if self._waits_for_neutral or now - at > self.values['command_timeout'] or now - self._turned > HUNG:
            return np.zeros(len(self.names))
        return self.bounds.applied(volts, share)

    def _frame_now(self, frame: Frame) -> RawFrame | None:
        """Return the frame that the writing thread sends, or None."""
        now = time.monotonic()
        if not self.is_bridge and not frame.is_command:
            return self.sender.encode(frame, self.simulated.fresh_values(now))
        if self.is_bridge and self.bus.send_fault and self.arming.was_armed and self.arming.state == 'shadow':
            self.arming.prolong(now)  # until the bus takes neutral commands again
        if not (self.arming.take_turn(frame.name, now) if self.is_bridge else self._has_command(now)):
            return None
        volts = self._volts(now, self.arming.greatest_share()) if self.is_bridge else self._command[1]
        values: dict[Key, float] = {('command', name): float(value) for name, value in zip(self.names, volts)}
        return self.sender.encode(frame, values)

    # -- arming ------------------------------------------------------------------------------------------------------

    def _is_neutral(self) -> bool:
        """Return whether the last command was neutral, or has timed out and has no publisher any more."""
        if commands.are_neutral(self._command[1]):
            return True
        return not self._has_command(time.monotonic()) and not other_publishers(self, 'valve_commands')

    def _several(self) -> str:
        """Return a text that names the nodes with publishers of commands if there are several, or ''."""
        names = other_publishers(self, 'valve_commands')
        return f'several nodes publish valve_commands: {", ".join(names)}' if len(names) > 1 else ''

    def _new_source(self, now: float) -> str:
        """Return the text of `_several` for an armed bridge, at most every 0.2 s, or ''."""
        if self.arming.state == 'shadow' or now - self._graph_seen < GRAPH_PERIOD:
            return ''
        self._graph_seen = now
        return self._several()

    def _arm(self, is_wanted: bool) -> None:
        if is_wanted and not self.is_active:
            raise ArmingError(f'expected a configured node, found {self.lifecycle_state}')
        now = time.monotonic()
        fault = self.fault() or self.competing.fault(now) or self._several()
        self.arming.arm(is_wanted, fault, self._is_neutral(), now)

    def _on_arm(self, request: Any, response: Any) -> Any:
        return self._answer(response, lambda: self._arm(request.data))

    def _on_activate(self, request: Any, response: Any) -> Any:
        return self._answer(response, lambda: self.arming.activate(request.data, self._is_neutral()))

    def obstacle(self, is_active: bool) -> str:
        """Arm or disarm the bridge, unless it is so; return why it cannot be armed, or ''."""
        if (self.arming.state != 'shadow') == is_active:
            return ''
        try:
            self._arm(is_active)
        except ArmingError as error:
            return one_line(error)
        self._publish_state()
        return ''

    def _answer(self, response: Any, change: Any) -> Any:
        try:
            change()
            response.success, response.message = True, self.arming.state
        except ArmingError as error:
            response.success, response.message = False, one_line(error)
        self.get_logger().info(f'{self.arming.state}: {response.message}')
        self._publish_state()
        return response

    def _publish_state(self) -> None:
        reason = f': {one_line(self.arming.reason)}' if self.arming.reason else ''
        self.state_out.publish(String(data=f'{self.arming.state}{reason}'))
        if self.arming.state == 'shadow' and self.lifecycle_state == 'active':
            self.trigger_deactivate()
        elif self.arming.state != 'shadow' and self.lifecycle_state == 'inactive':
            self.trigger_activate()

    # -- health ------------------------------------------------------------------------------------------------------

    def _bus_health(self) -> Health:
        bus, receiver = self.bus, self.receiver
        values = {
            'frames used': str(receiver.taken), 'frames passed over': str(receiver.passed_over),
            'frames sent': str(bus.sent), 'unreadable': str(bus.unreadable), 'error frames': str(bus.error_frames),
        }  # fmt: skip
        health = Health(text='receiving' if receiver.taken else 'no frame of the mapping yet', values=values)
        if bus.fault or bus.send_fault:
            health.worse(ERROR, bus.fault or bus.send_fault)
        if flood := receiver.others.flood(time.monotonic()):
            health.worse(WARN, flood)
        return health

    def _signal_health(self) -> Health:
        values = {signal: str(count) for signal, count in sorted(self.receiver.rejected.items())}
        values |= {f'saturated {signal}': str(count) for signal, count in list(self.sender.saturated.items())}
        values |= {
            f'neutral {signal}, not finite': str(count) for signal, count in list(self.sender.not_finite.items())
        }
        health = Health(text='all signals are fresh', values=values)
        fault = self._signal_fault(time.monotonic())
        if fault:
            health.worse(ERROR if self.receiver.taken else WARN, one_line(fault))
        return health

    def _state_health(self) -> Health:
        if not self.is_bridge:
            return Health(text='simulated machine')
        clamped = {f'clamped {name}': str(count) for name, count in self.bounds.clamped.items()}
        health = Health(text=self.arming.state, values=self.rejections.values() | clamped)
        if self.arming.reason:
            health.worse(ERROR, one_line(f'{self.arming.state}: {self.arming.reason}'))
        elif self.arming.state != 'shadow' and self._waits_for_neutral:
            health.worse(WARN, f'{self.arming.state}: neutral frames until valve_commands have been neutral')
        elif self.arming.state != 'shadow' and not self._has_command(time.monotonic()):
            health.worse(WARN, f'{self.arming.state}: no valve_commands, neutral frames')
        if self.rejections.recent(time.monotonic()):
            health.worse(WARN, f'rejected: {self.rejections.last}')
        if self.bounds.recent(time.monotonic()):
            health.worse(WARN, f'clamped: {self.bounds.last}')
        return health


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node('can_bridge_node', CanBridgeNode, args)


if __name__ == '__main__':
    sys.exit(main())
