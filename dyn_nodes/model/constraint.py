"""What holds a machine beside its joints: constraints, loads held by several arms, classes of joints. Data only.

Every key of the machine YAML is declared at its field.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, get_args

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.rotations import matrix_of_rpy
from dyn_nodes.model.schema import (
    choice,
    collection,
    flag,
    frozen_array,
    frozen_vector,
    number,
    table,
    text,
    unit_tuple,
    vector,
)

ConstraintKind = Literal[
    'frame',
    'point',
    'hinge',
    'slider',
    'planar',
    'line',
    'plane',
    'distance',
    'lock',
    'coupling',
    'prescribed',
    'wheel',
    'steering',
]
ProfileKind = Literal['sine', 'polynomial', 'points', 'bump']
LoadMotion = Literal['free', 'planar']
JointKind = Literal['actuated', 'free', 'flexible', 'locked', 'pseudo']
WORLD = 'world'


ENDS = ('frame', 'point', 'hinge', 'slider', 'planar', 'line', 'plane', 'distance')
"""Kinds of constraints between two ends."""
ORIGIN = (0.0, 0.0, 0.0)


def rotation_of(angles: Any) -> Array:
    """Return the read-only (3, 3) rotation of roll, pitch, yaw, as in a URDF, rad."""
    return frozen_array(matrix_of_rpy(angles), (3, 3))


def as_pairs(factors: Any) -> tuple[tuple[str, float], ...]:
    """Return the entries of a mapping."""
    return tuple(dict(factors).items())


@dataclass(frozen=True, eq=False)
class End:
    """One end of a constraint: a frame fixed in a link. The rotation is the (3, 3) matrix of its axes."""

    link: Annotated[str, text('of the URDF, a load, or `world`')]
    position: Annotated[Array, vector('in the frame of the link', 'm', ORIGIN, read=frozen_vector)]
    rotation: Annotated[
        Array, vector('roll, pitch, yaw of the axes in the frame of the link', 'rad', ORIGIN, read=rotation_of)
    ]


@dataclass(frozen=True)
class Profile:
    """A motion that is prescribed over the time t, s: a joint's position or a height, rad or m.

    `sine`: offset + amplitude sin(2 pi frequency t + phase); `polynomial`: the sum of coefficients[k] t^k;
    `points`: through `values` at `times`, smooth to the fourth derivative, at rest before and after;
    `bump`: height sin^4(pi (t - start) / duration) within the duration, else zero.
    """

    kind: Annotated[ProfileKind, choice('form of the motion over the time; see below', get_args(ProfileKind))]
    offset: Annotated[float, number('mean', allowed=('sine',))] = 0.0
    amplitude: Annotated[float, number('greatest deviation from the mean', needed=('sine',))] = 0.0
    frequency: Annotated[float, number('of the oscillation', 'Hz', 'positive', needed=('sine',))] = 0.0
    phase: Annotated[float, number('at time 0', 'rad', allowed=('sine',))] = 0.0
    coefficients: Annotated[
        tuple[float, ...],
        collection('numbers', 'of the powers 0, 1, 2, ... of the time in s', needed=('polynomial',)),
    ] = ()
    times: Annotated[tuple[float, ...], collection('numbers', 'rising, at least two', 's', needed=('points',))] = ()
    values: Annotated[
        tuple[float, ...], collection('numbers', 'at these times, at rest before and after', needed=('points',))
    ] = ()
    height: Annotated[float, number('greatest', needed=('bump',))] = 0.0
    start: Annotated[float, number('when it begins', 's', allowed=('bump',))] = 0.0
    duration: Annotated[float, number('from its start to its end', 's', 'positive', needed=('bump',))] = 0.0


@dataclass(frozen=True, eq=False)
class MachineConstraint:
    """A constraint as the machine YAML gives it; which fields count depends on the kind.

    Attributes:
        line: in the YAML.
    """

    name: str
    kind: Annotated[ConstraintKind, choice('what is held; see below', get_args(ConstraintKind))]
    first: Annotated[End | None, table('end that is held; of a wheel its centre', End, needed=(*ENDS, 'wheel'))] = None
    second: Annotated[End | None, table('end that holds it', End, needed=ENDS)] = None
    axis: Annotated[
        tuple[float, float, float],
        vector(
            'in both ends: of a hinge or slider; of a line; normal of a plane; axle of a wheel (forward: axle x up)',
            read=unit_tuple,
            allowed=('hinge', 'slider', 'line', 'plane', 'wheel'),
        ),
    ] = (0.0, 0.0, 1.0)
    length: Annotated[float, number('of a rod', 'm', 'positive', needed=('distance',))] = 0.0
    radius: Annotated[float, number('of the wheel', 'm', 'positive', needed=('wheel',))] = 0.0
    joint: Annotated[str, text('that is held or moved', needed=('lock', 'prescribed', 'steering'))] = ''
    position: Annotated[float, number('where the joint is held, rad or m', allowed=('lock',))] = 0.0
    coefficients: Annotated[
        tuple[tuple[str, float], ...],
        collection('positions', 'by joint name', read=as_pairs, needed=('coupling',)),
    ] = ()
    offset: Annotated[
        float,
        number(
            'sum of coefficient times joint position; of kind steering: joint position at heading 0, rad',
            allowed=('coupling', 'steering'),
        ),
    ] = 0.0
    ratio: Annotated[
        float, number('joint position per heading of the vehicle that carries the joint', needed=('steering',))
    ] = 0.0
    profile: Annotated[
        Profile | None,
        table(
            'position over the time, rad or m; of kind plane: height of the plane along its normal',
            Profile,
            needed=('prescribed',),
            allowed=('plane',),
        ),
    ] = None
    ground: Annotated[
        Profile | None, table('height of the ground under it over the time, m', Profile, allowed=('wheel',))
    ] = None
    frictionless: Annotated[
        bool,
        flag(
            'the ground holds the wheel along its normal only, as a caster without horizontal force', allowed=('wheel',)
        ),
    ] = False
    friction: Annotated[
        float | None,
        number(
            'static coefficient of the wheel on the ground, by which measures and controllers judge; absent: unknown',
            '',
            'positive',
            allowed=('wheel',),
        ),
    ] = None
    line: int = 0


class Inertia(NamedTuple):
    """Inertia tensor about the centre of mass."""

    ixx: Annotated[float, number('about x through the centre of mass', 'kg m2', 'positive')]
    iyy: Annotated[float, number('about y through the centre of mass', 'kg m2', 'positive')]
    izz: Annotated[float, number('about z through the centre of mass', 'kg m2', 'positive')]
    ixy: Annotated[float, number('product, as in a URDF', 'kg m2')] = 0.0
    ixz: Annotated[float, number('product, as in a URDF', 'kg m2')] = 0.0
    iyz: Annotated[float, number('product, as in a URDF', 'kg m2')] = 0.0

    @property
    def matrix(self) -> Array:
        """Read-only (3, 3) tensor."""
        rows = (self.ixx, self.ixy, self.ixz), (self.ixy, self.iyy, self.iyz), (self.ixz, self.iyz, self.izz)
        return frozen_array(rows, (3, 3))


@dataclass(frozen=True, eq=False)
class Load:
    """A rigid body that belongs to no joint. Inertia and rotation are (3, 3), in axes of the load.

    Attributes:
        line: in the YAML.
    """

    name: str
    mass: Annotated[float, number('of the body', 'kg', 'positive')]
    com: Annotated[Array, vector('centre of mass in the axes of the load', 'm', ORIGIN, read=frozen_vector)]
    inertia: Annotated[Array, table('about the centre of mass', Inertia, read=lambda inertia: inertia.matrix)]
    position: Annotated[
        Array, vector('at the start; rough where constraints hold the load', 'm', ORIGIN, read=frozen_vector)
    ]
    rotation: Annotated[Array, vector('roll, pitch, yaw at the start', 'rad', ORIGIN, read=rotation_of)]
    motion: Annotated[LoadMotion, choice('`free` in space, or `planar`: x, z and pitch', get_args(LoadMotion))] = 'free'
    line: int = 0


@dataclass(frozen=True)
class JointClass:
    """What moves a joint.

    Attributes:
        kind: `actuated`; `free`: nothing; `flexible`: spring and damper; `locked`: held by a row, its effort is a
            multiplier; `pseudo`: the same, for the internal force along a joint that the machine does not have.
        line: in the YAML.
    """

    joint: str
    kind: Annotated[
        JointKind,
        choice('what moves the joint; joints not named are actuated', get_args(JointKind), name='class'),
    ]
    stiffness: Annotated[float, number('class flexible', 'N m/rad or N/m', 'non-negative')] = 0.0
    damping: Annotated[float, number('class flexible', 'N m s/rad or N s/m', 'non-negative')] = 0.0
    rest: Annotated[float | None, number('unstressed or held position, rad or m; absent: the initial one')] = None
    line: int = 0

    @property
    def held(self) -> bool:
        """True where a row of constraints holds the joint."""
        return self.kind in ('locked', 'pseudo')
