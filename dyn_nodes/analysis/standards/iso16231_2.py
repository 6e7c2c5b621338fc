"""Static overturning angles of self-propelled agricultural machines, and their centre of gravity as by weighing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.analysis.standards.cases import Case, CaseStandard, Outcome
from dyn_nodes.analysis.standards.posed import Limit, Posed, support_positions
from dyn_nodes.analysis.standards.postures import steered
from dyn_nodes.analysis.standards.standard import CertifySettings, Quantity, ResultTable
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine

ANGLE = 'Static overturning angle'
WEIGHING = 'Determination of the centre of gravity by weighing'
HEADINGS = {'downhill ahead': 0.0, 'downhill left': np.pi / 2, 'downhill behind': np.pi, 'downhill right': -np.pi / 2}


@dataclass(frozen=True)
class OverturningAngle:
    """Slope at which a machine with a load, kg, overturns, on the worst of some headings, rad; none: across axes."""

    load: float
    headings: tuple[float, ...]

    def __call__(self, posed: Posed) -> Limit:
        """Return the slope, deg."""
        headings = self.headings or tuple(float(heading) for heading in posed.outward(self.load))
        least = min((posed.slope(self.load, heading) for heading in headings), key=lambda each: each.value)
        return Limit(float(np.degrees(least.value)), least.axis)


class Iso16231Part2(CaseStandard):
    """Self-propelled agricultural machines."""

    kind = 'iso16231_2'
    title = 'ISO 16231-2:2015, Self-propelled agricultural machinery - Determination of static stability'
    result = 'overturning angle'
    not_shown = (
        'Weighing and tilting of the real machine, and its measuring accuracy.',
        'The required angle: it follows from the use of the machine and is an input (--set required_angle).',
        'Tank and hopper contents that move; attachments that are not in the machine file.',
        'Dynamic effects of driving and steering.',
    )

    def quantities(self, machine: Machine) -> tuple[Quantity, ...]:
        """Return load, required angle and lift of the weighing; see `CaseStandard.quantities`."""
        load = 0.0 if machine.payload is None else machine.payload.limit
        return (
            Quantity('load', load, 'kg', 'load of the laden machine', 'machine file, payload.limit'),
            Quantity(
                'required_angle', 0.0, 'deg', 'required static stability angle; 0: none', 'by the use of the machine'
            ),
            Quantity(
                'front_reading', 0.0, 'kg', 'reading of the front scales in the second weighing', 'measured; 0: none'
            ),
            Quantity('lift_angle', 10.0, 'deg', 'angle of the machine in the second weighing', 'chosen'),
        )

    def cases(self, machine: Machine, values: Mapping[str, float], settings: CertifySettings) -> Sequence[Case]:
        """Return the angles of four directions and across the weakest axes; see `CaseStandard.cases`."""
        required = values['required_angle'] or np.nan
        directions = {**{name: (heading,) for name, heading in HEADINGS.items()}, 'across the weakest axes': ()}
        loads = {'unladen': 0.0, **({'laden': values['load']} if values['load'] > 0.0 else {})}
        states = steered(machine)
        return [
            Case(f'{name}, {loaded}', ANGLE, (states['straight'],), OverturningAngle(load, headings), 'deg', required)
            for loaded, load in loads.items()
            for name, headings in directions.items()
        ]

    def more_tables(
        self, machine: Machine, values: Mapping[str, float], outcomes: Sequence[tuple[Case, Outcome]]
    ) -> tuple[ResultTable, ...]:
        """Return the readings of scales under the model and the centre of gravity from them."""
        posed, angle = Posed(machine, steered(machine)['straight'], False), float(np.radians(values['lift_angle']))
        scales = Scales(posed.support_loads(0.0) / machine.gravity, support_positions(posed))
        _, center = posed.mass_and_center()
        rows = [(f'scale under {name}', f'{load:,.0f} kg') for name, load in zip(posed.running.supports, scales.loads)]
        expected = scales.front_reading(float(center[2]), angle)
        rows += [
            ('all scales', f'{scales.loads.sum():,.0f} kg'),
            (f'front scales, nose up by {values["lift_angle"]:g} deg, expected', f'{expected:,.0f} kg'),
            ('centre of gravity ahead of the base', f'{scales.center[0]:.3f} m'),
            ('centre of gravity to the left of the base', f'{scales.center[1]:.3f} m'),
            ('centre of gravity above the ground, of the model', f'{center[2]:.3f} m'),
        ]
        if values['front_reading'] > 0.0:
            measured = scales.height(values['front_reading'], angle)
            rows.append(('centre of gravity above the ground, from --set front_reading', f'{measured:.3f} m'))
        return (
            ResultTable(f'{WEIGHING}: readings to compare with the real machine', WEIGHING, ('value', ''), tuple(rows)),
        )

    def notes(self, machine: Machine, values: Mapping[str, float]) -> tuple[str, ...]:
        """Return the definition of the angle; see `CaseStandard.notes`."""
        return (
            'Slope at which the equilibrium is lost; an oscillating axle is free until its stop. Straight ahead.',
            'Height by weighing: from the front reading on level ground and with the machine inclined, on rigid tyres.',
        )


class Scales(NamedTuple):
    """Scales under the supports of a machine on level ground.

    Attributes:
        loads: (c,) readings, kg.
        points: (c, 2) positions of the supports, m.
    """

    loads: Array
    points: Array

    @property
    def _ahead(self) -> NDArray[np.bool_]:
        x = self.points[:, 0]
        return np.asarray(x > 0.5 * (x.min() + x.max()))

    @property
    def _axles(self) -> tuple[float, float]:
        """Mean positions of the rear and of the front supports, m."""
        rear, front = (
            float(self.loads[side] @ self.points[side, 0] / self.loads[side].sum())
            for side in (~self._ahead, self._ahead)
        )
        return rear, front

    @property
    def center(self) -> Array:
        """Centre of gravity (2,) ahead and to the left of the base, m."""
        return np.asarray(self.loads @ self.points / self.loads.sum())

    def front_reading(self, height: float, angle: float) -> float:
        """Return the reading under the front supports with the machine inclined nose up, kg.

        Args:
            height: of the centre of gravity above the ground, m.
            angle: inclination, rad.
        """
        (rear, front), total = self._axles, float(self.loads.sum())
        return total * (float(self.center[0]) - rear - float(np.tan(angle)) * height) / (front - rear)

    def height(self, front_reading: float, angle: float) -> float:
        """Return the height of the centre of gravity above the ground from a reading; see `front_reading`, m."""
        (rear, front), total = self._axles, float(self.loads.sum())
        level = float(self.loads[self._ahead].sum())
        return (level - front_reading) * (front - rear) / (total * float(np.tan(angle)))
