"""The sum of a campaign that was divided between several calls."""

from __future__ import annotations

import contextlib
import io
import json

import pytest

from dyn_nodes.cli import main


@pytest.fixture(scope='module')
def report():
    """The report of one short run."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        words = 'governor test log_loader --runs 1 --duration 1 --seed 5 --jobs 1 --json'
        assert main(words.split()) == 0
    return json.loads(out.getvalue())


@pytest.fixture
def summed(tmp_path, capsys):
    def call(*reports, options=()):
        paths = [tmp_path / f'{number}.json' for number in range(len(reports))]
        for path, report_ in zip(paths, reports):
            path.write_text(report_ if isinstance(report_, str) else json.dumps(report_))
        status = main(['governor', 'sum', *options, *map(str, paths)])
        out, errors = capsys.readouterr()
        return status, out, errors

    return call


def test_counts_add_up_and_the_worst_counts(report, summed):
    other = {**report, 'first': 1, 'share': 0.01, 'tilt': 0.5, 'lost': 1, 'runs': 3, 'let_through': 0.0}
    status, out, _ = summed(report, other, options=['--json'])
    sums = json.loads(out)
    assert status == 0
    assert (sums['random']['runs'], sums['random']['lost']) == (4, 1)
    assert (sums['random']['share'], sums['random']['tilt']) == (0.01, 0.5)
    assert sums['random']['let_through'] == pytest.approx(report['let_through'] / 4)
    assert sums['without governor']['runs'] == 2
    assert 'search' not in sums


def test_a_search_is_counted_separately_and_a_lifted_wheel_is_the_exit_status(report, summed):
    lifted = {**report, 'lifted': 1, 'without_governor': None}
    status, out, _ = summed(report, {**lifted, 'search': {**lifted}}, options=['--json'])
    sums = json.loads(out)
    assert status == 1
    assert (sums['random']['lifted'], sums['search']['lifted']) == (0, 1)


def test_the_table_has_a_row_per_kind(report, summed):
    status, out, errors = summed(report)
    assert (status, errors) == (0, '')
    assert 'random' in out
    assert 'without' in out


@pytest.mark.parametrize('changes', [{}, {'first': 0, 'runs': 9}])
def test_the_same_runs_are_not_counted_twice(report, summed, changes):
    status, _, errors = summed(report, {**report, **changes})
    assert status == 1
    assert '1.json: expected other runs than' in errors


@pytest.mark.parametrize('key', ['machine', 'box', 'reserve'])
def test_different_reports_are_not_added_up(report, summed, key):
    status, _, errors = summed(report, {**report, 'first': 9, key: 'other'})
    assert status == 1
    assert f'1.json: expected {key} as in' in errors


@pytest.mark.parametrize('text', ['', '{', '[]', '{}', '[' * 100000, '{"search": null, "runs": "x"}'])
def test_another_file_is_rejected_by_its_name(summed, text):
    status, _, errors = summed(text)
    assert status == 1
    assert '0.json: expected what `dyn-nodes governor test --json` prints' in errors


def test_a_report_of_random_runs_and_a_search_together_is_rejected(report, summed):
    both = {**report, 'search': {**report, 'runs': 0}}
    assert 'expected random runs or a search, found both' in summed(both)[2]


def test_a_missing_file_is_named(tmp_path, capsys):
    assert main(['governor', 'sum', str(tmp_path / 'none.json')]) == 1
    assert 'none.json: No such file' in capsys.readouterr().err
