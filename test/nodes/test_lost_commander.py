"""A robot that holds an object of another node: its controller may stop while the object continues to answer."""

from __future__ import annotations

import math
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from node_testing import statuses

from dyn_nodes.middleware import message
from dyn_nodes.nodes import pacing
from dyn_nodes.nodes.dynamics_node import DynamicsNode
from dyn_nodes.nodes.stamps import stamp_of

JointState = message('sensor_msgs/msg/JointState')
WrenchStamped = message('geometry_msgs/msg/WrenchStamped')
TIMEOUT = 0.2
STEP = 0.005


class Robot:
    """A robot of a team whose object answers every instant, on a wall clock that the test moves."""

    def __init__(self, node: DynamicsNode, clock: SimpleNamespace) -> None:
        self.node, self.clock, pacer = node, clock, node.pacer
        self.pacer = pacer
        pacer.schedule.clock = pacer.factor.clock = lambda: clock.now
        pacer.start_clock()
        self._read = self.node.grasps._reader('hand')
        self.joint = list(self.node.plant.joints).index(self.node.plant.actuated[-1])

    @property
    def speed(self) -> float:
        return abs(float(self.node.plant.velocities[self.joint]))

    def go_on(self, seconds: float) -> None:
        for _ in range(round(seconds / STEP)):
            self.clock.now += STEP
            wrench = WrenchStamped()
            wrench.header.frame_id = self.node.values['world_frame']
            wrench.header.stamp = stamp_of(self.node.plant.time)
            self._read(wrench)
            self.pacer.advance_due()
            self.pacer.check_timeouts()

    def command(self, more: float = 0.02) -> None:
        """Efforts that hold the joints, and `more` on one of them, N m."""
        efforts = self.node.plant.holding_efforts().copy()
        efforts[self.joint] += more
        self.node.receive('joint_command', JointState(name=list(self.node.plant.joints), effort=efforts.tolist()))

    def status(self) -> Any:
        self.node.diagnostics.update(math.inf, 0.0)
        return statuses(self.node.diagnostics.publisher.last)['commands']


@pytest.fixture
def robot(make_node: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    def make(**parameters: Any) -> Robot:
        fixed = {'partner': 'external', 'exchange_period': STEP, 'command_timeout': TIMEOUT, 'measures': ['']}
        node = make_node(DynamicsNode, team='team_bar', robot='left', **fixed, **parameters)
        clock = SimpleNamespace(now=time.monotonic())  # a node waits for others by the real one
        monkeypatch.setattr(pacing.time, 'monotonic', lambda: clock.now)
        return Robot(node, clock)

    return make


@pytest.mark.parametrize('mode', ['realtime', 'lockstep'])
def test_a_robot_with_an_object_is_held_after_the_timeout_of_its_commands(robot: Any, mode: str) -> None:
    left = robot(mode=mode)
    left.go_on(0.3)
    left.command()
    left.go_on(TIMEOUT - 2 * STEP)
    moving = left.speed
    assert moving > 0.01
    assert left.status().level == 0
    left.go_on(0.1)
    assert (left.status().level, left.status().message) == (2, 'no command for 0.2 s: holding the joints')
    assert left.speed < moving
    left.go_on(1.0)
    assert left.speed < 0.05 * moving
    assert left.node.plant.time == pytest.approx(0.3 + TIMEOUT + 1.1, abs=4 * STEP)  # the object is still waited for
    assert not left.pacer.timed_out


def test_commands_that_come_again_move_a_robot_with_an_object(robot: Any) -> None:
    left = robot(mode='realtime')
    left.command()
    left.go_on(1.0)
    for _ in range(4):
        left.command(0.02)
        left.go_on(0.1)
    assert left.speed > 0.01
    assert left.status().level == 0


def test_a_rejected_command_is_no_sign_of_a_commander(robot: Any) -> None:
    left = robot(mode='realtime')
    left.command()
    for _ in range(6):
        left.go_on(0.05)
        left.command(math.inf)
    assert left.pacer.uncommanded
    assert np.isfinite(left.node.plant.positions).all()


def test_without_any_command_and_while_paused_no_commander_is_missed(robot: Any) -> None:
    left = robot(mode='realtime')
    left.go_on(0.5)
    assert not left.pacer.uncommanded
    left.command()
    left.pacer.pause(True)
    left.go_on(0.5)
    left.pacer.pause(False)
    left.go_on(0.1)
    assert not left.pacer.uncommanded
    left.node.put_back()
    left.go_on(0.5)
    assert not left.pacer.uncommanded
