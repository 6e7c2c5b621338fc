"""Reader of the YAML of a deformable object: shape, material, grasps.

    box: {size: [0.6, 0.2, 0.1], divisions: [12, 4, 2]}
    material: {young_modulus: 1.0e5, poisson_ratio: 0.3, density: 100.0, damping: 200.0}
    grasps:
      left: {position: [-0.3, 0.0, 0.0], size: [0.0, 0.2, 0.1]}

Positions are in axes of the mesh; the origin of a box is its centre.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dyn_nodes.model.named_file import load_file
from dyn_nodes.model.problems import Report
from dyn_nodes.model.schema import build, keys_of
from dyn_nodes.model.schema_reader import SchemaReader, Values
from dyn_nodes.model.yaml_source import Entry
from dyn_nodes.teams.deformable.deformable_object import DeformableObject
from dyn_nodes.teams.deformable.elements import InvertedElementError, element_matrices
from dyn_nodes.teams.deformable.grasps import Grasp, dependent, on_a_line, patch
from dyn_nodes.teams.deformable.material import Material
from dyn_nodes.teams.deformable.mesh import Mesh, box_mesh, refined
from dyn_nodes.teams.deformable.mesh_file import MeshFileError, read_mesh
from dyn_nodes.teams.deformable.object_keys import BoxShape, GraspEntry, MeshShape, ObjectEntries

LARGEST = 500_000
"""Greatest number of nodes of a mesh."""
LARGEST_POISSON = 0.5


def load_object(path: str | Path) -> DeformableObject:
    """Read an object.

    Raises:
        MachineError: with file, line, key, expected and found values of every fault.
    """
    return load_file(path, lambda root, report: _Reader(report, Path(path)).read(root))


class _Reader:
    """Reads one file."""

    def __init__(self, report: Report, path: Path) -> None:
        self.report, self.path = report, path
        self.reader = SchemaReader(report)

    def read(self, root: Entry) -> DeformableObject | None:
        values = self.reader.table(root, keys_of(ObjectEntries))
        listed = values.get('grasps')
        entries = self.reader.named(listed if isinstance(listed, Entry) else None)
        values_of = {name: self.reader.table(entry, keys_of(GraspEntry)) for name, entry in entries.items()}
        material = self._material(values, root)
        if self.report.failed or material is None:
            return None
        mesh = self._mesh(values, root)
        if mesh is None:
            return None
        grasps = [self._grasp(mesh, name, entries[name], table) for name, table in values_of.items()]
        held = tuple(grasp for grasp in grasps if grasp is not None)
        vibrations = self._vibrations(values, root, len(mesh.nodes))
        self._enough(held, values, root)
        self._independent(held, mesh, entries)
        if self.report.failed or vibrations is None:
            return None
        name = str(values['name'] or self.path.stem)
        return DeformableObject(name, material, mesh, held, str(values['model']), vibrations)

    def _material(self, values: Values, root: Entry) -> Material | None:
        table = values.get('material')
        made: Material | None = build(Material, table) if isinstance(table, dict) else None
        if made is not None and not -1.0 < made.poisson_ratio < LARGEST_POISSON:
            entry = root.mapping['material'].mapping['poisson_ratio']
            expected = 'a number above -1 and below 0.5, at which a body is incompressible and its stiffness infinite'
            self.report.add(entry.line, entry.path, expected, f'{made.poisson_ratio:.6g}')
            return None
        return made

    def _mesh(self, values: Values, root: Entry) -> Mesh | None:
        shapes = [name for name in ('box', 'mesh') if values.get(name) is not None]
        if len(shapes) != 1:
            self.report.add(root.line, 'document', 'either box or mesh', ' and '.join(shapes) or 'nothing')
            return None
        entry = root.mapping[shapes[0]]
        if shapes == ['box']:
            return self._box(build(BoxShape, values['box']), entry)
        shape: MeshShape = build(MeshShape, values['mesh'])
        return self._mesh_of_file(shape, entry)

    def _box(self, box: BoxShape, entry: Entry) -> Mesh | None:
        if min(box.size) <= 0.0:
            key_entry = entry.mapping['size']
            self.report.add(key_entry.line, key_entry.path, 'three lengths > 0 m', f'{list(box.size)}')
            return None
        counts = tuple(int(number) for number in box.divisions)
        key_entry = entry.mapping['divisions']
        if counts != box.divisions or min(counts) < 1:
            self.report.add(
                key_entry.line, key_entry.path, 'three whole numbers of at least 1', f'{list(box.divisions)}'
            )
            return None
        nodes = (counts[0] + 1) * (counts[1] + 1) * (counts[2] + 1)
        if nodes > LARGEST:
            self.report.add(key_entry.line, key_entry.path, f'at most {LARGEST} nodes', nodes)
            return None
        return box_mesh(
            box.size, (counts[0], counts[1], counts[2]), 'brick' if box.elements == 'brick' else 'tetrahedron'
        )

    def _mesh_of_file(self, shape: MeshShape, entry: Entry) -> Mesh | None:
        key_entry = entry.mapping['file']
        try:
            mesh = read_mesh(self.path.parent / shape.file, shape.scale)
            for _ in range(int(shape.refine)):
                if 8 * len(mesh.nodes) > LARGEST:
                    raise MeshFileError(f'at most {LARGEST} nodes', f'more after {int(shape.refine)} refinements')
                mesh = refined(mesh)
            element_matrices(mesh, Material(young_modulus=1.0, poisson_ratio=0.0, density=1.0), incompatible=False)
        except MeshFileError as error:
            self.report.add(key_entry.line, key_entry.path, error.expected, error.found)
            return None
        except InvertedElementError as error:
            actual = f'element {error.element} of {shape.file} without one'
            self.report.add(key_entry.line, key_entry.path, 'elements with a positive volume', actual)
            return None
        return mesh

    def _grasp(self, mesh: Mesh, name: str, entry: Entry, values: Values) -> Grasp | None:
        keys: GraspEntry | None = build(GraspEntry, values)
        if keys is None:
            return None
        low, high = mesh.nodes.min(axis=0), mesh.nodes.max(axis=0)
        try:
            return patch(mesh, keys.position, keys.size, name)
        except ValueError as error:
            if all(low <= keys.position) and all(keys.position <= high):
                actual = str(error).partition('found ')[2]
                self.report.add(entry.line, entry.path, 'a patch with a node of the mesh', actual)
                return None
            spans = ', '.join(f'{a:.4g} to {b:.4g}' for a, b in zip(low, high))
            key_entry = entry.mapping.get('position', entry)
            self.report.add(
                key_entry.line, key_entry.path, f'a point in the body ({spans} m)', f'{list(keys.position)}, outside'
            )
            return None

    def _independent(self, grasps: tuple[Grasp, ...], mesh: Mesh, entries: Mapping[str, Entry]) -> None:
        """Check that no grasp depends on the others."""
        fault = None if self.report.failed else dependent(grasps, len(mesh.nodes))
        if fault is not None:
            grasp, others = grasps[fault[0]], ', '.join(grasps[k].name for k in fault[1])
            key_entry = entries[grasp.name]
            expected = 'a grasp that moves independently of the others'
            self.report.add(key_entry.line, key_entry.path, expected, f'the nodes of {others}')

    def _vibrations(self, values: Values, root: Entry, nodes: int) -> int | None:
        wanted = values['vibrations']
        if wanted == int(wanted) and wanted <= nodes:
            return int(wanted)
        entry = root.mapping['vibrations']
        self.report.add(entry.line, entry.path, f'a whole number up to the {nodes} nodes', f'{wanted:.6g}')
        return None

    def _enough(self, grasps: tuple[Grasp, ...], values: Values, root: Entry) -> None:
        """Check that the grasps determine the rigid motions of the body."""
        if self.report.failed:
            return
        entry = root.mapping['grasps']
        actual = f'{len(grasps)} ({", ".join(grasp.name for grasp in grasps) or "none"})'
        if values['model'] == 'rods':
            if len(grasps) < 2:
                self.report.add(entry.line, entry.path, 'two or more grasps, between which there is a rod', actual)
        elif on_a_line([grasp.position for grasp in grasps]):
            expected = (
                'three or more grasps that are not on a line, about which the body turns freely (model: rods takes two)'
            )
            on_line = ', on a line' if len(grasps) > 2 else ''
            self.report.add(entry.line, entry.path, expected, actual + on_line)
