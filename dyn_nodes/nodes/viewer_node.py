"""viewer_node: the cockpit in the browser. Shows a machine from its topics, and drives it by levers on the page.

    dyn-nodes run viewer_node --ros-args -p machine:=log_loader

It prints the address of the page with a token; without the token a page only looks on (`viewer.access`).

Everything comes over topics, so that a recorded or a real machine is shown as well as a simulated one. The messages may
come a thousand times a second: thirty times a second the newest of each is taken, and what has changed is sent on.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from dyn_nodes.middleware import QoSProfile, SingleThreadedExecutor, message
from dyn_nodes.model import Machine
from dyn_nodes.nodes.dynamics_client import DynamicsClient
from dyn_nodes.nodes.exchange import valve_order
from dyn_nodes.nodes.guarded import GuardedNode
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.nodes.parameters import ParameterError, declare, node_parameters
from dyn_nodes.nodes.pose_driving import PoseDriving
from dyn_nodes.nodes.running import run_node
from dyn_nodes.nodes.viewer_inputs import ViewerInputs
from dyn_nodes.nodes.viewer_team import ViewerTeam
from dyn_nodes.share import folders_above
from dyn_nodes.viewer.cockpit import Cockpit
from dyn_nodes.viewer.connection import Connection
from dyn_nodes.viewer.gauges import Scale
from dyn_nodes.viewer.levers import Levers
from dyn_nodes.viewer.panel import Action
from dyn_nodes.viewer.robot import Robot, RobotError, load_robot

Float64 = message('std_msgs/msg/Float64')
Float64MultiArray = message('std_msgs/msg/Float64MultiArray')

PARAMETERS = node_parameters('viewer_node')
DISCOVERY_PERIOD, QUIET_DISCOVERY_PERIOD, QUESTION_PERIOD = 0.5, 4.0, 1.0
QUIET_AFTER = 6.0
"""Looking for new topics costs time: less often once nothing has come for so long, s."""
UNSEEN_RATE = 5.0
"""Pictures a second while no page is open."""
FOREIGN_COMMAND = 0.5
"""Somebody else commanded the valves if a command came within this time, s."""


class ViewerNode(GuardedNode):
    """Shows a machine in the browser."""

    def __init__(self, **options: Any) -> None:
        self._has_page = False  # until its port is had
        super().__init__('viewer_node', **options)
        self.values = declare(self, PARAMETERS)
        self.machine: Machine | None = None
        if self.values['machine']:
            self.machine = machine_of(self.values['machine'], self.values['config'])
        self.pose = self._make_pose()
        self.levers: Levers = self._make_levers() if self.pose is None else self.pose.sliders
        scale = Scale(self.values['warning'], self.values['danger'])
        title = self.machine.name.replace('_', ' ') if self.machine else 'dyn_nodes'
        self.cockpit = Cockpit(self.values['host'], self.values['port'], title, scale, self.values['page_timeout'])
        self._has_page = True
        self.cockpit.set_shadows(self.values['shadows'])
        self._description_shown = ''
        self.connection = Connection(self.values['dynamics_node'], self.values['silence'])
        self.inputs = ViewerInputs(self, self.machine, self._on_description, self.connection)
        self.team = ViewerTeam(self, self.inputs, self.cockpit, self._shape_of)
        self.dynamics = DynamicsClient(self, self.values['dynamics_node'], self._say)
        self._payload_out = self.create_publisher(Float64, 'payload', 10)
        self._valves_out: Any = None  # made when somebody drives: a node that only looks on offers no commands
        self._discovered_at = self._questioned_at = self._commanded_at = -1e9
        self._graph_changed = time.monotonic()
        self._state_publishers = 0
        if self.machine is not None:
            self._on_description(self.machine.urdf)
            if self.machine.payload is not None:
                self.cockpit.controls.set_payload(self.machine.payload.mass, self.machine.payload.limit)
        if self.pose is not None:
            self.cockpit.controls.set_pose(self.levers.limits)
        elif self.levers.names:
            self.cockpit.controls.set_valves(self.levers.names, self.levers.limits)
        # to the terminal and to nobody else: what is logged goes over /rosout into bags and other people's terminals
        print(f'[{self.get_name()}] open {self.cockpit.address} in a browser', flush=True)

    def _make_pose(self) -> PoseDriving | None:
        """Sliders of the pose of a platform, where its controller takes poses."""
        if not self.values['platform'] or not self.values['drive']:
            return None
        if self.machine is None:
            raise ParameterError("parameter 'platform': expected a machine, found none")
        return PoseDriving(self, self.machine, self._say)

    def _make_levers(self) -> Levers:
        names = [name for name in self.values['joints'] if name]
        limit = self.values['voltage_limit']
        if not self.values['drive']:
            names, limits = [], {}
        elif self.machine is not None and self.machine.actuators:
            actuators = [self.machine.actuators[place] for place in valve_order(self.machine, names)]
            names = [actuator.name for actuator in actuators]
            limits = {actuator.name: actuator.command_limit for actuator in actuators}
        else:
            limits = dict.fromkeys(names, limit)
        return Levers(names, limits, self.values['idle_timeout'])

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
        given: list[str | Path] = [entry for entry in self.values['mesh_directories'] if entry]
        return given + (list(folders_above(self.machine.sources[0])) if self.machine is not None else [])

    def _say(self, text: str) -> None:
        self.get_logger().warn(text)
        self.cockpit.notify(text)

    # -- every picture -----------------------------------------------------------------------------------------------

    def frame(self) -> None:
        """Do what was asked on the page, drive, show the newest."""
        now = time.monotonic()
        self._look_around(now)
        for action in self.cockpit.actions():
            self._act(action, now)
        self._drive(now)
        if self.inputs.reset:
            self.inputs.reset = False
            self.cockpit.scene.clear_trace()
        snapshot = self.inputs.snapshot
        if self.inputs.robot is not None and (self.connection.heard or self.machine is None):
            snapshot.slope = self._slope()
            self.cockpit.update(snapshot)
            self.team.frame()
        state = self.connection.state(now, self._state_publishers)
        self.cockpit.show_state(state.kind, state.text, state.details)

    def _slope(self) -> tuple[float, float]:
        known, parameters = self.inputs.snapshot.slope, self.dynamics.parameters
        return float(parameters.get('slope_roll', known[0])), float(parameters.get('slope_pitch', known[1]))

    def _look_around(self, now: float) -> None:
        quiet = now - self._graph_changed > QUIET_AFTER and self.connection.age(now) < self.connection.silence
        if now - self._discovered_at >= (QUIET_DISCOVERY_PERIOD if quiet else DISCOVERY_PERIOD):
            self._discovered_at = now
            if self.inputs.discover() | self.team.discover():
                self._graph_changed = now
            self._state_publishers = self.count_publishers('joint_states')
        if now - self._questioned_at >= QUESTION_PERIOD:
            self._questioned_at = now
            self.dynamics.ask()
            self.cockpit.controls.offer_simulation(self.dynamics.is_there)

    def _drive(self, now: float) -> None:
        if not self.levers.names:
            return
        was_armed = self.levers.armed
        drivers = self.cockpit.drivers
        if was_armed and self.levers.owner in self.cockpit.clients and self.levers.owner not in drivers:
            self.levers.disarm('the page that drove is hidden or frozen', now)
        volts = self.levers.command(now, drivers)
        if was_armed and self.connection.heard and self.connection.state(now, 1).kind == 'lost':
            self.levers.disarm('no data from the machine', now)
            volts = self.levers.command(now, drivers)
        if was_armed and not self.levers.armed:
            self.get_logger().info(f'levers off: {self.levers.reason}')
        if volts is not None:
            self._commanded_at = now
            self._send(volts)
        note = '' if self.levers.armed else self.levers.reason
        if self.pose is None:
            self.cockpit.controls.show_levers(self.levers.armed, note)
        else:
            present = self.pose.sliders.present
            self.cockpit.controls.show_pose(self.levers.armed, note or self.pose.state, present)

    def _send(self, values: list[float]) -> None:
        if self.pose is not None:
            self.pose.publish(values)
        else:
            self._publish_volts(values)

    def _publish_volts(self, volts: list[float]) -> None:
        if self._valves_out is None:
            self._valves_out = self.create_publisher(Float64MultiArray, 'valve_commands', QoSProfile(depth=10))
        self._valves_out.publish(Float64MultiArray(data=volts))

    # -- what is done on the page ------------------------------------------------------------------------------------

    def _act(self, action: Action, now: float) -> None:
        name, value, client = action.name, action.value, action.client
        if name == 'drive':
            self._switch_levers(bool(value), client, now)
        elif name == 'lever':
            if not self.levers.move(value[0], value[1], client, now):
                self.cockpit.controls.place_sliders(self.levers.values(now))  # the sliders are those of all pages
        elif name == 'push':
            if not self.levers.push(value[0], value[1], client, now):
                self.cockpit.notify('Switch the levers on first.', client)
        elif name == 'neutral' and self.pose is not None and client != self.levers.owner:
            self.cockpit.notify('Switch the sliders on first.', client)  # the middle pose is a motion, too
        elif name == 'neutral':
            self.levers.neutral()
            self.cockpit.controls.place_sliders(self.levers.values(now))
        elif name == 'payload':
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
        refusal = ''
        if self.pose is not None and not self.pose.sliders.present:
            refusal = 'The platform is not known yet: its controller has sent no platform_measured.'
        elif self.pose is None and self.dynamics.parameters.get('mode') == 'lockstep' and self._other_publishers():
            refusal = f'In lockstep {self._others()} commands every instant. Start with drive:=true to drive.'
        elif self.pose is None and not self.levers.armed and self._foreign_commands(now):
            refusal = f'{self._others()} commands the valves now. Stop it first.'
        elif client not in self.cockpit.drivers:
            refusal = 'This page may not drive: open the address with its token, as the terminal printed it.'
        elif not self.levers.arm(client, now):
            refusal = 'Another page drives. Switch its levers off first: every page with the token may stop.'
        if refusal:
            self.levers.reason = refusal if not self.levers.armed else self.levers.reason
            self.cockpit.controls.armed.value = self.levers.armed
            self.cockpit.notify(refusal, client)

    def _switch_off(self, client: int | None, now: float) -> None:
        """Stop: whoever drives may, and every other page with the token."""
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
        """Return the names of the nodes that offer valve commands, without this one."""
        publishers = self.get_publishers_info_by_topic(self.resolve_topic_name('valve_commands'))
        return sorted({info.node_name for info in publishers} - {self.get_name()})

    def _ran(self, what: str) -> None:
        if what == 'pause':
            self.connection.pause(time.monotonic())
        if what == 'play':
            self.connection.play()
        if what == 'reset':
            self.cockpit.scene.clear_trace()
            self.connection.happened('', time.monotonic())

    # -- the loop ----------------------------------------------------------------------------------------------------

    def take(self, executor: SingleThreadedExecutor) -> None:
        """Handle what has come, each topic's newest once, without waiting."""
        for _ in range(2 * self.inputs.count + 10):
            handled = self.inputs.handled
            executor.spin_once(timeout_sec=0.0)
            if self.inputs.handled == handled:
                return

    def run(self) -> None:
        """Show pictures until told to stop."""
        executor = SingleThreadedExecutor()
        executor.add_node(self)
        due = time.monotonic()
        while self.context.ok():
            self.take(executor)
            self.frame()
            rate = self.values['rate'] if self.cockpit.clients else min(UNSEEN_RATE, self.values['rate'])
            due = max(due + 1.0 / rate, time.monotonic())
            time.sleep(max(due - time.monotonic(), 0.002))

    def destroy_node(self) -> None:
        """Let the levers go, close the page."""
        if self._has_page and self.levers.armed and self.context.ok():
            self.levers.disarm('the cockpit ends', time.monotonic())
            values = self.levers.command(time.monotonic(), [])
            if values is not None:
                self._send(values)
        if self._has_page:
            self.cockpit.stop()
        super().destroy_node()


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    if importlib.util.find_spec('viser') is None:
        print("viewer_node: the package 'viser' is missing: pip install viser", file=sys.stderr)
        return 1
    return run_node('viewer_node', ViewerNode, args, loop=ViewerNode.run)


if __name__ == '__main__':
    sys.exit(main())
