"""Mappings that allow reading but not commanding: `check` warns of them, and `~/arm` is rejected."""

from __future__ import annotations

import pytest

pytest.importorskip('cantools')

from can_fixtures import changed, line_with, log_loader, with_j1939_commands

from dyn_nodes.can.commandable import obstacles
from dyn_nodes.can.mapping_file import load_mapping

BOOM_POSITION = '  boom_joint: {signal: JointPositions.BoomLength, measures: cylinder_length, max_rate: 3.0}\n'
BOOM_VELOCITY = '  boom_joint: {signal: JointVelocities.BoomSpeed, measures: cylinder_length, max_rate: 30.0}\n'


def without_motion_of_the_boom(folder):
    """Return a mapping with pressures and wheel loads, but without a signal of the motion of the boom."""
    path = changed(folder, 'log_loader.yaml', BOOM_VELOCITY, '')
    path.write_text(path.read_text().replace(BOOM_POSITION, ''))
    return path


def test_the_mapping_of_the_package_has_no_obstacle():
    assert obstacles(log_loader()) == ()


def test_a_commanded_joint_without_measurement_is_an_obstacle_and_a_warning_at_its_command(tmp_path):
    path = without_motion_of_the_boom(tmp_path)
    mapping, warnings = load_mapping(path)
    assert [str(obstacle) for obstacle in obstacles(mapping)] == [
        'commands.boom: expected a signal of the position or velocity of boom_joint, found none'
    ]
    (warning,) = warnings
    assert (warning.line, warning.where) == (line_with(path, 'ValveCommands.BoomVolts'), 'commands.boom')
    assert 'else the bridge cannot be armed' in warning.expected


def test_a_position_alone_shows_the_motion_of_a_joint(tmp_path):
    assert obstacles(load_mapping(changed(tmp_path, 'log_loader.yaml', BOOM_VELOCITY, ''))[0]) == ()


@pytest.mark.parametrize(
    ('identifier', 'kind', 'address'),
    [
        (0x18EF20FE, 'source', '0xFE'),
        (0x18EF20FF, 'source', '0xFF'),
        (0x18FF20FE, 'source', '0xFE'),
        (0x18EFFF27, 'destination', '0xFF'),
        (0x18EFFE27, 'destination', '0xFE'),
    ],
)
def test_a_j1939_command_without_one_sender_and_one_receiver_is_an_obstacle(tmp_path, identifier, kind, address):
    mapping, warnings = load_mapping(with_j1939_commands(tmp_path, identifier))
    (obstacle,) = obstacles(mapping)
    assert obstacle.expected == f'the {kind} address of one control unit in ValveCommands'
    assert obstacle.found == address
    assert [warning.found for warning in warnings] == [address]


@pytest.mark.parametrize('identifier', [0x18EF2027, 0x18FFFF27, 0x18FFFE27])
def test_a_j1939_command_of_one_sender_is_no_obstacle(tmp_path, identifier):
    assert obstacles(load_mapping(with_j1939_commands(tmp_path, identifier))[0]) == ()
