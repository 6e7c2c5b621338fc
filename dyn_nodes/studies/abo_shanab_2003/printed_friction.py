"""The lever arm of wheel friction as the source prints it (spec 2.23, F9), for comparison.

(6.12) and (6.23) use the heights of the edges above the ground as lever arms of friction about the middle of the base.
Neither a force at the edge nor one on the ground has this arm, so energy is not conserved. Therefore this form is
available only in this study; the machine YAML offers the two consistent forms (`friction_point: attachment | ground`).
"""

from __future__ import annotations

import inspect
from functools import cached_property
from typing import Any

import casadi as ca

from dyn_nodes.compile import CompiledModule, build_module
from dyn_nodes.multibody.spatial import Force
from dyn_nodes.simulation.assembly import Assembly
from dyn_nodes.simulation.tree_dynamics import TreeDynamics


class PrintedArmAssembly(Assembly):
    """A planar plant with friction at its attachments and a couple that changes its lever arm to the edge height.

    The origin of the base link must be the middle of the base, the reference point of the source.
    """

    @cached_property
    def external_forces(self) -> dict[int, Force]:
        """Spatial forces of the ground with the couples of friction; friction acts along x, its couples about +y."""
        plain: dict[int, Force] = Assembly.external_forces.func(self)  # type: ignore[attr-defined]
        base = self.tree.frame(self.machine.base.link).body
        height = self.state.poses[base].p[2]
        couple = ca.SX(0)
        for contact in self.contacts.values():
            # the arm about +y is h - height for a force at the edge, -h in print
            couple = couple + (height - 2.0 * contact.height) * contact.friction[0]
        return {**plain, base: plain[base] + Force(ca.vertcat(0, couple, 0), ca.SX(3, 1))}


class PrintedArmDynamics(TreeDynamics):
    """The dynamics of a machine with the printed lever arm."""

    def assembly(self) -> Assembly:
        """Return the traced equations."""
        return PrintedArmAssembly(self.machine, self.actuation, self.base, self.audit, books=True)

    def _build(self, kind: str, make: Any) -> CompiledModule:
        key = [*self._key, inspect.getsource(PrintedArmAssembly)]
        return build_module(f'{self.machine.name}: {kind}_printed_arm', key, make)
