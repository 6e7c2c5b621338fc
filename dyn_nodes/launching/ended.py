"""Processes of a launch that have ended, in a file that the launcher writes and waiting nodes read."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

FILE = 'ended.jsonl'
"""Name of the file, in the log directory of the launch."""
VARIABLE = 'DYN_NODES_ENDED'
"""Environment variable of launched processes: path of the file."""


def note_ended(path: Path, node: str, how: str) -> None:
    """Add a process to the file.

    Args:
        path: of the file, a line of JSON a process.
        node: fully qualified name of its node, or its label where the launch file gives none.
        how: its exit status, and the last line that it printed, if any.
    """
    with contextlib.suppress(OSError), path.open('a', encoding='utf-8') as file:  # a full disk stops no launch
        file.write(json.dumps([node, how]) + '\n')


def ended_nodes() -> dict[str, str]:
    """Return the nodes of this process's launch that have ended and are not started again: name and how.

    Empty for a process that no `dyn-nodes launch` started.
    """
    path = os.environ.get(VARIABLE)
    if not path:
        return {}
    try:
        lines = Path(path).read_text(encoding='utf-8').splitlines(keepends=True)
    except OSError:
        return {}
    whole = (line for line in lines if line.endswith('\n'))  # the last one may still be written
    return dict(json.loads(line) for line in whole)
