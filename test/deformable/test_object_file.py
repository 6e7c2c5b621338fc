"""The YAML of a deformable object: files of the package, meshes of files, and every mistake by line and key."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.common.share import find_resource
from dyn_nodes.model import MachineError
from dyn_nodes.model.schema import keys_of
from dyn_nodes.teams.deformable.grasps import on_a_line
from dyn_nodes.teams.deformable.material import Material
from dyn_nodes.teams.deformable.mesh import Mesh, box_mesh
from dyn_nodes.teams.deformable.mesh_file import MeshFileError, _right_handed, body_fault, read_mesh
from dyn_nodes.teams.deformable.object_file import load_object
from dyn_nodes.teams.deformable.object_keys import ObjectEntries

TEXT = """name: plank
box:
  size: [0.6, 0.2, 0.1]
  divisions: [6, 2, 1]
material:
  young_modulus: 1.0e5
  poisson_ratio: 0.3
  density: 100.0
grasps:
  left: {position: [-0.3, 0.0, 0.0], size: [0.0, 0.2, 0.1]}
  right: {position: [0.3, -0.1, 0.0], size: [0.0, 0.0, 0.1]}
  top: {position: [0.3, 0.1, 0.05]}
"""
DOCUMENT = Path(__file__).resolve().parents[2] / 'docs' / 'reference' / 'teams.md'


def written(tmp_path, *changes):
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / 'plank.yaml'
    path.write_text(text)
    return path


def faults(path) -> list[str]:
    with pytest.raises(MachineError) as caught:
        load_object(path)
    return str(caught.value).replace(f'{path}:', '').splitlines()


def test_a_file_gives_body_grasps_and_reduced_body(tmp_path):
    plank = load_object(written(tmp_path))
    assert (plank.name, plank.model, plank.mesh.kind) == ('plank', 'finite_elements', 'brick')
    assert plank.body.total_mass == pytest.approx(1.2)
    assert [grasp.name for grasp in plank.grasps] == ['left', 'right', 'top']
    assert plank.positions == pytest.approx(np.array([(-0.3, 0, 0), (0.3, -0.1, 0), (0.3, 0.1, 0.05)]))
    assert plank.reduced.mass.shape == (9, 9)
    assert plank.lattice.rods.tolist() == [[0, 1], [0, 2], [1, 2]]


@pytest.mark.parametrize('name', ['bar', 'plate'])
def test_objects_of_the_package_are_those_of_the_source(name):
    result = load_object(find_resource(f'config/objects/{name}.yaml'))
    assert result.name == name
    assert result.body.total_mass == pytest.approx({'bar': 1.2, 'plate': 2.4}[name])
    if name == 'bar':
        assert result.lattice.stiffness == pytest.approx([1e4 / 3.0])
        assert result.lattice.damping == pytest.approx([20.0 / 3.0])


TWICE = '  top: {position: [0.3, 0.1, 0.05]}\n  other: {position: [0.3, 0.1, 0.05]}\n'
LINE = '9: grasps: expected three or more grasps that are not on a line, about which the body turns freely '
MISTAKES = [
    (
        'poisson_ratio: 0.3',
        'poisson_ratio: 0.5',
        '7: material.poisson_ratio: expected a number above -1 and below 0.5',
    ),
    (
        '[0.3, -0.1, 0.0]',
        '[0.5, -0.1, 0.0]',
        '11: grasps.right.position: expected a point in the body (-0.3 to 0.3, -0.1 to 0.1, -0.05 to 0.05 m), '
        'found [0.5, -0.1, 0.0], outside',
    ),
    (
        '[0.3, 0.1, 0.05]',
        '[0.25, 0.1, 0.05]',
        '12: grasps.top: expected a patch with a node of the mesh, found none; the nearest is at',
    ),
    (
        '  top: {position: [0.3, 0.1, 0.05]}\n',
        '',
        LINE + '(model: rods takes two), found 2 (left, right)',
    ),
    ('[0.3, 0.1, 0.05]', '[0.0, -0.05, 0.0], size: [0.0, 0.1, 0.1]', LINE),
    (
        'divisions: [6, 2, 1]',
        'divisions: [6, 2, 0]',
        '4: box.divisions: expected three whole numbers of at least 1, found [6.0, 2.0, 0.0]',
    ),
    ('divisions: [6, 2, 1]', 'divisions: [6, 2.5, 1]', '4: box.divisions: expected three whole numbers'),
    (
        'divisions: [6, 2, 1]',
        'divisions: [600, 200, 100]',
        '4: box.divisions: expected at most 500000 nodes, found 12200901',
    ),
    ('size: [0.6, 0.2, 0.1]\n', 'size: [0.6, 0.2, 0.0]\n', '3: box.size: expected three lengths > 0 m'),
    ('density: 100.0', 'density: -1', '8: material.density: expected a number > 0 kg/m3, found -1'),
    (
        'density: 100.0',
        'densty: 100.0',
        "8: material.densty: expected a key of this mapping, found 'densty' (did you mean 'density'?)",
    ),
    ('name: plank', 'vibrations: 2.5', '1: vibrations: expected a whole number up to the 42 nodes, found 2.5'),
    ('name: plank', 'mesh: {file: a.msh}', '1: document: expected either box or mesh, found box and mesh'),
    ('name: plank', 'model: beam', "1: model: expected one of finite_elements, rods, found 'beam'"),
]


def test_a_grasp_that_another_one_moves_already_is_named(tmp_path):
    position = '[0.3, 0.1, 0.05]'
    doubled = faults(written(tmp_path, (f'  top: {{position: {position}}}\n', TWICE)))
    assert doubled == [
        '13: grasps.other: expected a grasp that moves independently of the others, found the nodes of top'
    ]
    front = '  front: {position: [0.3, 0.0, 0.0], size: [0.0, 0.2, 0.1]}\n'
    halves = ''.join(
        f'  part_{k}: {{position: [0.3, {y}, 0.0], size: [0.0, 0.0, 0.1]}}\n' for k, y in enumerate((0.0, 0.1))
    )
    both = written(tmp_path, ('  top: {position: [0.3, 0.1, 0.05]}\n', front + halves))
    assert faults(both) == [
        '14: grasps.part_1: expected a grasp that moves independently of the others, found the nodes of front'
    ]


@pytest.mark.parametrize(('old', 'new', 'expected'), MISTAKES)
def test_a_mistake_is_named_by_line_and_key(tmp_path, old, new, expected):
    assert any(line.startswith(expected) for line in faults(written(tmp_path, (old, new)))), expected


def test_rods_take_two_grasps_and_not_one(tmp_path):
    two = ('  top: {position: [0.3, 0.1, 0.05]}\n', '')
    result = load_object(written(tmp_path, ('name: plank', 'model: rods'), two))
    assert result.lattice.rods.tolist() == [[0, 1]]
    one = written(
        tmp_path,
        ('name: plank', 'model: rods'),
        two,
        ('  right: {position: [0.3, -0.1, 0.0], size: [0.0, 0.0, 0.1]}\n', ''),
    )
    assert faults(one) == ['9: grasps: expected two or more grasps, between which there is a rod, found 1 (left)']


def test_the_page_names_every_key():
    text = DOCUMENT.read_text(encoding='utf-8')

    def names(keys):
        for key in keys:
            yield key.name
            yield from names(key.table)

    missing = [name for name in names(keys_of(ObjectEntries)) if f'`{name}`' not in text]
    assert missing == []


# --- meshes of files ------------------------------------------------------------------------------------------------


def of_file(tmp_path, mesh: Mesh, cells=None, name='body.vtk'):
    meshio = pytest.importorskip('meshio')
    blocks = [('tetra' if mesh.kind == 'tetrahedron' else 'hexahedron', mesh.elements)] if cells is None else cells
    meshio.write_points_cells(tmp_path / name, mesh.nodes, blocks)
    return tmp_path / name


@pytest.mark.parametrize('kind', ['brick', 'tetrahedron'])
@pytest.mark.parametrize('name', ['body.vtk', 'body.msh', 'body.inp'])
def test_a_mesh_of_a_file_is_the_one_written(tmp_path, kind, name):
    mesh = box_mesh((60.0, 20.0, 10.0), (3, 2, 1), kind)
    result = read_mesh(of_file(tmp_path, mesh, name=name), scale=0.01)
    assert result.nodes == pytest.approx(mesh.nodes * 0.01)
    assert result.elements.tolist() == mesh.elements.tolist()


def test_coordinates_that_are_nearly_zero_give_no_warning_of_numpy():
    mesh = box_mesh((1.0, 0.2, 0.2), (4, 1, 1), 'tetrahedron')
    mesh.nodes[15, 0] = -1e-308  # next to the corners of two elements at 0
    with np.errstate(all='raise', under='ignore'):
        ordered = _right_handed(mesh).elements
    assert np.sort(ordered, axis=1).tolist() == np.sort(mesh.elements, axis=1).tolist()


def test_mirrored_elements_are_put_in_order_and_faces_are_left_out(tmp_path):
    for kind in ('brick', 'tetrahedron'):
        mesh = box_mesh((0.6, 0.2, 0.1), (2, 1, 1), kind)
        mirrored = Mesh(mesh.nodes * (1.0, -1.0, 1.0), mesh.elements)
        path = of_file(tmp_path, mirrored, name='mirrored.vtk')
        shape = ('  size: [0.6, 0.2, 0.1]\n  divisions: [6, 2, 1]\n', '  file: mirrored.vtk\n  refine: 1\n')
        plank = written(tmp_path, shape, ('box:', 'mesh:'))
        assert load_object(plank).body.volume == pytest.approx(0.012)
        faces = [('triangle', mesh.surface), ('tetra', mesh.elements)] if kind == 'tetrahedron' else None
        if faces:
            assert len(read_mesh(of_file(tmp_path, mesh, faces)).elements) == len(mesh.elements)
        path.unlink()


def test_what_makes_a_mesh_no_closed_body_is_named(tmp_path):
    mesh = box_mesh((0.6, 0.2, 0.1), (2, 1, 1), 'tetrahedron')
    closed = [('triangle', mesh.surface)]
    opened = [('triangle', mesh.surface[:-1])]
    cases = [
        (opened, 'a surface of 19 faces that is not closed, with 3 open edges'),
        (closed, 'a closed surface of 20 faces'),
    ]
    for cells, expected in cases:
        with pytest.raises(MeshFileError, match=re.escape(expected)):
            read_mesh(of_file(tmp_path, mesh, cells))
    half = len(mesh.elements) // 2
    bricks = box_mesh((0.6, 0.2, 0.1), (2, 1, 1))
    apart = Mesh(np.concatenate([bricks.nodes, bricks.nodes]), bricks.elements + np.array([[0], [len(bricks.nodes)]]))
    unused = np.unique(apart.elements, return_inverse=True)
    gap = Mesh(apart.nodes[unused[0]], unused[1].reshape(2, 8))
    assert body_fault(gap) == ('a closed mesh, without gaps between elements', '4 nodes that coincide with another one')
    moved = Mesh(gap.nodes + 0.2 * (np.arange(16) >= 8)[:, None], gap.elements)
    assert body_fault(moved) == ('one body', '2 separate bodies')
    doubled = Mesh(mesh.nodes, np.concatenate([mesh.elements, mesh.elements[:half], mesh.elements[:half]]))
    assert body_fault(doubled)[0] == 'faces of at most two elements'
    assert body_fault(mesh) is None


def test_files_that_have_no_mesh_are_named(tmp_path):
    pytest.importorskip('meshio')
    plank = written(
        tmp_path, ('  size: [0.6, 0.2, 0.1]\n  divisions: [6, 2, 1]\n', '  file: body.vtk\n'), ('box:', 'mesh:')
    )
    assert faults(plank) == [f'3: mesh.file: expected a file, found none at {tmp_path / "body.vtk"}']
    (tmp_path / 'body.vtk').write_text('no mesh at all\n')
    assert faults(plank)[0].startswith('3: mesh.file: expected a mesh in a format that meshio reads')
    (tmp_path / 'body.vtk').unlink()
    mesh = box_mesh((0.6, 0.2, 0.1), (2, 1, 1), 'tetrahedron')
    of_file(tmp_path, mesh, [('triangle', mesh.surface[:-1])])
    assert faults(plank) == [
        '3: mesh.file: expected a closed body of tetrahedra or hexahedra, found a surface of 19 faces that is not '
        'closed, with 3 open edges'
    ]
    mesh = box_mesh((0.6, 0.2, 0.1), (1, 1, 1), 'tetrahedron')
    of_file(tmp_path, Mesh(mesh.nodes * (1.0, 1.0, 0.0), mesh.elements))
    assert faults(plank)[0].startswith('3: mesh.file: expected')


@pytest.mark.parametrize('size', [1e-3, 1.0, 1e3])
def test_a_line_of_grasps_is_one_in_a_body_of_any_size(size):
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.3, 0.4, 0.0]])
    assert not on_a_line(size * corners)
    assert on_a_line(size * corners * [1.0, 1e-7, 1.0])
    assert on_a_line(size * corners[:2])


@pytest.mark.parametrize('value', [float('nan'), float('inf'), 1e200])
def test_a_node_that_is_nowhere_is_named(tmp_path, value):
    pytest.importorskip('meshio')
    mesh = box_mesh((0.6, 0.2, 0.1), (1, 1, 1), 'tetrahedron')
    nodes = mesh.nodes.copy()
    nodes[3, 1] = value
    plank = written(
        tmp_path, ('  size: [0.6, 0.2, 0.1]\n  divisions: [6, 2, 1]\n', '  file: body.vtk\n'), ('box:', 'mesh:')
    )
    of_file(tmp_path, Mesh(nodes, mesh.elements))
    (fault,) = faults(plank)
    assert fault.startswith('3: mesh.file: expected coordinates up to 10000, found a node at ')
    assert f'{value:g}' in fault


def test_poisson_s_ratio_near_one_half_is_a_material():
    stiff = Material(young_modulus=1.0, poisson_ratio=0.499, density=1.0)
    assert np.linalg.eigvalsh(stiff.elasticity)[-1] == pytest.approx(
        3.0 * stiff.lame_modulus + 2.0 * stiff.shear_modulus
    )
