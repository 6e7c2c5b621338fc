"""The pages with the table (number, test) of every source; `docs/site/hooks.py` adds them to the site.

A test checks a row if it reads it, by `tabulated('<source>/<key>')` or `matches('<source>/<key>', ...)`, or if it is
marked `@pytest.mark.pins('<source>/<key>', ...)`. Rows no test checks are listed at the end of the table.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from dyn_nodes.studies.reference import FILE, FOLDER, rows

TESTS = Path(__file__).resolve().parents[1] / 'test'
SOURCES = tuple(sorted(path.parent.name.replace('_', '-') for path in FOLDER.glob(f'*/{FILE}')))
READERS = ('tabulated', 'matches')
HEAD = """# Reference numbers of {source}, and the tests that pin them

Generated from the tests, which read the numbers or are marked `@pytest.mark.pins(...)`. Sections are those of the
project's specification of the source. Tolerances are those of the specification; a
test marked *slow* runs with `make test-slow` only. Where a row shortens its numbers by dots, the test has them all.

| section | what | numbers | test |
|---|---|---|---|
"""


def numbers(source: str) -> dict[str, tuple[str, str]]:
    """Return description and numbers of all rows of a source, by key of the markers."""
    return {f'{source}/{key}': value for key, value in rows(source).items()}


def _keys(test: ast.FunctionDef) -> Iterator[str]:
    """Yield the keys of a test: of its markers, and of the rows that it reads."""
    for call in (node for node in ast.walk(test) if isinstance(node, ast.Call)):
        name = ast.unparse(call.func)
        parts = call.args if name == 'pytest.mark.pins' else call.args[:1] if name in READERS else []
        yield from (part.value for part in parts if isinstance(part, ast.Constant))


@cache
def pins() -> dict[str, list[str]]:
    """Return the tests by key. Raises KeyError for a key that no YAML file has."""
    keys = {key for source in SOURCES for key in numbers(source)}
    tests: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob('test_*.py')):
        text = path.read_text()
        if not any(f'{name}(' in text for name in ('pins', *READERS)):
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.FunctionDef) or not node.name.startswith('test_'):
                continue
            slow = ' (slow)' if any(ast.unparse(mark) == 'pytest.mark.slow' for mark in node.decorator_list) else ''
            test = f'{path.relative_to(TESTS.parent).as_posix()}: {node.name}{slow}'
            for key in dict.fromkeys(_keys(node)):
                if key not in keys:
                    raise KeyError(f'{test}: pins {key!r}, which no YAML file has')
                tests.setdefault(key, []).append(test)
    return tests


def table(source: str) -> str:
    """Return the page of a source."""
    lines, missing = [HEAD.format(source=source)], []
    for key, (what, values) in numbers(source).items():
        section = key.split('/')[1]
        if key in pins():
            tests = '<br>'.join(f'`{test}`' for test in pins()[key])
            lines.append(f'| {section} | {what} | {values} | {tests} |\n')
        else:
            missing.append(f'* not pinned: {section}, {what}: {values}\n')
    count = len(rows(source))
    lines.append(f'\n{count - len(missing)} of {count} rows are pinned.\n')
    return ''.join([*lines, '\n', *missing] if missing else lines)
