"""The governor of efforts under its adversary: the log-loader without oil, levers that command accelerations."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.governor.campaign.campaign import random_cases
from dyn_nodes.governor.campaign.cases import ACCELERATION, Case, box_of
from dyn_nodes.governor.campaign.governed_run import Rig
from dyn_nodes.governor.settings import JERK, GovernorSettings
from dyn_nodes.governor.stop_model import STEP_TIME
from dyn_nodes.model import load_machine

RUNS = 8
LIGHT_RUNS = 15
LIGHT = [Path(__file__).with_name(f'mobile_arm.{kind}') for kind in ('urdf', 'yaml')]
"""A mobile manipulator of 54.5 kg for up to 7 kg at an arm of 1 m."""
MARGIN = 0.686
"""Least share of its wheels at rest with 5 kg, of all machines of the box: `Rig.start_margin` on soft wheels."""


@pytest.fixture(scope='module')
def arm(machine):
    """The machine with joints commanded by efforts."""
    return replace(machine, actuators=())


@pytest.fixture(scope='module')
def rig(arm):
    return Rig(arm, GovernorSettings(rate=JERK))


@pytest.fixture(scope='module')
def outcomes(arm, rig):
    """Outcomes with and without the governor."""
    cases = random_cases(box_of(arm, efforts=True), RUNS, seed=1)
    return [rig.run(case) for case in cases], [rig.run(case, governed=False) for case in cases]


def test_levers_are_accelerations_of_the_joints_with_a_limited_effort(arm):
    box = box_of(arm, efforts=True)
    assert box.levers == ('swing_joint', 'boom_joint', 'stick_joint')
    assert box.limits == (ACCELERATION,) * 3


def test_no_wheel_lifts_with_the_governor_and_most_runs_lift_one_without(outcomes):
    governed, free = outcomes
    accepted = [run for run in governed if not run.refused]
    assert len(accepted) >= 0.8 * RUNS
    assert not any(run.lifted or run.overturned or run.diverged or run.lost for run in accepted)
    assert sum(run.lifted for run in free) >= 0.8 * RUNS
    assert sum(run.overturned for run in free) >= 0.5 * RUNS
    assert np.mean([run.let_through for run in accepted]) > 0.1


def test_levers_of_a_search_that_lifted_a_wheel_lift_none(rig):
    """Links of 0.9 of their masses turn and extend, and the stick reaches its limit in this motion."""
    segments = (
        (1.8166, (-2.339, -0.4911, 2.6233)),
        (0.8822, (-0.3536, -0.2048, -1.9249)),
        (1.5, (0.0, 0.0, 0.0)),
    )
    case = Case(
        segments,
        payload=0.0,
        known_payload=0.0,
        mass=0.9,
        roll=-0.00442,
        pitch=-0.03065,
        state_delay=0.0821,
        command_delay=0.0111,
        duration=4.2,
    )
    outcome = rig.run(case)
    assert not outcome.refused
    assert outcome.share > 0.05


@pytest.mark.slow
def test_a_light_machine_also_stays_on_its_wheels_with_the_governor():
    """Its payload may err by a fifth, which changes its braking more than on a heavy machine."""
    machine = load_machine(*LIGHT)
    cases = random_cases(box_of(machine, efforts=True, delay=0.03), LIGHT_RUNS, seed=1)
    rig = Rig(machine, GovernorSettings(rate=20.0, delay=0.03))
    governed, free = [[rig.run(case, run) for case in cases] for run in (True, False)]
    assert not any(run.refused for run in governed)
    assert not any(run.lifted or run.diverged or run.lost for run in governed)
    assert sum(run.lifted for run in free) >= 0.5 * LIGHT_RUNS
    assert np.mean([run.let_through for run in governed]) > 0.5


def test_a_run_does_not_depend_on_those_before_it(arm, rig, outcomes):
    case = random_cases(box_of(arm, efforts=True), RUNS, seed=1)[4]
    assert rig.run(case) == outcomes[0][4]


def test_a_joint_without_an_effort_limit_is_rejected_by_name(machine):
    joints = tuple(
        replace(joint, effort_limit=np.inf) if joint.name == 'boom_joint' else joint for joint in machine.joints
    )
    arm = replace(machine, actuators=(), joints=joints)
    with pytest.raises(ValueError, match=r'expected an effort limit of every driven joint, found none for boom_joint'):
        box_of(arm, efforts=True)


def test_the_command_runs_it(capsys):
    from dyn_nodes.cli import main

    args = ['governor', 'test', 'log_loader', '--efforts', '--runs', '1', '--duration', '2', '--jobs', '1', '--json']
    assert main([*args, '--only-governed']) == 0
    report = json.loads(capsys.readouterr().out)
    assert report['levers'] == ['swing_joint', 'boom_joint', 'stick_joint']
    assert report['runs'] + report['refused_starts']['runs'] == 1


def test_a_governor_of_efforts_brings_nothing_down_by_itself(capsys):
    from dyn_nodes.cli import main

    assert main(['governor', 'test', 'log_loader', '--efforts', '--bring-down']) == 2
    assert '--bring-down: expected no --efforts' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('words', 'text'),
    [
        (['--jerk', '20'], '--jerk: expected --efforts with it, found none'),
        (['--efforts', '--jerk', '0'], '--jerk: expected 0.1 to 10000, found 0'),
    ],
)
def test_a_jerk_belongs_to_efforts_and_is_within_its_bounds(words, text, capsys):
    from dyn_nodes.cli import main

    assert main(['governor', 'test', 'log_loader', *words]) == 2
    assert text in capsys.readouterr().err


@pytest.mark.parametrize('factor', [1.0, 10.0, 100.0])
def test_the_margin_at_rest_does_not_depend_on_the_stiffness_of_the_wheels(factor):
    """A light base on hard wheels rocks within a step of the prediction, whose margin must not diverge."""
    machine = replace(load_machine(*LIGHT), actuators=())
    hard = tuple(replace(wheel, stiffness=factor * wheel.stiffness) for wheel in machine.wheels)
    rig = Rig(replace(machine, wheels=hard), GovernorSettings(rate=JERK))
    case = Case(((1.0, (0.0,) * len(rig.effects.names)),), 5.0, 5.0, duration=1.0)
    margin, norm = rig.start_margin(case), rig.partner(True).stops.rocking[0]
    assert margin == pytest.approx(MARGIN, abs=0.01)
    assert (norm > 2.0 / STEP_TIME) == (factor > 1.0), 'explicit steps diverge'
