"""The end of a node's process: one interrupt for any number of signals, and a limit of its duration."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

from dyn_nodes.common.leaving import NUMBERS, leave

GRACE = 4.0
"""Wall time from a signal to the forced end of the process, s; launchers send a harder signal after 5 s."""
START_GRACE = 0.5
"""The same while a program starts, s."""
AGAIN = 0.05
"""Wall time after which a signal is sent again if its exception was dropped, s."""


def ignore_signals(args: list[str] | None) -> None:
    """Ignore SIGINT and SIGTERM until the process ends.

    The runtime and the interpreter restore the default handlers before the process has ended. A second signal would
    then change the exit status, and the launcher would report a failure.

    Args:
        args: command line passed to the program's `main`. With None the program uses `sys.argv` and its process ends
            next. Otherwise the caller continues after it, and nothing is changed.
    """
    if args is None and threading.current_thread() is threading.main_thread():
        for number in NUMBERS:
            signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def stop_signals(args: list[str] | None, watch: EndWatch | None = None) -> Iterator[list[int]]:
    """Yield a list to which SIGINT and SIGTERM are appended; they do not interrupt the block.

    An Event would deadlock if a second signal interrupted its setting.

    Args:
        args: command line of the program, see `ignore_signals`. With None the signals are ignored after the block.
        watch: while it is `starting`, the first signal raises KeyboardInterrupt, again if compiled code has dropped it.
    """
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return

    dropped: list[Any] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        received.append(number)
        if watch is not None and watch.starting and (dropped or len(received) == 1):
            dropped.clear()
            raise KeyboardInterrupt

    def on_dropped(error: Any) -> None:
        if not isinstance(error.exc_value, KeyboardInterrupt):
            saved_hook(error)
            return
        dropped.append(error.err_msg)
        send_again()

    saved_hook, sys.unraisablehook = sys.unraisablehook, on_dropped
    saved = {number: signal.signal(number, on_signal) for number in NUMBERS}
    try:
        yield received
    finally:
        sys.unraisablehook = saved_hook
        if args is None:
            ignore_signals(args)
        else:
            for number, handler in saved.items():
                signal.signal(number, handler)


def send_again() -> None:
    """Send SIGINT to this process after a delay: its exception was dropped here and would be dropped again."""
    again = threading.Timer(AGAIN, os.kill, (os.getpid(), signal.SIGINT))
    again.daemon = True
    again.start()


class OneInterrupt:
    """Raises KeyboardInterrupt for the first SIGINT only, in a `with` block of the main thread.

    Ctrl-C in a terminal reaches a launched node twice, from the terminal and from its launcher: the second one must not
    interrupt the orderly shutdown that the first one started.

    If the thread is in a finalizer, the interpreter drops the exception. The signal is then sent again.

    While the program is `starting`, SIGINT and SIGTERM end the process at once instead.

    Args:
        watch: of the program.

    Attributes:
        came: SIGINT has arrived.
    """

    def __init__(self, watch: EndWatch) -> None:
        self.came = False
        self._is_handled = self._is_over = False
        self._watch = watch
        self._saved: dict[int, Any] = {}
        self._saved_hook = sys.unraisablehook

    def ignore(self) -> None:
        """Ignore every SIGINT from now on: the shutdown has started."""
        self._is_handled = self._is_over = True

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._watch.starting:
            leave(0)
        if number == signal.SIGINT:
            self.came = True
            if not self._is_handled:
                self._is_handled = True
                raise KeyboardInterrupt

    def _on_dropped(self, dropped: Any) -> None:
        """Send the signal again after a delay: its exception would be dropped here as well."""
        if not isinstance(dropped.exc_value, KeyboardInterrupt):
            self._saved_hook(dropped)
        elif not self._is_over:
            self._is_handled = False
            send_again()

    def __enter__(self) -> OneInterrupt:
        if threading.current_thread() is threading.main_thread():
            self._saved = {number: signal.signal(number, self._on_signal) for number in NUMBERS}
            self._saved_hook, sys.unraisablehook = sys.unraisablehook, self._on_dropped
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._saved.items():
            if signal.getsignal(number) == self._on_signal:
                signal.signal(number, handler)
        if self._saved:
            sys.unraisablehook = self._saved_hook


class EndWatch:
    """Ends the process by force if it still runs `grace` s after SIGINT or SIGTERM, in a `with` block.

    Python handles a signal when the main thread returns from machine code, which a compilation may delay by a minute.
    This thread receives signals from the C handler of the interpreter. While the program is `starting`, it ends the
    process quietly: nothing runs yet.

    Args:
        name: of the program, for the message.
        grace: s of wall time.

    Attributes:
        starting: the program imports, compiles or creates its nodes.
    """

    def __init__(self, name: str, grace: float = GRACE) -> None:
        self.name, self.grace, self.starting = name, grace, False
        self._over = threading.Event()
        self._read, self._write = -1, -1
        self._saved = -1

    def start(self) -> None:
        """Start the countdown, as after a signal."""
        if self._write >= 0:
            with contextlib.suppress(OSError):
                os.write(self._write, bytes([signal.SIGTERM]))

    def __enter__(self) -> EndWatch:
        if threading.current_thread() is threading.main_thread():
            self._read, self._write = os.pipe()
            os.set_blocking(self._write, False)
            self._saved = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
            threading.Thread(target=self._watch, name='end_watch', daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._write >= 0:
            self._over.set()
            signal.set_wakeup_fd(self._saved, warn_on_full_buffer=False)
            with contextlib.suppress(OSError):
                os.write(self._write, b'\0')

    def _watch(self) -> None:
        number = self._wait_for_signal()
        if number:
            began = time.monotonic()
            while not self._over.wait(0.1):
                waited = time.monotonic() - began
                if self.starting and waited > START_GRACE:
                    leave(0)
                if waited > self.grace:
                    self._end(number)
        os.close(self._read)
        write, self._write = self._write, -1
        os.close(write)

    def _wait_for_signal(self) -> int:
        while not self._over.is_set():
            select.select([self._read], [], [])
            for number in os.read(self._read, 64):
                if number in NUMBERS:
                    return number
        return 0

    def _end(self, number: int) -> None:
        text = f'{self.name}: still running {self.grace:g} s after {signal.Signals(number).name}: ended by force, in\n'
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()
            faulthandler.dump_traceback(all_threads=True)
        os._exit(128 + number)
