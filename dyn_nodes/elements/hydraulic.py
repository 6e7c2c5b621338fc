"""Common part of hydraulic actuators: valve with spool, pump, reliefs and two lines."""

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
"""Parameter that all hydraulic actuators share: factor of the oil's bulk modulus."""
RELIEF_ROUND_OFF = 1e-4
"""Relative tolerance of the set pressure above which a pump's relief counts as open."""

Record = TypeVar('Record', bound=HydraulicRecord)


class Feed(NamedTuple):
    """Flows of a valve from its pump.

    Attributes:
        ports: flows of the valve.
        reliefs: surface of the pump's relief for the valve next to the pump; empty for the others.
    """

    ports: PortFlows
    reliefs: tuple[Surface, ...] = ()


class OilTerms(NamedTuple):
    """Oil and motion of an actuator at one state, first line first.

    Attributes:
        flows: total flow into each line, m3/s.  pressure_rates: Pa/s.
        effort: on the joint, N m or N.
        outputs: additional outputs of the kind, by quantity.
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
        record: parameters.
    """

    topic = 'hydraulics'

    def __init__(self, record: Record) -> None:
        self.record: Record = record

    @property
    def states(self) -> tuple[ElementState, ...]:
        """Return the spool and the two line pressures."""
        lines = (ElementState(f'{self.name}/{line}', scale=1e6, stiff=True) for line in self.record.lines)
        return (ElementState(f'{self.name}/spool', scale=1e-3), *lines)

    @property
    def inputs(self) -> tuple[Command, ...]:
        """Return the voltage of the valve."""
        return (Command(f'{self.name}/voltage', self.record.valve.dead_time),)

    @property
    def parameters(self) -> Mapping[str, float]:
        """Return the factor of the bulk modulus."""
        return {OIL_SCALE: 1.0}

    @property
    def reported(self) -> tuple[Quantity, ...]:
        """Return pressures, spool, flows and effort."""
        pressures = (*self.record.lines, 'supply_pressure')
        flows = (Quantity('flow_a', 'm3/s'), Quantity('flow_b', 'm3/s'))
        return (*(Quantity(name, 'Pa') for name in pressures), Quantity('spool', 'm'), *flows, Quantity('effort', ''))

    def terms(
        self, position: Expression, rate: Expression, symbols: Symbols, feed: Feed | None = None
    ) -> ActuatorTerms:
        """Evaluate the actuator; `feed` holds the flows from a shared pump (`shared_feeds`)."""
        spool, first, second = (symbols[state.name] for state in self.states)
        ports, reliefs = feed or self._dedicated_feed(spool, first, second)
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

    def _dedicated_feed(self, spool: Expression, first: Expression, second: Expression) -> Feed:
        ports = valve_flows(self.record.valve, self.record.supply, spool, first, second)
        pressure = ports.supply_pressure
        excess = pressure - self.record.supply.relief_pressure * (1.0 - RELIEF_ROUND_OFF)
        return Feed(ports, (self.relief('pump', excess, pressure),))

    def relief(self, name: str, excess: Expression, pressure: Expression) -> Surface:
        """Return the event surface of a relief valve: excess over the set pressure, and pressure, Pa."""
        return relief_surface({'actuator': self.name, 'joint': self.joint, 'relief': name}, excess, pressure)

    def at_rest(self, position: float, effort: float) -> tuple[float, ...]:
        """Return a neutral spool and the pressures that hold an effort (`pressures_at_rest`)."""
        return (0.0, *self.pressures_at_rest(position, effort))

    def summary(self, lower: float, upper: float, start: float) -> dict[str, Any]:
        """Return flow and relief pressures of the actuator's pump."""
        supply = self.record.supply
        return {
            'flow': supply.flow,
            'relief_pressure': supply.relief_pressure,
            'line_relief_pressure': supply.line_relief_pressure,
        }

    @abstractmethod
    def lever(self, position: Any) -> Any:
        """Return the actuator's travel per travel of the joint."""

    @abstractmethod
    def pressures_at_rest(self, position: float, effort: float) -> tuple[float, float]:
        """Return the line pressures that hold an effort, Pa; the unloaded side is at idle pressure (spec G5)."""

    @abstractmethod
    def relieved(self, first: Expression, second: Expression) -> dict[str, Expression]:
        """Return the pressures on the line reliefs, Pa, by the name of the relief."""

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
            record: parameters of the actuator, bulk modulus scaled.
            pressures: line pressures, Pa.
            spool: displacement, m.
            motion: position and rate of the joint.
            ports: flows of the valve.
        """


def relief_surface(subject: Mapping[str, str], excess: Expression, pressure: Expression) -> Surface:
    """Return the event surface of a relief valve that is open if the excess is positive, Pa."""
    return Surface(Watch('relief_open', 'relief_closed', 'pressure', subject), excess, pressure)


def shared_feeds(machine: Machine, actuators: Iterable[ActuatorElement], symbols: Symbols) -> dict[str, Feed]:
    """Return the flows from a machine's shared pumps, by the name of the actuator."""
    present = {actuator.name: actuator for actuator in actuators}
    feeds: dict[str, Feed] = {}
    for pump in machine.pumps:
        fed: Sequence[ActuatorElement] = [present[name] for name in pump.actuators if name in present]
        if not fed:
            continue
        row = [
            SeriesMember(
                actuator.record.valve, actuator.record.supply, *(symbols[state.name] for state in actuator.states)
            )
            for actuator in fed
        ]
        flows = series_flows(row, pump.flow, pump.relief_pressure)
        feeds |= {actuator.name: Feed(ports) for actuator, ports in zip(fed, flows)}
        pressure = flows[0].supply_pressure
        excess = pressure - pump.relief_pressure * (1.0 - RELIEF_ROUND_OFF)
        feeds[fed[0].name] = Feed(flows[0], (relief_surface({'pump': pump.name, 'relief': 'pump'}, excess, pressure),))
    return feeds
