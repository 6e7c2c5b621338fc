"""A DBC whose checks would take minutes is rejected within seconds; line breaks between statements do not matter."""

from __future__ import annotations

import time

import pytest

pytest.importorskip('cantools')

from dyn_nodes.can import dbc
from dyn_nodes.model.problems import Report

HEAD = 'VERSION ""\nNS_ :\nBS_:\nBU_: A\n'


def problems_of(tmp_path, text):
    path = tmp_path / 'a.dbc'
    path.write_text(HEAD + text)
    report = Report('a.dbc')
    assert dbc.read_dbc(path, report) is None
    return [str(problem) for problem in report.problems]


def message(number, count, signal):
    lines = [signal.format(j=j, bit=j % 500) for j in range(count)]
    return f'BO_ {number} M{number}: 64 A\n' + ''.join(f' SG_ {line}\n' for line in lines) + '\n'


ZERO = 'S{j} : {bit}|1@1+ (0,0) [0|0] "" A'
MULTIPLEXED = 'S{j} m{j} : 16|8@1+ (1,0) [0|0] "" A'


@pytest.mark.parametrize('join', [str, lambda text: ' '.join(text.split())], ids=['lines', 'one line'])
def test_signals_of_a_message_are_bounded(tmp_path, join):
    problems = problems_of(tmp_path, join(message(1, 2001, MULTIPLEXED)))
    assert problems == ['a.dbc:5: message: expected at most 2000 signals, found more']


def test_pairs_of_signals_are_bounded(tmp_path):
    problems = problems_of(tmp_path, ''.join(message(k, 2000, MULTIPLEXED) for k in range(11)))
    assert len(problems) == 1
    assert 'signal: expected at most 20000000 pairs of signals within the messages, found more' in problems[0]


def test_sizes_are_checked_at_any_position_of_a_statement(tmp_path):
    text = 'BO_ 1 M: 8 A SG_ S : 0|100000@1+ (1,0) [0|0] "" A BO_ 1 N: 1000000000 A SG_MUL_VAL_ 1 S M 0-99999999;'
    problems = problems_of(tmp_path, text)
    assert [line.split(': expected')[0] for line in problems] == [
        'a.dbc:5: signal S', 'a.dbc:5: message N', 'a.dbc:5: message N', 'a.dbc:5: SG_MUL_VAL_'
    ]  # fmt: skip


def test_the_time_of_the_checks_grows_with_the_size_of_the_file(tmp_path):
    """Regression: each error searched for its line in the whole file."""
    text = HEAD + ''.join(message(k, 300, ZERO) for k in range(30))
    database = _database(text)
    report = Report('a.dbc')
    since = time.thread_time()
    dbc._check_numbers(database, text, report)
    assert time.thread_time() - since < 2.0
    assert len(report.problems) == dbc.MOST_SHOWN
    assert str(report.problems[0]) == (
        'a.dbc:6: signal M0.S0: expected a finite factor other than 0, and a finite offset, found (0,0)'
    )


def _database(text):
    from cantools.database import load_string

    return load_string(text, 'dbc')
