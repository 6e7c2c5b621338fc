"""Fixtures of the log-loader: its plants, compiled once for all tests of a package, and the reference run."""

from __future__ import annotations

import pytest
from log_loader_tasks import CONFIG, P3D, URDF, run

from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine
from dyn_nodes.simulation import Settings, System


@pytest.fixture(scope='session')
def machine():
    return load_machine(URDF, CONFIG)


@pytest.fixture(scope='session')
def planar():
    return load_machine(find_resource('urdf/log_loader_planar.urdf'), find_resource('config/log_loader_planar.yaml'))


@pytest.fixture(scope='session')
def system(machine):
    return System(machine)


@pytest.fixture(scope='session')
def effort_system(machine):
    return System(machine, 'effort')


@pytest.fixture(scope='session')
def audited(machine):
    return System(machine, audit=True)


@pytest.fixture(scope='session')
def task(system):
    """Return P3D with recovery, every millisecond."""
    return run(system, P3D, 16.0, spacing=1e-3)


@pytest.fixture(scope='session')
def audited_task(audited):
    return run(audited, P3D, 16.0, spacing=1e-3, settings=Settings(step=2.5e-4))
