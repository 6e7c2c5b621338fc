"""Where the package keeps what is not code: its share with `launch/`, `urdf/` and `config/`.

Three ways of installing put it in three places: colcon registers it in an ament index, pip copies it below the
environment's prefix, and an editable install leaves it in the source tree.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dyn_nodes.common.errors import UserError
from dyn_nodes.common.printing import near, printable

PACKAGE = 'dyn_nodes'
SOURCE_TREE = Path(__file__).resolve().parents[2]
FOLDERS = ('launch', 'urdf', 'config')


def ament_prefix(package: str) -> Path | None:
    """Prefix of an ament package, by the index below every entry of `AMENT_PREFIX_PATH`; None when there is none."""
    for entry in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        if entry and (Path(entry) / 'share' / 'ament_index' / 'resource_index' / 'packages' / package).is_file():
            return Path(entry)
    return None


def _is_source_tree(folder: Path) -> bool:
    return (
        (folder / 'package.xml').is_file() or (folder / 'setup.py').is_file() or (folder / 'pyproject.toml').is_file()
    )


def share_candidates() -> list[Path]:
    """The places that may hold the share, in the order in which they are tried."""
    candidates = []
    prefix = ament_prefix(PACKAGE)
    if prefix is not None:
        candidates.append(prefix / 'share' / PACKAGE)
    if _is_source_tree(SOURCE_TREE):
        # The code that runs lies in a source tree: its own files, not those that an earlier `pip install` left behind.
        candidates.append(SOURCE_TREE)
    candidates.append(Path(sys.prefix) / 'share' / PACKAGE)
    return candidates


def share_directory() -> Path:
    """The directory with this package's `launch/`, `urdf/` and `config/`.

    Returns:
        The first of: the ament index's `share/dyn_nodes`, the source tree when the code runs from it,
        `<sys.prefix>/share/dyn_nodes`.

    Raises:
        FileNotFoundError: None of them exists; the message lists what was tried.
    """
    candidates = share_candidates()
    for folder in candidates:
        if any((folder / name).is_dir() for name in FOLDERS):
            return folder
    tried = ', '.join(str(folder) for folder in candidates)
    raise FileNotFoundError(f'the share of {PACKAGE} was not found: expected {", ".join(FOLDERS)} in one of {tried}')


def find_resource(name: str | Path) -> Path:
    """A file of the share by its relative name, such as `config/log_loader.yaml`.

    Raises:
        FileNotFoundError: No such file; the message lists the folder's files.
    """
    share = share_directory()
    path = share / name
    if path.is_file():
        return path
    siblings = sorted(entry.name for entry in path.parent.iterdir()) if path.parent.is_dir() else []
    known = ', '.join(siblings) or 'nothing'
    shown, folder = printable(str(name)), printable(path.parent.name)
    hint = near(path.name, siblings)
    raise FileNotFoundError(f'{shown} was not found in {share}{hint}; {folder}/ holds {known}')


def named_file(given: str | Path, folder: str) -> Path:
    """A YAML by its path, or one of a folder of the share by its name: `named_file('log_loader', 'config/can')`.

    Raises:
        FileNotFoundError: A name without a file; the message lists the folder's files.
    """
    path = Path(given)
    is_path = bool(path.suffix) or len(path.parts) > 1 or path.is_file()
    return path if is_path else find_resource(f'{folder}/{given}.yaml')


def find_mesh(reference: str, directories: Sequence[str | Path] = ()) -> Path | None:
    """The file of a mesh in a URDF; None when there is none.

    Args:
        reference: `package://<package>/...`, `file://...`, or a path.
        directories: Where packages and relative paths are looked for, besides the entries of `AMENT_PREFIX_PATH` and
            `ROS_PACKAGE_PATH`: a folder that holds the package, or the package itself.
    """
    folders = [Path(entry) for entry in directories]
    if reference.startswith('package://'):
        relative = reference.removeprefix('package://').lstrip('/')
        package, _, rest = relative.partition('/')
        prefixes = [Path(entry) for entry in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if entry]
        sources = [Path(entry) for entry in os.environ.get('ROS_PACKAGE_PATH', '').split(os.pathsep) if entry]
        places = [prefix / 'share' / relative for prefix in prefixes]
        for folder in (*folders, *sources):
            places += [folder / relative, *([folder / rest] if folder.name == package else [])]
    else:
        name = reference.removeprefix('file://')
        places = [Path(name), *(folder / name for folder in folders)]
    return next((place for place in places if place.is_file()), None)


def folders_above(file: str | Path) -> list[Path]:
    """The folders that a file lies in, the nearest first: where the package of a URDF's meshes most likely is."""
    return list(Path(file).resolve().parents)


LARGEST_MESH = 500_000_000
"""Bytes of a mesh file, and of what is packed in it."""
MOST_VERTICES = 20_000_000
"""Of all parts of a mesh."""
PACKED = ('.zip', '.zae', '.3mf', '.3dxml')
ARCHIVES = (*PACKED, '.gz', '.tgz', '.bz2', '.tbz2', '.xz', '.tar', '.7z', '.zst', '.rar', '.usdz')


class MeshError(UserError, ValueError):
    """A mesh file that cannot be used; `expected` and `found` say why."""

    def __init__(self, expected: str, found: str) -> None:
        super().__init__(f'expected {expected}, found {found}')
        self.expected, self.found = expected, found


def mesh_parts(path: Path) -> list[Any]:
    """Return the parts of a mesh file that anybody may have written, as trimesh gives them.

    Raises:
        MeshError: it cannot be read, is or expands to more than `LARGEST_MESH`, has no vertices, or coordinates that
            are not finite.
    """
    import trimesh  # takes 0.3 s

    if path.stat().st_size > LARGEST_MESH:
        raise MeshError(f'a mesh of at most {LARGEST_MESH} bytes', f'{path.stat().st_size}')
    _check_archive(path)
    try:
        scene = trimesh.load_scene(path, process=False)  # which would leave out what is not finite
        vertices: dict[str, Any] = {name: getattr(own, 'vertices', ()) for name, own in scene.geometry.items()}
        sizes = {name: len(own) for name, own in vertices.items()}
        if any(len(own) and not math.isfinite(abs(own).max()) for own in vertices.values()):
            raise MeshError('finite coordinates', 'a vertex with others')
        count = sum(sizes.get(str(scene.graph[node][1]), 0) for node in scene.graph.nodes_geometry)
        parts = list(scene.dump()) if 0 < count <= MOST_VERTICES else []
    except MeshError:
        raise
    except (Exception, RecursionError) as error:  # whatever a reader stumbles over
        found = ' '.join(f'{type(error).__name__}: {error}'.split())[:200]
        raise MeshError('a mesh that can be read', found) from None
    if not parts:
        raise MeshError(f'1 to {MOST_VERTICES} vertices', f'{count}')
    for part in parts:
        if isinstance(part, trimesh.Trimesh):
            part.process()
    return parts


def _check_archive(path: Path) -> None:
    """Raise MeshError where an archive expands to too much; its list holds for its reader."""
    suffix = path.suffix.lower()
    if suffix not in ARCHIVES:
        return
    import zipfile

    if suffix not in PACKED:
        raise MeshError(f'a mesh that is unpacked, or one of {", ".join(PACKED)}', suffix)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise MeshError('an archive that can be read', ' '.join(str(error).split())) from None
    expanded = sum(entry.file_size for entry in entries)
    if expanded > LARGEST_MESH:
        raise MeshError(f'an archive that expands to at most {LARGEST_MESH} bytes', f'{expanded}')
    inner = [entry.filename for entry in entries if entry.filename.lower().endswith(ARCHIVES)]
    if inner:
        raise MeshError('an archive without archives in it', ascii(inner[0])[:100])
