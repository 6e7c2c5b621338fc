"""Stops in single precision, as the governor predicts them, against the same steps in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from test_governor_decisions import RECORDED, governor, restore

from dyn_nodes.governor import lanes
from dyn_nodes.governor.prediction import predict_stops
from dyn_nodes.governor.records import requests, results

__all__ = ['governor']
STOPS = 6
"""Stops of each recorded decision."""


def least_in_doubles(stops, asked, row, h):
    """Follow a variant of a stop, step by step in double precision; return its least share."""
    _, at, starts, _, support, sent, times, levers = stops.situation
    m, leads = len(levers.order), asked.leads[row]
    x, inputs, waits = starts[h].copy(), stops.surroundings.copied(), sent.waits[h]
    rows = waits + times.lasting + round(leads * times.hold) + times.horizon
    volts, kept, led = np.empty((rows, m)), np.zeros(m), np.zeros(m)
    kept[levers.order], led[levers.order] = asked.volts[row], asked.toward[row]
    waiting = sent.queue[len(sent.queue) - waits :]
    calm = lanes.write_volts.py_func(waiting, kept, led, leads, levers.change, times, volts)
    after, seen, passed_rows, fast = np.empty(len(x)), np.empty(2), 0, 0
    while True:
        if passed_rows == calm:
            inputs.step[:] *= 2.0
        volt = volts[min(passed_rows, rows - 1)]
        stops.model.kernels.stride(x, volt, inputs.vector[h], support[h], after, seen)
        passed = passed_rows + max(passed_rows - calm, 0)
        fast = passed if seen[1] >= lanes.SWIFT else fast
        rests = seen[1] < lanes.STILL and passed >= fast + times.rocking
        if passed >= times.longest or (passed >= rows and rests):
            return float(after[at.least : at.instants].min())
        x, after, passed_rows = after.copy(), x, passed_rows + 1


@pytest.fixture(scope='module')
def shares(governor):
    """Return least shares of stops after outputs near recorded ones, as predicted and in double precision."""
    recorded, stops, random = np.load(RECORDED), governor.stops, np.random.default_rng(12)
    single, exact = [], []
    for k in range(len(recorded['command'])):
        restore(governor, recorded, k)
        asked, predicted = requests(STOPS, 3), results(STOPS)
        asked.volts[:] = recorded['before'][k] + random.uniform(-0.15, 0.15, (STOPS, 3))
        asked.toward[:], asked.leads[:] = random.uniform(-8.0, 8.0, (STOPS, 3)), random.random(STOPS) < 0.5
        predict_stops(asked, predicted, 0, STOPS, stops.situation)
        single.extend(predicted.least)
        variants = range(len(stops.sent.waits))
        exact.extend(min(least_in_doubles(stops, asked, row, h) for h in variants) for row in range(STOPS))
    return np.array(single), np.array(exact)


def test_single_precision_changes_the_share_of_a_stop_that_lifts_no_wheel_by_less_than_a_ten_thousandth(shares):
    single, exact = shares
    without_lift = exact > 0.0
    assert 100 < without_lift.sum() < len(exact) == 47 * STOPS
    assert np.abs(single - exact)[without_lift].max() < 1e-4
    assert np.median(np.abs(single - exact)[without_lift]) < 1e-6


def test_a_wheel_that_lifts_in_double_precision_lifts_in_single(shares):
    """The motion after a lift differs by more: the machine lands on its springs."""
    single, exact = shares
    np.testing.assert_array_equal(single > 0.0, exact > 0.0)
    assert np.abs(single - exact).max() < 1e-2
