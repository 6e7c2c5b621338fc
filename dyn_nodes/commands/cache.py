"""`dyn-nodes cache`: shows location and size of machine code and logs, clears them, and compiles for machines."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dyn_nodes.commands import CommandError, Subparsers, add_command

KINDS = ('code', 'logs')
MODULE = re.compile(r'(module|trace|making)-[0-9A-Za-z_]+')
ROOM, TEXT = re.compile(r'[a-z_]+(-guarded)?'), re.compile(r'[0-9a-f]{32}')
LAUNCH = re.compile(r'\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d-\d+-[0-9a-f]+')


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        'cache',
        'Show location and size of machine code and logs, clear them, or compile for machines.',
        'dyn-nodes cache\ndyn-nodes cache build log_loader\ndyn-nodes cache --clear\ndyn-nodes cache --clear logs',
        'Show location and size of machine code and logs. Machine code is in dyn_nodes below $XDG_CACHE_HOME or '
        '~/.cache; $DYN_NODES_CACHE sets another directory. Logs of launches are in ~/.dyn_nodes/log; $ROS_LOG_DIR '
        'sets another directory. `build` compiles what runs, margins, nodes and governor of machines need, with one '
        'process per core, so that their first start does not wait; it starts and ends their launch files.',
    )
    parser.add_argument('action', nargs='?', choices=('build',), help='compile for machines')
    parser.add_argument('machines', nargs='*', metavar='MACHINE', help='names of this package, or paths of URDFs')
    parser.add_argument('--config', default='', metavar='YAML', help='machine YAML of the machines')
    parser.add_argument(
        '--clear',
        nargs='*',
        metavar='KIND',
        choices=KINDS,
        help='remove code, logs or both (code): the next start of a machine compiles again',
    )


def run(args: argparse.Namespace) -> int:
    """Print or clear the directories.

    Raises:
        CommandError: a file cannot be removed, or no machine has been named.
    """
    if (args.action is None) == bool(args.machines):
        raise CommandError('expected `cache build MACHINE ...`, found no machine', 2)
    directories = cache_directories()
    for kind in () if args.clear is None else args.clear or ('code',):
        if kind in directories:
            _clear(kind, directories[kind])
    if args.action:
        from dyn_nodes.commands.cache_build import build

        return build(args.machines, args.config)
    for kind, directory in directories.items():
        files, size = usage(directory)
        print(f'{kind:<5} {size / 1e6:9.1f} MB in {files} files  {directory}')
    return 0


def cache_directories() -> dict[str, Path]:
    """Return the directories by kind without creating them."""
    from dyn_nodes.common.sealing import chosen_directory
    from dyn_nodes.middleware.launching import log_root

    code = chosen_directory()
    return {**({'code': code} if code is not None else {}), 'logs': log_root()}


def usage(root: Path) -> tuple[int, int]:
    """Return number and total size, bytes, of the files in a directory; links are not followed.

    Files that another process removes meanwhile are not counted.
    """
    sizes = []
    for directory, _, names in os.walk(root):
        for name in names:
            with suppress(FileNotFoundError):
                status = os.lstat(os.path.join(directory, name))
                sizes += [status.st_size] if stat.S_ISREG(status.st_mode) else []
    return len(sizes), sum(sizes)


def created_entries(kind: str, directory: Path) -> Iterator[Path]:
    """Yield the entries of a directory that these programs created, identified by the form of their names."""
    for entry in sorted(directory.iterdir()):
        if kind == 'logs':
            if LAUNCH.fullmatch(entry.name) and entry.is_dir():
                yield entry
        elif MODULE.fullmatch(entry.name) or (
            ROOM.fullmatch(entry.name)
            and entry.is_dir()
            and all(TEXT.fullmatch(below.name) is not None for below in entry.iterdir())
        ):
            yield entry


def _clear(kind: str, directory: Path) -> None:
    if not directory.is_dir():
        return
    for entry in created_entries(kind, directory):
        try:
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)
        except OSError as error:
            raise CommandError(f'{entry} cannot be removed: {error.strerror}') from None
