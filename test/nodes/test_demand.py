"""Reports without a subscription are not made, except the first, which loads the machine code."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import pytest
from node_testing import Outbox

from dyn_nodes.nodes.demand import Demand
from dyn_nodes.nodes.dynamics_node import DynamicsNode
from dyn_nodes.nodes.transforms import TFMessage

MADE = ('imu', 'odom', 'tf', 'markers', 'ground_reactions/front_left', 'stability/force_angle',
        'stability/force_angle/edges', 'stability/support_polygon', 'stability/zmp')  # fmt: skip


def test_the_first_report_is_made_and_then_those_that_a_subscription_gets() -> None:
    counts = [0, 0]
    demand = Demand(lambda: [SimpleNamespace(get_subscription_count=partial(int, count)) for count in counts])
    assert [demand.exists() for _ in range(3)] == [True, False, False]
    counts[1] = 1
    assert demand.exists()
    counts[1] = 0
    assert not demand.exists()


def test_a_report_that_cannot_be_published_has_no_demand() -> None:
    demand = Demand(lambda: (None,))
    assert [demand.exists() for _ in range(2)] == [True, False]


@pytest.fixture
def node(make_node, monkeypatch):
    node, made = make_node(DynamicsNode), []
    node.made = made
    for publisher in node.publishers:
        name = publisher.topic_name.lstrip('/')
        if name in MADE:

            def counted(msg, _publish=publisher.publish, _name=name):
                made.append(_name)
                _publish(msg)

            monkeypatch.setattr(publisher, 'publish', counted)
    return node


def test_a_machine_that_nobody_watches_makes_no_reports_after_the_first(node) -> None:
    node.announce()
    assert set(node.made) == set(MADE) - ({'tf'} if TFMessage is None else set())
    node.made.clear()
    node.announce()
    assert node.made == []


def test_a_subscription_gets_the_reports_from_then_on(node, tester) -> None:
    node.announce()
    odometry = tester.listen('nav_msgs/msg/Odometry', 'odom')
    wrenches = tester.listen('geometry_msgs/msg/WrenchStamped', 'ground_reactions/front_left')
    names = node.reporter.odom, node.reporter.balance.reactions['front_left']
    tester.until(lambda: all(publisher.get_subscription_count() for publisher in names))
    node.made.clear()
    node.announce()
    tester.until(lambda: odometry and wrenches)
    assert set(node.made) == {'odom', 'ground_reactions/front_left'}


def test_margins_are_published_together_once_a_subscription_gets_one(node) -> None:
    node.announce()
    margins = node.reporter.balance.margins
    boxes = [Outbox.behind(margins['force_angle'])]
    node.announce()
    assert len(boxes[0].messages) == 1
    boxes += [Outbox.behind(publisher) for name, publisher in margins.items() if name != 'force_angle']
    node.announce()
    assert [len(box.messages) for box in boxes] == [2] + [1] * (len(margins) - 1)


def test_margins_without_a_subscription_are_not_computed(node, monkeypatch) -> None:
    node.announce()
    node.plant.advance()
    monkeypatch.setattr(type(node.plant.observer), 'observe', lambda *_: pytest.fail('margins without a subscription'))
    node.reporter.publish(False)
