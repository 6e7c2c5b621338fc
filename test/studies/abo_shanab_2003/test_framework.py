from __future__ import annotations

import json
import math

import pytest
from matplotlib.figure import Figure

from dyn_nodes.studies import framework
from dyn_nodes.studies.command import add_parser, run
from dyn_nodes.studies.framework import Study, StudyRun, Workers, as_json, load_studies, run_studies, run_study, select
from dyn_nodes.studies.page import write_figures, write_page


def square(number):
    return number * number


def judge(function, plot=False):
    return run_study(Study('test/one', 'One', function), plot=plot)


def test_a_number_within_its_tolerance_passes_and_one_beyond_it_fails():
    def body(s: StudyRun) -> None:
        s.near('inside', 'here', 2.0, 2.019, relative=0.01)
        s.near('outside', 'here', 2.0, 2.021, relative=0.01)
        s.near('no number', 'here', 2.0, math.nan, relative=0.01)

    result = judge(body)
    assert [claim.passed for claim in result.claims] == [True, False, False]
    assert result.claims[0].tolerance == pytest.approx(0.02)
    assert not result.passed


@pytest.mark.parametrize(
    ('values', 'rising'),
    [
        ([1, 2, 3], True),
        ([1, 1, 3], False),
        ([3, 2, 1], False),
        ([1, math.inf, math.inf], True),
        ([1, math.nan], False),
    ],
)
def test_orderings_are_strict_but_for_machines_that_overturned(values, rising):
    def body(s: StudyRun) -> None:
        s.rising('up', 'here', values)
        s.falling('down', 'here', values[::-1])

    assert [claim.passed for claim in judge(body).claims] == [rising, rising]


def test_a_study_without_claims_has_not_passed():
    assert not judge(lambda s: None).passed


def test_figures_are_drawn_only_if_requested():
    drawn = []

    def body(s: StudyRun) -> None:
        s.figure('empty', 'nothing', lambda: drawn.append(1) or Figure())
        s.holds('so', 'here', True)

    assert judge(body).figures == []
    assert drawn == []
    assert [figure.name for figure in judge(body, plot=True).figures] == ['empty']


def test_a_sweep_on_two_processes_gives_the_results_in_order():
    with Workers(2, progress=False) as workers:
        assert workers.map(square, list(range(7))) == [n * n for n in range(7)]


def test_a_study_that_raises_is_a_failed_claim_and_the_others_run(capsys):
    def broken(s: StudyRun) -> None:
        raise ValueError('no such posture')

    results = run_studies(
        [Study('test/a', 'A', broken), Study('test/b', 'B', lambda s: s.holds('so', 'here', True))],
        count=1,
        progress=False,
    )
    assert [result.passed for result in results] == [False, True]
    assert results[0].claims[0].value == 'ValueError: no such posture'
    assert 'no such posture' in capsys.readouterr().err


def test_the_json_list_has_the_contracts_keys_and_no_infinity():
    result = judge(lambda s: s.rising('up', 'here', [1.0, math.inf]))
    (claim,) = json.loads(json.dumps(as_json([result]), allow_nan=False))
    assert set(claim) == {'study', 'claim', 'source', 'expected', 'value', 'tolerance', 'passed'}
    assert claim['value'] == [1.0, 'overturned']


def test_the_page_contains_claims_and_figures_and_no_links(tmp_path):
    def body(s: StudyRun) -> None:
        s.near('a < b', 'p. 1', 1.0, 1.0)
        s.figure('empty', 'a caption', Figure)

    result = judge(body, plot=True)
    write_page([result], tmp_path / 'index.html')
    text = (tmp_path / 'index.html').read_text()
    assert 'a &lt; b' in text
    assert 'a caption' in text
    assert 'http' not in text.replace('http-equiv', '')
    assert [path.name for path in write_figures([result], tmp_path)] == ['test-one-empty.png']


def test_all_studies_of_a_source_are_selected_in_natural_order(monkeypatch):
    names = ('x/e10', 'x/e2', 'y/a')
    monkeypatch.setattr(framework, '_REGISTRY', {name: Study(name, name, lambda s: None) for name in names})
    monkeypatch.setattr(framework.pkgutil, 'iter_modules', lambda *a: [])
    assert [entry.name for entry in select('x/all')] == ['x/e2', 'x/e10']
    assert len(select('all')) == 3
    with pytest.raises(
        KeyError, match=r"unknown study 'x/e3' \(did you mean 'x/e2'\?\); known: x/e\d+, x/e\d+, x/all;"
    ):
        select('x/e3')
    with pytest.raises(KeyError, match=r"unknown study 'zzzzzz'; known: x/all, y/all; "):
        select('zzzzzz')


def test_no_name_is_registered_twice():
    load_studies()
    framework.study('test/taken', 'one')(square)
    try:
        other = type('Function', (), {'__module__': 'elsewhere', '__call__': square})()
        with pytest.raises(ValueError, match='already in'):
            framework.study('test/taken', 'two')(other)
    finally:
        del framework._REGISTRY['test/taken']


@pytest.fixture
def arguments():
    import argparse

    def parse(*words):
        parser = argparse.ArgumentParser()
        add_parser(parser.add_subparsers())
        return parser.parse_args(['study', *words])

    return parse


def test_the_command_exits_with_0_only_if_all_passed(arguments, monkeypatch, capsys, tmp_path):
    good = Study('test/good', 'Good', lambda s: s.holds('so', 'here', True))
    bad = Study('test/bad', 'Bad', lambda s: s.holds('so', 'here', False))
    monkeypatch.setattr(framework, 'load_studies', lambda: {'test/good': good, 'test/bad': bad})
    assert run(arguments('run', 'test/good', '--json')) == 0
    assert json.loads(capsys.readouterr().out)[0]['passed'] is True
    assert run(arguments('run', 'all', '--out', str(tmp_path / 'page'))) == 1
    assert (tmp_path / 'page' / 'index.html').exists()
    assert len(json.loads((tmp_path / 'page' / 'claims.json').read_text())) == 2


def test_the_command_runs_several_studies_each_once(arguments, monkeypatch, capsys):
    entries = [Study(f'test/{name}', name, lambda s: s.holds('so', 'here', True)) for name in ('one', 'two', 'three')]
    monkeypatch.setattr(framework, 'load_studies', lambda: {entry.name: entry for entry in entries})
    assert run(arguments('run', 'test/two', 'test/one', 'test/two', '--json')) == 0
    assert [claim['study'] for claim in json.loads(capsys.readouterr().out)] == ['test/two', 'test/one']


def test_the_command_lists_every_study(arguments, capsys):
    assert run(arguments('list', '--json')) == 0
    assert [entry['name'] for entry in json.loads(capsys.readouterr().out)] == list(load_studies())
