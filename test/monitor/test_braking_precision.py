"""Stops in single precision, as the governor predicts them, against the same steps in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from test_governor_decisions import RECORDED, governor, place

from dyn_nodes.monitor import braking_lanes as lanes

__all__ = ['governor']
STOPS = 6
"""Of each recorded decision."""


def least_in_doubles(stops, key, delay):
    """Follow a stop for one of the delays, step by step in double precision; return its least share."""
    _, begins, known, stand, past, waits, order, most, times, _ = stops._situation
    m, wheels = len(order), len(stops.contacts)
    x, given = begins[delay].copy(), known.copy()
    rows = waits[delay] + times[lanes.TO_LAST] + round(key[2 * m] * times[lanes.TO_HOLD]) + times[lanes.TO_PREDICT]
    volts, kept, led = np.empty((rows, m)), np.zeros(m), np.zeros(m)
    kept[order], led[order] = key[:m], key[m : 2 * m]
    calm = lanes.write_volts(past[len(past) - waits[delay] :], kept, led, key[2 * m], most, times, volts)
    after, seen, row, fast = np.empty(len(x)), np.empty(2), 0, 0
    while True:
        if row == calm:
            given[lanes.PLACE_OF_STEP] *= 2.0
        stops.model.kernels.stride(x, volts[min(row, rows - 1)], given, stand, after, seen)
        passed = row + max(row - calm, 0)
        fast = passed if seen[1] >= lanes.SWIFT else fast
        rests = seen[1] < lanes.STILL and passed >= fast + times[lanes.TO_ROCK]
        if passed >= times[lanes.AT_MOST] or (passed >= rows and rests):
            return float(after[-1 - 2 * wheels : -1 - wheels].min())
        x, after, row = after.copy(), x, row + 1


@pytest.fixture(scope='module')
def shares(governor):
    """Least shares of stops after outputs near recorded ones, half of them led elsewhere: as predicted, in doubles."""
    recorded, stops, random = np.load(RECORDED), governor.stops, np.random.default_rng(12)
    single, exact = [], []
    for k in range(len(recorded['command'])):
        place(governor, recorded, k)
        keys = np.zeros((STOPS, 8))
        keys[:, :3] = recorded['before'][k] + random.uniform(-0.15, 0.15, (STOPS, 3))
        keys[:, 3:6], keys[:, 6] = random.uniform(-8.0, 8.0, (STOPS, 3)), random.random(STOPS) < 0.5
        keys[:, 7] = -np.inf
        found = np.empty((STOPS, 6))
        stops.model.kernels.predict_all(keys, found, 0, STOPS, stops._situation)
        single.extend(found[:, 0])
        delays = range(len(stops._waits))
        exact.extend(min(least_in_doubles(stops, key, delay) for delay in delays) for key in keys)
    return np.array(single), np.array(exact)


def test_single_precision_changes_the_share_of_a_stop_that_lifts_no_wheel_by_less_than_a_ten_thousandth(shares):
    single, exact = shares
    stands = exact > 0.0
    assert 100 < stands.sum() < len(exact) == 47 * STOPS
    assert np.abs(single - exact)[stands].max() < 1e-4
    assert np.median(np.abs(single - exact)[stands]) < 1e-6


def test_a_wheel_that_lifts_in_double_precision_lifts_in_single(shares):
    """How far a machine is thrown that has lifted differs by more: it comes down on its springs."""
    single, exact = shares
    np.testing.assert_array_equal(single > 0.0, exact > 0.0)
    assert np.abs(single - exact).max() < 1e-2
