"""The swing drive of the specification's reference runs: each line is relieved into the other at its own pressure.

A cross-over relief has its spring chamber on the other line, so it opens on the difference of both pressures; so it is
in the product (`hydraulics.crossover_relief_flow`). The reference numbers of experiment E8 (spec 6.8) come out to all
their digits only if each line opens at 22 MPa of its own, whatever the other holds:
`test/studies_abo_shanab/test_swing_study.py` compares both. While no line passes 22 MPa the two are one.
"""

from __future__ import annotations

import inspect
from functools import cached_property
from typing import Any

import casadi as ca

from dyn_nodes.compile import CompiledModule, build_module
from dyn_nodes.hydraulics.cylinder import CylinderTerms
from dyn_nodes.hydraulics.motor import MotorTerms
from dyn_nodes.hydraulics.supply import crossover_relief_flow, signed_root
from dyn_nodes.model.machine import MotorActuator, Supply
from dyn_nodes.multibody.spatial import Expression
from dyn_nodes.simulation import System
from dyn_nodes.simulation.assembly import Assembly


def line_relief_flow(supply: Supply, first: Expression, second: Expression) -> Expression:
    """Return the flow from the first into the second line, m3/s: what each line lets out above the relief pressure."""
    excess = [ca.fmax(pressure - supply.line_relief_pressure, 0.0) for pressure in (first, second)]
    size = supply.orifice_coefficient * supply.line_relief_area
    return size * (signed_root(excess[0], supply.smoothing) - signed_root(excess[1], supply.smoothing))


class LineReliefAssembly(Assembly):
    """A plant whose motors have these reliefs."""

    @cached_property
    def actuators(self) -> dict[str, CylinderTerms | MotorTerms]:
        """Terms of the actuators, the reliefs of the motors replaced."""
        terms = dict(Assembly.actuators.func(self))  # type: ignore[attr-defined]
        for actuator in self.machine.actuators:
            if isinstance(actuator, MotorActuator) and actuator.name in self.hydraulics:
                terms[actuator.name] = self._relieved(actuator, terms[actuator.name])
        return terms

    def _relieved(self, actuator: MotorActuator, terms: MotorTerms) -> MotorTerms:
        _, first, second = ca.vertsplit(self.x[self.hydraulics[actuator.name]])
        supply = actuator.supply
        more = line_relief_flow(supply, first, second) - crossover_relief_flow(supply, first, second)
        stiffness = supply.bulk_modulus * self.parameter('bulk_modulus_scale') / actuator.line_volume
        return terms._replace(
            first_pressure_rate=terms.first_pressure_rate - stiffness * more,
            second_pressure_rate=terms.second_pressure_rate + stiffness * more,
            first_flow=terms.first_flow - more,
            second_flow=terms.second_flow + more,
        )


class LineReliefSystem(System):
    """A System with these reliefs."""

    def _assembly(self) -> Assembly:
        return LineReliefAssembly(self.machine, self.actuation, self.base, self.audit)

    def _build(self, kind: str, make: Any, texts: list[Any]) -> CompiledModule:
        key = [*self._key, inspect.getsource(line_relief_flow), inspect.getsource(LineReliefAssembly)]
        return build_module(f'{self.machine.name}: {kind}_line_relief', key, make, drivers=texts)
