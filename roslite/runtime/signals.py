"""SIGINT and SIGTERM: they stop the contexts, and never raise in the middle of the DDS package's machine code.

The C layer of `cyclonedds` calls Python while it takes samples or reads discovery (for every sample the constructor of
its SampleInfo), and it does not look for an exception there: a KeyboardInterrupt that comes out of such a call ends the
process by SIGSEGV or is lost. So these calls are `shielded`: a signal that comes meanwhile is handled when they return.
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
    """Which signals `init` handles."""

    NO = 0
    SIGINT = 1
    SIGTERM = 2
    ALL = 3


@dataclass
class _Handler:
    old: Any
    stops: bool
    """The contexts end; else the signal only waits until it may be handled as before."""


_handlers: dict[int, _Handler] = {}
_pending: list[int] = []
_depth = 0
_stop: Callable[[int], None] | None = None


def on_stop(stop: Callable[[int], None]) -> None:
    """Call `stop` with the number of a signal that ends the contexts."""
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
    """Call a function; a signal that comes meanwhile is handled when it has returned."""
    global _depth
    if not _in_main_thread():
        return function(*arguments)  # Python handles signals in the main thread only
    _depth += 1
    try:
        return function(*arguments)
    finally:
        _depth -= 1
        if _pending and not _depth:
            _handle(_pending.pop(0), None)


def shield() -> None:
    """Let signals that a Python function handles wait for shielded calls. Only in the main thread."""
    if not _in_main_thread():
        return
    for number in NUMBERS:
        old = signal.getsignal(number)
        if number not in _handlers and callable(old):
            _handlers[number] = _Handler(signal.signal(number, _on_signal), stops=False)


def install_signal_handlers(options: SignalHandlerOptions = SignalHandlerOptions.ALL) -> None:
    """Let SIGINT and SIGTERM stop the contexts; SIGINT still raises KeyboardInterrupt. Only in the main thread."""
    if not _in_main_thread():
        return
    for number, bit in zip(NUMBERS, (SignalHandlerOptions.SIGINT, SignalHandlerOptions.SIGTERM)):
        if not options & bit:
            continue
        if number not in _handlers:
            _handlers[number] = _Handler(signal.signal(number, _on_signal), stops=True)
        _handlers[number].stops = True


def uninstall_signal_handlers() -> None:
    """Let signals stop the contexts no more."""
    for handler in _handlers.values():
        handler.stops = False
    release(shields=False)


def release(*, shields: bool) -> None:
    """Put the handlers of before back where ours stop nothing. Only in the main thread.

    Args:
        shields: also where they let signals wait for shielded calls: no context is left.
    """
    if not _in_main_thread():
        return
    for number, handler in list(_handlers.items()):
        if handler.stops or (callable(handler.old) and not shields):
            continue
        del _handlers[number]
        if signal.getsignal(number) is _on_signal:
            signal.signal(number, signal.SIG_DFL if handler.old is None else handler.old)
