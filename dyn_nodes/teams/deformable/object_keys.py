"""Keys of the YAML of a deformable object, declared as fields of records. Data only."""

from dataclasses import dataclass
from typing import Annotated

from dyn_nodes.model.schema import choice, named, number, table, text, vector
from dyn_nodes.teams.deformable.material import Material
from dyn_nodes.teams.deformable.mesh import ELEMENT_KINDS

Vector = tuple[float, float, float]
MODELS = ('finite_elements', 'rods')


@dataclass(frozen=True, kw_only=True)
class BoxShape:
    """A box about the origin."""

    size: Annotated[Vector, vector('lengths along x, y and z', 'm')]
    divisions: Annotated[Vector, vector('elements along x, y and z')]
    elements: Annotated[str, choice('six tetrahedra take the place of a brick', ELEMENT_KINDS)] = 'brick'


@dataclass(frozen=True, kw_only=True)
class MeshShape:
    """Tetrahedra or hexahedra of a file."""

    file: Annotated[str, text('path from this file: Gmsh, VTK, Abaqus and other formats of meshio')]
    scale: Annotated[float, number('metres in a unit of the file', '', 'positive')] = 1.0
    refine: Annotated[float, number('times that every element is cut into eight', '', 'non-negative')] = 0.0


@dataclass(frozen=True, kw_only=True)
class GraspEntry:
    """A patch in a box along the axes; its mean displacement follows a hand."""

    position: Annotated[Vector, vector('centre of the box', 'm')]
    size: Annotated[Vector, vector('lengths of the box; zero: a plane, a line or a node', 'm')] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class ObjectEntries:
    """The file."""

    name: Annotated[str | None, text('of the object; absent: name of the file')] = None
    box: Annotated[BoxShape | None, table('shape of a box', BoxShape)] = None
    mesh: Annotated[MeshShape | None, table('shape of a file; either this or `box`', MeshShape)] = None
    material: Annotated[Material, table('elastic and viscous, the same everywhere', Material)]
    model: Annotated[str, choice('finite elements, or rods between the grasps', MODELS)] = 'finite_elements'
    vibrations: Annotated[float, number('with the grasps at rest, that finite elements keep', '', 'non-negative')] = 0.0
    grasps: Annotated[tuple[GraspEntry, ...], named('three or more, or two with rods, by name', GraspEntry)]
