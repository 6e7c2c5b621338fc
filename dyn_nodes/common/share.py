"""Location of the package's data files: its share with `launch/`, `urdf/` and `config/`.

Three ways of installing use three locations: colcon registers the share in an ament index, pip copies it below the
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
    """Return the prefix of an ament package, from the indices of `AMENT_PREFIX_PATH`; None if it is unknown."""
    for entry in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        if entry and (Path(entry) / 'share' / 'ament_index' / 'resource_index' / 'packages' / package).is_file():
            return Path(entry)
    return None


def _is_source_tree(folder: Path) -> bool:
    return (
        (folder / 'package.xml').is_file() or (folder / 'setup.py').is_file() or (folder / 'pyproject.toml').is_file()
    )


def share_candidates() -> list[Path]:
    """Return the directories that may be the share, in the order of precedence."""
    candidates = []
    prefix = ament_prefix(PACKAGE)
    if prefix is not None:
        candidates.append(prefix / 'share' / PACKAGE)
    if _is_source_tree(SOURCE_TREE):
        # the code runs from a source tree: use its files instead of the files of an earlier `pip install`
        candidates.append(SOURCE_TREE)
    candidates.append(Path(sys.prefix) / 'share' / PACKAGE)
    return candidates


def share_directory() -> Path:
    """Return the directory with this package's `launch/`, `urdf/` and `config/`.

    It is the first of: the ament index's `share/dyn_nodes`, the source tree if the code runs from it,
    `<sys.prefix>/share/dyn_nodes`.

    Raises:
        FileNotFoundError: None of them exists; the message lists the candidates.
    """
    candidates = share_candidates()
    for folder in candidates:
        if any((folder / name).is_dir() for name in FOLDERS):
            return folder
    tried = ', '.join(str(folder) for folder in candidates)
    raise FileNotFoundError(f'the share of {PACKAGE} was not found: expected {", ".join(FOLDERS)} in one of {tried}')


def find_resource(name: str | Path) -> Path:
    """Return a file of the share by its relative name, such as `config/log_loader.yaml`.

    Raises:
        FileNotFoundError: No such file; the message lists the folder's files.
    """
    share = share_directory()
    path = share / name
    if path.is_file():
        return path
    siblings = sorted(entry.name for entry in path.parent.iterdir()) if path.parent.is_dir() else []
    listing = ', '.join(siblings) or 'nothing'
    shown, folder = printable(str(name)), printable(path.parent.name)
    hint = near(path.name, siblings)
    raise FileNotFoundError(f'{shown} was not found in {share}{hint}; {folder}/ contains {listing}')


def named_file(name: str | Path, folder: str) -> Path:
    """Return a YAML file by its path, or by its name in a folder of the share.

        named_file('log_loader', 'config/can')

    Raises:
        FileNotFoundError: A name without a file; the message lists the folder's files.
    """
    path = Path(name)
    is_path = bool(path.suffix) or len(path.parts) > 1 or path.is_file()
    return path if is_path else find_resource(f'{folder}/{name}.yaml')


def find_mesh(reference: str, directories: Sequence[str | Path] = ()) -> Path | None:
    """Return the file of a mesh in a URDF, or None.

    Args:
        reference: `package://<package>/...`, `file://...`, or a path.
        directories: Further directories to search for packages and relative paths, besides the entries of
            `AMENT_PREFIX_PATH` and `ROS_PACKAGE_PATH`: a folder that contains the package, or the package itself.
    """
    folders = [Path(entry) for entry in directories]
    if reference.startswith('package://'):
        relative = reference.removeprefix('package://').lstrip('/')
        package, _, rest = relative.partition('/')
        prefixes = [Path(entry) for entry in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if entry]
        sources = [Path(entry) for entry in os.environ.get('ROS_PACKAGE_PATH', '').split(os.pathsep) if entry]
        candidates = [prefix / 'share' / relative for prefix in prefixes]
        for folder in (*folders, *sources):
            candidates += [folder / relative, *([folder / rest] if folder.name == package else [])]
    else:
        name = reference.removeprefix('file://')
        candidates = [Path(name), *(folder / name for folder in folders)]
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def folders_above(file: str | Path) -> list[Path]:
    """Return the parent folders of a file, the nearest first: the package of a URDF's meshes is most likely there."""
    return list(Path(file).resolve().parents)


LARGEST_MESH = 500_000_000
"""Greatest size of a mesh file, and of its unpacked content, bytes."""
MOST_VERTICES = 20_000_000
"""Greatest number of vertices of all parts of a mesh."""
PACKED = ('.zip', '.zae', '.3mf', '.3dxml')
ARCHIVES = (*PACKED, '.gz', '.tgz', '.bz2', '.tbz2', '.xz', '.tar', '.7z', '.zst', '.rar', '.usdz')


class MeshError(UserError, ValueError):
    """A mesh file that cannot be used; `expected` and `found` give the reason."""

    def __init__(self, expected: str, found: str) -> None:
        super().__init__(f'expected {expected}, found {found}')
        self.expected, self.found = expected, found


def mesh_parts(path: Path) -> list[Any]:
    """Return the parts of an untrusted mesh file, as trimesh gives them.

    Raises:
        MeshError: it cannot be read, is or expands to more than `LARGEST_MESH`, has no vertices, or coordinates that
            are not finite.
    """
    import trimesh  # takes 0.3 s

    if path.stat().st_size > LARGEST_MESH:
        raise MeshError(f'a mesh of at most {LARGEST_MESH} bytes', f'{path.stat().st_size}')
    _check_archive(path)
    try:
        scene = trimesh.load_scene(path, process=False)  # processing would drop vertices that are not finite
        vertices: dict[str, Any] = {name: getattr(mesh, 'vertices', ()) for name, mesh in scene.geometry.items()}
        sizes = {name: len(points) for name, points in vertices.items()}
        if any(len(points) and not math.isfinite(abs(points).max()) for points in vertices.values()):
            raise MeshError('finite coordinates', 'a vertex with others')
        count = sum(sizes.get(str(scene.graph[node][1]), 0) for node in scene.graph.nodes_geometry)
        parts = list(scene.dump()) if 0 < count <= MOST_VERTICES else []
    except MeshError:
        raise
    except (Exception, RecursionError) as error:  # any failure of a reader
        fault = ' '.join(f'{type(error).__name__}: {error}'.split())[:200]
        raise MeshError('a mesh that can be read', fault) from None
    if not parts:
        raise MeshError(f'1 to {MOST_VERTICES} vertices', f'{count}')
    for part in parts:
        if isinstance(part, trimesh.Trimesh):
            part.process()
    return parts


def _check_archive(path: Path) -> None:
    """Raise MeshError if an archive expands to too much; the reader relies on the same directory of entries."""
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
