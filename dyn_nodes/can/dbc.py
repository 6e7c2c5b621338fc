"""A DBC that anybody may have written: sizes are checked before cantools sees it, every fault has its line."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from dyn_nodes.common.textfile import TextFileError, read_text
from dyn_nodes.model.problems import Report

LARGEST_DBC = 4_000_000
"""Characters; cantools needs about 20 s for as many."""
MOST_BYTES, MOST_BITS, WIDEST_RANGE = 64, 64, 4096
"""Of a message (CAN FD), of a signal, of a range of multiplexer values."""
MOST_SIGNALS, MOST_PAIRS = 2000, 20_000_000
"""Signals of a message, and pairs of signals of one message in the whole file: cantools compares them."""
MOST_SHOWN = 50
"""Faults of a file."""
STATEMENT = re.compile(
    r'\bBO_\s+(?P<identifier>\d{1,30})\s+(?P<message>\w{1,200})\s*:\s*(?P<size>\d{1,30})\b'
    r'|\bSG_\s+(?P<signal>\w{1,200})\b[^:"]{0,50}:\s*(?P<start>\d{1,30})\s*\|\s*(?P<length>\d{1,30})\s*@'
    r'|\bSG_MUL_VAL_(?P<ranges>[^;]*)'
)
"""Of a message, of a signal, of ranges of a multiplexer: a line may hold several."""
RANGES = re.compile(r'(\d{1,30})\s*-\s*(\d{1,30})')
FAULT_LINE = re.compile(r'line (\d+), column')
LONGEST_FAULT, MARK = 200, '>>!<<'
"""Characters shown of an error of cantools, and where it says that the fault is."""


def read_dbc(path: Path, report: Report) -> Any | None:
    """Return the `cantools` database of a file, or None after recording what is wrong with it.

    Raises:
        ImportError: cantools is not installed.
    """
    from cantools.database import Error, load_string

    try:
        text = read_text(path, LARGEST_DBC)
    except TextFileError as error:
        report.add(error.line, 'file', error.expected, error.found)
        return None
    if not _sizes_are_sound(text, report):
        return None
    try:
        database: Any = load_string(text, 'dbc')
    except RecursionError:
        report.add(0, 'file', 'a DBC', 'one that is nested too deep')
        return None
    except Exception as error:  # cantools raises KeyError, ValueError and others for what its grammar lets through
        cause = getattr(error, 'e_dbc', None) or error
        place = FAULT_LINE.search(str(cause))
        found = str(cause) if isinstance(error, Error) else f'{type(cause).__name__}: {cause}'
        report.add(int(place.group(1)) if place else 0, 'file', 'a DBC', _near_the_mark(found))
        return None
    _check_numbers(database, text, report)
    return None if report.failed else database


def _near_the_mark(found: str) -> str:
    """Return the part of an error of cantools about its mark: it quotes whole lines, however long."""
    if len(found) <= LONGEST_FAULT:
        return found
    middle = max(found.find(MARK), 0)
    start = max(middle - LONGEST_FAULT // 2, 0)
    return f'{found[:60]} ... {found[start : start + LONGEST_FAULT]} ...'


def line_of(text: str, pattern: str) -> int:
    """Return the first line of a DBC that matches, 0 where none does."""
    found = re.search(pattern, text, re.MULTILINE)
    return text.count('\n', 0, found.start()) + 1 if found else 0


class _Sizes:
    """Checks what cantools would expand in memory, and what it passes over: two messages of one name or identifier."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.names: dict[Any, int] = {}
        self.identifiers: dict[Any, int] = {}
        self.place = self.signals = self.pairs = 0

    def message(self, line: int, identifier: int, name: str, size: int) -> None:
        """Check a message; its signals follow."""
        self.place, self.signals = line, 0
        if name == 'VECTOR__INDEPENDENT_SIG_MSG':
            return
        where = f'message {name}'
        if size > MOST_BYTES:
            self.report.add(line, where, f'at most {MOST_BYTES} bytes', size)
        for known, key, what in ((self.names, name, 'name'), (self.identifiers, identifier, 'identifier')):
            if key in known:
                expected = f'a message with a {what} of its own (line {known[key]} has it)'
                self.report.add(line, where, expected, key)
            known.setdefault(key, line)

    def signal(self, line: int, name: str, start: int, length: int) -> None:
        """Check a signal of the message above it."""
        self.signals += 1
        self.pairs += self.signals
        if self.signals == MOST_SIGNALS + 1:
            self.report.add(self.place, 'message', f'at most {MOST_SIGNALS} signals', 'more')
        if max(start // 8, length) > MOST_BITS:
            expected = f'at most {MOST_BITS} bits within {MOST_BYTES} bytes'
            self.report.add(line, f'signal {name}', expected, f'{length} bits from bit {start} on')

    def ranges(self, line: int, text: str) -> None:
        """Check the ranges of values of a multiplexer."""
        for low, high in RANGES.findall(text):
            if int(high) - int(low) > WIDEST_RANGE:
                expected = f'a range of at most {WIDEST_RANGE} multiplexer values'
                self.report.add(line, 'SG_MUL_VAL_', expected, f'{low}-{high}')


def _sizes_are_sound(text: str, report: Report) -> bool:
    sizes, before, line, end = _Sizes(report), len(report.problems), 1, 0
    for found in STATEMENT.finditer(text):
        line, end = line + text.count('\n', end, found.start()), found.start()
        if found['message']:
            sizes.message(line, int(found['identifier']), found['message'], int(found['size']))
        elif found['signal']:
            sizes.signal(line, found['signal'], int(found['start']), int(found['length']))
        else:
            sizes.ranges(line, found['ranges'])
        if sizes.pairs > MOST_PAIRS:
            report.add(line, 'signal', f'at most {MOST_PAIRS} pairs of signals within the messages', 'more')
            break
        if len(report.problems) - before > MOST_SHOWN:
            break
    return len(report.problems) == before


def _lines_of_signals(text: str) -> dict[str, int]:
    """Return the first line of a signal by its name."""
    found: dict[str, int] = {}
    line, end = 1, 0
    for own in STATEMENT.finditer(text):
        line, end = line + text.count('\n', end, own.start()), own.start()
        if own['signal']:
            found.setdefault(own['signal'], line)
    return found


def _check_numbers(database: Any, text: str, report: Report) -> None:
    lines, before = _lines_of_signals(text), len(report.problems)
    for message in database.messages:
        for signal in message.signals:
            scale, offset = float(signal.scale), float(signal.offset)
            if scale == 0.0 or not (math.isfinite(scale) and math.isfinite(offset)):
                if len(report.problems) - before >= MOST_SHOWN:
                    return
                where = f'signal {message.name}.{signal.name}'
                report.add(
                    lines.get(signal.name, 0),
                    where,
                    'a finite factor other than 0, and a finite offset',
                    f'({scale:g},{offset:g})',
                )
