"""A campaign against a governor that is divided among several calls or computers: the sum of their reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from dyn_nodes.common.errors import UserError
from dyn_nodes.governor.campaign.troubles import TroubleBox
from dyn_nodes.governor.settings import CRITERIA

SAME = ('machine', 'levers', 'box', 'criterion', 'reserve')
"""Keys that must be equal in reports that are added up."""
KINDS = ('random', 'search', 'without governor')
COUNTS = ('runs', 'overturned', 'lifted', 'lost', 'diverged')


class PiecesError(UserError, ValueError):
    """Reports that do not belong together; the message names both files."""


def sum_up(reports: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Return counts and extremes of the runs by `KINDS`; kinds without runs are omitted.

    Args:
        reports: (name, output of `dyn-nodes governor test --json`) each; of one search or of random runs.

    Raises:
        PiecesError: reports of different machines, boxes or governors, or of the same runs.
        KeyError, TypeError, ValueError: not such a report.
    """
    _check(reports)
    sums: dict[str, dict[str, Any]] = {}
    for _, report in reports:
        _add(sums.setdefault('search' if report['search'] else 'random', _none()), report)
        if report['without_governor']:
            _add(sums.setdefault('without governor', _none()), report['without_governor'])
    for total in sums.values():
        total['let_through'] /= max(total['runs'], 1)
    return {kind: sums[kind] for kind in KINDS if kind in sums}


def _check(reports: Sequence[tuple[str, dict[str, Any]]]) -> None:
    seen: list[tuple[str, tuple[Any, ...], int, int]] = []
    reports = [(name, {'criterion': CRITERIA[0], **report}) for name, report in reports]  # older ones have none
    for name, report in reports:
        for key in SAME:
            if _whole(report[key]) != _whole(reports[0][1][key]):
                raise PiecesError(f'{name}: expected {key} as in {reports[0][0]}, found another')
        first, count = (0, 1) if report['search'] else (int(report['first']), _asked(report))
        same = report['seed'], bool(report['search'])
        for other, its, start, end in seen:
            if its == same and first < end and start < first + count:
                raise PiecesError(f'{name}: expected other runs than {other}, found some of them repeated')
        seen.append((name, same, first, first + count))


def _whole(value: Any) -> Any:
    """Return a value for comparison; troubles that are missing in boxes of older reports are added."""
    if isinstance(value, dict) and isinstance(value.get('troubles'), dict):
        return {**value, 'troubles': {**asdict(TroubleBox()), **value['troubles']}}
    return value


def _asked(report: dict[str, Any]) -> int:
    return int(report['runs']) + int(report['refused_starts']['runs'])


def _none() -> dict[str, Any]:
    rejected = dict.fromkeys(('runs', 'overturned', 'lifted', 'diverged'), 0)
    return {**dict.fromkeys(COUNTS, 0), 'share': 1.0, 'tilt': 0.0, 'let_through': 0.0, 'refused_starts': rejected}


def _add(sums: dict[str, Any], piece: dict[str, Any]) -> None:
    for key in COUNTS:
        sums[key] += int(piece[key])
    sums['share'] = min(sums['share'], float(piece['share']))
    if (overload := piece.get('overload')) is not None:
        sums['overload'] = max(sums.get('overload') or 0.0, float(overload))
    sums['tilt'] = max(sums['tilt'], float(piece['tilt']))
    sums['let_through'] += int(piece['runs']) * float(piece['let_through'])
    for key in sums['refused_starts']:
        sums['refused_starts'][key] += int(piece['refused_starts'][key])
