"""Futures, and coroutines that await them in an executor."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Coroutine, Generator
from typing import Any


class Future:
    """A future result; rclpy's Future."""

    def __init__(self, *, executor: Any = None) -> None:
        self._lock = threading.Lock()
        self._event = threading.Event()
        self._cancelled = False
        self._result: Any = None
        self._exception: BaseException | None = None
        self._callbacks: list[Callable[[Future], Any]] = []

    def __await__(self) -> Generator[Future, None, Any]:
        while not self.done():
            yield self
        return self.result()

    def done(self) -> bool:
        """Return whether there is a result, an exception or a cancellation."""
        return self._event.is_set()

    def cancelled(self) -> bool:
        """Return whether it was cancelled."""
        return self._cancelled

    def result(self) -> Any:
        """Return the result, None while not done. Raises the exception of the future, if any."""
        if self._exception is not None:
            raise self._exception
        return self._result

    def exception(self) -> BaseException | None:
        """Return the exception, or None."""
        return self._exception

    def set_result(self, result: Any) -> None:
        """Finish with a result."""
        self._result = result
        self._finish()

    def set_exception(self, exception: BaseException) -> None:
        """Finish with an exception."""
        self._exception = exception
        self._finish()

    def cancel(self) -> None:
        """Finish without a result."""
        if not self.done():
            self._cancelled = True
            self._finish()

    def wait(self, timeout: float | None = None) -> bool:
        """Block this thread until done; return False after `timeout` seconds."""
        return self._event.wait(timeout)

    def _finish(self) -> None:
        with self._lock:
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call `callback` with this future when it is done, now if it is."""
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return
        callback(self)


class Task(Future):
    """A coroutine run by an executor; its result is the result of the future."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], *, raise_errors: bool = False) -> None:
        super().__init__()
        self._coroutine = coroutine
        self._awaited: Any = None
        self._raise = raise_errors

    @property
    def is_ready(self) -> bool:
        """True if the coroutine can continue."""
        return self._awaited is None or not isinstance(self._awaited, Future) or self._awaited.done()

    def step(self) -> None:
        """Run the coroutine until it awaits or ends.

        Raises:
            BaseException: exception of the coroutine, if it belongs to a callback.
        """
        try:
            self._awaited = self._coroutine.send(None)
        except StopIteration as end:
            self.set_result(end.value)
        except BaseException as error:
            self.set_exception(error)
            if self._raise:
                raise


def as_coroutine(callback: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Coroutine[Any, Any, Any]:
    """Return the coroutine of a function or coroutine function; a coroutine object is returned unchanged."""
    if inspect.iscoroutine(callback):
        return callback

    async def run() -> Any:
        result = callback(*args, **kwargs)
        return await result if inspect.isawaitable(result) else result

    return run()
