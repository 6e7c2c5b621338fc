"""A DBC that anybody may have written: sizes are checked before cantools sees it, every fault has its line."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from dyn_nodes.model.problems import Report
from dyn_nodes.textfile import TextFileError, read_text

LARGEST_DBC = 4_000_000
"""Characters; cantools needs about 20 s for as many."""
MOST_BYTES, MOST_BITS, WIDEST_RANGE = 64, 64, 4096
"""Of a message (CAN FD), of a signal, of a range of multiplexer values."""
MESSAGE = re.compile(r'^\s*BO_\s+(\d{1,30})\s+(\w{1,200})\s*:\s*(\d{1,30})\b')
SIGNAL = re.compile(r'^\s*SG_\s+(\w{1,200})\b[^:"]{0,50}:\s*(\d{1,30})\s*\|\s*(\d{1,30})\s*@')
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


def _sizes_are_sound(text: str, report: Report) -> bool:
    """Check what cantools would expand in memory, and what it passes over: two messages of one name or identifier."""
    names: dict[Any, int] = {}
    identifiers: dict[Any, int] = {}
    before = len(report.problems)
    for line, content in enumerate(text.split('\n'), 1):
        if message := MESSAGE.match(content):
            identifier, name, size = int(message[1]), message[2], int(message[3])
            if name == 'VECTOR__INDEPENDENT_SIG_MSG':
                continue
            where = f'message {name}'
            if size > MOST_BYTES:
                report.add(line, where, f'at most {MOST_BYTES} bytes', size)
            for known, key, what in ((names, name, 'name'), (identifiers, identifier, 'identifier')):
                first = known.setdefault(key, line)
                if first != line:
                    report.add(line, where, f'a message with a {what} of its own (line {first} has it)', key)
        elif (signal := SIGNAL.match(content)) and max(int(signal[2]) // 8, int(signal[3])) > MOST_BITS:
            expected = f'at most {MOST_BITS} bits within {MOST_BYTES} bytes'
            report.add(line, f'signal {signal[1]}', expected, f'{signal[3]} bits from bit {signal[2]} on')
        elif content.lstrip().startswith('SG_MUL_VAL_'):
            for low, high in RANGES.findall(content):
                if int(high) - int(low) > WIDEST_RANGE:
                    expected = f'a range of at most {WIDEST_RANGE} multiplexer values'
                    report.add(line, 'SG_MUL_VAL_', expected, f'{low}-{high}')
        if len(report.problems) - before > 50:
            break
    return len(report.problems) == before


def _check_numbers(database: Any, text: str, report: Report) -> None:
    for message in database.messages:
        for signal in message.signals:
            scale, offset = float(signal.scale), float(signal.offset)
            if scale == 0.0 or not (math.isfinite(scale) and math.isfinite(offset)):
                line = line_of(text, rf'^\s*SG_\s+{signal.name}\b')
                where = f'signal {message.name}.{signal.name}'
                report.add(line, where, 'a finite factor other than 0, and a finite offset', f'({scale:g},{offset:g})')
