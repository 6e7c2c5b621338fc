"""What the table of the mutants says of itself: the share that was tried, and which lines are stale.

A line has a digest of its room, `dyn_nodes/<room>/*.py`, as it was when the line was written. The site of the
documentation marks the lines whose room is another now: no change of the source has to change the table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / 'docs' / 'verification' / 'mutants.md'
STALE = 'stale'


def room_of(room: str, module: str) -> str:
    """Return the room of a module, or the package of the room where it is in one: `control/hand` of `hand/curves`."""
    return Path(room, module).parent.as_posix()


def digest(room: str) -> str:
    """Return eight hexadecimal digits of the texts of the modules of a room, or of a package of one."""
    texts = [path.name.encode() + path.read_bytes() for path in sorted((ROOT / 'dyn_nodes' / room).glob('*.py'))]
    return hashlib.sha256(b'\0'.join(texts)).hexdigest()[:8]


def share(sites: int, tried: int) -> str:
    """Return the part of the sites that was tried, as the table has it."""
    return f'{100.0 * tried / sites:.1f} %' if sites else '-'


def summary(rows: list[list[int]]) -> str:
    """Return the sentence about all modules: rows of sites, tried, ..."""
    sites, tried = (sum(row[k] for row in rows) for k in (0, 1))
    whole, none = sum(row[1] == row[0] for row in rows), sum(row[1] == 0 for row in rows)
    return (
        f'{tried} of {sites} mutants were tried: {share(sites, tried)}. Of {len(rows)} modules {whole} were tried '
        f'whole, {len(rows) - whole - none} in part, {none} not at all: for these there is no result.'
    )


def cells_of(line: str) -> list[str]:
    """Return the cells of a line of the table with numbers, [] of any other line."""
    cells = [cell.strip() for cell in line.strip('|').split('|')] if line.startswith('| ') else []
    return cells if cells[2:] and cells[2].isdigit() else []


def marked(page: str, present: Callable[[str], str] = digest) -> str:
    """Return the page with `stale` in the last cell of each line whose room is another than its digest says."""
    lines = []
    for line in page.splitlines():
        cells = cells_of(line)
        if cells and cells[0] != 'all' and cells[-2] != present(room_of(*cells[:2])):
            cells[-1] = STALE
            line = '| ' + ' | '.join(cells) + ' |'
        lines.append(line)
    return '\n'.join(lines) + '\n'
