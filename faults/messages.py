"""Absurd messages to every subscription and service of every node, in this process."""

from __future__ import annotations

import contextlib
import copy
import inspect
import math
import os
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dyn_nodes.elements.hand_motion import HandMobility, HandState
from dyn_nodes.middleware import Context, Parameter, init, message, serialize_message
from dyn_nodes.nodes.grasp_messages import mobility_message, write_mobility, write_state
from dyn_nodes.nodes.stamps import NANO, stamp_of
from faults.values import absurd_message, damaged

ON_A_BUS = {'mapping': 'log_loader', 'interface': 'virtual', 'channel': 'faults'}
NODES: dict[str, tuple[str, str, dict[str, Any]]] = {
    'dynamics': ('dynamics_node', 'DynamicsNode', {'machine': 'log_loader'}),
    'hydraulics': ('hydraulic_actuator_node', 'HydraulicActuatorNode', {'machine': 'log_loader'}),
    'electric': ('electric_actuator_node', 'ElectricActuatorNode', {'machine': 'arm_a6'}),
    'controller': ('controller_node', 'ControllerNode', {'machine': 'log_loader'}),
    'positions': ('controller_node', 'ControllerNode', {'machine': 'log_loader', 'output': 'joint_command'}),
    'vehicle': ('vehicle_controller_node', 'VehicleControllerNode', {'machine': 'platform_4x4x4_arm'}),
    'cartesian': ('cartesian_controller_node', 'CartesianControllerNode', {'machine': 'log_loader'}),
    'platform': ('platform_controller_node', 'PlatformControllerNode', {'machine': 'stewart_platform'}),
    'monitor': ('stability_monitor_node', 'StabilityMonitorNode', {'machine': 'log_loader'}),
    'governor': ('tip_over_governor_node', 'TipOverGovernorNode', {'machine': 'log_loader'}),
    'teleop': ('teleop_node', 'TeleopNode', {'machine': 'log_loader'}),
    'CAN bridge': ('can_bridge_node', 'CanBridgeNode', ON_A_BUS),
    'machine on a CAN bus': ('can_bridge_node', 'CanBridgeNode', {**ON_A_BUS, 'role': 'machine'}),
    'recorder': ('recorder_node', 'RecorderNode', {}),
    'robot of a team': ('dynamics_node', 'DynamicsNode', {'team': 'team_bar', 'robot': 'left', 'partner': 'external'}),
    'object': ('object_node', 'ObjectNode', {'team': 'team_bar'}),
    'team': ('team_controller_node', 'TeamControllerNode', {'team': 'team_bar', 'path.delay': 0.0}),
}
"""Module, class and parameters of the nodes by a short name."""
MODES = ('lockstep', 'realtime')
WITHOUT_MODE = ('teleop', 'recorder', 'CAN bridge', 'machine on a CAN bus')
LARGEST_COMMAND = 1e12
"""Greatest value of a published command."""
STEP = 0.005


@dataclass
class Outcome:
    """Results of the messages to a node.

    Attributes:
        sent: messages given to callbacks.
        escaped: exceptions that left a callback.
        caught: exceptions that only the guard of the node caught: expected absurd values are rejected by name instead.
        unsafe: commands that are not finite or larger than any machine's.
    """

    sent: int = 0
    escaped: Counter[str] = field(default_factory=Counter)
    caught: Counter[str] = field(default_factory=Counter)
    unsafe: Counter[str] = field(default_factory=Counter)

    @property
    def passed(self) -> bool:
        """Return whether there are no faults."""
        return not (self.escaped or self.caught or self.unsafe)


@contextlib.contextmanager
def node_of(name: str, mode: str = 'lockstep', changes: Mapping[str, Any] | None = None) -> Iterator[Any]:
    """Create a node in a separate context, with `changes` of its parameters; it is not spun."""
    module, kind, defaults = NODES[name]
    parameters = {**defaults, **(changes or {})}
    values = dict(parameters) if name in WITHOUT_MODE else {'mode': mode, **parameters}
    with tempfile.TemporaryDirectory() as directory:
        if name == 'recorder':
            values = {'directory': str(Path(directory) / 'bag'), 'use_sim_time': mode == 'lockstep', **values}
        context = Context()
        init(args=['faults'], context=context)
        made = getattr(__import__(f'dyn_nodes.nodes.{module}', fromlist=[kind]), kind)
        try:
            node = made(context=context, parameter_overrides=[Parameter(k, value=v) for k, v in values.items()])
            try:
                yield node
            finally:
                node.destroy_node()
        finally:
            context.try_shutdown()


def fuzz(name: str, mode: str, count: int, seed: int) -> Outcome:
    """Give a node `count` messages, absurd ones between good ones, and call its timers and services.

    Args:
        name: key of `NODES`.
        mode: `lockstep` or `realtime`.
        count: messages.
        seed: of the random numbers; the same seed gives the same messages.
    """
    rng, outcome = random.Random(f'{name} {mode} {seed}'), Outcome()
    np_errors = np.seterr(all='ignore')
    try:
        with node_of(name, mode) as node:
            watched = _watch_publishers(node, outcome)
            _quiet(node)
            goods = Goods(node)
            subscriptions, services, timers = list(node.subscriptions), list(node.services), list(node.timers)
            for k in range(count):
                subscription = rng.choice(subscriptions)
                msg = goods.message(subscription.msg_type, subscription.topic_name, k * STEP, rng)
                if rng.random() < 0.6:
                    msg = damaged(msg, rng) if rng.random() < 0.8 else absurd_message(subscription.msg_type, rng)
                _call(outcome, subscription.topic_name, subscription.callback, _raw(msg) if subscription.raw else msg)
                if k % 20 == 0:
                    _call(outcome, 'timer', rng.choice(timers).callback) if timers else None
                if k % 50 == 0:
                    _serve(outcome, rng.choice(services), rng)
                outcome.sent += 1
            outcome.caught.update(node.guard.failed)
            if outcome.caught:
                outcome.caught[node.guard.last_failure] += 0
            del watched
    finally:
        np.seterr(**np_errors)
    return outcome


def _quiet(node: Any) -> None:
    """Disable the log for thousands of rejected messages."""
    node.get_logger().set_level(50)


def _call(outcome: Outcome, label: str, callback: Any, *arguments: Any) -> None:
    try:
        if getattr(callback, '__wrapped__', None) is not None and _wants_info(callback) and arguments:
            arguments = (*arguments, {'source_timestamp': 0, 'received_timestamp': 0})
        result = callback(*arguments)
        if inspect.iscoroutine(result):
            result.close()  # it would wait for the executor
    except Exception as error:
        outcome.escaped[f'{label}: {type(error).__name__}: {error}'[:200]] += 1


def _raw(msg: Any) -> bytes:
    """Return a message as a raw subscription gets it; a message that can't be serialized is a few wrong bytes."""
    try:
        return bytes(serialize_message(msg))
    except (TypeError, ValueError, OverflowError):
        return b'\x00\x01\x00\x00\xff'


def _wants_info(callback: Any) -> bool:
    return len(inspect.signature(callback).parameters) == 2


def _serve(outcome: Outcome, service: Any, rng: random.Random) -> None:
    request = absurd_message(service.srv_type.Request, rng)
    _call(outcome, service.srv_name, lambda: service.callback(request, service.srv_type.Response()))


def _watch_publishers(node: Any, outcome: Outcome) -> list[Any]:
    """Check every published command; nothing is sent."""
    watched = []
    for publisher in list(node.publishers):
        topic = publisher.topic_name

        def check(msg: Any, topic: str = topic) -> None:
            if topic.endswith(('_command', '_commands')):
                for name in ('data', 'position', 'velocity', 'effort'):
                    values = getattr(msg, name, ())
                    if not all(math.isfinite(v) and abs(v) <= LARGEST_COMMAND for v in values):
                        outcome.unsafe[f'{topic}: {name}: {[f"{v:g}" for v in values][:6]}'] += 1

        with contextlib.suppress(AttributeError):
            publisher.publish = check
            watched.append(publisher)
    return watched


class Goods:
    """Good messages for a node, as other nodes send them."""

    def __init__(self, node: Any) -> None:
        self.node = node
        machine = getattr(node, 'machine', None)
        self.joints = [joint.name for joint in machine.movable_joints] if machine else ['joint']
        initial = machine.initial.joint_positions if machine else {}
        self.positions = [float(initial.get(name, 0.0)) for name in self.joints]
        self.valves = len(machine.actuators) if machine else 1
        self.driven = [joint.name for joint in machine.actuated_joints] if machine else self.joints

    def message(self, kind: Any, topic: str, time: float, rng: random.Random) -> Any:
        """Return a good message of a type for a topic at a time, s."""
        if hasattr(self.node, 'team'):
            return self._of_team(kind, topic, rng)
        made = kind()
        fields = kind.get_fields_and_field_types()
        if 'header' in fields:
            made.header.stamp = stamp_of(time)
        if fields.get('clock') is not None:
            made.clock = stamp_of(time)
        if topic.endswith('joint_states'):
            n = len(self.joints)
            made.name, made.position = list(self.joints), list(self.positions)
            made.velocity, made.effort = [rng.gauss(0, 0.01) for _ in range(n)], [rng.gauss(0, 1e3) for _ in range(n)]
        elif topic.endswith('joint_command'):
            made.name, made.effort = list(self.joints), [rng.gauss(0, 1e3) for _ in self.joints]
        elif 'valve_commands' in topic:
            made.data = [rng.uniform(-5, 5) for _ in range(self.valves)]
        elif topic.endswith('joint_trajectory'):
            made.header.stamp = stamp_of(0.0)
            made.joint_names = list(self.driven)
            point = message('trajectory_msgs/msg/JointTrajectoryPoint')()
            point.positions = [self.positions[self.joints.index(name)] for name in self.driven]
            point.time_from_start.sec = 2
            made.points = [point]
        elif topic.endswith('imu'):
            made.linear_acceleration.z, made.orientation.w = 9.81, 1.0
        elif topic.endswith('joy'):
            made.axes, made.buttons = [0.0] * 8, [1] * 12
        return copy.deepcopy(made)

    def _of_team(self, kind: Any, topic: str, rng: random.Random) -> Any:
        """Return a good message of a robot of a team at the instant that the node waits for."""
        instant = getattr(self.node, 'instant', getattr(self.node, 'stamp', None))
        now = instant + round(STEP * NANO) if instant is not None and instant >= 0 else 0
        if 'grasp_mobility' in topic:
            mobility = mobility_message()
            write_mobility(mobility, HandMobility(0.1 * np.eye(3), np.zeros(3)), now)
            return mobility
        made = kind()
        if hasattr(made, 'header'):
            made.header.stamp = stamp_of(now / NANO)
        holder = next((link.holder for link in getattr(self.node, 'links', ()) if link.name in topic), None)
        if 'grasp_states' in topic and holder is not None:
            point, turn = holder.robot.hand_pose(holder.start)
            write_state(made, HandState(point, turn, np.zeros(3), np.zeros(3)), now)
        elif 'grasp_states' in topic:
            pose = made.pose.pose
            pose.position.x, pose.position.z, pose.orientation.w = -0.5 if 'left' in topic else 0.5, 1.0, 1.0
        elif 'grasp_wrenches' in topic:
            made.wrench.force.z = rng.gauss(-50.0, 5.0)
        elif holder is not None:
            made.name, made.position = list(holder.joints), holder.start[holder.indices].tolist()
            made.velocity, made.effort = [0.0] * len(holder.joints), [0.0] * len(holder.joints)
        return made


def run(count: int, seed: int = 1) -> dict[str, Outcome]:
    """Give all nodes in both modes `count` messages in all; return the outcomes by node and mode."""
    os.environ.setdefault('ROS_DOMAIN_ID', '42')
    cases = [(name, mode) for name in NODES for mode in MODES]
    each = max(count // len(cases), 1)
    return {f'{name}, {mode}': fuzz(name, mode, each, seed) for name, mode in cases}
