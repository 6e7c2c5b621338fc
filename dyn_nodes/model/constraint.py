"""What holds a machine beside its joints: constraints, loads held by several arms, classes of joints. Data only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
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
]
ProfileKind = Literal['sine', 'polynomial', 'points', 'bump']
LoadMotion = Literal['free', 'planar']
JointKind = Literal['actuated', 'free', 'flexible', 'locked', 'pseudo']
WORLD = 'world'


@dataclass(frozen=True, eq=False)
class End:
    """One end of a constraint: a frame fixed in a link.

    Attributes:
        link: of the URDF, a load, or `world`.
        position: (3,) in the link frame, m.
        rotation: (3, 3) axes in the link frame.
    """

    link: str
    position: Array
    rotation: Array


@dataclass(frozen=True)
class Profile:
    """A motion that is prescribed over the time t, s: a joint's position or a height, rad or m.

    Attributes:
        kind: `sine`: offset + amplitude sin(2 pi frequency t + phase); `polynomial`: the sum of coefficients[k] t^k;
            `points`: through `values` at `times`, smooth to the fourth derivative, at rest before and after;
            `bump`: height sin^4(pi (t - start) / duration) within the duration, else zero.
        frequency: Hz. phase: rad. times, start, duration: s.
    """

    kind: ProfileKind
    offset: float = 0.0
    amplitude: float = 0.0
    frequency: float = 0.0
    phase: float = 0.0
    coefficients: tuple[float, ...] = ()
    times: tuple[float, ...] = ()
    values: tuple[float, ...] = ()
    height: float = 0.0
    start: float = 0.0
    duration: float = 0.0


@dataclass(frozen=True, eq=False)
class MachineConstraint:
    """A constraint as the machine YAML gives it; which fields count depends on the kind.

    Attributes:
        first, second: ends. axis: (3,) unit vector in the frames of the ends: of a hinge, slider, line, plane or axle.
        length: of a rod, m. radius: of a wheel, m.
        joint: that is locked or moved; position: where a lock holds it, rad or m.
        coefficients, offset: of a coupling: sum of coefficient times joint position = offset.
        profile: of a prescribed joint, or of a plane that moves along its normal. ground: under a wheel.
        line: in the YAML.
    """

    name: str
    kind: ConstraintKind
    first: End | None = None
    second: End | None = None
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    length: float = 0.0
    radius: float = 0.0
    joint: str = ''
    position: float = 0.0
    coefficients: tuple[tuple[str, float], ...] = ()
    offset: float = 0.0
    profile: Profile | None = None
    ground: Profile | None = None
    line: int = 0


@dataclass(frozen=True, eq=False)
class Load:
    """A rigid body that belongs to no joint.

    Attributes:
        mass: kg. com: (3,) m. inertia: (3, 3) about the centre of mass, axes of the load, kg m2.
        position: (3,) m and rotation: (3, 3), of the load at the start; rough where constraints hold it.
        motion: `free` in space or in the vertical plane x, z (`planar`).
        line: in the YAML.
    """

    name: str
    mass: float
    com: Array
    inertia: Array
    position: Array
    rotation: Array
    motion: LoadMotion = 'free'
    line: int = 0


@dataclass(frozen=True)
class JointClass:
    """What moves a joint.

    Attributes:
        kind: `actuated`; `free`: nothing; `flexible`: spring and damper; `locked`: held, its effort is a multiplier;
            `pseudo`: the same, for the internal force along a joint that the machine does not have.
        stiffness, damping: N m/rad or N/m; N m s/rad or N s/m. rest: unstressed (flexible) or held position, rad or m.
        line: in the YAML.
    """

    joint: str
    kind: JointKind
    stiffness: float = 0.0
    damping: float = 0.0
    rest: float | None = None
    line: int = 0
