"""Serial chains by the source's parameters (section 2.3 of its spec, pp. 24 to 30), as branches of a tree.

Joint j turns about or slides along s^j, the z axis of frame (j); frame (j) is fixed in link jk with its x axis along
the common perpendicular a^jk of length a_jk; the twist alpha_jk turns s^j to s^k about a^jk. These are modified
Denavit-Hartenberg frames.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.multibody import TreeBuilder

Z = (0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class LinkMass:
    """Mass of a link.

    Attributes:
        mass: consistent units, kg in SI.
        centre: (3,) mass centre in the frame of the link.
        inertia: (3, 3) about the mass centre in the axes of the link, or its diagonal (3,).
    """

    mass: float
    centre: ArrayLike = (0.0, 0.0, 0.0)
    inertia: ArrayLike = (0.0, 0.0, 0.0)

    @property
    def tensor(self) -> Array:
        """(3, 3) about the mass centre."""
        inertia = np.asarray(self.inertia, float)
        return np.diag(inertia) if inertia.ndim == 1 else inertia


@dataclass(frozen=True, eq=False)
class SerialChain:
    """M joints, each `R` or `P`.

    Attributes:
        kinds: such as `RRPRRR`.
        lengths: (M,) a_12, a_23, ...: of the link after each joint.
        twists: (M,) alpha_12, alpha_23, ..., rad.
        offsets: (M,) s_jj; for a P joint the slide at position 0.
        angles: (M,) added to the joint angle; for a P joint its fixed angle theta_jj, rad.
        masses: of links by their number, from 1.
        turn: (3, 3) T^0, axes of the base; its third column is s^1.
        base: (3,) origin of the base.
    """

    kinds: str
    lengths: Sequence[float]
    twists: Sequence[float]
    offsets: Sequence[float]
    angles: Sequence[float] = ()
    masses: Mapping[int, LinkMass] = field(default_factory=dict)
    turn: ArrayLike = tuple(map(tuple, np.eye(3)))
    base: ArrayLike = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        for name in ('lengths', 'twists', 'offsets'):
            if len(getattr(self, name)) != len(self.kinds):
                raise ValueError(f'{name}: expected {len(self.kinds)} numbers, found {len(getattr(self, name))}')

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the joints, without prefix: `1`, `2`, ..."""
        return tuple(str(j + 1) for j in range(len(self.kinds)))

    def add_to(self, builder: TreeBuilder, prefix: str = 'joint_') -> list[int]:
        """Add the chain as joints `<prefix>1`, ...; return the indices of its bodies."""
        bodies: list[int] = []
        R, p = np.asarray(self.turn, float), np.asarray(self.base, float)
        for j, kind in enumerate(self.kinds):
            if j:
                R, p = _about_x(self.twists[j - 1]), np.array([self.lengths[j - 1], 0.0, 0.0])
            p = p + self.offsets[j] * R[:, 2]
            R = R @ _about_z(self.angles[j] if self.angles else 0.0)
            mass = self.masses.get(j + 1, LinkMass(0.0))
            joint = builder.add_joint(
                f'{prefix}{j + 1}', bodies[-1] if bodies else -1, 'revolute' if kind == 'R' else 'prismatic', Z,
                R, p, mass.mass, mass.centre, mass.tensor,
            )  # fmt: skip
            bodies.append(joint)
        return bodies


def _about_x(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def _about_z(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def planar_chain(
    lengths: Sequence[float],
    masses: Mapping[int, LinkMass] | None = None,
    base: ArrayLike = (0.0, 0.0, 0.0),
) -> SerialChain:
    """Return a chain of revolutes about Z in the plane z = 0; the x axis of a link is along the link."""
    n = len(lengths)
    return SerialChain('R' * n, lengths, (0.0,) * n, (0.0,) * n, (), masses or {}, base=base)


def rod(mass: float, length: float) -> LinkMass:
    """Return a thin rod along the x axis of its link, mass centre at its middle."""
    moment = mass * length**2 / 12
    return LinkMass(mass, (length / 2, 0.0, 0.0), (0.0, moment, moment))
