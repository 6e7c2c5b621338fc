"""Hydraulic rotary motor with gear."""

from __future__ import annotations

from typing import Any

from dyn_nodes.elements.hydraulic import HydraulicActuator, OilTerms
from dyn_nodes.elements.hydraulics import PortFlows, motor
from dyn_nodes.model.machine import MotorActuator
from dyn_nodes.multibody.spatial import Expression


class Motor(HydraulicActuator[MotorActuator]):
    """A motor between the lines a, which drives the joint forward, and b, with cross-over reliefs.

    The volume of a line is constant: V P^2 / (2 beta) is its energy, P Q the power that oil carries into it.
    """

    kind = 'motor'

    def oil(
        self,
        record: MotorActuator,
        pressures: tuple[Expression, Expression],
        spool: Expression,
        motion: tuple[Expression, Expression],
        ports: PortFlows,
    ) -> OilTerms:
        """Evaluate lines and shaft."""
        first, second = pressures
        own = motor(record, first, second, spool, motion[1], ports)
        return OilTerms(
            flows=(own.first_flow, own.second_flow),
            pressure_rates=(own.first_pressure_rate, own.second_pressure_rate),
            effort=own.effort,
            outputs={},
            supplied_power=first * own.first_flow + second * own.second_flow,
            stored_energy=0.5 * record.line_volume / record.supply.bulk_modulus * (first**2 + second**2),
            dissipated_power=record.viscous * motion[1] ** 2,
        )

    def relieved(self, first: Expression, second: Expression) -> dict[str, Expression]:
        """Each line is relieved into the other."""
        difference = first - second
        return {'cross-over a to b': difference, 'cross-over b to a': -difference}

    def lever(self, position: Any) -> float:
        """Return 1: the displacement is that of the joint."""
        return 1.0

    def pressures_at_rest(self, position: float, effort: float) -> tuple[float, float]:
        """Return pressures whose mean is idle, unless that would take one of them below tank pressure."""
        half = 0.5 * effort / self.record.displacement
        mean = max(self.record.idle_pressure, self.record.supply.tank_pressure + abs(half))
        return mean + half, mean - half

    def locked_stiffness(self, position: Any) -> Any:
        """Return the joint stiffness of the locked motor, N m/rad (section 2.15 of the spec)."""
        record = self.record
        return 2.0 * record.supply.bulk_modulus * record.displacement * record.displacement / record.line_volume

    def capacity(self, position: Any, source: float, holding: bool) -> tuple[float, float]:
        """Return the efforts at the cross-over relief; while it moves the other line is at tank pressure."""
        supply = self.record.supply
        pressure = supply.line_relief_pressure
        if not holding:
            pressure = min(pressure, source - supply.tank_pressure)
        return -pressure * self.record.displacement, pressure * self.record.displacement

    def summary(self, lower: float, upper: float, start: float) -> dict[str, Any]:
        """Displacement; flow and reliefs."""
        own = self.record.displacement
        return {**super().summary(lower, upper, start), 'travel': f'{own:.4g} m3/rad', 'displacement': own}
