"""The truck with three trailers of the benchmark: its counts, by the operators and by the constraint engine."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.trailers import truck_system, truck_with_trailers
from dyn_nodes.constraints import analyse
from dyn_nodes.studies.yesiloglu_2007.operators import Tip, tree_operators


def closure_rows(tree, loops):
    """Return the Jacobian of the closures by the operators, in axes of each second frame, at zero joints."""
    tips = [Tip(frame.body, frame.p) for loop in loops for frame in (loop.first, loop.second)]
    operators = tree_operators(tree, np.zeros(tree.nq), np.zeros(tree.nv), tips)
    jacobian = operators.jacobian.reshape(-1, 2, 6, tree.nv)
    kept = []
    for loop, (first, second) in zip(loops, jacobian):
        turn = np.kron(np.eye(2), loop.second.R.T)
        names = ('rx', 'ry', 'rz', 'x', 'y', 'z')
        kept.extend(row for name, row in zip(names, turn @ (first - second)) if name in loop.keep)
    return np.array(kept)


@pytest.mark.pins('yesiloglu-2007/3.0/trailers')
def test_the_truck_has_the_joints_and_freedoms_that_the_source_counts():
    tree, loops = truck_with_trailers()
    rows = closure_rows(tree, loops)
    assert (tree.nv, len(rows)) == (166, 118)
    assert tree.nv - np.linalg.matrix_rank(rows, tol=1e-10 * np.linalg.norm(rows, 2)) == 48
    # its tractor alone is the car of C16
    car, closures = truck_with_trailers(0)
    assert car.nv - np.linalg.matrix_rank(closure_rows(car, closures)) == 24


@pytest.mark.slow
@pytest.mark.pins('yesiloglu-2007/3.0/trailers')
def test_the_constraint_engine_counts_the_same():
    system = truck_system()
    analysis = analyse(system, np.zeros(system.tree.nq))
    assert (analysis.velocities, analysis.rows, analysis.rank, analysis.mobility) == (166, 118, 118, 48)
    assert not analysis.redundant
    assert analysis.topology == 'closed'
