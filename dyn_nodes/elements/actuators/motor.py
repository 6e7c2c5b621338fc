"""Hydraulic rotary motor with gear."""

from __future__ import annotations

from typing import Any

from dyn_nodes.elements.hydraulic import HydraulicActuator, OilTerms
from dyn_nodes.elements.hydraulics import PortFlows, motor
from dyn_nodes.model.machine import MotorActuator
from dyn_nodes.multibody.spatial import Expression


class Motor(HydraulicActuator[MotorActuator]):
    """A motor between line a, which drives the joint forward, and line b, with cross-over reliefs.

    The volume of a line is constant: its energy is V P^2 / (2 beta), the power that oil carries into it P Q.
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
        result = motor(record, first, second, spool, motion[1], ports)
        return OilTerms(
            flows=(result.first_flow, result.second_flow),
            pressure_rates=(result.first_pressure_rate, result.second_pressure_rate),
            effort=result.effort,
            outputs={},
            supplied_power=first * result.first_flow + second * result.second_flow,
            stored_energy=0.5 * record.line_volume / record.supply.bulk_modulus * (first**2 + second**2),
            dissipated_power=record.viscous * motion[1] ** 2,
        )

    def relieved(self, first: Expression, second: Expression) -> dict[str, Expression]:
        """Return the pressure differences, Pa: each line has a relief into the other."""
        difference = first - second
        return {'cross-over a to b': difference, 'cross-over b to a': -difference}

    def lever(self, position: Any) -> float:
        """Return 1: the shaft turns with the joint."""
        return 1.0

    def pressures_at_rest(self, position: float, effort: float) -> tuple[float, float]:
        """Return pressures about the idle pressure, raised if one of them would fall below tank pressure, Pa."""
        half = 0.5 * effort / self.record.displacement
        mean = max(self.record.idle_pressure, self.record.supply.tank_pressure + abs(half))
        return mean + half, mean - half

    def locked_stiffness(self, position: Any) -> Any:
        """Return the joint stiffness of the locked motor, N m/rad (section 2.15 of the spec)."""
        record = self.record
        return 2.0 * record.supply.bulk_modulus * record.displacement * record.displacement / record.line_volume

    def capacity(self, position: Any, source: float, holding: bool) -> tuple[float, float]:
        """Return the efforts at cross-over relief pressure; in motion the other line is at tank pressure."""
        supply = self.record.supply
        pressure = supply.line_relief_pressure
        if not holding:
            pressure = min(pressure, source - supply.tank_pressure)
        return -pressure * self.record.displacement, pressure * self.record.displacement

    def summary(self, lower: float, upper: float, start: float) -> dict[str, Any]:
        """Return displacement, flow and relief pressures."""
        displacement = self.record.displacement
        return {
            **super().summary(lower, upper, start),
            'travel': f'{displacement:.4g} m3/rad',
            'displacement': displacement,
        }
