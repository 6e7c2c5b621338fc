"""Launch files of teams: their nodes with parameters, recorded runs, and a killed robot."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from harness import end

from dyn_nodes.commands.rviz_layout import team_layout
from dyn_nodes.middleware import deserialize_message, message
from dyn_nodes.middleware.bag_reader import BagReader
from dyn_nodes.middleware.bags import bag_summary
from dyn_nodes.middleware.launching import interpret
from dyn_nodes.teams import load_team
from dyn_nodes.teams.carry_limits import Reserve
from dyn_nodes.teams.carry_plan import Course, carriage_of
from dyn_nodes.teams.holding import holders_of

ROOT = Path(__file__).resolve().parents[2]
ROBOTS = ('left', 'right')
FRICTION = 0.7
LOAD = 180.0
"""Time of a start, s: the first one compiles a robot."""


TEAMS = {
    'team_bar': ('left', 'right'),
    'team_triangle': ('front', 'left', 'right'),
    'team_plate': ('rear_right', 'front_right', 'front_left', 'rear_left'),
    'team_plank': ('left', 'right'),
}


def started(name='team_bar', **arguments):
    """Return the parameters of every node of a launch file, by its namespace and name."""
    parameters = {}
    for child in interpret(ROOT / 'launch' / f'{name}.launch.xml', arguments).children:
        words = list(child.command)
        pairs = [words[k + 1].split(':=', 1) for k, word in enumerate(words) if word == '-p']
        space = next((word.removeprefix('__ns:=') for word in words if word.startswith('__ns:=')), '')
        parameters[f'{space}/{child.name}'] = {name: value.strip("'") for name, value in pairs}
    return parameters


def test_every_robot_has_its_namespace_and_the_object_is_the_clock():
    nodes = started(carry='false')
    assert set(nodes) == {'/object_node', '/left/dynamics_node', '/right/dynamics_node'}
    assert len({parameters['exchange_period'] for parameters in nodes.values()}) == 1
    assert {parameters['team'] for parameters in nodes.values()} == {'team_bar'}
    for robot in ROBOTS:
        parameters = nodes[f'/{robot}/dynamics_node']
        assert (parameters['robot'], parameters['publish_clock'], parameters['partner']) == (robot, 'false', 'external')


def test_time_of_the_robots_waits_for_controller_and_recorder():
    nodes = started()
    assert nodes['/team_controller_node']['team'] == 'team_bar'
    assert nodes['/team_controller_node']['path.kind'] == 'figure_of_eight'
    assert all(nodes[f'/{robot}/dynamics_node']['partner'] == 'lockstep' for robot in ROBOTS)
    assert all(nodes[f'/{robot}/dynamics_node']['wait_for'] == '[team_controller_node]' for robot in ROBOTS)
    recorded = started(record='true')
    assert '/recorder_node' in recorded
    awaited = '[team_controller_node, recorder_node]'
    assert all(recorded[f'/{robot}/dynamics_node']['wait_for'] == awaited for robot in ROBOTS)


@pytest.mark.parametrize('name', TEAMS)
def test_every_launch_file_of_a_team_starts_the_robots_of_its_team(name):
    nodes = started(name)
    team = load_team(nodes['/object_node']['team'])
    assert tuple(team.robots) == TEAMS[name]
    assert {robot for robot in nodes if robot.endswith('/dynamics_node')} == {
        f'/{robot}/dynamics_node' for robot in team.robots
    }
    assert all(nodes[f'/{robot}/dynamics_node']['robot'] == robot for robot in team.robots)
    assert ('/team_controller_node' in nodes) == (name != 'team_plank')
    watched = started(name, viewer='true', port='9000')
    ports = [watched[f'/{robot}/viewer_node']['port'] for robot in TEAMS[name]]
    assert ports == [str(9000 + k) for k in range(len(ports))]


@pytest.mark.parametrize('name', [name for name in TEAMS if name != 'team_plank'])
def test_the_path_of_a_launch_file_can_be_carried_by_its_team(name):
    """The controller plans it at its start; a failure would end the launch."""
    parameters = started(name)['/team_controller_node']
    team = load_team(parameters['team'])
    (item,) = team.objects
    carriage = carriage_of(team, item, holders_of(team, item, FRICTION), float(parameters['squeeze']), Reserve(), 1.0)
    plan = carriage.along(Course(parameters['path.kind'], bearing=float(parameters['path.bearing'])))
    assert 15.0 < plan.profile.duration < 90.0


@pytest.mark.parametrize('name', TEAMS)
def test_rviz_shows_all_robots_by_their_prefix_and_the_object(name):
    layout = team_layout(load_team(name))
    displays = layout['Visualization Manager']['Displays']
    models = {
        display['TF Prefix']: display['Description Topic']['Value'] for display in displays if 'TF Prefix' in display
    }
    assert models == {robot: f'{robot}/robot_description' for robot in TEAMS[name]}
    topics = [display.get('Topic', {}).get('Value') for display in displays]
    assert 'object_markers' in topics
    assert {f'{robot}/markers' for robot in TEAMS[name]} <= set(topics)


@pytest.fixture
def launch(domain, tmp_path):
    """Start the launch file with arguments; it ends with the test at the latest."""
    running = []

    def start(*arguments, name='team_bar'):
        command = [sys.executable, '-m', 'dyn_nodes.cli', 'launch', name, *arguments]
        log = (tmp_path / 'launch.log').open('w')
        environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain)}
        running.append(subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT))
        return running[-1]

    yield start
    end(*running)


@pytest.mark.slow
def test_a_recorded_run_has_every_topic_of_both_robots_and_one_clock(launch, tmp_path):
    """Fast counterpart: the parameters above, and test/nodes/test_object_node.py."""
    bag = tmp_path / 'bag'
    assert launch('mode:=lockstep', 'duration:=0.5', 'record:=true', f'bag:={bag}').wait(LOAD + 60.0) == 0
    counts = {topic.name: topic.count for topic in bag_summary(bag).topics}
    assert counts['/clock'] >= 50
    assert counts['/object_state/bar'] >= 25
    for robot in ROBOTS:
        assert counts[f'/{robot}/joint_states'] == counts[f'/{robot}/grasp_wrenches/hand'] == 101
        assert counts[f'/{robot}/joint_command'] == 101
        assert counts[f'/{robot}/robot_description'] == 1
        assert counts[f'/{robot}/stability/admissible'] == counts[f'/{robot}/friction_use/left'] >= 25
    assert counts['/object_reference/bar'] == counts['/carry_deviation'] == 26
    assert one_clock(counts)


def one_clock(topics):
    return [topic for topic in topics if topic.endswith('/clock')] == ['/clock']


class Ride:
    """A recorded run of the team: deviations of the hands, and friction and loads of the wheels."""

    def __init__(self, bag, item):
        self.read, self.item = {}, item
        wanted = ('/carry_state', '/carry_deviation', f'/object_state/{item}')
        with BagReader(bag) as reader:
            for connection, _, content in reader.messages():
                if connection.topic in wanted or '/ground_reactions/' in connection.topic:
                    msg = deserialize_message(content, message(connection.msgtype))
                    self.read.setdefault(connection.topic, []).append(msg)
        self.states = [msg.data for msg in self.read.get('/carry_state', ())]
        self.deviations = np.array([msg.data for msg in self.read.get('/carry_deviation', ())])

    def position_at(self, which):
        """Return the middle of the object at report `which`, m."""
        at = self.read[f'/object_state/{self.item}'][which].pose.pose.position
        return np.array([at.x, at.y])

    def wheels(self):
        """Return the greatest used share of friction of a wheel, and the least normal force, N."""
        use, least = 0.0, np.inf
        for topic, messages in self.read.items():
            if '/ground_reactions/' in topic:
                forces = np.array([(msg.wrench.force.x, msg.wrench.force.y, msg.wrench.force.z) for msg in messages])
                use = max(use, float(np.max(np.hypot(forces[:, 0], forces[:, 1]) / (FRICTION * forces[:, 2]))))
                least = min(least, float(forces[:, 2].min()))
        return use, least


def ride(launch, tmp_path, mode, duration, timeout, name='team_bar'):
    bag = tmp_path / 'bag'
    arguments = (f'mode:={mode}', f'duration:={duration}', 'record:=true', f'bag:={bag}')
    assert launch(*arguments, name=name).wait(LOAD + timeout) == 0, (tmp_path / 'launch.log').read_text()
    log = (tmp_path / 'launch.log').read_text()
    assert 'Traceback' not in log
    assert '[ERROR]' not in log
    assert ' 0 lost' in log
    return Ride(bag, next(iter(load_team(name).objects)))


@pytest.mark.slow
@pytest.mark.parametrize('mode', ['lockstep', 'realtime'])
def test_the_first_seconds_of_a_figure_of_eight_are_carried_without_slip(launch, tmp_path, mode):
    """Fast counterpart: test_team_controller_logic.py, with equations instead of robots."""
    result = ride(launch, tmp_path, mode, 5.0, 180.0)
    assert result.states == ['holding', 'carrying']
    assert result.deviations.max() < 2e-3
    use, least = result.wheels()
    assert 0.1 < use < 0.6
    assert least > 60.0
    moved = result.position_at(-1) - result.position_at(0)
    assert np.hypot(*moved) > 0.5, 'four seconds of the path'


@pytest.mark.slow
@pytest.mark.parametrize('name', ['team_triangle', 'team_plate', 'team_plank'])
def test_other_teams_start_and_hold_or_carry_their_object(launch, tmp_path, name):
    """Fast counterpart: their nodes and their paths, above."""
    result = ride(launch, tmp_path, 'lockstep', 2.0, 240.0, name)
    counts = {topic.name: topic.count for topic in bag_summary(tmp_path / 'bag').topics}
    assert one_clock(counts)
    for robot in TEAMS[name]:
        (grasp,) = [topic for topic in counts if topic.startswith(f'/{robot}/grasp_wrenches/')]
        assert counts[f'/{robot}/joint_states'] == counts[grasp] == 401
        assert counts[f'/{robot}/robot_description'] == 1
        assert counts[f'/{robot}/stability/admissible'] >= 100
        assert len([topic for topic in counts if topic.startswith(f'/{robot}/friction_use/')]) >= 2
    _, least = result.wheels()
    assert least > 60.0
    moved = float(np.hypot(*(result.position_at(-1) - result.position_at(0))))
    if name == 'team_plank':
        assert moved < 2e-3
        return
    assert result.states == ['holding', 'carrying']
    assert result.deviations.max() < 3e-3
    assert result.wheels()[0] < 0.6
    assert moved > 0.1


@pytest.mark.slow
def test_a_whole_figure_of_eight_is_carried_without_slip(launch, tmp_path):
    """Fast counterpart: its plan in test_carry_plan.py."""
    result = ride(launch, tmp_path, 'lockstep', 38.5, 900.0)
    assert result.states == ['holding', 'carrying', 'holding']
    assert result.deviations.max() < 2e-3
    use, least = result.wheels()
    assert 0.1 < use < 0.6
    assert least > 60.0
    assert result.position_at(-1) == pytest.approx(result.position_at(0), abs=2e-3)
    far = max(np.hypot(*(result.position_at(k) - result.position_at(0))) for k in range(0, 1900, 20))
    assert far > 3.4, 'it has been at the ends of both loops'


def kill(tmp_path, robot):
    """Kill the dynamics of a robot, by the order of the launch file."""
    pids = re.findall(r'dynamics_node-\d+\]: process started with pid \[(\d+)\]', (tmp_path / 'launch.log').read_text())
    os.kill(int(pids[ROBOTS.index(robot)]), signal.SIGKILL)


def hand_speed(probe):
    """Return the velocity of the hand of the right robot, m/s."""
    twist = probe.last['/right/grasp_states/hand'].twist.twist.linear
    return float(np.linalg.norm([twist.x, twist.y, twist.z]))


@pytest.mark.slow
@pytest.mark.parametrize('carried', [False, True], ids=['held', 'carried'])
def test_the_others_hold_when_a_robot_is_killed_and_the_object_is_not_thrown(launch, probe, tmp_path, carried):
    """Fast counterparts: test_object_node.py and test_team_controller_logic.py, which replace the robots."""
    for robot in ROBOTS:
        probe.listen('sensor_msgs/msg/JointState', f'/{robot}/joint_states')
    probe.listen('nav_msgs/msg/Odometry', '/right/grasp_states/hand')
    launch('mode:=realtime', f'carry:={str(carried).lower()}', 'path:=line')
    probe.until(lambda: probe.count['/right/joint_states'] > 20, 'the team to run', LOAD)
    if carried:
        probe.until(lambda: hand_speed(probe) > 0.3, 'the team to move', 60.0)
    kill(tmp_path, 'left')
    probe.until(lambda: 'stopped: no motion of left' in probe.health['object_node: object'][1], 'the stop', 60)
    if carried:
        probe.until(lambda: probe.health['team_controller_node: robots'][1].startswith('ended'), 'its end', 60)
    before, speed, count = hand_of(probe), hand_speed(probe), probe.count['/right/joint_states']
    arm = np.array(probe.last['/right/joint_states'].position[2:])
    probe.until(lambda: probe.count['/right/joint_states'] > count + 20, 'time of the other robot to continue', 60.0)
    assert 'holding the joints' in probe.health['right/dynamics_node: commands'][1]
    end, path = time.monotonic() + 3.0, 0.0
    while time.monotonic() < end:
        assert hand_speed(probe) < speed + 0.1, 'nothing flings the hand'
        path = max(path, float(np.linalg.norm(hand_of(probe) - before)))
        time.sleep(0.05)
    assert path < (0.7 if carried else 0.02)
    moved = np.abs(np.array(probe.last['/right/joint_states'].position[2:]) - arm).max()
    assert moved < (1.0 if carried else 0.02), 'a moving arm comes to rest along its way'
    assert np.abs(probe.last['/right/joint_states'].velocity).max() < 0.2


def hand_of(probe):
    position = probe.last['/right/grasp_states/hand'].pose.pose.position
    return np.array([position.x, position.y, position.z])
