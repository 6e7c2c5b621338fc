"""Notices of compilation, which happens once for a machine and a version and may take half a minute.

Imports nothing heavy, so that a program can use it before it is decided whether anything is computed.
"""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable
from typing import Any

LIKELY = 20
"""Order of magnitude of a first start, s, for the log-loader; docs/reference/nodes.md has the measuring command."""
COMPILING, COMPILED = 'compiling', 'compiled in'
"""Starts of the two lines."""
_EVENT = 'numba:compile'


def no_notice(name: str) -> None:
    """Ignore a compilation.

    Args:
        name: of the module that is compiled next, `machine: kind`.
    """


notice: Callable[[str], None] = no_notice
"""Called before machine code is compiled; a `CompilationNotice` replaces it while it is entered."""


def _events() -> Any:
    return importlib.import_module('dyn_nodes.common.numba_internals').event


def no_wait() -> None:
    """Ignore the end of a wait."""


waited: Callable[[], None] = no_wait
"""Called when another process has compiled the machine code that `notice` announced."""


class CompilationNotice:
    """Reports compilation within a `with` block: one line per machine before it, one line at the end.

    Args:
        report: receives a line.
    """

    def __init__(self, report: Callable[[str], object]) -> None:
        self._report = report
        self._machines: list[str] = []
        self._seconds = 0.0
        self._since = math.nan
        self._depth = 0
        self._saved: tuple[Callable[[str], None], Callable[[], None]] = no_notice, no_wait

    def __enter__(self) -> CompilationNotice:
        global notice, waited
        self._saved = notice, waited
        notice, waited = self._start, self._end_of_wait
        return self

    def __exit__(self, *_: object) -> None:
        global notice, waited
        notice, waited = self._saved
        if self._machines:
            _events().unregister(_EVENT, self)
            self._report(f'{COMPILED} {max(1.0, self._seconds):.0f} s')

    def _start(self, name: str) -> None:
        machine = name.rpartition(': ')[0] or name
        if math.isnan(self._since):
            self._since = time.monotonic()  # equations are traced first
        if machine in self._machines:
            return
        if not self._machines:
            _events().Listener.register(CompilationNotice)  # Numba requires that class
            _events().register(_EVENT, self)
        self._machines.append(machine)
        self._report(f'{COMPILING} {machine}, once, about {LIKELY} s')

    def _end_of_wait(self) -> None:
        """Add the time since the line: another process has compiled."""
        if self._depth == 0 and not math.isnan(self._since):
            self._seconds += time.monotonic() - self._since
            self._since = math.nan

    def notify(self, event: Any) -> None:
        """Process Numba's event: the compilation of a function starts or ends, possibly within another one."""
        now = time.monotonic()
        self._depth += 1 if event.is_start else -1
        if event.is_start and math.isnan(self._since):
            self._since = now
        elif self._depth == 0 and event.is_end:
            self._seconds += now - self._since
            self._since = math.nan
