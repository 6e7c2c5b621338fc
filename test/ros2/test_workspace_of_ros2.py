"""The package in a real ROS 2: `colcon build`, source the workspace, then `python3 -m pytest -m ros2`.

Tests without commands of ROS also run on the embedded runtime, with `dyn-nodes launch` instead of `ros2 launch`. If
pytest is too new for the distribution's plugins, add `-p no:launch_testing -p no:launch_ros`.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from asking import Question
from domains import next_domain
from timeouts import scaled_timeout

from dyn_nodes.middleware import (
    RUNTIME,
    Context,
    DurabilityPolicy,
    Node,
    Parameter,
    QoSProfile,
    ReliabilityPolicy,
    SingleThreadedExecutor,
    init,
    message,
    parameter_value_to_python,
    service,
)
from dyn_nodes.middleware.bags import bag_summary
from dyn_nodes.nodes.transforms import TFMessage

ROOT = Path(__file__).parents[2]
ARGUMENTS = ('exchange_period:=0.002', 'use_sim_time:=true', 'record:=true', 'monitor:=true', 'governor:=true')
NODES = (
    'dynamics_node',
    'hydraulic_actuator_node',
    'controller_node',
    'recorder_node',
    'stability_monitor_node',
    'tip_over_governor_node',
)
DYN_NODES_LAUNCH = [sys.executable, '-m', 'dyn_nodes.cli', 'launch', 'log_loader']
PATIENCE = 240.0
"""The first start of a machine compiles its dynamics, s."""

TOPICS = {
    '/clock': 'rosgraph_msgs/msg/Clock',
    '/diagnostics': 'diagnostic_msgs/msg/DiagnosticArray',
    '/events': 'diagnostic_msgs/msg/DiagnosticStatus',
    '/governor/scale': 'std_msgs/msg/Float64',
    '/ground_reactions/front_left': 'geometry_msgs/msg/WrenchStamped',
    '/hydraulics/boom/head_pressure': 'sensor_msgs/msg/FluidPressure',
    '/hydraulics/boom/spool': 'std_msgs/msg/Float64',
    '/imu': 'sensor_msgs/msg/Imu',
    '/joint_command': 'sensor_msgs/msg/JointState',
    '/joint_reactions/boom_joint': 'geometry_msgs/msg/WrenchStamped',
    '/joint_states': 'sensor_msgs/msg/JointState',
    '/markers': 'visualization_msgs/msg/MarkerArray',
    '/monitor/ground_reactions/front_left': 'geometry_msgs/msg/WrenchStamped',
    '/monitor/stability/allowance/payload': 'std_msgs/msg/Float64',
    '/monitor/stability/force_angle': 'std_msgs/msg/Float64',
    '/odom': 'nav_msgs/msg/Odometry',
    '/robot_description': 'std_msgs/msg/String',
    '/stability/center_of_mass': 'geometry_msgs/msg/PointStamped',
    '/stability/force_angle': 'std_msgs/msg/Float64',
    '/stability/force_angle/edges': 'std_msgs/msg/Float64MultiArray',
    '/stability/support_polygon': 'geometry_msgs/msg/PolygonStamped',
    '/stability/zmp': 'geometry_msgs/msg/PointStamped',
    '/task_phase': 'std_msgs/msg/String',
    '/valve_commands': 'std_msgs/msg/Float64MultiArray',
    '/valve_commands_in': 'std_msgs/msg/Float64MultiArray',
}
if HAS_FRAMES := TFMessage is not None:
    TOPICS |= {'/tf': 'tf2_msgs/msg/TFMessage', '/tf_static': 'tf2_msgs/msg/TFMessage'}
LATCHED = {'/robot_description', '/tf_static', '/task_phase'}
LATCHED |= {'/joint_command', '/valve_commands', '/valve_commands_in'}  # of partners that wait for each other
LISTENED = {
    '/joint_command': 'dynamics_node',
    '/payload': 'dynamics_node',
    '/valve_commands': 'hydraulic_actuator_node',
    '/valve_commands_in': 'tip_over_governor_node',
    '/imu': 'stability_monitor_node',
    '/joint_trajectory': 'controller_node',
    '/cmd_vel': 'controller_node',
}


class System:
    """A launched machine and a node that listens to it."""

    def __init__(self, words: list[str], folder: Path) -> None:
        self.log = folder / 'launch.log'
        self.bag = folder / 'bag'
        environment = {**os.environ, 'PYTHONUNBUFFERED': '1', 'ROS_LOG_DIR': str(folder / 'ros_log')}
        words = [*words, *ARGUMENTS, f'bag:={self.bag}']
        with self.log.open('w') as out:
            self.process = subprocess.Popen(
                words, env=environment, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
            )
        self.context = Context()
        init(args=[], context=self.context)
        override = [Parameter('use_sim_time', value=True)]
        self.node = Node('tester', context=self.context, parameter_overrides=override)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.states: list[Any] = []
        kind = message('sensor_msgs/msg/JointState')
        self.node.create_subscription(kind, 'joint_states', self._on_state, QoSProfile(depth=10))

    def _on_state(self, msg: Any) -> None:
        self.states = [*self.states[-20:], msg]

    def text(self) -> str:
        return self.log.read_text(errors='replace')

    def until(self, condition: Callable[[], Any], text: str, timeout: float = 30.0) -> None:
        end = time.monotonic() + scaled_timeout(timeout)
        while not condition():
            assert time.monotonic() < end, f'{text}\n{self.text()[-4000:]}'
            assert self.process.poll() is None, f'the launch ended\n{self.text()[-4000:]}'
            self.executor.spin_once(timeout_sec=0.05)

    def call(self, kind: Any, name: str, request: Any, once: bool = False) -> Any:
        client = self.node.create_client(kind, name)
        question = Question(client, request, once)
        try:
            self.until(question.is_answered, f'no answer from {name}', 120.0)
            return question.answer
        finally:
            self.node.destroy_client(client)

    def listeners(self, topic: str) -> set[str]:
        """Return the names of the nodes that subscribe to a topic, as far as they have been discovered."""
        return {info.node_name for info in self.node.get_subscriptions_info_by_topic(topic)}

    def stop(self) -> int:
        """SIGINT to all, as Ctrl-C gives it; kill what remains."""
        for number, longest in ((signal.SIGINT, 40.0), (signal.SIGTERM, 10.0), (signal.SIGKILL, 10.0)):
            if self.process.poll() is not None:
                break
            os.killpg(self.process.pid, number)
            try:
                self.process.wait(scaled_timeout(longest))
            except subprocess.TimeoutExpired:
                continue
        return self.process.returncode

    def close(self) -> None:
        self.stop()
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()


@pytest.fixture(
    scope='module',
    params=[pytest.param('embedded', marks=pytest.mark.slow), pytest.param('ros2', marks=pytest.mark.ros2)],
)
def system(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    if request.param == 'ros2':
        words = ['ros2', 'launch', 'dyn_nodes', 'log_loader.launch.xml']
        if shutil.which('ros2') is None:
            words = DYN_NODES_LAUNCH  # rclpy alone, as its wheels give it
        elif not installed('dyn_nodes'):
            pytest.skip('dyn_nodes is not in the ament index: build the workspace by colcon and source it')
    else:
        words = DYN_NODES_LAUNCH
        if RUNTIME != 'embedded':
            pytest.skip('rclpy is here: the same is tested on it')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('ROS_DOMAIN_ID', str(next_domain()))
        made = System(words, tmp_path_factory.mktemp(request.param))
        try:
            made.until(lambda: len(made.states) > 5, 'no joint_states', PATIENCE)
            made.until(lambda: set(NODES) <= set(made.node.get_node_names()), 'not all nodes are there', 60.0)
            yield made
        finally:
            made.close()


def installed(package: str) -> bool:
    """Return whether the ament index of the sourced workspaces has a package."""
    entries = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    marker = Path('share/ament_index/resource_index/packages') / package
    return any((Path(entry) / marker).is_file() for entry in entries if entry)


# -- topics ----------------------------------------------------------------------------------------------------------


def test_every_topic_has_its_type(system: System) -> None:
    def topic_types() -> dict[str, list[str]]:
        return dict(system.node.get_topic_names_and_types())

    system.until(lambda: set(TOPICS) <= set(topic_types()), 'not every topic is there')
    types = topic_types()
    assert {topic: types[topic] for topic in TOPICS} == {topic: [kind] for topic, kind in TOPICS.items()}


def test_publishers_are_reliable_and_the_latched_ones_latched(system: System) -> None:
    for topic in TOPICS:
        system.until(lambda topic=topic: system.node.get_publishers_info_by_topic(topic), f'no publisher of {topic}')
        for info in system.node.get_publishers_info_by_topic(topic):
            assert info.qos_profile.reliability == ReliabilityPolicy.RELIABLE, topic
            wanted = DurabilityPolicy.TRANSIENT_LOCAL if topic in LATCHED else DurabilityPolicy.VOLATILE
            assert info.qos_profile.durability == wanted, topic


def test_commands_reach_the_right_node(system: System) -> None:
    for topic, node in LISTENED.items():
        system.until(lambda topic=topic, node=node: node in system.listeners(topic), f'{topic}: {node} does not listen')


def test_the_description_comes_to_a_late_listener(system: System) -> None:
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    received: list[Any] = []
    subscription = system.node.create_subscription(
        message('std_msgs/msg/String'), 'robot_description', received.append, latched
    )
    system.until(lambda: received, 'no robot_description')
    system.node.destroy_subscription(subscription)
    assert '<robot' in received[0].data
    assert 'boom_joint' in received[0].data


def test_messages_are_sane(system: System) -> None:
    received: dict[str, list[Any]] = {topic: [] for topic in TOPICS}
    subscriptions = []
    for topic, kind in TOPICS.items():
        durability = DurabilityPolicy.TRANSIENT_LOCAL if topic in LATCHED else DurabilityPolicy.VOLATILE
        qos = QoSProfile(depth=5, durability=durability)
        subscriptions.append(system.node.create_subscription(message(kind), topic, received[topic].append, qos))
    rare = {'/events', '/tf_static'}  # nothing need have happened; the log-loader may have no fixed joint
    system.until(lambda: all(received[topic] for topic in set(TOPICS) - rare), 'not every topic speaks')
    for subscription in subscriptions:
        system.node.destroy_subscription(subscription)
    states = received['/joint_states'][-1]
    assert sorted(states.name) == ['boom_joint', 'stick_joint', 'swing_joint']
    assert len(states.position) == len(states.velocity) == len(states.effort) == 3
    assert received['/ground_reactions/front_left'][-1].wrench.force.z > 1e3
    assert len(received['/stability/support_polygon'][-1].polygon.points) == 4
    if HAS_FRAMES:
        assert {transform.header.frame_id for transform in received['/tf'][-1].transforms} >= {'odom'}
    edges = received['/stability/force_angle/edges'][-1]
    assert len(edges.data) == edges.layout.dim[0].size == 4
    assert received['/hydraulics/boom/head_pressure'][-1].fluid_pressure > 0.0
    imu = received['/imu'][-1]
    assert imu.header.frame_id == received['/odom'][-1].child_frame_id
    assert 5.0 < imu.linear_acceleration.z < 15.0
    assert 0.0 <= received['/governor/scale'][-1].data <= 1.0


def test_a_best_effort_subscription_receives_joint_states(system: System) -> None:
    """As robot_state_publisher does, and every display with the sensor data profile."""
    received: list[Any] = []
    qos = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
    subscription = system.node.create_subscription(
        message('sensor_msgs/msg/JointState'), 'joint_states', received.append, qos
    )
    system.until(lambda: len(received) > 5, 'no joint_states for a listener of best effort')
    system.node.destroy_subscription(subscription)


# -- parameters, services, time --------------------------------------------------------------------------------------


@pytest.mark.parametrize('node', NODES)
def test_every_parameter_is_described(system: System, node: str) -> None:
    kinds = {name: service(f'rcl_interfaces/srv/{name}') for name in ('ListParameters', 'DescribeParameters')}
    listed = system.call(kinds['ListParameters'], f'{node}/list_parameters', kinds['ListParameters'].Request())
    ours = [name for name in listed.result.names if not name.startswith(('use_sim_time', 'qos_', 'start_type'))]
    assert len(ours) > 4
    request = kinds['DescribeParameters'].Request(names=ours)
    described = system.call(kinds['DescribeParameters'], f'{node}/describe_parameters', request)
    assert len(described.descriptors) == len(ours)
    assert [item.name for item in described.descriptors if not item.description] == []
    if node == 'dynamics_node':
        bounds = {item.name: item.floating_point_range for item in described.descriptors}
        assert bounds['speed'][0].from_value == 0.01
        assert {item.name for item in described.descriptors if not item.read_only} >= {'speed', 'slope_pitch'}


def test_a_parameter_is_set_within_its_range_only(system: System) -> None:
    kind = service('rcl_interfaces/srv/SetParameters')

    def put(name: str, value: Any) -> Any:
        parameters = [Parameter(name, value=value).to_parameter_msg()]
        request = kind.Request(parameters=parameters)
        return system.call(kind, 'dynamics_node/set_parameters', request).results[0]

    assert put('slope_pitch', 0.01).successful
    assert put('slope_pitch', 0.0).successful
    for name, value in (('speed', 1e6), ('machine', 'other'), ('speed', 'fast')):
        result = put(name, value)
        assert not result.successful
        assert result.reason
    getter = service('rcl_interfaces/srv/GetParameters')
    got = system.call(getter, 'dynamics_node/get_parameters', getter.Request(names=['speed', 'machine']))
    assert [parameter_value_to_python(value) for value in got.values] == [1.0, 'log_loader']


def test_simulated_time_is_that_of_the_joint_states(system: System) -> None:
    clock = system.node.get_clock()
    system.until(lambda: 0 < clock.now().nanoseconds < 10**15, 'the clock of a node with use_sim_time does not follow')
    before = len(system.states), clock.now().nanoseconds
    system.until(lambda: clock.now().nanoseconds > before[1] + 10**8, 'the clock stands still')
    stamp = system.states[-1].header.stamp
    assert abs(clock.now().nanoseconds - stamp.sec * 10**9 - stamp.nanosec) < 2 * 10**9


def test_the_nodes_take_their_time_from_the_clock(system: System) -> None:
    getter = service('rcl_interfaces/srv/GetParameters')
    for node in set(NODES) - {'dynamics_node'}:  # which is the clock
        got = system.call(getter, f'{node}/get_parameters', getter.Request(names=['use_sim_time']))
        assert parameter_value_to_python(got.values[0]) is True, node
    others = set(NODES) - {'dynamics_node'}
    system.until(lambda: others <= system.listeners('/clock'), f'not all of {others} listen to /clock')

    def clocks() -> set[str]:
        return {info.node_name for info in system.node.get_publishers_info_by_topic('/clock')}

    system.until(lambda: clocks() == {'dynamics_node'}, 'expected dynamics_node as the only publisher of /clock')


def test_pause_step_and_reset(system: System) -> None:
    switch, trigger = service('std_srvs/srv/SetBool'), service('std_srvs/srv/Trigger')

    def stamp() -> int:
        return system.states[-1].header.stamp.sec * 10**9 + system.states[-1].header.stamp.nanosec

    assert system.call(switch, 'dynamics_node/pause', switch.Request(data=True)).success

    def is_paused() -> bool:
        before = stamp()
        for _ in range(20):
            system.executor.spin_once(timeout_sec=0.05)
        return stamp() == before

    system.until(is_paused, 'a pause did not stop time')
    still = stamp()
    assert system.call(trigger, 'dynamics_node/step', trigger.Request(), once=True).success
    system.until(lambda: stamp() > still, 'a step did not advance time')
    assert stamp() - still == 2_000_000
    assert system.call(trigger, 'dynamics_node/reset', trigger.Request()).success
    assert system.call(switch, 'dynamics_node/pause', switch.Request(data=False)).success
    system.until(lambda: 0 < stamp() < still, 'a reset did not restart time')


# -- the commands of ROS ---------------------------------------------------------------------------------------------


def ros2(*words: str, timeout: float = 60.0) -> str:
    run = subprocess.run(['ros2', *words], capture_output=True, text=True, timeout=timeout, check=False)
    assert run.returncode == 0, f'ros2 {" ".join(words)}\n{run.stdout}\n{run.stderr}'
    return run.stdout


def only_on_ros(system: System) -> None:
    if shutil.which('ros2') is None:
        pytest.skip('needs the ros2 command')


def test_the_command_line_of_ros_sees_it(system: System) -> None:
    only_on_ros(system)
    options = ('--no-daemon', '--spin-time', '5')  # a daemon would stay behind
    assert '/joint_states [sensor_msgs/msg/JointState]' in ros2('topic', 'list', '-t', *options)
    assert 'Reliability: RELIABLE' in ros2('topic', 'info', '-v', '/joint_states', *options)
    assert 'boom_joint' in ros2('topic', 'echo', '--once', '/joint_states', 'sensor_msgs/msg/JointState')
    assert '/dynamics_node' in ros2('node', 'list', *options)
    assert 'rad' in ros2('param', 'describe', '/dynamics_node', 'slope_pitch', *options)
    assert 'success=True' in ros2('service', 'call', '/dynamics_node/pause', 'std_srvs/srv/SetBool', '{data: false}')


def test_a_bag_of_ros_is_recorded_and_read_back(system: System, tmp_path: Path) -> None:
    only_on_ros(system)
    bag = tmp_path / 'bag'
    topics = ['/joint_states', '/clock', '/stability/force_angle', '/robot_description']
    option = ['--topics'] if '--topics' in ros2('bag', 'record', '--help') else []  # since Kilted
    recorder = subprocess.Popen(
        ['ros2', 'bag', 'record', '-o', str(bag), *option, *topics], stdin=subprocess.DEVNULL, start_new_session=True
    )
    try:
        deadline = time.monotonic() + scaled_timeout(60.0)
        while time.monotonic() < deadline:
            system.executor.spin_once(timeout_sec=0.05)
            listeners = system.node.get_subscriptions_info_by_topic('/stability/force_angle')
            if any('rosbag' in info.node_name for info in listeners):
                break
        end = time.monotonic() + 4.0
        while time.monotonic() < end:
            system.executor.spin_once(timeout_sec=0.05)
    finally:
        os.killpg(recorder.pid, signal.SIGINT)
        try:
            recorder.wait(scaled_timeout(30.0))
        except subprocess.TimeoutExpired:
            os.killpg(recorder.pid, signal.SIGKILL)
            recorder.wait(10.0)
    assert 'Topic: /joint_states' in ros2('bag', 'info', str(bag))
    counts = read_bag(bag)
    assert counts['/joint_states'] > 200
    assert counts['/stability/force_angle'] > 20
    assert counts['/robot_description'] == 1


def read_bag(bag: Path) -> dict[str, int]:
    """Return the number of messages of each topic that ROS's reader finds, all deserialized."""
    rosbag2_py = pytest.importorskip('rosbag2_py')
    from rclpy.serialization import deserialize_message
    from rosidl_runtime_py.utilities import get_message

    reader = rosbag2_py.SequentialReader()
    storage = 'mcap' if any(bag.glob('*.mcap')) else 'sqlite3'
    reader.open(
        rosbag2_py.StorageOptions(uri=str(bag), storage_id=storage),
        rosbag2_py.ConverterOptions(input_serialization_format='cdr', output_serialization_format='cdr'),
    )
    types = {topic.name: get_message(topic.type) for topic in reader.get_all_topics_and_types()}
    counts = dict.fromkeys(types, 0)
    while reader.has_next():
        topic, data, _ = reader.read_next()
        deserialize_message(data, types[topic])
        counts[topic] += 1
    return counts


# -- the end: keep this test the last that uses the system -----------------------------------------------------------


def test_ctrl_c_ends_everything_and_the_bag_is_whole(system: System) -> None:
    system.stop()
    text = system.text()
    assert 'Traceback' not in text, text[-4000:]
    for node in NODES:
        assert 'process has finished cleanly' in text, text[-4000:]
        assert f'[ERROR] [{node}' not in text, text[-4000:]
    assert (system.bag / 'metadata.yaml').is_file()
    if importlib.util.find_spec('rosbag2_py') is None:
        counts = {topic.name: topic.count for topic in bag_summary(system.bag).topics}
    else:
        counts = read_bag(system.bag)
    assert counts['/joint_states'] > 100
    assert set(TOPICS) - {'/events', '/tf_static'} <= {topic for topic, count in counts.items() if count}


# -- a run with an end -----------------------------------------------------------------------------------------------


@pytest.mark.ros2
def test_ros2_launch_ends_with_the_run(domain: int, tmp_path: Path) -> None:
    """`on_exit="shutdown"`: available in Humble since launch 1.0.10."""
    if shutil.which('ros2') is None or not installed('dyn_nodes'):
        pytest.skip('no ros2 command, or the workspace is not built and sourced')
    words = ['duration:=0.5', 'monolithic:=true', 'drive:=true', 'record:=true', f'bag:={tmp_path / "bag"}']
    process = subprocess.Popen(
        ['ros2', 'launch', 'dyn_nodes', 'log_loader.launch.xml', *words],
        env={**os.environ, 'ROS_LOG_DIR': str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        pytest.fail(output[-4000:])
    assert process.returncode == 0, output[-4000:]
    assert 'the run of 0.5 s is over' in output
    assert read_bag(tmp_path / 'bag')['/joint_states'] > 20


# -- launch_testing --------------------------------------------------------------------------------------------------

FILES = {
    'log_loader': ('mode:=realtime exchange_period:=0.002', 'dynamics_node hydraulic_actuator_node controller_node'),
    'log_loader monolithic': ('monolithic:=true record:=true', 'dynamics_node controller_node recorder_node'),
    'log_loader watched': ('monitor:=true governor:=true', 'stability_monitor_node tip_over_governor_node'),
    'log_loader_can': ('interface:=virtual', 'dynamics_node can_bridge_node'),
    'log_loader_planar': ('mode:=lockstep', 'dynamics_node hydraulic_actuator_node controller_node'),
    'log_loader_ros2_control': ('controllers:=false', 'dynamics_node'),
    'machine': ('', 'dynamics_node controller_node'),
    'vehicle': ('', 'dynamics_node vehicle_controller_node'),
    'team': ('', 'object_node dynamics_node team_controller_node'),
    'team_plank': ('', 'object_node dynamics_node'),
}
TEAM_STATES = {
    **dict.fromkeys(('team', 'team_bar', 'team_triangle', 'team_plank'), '/left/joint_states'),
    'team_plate': '/rear_left/joint_states',
}
STATES_OF = {
    'log_loader_can': '/machine/joint_states',
    **dict.fromkeys(
        (f'{name}_ros2_control' for name in ('log_loader', 'agv_mecanum_arm', 'excavator')), '/robot_joint_states'
    ),
    **TEAM_STATES,
}
ROOTS = {
    path.name.partition('.')[0]: ElementTree.parse(path).getroot() for path in (ROOT / 'launch').glob('*.launch.xml')
}


def included_cases() -> dict[str, tuple[str, str]]:
    """Return a case for every file that does nothing but include another: the nodes of that one."""
    made = {}
    for name, root in ROOTS.items():
        include = root.find('include')
        if include is None or name in FILES:
            continue
        words, nodes = FILES[Path(include.attrib['file']).name.partition('.')[0]]
        arguments = {item.attrib['name']: item.attrib.get('default') for item in root.findall('arg')}
        is_left_out = arguments.get('controller') == 'false'
        made[name] = (
            words if 'ros2_control' in name else '',
            ' '.join(node for node in nodes.split() if not (is_left_out and 'controller' in node)),
        )
    return made


FILES |= included_cases()


def test_every_launch_file_has_its_case() -> None:
    assert {case.partition(' ')[0] for case in FILES} == set(ROOTS)
    assert FILES['four_bar'] == ('', 'dynamics_node')
    assert all(nodes for _, nodes in FILES.values())


@pytest.mark.ros2
@pytest.mark.parametrize('case', list(FILES))
def test_a_launch_file_under_launch_testing(case: str, domain: int, tmp_path: Path) -> None:
    if importlib.util.find_spec('launch_testing') is None:
        pytest.skip('launch_testing is not installed')
    arguments, nodes = FILES[case]
    if 'record' in arguments:
        arguments += f' bag:={tmp_path / "bag"}'
    environment = {
        **os.environ,
        'DYN_NODES_LAUNCH_FILE': str(ROOT / 'launch' / f'{case.partition(" ")[0]}.launch.xml'),
        'DYN_NODES_LAUNCH_ARGUMENTS': arguments,
        'DYN_NODES_EXPECTED_NODES': nodes,
        'DYN_NODES_JOINT_STATES': STATES_OF.get(case, '/joint_states'),
        'ROS_LOG_DIR': str(tmp_path),
    }
    words = [
        sys.executable,
        '-m',
        'launch_testing.launch_test',
        str(Path(__file__).with_name('launch_testing_of_a_file.py')),
    ]
    process = subprocess.Popen(
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        output, _ = process.communicate(timeout=PATIENCE + 60.0)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        pytest.fail(output[-4000:])
    assert process.returncode == 0, output[-6000:]
