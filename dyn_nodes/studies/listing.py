"""Names and titles of the studies, parsed from the source text of their modules without importing them."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

DECORATOR = 'study'


def listed_studies() -> dict[str, str]:
    """Return the title of every study by its name, in natural order.

    The result equals `framework.load_studies`: a module registers its studies by a decorator with two literal strings.
    """
    titles: dict[str, str] = {}
    for path in sorted(Path(__file__).parent.glob('*/*.py')):
        text = path.read_text(encoding='utf-8')
        if f'@{DECORATOR}(' in text:
            titles.update(_of_module(ast.parse(text)))
    return {name: titles[name] for name in sorted(titles, key=natural)}


def natural(name: str) -> list[Any]:
    """Return a sort key of a name that compares the numbers in it by value."""
    return [int(part) if part.isdigit() else part for part in re.split(r'(\d+)', name)]


def _of_module(module: ast.Module) -> dict[str, str]:
    titles = {}
    for function in module.body:
        for call in getattr(function, 'decorator_list', ()):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == DECORATOR:
                name, title = (ast.literal_eval(argument) for argument in call.args)
                titles[name] = title
    return titles
