"""`--help` of a node: purpose, usage and parameters, from its docstring and its parameter file."""

from __future__ import annotations

import ast
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

from dyn_nodes.nodes.parameters import Declared, all_parameters, nodes_with_parameters

USAGE = 'usage: {node} [--ros-args [-p PARAMETER:=VALUE] ... [-r FROM:=TO] ... [--params-file FILE]]'
INDENT = 6
WIDEST = 110


def help_of(node: str, width: int | None = None) -> str:
    """Return the help of a node in lines of `width` characters; None: width of the terminal, at most `WIDEST`."""
    width = min(shutil.get_terminal_size().columns, WIDEST) if width is None else width
    source = (Path(__file__).parent / f'{node}.py').read_text()
    about = ast.get_docstring(ast.parse(source)) or ''
    if node not in nodes_with_parameters():
        return about
    return '\n'.join([USAGE.format(node=node), '', about, '', 'parameters:', *_parameters(node, width)])


def _parameters(node: str, width: int) -> Iterator[str]:
    for parameter in all_parameters(node):
        yield f'  {parameter.shown_name}: {_facts(parameter)}'
        yield from textwrap.wrap(
            parameter.description, width, initial_indent=' ' * INDENT, subsequent_indent=' ' * INDENT
        )


def _facts(parameter: Declared) -> str:
    """Return type, accepted values, unit, default, and whether the parameter may be set while the node runs."""
    accepted = f'one of {parameter.accepted()}' if parameter.choices else parameter.accepted()
    value = ' '.join(
        part for part in (f'{parameter.type},' if accepted else parameter.type, accepted, parameter.unit) if part
    )
    return '; '.join([value, f'default {parameter.default_text()}', *([] if parameter.read_only else ['live'])])


def main(args: list[str]) -> int:
    """Print the help of a node by its name."""
    print(help_of(args[0]))
    return 0
