"""Machines of test/running_gear, also on harder springs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Machine

CASES = Path(__file__).parent / 'running_gear'


def machine_of_case(name: str, config: str = '') -> Machine:
    """Return a machine of test/running_gear."""
    return load_machine(CASES / f'{name}.urdf', CASES / f'{config or name}.yaml')


def stiffened(machine: Machine, factor: float = 1e4) -> Machine:
    """Return a machine on harder springs."""
    return replace(
        machine, wheels=tuple(replace(wheel, stiffness=factor * wheel.stiffness) for wheel in machine.wheels)
    )
