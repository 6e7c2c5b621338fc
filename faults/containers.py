"""Containers and meshes that expand without end, are damaged, or hold no numbers: archives, meshes, logs of a bus.

Each is read by its usual reader: meshes of links, solid bodies of objects, logs. It ends in a result or in the
documented error, within time and memory; an unusable mesh of a link gives a warning.
"""

from __future__ import annotations

import base64
import functools
import io
import random
import re
import resource
import struct
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from dyn_nodes.can.dbc import MOST_SHOWN, read_dbc
from dyn_nodes.can.log_file import LogError, read_log
from dyn_nodes.can.mapping import CanMapping
from dyn_nodes.can.mapping_file import load_mapping
from dyn_nodes.common.readers import MOST_MEMORY as READERS_MEMORY
from dyn_nodes.model.problems import Report
from dyn_nodes.model.shapes import Shapes
from dyn_nodes.teams.deformable.mesh_file import MeshFileError, read_mesh
from faults.bags import NUMBERS, write_number
from faults.files import Journal, _bytes

MOST_MEMORY = 6.0e5
"""Greatest growth of resident memory by a case, KiB."""
MOST_OF_READER = 1.2 * READERS_MEMORY / 1024
"""Resident memory of a reader in a separate process, KiB; with its imports."""
HUGE = 2 * 1024**3
URDF = '<robot name="r"><link name="a"><visual><geometry><mesh filename="{}"/></geometry></visual></link></robot>'


def stl(rng: random.Random, special: float | None = None) -> bytes:
    """Return a binary STL of some triangles with an optional special coordinate."""
    triangles = np.array([[rng.uniform(-1.0, 1.0) for _ in range(12)] for _ in range(20)], '<f4')
    if special is not None:
        triangles[rng.randrange(20), rng.randrange(3, 12)] = special
    return bytes(80) + struct.pack('<I', 20) + b''.join(row.tobytes() + b'\0\0' for row in triangles)


@functools.cache
def _archive(*entries: tuple[str, bytes, int]) -> bytes:
    """Return a ZIP of entries: name, content, number of repetitions."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, 'w', zipfile.ZIP_DEFLATED) as archive:
        for name, content, times in entries:
            with archive.open(name, 'w', force_zip64=True) as file:
                for _ in range(times):
                    file.write(content)
    return packed.getvalue()


def _zip_bomb(rng: random.Random) -> tuple[str, bytes]:
    inner = rng.choice(('a.dae', 'a.stl', '3D/3dmodel.model', 'a.zip', 'b.obj'))
    return f'a{rng.choice((".zip", ".zae", ".3mf"))}', _archive((inner, bytes(2**20), rng.choice((600, 1000))))


def _nested(rng: random.Random) -> tuple[str, bytes]:
    content = stl(rng)
    for _ in range(rng.choice((1, 3))):
        content = _archive(('a.zip', content, 1))
    return 'a.zip', content


def _special(rng: random.Random) -> tuple[str, bytes]:
    return 'a.stl', stl(rng, rng.choice((float('nan'), float('inf'), -float('inf'))))


def _damaged(rng: random.Random) -> tuple[str, bytes]:
    suffix = rng.choice(('.stl', '.obj', '.dae', '.ply', '.glb', '.3mf', '.zae', '.off'))
    return f'a{suffix}', _bytes(rng.choice((stl(rng), _archive(('a.stl', stl(rng), 1)), b'', b'solid a')), rng)


def _packed(rng: random.Random) -> tuple[str, bytes]:
    import bz2
    import gzip

    pack = rng.choice((('.gz', gzip.compress), ('.bz2', bz2.compress)))
    return f'a.stl{pack[0]}', pack[1](bytes(2**24))


def _claims(rng: random.Random) -> tuple[str, bytes]:
    """Return a mesh that claims more triangles than it has."""
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


@functools.cache
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


# -- MF4 logs ---


@functools.cache
def mf4(of_bus: bool, compression: int) -> bytes:
    """Return an MF4 log: frames of the bus of a log-loader, or two of its signals."""
    import can
    from asammdf import MDF, Signal

    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / 'a.mf4'
        if of_bus:
            with can.Logger(str(path)) as logger:
                for k in range(200):
                    logger.on_message_received(can.Message(0.01 * k, 0x100 + k % 4, False, data=bytes(8)))
        else:
            times = 0.01 * np.arange(500)
            with MDF() as log:
                log.append([Signal(np.sin(times), times, name=channel) for channel in ('SwingAngle', 'BoomLength')])
                log.save(path, compression=compression)
        return path.read_bytes()


def _blocks(data: bytes, kinds: bytes = b'[A-Z]{2}') -> list[int]:
    return [match.start() for match in re.finditer(b'##' + kinds, data)]


def _mf4(rng: random.Random) -> tuple[str, bytes]:
    """Return a log with damaged bytes, absurd numbers, links in circles, or data that expand."""
    data = mf4(rng.random() < 0.3, rng.choice((0, 1, 2)))
    for _ in range(rng.choice((1, 1, 3))):
        data = rng.choice((_bytes, _mf4_number, _mf4_number, _mf4_link, _mf4_count, _mf4_bomb))(data, rng)
    return 'a.mf4', data


def _mf4_number(data: bytes, rng: random.Random) -> bytes:
    return write_number(data, rng.choice(_blocks(data) or [0]) + 8 * rng.randrange(1, 14), rng.choice(NUMBERS))


def _mf4_link(data: bytes, rng: random.Random) -> bytes:
    """Point a link to any block, also backwards."""
    blocks = _blocks(data) or [0]
    return write_number(data, rng.choice(blocks) + 24 + 8 * rng.randrange(8), rng.choice(blocks))


def _mf4_count(data: bytes, rng: random.Random) -> bytes:
    """Change the claimed number of samples of a group."""
    return write_number(data, rng.choice(_blocks(data, b'CG') or [0]) + 80, rng.choice((10**7, 10**9, 2**40, 2**63)))


def _mf4_bomb(data: bytes, rng: random.Random) -> bytes:
    """Replace the data of all groups by a block that expands to 0.5 or 2 GB."""
    size, offset = rng.choice((HUGE // 4, HUGE)), len(data)
    packed = zeros(size)
    head = struct.pack('<4s4xQQ2sBxIQQ', b'##DZ', 48 + len(packed), 0, b'DT', rng.choice((0, 1)), 16,
                       rng.choice((size, 100, 2**62)), len(packed))  # fmt: skip
    for group in _blocks(data, b'DG'):
        data = write_number(data, group + 40, offset)
    for group in _blocks(data, b'CG'):
        data = write_number(data, group + 80, rng.choice((size // 16, 500)))
    return data + head + packed


# -- bodies ---

FORMATS = {
    'vtu': '.vtu', 'vtk42': '.vtk', 'vtk51': '.vtk', 'gmsh': '.msh', 'gmsh22': '.msh', 'abaqus': '.inp',
    'medit': '.mesh', 'nastran': '.bdf', 'avsucd': '.avs', 'su2': '.su2', 'dolfin-xml': '.xml', 'permas': '.post',
    'tecplot': '.dat', 'flac3d': '.f3grid', 'netgen': '.vol', 'mdpa': '.mdpa', 'ugrid': '.ugrid',
}  # fmt: skip
"""Formats of meshio that need no other package, with their file names."""


@functools.cache
def body(form: str) -> bytes:
    """Return a beam of tetrahedra as a file."""
    import meshio

    from dyn_nodes.teams.deformable.mesh import box_mesh

    beam = box_mesh((1.0, 0.2, 0.2), (8, 2, 2), 'tetrahedron')
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / f'body{FORMATS[form]}'
        meshio.Mesh(beam.nodes, [('tetra', beam.elements)]).write(path, file_format=form)
        return path.read_bytes()


def _body(rng: random.Random) -> tuple[str, bytes]:
    """Return a body with damaged bytes, absurd numbers, binary or as text, or arrays that expand."""
    form = rng.choice(list(FORMATS))
    if rng.random() < 0.1:
        return 'body.vtu', _vtu_bomb(rng)
    data = body(form)
    for _ in range(rng.choice((1, 1, 3))):
        data = rng.choice((_bytes, _count, _count, _binary_number))(data, rng)
    return f'body{FORMATS[form]}', data


def _count(data: bytes, rng: random.Random) -> bytes:
    """Increase a number of the text, mostly in the header."""
    numbers = list(re.finditer(rb'\d+', data[: rng.choice((300, 3000, len(data)))]))
    if not numbers:
        return data
    start, end = rng.choice(numbers).span()
    return data[:start] + str(rng.choice((*NUMBERS, 10**9, -1, 10**30))).encode() + data[end:]


def _binary_number(data: bytes, rng: random.Random) -> bytes:
    return write_number(data, rng.randrange(len(data)), rng.choice(NUMBERS), rng.choice(('<Q', '<I', '>I')))


def _vtu_bomb(rng: random.Random) -> bytes:
    """Return a VTU whose points are arrays of zeros, packed by zlib."""
    size, count = 2**26, rng.choice((10, 50, 200))
    packed = zeros(size)
    head = np.array([count, size, 0, *[len(packed)] * count], '<u4').tobytes()
    text = base64.b64encode(head) + base64.b64encode(packed * count)
    before, mark, after = body('vtu').partition(b'format="binary">')
    return before + mark + text + after[after.index(b'</') :]


# -- descriptions of a bus ---


def _dbc(rng: random.Random) -> tuple[str, bytes]:
    """Return a DBC with too many messages, signals, bits, ranges or comments, or with two of one name."""
    messages, signals = rng.choice(((1, 3000), (1, 500), (40, 40), (400, 40), (3000, 4), (20, 1500)))
    twice, size, width = rng.random() < 0.1, rng.choice((64, 64, 64, 10**9)), rng.choice((1, 1, 1, 65, 10**29))
    lines = ['VERSION ""', 'BU_: A']
    for k in range(messages):
        lines.append(f'BO_ {0 if twice else k} M{k}: {size} A')
        lines += [f' SG_ S{j} : {j % 512}|{width}@1+ (1,0) [0|1] "" A' for j in range(signals)]
    value = rng.choice((*NUMBERS, 'x' * 10**3, '(' * 10**3))
    form = rng.choice(
        ('CM_ BO_ 0 "{}";', 'SG_MUL_VAL_ 0 S0 S1 0-{};', 'VAL_ 0 S0 {} "a" ;', 'BA_DEF_ "{}" INT 0 1;', '')
    )
    return 'a.dbc', '\n'.join(lines + [form.format(value)] * rng.choice((1, 1, 3000))).encode()


KINDS: dict[str, Callable[[random.Random], tuple[str, bytes]]] = {
    'archive': _zip_bomb,
    'nested': _nested,
    'special-mesh': _special,
    'damaged-mesh': _damaged,
    'packed-mesh': _packed,
    'claims': _claims,
    'blf-bomb': _blf_bomb,
    'blf-damaged': _blf_damaged,
    'mf4': _mf4,
    'body': _body,
    'dbc': _dbc,
}
ORDER = (
    'archive', 'special-mesh', 'blf-bomb', 'mf4', 'body', 'dbc', 'nested', 'damaged-mesh', 'blf-damaged', 'mf4', 'body',
    'dbc', 'packed-mesh', 'claims', 'blf-damaged', 'mf4', 'body', 'dbc',
)  # fmt: skip
"""Kinds of successive cases."""
LOGS = ('.blf', '.mf4')
WARNED = ('archive', 'nested', 'special-mesh', 'packed-mesh')
"""Kinds of meshes that no reader may accept without a warning."""


def make(number: int, seed: int) -> tuple[str, str, bytes]:
    """Return kind, name and content of a case; equal numbers give equal cases."""
    rng = random.Random(f'container {seed} {number}')
    kind = ORDER[number % len(ORDER)]
    return kind, *KINDS[kind](rng)


@functools.cache
def _mapping() -> CanMapping:
    return load_mapping('log_loader')[0]


def _rejected(kind: str, path: Path) -> Iterator[str]:
    """Read a log or a body; yield the faults of the raised error."""
    try:
        if path.suffix in LOGS:
            list(read_log(path, _mapping()))
        else:
            read_mesh(path)
    except (LogError, MeshFileError) as error:
        if not str(error).isprintable():
            yield f'an error that is no line: {str(error)!r}'
    else:
        if kind == 'blf-bomb':
            yield 'a bomb is accepted'


def _described(path: Path) -> Iterator[str]:
    """Read a DBC; yield the faults of its reported problems."""
    report = Report(path.name)
    if read_dbc(path, report) is None and not report.failed:
        yield 'a DBC that is neither read nor rejected'
    if len(report.problems) > 2 * MOST_SHOWN or not all(str(problem).isprintable() for problem in report.problems):
        yield f'{len(report.problems)} problems: {str(report.problems[0])!r}'


def examine(kind: str, path: Path) -> Iterator[str]:
    """Read a case; yield the faults."""
    if kind == 'dbc':
        yield from _described(path)
        return
    if path.suffix in LOGS or path.stem == 'body':
        yield from _rejected(kind, path)
        if (most := resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) > MOST_OF_READER:
            yield f'a reader with {most / 1024:.0f} MB'
        return
    shapes = Shapes(URDF.format(path.name), [path.parent])
    shapes.read_meshes()
    points, _ = shapes.points('a')
    if not np.isfinite(points).all() or (not shapes.faults and (kind in WARNED or not len(points))):
        yield 'a mesh that cannot be used is accepted'


def work(seed: int, start: int, end: int, out: IO[str]) -> None:
    """Read the cases from `start` to `end`; print a line at each start and one for each fault."""
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
