"""Limits of the evaluation of a launch file with its includes: processes, includes, text and time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from roslite.launching.errors import SubstitutionError

MOST_PROCESSES = 500
MOST_STEPS = 5000
"""Maximum number of processes, messages and stops."""
MOST_INCLUDES = 500
DEEPEST_INCLUDES = 20
DEEPEST = 100
"""Maximum nesting depth of groups and includes."""
LONGEST_TEXT = 16_000_000
"""Maximum characters of one value, such as a URDF."""
MOST_TEXT = 64_000_000
"""Maximum characters of all read files and all values."""
MOST_SECONDS = 10.0
"""Maximum processor time, s."""


class BudgetError(SubstitutionError):
    """A launch file exceeds a limit."""


@dataclass
class Budget:
    """Counts the resources of an evaluation.

    Attributes:
        processes: number of processes.
        steps: number of processes, messages and stops.
        includes: number of includes.
        text: number of characters.
        exceeded: a limit was exceeded.
    """

    processes: int = 0
    steps: int = 0
    includes: int = 0
    text: int = 0
    exceeded: bool = False
    _began: float = field(default_factory=time.thread_time)

    def take_text(self, length: int, whole: int = 0) -> None:
        """Count characters of a value with `whole` characters so far. Raises BudgetError."""
        self.text += length
        self._check(max(whole, length), LONGEST_TEXT, 'characters of a value')
        self._check(self.text, MOST_TEXT, 'characters in all files and values of a launch')

    def take_include(self, depth: int) -> None:
        """Count an include. Raises BudgetError."""
        self.includes += 1
        self._check(self.includes, MOST_INCLUDES, 'includes')
        self._check(depth, DEEPEST_INCLUDES, 'nested includes; does the file include itself?')

    def take_step(self, process: bool) -> None:
        """Count a process or another step. Raises BudgetError."""
        self.steps += 1
        self.processes += process
        self._check(self.processes, MOST_PROCESSES, 'processes in a launch')
        self._check(self.steps, MOST_STEPS, 'processes and messages in a launch')

    def check_time(self, depth: int = 0) -> None:
        """Check the processor time since the start, and the depth of groups and includes. Raises BudgetError."""
        self._check(depth, DEEPEST, 'nested groups and includes')
        self._check(time.thread_time() - self._began, MOST_SECONDS, 's of processor time for the evaluation')

    def _check(self, value: float, most: float, unit: str) -> None:
        if value > most:
            self.exceeded = True
            raise BudgetError(f'expected at most {most:.0f} {unit}' if ';' in unit else
                              f'expected at most {most:.0f} {unit}, found more')  # fmt: skip
