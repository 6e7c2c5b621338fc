"""Problems of a machine's files: collected, sorted by line, reported together."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field

from dyn_nodes.common.errors import UserError

LONGEST_SHOWN = 60
PRINTABLE = 'printable characters'
"""Expected characters of names: no line breaks, no control or direction marks."""


@dataclass(frozen=True)
class Problem:
    """One fault of a file.

    Attributes:
        file: path as the user gave it.
        line: 1-based line; 0: the whole file.
        where: element or key: `link boom_link, mass`, `wheels.front_left.stiffness`.
        expected, found: expected and actual value.
    """

    file: str
    line: int
    where: str
    expected: str
    found: str

    def __str__(self) -> str:
        location = f'{self.file}:{self.line}' if self.line else self.file
        return f'{location}: {self.where}: expected {self.expected}, found {self.found}'


class MachineError(UserError, ValueError):
    """A machine's files have faults. `problems` holds all of them, `str()` has one line for each.

    Attributes:
        problems: sorted by file and line.
        warnings: suspicious but legal values.
    """

    def __init__(self, problems: Iterable[Problem], warnings: Iterable[Problem] = ()) -> None:
        self.problems = tuple(problems)
        self.warnings = tuple(warnings)
        super().__init__('\n'.join(str(problem) for problem in self.problems))


class ContactModelError(UserError, ValueError):
    """The contact model does not exist, or does not suit the machine."""


@dataclass
class Report:
    """Collection of the problems and warnings of one machine.

    Attributes:
        file: path of the file for new entries.
    """

    file: str
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def add(self, line: int | None, where: str, expected: str, actual: object) -> None:
        """Record a fault."""
        self.problems.append(Problem(self.file, line or 0, _one_line(where), expected, _one_line(actual)))

    def warn(self, line: int | None, where: str, expected: str, actual: object) -> None:
        """Record a warning: suspicious but legal."""
        self.warnings.append(Problem(self.file, line or 0, _one_line(where), expected, _one_line(actual)))

    def for_file(self, file: str) -> Report:
        """Return a report of another file with the same lists."""
        return Report(file, self.problems, self.warnings)

    @property
    def failed(self) -> bool:
        """True if at least one fault was recorded."""
        return bool(self.problems)

    def sorted_problems(self) -> tuple[Problem, ...]:
        """Return the faults, each once, by file in the order of reading and by line."""
        return _in_order(self.problems)

    def sorted_warnings(self) -> tuple[Problem, ...]:
        """Return the warnings, each once, by file in the order of reading and by line."""
        return _in_order(self.warnings)


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """Return `'word' (did you mean 'x'?)`, or `'word' (known: ...)` if none is near."""
    names = list(candidates)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if near:
        return f'{shorten(word)!r} (did you mean {near[0]!r}?)'
    listed = ', '.join(names[:12]) + (', ...' if len(names) > 12 else '')
    return f'{shorten(word)!r} (known: {listed or "none"})'


def is_printable(name: str) -> bool:
    """Return whether a name is printable in messages, comments and pictures."""
    return name.isprintable()


def shorten(text: str) -> str:
    """Return the text, shortened to the length of a message."""
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + '...'


def number(value: float) -> str:
    """Return a number as text for messages."""
    return f'{value:.6g}'


def _one_line(value: object) -> str:
    return ''.join(c if c.isprintable() else c.encode('unicode_escape').decode() for c in ' '.join(str(value).split()))


def _in_order(entries: list[Problem]) -> tuple[Problem, ...]:
    files = list(dict.fromkeys(entry.file for entry in entries))
    return tuple(sorted(dict.fromkeys(entries), key=lambda entry: (files.index(entry.file), entry.line)))
