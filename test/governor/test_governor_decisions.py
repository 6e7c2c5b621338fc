"""Compiled decisions of the governor against those of its law as plain Python, and against recorded ones.

`governor_decisions.npz` has 47 decisions of twelve runs of the adversary (seed 11) with the state of the predictor:
certified or not, every set of held levers, 1 to 23 predictions; and the outputs of the law, with the settings of commit
b955ab7. The decisions were recorded again when chambers lost their tension in the prediction, which changed 15 of the
47 outputs, and margins by up to 0.011. Before, the variants of a stop, all of the nominal machine here, had given the
former decisions.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from plain_law import as_python

from dyn_nodes.elements import actuator_element
from dyn_nodes.governor.prediction import eases_of, predict_stops
from dyn_nodes.governor.predictor import StopPredictor
from dyn_nodes.governor.records import HEFT, PAYLOAD, copied, requests, results
from dyn_nodes.governor.settings import GovernorSettings
from dyn_nodes.governor.tip_over_governor import TipOverGovernor
from dyn_nodes.monitor.stability_monitor import StabilityMonitor

RECORDED = Path(__file__).with_name('governor_decisions.npz')
SINGLE = 1e-4
"""Greatest change of a share by single precision (`test_braking_precision`)."""


@pytest.fixture(scope='module')
def governor(machine):
    # settings of that commit
    settings = GovernorSettings(least_delay=0.1, reserve=0.12, rise=0.0, least=0.03, slack=0.08, lateness=0.0)
    stops = StopPredictor(machine, range(3), StabilityMonitor(machine, ('zmp',)), settings)
    # of the base, from the measurements
    stops.times = stops.times._replace(rocking=91)
    stops.see = lambda: None  # the state is that of the file
    stops.pass_by = lambda step: None
    return TipOverGovernor(tuple(actuator.name for actuator in machine.actuators), stops, settings)


def restore(governor, recorded, k):
    """Restore the state of a governor before a decision."""
    stops = governor.stops
    governor.reset()
    stops.monitor.q, stops.monitor.v = recorded['q'][k].copy(), recorded['v'][k].copy()
    states, surroundings, support = stops.states, stops.surroundings, stops.support
    sent, levers = stops.sent, stops.levers
    ground, (links, less, more) = recorded['known'][k], recorded['box'][k]
    surroundings.vector[:] = np.concatenate([ground[:HEFT], [1.0], ground[HEFT:], [-np.inf, -np.inf, 0.0]])
    sent.queue[:] = recorded['past'][k]
    elements = [actuator_element(actuator) for actuator in stops.machine.actuators]
    levers.arms[:] = [float(actuator.lever(stops.monitor.q[joint])) for actuator, joint in zip(elements, levers.joints)]
    states.vectors[:] = stops.initial_state
    states.positions[:], states.velocities[:] = recorded['q'][k], recorded['v'][k]
    states.drives[:], states.turn[:] = recorded['oil'][k], recorded['turn'][k]
    rows, (stiffness, damping, _) = recorded['rows'][k], stops.springs
    flexibility = np.linalg.inv(rows.T @ np.diag(stiffness) @ rows)
    support.left[:], support.back[:] = rows[:, 1:].T
    support.stiffness[:], support.damping[:], support.squeeze[:] = stiffness, damping, recorded['squeeze'][k]
    support.shares[:] = -stiffness[:, None] * (rows @ flexibility)
    payload = ground[PAYLOAD]
    support.bounds[:] = 1.0 - links, 1.0 + links, payload - less, payload + more
    support.mean_push[:], support.offset[:] = recorded['press'][k], 0.0
    support.edges[:], support.rated[:] = np.eye(len(stops.contacts)), -1.0
    stops.degree = 0.5
    governor.output, governor.held_since = recorded['before'][k].copy(), recorded['since'][k].copy()


def one_by_one(requests, results, first, last, situation):
    """Predict stops like `predict_stops`, one at a time."""
    for row in range(first, last):
        predict_stops(requests, results, row, row + 1, situation)


def test_compiled_decisions_equal_those_of_plain_python(governor, monkeypatch):
    recorded, stops, decisions = np.load(RECORDED), governor.stops, []
    chosen = range(0, len(recorded['command']), 3)
    for k in chosen:
        restore(governor, recorded, k)
        decision = stops.decide(recorded['command'][k], governor.output, 0.01, governor.held_since, 0.01)
        decisions.append((decision, governor.held_since))
    law = as_python(monkeypatch)  # functions compiled before stay compiled
    monkeypatch.setattr(law, 'predict_stops', one_by_one)
    monkeypatch.setattr(law, 'eases_of', eases_of)
    for k, (decision, since) in zip(chosen, decisions):
        restore(governor, recorded, k)
        output, parts, expected = np.empty(3), np.empty(3), results(len(stops.expected.least))
        numbers = governor.settings.law, governor.held_since, expected, stops.situation
        stop = law.decide(recorded['command'][k], governor.output, 0.01, *numbers, output, parts)
        np.testing.assert_allclose(decision.output, output, atol=1e-12)
        np.testing.assert_allclose(decision.parts, parts, atol=1e-12)
        np.testing.assert_allclose(since, governor.held_since, atol=1e-12)
        assert decision.stop.least == pytest.approx(stop.least, abs=1e-9)


def test_decisions_equal_recorded_ones(governor):
    recorded = np.load(RECORDED)
    stops, rows = governor.stops, range(len(recorded['command']))
    assert len(rows) == 47
    for k in rows:
        restore(governor, recorded, k)
        verdict = governor.govern(recorded['command'][k], float(recorded['step'][k]))
        np.testing.assert_allclose(verdict.volts, recorded['output'][k], atol=1e-9, err_msg=f'decision {k}')
        np.testing.assert_allclose(governor.held_since, recorded['after'][k], atol=1e-9)
        assert verdict.certified == recorded['certified'][k]
        assert verdict.margin == pytest.approx(recorded['margin'][k], abs=SINGLE)
        assert verdict.ahead == pytest.approx(recorded['ahead'][k], abs=0.011)
        assert verdict.contact == stops.contacts[recorded['contact'][k]]
        assert tuple(verdict.held) == tuple(np.array(governor.names)[recorded['held'][k]])
        assert verdict.scale == pytest.approx(recorded['scale'][k], abs=1e-9)


def test_expected_answers_change_no_decision(governor):
    """Right answers, wrong answers and none: the same bits if all stops are predicted at once."""
    recorded, stops = np.load(RECORDED), governor.stops
    random = np.random.default_rng(5)
    for k in range(len(recorded['command'])):
        decisions = []
        for guess in (np.nan, -np.inf, np.inf, 'last', 'random'):
            expected = copied(stops.expected)
            restore(governor, recorded, k)
            for column, last in zip(stops.expected[:4], expected):
                if guess == 'random':
                    column[:] = random.uniform(-0.5, 0.5, column.shape)
                elif guess == 'last':
                    column[:] = last
                elif column.dtype == float:
                    column[:] = guess
            decision = stops.decide(recorded['command'][k], governor.output, 0.01, governor.held_since, 0.01)
            decisions.append((decision.output, decision.parts, decision.stop))
        for output, parts, stop in decisions[1:]:
            np.testing.assert_array_equal(output, decisions[0][0])
            np.testing.assert_array_equal(parts, decisions[0][1])
            assert stop == pytest.approx(decisions[0][2], abs=1e-9)


def test_stops_predicted_at_once_equal_those_predicted_one_by_one(governor):
    """Least share, wheel, time and share at rest, to 1e-9; the share of an insufficient stop is below the threshold."""
    recorded, stops = np.load(RECORDED), governor.stops
    random = np.random.default_rng(6)
    for k in range(0, len(recorded['command']), 4):
        restore(governor, recorded, k)
        asked, at_once, alone = requests(11, 3), results(11), results(11)
        asked.volts[:] = recorded['before'][k] + random.uniform(-0.15, 0.15, (11, 3))
        asked.toward[:], asked.leads[:] = random.uniform(-8.0, 8.0, (11, 3)), random.random(11) < 0.4
        asked.enough[:] = np.where(random.random(11) < 0.5, -np.inf, 0.1)
        predict_stops(asked, at_once, 0, 11, stops.situation)
        one_by_one(asked, alone, 0, 11, stops.situation)
        enough = alone.least >= asked.enough
        np.testing.assert_array_equal(at_once.least >= asked.enough, enough)
        for together, single in zip(at_once, alone):
            np.testing.assert_allclose(together[enough], single[enough], rtol=0.0, atol=1e-9)
        assert enough.any()
