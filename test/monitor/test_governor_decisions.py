"""Compiled decisions of the governor against those of its law as plain Python, now and at commit b955ab7.

`governor_decisions.npz` has 47 decisions of twelve runs of the adversary (seed 11) with what the predictor knew:
certified or not, every set of held levers, 1 to 23 predictions; and what the law at that commit made of them. Since
then a command to a better stand must leave a stop, too: these decisions are the same with that.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.control import governor_law
from dyn_nodes.control.tip_over_governor import TipOverGovernor
from dyn_nodes.monitor.braking import BrakingPredictor
from dyn_nodes.monitor.stability_monitor import StabilityMonitor

RECORDED = Path(__file__).with_name('governor_decisions.npz')
KNOWN = ('_oil', '_known', '_past', '_squeeze', '_rows', '_turn', '_press', '_box')


@pytest.fixture(scope='module')
def governor(machine):
    stops = BrakingPredictor(machine, range(3), StabilityMonitor(machine, ('zmp',)))
    return TipOverGovernor(tuple(own.name for own in machine.actuators), stops)


def place(governor, recorded, k):
    """Bring a governor to where it was before a decision."""
    stops = governor.stops
    governor.reset()
    stops.monitor.q, stops.monitor.v = recorded['q'][k].copy(), recorded['v'][k].copy()
    for name in KNOWN:
        setattr(stops, name, recorded[name[1:]][k].copy())
    stops.degree = 0.5
    governor.output, governor._since = recorded['before'][k].copy(), recorded['since'][k].copy()


def test_compiled_decisions_are_those_of_the_same_text_as_plain_python(governor, monkeypatch):
    recorded, stops, law = np.load(RECORDED), governor.stops, governor_law
    monkeypatch.setattr(law, 'predict', stops.model.kernels.predict)
    for k in range(0, len(recorded['command']), 3):
        place(governor, recorded, k)
        command, before, since = recorded['command'][k], governor.output, governor._since.copy()
        found = stops.decide(command, before, 0.01, governor._since)
        output, parts, stopped = np.empty(3), np.empty(3), np.empty(4)
        law.decide(command, before, 0.01, governor.settings.law, since, stops._situation, output, parts, stopped)
        np.testing.assert_allclose(found.output, output, atol=1e-12)
        np.testing.assert_allclose(found.parts, parts, atol=1e-12)
        np.testing.assert_allclose(governor._since, since, atol=1e-12)
        assert found.stop.least == pytest.approx(stopped[0], abs=1e-9)


def test_decisions_are_those_of_the_former_law(governor):
    recorded = np.load(RECORDED)
    stops, places = governor.stops, range(len(recorded['command']))
    assert len(places) == 47
    for k in places:
        place(governor, recorded, k)
        verdict = governor.govern(recorded['command'][k], float(recorded['step'][k]))
        np.testing.assert_allclose(verdict.volts, recorded['output'][k], atol=1e-9, err_msg=f'decision {k}')
        np.testing.assert_allclose(governor._since, recorded['after'][k], atol=1e-9)
        assert verdict.certified == recorded['certified'][k]
        assert verdict.margin == pytest.approx(recorded['margin'][k], abs=1e-6)
        assert verdict.ahead == pytest.approx(recorded['ahead'][k], abs=0.011)
        assert verdict.contact == stops.contacts[recorded['contact'][k]]
        assert tuple(verdict.held) == tuple(np.array(governor.names)[recorded['held'][k]])
        assert verdict.scale == pytest.approx(recorded['scale'][k], abs=1e-9)
