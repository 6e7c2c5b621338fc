"""A campaign against a governor that several calls or computers have shared: the sum of their reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from dyn_nodes.common.errors import UserError
from dyn_nodes.governor.campaign.troubles import TroubleBox

SAME = ('machine', 'levers', 'box', 'reserve')
"""Of reports that can be added up."""
KINDS = ('random', 'search', 'without governor')
COUNTS = ('runs', 'overturned', 'lifted', 'lost', 'diverged')


class PiecesError(UserError, ValueError):
    """Reports that do not belong together; the message has both files."""


def sum_up(reports: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Return counts and extremes by `KINDS` of what was run; kinds without runs are left out.

    Args:
        reports: (name, what `dyn-nodes governor test --json` prints) each; of one search or of random runs.

    Raises:
        PiecesError: reports of different machines, boxes or governors, or of the same runs.
        KeyError, TypeError, ValueError: no such report.
    """
    _check(reports)
    found: dict[str, dict[str, Any]] = {}
    for _, report in reports:
        _add(found.setdefault('search' if report['search'] else 'random', _none()), report)
        if report['without_governor']:
            _add(found.setdefault('without governor', _none()), report['without_governor'])
    for own in found.values():
        own['let_through'] /= max(own['runs'], 1)
    return {kind: found[kind] for kind in KINDS if kind in found}


def _check(reports: Sequence[tuple[str, dict[str, Any]]]) -> None:
    seen: list[tuple[str, tuple[Any, ...], int, int]] = []
    for name, report in reports:
        for key in SAME:
            if _whole(report[key]) != _whole(reports[0][1][key]):
                raise PiecesError(f'{name}: expected {key} as in {reports[0][0]}, found another')
        begin, count = (0, 1) if report['search'] else (int(report['first']), _asked(report))
        same = report['seed'], bool(report['search'])
        for other, its, start, end in seen:
            if its == same and begin < end and start < begin + count:
                raise PiecesError(f'{name}: expected other runs than {other}, found some of them again')
        seen.append((name, same, begin, begin + count))


def _whole(value: Any) -> Any:
    """Return what has to be the same in all reports; in boxes of older ones troubles are missing that came later."""
    if isinstance(value, dict) and isinstance(value.get('troubles'), dict):
        return {**value, 'troubles': {**asdict(TroubleBox()), **value['troubles']}}
    return value


def _asked(report: dict[str, Any]) -> int:
    return int(report['runs']) + int(report['refused_starts']['runs'])


def _none() -> dict[str, Any]:
    refused = dict.fromkeys(('runs', 'overturned', 'lifted', 'diverged'), 0)
    return {**dict.fromkeys(COUNTS, 0), 'share': 1.0, 'tilt': 0.0, 'let_through': 0.0, 'refused_starts': refused}


def _add(found: dict[str, Any], piece: dict[str, Any]) -> None:
    for key in COUNTS:
        found[key] += int(piece[key])
    found['share'] = min(found['share'], float(piece['share']))
    found['tilt'] = max(found['tilt'], float(piece['tilt']))
    found['let_through'] += int(piece['runs']) * float(piece['let_through'])
    for key in found['refused_starts']:
        found['refused_starts'][key] += int(piece['refused_starts'][key])
