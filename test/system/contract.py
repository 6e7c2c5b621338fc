"""The contract of the nodes (DESIGN, section 5) as tables, and what a sane message of each topic looks like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.simulation.balance import DEFAULT_MEASURES

MACHINE = machine_of('log_loader', '')
WHEELS = [wheel.name for wheel in MACHINE.wheels]
JOINTS = [joint.name for joint in MACHINE.movable_joints]
ACTUATORS = [actuator.name for actuator in MACHINE.actuators]
CYLINDERS = [actuator.name for actuator in MACHINE.actuators if hasattr(actuator, 'linkage')]
WEIGHT = 9.81 * (sum(link.mass for link in MACHINE.links) + MACHINE.payload.mass)
Check = Callable[[Any], object]


@dataclass(frozen=True)
class Output:
    """A topic that a node publishes, and what a message of it must hold."""

    topic: str
    type: str
    check: Check
    latched: bool = False
    shared: bool = False
    """Other nodes publish on it too."""


def finite(values: Any) -> bool:
    return bool(np.isfinite(np.array(list(values), float)).all())


def vector(item: Any) -> np.ndarray:
    return np.array([item.x, item.y, item.z])


def joint_states(msg: Any) -> bool:
    values = (msg.position, msg.velocity, msg.effort)
    return list(msg.name) == JOINTS and all(len(v) == len(JOINTS) and finite(v) for v in values)


def odometry(msg: Any) -> bool:
    turn = msg.pose.pose.orientation
    frames = (msg.header.frame_id, msg.child_frame_id) == ('odom', MACHINE.base.link)
    return frames and abs(np.linalg.norm([turn.x, turn.y, turn.z, turn.w]) - 1.0) < 1e-9


def transforms(parent: str) -> Check:
    return lambda msg: any(item.header.frame_id == parent for item in msg.transforms)


def wrench_of(wheel: str) -> Check:
    def check(msg: Any) -> bool:
        force = vector(msg.wrench.force)
        return msg.header.frame_id == f'{wheel}_contact' and finite(force) and 0.0 <= force[2] < WEIGHT

    return check


def polygon(msg: Any) -> bool:
    corners = [vector(point) for point in msg.polygon.points]
    return msg.header.frame_id == 'odom' and 3 <= len(corners) <= len(WHEELS) and finite(np.ravel(corners))


def point(msg: Any) -> bool:
    return msg.header.frame_id == 'odom' and finite(vector(msg.point))


def edges(msg: Any) -> bool:
    (dimension,) = msg.layout.dim
    return dimension.size == len(msg.data) == len(dimension.label.split(',')) and finite(msg.data)


def markers(msg: Any) -> bool:
    return len(msg.markers) > 0 and all(marker.header.frame_id == 'odom' for marker in msg.markers)


def number(msg: Any) -> bool:
    return finite([msg.data])


def pressure(msg: Any) -> bool:
    return 0.0 <= msg.fluid_pressure < 5e7


def volts(msg: Any) -> bool:
    return len(msg.data) == len(ACTUATORS) and finite(msg.data) and max(map(abs, msg.data)) <= 10.0


def efforts(msg: Any) -> bool:
    return list(msg.name) == JOINTS and len(msg.effort) == len(JOINTS) and finite(msg.effort)


def margin_topic(measure: str) -> str:
    return f'stability/{"zmp_degree" if measure == "zmp" else measure}'


FLOAT, ARRAY = 'std_msgs/msg/Float64', 'std_msgs/msg/Float64MultiArray'
STATES, WRENCH = 'sensor_msgs/msg/JointState', 'geometry_msgs/msg/WrenchStamped'
DYNAMICS = [
    Output('joint_states', STATES, joint_states),
    Output('odom', 'nav_msgs/msg/Odometry', odometry),
    Output('tf', 'tf2_msgs/msg/TFMessage', transforms('odom'), shared=True),
    Output('robot_description', 'std_msgs/msg/String', lambda msg: '<robot' in msg.data, latched=True),
    Output('clock', 'rosgraph_msgs/msg/Clock', lambda msg: msg.clock.sec + msg.clock.nanosec > 0),
    Output('markers', 'visualization_msgs/msg/MarkerArray', markers),
    *(Output(f'ground_reactions/{wheel}', WRENCH, wrench_of(wheel)) for wheel in WHEELS),
    *(Output(margin_topic(measure), FLOAT, number) for measure in DEFAULT_MEASURES),
    *(Output(f'{margin_topic(measure)}/edges', ARRAY, edges) for measure in DEFAULT_MEASURES),
    Output('stability/support_polygon', 'geometry_msgs/msg/PolygonStamped', polygon),
    Output('stability/center_of_mass', 'geometry_msgs/msg/PointStamped', point),
    Output('stability/zmp', 'geometry_msgs/msg/PointStamped', point),
]
HYDRAULICS = [
    Output('joint_command', STATES, efforts),
    *(
        Output(f'hydraulics/{name}/{quantity}', 'sensor_msgs/msg/FluidPressure', pressure)
        for name in ACTUATORS
        for quantity in (
            *(('head_pressure', 'rod_pressure') if name in CYLINDERS else ('pressure_a', 'pressure_b')),
            'supply_pressure',
        )
    ),
    *(
        Output(f'hydraulics/{name}/{quantity}', FLOAT, number)
        for name in ACTUATORS
        for quantity in ('spool', 'flow_a', 'flow_b', 'effort', *(('force',) if name in CYLINDERS else ()))
    ),
]
CONTROLLER = [
    Output('valve_commands', ARRAY, volts),
    Output('task_phase', 'std_msgs/msg/String', lambda msg: isinstance(msg.data, str), latched=True),
]
OUTPUTS = {'dynamics_node': DYNAMICS, 'hydraulic_actuator_node': HYDRAULICS, 'controller_node': CONTROLLER}
INPUTS = {
    'dynamics_node': {'joint_command': STATES, 'payload': FLOAT},
    'hydraulic_actuator_node': {'joint_states': STATES, 'valve_commands': ARRAY},
    'controller_node': {
        'joint_states': STATES,
        'joint_trajectory': 'trajectory_msgs/msg/JointTrajectory',
        'cmd_vel': 'geometry_msgs/msg/TwistStamped',
    },
    'viewer_node': {'joint_states': STATES},
}
DIAGNOSTICS = {
    'dynamics_node': ('simulation', 'commands', 'stability'),
    'hydraulic_actuator_node': (),
    'controller_node': ('joint_states', 'commands'),
}
