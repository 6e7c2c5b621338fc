"""A CAN interface of python-can, read and written by two threads, so that a blocked bus does not block the node."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from dyn_nodes.can.mapping import Frame
from dyn_nodes.can.sender import RawFrame
from dyn_nodes.nodes.diagnostics import one_line
from dyn_nodes.nodes.parameters import ParameterError

MOST_WAITING = 20_000
"""Greatest number of received frames that wait for the node."""
REOPEN = 1.0
"""Time between two attempts to reopen a lost bus, s."""
LISTEN = 0.01
"""Longest time of one wait for a frame, s; `read_until` lags by at most this time."""
LATE_WRITES = 2
"""Number of consecutive late writes that is a fault; a single one may be due to a busy computer."""
BUS_OFF = 0x40
"""Bit of the identifier of socketcan's error frames."""


class Received(NamedTuple):
    """A frame and the steady time of its arrival, s."""

    identifier: int
    extended: bool
    data: bytes
    time: float


def open_bus(values: dict[str, Any]) -> Any:
    """Return python-can's bus of a node's parameters.

    Raises:
        ParameterError: python-can is missing or incomplete, or the interface cannot be opened.
    """
    try:
        import can
    except ImportError:
        raise ParameterError("the package python-can is missing: pip install 'dyn_nodes[can]'") from None
    interface, options = values['interface'], {}
    if interface == 'socketcand':
        options = {'host': values['host'], 'port': values['port']}
    elif interface in ('slcan', 'pcan'):
        options = {'bitrate': values['bitrate']}
    try:
        return can.Bus(interface=interface, channel=values['channel'], **options)
    except Exception as error:  # every driver has its own errors
        text = f'{interface} {values["channel"]!r}: {type(error).__name__}: {error}'
        raise ParameterError(
            f"parameter 'channel': expected a bus that can be opened, found {one_line(text)}"
        ) from None


class CanBus:
    """An interface that two threads read and write after `start`; `read` and `write` make single steps.

    Args:
        values: the node's parameters.
        frames: to send, each at its period.
        make: returns the frame to send now, or None; called by the writing thread.

    Attributes:
        received: frames that were not processed yet, oldest first.
        fault, send_fault: why the bus cannot be read or written now, or ''.
        sent, unreadable, error_frames: counts.
        written: steady time of the last completed run of writing, s.
        read_until: steady time up to which all frames were read, s.

    Raises:
        ParameterError: as `open_bus`.
    """

    def __init__(
        self, values: dict[str, Any], frames: Iterable[Frame], make: Callable[[Frame], RawFrame | None]
    ) -> None:
        self.values, self.frames, self.make = values, tuple(frames), make
        self.received: deque[Received] = deque(maxlen=MOST_WAITING)
        self.fault = self.send_fault = ''
        self._newest_fault: deque[str] = deque(maxlen=1)
        self.sent = self.unreadable = self.error_frames = 0
        self._bus: Any = open_bus(values)
        self.written = self.read_until = time.monotonic()
        self._late_writes = 0
        self._due = dict.fromkeys(range(len(self.frames)), self.written)
        self._finished = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start the threads that read and write."""
        runs = (self._read_on, self._write_on) if self.frames else (self._read_on,)
        self._threads = [threading.Thread(target=run, daemon=True) for run in runs]
        for thread in self._threads:
            thread.start()

    def take_fault(self) -> str:
        """Return the newest fault since the last call, even if it is over, or ''."""
        try:
            return self._newest_fault.pop()
        except IndexError:
            return ''

    def _store_fault(self, fault: str) -> str:
        self._newest_fault.append(fault)
        return fault

    def wait_sent(self, count: int) -> None:
        """Wait until the writing thread has sent `count` more frames, at most a quarter of a second."""
        until = self.sent + count
        for _ in range(25 if self._threads else 0):
            if self.sent >= until or self._finished.wait(0.01):
                return

    def close(self) -> None:
        """End the threads and close the interface."""
        self._finished.set()
        for thread in self._threads:
            thread.join(1.0)
        self._shut()

    def _shut(self) -> None:
        bus, self._bus = self._bus, None
        try:
            if bus is not None:
                bus.shutdown()
        except Exception:  # the interface may be lost
            self.unreadable += 1

    # -- reading -----------------------------------------------------------------------------------------------------

    def _read_on(self) -> None:
        while not self._finished.is_set():
            self.read(LISTEN)

    def read(self, timeout: float) -> bool:
        """Read the next frame, or reopen a lost bus; return whether a frame was received within timeout, s."""
        try:
            if self._bus is None:
                self._bus, self.fault = open_bus(self.values), ''
                self.send_fault = ''
            message = self._next(timeout)
        except (ValueError, IndexError, KeyError) as error:  # text of a serial adapter instead of a frame
            if isinstance(error, ParameterError):
                self.fault = self._store_fault(str(error))
                self._finished.wait(REOPEN)
            else:
                self._skip()
        except Exception as error:
            if isinstance(error.__cause__, ValueError):  # python-can wraps undecodable bytes
                self._skip()
            else:
                self.fault = self._store_fault(one_line(f'the bus cannot be read: {error}'))
                self._shut()
                self._finished.wait(REOPEN)
        else:
            if message is not None:
                self._take(message)
                return True
        return False

    def _next(self, timeout: float) -> Any:
        """Return the next message, None if none is received within timeout, s."""
        began = time.monotonic()
        message = self._bus.recv(0.0)
        if message is None:
            self.read_until = began
            message = self._bus.recv(timeout) if timeout > 0.0 else None
        return message

    def _skip(self) -> None:
        """Drop bytes that are not a frame: python-can would keep them in its buffer."""
        self.unreadable += 1
        buffer = getattr(self._bus, '_buffer', None)
        if isinstance(buffer, bytearray):
            buffer.clear()

    def _take(self, message: Any) -> None:
        if message.is_error_frame:
            self.error_frames += 1
            if message.arbitration_id & BUS_OFF:
                self.fault = self._store_fault('bus off')
        elif not message.is_remote_frame:
            now = time.monotonic()
            self.fault = ''  # also after bus off
            self.received.append(Received(message.arbitration_id, message.is_extended_id, bytes(message.data), now))

    # -- writing -----------------------------------------------------------------------------------------------------

    def _write_on(self) -> None:
        while not self._finished.wait(max(self.write(time.monotonic()) - time.monotonic(), 0.0)):
            pass

    def write(self, now: float) -> float:
        """Send the frame that is due, if any; return the steady time at which the next one is due, s."""
        k = min(self._due, key=lambda index: self._due[index])
        if self._due[k] <= now:
            period = self.frames[k].period
            self._due[k] = max(self._due[k] + period, now - period)
            self._send(self.frames[k])
        self.written = now
        return min(self._due.values())

    def _send(self, frame: Frame) -> None:
        bus = self._bus
        if bus is None:
            return
        try:
            raw = self.make(frame)
            if raw is None:
                return
            import can

            identifier, extended, data = raw
            is_fd = len(data) > 8
            bus.send(
                can.Message(arbitration_id=identifier, is_extended_id=extended, data=data, is_fd=is_fd), timeout=0.05
            )
            self.sent, self.send_fault, self._late_writes = self.sent + 1, '', 0
        except Exception as error:  # a full queue or an unplugged cable: the next period tries again
            self._late_writes = self._late_writes + 1 if _is_late(error) else LATE_WRITES
            if self._late_writes >= LATE_WRITES:
                self.send_fault = self._store_fault(one_line(f'the bus cannot be written: {error}'))


def _is_late(error: BaseException) -> bool:
    """Return whether a write timed out; pyserial also reports this for a complete write."""
    return any(
        type(cause).__name__ in ('SerialTimeoutException', 'CanTimeoutError') for cause in (error, error.__cause__)
    )
