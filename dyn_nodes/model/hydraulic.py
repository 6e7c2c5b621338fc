"""Records of valves, pumps and oil, and their checks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from dyn_nodes.model.actuator import ActuatorRecord, Drive
from dyn_nodes.model.bodies import Joint
from dyn_nodes.model.limits import LEAST_BULK_MODULUS, unit_remark
from dyn_nodes.model.magnitudes.relation import Quantity, Relation, relation
from dyn_nodes.model.problems import Report, did_you_mean
from dyn_nodes.model.problems import number as shown
from dyn_nodes.model.schema import collection, number
from dyn_nodes.model.source_map import SourceMap


def modulus_remark(value: float, unit: str) -> str | None:
    """Return a remark on a bulk modulus that cannot be in Pa, else None."""
    if value < LEAST_BULK_MODULUS:
        return f'{value:.6g} Pa, which looks like MPa or bar (oil has about 1e9 Pa)'
    return unit_remark(value, unit)


def no_remark(value: float, unit: str) -> None:
    """Accept a number of any size."""


@dataclass(frozen=True)
class Valve:
    """Open-centre directional valve and its spool drive (abo-shanab-2003, eqs 2.7 to 2.17; spec G4).

    Opening xi = max(0, |x| - dead_zone); inlet area = inlet_gain xi; outlet area = outlet_gain xi;
    bypass area = bypass_area max(0, 1 - |x| / bypass_stroke). Areas m2, gains m, spool x in m.
    """

    inlet_gain: Annotated[float, number('inlet area per opening of the spool beyond the dead zone', 'm', 'positive')]
    outlet_gain: Annotated[float, number('outlet area per opening of the spool beyond the dead zone', 'm', 'positive')]
    bypass_area: Annotated[float, number('area of the open centre at neutral', 'm2', 'positive')]
    bypass_stroke: Annotated[float, number('spool displacement that shuts the open centre', 'm', 'positive')]
    dead_zone: Annotated[float, number('spool displacement before a port opens', 'm', 'non-negative')]
    time_constant: Annotated[float, number('of the spool', 's', 'positive')]
    gain: Annotated[float, number('spool displacement per volt', 'm/V', 'positive')]
    voltage_limit: Annotated[float, number('greater commands are clipped', 'V', 'positive')]
    spool_limit: Annotated[float, number('mechanical stop of the spool', 'm', 'positive')]
    dead_time: Annotated[float, number('delay from a voltage to the motion of the spool', 's', 'non-negative')] = 0.0


@dataclass(frozen=True)
class Supply:
    """Pump, oil and protection of one function. The signed root is d / sqrt(|d| + smoothing)."""

    flow: Annotated[float, number('constant flow of the pump', 'm3/s', 'positive')]
    relief_pressure: Annotated[float, number('of the pump', 'Pa', 'positive')]
    line_relief_pressure: Annotated[float, number('of each port (cylinder), cross-over (motor)', 'Pa', 'positive')]
    line_relief_area: Annotated[float, number('of the line relief', 'm2', 'non-negative')]
    makeup_area: Annotated[float, number('of the anti-cavitation check', 'm2', 'non-negative')]
    tank_pressure: Annotated[float, number('of the return line', 'Pa', 'non-negative')]
    bulk_modulus: Annotated[float, number('effective, of oil and hoses', 'Pa', 'positive', remark=modulus_remark)]
    orifice_coefficient: Annotated[float, number('C_d sqrt(2 / density)', 'm^(3/2)/kg^(1/2)', 'positive')]
    smoothing: Annotated[
        float, number('regularizes the root of the pressure drop', 'Pa', 'positive', remark=no_remark)
    ] = 1e3


@dataclass(frozen=True)
class SharedPump:
    """One pump for several functions: the open centre of each valve feeds the next valve, the last one's goes to tank.

    A working function takes oil from the functions behind it, which slow down; all outlets go to tank.
    `supply.flow` and `supply.relief_pressure` of the actuators are not used.
    """

    name: str
    actuators: Annotated[tuple[str, ...], collection('names', 'that it feeds, the one nearest to the pump first')]
    flow: Annotated[float, number('constant flow; replaces `supply.flow` of the actuators', 'm3/s', 'positive')]
    relief_pressure: Annotated[float, number('replaces `supply.relief_pressure` of the actuators', 'Pa', 'positive')]


class HydraulicRecord(ActuatorRecord):
    """An actuator between two lines behind a valve. A subclass declares its keys, including the fields below.

    Attributes:
        lines: names of the pressures of the two lines.
        leakage: from line to line, m3/(s Pa).
        viscous: friction at the joint or the piston, N m s/rad or N s/m.
        idle_pressure: of the lines without load, Pa.
    """

    lines: ClassVar[tuple[str, str]]

    valve: Valve
    supply: Supply
    leakage: float
    viscous: float
    idle_pressure: float

    @property
    def areas(self) -> tuple[float, float]:
        """Oil volume of each line per travel of the piston, m2, or per angle of the joint, m3/rad."""
        raise NotImplementedError

    @property
    def command_limit(self) -> float:
        """Greatest voltage of the valve, V."""
        return self.valve.voltage_limit

    @property
    def source_limit(self) -> float:
        """Relief pressure of the pump if it is not shared, Pa."""
        return self.supply.relief_pressure

    def relations(self, drive: Drive) -> Iterator[Relation]:
        """Yield the relations of pump, oil and valve."""
        flow, relief = self.source(drive)
        yield from self._supply_relations(flow, relief)
        yield from self._valve_relations(flow, relief)

    def source(self, drive: Drive) -> tuple[Quantity, Quantity]:
        """Return flow, m3/s, and relief pressure, Pa, of the pump that feeds the actuator."""
        where = f'actuators.{self.name}.supply'
        flow = drive.flow or Quantity(f'{where}.flow', self.supply.flow, 'm3/s')
        return flow, drive.relief or Quantity(f'{where}.relief_pressure', self.supply.relief_pressure, 'Pa')

    def _supply_relations(self, flow: Quantity, relief: Quantity) -> Iterator[Relation]:
        supply, where = self.supply, f'actuators.{self.name}.supply'

        def pressure(key: str) -> Quantity:
            return Quantity(f'{where}.{key}', getattr(supply, key), 'Pa')

        coefficient = Quantity(f'{where}.orifice_coefficient', supply.orifice_coefficient, 'm^(3/2)/kg^(1/2)')
        line, tank = pressure('line_relief_pressure'), pressure('tank_pressure')
        yield from relation('a relief pressure', 'Pa', 2e6, 1e8, (relief, 1.0))
        yield from relation('a relief pressure of the lines', 'Pa', 2e6, 1e8, (line, 1.0))
        yield from relation('a line relief over the relief of the pump', '', 0.3, 3.0, (line, 1.0), (relief, -1.0))
        yield from relation('a tank pressure', 'Pa', 1e3, 3e6, (tank, 1.0))
        yield from relation('a tank pressure over the relief', '', 1e-4, 0.3, (tank, 1.0), (relief, -1.0))
        yield from relation('a bulk modulus', 'Pa', 1e8, 3e9, (pressure('bulk_modulus'), 1.0))
        yield from relation('a coefficient of an orifice', 'm^(3/2)/kg^(1/2)', 0.01, 0.08, (coefficient, 1.0))
        yield from relation('a smoothing over the relief', '', 1e-7, 0.02, (pressure('smoothing'), 1.0), (relief, -1.0))
        for key in ('line_relief_area', 'makeup_area'):
            area = Quantity(f'{where}.{key}', getattr(supply, key), 'm2')
            yield from relation(
                'a flow at the relief pressure over the flow of the pump',
                '',
                0.05,
                300.0,
                (area, 1.0),
                (coefficient, 1.0),
                (relief, 0.5),
                (flow, -1.0),
            )
        leakage = Quantity(f'actuators.{self.name}.leakage', getattr(self, 'leakage', 0.0), 'm3/(s Pa)')
        yield from relation(
            'a leakage at the relief pressure over the flow of the pump',
            '',
            1e-9,
            1.0,
            (leakage, 1.0),
            (relief, 1.0),
            (flow, -1.0),
        )
        for key in ('idle_pressure', 'initial_head_pressure', 'initial_rod_pressure'):
            idle = Quantity(f'actuators.{self.name}.{key}', getattr(self, key, None) or 0.0, 'Pa')
            yield from relation('a pressure over the relief of the lines', '', 1e-3, 2.0, (idle, 1.0), (line, -1.0))

    def _valve_relations(self, flow: Quantity, relief: Quantity) -> Iterator[Relation]:
        valve, where = self.valve, f'actuators.{self.name}.valve'

        def value(key: str, unit: str = 'm') -> Quantity:
            return Quantity(f'{where}.{key}', getattr(valve, key), unit)

        coefficient = Quantity(
            f'actuators.{self.name}.supply.orifice_coefficient', self.supply.orifice_coefficient, 'm^(3/2)/kg^(1/2)'
        )
        command, stop = value('voltage_limit', 'V'), value('spool_limit')
        travel = min(valve.spool_limit, valve.gain * valve.voltage_limit)
        across = ((flow, 2.0), (coefficient, -2.0), (relief, -1.0))
        for key in ('inlet_gain', 'outlet_gain'):
            yield from relation(
                'a pressure drop at the flow of the pump over the relief',
                '',
                1e-5,
                20.0,
                (value(key), -2.0),
                *across,
                factor=(travel - valve.dead_zone) ** -2.0,
            )
        yield from relation(
            'a pressure drop of the open centre over the relief',
            '',
            1e-5,
            5.0,
            (value('bypass_area', 'm2'), -2.0),
            *across,
        )
        yield from relation(
            'a stroke that shuts the open centre over the spool limit',
            '',
            0.01,
            5.0,
            (value('bypass_stroke'), 1.0),
            (stop, -1.0),
        )
        yield from relation(
            'a travel at the greatest voltage over the spool limit',
            '',
            0.05,
            20.0,
            (value('gain', 'm/V'), 1.0),
            (command, 1.0),
            (stop, -1.0),
        )
        yield from relation('a travel of the spool', 'm', 1e-4, 0.1, (stop, 1.0))
        yield from relation('a dead zone over the spool limit', '', 1e-4, 0.9, (value('dead_zone'), 1.0), (stop, -1.0))
        yield from relation('a time constant of the spool', 's', 2e-4, 3.0, (value('time_constant', 's'), 1.0))
        yield from relation('a dead time', 's', 1e-5, 3.0, (value('dead_time', 's'), 1.0))

    def check(self, joint: Joint, source_map: SourceMap, report: Report) -> None:
        """Report a spool that does not open the valve, and relief pressures below the tank pressure."""
        valve, supply, where = self.valve, self.supply, f'actuators.{self.name}.valve.dead_zone'
        travel = min(valve.spool_limit, valve.gain * valve.voltage_limit)
        if travel <= valve.dead_zone:
            expected = f'a dead zone below the travel of the spool, {shown(travel)} m'
            report.add(source_map.line(where), source_map.written(where), expected, shown(valve.dead_zone))
        reliefs = {'relief_pressure': supply.relief_pressure, 'line_relief_pressure': supply.line_relief_pressure}
        for key, pressure in reliefs.items():
            where = f'actuators.{self.name}.supply.{key}'
            if pressure <= supply.tank_pressure:
                expected = f'more than the tank pressure, {shown(supply.tank_pressure)} Pa'
                report.add(source_map.line(where), source_map.written(where), expected, shown(pressure))


def check_pumps(
    pumps: Sequence[SharedPump], actuators: Sequence[ActuatorRecord], source_map: SourceMap, report: Report
) -> None:
    """Report pumps without actuators, with electric actuators, or with actuators of another pump."""
    takes_oil = {actuator.name: isinstance(actuator, HydraulicRecord) for actuator in actuators}
    fed: dict[str, str] = {}
    for pump in pumps:
        where = f'pumps.{pump.name}.actuators'
        line = source_map.line(where)
        if not pump.actuators:
            report.add(line, where, 'at least one actuator', 'an empty list')
        for name in pump.actuators:
            if name not in takes_oil:
                report.add(line, where, 'actuators of this machine', did_you_mean(name, takes_oil))
            elif not takes_oil[name]:
                report.add(line, where, 'hydraulic actuators', f'{name!r}, which takes no oil')
            elif name in fed:
                actual = f'{name!r} twice' if fed[name] == pump.name else f'{name!r}, which pump {fed[name]!r} feeds'
                report.add(line, where, 'every actuator at one pump', actual)
            fed[name] = pump.name
