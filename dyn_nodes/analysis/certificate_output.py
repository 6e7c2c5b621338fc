"""Output of the calculation of a standard: text, JSON, CSV and a page to print."""

from __future__ import annotations

import csv
from datetime import datetime
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from dyn_nodes.analysis.report import TEMPLATE, html_table, html_text, installed_versions
from dyn_nodes.analysis.standards.standard import Certificate, Effect, ResultTable
from dyn_nodes.common.json_text import json_text

NAMES = ('json', 'csv', 'txt', 'html')


def effect_rows(certificate: Certificate) -> list[tuple[str, str, str, str, str]]:
    """Return rows of the effects: keys, value, change, effect on the result, reason."""
    return [(', '.join(each.keys), each.value, each.change, _effect(each), each.reason) for each in certificate.effects]


EFFECT_HEADS = ('assumed value', 'is', 'changed by', 'changes the result by', 'reason for the value')


def _effect(effect: Effect) -> str:
    if np.isnan(effect.least):
        return 'not varied: the machine file does not allow it'
    return f'{100.0 * effect.least:+.2f} to {100.0 * effect.greatest:+.2f} %'


def statements(certificate: Certificate) -> list[str]:
    """Return the number of assumed values and the values without a part in the result, as sentences."""
    count, unaffected, open_numbers = certificate.assumed, certificate.unaffected, certificate.unconfirmed
    text = 'No value of the machine file is marked as assumed.'
    if count:
        text = f'{count} value{"" if count == 1 else "s"} of the machine file {"is" if count == 1 else "are"} assumed.'
    if open_numbers:
        text += (
            f' Numbers of the standard without a public source, to be entered with --set: {", ".join(open_numbers)}.'
        )
    result = [text]
    if not count:
        return result
    if not certificate.effects:
        return [*result, 'Their effect on the result was not computed, or they have none.']
    return [*result, f'{len(unaffected)} of them have no effect on the result: {", ".join(unaffected) or "none"}.']


def as_json(certificate: Certificate) -> dict[str, Any]:
    """Return the certificate as plain data, SI units; `json_text` writes numbers that are not finite as null."""
    return {
        'kind': certificate.kind,
        'standard': certificate.standard,
        'machine': certificate.machine,
        'sources': list(certificate.sources),
        'supports': certificate.supports,
        'inputs': [each._asdict() for each in certificate.inputs],
        'results': list(certificate.records),
        'assumed': certificate.assumed,
        'unconfirmed': list(certificate.unconfirmed),
        'effects': [each._asdict() for each in certificate.effects],
        'without_effect': list(certificate.unaffected),
        'notes': list(certificate.notes),
        'not_shown': list(certificate.not_shown),
    }


def as_text(certificate: Certificate) -> str:
    """Return the certificate as plain text."""
    lines = [f'{certificate.machine}: {certificate.standard}', '', certificate.supports, *statements(certificate), '']
    for table in certificate.tables:
        lines += [table.title, *_columns((table.heads, *table.rows)), '']
    lines += [*certificate.notes, '', 'Inputs']
    lines += _columns([('input', 'value', 'source'), *certificate.inputs])
    if certificate.effects:
        lines += ['', 'Effect of assumed values', *_columns([EFFECT_HEADS, *effect_rows(certificate)])]
    lines += ['', 'Not shown by a model', *(f'- {text}' for text in certificate.not_shown)]
    return '\n'.join(line.rstrip() for line in lines) + '\n'


def _columns(rows: Any) -> list[str]:
    """Return rows of cells as lines with aligned columns."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows)]
    return ['  '.join(cell.ljust(width) for cell, width in zip(row, widths)) for row in rows]


def write_csv(certificate: Certificate, path: Path) -> None:
    """Write every result as one line."""
    records = [_flat(record) for record in certificate.records]
    with path.open('w', newline='', encoding='utf-8') as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for record in records for name in record)))
        writer.writeheader()
        writer.writerows(records)


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in record.items():
        flat |= value if isinstance(value, dict) else {name: value}
    return flat


def as_html(certificate: Certificate, command: str = '') -> str:
    """Return the certificate as a page without other files, to read and to print.

    Args:
        certificate: the calculation.
        command: command line that produced it.
    """
    head = Template(TEMPLATE.read_text(encoding='utf-8').partition('<main>')[0]).substitute(
        title=html_text(f'{certificate.machine}: {certificate.standard}'),
        headline=html_text(certificate.machine),
        state=_state(certificate),
        label=html_text(certificate.kind),
        subtitle=html_text(certificate.standard),
    )
    parts = [f'<p class="story">{html_text(" ".join([certificate.supports, statements(certificate)[0]]))}</p>']
    for table in certificate.tables:
        cells = html_table(table.heads, table.rows, numbers=_numbers(table))
        parts.append(_section(table.title, cells, '' if table.subject == table.title else f'Subject: {table.subject}.'))
    parts.append(_section('Method', _list(certificate.notes)))
    parts.append(_section('Inputs', html_table(('input', 'value', 'source'), certificate.inputs, numbers=())))
    effects = html_table(EFFECT_HEADS, effect_rows(certificate), numbers=(3,)) if certificate.effects else ''
    parts.append(_section('Assumed values and their effect', effects + _list(statements(certificate))))
    parts.append(_section('Asked by the standard, not shown by a model', _list(certificate.not_shown)))
    versions = ', '.join(f'{name} {version}' for name, version in installed_versions().items())
    made = [
        ('files', ', '.join(certificate.sources)),
        ('made', datetime.now().astimezone().strftime('%Y-%m-%d %H:%M:%S %z')),
        ('with', versions),
    ]
    made = [('command', command), *made] if command else made
    note = (
        'A calculation for an assessor. It does not replace the tests of the standard, and contains none of its text.'
    )
    parts.append(_section('Origin of this page', html_table(('', ''), made, numbers=(), head=False), note))
    return f'{head}<main>\n' + '\n'.join(parts) + '\n</main>\n</body>\n</html>\n'


def _state(certificate: Certificate) -> str:
    """Return the colour of the heading: a requirement is not met, values are assumed, or neither."""
    if any(record.get('meets') is False for record in certificate.records):
        return 'bad'
    return 'warn' if certificate.assumed or certificate.unconfirmed else 'good'


def _numbers(table: ResultTable) -> list[int]:
    """Return the indices of the columns with numbers: most cells have no letter at the start."""
    columns = list(zip(*table.rows))
    return [
        k for k in range(1, len(columns)) if 2 * sum(not cell[:1].isalpha() for cell in columns[k]) > len(columns[k])
    ]


def _section(title: str, body: str, note: str = '') -> str:
    below = f'<p class="note">{html_text(note)}</p>' if note else ''
    return f'<section><h2>{html_text(title)}</h2>\n{body}{below}</section>'


def _list(texts: Any) -> str:
    return '<ul>' + ''.join(f'<li>{html_text(text)}</li>' for text in texts) + '</ul>'


def write_all(certificate: Certificate, out: Path, command: str = '') -> list[Path]:
    """Write JSON, CSV, text and page into an existing directory; return their paths.

    Args:
        certificate: the calculation.
        out: the directory.
        command: command line that produced it.
    """
    paths = {name: out / f'{certificate.kind}.{name}' for name in NAMES}
    paths['json'].write_text(json_text(as_json(certificate)) + '\n', encoding='utf-8')
    write_csv(certificate, paths['csv'])
    paths['txt'].write_text(as_text(certificate), encoding='utf-8')
    paths['html'].write_text(as_html(certificate, command), encoding='utf-8')
    return list(paths.values())
