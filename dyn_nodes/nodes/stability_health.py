"""Statuses of margins and their alarm levels on /diagnostics, for publishers and readers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dyn_nodes.measures import CAUTION, DANGER, LEVELS_KEY, MEASURES, Levels, levels_of_values
from dyn_nodes.measures import OK as IN_ORDER
from dyn_nodes.nodes.diagnostics import ERROR, OK, WARN, Health

if TYPE_CHECKING:
    from dyn_nodes.stability.balance import Balance
    from dyn_nodes.stability.support import Margin

STATUS = 'stability'
"""Name of the status, after the name of the node."""
LEVEL_OF_BAND = {IN_ORDER: OK, CAUTION: WARN, DANGER: ERROR}


def judge(health: Health, balance: Balance, levels: Mapping[str, Levels], names: Iterable[str]) -> None:
    """Raise the level of a status to the worst margin and name it: first a tipped machine, then a lifted wheel."""
    margins = [(name, balance.margins[name]) for name in names]
    for name, margin in sorted(margins, key=lambda item: _urgency(*item)):
        band = levels[name].band(margin.value)
        if band != IN_ORDER:
            health.worse(LEVEL_OF_BAND[band], _text(name, margin, balance.critical_edge(name), levels[name], band))


def _urgency(name: str, margin: Margin) -> int:
    if not MEASURES[name].is_zero(margin.value):
        return 2
    return 0 if MEASURES[name].at_zero == 'tipping' else 1


def _text(name: str, margin: Margin, where: str, levels: Levels, band: str) -> str:
    measure = MEASURES[name]
    if measure.is_zero(margin.value):
        return f'{measure.at_zero}: {measure.label} over {where}'
    level = levels.danger if band == DANGER else levels.caution
    return f'{band}: {measure.label} {measure.display(margin.value)} at {where}, level {measure.display(level)}'


def margin_values(balance: Balance, levels: Mapping[str, Levels], names: Iterable[str]) -> dict[str, str]:
    """Return every margin, SI, with its critical edge, band and alarm levels as texts."""
    values = {}
    for name in names:
        margin = balance.margins[name]
        values[name] = f'{margin.value:.6g}' if margin.valid else 'not valid'
        values[f'{name} critical edge'] = balance.critical_edge(name)
        values[f'{name} band'] = levels[name].band(margin.value)
        values[f'{name}{LEVELS_KEY}'] = str(levels[name])
    return values


def levels_of_array(message: Any, node: str) -> dict[str, Levels]:
    """Return the levels by measure of a node, by its name, in a DiagnosticArray; empty if it has none."""
    for status in message.status:
        source, _, subject = status.name.partition(': ')
        if subject == STATUS and source.rpartition('/')[2] == node:
            return levels_of_values((pair.key, pair.value) for pair in status.values)
    return {}
