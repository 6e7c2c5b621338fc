from __future__ import annotations

from pathlib import Path

import pytest
from recorded_run import BagOfRun, log_loader, simulate, write_run

from dyn_nodes.analysis.run_record import RunRecord, read_run


@pytest.fixture(scope='session')
def machine():
    return log_loader()


@pytest.fixture(scope='session')
def recovered_run(machine):
    return simulate(machine, recovery=True, duration=24.0)


@pytest.fixture(scope='session')
def recovered_bag(recovered_run, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp('recovered') / 'bag'
    with BagOfRun(path) as bag:
        write_run(bag, *recovered_run)
    return path


@pytest.fixture(scope='session')
def overturned_bag(machine, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp('overturned') / 'bag'
    with BagOfRun(path) as bag:
        write_run(bag, *simulate(machine, recovery=False, duration=24.0))
    return path


@pytest.fixture(scope='session')
def recovered(recovered_bag) -> RunRecord:
    return read_run(recovered_bag)


@pytest.fixture(scope='session')
def overturned(overturned_bag) -> RunRecord:
    return read_run(overturned_bag)
