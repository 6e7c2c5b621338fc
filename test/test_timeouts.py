"""Timeouts grow with the load of the computer."""

from __future__ import annotations

import os

import pytest
import timeouts


@pytest.fixture
def computer(monkeypatch: pytest.MonkeyPatch, tmp_path):
    """Simulate a computer with a number of cores, a mean load and a number of runnable processes."""

    def make(cores: int, mean: float, present: int) -> None:
        monkeypatch.setattr(os, 'sched_getaffinity', lambda _: set(range(cores)), raising=False)
        monkeypatch.setattr(os, 'getloadavg', lambda: (mean, 0.0, 0.0))
        load_file = tmp_path / 'loadavg'
        load_file.write_text(f'{mean} 0.0 0.0 {present}/300 4711\n')
        monkeypatch.setattr(timeouts, 'RUNNABLE', load_file)

    return make


@pytest.mark.parametrize(
    ('cores', 'mean', 'present', 'timeout'),
    [(2, 0.0, 1, 30.0), (2, 8.0, 1, 80.0), (2, 1.0, 12, 120.0), (8, 8.0, 8, 30.0)],
)
def test_a_timeout_is_longer_on_a_busy_computer(computer, cores, mean, present, timeout) -> None:
    computer(cores, mean, present)
    assert timeouts.scaled_timeout(10.0) == pytest.approx(timeout)


def test_without_a_list_of_processes_the_mean_of_the_last_minute_counts(computer, tmp_path, monkeypatch) -> None:
    computer(2, 8.0, 100)
    monkeypatch.setattr(timeouts, 'RUNNABLE', tmp_path / 'nothing')
    assert timeouts.scaled_timeout(1.0) == pytest.approx(8.0)


def test_a_wait_ends_before_pytest_ends_the_test(computer) -> None:
    computer(2, 60.0, 1)
    assert timeouts.scaled_timeout(90.0) == timeouts.LONGEST < 900
    assert timeouts.scaled_timeout(700.0) == 700.0
