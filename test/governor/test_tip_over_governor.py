"""The governor's law, run as plain Python, with specified stops."""

from __future__ import annotations

import numpy as np
import pytest
from plain_law import as_python

from dyn_nodes.governor import law
from dyn_nodes.governor.law import GAIN, WAYS
from dyn_nodes.governor.records import results
from dyn_nodes.governor.settings import GovernorSettings
from dyn_nodes.governor.stops import Decision, Stop
from dyn_nodes.governor.tip_over_governor import LONGEST_LASTING, LONGEST_STEP, TipOverGovernor, Verdict

RESERVE, RISE, PERIOD, RATE = 0.16, 0.04, 0.01, 15.0
NAMES = ('boom', 'stick', 'swing')


def predict_stops(requests, results, first, last, situation):
    for row in range(first, last):
        volts, toward, enough = requests.volts[row], requests.toward[row], requests.enough[row]
        stop = situation.stop(volts.copy(), enough, toward.copy() if requests.leads[row] else None)
        for column, value in zip(results, (*stop, stop.least >= enough, 0.0)):
            column[row] = value


def eases_of(command, situation, eases):
    eases[:] = situation.eases


@pytest.fixture(autouse=True)
def _written_stops(monkeypatch):
    as_python(monkeypatch)
    monkeypatch.setattr(law, 'predict_stops', predict_stops)
    monkeypatch.setattr(law, 'eases_of', eases_of)


class Written:
    """Stops whose least share is a function of the outputs and whose share at rest is a function of their direction."""

    contacts = ('front', 'rear')
    eases = True

    def __init__(self, least, standing=lambda toward: 0.5, degree=0.5):
        self.least, self.standing, self.degree = least, standing, degree
        self.outputs, self.asked, self.resets, self.passed = [], [], 0, 0.0

    def stop(self, volts, enough=-np.inf, toward=None):
        self.asked.append(volts.copy())
        led = volts if toward is None else toward
        least, standing = float(self.least(volts)), float(self.standing(led))
        return Stop(least, 1, 0.3, standing, least, standing)

    def decide(self, command, before, step, since, lasting):
        output, parts = np.empty(len(before)), np.empty(len(before))
        settings = GovernorSettings()
        expected = results(law.questions(len(before), settings.halvings))
        return Decision(
            output, parts, law.decide(command, before, step, settings.law, since, expected, self, output, parts)
        )

    def pass_by(self, step):
        self.passed += step

    def see(self):
        pass

    def issued(self, volts):
        self.outputs.append((volts.copy(), self.passed))

    def reset(self):
        self.resets += 1


def govern(stops, command, times=1, output=None):
    governor = TipOverGovernor(NAMES, stops)
    if output is not None:
        governor.output = np.array(output, float)
    for _ in range(times):
        verdict = governor.govern(np.array(command, float), PERIOD)
    return verdict


def test_a_certified_command_passes_at_its_rate_after_one_prediction():
    stops = Written(lambda volts: RESERVE + RISE)
    verdict = govern(stops, [-5.0, 2.0, 8.0])
    assert verdict.volts == pytest.approx([-0.15, 0.15, 0.15])
    assert (verdict.scale, verdict.held, verdict.certified) == (1.0, (), True)
    assert len(stops.asked) == 1
    assert govern(stops, [-5.0, 2.0, 8.0], 200).volts == pytest.approx([-5.0, 2.0, 8.0])


def test_an_output_grows_above_the_reserve_and_stays_at_the_reserve():
    for left, volts in ((RESERVE + RISE, 3.15), (RESERVE, 3.0), (RESERVE - 1e-6, 2.85)):
        stops = Written(lambda _, left=left: left)
        stops.eases = False
        verdict = govern(stops, [8.0, 0.0, 0.0], output=[3.0, 0.0, 0.0])
        assert verdict.volts == pytest.approx([volts, 0.0, 0.0])
        assert verdict.certified == (left >= RESERVE)
    assert govern(stops, [-8.0, 0.0, 0.0], output=[3.0, 0.0, 0.0]).volts == pytest.approx([2.85, 0.0, 0.0])


def test_an_output_that_improves_stability_grows_at_the_reserve():
    verdict = govern(Written(lambda _: RESERVE), [8.0, 0.0, 0.0], output=[3.0, 0.0, 0.0])
    assert verdict.volts == pytest.approx([3.15, 0.0, 0.0])


def test_no_stop_is_predicted_twice_for_a_decision():
    """One of two functions is certified; the other does not improve stability."""

    class Recording(Written):
        def stop(self, volts, enough=-np.inf, toward=None):
            self.led.append((volts.tobytes(), None if toward is None else toward.tobytes()))
            return super().stop(volts, enough, toward)

    stops = Recording(lambda volts: 0.5 if volts[0] <= 0.0 else 0.0)
    stops.led = []
    verdict = govern(stops, [8.0, 8.0, 0.0])
    assert verdict.volts == pytest.approx([0.0, 0.15, 0.0])
    passed = [key for key in stops.led if np.frombuffer(key[0])[0] <= 0.0]
    assert len(passed) == len(set(passed))


def test_every_output_is_reported_to_the_prediction():
    stops = Written(lambda volts: 0.5)
    governor = TipOverGovernor(NAMES, stops)
    governor.govern(np.array([5.0, 0.0, 0.0]), PERIOD)
    governor.neutral(PERIOD)
    assert np.array([volts for volts, _ in stops.outputs]) == pytest.approx(
        np.array([[0.15, 0.0, 0.0], [0.0, 0.0, 0.0]])
    )
    assert [passed for _, passed in stops.outputs] == pytest.approx([PERIOD, 2.0 * PERIOD])


def test_only_the_function_that_costs_the_reserve_is_held():
    """The stick may have 1 V more than now."""
    stops = Written(lambda volts: 0.5 if volts[1] <= 1.0 else 0.0)
    verdict = govern(stops, [-5.0, 6.0, 3.0], 100)
    assert verdict.volts[[0, 2]] == pytest.approx([-5.0, 3.0])
    assert 0.8 <= verdict.volts[1] <= 1.0
    assert verdict.held == ('stick',)
    assert verdict.scale == pytest.approx(verdict.volts[1] / 6.0)
    assert verdict.certified


def test_the_function_that_costs_least_comes_first():
    """The reserve suffices for one of two; the boom uses more of it."""
    stops = Written(lambda volts: 0.5 - 3.0 * abs(volts[0]) - 2.0 * abs(volts[1]))
    verdict = govern(stops, [8.0, 8.0, 0.0])
    assert verdict.volts[1] == pytest.approx(0.15)
    assert 0.0 <= verdict.volts[0] < 0.05


def test_a_function_gets_the_certified_part_of_its_step():
    limit = 0.1
    stops = Written(lambda volts: 0.5 if volts[0] <= limit else 0.0)
    verdict = govern(stops, [8.0, 0.0, 0.0])
    assert limit - RATE * PERIOD / 4 < verdict.volts[0] <= limit
    assert verdict.certified


@pytest.mark.parametrize('least', [0.0, -3.0, np.nan, -np.inf])
def test_without_a_certified_stop_all_functions_are_braked(least):
    verdict = govern(Written(lambda volts: least), [5.0, -5.0, 8.0], output=[3.0, -3.0, 0.0])
    assert verdict.volts == pytest.approx([2.85, -2.85, 0.0])
    assert not verdict.certified
    assert verdict.held == NAMES


def test_no_output_changes_faster_than_its_rate_for_any_prediction():
    """Also if only the slow motion to a more stable posture keeps the floor: it would change by 5 V in a period."""
    rng = np.random.default_rng(4)
    for _ in range(300):
        levels = rng.uniform(-0.2, 0.4, 3)
        stops = Written(
            lambda volts, levels=levels: float(np.interp(np.abs(volts).max(), (0.0, 3.0, 8.0), levels)),
            lambda toward: float(np.abs(toward).sum()),
        )
        before, levers = rng.uniform(-8.0, 8.0, (2, 3)) * rng.integers(0, 2, (2, 3))
        verdict = govern(stops, levers, output=before)
        assert np.abs(verdict.volts - before).max() <= RATE * PERIOD + 1e-12
    stops = Written(lambda volts: 0.05 if abs(volts[0]) < 8.0 else 0.02, lambda toward: float(toward[0]))
    assert govern(stops, [10.0, 0.0, 0.0], output=[8.0, 0.0, 0.0]).volts[0] == pytest.approx(7.85)


def test_without_a_new_certificate_the_last_certified_stop_is_executed():
    """Recursive feasibility: the certificate is followed by the next stop of the same course."""
    stops = Written(lambda volts: RESERVE + RISE if np.abs(volts).max() <= 2.0 else 0.0)
    governor = TipOverGovernor(NAMES, stops)
    for _ in range(100):
        verdict = governor.govern(np.array([8.0, -8.0, 8.0]), PERIOD)
        assert verdict.certified
        assert np.abs(verdict.volts).max() <= 2.0
    assert verdict.volts == pytest.approx([2.0, -2.0, 2.0], abs=RATE * PERIOD)


@pytest.mark.parametrize('here', [0.1, 0.0, -0.4])
def test_motions_to_a_more_stable_posture_pass_without_a_certificate(here):
    stops = Written(lambda volts: here, lambda toward: here + 0.01 * toward[0])
    verdict = govern(stops, [6.0, -5.0, 0.0], 100)
    assert verdict.volts == pytest.approx([6.0, 0.0, 0.0])
    assert verdict.held == ('stick',)


def test_motions_that_reduce_stability_at_once_are_not_predicted():
    """Even if the final posture is more stable."""
    stops = Written(lambda volts: 0.05, lambda toward: 0.05 + 0.01 * toward[0])
    assert govern(stops, [6.0, 0.0, 0.0]).volts[0] == pytest.approx(0.15)
    asked = len(stops.asked)
    stops.eases, stops.asked = False, []
    assert govern(stops, [6.0, 0.0, 0.0]).volts == pytest.approx([0.0, 0.0, 0.0])
    assert len(stops.asked) < asked


@pytest.mark.parametrize('gain', [0.0, 0.9 * GAIN, -0.1])
def test_motions_to_a_less_stable_posture_do_not_pass(gain):
    stops = Written(lambda volts: 0.05, lambda toward: 0.05 + gain * np.sign(toward[0]))
    assert govern(stops, [6.0, 0.0, 0.0]).volts == pytest.approx([0.0, 0.0, 0.0])


def test_an_incomplete_stop_is_reused_where_it_fails_again():
    """The step of the only function is rejected by its first prediction; its halves are tried."""
    stops = Written(lambda volts: 0.5 if volts[0] <= 0.1 else 0.0)
    govern(stops, [8.0, 0.0, 0.0])
    assert [volts[0] for volts in stops.asked].count(0.15) == 1


def test_stability_gained_by_another_function_does_not_count():
    """The stick retracts already; the boom extends and would cancel a part of it."""
    stops = Written(lambda volts: 0.05, lambda toward: 0.2 * toward[1] - 0.01 * toward[0])
    verdict = govern(stops, [5.0, 5.0, 0.0], output=[0.0, 5.0, 0.0])
    assert verdict.volts[0] == 0.0
    assert verdict.volts[1] == pytest.approx(5.0)


@pytest.mark.parametrize(('harmful', 'part'), [(7.0, WAYS[-2][0]), (2.0, WAYS[-1][0])])
def test_motions_to_a_more_stable_posture_are_slower_where_full_speed_is_unsafe(harmful, part):
    """No share may fall below `least` on the way."""

    class Hasty(Written):
        def stop(self, volts, enough=-np.inf, toward=None):
            stop = super().stop(volts, enough, toward)
            fast = toward is not None and toward[0] > harmful
            return stop._replace(least=-0.2 if fast else stop.least)

    verdict = govern(Hasty(lambda volts: 0.05, lambda toward: 0.05 + 0.01 * toward[0]), [8.0, 0.0, 0.0], 100)
    assert verdict.volts[0] == pytest.approx(8.0 * part)
    assert verdict.held == ('boom',)
    assert verdict.scale == pytest.approx(part)


@pytest.mark.parametrize(
    ('here', 'way', 'passes'),
    [
        (0.0, -0.05, True),
        (0.0, -0.07, False),
        (0.075, 0.02, True),
        (0.085, 0.03, True),
        (0.085, 0.02, False),
        (0.15, 0.081, True),
        (0.15, 0.079, False),
    ],
)
def test_motions_to_a_more_stable_posture_may_use_slack_and_share_above_least(here, way, passes):
    class Costly(Written):
        def stop(self, volts, enough=-np.inf, toward=None):
            stop = super().stop(volts, enough, toward)
            moves = volts.any() or (toward is not None and toward.any())
            return stop._replace(least=way if moves else here)

    stops = Costly(lambda volts: here, lambda toward: here + 0.01 * toward[0])
    assert bool(govern(stops, [8.0, 0.0, 0.0]).volts.any()) == passes


def test_a_slow_motion_gives_no_function_less_than_is_certified():
    """The boom keeps its certified output, although a tenth of its lever also leads to a more stable posture."""
    stops = Written(lambda volts: 0.5 if volts[0] <= 4.0 else 0.05, lambda toward: 0.5 + 0.01 * min(toward[0], 1.0))
    verdict = govern(stops, [8.0, 0.0, 0.0], output=[4.0, 0.0, 0.0])
    assert verdict.volts[0] == pytest.approx(4.0)


def test_in_motion_nothing_may_cost_more_than_the_stop():
    """It is stable at rest, but the stop reaches -0.1; commands with a lower share must wait."""

    class Moving(Written):
        def stop(self, volts, enough=-np.inf, toward=None):
            stop = super().stop(volts, enough, toward)
            return stop._replace(least=-0.11 if volts[0] > 0.0 else -0.1)

    assert not govern(Moving(lambda volts: 0.0, lambda toward: 0.4 + 0.01 * toward[0]), [8.0, 0.0, 0.0]).volts.any()


def test_outputs_whose_stop_is_below_the_floor_do_not_pass():
    """The whole motion keeps `least`, the stop after one period of it does not: the stop would be postponed."""

    class PutOff(Written):
        def stop(self, volts, enough=-np.inf, toward=None):
            stop = super().stop(volts, enough, toward)
            return stop._replace(least=0.1 if toward is not None or volts[0] <= 0.0 else 0.02)

    stops = PutOff(lambda volts: 0.1, lambda toward: 0.15 + 0.01 * toward[0])
    assert not govern(stops, [8.0, 0.0, 0.0]).volts.any()
    stops = Written(lambda volts: 0.1, lambda toward: 0.15 + 0.01 * toward[0])
    assert govern(stops, [8.0, 0.0, 0.0]).volts[0] > 0.0


def test_a_function_that_acts_in_the_opposite_direction_is_braked_first():
    stops = Written(lambda volts: 0.0, lambda toward: 0.01 * toward[0])
    assert govern(stops, [8.0, 0.0, 0.0], output=[-3.0, 0.0, 0.0]).volts == pytest.approx([-2.85, 0.0, 0.0])


@pytest.mark.parametrize('degree', [np.nan, -np.inf, np.inf])
def test_a_machine_without_ground_contact_gets_no_outputs(degree):
    stops = Written(lambda volts: 0.9, degree=degree)
    verdict = govern(stops, [6.0, 0.0, -6.0])
    assert verdict.volts == pytest.approx(np.zeros(3))
    assert (verdict.scale, verdict.held, verdict.certified) == (0.0, ('boom', 'swing'), False)
    assert stops.asked == []


def test_the_verdict_names_share_wheel_and_time():
    verdict = govern(Written(lambda volts: 0.3), [1.0, 0.0, 0.0])
    assert (verdict.margin, verdict.contact, verdict.ahead, verdict.degree) == (0.3, 'rear', 0.3, 0.5)


def test_before_the_first_command_nothing_is_held_and_there_is_no_verdict():
    verdict = Verdict(np.zeros(3))
    assert (verdict.scale, verdict.held, verdict.contact) == (1.0, (), '')
    assert np.isnan([verdict.degree, verdict.margin, verdict.ahead]).all()


def test_neutral_is_approached_at_the_rate_and_reset_at_once():
    stops = Written(lambda volts: 0.5)
    governor = TipOverGovernor(NAMES, stops, GovernorSettings(rate=10.0))
    governor.output = np.array([-5.0, 0.0, 0.05])
    assert governor.neutral(0.1) == pytest.approx([-4.0, 0.0, 0.0])
    governor.reset()
    assert governor.output == pytest.approx(np.zeros(3))
    assert stops.resets == 2


@pytest.mark.parametrize('step', [0.0, -0.5])
def test_time_that_does_not_increase_changes_no_output(step):
    governor = TipOverGovernor(NAMES, Written(lambda volts: 0.5))
    governor.output = np.array([1.0, -2.0, 3.0])
    assert governor.neutral(step) == pytest.approx([1.0, -2.0, 3.0])
    assert governor.govern(np.array([8.0, 8.0, 8.0]), step).volts == pytest.approx([1.0, -2.0, 3.0])


def test_an_output_is_certified_for_the_whole_time_until_the_next_decision_though_it_changes_less():
    class Recording(Written):
        def decide(self, command, before, step, since, lasting):
            times.append((step, lasting))
            return super().decide(command, before, step, since, lasting)

    times = []
    governor = TipOverGovernor(NAMES, Recording(lambda volts: 1.0))
    for step in (0.01, 0.18, 3.0):
        governor.govern(np.zeros(len(NAMES)), step)
    assert times == [(0.01, 0.01), (LONGEST_STEP, 0.18), (LONGEST_STEP, LONGEST_LASTING)]
