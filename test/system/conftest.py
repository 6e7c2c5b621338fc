from __future__ import annotations

import pytest
from domains import next_domain
from harness import Probe, Processes


@pytest.fixture
def domain() -> int:
    """Use a separate domain for every test: a killed node stays on its domain until its lease expires."""
    return next_domain()


@pytest.fixture
def processes(domain, tmp_path):
    nodes = Processes(domain, tmp_path)
    yield nodes
    nodes.stop()


@pytest.fixture
def probe(domain):
    listener = Probe(domain)
    yield listener
    listener.close()
