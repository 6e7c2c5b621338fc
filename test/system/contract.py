"""The contract of the nodes (DESIGN, section 5) as tables, with checks of the messages of each topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from harness import HAS_FRAMES

from dyn_nodes.measures import DEFAULT_MEASURES
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.nodes.parameters import all_parameters
from dyn_nodes.nodes.simulation_services import are_available

MACHINE = machine_of('log_loader', '')
WHEELS = [wheel.name for wheel in MACHINE.wheels]
JOINTS = [joint.name for joint in MACHINE.movable_joints]
ACTUATORS = [actuator.name for actuator in MACHINE.actuators]
CYLINDERS = [actuator.name for actuator in MACHINE.actuators if hasattr(actuator, 'linkage')]
WEIGHT = 9.81 * (sum(link.mass for link in MACHINE.links) + MACHINE.payload.mass)
GROUND = 'base_footprint'
Check = Callable[[Any], object]


@dataclass(frozen=True)
class Output:
    """A published topic of a node, and the check of its messages."""

    topic: str
    type: str
    check: Check
    latched: bool = False
    settles: bool = False
    """A good message arrives in time; others may arrive too: from other nodes, or while an estimate settles."""
    event_driven: bool = False
    """Published only on an event: only the publisher is checked."""


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


def transforms(parent: str, child: str) -> Check:
    return lambda msg: any((t.header.frame_id, t.child_frame_id) == (parent, child) for t in msg.transforms)


def fixed_frames(msg: Any) -> bool:
    """Return whether the message has exactly the fixed joints of the URDF, at their poses."""
    published = {(t.header.frame_id, t.child_frame_id): vector(t.transform.translation) for t in msg.transforms}
    wanted = {(joint.parent, joint.child): joint.origin[:3, 3] for joint in MACHINE.joints if not joint.movable}
    return set(published) == set(wanted) and all(
        np.allclose(published[ends], wanted[ends], atol=1e-12) for ends in wanted
    )


def imu(msg: Any) -> bool:
    turn, force = msg.orientation, vector(msg.linear_acceleration)
    is_level = np.linalg.norm(force - [0.0, 0.0, 9.81]) < 2.0  # the machine stands on level ground
    return (
        msg.header.frame_id == MACHINE.base.link
        and abs(np.linalg.norm([turn.x, turn.y, turn.z, turn.w]) - 1.0) < 1e-9
        and finite(vector(msg.angular_velocity))
        and bool(is_level)
    )


def reset_event(msg: Any) -> bool:
    """Check the event of a reset pose: source, pose, time."""
    values = {pair.key: pair.value for pair in msg.values}
    return msg.name.endswith('dynamics_node: reset') and bool(msg.message) and float(values['time']) >= 0.0


def wrench_of(wheel: str, prefix: str = '') -> Check:
    def check(msg: Any) -> bool:
        force = vector(msg.wrench.force)
        return msg.header.frame_id == f'{prefix}{wheel}_contact' and finite(force) and 0.0 <= force[2] < WEIGHT

    return check


def polygon_in(frame: str) -> Check:
    def check(msg: Any) -> bool:
        corners = [vector(point) for point in msg.polygon.points]
        return msg.header.frame_id == frame and 3 <= len(corners) <= len(WHEELS) and finite(np.ravel(corners))

    return check


def point_in(frame: str) -> Check:
    return lambda msg: msg.header.frame_id == frame and finite(vector(msg.point))


def edges(msg: Any) -> bool:
    (dimension,) = msg.layout.dim
    return dimension.size == len(msg.data) == len(dimension.label.split(',')) and finite(msg.data)


def markers_in(frame: str) -> Check:
    return lambda msg: len(msg.markers) > 0 and all(marker.header.frame_id == frame for marker in msg.markers)


def pose_in(msg: Any, frame: str) -> bool:
    turn = msg.pose.orientation
    norm = np.linalg.norm([turn.x, turn.y, turn.z, turn.w])
    return msg.header.frame_id == frame and finite(vector(msg.pose.position)) and abs(norm - 1.0) < 1e-9


def number(msg: Any) -> bool:
    return finite([msg.data])


def pressure(msg: Any) -> bool:
    return 0.0 <= msg.fluid_pressure < 5e7


def volts(msg: Any) -> bool:
    return len(msg.data) == len(ACTUATORS) and finite(msg.data) and max(map(abs, msg.data)) <= 10.0


def efforts(msg: Any) -> bool:
    return list(msg.name) == JOINTS and len(msg.effort) == len(JOINTS) and finite(msg.effort)


def load_moment_outputs(prefix: str = '') -> list[Output]:
    """Return the topics of the load-moment indicator."""
    start = f'{prefix}/' if prefix else ''
    return [
        Output(f'{start}load_moment/utilisation', FLOAT, lambda msg: 0.0 <= msg.data < 200.0, settles=bool(prefix)),
        Output(f'{start}load_moment/rated_load', FLOAT, lambda msg: 0.0 < msg.data < WEIGHT, settles=bool(prefix)),
        Output(
            f'{start}load_moment/state', STATUS, lambda msg: '% of the rated load' in msg.message, settles=bool(prefix)
        ),
    ]


def margin_topic(measure: str) -> str:
    return f'stability/{"zmp_degree" if measure == "zmp" else measure}'


def balance_outputs(measures: Sequence[str], frame: str, prefix: str = '') -> list[Output]:
    """Return topics of every node that publishes reactions and margins."""
    start, frame_prefix = (f'{prefix}/', f'{prefix}_') if prefix else ('', '')
    made = [
        Output(f'{start}markers', 'visualization_msgs/msg/MarkerArray', markers_in(frame)),
        *(Output(f'{start}ground_reactions/{wheel}', WRENCH, wrench_of(wheel, frame_prefix)) for wheel in WHEELS),
        *(Output(f'{start}{margin_topic(measure)}', FLOAT, number) for measure in measures),
        *(Output(f'{start}{margin_topic(measure)}/edges', ARRAY, edges) for measure in measures),
        Output(f'{start}stability/support_polygon', 'geometry_msgs/msg/PolygonStamped', polygon_in(frame)),
        Output(f'{start}stability/center_of_mass', 'geometry_msgs/msg/PointStamped', point_in(frame)),
        Output(f'{start}stability/zmp', 'geometry_msgs/msg/PointStamped', point_in(frame)),
    ]
    return [replace(output, settles=bool(prefix)) for output in made]


def default_of(node: str, parameter: str) -> Any:
    return next(item.default for item in all_parameters(node) if item.name == parameter)


def frames(*outputs: Output) -> tuple[Output, ...]:
    return outputs if HAS_FRAMES else ()


FLOAT, ARRAY = 'std_msgs/msg/Float64', 'std_msgs/msg/Float64MultiArray'
STATES, WRENCH = 'sensor_msgs/msg/JointState', 'geometry_msgs/msg/WrenchStamped'
FRAMES, IMU, STATUS = 'tf2_msgs/msg/TFMessage', 'sensor_msgs/msg/Imu', 'diagnostic_msgs/msg/DiagnosticStatus'
DYNAMICS = [
    Output('joint_states', STATES, joint_states),
    Output('odom', 'nav_msgs/msg/Odometry', odometry),
    *frames(
        Output('tf', FRAMES, transforms('odom', MACHINE.base.link), settles=True),
        Output('tf_static', FRAMES, fixed_frames, latched=True),
    ),
    Output('imu', IMU, imu),
    Output('events', STATUS, reset_event, settles=True),
    Output('robot_description', 'std_msgs/msg/String', lambda msg: '<robot' in msg.data, latched=True),
    Output('clock', 'rosgraph_msgs/msg/Clock', lambda msg: msg.clock.sec + msg.clock.nanosec > 0, settles=True),
    *balance_outputs(DEFAULT_MEASURES, 'odom'),
    *load_moment_outputs(),
]
HYDRAULICS = [
    Output('joint_command', STATES, efforts),
    Output('events', STATUS, bool, event_driven=True),
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
MONITOR = [
    *balance_outputs(default_of('stability_monitor_node', 'measures'), GROUND, 'monitor'),
    *(
        Output(f'monitor/stability/allowance/{name}', FLOAT, number, settles=True)
        for name in ('payload', 'reach', 'swing_speed')
    ),
    *load_moment_outputs('monitor'),
    *frames(Output('tf', FRAMES, transforms(MACHINE.base.link, GROUND), settles=True)),
]
GOVERNOR = [
    Output('valve_commands', ARRAY, volts),
    Output('governor/scale', FLOAT, lambda msg: 0.0 <= msg.data <= 1.0),
    Output('governor/stop', STATES, lambda msg: len(msg.name) == len(msg.position)),
    Output('governor/state', STATUS, lambda msg: msg.name.endswith(': governor'), latched=True, event_driven=True),
]
CARTESIAN = [
    Output('valve_commands', ARRAY, volts),
    Output('hand_state', 'std_msgs/msg/String', lambda msg: msg.data == 'holding', latched=True),
    Output('hand_reference', 'geometry_msgs/msg/PoseStamped', lambda msg: pose_in(msg, MACHINE.base.link)),
    Output('hand_error', FLOAT, lambda msg: 0.0 <= msg.data < 0.05, settles=True),
]
BRIDGE = [
    Output('joint_states', STATES, bool, event_driven=True),
    Output('imu', IMU, bool, event_driven=True),
    *(
        Output(f'hydraulics/{name}/{line}', 'sensor_msgs/msg/FluidPressure', bool, event_driven=True)
        for name in ACTUATORS
        for line in (('head_pressure', 'rod_pressure') if name in CYLINDERS else ('pressure_a', 'pressure_b'))
    ),
    *(Output(f'wheel_loads/{wheel}', FLOAT, bool, event_driven=True) for wheel in WHEELS),
    Output('can/valve_commands', ARRAY, volts, event_driven=True),
    Output('can/levers', ARRAY, volts, event_driven=True),
    Output('can/state', 'std_msgs/msg/String', lambda msg: msg.data == 'shadow', latched=True),
]
OUTPUTS = {
    'dynamics_node': DYNAMICS,
    'hydraulic_actuator_node': HYDRAULICS,
    'controller_node': CONTROLLER,
    'cartesian_controller_node': CARTESIAN,
    'stability_monitor_node': MONITOR,
    'tip_over_governor_node': GOVERNOR,
    'teleop_node': [Output('valve_commands_in', ARRAY, volts)],
    'can_bridge_node': BRIDGE,
    'viewer_node': [Output('payload', FLOAT, bool, event_driven=True)],
}
"""Topics of every node without the common ones: /rosout, /parameter_events and /diagnostics."""
NAMESPACES = {
    'tip_over_governor_node': 'b',
    'teleop_node': 'b',
    'cartesian_controller_node': 'c',
    'can_bridge_node': 'd',
}
"""Namespaces of the nodes outside `a`. Teleop drives the machine of `b` through the governor; in `c` a node holds
the hand of the machine of `a`, which ignores its commands; in `d` a bridge subscribes to an idle bus."""
INPUTS = {
    'dynamics_node': {'joint_command': STATES, 'payload': FLOAT},
    'hydraulic_actuator_node': {'joint_states': STATES, 'valve_commands': ARRAY},
    'controller_node': {
        'joint_states': STATES,
        'joint_trajectory': 'trajectory_msgs/msg/JointTrajectory',
        'cmd_vel': 'geometry_msgs/msg/TwistStamped',
    },
    'cartesian_controller_node': {
        '/a/joint_states': STATES,
        'hand_pose': 'geometry_msgs/msg/PoseStamped',
        'hand_path': 'nav_msgs/msg/Path',
        'hand_twist': 'geometry_msgs/msg/TwistStamped',
        'payload': FLOAT,
    },
    'stability_monitor_node': {'joint_states': STATES, 'imu': IMU, 'payload': FLOAT},
    'tip_over_governor_node': {'valve_commands_in': ARRAY, 'joint_states': STATES, 'imu': IMU, 'payload': FLOAT},
    'teleop_node': {'joy': 'sensor_msgs/msg/Joy'},
    'can_bridge_node': {'valve_commands': ARRAY},
    'viewer_node': {
        'robot_description': 'std_msgs/msg/String',
        'joint_states': STATES,
        'odom': 'nav_msgs/msg/Odometry',
        **({'tf': FRAMES} if HAS_FRAMES else {}),
        'payload': FLOAT,
        'valve_commands': ARRAY,
        'events': STATUS,
        'stability/support_polygon': 'geometry_msgs/msg/PolygonStamped',
    },
}
SIMULATION = {
    'get_simulator_features': 'simulation_interfaces/srv/GetSimulatorFeatures',
    'get_simulation_state': 'simulation_interfaces/srv/GetSimulationState',
    'set_simulation_state': 'simulation_interfaces/srv/SetSimulationState',
    'step_simulation': 'simulation_interfaces/srv/StepSimulation',
    'reset_simulation': 'simulation_interfaces/srv/ResetSimulation',
    'get_entities': 'simulation_interfaces/srv/GetEntities',
    'get_entity_state': 'simulation_interfaces/srv/GetEntityState',
}
SERVICES = {
    'dynamics_node': {
        'reset': 'std_srvs/srv/Trigger',
        'pause': 'std_srvs/srv/SetBool',
        'step': 'std_srvs/srv/Trigger',
        **(SIMULATION if are_available() else {}),
    },
    'hydraulic_actuator_node': {'reset': 'std_srvs/srv/Trigger'},
    'can_bridge_node': {'arm': 'std_srvs/srv/SetBool', 'activate': 'std_srvs/srv/SetBool'},
}
"""Services under the node's name, without the parameter services of every node."""
DIAGNOSTICS = {
    'dynamics_node': ('simulation', 'commands', 'stability'),
    'hydraulic_actuator_node': (),
    'controller_node': ('joint_states', 'commands'),
    'cartesian_controller_node': ('joint_states', 'hand'),
    'stability_monitor_node': ('joint_states', 'imu', 'stability', 'allowance', 'payload'),
    'tip_over_governor_node': ('joint_states', 'imu', 'governor', 'payload'),
    'teleop_node': ('gamepad',),
    'can_bridge_node': ('bus', 'signals', 'state'),
}
