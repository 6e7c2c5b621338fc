"""Runs every node in one process on the strict stand-in for rclpy; prints the received topics as JSON.

Started by test_nodes_on_strict_rclpy.py with strict_ros/ on the path. A field of the wrong type, an attribute that
rclpy lacks, a name that Node needs: each raises here.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

from dyn_nodes import middleware
from dyn_nodes.middleware import Node, Parameter, QoSProfile, SingleThreadedExecutor, init, message, service
from dyn_nodes.nodes.controller_node import ControllerNode
from dyn_nodes.nodes.dynamics_node import DynamicsNode
from dyn_nodes.nodes.hydraulic_actuator_node import HydraulicActuatorNode
from dyn_nodes.nodes.keyboard_teleop import KeyboardTeleop, KeyboardTwist
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.nodes.recorder_node import RecorderNode
from dyn_nodes.nodes.teleop_node import TeleopNode
from dyn_nodes.nodes.vehicle_controller_node import VehicleControllerNode
from dyn_nodes.nodes.viewer_node import ViewerNode

Float64 = message('std_msgs/msg/Float64')
Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
JointState = message('sensor_msgs/msg/JointState')
Joy = message('sensor_msgs/msg/Joy')
SetBool, Trigger = service('std_srvs/srv/SetBool'), service('std_srvs/srv/Trigger')
MACHINE = {'machine': 'log_loader'}
OTHER_MACHINES = {
    'can_bridge_node': {'mapping': 'log_loader', 'interface': 'virtual'},
    'electric_actuator_node': {'machine': 'arm_a6'},
    'object_node': {'team': 'team_bar'},
    'platform_controller_node': {'machine': 'stewart_platform'},
    'team_controller_node': {'team': 'team_bar'},
    **{key: {**MACHINE, 'stamp_clock': 'other'} for key in ('stability_monitor_node', 'tip_over_governor_node')},
}
"""Parameters of nodes that need another machine, or check ages: the stamps of the bench count from 0."""


def parameters(**values: object) -> list[Parameter]:
    return [Parameter(name, value=value) for name, value in values.items()]


class Bench:
    """An executor, a node that listens to everything, and counts of what came."""

    def __init__(self) -> None:
        self.executor = SingleThreadedExecutor()
        self.node = Node('bench')
        self.executor.add_node(self.node)
        self.received: Counter[str] = Counter()
        self.subscribed: set[str] = set()
        self.answers: list[str] = []
        self.nodes: list[Node] = []
        self.others: list[str] = []

    def add(self, node: Node) -> Node:
        self.nodes.append(node)
        self.executor.add_node(node)
        return node

    def listen(self) -> None:
        for topic, kinds in self.node.get_topic_names_and_types():
            if topic in self.subscribed or topic.startswith('/rosout'):
                continue
            self.subscribed.add(topic)

            def count_message(msg: object, topic: str) -> None:
                self.received[topic] += 1

            self.node.create_subscription(
                message(kinds[0]), topic, partial(count_message, topic=topic), QoSProfile(depth=50)
            )

    def spin(self, seconds: float, done: object = None) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.01)
            if done is not None and done():
                return True
        return False

    def call(self, kind: object, name: str, request: object) -> None:
        client = self.node.create_client(kind, name)
        self.spin(10.0, client.service_is_ready)
        future = client.call_async(request)
        assert self.spin(10.0, future.done), f'{name}: no answer'
        self.answers.append(f'{name}: {future.result().success}')

    def clear(self) -> None:
        for node in self.nodes:
            self.executor.remove_node(node)
            node.destroy_node()
        self.nodes = []


def run_lockstep(bench: Bench, directory: Path) -> None:
    """The machine, its hydraulics and the controller, recorded."""
    shared = {**MACHINE, 'mode': 'lockstep'}
    others = ['controller_node', 'hydraulic_actuator_node']
    bench.add(ControllerNode(parameter_overrides=parameters(**shared, task='pick_and_place_recovery')))
    bench.add(HydraulicActuatorNode(parameter_overrides=parameters(**shared)))
    dynamics = bench.add(
        DynamicsNode(parameter_overrides=parameters(**shared, wait_for=others, duration=0.1, marker_period=0.02))
    )
    bench.listen()
    bench.spin(60.0, lambda: dynamics.finished)
    assert dynamics.finished, f'stands still at t = {dynamics.plant.time:g} s'
    dynamics.event('reset', 'a good event')
    dynamics.event('diverged', 'a bad event: another severity, from the same place')
    bench.spin(0.2)
    bench.clear()


def run_realtime(bench: Bench) -> None:
    """Monolithic, driven by teleop, watched by the cockpit; services, parameters, commands good and bad."""
    dynamics = bench.add(
        DynamicsNode(parameter_overrides=parameters(**MACHINE, actuation='monolithic', exchange_period=0.01))
    )
    teleop = bench.add(TeleopNode(parameter_overrides=parameters(**MACHINE)))
    viewer = ViewerNode(parameter_overrides=parameters(**MACHINE, port=0))
    bench.nodes.append(viewer)
    keyboard = bench.add(KeyboardTeleop(parameter_overrides=parameters(**MACHINE)))
    joy = bench.node.create_publisher(Joy, 'joy', 10)
    payload = bench.node.create_publisher(Float64, 'payload', 10)
    volts = bench.node.create_publisher(Float64MultiArray, 'valve_commands', 10)
    bench.listen()
    bench.spin(0.5)
    pressed = [1] * 12
    joy.publish(Joy(axes=[0.0] * 8, buttons=[0] * 12))
    bench.spin(0.2)
    joy.publish(Joy(axes=[0.0] * 8, buttons=pressed))
    for value in (500.0, -1.0):
        payload.publish(Float64(data=value))
    for data in ([0.0, 0.0, 0.0], [0.0]):
        volts.publish(Float64MultiArray(data=data))
    for keys in ('w', ''):  # neutral first
        keyboard.turn(keys, time.monotonic())
    bench.spin(0.5)
    looked = SingleThreadedExecutor()
    looked.add_node(viewer)
    for _ in range(4):
        viewer.take(looked)
        viewer.frame()
        bench.spin(0.3)
    viewer.dynamics.set({'speed': 0.5})
    bench.call(SetBool, 'dynamics_node/pause', SetBool.Request(data=True))
    bench.call(Trigger, 'dynamics_node/step', Trigger.Request())
    bench.call(Trigger, 'dynamics_node/reset', Trigger.Request())
    bench.call(SetBool, 'dynamics_node/pause', SetBool.Request(data=False))
    results = dynamics.set_parameters(parameters(slope_pitch=0.01, friction_scale=0.9))
    bench.answers += [f'set: {result.successful}' for result in results]
    results = dynamics.set_parameters(parameters(machine='other'))
    bench.answers += [f'read-only: {result.successful}' for result in results]
    for name in ('speed', 'mode'):
        assert dynamics.describe_parameter(name).description
    viewer.take(looked)
    viewer.frame()
    teleop.health.update(time.monotonic(), 0.0)
    bench.spin(0.2)
    assert dynamics.rejections.counts, 'a command of a wrong size was not rejected'
    looked.remove_node(viewer)
    bench.nodes.remove(viewer)
    viewer.destroy_node()
    bench.clear()


def run_positions(bench: Bench) -> None:
    """The controller's other output, and a rejected joint_command."""
    shared = {**MACHINE, 'mode': 'realtime', 'exchange_period': 0.01}
    dynamics = bench.add(DynamicsNode(parameter_overrides=parameters(**shared)))
    controller = bench.add(ControllerNode(parameter_overrides=parameters(**shared, output='joint_command')))
    bench.listen()
    bench.spin(20.0, lambda: controller.sent > 20 and dynamics.commands > 5)
    command = bench.node.create_publisher(JointState, 'joint_command', 10)
    bench.spin(1.0, lambda: command.get_subscription_count() > 0)
    command.publish(JointState(name=['nobody'], effort=[1.0]))
    bench.spin(5.0, lambda: dynamics.rejections.counts)
    assert dynamics.rejections.counts['unknown joint'] == 1
    bench.clear()


def run_vehicle(bench: Bench, output: str) -> None:
    """A vehicle in lockstep, driven from the keyboard."""
    shared = {'machine': 'agv_mecanum', 'mode': 'lockstep', 'exchange_period': 0.002}
    keyboard = bench.add(KeyboardTwist())
    controller = bench.add(
        VehicleControllerNode(parameter_overrides=parameters(**shared, output=output, publish_tf_odom=True))
    )
    others = ['vehicle_controller_node']
    dynamics = bench.add(DynamicsNode(parameter_overrides=parameters(**shared, wait_for=others, duration=0.3)))
    bench.listen()
    bench.spin(60.0, lambda: controller.sent > 10)
    for keys in ('w', ''):  # rest first
        keyboard.turn(keys, time.monotonic())
    bench.spin(60.0, lambda: dynamics.finished)
    assert dynamics.finished, f'stands still at t = {dynamics.plant.time:g} s'
    assert controller.motion.odometry.distance > 0.0, 'it has not moved'
    bench.spin(0.2)
    bench.clear()


def run_recorder(bench: Bench, directory: Path) -> None:
    """The recorder, whose callbacks receive a MessageInfo if available."""
    recorder = RecorderNode()
    bench.nodes.append(recorder)
    bench.executor.add_node(recorder)
    talker = bench.node.create_publisher(Float64, 'told', 10)
    bench.spin(10.0, lambda: talker.get_subscription_count() > 0)
    for k in range(20):
        talker.publish(Float64(data=float(k)))
    bench.spin(10.0, lambda: recorder.received >= 20)
    recorder._report()
    recorder.finish()
    assert recorder.received >= 20
    bench.clear()


def run_others(bench: Bench) -> None:
    """Nodes that are not named above: made, and fed with the measurements and commands of a machine at rest."""
    for name in sys.argv[2].split(','):
        module = importlib.import_module(f'dyn_nodes.nodes.{name}') if name else None
        for kind in vars(module).values() if module else ():
            if isinstance(kind, type) and issubclass(kind, Node) and kind.__module__ == module.__name__:
                # the bridge publishes measurements, too, which may have one source in a namespace
                space = {'namespace': 'bus'} if name == 'can_bridge_node' else {}
                bench.add(kind(parameter_overrides=parameters(**OTHER_MACHINES.get(name, MACHINE)), **space))
                bench.others.append(name)
    states = bench.node.create_publisher(JointState, 'joint_states', 10)
    volts = bench.node.create_publisher(Float64MultiArray, 'valve_commands_in', 10)
    start = machine_of('log_loader', '').initial.joint_positions
    measured = JointState(name=list(start), position=list(start.values()), velocity=[0.0] * 3, effort=[0.0] * 3)
    wanted = {'/governor/scale', '/stability/allowance/reach'}
    end = time.monotonic() + (120.0 if bench.others else 0.0)
    tick = 0
    while time.monotonic() < end and not wanted <= set(bench.received):
        tick += 1
        measured.header.stamp.sec, measured.header.stamp.nanosec = tick // 100, tick % 100 * 10_000_000
        states.publish(measured)
        boom = 1.0 if tick % 40 > 10 else 0.0  # levers have to be neutral first
        volts.publish(Float64MultiArray(data=[boom, 0.0, 0.0]))
        if tick % 20 == 0:
            bench.listen()
        bench.spin(0.01)
    bench.clear()


def main() -> int:
    directory = Path(sys.argv[1])
    arguments = ['exercise', '--ros-args', '-p', f'directory:={directory / "bag"}']
    with init(args=arguments):
        bench = Bench()
        run_recorder(bench, directory)
        run_lockstep(bench, directory)
        run_realtime(bench)
        run_positions(bench)
        run_vehicle(bench, 'effort')
        run_vehicle(bench, 'velocity')
        run_others(bench)
        bench.node.destroy_node()
    result = {
        'runtime': middleware.RUNTIME,
        'node': Node.__mro__[-2].__module__,
        'answers': bench.answers,
        'others': bench.others,
    }
    print('result', json.dumps({**result, 'received': bench.received}))
    return 0


if __name__ == '__main__':
    sys.exit(main())
