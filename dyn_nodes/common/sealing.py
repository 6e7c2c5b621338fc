"""The cache of machine code: its directory, and seals that distinguish its files from damaged and foreign ones.

Everything in the cache is executed: generated text runs, Numba's files (`numba_internals`) are unpickled. So each file
carries, or is listed under, an HMAC of its name and content with a key that only this user can read, and is checked
before anything of it runs. A file with an invalid seal is compiled again, with a message on stderr.
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
    """Report a fault of the cache on stderr, in one line."""
    _log.warning('cache of machine code: %s', text)


def cache_directory() -> Path:
    """Return the directory of compiled code, created if necessary.

    `DYN_NODES_CACHE` names it; the default is `dyn_nodes` in the user's cache directory. If there is none, it cannot be
    written, or it belongs to another user, a private temporary directory is used by this process.
    """
    directory = chosen_directory()
    if directory is not None and _usable(directory):
        return directory
    return private_directory()


def chosen_directory() -> Path | None:
    """Return the configured directory of compiled code, whether it exists or not; None without a home directory."""
    chosen = os.environ.get('DYN_NODES_CACHE')
    if chosen:
        return Path(chosen)
    user = os.environ.get('XDG_CACHE_HOME')
    try:
        return (Path(user) if user else Path.home() / '.cache') / 'dyn_nodes'
    except RuntimeError:  # no HOME, and no entry of the user
        return None


def _usable(directory: Path) -> bool:
    """Return whether only this user can write a directory, after restricting its permissions if possible."""
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
    """Report a fault that may recur in this process."""
    report(text)


@lru_cache(maxsize=1)
def private_directory() -> Path:
    """Return a temporary directory, removed when this process ends. Raises OSError if none can be created."""
    for parent in (None, '/dev/shm'):
        with contextlib.suppress(OSError):
            directory = Path(tempfile.mkdtemp(prefix='dyn_nodes_', dir=parent))
            atexit.register(_remove, directory, os.getpid())
            return directory
    raise OSError('no directory for compiled code can be written; DYN_NODES_CACHE names one')


def _remove(directory: Path, process: int) -> None:
    """Remove a directory if this process has created it, not a fork of it."""
    if os.getpid() == process:
        shutil.rmtree(directory, ignore_errors=True)


# -- seals -------------------------------------------------------------------------------------------------------------


def key_of(directory: Path) -> bytes:
    """Return the key of a cache directory, created if there is none that only this user can read.

    Raises:
        OSError: it can be neither read nor created.
    """
    path = directory / KEY_FILE
    for _ in range(3):
        try:
            return _read_key(path)
        except FileNotFoundError:
            _make_key(path)
        except (OSError, ValueError) as error:
            report(f'{path}: {error}; replaced, and all files are compiled again')
            path.unlink(missing_ok=True)
    return _read_key(path)


def _read_key(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, 'O_NOFOLLOW', 0))
    with os.fdopen(descriptor, 'rb') as file:
        status = os.fstat(descriptor)
        private = not hasattr(os, 'geteuid') or (status.st_uid == os.geteuid() and not status.st_mode & 0o077)
        key = file.read(KEY_SIZE + 1)
    if not (stat.S_ISREG(status.st_mode) and private and len(key) == KEY_SIZE):
        raise ValueError('expected a key that only this user can read')
    return key


def _make_key(path: Path) -> None:
    """Write a key to a temporary file and link it to its final name, unless another process was first."""
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
    """Return the key of a directory; it is read once while its file is unchanged."""
    try:
        status = (directory / KEY_FILE).stat()
        return _cached_key(directory, status.st_ino, status.st_mtime_ns, status.st_mode)
    except FileNotFoundError:
        return key_of(directory)


@lru_cache(maxsize=8)
def _cached_key(directory: Path, *_: int) -> bytes:
    return key_of(directory)


def sealed(directory: Path, name: str, content: bytes) -> bytes:
    """Return content, preceded by its seal."""
    return seal_of(directory, name, content) + content


def unsealed(directory: Path, name: str, content: bytes) -> bytes | None:
    """Return the content passed to `sealed`, or None if the seal is invalid."""
    seal, rest = content[:SEAL_SIZE], content[SEAL_SIZE:]
    return rest if hmac.compare_digest(seal, seal_of(directory, name, rest)) else None
