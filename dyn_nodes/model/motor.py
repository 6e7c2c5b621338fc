"""Hydraulic rotary motor: its numbers, keys and checks."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from dyn_nodes.model.bodies import Joint
from dyn_nodes.model.hydraulic import HydraulicRecord, Supply, Valve
from dyn_nodes.model.places import Places
from dyn_nodes.model.problems import Report
from dyn_nodes.model.schema import number, table


@dataclass(frozen=True)
class MotorActuator(HydraulicRecord):
    """Hydraulic rotary motor with gear (abo-shanab-2003, eq. 2.16; spec 2.12 and G6). The displacement is n D_m.

    Attributes:
        lines: names of the pressures of its two lines.
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
        """Oil that each line takes up per angle of the joint, m3/rad."""
        return self.displacement, self.displacement

    def check(self, joint: Joint, places: Places, report: Report) -> None:
        """Report a joint that does not turn."""
        super().check(joint, places, report)
        if joint.type == 'prismatic':
            where = f'actuators.{self.name}.joint'
            report.add(places.line(where), where, 'a revolute or continuous joint for a motor', 'a prismatic joint')
