"""Summary of the table of the mutants: the tried share, and stale lines.

A line has a digest of its package, `dyn_nodes/<package>/*.py`, at the time of writing. The site of the documentation
marks the lines whose package has changed: a change of the source need not change the table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / 'docs' / 'verification' / 'mutants.md'
STALE = 'stale'


def package_of(package: str, module: str) -> str:
    """Return the package of a module, or its subpackage: `control/hand` for `hand/curves`."""
    return Path(package, module).parent.as_posix()


def digest(package: str) -> str:
    """Return eight hexadecimal digits of the digest of the modules of a package."""
    texts = [path.name.encode() + path.read_bytes() for path in sorted((ROOT / 'dyn_nodes' / package).glob('*.py'))]
    return hashlib.sha256(b'\0'.join(texts)).hexdigest()[:8]


def share(sites: int, tried: int) -> str:
    """Return the tried share of the sites, as in the table."""
    return f'{100.0 * tried / sites:.1f} %' if sites else '-'


def summary(rows: list[list[int]]) -> str:
    """Return the summary of all modules from rows of sites, tried, ..."""
    sites, tried = (sum(row[k] for row in rows) for k in (0, 1))
    whole, none = sum(row[1] == row[0] for row in rows), sum(row[1] == 0 for row in rows)
    return (
        f'{tried} of {sites} mutants were tried: {share(sites, tried)}. Of {len(rows)} modules {whole} were tried '
        f'completely, {len(rows) - whole - none} in part, {none} not at all, without a result.'
    )


def cells_of(line: str) -> list[str]:
    """Return the cells of a line of the table with numbers, [] for any other line."""
    cells = [cell.strip() for cell in line.strip('|').split('|')] if line.startswith('| ') else []
    return cells if cells[2:] and cells[2].isdigit() else []


def marked(page: str, present: Callable[[str], str] = digest) -> str:
    """Return the page with `stale` in the last cell of each line whose package differs from its digest."""
    lines = []
    for line in page.splitlines():
        cells = cells_of(line)
        if cells and cells[0] != 'all' and cells[-2] != present(package_of(*cells[:2])):
            cells[-1] = STALE
            line = '| ' + ' | '.join(cells) + ' |'
        lines.append(line)
    return '\n'.join(lines) + '\n'
