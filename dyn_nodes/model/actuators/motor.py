"""Record of a hydraulic rotary motor: keys, relations and checks."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from dyn_nodes.model.actuator import Drive
from dyn_nodes.model.bodies import Joint
from dyn_nodes.model.hydraulic import HydraulicRecord, Supply, Valve
from dyn_nodes.model.magnitudes.relation import Quantity, Relation, relation
from dyn_nodes.model.problems import Report
from dyn_nodes.model.schema import number, table
from dyn_nodes.model.source_map import SourceMap


@dataclass(frozen=True)
class MotorActuator(HydraulicRecord):
    """Hydraulic rotary motor with gear (abo-shanab-2003, eq. 2.16; spec 2.12 and G6). The displacement is n D_m.

    Attributes:
        lines: names of the pressures of the two lines.
    """

    kind: ClassVar[str] = 'motor'
    lines: ClassVar[tuple[str, str]] = ('pressure_a', 'pressure_b')

    displacement: Annotated[float, number('geared displacement at the joint', 'm3/rad', 'positive')]
    line_volume: Annotated[float, number('oil in each line', 'm3', 'positive')]
    viscous: Annotated[float, number('friction at the joint', 'N m s/rad', 'non-negative')]
    valve: Annotated[Valve, table('the directional valve', Valve, shared=True)]
    supply: Annotated[Supply, table('pump, oil and protection', Supply, shared=True)]
    leakage: Annotated[
        float, number('oil from line to line through the motor per pressure difference', 'm3/(s Pa)', 'non-negative')
    ] = 0.0
    idle_pressure: Annotated[float, number('both lines at the start', 'Pa', 'positive')] = 5.0e6

    @property
    def areas(self) -> tuple[float, float]:
        """Oil volume of each line per angle of the joint, m3/rad."""
        return self.displacement, self.displacement

    def relations(self, drive: Drive) -> Iterator[Relation]:
        """Yield the relations of displacement and volumes to pump and joint."""
        yield from super().relations(drive)
        where = f'actuators.{self.name}'
        flow, relief = self.source(drive)
        displacement = Quantity(f'{where}.displacement', self.displacement, 'm3/rad')
        line = Quantity(f'{where}.supply.line_relief_pressure', self.supply.line_relief_pressure, 'Pa')
        volume = Quantity(f'{where}.line_volume', self.line_volume, 'm3')
        viscous = Quantity(f'{where}.viscous', self.viscous, 'N m s/rad')
        yield from relation('a speed', 'rad/s', 0.01, 300.0, (flow, 1.0), (displacement, -1.0))
        yield from relation(
            'a speed of its joint over the limit',
            '',
            0.05,
            20.0,
            (drive.velocity, -1.0),
            (flow, 1.0),
            (displacement, -1.0),
        )
        yield from relation(
            'a torque over the effort limit of its joint',
            '',
            0.02,
            50.0,
            (drive.effort, -1.0),
            (displacement, 1.0),
            (line, 1.0),
        )
        yield from relation(
            'a volume over the volume of a turn',
            '',
            1e-3,
            20.0,
            (volume, 1.0),
            (displacement, -1.0),
            factor=0.5 / math.pi,
        )
        yield from relation(
            'a friction at its speed over its torque',
            '',
            2e-4,
            1.0,
            (viscous, 1.0),
            (flow, 1.0),
            (displacement, -2.0),
            (relief, -1.0),
        )

    def check(self, joint: Joint, source_map: SourceMap, report: Report) -> None:
        """Report a prismatic joint."""
        super().check(joint, source_map, report)
        if joint.type == 'prismatic':
            where = f'actuators.{self.name}.joint'
            report.add(source_map.line(where), where, 'a revolute or continuous joint for a motor', 'a prismatic joint')
