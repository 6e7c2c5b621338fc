"""Controller of a team: robots that hold one object carry it along a path; efforts of all robots out.

    dyn-nodes run team_controller_node --ros-args -p team:=team_bar -p path.kind:=line -p path.bearing:=1.57

The speed is planned so that no wheel of any robot slips or lifts. If a hand slips off, or is too far from its
reference, the team brakes along its path. If a robot or the object is lost, commands end, and every robot holds its
joints after its timeout.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from dyn_nodes.control.carry import Gains
from dyn_nodes.middleware import QoSProfile, SetParametersResult, drive_clock, message, service
from dyn_nodes.nodes import commands
from dyn_nodes.nodes.diagnostics import DiagnosticsPublisher
from dyn_nodes.nodes.exchange import LOCKSTEP_TIMEOUT, data_qos
from dyn_nodes.nodes.follower import FollowerNode
from dyn_nodes.nodes.hand_messages import check_frame, pose_of
from dyn_nodes.nodes.instants import Meeting
from dyn_nodes.nodes.pacing import FLUSH_TIME
from dyn_nodes.nodes.parameters import ParameterError, declare, group, node_parameters
from dyn_nodes.nodes.running import RunOver, run_node
from dyn_nodes.nodes.stamps import NANO
from dyn_nodes.nodes.team_carrying import Carrying
from dyn_nodes.nodes.team_health import TeamHealth
from dyn_nodes.nodes.team_links import HAND, JOINTS, RobotLink
from dyn_nodes.nodes.team_reports import TeamReports
from dyn_nodes.teams import load_team
from dyn_nodes.teams.carry_limits import Reserve
from dyn_nodes.teams.carry_plan import Course, carriage_of
from dyn_nodes.teams.holding import CarryError, holders_of

DiagnosticStatus = message('diagnostic_msgs/msg/DiagnosticStatus')
PoseStamped = message('geometry_msgs/msg/PoseStamped')
Trigger = service('std_srvs/srv/Trigger')

PARAMETERS = node_parameters('team_controller_node')
REACTION = 0.02
"""Time from a slip to its effect, s: longer than the delay of its message, so that lockstep runs are reproducible."""

FORESIGHT = 1.0
"""Greatest plausible difference of an event's time from the present time, s."""


class TeamControllerNode(FollowerNode):
    """Carries the object of a team; answers every instant for which the states of all robots were received.

    Attributes:
        end_reason: why commands have ended, or ''.
        goals: number of accepted goals.
    """

    lockstep = True

    def __init__(self, **options: Any) -> None:
        super().__init__('team_controller_node', **options)
        self.values = values = declare(self, PARAMETERS)
        self.paced = values['mode'] == 'realtime'
        self.team = load_team(values['team'])
        self.item = self._object()
        self.rejections, self.state_rejections = commands.Rejections(), commands.Rejections()
        self.end_reason, self.goals = '', 0
        self._since = time.monotonic()
        self._slips: list[tuple[int, int, str]] = []
        self.carrying = self._make_carrying()
        self._create_topics()
        self.diagnostics = DiagnosticsPublisher(self, TeamHealth(self).sources())
        self.add_on_set_parameters_callback(self._on_parameters)
        self._start_watch()
        names = ', '.join(link.name for link in self.links)
        self.get_logger().info(f'{self.team.name}: {self.item} in the hands of {names}; {self._duration()}')

    # -- set-up ------------------------------------------------------------------------------------------------------

    def _object(self) -> str:
        wanted, names = self.values['object'], list(self.team.objects)
        if not wanted and len(names) == 1:
            return names[0]
        if wanted not in names:
            received = repr(wanted) if wanted else 'nothing'
            raise ParameterError(f"parameter 'object': expected one of {', '.join(names)}, found {received}")
        return str(wanted)

    def _make_carrying(self) -> Carrying:
        values = self.values
        try:
            holders = holders_of(self.team, self.item, values['friction'])
            reserve = group(values, 'reserve', Reserve)
            limits = values['limits.speed'], values['limits.turning']
            carriage = carriage_of(self.team, self.item, holders, values['squeeze'], reserve, *limits)
            first = None
            if values['path.kind'] != 'none':
                course = {name: values[f'path.{name}'] for name in ('kind', 'length', 'width', 'bearing', 'turning')}
                first = carriage.along(Course(**course))
            return Carrying(carriage, group(values, 'gains', Gains), first, values['path.delay'])
        except CarryError as error:
            raise ParameterError(f'team {self.team.name!r}: {error}') from None

    def _create_topics(self) -> None:
        machines = self.team.robots
        self.meeting = Meeting([holder.name for holder in self.carrying.carriage.holders], (JOINTS, HAND))
        self.links = [
            RobotLink(self, holder, machines[holder.name].machine, self._on_states)
            for holder in self.carrying.carriage.holders
        ]
        data, values = data_qos(not self.paced), self.values
        self.reports = TeamReports(self, self.item, values['world_frame'], values['report_period'], data)
        self.create_subscription(PoseStamped, 'object_goal', self._on_goal, QoSProfile(depth=10))
        self.create_subscription(DiagnosticStatus, 'events', self._on_event, data)
        self.create_service(Trigger, '~/stop', self._on_stop)

    def _duration(self) -> str:
        plan = self.carrying.plan
        if self.values['path.kind'] == 'none':
            return 'holding'
        return f'{self.values["path.kind"]} in {plan.profile.duration:.2f} s'

    # -- states ------------------------------------------------------------------------------------------------------

    def now(self) -> float:
        """Return the time that paces health: simulated in lockstep, steady otherwise, s."""
        return time.monotonic() if self.paced else self.time

    def _on_states(self, link: RobotLink) -> None:
        if self.end_reason:
            return
        if link.instant >= 0 and link.instant == link.answered == self.stamp:
            link.repeat()  # of a repeated instant
            return
        if self.meeting.instant not in (-1, self.stamp):
            self._answer(self.meeting.instant)

    def _answer(self, now: int) -> None:
        before, self.stamp = self.stamp, now
        self._since = time.monotonic()
        drive_clock(self, now)
        states = [link.state() for link in self.links]
        if before is None or now < before:
            self._start(before, states)
        self._take_slips()
        if self.end_reason:
            return
        try:
            efforts = self.carrying.efforts(self.time, states, np.array([link.hand for link in self.links]))
        except np.linalg.LinAlgError as error:
            self._end(f'no efforts in this posture: {error}')
            return
        if not all(np.isfinite(robot_efforts).all() for robot_efforts in efforts):
            self._end('no finite efforts in this posture')
            return
        for link, robot_efforts in zip(self.links, efforts):
            link.answer(now, robot_efforts)
        self._judge_deviation()
        if self.reports.publish(now, self.carrying):
            self.update_diagnostics()

    def _start(self, before: int | None, states: Any) -> None:
        if before is not None:
            self.get_logger().info('time went back: the path starts again')
        self._slips.clear()
        self.reports.restart()
        self.carrying.restart(self.time)
        robot, distance = self.carrying.distance(states)
        if distance > self.values['tolerance']:
            self._end(f'robot {robot!r}: expected it at the start of its team, found it {distance:.3f} m away')

    def _judge_deviation(self) -> None:
        carrying = self.carrying
        if carrying.deviation > self.values['tolerance'] and not carrying.reason:
            carrying.brake(f'a hand is {carrying.deviation:.3f} m from its reference')
            self.get_logger().error(f'{carrying.reason}: the team brakes')

    def update_diagnostics(self) -> None:
        """Publish health if due."""
        self.diagnostics.update(self.now(), self.time)

    # -- end and braking ---------------------------------------------------------------------------------------------

    def _on_event(self, msg: Any) -> None:
        kind = msg.name.rpartition(': ')[2]
        if kind == 'team_stopped':
            self._end(f'object_node has stopped the team: {msg.message}')
        if kind != 'slip_off':
            return
        values = {pair.key: pair.value for pair in msg.values}
        grasps = [grasp.name for grasp in self.team.grasps_on(self.item)]
        if values.get('grasp') in grasps:
            happened = self._instant_of(values.get('time', ''))
            self._slips.append((happened, grasps.index(values['grasp']), msg.message))

    def _instant_of(self, text: str) -> int:
        """Return the time of an event, ns; the present time for an implausible one."""
        now = self.stamp or 0
        try:
            happened = round(float(text) * NANO)
        except (ValueError, OverflowError):
            return now
        return happened if abs(happened - now) < FORESIGHT * NANO else now

    def _take_slips(self) -> None:
        due = [slip for slip in self._slips if (self.stamp or 0) >= slip[0] + REACTION * NANO]
        for slip in due:
            self._slips.remove(slip)
            self.carrying.let_go(slip[1], slip[2])
            self.get_logger().error(f'{slip[2]}: the team brakes')

    def check_timeouts(self) -> None:
        """Detect lost robots and objects, and the end of the run."""
        if 0.0 < self.values['duration'] <= self.time + 1e-9:
            if time.monotonic() - self._since > FLUSH_TIME:
                raise RunOver
            return
        if self.paced and self.stamp is not None and not self.end_reason:
            self.stop_without_partners(time.monotonic() - self._since)
        self.update_diagnostics()

    def stop_without_partners(self, waited: float) -> None:
        """End the task if robots or the object are lost; they were last received `waited` s ago."""
        if not any(link.is_held for link in self.links):
            self._end(f'no wrenches of {self.item}')
            return
        late = self.late()
        if waited <= self.values['command_timeout'] or not late:
            return
        gone = [link.name for link in late if not link.is_there]
        if gone or waited > LOCKSTEP_TIMEOUT:
            self._end(f'no states of {", ".join(gone or [link.name for link in late])} since {waited:.2f} s')

    def late(self) -> list[RobotLink]:
        """Return the robots without states of the newest instant."""
        late = self.meeting.late()
        return [link for link in self.links if link.name in late]

    def _end(self, why: str) -> None:
        """End the commands: every robot holds its joints after its timeout."""
        if self.end_reason:
            return
        self.end_reason = why
        self.get_logger().error(f'{why}: commands end, every robot holds its joints')
        for link in self.links:
            link.close()
        self.reports.publish_state(f'ended: {why}')
        self.update_diagnostics()

    def _on_stop(self, request: Any, response: Any) -> Any:
        self.carrying.brake('stopped by request')
        response.success, response.message = not self.end_reason, self.end_reason or self.carrying.state
        return response

    # -- goals -------------------------------------------------------------------------------------------------------

    def reject(self, error: commands.RejectedError) -> None:
        """Count and report rejected states."""
        self._reject(self.state_rejections, error)

    def _on_goal(self, msg: Any) -> None:
        try:
            check_frame('object_goal', msg.header.frame_id, self.values['world_frame'])
            pose = pose_of(msg.pose, 'object_goal')
            if self.end_reason or self.stamp is None or any(self.carrying.free) or not self.carrying.is_at_rest:
                does = self.end_reason or ('a hand has slipped off' if any(self.carrying.free) else self.carrying.state)
                raise commands.RejectedError('not at rest', f'object_goal: expected a team at rest, found: {does}')
            heading = float(np.arctan2(pose.rotation[1, 0], pose.rotation[0, 0]))
            seconds = self.carrying.onward(np.array([heading, *pose.position[:2]]))
        except commands.RejectedError as error:
            self._reject(self.rejections, error)
            return
        except CarryError as error:
            self._reject(self.rejections, commands.RejectedError('path', f'object_goal: {error}'))
            return
        self.goals += 1
        self.get_logger().info(f'object_goal: {seconds:.2f} s')

    def _on_parameters(self, parameters: list[Any]) -> Any:
        for parameter in parameters:
            if parameter.name == 'squeeze':
                if not self.carrying.is_at_rest:
                    return SetParametersResult(successful=False, reason='squeeze: expected a team at rest')
                try:
                    self.carrying.squeeze(float(parameter.value))
                except CarryError as error:
                    return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)


def main(args: list[str] | None = None) -> int:
    """Run the node until a signal or the end of the run."""
    return run_node('team_controller_node', TeamControllerNode, args)


if __name__ == '__main__':
    sys.exit(main())
