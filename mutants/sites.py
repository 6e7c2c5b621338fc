"""Sites of changes of a module, without texts, types, decorators and messages."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import parso
from cosmic_ray.ast import ast_nodes
from cosmic_ray.operators.operator import Operator

from mutants.operators import operators

TEXT_CALLS = ('error', 'warning', 'warn', 'info', 'debug', 'print', 'getLogger', 'get_logger', 'TypeVar', 'cast')
LEFT_ALONE = ('raise_stmt', 'assert_stmt', 'decorator', 'decorators', 'fstring', 'import_from')


@dataclass(frozen=True)
class Mutant:
    """One change of one module.

    Attributes:
        module: package/module.
        operator: kind of the change.
        lines: first and last line of the change, with the head of its statement.
        before: original lines.
        after: changed lines.
        span: characters of the source that are replaced.
        text: replacement.
    """

    module: str
    operator: str
    lines: tuple[int, int]
    before: str
    after: str
    span: tuple[int, int]
    text: str

    @property
    def key(self) -> str:
        """Return the identity of the change as long as its line and the order of equal changes stay the same."""
        text = f'{self.module}\n{self.operator}\n{self.before}\n{self.after}'
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def location(self) -> str:
        """Return module and line."""
        return f'{self.module}:{self.lines[0]}'

    def as_dict(self) -> dict[str, Any]:
        """Return the change for a JSON line."""
        return {'key': self.key, **asdict(self)}


def mutants_of(module: str, source: str) -> list[Mutant]:
    """Return all different changes of a module's text, in the order of the lines."""
    tree = parso.parse(source)
    starts = [0, *itertools.accumulate(len(line) for line in source.splitlines(keepends=True))]
    mutants: dict[str, Mutant] = {}
    kinds = operators()
    for node in ast_nodes(tree):
        for name, operator in kinds.items():
            for index, _ in enumerate(list(operator.mutation_positions(node))):
                if _is_left_alone(node):
                    continue
                span = _offset(starts, node.get_start_pos_of_prefix()), _offset(starts, node.end_pos)
                text = _mutated(node, operator, index)
                if text == source[slice(*span)]:
                    continue
                before, after = _difference(source, source[: span[0]] + text + source[span[1] :])
                mutant = Mutant(module, name, _lines(node), before, after, span, text)
                mutants.setdefault(mutant.key, mutant)
    return sorted(mutants.values(), key=lambda mutant: (mutant.lines, mutant.operator, mutant.span))


def changed_source(mutant: Mutant, source: str) -> str:
    """Return the module's text with the change."""
    return source[: mutant.span[0]] + mutant.text + source[mutant.span[1] :]


def _offset(starts: list[int], position: tuple[int, int]) -> int:
    return starts[position[0] - 1] + position[1]


def _mutated(node: Any, operator: Operator, index: int) -> str:
    """Return the changed code of the node; the tree is not modified."""
    parent, kept = node.parent, [(part, dict(_slots(part))) for part in ast_nodes(node)]
    text = operator.mutate(node, index).get_code()
    for part, slots in kept:
        for name, value in slots.items():
            setattr(part, name, value)
    node.parent = parent
    return str(text)


def _slots(part: Any) -> Iterator[tuple[str, Any]]:
    for name in ('value', 'prefix', 'parent'):
        if hasattr(part, name) and not (name == 'value' and hasattr(part, 'children')):
            yield name, getattr(part, name)
    if hasattr(part, 'children'):
        yield 'children', list(part.children)


def _ancestors(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (child, parent) from the node to the root."""
    while node.parent is not None:
        yield node, node.parent
        node = node.parent


def _is_left_alone(node: Any) -> bool:
    if node.type in LEFT_ALONE or (node.type == 'if_stmt' and 'TYPE_CHECKING' in node.children[1].get_code()):
        return True
    if node.type in ('atom_expr', 'power') and _called(node) in TEXT_CALLS:
        return True
    for child, parent in _ancestors(node):
        if parent.type in LEFT_ALONE or (parent.type == 'annassign' and child is parent.children[1]):
            return True
        if parent.type == 'param' and child is getattr(parent, 'annotation', None):
            return True
        if parent.type == 'funcdef' and child is getattr(parent, 'annotation', None):
            return True
        if parent.type in ('atom_expr', 'power') and _called(parent) in TEXT_CALLS:
            return True
        if parent.type == 'if_stmt' and 'TYPE_CHECKING' in parent.children[1].get_code():
            return True
        if parent.type == 'expr_stmt' and _is_type_alias(parent):
            return True
    return False


def _called(node: Any) -> str:
    """Return the name of the last function that an expression calls."""
    for leaf in reversed(node.children):
        if leaf.type == 'trailer' and leaf.children[0].value == '.':
            return str(leaf.children[1].value)
    return str(getattr(node.children[0], 'value', ''))


def _is_type_alias(statement: Any) -> bool:
    """Return whether a statement at the top of a module names a type: `Array = NDArray[np.float64]`."""
    if statement.parent.parent is None or statement.parent.parent.type != 'file_input':
        return False
    value = statement.children[-1].get_code().strip()
    return statement.children[0].get_code().strip()[0].isupper() and value.startswith(
        ('NDArray', 'Callable', 'Mapping', 'Sequence', 'dict[', 'tuple[', 'list[', 'Union', 'Literal')
    )


def _lines(node: Any) -> tuple[int, int]:
    """Return the first and last line whose execution shows that the changed code was executed."""
    top = node
    for _, parent in _ancestors(node):
        if parent.type in ('suite', 'file_input'):
            break
        top = parent if parent.type in ('simple_stmt', 'expr_stmt', 'return_stmt') else top
    line, column = top.end_pos
    return top.start_pos[0], line if column else line - 1  # a statement ends at the start of the next line


def _difference(source: str, changed: str) -> tuple[str, str]:
    """Return the lines that differ, before and after, without surrounding space."""
    old, new = source.splitlines(), changed.splitlines()
    first = next(k for k in range(min(len(old), len(new))) if old[k] != new[k])
    last = 1
    while last <= min(len(old), len(new)) - first and old[-last] == new[-last]:
        last += 1
    ends = slice(first, len(old) - last + 1), slice(first, len(new) - last + 1)
    return '\n'.join(old[ends[0]]).strip(), '\n'.join(new[ends[1]]).strip()
