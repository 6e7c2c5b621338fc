"""The word list of docs/contributing/style.md over all pages, docstrings, parameter files and launch files."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORDS = {
    'tell, tells, told': r'\b(tells?|told)\b',
    'hears, heard': r'\b(hears?|heard)\b(?!:|, commanded)',
    'nobody, somebody, whoever': r'\b(nobody|somebody|whoever)\b',
    'of its own': r'\bof (its|their) own\b(?! (thread|joint|frame|rates|axes)\b)',
    'for good': r'\bfor good\b',
    'obeys': r'\bobey(s|ed)?\b',
    'falls silent': r'\b(falls?|fell|fallen) silent\b',
    'in vain, alas': r'\b(in vain|alas)\b',
    'has a look': r'\bhas a look\b',
}
FORBIDDEN = re.compile('|'.join(WORDS.values()), re.IGNORECASE)


def prose(path: Path) -> list[tuple[int, str]]:
    """Return the lines of a page without its code, of docstrings or of a data file, with their numbers."""
    text = path.read_text(encoding='utf-8')
    if path.suffix in {'.yaml', '.xml', '.html'}:
        return list(enumerate(text.splitlines(), 1))
    if path.suffix == '.md':
        text = re.sub(r'^ *```.*?^ *```', lambda found: '\n' * found.group(0).count('\n'), text, flags=re.M | re.S)
        return [(k, re.sub(r'`[^`]*`', '', line)) for k, line in enumerate(text.splitlines(), 1)]
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines = node.value.value.splitlines()
            found += [(node.lineno + k, re.sub(r'`[^`]*`', '', line)) for k, line in enumerate(lines)]
    return found


def faults(path: Path) -> list[str]:
    return [
        f'{path.relative_to(ROOT)}:{number}: {hit.group(0)!r}'
        for number, line in prose(path)
        for hit in FORBIDDEN.finditer(line)
    ]


PACKAGES = ('dyn_nodes', 'roslite')
PAGES = sorted(path for path in (ROOT / 'docs').rglob('*.md') if path.name != 'style.md')
ROOMS = sorted(
    {'/'.join(path.relative_to(ROOT).parts[:2]) for package in PACKAGES for path in (ROOT / package).rglob('*.py')}
)


def faults_of_room(room: str) -> list[str]:
    place = ROOT / room
    return [fault for path in sorted(place.rglob('*.py')) or [place] for fault in faults(path)]


def test_readmes_and_examples_keep_the_words():
    paths = [
        ROOT / 'README.md',
        ROOT / 'examples' / 'README.md',
        ROOT / 'roslite' / 'README.md',
        *sorted((ROOT / 'examples').rglob('*.py')),
    ]
    assert [fault for path in paths for fault in faults(path)] == []


@pytest.mark.parametrize('page', PAGES, ids=lambda path: str(path.relative_to(ROOT / 'docs')))
def test_pages_keep_the_words(page):
    assert faults(page) == []


@pytest.mark.parametrize('room', ROOMS)
def test_docstrings_of_rooms_keep_the_words(room):
    assert faults_of_room(room) == []


def test_parameters_launches_and_configurations_keep_the_words():
    paths = [path for room in ('launch', 'config', 'dyn_nodes') for path in (ROOT / room).rglob('*')]
    assert [
        fault for path in sorted(paths) if path.suffix in {'.yaml', '.xml', '.html'} for fault in faults(path)
    ] == []
