"""The table of the mutants, and the list of equivalent ones."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from mutants.page import cells_of, digest, package_of, share, summary
from mutants.sites import Mutant

HEAD = """# Mutation tests

Each mutant is a small change of one line: another operator, comparison, number or condition, min instead of max, a
removed call. A mutant that no test detects has survived. Messages, types and docstrings are not changed.
An equivalent mutant has the same effect as the original: the reasons are in `mutants/equivalent.yaml`.

Written by `{command}`{date}. *sites* are all mutants of a module. Those
*tried* are all of them, or a random sample (seed 1) within the processor time, safety-relevant modules first. *not
run*: no test in the judging process runs the line. Nodes are also tested as processes
(`test/system`, `test/roslite`, `test/viewer`), which would take minutes for each mutant and judge none here.

*share* is the tried share of the sites. *digest* is the digest of the package when the line was written: the site of
the documentation (`make docs-site`) marks the lines whose package has changed since as *stale*.

{summary}

| package | module | sites | tried | killed | equivalent | not run | survived | share | digest | |
|---|---|---:|---:|---:|---:|---:|---:|---:|---|---|
"""
KEPT_HEAD = '# Results of mutation tests, written by `python -m mutants report`: key, outcome, date, module.\n'
COMMAND = 'python -m mutants run; python -m mutants report'


def latest(path: Path) -> dict[str, dict[str, Any]]:
    """Return the last result of each mutant."""
    if not path.exists():
        return {}
    lines = (json.loads(line) for line in path.read_text(encoding='utf-8').splitlines())
    return {line['key']: line for line in lines}


def kept(path: Path) -> dict[str, dict[str, Any]]:
    """Return the results stored in the repository, a line each: key, outcome, date, module."""
    if not path.exists():
        return {}
    lines = (line.split() for line in path.read_text(encoding='utf-8').splitlines() if line[:1] not in ('', '#'))
    return {key: {'key': key, 'outcome': outcome, 'date': date} for key, outcome, date, _ in lines}


def merged(older: dict[str, dict[str, Any]], newer: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the later result of each mutant; for equal dates the result in `newer`."""
    return {**older, **{key: line for key, line in newer.items() if line['date'] >= older.get(key, line)['date']}}


def keep(path: Path, mutants_of: dict[str, list[Mutant]], results: dict[str, dict[str, Any]]) -> None:
    """Write the results of the existing mutants: a changed line is tried again."""
    lines = sorted(
        f'{mutant.key} {results[mutant.key]["outcome"]} {results[mutant.key]["date"]} {module}\n'
        for module, mutants in mutants_of.items()
        for mutant in mutants
        if mutant.key in results
    )
    path.write_text(KEPT_HEAD + ''.join(sorted(lines, key=lambda line: line.split()[3])), encoding='utf-8')


def equivalents() -> Callable[[Mutant], bool]:
    """Return whether a mutant is listed as equivalent, by module and line before and after.

    The lines under `only_one` index results of one element: first and last are equal.
    """
    listed = yaml.safe_load((Path(__file__).parent / 'equivalent.yaml').read_text(encoding='utf-8')) or []
    changes = {
        (entry['module'], each['before'], each['after']) for entry in listed for each in entry.get('changes', ())
    }
    single = {(entry['module'], line) for entry in listed for line in entry.get('only_one', ())}

    def is_equivalent(mutant: Mutant) -> bool:
        if (mutant.module, mutant.before, mutant.after) in changes:
            return True
        return (mutant.module, mutant.before) in single and mutant.after.replace('[ -1]', '[0]') == mutant.before

    return is_equivalent


def rows_of(page: str) -> dict[str, tuple[list[int], str]]:
    """Return the numbers of each module in an earlier page, and the digest of its package at that time."""
    rows = [cells for cells in map(cells_of, page.splitlines()) if cells]
    return {f'{row[0]}/{row[1]}': ([int(cell) for cell in row[2:8]], row[-2]) for row in rows}


def last_date(page: str) -> str:
    """Return the date of the newest result in a page, or ''."""
    written = next((line for line in page.splitlines() if line.startswith('Written by ')), '')
    return max(re.findall(r'\d{4}-\d\d-\d\d', written), default='')


def report(
    mutants_of: dict[str, list[Mutant]], results: dict[str, dict[str, Any]], page: str = ''
) -> tuple[str, list[str]]:
    """Return the page, and a line for each surviving mutant that is not listed as equivalent.

    A module with as many sites as in an earlier page and fewer stored results keeps its row of that page, and the
    digest of its package unless one of its results is newer than that page.
    """
    earlier, until = rows_of(page), last_date(page)
    is_equivalent, rows, remaining = equivalents(), '', []
    every: list[list[int]] = []
    present = {mutant.key for mutants in mutants_of.values() for mutant in mutants}
    dates = sorted({result['date'] for key, result in results.items() if key in present})
    for module, mutants in mutants_of.items():
        tried = [(mutant, results[mutant.key]['outcome']) for mutant in mutants if mutant.key in results]
        alive = [(mutant, outcome) for mutant, outcome in tried if outcome in ('survived', 'untested')]
        left = [(mutant, outcome) for mutant, outcome in alive if not is_equivalent(mutant)]
        not_run = sum(outcome == 'untested' for _, outcome in left)
        counts = [
            len(mutants),
            len(tried),
            len(tried) - len(alive),
            len(alive) - len(left),
            not_run,
            len(left) - not_run,
        ]
        package, _, name = module.partition('/')
        row, then = earlier.get(module, (counts, ''))
        if row[0] == counts[0] and row[1] > counts[1]:
            counts = row
        newest = max((results[mutant.key]['date'] for mutant, _ in tried), default='')
        written = then if then and newest <= until else digest(package_of(package, name))
        if counts[0]:
            cells = [package, name, *map(str, counts), share(*counts[:2]), written, '']
            rows += '| ' + ' | '.join(cells) + ' |\n'
            every.append(counts)
        remaining += [f'{mutant.location}: {outcome}: {mutant.before}  ->  {mutant.after}' for mutant, outcome in left]
    total = [sum(column) for column in zip(*every)] or [0] * 6
    rows += '| all | | ' + ' | '.join(map(str, total)) + f' | {share(*total[:2])} | | |\n'
    date = f' ({dates[0]} to {dates[-1]})' if len(dates) > 1 else f' ({dates[0]})' if dates else ''
    return HEAD.format(command=COMMAND, date=date, summary=summary(every)) + rows, remaining
