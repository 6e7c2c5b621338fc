"""Keys of the YAML of a team, each declared at the field of its record. Data only."""

from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from dyn_nodes.model.schema import choice, collection, named, number, table, text, vector

Vector = tuple[float, float, float]
ObjectModel = Literal['lattice', 'condensed']
GraspKind = Literal['ball', 'fixed']


@dataclass(frozen=True, kw_only=True)
class RobotEntry:
    """A machine of the team. Its name is the namespace of its nodes, and stands before its frames and its signals."""

    machine: Annotated[str, text('name of a machine of this package, or path of a URDF from this file')]
    config: Annotated[
        str, text('name of its machine YAML, or path from this file; absent: as a node with `machine` alone finds it')
    ] = ''
    pose: Annotated[Vector, vector('x and y, m, and heading, rad, of the frame in which its `initial` stands')] = (
        0.0,
        0.0,
        0.0,
    )
    joint_positions: Annotated[
        dict[str, float], collection('positions', "at the start, over the machine's own", 'rad or m')
    ] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ObjectPose:
    """Where the axes of the object's mesh are at the start."""

    position: Annotated[Vector, vector('of the origin', 'm')]
    orientation: Annotated[Vector, vector('roll, pitch, yaw', 'rad')] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class ObjectEntry:
    """What the robots hold."""

    object: Annotated[str, text('name of an object of this package, or path of its YAML from this file')]
    pose: Annotated[
        ObjectPose | None, table('at the start; absent: where the hands have their patches', ObjectPose)
    ] = None
    model: Annotated[
        ObjectModel, choice('rods between the grasps, or finite elements reduced to them', get_args(ObjectModel))
    ] = 'lattice'


@dataclass(frozen=True, kw_only=True)
class GraspEntry:
    """A hand on a patch."""

    robot: Annotated[str, text('of this team')]
    hand: Annotated[str, text("one of the machine's `grasps`; `payload`: where its payload is, which it does without")]
    object: Annotated[str, text('of this team')]
    patch: Annotated[str, text("one of the object's `grasps`")]
    kind: Annotated[GraspKind, choice('a ball passes force alone, a fixed one torque, too', get_args(GraspKind))] = (
        'ball'
    )
    holding_force: Annotated[
        float | None, number('beyond which the hand slips off; absent: it never does', 'N', 'positive')
    ] = None
    holding_torque: Annotated[
        float | None, number('the same of a fixed grasp, about the middle of its patch', 'N m', 'positive')
    ] = None


@dataclass(frozen=True, kw_only=True)
class TeamEntries:
    """The file."""

    name: Annotated[str | None, text('of the team; absent: that of the file')] = None
    robots: Annotated[tuple[RobotEntry, ...], named('machines, by name', RobotEntry)]
    objects: Annotated[tuple[ObjectEntry, ...], named('what they hold, by name', ObjectEntry)]
    grasps: Annotated[tuple[GraspEntry, ...], named('which hand holds what, by name', GraspEntry)]
