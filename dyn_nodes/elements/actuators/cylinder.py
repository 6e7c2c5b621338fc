"""Hydraulic cylinder between two pins about a revolute joint, or along a prismatic joint."""

from __future__ import annotations

from typing import Any

import casadi as ca

from dyn_nodes.elements.hydraulic import HydraulicActuator, OilTerms
from dyn_nodes.elements.hydraulics import PortFlows, cylinder, linkage, stop_energy, stop_loss
from dyn_nodes.elements.hydraulics.oil import compression_energy, flow_energy
from dyn_nodes.model.linkage import piston_position
from dyn_nodes.model.machine import CylinderActuator
from dyn_nodes.multibody.actuators import Quantity
from dyn_nodes.multibody.spatial import Expression

_LEAST_LEVER = 1e-6  # m/rad; a shorter lever is a dead centre


class Cylinder(HydraulicActuator[CylinderActuator]):
    """A cylinder. Lines: head and rod; additional outputs: force (N), piston (m)."""

    kind = 'cylinder'

    @property
    def reported(self) -> tuple[Quantity, ...]:
        """Return the quantities of every hydraulic actuator, and the force."""
        return (*super().reported, Quantity('force', 'N'))

    def oil(
        self,
        record: CylinderActuator,
        pressures: tuple[Expression, Expression],
        spool: Expression,
        motion: tuple[Expression, Expression],
        ports: PortFlows,
    ) -> OilTerms:
        """Evaluate chambers, piston and end stops."""
        head, rod = pressures
        result, beta = cylinder(record, head, rod, spool, *motion, ports), record.supply.bulk_modulus
        head_volume, rod_volume = _volumes(record, result.piston)
        oil = head_volume * compression_energy(beta, head) + rod_volume * compression_energy(beta, rod)
        return OilTerms(
            flows=(result.head_flow, result.rod_flow),
            pressure_rates=(result.head_pressure_rate, result.rod_pressure_rate),
            effort=result.effort,
            outputs={'force': result.force, 'piston': result.piston},
            supplied_power=flow_energy(beta, head) * result.head_flow + flow_energy(beta, rod) * result.rod_flow,
            stored_energy=oil + stop_energy(record, result.piston),
            dissipated_power=record.viscous * result.piston_rate**2
            + stop_loss(record, result.piston, result.piston_rate),
        )

    def relieved(self, first: Expression, second: Expression) -> dict[str, Expression]:
        """Return the pressure of each line: each has a relief to tank, Pa."""
        return {'head line': first, 'rod line': second}

    def lever(self, position: Any) -> Any:
        """Return dX/dq, m/rad, or 1 or -1 on a prismatic joint."""
        return linkage(self.record.linkage, position).lever

    def pressures_at_rest(self, position: float, effort: float) -> tuple[float, float]:
        """Return the pressures of head and rod, Pa; pressures in the machine file are used unchanged.

        Raises ValueError at a dead centre.
        """
        record, idle = self.record, self.record.idle_pressure
        head, rod = record.initial_head_pressure, record.initial_rod_pressure
        if head is not None and rod is not None:
            return head, rod
        arm = float(self.lever(position))
        if abs(arm) < _LEAST_LEVER:
            raise ValueError(
                f'actuator {self.name!r}: joint {self.joint!r} is at a dead centre at q = {position:.6g} rad'
            )
        force = effort / arm
        if rod is not None:
            return (force + rod * record.rod_area) / record.head_area, rod
        if head is not None:
            return head, (head * record.head_area - force) / record.rod_area
        if force >= idle * (record.head_area - record.rod_area):
            return (force + idle * record.rod_area) / record.head_area, idle
        return idle, (idle * record.head_area - force) / record.rod_area

    def locked_stiffness(self, position: Any, head_pressure: Any = None, rod_pressure: Any = None) -> Any:
        """Return the joint stiffness of the locked cylinder, N m/rad or N/m (section 2.15 of the spec).

        Args:
            position: of the joint, rad or m.
            head_pressure: Pa. With both pressures the geometric term -F d2X/dq2 is added: the result is the full
                -d(effort)/dq at constant trapped oil.
            rod_pressure: Pa.
        """
        record, geometry = self.record, linkage(self.record.linkage, position)
        head_volume, rod_volume = _volumes(record, geometry.piston)
        oil = record.supply.bulk_modulus * (record.head_area**2 / head_volume + record.rod_area**2 / rod_volume)
        stiffness = oil * geometry.lever**2
        if head_pressure is None or rod_pressure is None:
            return stiffness
        return stiffness - (head_pressure * record.head_area - rod_pressure * record.rod_area) * geometry.lever_rate

    def capacity(self, position: Any, source: float, holding: bool) -> tuple[Any, Any]:
        """Return the efforts at pump relief pressure, or holding at line relief pressure; other side at tank."""
        record, supply, lever = self.record, self.record.supply, self.lever(position)
        pressure = supply.line_relief_pressure if holding else min(source, supply.line_relief_pressure)
        push = lever * (pressure * record.head_area - supply.tank_pressure * record.rod_area)
        pull = lever * (supply.tank_pressure * record.head_area - pressure * record.rod_area)
        return ca.fmin(push, pull), ca.fmax(push, pull)

    def summary(self, lower: float, upper: float, start: float) -> dict[str, Any]:
        """Return stroke, used stroke, areas, flow and relief pressures."""
        geometry = self.record.linkage
        low, high = sorted(piston_position(geometry, position) for position in (lower, upper))
        initial = piston_position(geometry, start)
        return {
            **super().summary(lower, upper, start),
            'travel': f'{low:.3f} to {high:.3f} of {geometry.stroke:.3f} m, starts at {initial:.3f}',
            'stroke': geometry.stroke,
            'used_stroke': [low, high],
            'initial_piston_position': initial,
            'head_area': self.record.head_area,
            'rod_area': self.record.rod_area,
        }


def _volumes(record: CylinderActuator, piston: Any) -> tuple[Any, Any]:
    """Return the volumes of oil on the head and on the rod side, m3."""
    return record.head_volume + record.head_area * piston, record.rod_volume - record.rod_area * piston
