"""Messages that do not fit their type: dropped, counted on /diagnostics, and the node continues."""

from __future__ import annotations

import pytest
from node_testing import Tester, level_of, values_of

from dyn_nodes.middleware import RUNTIME, message, serialize_message

pytestmark = pytest.mark.skipif(RUNTIME != 'embedded', reason='rclpy decodes before a node sees a message')
GARBAGE = (b'\xff\xfe', b'\xc3\x28', b'\xed\xa0\x80\x80')
"""Texts with invalid UTF-8: DDS itself drops other messages that do not fit the type."""


@pytest.fixture
def tester(context) -> Tester:
    return Tester(context)


def statuses_of(box, node):
    """Return the statuses of a node by their subject, newest last."""
    result = {}
    for array in box:
        for status in array.status:
            name, _, subject = status.name.partition(': ')
            if name == node:
                result[subject] = status
    return result


def test_messages_that_can_not_be_decoded_are_counted_on_diagnostics(start_node, tester):
    diagnostics = tester.listen('diagnostic_msgs/msg/DiagnosticArray', '/diagnostics')
    joys = tester.speak('sensor_msgs/msg/Joy', 'joy')
    valves = tester.listen('std_msgs/msg/Float64MultiArray', 'valve_commands')
    process = start_node('teleop_node', machine='log_loader')
    tester.until(lambda: joys.get_subscription_count() and diagnostics, 60.0)
    assert 'messages' not in statuses_of(diagnostics, 'teleop_node')
    good = message('sensor_msgs/msg/Joy')(axes=[0.0] * 8, buttons=[1] * 12)
    for content in GARBAGE:
        good.header.frame_id = 'x' * len(content)
        joys.publish(bytes(serialize_message(good)).replace(b'x' * len(content), content))

    def status():
        return statuses_of(diagnostics, 'teleop_node').get('messages')

    tester.until(status, 30.0)
    tester.until(lambda: values_of(status()).get('undecodable /joy') == str(len(GARBAGE)), 30.0)
    assert level_of(status()) == 1
    assert status().message == f'{len(GARBAGE)} messages could not be used'
    before = len(valves)
    for down in (0, 1, 1, 1, 1):
        good.buttons = [down] * 12
        joys.publish(good)
        tester.for_seconds(0.1)
    tester.until(lambda: len(valves) > before, 30.0)
    assert process.poll() is None
    code, errors = process.stop(timeout=60.0)
    assert code == 0
    assert errors.count('cannot be decoded') == 1
    assert 'Traceback' not in errors
