"""The word list of docs/contributing/style.md over all pages, docstrings, messages, parameter files and launch files.

`python test/docs/test_style.py [FILE ...]` prints the faults of files, by default of the files that differ from HEAD.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
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
    'sentence with What': r'(?:^|[.:] )What\b(?![^.]*\?)',
    'what is': r'\bwhat (?:is|was|were|it|they|comes|came|has|have|lies|goes|others|follows|does|that)\b(?![^.]*\?)',
    'what is left': r'\bwhat is left\b',
    'where there is': r'\bwhere (?:there|no|none|nothing)\b',
    'silent, silence': r'\bsilen(?:t|ce)\b(?!:)',
    'refuse, refused': r'\b(?:refuses|refusals?)\b|\brefused?\b(?!:|`| that is not true)',
    'says, said': r'\b(?:says?|said)\b',
    'that of, those of': r'\b(?:those|that) of\b',
    'of which': r'\bof which\b',
    'asked for': r'\basked for\b',
    'looked at': r'\b(?:looked at|a look|two looks)\b',
    'lets through': r'\blet(?:s|ting)? through\b',
}
FORBIDDEN = re.compile('|'.join(WORDS.values()), re.IGNORECASE)


def prose(path: Path) -> list[tuple[int, str]]:
    """Return numbered lines: of a page without its code, of docstrings, or of a data file."""
    text = path.read_text(encoding='utf-8')
    if path.suffix in {'.yaml', '.xml', '.html'}:
        return list(enumerate(text.splitlines(), 1))
    if path.suffix == '.md':
        text = re.sub(r'^ *```.*?^ *```', lambda match: '\n' * match.group(0).count('\n'), text, flags=re.M | re.S)
        return [(k, re.sub(r'`[^`]*`', '', line)) for k, line in enumerate(text.splitlines(), 1)]
    paragraphs = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and ' ' in node.value.strip():
            lines = node.value.splitlines()
            paragraphs += [(node.lineno + k, re.sub(r'`[^`]*`', '', line)) for k, line in enumerate(lines)]
    return paragraphs


def faults(path: Path) -> list[str]:
    return [
        f'{path.relative_to(ROOT)}:{number}: {hit.group(0)!r}'
        for number, line in prose(path)
        for hit in FORBIDDEN.finditer(line)
    ]


PACKAGES = ('dyn_nodes', 'roslite')
STYLE = ROOT / 'docs' / 'contributing' / 'style.md'
PAGES = sorted(path for path in (ROOT / 'docs').rglob('*.md') if path != STYLE)
PARTS = sorted(
    {'/'.join(path.relative_to(ROOT).parts[:2]) for package in PACKAGES for path in (ROOT / package).rglob('*.py')}
)


def faults_of_part(part: str) -> list[str]:
    base = ROOT / part
    return [fault for path in sorted(base.rglob('*.py')) or [base] for fault in faults(path)]


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


@pytest.mark.parametrize('part', PARTS)
def test_docstrings_of_packages_keep_the_words(part):
    assert faults_of_part(part) == []


def test_parameters_launches_and_configurations_keep_the_words():
    paths = [path for folder in ('launch', 'config', 'dyn_nodes') for path in (ROOT / folder).rglob('*')]
    assert [
        fault
        for path in sorted(paths)
        if path.suffix in {'.yaml', '.xml', '.html'} and path.name != 'reference_numbers.yaml'
        for fault in faults(path)
    ] == []


IDENTIFIERS = frozenset(
    [
        'own',
        'place',
        'places',
        'known',
        'given',
        'told',
        'noted',
        'refuse',
        'refuses',
        'refused',
        'heard',
        'silent',
        'silence',
        'patience',
        'stand',
        'press',
        'felt',
        'care',
        'look',
        'begin',
        'ended',
    ]
)
"""Left column of the map in the style page, as whole identifiers; `found` is left, half of `expected`, `found`."""
CAMPAIGNS = ('dyn_nodes/governor/campaign/', 'dyn_nodes/commands/governor', 'test/governor/')
EXCEPTIONS: dict[str, tuple[str, ...]] = {
    'refused': (
        *CAMPAIGNS,
        'dyn_nodes/nodes/monitor_replay.py',
        'dyn_nodes/commands/monitor_replay.py',
        'test/sweeps/',
    ),
    'begin': CAMPAIGNS,
    'ended': CAMPAIGNS,
    'silence': ('test/viewer/test_ways_to_drive.py',),
    'places': ('dyn_nodes/commands/design.py',),
    'place': ('test/commands/test_unit_slips.py', 'test/simulation/test_wheel_sets.py'),
}


"""Keys of recorded campaigns and of JSON output, parameters and options, and where they may stand."""


def identifiers(path: Path) -> set[str]:
    """Return the names of a module that are in the left column of the identifier map."""
    text = path.read_text(encoding='utf-8')
    names = {
        token.string for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type == tokenize.NAME
    }
    return names & IDENTIFIERS - ({'given'} if 'hypothesis' in text else set())


def test_identifiers_follow_the_map():
    left = []
    for path in (path for folder in ('dyn_nodes', 'roslite', 'test') for path in (ROOT / folder).rglob('*.py')):
        name = path.relative_to(ROOT).as_posix()
        left += [f'{name}: {word}' for word in identifiers(path) if not name.startswith(EXCEPTIONS.get(word, ()))]
    assert left == []


def main(names: list[str]) -> int:
    """Print the faults of files; return 1 if there are any."""
    if not names:
        command = ['git', 'diff', '--name-only', '--diff-filter=d', 'HEAD']
        names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    paths = [(ROOT / name).resolve() for name in names]
    suffixes = {'.py', '.md', '.yaml', '.xml', '.html'}
    checked = [
        path for path in paths if path.suffix in suffixes and ROOT / 'test' not in path.parents and path != STYLE
    ]
    left = [fault for path in checked for fault in faults(path)]
    print('\n'.join(left) or f'{len(checked)} files: no words of the list')
    return 1 if left else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
