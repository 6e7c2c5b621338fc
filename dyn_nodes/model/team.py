"""Keys of a team YAML, each declared at the field of its record. Data only."""

from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from dyn_nodes.model.schema import choice, collection, named, number, table, text, vector

Vector = tuple[float, float, float]
ObjectModel = Literal['lattice', 'condensed']
GraspKind = Literal['ball', 'fixed']


@dataclass(frozen=True, kw_only=True)
class RobotEntry:
    """A machine of the team. Its name is the namespace of its nodes and the prefix of its frames and signals."""

    machine: Annotated[str, text('name of a machine of this package, or path of a URDF from this file')]
    config: Annotated[
        str, text('name of its machine YAML, or path from this file; absent: as for a node with `machine` alone')
    ] = ''
    pose: Annotated[Vector, vector('x and y, m, and heading, rad, of the frame of its `initial`')] = (
        0.0,
        0.0,
        0.0,
    )
    joint_positions: Annotated[
        dict[str, float], collection('positions', "at the start, over the machine's own", 'rad or m')
    ] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ObjectPose:
    """Initial pose of the axes of the object's mesh."""

    position: Annotated[Vector, vector('of the origin', 'm')]
    orientation: Annotated[Vector, vector('roll, pitch, yaw', 'rad')] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class ObjectEntry:
    """An object held by the robots."""

    object: Annotated[str, text('name of an object of this package, or path of its YAML from this file')]
    pose: Annotated[
        ObjectPose | None, table('at the start; absent: the pose at which the hands hold the patches', ObjectPose)
    ] = None
    model: Annotated[
        ObjectModel, choice('rods between the grasps, or finite elements reduced to them', get_args(ObjectModel))
    ] = 'lattice'


@dataclass(frozen=True, kw_only=True)
class GraspEntry:
    """A hand on a patch."""

    robot: Annotated[str, text('of this team')]
    hand: Annotated[
        str, text("one of the machine's `grasps`; `payload`: position of its payload, which is then omitted")
    ]
    object: Annotated[str, text('of this team')]
    patch: Annotated[str, text("one of the object's `grasps`")]
    kind: Annotated[GraspKind, choice('`ball` transmits a force, `fixed` also a torque', get_args(GraspKind))] = 'ball'
    holding_force: Annotated[
        float | None, number('greatest force before the hand slips off; absent: unlimited', 'N', 'positive')
    ] = None
    holding_torque: Annotated[
        float | None,
        number('greatest torque of a fixed grasp, about the middle of its patch; absent: unlimited', 'N m', 'positive'),
    ] = None


@dataclass(frozen=True, kw_only=True)
class TeamEntries:
    """Keys of the file."""

    name: Annotated[str | None, text('of the team; absent: name of the file')] = None
    robots: Annotated[tuple[RobotEntry, ...], named('machines, by name', RobotEntry)]
    objects: Annotated[tuple[ObjectEntry, ...], named('held objects, by name', ObjectEntry)]
    grasps: Annotated[tuple[GraspEntry, ...], named('hands on patches of objects, by name', GraspEntry)]
