"""The cache of machine code: its place, and seals that distinguish its files from damaged, foreign and tampered ones.

Everything in the cache runs: generated text is executed, Numba's files are unpickled. So each file carries, or is
listed under, an HMAC of its name and content with a key that only this user can read, and is looked at before anything
of it runs. A file that does not hold is made again, and a line on stderr says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import importlib
import logging
import os
import pickle
import secrets
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from numba.core import ccallback, dispatcher
from numba.core.caching import FunctionCache, IndexDataCacheFile

from dyn_nodes.turns import end_turn, take_turn

KEY_FILE, KEY_SIZE, SEAL_SIZE = 'key', 32, 32
_log = logging.getLogger('dyn_nodes.cache')
_PATCHING = threading.RLock()


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
            _report_once(f'{directory} belongs to another user: not used')
            return False
        if status.st_mode & 0o022:
            directory.chmod(stat.S_IMODE(status.st_mode) & ~0o022)
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError as error:
        _report_once(f'{directory} cannot be written ({error.strerror}): this process compiles for itself')
        return False


@lru_cache(maxsize=64)
def _report_once(text: str) -> None:
    report(text)


@lru_cache(maxsize=1)
def private_directory() -> Path:
    """Return a temporary directory of this process. Raises OSError where none can be made."""
    for place in (None, '/dev/shm'):
        with contextlib.suppress(OSError):
            return Path(tempfile.mkdtemp(prefix='dyn_nodes_', dir=place))
    raise OSError('no directory for compiled code can be written; DYN_NODES_CACHE names one')


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


# -- Numba -------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def import_array_functions() -> None:
    """Import Numba's functions of arrays without SciPy's linear algebra, 0.3 s of processor time at each start.

    Numba imports it there to know whether there is one. A kernel that uses it (`np.dot`) imports it when compiled.
    """
    if 'numba.np.arraymath' in sys.modules:
        return
    linalg: Any = importlib.import_module('numba.np.linalg')
    with _PATCHING:
        known = linalg.ensure_blas
        linalg.ensure_blas = lambda: None
        try:
            arraymath: Any = importlib.import_module('numba.np.arraymath')
            arraymath.ensure_blas = known
        finally:
            linalg.ensure_blas = known


# -- Numba's files -----------------------------------------------------------------------------------------------------


class SealedFiles(IndexDataCacheFile):
    """Numba's index and machine code of one function, sealed: nothing is unpickled whose seal does not hold."""

    root: Path

    def _read(self, path: str) -> bytes | None:
        try:
            content = Path(path).read_bytes()
        except OSError:
            return None
        found = unsealed(self.root, self._sealed_name(path), content)
        if found is None:
            report(f'{path} is damaged or not of this user: compiled again')
        return found

    def _write(self, path: str, content: bytes) -> None:
        with self._open_for_write(path) as file:
            file.write(sealed(self.root, self._sealed_name(path), content))

    def _sealed_name(self, path: str) -> str:
        return os.path.relpath(path, self.root)

    def _load_index(self) -> Any:
        content = self._read(self._index_path)
        if content is None:
            return {}
        version, stamp, overloads = pickle.loads(content)
        return overloads if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: Any) -> None:
        self._write(self._index_path, self._dump((self._version, self._source_stamp, overloads)))

    def _load_data(self, name: str) -> Any:
        content = self._read(self._data_path(name))
        if content is None:
            raise FileNotFoundError(name)  # Numba then compiles
        return pickle.loads(content)

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), self._dump(data))

    def save(self, key: Any, data: Any) -> None:
        """Store machine code; where that fails (a full disk), it serves this process only."""
        try:
            super().save(key, data)
        except OSError as error:
            _report_once(f'{self._cache_path} cannot be written ({error.strerror}): not kept for the next start')


@contextlib.contextmanager
def sealing(root: Path) -> Iterator[None]:
    """Let functions that Numba decorates with `cache=True` meanwhile keep their machine code sealed under `root`."""

    class SealedCache(FunctionCache):
        def __init__(self, function: Any) -> None:
            super().__init__(function)
            plain = self._cache_file
            self._cache_file = SealedFiles(plain._cache_path, self._impl.filename_base, plain._source_stamp)
            self._cache_file.root = root

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            """Load machine code, or return None in this process' turn to compile it."""
            import_array_functions()
            found = super().load_overload(sig, target_context)
            if found is None and take_turn(root, self._turn(sig)):
                found = super().load_overload(sig, target_context)
                if found is not None:
                    end_turn(root, self._turn(sig))
            return found

        def save_overload(self, sig: Any, data: Any) -> None:
            """Store machine code; the turn is over."""
            try:
                super().save_overload(sig, data)
            finally:
                end_turn(root, self._turn(sig))

        def _turn(self, sig: Any) -> str:
            return f'{self._cache_file._index_path} {sig}'

    users: list[Any] = [dispatcher, ccallback]
    with _PATCHING:
        before = [user.FunctionCache for user in users]
        for user in users:
            user.FunctionCache = SealedCache
        try:
            yield
        finally:
            for user, own in zip(users, before):
                user.FunctionCache = own
