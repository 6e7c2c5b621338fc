"""The fault campaign itself: a few of its cases, and its detection of faults."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from timeouts import scaled_timeout

from dyn_nodes.commands.free_domain import choose_domain
from faults import __main__ as campaign
from faults import calls, files, forks, inputs, processes, starts
from faults.computer import no_home
from faults.processes import ROOT
from faults.report import ITEMS, Row, write
from faults.setups import ACTIONS, ELSEWHERE, SETUPS
from faults.soak import Soak, sample

NODES = ROOT / 'dyn_nodes' / 'nodes'


def test_damaged_files_are_read_without_a_fault():
    outcome = files.run(60, seed=5)
    assert sum(outcome.cases.values()) == 60
    assert outcome.faults == []


def test_equal_cases_are_damaged_equally_and_others_differently():
    assert files.case(7, 1) == files.case(7, 1)
    assert len({files.case(number, 1)[2] for number in range(40)}) > 35
    kinds = {files.case(number, 1)[0] for number in range(200)}
    assert kinds == set(files.READERS)


def test_damaged_inputs_of_commands_are_read_without_a_fault():
    outcome = files.run(24, seed=7, module='faults.inputs')
    assert sum(outcome.cases.values()) == 24
    assert outcome.faults == []


def test_every_kind_of_input_is_damaged_and_faults_of_its_end_are_detected(tmp_path, monkeypatch):
    assert {inputs.case(number, 1)[0] for number in range(200)} == set(inputs.READERS) == set(inputs.texts())
    assert inputs.case(7, 1) == inputs.case(7, 1)
    motors = inputs.texts()['motors'][0].encode()
    assert inputs.examine('motors', motors, tmp_path) == ''

    def warns(path):
        np.float64(1e308) * np.float64(1e308)

    monkeypatch.setitem(inputs.READERS, 'motors', warns)
    assert inputs.examine('motors', motors, tmp_path).startswith('RuntimeWarning: overflow')


@pytest.mark.parametrize('kind', calls.KINDS)
def test_wrong_calls_end_in_results_or_in_the_documented_error(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in range(4):
        assert list(calls.KINDS[kind](random.Random(f'test {number}'))) == []


def test_an_error_without_expectation_is_a_fault(monkeypatch):
    dynamics = mock.Mock()
    dynamics._machine.movable_joints = [1, 2]
    for call in calls.CALLS:
        getattr(dynamics, call).side_effect = ValueError('x')
    monkeypatch.setattr(calls, '_dynamics', lambda name: dynamics)
    (fault,) = calls._library(random.Random(1))
    assert fault.endswith("an error without expectation: 'x'")


def test_the_report_has_the_number_of_cases_of_each_item(tmp_path):
    path = tmp_path / 'faults.md'
    rows = [
        Row('command lines with a mistake', 199),
        Row('wrong launches', 410, ['case 7, base: no end'], '210 base, 200 machines'),
    ]
    write(path, 'a', rows, False)
    lines = path.read_text().splitlines()
    assert '| command lines | command lines with a mistake | all | 199 | fewer than 200 |' in lines
    assert '| bases without driven joints | wrong launches | base | 210 |  |' in lines
    assert '| bases that overturn at their start | wrong launches | overturned | 0 | fewer than 200 |' in lines
    assert len(lines) - lines.index('| guarded item | line | kinds | cases | |') == len(ITEMS) + 2
    write(path, 'b', [Row('command lines with a mistake', 1)], True)
    assert (
        '| command lines | command lines with a mistake | all | 1 | fewer than 200 |' in path.read_text().splitlines()
    )
    assert path.read_text().count('guarded item') == 1


def test_every_item_has_a_step_of_the_campaign():
    args = campaign.arguments([])
    names = {name.rpartition(' ')[0].rpartition(' to')[0].rpartition(' ')[0] for name, _ in campaign.steps(args)}
    assert {line for line, _ in ITEMS.values()} - {'command lines with a mistake'} <= names


def test_a_busy_computer_has_more_time(monkeypatch):
    monkeypatch.setattr(os, 'cpu_count', lambda: 2)
    for load, seconds in ((0.5, 300.0), (2.0, 300.0), (20.0, 3000.0)):
        monkeypatch.setattr(os, 'getloadavg', lambda load=load: (load, 0.0, 0.0))
        assert files.scaled_timeout(300.0) == seconds


@pytest.mark.parametrize(
    ('code', 'text'), [('while True: pass', 'no end'), ('raise SystemExit(3)', 'the process died')]
)
def test_a_worker_that_hangs_or_dies_is_a_fault_and_the_next_case_follows(monkeypatch, code, text):
    real = subprocess.Popen

    def instead(command, **options):
        return real([sys.executable, '-c', f'print("begin 4 urdf", flush=True)\n{code}'], **options)

    monkeypatch.setattr(files, 'TIME_LIMIT', 5.0)
    monkeypatch.setattr(files.subprocess, 'Popen', instead)
    outcome = files.Outcome()
    assert files._watch_worker(1, 4, 10, outcome) == 5
    assert outcome.faults == [f'case 4, urdf: {text}']


def test_every_node_fails_in_every_way():
    cases = [case for setup in SETUPS.values() for case in setup.cases()]
    assert {action for _, action in cases} == set(ACTIONS)
    assert len(cases) == len(ACTIONS) * sum(len(setup.failing) for setup in SETUPS.values())
    assert {name for name, _ in cases} == {path.stem for path in NODES.glob('*_node.py')} - set(ELSEWHERE)
    for setup in SETUPS.values():
        assert set(setup.failing) <= set(setup.nodes)
        names = [processes.case_name(setup, mode, *case) for mode in processes.MODES for case in setup.cases()]
        assert len(set(names)) == len(names)


@pytest.mark.slow
@pytest.mark.parametrize('mode', processes.MODES)
def test_a_machine_survives_the_failure_of_its_controller(mode):
    chosen = [('controller_node', 'stop and continue'), ('controller_node', 'kill and start again')]
    outcomes = list(processes.run(mode, chosen, 1 + (os.getpid() + 70) % 100))
    assert [outcome.faults for outcome in outcomes] == [[], []]


@pytest.fixture
def steps(monkeypatch, tmp_path):
    """Yield two steps that record their runs; the second fails the first time."""
    calls = []

    def first():
        calls.append('first')
        yield campaign.Row('files', 3, [], '2 urdf, 1 task', 1.0)

    def second():
        calls.append('second')
        if calls.count('second') == 1:
            raise KeyboardInterrupt
        yield campaign.Row('files', 2, ['case 4: no end'], '2 urdf', 2.0)
        yield campaign.Row('nodes', 1, [], 'a | b', 3.0)

    monkeypatch.setattr(campaign, 'PROGRESS', tmp_path / 'faults.jsonl')
    monkeypatch.setattr(campaign, 'steps', lambda args: iter([('a', first), ('b', second)]))
    return calls


def test_an_interrupted_campaign_continues(steps, tmp_path, capsys):
    report = tmp_path / 'faults.md'
    with pytest.raises(KeyboardInterrupt):
        campaign.main(['--out', str(report)])
    assert not report.exists()
    assert '[1/2]' in capsys.readouterr().out
    assert campaign.main(['--resume', '--out', str(report)]) == 1
    assert steps == ['first', 'second', 'second']
    lines = report.read_text().splitlines()
    assert '| files | 5 | 1 | 1 task, 4 urdf; case 4: no end | 3 |' in lines
    assert '| nodes | 1 | 0 | a / b | 3 |' in lines
    assert any(line.startswith('Written by `python -m faults`') and '6 cases' in line for line in lines)


def test_chosen_steps_renew_their_lines_of_the_report_and_keep_the_others(steps, tmp_path):
    report = tmp_path / 'faults.md'
    with pytest.raises(KeyboardInterrupt):
        campaign.main([])
    campaign.main(['--resume', '--out', str(report)])
    assert campaign.main(['--only', 'b', '--out', str(report)]) == 1
    assert steps == ['first', 'second', 'second', 'second']
    lines = report.read_text().splitlines()
    assert [line for line in lines if line.startswith('| files')] == ['| files | 2 | 1 | 2 urdf; case 4: no end | 2 |']
    assert '| nodes | 1 | 0 | a / b | 3 |' in lines
    (written,) = (line for line in lines if line.startswith('Written by'))
    assert '`, then `python -m faults --only b`: 3 cases in 0 minutes, 1 faults' in written
    assert campaign.main(['--only', 'a', '--out', str(report)]) == 0
    assert '| files | 3 | 0 | 2 urdf, 1 task | 1 |' in report.read_text().splitlines()
    assert '| nodes | 1 | 0 | a / b | 3 |' in report.read_text().splitlines()
    with pytest.raises(SystemExit, match='--only: expected the name of a step, found c'):
        campaign.main(['--only', 'c'])


def test_a_campaign_is_not_mixed_with_one_of_other_settings(steps):
    with pytest.raises(KeyboardInterrupt):
        campaign.main([])
    with pytest.raises(SystemExit, match='expected the settings'):
        campaign.main(['--resume', '--seed', '2'])
    assert campaign.main([]) == 1
    assert steps == ['first', 'second', 'first', 'second']


def test_a_campaign_has_an_exclusive_domain(steps, monkeypatch):
    seen = []

    def step():
        seen.append(int(os.environ['ROS_DOMAIN_ID']))
        seen.append(choose_domain({}))
        yield campaign.Row('a', 1)

    monkeypatch.setattr(campaign, 'steps', lambda args: iter([('a', step)]))
    monkeypatch.delenv('ROS_DOMAIN_ID')
    assert campaign.main([]) == 0
    assert seen[0] != seen[1]
    assert 'ROS_DOMAIN_ID' not in os.environ


def test_the_campaign_has_all_counts_and_parts():
    names = [name for name, _ in campaign.steps(campaign.arguments([]))]
    assert len(names) == len(set(names))
    assert names[0] == 'damaged files 0 to 499'
    assert 'damaged files 1500 to 1999' in names
    assert {'nodes of log_loader, lockstep', 'nodes of vehicle, realtime', 'simulated clock', 'damaged cache'} <= set(
        names
    )


@pytest.mark.slow
def test_nothing_needs_a_home_directory():
    assert [outcome.faults for outcome in no_home()] == [[], [], []]


def test_growth_is_detected_and_flat_runs_are_flat():
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


def test_a_terminated_soak_ends_its_nodes():
    process = subprocess.Popen([sys.executable, '-m', 'faults.soak', '--composed'], cwd=ROOT)
    nodes = Path(f'/proc/{process.pid}/task/{process.pid}/children')
    try:
        deadline = time.monotonic() + scaled_timeout(60.0)
        while not (children := [int(pid) for pid in nodes.read_text().split()]):
            assert time.monotonic() < deadline, 'no node started'
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(scaled_timeout(60.0)) == 1, 'nothing was measured'
        assert not Path(f'/proc/{children[0]}').exists()
    finally:
        process.kill()
        process.wait()


def test_command_lines_with_a_mistake_get_a_suggestion():
    made = [starts.mistake(number, 7) for number in range(40)]
    assert made == [starts.mistake(number, 7) for number in range(40)]
    (outcome,) = starts.command_lines(40, 7)
    assert outcome.passed, outcome.faults


def test_an_accepted_wrong_command_line_is_a_fault():
    fault = starts.judge_words(starts.Mistake(['cache', '--help'], 'did you mean '))
    assert fault.startswith('cache --help: exit status 0')


@pytest.mark.slow
@pytest.mark.parametrize('part', starts.PARTS[1:], ids=lambda part: part.__name__)
def test_launches_with_a_mistake_end_by_themselves_with_its_message(part):
    faults_by_name = {outcome.name: outcome.faults for outcome in part()}
    assert faults_by_name
    assert not any(faults_by_name.values()), faults_by_name


@pytest.mark.parametrize(('run', 'status', 'text'), [(lambda: 3, 3, ''), (lambda: 1 // 0, 1, 'ZeroDivisionError')])
def test_a_fork_ends_with_its_status_and_output(run, status, text, tmp_path):
    with (tmp_path / 'output').open('w+') as output:
        made = forks.Fork(run, output, dict(os.environ))
        assert made.wait(scaled_timeout(20.0))
        assert made.returncode == status
        assert text in (tmp_path / 'output').read_text()


def test_a_clean_launch_that_should_fail_is_a_fault():
    assert list(starts.problems('over', 0, (0,), 'over')) == []
    assert list(starts.problems('over', 0, (1,), 'tips')) == ['exit status 0', "no 'tips' in the output: 'over'"]


@pytest.mark.slow
@pytest.mark.parametrize('number', range(len(forks.KINDS)))
def test_forked_launches_with_a_mistake_end_by_themselves_with_its_message(number):
    outcome = files.run(number + 1, start=number, module='faults.forks')
    assert outcome.faults == []
