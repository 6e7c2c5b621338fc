"""The swing drive of the specification's reference runs: each line is relieved into the other at its line pressure.

A cross-over relief has its spring chamber on the other line and therefore opens on the pressure difference, as in
`hydraulics.crossover_relief_flow`. The reference numbers of experiment E8 (spec 6.8) are reproduced to all digits only
if each line opens at 22 MPa regardless of the other line; `test/studies/abo_shanab_2003/test_swing_study.py` compares
both. Both are equal while no line exceeds 22 MPa.
"""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

import casadi as ca

from dyn_nodes.compile import CompiledModule, build_module
from dyn_nodes.elements.actuators import KINDS, Kinds
from dyn_nodes.elements.actuators.motor import Motor
from dyn_nodes.elements.hydraulic import OilTerms
from dyn_nodes.elements.hydraulics import PortFlows
from dyn_nodes.elements.hydraulics.supply import crossover_relief_flow, signed_root
from dyn_nodes.model.machine import MotorActuator, Supply
from dyn_nodes.multibody.spatial import Expression
from dyn_nodes.simulation.assembly import Assembly
from dyn_nodes.simulation.tree_dynamics import TreeDynamics


def line_relief_flow(supply: Supply, first: Expression, second: Expression) -> Expression:
    """Return the relief flow from the first into the second line above the relief pressure, m3/s."""
    excess = [ca.fmax(pressure - supply.line_relief_pressure, 0.0) for pressure in (first, second)]
    size = supply.orifice_coefficient * supply.line_relief_area
    return size * (signed_root(excess[0], supply.smoothing) - signed_root(excess[1], supply.smoothing))


class LineReliefMotor(Motor):
    """A motor with line reliefs."""

    def oil(
        self,
        record: MotorActuator,
        pressures: tuple[Expression, Expression],
        spool: Expression,
        motion: tuple[Expression, Expression],
        ports: PortFlows,
    ) -> OilTerms:
        """Evaluate lines and shaft with line reliefs in place of the cross-over relief."""
        terms, supply = super().oil(record, pressures, spool, motion, ports), record.supply
        more = line_relief_flow(supply, *pressures) - crossover_relief_flow(supply, *pressures)
        stiffness = supply.bulk_modulus / record.line_volume
        return terms._replace(
            pressure_rates=(terms.pressure_rates[0] - stiffness * more, terms.pressure_rates[1] + stiffness * more),
            flows=(terms.flows[0] - more, terms.flows[1] + more),
            supplied_power=terms.supplied_power + (pressures[1] - pressures[0]) * more,
        )


class LineReliefAssembly(Assembly):
    """A plant whose motors have line reliefs."""

    actuator_kinds: ClassVar[Kinds] = {**KINDS, 'motor': LineReliefMotor}


class LineReliefDynamics(TreeDynamics):
    """The dynamics of a machine whose motors have line reliefs."""

    def assembly(self) -> Assembly:
        """Return the traced equations."""
        return LineReliefAssembly(self.machine, self.actuation, self.base, self.audit, books=True)

    def _build(self, kind: str, make: Any) -> CompiledModule:
        key = [*self._key, inspect.getsource(line_relief_flow), inspect.getsource(LineReliefMotor)]
        return build_module(f'{self.machine.name}: {kind}_line_relief', key, make)
