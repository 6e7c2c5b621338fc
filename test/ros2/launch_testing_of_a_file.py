# ruff: noqa: PT009  # launch_testing runs unittest
"""A launch file under launch_testing; test_workspace_of_ros2.py starts it as `launch_test launch_testing_of_a_file.py`.

DYN_NODES_LAUNCH_FILE is the path of the file, DYN_NODES_LAUNCH_ARGUMENTS its arguments (`name:=value`, by spaces),
DYN_NODES_EXPECTED_NODES the names that must appear in the graph.
"""

from __future__ import annotations

import os
import time
import unittest
from typing import Any

import launch_testing
import launch_testing.actions
import launch_testing.asserts
from launch.actions import IncludeLaunchDescription, SetLaunchConfiguration
from launch.launch_description_sources import AnyLaunchDescriptionSource

import launch
from dyn_nodes.middleware import Context, Node, QoSProfile, SingleThreadedExecutor, init, message

PATIENCE = 240.0
"""The first start of a machine compiles its dynamics, s."""


def generate_test_description() -> launch.LaunchDescription:
    words = os.environ.get('DYN_NODES_LAUNCH_ARGUMENTS', '').split()
    arguments = [tuple(word.split(':=', 1)) for word in words]
    source = AnyLaunchDescriptionSource(os.environ['DYN_NODES_LAUNCH_FILE'])
    include = IncludeLaunchDescription(source, launch_arguments=arguments)
    sigterm_timeout = SetLaunchConfiguration('sigterm_timeout', '30')  # a busy machine may need more than launch's 5 s
    return launch.LaunchDescription([sigterm_timeout, include, launch_testing.actions.ReadyToTest()])


class TestWhileItRuns(unittest.TestCase):
    """The nodes are there and the machine moves on."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.context = Context()
        init(args=[], context=cls.context)
        cls.node = Node('launch_test_listener', context=cls.context)
        cls.executor = SingleThreadedExecutor(context=cls.context)
        cls.executor.add_node(cls.node)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.executor.shutdown()
        cls.node.destroy_node()
        cls.context.try_shutdown()

    def until(self, condition: Any, text: str) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, text)
            self.executor.spin_once(timeout_sec=0.1)

    def test_time_continues_and_every_node_is_there(self) -> None:
        stamps: list[float] = []
        kind = message('sensor_msgs/msg/JointState')

        def on_message(msg: Any) -> None:
            stamps.append(msg.header.stamp.sec + 1e-9 * msg.header.stamp.nanosec)

        topic = os.environ.get('DYN_NODES_JOINT_STATES', 'joint_states')
        subscription = self.node.create_subscription(kind, topic, on_message, QoSProfile(depth=10))
        self.until(lambda: len(stamps) > 20 and stamps[-1] > stamps[0], 'no advancing joint_states')
        expected = set(os.environ['DYN_NODES_EXPECTED_NODES'].split())
        self.until(lambda: expected <= set(self.node.get_node_names()), f'expected the nodes {expected}')
        self.node.destroy_subscription(subscription)


@launch_testing.post_shutdown_test()
class TestAfterTheEnd(unittest.TestCase):
    """SIGINT ends every node, quietly."""

    def test_exit_status(self, proc_info: Any) -> None:
        launch_testing.asserts.assertExitCodes(proc_info)

    def test_no_traceback(self, proc_info: Any, proc_output: Any) -> None:
        for name in proc_info.process_names():
            lines = ''.join(text.text.decode(errors='replace') for text in proc_output[name])
            self.assertNotIn('Traceback', lines, name)
