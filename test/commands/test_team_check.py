"""Tests of `dyn-nodes check` for teams."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from dyn_nodes.cli import main
from dyn_nodes.common.share import find_resource
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.teams import load_team
from dyn_nodes.teams.team_check import held_forces

BAR = find_resource('config/teams/team_bar.yaml')


def test_check_prints_robots_objects_and_grasps(capsys):
    assert main(['check', str(BAR)]) == 0
    text = capsys.readouterr().out
    assert text.startswith('team team_bar')
    for part in (
        'left 223.0, right 223.0, caster 300.5',
        'bar/right',
        '0.000, 0.000, 5.886',
    ):
        assert part in text
    assert '-0.0' not in text
    assert 'assumed' not in text
    assert text.rstrip().endswith('no problems')


def test_unspecified_friction_is_assumed(tmp_path, capsys):
    text = find_resource('config/rm_1.yaml').read_text()
    (tmp_path / 'rm.yaml').write_text(re.sub(r', friction: {.*}}', '}', text))
    file = tmp_path / 'team.yaml'
    file.write_text(BAR.read_text().replace('machine: rm_1', 'machine: rm_1, config: rm.yaml'))
    assert main(['check', str(file)]) == 0
    assert 'friction 0.7 is assumed of wheels that roll by constraint' in capsys.readouterr().out


def test_json_of_check_contains_the_team(capsys):
    assert main(['check', str(BAR), '--json']) == 0
    result = json.loads(capsys.readouterr().out)
    assert result['valid'] is True
    left = result['robots']['left']
    assert left['mass'] == pytest.approx(75.5, abs=1e-5)
    # tanner-1998, 6.8, carry at 0 s: wheels of a milligram are the source's but for 1e-5 N
    forces = [left['ground']['normal_forces'][wheel] for wheel in ('left', 'right', 'caster')]
    drive, castor = tabulated('tanner-1998/6.8/carry')[4][:2]
    assert forces == pytest.approx([drive, drive, castor], abs=5e-5)
    assert left['ground']['margin'] == pytest.approx(drive, abs=1e-3)
    assert left['ground']['robust'] is True
    assert result['grasps']['right_end']['force'] == pytest.approx([0.0, 0.0, 5.886], abs=1e-9)
    assert result['objects']['bar']['mass'] == pytest.approx(1.2)


@pytest.mark.parametrize('option', [(), ('--json',)])
def test_faults_of_a_team_are_printed_and_the_status_is_one(tmp_path, capsys, option):
    file = tmp_path / 'team.yaml'
    file.write_text(BAR.read_text().replace('patch: left', 'patch: lft'))
    assert main(['check', str(file), *option]) == 1
    output = capsys.readouterr()
    text = output.out if option else output.err
    assert 'grasps.left_end.patch' in text
    assert ('"valid": false' in text) if option else text.endswith('1 problem\n')


def test_a_weak_hold_is_a_warning(tmp_path, capsys):
    file = tmp_path / 'team.yaml'
    file.write_text(BAR.read_text().replace('patch: left', 'patch: left, holding_force: 5.0'))
    assert main(['check', str(file)]) == 0
    assert 'warning: left_end slips off at rest: it holds 0.886 N less' in capsys.readouterr().out


def test_hands_carry_the_plate_of_finite_elements_by_shares():
    team = load_team('team_plate')
    hands = np.array([grasp.position for grasp in team.grasps_on('plate')])
    forces = held_forces(team.objects['plate'], hands, np.array([0.0, 0.0, -9.81]))
    np.testing.assert_allclose(forces, np.tile([0.0, 0.0, 2.4 * 9.81 / 4.0], (4, 1)), atol=1e-8)
    moved = hands + np.array([(0.01, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)])
    other = held_forces(team.objects['plate'], moved, np.array([0.0, 0.0, -9.81]))
    np.testing.assert_allclose(other.sum(axis=0), [0.0, 0.0, 2.4 * 9.81], atol=1e-8)
    assert np.abs(other - forces).max() > 1.0
