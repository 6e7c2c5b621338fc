"""Steps of a launch command: find the file, parse the arguments, run until the end."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from roslite.launching.errors import LaunchError
from roslite.launching.session import LaunchSession
from roslite.launching.substitutions import SubstitutionError, package_share
from roslite.printing import near

_MISSPELT = re.compile(r'-*(?P<name>[A-Za-z_]\w*)\s*(?:=|:|==|=:|: =|:= )\s*(?P<value>[^\s:=].*|)')
SUFFIXES = ('.launch.xml', '_launch.xml', '.xml')


def find_launch_file(name: str, package: str) -> Path:
    """Return the path of a launch file in a package's `launch/`.

    Args:
        name: file name (`talker.launch.xml`) or short form (`talker`).
        package: name of the package.

    Raises:
        LaunchError: no such file; the message lists the existing ones.
    """
    path = Path(name)
    try:
        folder = package_share(package) / 'launch'
    except SubstitutionError as error:
        raise LaunchError(str(error)) from None
    for candidate in (folder / name, *(folder / f'{name}{suffix}' for suffix in SUFFIXES)):
        if candidate.is_file():
            if candidate.suffix != '.xml':
                raise LaunchError('expected an XML launch file: other kinds need ros2 launch', candidate)
            return candidate
    names = sorted({_short(file.name) for file in folder.glob('*.xml')}) if folder.is_dir() else []
    hint = near(_short(path.name), names)
    if path.suffix or '/' in name:
        raise LaunchError(f'expected a launch file, found no such file{hint}', path)
    if hint:
        raise LaunchError(f'no launch file {name!r}{hint}, neither a file here nor one in {folder}')
    raise LaunchError(f'no launch file {name!r}: neither a file here nor one of {", ".join(names)} in {folder}')


def _short(name: str) -> str:
    """Return the short form of the name of a launch file."""
    return next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), name)


def parse_launch_arguments(words: Iterable[str]) -> dict[str, str]:
    """Return `name:=value` words as a dictionary; the last of equal names counts.

    Raises:
        LaunchError: a word has another form.
    """
    arguments = {}
    for word in words:
        name, separator, value = word.partition(':=')
        if not separator or not name:
            raise LaunchError(f'expected arguments of the form name:=value, found {word!r}{_meant(word)}')
        arguments[name] = value
    return arguments


def _meant(word: str) -> str:
    """Return a hint for a misspelt argument: `viewer=true`, `--viewer=true`, `viewer:true`."""
    match = _MISSPELT.fullmatch(word)
    return f' (did you mean {match["name"]}:={match["value"]}?)' if match else ''


def _print(line: str) -> None:
    try:
        sys.stdout.write(line + '\n')
        sys.stdout.flush()
    except BrokenPipeError:
        # the rest of the buffer would fail again at interpreter exit and set exit status 120
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def run_launch(
    path: Path | str,
    arguments: Mapping[str, str] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    log_directory: Path | None = None,
    screen: Callable[[str], None] | None = _print,
) -> int:
    """Run a launch file until all its processes have ended, or until SIGINT, SIGTERM or SIGHUP.

    Args:
        path: XML launch file.
        arguments: values of its arguments.
        environment: environment of the processes; None: environment of this process.
        log_directory: directory for the logs; None: a new one.
        screen: function for each line for the screen.

    Returns:
        0 if every process ended without failure, also after a signal to this launcher (as in `ros2 launch`);
        1 if a process died or had to be killed.

    Raises:
        LaunchError: a fault of the file or the arguments; no process was started.
    """
    session = LaunchSession.from_file(
        path, arguments, environment=environment, log_directory=log_directory, screen=screen
    )
    saved = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
                continue  # under nohup
            saved[number] = signal.signal(number, lambda got, frame: session.request_stop(signal.Signals(got).name))
    try:
        with session:
            # In slices: a wait without timeout would delay Python's signal handlers on some systems.
            while session.wait(0.5) is None:
                pass
    finally:
        for number, handler in saved.items():
            signal.signal(number, handler)
    return session.poll() or 0
