"""Loads of the supports over the slew angle, compared with hand statics on hard springs, and their command."""

from __future__ import annotations

import json

import numpy as np
import pytest
from gear_cases import CASES, machine_of_case, stiffened

from dyn_nodes.analysis.support_loads import support_loads
from dyn_nodes.cli import main
from dyn_nodes.model.posture import center_of_mass, initial_positions, link_poses

HARD = 1e5
OUT = {'luff': 0.0, 'extend': 1.3}
PAYLOAD = 400.0


def moment(machine, swing):
    """Return mass, kg, and mass times centre of mass (2,), kg m, of machine and payload."""
    at = {**initial_positions(machine), **OUT, 'swing': swing}
    poses = link_poses(machine.links, machine.joints, at)
    mass, center = center_of_mass(machine.links, poses, None)
    return mass + PAYLOAD, mass * center[:2] + PAYLOAD * poses['hook'][:2, 3]


def test_four_equal_springs_share_the_load_by_the_moments_about_their_middle():
    machine = stiffened(machine_of_case('pivot_crane_locked'), HARD)
    result = support_loads(machine, PAYLOAD, np.pi / 6, OUT)
    assert len(result.swings) == 12
    positions = np.array([[1.0, 0.8], [1.0, -0.8], [-1.0, 0.8], [-1.0, -0.8]])
    for swing, loads in zip(result.swings, result.loads):
        mass, (along, across) = moment(machine, swing)
        shares = mass / 4.0 + along * positions[:, 0] / 4.0 + across * positions[:, 1] / (4.0 * 0.8**2)
        np.testing.assert_allclose(loads, 9.81 * shares, rtol=2e-4, atol=0.5)


def test_a_pivoted_axle_carries_the_same_on_both_sides():
    machine = stiffened(machine_of_case('pivot_crane'), HARD)
    result = support_loads(machine, PAYLOAD, np.pi / 6, OUT)
    for swing, (front_left, front_right, rear_left, rear_right) in zip(result.swings, result.loads):
        mass, (along, across) = moment(machine, swing)
        assert rear_left == pytest.approx(rear_right, rel=1e-3)
        assert rear_left + rear_right == pytest.approx(9.81 * (mass - along) / 2.0, rel=1e-3)
        assert front_left - front_right == pytest.approx(9.81 * across / 0.8, rel=1e-3, abs=5.0)


def command(*words):
    files = str(CASES / 'pivot_crane.urdf'), '--config', str(CASES / 'pivot_crane.yaml')
    return main(['loadchart', *files, *words])


def test_the_command_prints_loads_and_the_tipping_angle(capsys):
    words = '--posture', 'luff=0', '--at', 'extend=1.3', '--swing-step', '45', '--json'
    assert command('--supports', '400', *words) == 0
    shown = json.loads(capsys.readouterr().out)
    machine = machine_of_case('pivot_crane')
    np.testing.assert_allclose(shown['loads'], support_loads(machine, 400.0, np.pi / 4, OUT).loads)
    assert command('--supports', '3000', *words) == 1
    assert None in json.loads(capsys.readouterr().out)['loads'][0]


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (('--supports', '9001'), 'payload: expected 0 to 9000 kg, found 9001'),
        (('--supports', 'nan'), '--supports: expected 0 kg or more, found nan'),
        (
            ('--supports', '1', '--at', 'lift=1'),
            "expected a joint out of axle_pivot, swing, luff, extend, found 'lift'",
        ),
        (('--supports', '1', '--at', 'luff=2'), "joint 'luff': expected 0 to 1.2, found 2"),
        (('--supports', '1', '--at', 'luff'), '--posture: expected NAME=NUMBER, found luff'),
    ],
)
def test_mistakes_are_named(words, message, capsys):
    assert command(*words) != 0
    assert message in capsys.readouterr().err
