"""Admissible ground reactions of a machine on four wheels, against a general solver of cone programs.

    python benchmarks/reactions.py [--quick]

Prints JSON, in us a state of a batch. `bench.py` runs it. Loads differ from state to state, footprint and friction do
not. Clarabel is set up for every state, from matrices that are there, as footprints that change ask for (`clarabel`);
and once, with another right side for every state (`clarabel_once`). Ours profits from neither. Margins are compared
first.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.timing import best_of
from dyn_nodes.stability import admissible_reactions

FEET = np.array([(0.35, 0.30, 0.0), (0.35, -0.30, 0.0), (-0.35, 0.30, 0.0), (-0.35, -0.30, 0.0)])
COM = np.array([0.02, -0.01, 0.3])
FRICTION = np.array([0.7, 0.6, 0.7, 0.5])
STATES = 16
ACCURACY = 1e-3  # N of some 800; Clarabel as it comes


def loads(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random forces and moments (count, 3) at the centre of mass; some of them slide or lift a wheel."""
    rng = np.random.default_rng(0)
    force = rng.normal(size=(count, 3)) * (120.0, 120.0, 40.0) + (0.0, 0.0, -760.0)
    return force, rng.normal(size=(count, 3)) * (30.0, 30.0, 20.0)


def clarabel_solver(once: bool) -> Callable[[np.ndarray], float]:
    """Return Clarabel as it is used in a loop: set up once, then only what is to be balanced changes; or every time."""
    import clarabel
    from scipy import sparse

    wheels = len(FEET)
    balance = np.zeros((6, 3 * wheels + 1))
    cones = np.zeros((3 * wheels, 3 * wheels + 1))
    for j, foot in enumerate(FEET):
        balance[:3, 3 * j : 3 * j + 3] = np.eye(3)
        balance[3:, 3 * j : 3 * j + 3] = np.cross(foot, np.eye(3)).T
        cones[3 * j, 3 * j + 2], cones[3 * j, -1] = -1.0, 1.0
        cones[3 * j + 1, 3 * j] = cones[3 * j + 2, 3 * j + 1] = -1.0 / FRICTION[j]
    cost = np.zeros(3 * wheels + 1)
    cost[-1] = -1.0
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.presolve_enable = False, False
    kinds = [clarabel.ZeroConeT(6), *(clarabel.SecondOrderConeT(3) for _ in FEET)]
    size = (len(cost), len(cost))
    right = np.concatenate([[0.0, 0.0, 760.0, 0.0, 0.0, 0.0], np.zeros(3 * wheels)])
    rows = sparse.csc_matrix(np.vstack([balance, cones]))
    none = sparse.csc_matrix(size)
    solver = clarabel.DefaultSolver(none, cost, rows, right, kinds, settings)

    def solve(target: np.ndarray) -> float:
        nonlocal solver
        right[:6] = target
        if once:
            solver.update(b=right)
        else:
            solver = clarabel.DefaultSolver(none, cost, rows, right, kinds, settings)
        return -float(solver.solve().obj_val)

    return solve


def measure(quick: bool) -> dict[str, Any]:
    """Return the times of a state, us, and how many of the states are possible."""
    force, moment = loads(STATES)
    targets = -np.hstack([force, moment + np.cross(COM, force)])
    peers = [clarabel_solver(once) for once in (False, True)]

    def ours() -> Any:
        return admissible_reactions(FEET, COM, force, moment, friction=FRICTION, ranges=False)

    def swept(peer: Callable[[np.ndarray], float]) -> Callable[[], list[float]]:
        return lambda: [peer(target) for target in targets]

    found = ours()
    theirs = [swept(peer) for peer in peers]
    for call in theirs:
        if np.abs(found.margin - call()).max() > ACCURACY:
            raise ValueError('margins differ from those of Clarabel: nothing to compare')
    best = best_of([ours, *theirs], 20 if quick else 200)
    return {
        'ours': best[0] / STATES,
        'clarabel': best[1] / STATES,
        'clarabel_once': best[2] / STATES,
        'states': STATES,
        'possible': int(found.possible.sum()),
    }


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--quick', action='store_true', help='a few rounds only')
    print(json.dumps(measure(parser.parse_args().quick), indent=2))
