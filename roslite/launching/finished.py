"""File of the ended processes of a launch, written by the launcher or the processes, and read by waiting nodes."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

FILE = 'ended.jsonl'
"""Name of the file in the log directory of the launch."""
VARIABLE = 'DYN_NODES_ENDED'
"""Environment variable of launched processes: path of the file."""
RESTART = 5.0
"""Maximum wall time after which `ros2 launch` restarts an ended process, s."""

_gone_since: dict[str, float] = {}
"""Time at which the process of a node was first missing, by node, s of `time.monotonic`."""


def record_finished(path: Path, node: str, how: str | int) -> None:
    """Add a process to the file.

    Args:
        path: of the file, with one line of JSON per process.
        node: fully qualified name of its node, or its label if the launch file specifies none.
        how: exit status and last printed line, if any; or the id of a started process.
    """
    with contextlib.suppress(OSError), path.open('a', encoding='utf-8') as file:  # a full disk must not stop the launch
        file.write(json.dumps([node, how]) + '\n')


def finished_nodes() -> dict[str, str]:
    """Return the nodes of this process's launch that have ended without restart: name and how they ended.

    A launch of this package records them in a file; under `ros2 launch` the nodes do so themselves (`recorded_life`).
    Empty for a process without a launch.
    """
    file = os.environ.get(VARIABLE)
    if file:
        return {node: how for node, how in _lines(Path(file)).items() if isinstance(how, str)}
    path = _shared_path()
    return {} if path is None else _gone(_lines(path))


def _lines(path: Path) -> dict[str, str | int]:
    """Return the last entry of each node: how it ended, or the id of its process."""
    try:
        lines = path.read_text(encoding='utf-8').splitlines(keepends=True)
    except OSError:
        return {}
    whole = (line for line in lines if line.endswith('\n'))  # the last one may still be written
    return dict(json.loads(line) for line in whole)


# -- under `ros2 launch`, which does not report the end of other nodes ---


@contextlib.contextmanager
def recorded_life(name: str, words: Sequence[str]) -> Iterator[Callable[[str], None]]:
    """Record this process for the other nodes of a `ros2 launch`; yield a function that records the reason of its end.

    Args:
        name: name of the program; default name of its node.
        words: command line.
    """
    path = None if os.environ.get(VARIABLE) else _shared_path()
    if path is None:
        yield lambda reason: None
        return
    rules = [word.partition(':=') for word in words]
    space = next((value for key, _, value in rules if key == '__ns'), '').rstrip('/')
    node = f'{space}/{next((value for key, _, value in rules if key == "__node"), name)}'
    _forget_others(path.parent)
    record_finished(path, node, os.getpid())
    yield lambda reason: record_finished(path, node, f'exit status 1: {" ".join(reason.split())}')


def _shared_path() -> Path | None:
    """Return the file of all processes of the parent `ros2 launch`, None without one."""
    parent = Path('/proc') / str(os.getppid())
    try:
        words = (parent / 'cmdline').read_bytes().split(b'\0')
        start = (parent / 'stat').read_text().rpartition(')')[2].split()[19]
        folder = Path(tempfile.gettempdir()) / f'dyn_nodes_launches_{os.getuid()}'
        if b'launch' not in words or not any(word.rpartition(b'/')[2] == b'ros2' for word in words):
            return None
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            return None
    except OSError:
        return None
    return folder / f'{os.getppid()}_{start}.jsonl'


def _forget_others(folder: Path) -> None:
    """Remove the files of ended launches."""
    for path in folder.glob('*.jsonl'):
        if not Path('/proc', path.stem.partition('_')[0]).exists():
            path.unlink(missing_ok=True)


def _gone(entries: dict[str, str | int]) -> dict[str, str]:
    """Return how nodes ended; a process that is missing for `RESTART` counts as ended."""
    now, gone = time.monotonic(), {}
    for node, entry in entries.items():
        if isinstance(entry, str):
            gone[node] = entry
        elif _runs(entry):
            _gone_since.pop(node, None)
        elif now - _gone_since.setdefault(node, now) > RESTART:
            gone[node] = f'its process {entry} has ended'
    return gone


def _runs(process: int) -> bool:
    try:
        return Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()[0] not in 'ZX'
    except OSError:
        return False
