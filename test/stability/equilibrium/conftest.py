"""Machines of the tests of equilibrium and tipping."""

from __future__ import annotations

import pytest
from gear_cases import machine_of_case

from dyn_nodes.model.machine import Machine


@pytest.fixture(scope='session')
def pivot_crane() -> Machine:
    """A crane of 4.4 t with a rear axle that oscillates within its stops."""
    return machine_of_case('pivot_crane')


@pytest.fixture(scope='session')
def locked_crane() -> Machine:
    """The same crane with the axle locked."""
    return machine_of_case('pivot_crane_locked')
