"""The cache of machine code: its place, and seals that distinguish its files from damaged, foreign and tampered ones.

Everything in the cache runs: generated text is executed, Numba's files (`numba_internals`) are unpickled. So each file
carries, or is listed under, an HMAC of its name and content with a key that only this user can read, and is looked at
before anything of it runs. A file that does not hold is made again, and a line on stderr says so.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import hmac
import logging
import os
import secrets
import shutil
import stat
import tempfile
from functools import lru_cache
from pathlib import Path

KEY_FILE, KEY_SIZE, SEAL_SIZE = 'key', 32, 32
_log = logging.getLogger('dyn_nodes.cache')


def report(text: str) -> None:
    """Say on stderr, in one line, what is wrong with the cache."""
    _log.warning('cache of machine code: %s', text)


def cache_directory() -> Path:
    """Return the directory of compiled code, created if need be.

    `DYN_NODES_CACHE` names it; the default is `dyn_nodes` in the user's cache directory. Where there is none, it cannot
    be written, or it belongs to another user, a private temporary directory serves this process.
    """
    directory = chosen_directory()
    if directory is not None and _usable(directory):
        return directory
    return private_directory()


def chosen_directory() -> Path | None:
    """Return the directory of compiled code that is wanted, whether it is there or not; None where there is no home."""
    chosen = os.environ.get('DYN_NODES_CACHE')
    if chosen:
        return Path(chosen)
    user = os.environ.get('XDG_CACHE_HOME')
    try:
        return (Path(user) if user else Path.home() / '.cache') / 'dyn_nodes'
    except RuntimeError:  # no HOME, and no entry of the user
        return None


def _usable(directory: Path) -> bool:
    """Return whether this user alone can write a directory, after making it so where that is possible."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.stat()
        if hasattr(os, 'geteuid') and status.st_uid != os.geteuid():
            report_once(f'{directory} belongs to another user: not used')
            return False
        if status.st_mode & 0o022:
            directory.chmod(stat.S_IMODE(status.st_mode) & ~0o022)
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError as error:
        report_once(f'{directory} cannot be written ({error.strerror}): this process compiles for itself')
        return False


@lru_cache(maxsize=64)
def report_once(text: str) -> None:
    """Report what the same process may find again."""
    report(text)


@lru_cache(maxsize=1)
def private_directory() -> Path:
    """Return a temporary directory, removed when this process ends. Raises OSError where none can be made."""
    for place in (None, '/dev/shm'):
        with contextlib.suppress(OSError):
            directory = Path(tempfile.mkdtemp(prefix='dyn_nodes_', dir=place))
            atexit.register(_remove, directory, os.getpid())
            return directory
    raise OSError('no directory for compiled code can be written; DYN_NODES_CACHE names one')


def _remove(directory: Path, process: int) -> None:
    """Remove a directory where this is the process that made it, not a fork of it."""
    if os.getpid() == process:
        shutil.rmtree(directory, ignore_errors=True)


# -- seals -------------------------------------------------------------------------------------------------------------


def key_of(directory: Path) -> bytes:
    """Return the key of a cache directory, made where there is none that this user alone can read.

    Raises:
        OSError: it can be neither read nor made.
    """
    path = directory / KEY_FILE
    for _ in range(3):
        try:
            return _read_key(path)
        except FileNotFoundError:
            _make_key(path)
        except (OSError, ValueError) as error:
            report(f'{path}: {error}; made anew, and everything with it')
            path.unlink(missing_ok=True)
    return _read_key(path)


def _read_key(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, 'O_NOFOLLOW', 0))
    with os.fdopen(descriptor, 'rb') as file:
        status = os.fstat(descriptor)
        own = not hasattr(os, 'geteuid') or (status.st_uid == os.geteuid() and not status.st_mode & 0o077)
        key = file.read(KEY_SIZE + 1)
    if not (stat.S_ISREG(status.st_mode) and own and len(key) == KEY_SIZE):
        raise ValueError('expected a key that this user alone can read')
    return key


def _make_key(path: Path) -> None:
    """Write a key beside its place and link it there whole, where no other process was first."""
    descriptor, name = tempfile.mkstemp(prefix='key-', dir=path.parent)
    try:
        with os.fdopen(descriptor, 'wb') as file:
            file.write(secrets.token_bytes(KEY_SIZE))
        with contextlib.suppress(FileExistsError):
            os.link(name, path)
    finally:
        os.unlink(name)


def seal_of(directory: Path, name: str, content: bytes) -> bytes:
    """Return the seal of a file of a cache directory."""
    state = hmac.new(_key(directory), digestmod=hashlib.sha256)
    for part in (name.encode(), content):
        state.update(len(part).to_bytes(8, 'little'))
        state.update(part)
    return state.digest()


def _key(directory: Path) -> bytes:
    """Return the key of a directory; it is read once, as long as its file is the same."""
    try:
        status = (directory / KEY_FILE).stat()
        return _known_key(directory, status.st_ino, status.st_mtime_ns, status.st_mode)
    except FileNotFoundError:
        return key_of(directory)


@lru_cache(maxsize=8)
def _known_key(directory: Path, *_: int) -> bytes:
    return key_of(directory)


def sealed(directory: Path, name: str, content: bytes) -> bytes:
    """Return content with its seal before it."""
    return seal_of(directory, name, content) + content


def unsealed(directory: Path, name: str, content: bytes) -> bytes | None:
    """Return what `sealed` took, None where the seal does not hold."""
    own, rest = content[:SEAL_SIZE], content[SEAL_SIZE:]
    return rest if hmac.compare_digest(own, seal_of(directory, name, rest)) else None
