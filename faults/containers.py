"""Containers and meshes that expand without end, are damaged, or hold no numbers: archives, meshes, logs of a bus.

Each is read as its users do. It ends in a result or in the documented error, within time and memory; a mesh that
cannot be used gives a warning with its link.
"""

from __future__ import annotations

import io
import random
import struct
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from dyn_nodes.can.log_file import LogError, _frames
from dyn_nodes.model.shapes import Shapes
from faults.files import Journal, _bytes

MOST_MEMORY = 6.0e5
"""By which a case may raise the resident memory, KiB."""
HUGE = 2 * 1024**3
URDF = '<robot name="r"><link name="a"><visual><geometry><mesh filename="{}"/></geometry></visual></link></robot>'


def stl(rng: random.Random, special: float | None = None) -> bytes:
    """Return a binary STL of some triangles, one coordinate of which may be special."""
    triangles = np.array([[rng.uniform(-1.0, 1.0) for _ in range(12)] for _ in range(20)], '<f4')
    if special is not None:
        triangles[rng.randrange(20), rng.randrange(3, 12)] = special
    return bytes(80) + struct.pack('<I', 20) + b''.join(row.tobytes() + b'\0\0' for row in triangles)


def _archive(entries: list[tuple[str, bytes, int]]) -> bytes:
    """Return a ZIP of entries: name, content, how often the content is repeated."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, 'w', zipfile.ZIP_DEFLATED) as archive:
        for name, content, times in entries:
            with archive.open(name, 'w', force_zip64=True) as file:
                for _ in range(times):
                    file.write(content)
    return packed.getvalue()


def _zip_bomb(rng: random.Random) -> tuple[str, bytes]:
    inner = rng.choice(('a.dae', 'a.stl', '3D/3dmodel.model', 'a.zip', 'b.obj'))
    return f'a{rng.choice((".zip", ".zae", ".3mf"))}', _archive([(inner, bytes(2**20), rng.choice((600, 1000)))])


def _nested(rng: random.Random) -> tuple[str, bytes]:
    content = stl(rng)
    for _ in range(rng.choice((1, 3))):
        content = _archive([('a.zip', content, 1)])
    return 'a.zip', content


def _special(rng: random.Random) -> tuple[str, bytes]:
    return 'a.stl', stl(rng, rng.choice((float('nan'), float('inf'), -float('inf'))))


def _damaged(rng: random.Random) -> tuple[str, bytes]:
    suffix = rng.choice(('.stl', '.obj', '.dae', '.ply', '.glb', '.3mf', '.zae', '.off'))
    return f'a{suffix}', _bytes(rng.choice((stl(rng), _archive([('a.stl', stl(rng), 1)]), b'', b'solid a')), rng)


def _packed(rng: random.Random) -> tuple[str, bytes]:
    import bz2
    import gzip

    pack = rng.choice((('.gz', gzip.compress), ('.bz2', bz2.compress)))
    return f'a.stl{pack[0]}', pack[1](bytes(2**24))


def _claims(rng: random.Random) -> tuple[str, bytes]:
    """A mesh that claims more triangles than it has."""
    data = bytearray(stl(rng))
    struct.pack_into('<I', data, 80, rng.choice((2**31, 2**32 - 1, 21, 0)))
    return 'a.stl', bytes(data)


def blf(contents: list[tuple[bytes, int]], claimed: int | None = None) -> bytes:
    """Return a BLF log of containers, zlib streams with the sizes that they claim."""
    objects = b''
    for packed, size in contents:
        body = struct.pack('<H6xL4x', 2, size if claimed is None else claimed) + packed
        length = 16 + len(body)
        objects += struct.pack('<4sHHII', b'LOBJ', 16, 1, length, 10) + body + bytes(length % 4)
    return struct.pack('<4sIBBBBBBBBQQII16x16x', b'LOGG', 144, 5, 0, 0, 0, 2, 6, 8, 1, 144 + len(objects), 0, 0,
                       0).ljust(144, b'\0') + objects  # fmt: skip


def zeros(size: int) -> bytes:
    """Return a zlib stream of zeros."""
    packer = zlib.compressobj(9)
    parts = [packer.compress(bytes(2**24)) for _ in range(size // 2**24)]
    return b''.join([*parts, packer.flush()])


def _blf_bomb(rng: random.Random) -> tuple[str, bytes]:
    size = rng.choice((2**27, 2**29))
    return 'a.blf', blf([(zeros(size), size)], rng.choice((None, 0, 100, 2**32 - 1)))


def _blf_damaged(rng: random.Random) -> tuple[str, bytes]:
    return 'a.blf', _bytes(blf([(zlib.compress(bytes(1000)), 1000)] * 3), rng)


KINDS: dict[str, Callable[[random.Random], tuple[str, bytes]]] = {
    'archive': _zip_bomb,
    'nested': _nested,
    'special-mesh': _special,
    'damaged-mesh': _damaged,
    'packed-mesh': _packed,
    'claims': _claims,
    'blf-bomb': _blf_bomb,
    'blf-damaged': _blf_damaged,
}
WARNED = ('archive', 'nested', 'special-mesh', 'packed-mesh')
"""Kinds of meshes that no reader may accept without a word."""


def make(number: int, seed: int) -> tuple[str, str, bytes]:
    """Return kind, name and content of a case; equal numbers give equal cases."""
    rng = random.Random(f'container {seed} {number}')
    kind = list(KINDS)[number % len(KINDS)]
    return kind, *KINDS[kind](rng)


def examine(kind: str, path: Path) -> Iterator[str]:
    """Read a case; yield what goes wrong."""
    if path.suffix == '.blf':
        try:
            list(_frames(path))
        except LogError as error:
            if not str(error).isprintable():
                yield f'an error that is no line: {str(error)!r}'
        else:
            if kind == 'blf-bomb':
                yield 'a bomb is accepted'
        return
    shapes = Shapes(URDF.format(path.name), [path.parent])
    shapes.read_meshes()
    points, _ = shapes.points('a')
    if not np.isfinite(points).all() or (not shapes.faults and (kind in WARNED or not len(points))):
        yield 'a mesh that cannot be used is accepted'


def work(seed: int, start: int, end: int, out: IO[str]) -> None:
    """Read the cases from `start` to `end`; print a line as each begins, and one where one is faulty."""
    journal = Journal(out, MOST_MEMORY)
    for number in range(start, end):
        kind, name, content = make(number, seed)
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / name
            path.write_bytes(content)
            journal.enter(number, kind, examine(kind, path))
    print('done', file=out, flush=True)


if __name__ == '__main__':
    work(*(int(word) for word in sys.argv[1:4]), sys.stdout)
