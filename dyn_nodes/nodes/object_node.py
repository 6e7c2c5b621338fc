"""Simulation of an object that several machines hold: motion and mobility of the hands in, wrenches on them out.

    dyn-nodes run object_node --ros-args -p team:=team_bar

It publishes the clock of its team.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import Any

import numpy as np

from dyn_nodes.elements.hand_motion import HandMobility, HandState
from dyn_nodes.middleware import Clock, ClockType, drive_clock, message
from dyn_nodes.middleware.launching import finished_nodes
from dyn_nodes.nodes import commands
from dyn_nodes.nodes.diagnostics import ERROR, WARN, DiagnosticsPublisher, Health
from dyn_nodes.nodes.events import EventPublisher
from dyn_nodes.nodes.exchange import LOCKSTEP_TIMEOUT, WATCH_PERIOD, command_qos, data_qos
from dyn_nodes.nodes.grasp_messages import (
    Float64MultiArray,
    Odometry,
    WrenchStamped,
    read_mobility,
    read_state,
    write_wrench,
)
from dyn_nodes.nodes.instants import Meeting
from dyn_nodes.nodes.object_reports import ObjectReports
from dyn_nodes.nodes.object_shapes import shape_of
from dyn_nodes.nodes.overridable import OverridableNode
from dyn_nodes.nodes.pacing import FLUSH_TIME
from dyn_nodes.nodes.parameters import declare, node_parameters
from dyn_nodes.nodes.prepared import PreparedPublisher
from dyn_nodes.nodes.running import RunFailed, RunOver, run_node
from dyn_nodes.nodes.stamps import NANO, nanoseconds_of, nanoseconds_of_stamp, packed_stamp
from dyn_nodes.nodes.team_frames import TeamFrames
from dyn_nodes.simulation.assembly import gravity_vector
from dyn_nodes.simulation.cosimulation.held_object import Grip, HeldHand, HeldObject, HeldObjectError
from dyn_nodes.simulation.events import Event
from dyn_nodes.teams import Team, TeamGrasp, load_team

ClockMessage = message('rosgraph_msgs/msg/Clock')
PARAMETERS = node_parameters('object_node')


DYNAMICS = 'dynamics_node'
"""Name of the dynamics node in the namespace of each robot."""
MOTION, MOBILITY = 'motion', 'mobility'
"""Parts of the state of a hand at an instant."""


class GraspInput:
    """Newest state of a hand.

    Attributes:
        grasp: of the team.
        size: of its wrenches: 3 for a ball, 6 for a fixed grasp.
        state, mobility: newest motion and mobility.
    """

    def __init__(self, grasp: TeamGrasp) -> None:
        self.grasp, self.size = grasp, 6 if grasp.kind == 'fixed' else 3
        self.state = HandState(np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3))
        self.mobility = HandMobility(np.zeros((self.size, self.size)), np.zeros(self.size))

    @property
    def hand(self) -> HeldHand:
        """Return the hand with the newest state and mobility."""
        now = self.state
        return HeldHand(now.position, now.velocity, *self.mobility, now.rotation, now.angular_velocity)


class ObjectNode(OverridableNode):
    """Simulates the objects of a team with the hands that hold them; publishes the clock of the team.

    An instant is answered when motion and mobility of all hands were received. A lost robot stops the team: wrenches
    are no longer published, so that every other robot enters its safe state after its timeout.

    Attributes:
        wrenches_out: publishers by grasp.
    """

    lockstep = is_sole = True

    def __init__(self, **options: Any) -> None:
        super().__init__('object_node', **options)
        self.values = declare(self, PARAMETERS)
        self.paced = self.values['mode'] == 'realtime'
        self.team = load_team(self.values['team'])
        self.period = nanoseconds_of(self.values['exchange_period'])
        self.rejections = commands.Rejections()
        self.hands = {name: GraspInput(grasp) for name, grasp in self.team.grasps.items()}
        self.meeting = Meeting(self.hands, (MOTION, MOBILITY))
        self.objects = {name: _held_object(self.team, name) for name in self.team.objects}
        self.instant = -1
        self.stopped = ''
        self._over_at: float | None = None
        self._pulls: dict[str, np.ndarray] = {}
        self._since = time.monotonic()
        self._create_topics()
        self.diagnostics = DiagnosticsPublisher(self, {'object': self._health})
        self.create_timer(WATCH_PERIOD, self.check_timeouts, clock=Clock(clock_type=ClockType.STEADY_TIME))
        held = ', '.join(f'{name} in {len(self.team.grasps_on(name))} hands' for name in self.objects)
        self.get_logger().info(f'{self.team.name}: {held}; waiting for {", ".join(self.team.robots)}')

    def _create_topics(self) -> None:
        last, qos = command_qos(True), data_qos(not self.paced)
        self.wrenches_out: dict[str, Any] = {}
        for name, grip in self.hands.items():
            at = f'{grip.grasp.robot}/grasp'
            hand = grip.grasp.hand
            self.create_subscription(Odometry, f'{at}_states/{hand}', partial(self._on_state, grip), last)
            self.create_subscription(Float64MultiArray, f'{at}_mobility/{hand}', partial(self._on_mobility, grip), last)
            self.wrenches_out[name] = self.create_publisher(WrenchStamped, f'{at}_wrenches/{hand}', last)
        self._wrench = WrenchStamped()
        self._wrench.header.frame_id = self.values['world_frame']
        clock = self.create_publisher(ClockMessage, '/clock', qos) if self.values['publish_clock'] else None
        self.clock_publisher = None if clock is None else PreparedPublisher(clock, ClockMessage())
        self.events = EventPublisher(self, qos)
        shapes = {name: shape_of(self.team.objects[name], item) for name, item in self.objects.items()}
        self.reports = ObjectReports(self, shapes, qos, self.values['world_frame'])
        self.frames = TeamFrames(self, tuple(self.team.robots), self.values['world_frame'])

    # -- hands -------------------------------------------------------------------------------------------------------

    def _on_state(self, grip: GraspInput, msg: Any) -> None:
        try:
            grip.state = read_state(f'{grip.grasp.robot}/grasp_states/{grip.grasp.hand}', msg)
        except commands.RejectedError as error:
            self._reject(error)
            return
        self.meeting.arrive(grip.grasp.name, nanoseconds_of_stamp(msg.header.stamp), MOTION)
        self._answer_if_all_are_here()

    def _on_mobility(self, grip: GraspInput, msg: Any) -> None:
        try:
            topic = f'{grip.grasp.robot}/grasp_mobility/{grip.grasp.hand}'
            instant, grip.mobility = read_mobility(topic, msg, grip.size)
        except commands.RejectedError as error:
            self._reject(error)
            return
        self.meeting.arrive(grip.grasp.name, instant, MOBILITY)
        self._answer_if_all_are_here()

    def _reject(self, error: commands.RejectedError) -> None:
        self.rejections.add(error, self.instant / NANO)
        self.get_logger().warn(f'rejected: {error}', throttle_duration_sec=1.0)

    def _answer_if_all_are_here(self) -> None:
        now = self.meeting.instant
        if self.stopped or self._over_at is not None or now == -1:
            return
        if now == self.instant:
            self._publish_wrenches()  # of a repeated instant
            return
        if now != self.instant + self.period:
            if self.instant >= 0 and now > self.instant:
                step = (now - self.instant) / NANO
                self._stop(f'expected robots with exchange_period {self.period / NANO:g} s, found {step:g} s')
                return
            if not self._start():
                return
        self._advance(now)

    def _start(self) -> bool:
        """Start the objects in their hands; return False if the poses of the hands fit no object."""
        for name, item in self.objects.items():
            try:
                item.start([self.hands[grasp.name].hand for grasp in self.team.grasps_on(name)])
            except np.linalg.LinAlgError:
                self._stop(f'{name}: the poses of its hands fit no object')
                return False
        return True

    def _advance(self, now: int) -> None:
        self.instant = now
        self._since = time.monotonic()
        if self.clock_publisher is not None:
            drive_clock(self, now)
            if self._due('clock_period'):
                self.clock_publisher.publish(packed_stamp(now), ())
        for name, item in self.objects.items():
            grasps = self.team.grasps_on(name)
            released = set(item.released)
            hands = [self.hands[grasp.name].hand for grasp in grasps]
            try:
                if self._due('report_period'):
                    item.follow(hands)
                    self.reports.publish(name, now, self._due('marker_period'))
                wrenches = item.advance(hands, self.period / NANO)
            except HeldObjectError as error:
                self._stop(f'{name}: {error}')
                return
            except np.linalg.LinAlgError:
                self._stop(f'{name}: the poses of its hands fit no object')
                return
            self._pulls |= {grasp.name: wrench for grasp, wrench in zip(grasps, wrenches)}
            for k in sorted(item.released - released):
                self._publish_slip(grasps[k])
        self._publish_wrenches()
        if 0.0 < self.values['duration'] <= now / NANO + 1e-9:
            self._over_at = time.monotonic()
        self.update_diagnostics()

    def _publish_slip(self, grasp: TeamGrasp) -> None:
        text = f'hand {grasp.hand} of {grasp.robot} slips off {grasp.patch} of {grasp.object}'
        limits = {'holding_force': grasp.holding_force or 0.0, 'holding_torque': grasp.holding_torque or 0.0}
        details = {'grasp': grasp.name, **limits, 'text': text}
        self.events.publish(Event(self.instant / NANO, 'slip_off', details=details))

    def _publish_wrenches(self) -> None:
        for name, publisher in self.wrenches_out.items():
            write_wrench(self._wrench, self._pulls[name], self.instant)
            publisher.publish(self._wrench)

    def _due(self, period: str) -> bool:
        ticks = max(1, round(self.values[period] * NANO / self.period))
        return round(self.instant / self.period) % ticks == 0

    # -- lost robots -------------------------------------------------------------------------------------------------

    def check_timeouts(self) -> None:
        """Report lost robots; end the run after its duration."""
        if self._over_at is not None and time.monotonic() - self._over_at > FLUSH_TIME:
            raise RunOver
        if self.instant < 0:
            self._check_robots()
        elif not self.stopped:
            self.stop_without_robots(time.monotonic() - self._since)
        self.update_diagnostics()

    def _check_robots(self) -> None:
        """Raise RunFailed if an awaited robot has ended before the first instant."""
        for node, how in finished_nodes().items():
            *space, name = node.split('/')
            if (
                name == DYNAMICS and space and space[-1] in self.team.robots
            ):  # not another node of the robot, such as its cockpit
                raise RunFailed(f'{node.lstrip("/")}, which is waited for, has ended: {how}')

    def stop_without_robots(self, waited: float) -> None:
        """Stop the team, in real time, if motions of robots are missing for longer than `command_timeout`, s."""
        if self._over_at is not None or not self.paced or waited <= self.values['command_timeout']:
            return  # in lockstep simulated time waits
        late = self._late()
        gone = [name for name in late if not self._is_there(name)]
        if gone or (late and waited > LOCKSTEP_TIMEOUT):
            self._stop(f'no motion of {", ".join(gone or late)} since {waited:.2f} s')

    def _late(self) -> list[str]:
        return list(dict.fromkeys(self.hands[name].grasp.robot for name in self.meeting.late(self.instant + 1)))

    def _is_there(self, robot: str) -> bool:
        topics = (f'{robot}/grasp_states/{grasp.hand}' for grasp in self.team.grasps_of(robot))
        return all(self.count_publishers(self.resolve_topic_name(topic)) for topic in topics)

    def _stop(self, why: str) -> None:
        """Stop the team: without wrenches every robot holds its joints after its timeout."""
        self.stopped = why
        self.get_logger().error(f'{why}: the team stops, every robot holds its joints')
        for publisher in self.wrenches_out.values():
            self.destroy_publisher(publisher)
        self.wrenches_out.clear()
        if self.instant >= 0:
            self.events.publish(Event(self.instant / NANO, 'team_stopped', details={'text': why}))
        self.update_diagnostics()

    # -- diagnostics -------------------------------------------------------------------------------------------------

    def update_diagnostics(self) -> None:
        """Publish /diagnostics if due or changed."""
        self.diagnostics.update(time.monotonic(), max(self.instant, 0) / NANO)

    def _health(self) -> Health:
        values = {f'force on {name}, N': f'{np.linalg.norm(pull[:3]):.6g}' for name, pull in self._pulls.items()}
        fixed = {name: self._pulls[name] for name in self._pulls if self.hands[name].size > 3}
        values |= {f'torque on {name}, N m': f'{np.linalg.norm(pull[3:]):.6g}' for name, pull in fixed.items()}
        health = Health(text='held', values={**values, **self.rejections.values()})
        if self.instant < 0:
            health.worse(WARN, f'waiting for {", ".join(self._late())}')
        elif time.monotonic() - self._since > self.values['command_timeout']:
            health.worse(WARN, f'no motion of {", ".join(self._late())}')
        for name, item in self.objects.items():
            if item.released:
                hands = ', '.join(self.team.grasps_on(name)[k].name for k in sorted(item.released))
                health.worse(ERROR, f'{hands} slipped off {name}')
        if self.stopped:
            health.worse(ERROR, f'stopped: {self.stopped}')
        return health


def _held_object(team: Team, name: str) -> HeldObject:
    """Return an object of a team between its hands."""
    item, machine = team.objects[name], next(iter(team.robots.values())).machine
    grips = [
        Grip(
            grasp.nodes, grasp.arms,
            np.inf if grasp.holding_force is None else grasp.holding_force,
            np.inf if grasp.holding_torque is None else grasp.holding_torque,
        )
        for grasp in team.grasps_on(name)
    ]  # fmt: skip
    body = item.item.lattice if item.model == 'lattice' else item.item.reduced
    return HeldObject(body, np.array(gravity_vector(machine.gravity, machine.slope)), grips=grips)


def main(args: list[str] | None = None) -> int:
    """Run the node until a signal or the end of the run; return exit status 1 if a robot has not started."""
    return run_node('object_node', ObjectNode, args)


if __name__ == '__main__':
    sys.exit(main())
