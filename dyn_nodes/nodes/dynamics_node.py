"""Simulation of a machine: rigid bodies, contacts, payload, stability.

    dyn-nodes run dynamics_node --ros-args -p machine:=log_loader -p actuation:=monolithic

Without `actuation:=monolithic` actuator nodes compute the efforts of the joints.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Flags
from dyn_nodes.middleware import (
    DurabilityPolicy,
    Parameter,
    QoSProfile,
    SetParametersResult,
    drive_clock,
    message,
    service,
)
from dyn_nodes.model import Machine
from dyn_nodes.model.problems import ContactModelError
from dyn_nodes.nodes import commands
from dyn_nodes.nodes.arrays import stamp_of_volts
from dyn_nodes.nodes.diagnostics import DiagnosticsPublisher
from dyn_nodes.nodes.dynamics_health import DynamicsHealth
from dyn_nodes.nodes.events import EventPublisher
from dyn_nodes.nodes.exchange import Every, command_qos, data_qos, is_lockstep, states_qos
from dyn_nodes.nodes.grasp_exchange import GraspExchange
from dyn_nodes.nodes.imu_report import ImuReport
from dyn_nodes.nodes.instants import Match
from dyn_nodes.nodes.joint_commands import JointCommand, command_interfaces, joint_values
from dyn_nodes.nodes.joint_targets import JointTargets
from dyn_nodes.nodes.linear_service import LinearizeService
from dyn_nodes.nodes.load_moment_report import LoadMomentReport
from dyn_nodes.nodes.machines import checked_payload, joint_positions, machine_of, moving, robot_of_team
from dyn_nodes.nodes.neighbours import Neighbours, require_no_publisher
from dyn_nodes.nodes.overridable import OverridableNode
from dyn_nodes.nodes.pacing import Pacer
from dyn_nodes.nodes.parameters import ParameterError, declare, node_parameters
from dyn_nodes.nodes.plausible import Bounds
from dyn_nodes.nodes.prepared import PreparedPublisher
from dyn_nodes.nodes.reporting import JointStatePublisher, Reporter
from dyn_nodes.nodes.running import run_node
from dyn_nodes.nodes.simulation_services import SimulationServices, are_available
from dyn_nodes.nodes.stamps import NANO, nanoseconds_of, nanoseconds_of_stamp, packed_stamp
from dyn_nodes.nodes.transforms import TransformPublisher
from dyn_nodes.simulation import NoEquilibriumError
from dyn_nodes.simulation.assembly import Actuation
from dyn_nodes.simulation.events import Event
from dyn_nodes.simulation.period import PlantDivergedError
from dyn_nodes.simulation.plant import Plant
from dyn_nodes.stability.at_rest import alarm_levels

Clock = message('rosgraph_msgs/msg/Clock')
JointState = message('sensor_msgs/msg/JointState')
Float64 = message('std_msgs/msg/Float64')
Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
String = message('std_msgs/msg/String')
Trigger = service('std_srvs/srv/Trigger')
SetBool = service('std_srvs/srv/SetBool')

PARAMETERS = node_parameters('dynamics_node')
SCALES = ('friction_scale', 'wheel_stiffness_scale', 'wheel_damping_scale', 'bulk_modulus_scale', 'joint_stop_scale')
LONGEST_EXCHANGE = 0.01
START = 1.0
"""Simulated time, s, within which overturning means that the start is not an equilibrium: the run has failed."""
CONTROLLER = 'controller_node'
"""Name of the node that ends by itself if a machine has no driven joint."""


class DynamicsNode(OverridableNode):
    """Publishes the machine's state, ground reactions and margins; receives joint efforts or volts."""

    is_sole = True

    def __init__(self, **options: Any) -> None:
        super().__init__('dynamics_node', **options)
        self.values = declare(self, PARAMETERS)
        held: Sequence[str] = self.values['held']
        fixed: Sequence[str] = ()
        if self.values['team']:
            machine, held, fixed = robot_of_team(self.values['team'], self.values['robot'])
        else:
            machine = machine_of(self.values['machine'], self.values['config'])
        self.machine: Machine = moving(machine, self.values['initial_velocities'], self.values['initial_twist'])
        self.monolithic = self.values['actuation'] == 'monolithic'
        self.paced = self.values['mode'] == 'realtime'
        if self.values['partner'] == 'auto':
            self.values['partner'] = 'external' if self.paced and self.monolithic else 'lockstep'
        if not machine.actuated_joints:
            self._do_without_controller()
        self.answers = self.values['partner'] == 'lockstep'
        self.waits = self.answers or any(held)
        self.lockstep = is_lockstep(self.values)
        self.rejections = commands.Rejections()
        exact = self.monolithic and self.answers and not self.paced
        periods = self.values['command_period'], self.values['exchange_period']
        self._command_due = Every('command_period', *periods, exact)
        self._take_slope_of_file()
        self.plant = self._make_plant()
        start = self.plant.balance()
        self.levels = {} if start is None else alarm_levels(machine, tuple(start.margins), start)
        self.finished = False
        self.commands = 0
        self.targets = JointTargets(self.plant)
        self._efforts_of = -1
        self._first_repeated = 0
        self._limits = np.array([joint.effort_limit for joint in self.machine.movable_joints])
        self._passive = self.machine.idle_joints
        self._interfaces = command_interfaces(self.machine.urdf)
        self.without_command: tuple[str, ...] = ()
        self._bounds = Bounds.of(self.machine, self.plant.joints)
        require_no_publisher(self)
        self._create_topics(held, fixed)
        self.neighbours = Neighbours(self, is_source=True)
        self._create_services()
        self.pacer = Pacer(self)
        self.health = DynamicsHealth(self.pacer, self.rejections, self.levels)
        self.diagnostics = DiagnosticsPublisher(self, self.health.sources() | self.load_moment.sources())
        self.add_on_set_parameters_callback(self._on_parameters)
        self._publish_description()
        if not self.monolithic and self.machine.actuators and self.values['exchange_period'] > LONGEST_EXCHANGE:
            self.get_logger().warn(
                f'exchange_period {self.values["exchange_period"]:g} s: the split of a hydraulic machine by topics is '
                f'tested up to {LONGEST_EXCHANGE:g} s; beyond that it may oscillate'
            )
        support = f'{len(self.machine.ground_contacts)} contacts, {self.values["contact_model"]} ground'
        self.get_logger().info(
            f'{self.machine.name}: {self.plant.system.nv} degrees of freedom, '
            f'{"held by constraints" if self.machine.needs_constraints else support}, '
            f'{self.values["mode"]}, {self.values["actuation"]}'
        )
        self._hold_at_start()
        self.pacer.start()

    @property
    def has_started(self) -> bool:
        """Return whether simulated time has started."""
        return self.pacer.started

    @property
    def live(self) -> bool:
        """Return False: the node simulates the machine."""
        return False

    @property
    def failure(self) -> str:
        """Return why the simulation failed, or ''."""
        return self.health.fault if self.finished else ''

    # -- set-up ------------------------------------------------------------------------------------------------------

    def _do_without_controller(self) -> None:
        """Set up the node without a partner: the machine has no drives, and controller_node ends."""
        self.values['partner'] = 'external'
        self.values['wait_for'] = [name for name in self.values['wait_for'] if name != CONTROLLER]

    def _take_slope_of_file(self) -> None:
        """Use the slope of the machine file if the parameters have none."""
        if not (self.values['slope_roll'] or self.values['slope_pitch']):
            slope = dict(zip(('slope_roll', 'slope_pitch'), map(float, self.machine.slope)))
            self.values |= slope
            self.set_parameters([Parameter(name, value=value) for name, value in slope.items() if value])

    def _make_plant(self) -> Plant:
        actuation: Actuation = 'hydraulic' if self.monolithic else 'effort'
        values = self.values
        measures = tuple(name for name in values['measures'] if name)
        joints = joint_positions(values['initial_positions'], self.machine)
        start = {name: values[name] for name in SCALES}
        if values['payload'] >= 0.0:
            start['payload_mass'] = checked_payload(self.machine, values['payload'])
        slope = values['slope_roll'], values['slope_pitch']
        timing = values['exchange_period'], values['integration_step']
        try:
            if self.monolithic and self.waits and not self.answers:
                raise ParameterError("parameter 'actuation': expected topics for a machine that holds an object")
            if self.monolithic and self.machine.needs_constraints and not self.machine.actuators:
                text = "parameter 'actuation': expected topics for a machine with constraints and no actuators"
                raise ParameterError(text)
            plant = Plant(self.machine, actuation, *timing, measures, joints, start, slope, values['contact_model'])
        except KeyError as error:
            raise ParameterError(f"parameter 'measures': {error.args[0]}") from None
        except ContactModelError as error:
            raise ParameterError(f"parameter 'contact_model': {error}") from None
        plant.drop_time = values['drop_time'] if values['drop_time'] >= 0.0 else None
        plant.drop_tilt = values['drop_tilt'] if values['drop_tilt'] > 0.0 else None
        self._log_steps(plant)
        plant.warm_up()
        if not self.monolithic:
            plant.holding_efforts()  # loads its machine code, which a timeout of the partner needs at once
        return plant

    def _create_topics(self, held: Sequence[str], fixed: Sequence[str]) -> None:
        qos = data_qos(not self.paced)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        states = self.create_publisher(JointState, 'joint_states', states_qos(self.values))
        self.joint_states = JointStatePublisher(states, self.plant)
        self.clock_publisher = (
            PreparedPublisher(self.create_publisher(Clock, '/clock', qos), Clock())
            if self.values['publish_clock']
            else None
        )
        self.events = EventPublisher(self, qos)
        self.description = self.create_publisher(String, 'robot_description', latched)
        self.tf_static = TransformPublisher(self, '/tf_static', latched)
        self.reporter = Reporter(
            self, self.plant, self.levels, qos, self.values['world_frame'], self.values['publish_tf']
        )
        self.imu = ImuReport(self, self.plant, qos)
        self.load_moment = LoadMomentReport(self, self.machine, self.values['rated_share'], qos)
        self.load_moment.evaluate(*self._loaded())
        world = self.values['world_frame']
        self.grasps = GraspExchange(self, self.plant, held, world, lambda: self.pacer.commanded(), fixed)
        self.create_subscription(Float64, 'payload', self._on_payload, QoSProfile(depth=10))
        self.commands_topic = self.resolve_topic_name('valve_commands' if self.monolithic else 'joint_command')
        if self.monolithic:
            self.create_subscription(
                Float64MultiArray, 'valve_commands', self._on_valve_commands, command_qos(self.answers)
            )
            self._voltage_limits = np.array([a.command_limit for a in self.machine.actuators])
            self._voltage_names = [f'{a.name}/voltage' for a in self.machine.actuators]
        else:
            # in real time a lost answer is requested again, so that publishers of any durability are accepted
            qos = command_qos(self.answers and not self.paced)
            self.create_subscription(JointState, 'joint_command', self._on_joint_command, qos)

    def _create_services(self) -> None:
        self.create_service(Trigger, '~/reset', self._on_reset)
        self.create_service(SetBool, '~/pause', self._on_pause)
        self.create_service(Trigger, '~/step', self._on_step)
        self.linearize = LinearizeService(self)
        self.simulation = SimulationServices(self) if are_available() else None

    def _publish_description(self) -> None:
        self.description.publish(String(data=self.machine.urdf))
        fixed = self.reporter.fixed_frames()
        if fixed:
            self.tf_static.publish(fixed, nanoseconds_of(self.plant.time))

    # -- time --------------------------------------------------------------------------------------------------------

    def announce(self) -> None:
        """Publish the present instant: clock, reports that are due, and last the joint states."""
        plant = self.plant
        if self.clock_publisher is not None:
            now = nanoseconds_of(plant.time)
            drive_clock(self, now)
            if self.due('clock_period'):
                self.clock_publisher.publish(packed_stamp(now), ())
        self.publish_events()
        if self.due('load_moment_period'):
            self.load_moment.publish(*self._loaded())
        if self.due('report_period'):
            self.reporter.publish(self.due('marker_period'))
            self.update_diagnostics()
        if self.due('imu_period'):
            self.imu.publish()
        self.grasps.start_instant()
        if self.grasps.held and not self.answers:
            self._commanded()
        self.joint_states.publish()

    def _loaded(self) -> tuple[dict[str, float], float, np.ndarray]:
        """Return joint positions by name, payload, kg, and gravity (3,) in axes of the ground along the heading."""
        plant = self.plant
        x, y, z, w = plant.base_pose()[1]
        yaw = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
        turn = np.array(((np.cos(yaw), np.sin(yaw), 0.0), (-np.sin(yaw), np.cos(yaw), 0.0), (0.0, 0.0, 1.0)))
        payload = float(plant.p[plant.system.index('parameter', 'payload_mass')]) if self.machine.payload else 0.0
        return dict(zip(plant.joints, plant.positions.tolist())), payload, turn @ plant.p[:3]

    def update_diagnostics(self) -> None:
        """Publish health if due: by the wall clock in real time, so that a slow run does not delay it."""
        self.diagnostics.update(time.monotonic() if self.paced else self.plant.time, self.plant.time)

    def report_timeout(self) -> None:
        """Publish health at once if a timeout of the partner has started or ended: simulated time cannot pace this."""
        if self.health.timeout_changed():
            self.update_diagnostics()

    @property
    def awaited_topics(self) -> tuple[str, ...]:
        """Return the topics of the messages that every instant waits for, fully qualified."""
        return (*((self.commands_topic,) if self.answers else ()), *self.object_topics)

    @property
    def object_topics(self) -> tuple[str, ...]:
        """Return the awaited topics of the objects that hands hold."""
        return self.grasps.topics

    def repeat(self) -> None:
        """Publish the present joint states again."""
        self._first_repeated += self.plant.ticks == 0
        self.grasps.publish_states()
        if self._efforts_of == self.plant.ticks:
            self.grasps.publish_mobility()
        self.joint_states.publish()

    def due(self, period: str) -> bool:
        """Return whether the present tick is a multiple of a period parameter."""
        ticks = max(1, round(self.values[period] / self.values['exchange_period']))
        return self.plant.ticks % ticks == 0

    def advance(self) -> bool:
        """Advance by one exchange period; return False after the end of the run."""
        self._lead_to_target()
        steps = self.plant.substeps
        try:
            self.plant.advance()
        except PlantDivergedError as error:
            self.health.fault = str(error)
            self.event(getattr(error, 'kind', 'diverged'), str(error))
            self.finish()
            return False
        if self.plant.substeps != steps:
            self._log_steps(self.plant)
        if self.plant.overturned:
            self.announce()
            if self.plant.time <= START:
                self.health.fault = f'overturned {self.plant.time:.3g} s after the start: no stable initial posture'
                self.get_logger().error(f'{self.machine.name}: {self.health.fault}')
            self.finish()
            return False
        duration = self.values['duration']
        if duration > 0.0 and self.plant.time >= duration - 1e-9:
            self.announce()
            self.event('finished', f'the run of {duration:g} s is over')
            self.finish()
            return False
        return True

    def _log_steps(self, plant: Plant) -> None:
        if plant.refined_for:
            step = plant.period / plant.substeps
            self.get_logger().info(f'integration steps of {step:.2g} s: {plant.refined_for} moves that fast')

    def _lead_to_target(self) -> None:
        """Set the efforts of this instant that move the joints to their targets, once."""
        if self._efforts_of == self.plant.ticks:
            return
        self._efforts_of = self.plant.ticks
        self.targets.lead()

    def _commanded(self) -> None:
        """Continue with the efforts of this instant; publish the mobility of hands that hold an object."""
        if not self.grasps.held:
            self.pacer.commanded()
            return
        self._lead_to_target()
        self.grasps.publish_mobility()

    def finish(self) -> None:
        """End the run; `main` ends the process."""
        self.finished = True
        self.update_diagnostics()
        self.publish_events()

    def event(self, kind: str, text: str) -> None:
        """Publish an event of this instant."""
        self.events.publish(Event(self.plant.time, kind, details={'text': text}))

    def publish_events(self) -> None:
        """Publish the events of the machine since the last call."""
        for event in self.plant.take_events():
            self.events.publish(event)

    # -- commands ----------------------------------------------------------------------------------------------------

    def hold(self) -> None:
        """Enter the safe state: joints held at their positions, spools to neutral."""
        if self.monolithic:
            self.plant.u[:] = 0.0
        else:
            self.targets.hold()
            self._efforts_of = -1

    def _hold_at_start(self) -> None:
        """Hold the joints of the initial posture until a command is received: they may support the machine.

        Joints with an initial velocity get the efforts of rest instead, which do not brake them.
        """
        self.targets.release()
        self._efforts_of = -1
        if not self.machine.initial.moves:
            self.hold()

    def reject(self, error: commands.RejectedError) -> None:
        """Count and report a command that is not used."""
        self.rejections.add(error, self.pacer.now())
        self.get_logger().warn(f'rejected: {error}', throttle_duration_sec=1.0)
        self.update_diagnostics()

    def _on_joint_command(self, msg: Any) -> None:
        is_answer = False
        try:
            if self.answers and (not self._answers_now(msg) or self._is_answered):
                return
            is_answer = self.answers
            command = self._joint_command(msg)
            self._bounds.check_efforts('joint_command', command.effort)
            if not command.is_effort:
                self._bounds.check_positions('joint_command', command.position)
                self._bounds.check_velocities('joint_command', command.velocity)
        except commands.RejectedError as error:
            self.reject(error)
            if is_answer:  # this instant gets no other answer: the safe state replaces it
                self.hold()
                self._commanded()
            return
        self._use(command)
        self.commands += 1
        if self.answers or not self.grasps.held:
            self._commanded()
        else:
            self.pacer.note_command()

    def _joint_command(self, msg: Any) -> JointCommand:
        """Return the command of a message; the answer of an instant is complete. Raises RejectedError."""
        joints, interfaces = self.plant.joints, self._interfaces
        return joint_values(
            msg, joints, self._limits, passive=self._passive, interfaces=interfaces, partial=not self.answers
        )

    def _use(self, command: JointCommand) -> None:
        """Set the efforts or targets of a command; joints are held while none has a command."""
        commanded = command.commanded
        self.without_command = () if command.is_effort else self._names_without(commanded)
        if command.is_effort:
            self.targets.release()
            self.plant.set_efforts(command.effort)
        elif commanded.any():
            efforts = command.effort if np.isfinite(command.effort).any() else None
            self.targets.command(command.position, command.velocity, efforts)
        else:
            self.hold()

    def _names_without(self, commanded: Flags) -> tuple[str, ...]:
        """Return the driven joints without a command, of the flags (n,) of all joints."""
        pairs = zip(self.plant.joints, commanded)
        return tuple(name for name, has_command in pairs if not has_command and name not in self._passive)

    @property
    def _is_answered(self) -> bool:
        """Return whether the efforts of this instant are fixed: the mobility under them was published."""
        return bool(self.grasps.held) and self._efforts_of == self.plant.ticks

    def _answers_now(self, msg: Any) -> bool:
        """Return whether a command belongs to the present instant. Raises RejectedError if it belongs to none."""
        stamp = nanoseconds_of_stamp(msg.header.stamp)
        match = self.pacer.instants.match(stamp)
        if match is Match.NOW:
            return True
        if stamp == 0 and self._first_repeated:  # a repeated instant may be answered more than once
            self._joint_command(msg)
            self._first_repeated -= 1
            return False
        if self.paced and (match is Match.AHEAD or stamp == 0):
            self._joint_command(msg)
            now = nanoseconds_of(self.plant.time) / NANO
            text = f'joint_command: expected the stamp of joint_states, {now:.6f} s, found {stamp / NANO:.6f} s'
            raise commands.RejectedError('stamp', f'{text} (other software: set partner to external)')
        if self.paced:
            self.pacer.earlier_command()
        return False

    def _on_valve_commands(self, msg: Any) -> None:
        try:
            volts = commands.voltages(msg, [a.name for a in self.machine.actuators], self._voltage_limits)
            if self.answers and not self._volts_answer_now(stamp_of_volts(msg)):
                return
        except commands.RejectedError as error:
            self.reject(error)
            return
        self.plant.set_inputs(dict(zip(self._voltage_names, volts)))
        self.commands += 1
        self.pacer.commanded()

    def _volts_answer_now(self, stamp: int | None) -> bool:
        """Return whether volts belong to the present instant, as volts without an instant do.

        Raises RejectedError if they answer an instant without a command.
        """
        self._command_due.check_answered('valve_commands', stamp)
        match = Match.NOW if stamp is None else self.pacer.instants.match(stamp)
        if self.paced and match is Match.LATE:
            self.pacer.earlier_command()
        return match is Match.NOW  # else from a partner that has timed out, or before a reset

    def _on_payload(self, msg: Any) -> None:
        try:
            self.plant.set_payload(checked_payload(self.machine, float(msg.data)))
        except ParameterError as error:
            self.reject(commands.RejectedError('payload', str(error)))
            return
        self.publish_events()

    def _on_parameters(self, parameters: list[Any]) -> Any:
        for parameter in parameters:
            if parameter.name in SCALES:
                self.plant.set_parameter(parameter.name, float(parameter.value))
            elif parameter.name == 'speed':
                self.values['speed'] = float(parameter.value)
                self.pacer.rebase()
            elif parameter.name in ('slope_roll', 'slope_pitch'):
                self.values[parameter.name] = float(parameter.value)
                self.plant.set_slope(self.values['slope_roll'], self.values['slope_pitch'])
        return SetParametersResult(successful=True)

    # -- services ----------------------------------------------------------------------------------------------------

    def put_back(self) -> str:
        """Reset to the initial posture and time 0; return why that is not possible, or ''."""
        try:
            self.plant.reset()
        except NoEquilibriumError as error:
            return str(error)
        self._hold_at_start()
        self.health.fault = ''
        self.finished = False
        self.pacer.restart()
        self.event('reset', 'back to the initial posture')
        return ''

    def _on_reset(self, request: Any, response: Any) -> Any:
        failure = self.put_back()
        response.success, response.message = not failure, failure or 'back to the initial posture'
        return response

    def _on_pause(self, request: Any, response: Any) -> Any:
        self.pacer.pause(bool(request.data))
        self.update_diagnostics()
        response.success, response.message = True, 'paused' if request.data else 'running'
        return response

    def _on_step(self, request: Any, response: Any) -> Any:
        if not self.pacer.paused:
            response.success, response.message = False, 'pause first: a step is taken only while paused'
            return response
        response.success = self.pacer.has_command()
        self.pacer.single_step()
        state = '' if response.success else ': no command for this instant yet'
        response.message = f't = {self.plant.time:.6f} s{state}'
        return response


def main(args: list[str] | None = None) -> int:
    """Run the node until a signal or the end of the run; return exit status 1 if the simulation failed."""
    made: list[DynamicsNode] = []

    def make() -> DynamicsNode:
        made.append(DynamicsNode())
        return made[0]

    status = run_node('dynamics_node', make, args)
    return 1 if made and made[0].health.fault else status


if __name__ == '__main__':
    sys.exit(main())
