"""Record of a crawler track: keys, relations and checks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from dyn_nodes.model.bodies import Array, Joint, Link
from dyn_nodes.model.contact import ContactRecord, Support
from dyn_nodes.model.friction.lugre import LuGre
from dyn_nodes.model.magnitudes.relation import Quantity, Relation, relation
from dyn_nodes.model.problems import Report, did_you_mean, number
from dyn_nodes.model.schema import frozen_vector, table, text, vector
from dyn_nodes.model.schema import number as quantity
from dyn_nodes.model.source_map import SourceMap

LEAST_ROLLERS = 2
MOST_ROLLERS = 40
PARALLEL = 1e-6


@dataclass(frozen=True, eq=False)
class Track(ContactRecord):
    """A crawler track along the x axis of its link: a row of road rollers on springs over a belt on the ground.

    Each roller carries one pitch of the belt, length / (rollers - 1). The topic is `ground_reactions/<name>`.
    """

    kind: ClassVar[str] = 'track'

    position: Annotated[
        Array, vector('middle of the row of rollers, in the frame of the link', 'm', read=frozen_vector)
    ]
    length: Annotated[float, quantity('from the first to the last roller, along x of the link', 'm', 'positive')]
    stiffness: Annotated[float, quantity('of the whole row', 'N/m', 'positive')]
    damping: Annotated[float, quantity('of the whole row', 'N s/m', 'non-negative')]
    free_length: Annotated[
        float, quantity('height of the row above the ground at which contact is lost', 'm', 'positive')
    ]
    sprocket: Annotated[
        str, text('the joint that drives the belt; its axis is along y of the link, or the reverse of y')
    ]
    sprocket_radius: Annotated[float, quantity('pitch radius of the sprocket: belt speed per rate', 'm', 'positive')]
    friction: Annotated[
        LuGre,
        table(
            'of the belt on the ground, one limit for both directions; sigma_0 is mu over the shear modulus K', LuGre
        ),
    ]
    rollers: Annotated[float, quantity('number of road rollers, a whole number of at least 2', '', 'positive')] = 7.0

    @property
    def count(self) -> int:
        """Number of rollers."""
        return round(self.rollers)

    @property
    def pitch(self) -> float:
        """Distance of the rollers, m."""
        return self.length / (self.count - 1)

    @property
    def offsets(self) -> tuple[float, ...]:
        """Offset of every roller along x from the middle, m, the rearmost one first."""
        middle = 0.5 * (self.count - 1)
        return tuple((k - middle) * self.pitch for k in range(self.count))

    @property
    def supports(self) -> tuple[Support, ...]:
        """One spring per roller, the rearmost one first; the ends are corners of the support polygon."""
        share = 1.0 / self.count
        return tuple(
            Support(
                f'{self.name}/roller_{k + 1}',
                self.name,
                f'contacts.{self.name}',
                self.link,
                self.position + np.array([offset, 0.0, 0.0]),
                self.stiffness * share,
                self.damping * share,
                self.free_length,
                k in (0, self.count - 1),
            )
            for k, offset in enumerate(self.offsets)
        )

    @property
    def drives(self) -> tuple[str, ...]:
        """The sprocket."""
        return (self.sprocket,)

    def relations(self, extent: float) -> Iterator[Relation]:
        """Yield the relations of the lengths to the size of the machine, m."""
        where = f'contacts.{self.name}'
        length, radius = (Quantity(f'{where}.length', self.length, 'm'),
                          Quantity(f'{where}.sprocket_radius', self.sprocket_radius, 'm (radius)'))  # fmt: skip
        yield from relation('a length over the size of the machine', '', 0.02, 1.5, (length, 1.0), factor=1.0 / extent)
        yield from relation('a radius over the length of its track', '', 0.02, 0.5, (radius, 1.0), (length, -1.0))

    def check(
        self, links: Mapping[str, Link], joints: Mapping[str, Joint], source_map: SourceMap, report: Report
    ) -> None:
        """Report an invalid number of rollers, a sprocket that cannot drive the belt, and invalid friction."""
        super().check(links, joints, source_map, report)
        prefix = f'contacts.{self.name}'
        if self.rollers != self.count or not LEAST_ROLLERS <= self.rollers <= MOST_ROLLERS:
            where, expected = f'{prefix}.rollers', f'a whole number from {LEAST_ROLLERS} to {MOST_ROLLERS}'
            report.add(source_map.line(where), where, expected, number(self.rollers))
        if self.friction.kinetic > self.friction.static:
            where = f'{prefix}.friction.kinetic'
            expected = f'kinetic friction at most the static {number(self.friction.static)}'
            report.add(source_map.line(where), where, expected, number(self.friction.kinetic))
        self._check_sprocket(joints, source_map, report)

    def _check_sprocket(self, joints: Mapping[str, Joint], source_map: SourceMap, report: Report) -> None:
        where = f'contacts.{self.name}.sprocket'
        line, joint = source_map.line(where), joints.get(self.sprocket)
        if joint is None:
            report.add(line, where, 'a joint of the URDF', did_you_mean(self.sprocket, joints))
        elif joint.type not in ('continuous', 'revolute'):
            report.add(line, where, 'a continuous joint', f'{joint.name!r}, which is {joint.type}')
        elif joint.parent != self.link:
            report.add(line, where, f'a joint on link {self.link}', f'{joint.name!r} on {joint.parent}')
        elif abs(forward(joint)) < 1.0 - PARALLEL:
            actual = f'{joint.name!r} along [{", ".join(f"{part:g}" for part in _axis(joint))}]'
            report.add(line, where, 'an axis along y of the link', actual)


def _axis(joint: Joint) -> Array:
    """Return the axis (3,) of a joint in the frame of its parent."""
    axis: Array = joint.origin[:3, :3] @ joint.axis
    return axis


def forward(joint: Joint) -> float:
    """Return 1 if the positive direction of a sprocket drives its track to +x of the link, -1 if to -x."""
    return float(_axis(joint)[1])
