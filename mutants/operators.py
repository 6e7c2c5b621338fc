"""Changes of the source: selected ones of cosmic-ray, and two additional kinds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cosmic_ray.plugins
from cosmic_ray.operators.operator import Example, Operator

BINARY = (
    'Add_Sub', 'Sub_Add', 'Mul_Div', 'Div_Mul', 'Pow_Mul', 'FloorDiv_Mul', 'Mod_Add', 'BitAnd_BitOr', 'BitOr_BitAnd',
)  # fmt: skip
COMPARISON = (
    'Lt_LtE', 'Lt_GtE', 'LtE_Lt', 'LtE_Gt', 'Gt_GtE', 'Gt_LtE', 'GtE_Gt', 'GtE_Lt', 'Eq_NotEq', 'NotEq_Eq', 'Is_IsNot',
    'IsNot_Is',
)  # fmt: skip
OTHERS = (
    'ReplaceUnaryOperator_Delete_USub', 'ReplaceUnaryOperator_Delete_Invert', 'ReplaceUnaryOperator_Delete_Not',
    'NumberReplacer', 'ReplaceTrueWithFalse', 'ReplaceFalseWithTrue', 'ReplaceAndWithOr', 'ReplaceOrWithAnd', 'AddNot',
    'ReplaceBreakWithContinue', 'ReplaceContinueWithBreak', 'ZeroIterationForLoop',
)  # fmt: skip
TWINS = (('min', 'max'), ('fmin', 'fmax'), ('minimum', 'maximum'), ('any', 'all'), ('sin', 'cos'), ('floor', 'ceil'))
TWIN = {name: other for pair in TWINS for name, other in (pair, pair[::-1])}


class SwapTwins(Operator):
    """Replace a function by its counterpart, such as min by max."""

    def mutation_positions(self, node: Any) -> Iterator[Any]:
        """Yield the position of a name that has a counterpart."""
        if node.type == 'name' and node.value in TWIN and node.get_next_leaf().value in '([,)':
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """Return the name changed."""
        node.value = TWIN[node.value]
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return an example."""
        return (Example('min(a, b)', 'max(a, b)'),)


class DropCall(Operator):
    """Replace a statement that is only a call by one without effect."""

    def mutation_positions(self, node: Any) -> Iterator[Any]:
        """Yield the position of the statement."""
        if node.type in ('atom_expr', 'power') and node.parent.type == 'simple_stmt' and ')' in node.get_code():
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """Return a statement without effect."""
        leaf = node.get_first_leaf()
        leaf.value = '...'
        node.children = [leaf]
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return an example."""
        return (Example('f(a)', '...'),)


def operators() -> dict[str, Operator]:
    """Return all kinds of changes by name."""
    names = [
        *(f'ReplaceBinaryOperator_{name}' for name in BINARY),
        *(f'ReplaceComparisonOperator_{name}' for name in COMPARISON),
        *OTHERS,
    ]
    operators_by_name = {name: cosmic_ray.plugins.get_operator(f'core/{name}')() for name in names}
    return {**operators_by_name, 'SwapTwins': SwapTwins(), 'DropCall': DropCall()}
