"""Keys that drive a vehicle."""

from __future__ import annotations

from typing import Any

import pytest
from node_testing import Outbox

from dyn_nodes.control.hand_levers import FAREWELL, FIRST_PRESS
from dyn_nodes.middleware import Context
from dyn_nodes.nodes.keyboard_teleop import KeyboardTwist


@pytest.fixture
def node(context: Context) -> Any:
    made = KeyboardTwist(linear=0.8, angular=1.0, context=context)
    made.cmd_vel = Outbox()
    return made


def last_twist(node: Any) -> tuple[float, float, float]:
    twist = node.cmd_vel.last.twist
    return twist.linear.x, twist.linear.y, twist.angular.z


@pytest.mark.parametrize(
    ('key', 'expected'),
    [
        ('w', (0.4, 0.0, 0.0)),
        ('s', (-0.4, 0.0, 0.0)),
        ('a', (0.0, 0.0, 0.5)),
        ('d', (0.0, 0.0, -0.5)),
        ('j', (0.0, 0.4, 0.0)),
        ('l', (0.0, -0.4, 0.0)),
        ('wa', (0.4, 0.0, 0.5)),
        ('0w', (0.8, 0.0, 0.0)),
        ('w ', (0.0, 0.0, 0.0)),
    ],
)
def test_keys_mean_directions(node: Any, key: str, expected: tuple[float, float, float]) -> None:
    assert node.turn(key, 10.0)
    assert last_twist(node) == (0.0, 0.0, 0.0), 'the first command is rest'
    assert node.turn('', 10.05)
    assert last_twist(node) == pytest.approx(expected)


def test_after_a_key_is_released_commands_of_rest_follow_and_then_none(node: Any) -> None:
    node.turn('w', 10.0)
    node.turn('', 10.0 + FIRST_PRESS + 0.01)
    assert last_twist(node) == (0.0, 0.0, 0.0)
    sent = len(node.cmd_vel.messages)
    node.turn('', 10.0 + FIRST_PRESS + FAREWELL + 0.1)
    assert len(node.cmd_vel.messages) == sent


def test_quitting_leaves_the_vehicle_at_rest(node: Any) -> None:
    assert not node.turn('q', 10.0)
    node.neutral()
    assert last_twist(node) == (0.0, 0.0, 0.0)


def test_the_line_and_the_help_show_the_levers(node: Any) -> None:
    node.turn('w', 10.0)
    assert node.line(10.0) == 'ahead +0.40   turn +0.00   sideways +0.00   throw 50 %'
    assert 'w  ahead forwards    s  ahead backwards' in node.keyboard.help()


def test_plain_twists_are_sent_on_request(context: Context) -> None:
    node = KeyboardTwist(stamped=False, context=context)
    node.cmd_vel = Outbox()
    node.turn('w', 10.0)
    node.turn('', 10.05)
    assert node.cmd_vel.last.linear.x == 0.5
