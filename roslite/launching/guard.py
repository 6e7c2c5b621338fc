"""Stops the launched processes when the launcher has ended for any reason.

A launcher that is killed by SIGKILL cannot clean up. This small program, in a separate session, holds the reading end
of a pipe whose only writing end is in the launcher. The kernel closes the writing end when the launcher dies. The guard
then stops the process groups that it has received, with SIGINT first, which allows a recorder to finish its bag.
(`PR_SET_PDEATHSIG` is not sufficient: it needs code between fork and exec, sends only one signal, sends it also when
only the *thread* that started the child ends, and does not reach descendants of the children.)

Usage: `python -I -S guard.py TOKEN SIGTERM_TIMEOUT SIGKILL_TIMEOUT LAUNCHER_PID`; the standard input takes the lines
`+PGID`, `-PGID` and `quit`. The guard imports only a few small standard modules and starts in parallel with the nodes.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable

TOKEN_VARIABLE = 'DYN_NODES_LAUNCH'
PARENT_CHECK = 0.5


def group_exists(group: int) -> bool:
    """Return whether a process group has a living member.

    Zombies do not count: they remain for ever if process 1 does not reap orphans, as in many containers.
    """
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        entries = [entry for entry in os.listdir('/proc') if entry.isdigit()]
    except OSError:
        return True
    return any(_is_living_member(entry, group) for entry in entries)


def _is_living_member(process: str, group: int) -> bool:
    try:
        with open(f'/proc/{process}/stat', 'rb') as file:
            fields = file.read().rpartition(b')')[2].split()  # the name before it may contain any character
    except OSError:
        return False
    return int(fields[2]) == group and fields[0] not in (b'Z', b'X')


def marked_processes(token: str) -> list[int]:
    """Return the processes with a launch's token in their environment, also outside their group. Linux only."""
    marker = f'{TOKEN_VARIABLE}={token}'.encode()
    processes: list[int] = []
    try:
        entries = os.listdir('/proc')
    except OSError:
        return processes
    for entry in entries:
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f'/proc/{entry}/environ', 'rb') as file:
                if marker in file.read().split(b'\0'):
                    processes.append(int(entry))
        except OSError:
            continue
    return processes


def read_until_launcher_is_gone(parent: int) -> set[int] | None:
    """Process the messages of the launcher until its end.

    Returns:
        The process groups that were alive at its end; None after `quit`.
    """
    groups: set[int] = set()
    pending = b''
    while True:
        readable, _, _ = select.select([0], [], [], PARENT_CHECK)
        if not readable:
            if os.getppid() != parent:
                return groups
            continue
        data = os.read(0, 4096)
        if not data:
            return groups
        *lines, pending = (pending + data).split(b'\n')
        for line in lines:
            if line == b'quit':
                return None
            if line.startswith(b'+'):
                groups.add(int(line[1:]))
            elif line.startswith(b'-'):
                groups.discard(int(line[1:]))


def stop(groups: set[int], token: str, sigterm_timeout: float, sigkill_timeout: float) -> None:
    """Send SIGINT, SIGTERM and SIGKILL, each followed by its timeout, until all processes have ended."""
    for signal_number, timeout in (
        (signal.SIGINT, sigterm_timeout),
        (signal.SIGTERM, sigkill_timeout),
        (signal.SIGKILL, 1.0),
    ):
        strays = marked_processes(token)
        for group in groups:
            _signal(os.killpg, group, signal_number)
        for process in strays:
            if not any(_group_of(process) == group for group in groups):
                _signal(os.kill, process, signal_number)
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            left = {group for group in groups if group_exists(group)}
            if not left and not marked_processes(token):
                return
            for group in left:
                if not _is_living_member(str(group), group):
                    _signal(os.killpg, group, signal.SIGTERM)  # its leader has ended, other members are alive
            time.sleep(0.05)


def _group_of(process: int) -> int:
    try:
        return os.getpgid(process)
    except OSError:
        return -1


def _signal(function: Callable[[int, int], None], target: int, signal_number: int) -> None:
    with contextlib.suppress(OSError):
        function(target, signal_number)


def main() -> None:
    """Guard one launch."""
    token, sigterm_timeout, sigkill_timeout = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    groups = read_until_launcher_is_gone(int(sys.argv[4]))
    if groups is not None:
        stop(groups, token, sigterm_timeout, sigkill_timeout)


if __name__ == '__main__':
    main()
