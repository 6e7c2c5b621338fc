"""Reading of untrusted DBC files: sizes are checked before cantools parses them, faults have line numbers."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from dyn_nodes.common.textfile import TextFileError, read_text
from dyn_nodes.model.problems import Report

LARGEST_DBC = 4_000_000
"""Maximum size of a file, characters; cantools needs about 20 s for it."""
MOST_BYTES, MOST_BITS, WIDEST_RANGE = 64, 64, 4096
"""Maximum bytes of a message (CAN FD), bits of a signal, and values of a multiplexer range."""
MOST_SIGNALS, MOST_PAIRS = 2000, 20_000_000
"""Maximum signals of a message, and pairs of signals of the same message in a file, which cantools compares."""
MOST_SHOWN = 50
"""Maximum number of reported faults of a file."""
STATEMENT = re.compile(
    r'\bBO_\s+(?P<identifier>\d{1,30})\s+(?P<message>\w{1,200})\s*:\s*(?P<size>\d{1,30})\b'
    r'|\bSG_\s+(?P<signal>\w{1,200})\b[^:"]{0,50}:\s*(?P<start>\d{1,30})\s*\|\s*(?P<length>\d{1,30})\s*@'
    r'|\bSG_MUL_VAL_(?P<ranges>[^;]*)'
)
"""Statement of a message, of a signal, or of multiplexer ranges; a line may contain several."""
RANGES = re.compile(r'(\d{1,30})\s*-\s*(\d{1,30})')
FAULT_LINE = re.compile(r'line (\d+), column')
LONGEST_FAULT, MARK = 200, '>>!<<'
"""Maximum characters of an error of cantools, and the mark at the fault in it."""


def read_dbc(path: Path, report: Report) -> Any | None:
    """Return the `cantools` database of a file, or None after reporting its faults.

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
        report.add(0, 'file', 'a DBC', 'one with too deep nesting')
        return None
    except Exception as error:  # cantools raises KeyError, ValueError and others after parsing
        cause = getattr(error, 'e_dbc', None) or error
        location = FAULT_LINE.search(str(cause))
        reason = str(cause) if isinstance(error, Error) else f'{type(cause).__name__}: {cause}'
        report.add(int(location.group(1)) if location else 0, 'file', 'a DBC', _near_the_mark(reason))
        return None
    _check_numbers(database, text, report)
    return None if report.failed else database


def _near_the_mark(text: str) -> str:
    """Return the part of an error of cantools around its mark: cantools quotes whole lines of any length."""
    if len(text) <= LONGEST_FAULT:
        return text
    middle = max(text.find(MARK), 0)
    start = max(middle - LONGEST_FAULT // 2, 0)
    return f'{text[:60]} ... {text[start : start + LONGEST_FAULT]} ...'


def line_of(text: str, pattern: str) -> int:
    """Return the number of the first line of a DBC that matches, 0 for none."""
    match = re.search(pattern, text, re.MULTILINE)
    return text.count('\n', 0, match.start()) + 1 if match else 0


class _Sizes:
    """Checks sizes that cantools would expand in memory, and duplicate names or identifiers, which it ignores."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.names: dict[Any, int] = {}
        self.identifiers: dict[Any, int] = {}
        self.message_line = self.signals = self.pairs = 0

    def message(self, line: int, identifier: int, name: str, size: int) -> None:
        """Check a message; its signals follow."""
        self.message_line, self.signals = line, 0
        if name == 'VECTOR__INDEPENDENT_SIG_MSG':
            return
        where = f'message {name}'
        if size > MOST_BYTES:
            self.report.add(line, where, f'at most {MOST_BYTES} bytes', size)
        for lines, key, noun in ((self.names, name, 'name'), (self.identifiers, identifier, 'identifier')):
            if key in lines:
                expected = f'a message with a unique {noun} (line {lines[key]} has it)'
                self.report.add(line, where, expected, key)
            lines.setdefault(key, line)

    def signal(self, line: int, name: str, start: int, length: int) -> None:
        """Check a signal of the last message."""
        self.signals += 1
        self.pairs += self.signals
        if self.signals == MOST_SIGNALS + 1:
            self.report.add(self.message_line, 'message', f'at most {MOST_SIGNALS} signals', 'more')
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
    for match in STATEMENT.finditer(text):
        line, end = line + text.count('\n', end, match.start()), match.start()
        if match['message']:
            sizes.message(line, int(match['identifier']), match['message'], int(match['size']))
        elif match['signal']:
            sizes.signal(line, match['signal'], int(match['start']), int(match['length']))
        else:
            sizes.ranges(line, match['ranges'])
        if sizes.pairs > MOST_PAIRS:
            report.add(line, 'signal', f'at most {MOST_PAIRS} pairs of signals within the messages', 'more')
            break
        if len(report.problems) - before > MOST_SHOWN:
            break
    return len(report.problems) == before


def _lines_of_signals(text: str) -> dict[str, int]:
    """Return the number of the first line with a signal, by name."""
    lines: dict[str, int] = {}
    line, end = 1, 0
    for match in STATEMENT.finditer(text):
        line, end = line + text.count('\n', end, match.start()), match.start()
        if match['signal']:
            lines.setdefault(match['signal'], line)
    return lines


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
