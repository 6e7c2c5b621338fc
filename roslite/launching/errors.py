"""Errors of launch files, with their location."""

from __future__ import annotations

from pathlib import Path

from roslite.errors import UserError

LONGEST = 4000
"""Maximum characters of a problem."""


class LaunchError(UserError):
    """An invalid launch file, argument or process.

    Attributes:
        path: launch file; None: the error does not concern a file.
        line: line in that file, 0: unknown.
        where: element and attribute, such as `<node> attribute 'exec'`.
        problem: expected and found content.
    """

    def __init__(self, problem: str, path: Path | str | None = None, line: int = 0, where: str = ''):
        self.path = path
        self.line = line
        self.where = where
        self.problem = _shortened(problem)
        super().__init__(self.text)

    @property
    def text(self) -> str:
        """Complete message in one line: `file:line: element, attribute: problem`."""
        location = f'{self.path}:{self.line}' if self.path and self.line else str(self.path or '')
        return ': '.join(part for part in (location, self.where, self.problem) if part)


def _shortened(problem: str) -> str:
    """Return a problem; the middle of a long text is omitted."""
    return problem if len(problem) <= LONGEST else f'{problem[: LONGEST // 2]} ... {problem[-LONGEST // 2 :]}'


class SubstitutionError(UserError):
    """A `$(...)` that cannot be parsed or performed; the interpreter adds the location."""
