"""The table of the mutants has the share that was tried, and marks the lines that are stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from mutants import page
from mutants.page import PAGE, cells_of, digest, marked, share, summary

TEXT = PAGE.read_text(encoding='utf-8')
LINES = [cells for cells in map(cells_of, TEXT.splitlines()) if cells]
NUMBERS = [[int(cell) for cell in cells[2:8]] for cells in LINES]


def test_the_table_says_which_part_of_the_sites_was_tried():
    """In each line and in all; what was tried is killed, equivalent, not run or has survived."""
    assert LINES[-1][0] == 'all'
    assert [sum(column) for column in zip(*NUMBERS[:-1])] == NUMBERS[-1]
    for cells, (sites, tried, *outcomes) in zip(LINES, NUMBERS):
        assert sum(outcomes) == tried <= sites, cells
        assert cells[8] == share(sites, tried), cells
    assert summary(NUMBERS[:-1]) in TEXT


def test_every_line_whose_room_has_changed_since_it_was_written_is_marked():
    assert marked(TEXT) == TEXT, 'python -m mutants.page marks what is stale'


def test_a_change_of_a_module_makes_the_lines_of_its_room_stale(tmp_path, monkeypatch):
    for folder in ('one', 'one/package', 'two'):
        (tmp_path / 'dyn_nodes' / folder).mkdir(parents=True)
        (tmp_path / 'dyn_nodes' / folder / 'module.py').write_text('x = 1\n')
    monkeypatch.setattr(page, 'ROOT', Path(tmp_path))
    rooms = {'| one | module': 'one', '| one | package/module': 'one/package', '| two | module': 'two'}
    fresh = ''.join(f'{head} | 4 | 1 | 1 | 0 | 0 | 0 | 25.0 % | {digest(room)} |  |\n' for head, room in rooms.items())
    assert marked(fresh) == fresh
    (tmp_path / 'dyn_nodes' / 'one' / 'module.py').write_text('x = 2\n')
    assert [cells_of(line)[-1] for line in marked(fresh).splitlines()] == ['stale', '', '']
    (tmp_path / 'dyn_nodes' / 'two' / 'new.py').write_text('')
    stale = marked(fresh)
    assert [cells_of(line)[-1] for line in stale.splitlines()] == ['stale', '', 'stale']
    (tmp_path / 'dyn_nodes' / 'one' / 'module.py').write_text('x = 1\n')
    assert [cells_of(line)[-1] for line in marked(stale).splitlines()] == ['', '', 'stale']


@pytest.mark.parametrize(('sites', 'tried', 'text'), [(0, 0, '-'), (3, 1, '33.3 %'), (21099, 1414, '6.7 %')])
def test_shares_are_of_the_sites(sites, tried, text):
    assert share(sites, tried) == text
