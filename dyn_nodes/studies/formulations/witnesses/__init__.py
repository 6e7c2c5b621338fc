"""Other formulations of the same physics as independent checks (saha-1991, 2.4 and 2.5 of its specification).

Each is derived independently: energies, acceleration energies, partial velocities or rotation matrices are
differentiated automatically, or J is decomposed. They are slow and intended for tests and studies; use
`constrained_dynamics` and `natural_orthogonal_complement` otherwise. A formulation that does not apply raises
MethodError with the reason.

    witness = WITNESSES['gibbs_appell'](blocks)
    witness(q, v, tau).acceleration
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.errors import MethodError
from dyn_nodes.constraints.solve import Method, constrained_dynamics
from dyn_nodes.studies.formulations.natural_complement import natural_orthogonal_complement
from dyn_nodes.studies.formulations.transfer.formulation import coordinate_transfer as transfer_formulation
from dyn_nodes.studies.formulations.witnesses.answer import Answer, Witness
from dyn_nodes.studies.formulations.witnesses.appell import gibbs_appell
from dyn_nodes.studies.formulations.witnesses.chaplygin import chaplygin, hamilton, voronec
from dyn_nodes.studies.formulations.witnesses.complements import (
    coordinate_partition,
    eigenvectors,
    gram_schmidt,
    qr_factors,
    svd,
)
from dyn_nodes.studies.formulations.witnesses.kane import kane
from dyn_nodes.studies.formulations.witnesses.lagrange import maggi, multipliers


def natural_complement(system: ConstraintBlocks) -> Witness:
    """Return the natural orthogonal complement with independent rates by pivoting and constraint wrenches."""
    formulation = natural_orthogonal_complement(system)

    def solve(q: Array, v: Array, tau: Array) -> Answer:
        here = formulation.at(q, v)
        return Answer(here.accelerations(tau), here.wrenches(tau).multipliers)

    return solve


def coordinate_transfer(system: ConstraintBlocks) -> Witness:
    """Return the transfer of coordinates with independent joints by pivoting, loads along the rows (freeman-1985)."""
    formulation = transfer_formulation(system)

    def solve(q: Array, v: Array, tau: Array) -> Answer:
        here = formulation.at(q, v)
        return Answer(here.accelerations(tau), here.multipliers(tau))

    return solve


def _engine(method: Method) -> Callable[[ConstraintBlocks], Witness]:
    def build(system: ConstraintBlocks) -> Witness:
        def solve(q: Array, v: Array, tau: Array) -> Answer:
            solution = constrained_dynamics(system, q, v, tau, method=method)
            return Answer(solution.acceleration, solution.multipliers)

        return solve

    return build


WITNESSES: Mapping[str, Callable[[ConstraintBlocks], Witness]] = {
    'natural complement': natural_complement,
    'coordinate transfer': coordinate_transfer,
    'multipliers': multipliers,
    'maggi': maggi,
    'chaplygin': chaplygin,
    'voronec': voronec,
    'hamilton': hamilton,
    'gibbs-appell': gibbs_appell,
    'kane': kane,
    'svd': svd,
    'qr': qr_factors,
    'eigenvectors': eigenvectors,
    'gram-schmidt': gram_schmidt,
    'coordinate partition': coordinate_partition,
    'operator': _engine('operator'),
}
"""Formulations by name."""


def applicable(system: ConstraintBlocks, q: Array, v: Array, tau: Array) -> tuple[dict[str, Witness], dict[str, str]]:
    """Return the formulations that apply at a state, and the reasons of the others, by name."""
    applying: dict[str, Witness] = {}
    rejected: dict[str, str] = {}
    for name, build in WITNESSES.items():
        try:
            witness = build(system)
            witness(q, v, tau)
        except MethodError as reason:
            rejected[name] = str(reason)
        else:
            applying[name] = witness
    return applying, rejected


__all__ = ['WITNESSES', 'Answer', 'Witness', 'applicable', 'chaplygin']
