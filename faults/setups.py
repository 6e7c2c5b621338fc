"""Machines whose nodes fail: all nodes, the failing ones, and the motion of the machine meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ACTIONS = ('stop and continue', 'kill and start again', 'terminate and start again')
TASK = """
name: to_and_fro
description: boom and stick move all the time
duration: 400.0
segments:
"""
SEGMENT = '  - {{name: part_{k}, start: {start}, end: {end}, ramp: 0.2, volts: {{boom: {volts}, stick: {volts}}}}}\n'
POSE = '  pose_{k}: {{time: {time}, position: [{x}, 0.0, 1.8]}}\n'


def valve_task() -> str:
    """Return a task that moves the log-loader to and fro."""
    parts = (SEGMENT.format(k=k, start=0.2 + k, end=1.2 + k, volts=(-1) ** k * 4.0) for k in range(380))
    return TASK + ''.join(parts)


def pose_path() -> str:
    """Return poses between which the Stewart platform moves to and fro."""
    return 'poses:\n' + ''.join(POSE.format(k=k, time=1.5 * (k + 1), x=0.05 * (-1) ** k) for k in range(280))


@dataclass(frozen=True)
class Setup:
    """A machine and its nodes.

    Attributes:
        machine: its name.
        chain: nodes that answer one another in lockstep, the dynamics first.
        beside: other nodes.
        failing: nodes that fail one after another; the node that restarts time is last.
        fastest: speed limit of all joints during failures, rad/s or m/s.
        parameters: of nodes by name, in addition to the common ones.
        remapped: topics of nodes by name.
        motion: node, parameter and text of a file that moves the machine.
        twist: topic of TwistStamped messages that move it to and fro, or ''.
        frame: of these messages.
    """

    machine: str
    chain: tuple[str, ...]
    beside: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    fastest: float = 3.0
    parameters: dict[str, tuple[str, ...]] = field(default_factory=dict)
    remapped: dict[str, str] = field(default_factory=dict)
    motion: tuple[str, str, Callable[[], str]] | None = None
    twist: str = ''
    frame: str = 'base_link'

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return all nodes."""
        return (*self.chain[1:], *self.beside, self.chain[0])

    def cases(self) -> list[tuple[str, str]]:
        """Return (node, action) of all failures."""
        return [(name, action) for name in self.failing for action in ACTIONS]

    def words(self, name: str, directory: Path) -> list[str]:
        """Return the parameters and remappings of a node, without those that all nodes have; writes its motion."""
        words = list(self.parameters.get(name, ()))
        if name == 'dynamics_node':
            words.append(f'wait_for:=[{", ".join(self.chain[1:])}]')  # as in the launch files
        if self.motion is not None and self.motion[0] == name:
            path = directory / 'motion.yaml'
            path.write_text(self.motion[2]())
            words.append(f'{self.motion[1]}:={path}')
        options = [word for parameter in words for word in ('-p', parameter)]
        return options + (['-r', self.remapped[name]] if name in self.remapped else [])


LOG_LOADER = Setup(
    'log_loader',
    ('dynamics_node', 'hydraulic_actuator_node', 'tip_over_governor_node', 'controller_node'),
    ('stability_monitor_node', 'recorder_node'),
    (
        'hydraulic_actuator_node', 'tip_over_governor_node', 'controller_node', 'stability_monitor_node',
        'recorder_node', 'dynamics_node',
    ),
    parameters={
        'tip_over_governor_node': ('command_source:=lockstep',),
        'stability_monitor_node': ('prefix:=monitor',),
    },
    remapped={'controller_node': 'valve_commands:=valve_commands_in'},
    motion=('controller_node', 'task', valve_task),
)  # fmt: skip
"""Every node of the log-loader."""
ALONE = Setup('log_loader', LOG_LOADER.chain[:2] + LOG_LOADER.chain[3:], motion=LOG_LOADER.motion)
"""The log-loader with the nodes that move it."""
HAND = Setup(
    'log_loader',
    ('dynamics_node', 'hydraulic_actuator_node', 'cartesian_controller_node'),
    ('teleop_node',),
    ('cartesian_controller_node', 'teleop_node'),
    twist='hand_twist',
)
"""The log-loader under hand control, and the teleop node without a gamepad."""
PLATFORM = Setup(
    'stewart_platform',
    ('dynamics_node', 'electric_actuator_node', 'platform_controller_node'),
    ('viewer_node',),
    ('electric_actuator_node', 'platform_controller_node', 'viewer_node'),
    fastest=30.0,
    parameters={
        'electric_actuator_node': ('exchange_period:=0.005', 'command_source:=lockstep'),
        'platform_controller_node': ('exchange_period:=0.005', 'output:=valve_commands'),
        'dynamics_node': ('exchange_period:=0.005',),
        'viewer_node': ('port:=0', 'platform:=true'),
    },
    motion=('platform_controller_node', 'path', pose_path),
)
"""A parallel machine on electric motors, and its cockpit. Without voltage it falls: joints are fast."""
ON_MOTORS = ('config:=agv_omni_motors', 'exchange_period:=0.005', 'command_period:=0.005')
VEHICLE = Setup(
    'agv_omni',
    ('dynamics_node', 'electric_actuator_node', 'vehicle_controller_node'),
    failing=('vehicle_controller_node',),
    fastest=30.0,
    parameters={
        'electric_actuator_node': (*ON_MOTORS, 'command_source:=lockstep'),
        'vehicle_controller_node': (*ON_MOTORS, 'output:=valve_commands'),
        'dynamics_node': ON_MOTORS,
    },
    twist='cmd_vel',
)
"""A vehicle on electric motors. Its wheels of 0.1 m turn with 10 rad/s at its greatest speed."""
ON_A_BUS = Setup(
    'log_loader',
    ALONE.chain,
    ('can_bridge_node',),
    ('can_bridge_node',),
    parameters={'can_bridge_node': ('mapping:=log_loader', 'interface:=virtual', 'role:=machine')},
    motion=LOG_LOADER.motion,
)
"""The log-loader whose control units send frames; for the other end see `test/nodes/test_can_bridge_node.py`."""
ELSEWHERE = ('composition_node', 'object_node', 'team_controller_node')
"""Nodes with separate tests: in a composition all nodes fail at once; for a team see its launch."""
SETUPS = {'log_loader': LOG_LOADER, 'hand': HAND, 'platform': PLATFORM, 'vehicle': VEHICLE, 'bus': ON_A_BUS}
