"""The manifest of a generated module: the digests of its files under one seal."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from dyn_nodes.common.sealing import report, sealed, unsealed

MANIFEST = 'manifest'
OTHERS = (MANIFEST, '__pycache__')


def write_manifest(root: Path, directory: Path, name: str) -> None:
    """Seal the files of a directory that gets this name in the cache `root`."""
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(directory.iterdir())}
    content = json.dumps(digests, sort_keys=True).encode()
    (directory / MANIFEST).write_bytes(sealed(root, f'{name}/{MANIFEST}', content))


def verified_files(root: Path, directory: Path) -> dict[str, bytes] | None:
    """Return the content of all files of a module, or None if there is no module.

    A module that is damaged, incomplete or not sealed by this user is reported and deleted.
    """
    if not directory.is_dir():
        return None
    fault = ''
    try:
        files = {path.name: path.read_bytes() for path in directory.iterdir() if path.name not in OTHERS}
        content = unsealed(root, f'{directory.name}/{MANIFEST}', (directory / MANIFEST).read_bytes())
        if content is None:
            fault = 'its manifest is damaged or not of this user'
        elif json.loads(content) != {name: hashlib.sha256(text).hexdigest() for name, text in files.items()}:
            fault = 'a file is damaged, missing or foreign'
    except OSError as error:
        if not directory.is_dir():  # another process deleted it
            return None
        fault = f'it cannot be read ({error.strerror})'
    if not fault:
        return files
    report(f'{directory}: {fault}: made again')
    shutil.rmtree(directory, ignore_errors=True)
    return None
