"""Constraints, loads held by several arms, and classes of joints. Data only.

Every key of the machine YAML is declared at its field.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, get_args

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.bodies import Joint
from dyn_nodes.model.problems import Report, did_you_mean
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

ProfileKind = Literal['sine', 'polynomial', 'points', 'bump']
LoadMotion = Literal['free', 'planar']
JointKind = Literal['actuated', 'free', 'flexible', 'locked', 'pseudo']
WORLD = 'world'
NO_DIRECTION = ('axis', 'a direction', 'a vector of length zero')
ORIGIN = (0.0, 0.0, 0.0)


def rotation_of(angles: Any) -> Array:
    """Return the read-only (3, 3) rotation of roll, pitch, yaw, as in a URDF, rad."""
    return frozen_array(matrix_of_rpy(angles), (3, 3))


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
    """A prescribed motion over the time t, s: the position of a joint or a height, rad or m.

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
    start: Annotated[float, number('start time', 's', allowed=('bump',))] = 0.0
    duration: Annotated[float, number('from its start to its end', 's', 'positive', needed=('bump',))] = 0.0


class Parts(NamedTuple):
    """Names of a machine that a constraint may refer to.

    Attributes:
        links: of the URDF, loads and `world`.
        joints: of the URDF, by name.
        locked: joints of the list `locked`.
    """

    links: tuple[str, ...]
    joints: Mapping[str, Joint]
    locked: tuple[str, ...]

    def check_joint(self, name: str, line: int, where: str, report: Report) -> None:
        """Report a joint that does not exist or does not move."""
        movable = {key: joint for key, joint in self.joints.items() if joint.movable and key not in self.locked}
        if name not in movable:
            actual = f'{name!r}, which is fixed' if name in self.joints else did_you_mean(name, movable)
            report.add(line, where, 'a movable joint of the URDF', actual)


class JointSum(NamedTuple):
    """A sum of coefficient times joint position that equals an offset, rad or m."""

    coefficients: tuple[tuple[str, float], ...]
    offset: float


@dataclass(frozen=True, eq=False, kw_only=True)
class ConstraintRecord:
    """A constraint of the machine YAML. Each kind is a subclass in a file of `dyn_nodes.constraints.kinds`.

    Attributes:
        kind: `kind` in the machine YAML.
        line: in the YAML.
    """

    kind: ClassVar[str]

    name: str
    line: int = 0

    @property
    def ends(self) -> tuple[End, ...]:
        """The frames in links that the constraint holds."""
        return ()

    @property
    def held_joint(self) -> str:
        """Joint whose position the constraint determines; empty: none."""
        return ''

    @property
    def moved_joint(self) -> str:
        """Joint that the constraint moves as a function of time; empty: none."""
        return ''

    @property
    def locked_position(self) -> float | None:
        """Position of the locked joint, rad or m; None: no joint is locked."""
        return None

    @property
    def joint_sum(self) -> JointSum | None:
        """The constant sum of joint positions; None: none."""
        return None

    @property
    def coupled_joints(self) -> tuple[str, ...]:
        """Joints of the constant sum of joint positions."""
        return () if self.joint_sum is None else tuple(joint for joint, _ in self.joint_sum.coefficients)

    @property
    def motion(self) -> tuple[str, Profile] | None:
        """Key and profile of the prescribed motion; None: none."""
        return None

    @property
    def fault(self) -> tuple[str, str, str] | None:
        """Key, expected and actual value as texts if values exclude each other; None otherwise."""
        return None

    def beside_locked(self, positions: Mapping[str, float], report: Report) -> 'ConstraintRecord | None':
        """Return the constraint of the joints that move; None if all its joints are locked.

        Args:
            positions: of the locked joints by name, rad or m.
            report: receives a constraint that the locked joints violate.
        """
        return self

    def check(self, parts: Parts, report: Report) -> None:
        """Report links and joints that do not exist or do not fit."""

    def miss(self, gap: float, above: float) -> tuple[str, str]:
        """Return the expected and the actual start as texts if the constraint does not allow it.

        Args:
            gap: to the nearest start that the other constraints allow, m or rad.
            above: residual of its last row, m or rad.
        """
        return (
            'a joint position that the other constraints allow',
            f'one that misses them by {gap:.4g} rad or m',
        )

    def on(self, tree: Any) -> Any:
        """Return the rows of the constraint on a tree (`dyn_nodes.constraints.rows.Constraint`).

        Raises:
            KeyError: a link that the tree does not have.
        """
        raise NotImplementedError


@dataclass(frozen=True, eq=False, kw_only=True)
class JointRecord(ConstraintRecord):
    """A constraint that determines the position of one joint."""

    joint: Annotated[str, text('that is held or moved')]

    @property
    def held_joint(self) -> str:
        """The joint."""
        return self.joint

    def check(self, parts: Parts, report: Report) -> None:
        """Report a joint that does not exist or does not move."""
        parts.check_joint(self.joint, self.line, f'constraints.{self.name}', report)


@dataclass(frozen=True, eq=False, kw_only=True)
class LoopRecord(ConstraintRecord):
    """A constraint between two ends: the frames `first` and `second` of its rows.

    Attributes:
        directions: of `rx ry rz x y z`, in the axes of the second end, that hold an equilibrium; empty: the search of
            equilibria rejects the constraint.
    """

    directions: ClassVar[tuple[str, ...]] = ()

    first: Annotated[End, table('end that is held', End)]
    second: Annotated[End, table('end that holds it', End)]

    @property
    def ends(self) -> tuple[End, ...]:
        """Both ends."""
        return (self.first, self.second)

    @property
    def along(self) -> tuple[float, float, float] | None:
        """The z axis of the directions, in both ends; None: the z axis of the ends."""
        return None

    @property
    def rod(self) -> float:
        """Constant distance of the ends, m; 0: none."""
        return 0.0

    def check(self, parts: Parts, report: Report) -> None:
        """Report links that do not exist, and two ends on one link."""
        where = f'constraints.{self.name}'
        for key, end in (('first', self.first), ('second', self.second)):
            _check_link(end, self.line, f'{where}.{key}.link', parts, report)
        if self.first.link == self.second.link:
            report.add(self.line, where, 'two different links', f'{self.first.link!r} twice')

    def miss(self, gap: float, above: float) -> tuple[str, str]:
        """Return the remaining distance of the ends, as texts."""
        return 'a loop that closes', f'ends that stay {gap:.4g} m (or rad) apart'


@dataclass(frozen=True, eq=False, kw_only=True)
class AxisLoopRecord(LoopRecord):
    """A constraint between two ends along a common axis."""

    axis: Annotated[
        tuple[float, float, float],
        vector('in both ends: axis, direction of the line or normal of the plane', read=unit_tuple),
    ] = (0.0, 0.0, 1.0)

    @property
    def along(self) -> tuple[float, float, float] | None:
        """The axis."""
        return self.axis

    @property
    def fault(self) -> tuple[str, str, str] | None:
        """Texts for an axis without a direction."""
        return None if any(self.axis) else NO_DIRECTION


@dataclass(frozen=True, eq=False, kw_only=True)
class RollingRecord(ConstraintRecord):
    """A wheel that rolls by constraint."""

    first: Annotated[End, table('its centre', End)]
    axis: Annotated[tuple[float, float, float], vector('axle; forward: axle x up', read=unit_tuple)] = (
        0.0,
        0.0,
        1.0,
    )
    radius: Annotated[float, number('of the wheel', 'm', 'positive')]
    ground: Annotated[Profile | None, table('height of the ground under it over the time, m', Profile)] = None
    frictionless: Annotated[
        bool, flag('the ground holds the wheel along its normal only, as a caster without horizontal force')
    ] = False
    friction: Annotated[
        float | None,
        number(
            'static coefficient of the wheel on the ground, for measures and controllers; absent: unknown',
            '',
            'positive',
        ),
    ] = None

    @property
    def ends(self) -> tuple[End, ...]:
        """The centre."""
        return (self.first,)

    @property
    def motion(self) -> tuple[str, Profile] | None:
        """The motion of the ground."""
        return None if self.ground is None else ('ground', self.ground)

    @property
    def fault(self) -> tuple[str, str, str] | None:
        """Texts for friction of a frictionless wheel, or an axle without a direction."""
        if self.friction is not None and self.frictionless:
            return 'friction', 'no friction of a wheel that is frictionless', f'{self.friction:g}'
        return None if any(self.axis) else NO_DIRECTION

    def check(self, parts: Parts, report: Report) -> None:
        """Report a link that does not exist or does not move."""
        where = f'constraints.{self.name}.first.link'
        _check_link(self.first, self.line, where, parts, report)
        if self.first.link == WORLD:
            report.add(self.line, where, 'a link that moves', 'world')

    def miss(self, gap: float, above: float) -> tuple[str, str]:
        """Return the height of the wheel above or below the ground, as texts."""
        side = 'above' if above > 0 else 'below'
        return 'a wheel on the ground', f'one {abs(above):.4g} m {side} it; nearest the others allow: {gap:.4g} m'


def _check_link(end: End, line: int, where: str, parts: Parts, report: Report) -> None:
    if end.link not in parts.links:
        report.add(line, where, 'a link of the URDF, a load or world', did_you_mean(end.link, parts.links))


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
    """A rigid body without a joint. Inertia and rotation are (3, 3), in axes of the load.

    Attributes:
        line: in the YAML.
    """

    name: str
    mass: Annotated[float, number('of the body', 'kg', 'positive')]
    com: Annotated[Array, vector('centre of mass in the axes of the load', 'm', ORIGIN, read=frozen_vector)]
    inertia: Annotated[Array, table('about the centre of mass', Inertia, read=lambda inertia: inertia.matrix)]
    position: Annotated[
        Array, vector('at the start; approximate if constraints hold the load', 'm', ORIGIN, read=frozen_vector)
    ]
    rotation: Annotated[Array, vector('roll, pitch, yaw at the start', 'rad', ORIGIN, read=rotation_of)]
    motion: Annotated[LoadMotion, choice('`free` in space, or `planar`: x, z and pitch', get_args(LoadMotion))] = 'free'
    line: int = 0


@dataclass(frozen=True)
class JointClass:
    """Class of a joint.

    Attributes:
        kind: `actuated`; `free`: not driven; `flexible`: spring and damper; `locked`: held by a row, its effort is a
            multiplier; `pseudo`: the same, for the internal force along a joint that the machine does not have.
        line: in the YAML.
    """

    joint: str
    kind: Annotated[
        JointKind,
        choice('drive of the joint; joints not named are actuated', get_args(JointKind), name='class'),
    ]
    stiffness: Annotated[float, number('class flexible', 'N m/rad or N/m', 'non-negative')] = 0.0
    damping: Annotated[float, number('class flexible', 'N m s/rad or N s/m', 'non-negative')] = 0.0
    rest: Annotated[float | None, number('unstressed or held position, rad or m; absent: the initial one')] = None
    line: int = 0

    @property
    def held(self) -> bool:
        """True if a row of constraints holds the joint."""
        return self.kind in ('locked', 'pseudo')
