"""`dyn-nodes monitor payload`: its cases, bounds and rejected arguments."""

from __future__ import annotations

import json

import pytest

from dyn_nodes.analysis.payload_check import PayloadResult, missed, summary
from dyn_nodes.cli import main


def result(error=0.0, **changes):
    values = {'truth': 1000.0, 'deviation': 20.0, 'state': 'observed', 'steps': 0, 'stepped': False}
    values |= {'noticed': None, 'settled': None}
    return PayloadResult(1, 0, error=error, **{**values, **changes})


def test_the_same_seed_gives_the_same_cases_on_one_process_and_on_two(capsys, tmp_path):
    outputs = []
    for jobs in ('1', '2'):
        out = tmp_path / jobs
        main(['monitor', 'payload', '--cases', '3', '--jobs', jobs, '--json', '--out', str(out)])
        lines = (out / 'payload.jsonl').read_text(encoding='utf-8').splitlines()
        outputs.append((json.loads(capsys.readouterr().out), [json.loads(line) for line in lines]))
    assert outputs[0] == outputs[1]
    summed, lines = outputs[0]
    assert summed['cases'] == len(lines) == 3
    assert len({line['truth'] for line in lines}) == 3
    assert max(abs(line['error']) for line in lines) == summed['greatest_error'] < 200.0


def test_steps_of_the_load_are_detected_and_the_exit_status_is_0(capsys):
    assert main(['monitor', 'payload', '--cases', '3', '--jobs', '1', '--steps']) == 0
    assert 'steps of the load noticed' in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize('words', [['--seed', '1'], ['--seed', '1', '--steps']])
def test_a_thousand_cases_keep_the_bounds(capsys, words):
    assert main(['monitor', 'payload', '--cases', '1000', '--jobs', '1', '--json', *words]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report['cases'] == 1000
    assert 0.93 <= report['covered'] <= 0.97 or '--steps' in words
    assert report['within_bound'] >= 0.95
    assert report['noticed'] == report['stepped']


def test_a_payload_that_is_not_observed_does_not_count_among_those_that_are():
    report = summary([result(900.0, state='rated'), result(-70.0)], 6000.0)
    assert (report['greatest_error'], report['greatest_error_observed'], report['rated']) == (900.0, 70.0, 1)
    assert summary([result(900.0, state='rated')], 6000.0)['greatest_error_observed'] is None


def test_unmodelled_errors_are_printed_with_and_without_a_tare(capsys):
    assert main(['monitor', 'payload', '--errors', '--cases', '1', '--json']) == 0
    rows = {(row['wrong'], row['tared']): row for row in json.loads(capsys.readouterr().out)}
    heavy = 'all links 10 % heavier'
    assert rows[heavy, True]['greatest_error'] < 0.5 * rows[heavy, False]['greatest_error']
    assert len(rows) == 16


def test_an_interval_that_is_too_narrow_or_too_wide_misses_its_bound():
    narrow = [result(60.0)] * 10 + [result(10.0)] * 90
    assert missed(summary(narrow, 6000.0), False) == ['interval: expected the truth in 93 to 97 % of the cases']
    wide = [result(1.0)] * 100
    assert 'interval' in missed(summary(wide, 6000.0), False)[0]
    honest = [result(50.0)] * 5 + [result(10.0)] * 95
    assert missed(summary(honest, 6000.0), False) == []
    far = [result(70.0, deviation=60.0)] * 6 + [result(130.0, deviation=60.0)] * 4 + [result(10.0)] * 90
    assert missed(summary(far, 6000.0), False) == ['error: expected at most 1 % of the limit in 95 % of them']


def test_a_step_that_is_noticed_late_or_never_misses_its_bound():
    soon = result(stepped=True, steps=1, noticed=0.1, settled=0.2)
    late, never = result(stepped=True, steps=1, noticed=0.6, settled=0.7), result(stepped=True)
    assert missed(summary([soon], 6000.0), True) == []
    assert missed(summary([soon, late], 6000.0), True) == ['noticed after 0.5 s']
    assert missed(summary([soon, never], 6000.0), True) == ['1 steps not noticed']


@pytest.mark.parametrize(
    ('arguments', 'expected'),
    [
        (['--cases', '0'], '--cases: expected 1 to 1000000, found 0'),
        (['--machine', 'agv_mecanum_arm'], 'expected hydraulic actuators that carry the payload, found none'),
        (['--machine', 'no_such_machine'], 'no_such_machine'),
    ],
)
def test_mistakes_are_reported_in_one_line(capsys, arguments, expected):
    assert main(['monitor', 'payload', *arguments]) != 0
    error = capsys.readouterr().err
    assert expected in error
    assert 'Traceback' not in error
