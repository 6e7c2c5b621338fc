"""The fault campaign itself: a few of its cases, and what it calls a fault."""

from __future__ import annotations

import os

import numpy as np
import pytest

from faults import files, processes
from faults.computer import no_home
from faults.soak import Soak, sample


def test_damaged_files_are_read_without_a_fault():
    outcome = files.run(60, seed=5)
    assert sum(outcome.cases.values()) == 60
    assert outcome.faults == []


def test_equal_cases_are_damaged_equally_and_others_otherwise():
    assert files.case(7, 1) == files.case(7, 1)
    assert len({files.case(number, 1)[2] for number in range(40)}) > 35
    kinds = {files.case(number, 1)[0] for number in range(200)}
    assert kinds == set(files.READERS)


@pytest.mark.parametrize(
    ('code', 'text'), [('while True: pass', 'no end'), ('raise SystemExit(3)', 'the process died')]
)
def test_a_worker_that_hangs_or_dies_is_a_fault_and_the_next_case_follows(monkeypatch, code, text):
    import subprocess
    import sys

    real = subprocess.Popen

    def instead(command, **options):
        return real([sys.executable, '-c', f'print("begin 4 urdf", flush=True)\n{code}'], **options)

    monkeypatch.setattr(files, 'TIME_LIMIT', 5.0)
    monkeypatch.setattr(files.subprocess, 'Popen', instead)
    outcome = files.Outcome()
    assert files._watch_worker(1, 4, 10, outcome) == 5
    assert outcome.faults == [f'case 4, urdf: {text}']


def test_every_node_fails_in_every_way_in_both_modes():
    found = processes.cases()
    assert len(found) == len(set(found)) == len(processes.NODES) * len(processes.ACTIONS) * 2


@pytest.mark.slow
@pytest.mark.parametrize(('node', 'action', 'mode'), [processes.cases()[4], processes.cases()[9]])
def test_a_machine_survives_the_failure_of_a_node(node, action, mode):
    outcome = processes.fail_node(node, action, mode, 1 + (os.getpid() + 70) % 100)
    assert outcome.passed, outcome


@pytest.mark.slow
def test_nothing_needs_a_home_directory():
    assert [outcome.faults for outcome in no_home()] == [[], [], []]


def test_growth_is_found_and_flat_runs_are_flat():
    times = np.arange(100.0).tolist()
    flat = Soak(times, [50.0 + 0.1 * (k % 3) for k in range(100)], [20] * 100, [4] * 100, 0)
    assert flat.flat
    leaking = Soak(times, [50.0 + 0.2 * k for k in range(100)], [20] * 100, [4] * 100, 0)
    assert not leaking.flat
    assert leaking.growth()['memory'] == pytest.approx(0.2 * 49)
    assert not Soak(times, [50.0] * 100, list(range(100)), [4] * 100, 0).flat
    assert not Soak(times, [50.0] * 100, [20] * 100, [4] * 100, 1).flat
    memory, descriptors, threads = sample(os.getpid())
    assert memory > 1.0
    assert descriptors > 2
    assert threads >= 1
