"""The adversary of the governor: its cases, runs, search, records, and the command."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dyn_nodes.cli import build_parser
from dyn_nodes.commands import CommandError, governor
from dyn_nodes.control import load_voltage_profile
from dyn_nodes.governor.campaign import governed_run
from dyn_nodes.governor.campaign.attacks import ATTACKS
from dyn_nodes.governor.campaign.campaign import Campaign, Record, random_cases, read_cases, summary, worst
from dyn_nodes.governor.campaign.cases import (
    SETTLING,
    Case,
    attack_cases,
    box_of,
    decoded,
    dimension,
    lever_profile,
    neighbour,
)
from dyn_nodes.governor.campaign.governed_run import PERIOD, Rig, heavier, off_center
from dyn_nodes.governor.campaign.replay import task_text, write_tasks
from dyn_nodes.governor.campaign.run_outcome import WELL, RunOutcome
from dyn_nodes.governor.campaign.search import SearchSettings, climb, search
from dyn_nodes.governor.campaign.troubles import TroubleBox, Troubles
from dyn_nodes.governor.campaign.wheel_watch import Wheels, turned
from dyn_nodes.governor.predictor import StopPredictor
from dyn_nodes.governor.settings import GovernorSettings
from dyn_nodes.model.posture import initial_positions
from dyn_nodes.monitor.measured_samples import Sample, SensorModel, Sensors
from dyn_nodes.simulation.assembly import DAMPING_SCALE, STIFFNESS_SCALE

FAILURES = Path(__file__).with_name('governor_failures.jsonl')
DELAYS = Path(__file__).with_name('governor_delays.jsonl')
WORST = Path(__file__).with_name('governor_worst.jsonl')
IMPACTS = Path(__file__).with_name('governor_impacts.jsonl')
REJECTED = Path(__file__).with_name('governor_refused.jsonl')
IN_BOX = Path(__file__).with_name('governor_in_box.jsonl')
SHOCKS = Path(__file__).with_name('governor_shocks.jsonl')
"""Cases in which a joint reaches its stop so hard that for an instant the accelerometer shows no ground reaction. With
an estimate of the ground that was then reset in the shock, the least shares were 0.000, 0.038 and 0.057."""
STABLE = RunOutcome(False, False, False, 10.5, None, 0.01, 0.4, 1.0)


@pytest.fixture(scope='module')
def box(machine):
    return box_of(machine)


@pytest.fixture(scope='module')
def rig(machine):
    return Rig(machine)


@pytest.fixture(scope='module')
def less_careful(machine):
    return Rig(machine, GovernorSettings(least=0.03))


def short(payload=5100.0, volts=(-4.0, 3.0, 2.0), duration=0.3, **changes):
    return Case(((duration, volts),), payload, duration=duration, **{'known_payload': payload, **changes})


# -- cases -----------------------------------------------------------------------------------------------------------


def test_random_cases_lie_in_the_box(box):
    cases = random_cases(box, 200, seed=3)
    for case in cases:
        assert sum(span for span, _ in case.segments) >= box.duration - 0.01
        assert (np.abs([volts for _, volts in case.segments]) <= np.array(box.limits) + 1e-9).all()
        assert 0.0 <= case.known_payload <= box.payload
        assert case.payload <= min(1.2 * case.known_payload, box.payload_limit) + 1e-2
        assert case.payload >= 0.8 * case.known_payload - 1e-2
        assert case.mass in (0.9, 1.0, 1.1)
        assert np.hypot(case.roll, case.pitch) <= box.slope + 1e-4
        assert min(case.state_delay, case.command_delay) >= 0.0
        assert case.state_delay + case.command_delay <= box.delay + 1e-3
    assert 60 < sum(case.known_payload == box.payload for case in cases) < 140
    assert {case.mass for case in cases} == {0.9, 1.0, 1.1}
    assert max(np.hypot(case.roll, case.pitch) for case in cases) > 0.9 * box.slope


def test_the_kth_random_case_does_not_depend_on_their_number(box):
    assert random_cases(box, 3, seed=1) == random_cases(box, 9, seed=1)[:3]
    assert random_cases(box, 3, seed=1, first=6) == random_cases(box, 9, seed=1)[6:]
    assert random_cases(box, 3, seed=1) != random_cases(box, 3, seed=2)


def test_vectors_of_a_search_reach_the_corners_of_the_box_and_not_beyond(box):
    upper, lower = (decoded(box, np.full(dimension(box), 3.0 * sign)) for sign in (1.0, -1.0))
    assert upper.segments[0] == (5.0, box.limits)
    assert lower.segments[0] == (0.3, tuple(-limit for limit in box.limits))
    assert (upper.mass, lower.mass) == (1.1, 0.9)
    assert (upper.payload, upper.known_payload, lower.payload) == (box.payload_limit, box.payload, 0.0)
    assert np.hypot(upper.roll, upper.pitch) == pytest.approx(box.slope, abs=1e-4)
    assert (upper.state_delay, upper.command_delay) == (0.1, 0.0)
    assert lower.state_delay + lower.command_delay == 0.0


WIDE = TroubleBox(noise=2.0, jitter=0.8, drops=True, grabs=900.0, oil=0.2, suspension=0.3)


def test_neighbours_of_a_case_stay_in_the_box_and_reach_its_corners(box):
    rng, cases = np.random.default_rng(3), random_cases(box, 1, seed=5)
    for _ in range(3000):
        cases.append(neighbour(box, cases[-1], rng))
    limits, counts = np.array(box.limits), np.zeros(5, int)
    for case in cases[1:]:
        volts, spans = np.array([row for _, row in case.segments]), [span for span, _ in case.segments]
        assert (np.abs(volts) <= limits).all()
        assert min(spans) > 0.0
        assert np.hypot(case.roll, case.pitch) <= box.slope + 1e-5
        assert case.state_delay + case.command_delay <= box.delay + 1e-9
        assert abs(case.mass - 1.0) <= box.mass_error + 1e-9
        assert abs(case.payload - case.known_payload) <= box.payload_error * case.known_payload + 2e-3
        assert Case.from_dict(json.loads(json.dumps(case.as_dict()))) == case
        counts += [
            case.mass == round(1.0 - box.mass_error, 4),
            case.payload > 1.199 * case.known_payload,
            np.hypot(case.roll, case.pitch) > 0.99 * box.slope,
            case.command_delay == box.delay,
            (np.abs(volts) == limits).all(axis=1).any(),
        ]
    assert counts.min() > 20, counts


def test_a_hill_climb_never_leaves_the_worst_case_it_found_and_is_repeatable(box):
    """Against a campaign of a formula: a case is the worse the further the levers are held."""

    class Formula:
        def run(self, cases):
            return [Record(case, True, replace(STABLE, share=1.0 - held(case))) for case in cases]

    def held(case):
        return np.average(np.abs([row for _, row in case.segments]).mean(axis=1), weights=[s for s, _ in case.segments])

    starts = random_cases(box, 3, seed=2)
    records = climb(Formula(), box, starts, 40, seed=1)
    assert len(records) == 3 * 41
    assert records == climb(Formula(), box, starts, 40, seed=1)
    for k, start in enumerate(starts):
        assert max(held(record.case) for record in records[k::3]) > min(held(start) + 0.5, 7.0)


def test_troubles_and_starts_change_nothing_else_in_a_case(box):
    exact = random_cases(box, 20, seed=1)
    cases = random_cases(replace(box, troubles=WIDE, any_start=True), 20, seed=1)
    assert [replace(case, troubles=Troubles(), start=()) for case in cases] == exact
    troubles = [case.troubles for case in cases]
    for name, error in (('oil', 0.2), ('stiffness', 0.3), ('damping', 0.3)):
        scales = np.array([getattr(drawn, name) for drawn in troubles])
        assert np.ptp(scales) > error
        assert np.abs(scales - 1.0).max() <= error
    assert {(drawn.noise, drawn.jitter) for drawn in troubles} == {(2.0, 0.8)}
    assert len({drawn.seed for drawn in troubles}) == len({drawn.drop for drawn in troubles}) == 20
    assert all(0.0 <= drawn.drop == drawn.grab <= box.duration for drawn in troubles)
    assert all(0.0 <= drawn.grabbed <= 900.0 for drawn in troubles)
    assert len({drawn.grabbed for drawn in troubles}) == 20
    starts, (least, most) = np.array([case.start for case in cases]), np.array(box.reach).T
    assert ((least <= starts) & (starts <= most)).all()
    assert (np.ptp(starts, axis=0) > 0.7 * (most - least)).all()


def test_a_search_chooses_when_the_load_is_dropped(box):
    with_drops = replace(box, troubles=TroubleBox(drops=True))
    drops = [decoded(with_drops, np.full(dimension(with_drops), value)).troubles.drop for value in (-1.0, 0.2, 1.0)]
    assert drops == [0.0, 6.0, 10.0]
    assert decoded(box, np.zeros(dimension(box))).troubles.drop is None


def test_the_centre_of_mass_is_at_one_of_four_sides_or_nominal(box):
    wide = replace(box, center_error=0.05)
    cases = random_cases(wide, 60, seed=1)
    assert [replace(case, center=(0.0, 0.0)) for case in cases] == random_cases(box, 60, seed=1)
    sides = {(0.0, 0.0), (0.05, 0.0), (0.0, 0.05), (-0.05, 0.0), (0.0, -0.05)}
    assert {case.center for case in cases} == sides
    vectors = np.random.default_rng(1).uniform(-1.0, 1.0, (60, dimension(wide)))
    assert {decoded(wide, vector).center for vector in vectors} == sides
    assert Case.from_dict(json.loads(json.dumps(cases[0].as_dict()))) == cases[0]


def test_a_plant_whose_centre_of_mass_lies_ahead_loads_its_front_wheels_more(rig):
    ahead, nominal = rig.plant(1.0, (0.05, 0.0)), rig.plant()
    machines = [off_center(rig.machine, one) for one in ((0.05, 0.0), (0.0, 0.0))]
    centers = [np.sum([link.mass * link.com for link in one.links], axis=0) for one in machines]
    weight = sum(link.mass for link in rig.machine.links)
    assert (centers[0] - centers[1]) / weight == pytest.approx([0.05, 0.0, 0.0])
    loads = []
    for plant in (ahead, nominal):
        plant.reset()
        loads.append(np.array([plant.output(f'{one.name}/normal_force') for one in rig.machine.ground_contacts]))
    assert loads[0].sum() == pytest.approx(loads[1].sum())
    positions = np.array([one.position[0] for one in rig.machine.ground_contacts])
    assert (loads[0] - loads[1]) @ positions == pytest.approx(9.80665 * weight * 0.05, rel=0.05)


def test_a_search_chooses_the_start_of_a_run(box):
    anywhere = replace(box, any_start=True)
    ends = [decoded(anywhere, np.full(dimension(anywhere), value)).start for value in (-1.0, 1.0)]
    assert list(zip(*ends)) == [pytest.approx(limits, abs=1e-4) for limits in box.reach]
    assert decoded(box, np.zeros(dimension(box))).start == ()


def test_a_search_reaches_loads_below_the_rated_one_noise_oil_and_wheels(box):
    wide = replace(box, troubles=WIDE)
    cases = [decoded(wide, vector) for vector in np.random.default_rng(1).uniform(-1.0, 1.0, (200, dimension(wide)))]
    nominal = np.array([case.known_payload for case in cases])
    assert 60 < np.sum(nominal == box.payload) < 140
    assert nominal.min() < 0.1 * box.payload
    assert len({case.troubles.seed for case in cases}) == 200
    assert min(case.troubles.oil for case in cases) < 0.85
    assert max(case.troubles.damping for case in cases) > 1.25
    upper = decoded(wide, np.ones(dimension(wide))).troubles
    assert (upper.oil, upper.stiffness, upper.damping) == (1.2, 1.3, 1.3)


def test_a_case_is_the_same_from_its_json(box):
    for case in random_cases(box, 5, seed=1) + random_cases(replace(box, troubles=WIDE, any_start=True), 5, seed=1):
        assert Case.from_dict(json.loads(json.dumps(case.as_dict()))) == case


@pytest.mark.parametrize(
    ('change', 'problem'),
    [
        ({'payload': float('nan')}, 'not finite'),
        ({'state_delay': -0.1}, 'negative'),
        ({'duration': 0.0}, '0 or less'),
        ({'segments': [[0.0, [1.0, 1.0, 1.0]]]}, '0 or less'),
        ({'colour': 1.0}, 'colour'),
        ({'segments': [[1.0, [1.0]]]}, 'expected 3 levers in a segment, found 1'),
        ({'payload': '5100'}, 'no number'),
        ({'payload': 10**400}, 'not finite'),
        ({'payload': 1e6}, 'expected a payload up to 6000 kg, found 1e\\+06'),
        ({'mass': True}, 'not finite'),
        ({'stops': 1}, 'not true or false'),
        ({'duration': 1e9}, 'duration beyond 120'),
        ({'state_delay': 3.0}, 'state_delay beyond 1'),
        ({'troubles': {'noise': -1.0}}, 'noise: expected 0 to 100, found -1'),
        ({'troubles': {'noise': 1e3}}, 'noise: expected 0 to 100, found 1000'),
        ({'troubles': {'jitter': 1.5}}, 'jitter: expected 0 to 1, found 1.5'),
        ({'troubles': {'seed': 1.5}}, 'seed that is no integer'),
        ({'troubles': {'seed': True}}, 'not finite'),
        ({'troubles': {'drop': -0.1}}, 'drop: expected 0 to 120, found -0.1'),
        ({'troubles': {'drop': 'soon'}}, 'no number'),
        ({'troubles': {'grab': 200.0}}, 'grab: expected 0 to 120, found 200'),
        ({'troubles': {'grabbed': -1.0}}, 'grabbed: expected 0 to 100000, found -1'),
        ({'troubles': {'oil': 0.0}}, 'oil, stiffness or damping of 0'),
        ({'troubles': {'damping': 11.0}}, 'damping: expected 0 to 10, found 11'),
        ({'troubles': {'colour': 1.0}}, 'colour'),
        ({'troubles': 1.0}, 'a case'),
        ({'center': [0.0]}, 'a case'),
        ({'center': [0.0, 20.0]}, 'center beyond 10'),
        ({'start': [0.0, -0.5]}, 'expected 3 joints at the start, found 2'),
        ({'start': [0.0, -0.5, 'left']}, 'no number'),
        ({'start': [2.0, -0.5, 0.0]}, 'expected a start within -0.349066 to 1.06465, found 2'),
    ],
)
def test_a_file_with_a_wrong_case_is_rejected_by_line(box, tmp_path, change, problem):
    path = tmp_path / 'cases.jsonl'
    lines = [{'case': short().as_dict()}, {'case': {**short().as_dict(), **change}}]
    path.write_text('\n'.join(map(json.dumps, lines)))
    with pytest.raises(ValueError, match=rf'cases\.jsonl:2: .*{problem}'):
        read_cases(path, box)


@pytest.mark.parametrize('line', [b'\xff\xfe', b'[' * 100_000, b'9' * 5000, b'[1]', b'null', b'{"case": []}'])
def test_a_line_without_a_case_is_rejected_in_one_line(box, tmp_path, line):
    path = tmp_path / 'cases.jsonl'
    path.write_bytes(json.dumps({'case': short().as_dict()}).encode() + b'\n\n' + line)
    with pytest.raises(ValueError, match=r'cases\.jsonl:3: expected a JSON object with a case') as caught:
        read_cases(path, box)
    assert str(caught.value).isprintable()


# -- runs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('number', [pytest.param(0, marks=pytest.mark.slow), 1])
def test_the_recorded_sequence_that_overturned_the_governed_machine_lifts_no_wheel(rig, box, number):
    """Extend for 4.55 s, then slew to and fro: 75 degrees at 10.15 s with the previous governor."""
    outcome = rig.run(read_cases(FAILURES, box)[number])
    assert (outcome.overturned, outcome.lifted, outcome.diverged) == (False, False, False)
    assert outcome.share > 0.05
    assert outcome.tilt < np.radians(1.0)


def test_motions_to_a_more_stable_posture_keep_a_certified_stop(rig, box):
    """Boom out at -6 V and swing at -8 V on a slope, links 10 % lighter, 13 % more payload: run 427 of seed 1.

    Both led to a more stable posture and passed for 0.7 s without a certificate, while the stop after them got worse.
    """
    outcome = rig.run(read_cases(FAILURES, box)[2])
    assert not outcome.lifted
    assert outcome.share > 0.02
    assert outcome.let_through > 0.35, 'of 0.4 to 0.8, by small changes of a setting'


@pytest.mark.parametrize('number', range(6))
def test_valves_that_answer_early_and_booms_that_leave_their_stops_lift_no_wheel(rig, box, number):
    """Six of the 38 random runs in which the governor of commit f55f901 lifted a wheel: 0.8 to 1.2 degrees."""
    outcome = rig.run(read_cases(DELAYS, box)[number])
    assert not outcome.lifted
    assert outcome.share > 0.02


@pytest.mark.parametrize('number', range(3))
def test_light_links_with_a_heavy_payload_lift_no_wheel(rig, box, number):
    """Result of a hill climb: boom and swing rock on empty chambers; the former prediction was wrong by 0.2."""
    outcome = rig.run(read_cases(IN_BOX, box)[number])
    assert not outcome.lifted
    assert outcome.share > 0.05


def test_a_boom_on_a_rocking_base_hits_its_stop_no_harder_than_predicted(rig, box):
    """Run 1,926 of seed 2: the boom at full speed to its upper stop, predicted to rest just before it.

    A wheel kept a hundredth of its load while the oil model assumed a base at rest.
    """
    outcome = rig.run(read_cases(FAILURES, box)[3])
    assert not outcome.lifted
    assert outcome.share > 0.1
    assert outcome.let_through > 0.8


def test_a_boom_that_leaves_its_upper_stop_falls_no_farther_than_predicted(rig, box):
    """Result of a search with 284 evaluations: just before the stop, then out, 18 % more payload than nominal.

    A wheel lifted with a governor whose joint stops started 0.01 rad early, which it attributed to a pressure.
    """
    outcome = rig.run(read_cases(FAILURES, box)[4])
    assert not outcome.lifted
    assert outcome.share > 0.05
    assert outcome.let_through > 0.5


def test_a_sample_of_the_adversary_lifts_no_wheel(rig, box):
    """The first 12 runs of seed 1; the slow test has 500."""
    outcomes = [rig.run(case) for case in random_cases(box, 12, seed=1)]
    assert sum(outcome.overturned for outcome in outcomes) == sum(outcome.lifted for outcome in outcomes) == 0
    assert not any(outcome.diverged for outcome in outcomes)
    assert 0.3 < np.mean([outcome.let_through for outcome in outcomes]) < 0.6
    assert np.mean([outcome.unrest for outcome in outcomes]) < 0.7, (
        'at the border outputs do not go up and down: 0.76 without `rise`'
    )


@pytest.mark.parametrize('every', [4, pytest.param(1, marks=pytest.mark.slow)])
def test_rejected_starts_that_lift_a_wheel_have_a_fortieth_of_its_load_and_turn_by_a_fifth_of_a_degree(rig, box, every):
    """All of them in 100,000 random runs; two of them have a wheel off the ground before the levers start."""
    cases = read_cases(REJECTED, box)
    assert len(cases) == 22
    cases = cases[::every]
    outcomes = [rig.run(case) for case in cases]
    assert all(outcome.refused and not outcome.overturned for outcome in outcomes)
    assert max(outcome.begin for outcome in outcomes) < 0.027
    assert np.degrees(max(outcome.tilt for outcome in outcomes)) < 0.2
    still = [rig.run(replace(case, segments=()), governed=False) for case in cases]
    assert sum(outcome.lifted for outcome in still) == 2


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_500_runs_of_the_adversary_lift_no_wheel(machine, box):
    with Campaign(machine, jobs=2) as campaign:
        report = summary(campaign.run(random_cases(box, 500, seed=1)))
    assert (report['overturned'], report['lifted'], report['diverged']) == (0, 0, 0)
    assert report['refused_starts'] == {'runs': 500 - report['runs'], 'overturned': 0, 'lifted': 0, 'diverged': 0}
    assert report['runs'] >= 470


@pytest.mark.slow
def test_the_worst_cases_of_earlier_campaigns_leave_a_twentieth_of_its_load_on_every_wheel(machine, box):
    """A hundred cases of three searches and of 1,606 random runs, with laws of reserves 0.13 and 0.17."""
    with Campaign(machine, jobs=2) as campaign:
        outcomes = [record.outcome for record in campaign.run(read_cases(WORST, box))]
    assert len(outcomes) == 100
    assert not any(outcome.lifted or outcome.refused for outcome in outcomes)
    assert min(outcome.share for outcome in outcomes) > 0.05


def test_a_stick_that_meets_its_stop_leaves_its_load_on_every_wheel(rig, box):
    """The worst of 20,000 evaluations: the share of a wheel fell to 0.007, 0.8 s after the stick reached its stop."""
    outcome = rig.run(read_cases(IMPACTS, box)[0])
    assert not outcome.lifted
    assert outcome.share > 0.08


@pytest.mark.parametrize('number', [0, 16, 34])
def test_a_certified_stop_stays_certified_if_it_is_predicted_further(rig, box, number):
    """A stop ends when all motion has ended, the base's rocking included, and not after a fixed time."""
    trial, reserve = rig.trial(read_cases(IMPACTS, box)[number]), rig.settings.reserve
    partner, certified, least = trial.partner, 0, np.inf
    further = StopPredictor(rig.machine, range(3), partner.monitor, replace(rig.settings, horizon=3.5))
    for k, levers in enumerate(trial.levers):
        trial.step(levers)
        output = partner.governor.output
        further.see()
        further.times = further.times._replace(lasting=partner.stops.times.lasting)
        if k % 4 == 0 and np.isfinite(partner.stops.degree) and partner.stops.stop(output).least >= reserve:
            certified, least = certified + 1, min(least, further.stop(output).least)
        further.issued(output)
        further.pass_by(PERIOD)
    assert certified > 20
    assert least > reserve - 0.02


@pytest.mark.slow
def test_the_worst_cases_of_a_search_leave_a_twelfth_of_its_load_on_every_wheel(machine, box):
    """The forty worst of 20,000 evaluations with stops that were not predicted until the base had rocked."""
    with Campaign(machine, jobs=2) as campaign:
        outcomes = [record.outcome for record in campaign.run(read_cases(IMPACTS, box))]
    assert len(outcomes) == 40
    assert not any(outcome.lifted or outcome.refused for outcome in outcomes)
    assert min(outcome.share for outcome in outcomes) > 0.08


@pytest.mark.parametrize('number', [1, 41])
def test_sequences_near_the_corners_of_the_box_lift_no_wheel(rig, box, number):
    """The payload is 18 % heavier than nominal on links 10 % lighter; or far out on a slope."""
    outcome = rig.run(random_cases(box, number + 1, seed=1)[number])
    assert not outcome.lifted
    assert outcome.share > 0.03


def test_an_extended_load_can_be_retracted(rig, box):
    """The governor does not block the arm after a stop: boom and stick return from the border."""
    case = Case(((3.0, (-6.0, -6.0, 0.0)), (5.0, (8.0, 8.0, 0.0))), 3000.0, 3000.0, duration=8.0)
    outcome = rig.run(case)
    boom, stick = rig.plant().positions[1:]
    assert not outcome.lifted
    assert boom > 1.0
    assert stick < -2.2


def test_the_same_sequence_without_governor_and_stops_does_not_overturn(rig, box):
    outcome = rig.run(read_cases(FAILURES, box)[0], governed=False)
    assert (outcome.overturned, outcome.lifted, outcome.let_through, outcome.unrest) == (False, True, 1.0, 1.0)
    assert np.degrees(outcome.tilt) == pytest.approx(4.2, abs=1.0)


def test_a_run_does_not_depend_on_earlier_runs(rig):
    case = short(3000.0, roll=0.03, state_delay=0.02, command_delay=0.03)
    first = rig.run(case)
    rig.run(short(5100.0, imu=False), governed=False)
    assert rig.run(case) == first
    assert first.share < 1.0


def test_a_run_has_slope_payload_and_stops_of_its_case(rig):
    level, tilted = (rig.run(short(0.0, (0.0, 0.0, 0.0), pitch=pitch), governed=False) for pitch in (0.0, -0.08))
    loaded = rig.run(short(5100.0, (0.0, 0.0, 0.0)), governed=False)
    assert tilted.share < level.share - 0.02
    assert loaded.share != pytest.approx(level.share, abs=0.02)
    plant = rig.plant()
    rig.run(short(stops=False, troubles=Troubles(oil=0.8, stiffness=0.9, damping=1.1)), governed=False)
    names = 'joint_stop_scale', 'bulk_modulus_scale', STIFFNESS_SCALE, DAMPING_SCALE
    assert [plant.p[plant.system.index('parameter', name)] for name in names] == [0.0, 0.8, 0.9, 1.1]
    soft = rig.run(short(troubles=Troubles(damping=0.5)), governed=False)
    assert soft.share != rig.run(short(), governed=False).share


def test_measurements_reach_the_governor_and_commands_the_valves_late(rig):
    """0.05 s and 0.08 s; the levers start after the settling."""
    seen, arrived = [], []

    class Listener:
        def restart(self, payload):
            assert payload == 1000.0

        def measure(self, sample):
            seen.append((plant.time, sample.time))

        def is_valid(self, now):
            return True

        def command(self, levers, valid):
            return levers

    case = short(1000.0, (4.0, 0.0, 0.0), state_delay=0.05, command_delay=0.08)
    plant = rig.plant()
    plant.reset()
    trial = governed_run.Trial(plant, case, rig.effects, Listener())
    advance = plant.advance
    plant.advance = lambda: (arrived.append((plant.time, plant.u[trial._inputs[0]])), advance())
    try:
        trial.run()
    finally:
        del plant.advance
    assert [now - then for now, then in seen] == pytest.approx([0.05] * len(seen))
    first = next(time for time, volts in arrived if volts > 0.0)
    assert first == pytest.approx(SETTLING + 0.08, abs=1e-9)


def test_sensors_show_the_errors_of_their_model_times_their_level():
    model = SensorModel()
    still = np.array([0.0, 0.0, 0.0, 1.0]), np.zeros(3), np.array([0.0, 0.0, 9.81])
    exact = Sample(0.0, np.zeros(3), np.zeros(3), still)
    sensors = Sensors(2.0, seed=5)
    seen = [sensors.read(exact) for _ in range(2000)]
    reading = Sensors(2.0, seed=5).read(exact)
    np.testing.assert_array_equal(reading.v, seen[0].v)
    assert np.std([sample.v for sample in seen]) == pytest.approx(2.0 * model.velocity_noise, rel=0.05)
    steps = np.array([sample.q for sample in seen]) / (2.0 * model.position_step)
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
    assert 0.3 < np.std(steps) < 0.8
    orientation, turning, force = (np.array([sample.imu[k] for sample in seen]) for k in range(3))
    assert np.ptp(orientation, axis=0).max() == 0.0
    assert 0.0 < Rotation.from_quat(orientation[0]).magnitude() < 6.0 * model.orientation_error
    for measured, true_value, noise, bias in (
        (turning, 0.0, model.gyroscope_noise, model.gyroscope_bias),
        (force, still[2], model.accelerometer_noise, model.accelerometer_bias),
    ):
        assert measured.std(axis=0) == pytest.approx(2.0 * noise, rel=0.1)
        assert 0.0 < np.abs(measured.mean(axis=0) - true_value).max() < 2.0 * (3.5 * bias + noise)


def test_sensor_errors_affect_the_governor_only(rig, monkeypatch):
    seen = []
    measure = governed_run.Partner.measure
    monkeypatch.setattr(governed_run.Partner, 'measure', lambda value, s: (seen.append(s), measure(value, s)))
    still = short(1000.0, (0.0, 0.0, 0.0))
    assert rig.run(replace(still, troubles=Troubles(noise=1.0, seed=4))).share == rig.run(still).share
    noisy, exact = seen[1 : len(seen) // 2], seen[len(seen) // 2 + 1 :]  # each starts with the sample of the start
    assert len(noisy) == len(exact) > 50
    off = np.array([value.v - other.v for value, other in zip(noisy, exact)])
    assert np.std(off) == pytest.approx(SensorModel().velocity_noise, rel=0.2)


@pytest.mark.parametrize(
    ('troubles', 'after'), [(Troubles(drop=0.7), 0.0), (Troubles(grab=0.7, grabbed=500.0), 3500.0)]
)
def test_a_dropped_or_grabbed_load_is_reported_to_the_governor_half_a_second_later(rig, troubles, after):
    case = short(3000.0, (0.0, 0.0, 0.0), duration=2.0, troubles=troubles)
    trial = rig.trial(case)
    payload = trial.plant.system.index('parameter', 'payload_mass')
    carried, reported = [], []
    for levers in trial.levers:
        trial.step(levers)
        carried.append(trial.plant.p[payload])
        reported.append(trial.partner.monitor.payload)
    assert set(carried) == set(reported) == {after, 3000.0}
    assert carried.count(3000.0) == pytest.approx((SETTLING + 0.7) / PERIOD, abs=1)
    assert reported.count(3000.0) - carried.count(3000.0) == 50
    assert rig.trial(case).plant.p[payload] == 3000.0


def test_a_run_starts_at_a_certified_start_or_nearer_to_the_first_posture(rig):
    stable, unstable = short(0.0, start=(0.2, -0.6, 0.5)), short(3000.0, start=(-0.3, -0.1, 1.5))
    assert rig.placed(stable).start == stable.start
    placed = rig.placed(unstable)
    assert rig.rejects(unstable)
    assert not rig.rejects(placed)
    first = np.array([initial_positions(rig.machine)[actuator.joint] for actuator in rig.machine.actuators])
    parts = (np.array(placed.start) - first) / (np.array(unstable.start) - first)
    assert parts == pytest.approx(np.full(3, parts[0]))
    assert 0.0 < parts[0] < 1.0
    plant = rig.trial(placed).plant
    joints = [plant.joints.index(actuator.joint) for actuator in rig.machine.actuators]
    assert plant.positions[joints] == pytest.approx(placed.start)
    assert rig.trial(short(5100.0)).plant.positions[joints] == pytest.approx(first)
    outcome = rig.run(unstable)
    assert (outcome.refused, outcome.lifted) == (False, False)


def test_delays_that_vary_are_never_longer_and_overtake_nothing(rig, monkeypatch):
    case = short(1000.0, duration=2.0, state_delay=0.06, command_delay=0.05)
    ages = []
    measure = governed_run.Partner.measure
    for jitter in (0.0, 1.0):
        trial = rig.trial(replace(case, troubles=Troubles(jitter=jitter, seed=3)))
        seen, applied, made = [], [], []
        monkeypatch.setattr(
            governed_run.Partner,
            'measure',
            lambda value, s, seen=seen, trial=trial: (seen.append(trial.plant.time - s.time), measure(value, s)),
        )
        govern = trial.partner.governor.govern
        monkeypatch.setattr(
            trial.partner.governor, 'govern', lambda *a, made=made, govern=govern: made.append(govern(*a)) or made[-1]
        )
        for levers in trial.levers:
            trial.step(levers)
            applied.append(trial.plant.u[trial._inputs].copy())
        monkeypatch.undo()
        ages.append(np.array(seen))
        outputs = [tuple(value.volts) for value in made]
        late = [outputs.index(tuple(value)) for value in applied if any(value)]
        assert late == sorted(late)
    steady, varying = ages
    assert np.ptp(steady) == pytest.approx(0.0, abs=1e-9)
    assert varying.max() == pytest.approx(steady.max())
    assert varying.min() < 2.0 * PERIOD
    assert np.mean(varying) < 0.8 * np.mean(steady)


def test_a_sample_of_the_adversary_from_any_start_with_delays_that_vary_lifts_no_wheel(rig, box):
    anywhere = replace(box, any_start=True, troubles=TroubleBox(jitter=1.0))
    outcomes = [rig.run(case) for case in random_cases(anywhere, 8, seed=2)]
    accepted = [outcome for outcome in outcomes if not outcome.refused]
    assert len(accepted) > 5
    assert not any(outcome.lifted for outcome in accepted)
    assert min(outcome.share for outcome in accepted) > 0.08


def test_a_sample_of_the_adversary_with_sensors_that_err_lifts_no_wheel(rig, box):
    outcomes = [rig.run(case) for case in random_cases(replace(box, troubles=TroubleBox(noise=1.0)), 8, seed=1)]
    assert not any(outcome.lifted for outcome in outcomes if not outcome.refused)
    # the least share varies between 0.095 and 0.124 with the last digits of the start
    assert min(outcome.share for outcome in outcomes if not outcome.refused) > 0.08


def test_a_heavier_machine_has_heavier_links_and_the_same_payload(machine):
    heavy = heavier(machine, 1.1)
    for heavy_link, link in zip(heavy.links, machine.links):
        assert heavy_link.mass == pytest.approx(1.1 * link.mass)
        np.testing.assert_allclose(heavy_link.inertia, 1.1 * link.inertia)
    assert heavy.payload == machine.payload
    assert heavier(machine, 1.0) is machine


def wheels_after(*instants, attitude=(0.0, 0.0)):
    watch = Wheels(np.full(4, 1e4), attitude)
    for time, load, roll in instants:
        watch.see(time, np.array([load, 1e4, 1e4, 1e4]), (roll, attitude[1]))
    return watch


def test_a_wheel_has_lifted_after_a_tenth_of_a_second_or_half_a_degree():
    assert wheels_after((0.0, 0.0, 0.0), (0.1, 0.0, 0.0)).since is None
    assert wheels_after((0.0, 0.0, 0.0), (0.1, 0.0, 0.0), (0.11, 0.0, 0.0)).since == 0.11
    assert wheels_after((0.0, 0.0, 0.0), (0.05, 10.0, 0.0), (0.12, 0.0, 0.0)).since is None
    assert wheels_after((0.0, 0.0, 0.1), (0.05, 0.0, 0.1 + np.radians(0.49))).since is None
    watch = wheels_after((0.0, 0.0, 0.1), (0.05, 0.0, 0.1 + np.radians(0.51)), (0.06, 10.0, 0.2))
    assert watch.since == 0.05
    assert (watch.tilt, watch.share) == (pytest.approx(0.2), 0.0)


def test_a_base_that_leans_one_way_and_turns_the_other_has_turned(rig):
    """The magnitude of its tilt grows by 0.22 degrees only."""
    lean, turn = np.radians(0.7), np.radians(0.6)
    watch = wheels_after((0.0, 0.0, 0.0), (0.05, 0.0, turn), attitude=(0.0, lean))
    assert watch.tilt == pytest.approx(turn, rel=1e-3)
    assert watch.since == 0.05
    assert turned((0.1, 0.2), (0.1, 0.2)) == 0.0
    ways = [Rotation.from_euler('xyz', angles) for angles in ([0.1, 0.2, 0.0], [-0.3, 0.4, 1.0])]
    up = [way.inv().apply([0.0, 0.0, 1.0]) for way in ways]
    assert turned((0.1, 0.2), (-0.3, 0.4)) == pytest.approx(np.arccos(up[0] @ up[1]))


STEEP = {'payload': 5987.231, 'known_payload': 5100.0, 'mass': 0.9, 'roll': 0.08051, 'pitch': 0.03367}
"""A corner of the box, from a search before such starts were rejected."""


def test_a_start_without_load_on_a_wheel_in_the_box_is_rejected(rig):
    """The wheel is off the ground at 0.12 s, before the levers start: no command could hold it."""
    case = short(volts=(0.0, 0.0, 0.0), **STEEP)
    outcome = rig.run(case)
    assert (outcome.refused, outcome.lifted, outcome.lift_time) == (True, True, 0.12)
    assert rig.run(case, governed=False).refused


@pytest.mark.parametrize(
    ('change', 'rejected'),
    [
        ({}, True),
        ({'mass': 1.1, 'payload': 5100.0}, True),
        ({'imu': False}, True),
        ({'roll': -0.08051}, False),
        ({'roll': 0.06, 'pitch': 0.0}, False),
        ({'roll': 0.0, 'pitch': 0.0}, False),
        ({'known_payload': 3000.0, 'payload': 3600.0}, False),
    ],
)
def test_a_start_is_rejected_by_the_model_of_the_governor(less_careful, change, rejected):
    """Not by the random machine: every machine of the box counts, as the governor cannot distinguish them."""
    assert less_careful.rejects(short(**{**STEEP, **change})) == rejected


@pytest.mark.parametrize(
    ('roll', 'pitch', 'margin'),
    [
        (0, 0, 0.222),
        (3, 0, 0.102),
        (5, 0, 0.022),
        (0, 5, 0.084),
        (-5, 0, 0.083),
        (0, -5, 0.358),
        (3.5355, 3.5355, -0.016),
    ],
)
def test_the_margins_of_starts_equal_those_of_the_page(rig, roll, pitch, margin):
    least = rig.start_margin(short(roll=np.radians(roll), pitch=np.radians(pitch)))
    assert least == pytest.approx(margin, abs=1e-3)


def test_a_start_is_rejected_below_the_least_share_of_the_settings(machine):
    case = short(volts=(0.0, 0.0, 0.0))
    margin = Rig(machine, GovernorSettings(reserve=0.3)).start_margin(case)
    assert Rig(machine, GovernorSettings(least=margin + 1e-6, reserve=0.3)).rejects(case)
    assert not Rig(machine, GovernorSettings(least=margin - 1e-6, reserve=0.3)).rejects(case)


# -- campaign --------------------------------------------------------------------------------------------------------


class Counted(Campaign):
    """A campaign that counts its cases instead of running them."""

    ran = 0

    def _outcomes(self, cases, governed):
        for case in cases:
            self.ran += 1
            yield replace(STABLE, time=case.payload, lifted=not governed)


def test_an_interrupted_campaign_is_resumed(machine, box, tmp_path):
    path, cases = tmp_path / 'runs.jsonl', random_cases(box, 6, seed=1)
    first = Counted(machine, path)
    before = first.run(cases[:4])
    path.write_text(path.read_text() + '{"key": "cut o')
    counts = []
    again = Counted(machine, path, progress=lambda: counts.append(1))
    records = again.run(cases)
    assert (first.ran, again.ran, again.repeated, len(counts)) == (4, 2, 4, 6)
    assert records[:4] == before
    assert [record.outcome.time for record in records] == [case.payload for case in cases]
    assert all(json.loads(line) for line in path.read_text().splitlines())
    assert read_cases(path, box) == cases


@pytest.mark.parametrize(
    'change',
    [
        {'tilt': 'steep'},
        {'refused': 0},
        {'share': float('nan')},
        {'lifted': None},
        {'lift_time': []},
        {'time': 10**400},
        {'more': 1},
    ],
)
def test_a_damaged_run_is_repeated(machine, box, tmp_path, change):
    path, cases = tmp_path / 'runs.jsonl', random_cases(box, 3, seed=1)
    before = Counted(machine, path).run(cases)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[1]['outcome'].update(change)
    path.write_bytes(b'\xff\xfe\n' + b'[' * 50_000 + b'\n' + '\n'.join(map(json.dumps, lines)).encode() + b'\n{"ke')
    again = Counted(machine, path)
    assert again.run(cases) == before
    assert (again.ran, again.repeated) == (1, 2)
    assert not path.read_bytes().endswith(b'{"ke')


def test_a_run_without_governor_or_of_another_machine_is_another_run(machine, box, tmp_path):
    path, cases = tmp_path / 'runs.jsonl', random_cases(box, 2, seed=1)
    Counted(machine, path).run(cases)
    free = Counted(machine, path)
    assert [record.outcome.lifted for record in free.run(cases, governed=False)] == [True, True]
    other = Counted(heavier(machine, 1.05), path)
    other.run(cases)
    assert (free.ran, other.ran) == (2, 2)


def test_a_run_of_another_version_of_the_law_is_repeated(machine, box, tmp_path, monkeypatch):
    path, cases = tmp_path / 'runs.jsonl', random_cases(box, 2, seed=1)
    Counted(machine, path).run(cases)
    monkeypatch.setattr('dyn_nodes.governor.campaign.campaign.code_fingerprint', lambda: 'another')
    again = Counted(machine, path)
    again.run(cases)
    assert (again.ran, again.repeated) == (2, 0)


def test_the_version_of_the_package_is_that_of_its_files(tmp_path, monkeypatch):
    from dyn_nodes.model import fingerprint

    here = fingerprint.code_fingerprint()
    assert here == fingerprint.code_fingerprint.__wrapped__()
    (tmp_path / 'model').mkdir()
    law = tmp_path / 'law.py'
    monkeypatch.setattr(fingerprint, '__file__', str(tmp_path / 'model' / 'fingerprint.py'))
    seen = []
    for text in ('GAIN = 1\n', 'GAIN = 2\n'):
        law.write_text(text)
        seen.append(fingerprint.code_fingerprint.__wrapped__())
    assert len({here, *seen}) == 3


def test_the_worst_run_is_the_one_that_overturned_first():
    case = short()
    outcomes = [
        STABLE,
        replace(STABLE, overturned=True, lifted=True, time=8.0),
        replace(STABLE, lifted=True, share=0.0, tilt=0.2),
        replace(STABLE, overturned=True, lifted=True, time=6.0),
        replace(STABLE, share=0.1),
    ]
    records = [Record(case, True, outcome) for outcome in outcomes]
    assert worst(records, 4) == [records[k] for k in (3, 1, 2, 4)]
    report = summary(records)
    assert (report['runs'], report['overturned'], report['lifted'], report['diverged']) == (5, 2, 3, 0)
    assert report['tilt'] == 0.2
    assert (report['share'], report['lost']) == (0.0, 1)


def test_a_wheel_that_lost_its_load_is_worse_than_any_that_did_not(box):
    """From a low initial share it cannot fall as far as a run that fell and kept its load."""
    lifted = replace(STABLE, lifted=True, share=0.0, begin=0.09)
    lost = replace(STABLE, share=0.0, begin=0.08)
    fell = replace(STABLE, share=0.08, begin=0.9)
    diverged = replace(STABLE, diverged=True)
    records = [Record(short(), True, outcome) for outcome in (fell, lost, STABLE, lifted, diverged)]
    assert [record.outcome for record in worst(records, 4)] == [lifted, diverged, lost, fell]
    assert lost.score < fell.score - 0.5


def test_the_least_share_is_that_of_all_runs_and_not_of_the_one_that_fell_deepest():
    stable, fell = replace(STABLE, share=0.11, begin=0.11), replace(STABLE, share=0.125, begin=0.4)
    records = [Record(short(), True, outcome) for outcome in (stable, fell)]
    assert worst(records, 1)[0].outcome == fell
    assert summary(records)['share'] == 0.11


def test_runs_with_a_rejected_start_are_counted_separately_and_shown_last():
    case, lifted = short(), replace(STABLE, lifted=True, share=0.0, tilt=0.3)
    outcomes = [replace(lifted, refused=True), STABLE, replace(lifted, overturned=True, refused=True)]
    records = [Record(case, True, outcome) for outcome in outcomes]
    report = summary(records)
    assert (report['runs'], report['overturned'], report['lifted'], report['tilt']) == (1, 0, 0, STABLE.tilt)
    assert report['refused_starts'] == {'runs': 2, 'overturned': 1, 'lifted': 2, 'diverged': 0}
    assert worst(records, 3) == [records[k] for k in (1, 2, 0)]


@pytest.mark.slow
def test_several_processes_give_the_result_of_one(machine, box):
    cases = [replace(case, mass=1.0, duration=1.0) for case in random_cases(box, 4, seed=5)]
    with Campaign(machine, jobs=2) as two:
        assert two.run(cases) == Campaign(machine).run(cases)


# -- search ----------------------------------------------------------------------------------------------------------


class Valley:
    """A campaign whose machine is least stable with one lever at its end and too small a payload."""

    def __init__(self, box):
        self.box, self.calls = box, 0

    def run(self, cases):
        self.calls += len(cases)
        return [Record(case, True, replace(STABLE, share=self.share(case))) for case in cases]

    def share(self, case):
        first = case.segments[0][1][0] / self.box.limits[0]
        return 1.0 + 0.3 * first + (case.payload / case.known_payload if case.known_payload else 1.0)


def test_a_search_finds_worse_than_chance_with_the_same_number_of_runs(box):
    records = search(Valley(box), box, 400, SearchSettings(seed=2))
    chance = search(Valley(box), box, 400, SearchSettings(seed=2, smoothing=0.0))
    least, searched = (min(record.outcome.score for record in runs) for runs in (chance, records))
    assert len(records) == len(chance) == 400
    late = np.mean([record.outcome.score for record in records[-200:]])
    assert late < np.mean([record.outcome.score for record in chance]) - 0.2
    assert searched <= least
    assert searched == pytest.approx(1.0 - 0.3 + 0.8 - WELL - STABLE.tilt, abs=0.02)


def test_an_almost_unstable_start_is_not_the_worst_run():
    hardly = replace(STABLE, share=0.1, begin=0.1, tilt=0.0)
    moved = replace(STABLE, share=0.12, begin=0.5, tilt=0.0)
    assert moved.score < hardly.score == 0.0
    assert replace(hardly, share=0.0).score < moved.score, 'it lost its load'
    assert RunOutcome.from_dict(hardly.as_dict()) == hardly


def test_a_search_does_not_move_to_rejected_starts(box):
    class Rejecting(Valley):
        def run(self, cases):
            generation = super().run(cases)
            return [
                replace(record, outcome=replace(record.outcome, refused=record.case.roll > 0.0))
                for record in generation
            ]

    late = search(Rejecting(box), box, 240, SearchSettings(seed=2))[-80:]
    assert sum(record.outcome.refused for record in late) < 20


def test_a_search_moves_to_the_few_starts_that_are_not_rejected(box):
    steep = 0.065

    class Rejecting(Valley):
        def run(self, cases):
            generation = super().run(cases)
            return [
                replace(record, outcome=replace(record.outcome, refused=record.case.roll > -steep))
                for record in generation
            ]

    records = search(Rejecting(box), box, 400, SearchSettings(seed=2))
    counts = [sum(not record.outcome.refused for record in records[k : k + 40]) for k in range(0, 400, 40)]
    assert counts[0] < 15
    assert max(counts) > 30
    assert len(search(Rejecting(box), replace(box, slope=0.0), 80, SearchSettings(seed=2))) == 80, 'all are refused'


def test_a_search_keeps_its_number_of_runs_and_is_repeatable(box):
    first, second = (search(Valley(box), box, 50, SearchSettings(seed=4)) for _ in range(2))
    assert len(first) == 50
    assert first == second


# -- replay ----------------------------------------------------------------------------------------------------------


def test_a_worst_case_is_written_as_a_task_with_the_same_levers(box, tmp_path):
    case = random_cases(box, 1, seed=1)[0]
    record = Record(case, True, replace(STABLE, lifted=True))
    (path,) = write_tasks(tmp_path, 'log_loader', [record], box.levers)
    task = load_voltage_profile(path, box.levers)
    times = np.linspace(0.0, SETTLING + case.duration, 2001)
    profile = lever_profile(case, box.levers)
    assert task.duration == pytest.approx(profile.duration)
    np.testing.assert_allclose(task.evaluate(times, box.levers), profile.evaluate(times, box.levers), atol=1e-2)
    text = task_text('log_loader', record, box.levers, path)
    assert f'governor:=true task:={path} payload:={case.payload:g}' in text
    assert f'slope:={case.pitch:g} cross_slope:={case.roll:g}' in text
    assert 'lifted a wheel' in text
    assert 'dropped' not in text
    troubles = Troubles(drop=3.2, grab=1.2, grabbed=800.0, noise=1.5, jitter=0.5)
    record = replace(record, case=replace(case, troubles=troubles, start=(0.1, -0.5, 2.0)))
    text = task_text('log_loader', record, box.levers, path)
    assert '# the load is dropped 3.2 s after the levers start.' in text
    assert '# 800 kg more are grabbed 1.2 s after the levers start.' in text
    assert '# errors of the sensors: 1.5 times' in text
    assert '# delays are shorter by up to 50 % at times.' in text
    assert '# it starts as far towards joints at 0.1, -0.5, 2 as is certified at rest.' in text


# -- command ---------------------------------------------------------------------------------------------------------


def command(*arguments):
    return governor.run(build_parser(['governor']).parse_args(['governor', 'test', *arguments]))


def test_attacks_react_to_the_machine_and_to_the_governor():
    limits, rest = np.array([8.0, 8.0]), np.full(4, 1e4)
    pump = ATTACKS['pump'](np.array([8.0, -8.0]), 0.02, limits, 1)
    seen = [pump(rest, (0.01 * k, -0.02 * k), np.zeros(2)).tolist() for k in range(3)]
    assert seen == [[8.0, -8.0], [8.0, 8.0], [8.0, 8.0]], 'in phase with roll and pitch rate'
    release = ATTACKS['worst_release'](limits, 1.0, limits, 1)
    shares = (0.0, 0.1, 0.2, 0.22, 0.22)
    thrown = [bool(release(np.array([1.0, 1.0, 1.0, 1.0 - share]), (0.0, 0.0), limits).any()) for share in shares]
    assert thrown == [True, True, True, False, False], 'let go when the wheel does not unload faster any more'
    follow = ATTACKS['follow'](np.array([1.0, -1.0]), 9.0, limits, 1)
    assert follow(rest, (0.0, 0.0), np.array([2.0, -7.5])).tolist() == [3.0, -8.0]
    edge = ATTACKS['swing_edge'](np.array([4.0, 0.0]), 1.0, limits, 1)
    ends = [edge(rest - 100.0 * np.eye(4)[k], (0.0, 0.0), limits)[1] for k in (0, 0, 2, 3)]
    assert ends == [-8.0, -8.0, 8.0, -8.0]
    in_out = ATTACKS['in_out'](limits, 1.0, limits, 1)
    ways = [in_out(rest, (0.0, 0.0), limits if k < 120 else np.zeros(2))[0] for k in range(200)]
    assert [ways[119], ways[125], ways[150]] == [8.0, -8.0, 8.0]
    toggle = ATTACKS['toggle'](limits, 1.0, limits, 1)
    thrown = np.array([toggle(rest, (0.0, 0.0), limits) for _ in range(200)])
    assert 40 < (np.diff(thrown, axis=0) != 0.0).any(axis=1).sum() < 100


def test_a_sample_of_attacks_lifts_no_wheel_and_is_repeatable(rig, box):
    cases = [replace(case, duration=4.0) for case in attack_cases(box, len(ATTACKS), seed=1)]
    assert [case.attack for case in cases] == list(ATTACKS)
    outcomes = [rig.run(case) for case in cases]
    assert not any(outcome.lifted for outcome in outcomes)
    assert any(outcome.let_through < 0.7 for outcome in outcomes), 'the governor intervenes'
    assert rig.run(cases[3]) == outcomes[3]


def test_the_command_prints_counts_and_worst_cases_and_writes_them(tmp_path, capsys):
    words = ['--runs', '1', '--duration', '1', '--nominal', '--jobs', '1', '--out', str(tmp_path), '--json']
    status = command('log_loader', *words)
    report = json.loads(capsys.readouterr().out)
    assert status == (1 if report['lifted'] else 0)
    assert report['runs'] == report['without_governor']['runs'] == len(report['worst']) == 1
    assert report['refused_starts'] == {'runs': 0, 'overturned': 0, 'lifted': 0, 'diverged': 0}
    assert report['repeated'] == 0
    assert (report['worst'][0]['case']['mass'], report['worst'][0]['case']['roll']) == (1.0, 0.0)
    assert Path(report['worst'][0]['task']).is_file()
    assert len((tmp_path / 'runs.jsonl').read_text().splitlines()) == 2
    assert command('log_loader', *words) == status
    assert json.loads(capsys.readouterr().out) == {**report, 'repeated': 2}
    assert len((tmp_path / 'runs.jsonl').read_text().splitlines()) == 2


@pytest.mark.parametrize('word', ['reserve', 'rise', 'least'])
def test_reserves_of_the_governor_can_be_set_by_the_command(word, capsys, monkeypatch):
    seen = []
    monkeypatch.setattr(Rig, 'run', lambda rig, *_: seen.append(rig.settings) or STABLE)
    assert command('log_loader', '--runs', '1', '--only-governed', '--jobs', '1', f'--{word}', '0.21') == 0
    assert seen == [replace(GovernorSettings(), **{word: 0.21})]
    with pytest.raises(CommandError, match=f'--{word}: expected 0 to 0.9, found 1.5'):
        command('log_loader', f'--{word}', '1.5')


@pytest.mark.parametrize(
    ('words', 'settings'),
    [
        ([], {}),
        (
            ['--mass-error', '5', '--payload-error', '30', '--delay', '150'],
            {'mass_error': 0.05, 'payload_error': 0.3, 'delay': 0.15},
        ),
        (['--mass-error', '5', '--unaware'], {}),
        (['--nominal'], {'mass_error': 0.0, 'payload_error': 0.0, 'delay': 0.0}),
    ],
)
def test_the_governor_allows_for_the_errors_that_machines_are_drawn_with(words, settings, monkeypatch):
    seen = []
    monkeypatch.setattr(Rig, 'run', lambda rig, *_: seen.append(rig.settings) or STABLE)
    assert command('log_loader', '--runs', '1', '--only-governed', '--jobs', '1', *words) == 0
    assert asdict(seen[0]) == pytest.approx(asdict(replace(GovernorSettings(), **settings)))


def test_troubles_and_starts_come_from_the_command(box, monkeypatch):
    seen = []
    monkeypatch.setattr(Rig, 'run', lambda rig, case, _: seen.append(case) or STABLE)
    words = ('--runs', '2', '--only-governed', '--jobs', '1')
    troubles = ['--noise', '2', '--drop', '--grab', '900', '--jitter', '80']
    troubles += ['--oil-error', '20', '--suspension-error', '30']
    for more in ((), (*troubles, '--any-start')):
        assert command('log_loader', *words, *more) == 0
    wide = replace(box, troubles=WIDE, any_start=True)
    assert seen == random_cases(box, 2, seed=1) + random_cases(wide, 2, seed=1)
    with pytest.raises(CommandError, match='--noise: expected 0 to 100, found -1'):
        command('log_loader', '--noise', '-1')
    with pytest.raises(CommandError, match='--grab: expected 0 to 100000, found nan'):
        command('log_loader', '--grab', 'nan')


def test_a_campaign_can_be_divided_over_computers(box, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Rig, 'run', lambda *_: STABLE)
    for first in (0, 2):
        words = ('--runs', '2', '--first', str(first), '--jobs', '1', '--only-governed', '--out', str(tmp_path))
        assert command('log_loader', *words, '--json') == 0
        assert json.loads(capsys.readouterr().out)['first'] == first
    assert read_cases(tmp_path / 'runs.jsonl', box) == random_cases(box, 4, seed=1)


def test_the_exit_status_is_1_if_a_specified_case_overturns(capsys, monkeypatch):
    monkeypatch.setattr(Rig, 'run', lambda *_: replace(STABLE, overturned=True, lifted=True))
    words = ('--runs', '0', '--cases', str(FAILURES), '--jobs', '1', '--only-governed')
    assert command('log_loader', *words) == 1
    text = capsys.readouterr().out
    assert 'overturned' in text
    assert 'without governor' not in text


@pytest.mark.parametrize(('overturned', 'status'), [(False, 0), (True, 1)])
def test_a_lifted_wheel_of_a_rejected_start_is_shown_and_only_overturning_is_a_failure(
    overturned, status, box, capsys, monkeypatch
):
    stable = random_cases(box, 1, seed=1)[0]
    outcome = replace(STABLE, overturned=overturned, lifted=True, refused=True)
    monkeypatch.setattr(Rig, 'run', lambda _, case, __: STABLE if case == stable else outcome)
    words = ('--runs', '3', '--jobs', '1', '--only-governed')
    assert command('log_loader', *words, '--json') == status
    report = json.loads(capsys.readouterr().out)
    assert (report['runs'], report['lifted'], report['refused_starts']['lifted']) == (1, 0, 2)
    monkeypatch.setenv('COLUMNS', '200')
    assert command('log_loader', *words) == status
    assert f'2 (2 lifted, {2 * overturned} overturned)' in capsys.readouterr().out


def test_a_test_without_a_certified_start_fails(capsys, monkeypatch):
    monkeypatch.setattr(Rig, 'run', lambda *_: replace(STABLE, refused=True))
    assert command('log_loader', '--runs', '2', '--jobs', '1', '--only-governed') == 1
    assert 'no start is certified' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (
            ['log_loader', '--runs', '0'],
            '--runs 0: expected runs, --search, --attacks, --climbs or --cases, found none',
        ),
        (['log_loader', '--slope', 'nan'], '--slope: expected 0 to 30, found nan'),
        (['log_loader', '--first', '-1'], '--first: expected 0 to .*, found -1'),
        (['log_loader', '--jobs', '0'], '--jobs: expected 1 to 1024, found 0'),
        (['log_loader', '--cases', 'nowhere.jsonl'], '--cases: nowhere.jsonl: No such file'),
        (['arm_a6'], "arm_a6.*'motor_1': expected a hydraulic one, found a dc_motor"),
        (['agv_mecanum_arm'], 'agv_mecanum_arm.*expected actuators that levers move, found none'),
        (['excavator', '--efforts'], 'excavator.*expected efforts of joints without linkages, found boom_pin'),
        (['no_such_machine'], r'no_such_machine\.urdf was not found'),
    ],
)
def test_a_mistake_is_one_line(arguments, message):
    with pytest.raises(CommandError, match=message) as caught:
        command(*arguments)
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize('number', range(3))
def test_the_shock_of_a_joint_stop_does_not_reset_the_ground(rig, box, number):
    outcome = rig.run(read_cases(SHOCKS, box)[number])
    assert not outcome.lifted
    assert outcome.share > 0.1
