"""Compiled decisions of the governor against those that its former law, in Python, has made.

`governor_decisions.npz` has 48 decisions of twelve runs of the adversary (seed 11) with what the predictor knew:
certified or not, every set of held levers, 1 to 23 predictions. That law is at commit b955ab7.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.control.tip_over_governor import TipOverGovernor
from dyn_nodes.monitor.braking import BrakingPredictor
from dyn_nodes.monitor.stability_monitor import StabilityMonitor

RECORDED = Path(__file__).with_name('governor_decisions.npz')
KNOWN = ('_oil', '_known', '_past', '_squeeze', '_rows', '_turn', '_press', '_box')


@pytest.fixture(scope='module')
def governor(machine):
    stops = BrakingPredictor(machine, range(3), StabilityMonitor(machine, ('zmp',)))
    return TipOverGovernor(tuple(own.name for own in machine.actuators), stops)


def test_decisions_are_those_of_the_law_in_python(governor):
    recorded = np.load(RECORDED)
    stops, places = governor.stops, range(len(recorded['command']))
    assert len(places) == 48
    for k in places:
        governor.reset()
        stops.monitor.q, stops.monitor.v = recorded['q'][k].copy(), recorded['v'][k].copy()
        for name in KNOWN:
            setattr(stops, name, recorded[name[1:]][k].copy())
        stops.degree = 0.5
        governor.output, governor._since = recorded['before'][k].copy(), recorded['since'][k].copy()
        verdict = governor.govern(recorded['command'][k], float(recorded['step'][k]))
        np.testing.assert_allclose(verdict.volts, recorded['output'][k], atol=1e-9, err_msg=f'decision {k}')
        np.testing.assert_allclose(governor._since, recorded['after'][k], atol=1e-9)
        assert verdict.certified == recorded['certified'][k]
        assert verdict.margin == pytest.approx(recorded['margin'][k], abs=1e-6)
        assert verdict.ahead == pytest.approx(recorded['ahead'][k], abs=0.011)
        assert verdict.contact == stops.contacts[recorded['contact'][k]]
        assert tuple(verdict.held) == tuple(np.array(governor.names)[recorded['held'][k]])
        assert verdict.scale == pytest.approx(recorded['scale'][k], abs=1e-9)
