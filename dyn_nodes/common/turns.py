"""Turns of processes that need the same machine code: one compiles it, the others wait and take it from the cache.

A turn is a lock of one byte of a file in the cache directory. The operating system releases it when its process ends
for any reason. On systems without such locks every process compiles its own code, which is harmless.
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
"""Longest wait for another process, wall time, s; a process that is stopped by a debugger keeps its turn."""
PERIOD = 0.02
_OFFSETS = 1 << 62
_held: set[tuple[Path, int]] = set()


def take_turn(root: Path, name: str, on_wait: Callable[[], None] = lambda: None) -> bool:
    """Take the turn of a name; wait while another process has it, at most `LONGEST`.

    Args:
        root: cache directory.
        name: of the code.
        on_wait: called once before this process waits.

    Returns:
        Whether this process has waited, so that the code may be in the cache now.
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
    """Release the turn of a name; no effect if this process does not have it."""
    key = _key(root, name)
    if key in _held:
        _held.discard(key)
        with contextlib.suppress(OSError):
            fcntl.lockf(_descriptor(root, os.getpid()), fcntl.LOCK_UN, 1, key[1])


@contextlib.contextmanager
def turn(root: Path, name: str, on_wait: Callable[[], None] = lambda: None) -> Iterator[bool]:
    """Have the turn of a name within a block; see `take_turn`. A turn that this process had before is kept."""
    had = _key(root, name) in _held
    try:
        yield take_turn(root, name, on_wait)
    finally:
        if not had:
            end_turn(root, name)


def _key(root: Path, name: str) -> tuple[Path, int]:
    return root, int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], 'little') % _OFFSETS


def _locked(root: Path, name: str) -> bool:
    """Return whether this process has the turn now, or turns are not available."""
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
    """Return the open file of turns of a cache directory; closing it would release all locks of this process."""
    return os.open(root / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
