"""Record of a d-c motor: keys, relations and checks."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from dyn_nodes.model.actuator import Drive
from dyn_nodes.model.bodies import Joint
from dyn_nodes.model.electric import ElectricRecord
from dyn_nodes.model.magnitudes.relation import Quantity, Relation, relation
from dyn_nodes.model.problems import Report
from dyn_nodes.model.problems import number as shown
from dyn_nodes.model.schema import number
from dyn_nodes.model.source_map import SourceMap

LEAST_SHARE_OF_SPEED = 10.0
"""Greatest ratio of the velocity limit of a joint to the speed of its motor before `check` warns of the gear."""


@dataclass(frozen=True)
class DcMotorActuator(ElectricRecord):
    """D-c motor with constant field behind a gear train without backlash and compliance (freeman-1985, 2-228 to 2-237).

    In SI units the torque constant (N m/A) and the back-emf constant (V s/rad) of a motor are one number.
    """

    kind: ClassVar[str] = 'dc_motor'

    torque_constant: Annotated[
        float, number('torque of the rotor per current, which is its back-emf in V s/rad', 'N m/A', 'positive')
    ]
    resistance: Annotated[float, number('of the armature winding', 'ohm', 'positive')]
    inductance: Annotated[float, number('of the armature winding', 'H', 'positive')]
    voltage_limit: Annotated[float, number('of the source; greater commands are clipped', 'V', 'positive')]
    current_limit: Annotated[
        float, number('limit of the current by the amplifier, at most the limit of the source', 'A',
                      'positive')
    ]  # fmt: skip
    gear_ratio: Annotated[
        float, number('rotor angle per joint position, or per angle of the screw', 'rad/rad or rad/m', 'positive')
    ] = 1.0
    screw_lead: Annotated[
        float | None, number('travel per turn of a screw behind the gear, on a prismatic joint; absent: no screw', 'm',
                             'positive')
    ] = None  # fmt: skip
    rotor_inertia: Annotated[
        float,
        number(
            'of the rotor and parts turning with it, in addition to the masses of the URDF', 'kg m2', 'non-negative'
        ),
    ] = 0.0
    rotor_damping: Annotated[float, number('viscous friction at the rotor', 'N m s/rad', 'non-negative')] = 0.0

    @property
    def drive_ratio(self) -> float:
        """Rotor angle per joint position through gear and screw, rad/rad or rad/m."""
        return self.gear_ratio if self.screw_lead is None else self.gear_ratio * 2.0 * math.pi / self.screw_lead

    @property
    def reflected_inertia(self) -> float:
        """Inertia of the rotor at the joint, kg m2 or kg (2-237)."""
        return self.drive_ratio**2 * self.rotor_inertia

    @property
    def effort_per_current(self) -> float:
        """Effort of the joint per current, N m/A or N/A; back-emf per rate of the joint, V s/rad or V s/m (2-237)."""
        return self.drive_ratio * self.torque_constant

    @property
    def viscous(self) -> float:
        """Viscous friction at the joint, N m s/rad or N s/m (2-237)."""
        return self.drive_ratio**2 * self.rotor_damping

    @property
    def current_unit(self) -> str:
        """Unit of the effort per current; N/A with a screw."""
        return 'N m/A' if self.screw_lead is None else 'N/A'

    def relations(self, drive: Drive) -> Iterator[Relation]:
        """Yield the relations of winding, gear and rotor to the joint."""

        def value(key: str, unit: str) -> Quantity:
            return Quantity(f'actuators.{self.name}.{key}', getattr(self, key) or 0.0, unit)

        constant, resistance = value('torque_constant', 'N m/A'), value('resistance', 'ohm')
        inductance, voltage, current = (
            value('inductance', 'H'),
            value('voltage_limit', 'V'),
            value('current_limit', 'A'),
        )
        inertia, damping = value('rotor_inertia', 'kg m2'), value('rotor_damping', 'N m s/rad')
        gear: tuple[tuple[Quantity, float], ...] = ((value('gear_ratio', 'rad/rad'), 1.0),)
        if self.screw_lead is not None:
            gear += ((value('screw_lead', 'm'), -1.0),)
        factor = 1.0 if self.screw_lead is None else 2.0 * math.pi
        back = tuple((quantity, -power) for quantity, power in gear)
        twice = tuple((quantity, 2.0 * power) for quantity, power in gear)
        yield from relation(
            'a speed without load over the limit of its joint',
            '',
            0.2,
            30.0,
            (constant, -1.0),
            (voltage, 1.0),
            (drive.velocity, -1.0),
            *back,
            factor=1.0 / factor,
        )
        yield from relation(
            'an effort at its current limit over the effort limit of its joint',
            '',
            0.03,
            30.0,
            (constant, 1.0),
            (current, 1.0),
            (drive.effort, -1.0),
            *gear,
            factor=factor,
        )
        yield from relation('a time constant of its winding', 's', 2e-5, 0.1, (inductance, 1.0), (resistance, -1.0))
        yield from relation(
            'a current at standstill over its limit',
            '',
            0.3,
            300.0,
            (voltage, 1.0),
            (resistance, -1.0),
            (current, -1.0),
        )
        yield from relation(
            'a mechanical time constant of its rotor',
            's',
            2e-4,
            1.0,
            (inertia, 1.0),
            (resistance, 1.0),
            (constant, -2.0),
        )
        yield from relation(
            'a current without load over its limit',
            '',
            5e-5,
            1.0,
            (damping, 1.0),
            (voltage, 1.0),
            (constant, -2.0),
            (current, -1.0),
        )
        yield from relation('a speed without load of its rotor', 'rad/s', 1.0, 5e3, (voltage, 1.0), (constant, -1.0))
        yield from relation(
            'an inertia of its rotor over the inertia that its joint moves',
            '',
            1e-6,
            1e4,
            (inertia, 1.0),
            *twice,
            factor=factor**2 / drive.inertia,
        )

    def check(self, joint: Joint, source_map: SourceMap, report: Report) -> None:
        """Report a screw on a revolute joint, and a velocity limit beyond the voltage of the source (wrong units)."""
        if self.screw_lead is not None and joint.type != 'prismatic':
            where = f'actuators.{self.name}.screw_lead'
            report.add(source_map.line(where), where, 'a prismatic joint for a screw', f'a {joint.type} joint')
            return
        if not math.isfinite(joint.velocity_limit) or joint.velocity_limit <= 0.0:
            return
        fastest = self.voltage_limit / self.effort_per_current
        if fastest < joint.velocity_limit / LEAST_SHARE_OF_SPEED:
            key, value = ('gear_ratio', self.gear_ratio) if self.screw_lead is None else ('screw_lead', self.screw_lead)
            where = f'actuators.{self.name}.{key}'
            expected = f'a gear with which {shown(self.voltage_limit)} V reach a speed near the limit of {joint.name}'
            report.warn(source_map.line(where), where, expected, f'{shown(value)}: {shown(fastest)} at most')
