"""Quiet ends of programs that a signal reaches while they import their packages or compile."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from types import FrameType
from typing import NoReturn

NUMBERS = (signal.SIGINT, signal.SIGTERM)


def leave(status: int) -> NoReturn:
    """End the process at once, without cleaning up: nothing was started.

    An exception instead would be lost or printed where compiled code calls Python, as during imports and compilation.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, RuntimeError, AttributeError):
            stream.flush()
    os._exit(status)


def leave_on_signals(status: int) -> None:
    """Let SIGINT and SIGTERM end the process with a status until other handlers replace these; accept both signals.

    A launcher may start the process with both signals blocked, so that none reaches the interpreter before this call.
    Ignored signals remain ignored. Only in the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        return

    def on_signal(number: int, frame: FrameType | None) -> None:
        leave(status)

    for number in NUMBERS:
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, on_signal)
    accept_signals()


def accept_signals() -> None:
    """Unblock SIGINT and SIGTERM in this thread."""
    if hasattr(signal, 'pthread_sigmask'):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, NUMBERS)


def restore_signals() -> None:
    """Restore the interpreter's handlers of SIGINT and SIGTERM instead of `leave_on_signals`. In the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
