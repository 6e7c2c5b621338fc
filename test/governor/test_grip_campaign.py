"""The adversary of the grip governor: its cases, its rejections, and that wheels hold with the governor."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.cli import main
from dyn_nodes.control.wheel_drive import DriveLimits
from dyn_nodes.governor.campaign import grip_campaign
from dyn_nodes.governor.campaign.grip_campaign import GripBox, GripOutcome, random_case, run_case
from dyn_nodes.governor.grip_model import GripModel
from dyn_nodes.governor.settings import GripSettings
from dyn_nodes.nodes.machines import machine_of

BOX = GripBox(DriveLimits(1.5, 2.0, 5.0, 10.0), 2.0)
COMMAND = replace(BOX, slope=math.radians(5.0))
"""Cases of `dyn-nodes contact drive agv_mecanum_arm`."""


def test_a_case_is_the_same_for_a_number_and_within_the_limits():
    machine = machine_of('agv_mecanum_arm', '')
    cases = [random_case(machine, BOX, 1, number) for number in range(30)]
    assert random_case(machine, BOX, 1, 7) == cases[7]
    assert len(set(cases)) == 30
    twists = np.array([twist[1:] for case in cases for twist in case.twists])
    assert (np.abs(twists) <= [1.5, 1.5, 2.0]).all()
    assert (np.abs(twists).max(axis=0) > [1.2, 1.2, 1.6]).all()
    assert all(0.0 <= case.payload <= 8.0 and 1 <= len(case.arm) <= 5 for case in cases)
    sideways = [twist[2] for number in range(5) for twist in random_case(machine_of('car', ''), BOX, 1, number).twists]
    assert not any(sideways), 'a car does not go sideways'


@pytest.mark.parametrize(
    ('words', 'text'),
    [
        (['agv_mecanum', '--runs', '0'], '--runs: expected 1 to 100000, found 0'),
        (['agv_mecanum', '--first', '-1'], '--first: expected 0 to 100000, found -1'),
        (['agv_mecanum', '--speed', 'nan'], '--speed: expected 0.01 to 1000, found nan'),
        (['agv_mecanum', '--period', '1'], '--period: expected 0.0005 to 0.1, found 1'),
        (['agv_mecanum', '--slope', '60'], '--slope: expected 0 to 45 degrees, found 60'),
        (['excavator'], 'excavator: expected wheels, found'),
        (['four_bar'], 'the machine has no rolling wheels'),
    ],
)
def test_an_impossible_drive_is_reported_in_one_line(words, text, capsys):
    assert main(['contact', 'drive', *words]) in (1, 2)
    errors = capsys.readouterr().err
    assert text in errors
    assert len(errors.splitlines()) == 1


def test_a_campaign_can_be_divided_over_computers(monkeypatch, tmp_path):
    outcome = GripOutcome(False, False, False, 0.5, 0.5, 1.0, 1.0, 1.0, 0, 1)
    seen = []
    monkeypatch.setattr(grip_campaign, 'run_case', lambda machine, case, box, settings: seen.append(case) or outcome)
    assert main(['contact', 'drive', 'agv_mecanum', '--first', '5', '--runs', '2', '--out', str(tmp_path)]) == 0
    assert [json.loads(line)['number'] for line in (tmp_path / 'drive.jsonl').read_text().splitlines()] == [5, 6]
    machine = machine_of('agv_mecanum', '')
    assert seen[::2] == [random_case(machine, COMMAND, 1, number) for number in (5, 6)]


def test_a_wheel_slides_without_load_compensation_and_not_with_it(monkeypatch):
    machine = machine_of('agv_mecanum_arm', '')
    case = random_case(machine, BOX, 1, 74)
    monkeypatch.setattr(grip_campaign, 'COMING', 4)  # with more postures this run holds either way
    outcome = run_case(machine, case, BOX, GripSettings())
    monkeypatch.setattr(GripModel, 'planar', lambda *_: np.full(3, np.nan))
    unknown = run_case(machine, case, BOX, GripSettings())
    assert unknown.slid
    assert unknown.friction_use > 0.93
    assert not outcome.slid
    assert not outcome.lifted
    assert outcome.friction_use < 0.85
    assert outcome.led > 0.95 * unknown.led, 'not by standing still'


@pytest.mark.parametrize('number', [529, 801, 852, 1069, 1240])
def test_wheels_hold_in_runs_in_which_one_slid_with_four_postures_of_the_arm(number):
    machine = machine_of('agv_mecanum_arm', '')
    outcome = run_case(machine, random_case(machine, COMMAND, 1, number), COMMAND, GripSettings())
    assert not outcome.slid
    assert not outcome.lifted


def test_a_wheel_slides_if_postures_of_the_arm_are_missed(monkeypatch):
    machine = machine_of('agv_mecanum_arm', '')
    case = random_case(machine, COMMAND, 1, 529)
    monkeypatch.setattr(grip_campaign, 'COMING', 4)
    assert run_case(machine, case, replace(COMMAND, seconds=1.55), GripSettings()).slid


def test_wheels_hold_if_the_motors_of_the_arm_are_too_weak_for_a_trajectory():
    """With 6.8 kg two joints of the arm would need up to 1.9 times their limits, and the arm would leave its path."""
    machine = machine_of('platform_4x4x4_arm', '')
    outcome = run_case(machine, random_case(machine, COMMAND, 1, 15), COMMAND, GripSettings())
    assert not outcome.lifted
    assert not outcome.slid
    assert outcome.way > 1.0, 'not by standing still'


@pytest.mark.slow
def test_no_wheel_lifts_or_slides_with_the_governor_in_runs_that_fail_without(capsys):
    assert main(['contact', 'drive', 'agv_mecanum_arm', '--runs', '2', '--json']) == 0
    report = json.loads(capsys.readouterr().out)
    assert report['without']['lifted'] == 2
    assert report['governed']['lifted'] == report['governed']['slid'] == report['governed']['overturned'] == 0
    assert report['governed']['least_load_share'] > 0.0
    assert report['governed']['way'] > 0.4 * report['without']['way']
