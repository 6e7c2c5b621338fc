"""The certificate of one decision at the next decision, with an exact model."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dyn_nodes.governor.campaign.campaign import random_cases
from dyn_nodes.governor.campaign.cases import box_of
from dyn_nodes.governor.campaign.governed_run import Rig
from dyn_nodes.governor.predictor import STEP_TIME
from dyn_nodes.governor.settings import GovernorSettings

SHOCK = 5.0
"""Acceleration of a joint that reaches or leaves its stop, rad/s2."""


@pytest.fixture(scope='module')
def decisions(machine):
    """Return least share after the last decision and of neutral now, and greatest acceleration; three nominal runs."""
    exact = {'mass_error': 0.0, 'payload_error': 0.0, 'delay': 0.0}
    settings = GovernorSettings(**exact)
    rig = Rig(machine, settings)
    stops, records, last = rig.partner(True).stops, [], [np.nan]
    decide = stops.decide

    def recorded(command, before, step, since, asked):
        most = settings.rate * step
        lasting = max(math.ceil((step + settings.lateness) / STEP_TIME - 1e-6), 1)
        stops.times = stops.times._replace(lasting=lasting)
        neutral = stops.stop(before - np.clip(before, -most, most)).least
        records.append((last[0], neutral, np.abs(rig.partner(True).monitor.a).max()))
        decision = decide(command, before, step, since, asked)
        last[0] = decision.stop.least
        return decision

    stops.decide = recorded
    for case in random_cases(box_of(machine, slope=0.0, **exact), 3, seed=1):
        last[0] = np.nan
        rig.run(case)
    return np.array(records), settings.reserve


def test_after_a_certificate_neutral_is_almost_always_certified_at_the_next_decision(decisions):
    (before, neutral, _), reserve = decisions[0].T, decisions[1]
    missing = reserve - neutral[before >= reserve]
    assert len(missing) > 1500
    short = missing[missing > 0.0]
    print(f'{len(short)} of {len(missing)} fall short: median {np.median(short):.4f}, greatest {short.max():.2f}')
    assert len(short) < 0.04 * len(missing)
    assert np.median(short) < 0.005


def test_it_is_much_less_only_in_the_shock_of_a_joint_at_its_stop(decisions):
    (before, neutral, acceleration), reserve = decisions[0].T, decisions[1]
    far = (before >= reserve) & (neutral < reserve - 0.05)
    assert (acceleration[far] > SHOCK).all()
    assert far.sum() < 20
