"""The steps of a launch command: find the file, read the arguments, run until the end."""

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
    """A launch file by its name in a package's `launch/`.

    Args:
        name: A file name (`talker.launch.xml`) or the short form (`talker`).
        package: The package to look in.

    Raises:
        LaunchError: There is none; the message lists those that there are.
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
    """Return the name of a launch file without what the command line may leave out."""
    return next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), name)


def parse_launch_arguments(words: Iterable[str]) -> dict[str, str]:
    """`name:=value` words as a dictionary; the last of equal names counts.

    Raises:
        LaunchError: A word has another form.
    """
    arguments = {}
    for word in words:
        name, separator, value = word.partition(':=')
        if not separator or not name:
            raise LaunchError(f'expected arguments of the form name:=value, found {word!r}{_meant(word)}')
        arguments[name] = value
    return arguments


def _meant(word: str) -> str:
    """Return the argument that a word was meant to be: `viewer=true`, `--viewer=true`, `viewer:true`."""
    found = _MISSPELT.fullmatch(word)
    return f' (did you mean {found["name"]}:={found["value"]}?)' if found else ''


def _print(line: str) -> None:
    try:
        sys.stdout.write(line + '\n')
        sys.stdout.flush()
    except BrokenPipeError:
        # what is left in the buffer would fail once more at the interpreter's end, and make its status 120
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
        path: The XML launch file.
        arguments: Values of its arguments.
        environment: Environment of the processes; this process's own when None.
        log_directory: For the logs; a fresh one when None.
        screen: Takes the lines for the screen.

    Returns:
        0 when every process ended as it should, also after a signal to this launcher (as `ros2 launch` does);
        1 when one died, or had to be killed.

    Raises:
        LaunchError: The file or the arguments are wrong. Nothing was started.
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
            # In slices: a wait without an end would hold back Python's signal handlers on some systems.
            while session.wait(0.5) is None:
                pass
    finally:
        for number, handler in saved.items():
            signal.signal(number, handler)
    return session.poll() or 0
