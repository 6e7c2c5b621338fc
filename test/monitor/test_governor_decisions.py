"""Compiled decisions of the governor against those of its law as plain Python, and against recorded ones.

`governor_decisions.npz` has 47 decisions of twelve runs of the adversary (seed 11) with what the predictor knew:
certified or not, every set of held levers, 1 to 23 predictions; and what the law makes of them, with the settings of
commit b955ab7. Since that commit a held command is tried in more ways, and only where its joint eases the stand; the
latest of them, the gentlest, changed one of the 47 outputs. Stops were predicted in double precision then.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.control import governor_law
from dyn_nodes.control.tip_over_governor import GovernorSettings, TipOverGovernor
from dyn_nodes.elements import actuator_element
from dyn_nodes.monitor.braking import BrakingPredictor
from dyn_nodes.monitor.braking_lanes import TO_ROCK
from dyn_nodes.monitor.stability_monitor import StabilityMonitor

RECORDED = Path(__file__).with_name('governor_decisions.npz')
SINGLE = 1e-4
"""What single precision changes in a share at most (`test_braking_precision`)."""
SITUATION = ('q', 'v', 'oil', 'turn', 'rows', 'squeeze', 'press', 'box')


@pytest.fixture(scope='module')
def governor(machine):
    # as that commit had them
    settings = GovernorSettings(least_delay=0.1, reserve=0.12, rise=0.0, least=0.03, slack=0.08, lateness=0.0)
    stops = BrakingPredictor(machine, range(3), StabilityMonitor(machine, ('zmp',)), settings)
    stops._times[TO_ROCK] = 91  # of the base, found where the machine is measured
    stops.see = lambda: None  # what is known comes from the file
    stops.pass_by = lambda step: None
    return TipOverGovernor(tuple(own.name for own in machine.actuators), stops, settings)


def state_and_stand(stops, own):
    """Return what a prediction begins with, from what was known of the machine."""
    (stiffness, damping, _), rows, wheels = stops._springs, own['rows'], len(own['rows'])
    flexibility = np.linalg.inv(rows.T @ np.diag(stiffness) @ rows)
    shares = -stiffness[:, None] * (rows @ flexibility)
    stand = (
        rows[:, 1],
        rows[:, 2],
        stiffness,
        damping,
        own['squeeze'],
        shares.ravel(),
        own['box'],
        [own['press']],
        np.zeros(wheels),
    )
    least = np.full(wheels, np.inf), np.zeros(wheels)
    state = (own['q'], own['v'], own['oil'], own['turn'], np.zeros(3), *least, [0.0])
    return np.concatenate(state)[None], np.concatenate(stand)


def place(governor, recorded, k):
    """Bring a governor to where it was before a decision."""
    stops = governor.stops
    governor.reset()
    stops.monitor.q, stops.monitor.v = recorded['q'][k].copy(), recorded['v'][k].copy()
    stops._known, stops._past = np.append(recorded['known'][k], -np.inf), recorded['past'][k].copy()
    elements = [actuator_element(own) for own in stops.machine.actuators]
    joints = stops._ways[0].astype(int)
    stops._ways[1] = [float(own.lever(stops.monitor.q[joint])) for own, joint in zip(elements, joints)]
    stops._state, stops._stand = state_and_stand(stops, {name: recorded[name][k] for name in SITUATION})
    stops.degree = 0.5
    governor.output, governor._since = recorded['before'][k].copy(), recorded['since'][k].copy()


def test_compiled_decisions_are_those_of_the_same_text_as_plain_python(governor, monkeypatch):
    recorded, stops, law = np.load(RECORDED), governor.stops, governor_law
    monkeypatch.setattr(law, 'predict', stops.model.kernels.predict)  # one at a time
    monkeypatch.setattr(law, 'easing', stops.model.kernels.easing)
    for k in range(0, len(recorded['command']), 3):
        place(governor, recorded, k)
        command, before, since = recorded['command'][k], governor.output, governor._since.copy()
        found = stops.decide(command, before, 0.01, governor._since, 0.01)
        output, parts, stopped = np.empty(3), np.empty(3), np.empty(4)
        expected = np.full_like(stops._expected, np.nan)
        numbers = governor.settings.law, since, expected, stops._situation
        law.decide(command, before, 0.01, *numbers, output, parts, stopped)
        np.testing.assert_allclose(found.output, output, atol=1e-12)
        np.testing.assert_allclose(found.parts, parts, atol=1e-12)
        np.testing.assert_allclose(governor._since, since, atol=1e-12)
        assert found.stop.least == pytest.approx(stopped[0], abs=1e-9)


def test_decisions_are_those_that_were_recorded(governor):
    recorded = np.load(RECORDED)
    stops, places = governor.stops, range(len(recorded['command']))
    assert len(places) == 47
    for k in places:
        place(governor, recorded, k)
        verdict = governor.govern(recorded['command'][k], float(recorded['step'][k]))
        np.testing.assert_allclose(verdict.volts, recorded['output'][k], atol=1e-9, err_msg=f'decision {k}')
        np.testing.assert_allclose(governor._since, recorded['after'][k], atol=1e-9)
        assert verdict.certified == recorded['certified'][k]
        assert verdict.margin == pytest.approx(recorded['margin'][k], abs=SINGLE)
        assert verdict.ahead == pytest.approx(recorded['ahead'][k], abs=0.011)
        assert verdict.contact == stops.contacts[recorded['contact'][k]]
        assert tuple(verdict.held) == tuple(np.array(governor.names)[recorded['held'][k]])
        assert verdict.scale == pytest.approx(recorded['scale'][k], abs=1e-9)


def test_what_was_expected_changes_no_decision(governor):
    """Answers that come true, that do not, and none: the same bits where all stops are predicted at once."""
    recorded, stops = np.load(RECORDED), governor.stops
    random = np.random.default_rng(5)
    for k in range(len(recorded['command'])):
        found = []
        for guess in (np.nan, -np.inf, np.inf, 'last', 'random'):
            expected = stops._expected.copy()
            place(governor, recorded, k)
            if guess == 'random':
                expected = random.uniform(-0.5, 0.5, expected.shape)
            elif guess != 'last':
                expected[:] = guess
            stops._expected[:] = expected
            decision = stops.decide(recorded['command'][k], governor.output, 0.01, governor._since, 0.01)
            found.append((decision.output, decision.parts, decision.stop))
        for output, parts, stop in found[1:]:
            np.testing.assert_array_equal(output, found[0][0])
            np.testing.assert_array_equal(parts, found[0][1])
            assert stop == pytest.approx(found[0][2], abs=1e-9)


def test_stops_predicted_at_once_are_those_predicted_one_by_one(governor):
    """Least share, wheel, time and share at rest, to 1e-9; that of one that is not enough to its end or below it."""
    recorded, stops = np.load(RECORDED), governor.stops
    random, kernels = np.random.default_rng(6), stops.model.kernels
    for k in range(0, len(recorded['command']), 4):
        place(governor, recorded, k)
        keys = np.zeros((11, 8))
        keys[:, :3] = recorded['before'][k] + random.uniform(-0.15, 0.15, (11, 3))
        keys[:, 3:6], keys[:, 6] = random.uniform(-8.0, 8.0, (11, 3)), random.random(11) < 0.4
        keys[:, 7] = np.where(random.random(11) < 0.5, -np.inf, 0.1)
        at_once, alone = np.empty((11, 6)), np.empty((11, 6))
        kernels.predict_all(keys, at_once, 0, 11, stops._situation)
        for row in range(11):
            kernels.predict_all(keys, alone, row, row + 1, stops._situation)
        enough = alone[:, 0] >= keys[:, 7]
        np.testing.assert_array_equal(at_once[:, 0] >= keys[:, 7], enough)
        np.testing.assert_allclose(at_once[enough], alone[enough], rtol=0.0, atol=1e-9)
        assert enough.any()
