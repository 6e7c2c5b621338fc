"""Readers of foreign formats, each in a separate process, with limits of memory and processor time.

A library that reads untrusted files may allocate the size that a file claims, follow links for ever, or crash.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from dyn_nodes.common.errors import UserError
from dyn_nodes.common.printing import printable

Entry = TypeVar('Entry')
MOST_MEMORY = 4 * 2**30
"""Bytes that a reader may allocate after its start."""
LEAST_SECONDS, SECONDS_PER_BYTE = 20, 2e-5
"""Permitted processor time of a reader: the minimum, s, and for each byte of its file, s."""
CHUNK = 1000
"""Number of entries that are sent together."""
MOST_SHOWN = 200
START = 'import sys; sys.path[:] = sys.argv[1:]; from dyn_nodes.common.readers import serve; serve()'
"""Code of the process: it imports from its parent's path, and nothing from the working directory."""


class ReaderError(UserError):
    """A file that its reader cannot read; the message is one line that describes the content found."""


def read_apart(read: Callable[..., Iterator[Entry]], path: Path, *arguments: Any) -> Iterator[Entry]:
    """Yield the entries of `read(path, *arguments)`, executed in a separate process.

    Args:
        read: a function of a module.
        path: of the file.
        arguments: further ones of the function.

    Raises:
        ReaderError: the reader has raised an exception, needs more memory or time than permitted, or has crashed.
    """
    seconds = LEAST_SECONDS + int(path.stat().st_size * SECONDS_PER_BYTE)
    command = [sys.executable, '-I', '-c', START, *sys.path]
    variables = {**os.environ, 'OPENBLAS_NUM_THREADS': '1'}  # threads reserve memory
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere, env=variables) as process:
        try:
            yield from _handed_over(process, (read, (path, *arguments), MOST_MEMORY, seconds))
        except (EOFError, pickle.UnpicklingError, BrokenPipeError):
            raise ReaderError(_death(process, seconds)) from None
        finally:
            process.kill()


def _handed_over(process: subprocess.Popen[bytes], task: tuple[Any, ...]) -> Iterator[Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    pickle.dump(task, process.stdin)
    process.stdin.flush()
    fault: str | None = None
    while fault is None:
        entries, fault = pickle.load(process.stdout)
        yield from entries
    if fault:
        raise ReaderError(fault)


def _death(process: subprocess.Popen[bytes], seconds: int) -> str:
    import signal

    status = process.wait()
    if status == -signal.SIGXCPU:
        return f'a file that takes more than {seconds} s of processor time'
    return f'a file on which its reader crashes (exit status {status})'


# -- in the process ---


def serve() -> None:
    """Read the task from standard input, and write the entries to standard output, finally '' or a fault."""
    out = os.fdopen(os.dup(1), 'wb')
    os.dup2(2, 1)  # discards the output of libraries
    read, arguments, memory, seconds = pickle.load(sys.stdin.buffer)
    _bound(memory, seconds)
    entries: list[Any] = []
    fault = ''
    try:
        for entry in read(*arguments):
            entries.append(entry)
            if len(entries) == CHUNK:
                pickle.dump((entries, None), out)
                entries = []
    except MemoryError:
        entries, fault = [], f'a file that takes more than {memory / 2**30:g} GiB of memory'
    except Exception as error:  # of a library, for whatever the file holds
        fault = printable(' '.join(f'{type(error).__name__}: {error}'.split()))[:MOST_SHOWN]
    pickle.dump((entries, fault), out)
    out.flush()


def _bound(memory: int, seconds: int) -> None:
    """Limit the memory that this process may allocate from now on, and its processor time."""
    import resource

    present = 0
    with contextlib.suppress(OSError):  # of Linux alone
        present = int(Path('/proc/self/statm').read_text().split()[0]) * resource.getpagesize()
    for kind, most in (
        (resource.RLIMIT_AS, present + memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # of a system that has no such bound, or a lower one
            resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))
