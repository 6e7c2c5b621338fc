"""Fixtures of tests with CAN processes: a node of the test, and start and end of processes."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import pytest
from domains import next_domain
from forking import start_module
from harness import end

from dyn_nodes.middleware import RUNTIME, Context, init

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'nodes'))
Tester = importlib.import_module('node_testing').Tester


@pytest.fixture
def tester(monkeypatch):
    """Return a node on a domain shared only with the processes of the test."""
    monkeypatch.setenv('ROS_DOMAIN_ID', str(next_domain()))
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    context = Context()
    init(args=['tester'], context=context)
    yield Tester(context)
    context.try_shutdown()


@pytest.fixture
def start(tmp_path):
    """Start a module with arguments; its output is written to `process_<k>.log` in the directory of the test."""
    started = []

    def start_process(*words):
        environment = {**os.environ, 'DYN_NODES_MIDDLEWARE': RUNTIME}
        module, *words = map(str, words)
        with (tmp_path / f'process_{len(started)}.log').open('w') as log:
            process = start_module(module, words, environment, stdout=log, stderr=log, start_new_session=True)
        started.append(process)
        return process

    yield start_process
    end(*started)
