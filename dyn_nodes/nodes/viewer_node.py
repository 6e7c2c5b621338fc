"""viewer_node: the cockpit in the browser. It shows a machine from its topics, and drives it by levers on the page.

    dyn-nodes run viewer_node --ros-args -p machine:=log_loader

It prints the address of the page with a token; without the token a page is read-only (`viewer.access`).

All data are from topics, so that a recorded or a real machine is shown as well as a simulated one. Messages may have a
rate of 1 kHz: the newest of each topic is used thirty times a second, and changes are sent to the page.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dyn_nodes.common.extras import lacking
from dyn_nodes.common.share import folders_above
from dyn_nodes.middleware import SingleThreadedExecutor, message
from dyn_nodes.model import Machine
from dyn_nodes.model.actuators import oil_actuators
from dyn_nodes.nodes.dynamics_client import DynamicsClient
from dyn_nodes.nodes.exchange import valve_order
from dyn_nodes.nodes.guarded import GuardedNode
from dyn_nodes.nodes.listeners import is_listened_to, other_publishers
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.nodes.neighbours import Neighbours
from dyn_nodes.nodes.page_driving import Driving, JointDriving, TwistDriving, ValveDriving
from dyn_nodes.nodes.parameters import ParameterError, declare, node_parameters
from dyn_nodes.nodes.pose_driving import PoseDriving
from dyn_nodes.nodes.running import run_node
from dyn_nodes.nodes.viewer_inputs import ViewerInputs
from dyn_nodes.nodes.viewer_reach import ViewerReach
from dyn_nodes.nodes.viewer_team import ViewerTeam
from dyn_nodes.viewer.cockpit import Cockpit
from dyn_nodes.viewer.connection import LOST, Connection
from dyn_nodes.viewer.held_sliders import HeldSliders
from dyn_nodes.viewer.levers import Levers
from dyn_nodes.viewer.panel import Action
from dyn_nodes.viewer.robot import Robot, RobotError, load_robot
from dyn_nodes.viewer.snapshot import Snapshot

Float64 = message('std_msgs/msg/Float64')

PARAMETERS = node_parameters('viewer_node')
DISCOVERY_PERIOD, QUIET_DISCOVERY_PERIOD, QUESTION_PERIOD = 0.5, 4.0, 1.0
QUIET_AFTER = 6.0
"""Time without new topics after which the search for topics is less frequent, s."""
UNSEEN_RATE = 5.0
"""Frames per second while no page is open."""
OTHERS = 4
"""Number of callbacks other than inputs, such as timers, that may be due together with messages."""
FOREIGN_COMMAND = 0.5
"""Time after a command in which another node counts as commanding the valves, s."""


class ViewerNode(GuardedNode):
    """Shows a machine in the browser.

    Attributes:
        live: whether the machine may be real: with two machines the page does not end, but does not drive.
        neighbours: detection of other machines on the shown topics.
    """

    live = True
    watches_ages = False

    def __init__(self, **options: Any) -> None:
        self._has_page = False  # until its port is open
        super().__init__('viewer_node', **options)
        self.values = declare(self, PARAMETERS)
        self.machine: Machine | None = None
        if self.values['machine']:
            self.machine = machine_of(self.values['machine'], self.values['config'])
        self.pose = self._make_pose()
        self.ways = self._make_ways()
        self.driving: Driving | None = self.ways[-1] if self.ways else None
        self.levers: Levers = Levers((), {}) if self.driving is None else self.driving.levers
        title = self.machine.name.replace('_', ' ') if self.machine else 'dyn_nodes'
        self.cockpit = Cockpit(self.values['host'], self.values['port'], title, self.values['page_timeout'])
        self._has_page = True
        self.cockpit.set_shadows(self.values['shadows'])
        self._description_shown = ''
        self.connection = Connection(self.values['dynamics_node'], self.values['silence'])
        self.inputs = ViewerInputs(self, self.machine, self._on_description, self.connection)
        self.reach = ViewerReach(self.machine)
        self.neighbours = Neighbours(self)
        self.neighbours.topics.append('joint_states')
        self.team = ViewerTeam(self, self.inputs, self.cockpit, self._shape_of)
        self.dynamics = DynamicsClient(self, self.values['dynamics_node'], self._notify)
        self._payload_out: Any = None  # for a simulation only: an estimated payload has another publisher
        self._discovered_at = self._questioned_at = self._commanded_at = -1e9
        self._graph_changed = time.monotonic()
        self._state_publishers = 0
        self._offers_override = False
        if self.machine is not None:
            self._on_description(self.machine.urdf)
            if self.machine.payload is not None:
                self.cockpit.controls.set_payload(self.machine.payload.mass, self.machine.payload.limit)
        if self.driving is not None:
            self.driving.set_up(self.cockpit.controls)
            self.cockpit.controls.offer_driving(False)  # until a node subscribes
        # to the terminal only: logs go over /rosout into bags and other terminals
        print(f'[{self.get_name()}] open {self.cockpit.address} in a browser', flush=True)

    def _make_pose(self) -> PoseDriving | None:
        """Return the sliders of the pose of a platform, or None."""
        if not self.values['platform'] or not self.values['drive']:
            return None
        if self.machine is None:
            raise ParameterError("parameter 'platform': expected a machine, found none")
        return PoseDriving(self, self.machine, self._notify)

    def _make_ways(self) -> list[Driving]:
        """Return the ways to drive in order of preference; the last one is shown before any has a subscription."""
        if not self.values['drive']:
            return []
        if self.pose is not None:
            return [self.pose]
        machine, ways = self.machine, list[Driving]()
        valves = self._valve_levers()
        if machine is None or not oil_actuators(machine.actuators):
            speeds = self.values['linear_speed'], self.values['angular_speed']
            if not valves.names or machine is not None:
                ways.append(TwistDriving(self, *speeds, self.values['stamped_cmd_vel'], self.values['idle_timeout']))
            if machine is not None and machine.actuated_joints:
                ways.append(JointDriving(self, machine))
        return [*ways, *([ValveDriving(self, valves, machine, self.values['governed'])] if valves.names else [])]

    def _valve_levers(self) -> Levers:
        names, limits = [name for name in self.values['joints'] if name], {}
        if self.machine is not None and self.machine.actuators:
            actuators = [self.machine.actuators[index] for index in valve_order(self.machine, names)]
            names = [actuator.name for actuator in actuators]
            limits = {actuator.name: actuator.command_limit for actuator in actuators}
        else:
            limits = dict.fromkeys(names, self.values['voltage_limit'])
        return Levers(names, limits, self.values['idle_timeout'])

    def _offer_driving(self) -> None:
        """Select the first way to drive with a subscription of another node; hide the levers without one."""
        if not self.ways:
            return
        chosen = next((way for way in self.ways if is_listened_to(self, way.topic)), None)
        if chosen is not None and chosen is not self.driving and not self.levers.armed:
            self.driving, self.levers = chosen, chosen.levers
            chosen.set_up(self.cockpit.controls)
        self.cockpit.controls.offer_driving(chosen is not None or self.levers.armed)
        self._offers_override = isinstance(self.driving, ValveDriving) and self.driving.offers_override

    def _on_description(self, text: str) -> None:
        if text == self._description_shown:
            return
        self._description_shown = text
        robot = self._shape_of(text)
        if robot is None:
            return
        implement = None
        if self.machine is not None and self.machine.payload is not None:
            implement = (self.machine.payload.link, np.array(self.machine.payload.position))
        self.inputs.robot = robot
        posture = dict(self.machine.initial.joint_positions) if self.machine is not None else {}
        self.cockpit.set_robot(robot, implement if implement and implement[0] in robot.links else None, posture)

    def _shape_of(self, text: str) -> Robot | None:
        try:
            robot = load_robot(text, self._mesh_directories())
        except RobotError as error:
            self.get_logger().error(str(error))
            return None
        for warning in robot.warnings:
            self.get_logger().warn(warning)
        return robot

    def _mesh_directories(self) -> list[str | Path]:
        directories: list[str | Path] = [entry for entry in self.values['mesh_directories'] if entry]
        return directories + (list(folders_above(self.machine.sources[0])) if self.machine is not None else [])

    def _notify(self, text: str) -> None:
        self.get_logger().warn(text)
        self.cockpit.notify(text)

    # -- every frame -------------------------------------------------------------------------------------------------

    def frame(self) -> None:
        """Process the actions of the page, drive, and show the newest data."""
        now = time.monotonic()
        self._check_graph(now)
        self.inputs.forget_old(now)
        self.inputs.forget_late()
        self.connection.mixed = self.neighbours.problem if self.neighbours.is_mixed else ''
        for action in self.cockpit.actions():
            self.act(action, now)
        self._drive(now)
        if self.inputs.reset:
            self.inputs.reset = False
            self.cockpit.scene.clear_trace()
        snapshot = self.inputs.snapshot
        state = self.connection.state(now, self._state_publishers)
        with self.cockpit.at_once():
            if self.inputs.robot is not None and (self.connection.has_data or self.machine is None):
                snapshot.slope = self._slope()
                snapshot.reach = self.reach.update(snapshot)
                self.cockpit.update(without_forces(snapshot) if state.kind == LOST else snapshot)
                self.team.frame()
            self.cockpit.show_state(state.kind, state.text, state.details)

    def _slope(self) -> tuple[float, float]:
        measured, parameters = self.inputs.snapshot.slope, self.dynamics.parameters
        return float(parameters.get('slope_roll', measured[0])), float(parameters.get('slope_pitch', measured[1]))

    def _check_graph(self, now: float) -> None:
        quiet = now - self._graph_changed > QUIET_AFTER and self.connection.age(now) < self.connection.timeout
        if now - self._discovered_at >= (QUIET_DISCOVERY_PERIOD if quiet else DISCOVERY_PERIOD):
            self._discovered_at = now
            if self.inputs.discover() | self.team.discover():
                self._graph_changed = now
            self._state_publishers = self.count_publishers('joint_states')
            if not self.count_publishers('governor/state'):
                self.inputs.snapshot.governor, self.inputs.snapshot.stop = None, {}
            self._offer_driving()
        if now - self._questioned_at >= QUESTION_PERIOD:
            self._questioned_at = now
            self.dynamics.ask()
            self.cockpit.controls.offer_simulation(self.dynamics.is_there)
            if self.dynamics.is_there and self._payload_out is None:
                self._payload_out = self.create_publisher(Float64, 'payload', 10)

    def _drive(self, now: float) -> None:
        if self.driving is None:
            return
        was_armed = self.levers.armed
        drivers = self.cockpit.drivers
        if was_armed and self.levers.owner in self.cockpit.clients and self.levers.owner not in drivers:
            self.levers.disarm('the page that drove is hidden or frozen', now)
        values = self.levers.command(now, drivers)
        if was_armed and (self.connection.mixed or self._is_lost(now)):
            self.levers.disarm(self.connection.mixed or 'no data from the machine', now)
            values = self.levers.command(now, drivers)
        if was_armed and not self.levers.armed:
            self.get_logger().info(f'levers off: {self.levers.reason}')
        if values is not None:
            self._commanded_at = now
            self.driving.publish(values)
        self._override()
        note = '' if self.levers.armed else self.levers.reason
        self.driving.show(self.cockpit.controls, self.inputs.snapshot, note)

    def _override(self) -> None:
        """Override a governor while the page that drives holds its key."""
        if isinstance(self.driving, ValveDriving):
            can = self._offers_override and self.levers.armed
            if not can:
                self.cockpit.gate.end_presses()
            self.driving.override(can and self.cockpit.gate.is_holding(self.levers.owner))
            self.cockpit.controls.show_override(self._offers_override, can)

    def _is_lost(self, now: float) -> bool:
        return self.connection.has_data and self.connection.state(now, 1).kind == LOST

    # -- actions of the page -----------------------------------------------------------------------------------------

    def act(self, action: Action, now: float) -> None:
        """Process an action of the page."""
        name, value, client = action.name, action.value, action.client
        if name == 'drive':
            self._switch_levers(bool(value), client, now)
        elif name == 'lever':
            if not self.levers.move(value[0], value[1], client, now):
                self.cockpit.controls.set_sliders(self.levers.values(now))  # the sliders are shared by all pages
        elif name == 'push':
            if not self.levers.push(value[0], value[1], client, now):
                self.cockpit.notify('Switch the levers on first.', client)
        elif name == 'skip' and isinstance(self.driving, ValveDriving):
            if not self.driving.switch_skipping(bool(value), client, now):
                self.cockpit.controls.show_skipping(self.driving.skips)
                self.cockpit.notify('Switch the levers on first, and move them all to neutral.', client)
        elif name == 'neutral' and self._is_held() and client != self.levers.owner:
            self.cockpit.notify('Switch the sliders on first.', client)  # the middle pose is also a motion
        elif name == 'neutral':
            self.levers.neutral()
            self.cockpit.controls.set_sliders(self.levers.values(now))
        elif name == 'payload' and self._payload_out is not None:
            self._payload_out.publish(Float64(data=float(value)))
            self.cockpit.controls.show_payload(float(value))
        elif name == 'run':
            self.dynamics.run(value, lambda: self._ran(value))
        elif name == 'speed':
            self.dynamics.set({'speed': float(value)})
        elif name == 'slope':
            roll, pitch = np.radians(value)
            self.dynamics.set({'slope_roll': float(roll), 'slope_pitch': float(pitch)})

    def _switch_levers(self, on: bool, client: int | None, now: float) -> None:
        if not on:
            self._switch_off(client, now)
            return
        rejection = ''
        if self.connection.mixed:
            rejection = self.connection.mixed
        elif self.driving is not None and self.driving.unknown and not self._is_measured():
            rejection = self.driving.unknown
        elif self._by_valves() and self.dynamics.parameters.get('mode') == 'lockstep' and self._other_publishers():
            rejection = f'In lockstep {self._others()} commands every instant. Start with drive:=true to drive.'
        elif self._by_valves() and not self.levers.armed and not self._is_governed() and self._foreign_commands(now):
            rejection = f'{self._others()} commands the valves now. Stop it first.'
        elif client not in self.cockpit.drivers:
            rejection = 'This page may not drive: open the address with its token, as the terminal printed it.'
        elif not self.levers.arm(client, now):
            rejection = 'Another page drives. Switch its levers off first: every page with the token may stop.'
        if rejection:
            self.levers.reason = rejection if not self.levers.armed else self.levers.reason
            self.cockpit.controls.armed.value = self.levers.armed
            self.cockpit.notify(rejection, client)

    @property
    def has_started(self) -> bool:
        """Return whether joint states were received."""
        return self.connection.has_data

    def _is_measured(self) -> bool:
        """Return whether the state is available; a simulation in lockstep may wait for the first command."""
        if isinstance(self.levers, HeldSliders):
            return bool(self.levers.present)
        return self.connection.has_data or self.dynamics.parameters.get('mode') == 'lockstep'

    def _by_valves(self) -> bool:
        return isinstance(self.driving, ValveDriving)

    def _is_governed(self) -> bool:
        return isinstance(self.driving, ValveDriving) and self.driving.is_governed

    def _is_held(self) -> bool:
        return isinstance(self.levers, HeldSliders)

    def _switch_off(self, client: int | None, now: float) -> None:
        """Switch the levers off, from the driving page or any other page with the token."""
        owner = self.levers.owner
        if owner is None:
            return
        other = client != owner
        self.levers.disarm('switched off on another page' if other else '', now)
        if other and isinstance(owner, int):
            self.cockpit.notify('Your levers were switched off on another page.', owner)

    def _foreign_commands(self, now: float) -> bool:
        return now - self.inputs.commanded < FOREIGN_COMMAND < now - self._commanded_at

    def _others(self) -> str:
        return ', '.join(self._other_publishers()) or 'Another node'

    def _other_publishers(self) -> list[str]:
        """Return the full names of the other nodes that publish valve commands, one for each publisher."""
        return other_publishers(self, 'valve_commands')

    def _ran(self, action: str) -> None:
        if action == 'pause':
            self.connection.pause(time.monotonic())
        if action == 'play':
            self.connection.play()
        if action == 'reset':
            self.cockpit.scene.clear_trace()
            self.connection.happened('', time.monotonic())

    # -- the loop ----------------------------------------------------------------------------------------------------

    def take(self, executor: SingleThreadedExecutor) -> None:
        """Process the newest message of each topic once, without waiting."""
        others = OTHERS
        for _ in range(2 * self.inputs.count + 10):
            handled = self.inputs.handled
            executor.spin_once(timeout_sec=0.0)
            others -= self.inputs.handled == handled
            if others < 0:
                return

    def run(self) -> None:
        """Show frames until the context is shut down; if one fails the levers are released."""
        executor = SingleThreadedExecutor(context=self.context)
        executor.add_node(self)
        frame = self._guarded('picture', self.frame, lambda error: self._let_go('the cockpit failed'))
        due = time.monotonic()
        while self.context.ok():
            self.take(executor)
            frame()
            rate = self.values['rate'] if self.cockpit.clients else min(UNSEEN_RATE, self.values['rate'])
            due = max(due + 1.0 / rate, time.monotonic())
            time.sleep(max(due - time.monotonic(), 0.002))

    def _let_go(self, reason: str) -> None:
        """Release the levers and publish the last command."""
        now = time.monotonic()
        self.levers.disarm(reason, now)
        self._override()
        values = self.levers.command(now, [])
        if values is not None and self.driving is not None:
            self.driving.publish(values)

    def destroy_node(self) -> None:
        """Release the levers and close the page."""
        if self._has_page and self.levers.armed and self.context.ok():
            self._let_go('the cockpit ends')
        if self._has_page:
            self.cockpit.stop()
        super().destroy_node()


def without_forces(snapshot: Snapshot) -> Snapshot:
    """Return an instant whose machine is shown without forces, supports and reach, which are out of date."""
    return replace(snapshot, forces={}, polygon=None, center_of_mass=None, zmp=None, reach=None, stop={})


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    absent = lacking('viewer')
    if absent is not None:
        print(f'viewer_node: {absent}', file=sys.stderr)
        return 1
    return run_node('viewer_node', ViewerNode, args, loop=ViewerNode.run)


if __name__ == '__main__':
    sys.exit(main())
