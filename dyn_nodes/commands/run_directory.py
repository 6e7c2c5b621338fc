"""Directories of results: one per run, named by its start time, and a link to the latest."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path


def new_run_directory(root: Path) -> Path:
    """Make and return `<root>/<YYYYmmdd-HHMMSS>`, with `-2`, `-3`, ... for runs that start in the same second."""
    name = datetime.now().strftime('%Y%m%d-%H%M%S')
    root.mkdir(parents=True, exist_ok=True)
    for number in range(1, 1000):
        directory = root / (name if number == 1 else f'{name}-{number}')
        try:
            directory.mkdir()
        except FileExistsError:
            continue
        return directory.resolve()
    raise FileExistsError(f'{root}: a thousand runs have started in the same second')


def point_latest(directory: Path) -> bool:
    """Point the link `latest` atomically to a run's directory; return False if the file system has no links."""
    link = directory.parent / 'latest'
    fresh = directory.parent / f'.latest-{os.getpid()}'
    try:
        fresh.symlink_to(directory.name, target_is_directory=True)
        os.replace(fresh, link)
    except OSError:
        fresh.unlink(missing_ok=True)
        return False
    return True
