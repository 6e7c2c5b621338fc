"""Meshes that cannot be used give a warning with their link; archives and logs that expand without end are rejected."""

from __future__ import annotations

import random
import zlib
from pathlib import Path
from types import SimpleNamespace as Simple

import pytest

from dyn_nodes.can.log_file import LARGEST_CONTAINER, LogError, _frames, _screen_blf, read_log
from dyn_nodes.cli import main
from dyn_nodes.common.share import LARGEST_MESH, MeshError, mesh_parts
from dyn_nodes.teams.deformable.mesh_file import MeshFileError, read_mesh
from faults import containers

URDF = """<robot name="r">
  <link name="base"><inertial><mass value="100"/><inertia ixx="5" iyy="6" izz="7" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="{0}"/></geometry></visual>
    <collision><geometry><box size="1 1 1"/></geometry></collision>
  </link>
</robot>
"""


def warnings_of(directory, name, content, capsys):
    path = directory / 'r.urdf'
    path.write_text(URDF.format(name))
    if content is not None:
        (directory / name).write_bytes(content)
    assert main(['check', str(path)]) == 0
    text = ' '.join(capsys.readouterr().out.split())
    return text.partition('warning:')[2]


@pytest.mark.parametrize(
    ('name', 'content', 'message'),
    [
        ('gone.stl', None, 'expected a file, found none'),
        ('broken.stl', b'solid', 'expected '),
        ('empty.obj', b'', 'expected '),
        ('nan.stl', containers.stl(random.Random(1), float('nan')), 'expected finite coordinates, found a vertex'),
        ('inf.stl', containers.stl(random.Random(1), float('inf')), 'expected finite coordinates, found a vertex'),
        ('a.zip', containers._archive(('b.zip', b'PK', 1)), 'expected an archive without archives in it'),
        ('a.stl.gz', b'\x1f\x8b', 'expected a mesh that is unpacked'),
    ],
)
def test_check_warns_of_an_unusable_mesh(tmp_path, capsys, name, content, message):
    warnings = warnings_of(tmp_path, name, content, capsys)
    assert f'link base, mesh {name}: {message}' in warnings


def test_check_has_no_warning_for_a_valid_mesh(tmp_path, capsys):
    assert 'mesh' not in warnings_of(tmp_path, 'a.stl', containers.stl(random.Random(1)), capsys)


def test_an_archive_that_expands_beyond_the_limit_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr('dyn_nodes.common.share.LARGEST_MESH', 10_000_000)
    for suffix in ('.zip', '.zae', '.3mf', '.3dxml', '.ZIP'):
        path = tmp_path / f'a{suffix}'
        path.write_bytes(containers._archive(('a.stl', bytes(2**20), 20)))
        with pytest.raises(MeshError, match='expands to at most 10000000 bytes, found 20971520'):
            mesh_parts(path)
    assert LARGEST_MESH < 2**30


def test_a_container_of_a_log_that_expands_beyond_the_limit_is_not_unpacked(tmp_path):
    path = Path(tmp_path / 'a.blf')
    path.write_bytes(containers.blf([(containers.zeros(2 * LARGEST_CONTAINER), 100)]))
    with pytest.raises(LogError, match=r'a\.blf: byte 144: expected a container of at most 67108864 bytes, found more'):
        list(_frames(path))
    path.write_bytes(containers.blf([(zlib.compress(bytes(100)), 100)]))
    _screen_blf(path)


@pytest.fixture
def _little_memory(monkeypatch):
    monkeypatch.setattr('dyn_nodes.common.readers.MOST_MEMORY', 2**29)


@pytest.mark.usefixtures('_little_memory')
def test_a_log_whose_data_expand_beyond_the_memory_of_its_reader_is_rejected_in_a_line(tmp_path):
    path = tmp_path / 'a.mf4'
    path.write_bytes(containers._mf4_bomb(containers.mf4(False, 0), Simple(choice=lambda values: values[-1])))
    with pytest.raises(LogError, match=r'a\.mf4: after 0 entries: expected an MF4 log, found .* 0\.5 GiB of memory$'):
        list(read_log(path, containers._mapping()))


@pytest.mark.usefixtures('_little_memory')
def test_a_body_whose_arrays_expand_beyond_the_memory_of_its_reader_is_rejected_in_a_line(tmp_path):
    path = tmp_path / 'body.vtu'
    path.write_bytes(containers._vtu_bomb(random.Random(1)))
    with pytest.raises(MeshFileError, match=r'found a file that takes more than 0\.5 GiB of memory$'):
        read_mesh(path)


@pytest.mark.parametrize(
    'number', [k for k, kind in enumerate(containers.ORDER) if kind not in ('archive', 'blf-bomb')]
)
def test_hostile_containers_are_read_or_rejected(number, tmp_path):
    kind, name, content = containers.make(number, 2)
    (tmp_path / name).write_bytes(content)
    assert set(containers.ORDER) == set(containers.KINDS)
    assert list(containers.examine(kind, tmp_path / name)) == []
