"""Scripts of a test folder in separate processes that never outlive their test."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from timeouts import scaled_timeout


class ScriptProcess(subprocess.Popen):
    """A script in a separate process, on the embedded runtime unless its environment selects another one."""

    def __init__(self, script: Path, *args: str, **environment: str) -> None:
        variables = {**os.environ, 'DYN_NODES_MIDDLEWARE': 'embedded', 'PYTHONUNBUFFERED': '1', **environment}
        variables['PYTHONPATH'] = os.pathsep.join(path for path in sys.path if path)
        super().__init__(
            [sys.executable, str(script), *args],
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_for_line(self, wanted: str) -> str:
        """Read standard output until a line that contains `wanted`."""
        assert self.stdout is not None
        for line in self.stdout:
            if wanted in line:
                return line
        assert self.stderr is not None
        raise AssertionError(f'{wanted!r} was not printed; stderr: {self.stderr.read()}')

    def stop(self, number: int = signal.SIGINT, timeout: float = 5.0) -> tuple[int, str, float]:
        """Send a signal; return exit code, standard error and the elapsed time, s."""
        start = time.monotonic()
        self.send_signal(number)
        _, errors = self.communicate(timeout=scaled_timeout(timeout))
        return self.returncode, errors, time.monotonic() - start


@contextmanager
def scripts_of(folder: Path) -> Iterator[Callable[..., ScriptProcess]]:
    """Yield a function that starts a script of a folder by its name; end all processes after the block."""
    started: list[ScriptProcess] = []

    def run(script: str, *args: str, **environment: str) -> ScriptProcess:
        started.append(ScriptProcess(folder / script, *args, **environment))
        return started[-1]

    try:
        yield run
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
            process.communicate()
