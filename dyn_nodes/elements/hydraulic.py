"""Common part of the hydraulic actuators: a valve with its spool, its pump and its reliefs, and two lines."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from dyn_nodes.elements.hydraulics import PortFlows, SeriesMember, series_flows, spool_rate, valve_flows
from dyn_nodes.model.hydraulic import HydraulicRecord
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.actuators import ActuatorElement, ActuatorTerms, Quantity
from dyn_nodes.multibody.elements import Command, ElementState, Surface, Symbols, Watch, symbolic
from dyn_nodes.multibody.spatial import Expression

OIL_SCALE = 'bulk_modulus_scale'
"""Parameter that all hydraulic actuators share: a factor of the bulk modulus of the oil."""
RELIEF_ROUND_OFF = 1e-4
"""A pump's relief counts as open from this share below its set pressure on; open, it holds the gallery there."""

Record = TypeVar('Record', bound=HydraulicRecord)


class Feed(NamedTuple):
    """Oil that a valve gets from its pump.

    Attributes:
        ports: flows of the valve.
        reliefs: surface of the pump's relief, at the valve next to the pump; else empty.
    """

    ports: PortFlows
    reliefs: tuple[Surface, ...] = ()


class OilTerms(NamedTuple):
    """Oil and motion of an actuator at one state, first line first.

    Attributes:
        flows: all oil entering each line, m3/s.  pressure_rates: Pa/s.
        effort: on the joint, N m or N.
        outputs: by quantity, beside those that every hydraulic actuator has.
        supplied_power, stored_energy, dissipated_power: see `ActuatorTerms`; the oil enters at the lines.
    """

    flows: tuple[Expression, Expression]
    pressure_rates: tuple[Expression, Expression]
    effort: Expression
    outputs: Mapping[str, Expression]
    supplied_power: Expression
    stored_energy: Expression
    dissipated_power: Expression


class HydraulicActuator(ActuatorElement, Generic[Record]):
    """An actuator between two lines. States: spool (m) and the pressures of the lines (Pa); input: voltage (V).

    Args:
        record: its numbers.
    """

    topic = 'hydraulics'

    def __init__(self, record: Record) -> None:
        self.record: Record = record

    @property
    def states(self) -> tuple[ElementState, ...]:
        """Spool and the two line pressures."""
        lines = (ElementState(f'{self.name}/{line}', scale=1e6, stiff=True) for line in self.record.lines)
        return (ElementState(f'{self.name}/spool', scale=1e-3), *lines)

    @property
    def inputs(self) -> tuple[Command, ...]:
        """Voltage of the valve."""
        return (Command(f'{self.name}/voltage', self.record.valve.dead_time),)

    @property
    def parameters(self) -> Mapping[str, float]:
        """The factor of the bulk modulus."""
        return {OIL_SCALE: 1.0}

    @property
    def reported(self) -> tuple[Quantity, ...]:
        """Pressures, spool, flows and effort."""
        pressures = (*self.record.lines, 'supply_pressure')
        flows = (Quantity('flow_a', 'm3/s'), Quantity('flow_b', 'm3/s'))
        return (*(Quantity(name, 'Pa') for name in pressures), Quantity('spool', 'm'), *flows, Quantity('effort', ''))

    def terms(
        self, position: Expression, rate: Expression, symbols: Symbols, feed: Feed | None = None
    ) -> ActuatorTerms:
        """Evaluate the actuator; `feed` is what a shared pump gives (`shared_feeds`)."""
        spool, first, second = (symbols[state.name] for state in self.states)
        ports, reliefs = feed or self._own_feed(spool, first, second)
        supply = self.record.supply
        supply = symbolic(supply, bulk_modulus=supply.bulk_modulus * symbols[OIL_SCALE])
        oil = self.oil(symbolic(self.record, supply=supply), (first, second), spool, (position, rate), ports)
        outputs = {
            'effort': oil.effort,
            'supply_pressure': ports.supply_pressure,
            'bypass_flow': ports.bypass_flow,
            'flow_a': oil.flows[0],
            'flow_b': oil.flows[1],
            **oil.outputs,
        }
        limit = supply.line_relief_pressure
        lines = (self.relief(name, value - limit, value) for name, value in self.relieved(first, second).items())
        return ActuatorTerms(
            effort=oil.effort,
            rates=(spool_rate(self.record.valve, spool, symbols[self.inputs[0].name]), *oil.pressure_rates),
            outputs={f'{self.name}/{name}': value for name, value in outputs.items()},
            surfaces=(*lines, *reliefs),
            supplied_power=oil.supplied_power,
            stored_energy=oil.stored_energy,
            dissipated_power=oil.dissipated_power,
        )

    def _own_feed(self, spool: Expression, first: Expression, second: Expression) -> Feed:
        ports = valve_flows(self.record.valve, self.record.supply, spool, first, second)
        pressure = ports.supply_pressure
        excess = pressure - self.record.supply.relief_pressure * (1.0 - RELIEF_ROUND_OFF)
        return Feed(ports, (self.relief('pump', excess, pressure),))

    def relief(self, name: str, excess: Expression, pressure: Expression) -> Surface:
        """Return the surface of a relief valve: its excess over the set pressure, and the pressure, Pa."""
        return relief_surface({'actuator': self.name, 'joint': self.joint, 'relief': name}, excess, pressure)

    def at_rest(self, position: float, effort: float) -> tuple[float, ...]:
        """Return a neutral spool and the pressures that hold an effort (`pressures_at_rest`)."""
        return (0.0, *self.pressures_at_rest(position, effort))

    def summary(self, lower: float, upper: float, start: float) -> dict[str, Any]:
        """Flow and reliefs of a pump that feeds no other."""
        supply = self.record.supply
        return {
            'flow': supply.flow,
            'relief_pressure': supply.relief_pressure,
            'line_relief_pressure': supply.line_relief_pressure,
        }

    @abstractmethod
    def lever(self, position: Any) -> Any:
        """Return the travel that `areas` refer to per travel of the joint."""

    @abstractmethod
    def pressures_at_rest(self, position: float, effort: float) -> tuple[float, float]:
        """Return the line pressures that hold an effort, Pa; the side with less pressure idles (spec G5)."""

    @abstractmethod
    def relieved(self, first: Expression, second: Expression) -> dict[str, Expression]:
        """Return the pressures (Pa) at which the line reliefs open, by the name of the relief."""

    @abstractmethod
    def oil(
        self,
        record: Record,
        pressures: tuple[Expression, Expression],
        spool: Expression,
        motion: tuple[Expression, Expression],
        ports: PortFlows,
    ) -> OilTerms:
        """Evaluate oil and effort.

        Args:
            record: its numbers, those of the oil as the parameters have them.
            pressures: of the lines, Pa.
            spool: m.
            motion: position and rate of the joint.
            ports: flows of the valve.
        """


def relief_surface(subject: Mapping[str, str], excess: Expression, pressure: Expression) -> Surface:
    """Return the surface of a relief valve that is open where the excess is positive, Pa."""
    return Surface(Watch('relief_open', 'relief_closed', 'pressure', subject), excess, pressure)


def shared_feeds(machine: Machine, actuators: Iterable[ActuatorElement], symbols: Symbols) -> dict[str, Feed]:
    """Return what the shared pumps of a machine give, by the name of the actuator; those on one pump together."""
    present = {actuator.name: actuator for actuator in actuators}
    feeds: dict[str, Feed] = {}
    for pump in machine.pumps:
        fed: Sequence[ActuatorElement] = [present[name] for name in pump.actuators if name in present]
        if not fed:
            continue
        row = [
            SeriesMember(own.record.valve, own.record.supply, *(symbols[state.name] for state in own.states))
            for own in fed
        ]
        flows = series_flows(row, pump.flow, pump.relief_pressure)
        feeds |= {own.name: Feed(ports) for own, ports in zip(fed, flows)}
        pressure = flows[0].supply_pressure
        excess = pressure - pump.relief_pressure * (1.0 - RELIEF_ROUND_OFF)
        feeds[fed[0].name] = Feed(flows[0], (relief_surface({'pump': pump.name, 'relief': 'pump'}, excess, pressure),))
    return feeds
