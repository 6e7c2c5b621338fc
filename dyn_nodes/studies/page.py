"""Self-contained HTML page of all studies that were run: claims, figures, remarks."""

from __future__ import annotations

import base64
import html
import io
import math
from collections.abc import Sequence
from pathlib import Path

from dyn_nodes.studies.framework import Claim, StudyFigure, StudyResult

RESOLUTION = 110  # dots per inch

_STYLE = """
:root { --ink: #1d2730; --soft: #5b6872; --line: #dfe4e8; --paper: #fff; --back: #f3f5f7;
        --good: #00795a; --bad: #b3401a; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink);
       font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1040px; margin: 0 auto; padding: 0 20px 60px; }
header { color: #fff; padding: 34px 0 30px; background: var(--bad); }
header.good { background: var(--good); }
header div { max-width: 1040px; margin: 0 auto; padding: 0 20px; }
h1 { font-size: 31px; line-height: 1.2; margin: 0 0 6px; font-weight: 650; }
header p { margin: 0; opacity: .92; }
h2 { font-size: 20px; margin: 0 0 4px; }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 8px; margin: 20px 0 0;
          padding: 20px 22px; }
figure { margin: 18px 0 0; }
img { width: 100%; height: auto; display: block; }
figcaption, .note, .meta { color: var(--soft); font-size: 14px; margin: 4px 0 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; margin: 10px 0; }
th, td { text-align: left; vertical-align: top; padding: 5px 12px 5px 0; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; }
td.v { font-variant-numeric: tabular-nums; }
.ok { color: var(--good); font-weight: 600; } .no { color: var(--bad); font-weight: 700; }
nav a { margin-right: 14px; color: var(--ink); white-space: nowrap; }
@media print { body { background: #fff; } section { border: 0; } figure { break-inside: avoid; }
               header { color: #000; background: none !important; border-bottom: 2px solid #000; } }
"""


def write_page(results: Sequence[StudyResult], path: Path, command: str = '') -> None:
    """Write the page, with all figures inside it."""
    claims = [claim for result in results for claim in result.claims]
    failed = sum(not claim.passed for claim in claims)
    state, headline = ('good', f'{len(claims)} claims hold') if not failed else ('', f'{failed} claims do not hold')
    summary = f'{len(results)} studies, {len(claims)} claims'
    if command:
        summary += f' · {html.escape(command)}'
    menu = ' '.join(
        f'<a href="#{_anchor(r)}">{"✓" if r.passed else "✗"} {html.escape(r.study.name)}</a>' for r in results
    )
    body = '\n'.join(_section(result) for result in results)
    path.write_text(
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>Studies: {html.escape(headline)}</title><style>{_STYLE}</style></head>\n<body>'
        f'<header class="{state}"><div><h1>{headline}</h1><p>{summary}</p></div></header>\n'
        f'<main><section><nav>{menu}</nav></section>\n{body}\n</main></body></html>\n',
        encoding='utf-8',
    )


def write_figures(results: Sequence[StudyResult], directory: Path) -> list[Path]:
    """Write `<source>-<study>-<figure>.png` for every figure; return the files."""
    paths = []
    for result in results:
        for figure in result.figures:
            path = directory / f'{_anchor(result)}-{figure.name}.png'
            figure.figure.savefig(path, dpi=RESOLUTION, metadata={'Software': None})
            paths.append(path)
    return paths


def _section(result: StudyResult) -> str:
    rows = '\n'.join(_row(claim) for claim in result.claims)
    notes = ''.join(f'<p class="note">{html.escape(note)}</p>' for note in result.notes)
    figures = '\n'.join(_figure(figure) for figure in result.figures)
    return (
        f'<section id="{_anchor(result)}"><h2>{html.escape(result.study.title)}</h2>'
        f'<p class="meta">{html.escape(result.study.name)} · {result.seconds:.1f} s</p>{notes}'
        '<div class="scroll"><table><thead><tr><th>claim</th><th>source</th><th>expected</th><th>value</th>'
        f'<th>tolerance</th><th></th></tr></thead><tbody>{rows}</tbody></table></div>{figures}</section>'
    )


def _row(claim: Claim) -> str:
    mark = '<span class="ok">holds</span>' if claim.passed else '<span class="no">fails</span>'
    cells = (claim.claim, claim.source)
    values = (shown(claim.expected), shown(claim.value), shown(claim.tolerance))
    text = ''.join(f'<td>{html.escape(cell)}</td>' for cell in cells)
    text += ''.join(f'<td class="v">{html.escape(value)}</td>' for value in values)
    return f'<tr>{text}<td>{mark}</td></tr>'


def _figure(entry: StudyFigure) -> str:
    buffer = io.BytesIO()
    entry.figure.savefig(buffer, format='png', dpi=RESOLUTION, metadata={'Software': None})
    data = base64.b64encode(buffer.getvalue()).decode('ascii')
    caption = html.escape(entry.caption)
    return (
        f'<figure><img alt="{caption}" src="data:image/png;base64,{data}"><figcaption>{caption}</figcaption></figure>'
    )


def _anchor(result: StudyResult) -> str:
    return html.escape(result.study.name.replace('/', '-'))


def shown(value: object) -> str:
    """Return a value as readable text: six digits, `overturned` for infinity."""
    if isinstance(value, list):
        return ', '.join(shown(item) for item in value)
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    if isinstance(value, float):
        return 'overturned' if value == math.inf else f'{value:.6g}'
    return str(value)
