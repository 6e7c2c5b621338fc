from __future__ import annotations

import itertools
import os

import pytest
from harness import Probe, Processes

_NUMBERS = itertools.count(os.getpid() * 7)


@pytest.fixture
def domain() -> int:
    """A domain of its own for every test: a killed node is remembered on its domain until its lease runs out."""
    return 1 + next(_NUMBERS) % 95


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
