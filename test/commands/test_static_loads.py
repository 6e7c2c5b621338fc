"""Tests of `dyn-nodes check`: static loads of driven joints against effort limits and capacities of actuators."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from dyn_nodes.cli import main

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / 'test' / 'init_cases'
WEIGHT, LEVER, GRAVITY = 20.0 * 9.81, 0.8, 9.81


def check(urdf, config, capsys):
    """Return the warnings of static loads, and the joints by name."""
    assert main(['check', str(urdf), *(['--config', str(config)] if config else []), '--json']) == 0
    report = json.loads(capsys.readouterr().out)
    warnings = [warning for warning in report['warnings'] if 'static load' in warning['expected']]
    return warnings, {joint['name']: joint for joint in report['machine']['joints']}


def written(folder, values):
    path = folder / 'machine.yaml'
    path.write_text(yaml.safe_dump(values))
    return path


def test_a_joint_too_weak_for_its_link_is_named_with_both_numbers(capsys):
    urdf = CASES / 'weak_arm.urdf'
    (warning,), joints = check(urdf, None, capsys)
    assert warning == {
        'file': str(urdf),
        'line': 4,
        'where': 'joint shoulder, limit',
        'expected': 'an effort that holds its static load in the initial posture, 156.96 N m',
        'found': 'at most 60 N m',
    }
    assert joints['shoulder']['static_load'] == {
        'load': pytest.approx(-WEIGHT * LEVER),
        'at_payload_limit': None,
        'least': -60.0,
        'greatest': 60.0,
    }
    assert main(['check', str(urdf)]) == 0
    out = ' '.join(capsys.readouterr().out.split())
    assert 'warning: ' in out
    assert '156.96 N m, found at most 60 N m' in out


def test_static_loads_use_posture_and_payload_of_the_file(tmp_path, capsys):
    """At 1.2 rad the arm's lever is 0.29 m: 56.9 N m without, 85.3 N m with 5 kg at 1.6 m."""
    values = {'initial': {'joint_positions': {'shoulder': 1.2}}}
    assert check(CASES / 'weak_arm.urdf', written(tmp_path, values), capsys)[0] == []
    values['payload'] = {'link': 'arm', 'position': [1.6, 0.0, 0.0], 'mass': 0.0, 'limit': 5.0}
    (warning,), joints = check(CASES / 'weak_arm.urdf', written(tmp_path, values), capsys)
    shares = joints['shoulder']['static_load']
    along = 0.3623577544766736  # cos(1.2)
    assert shares['load'] == pytest.approx(-WEIGHT * LEVER * along)
    assert shares['at_payload_limit'] == pytest.approx(-(WEIGHT * LEVER + 5.0 * GRAVITY * 1.6) * along)
    assert warning['expected'].endswith('56.8757 N m, or 85.3135 N m with the greatest payload, 5 kg')


def test_coupled_links_are_part_of_the_load(tmp_path, capsys):
    urdf = tmp_path / 'lift.urdf'
    urdf.write_text(
        (CASES / 'mimic_lift.urdf').read_text().replace('effort="2000" velocity="0.5"', 'effort="300" velocity="1"')
    )
    assert main(['init', str(urdf), '-o', str(tmp_path / 'lift.yaml')]) == 0
    capsys.readouterr()
    (warning,), joints = check(urdf, tmp_path / 'lift.yaml', capsys)
    assert warning['where'] == 'joint lift, limit'
    assert joints['lift']['static_load']['load'] > 300.0
    assert joints['fold']['static_load'] is None


def test_the_capacity_of_a_cylinder_replaces_the_effort_limit(tmp_path, capsys):
    """With a lower relief pressure of the pump the cylinder cannot hold the boom."""
    values = yaml.safe_load((ROOT / 'config' / 'log_loader.yaml').read_text())
    urdf, config = ROOT / 'urdf' / 'log_loader.urdf', written(tmp_path, values)
    warnings, joints = check(urdf, config, capsys)
    boom = joints['boom_joint']['static_load']
    assert warnings == []
    assert boom['least'] < boom['load'] < boom['greatest']
    supply = values['defaults']['supply']
    supply['relief_pressure'] = 4.0e6
    warnings, joints = check(urdf, written(tmp_path, values), capsys)
    warning = next(warning for warning in warnings if warning['where'] == 'actuators.boom')
    boom = joints['boom_joint']['static_load']
    assert not boom['least'] <= boom['load'] <= boom['greatest']
    assert warning['file'] == str(config)
    assert config.read_text().splitlines()[warning['line'] - 1].strip() == 'boom:'
    assert f'{boom["load"]:.6g} N m' in warning['expected']
    assert warning['found'] == f'{boom["least"]:.6g} to {boom["greatest"]:.6g} N m'


def test_a_payload_that_tips_the_machine_still_loads_the_joint(tmp_path, capsys):
    """1,000 kg at the end of the arm of a machine of 70 kg: 15.7 kN m in addition to the weight of the arm."""
    assert main(['init', str(CASES / 'weak_arm.urdf'), '-o', str(tmp_path / 'init.yaml')]) == 0
    capsys.readouterr()
    values = yaml.safe_load((tmp_path / 'init.yaml').read_text())
    values['payload'] = {'link': 'arm', 'position': [1.6, 0.0, 0.0], 'mass': 0.0, 'limit': 1000.0}
    _, joints = check(CASES / 'weak_arm.urdf', written(tmp_path, values), capsys)
    load = joints['shoulder']['static_load']
    expected = -(WEIGHT * LEVER + 1000.0 * GRAVITY * 1.6)
    assert load['at_payload_limit'] == pytest.approx(expected, rel=1e-3)  # the base leans by 0.3 degrees
