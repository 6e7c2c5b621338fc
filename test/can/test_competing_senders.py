"""Competing senders of the commands of a bridge: by identifier, in J1939 by group, destination and source address."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip('cantools')

from can_fixtures import log_loader, with_j1939_commands

from dyn_nodes.can.competing import CompetingSenders
from dyn_nodes.can.mapping_file import load_mapping

COMMANDS = 0x18EF2027
"""Identifier of the group Proprietary A from control unit 0x27 to 0x20."""


def j1939(folder: Path, identifier: int = COMMANDS) -> CompetingSenders:
    """Return the competing senders of a bus whose commands are a parameter group."""
    return CompetingSenders(load_mapping(with_j1939_commands(folder, identifier))[0].commands)


def test_an_identifier_of_a_command_counts_until_the_timeout_of_its_message():
    competing = CompetingSenders(log_loader().commands)
    assert competing.fault(0.0) == ''
    competing.take(0x200, True, 0.0)
    competing.take(0x201, False, 0.0)
    assert competing.fault(0.0) == '', 'other frames'
    competing.take(0x200, False, 5.0)
    assert competing.fault(5.1) == 'another control unit sends ValveCommands'
    assert competing.fault(5.11) == ''


def test_a_parameter_group_counts_from_any_source_at_any_priority_and_to_one_destination(tmp_path):
    competing = j1939(tmp_path)
    for harmless in (0x18EF2127, 0x18EEFF28, 0x18FF2027):
        competing.take(harmless, True, 0.0)
    competing.take(COMMANDS & 0x7FF, False, 0.0)
    assert competing.fault(0.0) == ''
    competing.take(0x0CEF2033, True, 0.0)
    assert competing.fault(0.0) == 'another control unit sends ValveCommands from source address 0x33'
    competing.take(COMMANDS, True, 1.0)
    assert competing.fault(1.0) == 'another control unit sends ValveCommands from source address 0x27'


def test_a_frame_to_all_control_units_counts_as_one_to_the_machine(tmp_path):
    competing = j1939(tmp_path)
    competing.take(0x0CEFFF33, True, 0.0)
    assert competing.fault(0.0) == 'another control unit sends ValveCommands from source address 0x33'


def test_a_claim_of_the_source_address_counts(tmp_path):
    competing = j1939(tmp_path)
    competing.take(0x18EEFF27, True, 0.0)
    assert competing.fault(0.0) == 'another control unit claims source address 0x27 of ValveCommands'


def test_no_unit_claims_the_address_of_a_message_that_any_control_unit_may_send(tmp_path):
    competing = j1939(tmp_path, 0x18EF20FE)
    competing.take(0x18EEFFFE, True, 0.0)
    assert competing.fault(0.0) == ''
    competing.take(0x18EF2033, True, 0.0)
    assert 'source address 0x33' in competing.fault(0.0)
