from __future__ import annotations

import os

import pytest
from harness import Probe, Processes


@pytest.fixture
def domain() -> int:
    return 1 + (os.getpid() * 7 + 3) % 95


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
