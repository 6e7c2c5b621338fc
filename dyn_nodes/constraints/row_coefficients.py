"""Influence coefficients of the rows of constraints: their rates J v and how J changes with the position."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.loops import Loop
from dyn_nodes.constraints.rows import Constraint
from dyn_nodes.multibody.influence import Coefficients, TreePosition
from dyn_nodes.multibody.kinematics import TreeState

RowCoefficients = Callable[[TreePosition, Array], Coefficients]


def row_coefficients(system: ConstraintBlocks) -> RowCoefficients:
    """Return G and H of all rows as a function of position and parameters.

    Loops in world axes are differences of the coefficients of two frames, from nested cross products. Rows of other
    constraints (axes of a body, distances, rolling, gears) are differentiated exactly.
    """
    parts = [_row(system, constraint) for constraint in system.constraints]

    def at(position: TreePosition, p: Array) -> Coefficients:
        names = position.model.names
        empty = Coefficients((), names, np.zeros((0, len(names))), np.zeros((0, len(names), len(names))))
        return Coefficients.stacked([empty, *(part(position, p) for part in parts)])

    return at


def _row(system: ConstraintBlocks, constraint: Constraint) -> RowCoefficients:
    if isinstance(constraint, Loop) and constraint.axes == 'world':
        return partial(_loop_rows, constraint)
    return _traced_rows(system, constraint)


def _loop_rows(loop: Loop, position: TreePosition, _: Array) -> Coefficients:
    first, second = position.frame(loop.first), position.frame(loop.second)
    names = tuple(f'{loop.name}/{row}' for row in first.parameters)
    gap = Coefficients(names, first.coordinates, first.G - second.G, first.H - second.H)
    return gap.rows([f'{loop.name}/{row}' for row in loop.keep])


def _traced_rows(system: ConstraintBlocks, constraint: Constraint) -> RowCoefficients:
    rows = system.slices[constraint.name]
    names, J, nv = system.row_names[rows], system.rows.jacobian[rows, :], system.tree.nv
    state: TreeState = system.state
    slopes = ca.jacobian(ca.vec(J), state.q)
    arguments = [state.q, state.v, system.parameters.vector]
    evaluate = ca.Function('rows', arguments, [J, slopes])
    still = np.zeros(nv)

    def at(position: TreePosition, p: Array) -> Coefficients:
        G, slope = (np.array(part) for part in evaluate(position.q, still, p))
        # column-major: element (row, n) of J is row + m n
        H = slope.reshape(nv, len(names), nv).transpose(1, 2, 0)
        return Coefficients(tuple(names), position.model.names, G.reshape(len(names), nv), H)

    return at
