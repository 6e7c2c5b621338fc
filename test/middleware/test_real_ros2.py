"""The same small node on the embedded runtime and on real rclpy if ROS 2 is installed and sourced."""

from __future__ import annotations

import importlib.util
import json

import pytest

EXPECTED = {'type': 'sensor_msgs/msg/JointState', 'position': [0.25], 'set': [True, False], 'answer': 'reset'}


def run(start, runtime):
    child = start('small.py', DYN_NODES_MIDDLEWARE=runtime)
    line = child.wait_for_line('result')
    code = child.wait(timeout=10.0)
    seen = json.loads(line.removeprefix('result'))
    assert code == 0
    assert seen['runtime'] == runtime
    assert {key: seen[key] for key in EXPECTED} == EXPECTED
    assert seen['time'] == 5_000_000_000
    assert min(seen['plain'], seen['raw'], seen['stamped']) >= 10
    assert abs(seen['plain'] - seen['stamped']) <= 2


def test_the_small_node_runs_on_the_embedded_runtime(start):
    run(start, 'embedded')


@pytest.mark.ros2
@pytest.mark.skipif(importlib.util.find_spec('rclpy') is None, reason='rclpy is not importable: no ROS 2 is sourced')
def test_the_small_node_runs_on_real_rclpy(start):
    run(start, 'rclpy')
