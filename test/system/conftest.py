from __future__ import annotations

import pytest
from domains import next_domain
from harness import Probe, Processes


@pytest.fixture
def domain() -> int:
    """A domain of its own for every test: a killed node is remembered on its domain until its lease runs out."""
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
