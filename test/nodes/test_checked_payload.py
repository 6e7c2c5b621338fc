"""One check of a payload's mass for all nodes."""

from __future__ import annotations

import inspect
import math
from pathlib import Path

import pytest

from dyn_nodes import nodes
from dyn_nodes.nodes.machines import checked_payload, machine_of
from dyn_nodes.nodes.parameters import ParameterError


def test_a_mass_from_nothing_to_the_limit_is_returned():
    machine = machine_of('log_loader', '')
    assert checked_payload(machine, 0.0) == 0.0
    assert checked_payload(machine, machine.payload.limit) == machine.payload.limit


@pytest.mark.parametrize('mass', [-1.0, math.nan, math.inf, -math.inf, 1e6])
def test_another_mass_is_rejected_with_the_expected_range(mass):
    with pytest.raises(ParameterError, match=r'payload: expected 0 to \d+ kg, found'):
        checked_payload(machine_of('log_loader', ''), mass)


def test_a_machine_without_a_mount_carries_nothing():
    with pytest.raises(ParameterError, match='no payload mount'):
        checked_payload(machine_of('car', ''), 0.0)


def test_no_node_checks_masses_by_itself():
    directory = Path(inspect.getfile(nodes)).parent
    checking = [path.name for path in directory.glob('*.py') if 'has no payload mount' in path.read_text()]
    assert checking == ['machines.py']
