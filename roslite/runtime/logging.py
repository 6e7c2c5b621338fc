"""Loggers with ROS's line format on stderr, and /rosout for loggers of nodes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from enum import IntEnum
from typing import Any


class LoggingSeverity(IntEnum):
    """Severity of a message."""

    UNSET = 0
    DEBUG = 10
    INFO = 20
    WARN = 30
    ERROR = 40
    FATAL = 50


_COLORS = {10: '\033[32m', 20: '\033[0m', 30: '\033[33m', 40: '\033[31m', 50: '\033[31m'}
_DEFAULT_FORMAT = '[{severity}] [{time}] [{name}]: {message}'

_levels: dict[str, int] = {}
_loggers: dict[str, RcutilsLogger] = {}
_settings: dict[str, Any] = {'level': LoggingSeverity.INFO, 'stdout': True}


def set_default_level(level: int) -> None:
    """Set the level of loggers without a level."""
    _settings['level'] = LoggingSeverity(level)


def set_console(enabled: bool) -> None:
    """Turn printing on or off (`--disable-stdout-logs`)."""
    _settings['stdout'] = enabled


def set_logger_level(name: str, level: int) -> None:
    """Set the level of the logger `name` and its children."""
    _levels[name] = LoggingSeverity(level)


def get_logger_effective_level(name: str) -> LoggingSeverity:
    """Return the effective level of a logger: its level, else the level of the nearest ancestor, else the default."""
    while name:
        level = _levels.get(name, 0)
        if level:
            return LoggingSeverity(level)
        name = name.rpartition('.')[0]
    return _settings['level']


def _use_color() -> bool:
    wanted = os.environ.get('RCUTILS_COLORIZED_OUTPUT', '')
    return wanted == '1' if wanted in ('0', '1') else sys.stderr.isatty()


def _print(severity: int, name: str, stamp: int, text: str, location: tuple[str, str, int]) -> None:
    """Write one line to stderr in the format of RCUTILS_CONSOLE_OUTPUT_FORMAT."""
    line = os.environ.get('RCUTILS_CONSOLE_OUTPUT_FORMAT', _DEFAULT_FORMAT)
    seconds, nanoseconds = divmod(stamp, 1_000_000_000)
    for key, value in (
        ('severity', LoggingSeverity(severity).name),
        ('time_as_nanoseconds', str(stamp)),
        ('time', f'{seconds}.{nanoseconds:09d}'),
        ('name', name),
        ('file_name', location[0]),
        ('function_name', location[1]),
        ('line_number', str(location[2])),
        ('message', text),
    ):
        line = line.replace('{' + key + '}', value)
    if _use_color():
        line = f'{_COLORS[severity]}{line}\033[0m'
    try:
        sys.stderr.write(line + '\n')
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # stderr was closed; a node must not end because of that


class RcutilsLogger:
    """A named logger; its methods take rclpy's keyword arguments.

    `throttle_duration_sec` limits a call site to one message in that time, `skip_first` skips its first call, and
    `once` skips all but its first.
    """

    def __init__(self, name: str = '') -> None:
        self.name = name
        self._sites: dict[tuple[str, int], float | None] = {}
        self._sinks: list[Callable[..., None]] = []

    def get_child(self, name: str) -> RcutilsLogger:
        """Return the logger `<name of this logger>.<name>`.

        Raises:
            ValueError: an empty name.
        """
        if not name:
            raise ValueError('Child logger name must not be empty.')
        child = get_logger(f'{self.name}.{name}' if self.name else name)
        child._sinks = self._sinks
        return child

    def set_level(self, level: int) -> None:
        """Set the minimum level of logged messages."""
        set_logger_level(self.name, level)

    def get_effective_level(self) -> LoggingSeverity:
        """Return the minimum level of logged messages."""
        return get_logger_effective_level(self.name)

    def is_enabled_for(self, severity: int) -> bool:
        """Return whether messages of a severity are logged."""
        return severity >= self.get_effective_level()

    def log(
        self,
        message: object,
        severity: int,
        *,
        once: bool = False,
        skip_first: bool = False,
        throttle_duration_sec: float | None = None,
        throttle_time_source_type: Any = None,
        _depth: int = 1,
    ) -> bool:
        """Log a message; return whether it was logged."""
        if severity < self.get_effective_level():
            return False
        frame = sys._getframe(_depth)
        location = (frame.f_code.co_filename, frame.f_code.co_name, frame.f_lineno)
        if (once or skip_first or throttle_duration_sec is not None) and not self._passes(
            (location[0], location[2]), once, skip_first, throttle_duration_sec, throttle_time_source_type
        ):
            return False
        stamp = time.time_ns()
        text = str(message)
        if _settings['stdout']:
            _print(severity, self.name, stamp, text, location)
        for sink in self._sinks:
            sink(severity, self.name, stamp, text, location)
        return True

    def _passes(self, site: tuple[str, int], once: bool, skip_first: bool, period: float | None, clock: Any) -> bool:
        now = clock.nanoseconds() * 1e-9 if hasattr(clock, 'nanoseconds') else time.monotonic()
        first = site not in self._sites
        last = self._sites.get(site)
        if first and skip_first:
            self._sites[site] = now if period is not None else None
            return False
        if once and not (first or (skip_first and last is None)):
            return False
        if period is not None and last is not None and 0 <= now - last < period:
            return False
        self._sites[site] = now
        return True

    def debug(self, message: object, **options: Any) -> bool:
        """Log a message at DEBUG."""
        return self.log(message, LoggingSeverity.DEBUG, _depth=2, **options)

    def info(self, message: object, **options: Any) -> bool:
        """Log a message at INFO."""
        return self.log(message, LoggingSeverity.INFO, _depth=2, **options)

    def warning(self, message: object, **options: Any) -> bool:
        """Log a message at WARN."""
        return self.log(message, LoggingSeverity.WARN, _depth=2, **options)

    def warn(self, message: object, **options: Any) -> bool:
        """Log a message at WARN."""
        return self.log(message, LoggingSeverity.WARN, _depth=2, **options)

    def error(self, message: object, **options: Any) -> bool:
        """Log a message at ERROR."""
        return self.log(message, LoggingSeverity.ERROR, _depth=2, **options)

    def fatal(self, message: object, **options: Any) -> bool:
        """Log a message at FATAL."""
        return self.log(message, LoggingSeverity.FATAL, _depth=2, **options)


def get_logger(name: str) -> RcutilsLogger:
    """Return the logger with a name."""
    if name not in _loggers:
        _loggers[name] = RcutilsLogger(name)
    return _loggers[name]
