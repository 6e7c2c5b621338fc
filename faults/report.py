"""The report of the campaign, a table: all of it, or the lines of some steps in an existing one."""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

HEAD = """# Fault campaign

`make faults` passes damaged files, damaged inputs of commands, damaged results of sweeps, hostile bags, launch files,
archives, meshes, logs and DBC files, and absurd messages to the package, kills, stops and restarts its nodes, and
removes or changes disk, home directory, shared memory, ports, clocks and compiled code. It tests command lines and
launches with one mistake each, wrong calls of the library and wrong parameters of nodes, opens the page without its
token, and starts a second machine in the domain of another. The nodes of *wrong launches* are forks of one process that
has imported them; all other launches start theirs. Criteria: no traceback, no hang, no unsafe state, no mistake
accepted without a message. `python -m faults --help` lists the options with the number of cases of each step.

Lines that start with `rclpy:` were run on rclpy and Fast DDS (`make install-ros`, then
`DYN_NODES_MIDDLEWARE=rclpy .venv-jazzy-3.11/bin/python -m faults`), all others on the embedded middleware. Readers of
files do not depend on the middleware.

Written by {commands}: {cases} cases in {minutes:.0f} minutes, {faults} faults;
{cores} cores, load {load:.1f}.

| test | cases | faults | observed | seconds |
|---|---:|---:|---|---:|
"""
RESULTS, CONTAINERS, CALLS, LAUNCHES = 'damaged results', 'hostile containers', 'wrong calls', 'wrong launches'
ITEMS = {
    'damaged results of sweeps': (RESULTS, 'byte bytes gone exchanged other manifest'),
    'names in results that try to be code': (RESULTS, 'note'),
    'links in the way of results': (RESULTS, 'link'),
    'damaged and hostile bags': ('hostile bags', 'bomb mcap messages metadata sqlite3'),
    'values of other storage classes in sqlite3 bags': ('hostile bags', 'sqlite3-values'),
    'launch files': ('hostile launch files', ''),
    'archives that expand': (CONTAINERS, 'archive nested packed-mesh'),
    'meshes of links that cannot be used': (CONTAINERS, 'special-mesh damaged-mesh claims'),
    'BLF logs': (CONTAINERS, 'blf-bomb blf-damaged'),
    'MF4 logs': (CONTAINERS, 'mf4'),
    'bodies of finite elements': (CONTAINERS, 'body'),
    'DBC files': (CONTAINERS, 'dbc'),
    'other inputs of commands': ('damaged inputs', ''),
    'calls of the library': (CALLS, 'library'),
    'parameters of nodes': (CALLS, 'parameter'),
    'processes of pools that are killed': (CALLS, 'pool'),
    'deadlines of nodes that compile': (CALLS, 'wait'),
    'connections to the page without its token': (CALLS, 'page'),
    'command lines': ('command lines with a mistake', ''),
    'bases without driven joints': (LAUNCHES, 'base'),
    'bases that overturn at their start': (LAUNCHES, 'overturned'),
    'launches with a value that a node rejects': (LAUNCHES, 'value'),
    'launches with a node that is killed at its start': (LAUNCHES, 'killed'),
    'two machines in one domain': (LAUNCHES, 'machines'),
}
"""Guarded items: the line of the table that tests each, and the kinds of its cases; '': all of them."""
ENOUGH = 200
"""Least number of cases of an item."""
LATER = ', then '
WRITTEN = re.compile(r'^Written by (?P<commands>.*): \d+ cases', re.MULTILINE)
LINE = re.compile(r'\| (?P<name>[^|]+) \| (?P<cases>\d+) \| (?P<faults>\d+) \| (?P<seen>[^|]*) \| (?P<seconds>\d+) \|')


@dataclass
class Row:
    """A line of the report.

    Attributes:
        name: of the cases.
        cases: their number.
        faults: as text.
        seen: observations.
        seconds: wall time.
    """

    name: str
    cases: int = 0
    faults: list[str] = field(default_factory=list)
    seen: str = ''
    seconds: float = 0.0

    def add(self, other: Row) -> None:
        """Add a later part of the same line."""
        counts = Counter(_counts(self.seen)) + Counter(_counts(other.seen))
        self.seen = ', '.join(f'{count} {kind}' for kind, count in sorted(counts.items())) or other.seen
        self.cases += other.cases
        self.faults += other.faults
        self.seconds += other.seconds

    def __str__(self) -> str:
        text = '; '.join([self.seen, *self.faults[:5]]).strip('; ').replace('|', '/')
        text = re.sub(rf'{re.escape(tempfile.gettempdir())}/\w+', '<directory>', text)
        text = text.replace('[', r'\[')  # in Markdown a bracket may start a link
        return f'| {self.name} | {self.cases} | {len(self.faults)} | {text} | {self.seconds:.0f} |'


def _counts(seen: str) -> dict[str, int]:
    """Return the counts of a text such as `3 urdf, 2 task`."""
    parts = [part.partition(' ') for part in seen.split(', ') if part]
    return {kind: int(count) for count, _, kind in parts} if all(part[0].isdigit() for part in parts) else {}


def write(path: Path, command: str, rows: list[Row], renewed: bool) -> None:
    """Write the report.

    Args:
        path: of the file.
        command: that produced the rows.
        rows: of the report.
        renewed: take the other lines and their commands from the file.
    """
    before = path.read_text(encoding='utf-8') if renewed and path.exists() else ''
    lines = {match['name']: match[0] for match in map(LINE.fullmatch, before.splitlines()) if match}
    lines |= {row.name: str(row) for row in rows}
    matches = [match for match in map(LINE.fullmatch, lines.values()) if match]
    written = WRITTEN.search(before)
    earlier = written['commands'].split(LATER) if written else []
    head = HEAD.format(
        commands=LATER.join([*(other for other in earlier if other != f'`{command}`'), f'`{command}`']),
        cases=sum(int(match['cases']) for match in matches),
        minutes=sum(int(match['seconds']) for match in matches) / 60.0,
        cores=os.cpu_count(),
        load=os.getloadavg()[2],
        faults=sum(int(match['faults']) for match in matches),
    )
    path.write_text(head + ''.join(f'{line}\n' for line in lines.values()) + items(matches), encoding='utf-8')


def items(lines: Sequence[re.Match[str]]) -> str:
    """Return the table of guarded items with their cases."""
    line = {row['name']: row for row in lines}
    text = '\n| guarded item | line | kinds | cases | |\n|---|---|---|---:|---|\n'
    for item, (name, kinds) in ITEMS.items():
        count = _cases(line[name], kinds.split()) if name in line else 0
        few = '' if count >= ENOUGH else f'fewer than {ENOUGH}'
        text += f'| {item} | {name} | {kinds.replace(" ", ", ") or "all"} | {count} | {few} |\n'
    return text


def _cases(line: re.Match[str], kinds: Sequence[str]) -> int:
    """Return the number of cases of these kinds in a line, of all kinds if `kinds` is empty."""
    counts = _counts(line['seen'].partition(';')[0])
    return sum(counts.get(kind, 0) for kind in kinds) if kinds else int(line['cases'])
