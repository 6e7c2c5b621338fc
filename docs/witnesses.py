"""The page of models and their independent witnesses, from docs/witnesses.yaml; `docs/site/hooks.py` adds it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).resolve().parent
HEAD = """# Witnesses

Every model has at least two kinds of witness: a balance, another formulation, another program, a closed form, a printed
number. Generated from `docs/witnesses.yaml` when the site is built. `test/docs/test_witnesses.py` fails where a
named test does not exist, where a model has fewer than two kinds of witness, and where a room of physics, a measure, a
force or a contact is in no row. The numbers count the tests named below; there are more tests than these.
"""


def load() -> dict[str, Any]:
    """Return kinds and models of the file."""
    data: dict[str, Any] = yaml.safe_load((FOLDER / 'witnesses.yaml').read_text(encoding='utf-8'))
    return data


def text() -> str:
    """Return the whole page."""
    data = load()
    kinds: dict[str, str] = data['kinds']
    lines = [HEAD, _row(['model', *(name.replace('_', ' ') for name in kinds)]), _row(['---', *[':-:'] * len(kinds)])]
    lines += [
        _row([f'[{own["model"]}](#{_anchor(own["model"])})', *(str(len(own.get(kind, ())) or '') for kind in kinds)])
        for own in data['models']
    ]
    lines += ['', *(f'- **{name.replace("_", " ")}**: {meaning}' for name, meaning in kinds.items())]
    gaps = [own for own in data['models'] if 'gap' in own]
    lines += ['', 'Missing, and worth having:', '', *(f'- {own["model"]}: {own["gap"]}' for own in gaps)]
    for own in data['models']:
        lines += ['', f'## {own["model"].capitalize()}', '']
        lines += [', '.join(f'`{name}`' for name in (*own.get('code', ()), *own.get('measures', ()))), '']
        for kind in (kind for kind in kinds if kind in own):
            lines.append(f'- {kind.replace("_", " ")}: ' + ', '.join(f'`{name}`' for name in own[kind]))
    return '\n'.join(lines) + '\n'


def _row(cells: list[str]) -> str:
    return '| ' + ' | '.join(cells) + ' |'


def _anchor(title: str) -> str:
    return title.lower().replace(',', '').replace(' ', '-')
