"""team_bar.launch.xml: which nodes it runs with which parameters, a recorded run, and a robot that is killed."""

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
import yaml

from dyn_nodes.launching import interpret
from dyn_nodes.recording.info import bag_summary

ROOT = Path(__file__).resolve().parents[2]
LAUNCH = ROOT / 'launch' / 'team_bar.launch.xml'
ROBOTS = ('left', 'right')
LOAD = 180.0
"""The first start compiles a robot, s."""


def started(**given):
    """Parameters of every node that the launch file starts, by its namespace and name."""
    found = {}
    for child in interpret(LAUNCH, given).children:
        words = list(child.command)
        pairs = [words[k + 1].split(':=', 1) for k, word in enumerate(words) if word == '-p']
        space = next((word.removeprefix('__ns:=') for word in words if word.startswith('__ns:=')), '')
        found[f'{space}/{child.name}'] = {name: value.strip("'") for name, value in pairs}
    return found


def test_every_robot_has_its_namespace_and_the_object_is_the_clock():
    nodes = started()
    assert set(nodes) == {'/object_node', '/left/dynamics_node', '/right/dynamics_node'}
    assert len({own['exchange_period'] for own in nodes.values()}) == 1
    assert {own['team'] for own in nodes.values()} == {'team_bar'}
    for robot in ROBOTS:
        own = nodes[f'/{robot}/dynamics_node']
        assert (own['robot'], own['publish_clock']) == (robot, 'false')
    recorded = started(record='true')
    assert '/recorder_node' in recorded
    assert all(recorded[f'/{robot}/dynamics_node']['wait_for'] == '[recorder_node]' for robot in ROBOTS)


def test_rviz_shows_both_robots_by_their_prefix_and_the_object():
    layout = yaml.safe_load((ROOT / 'config' / 'team_bar.rviz').read_text())
    displays = layout['Visualization Manager']['Displays']
    models = {own['TF Prefix']: own['Description Topic']['Value'] for own in displays if 'TF Prefix' in own}
    assert models == {robot: f'{robot}/robot_description' for robot in ROBOTS}
    assert 'object_markers' in [own.get('Topic', {}).get('Value') for own in displays]


@pytest.fixture
def launch(domain, tmp_path):
    """Start the launch file with arguments; what is left of it ends with the test."""
    running = []

    def start(*arguments):
        command = [sys.executable, '-m', 'dyn_nodes.cli', 'launch', 'team_bar', *arguments]
        log = (tmp_path / 'launch.log').open('w')
        environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain)}
        running.append(subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT))
        return running[-1]

    yield start
    for process in running:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)


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
        assert counts[f'/{robot}/robot_description'] == 1
    assert not [topic for topic in counts if topic.endswith('/clock') and topic != '/clock']


@pytest.mark.slow
def test_the_others_hold_when_a_robot_is_killed_and_the_object_is_not_flung(launch, probe, tmp_path):
    """Fast counterpart: test_object_node.py, which plays the robots."""
    for robot in ROBOTS:
        probe.listen('sensor_msgs/msg/JointState', f'/{robot}/joint_states')
    probe.listen('nav_msgs/msg/Odometry', '/right/grasp_states/hand')
    launch('mode:=realtime')
    probe.until(lambda: probe.count['/right/joint_states'] > 20, 'the team to run', LOAD)
    before = hand_of(probe)
    left = re.search(r'dynamics_node-\d+\]: process started with pid \[(\d+)\]', (tmp_path / 'launch.log').read_text())
    os.kill(int(left[1]), signal.SIGKILL)
    probe.until(lambda: probe.health['object_node: object'][1].startswith('stopped: no motion of left'), 'the stop', 60)
    count = probe.count['/right/joint_states']
    probe.until(lambda: probe.count['/right/joint_states'] > count + 20, 'time of the other robot to go on', 60.0)
    assert 'holding the joints' in probe.health['right/dynamics_node: commands'][1]
    end = time.monotonic() + 2.0
    while time.monotonic() < end:
        assert np.abs(hand_of(probe) - before).max() < 0.02
        assert np.abs(probe.last['/right/joint_states'].velocity).max() < 0.2
        time.sleep(0.1)


def hand_of(probe):
    place = probe.last['/right/grasp_states/hand'].pose.pose.position
    return np.array([place.x, place.y, place.z])
