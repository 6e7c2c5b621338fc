"""What is wrong with a launch file, and where."""

from __future__ import annotations

from pathlib import Path

from roslite.errors import UserError

LONGEST = 4000
"""Characters of a problem."""


class LaunchError(UserError):
    """A launch file, its arguments or one of its processes is not as it must be.

    Attributes:
        path: The launch file, None when the error is not about a file.
        line: Line in that file, 0 when unknown.
        where: Element and attribute, such as `<node> attribute 'exec'`.
        problem: What was expected and what was found.
    """

    def __init__(self, problem: str, path: Path | str | None = None, line: int = 0, where: str = ''):
        self.path = path
        self.line = line
        self.where = where
        self.problem = _shortened(problem)
        super().__init__(self.text)

    @property
    def text(self) -> str:
        """The whole message on one line: `file:line: element, attribute: problem`."""
        place = f'{self.path}:{self.line}' if self.path and self.line else str(self.path or '')
        return ': '.join(part for part in (place, self.where, self.problem) if part)


def _shortened(problem: str) -> str:
    """Return a problem without the middle of a long text."""
    return problem if len(problem) <= LONGEST else f'{problem[: LONGEST // 2]} ... {problem[-LONGEST // 2 :]}'


class SubstitutionError(UserError):
    """A `$(...)` can't be parsed or performed; the interpreter adds the place."""
