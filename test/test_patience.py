"""Limits of time grow with the load."""

from __future__ import annotations

import os

import patience
import pytest


@pytest.fixture
def computer(monkeypatch: pytest.MonkeyPatch, tmp_path):
    """Make a computer with so many cores, a mean load and processes that want to run now."""

    def make(cores: int, mean: float, present: int) -> None:
        monkeypatch.setattr(os, 'sched_getaffinity', lambda _: set(range(cores)), raising=False)
        monkeypatch.setattr(os, 'getloadavg', lambda: (mean, 0.0, 0.0))
        told = tmp_path / 'loadavg'
        told.write_text(f'{mean} 0.0 0.0 {present}/300 4711\n')
        monkeypatch.setattr(patience, 'RUNNABLE', told)

    return make


@pytest.mark.parametrize(
    ('cores', 'mean', 'present', 'limit'),
    [(2, 0.0, 1, 30.0), (2, 8.0, 1, 80.0), (2, 1.0, 12, 120.0), (8, 8.0, 8, 30.0)],
)
def test_a_limit_is_long_on_a_busy_computer(computer, cores, mean, present, limit) -> None:
    computer(cores, mean, present)
    assert patience.patience(10.0) == pytest.approx(limit)


def test_without_a_list_of_processes_the_mean_of_the_last_minute_counts(computer, tmp_path, monkeypatch) -> None:
    computer(2, 8.0, 100)
    monkeypatch.setattr(patience, 'RUNNABLE', tmp_path / 'nothing')
    assert patience.patience(1.0) == pytest.approx(8.0)


def test_a_wait_ends_before_pytest_ends_the_test(computer) -> None:
    computer(2, 60.0, 1)
    assert patience.patience(90.0) == patience.LONGEST < 900
    assert patience.patience(700.0) == 700.0
