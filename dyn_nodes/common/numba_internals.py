"""The only module with undocumented names of Numba; no other module may use one.

`test/test_private_names.py` lists those that a version of Numba lacks.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import sys
import threading
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from numba.core import ccallback, dispatcher, event, pythonapi
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.options import DefaultOptions

from dyn_nodes.common.sealing import report, report_once, sealed, unsealed
from dyn_nodes.common.turns import end_turn, take_turn, turn

__all__ = ['event']  # listeners of compilations

COUNTED, UNCOUNTED = ({'_nrt': True}, {'_nrt': False}) if hasattr(DefaultOptions, '_nrt') else ({}, {})
"""Options of functions with and without Numba's reference counts of arrays."""
_PATCHING = threading.RLock()


def signature_of(function: Any) -> Any:
    """Return the signature of a function made by `numba.cfunc`."""
    return function._sig


def address_of_symbol(function: Any, symbol: str) -> int:
    """Return the address of a C function in the machine code of a function made by `numba.cfunc`, or 0."""
    return int(function._library.get_pointer_to_function(symbol))


def array_structure(kind: Any, context: Any, builder: Any, value: Any = None) -> Any:
    """Return the structure of an array in an intrinsic, an empty one without `value`."""
    from numba.np.arrayobj import make_array  # takes longer than the other imports

    return make_array(kind)(context, builder, value)


def fill_array(array: Any, **members: Any) -> Any:
    """Return the value of the structure of an array with these members."""
    from numba.np.arrayobj import populate_array

    populate_array(array, **members)
    return array._getvalue()


@lru_cache(maxsize=1)
def import_array_functions() -> None:
    """Import Numba's functions of arrays without SciPy's linear algebra, 0.3 s of processor time at each start.

    Numba imports it there to check whether it is installed. A kernel that uses it (`np.dot`) imports it when compiled.
    """
    if 'numba.np.arraymath' in sys.modules:
        return
    linalg: Any = importlib.import_module('numba.np.linalg')
    with _PATCHING:
        original = linalg.ensure_blas
        linalg.ensure_blas = lambda: None
        try:
            arraymath: Any = importlib.import_module('numba.np.arraymath')
            arraymath.ensure_blas = original
        finally:
            linalg.ensure_blas = original


@lru_cache(maxsize=1)
def box_by_environment() -> None:
    """Make functions compiled from now on take the classes of their results from their environment.

    Numba unpickles the class of an array or a named tuple by Python code when a function returns, and does not check
    whether that failed. A signal that arrived while machine code ran is handled there: if its handler raises, as the
    handler of SIGINT does, the process ended with SIGSEGV.
    """
    importlib.import_module('numba.core.boxing')  # registers the functions that are replaced here
    types: Any = importlib.import_module('numba.core.types')
    boxers: dict[Any, Any] = pythonapi._boxers.functions
    for kind in (types.Array, types.NamedTuple, types.NamedUniTuple):
        boxers[kind] = _boxed_by_environment(boxers[kind])


def _boxed_by_environment(box: Any) -> Any:
    def boxed(kind: Any, value: Any, context: Any) -> Any:
        api, environment = context.pyapi, context.env_manager

        def class_of(result: Any) -> Any:
            constant = environment.read_const(environment.add_const(result))
            api.incref(constant)
            return constant

        if environment is None or 'unserialize' in vars(api):
            return box(kind, value, context)
        api.serialize_object, api.unserialize = (lambda result: result), class_of
        try:
            return box(kind, value, context)
        finally:
            del api.serialize_object, api.unserialize

    return boxed


class SealedFiles(IndexDataCacheFile):
    """Numba's index and machine code of one function, sealed: content with an invalid seal is never unpickled."""

    root: Path

    def _read(self, path: str) -> bytes | None:
        try:
            content = Path(path).read_bytes()
        except OSError:
            return None
        data = unsealed(self.root, self._sealed_name(path), content)
        if data is None:
            report(f'{path} is damaged or not of this user: compiled again')
        return data

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
        """Store machine code; if that fails (a full disk), it is used in this process only.

        Processes take turns: the index names the file of each signature, and two concurrent writers could name one file
        for two signatures.
        """
        try:
            with turn(self.root, self._index_path):
                super().save(key, data)
        except OSError as error:
            report_once(f'{self._cache_path} cannot be written ({error.strerror}): not kept for the next start')


@contextlib.contextmanager
def sealing(root: Path) -> Iterator[None]:
    """Make functions that Numba decorates with `cache=True` within store their machine code sealed under `root`."""

    class SealedCache(FunctionCache):
        def __init__(self, function: Any) -> None:
            super().__init__(function)
            plain = self._cache_file
            self._cache_file = SealedFiles(plain._cache_path, self._impl.filename_base, plain._source_stamp)
            self._cache_file.root = root

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            """Load machine code, or return None if it is this process' turn to compile it."""
            import_array_functions()
            overload = super().load_overload(sig, target_context)
            if overload is None and take_turn(root, self._turn(sig)):
                overload = super().load_overload(sig, target_context)
                if overload is not None:
                    end_turn(root, self._turn(sig))
            return overload

        def save_overload(self, sig: Any, data: Any) -> None:
            """Store machine code, and end the turn."""
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
            for user, original in zip(users, before):
                user.FunctionCache = original
