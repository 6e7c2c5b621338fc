"""Emergency stops at every instant of governed runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.cli import build_parser, main
from dyn_nodes.commands import CommandError, governor
from dyn_nodes.governor.campaign import emergency_stops as module
from dyn_nodes.governor.campaign.campaign import Campaign, random_cases, read_cases
from dyn_nodes.governor.campaign.cases import Case, box_of
from dyn_nodes.governor.campaign.emergency_stops import STOPS, Stopped, emergency_stops, released_levers
from dyn_nodes.governor.campaign.governed_run import Rig
from dyn_nodes.governor.settings import JERK, GovernorSettings
from dyn_nodes.simulation.period import PlantDivergedError

GOOD = Stopped(40, 0, 0, 0, 0, 0.2, 1.25, 1.9, False, False)


@pytest.fixture(scope='module')
def rig(machine):
    return Rig(machine)


@pytest.fixture(scope='module')
def worst(machine):
    return read_cases(Path(__file__).with_name('governor_worst.jsonl'), box_of(machine))[:4]


def out(payload=4000.0, duration=1.2, **changes):
    """Return a case with boom and stick out at full lever."""
    return Case(((duration, (-8.0, -8.0, 0.0)),), payload, payload, duration=duration, **changes)


def test_a_plant_that_continues_from_another_moves_the_same(rig):
    trial = rig.trial(out(1000.0), governed=False)
    for levers in trial.levers[:90]:
        trial.step(levers)
    plant, other = trial.plant, rig.trial(out(2000.0, mass=1.1), governed=False).plant
    here = plant.x.copy()
    other = module.Plant(rig.machine, 'hydraulic', 0.01, 5e-4, ())
    module.continue_from(other, plant)
    assert (other.time, other.payload) == (plant.time, plant.payload)
    for _ in range(5):
        other.advance()
    assert np.array_equal(plant.x, here)
    for _ in range(5):
        plant.advance()
    assert np.array_equal(plant.x, other.x)
    assert np.array_equal(plant.outputs(), other.outputs())


def test_without_the_governor_stops_lift_wheels_and_with_it_none(machine):
    rig = Rig(machine, GovernorSettings(reserve=0.12, rise=0.0, least=0.03))
    free, governed = (emergency_stops(rig, out(), governed_, every=0.2) for governed_ in (False, True))
    assert free.stops == governed.stops == 9
    assert free.lost >= 3
    assert free.share == 0.0
    assert (governed.lost, governed.lifted, governed.overturned, governed.unfinished) == (0, 0, 0, 0)
    assert 0.0 < governed.share < 0.35, 'it uses its room'
    assert 0.5 < governed.longest < 4.0


def test_the_run_continues_as_without_stops(rig):
    case = out(2500.0, duration=0.6)
    trial = rig.trial(case)
    outcome = trial.run()
    emergency_stops(rig, case, every=0.1)
    assert np.array_equal(trial.plant.x, rig.plant().x)
    assert rig.run(case) == outcome


def test_delayed_outputs_still_reach_the_valves(rig):
    """A stop with 0.1 s of delay starts later and has a lower share."""
    case = Case(((1.0, (0.0, 0.0, 8.0)),), 1000.0, 1000.0, duration=1.0)
    prompt, late = (emergency_stops(rig, replace(case, command_delay=delay), every=0.75) for delay in (0.0, 0.1))
    assert late.longest > prompt.longest - 0.011


def test_outputs_are_kept_until_measurements_time_out(rig, monkeypatch):
    case = Case(((1.0, (0.0, 0.0, 8.0)),), 1000.0, 1000.0, duration=1.0)
    monkeypatch.setattr(module, 'LEAST_TIME', 0.0)
    longest = [emergency_stops(rig, case, every=0.75, kept=kept).longest for kept in (0.0, 0.04, 0.2)]
    assert longest[0] < longest[1] < longest[2]
    assert longest[2] > longest[0] + 0.1


def test_a_hard_stop_shuts_the_valves_at_once(rig, monkeypatch):
    case = Case(((1.0, (0.0, 0.0, 8.0)),), 1000.0, 1000.0, duration=1.0)
    outputs = []
    give = module.Trial.give
    monkeypatch.setattr(
        module.Trial,
        'give',
        lambda trial, plant, volts: (plant is not trial.plant and outputs.append(volts[2]), give(trial, plant, volts)),
    )
    monkeypatch.setattr(module, 'LEAST_TIME', 0.0)
    steps = []
    for hard in (False, True):
        outputs.clear()
        emergency_stops(rig, case, every=1.2, kept=0.04, hard=hard)
        steps.append(-np.diff(outputs).min())
    assert steps[0] == pytest.approx(rig.settings.rate * 0.01, rel=0.3)
    assert steps[1] > 5.0 * steps[0]


def test_a_governor_that_dies_near_the_border_leaves_the_machine_on_its_wheels(rig, worst):
    """Outputs are kept until the valve driver times out, 0.2 s, then the valves close."""
    outcomes = [emergency_stops(rig, case, every=0.5, kept=0.2, hard=True) for case in worst]
    outcomes = [outcome for outcome in outcomes if not outcome.refused]
    assert sum(outcome.stops for outcome in outcomes) > 60
    assert sum(outcome.lost for outcome in outcomes) == 0
    assert min(outcome.share for outcome in outcomes) < 0.15, 'near the border'


def test_an_aborted_run_and_a_rejected_start_are_recorded(rig, monkeypatch):
    def diverge(*_):
        raise PlantDivergedError('nan')

    steep = out(5987.231, duration=0.2, mass=0.9, roll=0.08051, pitch=0.03367)
    outcome = emergency_stops(rig, steep, every=0.3)
    assert (outcome.ended, outcome.refused) == (False, True)
    monkeypatch.setattr(module.Trial, 'step', diverge)
    outcome = emergency_stops(rig, out(1000.0, duration=0.4))
    assert (outcome.stops, outcome.ended, outcome.refused) == (0, True, False)


def test_a_joint_that_does_not_come_to_rest_is_counted(rig, monkeypatch):
    monkeypatch.setattr(module, 'LONGEST', 0.1)
    assert emergency_stops(rig, out(500.0, duration=0.4), every=0.3).unfinished == 3


def test_a_campaign_of_stops_is_resumed_and_separate_from_runs(machine, tmp_path, monkeypatch):
    path, cases = tmp_path / 'stops.jsonl', random_cases(box_of(machine), 2, seed=1)
    made = []
    kind = replace(STOPS, run=lambda rig, case, governed: made.append(case) or GOOD)
    first = Campaign(machine, path, kind=kind).run(cases)
    assert Campaign(machine, path, kind=kind).run(cases) == first
    assert (len(made), first[0].outcome) == (2, GOOD)
    assert len(json.loads(path.read_text().splitlines()[0])['outcome']) == 10
    with pytest.raises(ValueError, match='no integer'):
        Stopped.from_dict({**GOOD.as_dict(), 'lost': True})
    with pytest.raises(ValueError, match='finite'):
        Stopped.from_dict({**GOOD.as_dict(), 'share': float('inf')})


def command(*words):
    return governor.run(build_parser(['governor']).parse_args(['governor', 'stops', *words]))


@pytest.mark.parametrize('name', ['', 'lost', 'lifted', 'overturned', 'unfinished', 'ended'])
def test_the_exit_status_is_1_if_a_stop_failed(name, monkeypatch, capsys):
    outcome = replace(GOOD, **({name: True if name == 'ended' else 1} if name else {}))
    monkeypatch.setattr(module, 'emergency_stops', lambda *_, **__: outcome)
    assert command('log_loader', '--runs', '3', '--jobs', '1', '--json') == (1 if name else 0)
    report = json.loads(capsys.readouterr().out)
    assert (report['runs'], report['stops'], report['every'], report['share']) == (3, 120, 0.05, 0.2)
    assert command('log_loader', '--runs', '1', '--jobs', '1') == (1 if name else 0)
    assert '0.200' in capsys.readouterr().out


def test_the_exit_status_is_1_if_no_start_is_certified(monkeypatch, capsys):
    monkeypatch.setattr(module, 'emergency_stops', lambda *_, **__: replace(GOOD, refused=True))
    assert command('log_loader', '--runs', '1', '--jobs', '1') == 1
    assert 'no start is certified: nothing was tested' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['log_loader', '--runs', '0'], '--runs: expected 1 to 100000, found 0'),
        (['log_loader', '--every', 'nan'], '--every: expected 0.01 to 60, found nan'),
        (['agv_mecanum_arm'], 'expected actuators that levers move, found none'),
    ],
)
def test_a_mistake_is_one_line(words, message):
    with pytest.raises(CommandError, match=message):
        command(*words)


@pytest.mark.slow
def test_stops_at_every_50_ms_of_ten_runs_keep_all_wheels_down(rig, machine):
    outcomes = [emergency_stops(rig, case) for case in random_cases(box_of(machine), 10, seed=1)]
    assert sum(outcome.stops for outcome in outcomes) == 2100
    assert all((outcome.lost, outcome.unfinished) == (0, 0) for outcome in outcomes)


# -- efforts ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def by_efforts(machine):
    return Rig(replace(machine, actuators=()), GovernorSettings(rate=JERK))


def turning_out(**changes):
    """Return a case with an arm that turns and extends, links of 0.95 of their masses."""
    segments = ((1.2, (-1.5, -0.5, 1.5)), (0.8, (1.0, 0.0, -1.0)))
    return Case(segments, 1000.0, 900.0, mass=0.95, state_delay=0.04, duration=2.0, **changes)


def test_an_arm_without_commands_is_braked_with_its_measurements(by_efforts):
    outcome = released_levers(by_efforts, turning_out(), every=0.5)
    assert outcome.stops == 5
    assert (outcome.lost, outcome.lifted, outcome.overturned, outcome.unfinished) == (0, 0, 0, 0)
    assert not outcome.ended
    assert outcome.share > 0.1
    assert 1.5 <= outcome.longest < 4.0


def test_such_a_stop_continues_the_run(by_efforts):
    """Before the stop the run is the same as without it, and the levers are kept for a while."""
    case = turning_out()
    early, late = (released_levers(by_efforts, case, every=0.5, kept=kept) for kept in (0.0, 0.2))
    assert early.stops == late.stops
    assert early.share != late.share
    outcome = by_efforts.run(case)
    assert released_levers(by_efforts, case, every=0.5, kept=0.2) == late
    assert by_efforts.run(case) == outcome


def test_without_measurements_the_drives_hold_the_joints_in_the_end(by_efforts):
    outcome = emergency_stops(by_efforts, turning_out(), every=0.5)
    assert outcome.stops == 5
    assert (outcome.overturned, outcome.unfinished) == (0, 0)
    assert 1.5 <= outcome.longest < 3.0, 'carried by a model it never rests'


def test_stops_of_efforts_without_the_governor_are_rejected(capsys):
    for words, text in (
        (['--efforts', '--hard'], '--hard: expected no --efforts, because only the governor stops joints'),
        (['--efforts', '--free'], '--free: expected no --efforts, because only the governor stops joints'),
        (['--blind'], '--blind: expected --efforts with it'),
        (['--jerk', '5'], '--jerk: expected --efforts with it'),
    ):
        assert main(['governor', 'stops', 'log_loader', '--runs', '1', *words]) == 2
        assert text in capsys.readouterr().err


@pytest.mark.parametrize('words', [[], ['--blind']])
def test_the_command_stops_efforts(capsys, words):
    code = main(
        ['governor', 'stops', 'log_loader', '--efforts', '--runs', '1', '--every', '3', '--jobs', '1', '--json', *words]
    )
    report = json.loads(capsys.readouterr().out)
    assert (report['runs'], report['stops'], report['blind']) == (1, 4, bool(words))
    assert report['overturned'] == 0
    assert code == (1 if any(report[name] for name in ('lost', 'lifted', 'unfinished', 'ended')) else 0)
