"""Handling of SIGINT and SIGTERM: they stop the contexts, and never raise inside the C code of the DDS package.

The C layer of `cyclonedds` calls Python while it takes samples or reads discovery (the constructor of SampleInfo for
every sample), and does not check for exceptions: a KeyboardInterrupt in such a call is lost or ends the process by
SIGSEGV. These calls are therefore `shielded`: a signal during a call is handled when the call returns.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar('Result')
NUMBERS = (signal.SIGINT, signal.SIGTERM)


class SignalHandlerOptions(IntEnum):
    """Signals handled by `init`."""

    NO = 0
    SIGINT = 1
    SIGTERM = 2
    ALL = 3


@dataclass
class _Handler:
    old: Any
    stops: bool
    """True: stop the contexts; False: only defer the signal to its previous handler."""


_handlers: dict[int, _Handler] = {}
_pending: list[int] = []
_depth = 0
_stop: Callable[[int], None] | None = None


def on_stop(stop: Callable[[int], None]) -> None:
    """Register the function that stops the contexts, called with the number of the signal."""
    global _stop
    _stop = stop


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _on_signal(number: int, frame: FrameType | None) -> None:
    if _depth:
        _pending.append(number)
    else:
        _handle(number, frame)


def _handle(number: int, frame: FrameType | None) -> None:
    handler = _handlers.get(number)
    if handler is None:
        return
    if handler.stops and _stop is not None:
        _stop(number)
    if callable(handler.old):
        handler.old(number, frame)


def shielded(function: Callable[..., Result], *arguments: Any) -> Result:
    """Return the result of a function; signals during the call are handled when it has returned."""
    global _depth
    if not _in_main_thread():
        return function(*arguments)  # Python handles signals only in the main thread
    _depth += 1
    try:
        return function(*arguments)
    finally:
        _depth -= 1
        if _pending and not _depth:
            _handle(_pending.pop(0), None)


def shield() -> None:
    """Defer signals with Python handlers during shielded calls. Only in the main thread."""
    if not _in_main_thread():
        return
    for number in NUMBERS:
        old = signal.getsignal(number)
        if number not in _handlers and callable(old):
            _handlers[number] = _Handler(signal.signal(number, _on_signal), stops=False)


def install_signal_handlers(options: SignalHandlerOptions = SignalHandlerOptions.ALL) -> None:
    """Stop the contexts on SIGINT and SIGTERM; SIGINT still raises KeyboardInterrupt. Only in the main thread."""
    if not _in_main_thread():
        return
    for number, bit in zip(NUMBERS, (SignalHandlerOptions.SIGINT, SignalHandlerOptions.SIGTERM)):
        if not options & bit:
            continue
        if number not in _handlers:
            _handlers[number] = _Handler(signal.signal(number, _on_signal), stops=True)
        _handlers[number].stops = True


def uninstall_signal_handlers() -> None:
    """Stop the handling of signals by the contexts."""
    for handler in _handlers.values():
        handler.stops = False
    release(shields=False)


def release(*, shields: bool) -> None:
    """Restore the previous handlers of signals that do not stop contexts. Only in the main thread.

    Args:
        shields: also restore handlers that are deferred during shielded calls: no context is left.
    """
    if not _in_main_thread():
        return
    for number, handler in list(_handlers.items()):
        if handler.stops or (callable(handler.old) and not shields):
            continue
        del _handlers[number]
        if signal.getsignal(number) is _on_signal:
            signal.signal(number, signal.SIG_DFL if handler.old is None else handler.old)
