"""The log-loader and a few robots, compiled once for all tests."""

from __future__ import annotations

import pytest
from rigid_states import LOG_LOADER, ROOT

from dyn_nodes.model import load_machine
from dyn_nodes.multibody.rigid_body import RigidBodyModel


@pytest.fixture(scope='session')
def log_loader():
    return load_machine(LOG_LOADER, ROOT / 'config' / 'log_loader.yaml')


@pytest.fixture(scope='session')
def rigid(log_loader):
    return RigidBodyModel(log_loader)


@pytest.fixture(scope='session')
def rigid_chain(log_loader):
    return RigidBodyModel(log_loader, 'virtual_chain')
