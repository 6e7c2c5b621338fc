"""Print the table of residuals of the data sheets in config/sheets, or write it into docs/how_to/data_sheet.md.

python docs/sheet_residuals.py [--write]
"""

from __future__ import annotations

import sys
from pathlib import Path

import dyn_nodes as dn

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / 'docs' / 'how_to' / 'data_sheet.md'
START, END = '<!-- residuals: python docs/sheet_residuals.py --write -->', '<!-- end of residuals -->'
HEAD = (
    '| sheet | cells by stability | quantities that they determine | rms, % | worst, % | rms by rounding, % '
    '| tenth from the rest: rms, % | worst, % | half from half: rms, % | worst, % | bounds | not met |\n'
    f'|---|{11 * "---:|"}\n'
)


def percent(value: float) -> str:
    """Return a relative error in percent; a dash for NaN."""
    return '-' if value != value else f'{100 * value:.2f}'


def table() -> str:
    """Return the Markdown table of all sheets."""
    lines = []
    for path in sorted((ROOT / 'config' / 'sheets').glob('*.yaml')):
        sheet = dn.read_sheet(path)
        total, tenths, halves = sheet.residuals()[-1], sheet.validate(10), sheet.validate(2)
        fitted = [total.rms, total.worst, total.rounding]
        errors = [percent(value) for value in (*fitted, tenths.rms, tenths.worst, halves.rms, halves.worst)]
        counts = [f'`{path.stem}`', str(total.targets), f'{sheet.fitted.effective_number:.1f}']
        lines.append(f'| {" | ".join([*counts, *errors, str(total.bounds), str(total.broken)])} |')
    return HEAD + '\n'.join(lines)


if __name__ == '__main__':
    text = table()
    if '--write' in sys.argv[1:]:
        page = PAGE.read_text()
        before, rest = page.split(START)
        PAGE.write_text(f'{before}{START}\n\n{text}\n\n{END}{rest.split(END)[1]}')
    else:
        print(text)
