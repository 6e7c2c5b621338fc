"""Changed and unchanged parts of a module in mutation tests."""

from __future__ import annotations

import pytest

pytest.importorskip('cosmic_ray', reason="pip install -e '.[mutants]'")

from mutants.page import share
from mutants.report import keep, kept, merged, report
from mutants.sites import changed_source, mutants_of

SOURCE = '''"""A module with 1 number in its text."""
from __future__ import annotations

Array = NDArray[np.float64 | None]
LIMIT = 3


@cache(maxsize=8)
def least(first: float | None, second: float = 2.0) -> int | None:
    """Return 1 + 1."""
    if first < LIMIT:
        raise ValueError(f'expected {LIMIT + 1}, found {-first}')
    log.warning('less', 5)
    notify(first)
    return min(first, -second)
'''


def changes(before):
    return {mutant.after for mutant in mutants_of('room/module', SOURCE) if mutant.before == before}


def test_computations_are_changed_but_no_text_no_type_and_no_message():
    assert {mutant.before for mutant in mutants_of('room/module', SOURCE)} == {
        'LIMIT = 3',
        'def least(first: float | None, second: float = 2.0) -> int | None:',
        'if first < LIMIT:',
        'notify(first)',
        'return min(first, -second)',
    }
    assert changes('notify(first)') == {'...'}
    assert changes('if first < LIMIT:') == {'if first <= LIMIT:', 'if first >= LIMIT:', 'if not first < LIMIT:'}
    assert changes('return min(first, -second)') == {'return max(first, -second)', 'return min(first, second)'}


def test_every_change_is_python_and_changes_one_place():
    mutants = mutants_of('room/module', SOURCE)
    assert len({mutant.key for mutant in mutants}) == len(mutants)
    for mutant in mutants:
        changed = changed_source(mutant, SOURCE)
        compile(changed, 'module', 'exec')
        assert changed.replace(mutant.after, mutant.before, 1) == SOURCE
        first, last = mutant.lines
        assert mutant.before.splitlines()[0] in SOURCE.splitlines()[first - 1 : last][0]


def test_the_report_counts_and_lists_survivors():
    mutants = mutants_of('room/module', SOURCE)
    outcomes = ['survived', 'untested', 'timeout', *['killed'] * (len(mutants) - 4)]  # the last one was not tried
    results = {
        mutant.key: {'outcome': outcome, 'date': '2026-01-02'} for mutant, outcome in zip(mutants, outcomes)
    }  # fmt: skip
    text, remaining = report({'room/module': mutants}, results)
    tried = len(mutants) - 1
    assert (
        f'| room | module | {len(mutants)} | {tried} | {tried - 2} | 0 | 1 | 1 | {share(len(mutants), tried)} |' in text
    )
    assert f'{tried} of {len(mutants)} mutants were tried' in text
    assert '2026-01-02' in text
    assert [line.split(': ')[1] for line in remaining] == ['survived', 'untested']


def test_results_stay_in_the_repository_as_long_as_their_line(tmp_path):
    mutants = mutants_of('room/module', SOURCE)
    results = {mutant.key: {'outcome': 'killed', 'date': '2026-01-02'} for mutant in mutants[:4]}
    gone = {'0123456789abcdef': {'outcome': 'survived', 'date': '2026-01-02'}}
    keep(tmp_path / 'results.txt', {'room/module': mutants}, {**results, **gone})
    stored = kept(tmp_path / 'results.txt')
    assert {key: line['outcome'] for key, line in stored.items()} == dict.fromkeys(results, 'killed')
    assert report({'room/module': mutants}, stored) == report({'room/module': mutants}, results)
    newest = merged(stored, {mutants[0].key: {'outcome': 'survived', 'date': '2026-01-01'}})
    assert newest[mutants[0].key]['outcome'] == 'killed'
    newest = merged(stored, {mutants[0].key: {'outcome': 'survived', 'date': '2026-01-02'}})
    assert newest[mutants[0].key]['outcome'] == 'survived'
    assert kept(tmp_path / 'none.txt') == {}


def test_a_row_of_an_earlier_page_stays_if_fewer_results_are_stored():
    mutants = mutants_of('room/module', SOURCE)
    results = {mutant.key: {'outcome': 'killed', 'date': '2026-01-02'} for mutant in mutants}
    page, _ = report({'room/module': mutants}, results)
    few = dict(list(results.items())[:2])
    row = f'| room | module | {len(mutants)} | {len(mutants)} | {len(mutants)} | 0 | 0 | 0 |'
    assert row in page
    assert row in report({'room/module': mutants}, few, page)[0]
    changed, _ = report({'room/module': mutants[1:]}, few, page)  # the module has changed
    assert f'| room | module | {len(mutants) - 1} | 1 | 1 | 0 | 0 | 0 |' in changed


def test_a_line_keeps_the_digest_of_its_package_until_a_mutant_is_tried_again(monkeypatch):
    mutants, digests = mutants_of('room/module', SOURCE), iter(['aaaaaaaa', 'bbbbbbbb', 'cccccccc'])
    monkeypatch.setattr('mutants.report.digest', lambda package: next(digests))
    results = {mutant.key: {'outcome': 'killed', 'date': '2026-01-02'} for mutant in mutants[1:]}
    page, _ = report({'room/module': mutants}, results)
    assert '| aaaaaaaa |' in page
    few = {mutants[1].key: results[mutants[1].key]}
    assert '| aaaaaaaa |' in report({'room/module': mutants[:-1]}, few, page)[0], 'no result is newer'
    tried = {**results, mutants[0].key: {'outcome': 'killed', 'date': '2026-01-03'}}
    assert '| bbbbbbbb |' in report({'room/module': mutants}, tried, page)[0]
