"""The table of the mutants has the share that was tried, and marks the lines that are stale."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace as Simple

import pytest
import yaml

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


def test_the_table_itself_marks_no_line_so_that_no_change_of_the_source_makes_it_wrong():
    assert not [cells for cells in LINES if cells[-1]]
    assert all(re.fullmatch('[0-9a-f]{8}', cells[-2]) for cells in LINES[:-1])


def test_the_site_marks_the_lines_whose_room_has_changed():
    spec = spec_from_file_location('hooks', PAGE.parents[1] / 'site' / 'hooks.py')
    hooks = module_from_spec(spec)
    spec.loader.exec_module(hooks)

    def shown(name):
        return hooks.on_page_markdown(TEXT, Simple(file=Simple(src_uri=name), meta={}))

    assert shown('verification/mutants.md') == marked(TEXT)
    assert shown('other.md') == TEXT


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
    assert [cells_of(line)[-1] for line in marked(fresh).splitlines()] == ['stale', '', 'stale']
    (tmp_path / 'dyn_nodes' / 'one' / 'module.py').write_text('x = 1\n')
    assert [cells_of(line)[-1] for line in marked(fresh).splitlines()] == ['', '', 'stale']


@pytest.mark.parametrize(('sites', 'tried', 'text'), [(0, 0, '-'), (3, 1, '33.3 %'), (21099, 1414, '6.7 %')])
def test_shares_are_of_the_sites(sites, tried, text):
    assert share(sites, tried) == text


def test_the_list_of_equivalent_mutants_has_lines_that_their_modules_have():
    entries = yaml.safe_load((Path(page.__file__).parent / 'equivalent.yaml').read_text(encoding='utf-8'))
    package = PAGE.parents[2] / 'dyn_nodes'
    stale = [
        f'{entry["module"]}: {line}'
        for entry in entries
        for line in [*(change['before'] for change in entry.get('changes', ())), *entry.get('only_one', ())]
        if line not in (package / f'{entry["module"]}.py').read_text(encoding='utf-8')
    ]
    assert stale == []
