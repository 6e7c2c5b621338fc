"""Writes a bag like that of the nodes from a run in this process, without further processes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from scipy.spatial.transform import Rotation

from dyn_nodes.common.share import find_resource
from dyn_nodes.control import VoltageProfile, load_voltage_profile
from dyn_nodes.model import Machine, load_machine
from dyn_nodes.nodes.balance_reports import margin_topic
from dyn_nodes.simulation import Inputs, System, SystemRun, initial_state
from dyn_nodes.stability.balance import BalanceObserver
from dyn_nodes.stability.grip import friction_use, grip_of
from dyn_nodes.stability.load_moment import LoadMomentIndicator

STORE = get_typestore(Stores.ROS2_JAZZY)
TYPES = STORE.types
TIME = TYPES['builtin_interfaces/msg/Time']
HEADER = TYPES['std_msgs/msg/Header']
VECTOR = TYPES['geometry_msgs/msg/Vector3']
WALL_START = 1_700_000_000_000_000_000
SPEED = 5.0


def log_loader() -> Machine:
    return load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))


def simulate(
    machine: Machine, recovery: bool, duration: float, period: float = 0.02
) -> tuple[SystemRun, VoltageProfile]:
    system = System(machine)
    profile = load_voltage_profile(find_resource('config/tasks/pick_and_place_recovery.yaml'), recovery=recovery)
    knots = profile.knot_times
    names = tuple(actuator.name for actuator in machine.actuators)
    volts = profile.evaluate(knots, names)
    inputs = Inputs(knots, {f'{name}/voltage': volts[:, k] for k, name in enumerate(names)})
    times = np.linspace(0.0, duration, round(duration / period) + 1)
    p = system.parameters()
    return system.run(initial_state(system, p), times, inputs, p), profile


WEIGHED = (5010.0, 5190.0)
"""Interval of the payload from a monitor of the run, kg."""


class BagOfRun:
    """Writes a run, topic by topic.

    Args:
        skip: omitted topics.
        stamped_log: log times are simulated, like those of a recorder with `use_sim_time`.
    """

    def __init__(self, path: Path, prefix: str = '', skip: tuple[str, ...] = (), stamped_log: bool = False) -> None:
        self.prefix, self.skip, self.stamped_log = prefix, skip, stamped_log
        self.writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
        self.connections = {}

    def __enter__(self) -> BagOfRun:
        self.writer.open()
        return self

    def __exit__(self, *_) -> None:
        self.writer.close()

    def write(self, topic: str, kind: str, time: float, **fields) -> None:
        if topic in self.skip:
            return
        name = topic if topic.startswith('/') else f'{self.prefix}/{topic}'
        if name not in self.connections:
            self.connections[name] = self.writer.add_connection(name, kind, typestore=STORE)
        message = TYPES[kind](**fields)
        log = round(time * 1e9) if self.stamped_log else WALL_START + round(time / SPEED * 1e9)
        self.writer.write(self.connections[name], log, STORE.serialize_cdr(message, kind))


def stamp(time: float):
    whole, rest = divmod(round(time * 1e9), 10**9)
    return TIME(sec=whole, nanosec=rest)


def header(time: float, frame: str = 'odom'):
    return HEADER(stamp=stamp(time), frame_id=frame)


def vector(values):
    return VECTOR(*(float(v) for v in values))


def write_run(bag: BagOfRun, run: SystemRun, profile: VoltageProfile) -> None:
    machine = run.system.machine
    if 'robot_description' not in bag.skip:
        bag.write('robot_description', 'std_msgs/msg/String', 0.0, data=machine.urdf)
    observer = BalanceObserver(run.system)
    gravity = run.parameters[:3]
    friction = grip_of(machine).friction
    outputs = run.all_outputs
    indicator, joints = LoadMomentIndicator(machine), [joint.name for joint in machine.movable_joints]
    mass = float(run.parameters[run.system.index('parameter', 'payload_mass')])
    phase = ''
    for k, time in enumerate(run.times.tolist()):
        if profile.phase(time) != phase:
            phase = profile.phase(time)
            bag.write('task_phase', 'std_msgs/msg/String', time, data=phase)
        _write_pose(bag, run, k, time)
        _write_balance(bag, observer.observe(outputs[k], gravity), friction, time)
        _write_joints(bag, run, k, time)
        _write_oil(bag, run, k, time)
        if k % 20 == 0:
            positions = {name: float(run.position(name)[k]) for name in joints}
            moment = indicator.evaluate(positions, mass, gravity)
            topic = 'load_moment/utilisation'
            bag.write(topic, 'std_msgs/msg/Float64', time, data=100.0 * moment.utilisation)
    end = 'overturned' if run.overturned else 'finished'
    event(bag, run.end_time, end, f'{end} at {run.end_time:.3f} s', 2 if run.overturned else 0)


def event(bag: BagOfRun, time: float, name: str, text: str, level: int = 0) -> None:
    pair = TYPES['diagnostic_msgs/msg/KeyValue'](key='time', value=f'{time:.6f}')
    bag.write(
        'events',
        'diagnostic_msgs/msg/DiagnosticStatus',
        time,
        level=level,
        name=f'dynamics_node: {name}',
        message=text,
        hardware_id='dynamics_node',
        values=[pair],
    )


def _write_pose(bag: BagOfRun, run: SystemRun, k: int, time: float) -> None:
    point = TYPES['geometry_msgs/msg/Point']
    roll, pitch, yaw = (run.output(name)[k] for name in ('roll', 'pitch', 'yaw'))
    turn = Rotation.from_euler('ZYX', [yaw, pitch, roll]).as_quat()
    pose = TYPES['geometry_msgs/msg/Pose'](point(0.0, 0.0, 1.5), TYPES['geometry_msgs/msg/Quaternion'](*turn.tolist()))
    zero = vector((0, 0, 0))
    bag.write(
        'odom',
        'nav_msgs/msg/Odometry',
        time,
        header=header(time),
        child_frame_id='base_link',
        pose=TYPES['geometry_msgs/msg/PoseWithCovariance'](pose, np.zeros(36)),
        twist=TYPES['geometry_msgs/msg/TwistWithCovariance'](
            TYPES['geometry_msgs/msg/Twist'](zero, zero), np.zeros(36)
        ),
    )


def _write_balance(bag: BagOfRun, balance, friction, time: float) -> None:
    point = TYPES['geometry_msgs/msg/Point'](*balance.zmp.tolist(), 0.0)
    bag.write('stability/zmp', 'geometry_msgs/msg/PointStamped', time, header=header(time), point=point)
    for wheel, force in zip(balance.wheels, balance.forces):
        wrench = TYPES['geometry_msgs/msg/Wrench'](vector(force), vector((0, 0, 0)))
        topic = f'ground_reactions/{wheel}'
        bag.write(topic, 'geometry_msgs/msg/WrenchStamped', time, header=header(time, wheel), wrench=wrench)
    for wheel, use in zip(balance.wheels, friction_use(balance.forces, friction).tolist()):
        bag.write(f'friction_use/{wheel}', 'std_msgs/msg/Float64', time, data=use)
    for name, margin in balance.margins.items():
        topic = margin_topic(name)
        bag.write(topic, 'std_msgs/msg/Float64', time, data=float(margin.value))
        names = balance.wheels if name == 'load_share' else balance.edge_names
        write_array(bag, f'{topic}/edges', time, names, margin.edges)
    write_array(bag, 'monitor/payload/interval', time, ('lower', 'upper'), WEIGHED)


def write_array(bag: BagOfRun, topic: str, time: float, names, values) -> None:
    size = len(values)
    dimension = TYPES['std_msgs/msg/MultiArrayDimension'](label=','.join(names), size=size, stride=size)
    layout = TYPES['std_msgs/msg/MultiArrayLayout'](dim=[dimension], data_offset=0)
    bag.write(topic, 'std_msgs/msg/Float64MultiArray', time, layout=layout, data=np.asarray(values))


def _write_joints(bag: BagOfRun, run: SystemRun, k: int, time: float) -> None:
    names = [joint.name for joint in run.system.machine.movable_joints]
    position = np.array([run.state(name)[k] for name in names])
    zeros = np.zeros(len(names))
    bag.write(
        'joint_states',
        'sensor_msgs/msg/JointState',
        time,
        header=header(time, ''),
        name=names,
        position=position,
        velocity=zeros,
        effort=zeros,
    )


def _write_oil(bag: BagOfRun, run: SystemRun, k: int, time: float) -> None:
    for actuator in run.system.machine.actuators:
        prefix = f'{actuator.name}/'
        for name in run.system.state_names:
            if name.startswith(prefix) and 'pressure' in name:
                pressure(bag, f'hydraulics/{name}', time, run.state(name)[k])
        pressure(bag, f'hydraulics/{prefix}supply_pressure', time, run.output(f'{prefix}supply_pressure')[k])


def pressure(bag: BagOfRun, topic: str, time: float, value: float) -> None:
    bag.write(
        topic, 'sensor_msgs/msg/FluidPressure', time, header=header(time, ''), fluid_pressure=float(value), variance=0.0
    )
