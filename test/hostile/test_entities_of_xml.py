"""Readers of XML reject external entities and entity bombs, or leave them unexpanded."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest
from lxml import etree

from dyn_nodes.analysis.urdf_edit import EditError, _elements
from dyn_nodes.commands.init_closures import read_closures
from dyn_nodes.common.share import MeshError, mesh_parts
from dyn_nodes.middleware.launching import LaunchError
from dyn_nodes.model import MachineError, load_machine
from dyn_nodes.model.problems import Report
from dyn_nodes.teams.deformable.mesh_file import MeshFileError, read_mesh
from dyn_nodes.viewer.robot import RobotError, load_robot
from roslite.launching.xmltree import parse_xml

ROOT = Path(__file__).resolve().parents[2]
SECRET = '77.5 '
ROBOT = '<robot name="r"><link name="{0}"/></robot>'
SDF = '<sdf version="1.9"><model name="{0}"/></sdf>'
LAUNCH = '<launch><arg name="a" default="{0}"/></launch>'
VTU = """<VTKFile type="UnstructuredGrid" version="0.1"><UnstructuredGrid><Piece NumberOfPoints="0" NumberOfCells="0">
<Points><DataArray type="Float64" NumberOfComponents="3" format="ascii">{0}</DataArray></Points>
<Cells/></Piece></UnstructuredGrid></VTKFile>"""
COLLADA = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset><title>a</title>
<up_axis>Z_UP</up_axis></asset><library_geometries><geometry id="g"><mesh><source id="p">
<float_array id="a" count="9">{0} 0 0 1 0 0 0 1 0</float_array><technique_common>
<accessor source="#a" count="3" stride="3">
<param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common>
</source><vertices id="v"><input semantic="POSITION" source="#p"/></vertices><triangles count="1">
<input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node id="n"><instance_geometry url="#g"/></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def _with_dtd(body: str, declarations: str, reference: str) -> str:
    root = body[1:].split('>')[0].split()[0]
    return f'<?xml version="1.0"?>\n<!DOCTYPE {root} [{declarations}]>\n{body.format(reference)}'


def _external(body: str, secret: Path) -> str:
    return _with_dtd(body, f'<!ENTITY s SYSTEM "file://{secret}">', '&s;')


def _parameter(body: str, secret: Path) -> str:
    return _with_dtd(body, f'<!ENTITY % p SYSTEM "file://{secret}">%p;', '')


def _bomb(body: str, secret: Path) -> str:
    """Return a document of 1 kB that expands to 20 MB: more than the limit of expat."""
    levels = ''.join(f'<!ENTITY e{k + 1} "{f"&e{k};" * 10}">' for k in range(6))
    return _with_dtd(body, f'<!ENTITY e0 "{"1 " * 10}">{levels}', '&e6;')


def _read_closures(path: Path, text: str) -> str:
    path.write_text(text)
    report = Report(str(path))
    result = read_closures(path, None, report)
    if report.problems:
        raise MachineError(report.problems)
    return str(result)


def _edit(path: Path, text: str) -> str:
    return str(_elements(text.encode(), path.name))


def _read_file(read):
    def read_written(path: Path, text: str) -> str:
        path.write_text(text)
        return str(read(path))

    return read_written


def _read_archive(path: Path, text: str) -> str:
    with zipfile.ZipFile(path, 'w') as archive:
        archive.writestr('robot.dae', text)
    return _read_mesh(path)


def _read_mesh(path: Path) -> str:
    return ' '.join(str(part.vertices.tolist()) for part in mesh_parts(path))


# name of the file, body of the document, function of a path and a text, error, module with the parser
READERS = {
    'machine': ('a.urdf', ROBOT, _read_file(load_machine), MachineError, 'model/xml_source.py'),
    'closures': ('a.sdf', SDF, _read_closures, MachineError, 'model/xml_source.py'),
    'edited URDF': ('a.urdf', ROBOT, _edit, EditError, 'analysis/urdf_edit.py'),
    'launch file': ('a.launch.xml', LAUNCH, _read_file(parse_xml), LaunchError, 'roslite/launching/xmltree.py'),
    'viewer': ('', ROBOT, lambda path, text: str(load_robot(text)), RobotError, 'viewer/robot.py'),
    'mesh': ('a.dae', COLLADA, _read_file(_read_mesh), MeshError, 'common/share.py'),
    'mesh in an archive': ('a.zip', COLLADA, _read_archive, MeshError, 'common/share.py'),
    'mesh in a .zae': ('a.zae', COLLADA, _read_archive, MeshError, 'common/share.py'),
    'deformable mesh': ('a.vtu', VTU, _read_file(read_mesh), MeshFileError, 'teams/deformable/mesh_file.py'),
}  # fmt: skip
ATTACKS = {'external entity': _external, 'external parameter entity': _parameter, 'entity bomb': _bomb}


@pytest.mark.parametrize('attack', ATTACKS)
@pytest.mark.parametrize('reader', READERS)
def test_every_reader_of_xml_rejects_entities(tmp_path, reader, attack):
    name, body, read, error, _ = READERS[reader]
    secret = tmp_path / 'secret'
    secret.write_text(SECRET)
    with pytest.raises(error) as caught:
        read(tmp_path / name, ATTACKS[attack](body, secret))
    assert SECRET not in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize('reader', [name for name in READERS if name.startswith('mesh')])
def test_a_mesh_without_entities_is_read(tmp_path, reader):
    name, body, read, _, _ = READERS[reader]
    assert '[1.0, 0.0, 0.0]' in read(tmp_path / name, body.format('0'))


CHECKED_TEXT = {
    'model/locking.py',
    'model/mimic.py',
    'model/shapes.py',
    'commands/attach.py',
    'analysis/shape_inertia.py',
    'nodes/joint_commands.py',
}
"""Modules that parse the URDF of a loaded machine again: `model/xml_source.py` has rejected entities in it."""
PARSERS = r'expat\.ParserCreate|etree\.(XMLParser|fromstring|parse|iterparse)|URDF\.load|trimesh\.load\w*|meshio\.read'


def test_this_list_has_every_module_that_parses_xml():
    modules = {
        path.relative_to(ROOT).as_posix().removeprefix('dyn_nodes/'): path.read_text()
        for package in ('dyn_nodes', 'roslite')
        for path in (ROOT / package).rglob('*.py')
    }
    parsing = {name for name, text in modules.items() if re.search(rf'\b({PARSERS})\(', text)}
    assert parsing == {module for *_, module in READERS.values()} | CHECKED_TEXT


@pytest.mark.parametrize(
    'read',
    [
        etree.fromstring,
        lambda data: etree.fromstring(data, etree.XMLParser(huge_tree=True)),
        lambda data: etree.fromstring(data, etree.ETCompatXMLParser()),
        lambda data: [root for _, root in etree.iterparse(io.BytesIO(data))][-1],
    ],
    ids=['fromstring', 'huge', 'compatible', 'iterparse'],
)
def test_no_parser_of_the_oldest_lxml_opens_external_entities_by_default(tmp_path, read):
    secret = tmp_path / 'secret'
    secret.write_text(SECRET)
    with pytest.raises(etree.XMLSyntaxError, match="Entity 's' not defined"):
        read(_external(ROBOT.replace('/></robot>', '>&s;</link></robot>'), secret).encode())
