"""Processor time of nodes: windows between instants, median against the bar of the exchange, the start apart."""

from __future__ import annotations

import os
import time

import pytest

from benchmarks import cpu_cost
from benchmarks.cpu_cost import Cost, processor_time, row


def test_processor_time_is_the_one_of_the_process() -> None:
    end = time.process_time() + 0.05
    while time.process_time() < end:
        pass
    assert processor_time(os.getpid()) == pytest.approx(time.process_time(), abs=2.5 * cpu_cost.TICK)


def test_a_line_has_the_median_of_the_windows_and_the_start_is_not_in_it() -> None:
    windows = [{'dynamics': value, 'controller': 0.1} for value in (0.2, 0.9, 0.3)]
    line, passed = row('embedded', False, 0.005, Cost(40.0, 0.006, windows), 0.45)
    assert passed
    columns = [column.strip() for column in line.split('|')]
    assert columns[8] == '6.0'
    assert columns[1:7] == ['embedded', 'a process each', '5', '0.400 (0.300 to 1.000)', '0.45: pass', '40.0']
    assert row('embedded', False, 0.005, Cost(0.0, 0.0, windows), 0.399)[1] is False
    assert row('embedded', False, 0.005, Cost(0.0, 0.0, windows), None)[1] is True


def test_only_the_bars_of_rclpy_at_their_period_are_taken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(cpu_cost, 'run', lambda *_: Cost(1.0, 0.0, [{'dynamics': 0.3}]))
    monkeypatch.setattr('sys.argv', ['cpu_cost', '--runtimes', 'rclpy', 'embedded', '--exchange', '0.005', '0.001'])
    assert cpu_cost.main() == 1
    verdicts = [line.split('|')[5].strip() for line in capsys.readouterr().out.splitlines()[2:]]
    assert verdicts == ['0.25: fail', '', '0.45: pass', '', '', '', '', '']
