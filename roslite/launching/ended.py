"""Processes of a launch that have ended: a file that the launcher, or they themselves, write and waiting nodes read."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

FILE = 'ended.jsonl'
"""Name of the file, in the log directory of the launch."""
VARIABLE = 'DYN_NODES_ENDED'
"""Environment variable of launched processes: path of the file."""
RESTART = 5.0
"""Wall time in which `ros2 launch` may start a process again that is gone, s."""

_gone_since: dict[str, float] = {}
"""When this process first missed that of a node, s of wall time."""


def note_ended(path: Path, node: str, how: str | int) -> None:
    """Add a process to the file.

    Args:
        path: of the file, a line of JSON a process.
        node: fully qualified name of its node, or its label where the launch file gives none.
        how: its exit status, and the last line that it printed, if any; the number of a process that has begun.
    """
    with contextlib.suppress(OSError), path.open('a', encoding='utf-8') as file:  # a full disk stops no launch
        file.write(json.dumps([node, how]) + '\n')


def ended_nodes() -> dict[str, str]:
    """Return the nodes of this process's launch that have ended and are not started again: name and how.

    A launch of this package notes them in a file; under `ros2 launch` nodes do so themselves (`noted_life`). Empty for
    a process that no launch started.
    """
    noted = os.environ.get(VARIABLE)
    if noted:
        return {node: how for node, how in _lines(Path(noted)).items() if isinstance(how, str)}
    path = _shared_path()
    return {} if path is None else _gone(_lines(path))


def _lines(path: Path) -> dict[str, str | int]:
    """Return the last entry of each node: how it has ended, or the number of its process."""
    try:
        lines = path.read_text(encoding='utf-8').splitlines(keepends=True)
    except OSError:
        return {}
    whole = (line for line in lines if line.endswith('\n'))  # the last one may still be written
    return dict(json.loads(line) for line in whole)


# -- under `ros2 launch`, which tells nodes nothing of each other ---


@contextlib.contextmanager
def noted_life(name: str, words: Sequence[str]) -> Iterator[Callable[[str], None]]:
    """Let the other nodes of a `ros2 launch` know of this process; what it is given last says why it ends.

    Args:
        name: of the program, which is that of its node where the command line gives none.
        words: of the command line.
    """
    path = None if os.environ.get(VARIABLE) else _shared_path()
    if path is None:
        yield lambda reason: None
        return
    rules = [word.partition(':=') for word in words]
    space = next((value for key, _, value in rules if key == '__ns'), '').rstrip('/')
    node = f'{space}/{next((value for key, _, value in rules if key == "__node"), name)}'
    _forget_others(path.parent)
    note_ended(path, node, os.getpid())
    yield lambda reason: note_ended(path, node, f'exit status 1: {" ".join(reason.split())}')


def _shared_path() -> Path | None:
    """Return the file of all processes of the `ros2 launch` that started this one, None where none did."""
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
    """Remove the files of launches that are over."""
    for path in folder.glob('*.jsonl'):
        if not Path('/proc', path.stem.partition('_')[0]).exists():
            path.unlink(missing_ok=True)


def _gone(entries: dict[str, str | int]) -> dict[str, str]:
    """Return how nodes have ended, and those whose process has been gone for `RESTART`."""
    now, found = time.monotonic(), {}
    for node, entry in entries.items():
        if isinstance(entry, str):
            found[node] = entry
        elif _runs(entry):
            _gone_since.pop(node, None)
        elif now - _gone_since.setdefault(node, now) > RESTART:
            found[node] = f'its process {entry} is gone'
    return found


def _runs(process: int) -> bool:
    try:
        return Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()[0] not in 'ZX'
    except OSError:
        return False
