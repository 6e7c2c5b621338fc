"""Compiled rigid-body functions with a check: if an input or a result is not finite, the first element is NaN.

Checking three vectors in Python takes longer than the forward dynamics of an arm.
"""

from __future__ import annotations

import math
from typing import Any

import casadi as ca

from dyn_nodes.compile import CompiledModule, build_module
from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import TreeState, bias_force, build_tree, forward_dynamics, inverse_dynamics, mass_matrix

RESULTS = 'with results'
"""Part of the cache key of compiled code: results are checked as well as inputs."""


def checked_kernels(machine: Machine) -> CompiledModule:
    """Return `mass_matrix`, `gravity`, `bias`, `inverse` and `forward`, all with the parameters of `RigidBodyModel`.

    Each fills its result in column-major order. The first element is NaN if an input, a result or the sum of all is
    not finite.
    """
    return build_module(
        f'{machine.name}: checked', [machine_fingerprint(machine), RESULTS], lambda: (_functions(machine), {})
    )


def _functions(machine: Machine) -> dict[str, ca.Function]:
    tree = build_tree(machine)
    q, v, a = ca.SX.sym('q', tree.nq), ca.SX.sym('v', tree.nv), ca.SX.sym('a', tree.nv)
    p = ca.SX.sym('p', 4)
    gravity = p[0:3]
    still, moving = (TreeState(tree, q, rate, p[3]) for rate in (ca.SX(tree.nv, 1), v))

    def checked(name: str, inputs: list[Any], result: Any) -> ca.Function:
        seen = sum((ca.sum1(vector) for vector in (*inputs, p)), ca.SX(0))
        filled = ca.vec(ca.densify(result))
        if filled.numel():
            seen += ca.sum1(filled)
            filled[0] = ca.if_else(ca.fabs(seen) < math.inf, filled[0], math.nan)
        return ca.Function(name, [*inputs, p], [filled])

    functions = (
        checked('mass_matrix', [q], mass_matrix(still)),
        checked('gravity', [q], bias_force(still, gravity)),
        checked('bias', [q, v], bias_force(moving, gravity)),
        checked('inverse', [q, v, a], inverse_dynamics(moving, a, gravity)),
        checked('forward', [q, v, a], forward_dynamics(moving, a, gravity)),
    )
    return {function.name(): function for function in functions}
