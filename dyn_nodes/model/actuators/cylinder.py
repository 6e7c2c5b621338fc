"""Record of a hydraulic cylinder: keys, relations and checks."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from dyn_nodes.model.actuator import Drive
from dyn_nodes.model.bodies import Joint
from dyn_nodes.model.hydraulic import HydraulicRecord, Supply, Valve
from dyn_nodes.model.linkage import Linkage, PinTriangle, SlidingRod, piston_position
from dyn_nodes.model.linkage_checks import check_linkage, check_rod
from dyn_nodes.model.magnitudes.relation import Quantity, Relation, relation
from dyn_nodes.model.problems import Report
from dyn_nodes.model.problems import number as shown
from dyn_nodes.model.schema import number, table
from dyn_nodes.model.source_map import SourceMap


@dataclass(frozen=True)
class CylinderActuator(HydraulicRecord):
    """One or more equal cylinders in parallel, moved by an open-centre valve.

    Areas are totals; volumes are at X = 0. Without initial pressures the cylinder starts in static equilibrium, the
    unloaded side at `idle_pressure` (spec G5).

    Attributes:
        lines: names of the pressures of the two lines.
    """

    kind: ClassVar[str] = 'cylinder'
    lines: ClassVar[tuple[str, str]] = ('head_pressure', 'rod_pressure')

    linkage: Annotated[
        Linkage,
        table('where it is pinned, on a revolute joint', PinTriangle, default=None),
        table('its own rod in its barrel, on a prismatic joint', SlidingRod, name='rod', default=None),
    ]
    head_area: Annotated[float, number('piston area, head side, all cylinders of the function', 'm2', 'positive')]
    rod_area: Annotated[float, number('piston area, rod side, all cylinders of the function', 'm2', 'positive')]
    head_volume: Annotated[float, number('oil on the head side when retracted, hoses included', 'm3', 'positive')]
    rod_volume: Annotated[float, number('oil on the rod side when retracted, hoses included', 'm3', 'positive')]
    viscous: Annotated[float, number('friction of the piston', 'N s/m', 'non-negative')]
    valve: Annotated[Valve, table('the directional valve', Valve, shared=True)]
    supply: Annotated[Supply, table('pump, oil and protection', Supply, shared=True)]
    leakage: Annotated[float, number('oil past the piston per pressure difference', 'm3/(s Pa)', 'non-negative')] = 0.0
    idle_pressure: Annotated[float, number('unloaded side at the start', 'Pa', 'positive')] = 1.0e6
    initial_head_pressure: Annotated[
        float | None, number('at the start; absent: static equilibrium', 'Pa', 'non-negative')
    ] = None
    initial_rod_pressure: Annotated[
        float | None, number('at the start; absent: static equilibrium', 'Pa', 'non-negative')
    ] = None

    @property
    def areas(self) -> tuple[float, float]:
        """Oil volume of each line per travel of the piston, m2."""
        return self.head_area, self.rod_area

    @classmethod
    def contradiction(cls, values: Mapping[str, Any]) -> tuple[str, str] | None:
        """Return the texts unless the cylinder has either pins or a prismatic joint."""
        specified = [key for key in ('linkage', 'rod') if values.get(key) is not None]
        if len(specified) == 1:
            return None
        return '`linkage` (on a revolute joint) or `rod` (on a prismatic joint)', 'both' if specified else 'nothing'

    def relations(self, drive: Drive) -> Iterator[Relation]:
        """Yield the relations of areas, volumes and pins to pump, stroke and joint."""
        yield from super().relations(drive)
        where = f'actuators.{self.name}'
        flow, relief = self.source(drive)
        head, rod = (
            Quantity(f'{where}.head_area', self.head_area, 'm2'),
            Quantity(f'{where}.rod_area', self.rod_area, 'm2'),
        )
        linkage, key = self.linkage, f'{where}.{"rod" if isinstance(self.linkage, SlidingRod) else "linkage"}'
        stroke = Quantity(f'{key}.stroke', linkage.stroke, 'm')
        turn = drive.joint.upper - drive.joint.lower or math.inf
        lever = abs(piston_position(linkage, drive.joint.upper) - piston_position(linkage, drive.joint.lower)) / turn
        viscous = Quantity(f'{where}.viscous', self.viscous, 'N s/m')
        yield from relation('a piston speed', 'm/s', 2e-3, 3.0, (flow, 1.0), (head, -1.0))
        yield from relation(
            'a speed of its joint over the limit',
            '',
            0.02,
            20.0,
            (drive.velocity, -1.0),
            (flow, 1.0),
            (head, -1.0),
            factor=1.0 / lever if lever else 0.0,
        )
        yield from relation(
            'a force over the effort limit of its joint',
            '',
            0.02,
            50.0,
            (drive.effort, -1.0),
            (head, 1.0),
            (relief, 1.0),
            factor=lever,
        )
        yield from relation('a rod side over the head side', '', 0.28, 1.0, (rod, 1.0), (head, -1.0))
        yield from relation(
            'a bore over the stroke', '', 0.005, 2.0, (head, 0.5), (stroke, -1.0), factor=2.0 / math.sqrt(math.pi)
        )
        volume = Quantity(f'{where}.head_volume', self.head_volume, 'm3')
        yield from relation(
            'a volume over head area times stroke', '', 1e-4, 3.0, (volume, 1.0), (head, -1.0), (stroke, -1.0)
        )
        volume = Quantity(f'{where}.rod_volume', self.rod_volume, 'm3')
        yield from relation(
            'a volume over rod area times stroke', '', 1.0, 4.0, (volume, 1.0), (rod, -1.0), (stroke, -1.0)
        )
        yield from relation(
            'a friction at the speed of the piston over its force',
            '',
            1e-4,
            1.0,
            (viscous, 1.0),
            (flow, 1.0),
            (head, -2.0),
            (relief, -1.0),
        )
        yield from relation(
            'a stroke over the size of the machine', '', 1e-3, 2.0, (stroke, 1.0), factor=1.0 / drive.extent
        )
        if not isinstance(linkage, SlidingRod):
            for name in ('a', 'b', 'retracted_length'):
                pin = Quantity(f'{key}.{name}', getattr(linkage, name), 'm')
                yield from relation(
                    'a length over the size of the machine', '', 1e-3, 1.5, (pin, 1.0), factor=1.0 / drive.extent
                )

    def check(self, joint: Joint, source_map: SourceMap, report: Report) -> None:
        """Report a joint without limits, contradicting areas and volumes, and a stroke that is too short."""
        super().check(joint, source_map, report)
        where = f'actuators.{self.name}'
        line = source_map.line(f'{where}.joint')
        if joint.type not in ('revolute', 'prismatic'):
            report.add(line, f'{where}.joint', 'a revolute or prismatic joint for a cylinder', f'a {joint.type} joint')
            return
        if not (math.isfinite(joint.lower) and math.isfinite(joint.upper)):
            actual = f'{joint.name!r}, which moves without limits'
            report.add(line, f'{where}.joint', 'a joint with limits for a cylinder', actual)
            return
        self._check_oil(source_map, report)
        key, fitting = (
            'rod' if slides else 'linkage'
            for slides in (isinstance(self.linkage, SlidingRod), joint.type == 'prismatic')
        )
        where = f'{where}.{key}'
        if key != fitting:
            expected = f'`{fitting}` for a cylinder on a {joint.type} joint'
            report.add(source_map.line(where), where, expected, f'`{key}`')
        elif isinstance(self.linkage, SlidingRod):
            check_rod(self.linkage, joint, where, source_map.line(where), report)
            self._check_effort(joint, source_map, report)
        else:
            check_linkage(self.linkage, joint, where, source_map.line(where), report)

    def _check_effort(self, joint: Joint, source_map: SourceMap, report: Report) -> None:
        """Warn if the effort limit of the joint is below the force of the cylinder: a run rejects such an effort."""
        push = self.supply.line_relief_pressure * self.head_area
        if 0.0 < joint.effort_limit < push:
            where = f'actuators.{self.name}.joint'
            expected = f'an effort limit of at least the force at the line relief, {shown(push)} N'
            actual = f'{shown(joint.effort_limit)} N'
            report.warn(source_map.line(where), where, expected, actual)

    def _check_oil(self, source_map: SourceMap, report: Report) -> None:
        where = f'actuators.{self.name}'
        if self.rod_area > self.head_area:
            expected = f'at most the head area, {shown(self.head_area)} m2'
            report.add(source_map.line(f'{where}.rod_area'), f'{where}.rod_area', expected, shown(self.rod_area))
        displaced = self.rod_area * self.linkage.stroke
        if self.rod_volume <= displaced:
            expected = f'more than rod area times stroke, {shown(displaced)} m3'
            report.add(source_map.line(f'{where}.rod_volume'), f'{where}.rod_volume', expected, shown(self.rod_volume))
