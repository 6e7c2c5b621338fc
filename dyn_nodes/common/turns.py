"""Turns of processes that want the same machine code: one makes it, the others wait and take it from the cache.

A turn is a lock of one byte of a file of the cache directory. The operating system gives it back when its process ends,
however that ends. Where there are no such locks, every process makes its own code, which does no harm.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

FILE = 'turns'
LONGEST = 120.0
"""Wall time that a process waits for another, s; one that is stopped by a debugger keeps its turn."""
PERIOD = 0.02
_PLACES = 1 << 62
_held: set[tuple[Path, int]] = set()


def take_turn(root: Path, name: str, on_wait: Callable[[], None] = lambda: None) -> bool:
    """Take the turn of a name; wait while another process has it, at most `LONGEST`.

    Args:
        root: cache directory.
        name: of what is made.
        on_wait: called once before this process waits.

    Returns:
        Whether this process has waited: what it wants may be in the cache now.
    """
    if fcntl is None or _key(root, name) in _held:
        return False
    until = 0.0
    while not _locked(root, name):
        now = time.monotonic()
        if not until:
            on_wait()
            until = now + LONGEST
        if now > until:
            return True
        time.sleep(PERIOD)
    return until > 0.0


def end_turn(root: Path, name: str) -> None:
    """Give back the turn of a name; one that this process does not have is left alone."""
    key = _key(root, name)
    if key in _held:
        _held.discard(key)
        with contextlib.suppress(OSError):
            fcntl.lockf(_descriptor(root, os.getpid()), fcntl.LOCK_UN, 1, key[1])


@contextlib.contextmanager
def turn(root: Path, name: str, on_wait: Callable[[], None] = lambda: None) -> Iterator[bool]:
    """Have the turn of a name within a block; see `take_turn`. A turn that this process had before goes on."""
    had = _key(root, name) in _held
    try:
        yield take_turn(root, name, on_wait)
    finally:
        if not had:
            end_turn(root, name)


def _key(root: Path, name: str) -> tuple[Path, int]:
    return root, int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], 'little') % _PLACES


def _locked(root: Path, name: str) -> bool:
    """Return whether this process has the turn now, or has to do without turns."""
    key = _key(root, name)
    try:
        fcntl.lockf(_descriptor(root, os.getpid()), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, key[1])
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    _held.add(key)
    return True


@lru_cache(maxsize=16)
def _descriptor(root: Path, process: int) -> int:
    """Return the open file of turns of a cache directory; to close it would give back all locks of this process."""
    return os.open(root / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
