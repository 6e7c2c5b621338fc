"""The payload of a monitor as the governor uses it: bounds, age, rejections."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from node_testing import joint_state

from dyn_nodes.middleware import Parameter
from dyn_nodes.nodes.arrays import labelled_array, stamp_volts, volts_message
from dyn_nodes.nodes.tip_over_governor_node import TipOverGovernorNode
from dyn_nodes.nodes.weighed_payload import WeighedPayload

RATED, ERROR, TIMEOUT, LIMIT = 5100.0, 0.2, 0.5, 9000.0
CLOSE = (0.0, 0.96, -1.83)


class Node:
    """Takes one subscription."""

    def create_subscription(self, kind, topic, callback, qos):
        assert topic == 'payload/interval'

    def get_logger(self):
        return self

    def warn(self, text, **options):
        self.logged = text


class Monitor:
    payload = RATED
    machine = SimpleNamespace(payload=SimpleNamespace(limit=LIMIT))


@pytest.fixture
def weighed():
    return WeighedPayload(Node(), Monitor(), ERROR, TIMEOUT)


def interval(time, *values):
    result = volts_message(('lower', 'upper', 'observed'))
    result.data = [float(value) for value in values]
    stamp_volts(result, round(1e9 * time))
    return result


def updated(weighed, now):
    weighed.update(now)
    return weighed.monitor.payload, weighed.bounds


RATED_HOLDS = RATED, (0.0, 6120.0)


def test_before_anything_is_weighed_the_rated_payload_holds_and_the_implement_may_be_empty(weighed):
    assert updated(weighed, 0.0) == RATED_HOLDS
    assert not weighed.observed
    assert weighed.health().level == 1


def test_an_interval_gives_the_payload_and_its_bounds(weighed):
    weighed.take(interval(3.0, 2900.0, 3100.0, 1))
    assert updated(weighed, 3.1) == (3000.0, (2900.0, 3100.0))
    assert weighed.observed
    assert weighed.health().text == '3000 kg'


def test_nothing_weighs_less_than_nothing(weighed):
    weighed.take(interval(3.0, -80.0, 60.0, 1))
    assert updated(weighed, 3.0) == (30.0, (0.0, 60.0))
    weighed.take(interval(3.0, -80.0, -20.0, 1))
    assert updated(weighed, 3.0) == (0.0, (0.0, 0.0))


@pytest.mark.parametrize(('lower', 'upper'), [(-1113.0, -979.0), (18100.0, 18300.0)])
def test_an_interval_that_no_payload_has_is_not_weighed(weighed, lower, upper):
    """Pressures in bar, or a broken line: the implement may hold anything."""
    weighed.take(interval(3.0, lower, upper, 1))
    payload, (least, most) = updated(weighed, 3.0)
    assert not weighed.observed
    assert (payload, least) == (RATED, 0.0) if upper < 0.0 else (payload, most) == (LIMIT, LIMIT)
    assert most >= 6120.0
    assert weighed.health().level == 1


def test_an_overload_is_taken_as_it_is(weighed):
    weighed.take(interval(3.0, 7400.0, 7600.0, 1))
    assert updated(weighed, 3.0) == (7500.0, (7400.0, 7600.0))


def test_a_payload_that_is_no_longer_observed_is_the_rated_one_at_once(weighed):
    weighed.take(interval(3.0, 2900.0, 3100.0, 1))
    weighed.take(interval(3.1, -9000.0, 15000.0, 0))
    assert updated(weighed, 3.1) == RATED_HOLDS


@pytest.mark.parametrize(
    ('lower', 'upper', 'payload', 'most'),
    [
        (5500.0, 7500.0, 5500.0, 7500.0),  # uncertain, but certainly more than the bounds of the rated payload
        (5500.0, 9500.0, 5500.0, LIMIT),
        (1000.0, 6500.0, RATED, 6500.0),
        (1000.0, 4000.0, RATED, 6120.0),
        (-9000.0, 15000.0, RATED, 6120.0),
    ],
)
def test_an_uncertain_estimate_widens_the_bounds_of_the_rated_payload(weighed, lower, upper, payload, most):
    weighed.take(interval(3.0, lower, upper, 0))
    assert updated(weighed, 3.1) == (payload, (0.0, most))
    assert not weighed.observed
    assert updated(weighed, 9.0) == RATED_HOLDS


@pytest.mark.parametrize(('now', 'holds'), [(3.49, True), (3.51, False), (2.4, False)])
def test_an_interval_counts_for_a_time_and_not_when_time_went_back(weighed, now, holds):
    weighed.take(interval(3.0, 2900.0, 3100.0, 1))
    assert (updated(weighed, now) != RATED_HOLDS) == holds


@pytest.mark.parametrize(
    'values',
    [
        *((), (1.0, 2.0), (np.nan, 1.0, 1.0), (2.0, 1.0, 1.0), (1.0, np.inf, 1.0), (0.0, 2e6, 1.0), (0.0,) * 9),
        *((1.0, 2.0, np.nan), (1.0, 2.0, 0.5)),
    ],
)
def test_malformed_intervals_are_rejected_in_one_line(weighed, values):
    weighed.take(interval(3.0, 2900.0, 3100.0, 1))
    weighed.take(interval(3.1, *values))
    assert updated(weighed, 3.1)[0] == 3000.0
    assert sum(weighed.rejections.counts.values()) == 1
    assert '\n' not in weighed.node.logged


def test_an_interval_of_no_instant_is_rejected(weighed):
    weighed.take(labelled_array(('lower', 'upper', 'observed'), (2900.0, 3100.0, 1.0)))
    assert updated(weighed, 0.0) == RATED_HOLDS
    assert 'expected the instant' in weighed.node.logged


@pytest.fixture
def governor(context):
    values = {'machine': 'log_loader', 'settling': 0.1, 'state_timeout': 9.0, 'payload_source': 'estimated'}
    values['stamp_clock'] = 'other'
    overrides = [Parameter(name, value=value) for name, value in values.items()]
    return TipOverGovernorNode(context=context, parameter_overrides=overrides)


def test_the_governor_certifies_stops_for_the_bounds_that_were_weighed(governor):
    """At rest with the arm ahead the heaviest payload is the worst, so bounds leave what their upper end alone does."""

    def push(start, *bounds):
        """Least push at rest, N, after the base has come to rest, and the mean push."""
        for k in range(200):
            if bounds:
                governor.weighed.take(interval(start + 0.01 * k, *bounds, 1))
            governor._bound_payload()
            governor.receive('joint_states', joint_state(start + 0.01 * k, CLOSE))
        governor.stops.reset()  # no decision has carried the pressures of the former bounds on
        governor.stops.see()
        mean = governor.stops.support.mean_push[0, 0]
        return governor.stops.stop(np.zeros(3)).standing * mean, mean

    (rated, mean), (weighed, _) = push(0.0), push(2.1, 4000.0, 4200.0)
    assert governor.sensing.monitor.payload == 4100.0
    assert weighed == pytest.approx(push(4.2, 4200.0, 4200.0)[0], abs=1e-3 * mean)
    assert rated == pytest.approx(push(6.3, 6120.0, 6120.0)[0], abs=1e-2 * mean)  # the suspension sags beside it
    assert rated < weighed - 0.09 * mean
    assert {subscription.topic_name.lstrip('/') for subscription in governor.subscriptions}.isdisjoint({'payload'})
